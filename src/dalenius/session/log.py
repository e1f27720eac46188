"""The history of a ledger for people: when, who, what in words, what it cost, and what was left after it.

It is read from the chain, entry by entry, as everything is that a ledger says. Times are those that the entries carry;
they are for readers, and the order is that of the entries.
"""

from __future__ import annotations

import csv
import datetime
import html
import io
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from dalenius.calculus.guarantees import Filter, Guarantee, from_record
from dalenius.calculus.guarantees.amounts import decimal, shown
from dalenius.calculus.guarantees.cost import Cost, currency_of
from dalenius.core import checks
from dalenius.core.nearest import meant
from dalenius.core.printable import printable
from dalenius.errors import InvalidParameter
from dalenius.session.account import WHERE, Balance, State, read_cost
from dalenius.session.chain import BATCH
from dalenius.session.standing import Standing, sums_of
from dalenius.session.terms import planned, read_terms
from dalenius.session.words import in_words, shortened
from dalenius.tables.release.cells import in_markdown, no_formula

if TYPE_CHECKING:
    from dalenius.session.entries import Entry
    from dalenius.session.ledger import Ledger

DIGITS = 4
"""Significant digits of an amount on screen; costs are rounded up, what is left down."""
WIDE = 100
"""Characters of a question in a table of plain text."""
MOST_SHOWN = 60
"""Lines that `print` and a notebook show; the last ones."""

COLUMNS = ("when", "who", "account", "what", "cost", "left after")

ANSWERED, FAILED, UNANSWERED = "answered", "failed", "no answer"


