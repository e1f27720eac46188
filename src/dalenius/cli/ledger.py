"""`dalenius ledger ...`: look at a ledger, and look after it."""

from __future__ import annotations

import contextlib
import datetime
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import typer

from dalenius.cli import show as screen
from dalenius.cli.commands import DAMAGED, EXIT_CODES, command
from dalenius.cli.forms import Form
from dalenius.errors import InvalidParameter

app = typer.Typer(
    help="Look at a ledger: what was spent, by whom, whether it is sound; and look after its accounts.",
    epilog=EXIT_CODES,
    rich_markup_mode=None,
    no_args_is_help=True,
)

AMOUNTS = ("budget", "spent", "left")
READ, EXACT = 4, 17
"""Digits of an amount that people read, and of one that programs do."""
WHERE = typer.Argument(metavar="LEDGER", help="A file, or a postgresql:// URL.")
CHECKPOINT = typer.Option(
    None,
    metavar="SEQ:HASH",
    help="An entry the ledger must contain, as `ledger checkpoint` printed it; or @FILE with one in it.",
)


@command(app)
def show(form: Form, where: str = WHERE, checkpoint: str | None = CHECKPOINT) -> None:
    """What was charged to each budget, to whom, and what is left.

    What is spent is what was charged so far, written as a promise and rounded up; what is left is rounded down, at
    four digits (CSV has all of them). What is promised, at every moment, is the budget. The checkpoint names the last
    entry: keep it elsewhere, and `ledger verify --checkpoint` can tell that nothing was rewritten.

    \b
    JSON keys:
      ledger, schema, checkpoint
      accounts: list of {dataset, unit, adjacency, kind, budget, spent, left,
        promise, exact: {limit, spent, left}, renewals: {settled, used}, closed,
        analysts: list of {analyst, share, allowed, spent, left}, charges, answers}
    promise, budget, spent and left are promises, such as {"rho": 0.5}. The amounts under exact and
    analysts are what is charged (epsilon, rho, mu^2; delta; shift), exact decimals as text. In CSV and Markdown an
    account is a line of its own, and its analysts follow.
    """
    from dalenius.session.ledger import Ledger
    from dalenius.session.report import overview

    with Ledger.open(where, create=False, checkpoint=read_expected(checkpoint)) as ledger:
        content = overview(ledger)
    if form.as_json:
        screen.print_json(content)
        return
    if form.is_table:
        digits = EXACT if form.as_csv else READ
        rows = [line for account in content["accounts"] for line in _lines(account, digits)]
        form.print(("dataset", "analyst", "unit", "neighbours", *AMOUNTS, "charges", "answers"), rows)
        return
    screen.say(f"Ledger: {where if Path(ledger.store.place).is_absolute() else ledger.store.label}")
    screen.say(f"Checkpoint: {content['checkpoint']}")
    accounts = content["accounts"]
    if not accounts:
        screen.say("No account was opened yet.")
        return
    screen.say()
    header = ("dataset", "unit", "neighbours", *AMOUNTS, "charges", "answers")
    screen.table(header, [_account(account, READ) for account in accounts])
    for account in accounts:
        for sentence in _plan(account):
            screen.say(sentence)
    rows = [_analyst(account, who, READ) for account in accounts for who in account["analysts"]]
    if rows:
        screen.say()
        screen.table(("dataset", "analyst", "share", "spent", "left"), rows)


