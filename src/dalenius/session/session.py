"""A session: a table, a budget that cannot be overspent, and answers."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import total
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import CannotMeet, InvalidParameter, QueryRefused, TooLittleNoise, TooMuchNoise
from dalenius.session.account import Account
from dalenius.session.accuracy import Within
from dalenius.session.budget import filter_of
from dalenius.session.cost import Cost, root_at_most
from dalenius.session.explain import Explanation
from dalenius.session.ledger import Ledger
from dalenius.session.opening import SessionAccount, Terms, dataset_name
from dalenius.session.record.answers import (
    discovery_answer,
    plan_answer,
    read_about,
    read_discovered,
    read_plan,
    read_release,
    release_answer,
)
from dalenius.session.record.questions import plan_question, release_question
from dalenius.tables import exact
from dalenius.tables.answer import Answer
from dalenius.tables.answer import checked_confidence as _confidence
from dalenius.tables.discovery import Discovery, discovery
from dalenius.tables.estimates import Wanted
from dalenius.tables.keys import Discover
from dalenius.tables.nearest import nearest
from dalenius.tables.plan import Plan, plan
from dalenius.tables.problems import Problems
from dalenius.tables.query import Query, Table
from dalenius.tables.released import Released, release
from dalenius.tables.schema import Schema
from dalenius.tables.source import Source
from dalenius.tables.unit import Unit


@dataclass(frozen=True)
class Price:
    """The cheapest budget that is accurate enough, and whether there is that much left."""

    budget: Guarantee
    affordable: bool

    def __str__(self) -> str:
        return f"{self.budget}" + ("" if self.affordable else ", more than is left")


class Session:
    """Questions about one table, answered with noise and paid from one budget.

    data: whatever `tables.Source.open` opens, or what it opened. unit: who is protected. budget: PureDP, ApproxDP,
    ZCDP or GDP: what is promised about everything this session, and every other one on the same ledger and data
    set, ever releases; None for that of an account which is there already. The promise stays valid when each question
    is chosen after the last answer: see `session.budget` for the filter of each kind and its theorem. ledger: a file
    or a postgresql:// address; without one nothing is remembered after the session ends, and the same budget could be
    spent again: for trying out only. The ledger and the account are made by the first question that is charged.

    name: what the ledger calls the data; a file's name without its ending, or that of the table, where it is left
    out. The ledger also remembers where the data is: the same name at another place is refused, and the same place
    under another name. moved: the data of this account is at this place now; the ledger keeps that it was moved.
    reserve: for ApproxDP budgets, how much of epsilon is set aside, when the account is opened, for pure and fitted
    releases; they then cost less and Gaussian noise more (docs/learning.md).

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
        table: str | None = None,
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
        facts = Schema(dict(schema)) if isinstance(schema, Mapping) else schema
        self.source = data if isinstance(data, Source) else Source.open(data, table=table, schema=facts)
        self.unit, self.adjacency = unit, adjacency
        problems = Problems()
        problems.attempt(lambda: self.source.schema.check(self.source.fields))
        problems.attempt(lambda: _known(unit, self.source))
        problems.raise_any()
        self._folder = None
        label = dataset_name(self.source, name, needed=ledger is not None)
        if ledger is None:
            self._folder = _Forgotten()
            ledger = self._folder.path / "forgotten.ledger"
        terms = Terms(
            label,
            budget,
            adjacency,
            unit,
            analyst,
            shares,
            self.source.place,
            moved,
            self.source.former if name is None else frozenset(),
            reserve,
        )
        self.account: Account = SessionAccount(ledger, terms)

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
        """The table, to ask about: filter, with_columns, join_public, group_by, agg."""
        return self.source.table()

    @property
    def remaining(self) -> Guarantee:
        """What may still be spent, rounded down."""
        return self.account.remaining

    @property
    def spent(self) -> Guarantee:
        """What was charged so far, written as a promise; what is promised is the budget. See `Account.spent`."""
        return self.account.spent

    # -- asking ---------------------------------------------------------------------------------------

    def release(self, query: Query, budget: Guarantee, *, confidence: float = 0.95) -> Answer:
        """The private answer, paid with `budget`: charged before any data is read, recorded before it is
        returned.

        The identical question at the identical price is answered from the record, for nothing.
        """
        wanted = Wanted(_confidence(confidence))
        if isinstance(_asked(query).keys, Discover):
            return self._with_discovery(query, budget, wanted)
        made = self._plan(query, budget)
        question = release_question(query, budget, self.unit, self.adjacency)
        cost = self._cost(made.loss, budget)
        reply = self.account.ask(question, cost, lambda: release_answer(query, self._compute(made)))
        query, released = read_release(reply.answer, query)
        return Answer(replace(made, query=query), released, repr(budget), wanted, reply.is_free, reply.time)

    def release_all(self, queries: Mapping[str, Query], budget: Guarantee) -> dict[str, Answer]:
        """Several questions as one plan: one charge for their joint loss, the budget divided evenly."""
        if not queries:
            raise InvalidParameter("release_all needs at least one question.")
        for name in queries:
            if not isinstance(name, str):
                raise InvalidParameter(f"the questions of release_all are named by text, not {name!r}.")
        part = _divided(self._price_kind(budget), len(queries))
        plans = {name: self._plan(query, part, converted=True) for name, query in queries.items()}
        joint = total([p.loss for p in plans.values()])
        question = plan_question(queries, budget, self.unit, self.adjacency)

        def compute() -> str:
            return plan_answer({name: (p.query, self._compute(p)) for name, p in plans.items()})

        reply = self.account.ask(question, self._cost(joint, budget), compute)
        cost = f"{budget!r} for {len(plans)} questions"
        return {
            name: Answer(
                replace(plans[name], query=query), released, cost, free=reply.is_free, given=reply.time
            )
            for name, (query, released) in read_plan(reply.answer, queries).items()
        }

    def sql(
        self,
        text: str,
        budget: Guarantee,
        *,
        public: Mapping[str, Any] | None = None,
        keys: Any = None,
        confidence: float = 0.95,
    ) -> Answer:
        """The answer to a SELECT of aggregates; see docs/tables.md for the subset that is understood.

        public: public tables to join, by name. keys: the groups, where the schema does not list them.
        """
        from dalenius.tables.sql import parse_sql

        query = parse_sql(text, self.table, public=public or {}, keys=keys, unit=self.unit.column)
        return self.release(query, budget, confidence=confidence)

    def fit(self, model: Any, features: Any, target: Any, *, table: Table | None = None) -> Any:
        """A model of `dp.learn` fitted to the table and paid from the budget: a scikit-learn Pipeline.

        features: columns or expressions, as a list where the schema has their bounds, or with them: {"age": (18,
        90)}. target: a column, an expression, or a condition (1 or 0) for a classifier. table: other than all of it,
        `session.table.filter(...)` for instance. The price is the model's own, `model.price()`, for all rows of a unit
        and the session's neighbours, in the session's currency; `loss_` of the model is what was charged. Give
        the model ApproxDP(epsilon, delta) or GDP(mu) in a session with an ApproxDP budget, GDP(mu) with a GDP budget,
        ZCDP(rho) with a ZCDP budget and PureDP(epsilon) with a PureDP one. The identical fit is returned from the
        record, for nothing.

        >>> import dalenius as dp, pandas as pd
        >>> people = pd.DataFrame({"age": range(18, 90), "pay": range(72)})
        >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ApproxDP(2.0, 1e-5))
        >>> m = dp.learn.LogisticRegression(dp.GDP(0.3))
        >>> made = s.fit(m, features={"age": (18, 90)}, target="pay >= 36")
        >>> made.predict([[30], [80]]).shape
        (2,)
        """
        from dalenius.session.fit import Fitting

        fitting = Fitting.of(
            model,
            features,
            target,
            self.table if table is None else table,
            self.unit,
            self.adjacency,
            self.account.filter.kind,
        )
        reply = self.account.ask(
            fitting.question, self._cost_of_fit(fitting.loss), lambda: fitting.compute(self.source)
        )
        return fitting.restored(reply.answer)

    # -- before paying --------------------------------------------------------------------------------

    def explain(self, query: Query, budget: Guarantee | None = None) -> Explanation:
        """What would be released: sensitivities, noise, and the error to expect by group size. It is free.

        budget: all that remains, if not said.
        """
        budget = self.remaining if budget is None else budget
        if isinstance(_asked(query).keys, Discover):
            found = self._discovery(query, budget)
            return Explanation(found.rest, found.threshold)
        return Explanation(self._plan(query, budget))

    def price(self, query: Query, accuracy: Within) -> Price:
        """The cheapest budget, of the session's kind, with which the answer is accurate enough."""
        if not isinstance(accuracy, Within):
            raise InvalidParameter(f"accuracy is {accuracy!r}; say dp.within(100, confidence=0.95).")
        low, high = 1e-12, 1e-12
        while not self._accurate(query, high, accuracy):
            low, high = high, high * 4
        for _ in range(60):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self._accurate(query, middle, accuracy) else (middle, high)
            if high / low < 1 + 1e-9:
                break
        budget = self._budget(high)
        left = self.account.left()
        made = (
            self._discovery(query, budget) if isinstance(query.keys, Discover) else self._plan(query, budget)
        )
        cost = self.account.filter.cost(made.loss)
        return Price(budget, cost.fits(left))

    # -- inside ---------------------------------------------------------------------------------------

    def _accurate(self, query: Query, amount: float, accuracy: Within) -> bool:
        try:
            found = self.explain(query, self._budget(amount))
        except TooMuchNoise:
            return False
        except TooLittleNoise:
            raise CannotMeet(
                f"no budget makes this answer accurate to {accuracy.error:g}: rounding, or the size of "
                "the groups, stands in the way. Ask for a larger error, or for larger groups."
            ) from None
        return found.error(accuracy.confidence, accuracy.column, accuracy.rows) <= accuracy.error

    def _budget(self, amount: float) -> Guarantee:
        promise = self.account.promise
        if isinstance(promise, PureDP):
            return PureDP(amount)
        return ZCDP(amount) if isinstance(promise, ZCDP) else GDP(amount**0.5)

    def _price_kind(self, budget: Guarantee) -> Guarantee:
        """The budget of a release as PureDP, ZCDP or GDP, whichever the session's filter adds up."""
        promise = self.account.promise
        if isinstance(budget, ApproxDP) and budget.delta == 0:
            budget = PureDP(budget.epsilon)
        if isinstance(promise, ApproxDP) and isinstance(budget, ApproxDP):
            # As much as a total of the same numbers would be: so one release may use all of it.
            return GDP(root_at_most(filter_of(budget, self.adjacency).limit.amount))
        kinds = {PureDP: (PureDP,), ZCDP: (ZCDP,), GDP: (GDP,), ApproxDP: (GDP, PureDP)}
        allowed = kinds[type(promise)]
        if not isinstance(budget, allowed):
            names = " or ".join(kind.__name__ for kind in allowed)
            raise InvalidParameter(
                f"this session's budget is {promise!r}, so a release is paid in {names}, not {budget!r}."
            )
        return budget

    def _cost(self, loss: Loss, budget: Guarantee) -> Cost:
        """What is charged: the price as it was declared, rounded as a total would be, or what the loss comes to.

        The second is what must be paid, and it is the smaller one: the noise is made to fit the price.
        """
        price = self._price_kind(budget)
        if isinstance(self.account.promise, ApproxDP) and isinstance(price, PureDP):
            return self.account.filter.cost(loss, room=self.account.left())
        computed = self.account.filter.cost(loss)
        same = filter_of(budget if isinstance(budget, ApproxDP) else price, self.adjacency)
        return replace(computed, amount=max(computed.amount, same.limit.amount))

    def _cost_of_fit(self, loss: Loss) -> Cost:
        """Where a fit has no finite mu, a little of the delta of an approximate budget pays for that."""
        if not isinstance(self.account.promise, ApproxDP) or math.isfinite(loss.gdp()):
            return self.account.filter.cost(loss, room=self.account.left())
        # A thousandth: what is beyond it in the tail hardly matters, and a thousand fits have room.
        little = float(self.account.allowance(self.account.analyst).delta) / 1000
        return self.account.filter.cost(loss, loss.delta_at_infinity() + little, self.account.left())

    def _plan(self, query: Query, budget: Guarantee, converted: bool = False) -> Plan:
        if isinstance(_asked(query).keys, Discover):
            raise InvalidParameter(
                "dp.discover() finds the keys in a release of its own: ask this question by release(query, budget), or "
                "list the keys: group_by(..., keys=[...])."
            )
        exact.check(query, self.unit)
        return plan(query, self.unit, budget if converted else self._price_kind(budget), self.adjacency)

    def _compute(self, made: Plan) -> Released:
        return release(made, exact.evaluate(self.source, made.query, self.unit))

    def _with_discovery(self, query: Query, budget: Guarantee, wanted: Wanted) -> Answer:
        """Keys and answers together: a third of the price finds the keys, the rest answers about them."""
        found = self._discovery(query, budget)

        def compute() -> str:
            keys = found.keys(exact.evaluate(self.source, found.finding, self.unit))
            made = found.restricted(keys)
            return discovery_answer(keys, (made.query, self._compute(made)) if keys else None)

        question = release_question(query, budget, self.unit, self.adjacency)
        reply = self.account.ask(question, self._cost(found.loss, budget), compute)
        keys, told = read_discovered(reply.answer)
        made = found.restricted(keys)
        asked, released = read_about(told, made.query)
        return Answer(replace(made, query=asked), released, repr(budget), wanted, reply.is_free, reply.time)

    def _discovery(self, query: Query, budget: Guarantee) -> Discovery:
        if not isinstance(self.account.promise, ApproxDP):
            raise InvalidParameter(
                f"discovering keys spends some delta, and this session's budget is {self.account.promise!r}. "
                "Use a session with an ApproxDP budget, or list the keys: group_by(..., keys=[...])."
            )
        exact.check(query, self.unit)
        return discovery(query, self.unit, self._price_kind(budget), self._some_delta(), self.adjacency)

    def _some_delta(self) -> float:
        """A twentieth of the delta set aside for such events, each time."""
        left = self.account.allowance(self.account.analyst).delta
        return float(np.nextafter(float(left) / 20, 0))


