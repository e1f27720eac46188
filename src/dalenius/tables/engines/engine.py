"""What an engine must be able to do for a question, in forms that no value can make fail.

An engine is one object in one file (or folder), listed in `engines`. Everything it must know is declared or abstract
here: what a new engine does not say about itself is an error when it is made, never another engine's answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import ibis
import numpy as np
from numpy.typing import NDArray

from dalenius.errors import QueryRefused, SourceError
from dalenius.tables.engines.opened import APART, Clean, Described, Opened
from dalenius.tables.engines.place import Place
from dalenius.tables.engines.sqltext import UNUSABLE
from dalenius.tables.facts.dates import Span
from dalenius.tables.facts.kinds import Kind
from dalenius.tables.facts.schema import Schema
from dalenius.tables.rows import total
from dalenius.tables.rows.spelling import Ends, builtin
from dalenius.tables.rows.terms import integer

T = TypeVar("T")

ROWS = 32
"""Sums are exact for up to 2^32 rows in one group, and cannot fail for any number of them.

What is summed lies within 2^size in magnitude, by its clamp. Where size + 32 <= 62 the sum of 2^32 rows lies within
2^62, and it is clamped to that for more; to clamp a sum never drives neighbours apart. Where it is more, the sum
travels as text. DuckDB sums in 128 bits, which 2^64 rows do not exhaust, PostgreSQL in decimals without limit. Spark
and SQLite sum in 64 bits and fail beyond: they are given limbs of 23 bits, which 2^39 rows (half a million million) do
not exhaust.
"""

LIMIT = 2**62
LIMB = 23
FACTS = ("name", "opened", "operations", "functions", "casts", "at_hand")


class Engine(ABC):
    """One engine: what it opens, how it reads and runs, its own spellings, and all that it is asked to compute."""

    name: ClassVar[str]
    """As Ibis spells it."""
    opened: ClassVar[str]
    """What to give to have it opened, in words that follow "give"."""
    at_hand: ClassVar[bool]
    """Whether rows are as quick to read as to sum: the engine is in the same process, and reads many at once."""
    operations: ClassVar[Mapping[type[Any], str]]
    """All it is asked to compute, with the types of arguments (see `total`)."""
    functions: ClassVar[Mapping[str, str]]
    """Functions of the engine by name, likewise."""
    casts: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        missing = [fact for fact in FACTS if not hasattr(cls, fact)]
        if missing:
            raise TypeError(f"the engine {cls.__name__} does not say its {', '.join(missing)}.")

    # Opening

    @abstractmethod
    def opens(self, data: Any) -> bool:
        """Whether a path, an address or an object in memory is for this engine. Ibis tables are not asked about."""

    @abstractmethod
    def open(self, data: Any, table: str | None, schema: Schema, beside: Any = None) -> Opened:
        """Open what `opens` said yes to. beside: a connection that this opened before, to be used for this, too."""

    @abstractmethod
    def place(self, data: Any, table: str | None) -> Place:
        """Where that is, for a ledger to remember; nothing is connected to."""

    @abstractmethod
    def place_given(self, backend: Any, table: str) -> Place:
        """Where a table is that Ibis named on a connection of its own."""

    @abstractmethod
    def adopted(self, backend: Any, sql: str) -> tuple[Any, Any]:
        """A connection that was given, made ready, and the relation that some SQL stands for."""

    def open_given(self, data: Any, beside: Any = None) -> Opened:
        """An Ibis table, on a connection that was given and stays open: its own SQL, columns by position."""
        backend = data.get_backend()
        backend._run_pre_execute_hooks(data)  # tables in memory that the expression uses
        own, relation = self.adopted(backend, backend.compile(data))
        if beside is not None:
            if _connection(own) is not _connection(beside):
                raise SourceError(f"{APART}.")
            own = beside
        called = data.get_name() if hasattr(data.op(), "name") else "data"
        return self.cleaned(own, relation, called, names=list(data.columns), owned=False, kept=data)

    # Reading

    @abstractmethod
    def described(self, backend: Any, relation: Any) -> list[Described]:
        """The columns of a relation, from what the engine says of them; no row is read."""

    @abstractmethod
    def clean(self, dtype: Any, x: str) -> Clean:
        """The clean form (see `kinds`) of a column of that type, whatever it holds. x: its name in SQL."""

    @abstractmethod
    def collated(self, backend: Any, relation: Any, columns: Sequence[str]) -> set[str]:
        """Those of the columns in which different texts can be equal; they are not used."""

    @abstractmethod
    def view(self, backend: Any, relation: Any, columns: Sequence[str], forms: Sequence[Clean]) -> Any:
        """The Ibis table of clean forms over a relation whose columns are called as given, by position."""

    def cleaned(
        self,
        backend: Any,
        relation: Any,
        called: str,
        *,
        names: Sequence[str] | None = None,
        forms: Sequence[Clean] | None = None,
        owned: bool = True,
        kept: Any = None,
    ) -> Opened:
        """The clean columns of a relation, taken by position.

        names: what the columns are called, where the engine does not know. forms: their clean forms, of columns r0,
        r1, ..., where the types do not tell.
        """
        columns = self.described(backend, relation)
        raw = [f"r{i}" for i in range(len(columns))]
        read = forms or [self.clean(column.dtype, x) for x, column in zip(raw, columns, strict=True)]
        texts = [c.name for c, form in zip(columns, read, strict=True) if "text" in (form.kind, form.items)]
        odd = self.collated(backend, relation, texts) & set(texts) if texts else set()
        read = [
            replace(form, kind=None, items=None, dtype=UNUSABLE, identity=None)
            if column.name in odd
            else form
            for column, form in zip(columns, read, strict=True)
        ]
        named = zip(names or [column.name for column in columns], columns, read, strict=True)
        fields = tuple(form.field(name, column.nullable) for name, column, form in named)
        return Opened(self.view(backend, relation, raw, read), self, called, fields, backend, owned, kept)

    # Running

    @abstractmethod
    def fetch(self, backend: Any, statement: Any) -> Any:
        """Run a statement that `check` has passed, to its end; the result in Arrow. Ctrl-C is a KeyboardInterrupt."""

    @abstractmethod
    def blocks(self, backend: Any, statement: Any, size: int) -> Iterator[NDArray[np.int64]]:
        """The rows of a statement whose columns are all int64 and never null, so many at a time: rows x columns.

        As `fetch`, except that no more than a few blocks are in memory, however many rows there are.
        """

    @abstractmethod
    def close(self, backend: Any) -> None:
        """Close a connection that `open` made."""

    def answers(self, backend: Any) -> bool:
        """Whether a connection still works; asked before a charge, where a server may have been started again."""
        return True

    def check(self, statement: Any, given: Any) -> None:
        """Refuse a statement with anything in it that is not listed. given: the relation it reads from."""
        total.check(statement, self.operations, self.functions, self.casts | total.ON_GRIDS, given)

    # Spelling

    @abstractmethod
    def digest(self, text: Any) -> Any:
        """The first 24 bits of the SHA-256 of a text's UTF-8, as an integer."""

    @abstractmethod
    def hexadecimal(self, text: Any) -> Any:
        """The bytes of a text, whatever they are, as hexadecimal digits."""

    @abstractmethod
    def length(self, text: Any) -> Any:
        """How many bytes a text has."""

    # The same, of expressions: see `rows.spelling`

    @abstractmethod
    def characters(self, text: Any) -> Any:
        """How many code points a text has, as int64."""

    def cased(self, text: Any, of: str, to: str) -> Any:
        """Each of the letters `of` as the one at its place in `to`; by no locale's rules."""
        return builtin("translate", "string", "string", "string", returns="string")(text, of, to)

    @abstractmethod
    def trimmed(self, text: Any, ends: Ends) -> Any:
        """Without blanks at the front, the back, or both."""

    def cut(self, text: Any, start: int, size: int) -> Any:
        """At most so many code points from a place on; the first is 1."""
        cut = builtin("substring", "string", "int32", "int32", returns="string")
        return cut(text, ibis.literal(start, "int32"), ibis.literal(size, "int32"))

    @abstractmethod
    def days(self, date: Any) -> Any:
        """Since 0001-01-01, as int64."""

    @abstractmethod
    def beginning(self, date: Any, span: Span) -> Any:
        """The first day of the year, quarter, month or week, from Monday, that a date is in."""

    @abstractmethod
    def once(self, rows: Any) -> Any:
        """The same rows, whose columns are computed once however often a statement around them mentions each."""

    @abstractmethod
    def sum(self, x: Any, size: int) -> list[tuple[Any, int]]:
        """Pieces of the sum of integers below 2^size in magnitude: pairs (aggregate, power of two it is
        worth)."""

    def item(self, items: Any, kind: Kind, at: Any) -> Any:
        """The item of a list of clean items at a position from 0, null beyond its end."""
        raise QueryRefused(f"{self.name} has no lists.")

    def size(self, items: Any, kind: Kind) -> Any:
        """How many items a list has; null, or less than 0, where there is none."""
        raise QueryRefused(f"{self.name} has no lists.")

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