@dataclass(frozen=True)
class Line:
    """One line of a log.

    `cost` and `left` are exact, in the currency of the account (epsilon, rho, mu^2; delta). `left` is what was left of
    the whole account then, to all analysts together.
    """

    seq: int
    time: str
    account: str
    act: str
    """opened, asked, or what the steward did."""
    what: str
    analyst: str | None = None
    user: str | None = None
    outcome: str = ""
    """Of a question: answered, failed (charged, and the engine could not), or no answer (yet)."""
    cost: Cost | None = None
    left: Cost | None = None
    left_as: Guarantee | None = None
    """What is left, as the promise that a release may still use."""
    question: str | None = field(default=None, repr=False)
    """The question as it was recorded."""

    @property
    def who(self) -> str:
        """The analyst who was named, else the user of the system."""
        return self.analyst or self.user or ""

    @property
    def said(self) -> str:
        """What was done, in words; a question without an answer says so."""
        return self.what if self.outcome in ("", ANSWERED) else f"{self.what} [{self.outcome}]"

    def cells(self) -> tuple[str, ...]:
        """For a table, in the order of `COLUMNS`; what an analyst wrote cannot turn or break the line it stands in."""
        cells = (
            self.time.replace("T", " ").removesuffix("+00:00"),
            self.who,
            self.account,
            self.said,
            "" if self.cost is None else cost_text(self.cost),
            "" if self.left is None else left_text(self.left, self.left_as),
        )
        return tuple(map(printable, cells))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; amounts are exact decimals."""
        amounts = {
            "cost": None if self.cost is None else self.cost.written(),
            "left": None if self.left is None else self.left.written(),
        }
        return {
            "seq": self.seq,
            "time": self.time,
            "who": self.who,
            "analyst": self.analyst,
            "user": self.user,
            "account": self.account,
            "act": self.act,
            "what": self.what,
            "outcome": self.outcome or None,
            "kind": None if self.left is None else self.left.kind,
            **amounts,
            "left_as": None if self.left_as is None else self.left_as.numbers,
        }


class Log(Sequence[Line]):
    """Lines of a ledger's history, oldest first: `print` it, show it in a notebook, or take it elsewhere.

    Examples
    --------
    >>> import tempfile, dalenius as dp
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = dp.Ledger.open(folder.name + "/people.ledger")
    >>> account = ledger.account("people", dp.ZCDP(0.5), "ana")
    >>> _ = account.ask("how many?", dp.losses.gaussian(sigma=2.0), lambda: "[41]")
    >>> log = ledger.log()
    >>> [(line.act, line.who, line.what) for line in log][1]
    ('asked', 'ana', 'how many?')
    >>> float(log[1].cost.amount), log[1].left_as
    (0.125, ZCDP(rho=0.375))
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = tuple(lines)

    @overload
    def __getitem__(self, index: int) -> Line: ...

    @overload
    def __getitem__(self, index: slice) -> Log: ...

    def __getitem__(self, index: int | slice) -> Line | Log:
        return Log(self.lines[index]) if isinstance(index, slice) else self.lines[index]

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        return f"<Log: {len(self)} line{'s' * (len(self) != 1)}>"

    def __str__(self) -> str:
        rows = [COLUMNS, *(_narrow(line.cells()) for line in self.lines[-MOST_SHOWN:])]
        widths = [max(len(row[k]) for row in rows) for k in range(len(COLUMNS))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        if len(self) > MOST_SHOWN:
            lines.insert(1, f"... {len(self) - MOST_SHOWN} lines before these")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        style = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"
        head = "".join(f'<th style="{style}">{html.escape(name)}</th>' for name in COLUMNS)
        body = "".join(
            "<tr>"
            + "".join(f'<td style="{style}">{html.escape(cell)}</td>' for cell in line.cells())
            + "</tr>"
            for line in self.lines[-MOST_SHOWN:]
        )
        more = f"<p>{len(self) - MOST_SHOWN} lines before these.</p>" if len(self) > MOST_SHOWN else ""
        return f'{more}<table class="dalenius"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain data, for JSON; amounts are exact decimals."""
        return [line.to_dict() for line in self.lines]

    def to_pandas(self) -> Any:
        """A pandas DataFrame; cost and left are numbers in `unit`, so that they add up."""
        import pandas as pd

        columns = ("time", "who", "account", "act", "what", "outcome", "unit", "cost", "delta", "left")
        rows = []
        for line in self.lines:
            amount = None if line.cost is None else float(line.cost.amount)
            delta = None if line.cost is None else float(line.cost.delta)
            left = None if line.left is None else float(line.left.amount)
            unit = None if line.left is None else currency_of(line.left.kind).unit
            rows.append(
                (
                    line.time,
                    line.who,
                    line.account,
                    line.act,
                    line.what,
                    line.outcome or None,
                    unit,
                    amount,
                    delta,
                    left,
                )
            )
        frame = pd.DataFrame(rows, columns=list(columns))
        frame["time"] = pd.to_datetime(frame["time"], utc=True, format="ISO8601", errors="coerce")
        for name in ("cost", "delta", "left"):
            frame[name] = frame[name].astype("float64")
        return frame

    def to_csv(self) -> str:
        """Lines of CSV; a text that a spreadsheet would take for a formula gets an apostrophe before it."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("seq", *COLUMNS))
        for line in self.lines:
            writer.writerow((line.seq, *map(no_formula, line.cells())))
        return out.getvalue()

    def to_markdown(self) -> str:
        """A Markdown table."""
        lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
        lines += ["| " + " | ".join(map(in_markdown, line.cells())) + " |" for line in self.lines]
        return "\n".join(lines)


def cost_text(cost: Cost, digits: int = DIGITS) -> str:
    """A cost for people, rounded up: "rho 0.05"."""
    if not any(cost.parts):
        return "nothing"
    unit = currency_of(cost.kind).unit
    delta = f", delta {shown(Decimal(decimal(cost.delta)), digits, True)}" if cost.delta else ""
    shift = f", epsilon {shown(Decimal(decimal(cost.shift)), digits, True)} set aside" if cost.shift else ""
    return f"{unit} {shown(Decimal(decimal(cost.amount)), digits, True)}{delta}{shift}"


def left_text(left: Cost, as_: Guarantee | None, digits: int = DIGITS) -> str:
    """What is left, rounded down: in the account's currency, and in the number of its promise where that is another."""
    unit = currency_of(left.kind).unit
    text = f"{unit} {shown(Decimal(decimal(left.amount)), digits, False)}"
    if as_ is None or as_.leading in (None, unit):
        return text
    return f"{text} ({as_.leading} {shown(Decimal(repr(as_.numbers[as_.leading])), digits, False)})"


def opening_text(filter: Filter, body: Mapping[str, Any]) -> str:
    """What an account settles: "rho 0.5", or what it may become."""
    budget, ceiling, renewals = planned(body)
    text = promise_text(budget)
    if body.get("plan") is None:
        return text
    if ceiling != budget:
        text += f", may be raised to {promise_text(ceiling)}"
    if renewals:
        text += f", may be renewed {renewals} time{'s' * (renewals != 1)}"
    return f"{text}; promised in all: {promise_text(filter.promise, DIGITS)}"


_ACTS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], str]]] = {
    "raise": ("raised", lambda body: f"budget raised to {promise_text(from_record(body['budget']))}"),
    "renew": ("renewed", lambda body: f"budget renewed, for the {ordinal(body['renewal'])} time"),
    "share": (
        "shared",
        lambda body: f"{promise_text(from_record(body['share']['promise']))} granted to {body['analyst']}",
    ),
    "close": ("closed", lambda body: "account closed for ever"),
}


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 11th."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else endings.get(number % 10, 'th')}"


