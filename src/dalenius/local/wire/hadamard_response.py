"""Hadamard response on the wire: a whole number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dalenius.core.record import JSON
from dalenius.local.hadamard_response import HadamardResponse
from dalenius.local.wire.kind import Kind, down, place
from dalenius.local.wire.words import below, coin


class WireHadamardResponse(Kind):
    """A place that fits the answer if the coin does, else one of the others: of the same block, or elsewhere."""

    tag = "hadamard_response"
    mechanism = HadamardResponse
    settings = ("k", "blocks")

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {"k": mechanism.k, "blocks": mechanism.blocks, "block_size": mechanism.block_size}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"fits": down(mechanism._fits)}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        size, fits = c["block_size"], coin(c["fits"], words)
        half = size // 2
        block, row = divmod(value, size - 1)
        start, row = block * size, row + 1
        elsewhere = -1 if fits else below(c["blocks"] * size - half, words) - half
        if elsewhere >= 0:
            return elsewhere if elsewhere < start else elsewhere + size
        column = below(size, words)
        # A place fits if it has an even number of ones in common with the row.
        if (column & row).bit_count() % 2 == fits:
            column ^= row & -row
        return start + column

    def row(self, c: Mapping[str, int], report: JSON) -> Any:
        return place(report, c["blocks"] * c["block_size"])