@command(app)
def log(
    form: Form,
    where: str = WHERE,
    account: str | None = typer.Argument(None, metavar="[ACCOUNT]", help="Of one account. [default: all]"),
    since: str | None = typer.Option(None, metavar="WHEN", help="From then on: 2026, 2026-03, 2026-03-05."),
    until: str | None = typer.Option(None, metavar="WHEN", help="Up to then, the day or month included."),
    analyst: str | None = typer.Option(None, metavar="NAME", help="What one of them did."),
    checkpoint: str | None = CHECKPOINT,
) -> None:
    """What was done, by whom and when: every question in words, its cost, and what was left after it.

    Costs are rounded up and what is left down, at four digits, in what the account is counted in (epsilon, rho, mu^2);
    where the promise is told by another number, what is left is said in that, too. Times are UTC.

    \b
    JSON keys:
      ledger, checkpoint
      log: list of {seq, time, who, analyst, user, account, act, what, outcome,
        kind, cost, left, left_as}
    cost and left are exact decimals as text, left_as the promise that is left.
    """
    from dalenius.session.ledger import Ledger
    from dalenius.session.log import COLUMNS

    with Ledger.open(where, create=False, checkpoint=read_expected(checkpoint)) as ledger:
        found = ledger.log(account, since=since, until=until, analyst=analyst)
        if form.as_json:
            content = {"ledger": ledger.id, "checkpoint": ledger.checkpoint(), "log": found.to_dicts()}
            screen.print_json(content)
            return
    if form.as_csv:
        sys.stdout.write(screen.harmless(found.to_csv()))
    elif form.as_markdown:
        screen.say(found.to_markdown())
    elif not found:
        screen.say("Nothing was done then." if since or until or analyst else "No account was opened yet.")
    else:
        screen.table(COLUMNS, [line.cells() for line in found])


@command(app)
def verify(form: Form, where: str = WHERE, checkpoint: str | None = CHECKPOINT) -> None:
    """Read every entry and check the chain, the sums, and that every answer has its charge.

    Without a checkpoint this finds every change made by somebody who did not rewrite the whole ledger; with
    a checkpoint that was kept elsewhere, those too, up to the checkpoint.

    \b
    JSON keys:
      sound: true or false
      problems: list of sentences
      entries, accounts, charges, answers, checkpoint
    """
    from dalenius.session.verify import verify as check

    verification = check(where, read_expected(checkpoint))
    counts = {word: getattr(verification, word) for word in ("entries", "accounts", "charges", "answers")}
    if form.as_json:
        heading = {"sound": verification.ok, "problems": verification.problems}
        screen.print_json({**heading, **counts, "checkpoint": verification.checkpoint})
    elif form.is_table:
        form.print(
            ("sound", *counts, "checkpoint"), [(verification.ok, *counts.values(), verification.checkpoint)]
        )
        for problem in verification.problems:
            form.aside(problem)
    else:
        screen.say(str(verification))
    if not verification.ok:
        raise typer.Exit(DAMAGED)


@command(app)
def statement(
    where: str = WHERE,
    account: str | None = typer.Argument(None, metavar="[ACCOUNT]", help="Of one account. [default: all]"),
    year: int | None = typer.Option(
        None, metavar="YEAR", help="Of which year, in UTC; of this one, if left out."
    ),
    out: Path = typer.Option(metavar="FILE", help="A new file, such as statement.html."),
    title: str | None = typer.Option(None, metavar="TEXT", help="Of the page."),
    checkpoint: str | None = CHECKPOINT,
) -> None:
    """A year on one page of HTML: what was promised, what was spent by whom on what, what it means for one person.

    The page needs nothing else: style and pictures are inside, and nothing is fetched. If the ledger is not sound, the
    page says so, and the exit code is 3.
    """
    from dalenius.session.ledger import Ledger

    chosen = datetime.datetime.now(datetime.UTC).year if year is None else year
    with Ledger.open(where, create=False, checkpoint=read_expected(checkpoint)) as ledger:
        made = ledger.statement(chosen, account, title=title)
    made.save(out)
    screen.say(f"Written: {out}")
    if not made.sound:
        raise typer.Exit(DAMAGED)


@command(app)
def checkpoint(
    where: str = WHERE,
    file: Path | None = typer.Option(
        None, metavar="FILE", help="Where to keep it; the ledger must contain what is there."
    ),
) -> None:
    """Print the last entry as SEQ:HASH; kept elsewhere, it shows later that nothing up to it was changed or lost.

    With --file the ledger is first held against the checkpoint in that file (if there is one), and then the file gets
    the new one. Run it after asking; give `--checkpoint @FILE` with the next question.
    """
    from dalenius.session.ledger import Ledger

    old = None if file is None or not file.exists() else read_expected(f"@{file}")
    with Ledger.open(where, create=False, checkpoint=old) as ledger:
        new = ledger.checkpoint()
    if file is not None:
        _replaced(file, f"{new}\n")
    screen.say(new)


