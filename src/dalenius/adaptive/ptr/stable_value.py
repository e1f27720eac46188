"""Any function of the data, released without noise where it is stable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalenius.adaptive.ptr.parts import Stable
from dalenius.adaptive.user_function import asked, checked_function
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Neighbours


@dataclass(frozen=True, kw_only=True)
class StableValue(Stable):
    """function(data), as it is, for data all of whose neighbours have the same value.

    Release by stability (Thakurta and Smith 2013): after a `DistanceTest`, its loss is that of the test, and delta for
    the wrong pass. Neither function may fail on any data; one that does ends the release with `FunctionFailed`, which
    says nothing else.

    Parameters
    ----------
    function
        What is released.
    changes
        How many records must change until the value does: 1 or more, and from one neighbour to the next it differs by
        1 at most (as the exact number does). A lower bound with these two properties will do.
    pair
        Two neighbours, for audits.
    adjacency
        The neighbouring relation that `changes` counts.

    Examples
    --------
    >>> from dalenius.adaptive.ptr import ProposeTestRelease, StableValue
    >>> over_1000 = StableValue(
    ...     function=lambda rows: len(rows) > 1000, changes=lambda rows: max(len(rows) - 1000, 1001 - len(rows)),
    ...     pair=([0] * 1000, [0] * 1001))
    >>> m = ProposeTestRelease.by_distance(over_1000, epsilon=0.5, wrong_pass=1e-9)
    >>> m.release([0] * 2000), m.release([0] * 1001)
    (True, Refusal())
    """

    function: Callable[[Any], Any]
    changes: Callable[[Any], int]
    pair: tuple[Any, Any]
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        checked_function("function", self.function)
        checked_function("changes", self.changes)
        pair: object = self.pair
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidParameter.of(
                "pair", f"pair is {checks.shown(self.pair)}; it must be two neighbouring data sets."
            )
        checked_adjacency(self.adjacency)

    @property
    def budget(self) -> Loss:
        return Loss.zero(self.adjacency)

    def distance(self, data: Any) -> int:
        return asked(lambda: checks.count("changes(data)", self.changes(data), least=1)) - 1

    def release(self, data: Any) -> Any:
        return asked(self.function, data)

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(*self.pair)
