"""`dalenius ledger show | verify | export`: look at what was charged and answered."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalenius.calculus import written
from dalenius.calculus.errors import InvalidParameter
from dalenius.cli import show as screen
from dalenius.cli.frame import EXIT_CODES, AsJson, clear_errors

if TYPE_CHECKING:
    from dalenius.session.verify import Verification

NOT_SOUND = 3

VERIFY_CODES = f"""{EXIT_CODES}
  3  the ledger was read, and it is not sound"""

app = typer.Typer(
    help="Look at a ledger: what was spent, whether it is sound, and all of it as text.",
    epilog=VERIFY_CODES,
    rich_markup_mode=None,
    no_args_is_help=True,
)

Where = Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or a postgresql:// URL.")]


@app.command(epilog=EXIT_CODES)
def show(where: Where, as_json: AsJson = False) -> None:
    """What was charged to each budget, to whom, and what is left.

    What is spent is what was charged so far, written as a promise and rounded up; what is left is rounded down, at
    the digits shown. What is promised, at every moment, is the budget. The checkpoint names the last entry: keep it
    elsewhere, and `ledger verify --checkpoint` can tell that nothing was rewritten.

    \b
    JSON keys:
      ledger, schema, checkpoint
      accounts: list of {dataset, unit, adjacency, kind, budget, spent, left,
        exact: {limit, spent, left}, analysts: list of {analyst, share, spent, left},
        charges, answers}
    budget, spent and left are promises, such as {"rho": 0.5}. The amounts under exact and
    analysts are what is charged (epsilon, rho, mu^2; delta; shift), exact decimals as text.
    """
    with clear_errors():
        from dalenius.session.ledger import Ledger
        from dalenius.session.report import overview

        with Ledger.open(where, create=False) as ledger:
            found = overview(ledger)
        if as_json:
            print(json.dumps(found, indent=2))
            return
        screen.say(f"Ledger: {where if '://' not in where else ledger.store.label}")
        screen.say(f"Checkpoint: {found['checkpoint']}")
        if not found["accounts"]:
            screen.say("No account was opened yet.")
            return
        screen.say()
        header = ("dataset", "unit", "neighbours", "budget", "spent", "left", "charges", "answers")
        screen.table(header, [_account(account) for account in found["accounts"]])
        rows = [_analyst(account, who) for account in found["accounts"] for who in account["analysts"]]
        if rows:
            screen.say()
            screen.table(("dataset", "analyst", "share", "spent", "left"), rows)


@app.command(epilog=VERIFY_CODES)
def verify(
    where: Where,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", metavar="SEQ:HASH", help="An entry the ledger must contain."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read every entry and check the chain, the sums, and that every answer has its charge.

    Without a checkpoint this finds every change made by somebody who did not rewrite the whole ledger; with
    a checkpoint that was kept elsewhere, those too, up to the checkpoint.

    \b
    JSON keys:
      sound: true or false
      problems: list of sentences
      entries, accounts, charges, answers, checkpoint
    """
    with clear_errors():
        from dalenius.session.verify import verify as check

        found = check(where, checkpoint)
        if as_json:
            print(json.dumps(_verification(found), indent=2))
        elif found.ok:
            words = (
                ("entries", "entry"),
                ("accounts", "account"),
                ("charges", "charge"),
                ("answers", "answer"),
            )
            counts = [(getattr(found, many), many, one) for many, one in words]
            screen.say(
                "Sound: " + ", ".join(f"{n} {one if n == 1 else many}" for n, many, one in counts) + "."
            )
            screen.say(f"Checkpoint: {found.checkpoint}")
        else:
            screen.say("Not sound:")
            for problem in found.problems:
                screen.say(f"- {problem}")
    if not found.ok:
        raise typer.Exit(NOT_SOUND)


@app.command(epilog=EXIT_CODES)
def export(
    where: Where,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="A new file to write. [default: standard output]"),
    ] = None,
) -> None:
    """The whole ledger as lines of JSON: a heading, every entry in order, and the checkpoint they end at.

    \b
    Keys of an entry:
      seq, kind, account, key, body (a JSON text), previous, hash
    hash is the SHA-256 of the JSON list
    ["dalenius ledger", schema, seq, kind, account, key, body, previous].
    """
    with clear_errors():
        from dalenius.session.ledger import Ledger
        from dalenius.session.report import exported

        with Ledger.open(where, create=False) as ledger:
            if out is None:
                for line in exported(ledger):
                    sys.stdout.write(line + "\n")
                return
            path = Path(out)
            try:
                # "x": never over another file, least of all over the ledger.
                with path.open("x", encoding="ascii") as file:
                    try:
                        file.writelines(line + "\n" for line in exported(ledger))
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


def _account(account: dict[str, Any]) -> tuple[str, ...]:
    return (
        account["dataset"],
        account["unit"],
        account["adjacency"].replace("_", "/" if account["adjacency"] == "add_remove" else " "),
        _numbers(account["budget"], digits=17),
        _numbers(account["spent"]),
        _numbers(account["left"], up=False),
        str(account["charges"]),
        str(account["answers"]),
    )


def _numbers(promise: dict[str, float], digits: int = written.DIGITS, up: bool = True) -> str:
    from dalenius.session.cost import shown

    return ", ".join(f"{name} {shown(Decimal(repr(value)), digits, up)}" for name, value in promise.items())


def _analyst(account: dict[str, Any], who: dict[str, Any]) -> tuple[str, ...]:
    return (
        account["dataset"],
        who["analyst"] or "(no name)",
        who["share"] or "any",
        _short(account["kind"], who["spent"], up=True),
        _short(account["kind"], who["left"], up=False) if who["left"] else "",
    )


def _short(kind: str, exact: dict[str, str], up: bool) -> str:
    from fractions import Fraction

    from dalenius.session.cost import Cost

    parts = {name: Fraction(value) for name, value in exact.items()}
    return Cost(kind, **parts).text(written.DIGITS, up)  # type: ignore[arg-type]


def _verification(found: Verification) -> dict[str, Any]:
    return {
        "sound": found.ok,
        "problems": found.problems,
        "entries": found.entries,
        "accounts": found.accounts,
        "charges": found.charges,
        "answers": found.answers,
        "checkpoint": found.checkpoint,
    }
