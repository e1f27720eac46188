"""`dalenius local parameters | report | aggregate | page`: a survey in which everybody randomizes their own answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dalenius.cli import show as screen
from dalenius.cli.commands import EXIT_CODES, command
from dalenius.cli.forms import Form
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.local import Aggregator, Frequencies, MeanEstimate, Parameters

app = typer.Typer(
    help="Surveys in which people randomize their own answers: public parameters, reports, and what they add up to.",
    epilog=EXIT_CODES,
    rich_markup_mode=None,
    no_args_is_help=True,
)

PUBLIC = typer.Argument(metavar="PARAMETERS", help="The file that `local parameters` wrote.")
SHOWN = 40
"""Answers that a table shows; --json has all of them."""


@command(app)
def parameters(
    kind: str = typer.Argument(metavar="KIND", help="Such as randomized_response or piecewise_mean."),
    epsilon: float = typer.Option(..., metavar="E", help="What one report may cost."),
    k: int | None = typer.Option(None, metavar="K", help="How many answers there are."),
    categories: str | None = typer.Option(
        None, metavar="A,B,...", help="What the answers are called, instead of --k."
    ),
    bounds: str | None = typer.Option(
        None, metavar="LOW,HIGH", help="Where numbers lie, for kinds that end in _mean."
    ),
    survey: str = typer.Option("", metavar="NAME", help="The name that every report will carry."),
) -> None:
    """Print the public message of a survey, which clients and the aggregator read.

    \b
    Kinds: randomized_response, optimized_unary_encoding, symmetric_unary_encoding,
    hadamard_response, local_hashing, subset_selection (for answers);
    one_bit_mean, piecewise_mean, hybrid_mean, laplace_mean (for numbers).
    """
    from dalenius.local import Parameters
    from dalenius.local.wire.parameters import KINDS

    known = {each.tag: each for each in KINDS}
    if kind not in known:
        raise InvalidParameter(f"{kind!r} is not a kind of randomizer; there are {', '.join(known)}.")
    names = tuple(name.strip() for name in categories.split(",")) if categories else ()
    if known[kind].settings:
        if bounds is not None or (k is None) == (not names):
            raise InvalidParameter(f"{kind} is for answers: give --k or --categories, and no --bounds.")
        made = known[kind].mechanism(epsilon=epsilon, k=len(names) or k)
    else:
        if k is not None or names or bounds is None:
            raise InvalidParameter(f"{kind} is for numbers: give --bounds, and no --k or --categories.")
        made = known[kind].mechanism(epsilon=epsilon, bounds=_bounds(bounds))
    print(Parameters(made, survey, names).to_json())


@command(app)
def report(
    public: Path = PUBLIC,
    values: list[str] = typer.Argument(
        metavar="VALUE...", help="One for each person: an answer, or a number."
    ),
) -> None:
    """Print one report for each value, made private: one line each.

    A second report of the same person costs as much again.
    """
    from dalenius.local import Client

    client = Client(_read(public))
    chosen = [value if client.parameters.categories else _number(value) for value in values]
    for message in [client.report(value) for value in chosen]:
        print(message)


@command(app)
def aggregate(
    form: Form,
    public: Path = typer.Argument(
        metavar="PARAMETERS", help="The file that `local parameters` wrote, or one that --tally did."
    ),
    files: list[Path] = typer.Argument(
        None, metavar="[REPORTS]...", help="Files of one message a line; else stdin."
    ),
    confidence: float = typer.Option(0.95, metavar="C", help="Of the intervals."),
    tally: Path | None = typer.Option(
        None, metavar="FILE", help="Keep what was counted there, to go on later."
    ),
) -> None:
    """Estimate from reports, with intervals. What is not a report of the survey is counted and left out.

    \b
    JSON keys:
      people, rejected: {reason: how many}, confidence
      answers: list of {answer, share, lower, upper}; or mean, lower, upper
    """
    from dalenius.local import Aggregator

    collector = Aggregator.from_json(_text(public))
    with ExitStack() as stack:
        for lines in _sources(files, stack):
            collector.read(lines)
    if not collector.people:
        raise InvalidParameter(f"there is no report of this survey{_left_out(collector)}.")
    if tally is not None:
        try:
            tally.write_text(collector.to_json() + "\n", encoding="utf-8")
        except OSError as problem:
            raise InvalidParameter(f"{tally} cannot be written ({problem.strerror}).") from None
    _show(collector, collector.estimate(), confidence, form)


@command(app)
def page(
    public: Path = PUBLIC,
    question: str = typer.Argument(metavar="QUESTION", help="What people are asked."),
) -> None:
    """Print an HTML page, complete in itself, that asks the question and makes the report in the browser."""
    from dalenius.local import survey_page

    print(survey_page(_read(public), question), end="")


def _show(collector: Aggregator, estimate: Frequencies | MeanEstimate, confidence: float, form: Form) -> None:
    from dalenius.local import MeanEstimate

    content: dict[str, Any] = {
        "people": collector.people,
        "rejected": dict(collector.rejected),
        "confidence": confidence,
    }
    if isinstance(estimate, MeanEstimate):
        low, high = estimate.conf_int(confidence)
        content |= {"mean": estimate.estimate, "lower": low, "upper": high}
        header = ["mean", "lower", "upper"]
        rows = [[f"{content[name]:.6g}" for name in header]]
    else:
        header = ["answer", "share", "lower", "upper"]
        limits = estimate.conf_int(confidence).T.tolist()
        shares = zip(estimate.categories, estimate.estimate.tolist(), *limits, strict=True)
        content["answers"] = [dict(zip(header, row, strict=True)) for row in shares]
        common = sorted(content["answers"], key=lambda row: -row["share"])[:SHOWN]
        rows = [[str(row["answer"]), *(f"{row[name]:.4f}" for name in header[1:])] for row in common]
    if form.as_json:
        screen.print_json(content)
        return
    if form.is_table:
        full = content.get("answers", [content])
        form.print(header, [[row[name] for name in header] for row in full])
        return
    reports = "1 report" if collector.people == 1 else f"{collector.people} reports"
    screen.say(f"{reports}{_left_out(collector)}")
    screen.table(header, rows)


def _left_out(collector: Aggregator) -> str:
    number = sum(collector.rejected.values())
    if not number:
        return ""
    reasons = ", ".join(f"{reason}: {times}" for reason, times in collector.rejected.items())
    return f"; {number} message{'s were' if number > 1 else ' was'} left out ({reasons})"


def _sources(files: list[Path] | None, stack: ExitStack) -> Iterator[Iterator[bytes]]:
    if not files:
        yield iter(sys.stdin.buffer)
    for path in files or ():
        try:
            yield iter(stack.enter_context(path.open("rb")))
        except OSError as problem:
            raise InvalidParameter(f"{path} cannot be read ({problem.strerror}).") from None


def _read(path: Path) -> Parameters:
    from dalenius.local import Parameters

    return Parameters.from_json(_text(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise InvalidParameter(f"{path} cannot be read ({problem.strerror}).") from None
    except UnicodeDecodeError:
        raise InvalidParameter(f"{path} is not text.") from None


def _number(text: str) -> int | float:
    try:
        return int(text) if text.strip().isascii() and text.strip().isdecimal() else float(text)
    except ValueError:
        raise InvalidParameter("a value is not a number; answers are numbered from 0.") from None


def _bounds(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameter("--bounds takes two numbers, such as 0,100.") from None
    return low, high
