"""Guarantees in text, as in `dalenius calibrate ... --for approx:1.0,1e-5`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from dalenius.cli.commands import EXIT_CODES
from dalenius.cli.problems import GrammarError, quoted, single_number, suggestion
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.calculus.guarantees import Guarantee
    from dalenius.core.checks import Check

_PYTHON = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
"""A guarantee as Python shows it, which `price` prints: ZCDP(rho=0.05)."""


EPSILON = ("dp", "eps", "epsilon")


def read_promise(text: str) -> Guarantee:
    """The guarantee a text describes; what Python and `dalenius price` print is read as well.

    >>> from dalenius.cli.promises import read_promise
    >>> read_promise("approx:1.0,1e-5"), read_promise("ZCDP(rho=0.05)")
    (ApproxDP(epsilon=1.0, delta=1e-05), ZCDP(rho=0.05))
    """
    from dalenius.calculus.guarantees import KINDS

    written = {tag: kind for tag, kind in KINDS.items() if kind.parameters}
    printed = _PYTHON.fullmatch(text)
    word, at, rest = (printed[1], printed.start(2), printed[2]) if printed else _parts(text)
    words = {kind.name.lower(): kind for kind in written.values()} if printed else written
    if printed:  # of several kinds with one name, the one whose number is named first
        words |= {kind.name.lower(): kind for kind in written.values() if _begins_with(kind, rest or "")}
    kind = words.get(word.strip().lower())
    if kind is None:
        hint = _kind_for(word.strip(), rest) or suggestion(word.strip(), words) or "."
        raise GrammarError(
            f"{quoted(word)} is not a guarantee{hint} Write {spellings()}.", text, 0, max(1, len(word))
        )
    spelling = f"write {_spelling(kind)}."
    if rest is None:
        raise GrammarError(f"{kind.tag} lacks its values; {spelling}", text, 0, len(word))
    pieces = rest.split(",")
    if len(pieces) != len(kind.parameters):
        message = f"{kind.tag} has {len(pieces)} values and takes {len(kind.parameters)}; {spelling}"
        raise GrammarError(message, text, at, at + max(1, len(rest)))
    values = []
    for piece, (name, check) in zip(pieces, kind.parameters.items(), strict=True):
        label = re.match(rf"\s*{name}\s*=", piece) if printed else None
        values.append(_value(text, at + (label.end() if label else 0), at + len(piece), name, check))
        at += len(piece) + 1
    return kind(*values)


def _kind_for(word: str, rest: str | None) -> str:
    """The end of a sentence about a number without a kind, or an epsilon; nothing for other words."""
    numbers = (word if rest is None else rest).replace(" ", "")
    if not all(re.fullmatch(r"\d*\.?\d+(e-?\d+)?", number) for number in numbers.split(",")):
        return ""
    kind = "approx" if "," in numbers else "zcdp" if rest is None else "pure"
    if rest is None:
        return f": numbers need a kind, as {kind}:{numbers}."
    return f": an epsilon is {kind}:{numbers}." if word.lower() in EPSILON else ""


class Promising(TyperCommand):
    """A command whose help lists the guarantees; they are loaded only then."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        self.epilog = f"A PROMISE is {spellings()}.\n\n{EXIT_CODES}"
        super().format_epilog(ctx, formatter)


def spellings() -> str:
    """How each guarantee is written."""
    from dalenius.calculus.guarantees import KINDS
    from dalenius.core.checks import either

    return either([_spelling(kind) for kind in KINDS.values() if kind.parameters])


def _spelling(kind: type[Guarantee]) -> str:
    return f"{kind.tag}:{','.join(kind.parameters).upper()}"


def _begins_with(kind: type[Guarantee], values: str) -> bool:
    return bool(re.match(rf"\s*{next(iter(kind.parameters))}\s*=", values))


def _parts(text: str) -> tuple[str, int, str | None]:
    """The word, where its values begin, and the values."""
    word, colon, rest = text.partition(":")
    return word, len(word) + 1, rest if colon else None


def _value(text: str, start: int, end: int, name: str, check: Check) -> float:
    try:
        number = single_number(text[start:end])
    except GrammarError:
        message = f"{quoted(text[start:end])} is not a finite number; write numbers such as 1.0 or 1e-5."
        raise GrammarError(message, text, start, max(start + 1, end)) from None
    try:
        return check(name, number)
    except InvalidParameter as problem:
        raise GrammarError(str(problem), text, start, max(start + 1, end)) from problem
