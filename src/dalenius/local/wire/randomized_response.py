"""Randomized response on the wire: a whole number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dalenius.core.record import JSON
from dalenius.local.randomized_response import RandomizedResponse
from dalenius.local.wire.kind import Kind, down, place
from dalenius.local.wire.words import below, coin


class WireRandomizedResponse(Kind):
    """The answer if the coin `fits`, else one of the others."""

    tag = "randomized_response"
    mechanism = RandomizedResponse

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {"k": mechanism.k}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"fits": down(mechanism.p)}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        return respond(value, c["k"], c["fits"], words)

    def row(self, c: Mapping[str, int], report: JSON) -> Any:
        return place(report, c["k"])


def respond(truth: int, k: int, fits: int, words: Iterator[int]) -> int:
    """The truth, or one of the k - 1 other answers."""
    if coin(fits, words):
        return truth
    other = below(k - 1, words)
    return other + (other >= truth)
