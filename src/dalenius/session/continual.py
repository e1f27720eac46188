"""Counts by period that keep being published as periods come in: one charge for all of them.

A feed is a count by groups whose first column is time, its keys in order. All that will ever be published of it is one
release of a counter (`mechanisms.MatrixCounter`, or `TreeCounter` where the budget is PureDP), charged when the feed is
opened. Every period is measured once, with noise, when it is first published; the ledger keeps what was measured,
which may be shown, and later publications add to it. Of several processes that measure one period at the same time,
one is recorded, and only that is shown.

What holds this together is that a person's rows are taken the same way each time. Of a unit with more than `max_rows`
rows the first ones are kept, in the order of the periods, and rows of periods that are not published yet play no part;
so what is kept does not change as long as published periods do not change. Where a unit is a row, rows that come late,
or are deleted, do no harm either: they are in some of the measurements that were paid for, and in no others. (Where it
is an id with `max_rows=1`, a deleted row makes room for a later one, and the person would be in both.)
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee, PureDP
from dalenius.core.adjacency import Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.core.checks import confidence as checked_confidence
from dalenius.core.checks import shown
from dalenius.core.quiet import quiet
from dalenius.errors import InvalidParameter, LedgerDamaged, QueryRefused
from dalenius.intervals.laws import multiple
from dalenius.mechanisms import MatrixCounter, TreeCounter
from dalenius.session.account import Account
from dalenius.session.accuracy import Within
from dalenius.session.entries import digest
from dalenius.session.record import answers, questions
from dalenius.tables.aggregates import count
from dalenius.tables.ask.query import Query
from dalenius.tables.compute.exact import ExactTable
from dalenius.tables.engines.failure import sealed
from dalenius.tables.facts.keys import Keys
from dalenius.tables.facts.unit import Unit
from dalenius.tables.rows.relations import LimitRows

FeedCounter = MatrixCounter | TreeCounter

AT_ONCE = 1 << 20
"""Numbers that are measured and recorded at once; more are further entries of the ledger."""

ENDINGS = ("", "_error", "_low", "_high")
"""Of the names under which a count and its running total are published."""


@dataclass(frozen=True)
class Periods:
    """The question of a feed: times in order, and the other groups, which are the same at all times."""

    query: Query
    times: tuple[Any, ...]
    others: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, query: object) -> Periods:
        """Refused, if it is not a count by public keys, all of them at each time."""
        if not isinstance(query, Query) or not isinstance(query.keys, Keys):
            raise InvalidParameter(
                "a feed is a count by periods that are known beforehand: "
                "table.group_by('day', keys=days).agg(n=dp.count())."
            )
        if any(step.per_unit and not isinstance(step, LimitRows) for step in query.table.steps):
            raise QueryRefused(
                "a feed is of one table: what is kept of a day before a join would depend on the days after it. Count "
                "one table's rows, or ask about joined tables by release(...)."
            )
        if len(query.parts) != 1 or query.measures != query.table.agg(n=count()).measures:
            raise QueryRefused("a feed has one aggregate, dp.count() of rows; filter the rows that count.")
        times = tuple(dict.fromkeys(key[0] for key in query.keys.rows))
        others = tuple(dict.fromkeys(key[1:] for key in query.keys.rows))
        if query.keys.rows != tuple((time, *rest) for time in times for rest in others):
            raise QueryRefused(
                "the keys of a feed are all combinations of its periods, in the order of time, and of the other "
                "groups: group_by('day', 'region', keys={'day': days, 'region': regions})."
            )
        if len(others) > AT_ONCE:
            raise QueryRefused(f"a feed has at most {AT_ONCE} groups beside time; publish some of them.")
        name = query.parts[0][0]
        shown_as = {f"{one}{ending}" for one in (name, f"{name}_total") for ending in ENDINGS}
        if clash := sorted(shown_as.intersection(query.columns)):
            raise QueryRefused(
                f"{clash[0]!r} names a grouping column, and what is published, too; rename the count."
            )
        if all(type(time) is datetime.date for time in times) and list(times) != sorted(times):
            raise QueryRefused("the days of a feed are not in the order of time: give keys=sorted(days).")
        return cls(query, times, others)

    def first(self, number: int) -> Query:
        """The question about the first periods only."""
        table, columns = self.query.table, self.query.columns
        keys = [(time, *rest) if rest else time for time in self.times[:number] for rest in self.others]
        return table.group_by(*columns, keys=keys).agg(n=count())

    @property
    def name(self) -> str:
        """Of the count."""
        return self.query.parts[0][0]


def counter_for(periods: Periods, unit: Unit, price: Guarantee, adjacency: Adjacency) -> FeedCounter:
    """With the least noise that the price pays for."""
    kind = TreeCounter if isinstance(price, PureDP) else MatrixCounter
    most = 1 if unit.column is None else unit.max_rows
    return kind.calibrated(price, horizon=len(periods.times), sensitivity=most, adjacency=adjacency)


def spread(counter: FeedCounter, confidence: float) -> float:
    """Half of an interval, in standard errors."""
    peaked = np.array(3.0 if isinstance(counter, TreeCounter) else 0.0)
    return float(multiple(peaked, 1 - checked_confidence(confidence)))


def largest_error(periods: Periods, counter: FeedCounter, accuracy: Within) -> float:
    """Half of the widest interval that is published: of counts, of running totals, or of both."""
    errors = {
        periods.name: counter.step_errors,
        f"{periods.name}_total": counter.standard_errors,
    }
    if accuracy.column is not None and accuracy.column not in errors:
        raise InvalidParameter(
            f"accuracy is about {shown(accuracy.column)}; a feed publishes {' and '.join(map(repr, errors))}."
        )
    asked = [of() for name, of in errors.items() if accuracy.column in (None, name)]
    return spread(counter, accuracy.confidence) * float(np.max(asked))


@dataclass(frozen=True, eq=False, repr=False)
class Feed:
    """A count that keeps being published; `Session.continual` makes one."""

    periods: Periods
    unit: Unit
    adjacency: Adjacency
    question: str
    account: Account
    counter: FeedCounter
    evaluate: Callable[[Query], ExactTable]

    def __repr__(self) -> str:
        periods = self.periods
        first, last, groups = periods.times[0], periods.times[-1], ", ".join(periods.query.columns)
        return f"<Feed of {periods.name} by {groups}: {len(periods.times)} periods, {first} to {last}>"

    def publish(self, until: Any = None) -> Published:
        """The counts of all periods up to this one, with running totals.

        Periods that were published before come from the record. A period should be over when it is published: its
        count is measured now and never again.

        Parameters
        ----------
        until
            The last period, one of the keys of the feed; if left out, what has been published so far.

        Returns
        -------
        Published
            Counts and running totals, with intervals.

        Raises
        ------
        InvalidParameter
            If it is not a period of the feed.
        EngineFailed
            If the engine could not carry it out; ask again.
        """
        wanted = 0
        if until is not None:
            if not isinstance(until, Hashable) or until not in dict.fromkeys(self.periods.times):
                raise InvalidParameter.of(
                    "until",
                    f"until is {shown(until)}, which is not a period of this feed; they are {self.periods.times[0]!r} "
                    f"to {self.periods.times[-1]!r}.",
                )
            wanted = self.periods.times.index(until) + 1
        measured = self._recorded([])
        while len(measured) < wanted:
            upto = min(wanted, len(measured) + max(1, AT_ONCE // len(self.periods.others)))
            with quiet():
                further = sealed(partial(self._measured, upto, len(measured)))
            kept = self.account.keep(self._next(len(measured)), answers.to_periods(further))
            measured = self._recorded([*measured, *answers.read_periods(kept)])
        return Published(self.periods, self.counter, tuple(measured))

    def _measured(self, upto: int, done: int) -> Any:
        """What is measured of all periods up to one, after those that are done."""
        ((counts),) = self.evaluate(self.periods.first(upto)).values.values()
        numbers = np.asarray(counts, dtype=np.int64).reshape(upto, len(self.periods.others))
        return self.counter.measured(numbers, done)

    def _recorded(self, measured: list[Ints]) -> list[Ints]:
        """All measurements that are on record, after these."""
        while (text := self.account.recorded(self._next(len(measured)))) is not None:
            further = answers.read_periods(text)
            if not further or len(measured) + len(further) > len(self.periods.times):
                raise LedgerDamaged("a feed in the ledger has more periods than it was opened with.")
            if any(one.ndim != 2 or one.shape[1] != len(self.periods.others) for one in further):
                raise LedgerDamaged("a feed in the ledger has other groups than it was opened with.")
            measured = [*measured, *further]
        return measured

    def _next(self, done: int) -> str:
        return questions.of_periods(digest(self.question), done, self.unit, self.adjacency)


@dataclass(frozen=True, eq=False)
class Published:
    """What a feed has published: for every period and group its count, and the total so far."""

    periods: Periods
    counter: MatrixCounter | TreeCounter
    measured: tuple[Ints, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.measured)

    @cached_property
    def totals(self) -> Reals:
        """Running totals, periods x groups."""
        if not self.measured:
            return np.zeros((0, len(self.periods.others)))
        return self.counter.totals(self.measured)

    @cached_property
    def counts(self) -> Reals:
        """Of the periods by themselves, periods x groups."""
        return np.diff(self.totals, axis=0, prepend=np.zeros((1, len(self.periods.others))))

    def to_dict(self, confidence: float = 0.95) -> dict[str, list[Any]]:
        """Columns: the keys, the count and the running total, each with its standard error and its interval.

        Parameters
        ----------
        confidence
            Of the intervals.

        Returns
        -------
        dict
            Names and values, a row for every period and group.

        Raises
        ------
        InvalidParameter
            If the confidence is out of range.
        """
        wide = spread(self.counter, confidence)
        rows = [(time, *rest) for time in self.periods.times[: len(self)] for rest in self.periods.others]
        found: dict[str, list[Any]] = {
            name: [row[k] for row in rows] for k, name in enumerate(self.periods.query.columns)
        }
        groups = len(self.periods.others)
        for name, values, errors in (
            (self.periods.name, self.counts, self.counter.step_errors()),
            (f"{self.periods.name}_total", self.totals, self.counter.standard_errors()),
        ):
            error, flat = np.repeat(errors[: len(self)], groups), values.reshape(-1)
            found |= {
                name: flat.tolist(),
                f"{name}_error": error.tolist(),
                f"{name}_low": np.maximum(flat - wide * error, 0.0).tolist(),
                f"{name}_high": np.maximum(flat + wide * error, 0.0).tolist(),
            }
        return found

    def to_pandas(self, confidence: float = 0.95) -> Any:
        """As a pandas DataFrame; see `to_dict`."""
        import pandas as pd

        return pd.DataFrame(self.to_dict(confidence))

    def plot(self, ax: Any = None) -> Any:
        """Counts by period and the running total, with 95 % intervals.

        Parameters
        ----------
        ax
            Two axes of matplotlib; new ones if not given.

        Returns
        -------
        Axes
            The two axes.
        """
        import matplotlib.pyplot as plt

        axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")[1] if ax is None else ax
        table, name, groups = self.to_dict(), self.periods.name, len(self.periods.others)
        times = [str(time) for time in self.periods.times[: len(self)]]
        for one, what in zip(axes, (name, f"{name}_total"), strict=True):
            for k, rest in enumerate(self.periods.others):
                low, high = table[f"{what}_low"][k::groups], table[f"{what}_high"][k::groups]
                (line,) = one.plot(
                    range(len(times)), table[what][k::groups], label=", ".join(map(str, rest)) or None
                )
                one.fill_between(range(len(times)), low, high, alpha=0.25, color=line.get_color(), lw=0)
            every = max(1, len(times) // 6)
            one.set_xticks(range(0, len(times), every), times[::every])
            one.set_title(f"{name} by {self.periods.query.columns[0]}" if what == name else "total so far")
        if groups > 1:
            axes[0].legend()
        return axes

    def __repr__(self) -> str:
        return f"<Published: {len(self)} of {len(self.periods.times)} periods>"

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(index=False))
