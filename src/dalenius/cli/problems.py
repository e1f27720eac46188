"""What is wrong with a piece of text, shown where it is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dalenius.core.nearest import meant
from dalenius.errors import InvalidParameter

WIDTH = 96
"""Longest excerpt shown: it fits a terminal together with its margin."""


class GrammarError(InvalidParameter):
    """Text that does not say what it should: the message, then the text with carets under the place."""

    def __init__(self, message: str, text: str, start: int, end: int) -> None:
        self.message, self.text, self.start, self.end = message, text, start, end
        super().__init__(f"{message}\n{excerpt(text, start, end)}")


def excerpt(text: str, start: int, end: int) -> str:
    """The text around [start, end) on one line, and carets under that part."""
    # One character stays one column, so that the carets stand where they belong.
    line = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)
    left = 0 if len(line) <= WIDTH else max(0, min(start - WIDTH // 3, len(line) - WIDTH))
    shown = line[left : left + WIDTH]
    before = "..." if left > 0 else ""
    after = "..." if left + WIDTH < len(line) else ""
    carets = "^" * max(1, min(end, left + WIDTH) - start)
    return f"  {before}{shown}{after}\n  {' ' * (len(before) + start - left)}{carets}"


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean "gaussian"?`, or nothing when no known word is near."""
    near = meant(word, known)
    return "" if near is None else f'; did you mean "{near}"?'


def quoted(text: str) -> str:
    """A piece of the user's text, safe to print inside a sentence."""
    clean = "".join(c if c.isprintable() else "?" for c in text)
    return f'"{clean}"' if len(clean) <= 40 else f'"{clean[:37]}..."'


def single_number(text: str) -> float:
    """A text that is one finite number and nothing else."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise GrammarError(f"{quoted(text)} is not a number.", text, 0, max(1, len(text)))
    return value
