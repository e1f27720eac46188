"""Ibis's SQLite, with the spellings that are not exact or not total in it exchanged for others.

    doubles in a question   as whole numbers and powers of two: SQLite misreads one decimal in two hundred by a bit
    %                       of whole numbers, where Ibis calls mod(), which answers in doubles
    LEAST, GREATEST         that pass over null, as they do everywhere else
    LIKE                    by bytes: SQLite's own stops at the character with code 0, and fails on long patterns
    dates                   by their digits, which the clean form has

Tables in memory are sent value by value, and results come back value by value: pandas would turn whole numbers beside
a null into doubles.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

import ibis.backends.sqlite as theirs
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import pyarrow as pa
import sqlglot as sg
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.sqlite import SQLiteCompiler

from dalenius.tables.engines.fences import fenced
from dalenius.tables.engines.sqlite.flat import flat

STEP = 62


class Compiler(SQLiteCompiler):  # type: ignore[misc]
    """One override for each spelling."""

    __slots__ = ()

    def to_sqlglot(self, *arguments: Any, **options: Any) -> Any:
        return fenced(flat(super().to_sqlglot(*arguments, **options)), limit=-1)

    def visit_Cast(self, op: Any, *, arg: Any, to: Any) -> Any:
        if to.is_float64() and isinstance(op.arg, ops.Literal):
            return _parsed(float(op.arg.value)).copy()
        if to.is_date():
            return self.f.substr(arg, 1, 10)
        if to.is_timestamp() and isinstance(op.arg, ops.Literal):
            return arg  # a constant has the clean form already
        return super().visit_Cast(op, arg=arg, to=to)

    def visit_Modulus(self, op: Any, *, left: Any, right: Any) -> Any:
        return self.binop(sge.Mod, left, right)

    def visit_Least(self, op: Any, *, arg: Any) -> Any:
        return self._extreme("min", arg)

    def visit_Greatest(self, op: Any, *, arg: Any) -> Any:
        return self._extreme("max", arg)

    def _extreme(self, pick: str, arg: Any) -> Any:
        """min and max of several are null if one of them is; of one alone they are aggregates."""
        turned = [(*arg[n:], *arg[:n]) for n in range(len(arg))]
        return self.f.anon[pick](*(self.f.coalesce(*some) for some in turned)) if len(arg) > 1 else arg[0]

    def visit_StringContains(self, op: Any, *, haystack: Any, needle: Any) -> Any:
        return self.f.anon.instr(_bytes(haystack), _bytes(needle)) > 0

    def visit_StartsWith(self, op: Any, *, arg: Any, start: Any) -> Any:
        size = self.f.anon.length(_bytes(start))
        begins = self.f.anon.substr(_bytes(arg), 1, size).eq(_bytes(start))
        return (self.f.anon.length(_bytes(arg)) >= size).and_(begins)  # substr of nothing is null

    def visit_EndsWith(self, op: Any, *, arg: Any, end: Any) -> Any:
        size = self.f.anon.length(_bytes(end))
        ends = self.f.anon.substr(_bytes(arg), sge.Neg(this=size), size).eq(_bytes(end))
        return (self.f.anon.length(_bytes(arg)) >= size).and_(ends)  # substr of nothing is null

    def _digits(self, arg: Any, start: int, size: int) -> Any:
        return self.cast(self.f.anon.substr(arg, start, size), dt.int64)

    def visit_ExtractYear(self, op: Any, *, arg: Any) -> Any:
        return self._digits(arg, 1, 4)

    def visit_ExtractMonth(self, op: Any, *, arg: Any) -> Any:
        return self._digits(arg, 6, 2)

    def visit_ExtractQuarter(self, op: Any, *, arg: Any) -> Any:
        return self.cast((self._digits(arg, 6, 2) + 2) / 3, op.dtype)

    def visit_ExtractDay(self, op: Any, *, arg: Any) -> Any:
        return self._digits(arg, 9, 2)

    def visit_ExtractHour(self, op: Any, *, arg: Any) -> Any:
        return self._digits(arg, 12, 2)

    def visit_ExtractMinute(self, op: Any, *, arg: Any) -> Any:
        return self._digits(arg, 15, 2)

    def visit_ExtractSecond(self, op: Any, *, arg: Any) -> Any:
        return self._digits(arg, 18, 2)

    def visit_ExtractWeekOfYear(self, op: Any, *, arg: Any) -> Any:
        return self.f.anon.dalenius_week(arg)


class Backend(theirs.Backend):  # type: ignore[misc]
    """A connection."""

    compiler = Compiler()

    def _register_in_memory_table(self, op: Any) -> None:
        rows = op.data.to_pyarrow(op.schema).to_pylist()
        columns = [f'"{name}" {_affinity(dtype)}' for name, dtype in op.schema.items()]
        marks = ", ".join("?" * len(op.schema))
        with self.begin() as cursor:
            cursor.execute(f'CREATE TEMP TABLE "{op.name}" ({", ".join(columns)})')
            values = (tuple(_stored(row[name]) for name in op.schema) for row in rows)
            cursor.executemany(f'INSERT INTO temp."{op.name}" VALUES ({marks})', values)

    def to_pyarrow(self, expression: Any, /, **_: Any) -> Any:
        self._run_pre_execute_hooks(expression)
        schema = expression.as_table().schema().to_pyarrow()
        with self._safe_raw_sql(self.compile(expression)) as cursor:
            rows = cursor.fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def exact(x: float) -> str:
    """A double in SQL: a whole number, multiplied or divided by powers of two, each step of it exact."""
    over, under = x.as_integer_ratio()
    up, down = 0, under.bit_length() - 1
    while abs(over) >= 2**53:
        over, up = over // 2, up + 1
    steps = [f"CAST({over} AS REAL)"]
    steps += [f"* CAST({2 ** min(STEP, up - done)} AS REAL)" for done in range(0, up, STEP)]
    steps += [f"/ CAST({2 ** min(STEP, down - done)} AS REAL)" for done in range(0, down, STEP)]
    return f"({' '.join(steps)})"


@lru_cache(4096)
def _parsed(x: float) -> Any:
    return sg.parse_one(exact(x), dialect="sqlite")


def _bytes(x: Any) -> Any:
    return sge.Cast(this=x, to=sge.DataType.build("VARBINARY"))


def _affinity(dtype: Any) -> str:
    whole = dtype.is_integer() or dtype.is_boolean()
    return "INTEGER" if whole else "REAL" if dtype.is_numeric() else "TEXT"


def _stored(value: Any) -> Any:
    """A value of a public table as the clean form has it."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date | UUID):
        return str(value)
    return float(value) if isinstance(value, Decimal) else value
