"""Unary encodings on the wire: a bit for each answer, as hexadecimal digits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from dalenius.core.record import JSON
from dalenius.local.unary_encoding import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from dalenius.local.wire.kind import Kind, bits, hexadecimal, up
from dalenius.local.wire.words import WORDS, coin


class WireOptimizedUnaryEncoding(Kind):
    """Bit after bit a coin: `own` for the person's answer, a fair one, and `other` for each other answer."""

    tag = "optimized_unary_encoding"
    mechanism: ClassVar[type] = OptimizedUnaryEncoding
    rising = ("other",)

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {"k": mechanism.k}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"own": WORDS // 2, "other": up(mechanism.q)}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        return hexadecimal([coin(c["own"] if j == value else c["other"], words) for j in range(c["k"])])

    def row(self, c: Mapping[str, int], report: JSON) -> Any:
        return bits(report, c["k"])


class WireSymmetricUnaryEncoding(WireOptimizedUnaryEncoding):
    """The same with coins of which each tells the truth equally often."""

    tag = "symmetric_unary_encoding"
    mechanism = SymmetricUnaryEncoding

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        other = up(mechanism.q)
        return {"own": WORDS - other, "other": other}
