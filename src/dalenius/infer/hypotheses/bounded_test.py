"""What tests of means share: public bounds, which a session reads from the schema where the test has none."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest

UNKNOWN = (-math.inf, math.inf)
"""Bounds that were left out."""


@dataclass(frozen=True)
class BoundedTest(HypothesisTest):
    """A test of values between public bounds; without them it is one for sessions, and runs nowhere else."""

    bounds: tuple[float, float] = UNKNOWN

    def _check(self) -> None:
        if self.is_bounded:
            object.__setattr__(self, "bounds", checks.interval("bounds", self.bounds))

    @property
    def is_bounded(self) -> bool:
        given: object = self.bounds
        plain = isinstance(given, tuple) and all(isinstance(end, float) for end in given)
        return not plain or given != UNKNOWN

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds; refused where there are none."""
        if not self.is_bounded:
            raise InvalidParameter.of(
                "bounds",
                f"the {self.method} needs bounds: what is public about the values, as bounds=(lowest, highest). "
                "Only in a session may they be left out, where the schema has them.",
            )
        return self.bounds

    def within(self, bounds: tuple[float, float]) -> Self:
        """The same with these bounds, where it has none of its own."""
        return self if self.is_bounded else replace(self, bounds=bounds)
