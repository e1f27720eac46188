"""In which steps one record may take part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dalenius.core import checks
from dalenius.errors import InvalidParameter

MOST_STEPS = 10**6


class Squares(NamedTuple):
    """Bounds on the largest squared move of one record."""

    lower: Fraction
    upper: Fraction


@dataclass(frozen=True)
class Schedule:
    """At most `participations` of the steps 0, 1, ..., any two at least `separation`, or a multiple of it, apart."""

    steps: int
    participations: int
    separation: int
    multiples: bool = False

    @classmethod
    def of(cls, steps: object, participations: object, separation: object, epoch: object) -> Schedule:
        """From what a user says; `epoch` says that distances are multiples of it."""
        length = checks.count("steps", steps, least=1)
        if length > MOST_STEPS:
            raise InvalidParameter.of("steps", f"steps is {length}; it must be at most {MOST_STEPS}.")
        most = checks.count("participations", participations, least=1)
        apart = checks.count("separation", separation, least=1)
        if epoch is None:
            return cls(length, most, apart)
        if apart != 1:
            raise InvalidParameter.of(
                "epoch",
                "give `separation`, the least distance of two participations, or `epoch`, of which it is a multiple.",
            )
        return cls(length, most, checks.count("epoch", epoch, least=1), True)

    @property
    def longest(self) -> int:
        """Participations that there is room for."""
        return min(self.participations, -(-self.steps // self.separation))

    @property
    def first(self) -> range:
        """The pattern that starts with the first step and goes on as soon as it may."""
        return range(0, self.longest * self.separation, self.separation)

    @property
    def every(self) -> bool:
        """Whether a record may be in every step that is a multiple of the separation after its first."""
        return self.longest * self.separation >= self.steps

    def words(self) -> dict[str, int | tuple[int, int]]:
        """For the text of a loss; (value, default)."""
        apart = {"epoch" if self.multiples else "separation": (self.separation, 0 if self.multiples else 1)}
        return {"participations": (self.participations, 1), **apart}
