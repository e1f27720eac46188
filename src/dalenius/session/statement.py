"""A year of a ledger on one page: what was promised, what was spent by whom on what, and what that means for a person.

HTML that needs nothing else: style and pictures are inside, nothing is fetched, no script runs. It is light or dark as
the reader's system is, fits a phone, and prints.
"""

from __future__ import annotations

import datetime
import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.guarantees.amounts import shown
from dalenius.calculus.guarantees.cost import Cost, currency_of
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.printable import printable
from dalenius.errors import InvalidParameter
from dalenius.session.burn_down import MONTHS, Step, burn_down
from dalenius.session.log import (
    DIGITS,
    Line,
    Log,
    cost_text,
    left_text,
    period,
    promise_text,
    read_log,
)
from dalenius.tables.facts.unit import Unit

if TYPE_CHECKING:
    from dalenius.session.account import Account
    from dalenius.session.ledger import Ledger
    from dalenius.session.verify import Verification

MOST_LINES = 2_000
"""Lines of one account's table; the log has all of them."""
DELTA = 1e-6
"""The chance that is left out when a promise has none of its own, in the words for a person."""

_STYLE = files("dalenius.session").joinpath("statement.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Statement:
    """The page, and where to put it."""

    year: int
    html: str
    sound: bool
    """Whether the ledger was, when the page was made."""

    def _repr_html_(self) -> str:
        held = html.escape(self.html, quote=True)
        return f'<iframe style="width:100%;height:80vh;border:0" sandbox srcdoc="{held}"></iframe>'

    def __repr__(self) -> str:
        return f"<Statement of {self.year}: {len(self.html)} characters of HTML>"

    def save(self, path: str | Path) -> Path:
        """Write the page to a new file.

        Parameters
        ----------
        path
            A file that is not there yet.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InvalidParameter
            If there is a file of that name, or it cannot be written.
        """
        file = checks.path("the file", path)
        try:
            with open(
                file, "x", encoding="utf-8"
            ) as out:  # never over another file, least of all over the ledger
                out.write(self.html)
        except FileExistsError:
            raise InvalidParameter(f"the file is {str(path)!r}, which exists; name a new one.") from None
        except OSError as problem:
            raise InvalidParameter(
                f"the file is {str(path)!r}, which cannot be written: {problem.strerror or problem}."
            ) from None
        return file


def statement(ledger: Ledger, year: int | None, account: str | None, title: str | None) -> Statement:
    """The page of a year; see `Ledger.statement`."""
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    year = now.year if year is None else year
    given: object = year
    if isinstance(given, bool) or not isinstance(given, int) or not 1970 <= given <= 9998:
        raise InvalidParameter(f"the year is {checks.shown(year)}; it must be one, as 2026.")
    log, verification = read_log(ledger, account), ledger.verify()
    accounts = [each for each in ledger.accounts() if account in (None, each.dataset)]
    heading = title or f"What was asked, and what it cost: {year}"
    sections = [_Account(each, log, year, now).html() for each in accounts]
    body = (
        f"<header><h1>{_text(heading)}</h1>"
        f'<p class="soft">A statement of the privacy budget{"" if account else "s"} of {year}. '
        f"Made on {_day(now)} from the ledger <code>{_text(ledger.id)}</code>.</p>{_seal(verification)}</header>"
        f"<main>{''.join(sections) or '<p>No account was opened yet.</p>'}{_checked(ledger, verification)}</main>"
    )
    return Statement(year, _page(heading, body), verification.ok)


class _Account:
    """One account's part of the page."""

    def __init__(self, account: Account, log: Log, year: int, now: datetime.datetime) -> None:
        self.account, self.year = account, year
        self.state = account.state()
        self.filter, self.unit = account.filter, currency_of(account.filter.kind).unit
        first, after = period("year", f"{year:04}")
        mine = [line for line in log if line.account == account.dataset]
        self.before = [line for line in mine if line.time < first]
        self.lines = [line for line in mine if first <= line.time < after]
        self.start, self.end = datetime.datetime.fromisoformat(first), datetime.datetime.fromisoformat(after)
        self.now = min(max(now, self.start), self.end)
        known = self.lines or self.before
        self.left = known[-1].left if known else None
        self.left_as = known[-1].left_as if known else None
        self.closed = any(line.act == "closed" for line in (*self.before, *self.lines))
        self.total = self.state.most

    def html(self) -> str:
        name = f"<h2>{_text(self.account.dataset)}</h2>"
        if self.left is None:
            return f'{name}<p class="soft">This account was opened after {self.year}.</p>'
        parts = (
            self._cards(),
            f"<h3>What was promised</h3>{self._promise()}",
            f"<h3>What was left, over the year</h3>{self._chart()}",
            f"<h3>Who spent it</h3>{self._by_whom()}",
            f"<h3>What it was spent on</h3>{self._table()}",
            f"<h3>What that means for one person</h3>{self._meaning()}",
        )
        return f'{name}<p class="soft">{_text(self._unit())}</p>' + "".join(parts)

    def _unit(self) -> str:
        kind = "added or removed" if self.filter.adjacency is ADD_REMOVE else "replaced by another"
        with self.account.ledger.reading() as rows:
            entry = rows.get(self.account.seq)
        unit = None if entry is None else entry.content()["unit"]
        who = f"each of: {self.account.unit}"
        if isinstance(unit, Mapping) and unit.get("kind") == "row":
            who = "each row of the data"
        elif isinstance(unit, Mapping) and unit.get("kind") == "id":
            rows_ = f"{unit['max_rows']} row{'s' * (unit['max_rows'] != 1)}"
            who = f"each {unit['column']}, of whom at most {rows_} count{'s' * (unit['max_rows'] == 1)}"
        caveat = ""
        if isinstance(unit, Mapping) and str(unit.get("kind")).startswith("several ids"):
            own = Unit.from_record(unit)
            who, caveat = f"each {own.each}, of whom at most {own.max_rows} rows count", f" {own.caveat}"
        return (
            f"Who is protected: {who}. The promise is about what changes when one of them is {kind}.{caveat}"
        )

    def _cards(self) -> str:
        assert self.left is not None
        asked = [line for line in self.lines if line.act == "asked" and line.cost and any(line.cost.parts)]
        spent = _sum(self.filter.nothing, (line.cost for line in asked))
        cards = (
            (promise_text(self.account.promise, DIGITS), "promised, in all"),
            (cost_text(spent), f"charged in {self.year}: {_percent(spent, self.total)} of what was promised"),
            (
                "closed" if self.closed else left_text(self.left, self.left_as),
                "nothing more is charged" if self.closed else "left to ask with, at the end of the statement",
            ),
            (str(len(asked)), f"question{'s' * (len(asked) != 1)} paid for"),
        )
        told = "".join(
            f'<div class="card"><b>{_amount(big)}</b><span>{_text(small)}</span></div>'
            for big, small in cards
        )
        return f'<div class="cards">{told}</div>'

    def _promise(self) -> str:
        state = self.state.standing
        renewed = sum(line.act == "renewed" for line in (*self.before, *self.lines))
        text = (
            f"Whatever was asked, by whomever, in any year, all answers together keep "
            f"<b>{_text(promise_text(self.account.promise))}</b> ({_text(_kind(self.account.promise))})."
        )
        if state.renewals or state.ceiling != state.level or self.account.promise != self.state.budget:
            text += (
                " That is the promise of all that may ever be opened: it was fixed when the account was opened, and "
                f"no raise or renewal changes it. On the day of this page the budget of a round is "
                f"{_text(promise_text(self.state.budget))}"
            )
            if state.renewals:
                text += f"; {renewed} of {state.renewals} renewals were used by then"
            text += "."
        if state.shares:
            names = ", ".join(sorted(state.shares))
            text += (
                f" It is shared by {_text(names)}. Each is held by their own share; the promise is about all of them "
                "together, even if they put their answers side by side."
            )
        if self.closed:
            text += " The account is closed, for ever."
        return f"<p>{text}</p>"

    def _chart(self) -> str:
        steps = []
        if self.before and self.before[-1].left is not None:
            steps.append(Step(self.start, float(self.before[-1].left.amount)))
        for line in self.lines:
            when = _moment(line.time)
            if line.left is not None and when is not None:
                act = "" if line.act in ("asked", "shared") else line.act
                steps.append(Step(when, float(line.left.amount), act))
        until = f"up to {_day(self.now)}" if self.now < self.end else "over the whole year"
        caption = f"{self.unit} left, {until}. It falls with every question, and rises only by what was settled before."
        pictures = "".join(
            burn_down(steps, self.start, self.end, self.now, self.unit, narrow=narrow)
            for narrow in (False, True)
        )
        return f"<figure>{pictures}<figcaption>{_amount(caption)}</figcaption></figure>"

    def _by_whom(self) -> str:
        spent: dict[str, Cost] = {}
        number: dict[str, int] = {}
        for line in self.lines:
            if line.cost is not None and any(line.cost.parts):
                spent[line.who] = spent.get(line.who, self.filter.nothing) + line.cost
                number[line.who] = number.get(line.who, 0) + 1
        if not spent:
            return f'<p class="soft">Nothing was charged in {self.year}.</p>'
        most = max(cost.use_of(self.total) for cost in spent.values()) or 1
        rows = []
        for who, cost in sorted(spent.items(), key=lambda item: item[1].amount, reverse=True):
            wide = 100 * float(cost.use_of(self.total) / most)
            bar = f'<div class="track"><div class="bar" style="width:{wide:.1f}%"></div></div>'
            rows.append(
                f"<tr><td>{_text(who or '(no name)')}</td><td>{bar}</td>"
                f'<td class="number" data-is="questions:">{number[who]}</td>'
                f'<td class="number" data-is="cost:">{_amount(cost_text(cost))}</td>'
                f'<td class="number" data-is="of the promise:">{_percent(cost, self.total)}</td></tr>'
            )
        head = '<th scope="col">who</th><td></td>' + _numbers("questions", "cost", "of the promise")
        return f'<table aria-label="By whom"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'

    def _table(self) -> str:
        if not self.lines:
            return f'<p class="soft">Nothing was done in {self.year}.</p>'
        rows = [self._row(line) for line in self.lines[:MOST_LINES]]
        more = len(self.lines) - MOST_LINES
        rest = (
            f'<p class="soft">And {more} more: see <code>dalenius ledger log</code>.</p>' if more > 0 else ""
        )
        head = "".join(f'<th scope="col">{each}</th>' for each in ("when", "who", "what"))
        head += _numbers("cost", "of the promise")
        whole = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
        return f'<table aria-label="What was done">{whole}</table>{rest}'

    def _row(self, line: Line) -> str:
        paid = line.cost is not None and any(line.cost.parts)
        cost = cost_text(line.cost) if line.cost is not None else ""
        share = _percent(line.cost, self.total) if paid and line.cost is not None else ""
        kind = "" if line.act == "asked" else ' class="act-row"'
        moment = _moment(line.time)
        when = line.time[:10] if moment is None else f"{moment.day} {MONTHS[moment.month - 1]}"
        return (
            f'<tr{kind}><td class="when">{_text(when)}</td><td class="who">{_text(line.who)}</td>'
            f"<td>{_text(line.said)}</td>"
            f'<td class="number">{_amount(cost)}</td><td class="number" data-is="of the promise:">{share}</td></tr>'
        )

    def _meaning(self) -> str:
        promise = self.account.promise
        delta = promise.numbers.get("delta", 0.0 if promise.tag == "pure" else DELTA)
        sentences = promise.loss(self.filter.adjacency).explain(delta).splitlines()[1:]
        told = [line for line in sentences if "->" not in line]
        beliefs = [line.strip() for line in sentences if "->" in line]
        text = "".join(f"<p>{_text(each)}</p>" for each in told[:-1] if not each.startswith("How sure"))
        tail = " ".join(each for each in told if each.startswith("How sure") or each == told[-1])
        items = "".join(f"<li>{_text(each.replace('->', '→'))}</li>" for each in beliefs)
        return (
            f"<p>In words, of all that may ever be released from these data under the promise above:</p>"
            f"<blockquote>{text}<p>{_text(tail)}</p><ul>{items}</ul></blockquote>"
            '<p class="soft">The attacker of these sentences knows everybody else’s record, and how answers are made; '
            "real ones know less. Percentages are rounded up.</p>"
        )


def _numbers(*titles: str) -> str:
    """The heads of columns of numbers."""
    return "".join(f'<th scope="col" class=number>{each}</th>' for each in titles)


# -- the page ----------------------------------------------------------------------------------------------


def _page(title: str, body: str) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{_text(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _seal(found: Verification) -> str:
    if found.ok:
        told = f"✓ The ledger was verified: {found.entries} entries, each joined to the one before."
        return f'<p class="seal sound">{told}</p>'
    told = "✗ The ledger is not sound. What it says cannot be relied on; see the end of this page."
    return f'<p class="seal unsound">{told}</p>'


def _checked(ledger: Ledger, found: Verification) -> str:
    counts = f"{found.entries} entries, {found.accounts} accounts, {found.charges} charges, {found.answers} answers"
    told = (
        f"<p>Every entry of the ledger was read when this page was made ({counts}): that each is the one that was "
        "written, and follows the one before it; that the sums are right, and no charge was above what was open at its "
        "moment; that every answer has a charge of its own.</p>"
    )
    if not found.ok:
        told = "<p>This is what is wrong with it:</p><ul>"
        told += "".join(f"<li>{_text(problem)}</li>" for problem in found.problems) + "</ul>"
    return (
        f"<h2>How it was verified</h2>{told}"
        "<p>The head of the chain was</p>"
        f"<pre><code>{_text(found.checkpoint)}</code></pre>"
        "<p>Whoever has this line can tell later whether anything up to it was changed or taken away:</p>"
        f"<pre><code>dalenius ledger verify LEDGER --checkpoint {_text(found.checkpoint)}</code></pre>"
    )


def _text(text: str) -> str:
    return html.escape(printable(text))


def _amount(text: str) -> str:
    return _text(text).replace("mu^2", "mu²")


def _day(when: datetime.datetime) -> str:
    return f"{when.day} {when:%B %Y}"


def _moment(text: str) -> datetime.datetime | None:
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _kind(promise: Guarantee) -> str:
    return {
        "pure": "pure differential privacy",
        "approx": "approximate differential privacy",
        "zcdp": "zero-concentrated differential privacy",
        "gdp": "Gaussian differential privacy",
    }.get(promise.tag, promise.tag)


def _sum(nothing: Cost, costs: Iterable[Cost | None]) -> Cost:
    total = nothing
    for cost in costs:
        total = total if cost is None else total + cost
    return total


def _percent(cost: Cost, total: Cost) -> str:
    """The largest share it takes of any side of the whole, rounded up."""
    share = cost.use_of(total)
    if not isinstance(share, Fraction):
        return ""
    digits = Decimal(share.numerator) / Decimal(share.denominator) * 100
    return f"{shown(digits, 3, True)} %"
