"""What every kind of guarantee must do, and what the filter of one that has a currency must: inherit and list cases."""

from __future__ import annotations

import json
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

import dalenius as dp
from dalenius.calculus.guarantees import KINDS, Filter, filter_of, from_record
from dalenius.calculus.guarantees.amounts import GRAINS
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.loss import Loss
from dalenius.cli.promises import read_promise
from dalenius.errors import BudgetExceeded, InvalidParameter, LedgerError
from dalenius.session.ledger import Ledger
from dalenius.tables.plan.noises import price_of

GRAIN = Fraction(1, GRAINS)
SCALES = (8.0, 4.0, 2.0, 1.0, 0.5)


class GuaranteeContract:
    """Every kind. What a kind does not have is None or False here, and then its refusal is checked."""

    promise: ClassVar[dp.Guarantee]
    family: ClassVar[Callable[[float], Loss]]
    """Noise of a scale: the larger the scale, the smaller the loss."""
    record: ClassVar[dict[str, str] | None]
    """The golden record: it must read for ever."""
    text: ClassVar[str | None]
    refused: ClassVar[tuple[Callable[[], dp.Guarantee], ...]]
    """What is no guarantee of this kind."""
    own_excess: ClassVar[float] = 1e-9
    """By how much the worst loss may be seen above the promise, numerically."""
    has_filter: ClassVar[bool] = False

    def test_it_is_registered_under_its_tag(self) -> None:
        assert KINDS[self.promise.tag] is type(self.promise)

    def test_it_is_a_value(self) -> None:
        again = pickle.loads(pickle.dumps(self.promise))
        assert again == self.promise
        assert hash(again) == hash(self.promise)
        with pytest.raises(FrozenInstanceError):
            self.promise.x = 1  # type: ignore[attr-defined]

    def test_what_it_is_not(self) -> None:
        for make in self.refused:
            with pytest.raises(InvalidParameter):
                make()

    # -- what is promised ---------------------------------------------------------------------------

    def test_excess_grows_with_the_loss(self) -> None:
        excess = [self.promise.excess(self.family(scale)) for scale in SCALES]
        assert excess == sorted(excess)
        assert excess[0] < 0 < excess[-1]
        more = [self.promise.excess(self.family(8.0) * n) for n in (1, 4, 16, 64, 256)]
        assert more == sorted(more)

    def test_its_own_loss_is_at_the_promise(self) -> None:
        own = self.promise.loss()
        assert self.promise.excess(own) <= self.own_excess
        assert not self.promise.holds(own + self.family(1.0))
        if self.promise.size is not None:
            more: Any = {str(self.promise.leading): self.promise.size * 1.005}
            assert not self.promise.holds(replace(self.promise, **more).loss())  # type: ignore[type-var]
        assert self.promise.loss(dp.REPLACE_ONE).adjacency is dp.REPLACE_ONE

    def test_the_measure_decides(self) -> None:
        """Kept exactly when the certified bound is at most what was promised; nothing is taken on trust."""
        for scale in SCALES:
            loss = self.family(scale)
            found = self.promise.measure(loss)
            kept = found.upper <= found.promised
            assert kept == self.promise.holds(loss) == (self.promise.excess(loss) <= 0)
            bounds = self.promise.excess_bounds(loss)
            assert bounds.lower <= bounds.upper == self.promise.excess(loss)

    def test_calibrated_noise_keeps_it_and_a_hundredth_less_does_not(self) -> None:
        scale = dp.calibrate(self.family, self.promise)
        assert self.promise.holds(self.family(scale))
        assert not self.promise.holds(self.family(scale * 0.99))
        assert self.promise.tightened().excess(self.family(scale)) <= 1e-12

    # -- how it is written --------------------------------------------------------------------------

    def test_text(self) -> None:
        if self.text is None:
            with pytest.raises(InvalidParameter, match="promise GDP"):
                self.promise.text  # noqa: B018
            return
        assert self.promise.text == self.text
        assert read_promise(self.text) == read_promise(repr(self.promise)) == self.promise

    def test_record(self) -> None:
        if self.record is None:
            with pytest.raises(InvalidParameter, match="promise GDP"):
                self.promise.record()
            with pytest.raises(LedgerError):
                from_record({"kind": self.promise.tag})
            return
        assert self.promise.record() == self.record == json.loads(json.dumps(self.record))
        assert from_record(self.record) == type(self.promise).from_record(self.record) == self.promise

    def test_another_record_is_refused(self) -> None:
        record = {"kind": self.promise.tag} if self.record is None else self.record
        spelled = {**record, **{name: f"{value}0" for name, value in record.items() if name != "kind"}}
        others = [
            {**record, "kind": "other"},
            {**record, "extra": "1"},
            {"kind": record["kind"]},
            {},
            None,
            [record],
        ]
        for other in (*others, *([spelled] if self.record else [])):
            with pytest.raises(LedgerError):
                from_record(other)

    # -- searches -----------------------------------------------------------------------------------

    def test_strict_is_not_above_what_was_written(self) -> None:
        for name, value in self.promise.strict().numbers.items():
            assert Fraction(value) <= Fraction(repr(self.promise.numbers[name])) or name in (
                "order",
                "fpr",
                "prior",
            )

    def test_without_a_filter_the_fix_is_named(self) -> None:
        if self.has_filter:
            assert self.promise.currency is not None
            assert isinstance(filter_of(self.promise), Filter)
            return
        assert self.promise.currency is None
        with pytest.raises(InvalidParameter, match=r"it must be PureDP\(epsilon\), .*GDP\(mu\)\. \w+"):
            filter_of(self.promise)
        with pytest.raises(InvalidParameter, match="is not a price"):
            price_of(self.promise)


