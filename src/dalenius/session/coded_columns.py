"""Columns as whole numbers from 0 on, and back: what synthetic data are made of.

A column is listed categories, bins of numbers, or bins of days; a cell without a value is a code of its own, the last
one, where the column can have such cells. The code of a row is an expression of our own language of expressions, so it
exists for every row, and is the same in every engine. Numbers and days beyond the outer bins belong to these; a missing
one that was declared never to be is read as the lower bound, as in every question. A row with a category that is not
listed has no code (-1), and is left out.

Which value of its bin a synthetic number has is drawn evenly: the data were not asked.
"""

from __future__ import annotations

import datetime
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sqlglot import exp

from dalenius.core.arrays import Ints
from dalenius.core.checks import count, shown
from dalenius.core.record import JSON, unknown
from dalenius.core.record import exact as exact_text
from dalenius.errors import InvalidParameter, LedgerError, QueryRefused
from dalenius.queries.domain import Bins
from dalenius.tables.aggregates import sum as sum_of
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.forms import CONSTANTS
from dalenius.tables.facts.kinds import NUMERIC, Kind, fits
from dalenius.tables.facts.schema import bounds_of, categories_of
from dalenius.tables.facts.unit import Unit
from dalenius.tables.rows.expressions import DIALECT, LONGEST, quoted

MOST = 4096
"""Codes that one column may have; far fewer are wise."""

LONGEST_DOUBLE = 24
"""Characters of a double in decimal: -2.2250738585072014e-308."""


@dataclass(frozen=True)
class CodedColumn(ABC):
    """A column with its public codes. missing: whether a cell without a value is one more code, the last."""

    name: str
    missing: bool

    tag: ClassVar[str]

    @property
    @abstractmethod
    def sizes(self) -> int:
        """How many codes there are for values."""

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.sizes + self.missing

    @property
    @abstractmethod
    def labels(self) -> list[str]:
        """What each code stands for, in words."""

    @abstractmethod
    def _values(self, codes: Ints, draw: np.random.Generator) -> list[Any]:
        """A value for every code, none of which is that of a missing cell."""

    @abstractmethod
    def _conditions(self, x: str) -> tuple[dict[int, str], int]:
        """When a row has which code, the first that holds counts; and the code when none does."""

    @abstractmethod
    def record(self) -> dict[str, JSON]:
        """For the ledger."""

    def values(self, codes: Ints, draw: np.random.Generator) -> list[Any]:
        """A value for every code; None for a missing one."""
        there = codes < self.sizes
        found = np.full(len(codes), None, dtype=object)
        found[there] = self._values(codes[there], draw)
        return found.tolist()

    @property
    def expression(self) -> str:
        """The code of a row in the language of expressions."""
        x = quoted(self.name)
        conditions, otherwise = self._conditions(x)
        first = f"WHEN {x} IS NULL THEN {self.sizes} " if self.missing else ""
        rest = " ".join(f"WHEN {condition} THEN {code}" for code, condition in conditions.items())
        # COALESCE says that nothing is left undeclared; there is a value for every row without it.
        cases = f"{first}{rest}".strip()
        text = f"COALESCE(CASE {cases} ELSE {otherwise} END, -1)" if cases else str(otherwise)
        self.check_length(len(text))
        return text

    def check_length(self, length: int) -> None:
        """Refuse what no expression can hold."""
        if length > LONGEST:
            raise InvalidParameter(
                f"column {self.name!r} has {self.size} codes, more than one expression can hold; use fewer bins, or "
                "group categories first with with_columns(...)."
            )


@dataclass(frozen=True)
class Listed(CodedColumn):
    """Categories: text, whole numbers, days, True and False."""

    categories: tuple[Any, ...]

    tag = "listed"

    @property
    def sizes(self) -> int:
        return len(self.categories)

    @property
    def labels(self) -> list[str]:
        return [*map(str, self.categories), *["missing"] * self.missing]

    def _values(self, codes: Ints, draw: np.random.Generator) -> list[Any]:
        return [self.categories[code] for code in codes.tolist()]

    def _conditions(self, x: str) -> tuple[dict[int, str], int]:
        return {code: f"{x} = {constant_text(value)}" for code, value in enumerate(self.categories)}, -1

    def record(self) -> dict[str, JSON]:
        return {
            "kind": self.tag,
            "name": self.name,
            "missing": self.missing,
            "categories": CONSTANTS.write(self.categories),
        }