ACCOUNT = typer.Argument(metavar="ACCOUNT", help="The name of the data set, as `ledger show` lists it.")
NOTE = typer.Option(None, metavar="TEXT", help="Why; it is kept.")


@command(app, name="open")
def open_(
    where: str = WHERE,
    account: str = typer.Argument(
        metavar="ACCOUNT",
        help="What the ledger is to call the data set: people for people.csv, unless analysts say --name.",
    ),
    budget: str = typer.Option(metavar="PROMISE", help="What may be spent at first, as zcdp:0.5."),
    ceiling: str | None = typer.Option(
        None, metavar="PROMISE", help="What the budget may be raised to. [default: the budget]"
    ),
    renewals: int = typer.Option(0, metavar="TIMES", help="How often the budget may be opened once more."),
    share: list[str] | None = typer.Option(
        None,
        metavar="NAME=SHARE",
        help="What an analyst may spend: ana=1/4 or ana=zcdp:0.2. May be repeated.",
    ),
    unit: list[str] = typer.Option(
        [],
        metavar="COLUMN",
        help="Who is protected: the column that tells people apart; once more for a month's. [default: a row]",
    ),
    max_rows: int = typer.Option(1, metavar="ROWS", help="The most rows of one of them that count."),
    replace_one: bool = typer.Option(
        False, "--replace-one", help="Neighbours differ in one that is replaced."
    ),
) -> None:
    """Open an account before the first question: its budget, what it may become, and who may spend.

    What people are promised is all that may ever be opened: (TIMES + 1) times the ceiling, in the account's currency.
    """
    from dalenius.cli.promises import read_promise
    from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE
    from dalenius.session.ledger import Ledger
    from dalenius.tables.facts.unit import Unit

    promise = read_promise(budget)
    shares = dict(_share(text) for text in share) if share else None
    with Ledger.open(where) as ledger:
        if any(each.dataset == account for each in ledger.accounts()):
            raise InvalidParameter(f"the ledger has an account {account!r} already; `ledger show` lists it.")
        made = ledger.account(
            account,
            promise,
            shares=shares,
            ceiling=None if ceiling is None else read_promise(ceiling),
            renewals=renewals,
            unit=Unit(unit, max_rows=max_rows) if unit else Unit.rows(),
            adjacency=REPLACE_ONE if replace_one else ADD_REMOVE,
        )
        screen.say(f"Opened: {account}, {made.budget!r}; promised in all: {made.promise!r}.")


@command(app, name="raise")
def raise_(
    where: str = WHERE,
    account: str = ACCOUNT,
    budget: str = typer.Argument(metavar="PROMISE", help="The new budget, as zcdp:0.8."),
    note: str | None = NOTE,
) -> None:
    """Raise a budget, up to the ceiling that was settled when the account was opened. The promise stays as it is."""
    from dalenius.cli.promises import read_promise
    from dalenius.session.ledger import Ledger

    with Ledger.open(where, create=False) as ledger:
        left = ledger.existing(account).raise_budget(read_promise(budget), note=note)
    screen.say(f"Raised: {left!r} is left.")


@command(app)
def renew(where: str = WHERE, account: str = ACCOUNT, note: str | None = NOTE) -> None:
    """Open a budget once more, as often as was settled when the account was opened. The promise stays as it is."""
    from dalenius.session.ledger import Ledger

    with Ledger.open(where, create=False) as ledger:
        left = ledger.existing(account).renew(note=note)
    screen.say(f"Renewed: {left!r} is left.")


@command(app)
def share(
    where: str = WHERE,
    account: str = ACCOUNT,
    analyst: str = typer.Argument(metavar="ANALYST", help="Who may spend so much more."),
    promise: str = typer.Argument(metavar="PROMISE", help="How much, as zcdp:0.1."),
    note: str | None = NOTE,
) -> None:
    """Grant an analyst a share, out of what is left; from then on only those who have one may spend."""
    from dalenius.cli.promises import read_promise
    from dalenius.session.ledger import Ledger

    with Ledger.open(where, create=False) as ledger:
        left = ledger.existing(account).grant_share(analyst, read_promise(promise), note=note)
    screen.say(f"Granted: {analyst} may spend {left!r}.")


