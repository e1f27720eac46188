"""What every kind of release in a report can do: bound its loss for a record, and for the worst one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalenius.adaptive.personal import quantiles
from dalenius.adaptive.personal.record import Fields
from dalenius.calculus.pairs.pair import Reals
from dalenius.core.record import JSON

SLACK = 1e-9
"""Relative and absolute: covers the rounding of all sums here, and of noise drawn on a grid of 2^-40 of itself."""


@dataclass(frozen=True)
class Statement:
    """What is claimed: the bound fails with this probability at most, for so many people (infinity: for everybody)."""

    failure: float
    people: float = 1

    def part(self, share: float) -> Statement:
        """The same with a share of the failure probability."""
        return Statement(self.failure * share, self.people)

    @property
    def is_for_everyone(self) -> bool:
        return math.isinf(self.people)

    @property
    def each(self) -> float:
        """The failure probability of one person's bound, for people named beforehand."""
        return self.failure / self.people

    def directions(self, size: int) -> tuple[float, float | None]:
        """(ball, box): |v.x| <= min(ball |x|, box |x|_1) for v ~ N(0, I), in the directions x of these people.

        For everybody both hold, each with half of the failure probability; a row with few entries is better off in
        the box. For people named beforehand a direction is one normal number.
        """
        if not self.is_for_everyone:
            return quantiles.along(self.each), None
        return quantiles.length(size, self.failure / 2), quantiles.largest(size, self.failure / 2)


class Release(ABC):
    """One release, seen by one person."""

    tag: ClassVar[str]
    fields: Fields | None
    """What a person is asked for; None where every record costs the same."""

    @abstractmethod
    def constants(self, statement: Statement) -> dict[str, Any]:
        """All numbers that the bound needs besides the record: what a page computes with, too."""

    @abstractmethod
    def bound(self, constants: Mapping[str, Any], rows: Reals, labels: Reals, member: bool | None) -> Reals:
        """The bound for some records."""

    @abstractmethod
    def worst(self, constants: Mapping[str, Any]) -> float:
        """The largest bound that any record has."""

    @abstractmethod
    def record(self) -> dict[str, JSON]:
        """In words (docs/record-format.md), without the tag."""

    @classmethod
    @abstractmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Release:
        """What `record` wrote."""


def reached(rows: Reals, ball: float, box: float | None, rounding: float = 0.0) -> Reals:
    """min(ball |x|, box |x|_1), row by row, for any x within `rounding` of the row."""
    sides = np.asarray(ball * (np.linalg.norm(rows, axis=1) + rounding))
    if box is None:
        return sides
    corners = np.abs(rows).sum(axis=1) + rounding * rows.shape[1] ** 0.5
    return np.asarray(np.minimum(sides, box * corners))


def padded(bound: Any) -> Any:
    """With room for rounding."""
    return bound * (1 + SLACK) + SLACK
