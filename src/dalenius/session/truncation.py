"""How many units have more rows than may enter an answer, and how many rows that leaves out: asked privately.

Of each unit there is one row, with the number of its rows (`Table.per_unit`), so a unit moves the number of units by 1,
the number of those that are cut by 1, the rows that are kept by at most `max_rows`, and those that are lost by at most
`up_to - max_rows`: beyond `up_to` rows a unit counts as having so many. The proof is in docs/proofs/relations.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dalenius.core.checks import count as whole_number
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.aggregates import count
from dalenius.tables.aggregates import sum as total
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.ask.several import Tables
from dalenius.tables.release.answer import Answer
from dalenius.tables.release.sheet import Shaped, Sheet
from dalenius.tables.rows.expressions import quoted
from dalenius.tables.rows.relations import LimitRows

FARTHEST = 5
"""Rows are counted up to so many times the bound, unless something else is said: more would cost more noise."""


@dataclass(frozen=True)
class Truncation:
    """How many units are cut, and how many rows are left out. `print` it.

    answer: what was released, with intervals: `units`, `cut` (units with more than `max_rows` rows), `kept` and `lost`
    (rows; at most `up_to` of each unit are counted).
    """

    answer: Answer
    unit: str
    max_rows: int
    up_to: int

    @property
    def share_cut(self) -> float:
        """The share of units that have more rows than count; within 0 and 1."""
        return _share(self._of("cut"), self._of("units"))

    @property
    def share_lost(self) -> float:
        """The share of rows that are left out; within 0 and 1."""
        return _share(self._of("lost"), self._of("kept") + self._of("lost"))

    def _of(self, name: str) -> float:
        return max(float(self.answer[name].estimate[0]), 0.0)

    def __str__(self) -> str:
        cut = f"about {self._of('cut'):,.0f} of {self._of('units'):,.0f} ({100 * self.share_cut:.1f} %)"
        rows = self._of("kept") + self._of("lost")
        lost = f"about {self._of('lost'):,.0f} of {rows:,.0f} ({100 * self.share_lost:.1f} %)"
        first = f"{self.unit} with more than {self.max_rows} rows: {cut}."
        second = (
            f"Rows that are left out for that: {lost}, counting at most {self.up_to} of each {self.unit}."
        )
        return f"{first}\n{second}\n\n{self._shown}"

    @property
    def _shown(self) -> Sheet:
        """The answer without what cannot be: there are no fewer than none."""
        columns = [column.within(0.0, math.inf) for column in self.answer.columns]
        return Shaped(self.answer.names, self.answer.keys, columns, self.answer.note)


def question(table: Table | Tables, up_to: int | None) -> tuple[Query, int, int]:
    """What is asked, the bound, and up to how many rows of a unit are counted."""
    if not isinstance(table, Table):
        listed, first = ", ".join(table), next(iter(table))
        raise QueryRefused(
            f"this session has several tables ({listed}); say of which: truncation(budget, table=s.table[{first!r}])."
        )
    unit = table.unit
    if unit is None or unit.column is None:
        raise QueryRefused(
            "every row is a unit of its own here, and none is left out: there is nothing to ask."
        )
    if any(step.per_unit and not isinstance(step, LimitRows) for step in table.steps):
        raise QueryRefused(
            "rows are cut before they are joined or counted by unit: ask about each table on its own, with the filters "
            "that stand before the join."
        )
    rows = table.bounded(unit).max_rows
    most = FARTHEST * rows if up_to is None else whole_number("up_to", up_to, 1)
    if most <= rows:
        raise InvalidParameter.of(
            "up_to",
            f"up_to is {most}; it must be more than the {rows} rows that count of each {unit.each}.",
        )
    name, taken = "rows", {known.lower() for known in table.names}
    while name in taken:
        name = f"number of {name}"
    n = quoted(name)
    asked = table.per_unit(name).agg(
        units=count(),
        cut=total(f"{n} > {rows}"),
        kept=total(f"LEAST({n}, {rows})", bounds=(0, rows)),
        lost=total(f"LEAST({n}, {most}) - LEAST({n}, {rows})", bounds=(0, most - rows)),
    )
    return asked, rows, most


def _share(part: float, of: Any) -> float:
    return min(part / of, 1.0) if of > 0 else 0.0