@command(app)
def close(
    where: str = WHERE,
    account: str = ACCOUNT,
    note: str | None = NOTE,
    yes: bool = typer.Option(False, "--yes", help="Do not ask whether it is meant."),
) -> None:
    """Close an account for ever: nothing more is charged to it. What was answered can be read again, for nothing."""
    from dalenius.session.ledger import Ledger

    with Ledger.open(where, create=False) as ledger:
        found = ledger.existing(account)
        if not yes:
            if not sys.stdin.isatty():
                raise InvalidParameter("an account is closed for ever; say --yes if that is meant.")
            if not typer.confirm(f"Close {account!r} for ever? {found.remaining!r} is left of it."):
                raise InvalidParameter("nothing was closed.")
        found.close_for_ever(note=note)
    screen.say(f"Closed: {account}.")


@command(app)
def grant(
    where: str = WHERE,
    role: str = typer.Argument(metavar="ROLE", help="A user or a group of users of that server."),
) -> None:
    """Let a PostgreSQL role spend: read, charge and record answers, and nothing else. Run as the ledger's owner.

    The role may call dalenius.append, which checks every entry inside the server, and may not write the tables. It
    cannot open accounts: the owner does, by opening a session on each data set once.
    """
    from dalenius.session.ledger import Ledger

    with Ledger.open(where, create=False) as ledger:
        ledger.grant(role)
    screen.say(f"{role} may spend.")


@command(app)
def export(
    where: str = WHERE,
    out: str | None = typer.Option(
        None, metavar="FILE", help="A new file to write. [default: standard output]"
    ),
    readable: bool = typer.Option(
        False, "--readable", help="Questions and answers as JSON, and each question in words."
    ),
) -> None:
    """The whole ledger as lines of JSON: a heading, every entry in order, and the checkpoint they end at.

    With --readable the words of a body stand in the entry itself, and hashes cannot be computed from it.

    \b
    Keys of an entry:
      seq, kind, account, key, body (a JSON text), previous, hash
    hash is the SHA-256 of the JSON list
    ["dalenius ledger", schema, seq, kind, account, key, body, previous].
    """
    from dalenius.session.ledger import Ledger

    with Ledger.open(where, create=False) as ledger:
        if out is None:
            _print(ledger.export(readable=readable))
            return
        path = Path(out)
        try:
            # "x": never over another file, least of all over the ledger.
            with open(path, "x", encoding="utf-8", opener=_private) as file:
                try:
                    file.writelines(line + "\n" for line in ledger.export(readable=readable))
                except BaseException:
                    path.unlink()
                    raise
        except FileExistsError:
            raise InvalidParameter(f"--out is {out!r}, which exists; name a new file.") from None
        except OSError as problem:
            raise InvalidParameter(
                f"--out is {out!r}, which cannot be written: {problem.strerror or problem}."
            ) from problem
    screen.say(f"Written: {out}")


@command(app)
def convert(
    form: Form,
    old: str = typer.Argument(metavar="OLD", help="A ledger that dalenius 0.1 wrote."),
    new: str = typer.Argument(metavar="NEW", help="Where there is none yet: a file, or a postgresql:// URL."),
) -> None:
    """Make a ledger of this version from one that dalenius 0.1 wrote, and close the old one for ever.

    The new ledger has the same accounts, and all that was spent of them is spent in it. What was answered is answered
    from the record, but for questions with a join, and searches: these are charged again. If it was interrupted, run
    it again with the same two names: it goes on where it ended. Never put a copy of the old ledger back: it would be
    open.

    \b
    JSON keys:
      old, new, accounts, charges, answers, checkpoint
      finished_before: whether there was nothing left to do
    """
    from dalenius.session.convert import convert as make

    done = asdict(make(old, new))
    again = done.pop("again")
    done["finished_before"] = again
    if form.as_json:
        screen.print_json(done)
        return
    if form.is_table:
        form.print(list(done), [list(done.values())])
        return
    screen.say(f"{'Was converted before' if again else 'Converted'}: {done['new']}")
    screen.say(f"Closed: {done['old']}")
    screen.say(f"Checkpoint: {done['checkpoint']}")


