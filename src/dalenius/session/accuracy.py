"""What a person wants to know, said as an error they can live with."""

from __future__ import annotations

from dataclasses import dataclass

from dalenius.core import checks
from dalenius.errors import InvalidParameter


@dataclass(frozen=True)
class Within:
    """An error, the confidence of staying within it, the column it is about, and the rows a group has."""

    error: float
    confidence: float = 0.95
    column: str | None = None
    rows: float | None = None


def within(
    error: float, confidence: float = 0.95, *, column: str | None = None, rows: float | None = None
) -> Within:
    """`within(100, confidence=0.95)`: the error is at most 100, nineteen times out of twenty.

    column: which aggregate is meant (all of them when left out). rows: how many rows a group has, which
    decides the error of a mean; needed where the error depends on it.
    """
    confidence = checks.number("confidence", confidence)
    if not 0 < confidence < 1:
        raise InvalidParameter(f"confidence is {confidence}; it must be a number strictly between 0 and 1.")
    size = None if rows is None else checks.positive("rows", rows)
    return Within(checks.positive("error", error), confidence, column, size)
