"""A published table of counts by groups, as what it says about the rows behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dalenius.core import checks
from dalenius.errors import InvalidParameter

Key = tuple[str | None, ...]
"""A value for each column; None for the total over all of its values."""


@dataclass(frozen=True)
class PublishedTable:
    """Counts by groups, each known to lie between two numbers.

    Parameters
    ----------
    columns
        What the rows are grouped by.
    keys
        A value of each column for every count; None for the total over all values of a column.
    low
        The least that each count can be.
    high
        The most that each count can be; math.inf where it was hidden.
    absent
        Whether groups that are not in the table have no rows.

    Examples
    --------
    >>> from dalenius.audit.attacks import PublishedTable
    >>> PublishedTable.rounded(("sex",), [("f",), ("m",), (None,)], [40, 35, 80], base=5).low
    (38, 33, 78)
    """

    columns: tuple[str, ...]
    keys: tuple[Key, ...]
    low: tuple[int, ...]
    high: tuple[float, ...]
    absent: bool = True

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "columns", tuple(self.columns))
            object.__setattr__(self, "keys", tuple(tuple(key) for key in self.keys))
            object.__setattr__(self, "low", tuple(checks.count("a count", low) for low in self.low))
            object.__setattr__(self, "high", tuple(float(high) for high in self.high))
            hash((self.columns, self.keys))
        except InvalidParameter:
            raise
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter(
                "a table is made of names of columns, a tuple of texts for each group, and two numbers for each count."
            ) from None
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise InvalidParameter.of("columns", "a table needs columns, each with a name of its own.")
        if not len(self.keys) == len(self.low) == len(self.high) > 0:
            raise InvalidParameter("a table needs as many keys as counts, and one at least.")
        if any(len(key) != len(self.columns) for key in self.keys):
            raise InvalidParameter.of("keys", "every key needs a value for each column.")
        if len(set(self.keys)) < len(self.keys):
            twice = next(key for k, key in enumerate(self.keys) if key in self.keys[:k])
            group = ", ".join("total" if value is None else value for value in twice)
            raise InvalidParameter.of("keys", f"the group ({group}) is in the table twice.")
        if any(not low <= high for low, high in zip(self.low, self.high, strict=True)):
            raise InvalidParameter.of("high", "no count may be above its most.")

    @classmethod
    def exact(cls, columns: Sequence[str], keys: Sequence[Key], counts: Sequence[int]) -> PublishedTable:
        """A table of counts as they are.

        Parameters
        ----------
        columns
            What the rows are grouped by.
        keys
            A value of each column for every count.
        counts
            The counts.

        Returns
        -------
        PublishedTable
            The table.
        """
        whole = tuple(checks.count("a count", count) for count in counts)
        return cls(tuple(columns), tuple(keys), whole, tuple(map(float, whole)))

    @classmethod
    def rounded(
        cls,
        columns: Sequence[str],
        keys: Sequence[Key],
        counts: Sequence[int],
        base: int,
        random: bool = False,
    ) -> PublishedTable:
        """A table of counts that were rounded to multiples of `base`.

        Parameters
        ----------
        columns
            What the rows are grouped by.
        keys
            A value of each column for every count.
        counts
            The rounded counts.
        base
            What they are multiples of.
        random
            Whether each count was rounded up or down at random, rather than to the nearest multiple.

        Returns
        -------
        PublishedTable
            The table.
        """
        base = checks.count("base", base, 1)
        off = base - 1 if random else base // 2
        whole = [checks.count("a count", count) for count in counts]
        low, high = (
            tuple(max(0, count - off) for count in whole),
            tuple(float(count + off) for count in whole),
        )
        return cls(tuple(columns), tuple(keys), low, high)

    @property
    def hidden(self) -> int:
        """The number of counts that were hidden altogether."""
        return sum(high == math.inf for high in self.high)
