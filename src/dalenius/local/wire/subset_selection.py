"""Subset selection on the wire: a set of answers, as hexadecimal digits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dalenius.core.record import JSON
from dalenius.local.subset_selection import SubsetSelection
from dalenius.local.wire.kind import Kind, Malformed, bits, down, hexadecimal
from dalenius.local.wire.words import below, coin


class WireSubsetSelection(Kind):
    """The answer is in the set if the coin `fits`; the others are dealt in their order until the set is full."""

    tag = "subset_selection"
    mechanism = SubsetSelection
    settings = ("k", "d")

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {"k": mechanism.k, "d": mechanism.d}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"fits": down(mechanism.p)}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        chosen = [False] * c["k"]
        chosen[value] = coin(c["fits"], words)
        missing, left = c["d"] - chosen[value], c["k"] - 1
        for answer in range(c["k"]):
            if answer == value or missing == 0:
                continue
            chosen[answer] = below(left, words) < missing
            missing, left = missing - chosen[answer], left - 1
        return hexadecimal(chosen)

    def row(self, c: Mapping[str, int], report: JSON) -> Any:
        row = bits(report, c["k"])
        if int.from_bytes(row, "little").bit_count() != c["d"]:
            raise Malformed
        return row