def _share(text: str) -> tuple[str, Any]:
    """NAME=1/4 or NAME=zcdp:0.2."""
    from dalenius.cli.promises import read_promise

    name, mark, value = text.rpartition("=")
    if not mark or not name:
        raise InvalidParameter(f"--share is {text!r}; it must be NAME=SHARE, as ana=1/4 or ana=zcdp:0.2.")
    return name, read_promise(value) if ":" in value else value


def read_expected(text: str | None) -> str | None:
    """A checkpoint from the command line: itself, or what is in @FILE."""
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter(f"there is no checkpoint to be read in {text[1:]!r}.") from None


def _print(lines: Iterable[str]) -> None:
    try:
        for line in lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        # What is left in the buffer must not be tried again at the end.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise InvalidParameter(f"standard output cannot be written: {problem.strerror or problem}.") from None


def _private(path: str, flags: int) -> int:
    """Questions and answers are for those who may read the ledger."""
    return os.open(path, flags, 0o600)


def _replaced(file: Path, text: str) -> None:
    draft = file.with_name(f".{file.name}.new-{os.getpid()}")
    try:
        draft.write_text(text, encoding="ascii")
        os.replace(draft, file)
    except OSError as problem:
        draft.unlink(missing_ok=True)
        raise InvalidParameter(
            f"--file is {str(file)!r}, which cannot be written: {problem.strerror}."
        ) from None


def _account(account: dict[str, Any], digits: int) -> tuple[str, ...]:
    return (
        account["dataset"],
        account["unit"],
        account["adjacency"].replace("_", "/" if account["adjacency"] == "add_remove" else " "),
        _numbers(account["budget"], EXACT),
        _numbers(account["spent"], digits),
        _numbers(account["left"], digits, up=False),
        str(account["charges"]),
        str(account["answers"]),
    )


def _lines(account: dict[str, Any], digits: int) -> list[tuple[str, ...]]:
    """An account, and each of its analysts, in the same columns."""
    dataset, unit, neighbours, *amounts = _account(account, digits)
    first = (dataset, "", unit, neighbours, *amounts)
    return [first] + [
        (dataset, name, unit, neighbours, *left, "", "")
        for _, name, *left in (_analyst(account, who, digits) for who in account["analysts"])
    ]


def _plan(account: dict[str, Any]) -> list[str]:
    """What else there is to say of an account."""
    name, told = account["dataset"], []
    renewals = account["renewals"]
    if account["promise"] != account["budget"]:
        often = f" ({renewals['used']} of {renewals['settled']} renewals used)" if renewals["settled"] else ""
        told.append(f"{name}: promised in all, {_numbers(account['promise'], READ)}{often}.")
    if renewals["used"]:
        opened = _short(account["kind"], account["exact"]["limit"], up=True, digits=READ)
        told.append(
            f"{name}: a renewal adds the budget to what was left; spent and left are of the {opened} opened so far."
        )
    if account["closed"]:
        told.append(f"{name}: closed for ever; what was answered can be read again.")
    limit = Fraction(account["exact"]["limit"]["amount"])
    shared = [Fraction(who["allowed"]["amount"]) for who in account["analysts"] if who["allowed"]]
    if sum(shared) > limit:
        told.append(f"{name}: the shares come to more than the budget; who asks first is answered.")
    return told


def _numbers(promise: dict[str, float], digits: int, up: bool = True) -> str:
    from dalenius.calculus.guarantees.amounts import shown

    return ", ".join(f"{name} {shown(Decimal(repr(value)), digits, up)}" for name, value in promise.items())


def _analyst(account: dict[str, Any], who: dict[str, Any], digits: int) -> tuple[str, ...]:
    return (
        account["dataset"],
        who["analyst"] or "(no name)",
        who["share"] or ("granted" if who["allowed"] else "any"),
        _short(account["kind"], who["spent"], digits, up=True),
        _short(account["kind"], who["left"], digits, up=False) if who["left"] else "",
    )


def _short(kind: str, exact: dict[str, str], digits: int, up: bool) -> str:
    from dalenius.calculus.guarantees.cost import Cost

    parts: dict[str, Any] = {name: Fraction(value) for name, value in exact.items()}
    return Cost(kind, **parts).text(digits, up)
