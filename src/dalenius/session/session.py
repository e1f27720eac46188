"""A session: a table, a budget that cannot be overspent, and answers."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dalenius.adaptive import PrivacyReport
from dalenius.adaptive.personal.release import Release
from dalenius.calculus.guarantees import Guarantee, amounts
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.loss import Loss
from dalenius.core import decimals
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.bisection import last_true
from dalenius.core.checks import confidence as _confidence
from dalenius.core.checks import count, flag, shown
from dalenius.core.notebook import printed
from dalenius.errors import (
    BudgetExceeded,
    CannotMeet,
    InvalidParameter,
    QueryRefused,
    TooLittleNoise,
    TooMuchNoise,
)
from dalenius.infer.result import Result
from dalenius.session.account import Account, Reply
from dalenius.session.accuracy import Within
from dalenius.session.affordable import given, largest
from dalenius.session.continual import Feed, FeedCounter, Periods, counter_for, largest_error
from dalenius.session.entries import digest
from dalenius.session.explain import Explanation
from dalenius.session.ledger import Ledger
from dalenius.session.left import Asked, left_in_words, refused, story
from dalenius.session.opening import SessionAccount, Terms, dataset_name, opened, place_of_all
from dalenius.session.personal import release_of_fit, report
from dalenius.session.price import Price, told_delta
from dalenius.session.record import answers, questions
from dalenius.session.record.counters import counter_record, read_counter
from dalenius.session.room import check_room
from dalenius.session.together import Explanations, JointPlan, Together
from dalenius.tables.ask.cube import CubeQuery
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
from dalenius.tables.release.cross_table import CrossTable
from dalenius.tables.release.estimates import Wanted
from dalenius.tables.release.released import Released, release

if TYPE_CHECKING:
    from dalenius.infer.estimates.settings.estimate import Estimate
    from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest
    from dalenius.infer.hypotheses.result import TestResult
    from dalenius.infer.regression.settings import Regression
    from dalenius.session.estimation import Estimation
    from dalenius.session.evaluating import Evaluating
    from dalenius.session.evaluation import Evaluation
    from dalenius.session.fit import Fitting
    from dalenius.session.fit_targets import FittingTargets
    from dalenius.session.inference import Inference
    from dalenius.session.synthesis import Synthesis
    from dalenius.session.synthetic_table import SyntheticTable
    from dalenius.session.testing import Testing
    from dalenius.session.truncation import Truncation


MOST_MADE_ROWS = 10**9
"""Synthetic rows are held in memory; more than this is a slip of the pen."""


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
        What each analyst may spend of a new account's budget: fractions of it, or promises of its kind.
    ceiling, renewals
        How far, and how often, a steward may open more of a new account: the promise is then about all of it
        (docs/ledger.md). Left out: never.
    reserve
        For ApproxDP budgets, how much of epsilon is set aside, when the account is opened, for pure and fitted
        releases; they then cost less and Gaussian noise more (docs/learning.md).
    per_question
        What a question is given where its call says neither a budget nor an accuracy. It belongs to this session, not
        to the account: every charge in the ledger says its own price.
    split_evenly_over
        The same, said as a number of questions that the whole budget (or the share of the analyst) is to suffice for.

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
        ceiling: Guarantee | None = None,
        renewals: int | None = None,
        reserve: float | None = None,
        per_question: Guarantee | None = None,
        split_evenly_over: int | None = None,
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
        terms = Terms(
            label, budget, adjacency, unit, analyst, shares, place, moved, former, reserve, ceiling, renewals
        )
        self.account: Account = SessionAccount(ledger, terms)
        self._fits: dict[str, Release] = {}
        self._meanings: dict[str, str] = {}
        self._last: Asked | None = None
        self.per_question = self._of_each(per_question, split_evenly_over)

    def __repr__(self) -> str:
        return (
            f"<Session: {self.account.dataset!r}, {self._held}, {self.unit!r}; "
            f"{self.remaining.shortened(up=False)!r} left of {self.account.promise!r}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the same lines as `print`."""
        return printed(self)

    @property
    def _held(self) -> str:
        """How many columns there are, in each table where there are several."""
        if not self.source.together:
            return f"{len(self.source.fields)} columns"
        each = ", ".join(f"{name}: {len(one.fields)} columns" for name, one in self.source.together.items())
        return f"{len(self.source.together)} tables ({each})"

    def __str__(self) -> str:
        heading = f"Session on {self.account.dataset!r}: {self._held}, {self.unit!r}"
        caveat = [self.unit.caveat] if self.unit.caveat else []
        return "\n".join([heading, *story(self.account, *self._like()), *caveat])

    def __reduce__(self) -> Any:
        raise TypeError(
            "a session cannot be pickled or copied: its budget is one, in its ledger. Open another session on the same "
            "ledger where it is needed."
        )

    @property
    def ledger(self) -> Ledger:
        """The ledger this session is charged in: `session.ledger.log()`. It is made by the first question charged."""
        account = self.account
        return account.found_ledger() if isinstance(account, SessionAccount) else account.ledger

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
        """The largest budget a release may still be given, rounded down: it then spends all that is left.

        `print(session)` says it in words: how many more questions like the last it is enough for.
        """
        return self.account.filter.budget_left(self.account.left()).read(up=False)

    def left_in_words(self) -> str:
        """What is left, at four digits, and how many more questions like the last one that is enough for.

        Returns
        -------
        str
            One line; what is left is rounded down.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> s = dp.Session(pd.DataFrame({"age": [30] * 100}), unit=dp.Unit.rows(), budget=dp.ZCDP(0.5))
        >>> a = s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.03))
        >>> s.left_in_words()
        'ZCDP(rho=0.47), enough for 15 more questions like the last (ZCDP(rho=0.03))'
        """
        return left_in_words(self.account, *self._like())

    @property
    def spent(self) -> Guarantee:
        """What was charged so far, written as a promise; what is promised is the budget. See `Account.spent`."""
        return self.account.spent

    # -- asking ---------------------------------------------------------------------------------------

    def release(
        self,
        query: Query,
        budget: Budget | None = None,
        *,
        accuracy: Within | None = None,
        confidence: float | None = None,
    ) -> Answer:
        """The private answer to a question.

        It is charged before any data is read, and recorded before it is returned. The identical question at the
        identical price is answered from the record, for nothing.

        Parameters
        ----------
        query
            A question: a table of this session, ended by `.agg(...)`.
        budget
            What the answer may cost, in a kind that the session's budget is paid in, or what `price` returned. Left
            out: what the accuracy costs, or the session's budget per question.
        accuracy
            `dp.within(50, confidence=0.95)`, in place of a budget: the cheapest one that is accurate enough is paid.
        confidence
            Of the intervals; that of the accuracy, or 0.95, if left out.

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
        >>> a = s.release(s.table.agg(n=dp.count()), accuracy=dp.within(20, confidence=0.9))
        >>> a.cost
        'PureDP(epsilon=0.1123)'
        """
        wanted = _wanted(accuracy, confidence)
        discovers, paid = _discovers(query), self._paid(budget, query, accuracy)

        def instead() -> str | None:
            return None if accuracy is None else self._within_reach(query, accuracy)

        if discovers:
            return self._with_discovery(query, paid, wanted, instead)
        made = self._plan(query, self.account.filter.price(paid))
        check_room([query])
        question = questions.of_release(query, paid, made.unit, self.adjacency)
        cost = self._cost(made.loss, paid)
        reply = self._ask(
            question, Asked(cost, paid), lambda: answers.to_release(query, self._compute(made)), instead
        )
        answered, released = answers.read_release(reply.answer, query)
        return Answer(replace(made, query=answered), released, _text(paid), wanted, reply.is_free, reply.time)

    def release_all(
        self,
        queries: Mapping[str, Query],
        budget: Budget | None = None,
        *,
        accuracy: Within | None = None,
        confidence: float | None = None,
    ) -> dict[str, Answer]:
        """Several questions as one plan: one charge for their joint loss, the budget divided evenly.

        Parameters
        ----------
        queries
            The questions by name.
        budget
            What all of them together may cost; as in `release`. Left out: the session's budget per question, for each.
        accuracy
            In place of a budget, as in `release`: every number of every answer is held to it, or those of the columns
            that it names.
        confidence
            Of the intervals, as in `release`.

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
        return self._release_all(Together.of(queries), budget, accuracy, confidence)

    def _release_all(
        self, asked: Together, budget: Budget | None, accuracy: Within | None, confidence: float | None
    ) -> dict[str, Answer]:
        wanted, queries = _wanted(accuracy, confidence), asked.queries
        # Of a cube the session's budget per question is for all of it: it is one question to who asks it.
        paid = self._paid(budget, asked, accuracy, 1 if asked.cube is not None else len(queries))

        def instead() -> str | None:
            return None if accuracy is None else self._within_reach(asked, accuracy)

        made = self._together(asked, paid)
        check_room(queries.values())
        question = questions.of_plan(queries, paid, self.unit, self.adjacency)

        def compute() -> str:
            return answers.to_plan({name: (p.query, self._compute(p)) for name, p in made.plans.items()})

        reply = self._ask(question, Asked(self._cost(made.loss, paid), paid), compute, instead)
        cost = f"{_text(paid)} for {len(queries)} questions"
        return {
            name: Answer(
                replace(made.plans[name], query=query),
                released,
                cost,
                wanted,
                free=reply.is_free,
                given=reply.time,
            )
            for name, (query, released) in answers.read_plan(reply.answer, queries).items()
        }

    def cross_table(
        self,
        query: CubeQuery,
        budget: Budget | None = None,
        *,
        accuracy: Within | None = None,
        confidence: float | None = None,
    ) -> CrossTable:
        """A table and its margins with numbers that add up, as one release.

        Every margin gets an even part of the budget and noise of its own. All of them together give the best linear
        estimate of each cell and of each margin, at no further cost.

        Parameters
        ----------
        query
            A question that ends in `table.cube(...).agg(...)` or `table.rollup(...).agg(...)`.
        budget
            What all of it together may cost; as in `release`.
        accuracy
            In place of a budget, as in `release`: the best linear estimate of every cell and of every margin stays
            within it. (What is shown of counts is the nearest table that is whole, not negative and adds up; where many
            cells are near zero it can be further off, and intervals are then longer on that side.)
        confidence
            Of the intervals, as in `release`.

        Returns
        -------
        CrossTable
            Cells and margins; `wide` lays them out in two directions.

        Raises
        ------
        InvalidParameter
            If the question or the budget is refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 500, "town": ["a", "a", "b", "b"] * 250})
        >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(0.5), schema=dp.Schema(nulls="drop"))
        >>> q = s.table.cube("sex", "town", keys={"sex": ["f", "m"], "town": ["a", "b"]}).agg(n=dp.count())
        >>> table = s.cross_table(q, dp.ZCDP(0.1))
        >>> n = dict(zip(table.keys, table["n"].plain))
        >>> n["f", "a"] + n["f", "b"] == n["f", "all"]
        True
        >>> s.cross_table(q, accuracy=dp.within(30)).cells.cost
        'ZCDP(rho=0.003795) for 4 questions'
        """
        if not isinstance(query, CubeQuery):
            raise InvalidParameter(
                f"the question is {shown(query)}; it must be made with table.cube(...) or table.rollup(...)."
            )
        answered = self._release_all(Together.of(query), budget, accuracy, confidence)
        return CrossTable.of(query, answered.values())

    def sql(
        self,
        text: str,
        budget: Budget | None = None,
        *,
        accuracy: Within | None = None,
        public: Mapping[str, Any] | None = None,
        keys: Any = None,
        confidence: float | None = None,
    ) -> Answer | CrossTable:
        """The answer to a SELECT of aggregates; see docs/tables.md for the subset that is understood.

        Parameters
        ----------
        text
            The SELECT.
        budget, accuracy
            What the answer may cost, or how accurate it is to be; as in `release`.
        public
            Public tables to join, by name.
        keys
            The groups, where the schema does not list them.
        confidence
            Of the intervals, as in `release`.

        Returns
        -------
        Answer or CrossTable
            As from `release`, which this calls; of GROUP BY CUBE or ROLLUP as from `cross_table`.

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
        query = self._read_sql(text, public, keys)
        if not isinstance(query, CubeQuery):
            return self.release(query, budget, accuracy=accuracy, confidence=confidence)
        return self.cross_table(query, budget, accuracy=accuracy, confidence=confidence)

    def truncation(
        self,
        budget: Budget | None = None,
        *,
        accuracy: Within | None = None,
        table: Table | None = None,
        up_to: int | None = None,
        confidence: float | None = None,
    ) -> Truncation:
        """How many units have more rows than may enter an answer, and how many rows that leaves out, privately.

        What is beyond a unit's `max_rows` is left out of every answer, and no interval covers it. Charged and recorded
        as a release is.

        Parameters
        ----------
        budget
            What it may cost; as in `release`.
        accuracy
            In place of a budget, as in `release`: of `units`, `cut`, `kept` and `lost`, or of some of them,
            `dp.within({"cut": 50})`.
        table
            Other than all of it: `session.table.filter(...)`, for instance, or one of several tables.
        up_to
            At most so many rows of a unit are counted as lost or kept; five times `max_rows`, if not said. One unit
            moves what is lost by at most `up_to - max_rows`, and the noise is as large as that needs.
        confidence
            Of the intervals, as in `release`.

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
        query, rows, most = truncation.question(asked, up_to)
        answer = self.release(query, budget, accuracy=accuracy, confidence=confidence)
        return truncation.Truncation(answer, self.unit.each, rows, most)

    def continual(self, query: Query, budget: Budget | None = None) -> Feed:
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
        periods, budget = Periods.of(query), self._paid(budget)
        unit = self._unit(query.table)
        exact.check(query, unit)
        counter = self._counter(periods, budget)
        question = questions.of_feed(query, budget, unit, self.adjacency)
        asked = Asked(self._cost(counter.loss, budget), budget)
        reply = self._ask(question, asked, lambda: answers.to_feed(counter_record(counter)))
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

    def fit(
        self,
        model: Any,
        features: Any,
        target: Any,
        *,
        table: Table | None = None,
        budget: Budget | None = None,
    ) -> Any:
        """A model of `dp.learn`, fitted to the table and paid from the budget.

        The price is the model's own, `model.price()`, for all rows of a unit and the session's neighbours, in the
        session's currency; `loss_` of the model is what was charged. The identical fit is returned from the record, for
        nothing. A pipeline of `dp.learn.PrivateBounds`, `dp.learn.PrivateScaler` or both, and a model, is one fit, too:
        the steps find the scale of the features, and their prices are added to that of the model.

        Parameters
        ----------
        model
            With a guarantee that the session's budget can pay: any with a ZCDP or an ApproxDP budget, GDP(mu) or
            PureDP(epsilon) with a GDP one, PureDP(epsilon) with a PureDP one. Or its class (or a function of a
            guarantee): it is then given the largest guarantee, to four digits, that a fit for the budget can have.
            Or a pipeline, as above.
        features
            Columns or expressions, as a list where the schema has their bounds or categories, or with them: {"age":
            (18, 90), "town": ["Ulm", "Bern"]}. A category is a 1 among zeros, computed in the engine. With
            `PrivateBounds` some may have no bounds; those are found.
        target
            A column, an expression, or a condition (1 or 0) for a classifier; of a classifier with `classes` the column
            that holds them. Or several, as a list or with their bounds: each gets a model of its own, and the guarantee
            is for all of them together.
        table
            Other than all of it: `session.table.filter(...)`, for instance.
        budget
            Of a class: what the fit may cost; the session's budget per question, if left out.

        Returns
        -------
        sklearn.pipeline.Pipeline
            It predicts from features in the user's units. Of several targets, a dict of pipelines by their names.

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
        >>> s.fit(dp.learn.LogisticRegression, {"age": (18, 90)}, "pay >= 36", budget=dp.GDP(0.2))[-1].guarantee
        GDP(mu=0.2)
        >>> both = s.fit(m, {"age": (18, 90)}, ["pay >= 36", "pay < 9"])  # for the price of one
        >>> both["pay < 9"].predict([[30], [80]]).shape, dp.GDP(0.3).holds(both["pay < 9"][-1].loss_)
        ((2,), True)
        """
        from sklearn.base import clone

        def loss_of(promise: Guarantee) -> Loss:
            changed = model(promise) if _makes(model) else clone(model).set_params(guarantee=promise)
            return self._fitting(changed, features, target, table).loss

        model = self._promising(model, budget, loss_of)
        fitting = self._fitting(model, features, target, table)
        question, own_promise = fitting.question, getattr(model, "guarantee", None)
        asked = self._asked_fit(fitting.loss, own_promise)
        reply = self._ask(
            question, asked, lambda: fitting.compute(self.source), self._smaller(own_promise, loss_of)
        )
        fitted = fitting.restored(reply.answer)
        own = release_of_fit(fitting, fitted, self._meanings)
        if own is not None:
            self._fits[digest(question)] = own
        return fitted

    def evaluate(
        self,
        model: Any,
        features: Any,
        target: Any,
        budget: Budget | None = None,
        *,
        bins: int = 20,
        table: Table | None = None,
    ) -> Evaluation:
        """How good a fitted classifier is on the table: accuracy, confusion matrix, AUC and calibration, paid once.

        Rows are counted by label, prediction and probability, and the counts released with noise; all else follows from
        them, with intervals. It is charged before any data is read; the identical evaluation is free. Of the rows that
        the model was fitted to it tells how well they are fitted; keep some apart, `table.filter("id % 10 = 0")`, to
        tell how well others would be.

        Parameters
        ----------
        model
            A classifier as `fit` returned it, or as `dp.learn.load` read it.
        features
            The columns or expressions of its fit, in their order; bounds and categories are the model's own.
        target
            The column, expression or condition with the labels.
        budget
            What it may cost; the session's budget per question, if left out.
        bins
            Of the probability: more tell AUC and calibration more finely, and have more noise together. An even number.
        table
            Other than all of it: `session.table.filter(...)`, for instance.

        Returns
        -------
        Evaluation
            `summary()`, `accuracy`, `confusion`, `auc`, `calibration`, `recall(label)`, `precision(label)`.

        Raises
        ------
        InvalidParameter
            If the model, the columns or the budget are refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> people = pd.DataFrame({"age": [20, 30, 60, 70] * 1000, "pay": [1, 2, 8, 9] * 1000})
        >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="never"))
        >>> m = s.fit(dp.learn.LogisticRegression(dp.ZCDP(0.5)), {"age": (18, 90)}, "pay > 5")
        >>> how_good = s.evaluate(m, ["age"], "pay > 5", budget=dp.ZCDP(0.1))
        >>> how_good.accuracy.low > 0.9, s.remaining.shortened(up=False)
        (True, ZCDP(rho=0.4))
        """
        paid = self._paid(budget)
        asked = self._evaluating(model, features, target, paid, bins, table)
        cost = Asked(self._cost(asked.loss, paid), paid)
        reply = self._ask(asked.question, cost, lambda: asked.compute(self.source))
        return asked.restored(reply.answer)

    @overload
    def infer(
        self,
        estimator: Regression | type[Regression],
        features: Any,
        target: Any,
        *,
        table: Table | None = None,
        budget: Budget | None = None,
    ) -> Result: ...

    @overload
    def infer(
        self,
        estimator: Estimate | type[Estimate],
        features: Any,
        target: Any = None,
        *,
        table: Table | None = None,
        budget: Budget | None = None,
    ) -> Result: ...

    @overload
    def infer(
        self,
        estimator: HypothesisTest | type[HypothesisTest],
        features: Any,
        target: Any = None,
        *,
        table: Table | None = None,
        budget: Budget | None = None,
    ) -> TestResult: ...

    def infer(
        self,
        estimator: Any,
        features: Any,
        target: Any = None,
        *,
        table: Table | None = None,
        budget: Budget | None = None,
    ) -> Result | TestResult:
        """A regression or an estimate with intervals, or a test, of the table and paid from the budget.

        The price is the estimator's own, `estimator.loss`, for all rows of a unit and the session's neighbours, in the
        session's currency; the result's `loss` is what was charged. The identical question is answered from the record,
        for nothing. However many rows there are, a few blocks of them are in memory at a time for a regression or an
        estimate, and of a regression a server or a cluster sends nothing but sums; tests hold their columns in memory.

        Parameters
        ----------
        estimator
            A regression, an estimate or a test of `dp.infer` with its settings, as
            LinearRegression(guarantee=dp.GDP(0.5)), Mean(dp.GDP(0.5)) or MeanTest(dp.GDP(0.5), mean=40). Or its class,
            or a function of a guarantee, as in `fit`.
        features
            Columns or expressions, as a list where the schema has their bounds, or with them: {"age": (18, 90)}. For an
            estimate or a test of one column that column; else x, or the groups, or a condition for two samples, the
            first where it holds.
        target
            A column or an expression, likewise; for classes, numbers or a condition (1 or 0). The y of an estimate, or
            the values where groups are compared.
        table
            Other than all of it: `session.table.filter(...)`, for instance.
        budget
            Of a class: what it may cost; the session's budget per question, if left out.

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
        >>> s.infer(dp.infer.Quantiles(dp.ZCDP(0.1), levels=(0.25, 0.75)), {"pay": (0, 100)}).names
        ('pay 0.25', 'pay 0.75')
        >>> test = dp.infer.TwoSampleMeanTest(dp.ZCDP(0.1), bounds=(0, 100))
        >>> s.infer(test, "age >= 40", "pay").pvalue < 0.01
        True
        """

        def loss_of(promise: Guarantee) -> Loss:
            changed = estimator(promise) if _makes(estimator) else replace(estimator, guarantee=promise)
            return self._asked(changed, features, target, table).loss

        estimator = self._promising(estimator, budget, loss_of)
        asked = self._asked(estimator, features, target, table)
        own = getattr(estimator, "guarantee", None)
        reply = self._ask(
            asked.question,
            self._asked_fit(asked.loss, own),
            lambda: asked.compute(self.source),
            self._smaller(own, loss_of),
        )
        return asked.restored(reply.answer)

    def synthesize(
        self,
        columns: Any,
        budget: Budget | None = None,
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
        from dalenius.session.synthetic_table import SyntheticTable

        budget = self._paid(budget)
        asked = self._synthesis(columns, budget, bins, private_bins, marginals, table)
        wanted = None if rows is None else count("rows", rows, 1)
        if wanted is not None and wanted > MOST_MADE_ROWS:
            raise InvalidParameter.of("rows", f"rows is {wanted}; it must be at most {MOST_MADE_ROWS}.")
        cost = Asked(self._cost(asked.loss, budget), budget)
        reply = self._ask(asked.question, cost, lambda: asked.compute(self.source))
        coded, released = asked.restored(reply.answer)
        return SyntheticTable(coded, released, asked.loss, wanted, _text(budget), reply.is_free, reply.time)

    def _fitting(
        self, model: Any, features: Any, target: Any, table: Table | None
    ) -> Fitting | FittingTargets:
        from dalenius.session.columns import named_columns
        from dalenius.session.fit import Fitting
        from dalenius.session.fit_targets import FittingTargets

        kind = FittingTargets if len(named_columns("target", target)) > 1 else Fitting
        whole = self.table if table is None else table
        unit = self._unit(whole)
        return kind.of(model, features, target, whole, unit, self.adjacency, self.account.filter)

    def _evaluating(
        self, model: Any, features: Any, target: Any, paid: Guarantee, bins: int, table: Table | None
    ) -> Evaluating:
        from dalenius.session.evaluating import Evaluating

        whole = self.table if table is None else table
        unit = self._unit(whole)
        return Evaluating.of(model, features, target, whole, unit, self.account.filter, paid, bins)

    def _synthesis(
        self,
        columns: Any,
        paid: Guarantee,
        bins: int,
        private_bins: Iterable[str],
        marginals: Any,
        table: Table | None,
    ) -> Synthesis:
        from dalenius.session.synthesis import Synthesis

        whole = self.table if table is None else table
        return Synthesis.of(
            columns,
            whole,
            self._unit(whole),
            self.account.filter,
            paid,
            self._rare(),
            bins=bins,
            private_bins=private_bins,
            marginals=marginals,
        )

    def _asked(
        self, estimator: Any, features: Any, target: Any, table: Table | None
    ) -> Inference | Testing | Estimation:
        from dalenius.infer.estimates.settings.estimate import Estimate
        from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest
        from dalenius.session.estimation import Estimation
        from dalenius.session.inference import Inference
        from dalenius.session.testing import Testing

        kinds = {HypothesisTest: Testing, Estimate: Estimation}
        kind: Any = next((kinds[base] for base in kinds if isinstance(estimator, base)), Inference)
        asked: Inference | Testing | Estimation
        whole = self.table if table is None else table
        unit = self._unit(whole)
        asked = kind.of(estimator, features, target, whole, unit, self.adjacency, self.account.filter)
        return asked

    @property
    def privacy_report(self) -> PrivacyReport:
        """What everything released from this account so far cost one person: `privacy_report.epsilon(record)`.

        A record is a mapping of columns to values. Fits that this session made or read from the record (the identical
        fit is free) are bounded for the person's own record, all other releases by the worst case, and the whole by
        the budget.
        """
        self.unit.check_whole("a report about one person")
        return report(self.account, self._fits)

    # -- before paying --------------------------------------------------------------------------------

    def explain(
        self,
        query: Query | CubeQuery | Mapping[str, Query] | str,
        budget: Budget | None = None,
        *,
        public: Mapping[str, Any] | None = None,
        keys: Any = None,
    ) -> Explanation | Explanations:
        """What would be released: sensitivities, noise, and the error to expect by group size. It is free.

        Parameters
        ----------
        query
            A question, as for `release`, `release_all` or `cross_table`; or the text of a SELECT, as for `sql`.
        budget
            What the answer may cost; all that remains, if not said.
        public, keys
            As for `sql`.

        Returns
        -------
        Explanation or Explanations
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
        query = self._read_sql(query, public, keys) if isinstance(query, str) else query
        budget = self.remaining if budget is None else _paid(budget)
        if isinstance(query, CubeQuery | Mapping):
            return self._together(Together.of(query), budget).explained
        if _discovers(query):
            discovery = self._discovery(query, budget)
            return Explanation(discovery.rest, discovery.threshold)
        return Explanation(self._plan(query, self.account.filter.price(budget)))

    @overload
    def price(
        self,
        query: Query | CubeQuery | Mapping[str, Query] | str,
        accuracy: Within,
        *,
        continual: bool = False,
        public: Mapping[str, Any] | None = None,
        keys: Any = None,
        delta: float | None = None,
    ) -> Price: ...

    @overload
    def price(
        self,
        query: Any,
        *,
        features: Any,
        target: Any = None,
        table: Table | None = None,
        delta: float | None = None,
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
        public: Mapping[str, Any] | None = None,
        keys: Any = None,
        delta: float | None = None,
    ) -> Price:
        """The cheapest budget, of the session's kind, with which the answer is accurate enough. It is free.

        It is found from public facts alone: bounds, unit, groups, and what you say about the size of groups. It has
        four digits, rounded up. Of a model, a regression, an estimate or a test, which has its own promise: what `fit`
        or `infer` would charge for it. `synthesize` has no price of this kind: how well a few marginals describe a
        table depends on the table.

        Parameters
        ----------
        query
            A question, as for `release`, `release_all`, `cross_table` or `continual`; the text of a SELECT, as for
            `sql`; or a model, a regression, an estimate or a test, as for `fit` and `infer`.
        accuracy
            `dp.within(error, confidence)`, for a question. Of a feed, both the count of each period and its running
            total are within the error, or the one that `column` names: "n" or "n_total".
        continual
            Whether the question is to be a feed.
        features, target, table
            As for `fit` and `infer`.
        public, keys
            As for `sql`.
        delta
            At which epsilon is told beside the price: that of the session's budget, or 1e-6, if left out.

        Returns
        -------
        Price
            The budget, its epsilon, and how often what is left pays for it; `release` takes it as it is.

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
        >>> print(price)
        ZCDP(rho=0.01743), epsilon 0.8362 at delta 1e-06; what is left pays for 28
        >>> s.release(q, price).free
        False
        >>> s.price("SELECT COUNT(*) AS n FROM data", dp.within(10)).budget == price.budget
        True
        >>> s.price(dp.infer.BinomialTest(dp.ZCDP(0.2)), features="age >= 40").affordable
        True
        >>> by_age = s.table.group_by("age", keys=range(18, 90)).agg(n=dp.count())
        >>> s.price(by_age, dp.within(30), continual=True).affordable
        True
        """
        at, left = told_delta(self.account.filter, delta), self.account.left()
        if features is not None:
            if accuracy is not None or flag("continual", continual):
                raise InvalidParameter(
                    "a regression or a test has its own promise, which is its price; leave accuracy and continual out."
                )
            if _makes(query):
                raise InvalidParameter(
                    f"{getattr(query, '__name__', 'it')} has no promise yet, and its price is what it promises: give "
                    "it one, as in LinearRegression(guarantee=dp.ZCDP(0.1))."
                )
            if callable(getattr(query, "price", None)) or hasattr(
                query, "named_steps"
            ):  # a model, or a pipeline
                cost = self._cost_of_fit(self._fitting(query, features, target, table).loss)
            else:
                cost = self._cost_of_fit(self._asked(query, features, target, table).loss)
            return Price.of(self.account.filter.spent(cost).shortened(up=True), cost, left, at)
        if not isinstance(accuracy, Within):
            raise InvalidParameter(
                f"accuracy is {shown(accuracy)}; say dp.within(100, confidence=0.95) of a question, and features=... "
                "of a regression or a test."
            )
        query = self._read_sql(query, public, keys) if isinstance(query, str) else query
        asked: Query | Periods | Together
        asked = Together.of(query) if isinstance(query, CubeQuery | Mapping) else query
        if flag("continual", continual):
            asked = Periods.of(query)
            exact.check(query, self._unit(query.table))
            if accuracy.simultaneous:
                raise InvalidParameter(
                    "the periods of a feed are held to an error one by one; leave simultaneous out, and ask for a "
                    "higher confidence."
                )

        def is_rough(amount: float) -> bool:
            return self._is_rough(asked, amount, accuracy)

        low, high = 1e-12, 1e-12
        while is_rough(high):
            low, high = high, high * 4
        _, high = last_true(is_rough, low, high, relative=1e-9 if isinstance(asked, Query) else 1e-4)
        pays = self.account.filter
        least = pays.budget(high)
        budget = pays.in_own_kind(least)
        cost = self._cost(self._planned(asked, budget).loss, budget)
        if not cost.fits(left) and not self._is_on_record(asked, budget):
            # It may be only the rounding that is too much.
            exactly = self._cost(self._planned(asked, least).loss, least)
            if exactly.fits(left):
                budget, cost = least, exactly
        assumes = "" if isinstance(asked, Periods) else self._explained(asked, budget).assumed(accuracy)
        return Price.of(budget, cost, left, at, assumes)

    # -- from afar (`session.travel`) -----------------------------------------------------------------

    def _asking(self, account: Any) -> Session:
        """The same session with another account in its place, for one question."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), account=account, _fits={}, _meanings={})
        return made

    def _given_to(self, budget: Budget | None, questions: int = 1) -> Guarantee:
        """What so many questions are given: the budget, or what the session gives each."""
        return self._paid(budget, questions=questions)

    def _read_sql(
        self, text: str, public: Mapping[str, Any] | None = None, keys: Any = None
    ) -> Query | CubeQuery:
        """The question of a SELECT; nothing is asked."""
        from dalenius.tables.sql import parse_question

        return parse_question(text, self.table, **self._beside(public, keys))

    # -- inside ---------------------------------------------------------------------------------------

    def _of_each(self, budget: Budget | None, parts: int | None) -> Guarantee | None:
        """What a question is given that does not say; None where nothing was settled."""
        if budget is not None and parts is not None:
            raise InvalidParameter("give one of per_question and split_evenly_over.")
        if parts is None:
            if budget is not None:
                self.account.filter.price(_paid(budget))  # a kind that cannot pay here is refused now
            return None if budget is None else _paid(budget)
        parts = count("split_evenly_over", parts, 1)
        whole = self.account.allowance(self.account.analyst)
        each = self.account.filter.budget_left(whole.share(Fraction(1, parts)))
        # Four digits are enough, rounded down: all parts fit, and every answer says what it cost in few letters.
        each = each if parts == 1 else each.shortened(up=False)
        if not each.size:
            raise InvalidParameter.of(
                "split_evenly_over", f"split_evenly_over is {parts}, and nothing is left for each; use fewer."
            )
        return each

    def _paid(
        self,
        budget: Budget | None,
        asked: Query | Together | None = None,
        accuracy: Within | None = None,
        questions: int = 1,
    ) -> Guarantee:
        """What a question is given: its budget, what its accuracy costs, or what the session gives each question."""
        if accuracy is not None:
            if budget is not None:
                raise InvalidParameter("give one of budget and accuracy: an accuracy has its own price.")
            assert asked is not None
            question = (asked.cube or asked.queries) if isinstance(asked, Together) else asked
            return self.price(question, accuracy).budget
        if budget is not None:
            return _paid(budget)
        if self.per_question is None:
            raise InvalidParameter(
                "say what the answer may cost, budget=dp.ZCDP(0.01), or how accurate it is to be, "
                "accuracy=dp.within(50); or give every question the same: dp.Session(..., per_question=dp.ZCDP(0.01)), "
                "or split_evenly_over=20. From a shell: --budget zcdp:0.01, --within 50, --per-question or "
                "--split-evenly-over."
            )
        if questions == 1:
            return self.per_question
        each = self._cost_of_budget(self.per_question)
        return self.account.filter.budget_left(replace(each, amount=each.amount * questions))

    def _cost_of_budget(self, budget: Guarantee) -> Cost:
        """What an ordinary question with this budget is charged."""
        pays = self.account.filter
        if budget.as_pure() is not None and pays.pays_for_rare_events:
            return pays.cost(budget.loss(self.adjacency))
        return replace(pays.nothing, amount=budget.filter(self.adjacency).limit.amount)

    def _like(self) -> tuple[Asked | None, str]:
        """The question that others are measured by, and how it is called."""
        if self._last is None and self.per_question is not None:
            return Asked(self._cost_of_budget(self.per_question), self.per_question), ""
        return self._last, "the last"

    def _ask(
        self,
        question: str,
        asked: Asked,
        compute: Callable[[], str],
        instead: Callable[[], str | None] = lambda: None,
    ) -> Reply:
        """The account's answer; a refusal says what could be asked instead."""
        try:
            reply = self.account.ask(question, asked.cost, compute)
        except BudgetExceeded as problem:
            raise refused(self.account, problem, asked, instead) from None
        self._last = asked
        return reply

    def _beside(self, public: Mapping[str, Any] | None, keys: Any) -> dict[str, Any]:
        """What a SELECT is read with."""
        if not isinstance(public, Mapping | None):
            raise InvalidParameter(
                f"public is {shown(public)}; it must be a mapping of names to public tables, as {{'regions': frame}}."
            )
        return {"public": {} if public is None else public, "keys": keys, "unit": self.unit.columns}

    def _within_reach(self, asked: Query | Together, accuracy: Within) -> str | None:
        """What is left, said as an accuracy."""
        try:
            told = self._explained(asked)
            level = told.level(accuracy)
            reach = [told.error(level, column, accuracy.rows) for column, _ in accuracy.each]
        except InvalidParameter:
            return None
        told_errors = [decimals.rounded_up(error, 4) for error in reach]
        columns = [column for column, _ in accuracy.each]
        named = ", ".join(f"{c!r}: {e}" for c, e in zip(columns, told_errors, strict=True))
        return f"what is left suffices for within({told_errors[0] if columns == [None] else f'{{{named}}}'})"

    def _promising(self, model: Any, budget: Budget | None, loss_of: Callable[[Guarantee], Loss]) -> Any:
        """A model with its promise: as it is given, or made with the largest promise that its budget pays for."""
        if not _makes(model):
            if budget is not None:
                raise InvalidParameter(
                    f"{type(model).__name__} has its own promise, which is its price; leave budget out, or give the "
                    "class, and it gets the promise that the budget pays for."
                )
            return model
        if budget is None and self.per_question is None:
            name = getattr(model, "__name__", type(model).__name__)
            raise InvalidParameter(
                f"{name} has no promise yet, and nothing says what it may cost: give it one, as in "
                f"{name}(guarantee=dp.ZCDP(0.1)), say budget=dp.ZCDP(0.1), or open the session with per_question=..."
            )
        paid = self._paid(budget)
        pays, room, limit = self.account.filter, self._cost_of_budget(paid), self.account.state().first
        part = min(Fraction(1), room.amount / limit.amount)
        room = replace(room, delta=limit.delta / 200, shift=amounts.rounded_down(limit.shift * part))

        def cost_of(promise: Guarantee) -> Cost:
            # Not of what is left or open: the same call finds the same promise tomorrow, and its fit on record.
            return pays.charge_for_fit(loss_of(promise), limit, limit)

        return model(given(cost_of, pays, paid, room))

    def _asked_fit(self, loss: Loss, promise: Guarantee | None) -> Asked:
        cost = self._cost_of_fit(loss)
        return Asked(cost, promise if isinstance(promise, Guarantee) else self.account.filter.spent(cost))

    def _smaller(
        self, promise: Guarantee | None, loss_of: Callable[[Guarantee], Loss]
    ) -> Callable[[], str | None]:
        """What a fit could promise instead, where it is too dear."""

        def cost_of(smaller: Guarantee) -> Cost:
            return self._cost_of_fit(loss_of(smaller))

        def instead() -> str | None:
            try:
                found = None if promise is None else largest(promise, cost_of, self.account.left())
            except (InvalidParameter, TypeError):
                return None
            return None if found is None else f"it can promise {found!r} at most"

        return instead

    def _is_on_record(self, asked: Query | Periods | Together, budget: Guarantee) -> bool:
        if isinstance(asked, Together):
            question = questions.of_plan(asked.queries, budget, self.unit, self.adjacency)
        elif isinstance(asked, Periods):
            unit = self._unit(asked.query.table)
            question = questions.of_feed(asked.query, budget, unit, self.adjacency)
        else:
            question = questions.of_release(asked, budget, self._unit(asked.table), self.adjacency)
        return self.account.recorded(question) is not None

    def _planned(
        self, asked: Query | Periods | Together, budget: Guarantee
    ) -> Discovery | Plan | FeedCounter | JointPlan:
        if isinstance(asked, Together):
            return self._together(asked, budget)
        if isinstance(asked, Periods):
            return self._counter(asked, budget)
        if _discovers(asked):
            return self._discovery(asked, budget)
        return self._plan(asked, self.account.filter.price(budget))

    def _together(self, asked: Together, budget: Guarantee) -> JointPlan:
        """Several questions for a budget, of which each gets an even part."""
        many = len(asked.queries)
        part = self.account.filter.price(budget).divided(many)
        return asked.planned(lambda query: self._plan(query, part, many))

    def _explained(
        self, asked: Query | Together, budget: Guarantee | None = None
    ) -> Explanation | Explanations:
        return self.explain((asked.cube or asked.queries) if isinstance(asked, Together) else asked, budget)

    def _is_rough(self, asked: Query | Periods | Together, amount: float, accuracy: Within) -> bool:
        """Whether the answer errs by more, at this price."""
        budget = self.account.filter.budget(amount)
        try:
            if isinstance(asked, Periods):
                counter = self._counter(asked, budget)
                return any(largest_error(asked, counter, part) > part.largest for part in accuracy.parts)
            explained = self._explained(asked, budget)
        except TooMuchNoise:
            return True
        except (TooLittleNoise, CannotMeet) as refused:
            if isinstance(refused, CannotMeet) and not isinstance(asked, Periods):
                raise
            raise CannotMeet(
                f"no budget makes this answer accurate to {accuracy.words}: rounding, or the size of "
                "the groups, stands in the way. Ask for a larger error, or for larger groups."
            ) from None
        return not explained.meets(accuracy)

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
        given: object = table
        if not isinstance(given, Table):
            raise InvalidParameter(
                f"this session has several tables ({', '.join(self.source.together)}); say which: table=s.table[...]."
            )
        if (self.source.together or len(table.tables) > 1) and table.family is not self.source:
            raise InvalidParameter(
                f"the question is about the table {table.name!r} of another session; take it from this one: s.table."
            )
        return table.bounded(self.unit.of(table.name))

    def _compute(self, made: Plan) -> Released:
        return release(made, exact.evaluate(self.source, made.query, made.unit))

    def _with_discovery(
        self, query: Query, budget: Guarantee, wanted: Wanted, instead: Callable[[], str | None]
    ) -> Answer:
        """Keys and answers together: a third of the price finds the keys, the rest answers about them."""
        discovery = self._discovery(query, budget)

        def compute() -> str:
            keys = discovery.keys(exact.evaluate(self.source, discovery.finding, discovery.rest.unit))
            made = discovery.restricted(keys)
            return answers.to_discovery(keys, (made.query, self._compute(made)) if keys else None)

        question = questions.of_release(query, budget, discovery.rest.unit, self.adjacency)
        reply = self._ask(question, Asked(self._cost(discovery.loss, budget), budget), compute, instead)
        keys, record = answers.read_discovered(reply.answer)
        made = discovery.restricted(keys)
        asked, released = answers.read_about(record, made.query)
        return Answer(replace(made, query=asked), released, _text(budget), wanted, reply.is_free, reply.time)

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
    for column in unit.columns:
        if column not in names:
            computed = (
                ""
                if column.isidentifier()
                else " What is computed of others is made where the data is: a view."
            )
            raise QueryRefused(
                f"there is no column {column!r} to tell units by; {nearest(column, names)}.{computed}"
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
    if isinstance(query, str):
        raise InvalidParameter(
            "a question is needed, not text; a SELECT is asked by session.sql(text, ...), and "
            "session.table begins a question that ends with .agg(n=dp.count())."
        )
    if isinstance(query, CubeQuery):
        raise InvalidParameter(
            "a cube or rollup is asked by session.cross_table(query, budget), or its margins one by one by "
            "session.release_all(query.named, budget)."
        )
    if not isinstance(query, Query):
        raise InvalidParameter(
            f"a question is needed, not a {type(query).__name__}; end it with what is wanted: .agg(n=dp.count())."
        )
    return isinstance(query.keys, Discover)


def _paid(budget: Budget) -> Guarantee:
    return budget.budget if isinstance(budget, Price) else budget


def _text(budget: Guarantee) -> str:
    """What was paid, at the digits people read; the ledger has all of them."""
    return repr(budget.shortened(up=True))


def _wanted(accuracy: Within | None, confidence: float | None) -> Wanted:
    """The intervals of an answer: those that were asked for, or of the accuracy that was."""
    if not isinstance(accuracy, Within | None):
        raise InvalidParameter(f"accuracy is {shown(accuracy)}; say dp.within(50, confidence=0.95).")
    usual = Wanted() if accuracy is None else Wanted(accuracy.confidence, accuracy.simultaneous)
    return usual if confidence is None else replace(usual, confidence=_confidence(confidence))


def _makes(model: object) -> bool:
    """Whether this is no model, but makes one from a promise."""
    return isinstance(model, type) or (
        callable(model) and not hasattr(model, "price") and not hasattr(model, "loss")
    )
