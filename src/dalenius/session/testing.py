"""A hypothesis tested on a session's table, paid from its budget.

The rows are those that a fit sees (`session.fit`), one for each unit: tests take rows to be independent. Categories are
coded by the engine. The columns of a test, one or two, are held in memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.checks import shown
from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.infer.columns import Categories, Column
from dalenius.infer.hypotheses.bounded_test import BoundedTest
from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest
from dalenius.infer.hypotheses.result import TestResult
from dalenius.infer.inputs import Places
from dalenius.session.columns import Columns, column_of, named_columns, of_a_unit
from dalenius.session.record import answers, questions
from dalenius.session.record.estimators import estimator_record
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit


@dataclass(frozen=True)
class Testing:
    """What will be tested, of which columns, and at what price: settled before any data is read."""

    test: HypothesisTest
    record: Mapping[str, JSON]
    query: Query
    unit: Unit
    loss: Loss

    @classmethod
    def of(
        cls,
        test: HypothesisTest,
        features: Columns,
        target: Columns | None,
        table: Table,
        unit: Unit,
        adjacency: Adjacency,
        budget: Filter | None = None,
    ) -> Testing:
        """Everything that can be refused is refused here. `budget` is what pays."""
        test = test.sealed()
        given = named_columns("features", features) | (
            {} if target is None else named_columns("target", target)
        )
        if len(given) != len(test.columns):
            wanted = "one column" if len(test.columns) == 1 else "one feature and a target, different columns"
            raise InvalidParameter(f"the {test.method} is about {wanted}.")
        unit.check_whole("a test")
        if unit.column is not None and unit.max_rows > 1:
            raise InvalidParameter(
                f"a unit may have {unit.max_rows} rows, which may be alike, and tests take rows to be independent; use "
                "a session with Unit(..., max_rows=1)."
            )
        if test.adjacency is not ADD_REMOVE:
            raise InvalidParameter(
                "a test with adjacency=REPLACE_ONE takes the number of rows to be public, and those of both samples "
                "where there are two. Leave its adjacency out: the session pays for its own neighbours either way."
            )
        if isinstance(test, BoundedTest) and not test.is_bounded:
            text, ends = list(given.items())[-1]
            test = test.within(ends or table.scope().argument(text, None, None, f"the {test.method}").bounds)
        record = estimator_record(test)
        sums = {
            f"column {n}": column_of("column", *summed(table, column, text, ends), text)
            for n, (column, (text, ends)) in enumerate(zip(test.columns, given.items(), strict=True))
        }
        query = table.agg(**sums)
        exact.check(query, unit)
        return cls(test, record, query, unit, of_a_unit(test.loss, unit, adjacency, budget))

    @property
    def question(self) -> str:
        """A text that identifies the test: the same settings and the same columns are the same question."""
        return questions.of_test(self.record, self.query, self.unit, self.loss.adjacency)

    def compute(self, source: Source) -> str:
        """Read, test, and write down the result and nothing else."""
        rows = np.concatenate(
            [np.empty((0, len(self.test.columns))), *exact.blocks(source, self.query, self.unit)]
        )
        columns = [
            Places(values) if isinstance(column, Categories) else values
            for column, values in zip(self.test.columns, rows.T, strict=True)
        ]
        return answers.to_test(self.test.run(*self.test.data(*columns)))

    def restored(self, text: str) -> TestResult:
        """The result as it was released, with the loss of a unit."""
        return answers.read_test(text).with_loss(self.loss)


def summed(
    table: Table, column: Column, text: str, ends: tuple[float, float] | None
) -> tuple[str, tuple[float, float] | None]:
    """The expression to read, and its bounds; None for those of the schema."""
    if not isinstance(column, Categories):
        return text, ends or column.bounds
    text = _apart(table, text)
    cases = " ".join(f"WHEN {text} = {_literal(level)} THEN {n}" for n, level in enumerate(column.levels))
    return f"CASE {cases} ELSE -1 END", (-1.0, float(len(column.levels)))


def _apart(table: Table, text: str) -> str:
    """An expression, in brackets where it could not be compared without: the others are in ledgers as they are."""
    try:
        table.scope().canonical(f"{text} = NULL", "a category")
    except QueryRefused:
        return f"({text})"
    return text


def _literal(level: Hashable) -> str:
    """A level as it is written in an expression."""
    if isinstance(level, bool):
        return "TRUE" if level else "FALSE"
    if isinstance(level, int | float) and np.isfinite(level):
        return repr(level)
    if isinstance(level, str):
        return "'" + level.replace("'", "''") + "'"
    raise InvalidParameter(
        f"a level is {shown(level)}; a session's categories are texts, numbers or true and false."
    )
