"""What a person wants to know, said as an error they can live with."""

from __future__ import annotations

from dataclasses import dataclass

from dalenius.core import checks


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

    Parameters
    ----------
    error
        The error that is small enough.
    confidence
        How often it must be kept to, strictly between 0 and 1.
    column
        Which aggregate is meant; all of them when left out.
    rows
        How many rows a group has, which decides the error of a mean; needed where the error depends on it.

    Returns
    -------
    Within
        What `Session.price` takes.

    Raises
    ------
    InvalidParameter
        If a number is not what it must be.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.within(100)
    Within(error=100.0, confidence=0.95, column=None, rows=None)
    """
    size = None if rows is None else checks.positive("rows", rows)
    return Within(checks.positive("error", error), checks.confidence(confidence), column, size)