@dataclass(frozen=True)
class Binned(CodedColumn):
    """Numbers between edges; a bin holds its lower edge and not its upper one."""

    edges: tuple[float, ...]
    whole: bool

    tag = "bins"

    @property
    def sizes(self) -> int:
        return len(self.edges) - 1

    @property
    def labels(self) -> list[str]:
        words = []
        for low, high in itertools.pairwise(self.edges):
            single = self.whole and high == low + 1
            last = high - 1 if self.whole else high
            words.append(f"{low:.6g}" if single else f"{low:.6g} to {last:.6g}")
        return [*words, *["missing"] * self.missing]

    def _values(self, codes: Ints, draw: np.random.Generator) -> list[Any]:
        low, high = np.array(self.edges)[codes], np.array(self.edges)[codes + 1]
        if self.whole:
            found: list[Any] = draw.integers(low.astype(np.int64), high.astype(np.int64)).tolist()
            return found
        inside = low + (high - low) * draw.random(len(codes))
        return list(np.minimum(inside, np.nextafter(high, low)).tolist())

    @property
    def texts(self) -> list[str]:
        """The edges as they are written."""
        return [str(int(e)) if self.whole else repr(e) for e in self.edges]

    def _conditions(self, x: str) -> tuple[dict[int, str], int]:
        edges = self.texts
        return {code: f"{x} >= {edges[code]}" for code in range(self.sizes - 1, 0, -1)}, 0

    def record(self) -> dict[str, JSON]:
        return {
            "kind": self.tag,
            "name": self.name,
            "missing": self.missing,
            "edges": [exact_text(edge) for edge in self.edges],
            "whole": self.whole,
        }


@dataclass(frozen=True)
class Days(CodedColumn):
    """Days between edges; a bin holds its first day and not the first of the next."""

    edges: tuple[datetime.date, ...]

    tag = "days"

    @property
    def sizes(self) -> int:
        return len(self.edges) - 1

    @property
    def labels(self) -> list[str]:
        return [*(str(edge) for edge in self.edges[:-1]), *["missing"] * self.missing]

    def _values(self, codes: Ints, draw: np.random.Generator) -> list[Any]:
        days = np.array([edge.toordinal() for edge in self.edges])
        return [
            datetime.date.fromordinal(day) for day in draw.integers(days[codes], days[codes + 1]).tolist()
        ]

    def _conditions(self, x: str) -> tuple[dict[int, str], int]:
        days = [f"DATE '{edge.isoformat()}'" for edge in self.edges]
        return {code: f"{x} >= {days[code]}" for code in range(self.sizes - 1, 0, -1)}, 0

    def record(self) -> dict[str, JSON]:
        return {
            "kind": self.tag,
            "name": self.name,
            "missing": self.missing,
            "edges": [edge.isoformat() for edge in self.edges],
        }


@dataclass(frozen=True)
class PrivatelyBinned:
    """Numbers in bins whose edges are quantiles, released first and paid for: as many rows in each, about."""

    name: str
    missing: bool
    lower: float
    upper: float
    bins: int
    whole: bool

    tag = "private_bins"

    @property
    def levels(self) -> list[float]:
        """Of the inner edges."""
        return [n / self.bins for n in range(1, self.bins)]

    @property
    def widest(self) -> Binned:
        """With all edges apart; refused where edges may come out that take more text than an expression holds."""
        found = self.settled(np.linspace(self.lower, self.upper, self.bins + 1))
        longest = max(len(str(int(e))) for e in (self.lower, self.upper)) if self.whole else LONGEST_DOUBLE
        found.check_length(len(found.expression) + longest * self.bins - sum(map(len, found.texts[1:-1])))
        return found

    def settled(self, quantiles: Iterable[float]) -> Binned:
        """With edges at these quantiles, which may be any numbers; those that fall together are one edge."""
        bounds = _numeric_edges(self.lower, self.upper, 1, self.whole)
        inner = (math.ceil(q) if self.whole else q for q in quantiles if math.isfinite(q))
        return Binned(
            self.name,
            self.missing,
            tuple(sorted({bounds[0], bounds[-1], *(float(q) for q in inner if bounds[0] < q < bounds[-1])})),
            self.whole,
        )

    def record(self) -> dict[str, JSON]:
        """For the ledger."""
        return {
            "kind": self.tag,
            "name": self.name,
            "missing": self.missing,
            "lower": exact_text(self.lower),
            "upper": exact_text(self.upper),
            "bins": self.bins,
            "whole": self.whole,
        }


