"""Spark: integers that overflow and casts out of range are errors in its default (ANSI) mode, sums have 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import ibis.expr.operations as ops

from dalenius.tables.engines.engine import Engine, builtin, summed

LIMB = 23
"""Bits of a limb (see `engine.ROWS`)."""


class Spark(Engine):
    """A cluster, or one machine."""

    name = "pyspark"
    functions: ClassVar[Mapping[str, str]] = {"sha2": "si", "conv": "si", "hex": "s", "octet_length": "s"}
    further: ClassVar[Mapping[type[Any], str]] = {
        ops.Substring: "si",
        ops.TryCast: "s",
        ops.BitwiseAnd: "i",
        ops.BitwiseRightShift: "i",
    }

    def digest(self, text: Any) -> Any:
        digits = builtin("sha2", "string", "int32", returns="string")(text, 256).left(6)
        return builtin("conv", "string", "int32", "int32", returns="string")(digits, 16, 10).try_cast("int64")

    def hexadecimal(self, text: Any) -> Any:
        return builtin("hex", "string", returns="string")(text)

    def length(self, text: Any) -> Any:
        return builtin("octet_length", "string", returns="int32")(text).cast("int64")

    def sum(self, x: Any, size: int) -> list[tuple[Any, int]]:
        """Limbs without a sign, and the highest with it."""
        pieces, power = [], 0
        while size > LIMB:
            pieces.append((summed(x & (2**LIMB - 1)), power))
            x = x >> LIMB
            size -= LIMB
            power += LIMB
        return [*pieces, (summed(x), power)]
