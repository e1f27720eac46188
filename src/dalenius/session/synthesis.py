"""Synthetic data from a session's table, paid from its budget.

Every column becomes whole numbers by public rules, inside the engine (`coded_columns`); at most `max_rows` rows of a
unit count. Of these codes `queries.AdaptiveMarginals` measures some marginals with noise, and fits a distribution to
what it measured. Rows are drawn from that: as many as are wanted, as often as they are wanted, for nothing.

Where bins are to be private, a tenth of the price finds their edges first: quantiles, from one question about all such
columns. The rest measures marginals of the bins that came out. Its loss does not depend on where the edges are, so that
the two together cost what was charged before either looked at the data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dalenius.calculus.guarantees import Filter, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import Adjacency
from dalenius.core.checks import shown
from dalenius.errors import CannotMeet, InvalidParameter, LedgerDamaged, QueryRefused
from dalenius.queries import AdaptiveMarginals, Domain, Workload
from dalenius.queries.marginals.marginals_release import MarginalsRelease
from dalenius.session.coded_columns import (
    Asked,
    CodedColumn,
    PrivatelyBinned,
    asked_columns,
    coded,
    codes,
    read_coded,
)
from dalenius.session.record import answers, questions
from dalenius.session.record.marginals import check_cells, marginals_record, read_marginals
from dalenius.tables.aggregates import quantiles
from dalenius.tables.ask.query import Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit
from dalenius.tables.plan.plan import Plan, plan
from dalenius.tables.release.answer import Answer
from dalenius.tables.release.released import release
from dalenius.tables.rows.expressions import quoted

SHARE = 0.1
"""The part of the price that finds the edges of private bins."""

ROUNDS = 40
"""Tries to meet the budget in its own currency; two or three are enough."""


@dataclass(frozen=True)
class Synthesis:
    """What will be synthesized, and at what price: settled before any data is read."""

    columns: tuple[Asked, ...]
    marginals: tuple[tuple[str, ...], ...] | int
    table: Table
    unit: Unit
    adjacency: Adjacency
    budget: Guarantee
    guarantee: Guarantee
    """What the marginals may cost."""
    edges: Plan | None
    """How the edges of private bins are found."""

    @classmethod
    def of(
        cls,
        columns: Any,
        table: Table,
        unit: Unit,
        pays: Filter,
        budget: Guarantee,
        rare: float,
        bins: int,
        private_bins: Iterable[str],
        marginals: Any,
    ) -> Synthesis:
        """Everything that can be refused is refused here. `pays` is what pays, and `budget` what it may cost."""
        price = pays.price(budget)
        if not isinstance(table, Table):
            raise InvalidParameter(f"table is {shown(table)}; it must be session.table, or steps on it.")
        asked = asked_columns(columns, table, bins, private_bins, unit.columns)
        sets = _sets(marginals, table, [column.name for column in asked])
        hidden = [column for column in asked if isinstance(column, PrivatelyBinned)]
        edges, guarantee = None, price
        if hidden:
            query = table.agg(**{f"q{n}": _quantiles(column) for n, column in enumerate(hidden)})
            exact.check(query, unit)
            edges = plan(query, unit, price.divided(1 / SHARE), pays.adjacency, rare)
            guarantee = price.divided(1 / (1 - SHARE))
        made = cls(asked, sets, table, unit, pays.adjacency, budget, guarantee, edges)
        exact.check(coded(table, made.widest), unit)
        check_cells(made.mechanism(made.widest))
        return made._within(pays)

    def _within(self, pays: Filter) -> Synthesis:
        """The same with a little less for the marginals, where what they cost in this currency is above the budget.

        A guarantee that holds of all measurements together may be less than the sum of what each of them costs.
        """
        if self.budget.as_pure() is not None and pays.pays_for_rare_events:
            return self  # epsilon, paid by what the loss comes to
        made, limit = self, self.budget.filter(self.adjacency).limit.amount
        for _ in range(ROUNDS):
            ratio = pays.cost(made.loss).amount / limit
            if ratio <= 1:
                return made
            made = replace(made, guarantee=made.guarantee.divided(float(ratio) * (1 + 1e-12)))
        raise CannotMeet(f"no noise makes this synthesis cost {self.budget!r}; give a larger budget.")

    @property
    def widest(self) -> tuple[CodedColumn, ...]:
        """The columns, private bins as they would be with all their edges apart."""
        return tuple(c.widest if isinstance(c, PrivatelyBinned) else c for c in self.columns)

    def mechanism(self, columns: tuple[CodedColumn, ...]) -> AdaptiveMarginals:
        """What measures the marginals of these columns."""
        domain = Domain({column.name: column.size for column in columns})
        rows = 1 if self.unit.column is None else self.unit.max_rows
        return AdaptiveMarginals(
            Workload.marginals(domain, self.marginals),
            self.guarantee,
            adjacency=self.adjacency,
            rows_per_unit=rows,
        )

    @cached_property
    def loss(self) -> Loss:
        """Of a unit, edges and marginals together."""
        marginals = self.mechanism(self.widest).loss
        return marginals if self.edges is None else self.edges.loss + marginals

    @property
    def question(self) -> str:
        """A text that identifies it: the same columns in the same codes at the same price are the same question."""
        return questions.of_synthesis(
            [column.record() for column in self.columns],
            self.marginals if isinstance(self.marginals, int) else [list(names) for names in self.marginals],
            self.table,
            self.budget,
            self.unit,
            self.adjacency,
        )

    def compute(self, source: Source) -> str:
        """Read, measure, fit, and write down what is released and nothing else."""
        columns = self._settled(source)
        mechanism = self.mechanism(columns)
        rows = mechanism.domain.codes(codes(source, self.table, columns, self.unit))
        released = mechanism.release(rows)
        return answers.to_synthesis([column.record() for column in columns], marginals_record(released))

    def restored(self, text: str) -> tuple[tuple[CodedColumn, ...], MarginalsRelease]:
        """The columns as they were coded in the end, and what was released."""
        written, marginals = answers.read_synthesis(text)
        try:
            columns = tuple(map(read_coded, written))
        except (KeyError, TypeError, ValueError):
            raise LedgerDamaged("an answer of the ledger is not written as we write them.") from None
        return columns, read_marginals(marginals, self.mechanism(columns).workload, self.loss)

    def _settled(self, source: Source) -> tuple[CodedColumn, ...]:
        if self.edges is None:
            return self.widest
        found = release(self.edges, exact.evaluate(source, self.edges.query, self.unit))
        columns = iter(Answer(self.edges, found, "").columns)
        settled: list[CodedColumn] = []
        for asked in self.columns:
            if isinstance(asked, PrivatelyBinned):
                settled.append(asked.settled(float(next(columns).estimate[0]) for _ in asked.levels))
            else:
                settled.append(asked)
        return tuple(settled)


def _quantiles(column: PrivatelyBinned) -> Any:
    nulls: Any = "drop" if column.missing else None  # as the schema says
    return quantiles(quoted(column.name), column.levels, (column.lower, column.upper), nulls=nulls)


def _sets(marginals: Any, table: Table, names: list[str]) -> tuple[tuple[str, ...], ...] | int:
    """All sets of this many columns, or the sets that are listed."""
    if isinstance(marginals, int) and not isinstance(marginals, bool) and marginals >= 1:
        return min(marginals, len(names))
    sets = [marginals] if isinstance(marginals, str) else marginals
    if not isinstance(sets, Iterable):
        raise InvalidParameter(
            f"marginals is {shown(marginals)}; it must be a number of columns, or list sets of columns."
        )
    resolve = table.scope().resolve
    given = [[one] if isinstance(one, str) else one for one in sets]
    if not given or not all(
        isinstance(one, Iterable) and all(isinstance(n, str) for n in one) for one in given
    ):
        raise InvalidParameter(
            f"marginals is {shown(marginals)}; it must be a number of columns, or list sets of columns."
        )
    listed = tuple(tuple(resolve(name) for name in one) for one in given)
    for name in (name for one in listed for name in one):
        if name not in names:
            raise QueryRefused(f"marginals names {name!r}, which is not among the columns of the synthesis.")
    return listed