def _known(unit: Unit, source: Source) -> None:
    names = [f.name for f in source.fields]
    if unit.column is not None and unit.column not in names:
        raise QueryRefused(
            f"there is no column {unit.column!r} to tell units by; {nearest(unit.column, names)}."
        )


class _Forgotten:
    """A folder that goes away with the session; one that a fork took along is left to the parent."""

    def __init__(self) -> None:
        self.path, self._owner = Path(tempfile.mkdtemp(prefix="dalenius-")), os.getpid()
        self._end = weakref.finalize(self, _Forgotten._remove, self.path, self._owner)

    @staticmethod
    def _remove(path: Path, owner: int) -> None:
        if os.getpid() == owner:
            shutil.rmtree(path, ignore_errors=True)


def _asked(query: object) -> Query:
    if not isinstance(query, Query):
        raise InvalidParameter(
            f"a question is needed, not a {type(query).__name__}; end it with what is wanted: .agg(n=dp.count())."
        )
    return query


def _divided(budget: Guarantee, parts: int) -> Guarantee:
    if isinstance(budget, PureDP):
        return PureDP(budget.epsilon / parts)
    if isinstance(budget, ZCDP):
        return ZCDP(budget.rho / parts)
    assert isinstance(budget, GDP)
    return GDP(budget.mu / parts**0.5)
