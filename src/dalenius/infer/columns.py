"""What a test or an estimate wants of a table: a number a row, or a category of a public list."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True)
class Numbers:
    """A number a row; `bounds` where the test has some of its own."""

    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Categories:
    """One of these values a row."""

    levels: tuple[Hashable, ...]


Column = Numbers | Categories

OUTCOMES = Numbers((-1.0, 2.0))
"""1 or 0, with room for what is neither."""
