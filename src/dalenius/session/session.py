"""A session: a table, a budget that cannot be overspent, and answers."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, overload

from dalenius.adaptive import PrivacyReport
from dalenius.adaptive.personal.release import Release
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.checks import count, flag, shown
from dalenius.core.habits import absent, hinted
from dalenius.core.notebook import printed
from dalenius.errors import (
    InvalidParameter,
    QueryRefused,
)
from dalenius.infer.result import Result
from dalenius.session.account import Account
from dalenius.session.accuracy import Within
from dalenius.session.continual import Feed, Periods
from dalenius.session.entries import digest
from dalenius.session.explain import Explanation
from dalenius.session.ledger import Ledger
from dalenius.session.left import Asked, left_in_words, story
from dalenius.session.opening import SessionAccount, Terms, dataset_name, opened, place_of_all
from dalenius.session.personal import release_of_fit, report
from dalenius.session.planning import (
    BUDGET,
    Budget,
    Planning,
    amount_text,
    discovers_keys,
    guarantee_of,
    makes_a_model,
    wanted_intervals,
)
from dalenius.session.price import Price, told_delta
from dalenius.session.record import answers, questions
from dalenius.session.record.counters import counter_record, read_counter
from dalenius.session.room import check_room
from dalenius.session.together import Explanations, Together
from dalenius.tables.ask.cube import CubeQuery
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.ask.several import Tables
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.facts.problems import Problems
from dalenius.tables.facts.schema import Schema
from dalenius.tables.facts.unit import Unit
from dalenius.tables.release.answer import Answer
from dalenius.tables.release.cross_table import CrossTable

if TYPE_CHECKING:
    from dalenius.infer.estimates.settings.estimate import Estimate
    from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest
    from dalenius.infer.hypotheses.result import TestResult
    from dalenius.infer.regression.settings import Regression
    from dalenius.session.evaluation import Evaluation
    from dalenius.session.synthetic_table import SyntheticTable
    from dalenius.session.truncation import Truncation


MOST_MADE_ROWS = 10**9
"""Synthetic rows are held in memory; more than this is a slip of the pen."""


_AGG = "questions begin with the table: session.release(session.table.agg(n=dp.count()), dp.ZCDP(0.01))"
FORGOTTEN = "Without a ledger this is forgotten when the session ends: for trying out only."
HINTS = {
    **dict.fromkeys(["agg", "count", "filter", "group_by", "mean", "median", "sum"], _AGG),
    **dict.fromkeys(
        ["ask", "execute", "query", "run"], "ask by release(question, budget), or sql(text, budget)"
    ),
    **dict.fromkeys(
        ["budget", "privacy_budget", "remaining_privacy_budget"], "what is left is session.remaining"
    ),
    "close": "a session holds nothing open; an account is closed by its steward: session.account.close_for_ever()",
    **dict.fromkeys(
        ["data", "df", "head", "show", "to_pandas"],
        "rows are not shown; print(session.table) tells the columns and what is public of them",
    ),
    **dict.fromkeys(
        ["columns", "dtypes", "schema"], "print(session.table) tells the columns and what is public of them"
    ),
    **dict.fromkeys(["history", "queries"], "write session.ledger.log()"),
    "left": "what is left is session.remaining, and in words session.left_in_words()",
    "log": "write session.ledger.log()",
    "predict": "fit returns the model, and that predicts",
    "verify": "write session.ledger.verify()",
}
"""What other libraries call what a session can do."""


ASKING = (
    "release",
    "release_all",
    "cross_table",
    "sql",
    "truncation",
    "continual",
    "fit",
    "evaluate",
    "infer",
    "synthesize",
)
"""The ways to ask that are charged."""

P = ParamSpec("P")


class _Stopped(Exception):
    """A call whose price was wanted has come as far as its charge."""

    def __init__(self, asked: Asked) -> None:
        super().__init__()
        self.asked = asked


class Session(Planning):
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
        ledger and data set, ever releases; left out for an account which is there already. The promise stays valid
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
        What a call is given that says neither a budget nor an accuracy: one charge, of one question, of a cross-table
        with all its margins, or of all questions of `release_all` together. It belongs to this session, not to the
        account: every charge in the ledger says its own price.
    split_evenly_over
        The same, said as a number of such calls that the budget (or the share of the analyst) is to suffice for, as the
        account was opened: after a raise or a renewal there is room for more of them, at the same price.

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

    @hinted(
        "budget=dp.ApproxDP(1.0, 1e-6)",
        unit="dp.Unit.rows() where each row is a person, dp.Unit('person_id', max_rows=4) where rows share an id",
    )
    def __init__(
        self,
        data: Any,
        *,
        unit: Unit,
        budget: Guarantee | None = None,
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
        self._is_kept = ledger is not None
        if ledger is None:
            if budget is None:
                raise InvalidParameter(
                    "say what may be spent: budget=dp.ApproxDP(1.0, 1e-6), or a ledger= that has an account of these "
                    "data."
                )
            ledger = _forgotten_with(self) / "forgotten.ledger"
        place, moved = place_of_all(self.source), flag("moved", moved)
        former = self.source.former if name is None and not self.source.together else frozenset[str]()
        terms = Terms(
            label, budget, adjacency, unit, analyst, shares, place, moved, former, reserve, ceiling, renewals
        )
        self.account: Account = SessionAccount(ledger, terms)
        self._fits: dict[str, tuple[Release, ...]] = {}
        self._meanings: dict[str, str] = {}
        self._last: Asked | None = None
        self.per_question = self._of_each(per_question, split_evenly_over)

    if not TYPE_CHECKING:  # with it type checkers would take every name for one that is there

        def __getattr__(self, name: str) -> NoReturn:
            raise absent("a session", name, dir(type(self)), HINTS)

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
            number = len(self.source.fields)
            return f"{number} column{'s' * (number != 1)}"
        each = ", ".join(f"{name}: {len(one.fields)} columns" for name, one in self.source.together.items())
        return f"{len(self.source.together)} tables ({each})"

    def __str__(self) -> str:
        heading = f"Session on {self.account.dataset!r}: {self._held}, {self.unit!r}"
        caveat = [self.unit.caveat] if self.unit.caveat else []
        kept = [] if self._is_kept else [FORGOTTEN]
        return "\n".join([heading, *story(self.account, *self._like()), *kept, *caveat])

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

    @hinted(BUDGET)
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
        wanted = wanted_intervals(accuracy, confidence)
        discovers, paid = discovers_keys(query), self._paid(budget, query, accuracy)

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
        return Answer(
            replace(made, query=answered), released, amount_text(paid), wanted, reply.is_free, reply.time
        )

    @hinted(BUDGET)
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
            What all of them together may cost; as in `release`. Left out: the session's budget per question, once.
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
        wanted, queries = wanted_intervals(accuracy, confidence), asked.queries
        paid = self._paid(budget, asked, accuracy)

        def instead() -> str | None:
            return None if accuracy is None else self._within_reach(asked, accuracy)

        made = self._together(asked, paid)
        check_room(queries.values())
        question = questions.of_plan(queries, paid, self.unit, self.adjacency)

        def compute() -> str:
            return answers.to_plan({name: (p.query, self._compute(p)) for name, p in made.plans.items()})

        reply = self._ask(question, Asked(self._cost(made.loss, paid), paid), compute, instead)
        cost = f"{amount_text(paid)} for {len(queries)} questions"
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

    @hinted(BUDGET)
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

    @hinted(BUDGET)
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

    @hinted(BUDGET)
    def truncation(
        self,
        budget: Budget | None = None,
        *,
        accuracy: Within | None = None,
        table: Table | str | None = None,
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
            Other than all of it: `session.table.filter(...)`, for instance; or the name of one of several.
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

        table = self._named(table)
        asked = self.table if table is None else table
        query, rows, most = truncation.question(asked, up_to)
        answer = self.release(query, budget, accuracy=accuracy, confidence=confidence)
        return truncation.Truncation(answer, self.unit.each, rows, most)

    @hinted(BUDGET)
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

    @hinted(BUDGET)
    def fit(
        self,
        model: Any,
        features: Any,
        target: Any,
        *,
        table: Table | str | None = None,
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
            Other than all of it: `session.table.filter(...)`, for instance; or the name of one of several.
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

        table = self._named(table)

        def loss_of(promise: Guarantee) -> Loss:
            changed = model(promise) if makes_a_model(model) else clone(model).set_params(guarantee=promise)
            return self._fitting(changed, features, target, table).loss

        model = self._promising(model, budget, loss_of)
        fitting = self._fitting(model, features, target, table)
        question, own_promise = fitting.question, getattr(model, "guarantee", None)
        if self.account.recorded(question) is None:
            fitting.tried()
        asked = self._asked_fit(fitting.loss, own_promise)
        reply = self._ask(
            question, asked, lambda: fitting.compute(self.source), self._smaller(own_promise, loss_of)
        )
        fitted = fitting.restored(reply.answer)
        if own := release_of_fit(fitting, fitted, self._meanings, self.account.filter):
            self._fits[digest(question)] = own
        return fitted

    @hinted(BUDGET)
    def evaluate(
        self,
        model: Any,
        features: Any,
        target: Any,
        budget: Budget | None = None,
        *,
        accuracy: Within | None = None,
        bins: int = 20,
        table: Table | str | None = None,
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
        accuracy
            In place of a budget, `dp.within(0.01, rows=5000)`: the share of rows that is predicted rightly is off by
            so much at most, of as many rows as it says.
        bins
            Of the probability: more tell AUC and calibration more finely, and have more noise together. An even number.
        table
            Other than all of it: `session.table.filter(...)`, for instance; or the name of one of several.

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
        wanted, table = wanted_intervals(accuracy, None), self._named(table)
        if accuracy is None:
            paid = self._paid(budget)
        else:
            paid = self._paid_for_accuracy_of(model, features, target, budget, accuracy, bins, table)
        asked = self._evaluating(model, features, target, paid, bins, table)
        cost = Asked(self._cost(asked.loss, paid), paid)
        reply = self._ask(asked.question, cost, lambda: asked.compute(self.source))
        return asked.restored(reply.answer).at(wanted.confidence)

    @overload
    def infer(
        self,
        estimator: Regression | type[Regression],
        features: Any,
        target: Any,
        *,
        table: Table | str | None = None,
        budget: Budget | None = None,
    ) -> Result: ...

    @overload
    def infer(
        self,
        estimator: Estimate | type[Estimate],
        features: Any,
        target: Any = None,
        *,
        table: Table | str | None = None,
        budget: Budget | None = None,
    ) -> Result: ...

    @overload
    def infer(
        self,
        estimator: HypothesisTest | type[HypothesisTest],
        features: Any,
        target: Any = None,
        *,
        table: Table | str | None = None,
        budget: Budget | None = None,
    ) -> TestResult: ...

    @hinted(BUDGET)
    def infer(
        self,
        estimator: Any,
        features: Any,
        target: Any = None,
        *,
        table: Table | str | None = None,
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
            Other than all of it: `session.table.filter(...)`, for instance; or the name of one of several.
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
        table = self._named(table)

        def loss_of(promise: Guarantee) -> Loss:
            changed = (
                estimator(promise) if makes_a_model(estimator) else replace(estimator, guarantee=promise)
            )
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

    @hinted(BUDGET)
    def synthesize(
        self,
        columns: Any,
        budget: Budget | None = None,
        *,
        rows: int | None = None,
        bins: int = 32,
        private_bins: Iterable[str] = (),
        marginals: Any = 2,
        table: Table | str | None = None,
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
            Other than all of it: `session.table.filter(...)`, for instance; or the name of one of several.

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

        budget, table = self._paid(budget), self._named(table)
        asked = self._synthesis(columns, budget, bins, private_bins, marginals, table)
        wanted = None if rows is None else count("rows", rows, 1)
        if wanted is not None and wanted > MOST_MADE_ROWS:
            raise InvalidParameter.of("rows", f"rows is {wanted}; it must be at most {MOST_MADE_ROWS}.")
        cost = Asked(self._cost(asked.loss, budget), budget)
        reply = self._ask(asked.question, cost, lambda: asked.compute(self.source))
        coded, released = asked.restored(reply.answer)
        return SyntheticTable(
            coded, released, asked.loss, wanted, amount_text(budget), reply.is_free, reply.time
        )

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

    @hinted(BUDGET)
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
            What the answer may cost; if it is not said, the session's budget per question, or all that remains.
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
        budget = (self.per_question or self.remaining) if budget is None else guarantee_of(budget)
        if isinstance(query, CubeQuery | Mapping):
            return self._together(Together.of(query), budget).explained
        if discovers_keys(query):
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
        table: Table | str | None = None,
        delta: float | None = None,
    ) -> Price: ...

    @overload
    def price(self, query: Callable[P, object], *given: P.args, **named: P.kwargs) -> Price: ...

    def price(self, query: Any, *given: Any, **named: Any) -> Price:
        """The cheapest budget, of the session's kind, with which the answer is accurate enough. It is free.

        It is found from public facts alone: bounds, unit, groups, and what you say about the size of groups. It has
        four digits, rounded up. Of a model, a regression, an estimate or a test, which has its own promise: what `fit`
        or `infer` would charge for it.

        What any other call would be charged is asked with the call itself, not yet made:
        `price(session.evaluate, model, ["age"], "pay > 5", budget=dp.ZCDP(0.1))`. All that can be charged has a price
        of this kind, and what refuses the call refuses the price; with `accuracy=` in place of the budget, as
        `price(session.evaluate, model, ["age"], "pay > 5", accuracy=dp.within(0.01, rows=5000))`, it is the cheapest
        one. (`synthesize` has none by accuracy: how well counts describe a table depends on the table.)

        Parameters
        ----------
        query
            A question, as for `release`, `release_all`, `cross_table` or `continual`; the text of a SELECT, as for
            `sql`; a model, a regression, an estimate or a test, as for `fit` and `infer`; or one of this session's ways
            to ask, such as `session.synthesize`, followed by all that it would be given.
        *given
            Of a question its accuracy, `dp.within(error, confidence)`. Of a feed, both the count of each period and its
            running total are within the error, or the one that `column` names: "n" or "n_total". Of a way to ask, what
            it would be given.
        **named
            `accuracy` likewise; `continual`, whether the question is to be a feed; `features`, `target` and `table`, as
            for `fit` and `infer`; `public` and `keys`, as for `sql`; and `delta`, at which epsilon is told beside the
            price: that of the session's budget, or 1e-6, if left out. Of a way to ask, what it would be given.

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
        >>> print(s.price(s.synthesize, {"age": (18, 90)}, budget=dp.ZCDP(0.2)))
        ZCDP(rho=0.2), epsilon 3.132 at delta 1e-06; what is left pays for 2
        """
        is_call = getattr(query, "__self__", None) is self
        return (
            self._price_of_asking(query, given, named) if is_call else self._cheapest(query, *given, **named)
        )

    def _price_of_asking(
        self, ask: Callable[..., object], given: Sequence[Any], named: Mapping[str, Any]
    ) -> Price:
        """What a call would be charged: it is made up to the charge, and no further."""

        def stop(question: str, asked: Asked, *_: object) -> NoReturn:
            raise _Stopped(asked)

        asking, name = self._asking(self.account), ask.__name__
        vars(asking)["_ask"] = stop
        try:
            getattr(asking, name)(*given, **named)
        except _Stopped as stopped:
            pays, asked = self.account.filter, stopped.asked
            # A promise of a model's own need not be of a kind that pays here.
            fits = name in ("fit", "infer")
            budget = pays.spent(asked.cost).shortened(up=True) if fits else asked.budget
            return Price.of(budget, asked.cost, self.account.left(), told_delta(pays, None))
        raise InvalidParameter(f"{name} is charged nothing; a price is of what is: {', '.join(ASKING)}.")

    # -- from afar (`session.travel`) -----------------------------------------------------------------

    def _asking(self, account: Any) -> Session:
        """The same session with another account in its place, for one question."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), account=account, _fits={}, _meanings={})
        return made


def _known(unit: Unit, source: Source) -> None:
    names = [f.name for f in source.fields]
    for column in unit.columns:
        if column not in names:
            computed = (
                ""
                if column.isidentifier()
                else " What is computed of others is made where the data is: a view, or a column of the data frame."
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
