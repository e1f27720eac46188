"""What a person wants to know, said as an error they can live with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dalenius.core import checks
from dalenius.core.habits import hinted
from dalenius.errors import InvalidParameter


@dataclass(frozen=True)
class Within:
    """An error (or one for each column), the confidence of staying within it, the column it is about, the rows a group
    has, and whether all numbers of the answer are to stay within it together."""

    error: float | Mapping[str, float]
    confidence: float = 0.95
    column: str | None = None
    rows: float | None = None
    simultaneous: bool = False

    @property
    def each(self) -> Iterator[tuple[str | None, float]]:
        """Columns, or None for all of them, and the error of each."""
        if isinstance(self.error, Mapping):
            yield from self.error.items()
        else:
            yield self.column, self.error

    @property
    def parts(self) -> list[Within]:
        """The same, one error at a time."""
        return [replace(self, error=error, column=column) for column, error in self.each]

    @property
    def largest(self) -> float:
        """The largest error that is allowed anywhere."""
        return max(error for _, error in self.each)

    @property
    def words(self) -> str:
        """`within 50`, or `n within 50, pay within 1000`."""
        return ", ".join(f"{name} within {e:g}" if name else f"within {e:g}" for name, e in self.each)


@hinted(more="columns are named in a mapping, within({'n': 50, 'pay': 1000})")
def within(
    error: float | Mapping[str, float],
    confidence: float = 0.95,
    *,
    column: str | None = None,
    rows: float | None = None,
    simultaneous: bool = False,
) -> Within:
    """`within(100, confidence=0.95)`: each number is off by 100 at most, nineteen times out of twenty.

    It is about the noise, and about the table as the session sees it: values clamped to their bounds, and no more than
    `max_rows` rows of a unit.

    Parameters
    ----------
    error
        The error that is small enough; for each column its own, as {"n": 50, "pay": 1000}. Columns that are not named
        may be off by anything.
    confidence
        How often it must be kept to, strictly between 0 and 1.
    column
        Which aggregate is meant; all of them when left out.
    rows
        How many rows a group has, which decides the error of a mean or another ratio; needed where the error depends
        on it. It is your own guess, and public: smaller groups have larger errors.
    simultaneous
        Whether all numbers of the answer, in all groups and bins, are to be within their errors at once.

    Returns
    -------
    Within
        What `Session.price` and `Session.release` take.

    Raises
    ------
    InvalidParameter
        If a number is not what it must be.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.within(100).words, dp.within({"n": 50, "pay": 1000}).words
    ('within 100', 'n within 50, pay within 1000')
    """
    size = None if rows is None else checks.positive("rows", rows)
    together = checks.flag("simultaneous", simultaneous)
    allowed: float | dict[str, float]
    if isinstance(error, Mapping):
        if column is not None:
            raise InvalidParameter("error names its columns itself; leave column out.")
        if not error or not all(isinstance(name, str) for name in error):
            raise InvalidParameter(
                f"error is {checks.shown(error)}; it must be a number, or name columns of the answer: {{'n': 50}}."
            )
        allowed = {name: checks.positive(f"the error of {name!r}", value) for name, value in error.items()}
    else:
        allowed = checks.positive("error", error)
    return Within(allowed, checks.confidence(confidence), column, size, together)