Asked = CodedColumn | PrivatelyBinned


def read_coded(record: Mapping[str, JSON]) -> CodedColumn:
    """The column that `record` wrote."""
    kind, name, missing = record["kind"], record["name"], record["missing"]
    if not isinstance(name, str) or not isinstance(missing, bool):
        raise TypeError
    if kind == Listed.tag:
        return Listed(name, missing, CONSTANTS.read(record["categories"]))
    if kind == Binned.tag:
        edges = tuple(map(float, record["edges"]))
        if len(edges) < 2 or not all(-math.inf < a < b < math.inf for a, b in itertools.pairwise(edges)):
            raise ValueError
        return Binned(name, missing, edges, record["whole"])
    if kind == Days.tag:
        return Days(name, missing, tuple(map(datetime.date.fromisoformat, record["edges"])))
    raise unknown("a column of synthetic data", kind, LedgerError)


def coded(table: Table, columns: Sequence[CodedColumn]) -> Query:
    """The codes of a row as sums of a question, whose rows are then bounded, and on integer grids."""
    wanted = {f"c{n}": sum_of(c.expression, (-1, c.size - 1)) for n, c in enumerate(columns)}
    return table.agg(**wanted)


def codes(source: Source, table: Table, columns: Sequence[CodedColumn], unit: Unit) -> Ints:
    """The codes of all rows that have one in every column, a block at a time from the engine; they are private."""
    most = max(column.size for column in columns)
    blocks = [np.zeros((0, len(columns)), dtype=np.min_scalar_type(-most))]
    for block in exact.blocks(source, coded(table, columns), unit):
        kept = block[(block >= 0).all(axis=1)]
        blocks.append(kept.astype(blocks[0].dtype))
    return np.concatenate(blocks)


def asked_columns(
    columns: Any, table: Table, bins: int, private: Iterable[str], unit: tuple[str, ...]
) -> tuple[Asked, ...]:
    """The columns as the user named them, by what the schema says of them or what was said beside them."""
    given: dict[str, Any]
    if isinstance(columns, Mapping):
        given = dict(columns)
    elif isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidParameter(
            f"columns is {shown(columns)}; it must list columns, or map them to bounds, categories or bins."
        )
    else:
        names = list(columns)
        given = dict.fromkeys(names)
        if len(given) < len(names):
            raise InvalidParameter("columns names a column twice.")
    if not given or not all(isinstance(name, str) for name in given):
        raise InvalidParameter("columns must name at least one column, by text.")
    scope, bins = table.scope(), count("bins", bins, 2)
    resolved = {scope.resolve(name): how for name, how in given.items()}
    if len(resolved) < len(given):
        raise InvalidParameter("columns names a column twice.")
    if unit and unit[0] in resolved:
        raise QueryRefused(
            f"column {unit[0]!r} tells people apart; synthetic people have no such ids. Leave it out."
        )
    given_private: Any = [private] if isinstance(private, str) else private
    named: list[Any] = list(given_private) if isinstance(given_private, Iterable) else [None]
    if not all(isinstance(name, str) for name in named):
        raise InvalidParameter(f"private_bins is {shown(private)}; it must list numeric columns.")
    hidden = {scope.resolve(name) for name in named}
    if not hidden <= set(resolved):
        raise InvalidParameter(f"private_bins names {sorted(hidden - set(resolved))}, not among the columns.")
    return tuple(_column(name, how, table, bins, name in hidden) for name, how in resolved.items())