class FilterContract(GuaranteeContract):
    """A guarantee that can be a budget."""

    has_filter = True
    wrong_price: ClassVar[dp.Guarantee]
    """What a release under such a budget cannot be paid with."""
    price_words: ClassVar[str]
    """What the refusal of it says a release is paid in."""

    @property
    def budget(self) -> Filter:
        return filter_of(self.promise)

    def release(self, scale: float) -> Cost:
        return self.budget.cost(self.family(scale))

    def test_nothing_costs_nothing(self) -> None:
        budget = self.budget
        assert budget.cost(Loss.zero()) == budget.nothing
        assert all(part == 0 for part in budget.nothing.parts)
        assert budget.nothing.fits(budget.limit)

    def test_costs_add(self) -> None:
        """What is paid for a plan is not more than for its parts, and by a grain not less for equal noise."""
        one, both = self.release(4.0), self.budget.cost(self.family(4.0) + self.family(4.0))
        assert (one + one).amount - both.amount in (0, GRAIN) or both.amount < (one + one).amount
        assert one + self.budget.nothing == one
        assert one + self.release(2.0) == self.release(2.0) + one

    def test_costs_are_rounded_up_and_what_is_left_down(self) -> None:
        budget = self.budget
        third = Cost(budget.kind, Fraction(1, 3))
        assert 0 < third.amount - Fraction(1, 3) < GRAIN
        for share in (Fraction(1, 3), Fraction(2, 7), Fraction(999, 1000)):
            cost = budget.limit.share(share)
            left, spent = budget.left(cost), budget.spent(cost)
            assert left.filter().limit.amount <= cost.amount
            assert spent.size is not None
            assert left.size is not None
            assert left.size <= spent.size

    def test_spent_and_left_are_within_the_limit(self) -> None:
        budget, total = self.budget, self.budget.nothing
        for scale in (64.0, 32.0, 48.0):
            total = total + self.release(scale)
            left = total.below(budget.limit)
            assert total + left == budget.limit
            assert total.fits(budget.limit)
        assert budget.spent(budget.limit) == self.promise
        assert budget.limit.below(budget.limit) == budget.nothing

    def test_the_whole_total_may_be_spent_in_one_release(self) -> None:
        budget = self.budget
        whole = budget.budget_left(budget.limit)
        assert whole == self.promise
        price = budget.price(whole)
        pure = price.as_pure()
        loss = (pure or price).strict().loss()
        cost = budget.charge(loss, whole, budget.limit)
        assert cost.amount == budget.limit.amount
        assert cost.fits(budget.limit)
        more = whole.of_size(whole.size * (1 + 1e-12))  # type: ignore[operator]
        if more.tag == whole.tag and more.numbers.keys() == whole.numbers.keys():
            more = type(whole)(*(more.size, *list(whole.numbers.values())[1:]))  # type: ignore[call-arg]
        assert not budget.charge(loss, more, budget.limit).fits(budget.limit)

    @pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(7, 10), Fraction(1, 10**6)])
    def test_all_that_is_left_may_be_spent(self, share: Fraction) -> None:
        budget = self.budget
        left = budget.limit.share(share)
        price = budget.budget_left(left)
        cost = price.filter().limit
        assert left.amount * (1 - Fraction(1, 10**14)) <= cost.amount <= left.amount
        loss = (price.as_pure() or budget.price(price)).strict().loss()
        assert budget.charge(loss, price, left).amount == left.amount  # not a crumb remains

    def test_a_price_of_nothing_is_refused_by_its_own_name(self) -> None:
        nothing = self.budget.budget_left(self.budget.nothing)
        with pytest.raises(InvalidParameter, match=re.escape(f"release is {nothing!r}; it must be above 0")):
            self.budget.price(nothing)

    def test_of_nothing_nothing_is_left(self) -> None:
        assert self.budget.budget_left(self.budget.nothing).size == 0
        assert self.budget.left(self.budget.nothing).size == 0

    def test_parts_together_keep_the_whole(self) -> None:
        part = self.promise.divided(3)
        assert self.promise.holds(part.strict().loss() * 2)
        total = self.budget.nothing
        price = self.budget.price(self.promise).divided(3)
        for _ in range(3):
            total = total + self.budget.cost(price.loss())
        assert total.amount <= self.budget.limit.amount * (1 + Fraction(1, 10**12))

    def test_a_refusal_leaves_nothing(self, tmp_path: object) -> None:
        ledger = Ledger.open(f"{tmp_path}/a.ledger")
        account = ledger.account("people", self.promise)
        before, entries = account.balance(), ledger.checkpoint()
        with pytest.raises(BudgetExceeded) as caught:
            account.ask("too much?", self.family(0.01), lambda: pytest.fail("the data was read"))
        assert account.balance() == before
        assert ledger.checkpoint() == entries
        assert caught.value.left == self.budget.left(self.budget.limit)
        ledger.close()

    def test_it_is_written_and_read_back(self, tmp_path: object) -> None:
        ledger = Ledger.open(f"{tmp_path}/a.ledger")
        ledger.account("people", self.promise, adjacency=dp.REPLACE_ONE)
        assert ledger.existing("people").filter == filter_of(self.promise, dp.REPLACE_ONE)
        ledger.close()

    def test_a_wrong_price_is_refused_with_what_is_right(self) -> None:
        with pytest.raises(InvalidParameter, match=rf"paid in {self.price_words}, not"):
            self.budget.price(self.wrong_price)
        with pytest.raises(InvalidParameter, match=rf"paid in {self.price_words}, not 5"):
            self.budget.price(5)
        assert self.budget.price(self.promise) is not None

    def test_a_search_walks_up(self) -> None:
        amounts = [1e-6, 1e-3, 0.1]
        sizes = [self.budget.budget(amount).size for amount in amounts]
        assert sizes == sorted(sizes)  # type: ignore[type-var]
        for amount in amounts:
            found = self.budget.budget(amount)
            assert self.budget.price(found) == found
            assert math.isclose(float(found.filter().limit.amount), amount, rel_tol=1e-12)

    def test_a_reserve_is_for_approx_budgets(self) -> None:
        if self.budget.pays_for_rare_events:
            assert filter_of(self.promise, reserve="1/8").limit.shift == Fraction(1, 8)
            return
        with pytest.raises(InvalidParameter, match="only an ApproxDP budget"):
            filter_of(self.promise, reserve=0.125)
        with pytest.raises(InvalidParameter, match="has none"):
            self.budget.cost(self.family(1.0), delta=1e-9)
