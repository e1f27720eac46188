"""A session: a table, a budget that cannot be overspent, and answers."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dalenius.adaptive import PrivacyReport
from dalenius.adaptive.personal.release import Release
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import total
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.bisection import last_true
from dalenius.core.checks import confidence as _confidence
from dalenius.core.checks import count, flag, shown
from dalenius.errors import CannotMeet, InvalidParameter, QueryRefused, TooLittleNoise, TooMuchNoise
from dalenius.infer.result import Result
from dalenius.session.account import Account
from dalenius.session.accuracy import Within
from dalenius.session.continual import Feed, FeedCounter, Periods, counter_for, largest_error
from dalenius.session.entries import digest
from dalenius.session.explain import Explanation
from dalenius.session.ledger import Ledger
from dalenius.session.opening import SessionAccount, Terms, dataset_name, opened, place_of_all
from dalenius.session.personal import release_of_fit, report
from dalenius.session.record import answers, questions
from dalenius.session.record.counters import counter_record, read_counter
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.ask.several import Tables
from dalenius.tables.compute import exact
from dalenius.tables.compute.discovery import Discovery, discovery
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.keys import Discover
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.facts.problems import Problems
from dalenius.tables.facts.schema import Schema
from dalenius.tables.facts.unit import Unit
from dalenius.tables.plan.plan import Plan, plan
from dalenius.tables.release.answer import Answer
from dalenius.tables.release.estimates import Wanted
from dalenius.tables.release.released import Released, release

if TYPE_CHECKING:
    from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest
    from dalenius.infer.hypotheses.result import TestResult
    from dalenius.infer.regression.settings import Regression
    from dalenius.session.inference import Inference
    from dalenius.session.synthetic_table import SyntheticTable
    from dalenius.session.testing import Testing
    from dalenius.session.truncation import Truncation


MOST_MADE_ROWS = 10**9
"""Synthetic rows are held in memory; more than this is a slip of the pen."""


@dataclass(frozen=True)
class Price:
    """The cheapest budget that is accurate enough, and whether there is that much left; a release takes it as it is."""

    budget: Guarantee
    affordable: bool

    def __str__(self) -> str:
        return f"{self.budget}" + ("" if self.affordable else ", more than is left")


Budget = Guarantee | Price
"""What a release is paid with."""


class Session:
    """Questions about one table, answered with noise and paid from one budget.

    Parameters
    ----------
    data
        Whatever `tables.Source.open` opens (a file, a data frame, a database address), or what it opened. Several
        tables of the same units, in one place: {"visits": "visits.parquet", "purchases": "purchases.parquet"}; one
        account pays for all of them (docs/tables.md).
    unit
        Who is protected.
    budget
        PureDP, ApproxDP, ZCDP or GDP: what is promised about everything this session, and every other one on the same
        ledger and data set, ever releases; None for that of an account which is there already. The promise stays valid
        when each question is chosen after the last answer: `calculus.guarantees.filter` has the proof, and the file of
        each guarantee its theorem.
    ledger
        A file or a postgresql:// address; without one nothing is remembered after the session ends, and the same budget
        could be spent again: for trying out only. The ledger and the account are made by the first question that is
        charged.
    name
        What the ledger calls the data; a file's name without its ending, or that of the table, where it is left out.
        The ledger also remembers where the data is: the same name at another place is refused, and the same place under
        another name.
    moved
        Whether the data of this account was at another place before; the ledger keeps that it was moved.
    table
        The table, in a database; a list of names, or a mapping of names to tables, for several.
    schema
        Public facts about the columns: a Schema, a mapping of columns to facts, or a description file. Of several
        tables, one of these for each, by name.
    adjacency
        Which two data sets are neighbours.
    analyst
        Who asks, where the budget has shares.
    shares
        The part of a new account's budget that each analyst may spend.
    reserve
        For ApproxDP budgets, how much of epsilon is set aside, when the account is opened, for pure and fitted
        releases; they then cost less and Gaussian noise more (docs/learning.md).

    Raises
    ------
    InvalidParameter
        If something given cannot be; nothing is charged or made then.
    LedgerError
        If the ledger cannot be used.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> people = pd.DataFrame({"age": [20, 30, 40] * 1000, "town": ["a", "b", "b"] * 1000})
    >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(0.5))
    >>> q = s.table.group_by("town", keys=["a", "b"]).agg(n=dp.count(), age=dp.mean("age", bounds=(0, 100)))
    >>> a = s.release(q, budget=dp.ZCDP(0.05))
    >>> a.keys
    [('a',), ('b',)]
    >>> s.remaining
    ZCDP(rho=0.45)
    """

    def __init__(
        self,
        data: Any,
        *,
        unit: Unit,
        budget: Guarantee | None,
        ledger: str | Path | Ledger | None = None,
        name: str | None = None,
        moved: bool = False,
        table: str | Sequence[str] | Mapping[str, str] | None = None,
        schema: Schema | Mapping[str, Any] | str | Path | None = None,
        adjacency: Adjacency = ADD_REMOVE,
        analyst: str | None = None,
        shares: Mapping[str, Any] | None = None,
        reserve: float | None = None,
    ) -> None:
        if not isinstance(unit, Unit):
            raise InvalidParameter(
                f"unit is {unit!r}; it must be dp.Unit.rows() or dp.Unit('id', max_rows=...)."
            )
        self.source = data if isinstance(data, Source) else opened(data, table, schema, unit)
        self.unit, self.adjacency = unit, adjacency
        problems = Problems()
        for source in self.source.together.values() or [self.source]:
            problems.attempt(partial(source.schema.check, source.fields))
            problems.attempt(partial(_known, unit, source))
        problems.raise_any()
        label = dataset_name(self.source, name, needed=ledger is not None)
        if ledger is None:
            ledger = _forgotten_with(self) / "forgotten.ledger"
        place, moved = place_of_all(self.source), flag("moved", moved)
        former = self.source.former if name is None and not self.source.together else frozenset[str]()
        terms = Terms(label, budget, adjacency, unit, analyst, shares, place, moved, former, reserve)
        self.account: Account = SessionAccount(ledger, terms)
        self._fits: dict[str, Release] = {}
        self._meanings: dict[str, str] = {}

    def __repr__(self) -> str:
        return (
            f"<Session: {self.account.dataset!r}, {len(self.source.fields)} columns, {self.unit!r}; "
            f"{self.remaining!r} left of {self.account.promise!r}>"
        )

    def __reduce__(self) -> Any:
        raise TypeError(
            "a session cannot be pickled or copied: its budget is one, in its ledger. Open another session on the same "
            "ledger where it is needed."
        )

    @property
    def table(self) -> Table:
        """The table, to ask about: filter, with_columns, join_public, group_by, agg. One of several: `table["visits"]`,
        which `join` joins with another of the same units."""
        made = {
            source.name: replace(source.table(), unit=self.unit.of(source.name), family=self.source)
            for source in self.source.together.values() or [self.source]
        }
        tables: Any = Tables(made) if self.source.together else made[self.source.name]
        return tables  # type: ignore[no-any-return]

    @property
    def remaining(self) -> Guarantee:
        """The largest budget a release may still be given, rounded down: it then spends all that is left."""
        return self.account.filter.budget_left(self.account.left())

    @property
    def spent(self) -> Guarantee:
        """What was charged so far, written as a promise; what is promised is the budget. See `Account.spent`."""
        return self.account.spent

    # -- asking ---------------------------------------------------------------------------------------

    def release(self, query: Query, budget: Budget, *, confidence: float = 0.95) -> Answer:
        """The private answer to a question.

        It is charged before any data is read, and recorded before it is returned. The identical question at the
        identical price is answered from the record, for nothing.

        Parameters
        ----------
        query
            A question: a table of this session, ended by `.agg(...)`.
        budget
            What the answer may cost, in a kind that the session's budget is paid in, or what `price` returned.
        confidence
            Of the intervals.

        Returns
        -------
        Answer
            Estimates, standard errors and intervals.

        Raises
        ------
        InvalidParameter
            If the question or the budget is refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.
        EngineFailed
            If the engine could not carry the question out; the charge stays.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> s = dp.Session(pd.DataFrame({"age": [30] * 100}), unit=dp.Unit.rows(), budget=dp.PureDP(1.0))
        >>> s.release(s.table.agg(n=dp.count()), dp.PureDP(0.25)).free, s.remaining
        (False, PureDP(epsilon=0.75))
        """
        wanted, budget = Wanted(_confidence(confidence)), _paid(budget)
        if _discovers(query):
            return self._with_discovery(query, budget, wanted)
        made = self._plan(query, self.account.filter.price(budget))
        question = questions.of_release(query, budget, made.unit, self.adjacency)
        cost = self._cost(made.loss, budget)
        reply = self.account.ask(question, cost, lambda: answers.to_release(query, self._compute(made)))
        query, released = answers.read_release(reply.answer, query)
        return Answer(replace(made, query=query), released, repr(budget), wanted, reply.is_free, reply.time)

    def release_all(self, queries: Mapping[str, Query], budget: Budget) -> dict[str, Answer]:
        """Several questions as one plan: one charge for their joint loss, the budget divided evenly.

        Parameters
        ----------
        queries
            The questions by name.
        budget
            What all of them together may cost; as in `release`.

        Returns
        -------
        dict
            The answers by the same names.

        Raises
        ------
        InvalidParameter
            If a question or the budget is refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> s = dp.Session(pd.DataFrame({"age": [30] * 100}), unit=dp.Unit.rows(), budget=dp.ZCDP(0.5))
        >>> old = s.table.filter("age > 60")
        >>> sorted(s.release_all({"all": s.table.agg(n=dp.count()), "old": old.agg(n=dp.count())}, dp.ZCDP(0.1)))
        ['all', 'old']
        """
        given: object = queries
        names = list(given) if isinstance(given, Mapping) else []
        if not names or not all(isinstance(name, str) for name in names):
            raise InvalidParameter(
                f"release_all needs questions by name, at least one: {{'n': query}}, not {shown(queries)}."
            )
        budget = _paid(budget)
        part = self.account.filter.price(budget).divided(len(queries))
        plans = {name: self._plan(query, part, len(queries)) for name, query in queries.items()}
        joint = total([p.loss for p in plans.values()])
        question = questions.of_plan(queries, budget, self.unit, self.adjacency)

        def compute() -> str:
            return answers.to_plan({name: (p.query, self._compute(p)) for name, p in plans.items()})

        reply = self.account.ask(question, self._cost(joint, budget), compute)
        cost = f"{budget!r} for {len(plans)} questions"
        return {
            name: Answer(
                replace(plans[name], query=query), released, cost, free=reply.is_free, given=reply.time
            )
            for name, (query, released) in answers.read_plan(reply.answer, queries).items()
        }

    def sql(
        self,
        text: str,
        budget: Budget,
        *,
        public: Mapping[str, Any] | None = None,
        keys: Any = None,
        confidence: float = 0.95,
    ) -> Answer:
        """The answer to a SELECT of aggregates; see docs/tables.md for the subset that is understood.

        Parameters
        ----------
        text
            The SELECT.
        budget
            What the answer may cost; as in `release`.
        public
            Public tables to join, by name.
        keys
            The groups, where the schema does not list them.
        confidence
            Of the intervals.

        Returns
        -------
        Answer
            As from `release`, which this calls.

        Raises
        ------
        InvalidParameter
            If the text is not understood, or refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> s = dp.Session(pd.DataFrame({"age": [30] * 100}), unit=dp.Unit.rows(), budget=dp.ZCDP(0.5))
        >>> s.sql("SELECT COUNT(*) AS n FROM data", dp.ZCDP(0.1)).free
        False
        """
        from dalenius.tables.sql import parse_sql

        if not isinstance(public, Mapping | None):
            raise InvalidParameter(
                f"public is {shown(public)}; it must be a mapping of names to public tables, as {{'regions': frame}}."
            )
        query = parse_sql(
            text, self.table, public={} if public is None else public, keys=keys, unit=self.unit.column
        )
        return self.release(query, budget, confidence=confidence)

    def truncation(
        self,
        budget: Budget,
        *,
        table: Table | None = None,
        up_to: int | None = None,
        confidence: float = 0.95,
    ) -> Truncation:
        """How many units have more rows than may enter an answer, and how many rows that leaves out, privately.

        What is beyond a unit's `max_rows` is left out of every answer, and no interval covers it. Charged and recorded
        as a release is.

        Parameters
        ----------
        budget
            What it may cost; as in `release`.
        table
            Other than all of it: `session.table.filter(...)`, for instance, or one of several tables.
        up_to
            At most so many rows of a unit are counted as lost or kept; five times `max_rows`, if not said. One unit
            moves what is lost by at most `up_to - max_rows`, and the noise is as large as that needs.
        confidence
            Of the intervals.

        Returns
        -------
        Truncation
            `print` it; `share_cut`, `share_lost`, and `answer` with intervals.

        Raises
        ------
        InvalidParameter
            If there is nothing to ask, or the budget is refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> visits = pd.DataFrame({"who": [1, 1, 1, 2, 3] * 100})
        >>> s = dp.Session(visits, unit=dp.Unit("who", max_rows=2), budget=dp.ZCDP(0.5))
        >>> s.truncation(dp.ZCDP(0.1)).max_rows, s.remaining
        (2, ZCDP(rho=0.4))
        """
        from dalenius.session import truncation

        asked = self.table if table is None else table
        query, rows, most = truncation.question(asked, getattr(asked, "unit", None), up_to)
        answer = self.release(query, budget, confidence=confidence)
        return truncation.Truncation(answer, str(self.unit.column), rows, most)

    def continual(self, query: Query, budget: Budget) -> Feed:
        """A count by period that keeps being published as periods come in, for one charge.

        Charged is the whole feed, all its periods together, when it is opened; no data is read then. The identical call
        opens the same feed again, for nothing: tomorrow, in another process, by another analyst.

        Parameters
        ----------
        query
            A count by public keys, all known beforehand, the first column being time and its keys in order:
            `table.group_by("day", keys=days).agg(n=dp.count())`. There are 8192 periods at most.
        budget
            What all periods together may cost; as in `release`.

        Returns
        -------
        Feed
            `publish(until)` gives counts and running totals up to a period.

        Raises
        ------
        InvalidParameter
            If the question or the budget is refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> visits = pd.DataFrame({"day": [1, 1, 2, 2, 2, 3] * 100})
        >>> s = dp.Session(visits, unit=dp.Unit.rows(), budget=dp.ZCDP(0.5))
        >>> feed = s.continual(s.table.group_by("day", keys=range(1, 366)).agg(n=dp.count()), dp.ZCDP(0.1))
        >>> len(feed.publish(until=2)), len(feed.publish(until=3)), s.remaining
        (2, 3, ZCDP(rho=0.4))
        """
        periods, budget = Periods.of(query), _paid(budget)
        unit = self._unit(query.table)
        exact.check(query, unit)
        counter = self._counter(periods, budget)
        question = questions.of_feed(query, budget, unit, self.adjacency)
        cost = self._cost(counter.loss, budget)
        reply = self.account.ask(question, cost, lambda: answers.to_feed(counter_record(counter)))
        counter = read_counter(answers.read_feed(reply.answer), self.adjacency)
        return Feed(
            periods,
            unit,
            self.adjacency,
            question,
            self.account,
            counter,
            lambda asked: exact.evaluate(self.source, asked, unit, in_order=True),
        )

    def fit(self, model: Any, features: Any, target: Any, *, table: Table | None = None) -> Any:
        """A model of `dp.learn`, fitted to the table and paid from the budget.

        The price is the model's own, `model.price()`, for all rows of a unit and the session's neighbours, in the
        session's currency; `loss_` of the model is what was charged. The identical fit is returned from the record, for
        nothing.

        Parameters
        ----------
        model
            With a guarantee that the session's budget can pay: any with a ZCDP or an ApproxDP budget, GDP(mu) or
            PureDP(epsilon) with a GDP one, PureDP(epsilon) with a PureDP one.
        features
            Columns or expressions, as a list where the schema has their bounds, or with them: {"age": (18, 90)}.
        target
            A column, an expression, or a condition (1 or 0) for a classifier.
        table
            Other than all of it: `session.table.filter(...)`, for instance.

        Returns
        -------
        sklearn.pipeline.Pipeline
            It predicts from features in the user's units.

        Raises
        ------
        InvalidParameter
            If the model, the columns or the price are refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> people = pd.DataFrame({"age": range(18, 90), "pay": range(72)})
        >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ApproxDP(2.0, 1e-5))
        >>> m = dp.learn.LogisticRegression(dp.GDP(0.3))
        >>> made = s.fit(m, features={"age": (18, 90)}, target="pay >= 36")
        >>> made.predict([[30], [80]]).shape
        (2,)
        """
        from dalenius.session.fit import Fitting

        whole = self.table if table is None else table
        budget = self.account.filter
        fitting = Fitting.of(model, features, target, whole, self._unit(whole), self.adjacency, budget)
        cost = self._cost_of_fit(fitting.loss)
        question = fitting.question
        reply = self.account.ask(question, cost, lambda: fitting.compute(self.source))
        fitted = fitting.restored(reply.answer)
        own = release_of_fit(fitting, fitted, self._meanings)
        if own is not None:
            self._fits[digest(question)] = own
        return fitted

    @overload
    def infer(
        self, estimator: Regression, features: Any, target: Any, *, table: Table | None = None
    ) -> Result: ...

    @overload
    def infer(
        self, estimator: HypothesisTest, features: Any, target: Any = None, *, table: Table | None = None
    ) -> TestResult: ...

    def infer(
        self, estimator: Any, features: Any, target: Any = None, *, table: Table | None = None
    ) -> Result | TestResult:
        """A regression with intervals, or a test, of the table and paid from the budget.

        The price is the estimator's own, `estimator.loss`, for all rows of a unit and the session's neighbours, in the
        session's currency; the result's `loss` is what was charged. The identical question is answered from the record,
        for nothing. However many rows there are, a few blocks of them are in memory at a time for a regression, and a
        server or a cluster sends nothing but sums; tests hold their columns in memory.

        Parameters
        ----------
        estimator
            A regression or a test of `dp.infer` with its settings, as LinearRegression(guarantee=dp.GDP(0.5)) or
            MeanTest(dp.GDP(0.5), bounds=(0, 100), mean=40).
        features
            Columns or expressions, as a list where the schema has their bounds, or with them: {"age": (18, 90)}. For a
            test of one column that column; else the groups, or a condition for two samples, the first where it holds.
        target
            A column or an expression, likewise; for classes, numbers or a condition (1 or 0). The values of a test that
            compares groups.
        table
            Other than all of it: `session.table.filter(...)`, for instance.

        Returns
        -------
        Result or TestResult
            `summary()`, and `params`, `conf_int()`, `pvalues` or `pvalue`.

        Raises
        ------
        InvalidParameter
            If the estimator, the columns or the price are refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.
        EngineFailed
            If the engine could not carry it out; the charge stays.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> people = pd.DataFrame({"age": [20, 30, 40, 50] * 500, "pay": [10, 22, 31, 45] * 500})
        >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0))
        >>> how = dp.infer.LinearRegression(guarantee=dp.ZCDP(0.5))
        >>> s.infer(how, {"age": (18, 90)}, {"pay": (0, 100)}).names
        ('age', 'const')
        >>> test = dp.infer.TwoSampleMeanTest(dp.ZCDP(0.1), bounds=(0, 100))
        >>> s.infer(test, "age >= 40", "pay").pvalue < 0.01
        True
        """
        asked = self._asked(estimator, features, target, table)
        cost = self._cost_of_fit(asked.loss)
        return asked.restored(
            self.account.ask(asked.question, cost, lambda: asked.compute(self.source)).answer
        )

    def synthesize(
        self,
        columns: Any,
        budget: Budget,
        *,
        rows: int | None = None,
        bins: int = 32,
        private_bins: Iterable[str] = (),
        marginals: Any = 2,
        table: Table | None = None,
    ) -> SyntheticTable:
        """A table of made-up rows whose marginals are close to those of the data.

        Every column becomes a few public codes: its categories, or bins between its bounds. Some marginals of the codes
        are measured with noise, chosen one after the other for what they add; a distribution is fitted to them, and
        rows are drawn from it. It is charged before any data is read. The identical question is answered from the
        record, for nothing, whatever number of rows is asked for. Rows with a category that is not listed are left out;
        numbers beyond the bounds count in the outer bins. A cell without a value is a category of its own, unless the
        schema imputes one or says that there are none.

        Parameters
        ----------
        columns
            Columns, as a list where the schema has their bounds or categories. Or a mapping, from columns to None (what
            the schema says), a list of categories, bounds (lower, upper) of numbers or days, a number of bins, or
            `dp.queries.Bins(low, high, count)`.
        budget
            What it may cost; as in `release`.
        rows
            How many rows to make; about as many as the table has, if left out, and a million at most.
        bins
            Of numbers and days that say nothing else, in equal widths.
        private_bins
            Numeric columns whose bins have about equally many rows each instead: a tenth of the budget finds the edges.
        marginals
            What is to be accurate: all sets of this many columns, or a list of sets of columns.
        table
            Other than all of it: `session.table.filter(...)`, for instance.

        Returns
        -------
        SyntheticTable
            `to_pandas()`, `to_parquet(path)`, `marginal("age", "town")`, `error`, `summary()`.

        Raises
        ------
        InvalidParameter
            If the columns or the budget are refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.
        EngineFailed
            If the engine could not carry it out; the charge stays.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> people = pd.DataFrame({"age": [20, 30, 40] * 1000, "town": ["a", "b", "b"] * 1000})
        >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(0.5))
        >>> made = s.synthesize({"age": (18, 65), "town": ["a", "b"]}, budget=dp.ZCDP(0.1))
        >>> list(made.to_pandas().columns), s.remaining
        (['age', 'town'], ZCDP(rho=0.4))
        """
        from dalenius.session.synthesis import Synthesis
        from dalenius.session.synthetic_table import SyntheticTable

        whole, budget = self.table if table is None else table, _paid(budget)
        asked = Synthesis.of(
            columns,
            whole,
            self._unit(whole),
            self.account.filter,
            budget,
            self._rare(),
            bins=bins,
            private_bins=private_bins,
            marginals=marginals,
        )
        wanted = None if rows is None else count("rows", rows, 1)
        if wanted is not None and wanted > MOST_MADE_ROWS:
            raise InvalidParameter.of("rows", f"rows is {wanted}; it must be at most {MOST_MADE_ROWS}.")
        cost = self._cost(asked.loss, budget)
        reply = self.account.ask(asked.question, cost, lambda: asked.compute(self.source))
        coded, released = asked.restored(reply.answer)
        return SyntheticTable(coded, released, asked.loss, wanted, repr(budget), reply.is_free, reply.time)

    def _asked(self, estimator: Any, features: Any, target: Any, table: Table | None) -> Inference | Testing:
        from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest
        from dalenius.session.inference import Inference
        from dalenius.session.testing import Testing

        kind = Testing if isinstance(estimator, HypothesisTest) else Inference
        whole = self.table if table is None else table
        unit = self._unit(whole)
        return kind.of(estimator, features, target, whole, unit, self.adjacency, self.account.filter)

    @property
    def privacy_report(self) -> PrivacyReport:
        """What everything released from this account so far cost one person: `privacy_report.epsilon(record)`.

        A record is a mapping of columns to values. Fits that this session made or read from the record (the identical
        fit is free) are bounded for the person's own record, all other releases by the worst case, and the whole by
        the budget.
        """
        return report(self.account, self._fits)

    # -- before paying --------------------------------------------------------------------------------

    def explain(self, query: Query, budget: Budget | None = None) -> Explanation:
        """What would be released: sensitivities, noise, and the error to expect by group size. It is free.

        Parameters
        ----------
        query
            A question, as for `release`.
        budget
            What the answer may cost; all that remains, if not said.

        Returns
        -------
        Explanation
            `print` it, or ask for one error.

        Raises
        ------
        InvalidParameter
            If the question or the budget is refused.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> s = dp.Session(pd.DataFrame({"age": [30] * 100}), unit=dp.Unit.rows(), budget=dp.PureDP(1.0))
        >>> s.explain(s.table.agg(n=dp.count()), dp.PureDP(0.5)).error(confidence=0.95)
        6.0
        """
        budget = self.remaining if budget is None else _paid(budget)
        if _discovers(query):
            discovery = self._discovery(query, budget)
            return Explanation(discovery.rest, discovery.threshold)
        return Explanation(self._plan(query, self.account.filter.price(budget)))

    @overload
    def price(self, query: Query, accuracy: Within, *, continual: bool = False) -> Price: ...

    @overload
    def price(
        self,
        query: Regression | HypothesisTest,
        *,
        features: Any,
        target: Any = None,
        table: Table | None = None,
    ) -> Price: ...

    def price(
        self,
        query: Any,
        accuracy: Within | None = None,
        *,
        continual: bool = False,
        features: Any = None,
        target: Any = None,
        table: Table | None = None,
    ) -> Price:
        """The cheapest budget, of the session's kind, with which the answer is accurate enough. It is free.

        Of a regression or a test, which has its own promise: what `infer` would charge for it. `synthesize` has no
        price of this kind: how well a few marginals describe a table depends on the table.

        Parameters
        ----------
        query
            A question, as for `release` or `continual`; or a regression or a test, as for `infer`.
        accuracy
            `dp.within(error, confidence)`, for a question. Of a feed, both the count of each period and its running
            total are within the error, or the one that `column` names: "n" or "n_total".
        continual
            Whether the question is to be a feed.
        features, target, table
            As for `infer`.

        Returns
        -------
        Price
            The budget, and whether there is that much left; `release` takes it as it is.

        Raises
        ------
        CannotMeet
            If no budget makes the answer so accurate.
        InvalidParameter
            If the question is refused, or its error depends on the data.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> s = dp.Session(pd.DataFrame({"age": [30] * 100}), unit=dp.Unit.rows(), budget=dp.ZCDP(0.5))
        >>> q = s.table.agg(n=dp.count())
        >>> price = s.price(q, dp.within(10, confidence=0.95))
        >>> price.affordable, s.release(q, price).free
        (True, False)
        >>> s.price(dp.infer.BinomialTest(dp.ZCDP(0.2)), features="age >= 40").affordable
        True
        >>> by_age = s.table.group_by("age", keys=range(18, 90)).agg(n=dp.count())
        >>> s.price(by_age, dp.within(30), continual=True).affordable
        True
        """
        if features is not None:
            if accuracy is not None or flag("continual", continual):
                raise InvalidParameter(
                    "a regression or a test has its own promise, which is its price; leave accuracy and continual out."
                )
            cost = self._cost_of_fit(self._asked(query, features, target, table).loss)
            return Price(self.account.filter.spent(cost), cost.fits(self.account.left()))
        if not isinstance(accuracy, Within):
            raise InvalidParameter(
                f"accuracy is {shown(accuracy)}; say dp.within(100, confidence=0.95) of a question, and features=... "
                "of a regression or a test."
            )
        periods = Periods.of(query) if flag("continual", continual) else None
        if periods is not None:
            exact.check(query, self._unit(query.table))

        def is_rough(amount: float) -> bool:
            return self._is_rough(query if periods is None else periods, amount, accuracy)

        low, high = 1e-12, 1e-12
        while is_rough(high):
            low, high = high, high * 4
        _, high = last_true(is_rough, low, high, relative=1e-9 if periods is None else 1e-4)
        budget = self.account.filter.budget(high)
        planned: Discovery | Plan | FeedCounter
        if periods is not None:
            planned = self._counter(periods, budget)
        elif _discovers(query):
            planned = self._discovery(query, budget)
        else:
            planned = self._plan(query, self.account.filter.price(budget))
        return Price(budget, self._cost(planned.loss, budget).fits(self.account.left()))

    # -- inside ---------------------------------------------------------------------------------------

    def _is_rough(self, query: Query | Periods, amount: float, accuracy: Within) -> bool:
        """Whether the answer errs by more, at this price."""
        budget = self.account.filter.budget(amount)
        try:
            if isinstance(query, Periods):
                return largest_error(query, self._counter(query, budget), accuracy) > accuracy.error
            explained = self.explain(query, budget)
        except TooMuchNoise:
            return True
        except (TooLittleNoise, CannotMeet) as refused:
            if isinstance(refused, CannotMeet) and not isinstance(query, Periods):
                raise
            raise CannotMeet(
                f"no budget makes this answer accurate to {accuracy.error:g}: rounding, or the size of "
                "the groups, stands in the way. Ask for a larger error, or for larger groups."
            ) from None
        return explained.error(accuracy.confidence, accuracy.column, accuracy.rows) > accuracy.error

    def _cost(self, loss: Loss, budget: Guarantee) -> Cost:
        return self.account.filter.charge(loss, budget, self.account.left())

    def _counter(self, periods: Periods, budget: Guarantee) -> FeedCounter:
        unit = self._unit(periods.query.table)
        return counter_for(periods, unit, self.account.filter.price(budget), self.adjacency)

    def _cost_of_fit(self, loss: Loss) -> Cost:
        account = self.account
        return account.filter.charge_for_fit(loss, account.left(), account.allowance(account.analyst))

    def _plan(self, query: Query, price: Guarantee, among: int = 1) -> Plan:
        if _discovers(query):
            raise InvalidParameter(
                "dp.discover() finds the keys in a release of its own: ask this question by release(query, budget), or "
                "list the keys: group_by(..., keys=[...])."
            )
        unit = self._unit(query.table)
        exact.check(query, unit)
        return plan(query, unit, price, self.adjacency, self._rare() / among)

    def _unit(self, table: Table) -> Unit:
        """How much of one unit a table holds at most, after its steps: what is planned for, and enforced."""
        if (self.source.together or len(table.tables) > 1) and table.family is not self.source:
            raise InvalidParameter(
                f"the question is about the table {table.name!r} of another session; take it from this one: s.table."
            )
        return table.bounded(self.unit.of(table.name))

    def _compute(self, made: Plan) -> Released:
        return release(made, exact.evaluate(self.source, made.query, made.unit))

    def _with_discovery(self, query: Query, budget: Guarantee, wanted: Wanted) -> Answer:
        """Keys and answers together: a third of the price finds the keys, the rest answers about them."""
        discovery = self._discovery(query, budget)

        def compute() -> str:
            keys = discovery.keys(exact.evaluate(self.source, discovery.finding, discovery.rest.unit))
            made = discovery.restricted(keys)
            return answers.to_discovery(keys, (made.query, self._compute(made)) if keys else None)

        question = questions.of_release(query, budget, discovery.rest.unit, self.adjacency)
        reply = self.account.ask(question, self._cost(discovery.loss, budget), compute)
        keys, record = answers.read_discovered(reply.answer)
        made = discovery.restricted(keys)
        asked, released = answers.read_about(record, made.query)
        return Answer(replace(made, query=asked), released, repr(budget), wanted, reply.is_free, reply.time)

    def _discovery(self, query: Query, budget: Guarantee) -> Discovery:
        if not self.account.filter.pays_for_rare_events:
            raise InvalidParameter(
                f"discovering keys spends some delta, and this session's budget is {self.account.promise!r}. "
                "Use a session with an ApproxDP budget, or list the keys: group_by(..., keys=[...])."
            )
        unit = self._unit(query.table)
        exact.check(query, unit)
        price = self.account.filter.price(budget)
        return discovery(query, unit, price, self._rare(), self.adjacency)

    def _rare(self) -> float:
        """The probability with which one release may do worse than its price: a twentieth of what is set aside."""
        if not self.account.filter.pays_for_rare_events:
            return 0.0
        return math.nextafter(float(self.account.allowance(self.account.analyst).delta) / 20, 0)


def _known(unit: Unit, source: Source) -> None:
    names = [f.name for f in source.fields]
    if unit.column is not None and unit.column not in names:
        raise QueryRefused(
            f"there is no column {unit.column!r} to tell units by; {nearest(unit.column, names)}."
        )


def _forgotten_with(session: Session) -> Path:
    """A folder that goes away with the session; one that a fork took along is left to the parent."""
    path = Path(tempfile.mkdtemp(prefix="dalenius-"))
    weakref.finalize(session, _remove, path, os.getpid())
    return path


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def _discovers(query: object) -> bool:
    """Whether the keys of a question are to be found; what is no question is refused."""
    if not isinstance(query, Query):
        raise InvalidParameter(
            f"a question is needed, not a {type(query).__name__}; end it with what is wanted: .agg(n=dp.count())."
        )
    return isinstance(query.keys, Discover)


def _paid(budget: Budget) -> Guarantee:
    return budget.budget if isinstance(budget, Price) else budget