def _column(name: str, how: Any, table: Table, bins: int, private: bool) -> Asked:
    term, facts = table.scope().column(name), table.schema[name]
    kind, missing = term.kind, term.nullable
    if isinstance(how, Bins):
        how, bins = (how.low, how.high), how.count
    elif isinstance(how, int) and not isinstance(how, bool):
        how, bins = None, count(f"the number of bins of {name}", how, 2)
    categories = how if isinstance(how, Sequence) and not isinstance(how, str | tuple) else None
    if categories is None and how is None:
        categories = (False, True) if kind == "bool" else facts.categories
    if private and (kind not in NUMERIC or categories is not None):
        raise InvalidParameter(f"private_bins names {name!r}, which is no number with bounds; leave it out.")
    if categories is not None:
        return _listed(name, missing, categories, kind)
    if kind == "date":
        return _days(name, missing, facts.days if how is None else how, bins)
    if kind not in NUMERIC:
        raise QueryRefused(
            f"column {name!r} is of type {kind}, and its categories must be public: list them in the schema, or as "
            f"columns={{{name!r}: [...]}}. (Of a timestamp, take the day: with_columns(day='CAST(x AS DATE)').)"
        )
    bounds = bounds_of(facts.bounds if how is None else how, name)
    if bounds is None:
        raise QueryRefused(
            f"column {name!r} has no public bounds: state them in the schema, or as columns={{{name!r}: (0, 100)}}."
        )
    whole = kind == "integer"
    edges = _numeric_edges(*bounds, bins, whole)
    if private:
        return PrivatelyBinned(name, missing, *bounds, bins, whole)
    return Binned(name, missing, edges, whole)


def _listed(name: str, missing: bool, given: Iterable[Any], kind: Kind | None) -> Listed:
    categories = categories_of(given) or ()
    for value in categories:
        if kind is None or not fits(value, kind) or kind == "number":
            raise InvalidParameter(f"column {name!r} is of type {kind}, and has the category {value!r}.")
    if len(categories) > MOST:
        raise InvalidParameter(
            f"column {name!r} has {len(categories)} categories; at most {MOST} are allowed."
        )
    return Listed(name, missing, categories)


def _days(name: str, missing: bool, given: Any, bins: int) -> Days:
    ends = list(given) if isinstance(given, tuple) else []
    if len(ends) != 2 or not all(type(day) is datetime.date for day in ends) or ends[0] >= ends[1]:
        raise InvalidParameter(
            f"column {name!r} holds days; give the first and the last: "
            f"columns={{{name!r}: (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))}}."
        )
    first, end = ends[0].toordinal(), ends[1].toordinal() + 1
    days = sorted(
        {first + (end - first) * n // min(bins, end - first) for n in range(min(bins, end - first) + 1)}
    )
    # The day after the last of all has no name.
    return Days(
        name, missing, tuple(datetime.date.fromordinal(min(d, datetime.date.max.toordinal())) for d in days)
    )


def _numeric_edges(lower: float, upper: float, bins: int, whole: bool) -> tuple[float, ...]:
    if bins > MOST:
        raise InvalidParameter(f"{bins} bins are asked for; at most {MOST} are allowed.")
    if whole:
        first, end = math.ceil(lower), math.floor(upper) + 1
        if first >= end or max(abs(first), abs(end)) > 2**53:
            raise InvalidParameter(
                f"the bounds ({lower:g}, {upper:g}) hold no whole number, or ones beyond 2^53; give others."
            )
        bins = min(bins, end - first)
        return tuple(float(first + (end - first) * n // bins) for n in range(bins + 1))
    if max(abs(lower), abs(upper)) > 2.0**500:
        raise InvalidParameter("bounds are beyond 2^500; rescale the column.")
    edges = (*(lower + (upper - lower) * (n / bins) for n in range(bins)), upper)
    if any(a >= b for a, b in itertools.pairwise(edges)):
        raise InvalidParameter(f"{bins} bins between {lower:g} and {upper:g} are too narrow for doubles.")
    return edges


def constant_text(value: Any) -> str:
    """A category in the language of expressions."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    return str(value) if isinstance(value, int) else str(exp.Literal.string(value).sql(dialect=DIALECT))
