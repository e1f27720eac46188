"""DuckDB: doubles overflow to infinity, sums of integers have 128 bits, casts out of range are errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import ibis
import ibis.expr.operations as ops

from dalenius.tables.engines.engine import Engine, builtin
from dalenius.tables.engines.total import CASTS


class DuckDB(Engine):
    """In the same process, from files and frames."""

    name = "duckdb"
    functions: ClassVar[Mapping[str, str]] = {"sha256": "s", "hex": "s", "strlen": "s"}
    casts = CASTS | {"is"}
    further: ClassVar[Mapping[type[Any], str]] = {
        ops.StringConcat: "s",
        ops.Substring: "si",
        ops.TryCast: "s",
    }

    def digest(self, text: Any) -> Any:
        digits = builtin("sha256", "string", returns="string")(text).left(6)
        return (ibis.literal("0x") + digits).try_cast("int64")

    def hexadecimal(self, text: Any) -> Any:
        return builtin("hex", "string", returns="string")(text)

    def length(self, text: Any) -> Any:
        return builtin("strlen", "string", returns="int64")(text)
