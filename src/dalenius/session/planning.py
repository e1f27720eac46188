"""What a session does around a question: it is read, planned, priced and charged here.

The calls that people make stand in `session`; each of them hands its question to these steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import FunctionType
from typing import TYPE_CHECKING, Any

from dalenius.calculus.guarantees import Guarantee, amounts
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.loss import Loss
from dalenius.core import decimals
from dalenius.core.adjacency import Adjacency
from dalenius.core.bisection import last_true
from dalenius.core.checks import confidence as _confidence
from dalenius.core.checks import count, flag, shown
from dalenius.core.habits import hinted
from dalenius.errors import (
    BudgetExceeded,
    CannotMeet,
    InvalidParameter,
    TooLittleNoise,
    TooMuchNoise,
)
from dalenius.session.account import Account, Reply
from dalenius.session.accuracy import Within
from dalenius.session.affordable import given, largest
from dalenius.session.continual import FeedCounter, Periods, counter_for, largest_error
from dalenius.session.explain import Explanation
from dalenius.session.left import Asked, refused
from dalenius.session.price import Price, told_delta
from dalenius.session.record import answers, questions
from dalenius.session.record.estimators import instead_of
from dalenius.session.together import Explanations, JointPlan, Together
from dalenius.tables.ask.cube import CubeQuery
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.discovery import Discovery, discovery
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.keys import Discover
from dalenius.tables.facts.unit import Unit
from dalenius.tables.plan.plan import Plan, plan
from dalenius.tables.release.answer import Answer
from dalenius.tables.release.estimates import Wanted
from dalenius.tables.release.released import Released, release

if TYPE_CHECKING:
    from dalenius.session.estimation import Estimation
    from dalenius.session.evaluating import Evaluating
    from dalenius.session.fit import Fitting
    from dalenius.session.fit_targets import FittingTargets
    from dalenius.session.inference import Inference
    from dalenius.session.synthesis import Synthesis
    from dalenius.session.testing import Testing


Budget = Guarantee | Price
"""What a release is paid with."""

BUDGET = "budget=dp.ZCDP(0.01), of the kind of the session's budget"
"""How a promise is said to a question."""


class Planning:
    """A session's questions before they are asked: what each is given, how it is planned, and what it costs."""

    if TYPE_CHECKING:
        source: Source
        unit: Unit
        adjacency: Adjacency
        account: Account
        per_question: Guarantee | None
        _last: Asked | None
        price: Callable[..., Price]
        explain: Callable[..., Explanation | Explanations]

        @property
        def table(self) -> Table: ...
        @property
        def remaining(self) -> Guarantee: ...

    def _read_sql(
        self, text: str, public: Mapping[str, Any] | None = None, keys: Any = None
    ) -> Query | CubeQuery:
        """The question of a SELECT; nothing is asked."""
        from dalenius.tables.sql import parse_question

        return parse_question(text, self.table, **self._beside(public, keys))

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

    def _paid_for_accuracy_of(
        self,
        model: Any,
        features: Any,
        target: Any,
        budget: Budget | None,
        accuracy: Within,
        bins: int,
        table: Table | None,
    ) -> Guarantee:
        """The cheapest budget for which an evaluation tells the share predicted rightly well enough."""
        if budget is not None:
            raise InvalidParameter("give one of budget and accuracy: an accuracy has its own price.")
        (column, error), *others = accuracy.each
        if others or column not in (None, "accuracy"):
            raise InvalidParameter(
                "the accuracy of an evaluation is about the share of rows that is predicted rightly: "
                "dp.within(0.01, rows=5000)."
            )
        if accuracy.rows is None:
            raise InvalidParameter(
                "the error of the share predicted rightly depends on how many rows are evaluated; say so: "
                f"dp.within({error:g}, rows=5000)."
            )
        pays = self.account.filter
        asked = self._evaluating(model, features, target, pays.promise, bins, table)

        def is_rough(amount: float) -> bool:
            try:
                return replace(asked, price=pays.price(pays.budget(amount))).error(accuracy) > error
            except TooMuchNoise:
                return True
            except (TooLittleNoise, CannotMeet):
                raise CannotMeet(
                    f"no budget tells the share predicted rightly to {error:g} of {accuracy.rows:g} rows; ask for a "
                    "larger error, or say more rows."
                ) from None

        return pays.in_own_kind(pays.budget(_least(is_rough, 1e-6)))

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

    def _of_each(self, budget: Budget | None, parts: int | None) -> Guarantee | None:
        """What a question is given that does not say; None where nothing was settled."""
        if budget is not None and parts is not None:
            raise InvalidParameter("give one of per_question and split_evenly_over.")
        if parts is None:
            if budget is not None:
                self.account.filter.price(guarantee_of(budget))  # a kind that cannot pay here is refused now
            return None if budget is None else guarantee_of(budget)
        parts = count("split_evenly_over", parts, 1)
        whole = self._at_first
        each = self.account.filter.budget_left(whole.share(Fraction(1, parts)))
        # Four digits are enough, rounded down: all parts fit, and every answer says what it cost in few letters.
        each = each if parts == 1 else each.shortened(up=False)
        if not each.size:
            raise InvalidParameter.of(
                "split_evenly_over", f"split_evenly_over is {parts}, and nothing is left for each; use fewer."
            )
        return each

    @property
    def _at_first(self) -> Cost:
        """What this analyst might spend when the account was opened: by it prices are settled, so that the same call is
        the same question after a raise, a renewal or a grant."""
        return self.account.state().first_allowance(self.account.analyst)

    def _paid(
        self,
        budget: Budget | None,
        asked: Query | Together | None = None,
        accuracy: Within | None = None,
    ) -> Guarantee:
        """What a question is given: its budget, what its accuracy costs, or what the session gives each question."""
        if accuracy is not None:
            if budget is not None:
                raise InvalidParameter("give one of budget and accuracy: an accuracy has its own price.")
            assert asked is not None
            question = (asked.cube or asked.queries) if isinstance(asked, Together) else asked
            return self.price(question, accuracy).budget
        if isinstance(budget, Within):
            raise InvalidParameter(
                f"the budget is an accuracy; it is given by its name, accuracy=dp.within({budget.error!r}), where a "
                "call takes one."
            )
        if budget is not None:
            return guarantee_of(budget)
        if self.per_question is None:
            like, shell = (self.account.filter.like_promise(shell=word) for word in (False, True))
            accurate, within = ", or how accurate it is to be, accuracy=dp.within(50)", " --within 50,"
            raise InvalidParameter(
                f"say what the answer may cost, budget={like}{accurate if asked is not None else ''}; or give every "
                f"question the same: dp.Session(..., per_question={like}), or split_evenly_over=20. From a shell: "
                f"--budget {shell},{within if asked is not None else ''} --per-question or --split-evenly-over."
            )
        return self.per_question

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
            told = self._explained(asked, self.remaining)
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
        if not makes_a_model(model):
            if budget is not None:
                raise InvalidParameter(
                    f"{type(model).__name__} has its own promise, which is its price; leave budget out, or give the "
                    "class, and it gets the promise that the budget pays for."
                )
            return model
        if isinstance(model, FunctionType) and (model.__module__ or "").startswith("dalenius.infer."):
            raise InvalidParameter(
                f"{model.__name__} is for numbers that you hold; "
                f"{instead_of(model.__name__, self.account.filter.like_promise())}."
            )
        if budget is None and self.per_question is None:
            name, like = (
                getattr(model, "__name__", type(model).__name__),
                self.account.filter.like_promise(0.1),
            )
            raise InvalidParameter(
                f"{name} has no promise yet, and nothing says what it may cost: give it one, as in "
                f"{name}(guarantee={like}), say budget={like}, or open the session with per_question=..."
            )
        paid = self._paid(budget)
        pays, room, limit = self.account.filter, self._cost_of_budget(paid), self._at_first
        # Who only reads has nothing: a promise that no share moves is found all the same.
        part = min(Fraction(1), room.amount / limit.amount) if limit.amount else Fraction(1)
        room = replace(room, delta=limit.delta / 200, shift=amounts.rounded_down(limit.shift * part))

        def cost_of(promise: Guarantee) -> Cost:
            # Not of what is left or open: the same call finds the same promise tomorrow, and its fit on record.
            return pays.charge_for_fit(loss_of(promise), limit, limit)

        try:
            return model(given(cost_of, pays, paid, room))
        except InvalidParameter:
            if limit.amount:
                raise
            name = getattr(model, "__name__", "model")
            raise InvalidParameter(
                f"{self.account.analyst!r} has no share of this budget, and what {name} may promise depends on the "
                f"share that pays. To read a fit that others paid for, give it their promise: {name}(guarantee=...)."
            ) from None

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
        if discovers_keys(asked):
            return self._discovery(asked, budget)
        return self._plan(asked, self.account.filter.price(budget))

    def _together(self, asked: Together, budget: Guarantee) -> JointPlan:
        """Several questions for a budget, of which each gets an even part."""
        many = len(asked.queries)
        part = self.account.filter.price(budget).divided(many)
        return asked.planned(lambda query: self._plan(query, part, many))

    def _explained(self, asked: Query | Together, budget: Guarantee) -> Explanation | Explanations:
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
        if discovers_keys(query):
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

    def _named(self, table: Table | str | None) -> Table | None:
        """The table that is meant, where its name may be given."""
        return self.table[table] if isinstance(table, str) else table

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
        return Answer(
            replace(made, query=asked), released, amount_text(budget), wanted, reply.is_free, reply.time
        )

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

    @hinted(BUDGET, name="Session.price")
    def _cheapest(
        self,
        query: Any,
        accuracy: Within | None = None,
        *,
        continual: bool = False,
        features: Any = None,
        target: Any = None,
        table: Table | str | None = None,
        public: Mapping[str, Any] | None = None,
        keys: Any = None,
        delta: float | None = None,
    ) -> Price:
        """`price` of a question by its accuracy, and of what has its own promise."""
        at, left = told_delta(self.account.filter, delta), self.account.left()
        table = self._named(table)
        if features is not None:
            if accuracy is not None or flag("continual", continual):
                raise InvalidParameter(
                    "a regression or a test has its own promise, which is its price; leave accuracy and continual out."
                )
            if makes_a_model(query):
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

        pays = self.account.filter
        least = pays.budget(_least(is_rough, 1e-9 if isinstance(asked, Query) else 1e-4))
        budget = pays.in_own_kind(least)
        cost = self._cost(self._planned(asked, budget).loss, budget)
        if not cost.fits(left) and not self._is_on_record(asked, budget):
            # It may be only the rounding that is too much.
            exactly = self._cost(self._planned(asked, least).loss, least)
            if exactly.fits(left):
                budget, cost = least, exactly
        assumes = "" if isinstance(asked, Periods) else self._explained(asked, budget).assumed(accuracy)
        return Price.of(budget, cost, left, at, assumes)