def promise_text(promise: Guarantee, digits: int = 17) -> str:
    """A promise as it was declared: "rho 0.5"; in fewer digits it is rounded up."""
    numbers = promise.numbers.items()
    return ", ".join(f"{name} {shown(Decimal(repr(value)), digits, True)}" for name, value in numbers)


# -- reading the chain --------------------------------------------------------------------------------


@dataclass
class Past:
    """An account as it was at one moment of the chain."""

    dataset: str
    filter: Filter
    opening: Mapping[str, Any]
    standing: Standing
    spent: Cost
    known: dict[tuple[Fraction, ...], Guarantee] = field(default_factory=dict)

    @property
    def left(self) -> Cost:
        """What was left to all together."""
        return State(self.filter, Balance(self.spent, {}), self.standing).left(None)

    def left_as(self) -> Guarantee:
        """The same as a promise; each is computed once."""
        left = self.left
        if left.parts not in self.known:
            self.known[left.parts] = self.filter.left(left)
        return self.known[left.parts]

    def line(self, entry: Entry, body: Mapping[str, Any], act: str, what: str) -> Line:
        """What a steward did."""
        time, user = str(body["time"]), body.get("user")
        return Line(
            entry.seq, time, self.dataset, act, what, user=user, left=self.left, left_as=self.left_as()
        )

    def cost(self, content: Mapping[str, str]) -> Cost:
        """A cost that an entry states; a part that is nothing may be called anything, or be left out."""
        return read_cost(sums_of(content), self.filter)


def read_log(
    ledger: Ledger,
    account: str | None = None,
    since: object = None,
    until: object = None,
    analyst: str | None = None,
) -> Log:
    """The log of a ledger; see `Ledger.log`."""
    first = None if since is None else period("since", since)[0]
    last = None if until is None else period("until", until)[1]
    if account is not None:
        names = [each.dataset for each in ledger.accounts()]
        if account not in names:
            near = meant(str(account), names)
            hint = (
                f"did you mean {near!r}?" if near else f"there are {', '.join(map(repr, names)) or 'none'}."
            )
            raise InvalidParameter(f"the ledger has no account {checks.shown(account)}; {hint}")
    lines = [
        line
        for line in _lines(ledger)
        if account in (None, line.account)
        and analyst in (None, line.who)
        and (first is None or line.time >= first)
        and (last is None or line.time < last)
    ]
    return Log(lines)


def _lines(ledger: Ledger) -> list[Line]:
    return Followed(ledger).lines()


