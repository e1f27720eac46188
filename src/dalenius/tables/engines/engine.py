"""What an engine must be able to do for a question, in forms that no value can make fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import ibis
import ibis.expr.datatypes as dt

from dalenius.errors import QueryRefused
from dalenius.tables.engines import total
from dalenius.tables.kinds import Kind
from dalenius.tables.terms import integer

ROWS = 32
"""Sums are exact for up to 2^32 rows in one group, and cannot fail for any number of them.

What is summed lies within 2^size in magnitude, by its clamp. Where size + 32 <= 62 the sum of 2^32 rows lies within
2^62, and it is clamped to that for more; to clamp a sum never drives neighbours apart. Where it is more, the sum
travels as text. DuckDB sums in 128 bits, which 2^64 rows do not exhaust, PostgreSQL in decimals without limit. Spark
sums in 64 bits and fails beyond: it is given limbs of 23 bits, which 2^39 rows (half a million million) do not exhaust.
"""

LIMIT = 2**62


class Engine(ABC):
    """One engine: its own spellings, and the list of all that it is asked to compute."""

    name: str
    functions: ClassVar[Mapping[str, str]]
    """Functions of the engine by name, with the types of their arguments (see `total`)."""
    casts: frozenset[str] = total.CASTS
    further: ClassVar[Mapping[type[Any], str]] = {}

    def check(self, statement: Any, given: Any) -> None:
        """Refuse a statement with anything in it that is not listed. given: the relation it reads from."""
        listed = {**total.COMMON, **total.SUMMED, **self.further}
        total.check(statement, listed, self.functions, self.casts | total.ON_GRIDS, given)

    @abstractmethod
    def digest(self, text: Any) -> Any:
        """The first 24 bits of the SHA-256 of a text's UTF-8, as an integer."""

    @abstractmethod
    def hexadecimal(self, text: Any) -> Any:
        """The bytes of a text, whatever they are, as hexadecimal digits."""

    @abstractmethod
    def length(self, text: Any) -> Any:
        """How many bytes a text has."""

    def sum(self, x: Any, size: int) -> list[tuple[Any, int]]:
        """Pieces of the sum of integers below 2^size in magnitude: pairs (aggregate, power of two it is
        worth)."""
        if fits(size):
            return [(ibis.least(ibis.greatest(summed(x), integer(-LIMIT)), integer(LIMIT)), 0)]
        return [(ibis.coalesce(x.sum().cast("string"), ibis.literal("0")), 0)]

    def integer(self, kind: Kind | None, x: Any) -> Any:
        """A key or an id as an integer, not always another for another value."""
        if kind == "text":
            return self.digest(x)
        if kind == "bool":
            return x.cast("int32").cast("int64")  # PostgreSQL knows no other way
        if kind == "date":
            year, month, day = (part.cast("int64") for part in (x.year(), x.month(), x.day()))
            return year * 10_000 + month * 100 + day
        if kind == "integer":
            return x.cast("int64")
        raise QueryRefused(f"something of type {kind} cannot be a key or an id.")


def fits(size: int) -> bool:
    """Whether a sum of integers below 2^size in magnitude is kept within 64 bits."""
    return size + ROWS <= 62


def summed(x: Any) -> Any:
    """The sum, 0 of nothing: a null would travel in floating point on some ways out of Spark."""
    return ibis.coalesce(x.sum(), ibis.literal(0, "int64"))


def builtin(name: str, *arguments: str, returns: str) -> Any:
    """A function the engine has and Ibis does not."""
    # Ibis reads the names of the parameters, so there must be as many as there are arguments.
    shapes: tuple[Any, ...] = (lambda x: None, lambda x, y: None, lambda x, y, z: None)
    types = tuple(dt.dtype(argument) for argument in arguments)
    declared = shapes[len(arguments) - 1]
    return ibis.udf.scalar.builtin(declared, name=name, signature=(types, dt.dtype(returns)))
