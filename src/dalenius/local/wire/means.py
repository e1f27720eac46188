"""Randomizers of numbers on the wire: a bit, or a place of the piecewise mechanism."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from dalenius.core.record import JSON
from dalenius.local.duchi import Duchi
from dalenius.local.piecewise import Piecewise
from dalenius.local.wire.kind import Kind, double, down, place
from dalenius.local.wire.randomized_response import respond
from dalenius.local.wire.words import below, coin

GRID = 1 << 32
"""Numbers are first moved down to one of 2^32 + 1 places between their bounds, by at most 2^-32 of the way."""


class WireMean(Kind):
    """What kinds for numbers share: the bounds, as exact text."""

    settings = ()

    @abstractmethod
    def places(self, c: Mapping[str, int]) -> int:
        """How many different reports there are."""

    def row(self, c: Mapping[str, int], report: JSON) -> Any:
        return place(report, self.places(c))

    def make(self, epsilon: float, record: Mapping[str, JSON]) -> Any:
        return self.mechanism(epsilon=epsilon, bounds=(double(record["lowest"]), double(record["highest"])))


class WireOneBitMean(WireMean):
    """One of the bounds, at random so that the mean is kept, through randomized response."""

    tag = "one_bit_mean"
    mechanism = Duchi

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"fits": down(1 - mechanism._response._chance)}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        high = below(GRID, words) < value
        return respond(int(high), 2, c["fits"], words)

    def places(self, c: Mapping[str, int]) -> int:
        return 2


class WirePiecewiseMean(WireMean):
    """One of `steps` + 1 places, at random so that the mean is kept; then a place of its window, or another one."""

    tag = "piecewise_mean"
    mechanism = Piecewise

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {"window": mechanism.window, "steps": mechanism.places - mechanism.window}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"fits": down(mechanism._fits)}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        window, steps = c["window"], c["steps"]
        start, part = divmod(value * steps, GRID)
        start += below(GRID, words) < part
        if coin(c["fits"], words):
            return start + below(window, words)
        other = below(steps, words)
        return other if other < start else other + window

    def places(self, c: Mapping[str, int]) -> int:
        return c["window"] + c["steps"]
