"""One column of an answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.core.arrays import Reals


@dataclass(frozen=True, eq=False)
class Column:
    """One column of an answer: per group an estimate, its standard error and an interval."""

    name: str
    estimate: Reals
    error: Reals
    low: Reals
    high: Reals
    whole: bool = False
    """Whether the true value is a whole number, 0 or more."""
    optional: bool = False
    """Whether an interval may be lacking, as after a refusal: its columns are there all the same."""

    def within(self, lower: float, upper: float) -> Column:
        """The same, kept within bounds."""
        estimate, low, high = (np.clip(x, lower, upper) for x in (self.estimate, self.low, self.high))
        return replace(self, estimate=estimate, low=low, high=high)

    @property
    def has_interval(self) -> bool:
        return self.optional or not np.isnan(self.low).all()

    @property
    def is_number(self) -> bool:
        """Whether the estimates are numbers; categories otherwise."""
        return self.estimate.dtype != object

    @property
    def plain(self) -> list[Any]:
        """The estimates as Python has them."""
        return [
            int(v) if self.whole and v == v else None if self.whole else v for v in self.estimate.tolist()
        ]