def _least(is_rough: Callable[[float], bool], relative: float) -> float:
    """The least amount of a budget with which an answer is no longer too rough."""
    low, high = 1e-12, 1e-12
    while is_rough(high):
        low, high = high, high * 4
    return last_true(is_rough, low, high, relative=relative)[1]


def discovers_keys(query: object) -> bool:
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


def guarantee_of(budget: Budget) -> Guarantee:
    return budget.budget if isinstance(budget, Price) else budget


def amount_text(budget: Guarantee) -> str:
    """What was paid, at the digits people read; the ledger has all of them."""
    return repr(budget.shortened(up=True))


def wanted_intervals(accuracy: Within | None, confidence: float | None) -> Wanted:
    """The intervals of an answer: those that were asked for, or of the accuracy that was."""
    if not isinstance(accuracy, Within | None):
        raise InvalidParameter(f"accuracy is {shown(accuracy)}; say dp.within(50, confidence=0.95).")
    usual = Wanted() if accuracy is None else Wanted(accuracy.confidence, accuracy.simultaneous)
    return usual if confidence is None else replace(usual, confidence=_confidence(confidence))


def makes_a_model(model: object) -> bool:
    """Whether this is no model, but makes one from a promise."""
    return isinstance(model, type) or (
        callable(model) and not hasattr(model, "price") and not hasattr(model, "loss")
    )
