"""What every estimate is, as an object: frozen settings that know their cost, their columns and their release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.core.habits import Hinted
from dalenius.errors import InvalidParameter
from dalenius.infer.columns import Column
from dalenius.infer.estimates.bounded import Bounded
from dalenius.infer.estimates.stream import Stream
from dalenius.infer.promise import checked_guarantee
from dalenius.infer.result import Result

Bounds = tuple[float, float] | Sequence[float] | None
Unknown = Literal["unknown"]

ANYWHERE = Bounded(-1.0, 1.0)
"""What an estimate costs does not depend on where the bounds are."""


class TableRows(NamedTuple):
    """The columns of a table that an estimate is about: `read()` yields blocks, a column for each.

    names: as people write them. half_steps: how far the grid moved values of each, at most.
    """

    read: Callable[[], Iterable[Reals]]
    names: Sequence[str]
    half_steps: Sequence[float]

    def column(self, place: int = 0) -> Stream[Reals]:
        """One of them."""
        return Stream(lambda: (block[:, place] for block in self.read()), self.half_steps[place])

    def sample(self, which: float) -> Stream[Reals]:
        """The second, of rows in which the first is this."""
        return Stream(lambda: (b[:, 1][b[:, 0] == which] for b in self.read()), self.half_steps[1])

    def pairs(self) -> Stream[tuple[Reals, Reals]]:
        """Both."""
        return Stream(lambda: ((block[:, 0], block[:, 1]) for block in self.read()))

    def codes(self) -> Stream[tuple[Ints, Ints]]:
        """Both, as places among levels; -1 for none."""
        return Stream(lambda: ((_places(block[:, 0]), _places(block[:, 1])) for block in self.read()))


def _places(values: Reals) -> Ints:
    return np.where(np.isfinite(values), values, -1.0).astype(np.int64)


@dataclass(frozen=True)
class Estimate(Hinted, ABC):
    """An estimate with its promise. `loss` is the cost, whatever the data; `release` is the only look at the data."""

    guarantee: Guarantee
    adjacency: Adjacency = field(default=ADD_REMOVE, kw_only=True)

    what: ClassVar[str]
    """What it is called in messages."""

    def __post_init__(self) -> None:
        checked_guarantee(self.guarantee)
        checked_adjacency(self.adjacency)
        self._check()
        _ = self.loss

    def _check(self) -> None:
        """Raise where a setting cannot be, and write the others in one way."""

    @cached_property
    @abstractmethod
    def loss(self) -> Loss:
        """What one release costs."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """What it is about, in a table: the feature and then, where there is one, the target."""

    def told(self, bounds: Sequence[tuple[float, float] | None]) -> Self:
        """The same, with bounds of its columns where it has none of its own."""
        return self

    @abstractmethod
    def release(self, *data: Any) -> Result:
        """Of columns in memory."""

    @abstractmethod
    def release_from(self, rows: TableRows) -> Result:
        """Of a table's rows, in blocks."""


def bounds_of(name: str, given: Bounds) -> tuple[float, float] | None:
    """Bounds in one way of writing; None where there are none."""
    if given is None:
        return None
    checked = Bounded.of(given, name)
    return checked.low, checked.high


def needed(name: str, given: Bounds, what: str) -> Bounded:
    """Bounds; refused where there are none."""
    if given is None:
        raise InvalidParameter.of(
            name,
            f"the {what} needs {name}: what is public about the values, as {name}=(lowest, highest). Only in a session "
            "may they be left out, where the schema has them.",
        )
    return Bounded.of(given, name)
