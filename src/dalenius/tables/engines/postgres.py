"""PostgreSQL: doubles that overflow or underflow are errors, sums of integers are decimals without limit.

Text is in UTF-8 (columns of any other encoding are not used, see `collations`), so that `convert_to` has nothing to
convert, and nothing that it could not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dalenius.tables.engines.engine import Engine, builtin
from dalenius.tables.engines.total import CASTS


class Postgres(Engine):
    """A server."""

    name = "postgres"
    functions: ClassVar[Mapping[str, str]] = {
        "convert_to": "s",
        "sha256": "x",
        "get_byte": "xi",
        "encode": "xs",
        "octet_length": "s",
    }
    casts = CASTS | {"is"}

    def digest(self, text: Any) -> Any:
        found = builtin("sha256", "binary", returns="binary")(_bytes(text))
        byte = builtin("get_byte", "binary", "int32", returns="int32")
        return sum(byte(found, i).cast("int64") * 256 ** (2 - i) for i in range(3))

    def hexadecimal(self, text: Any) -> Any:
        return builtin("encode", "binary", "string", returns="string")(_bytes(text), "hex")

    def length(self, text: Any) -> Any:
        return builtin("octet_length", "string", returns="int32")(text).cast("int64")


def _bytes(text: Any) -> Any:
    return builtin("convert_to", "string", "string", returns="binary")(text, "UTF8")
