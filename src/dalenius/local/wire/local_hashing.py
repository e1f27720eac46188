"""Local hashing on the wire: three whole numbers [a, b, y]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dalenius.core.record import JSON
from dalenius.local.local_hashing import LocalHashing
from dalenius.local.wire.kind import Kind, Malformed, down, place
from dalenius.local.wire.randomized_response import respond
from dalenius.local.wire.words import below


class WireLocalHashing(Kind):
    """a and b at random, and floor(((a v + b) mod prime) g / prime) through randomized response."""

    tag = "local_hashing"
    mechanism = LocalHashing
    settings = ("k", "g")

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {"k": mechanism.k, "g": mechanism.g, "prime": mechanism.prime}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"fits": down(mechanism.p)}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        a = 1 + below(c["prime"] - 1, words)
        b = below(c["prime"], words)
        hashed = (a * value + b) % c["prime"] * c["g"] // c["prime"]
        return [a, b, respond(hashed, c["g"], c["fits"], words)]

    def row(self, c: Mapping[str, int], report: JSON) -> Any:
        if type(report) is not list or len(report) != 3 or report[0] == 0:
            raise Malformed
        sizes = (c["prime"], c["prime"], c["g"])
        return [place(part, size) for part, size in zip(report, sizes, strict=True)]
