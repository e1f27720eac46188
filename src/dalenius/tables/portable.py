"""The few things the engines spell differently."""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.datatypes as dt

from dalenius.tables.kinds import Kind

ENGINES = ("duckdb", "postgres", "pyspark")

ROWS = 39
"""Sums are exact for up to 2^39 rows in one group (half a million million)."""

LIMB = 24


def _builtin(name: str, *arguments: str, returns: str) -> Any:
    """A function the engine has and Ibis does not."""
    # Ibis reads the names of the parameters, so there must be as many as there are arguments.
    shapes: tuple[Any, ...] = (lambda x: None, lambda x, y: None, lambda x, y, z: None)
    types = tuple(dt.dtype(argument) for argument in arguments)
    declared = shapes[len(arguments) - 1]
    return ibis.udf.scalar.builtin(declared, name=name, signature=(types, dt.dtype(returns)))


def text_to_integer(engine: str, text: Any) -> Any:
    """The first 24 bits of the SHA-256 of a text's UTF-8, as an integer."""
    if engine == "postgres":
        encoded = _builtin("convert_to", "string", "string", returns="binary")(text, "UTF8")
        digest = _builtin("sha256", "binary", returns="binary")(encoded)
        byte = _builtin("get_byte", "binary", "int32", returns="int32")
        return sum(byte(digest, i).cast("int64") * 256 ** (2 - i) for i in range(3))
    if engine == "pyspark":
        digest = _builtin("sha2", "string", "int32", returns="string")(text, 256)
        return _builtin("conv", "string", "int32", "int32", returns="string")(digest.left(6), 16, 10).cast(
            "int64"
        )
    digest = _builtin("sha256", "string", returns="string")(text)
    return (ibis.literal("0x") + digest.left(6)).cast("int64")


def to_integer(engine: str, kind: Kind, x: Any) -> Any:
    """A key or an id as an integer, not always another for another value."""
    if kind == "text":
        return text_to_integer(engine, x)
    if kind == "bool":
        return x.cast("int32").cast("int64")
    if kind == "date":
        year, month, day = (part.cast("int64") for part in (x.year(), x.month(), x.day()))
        return year * 10_000 + month * 100 + day
    return x.cast("int64")


def wide_sum(engine: str, x: Any, size: int) -> list[tuple[Any, int]]:
    """Pieces of the sum of integers below 2^size in magnitude: pairs (aggregate, power of two it is worth).

    DuckDB and PostgreSQL sum 64-bit integers without bound; the result travels as text. Spark's sum is 64 bits
    wide and fails beyond, so there numbers are cut into limbs of 24 bits, the highest with the sign.
    """
    if size + ROWS <= 62:
        return [(_sum(x), 0)]
    if engine != "pyspark":
        return [(ibis.coalesce(x.sum().cast("string"), ibis.literal("0")), 0)]
    pieces = []
    power = 0
    while size > LIMB - 1:
        pieces.append((_sum(x & (2**LIMB - 1)), power))
        x = x >> LIMB
        size -= LIMB
        power += LIMB
    pieces.append((_sum(x), power))
    return pieces


def _sum(x: Any) -> Any:
    """The sum, 0 of nothing: a null would travel in floating point on some ways out of Spark."""
    return ibis.coalesce(x.sum(), ibis.literal(0, "int64"))