def _connection(backend: Any) -> Any:
    return getattr(backend, "con", None) or getattr(backend, "_session", None) or backend


def fits(size: int) -> bool:
    """Whether a sum of integers below 2^size in magnitude is kept within 64 bits."""
    return size + ROWS <= 62


def summed(x: Any) -> Any:
    """The sum, 0 of nothing: a null would travel in floating point on some ways out of Spark."""
    return ibis.coalesce(x.sum(), ibis.literal(0, "int64"))


def wide_sum(x: Any, size: int) -> list[tuple[Any, int]]:
    """The sum in one piece, where the engine's own sum cannot overflow: clamped to 64 bits, or as text."""
    if fits(size):
        return [(ibis.least(ibis.greatest(summed(x), integer(-LIMIT)), integer(LIMIT)), 0)]
    return [(ibis.coalesce(x.sum().cast("string"), ibis.literal("0")), 0)]


def limbs(x: Any, size: int) -> list[tuple[Any, int]]:
    """The sum in limbs without a sign, and the highest with it, where the engine sums in 64 bits."""
    pieces, power = [], 0
    while size > LIMB:
        pieces.append((summed(x & (2**LIMB - 1)), power))
        x = x >> LIMB
        size -= LIMB
        power += LIMB
    return [*pieces, (summed(x), power)]


def interruptible(action: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """Work inside a library that does not listen to Ctrl-C, or tells it as a failure of its own.

    It runs in a thread, which no signal reaches; meanwhile this one waits, and tells the library when to stop.
    """
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(action)
        try:
            return running.result()
        except KeyboardInterrupt:
            while not running.done():  # it may not have begun, and what has not begun is not interrupted
                interrupt()
                wait([running], 0.1)
            raise