class Followed:
    """The lines of a ledger that goes on: each reading looks at what was added since the last one."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.seq = ledger, 0
        self._pasts: dict[int, Past] = {}
        self._lines: dict[int, Line] = {}
        self._turn = threading.Lock()

    def lines(self) -> list[Line]:
        """All lines up to now, oldest first."""
        with self._turn:
            for entry, body in bodies(self.ledger, after=self.seq):
                self._read(entry, body)
                self.seq = entry.seq
            return list(self._lines.values())

    def _read(self, entry: Entry, body: dict[str, Any]) -> None:
        if entry.kind != "answer":
            line = _line(entry, body, self._pasts)
            if line is not None:
                self._lines[entry.seq] = line
            return
        charge = self._lines.get(body["charge"])
        if charge is not None:
            outcome = FAILED if body.get("failed") is True else ANSWERED
            what = charge.what
            if charge.question == WHERE:
                what = f"recorded where the data is: {_place(body['answer'])}"
            self._lines[body["charge"]] = replace(charge, outcome=outcome, what=what)


def _line(entry: Entry, body: dict[str, Any], pasts: dict[int, Past]) -> Line | None:
    if entry.kind == "account":
        filter, _, _ = read_terms(body)
        past = Past(str(body["dataset"]), filter, body, Standing.of(body), filter.nothing)
        pasts[entry.seq] = past
        return past.line(entry, body, "opened", f"account opened: {opening_text(filter, body)}")
    if entry.kind == "steward":
        past = pasts[entry.account]
        past.standing = past.standing.after(body, sums_of(past.spent.written()))
        note = f" ({shortened(str(body['note']), 120)})" if body.get("note") else ""
        act, what = _ACTS[body["act"]]
        return past.line(entry, body, act, what(body) + note)
    if entry.kind == "charge":
        past = pasts[entry.account]
        past.spent = past.cost(body["spent"])
        question = str(body["question"])
        return Line(
            entry.seq,
            body["time"],
            past.dataset,
            "asked",
            in_words(question),
            body["analyst"],
            body.get("user"),
            UNANSWERED,
            past.cost(body["cost"]),
            past.left,
            past.left_as(),
            question,
        )
    return None


def bodies(ledger: Ledger, end: int | None = None, after: int = 0) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every entry after one and up to another (or to the last there is now), checked, with its body."""
    # Entries that are made while this runs belong to the next reading.
    seq, end = after, int(ledger.checkpoint().partition(":")[0]) if end is None else end
    while seq < end:
        with ledger.reading() as rows:
            batch = [rows.same(entry) for entry in rows.tail(seq + 1, min(BATCH, end - seq))[1]]
        for entry in batch:
            yield entry, entry.read()
        seq += len(batch)


def _place(answer: str) -> str:
    content = json.loads(answer)
    return shortened(str(content.get("where") or content.get("kind")), 120)


# -- times, and text for others ------------------------------------------------------------------------


def period(name: str, when: object) -> tuple[str, str]:
    """The beginning and the end of what a text names ("2026", "2026-03", "2026-03-05"), in the words of an entry.

    A moment is a period of one second.
    """
    if isinstance(when, datetime.datetime):
        moment = when if when.tzinfo is not None else when.replace(tzinfo=datetime.UTC)
        return _written(moment), _written(moment + datetime.timedelta(seconds=1))
    text = when.isoformat() if isinstance(when, datetime.date) else when
    parts = re.fullmatch(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", text) if isinstance(text, str) else None
    try:
        if parts is not None:
            year, month, day = (int(part) if part else None for part in parts.groups())
            start = datetime.datetime(year or 0, month or 1, day or 1, tzinfo=datetime.UTC)
            if day:
                end = start + datetime.timedelta(days=1)
            elif month:
                end = start.replace(year=start.year + month // 12, month=month % 12 + 1)
            else:
                end = start.replace(year=start.year + 1)
            return _written(start), _written(end)
        if isinstance(text, str):
            return period(name, datetime.datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        pass
    raise InvalidParameter(
        f"{name} is {checks.shown(when)}; it must be a day, a month or a year, as 2026-03-05, 2026-03 or 2026, or a "
        "moment, as 2026-03-05T14:00:00+01:00 (UTC where no zone is named)."
    )


def _written(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).isoformat(timespec="seconds")


def _narrow(cells: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(shortened(cell, WIDE) if cell else "" for cell in cells)
