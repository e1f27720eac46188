"""Promises: each can say whether a loss keeps it, and has a worst loss of its own."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.calculus.guarantees import KINDS as REGISTERED
from dalenius.calculus.guarantees import Measure, from_record
from dalenius.calculus.guarantees.amounts import declared, declared_at_least
from dalenius.calculus.guarantees.zcdp import ZCDPFilter
from dalenius.core.adjacency import adjacency_record, read_adjacency
from tests.calculus.guarantee_contract import FilterContract, GuaranteeContract

G1 = dp.theorems.gaussian_tradeoff(1.0)

KINDS: dict[str, tuple[dp.Guarantee, dp.Loss, dp.Loss]] = {
    # the promise, a loss that keeps it, one that breaks it (a curve is known by chords only)
    "pure": (dp.PureDP(1.0), losses.laplace(1.0), losses.laplace(0.999)),
    "approx": (
        dp.ApproxDP(1.0, 1e-5),
        losses.gaussian(dp.theorems.analytic_gaussian_sigma(1.0, 1e-5)),
        losses.gaussian(dp.theorems.analytic_gaussian_sigma(1.0, 1e-5) * 0.999),
    ),
    "approx without delta": (dp.ApproxDP(1.0, 0.0), losses.pure(1.0), losses.pure(1.001)),
    "zcdp": (dp.ZCDP(0.5), losses.gaussian(1.0), losses.gaussian(0.999)),
    "rdp": (dp.RDP(8.0, 4.0), losses.gaussian(1.0001), losses.gaussian(0.999)),
    "gdp": (dp.GDP(1.0), losses.gaussian(1.0), losses.gaussian(0.999)),
    "tradeoff": (dp.TradeOff(G1), losses.gaussian(1.02), losses.gaussian(0.999)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kept_or_broken(kind: str) -> None:
    promise, kept, broken = KINDS[kind]
    assert promise.holds(kept)
    assert promise.excess(kept) <= 0
    assert not promise.holds(broken)
    assert promise.excess(broken) > 0
    assert not promise.holds(kept + kept)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("tradeoff", "rdp")])
def test_the_worst_loss_keeps_its_own_promise(kind: str) -> None:
    promise = KINDS[kind][0]
    assert promise.excess(promise.loss()) <= 1e-9
    assert promise.loss(dp.REPLACE_ONE).adjacency is dp.REPLACE_ONE
    # And is the worst: nothing that keeps the promise has a larger delta anywhere.
    kept = KINDS[kind][1]
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        assert promise.loss().delta(epsilon) >= kept.delta_bounds(epsilon).lower * (1 - 1e-9)


def test_the_worst_loss_of_one_renyi_order() -> None:
    promise = dp.RDP(8.0, 1.0)
    loss = promise.loss()
    assert loss.renyi(8.0) <= 1.0 + 1e-9
    assert loss.renyi(3.0) <= 1.0 + 1e-9
    assert loss.renyi(9.0) == math.inf
    assert loss.epsilon(1e-5) == pytest.approx(
        dp.theorems.epsilon_at_order(8.0, 1.0, 1e-5, "improved"), rel=1e-6
    )


def test_the_worst_loss_of_a_tradeoff() -> None:
    loss = dp.TradeOff(G1).loss()
    assert loss.tradeoff(0.05) <= G1(0.05) + 1e-9
    assert loss.tradeoff(0.05) == pytest.approx(G1(0.05), abs=1e-3)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "tradeoff"])
def test_promises_are_values(kind: str) -> None:
    promise = KINDS[kind][0]
    again = pickle.loads(pickle.dumps(promise))
    assert again == promise
    assert hash(again) == hash(promise)
    assert type(promise).__name__ in repr(promise)
    name = next(iter(vars(promise)))
    with pytest.raises(AttributeError):
        setattr(promise, name, 2.0)


def test_numbers_are_kept_as_floats() -> None:
    assert dp.ApproxDP(1, 0) == dp.ApproxDP(1.0, 0.0)
    assert isinstance(dp.ZCDP(1).rho, float)


def test_zero_promises_nothing_may_be_learned() -> None:
    for promise in (dp.PureDP(0.0), dp.ZCDP(0.0), dp.GDP(0.0), dp.ApproxDP(0.0, 0.0), dp.RDP(2.0, 0.0)):
        assert promise.holds(dp.Loss.zero())
        assert not promise.holds(losses.pure(1e-6))
    assert dp.PureDP(0.0).loss() == dp.Loss.zero()


@pytest.mark.parametrize(
    ("promise", "loss"),
    [
        (dp.PureDP(5.0), losses.gaussian(10.0)),
        (dp.ZCDP(5.0), losses.approx(0.1, 1e-9)),
        (dp.RDP(2.0, 5.0), losses.approx(0.1, 1e-9)),
        (dp.GDP(5.0), losses.approx(0.1, 1e-9)),
        (dp.ApproxDP(50.0, 1e-10), losses.approx(0.1, 1e-9)),
        (dp.TradeOff(G1), losses.approx(0.1, 1e-3)),
    ],
)
def test_unattainable(promise: dp.Guarantee, loss: dp.Loss) -> None:
    assert not promise.holds(loss)
    assert promise.excess(loss) > 0


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        (dp.PureDP(0.5), dp.ApproxDP(0.5, 1e-5)),
        (dp.PureDP(0.5), dp.ZCDP(0.125)),
        (dp.GDP(1.0), dp.ZCDP(0.5)),
        (dp.GDP(1.0), dp.ApproxDP(4.3771783, 1e-5)),
        (dp.ZCDP(0.5), dp.ApproxDP(4.7283872, 1e-5)),
        (dp.PureDP(1.0), dp.GDP(1.23204)),
    ],
)
def test_one_promise_implies_another(stronger: dp.Guarantee, weaker: dp.Guarantee) -> None:
    assert weaker.holds(stronger.loss())


def test_gdp_of_gaussian_compositions_is_exact() -> None:
    loss = losses.gaussian(3.0) * 9 + losses.gaussian(2.0) * 4
    assert dp.GDP(math.sqrt(2.0) * (1 + 1e-12)).holds(loss)
    assert not dp.GDP(math.sqrt(2.0) * (1 - 1e-9)).holds(loss)


def test_excess_grows_with_the_loss() -> None:
    families: list[Callable[[float], Any]] = [
        losses.gaussian,
        losses.gaussian,
        losses.gaussian,
        losses.laplace,
    ]
    promises = [dp.ApproxDP(1.0, 1e-5), dp.ZCDP(0.3), dp.GDP(0.7), dp.PureDP(1.0)]
    for promise, family in zip(promises, families, strict=True):
        values = [promise.excess(family(s)) for s in (4.0, 2.0, 1.0, 0.5)]
        assert values == sorted(values)


class TestPureDP(FilterContract):
    promise = dp.PureDP(0.7)
    family = staticmethod(losses.laplace)
    record: ClassVar = {"kind": "pure", "epsilon": "0.7"}
    text = "pure:0.7"
    refused = (lambda: dp.PureDP(-1.0), lambda: dp.PureDP(math.inf), lambda: dp.PureDP("1"))  # type: ignore[arg-type]
    wrong_price = dp.ZCDP(0.1)
    price_words = "PureDP"

    def test_no_delta_is_the_same(self) -> None:
        assert self.budget.price(dp.ApproxDP(0.1, 0.0)) == dp.PureDP(0.1)
        assert dp.ApproxDP(0.7, 0.0).filter() == self.budget


class TestApproxDP(FilterContract):
    promise = dp.ApproxDP(0.9, 1e-6)
    family = staticmethod(losses.gaussian)
    record: ClassVar = {"kind": "approx", "epsilon": "0.9", "delta": "1e-06"}
    text = "approx:0.9,1e-06"
    refused = (lambda: dp.ApproxDP(-1.0, 0.1), lambda: dp.ApproxDP(1.0, 1.0), lambda: dp.ApproxDP(1.0, -1e-9))
    wrong_price = dp.ZCDP(0.1)
    price_words = "ApproxDP, GDP or PureDP"

    def test_a_price_is_worth_what_a_total_of_the_same_numbers_is(self) -> None:
        price = self.budget.price(dp.ApproxDP(0.3, 1e-7))
        assert price.tag == "gdp"
        assert price.filter().limit.amount <= dp.ApproxDP(0.3, 1e-7).filter().limit.amount
        assert dp.ApproxDP(0.3, 1e-7 / 2).holds(price.loss())


class TestZCDP(FilterContract):
    promise = dp.ZCDP(0.3)
    family = staticmethod(losses.gaussian)
    record: ClassVar = {"kind": "zcdp", "rho": "0.3"}
    text = "zcdp:0.3"
    refused = (lambda: dp.ZCDP(-1e-9), lambda: dp.ZCDP(math.nan), lambda: dp.ZCDP(True))
    wrong_price = dp.GDP(0.1)
    price_words = "ZCDP"


class TestGDP(FilterContract):
    promise = dp.GDP(0.6)
    family = staticmethod(losses.gaussian)
    record: ClassVar = {"kind": "gdp", "mu": "0.6"}
    text = "gdp:0.6"
    refused = (lambda: dp.GDP(-1.0), lambda: dp.GDP(10**400), lambda: dp.GDP(None))  # type: ignore[arg-type]
    wrong_price = dp.PureDP(0.1)
    price_words = "GDP"


class TestRDP(GuaranteeContract):
    promise = dp.RDP(8.0, 2.5)
    family = staticmethod(losses.gaussian)
    record: ClassVar = {"kind": "rdp", "order": "8.0", "epsilon": "2.5"}
    text = "rdp:8.0,2.5"
    refused = (lambda: dp.RDP(1.0, 1.0), lambda: dp.RDP(math.inf, 1.0), lambda: dp.RDP(2.0, -1.0))


def curve(level: float) -> float:
    """A function that pickles."""
    return float(G1(level))


class TestTradeOff(GuaranteeContract):
    promise = dp.TradeOff(curve)
    family = staticmethod(losses.gaussian)
    record = None
    text = None
    refused = (lambda: dp.TradeOff(1.0), lambda: dp.TradeOff(lambda a: a))  # type: ignore[arg-type]
    own_excess = 1.0  # a log ratio in the tail: f and its worst loss are known by chords, on either side

    def test_calibrated_noise_keeps_it_and_a_hundredth_less_does_not(self) -> None:
        assert self.promise.holds(losses.gaussian(1.02))
        assert not self.promise.holds(losses.gaussian(0.99))


class TestAttackAdvantage(GuaranteeContract):
    promise = dp.AttackRisk(advantage=0.3)
    family = staticmethod(losses.gaussian)
    record: ClassVar = {"kind": "advantage", "advantage": "0.3"}
    text = "advantage:0.3"
    refused = (
        lambda: dp.AttackRisk(advantage=1.0),
        lambda: dp.AttackRisk(advantage=-0.1),
        lambda: dp.AttackRisk(0.3),
        lambda: dp.AttackRisk(),
        lambda: dp.AttackRisk(advantage=0.1, auc=0.6),
    )


class TestAttackPower(GuaranteeContract):
    promise = dp.AttackRisk(tpr=0.07, fpr=0.01)
    family = staticmethod(losses.gaussian)
    record: ClassVar = {"kind": "tpr", "tpr": "0.07", "fpr": "0.01"}
    text = "tpr:0.07,0.01"
    refused = (
        lambda: dp.AttackRisk(tpr=0.1, fpr=0.2),
        lambda: dp.AttackRisk(tpr=0.1),
        lambda: dp.AttackRisk(tpr=1.0, fpr=0.1),
        lambda: dp.AttackRisk(tpr=0.1, fpr=0.0),
    )
    own_excess = 0.07  # one point leaves room for the rest of the curve, and the worst loss takes all of it


class TestAttackAUC(GuaranteeContract):
    promise = dp.AttackRisk(auc=0.6)
    family = staticmethod(losses.gaussian)
    record: ClassVar = {"kind": "auc", "auc": "0.6"}
    text = "auc:0.6"
    refused = (
        lambda: dp.AttackRisk(auc=0.4999),
        lambda: dp.AttackRisk(auc=1.0),
        lambda: dp.AttackRisk(auc="1"),
    )
    own_excess = 0.081


class TestAttackPosterior(GuaranteeContract):
    promise = dp.AttackRisk(posterior=0.7, prior=0.5, delta=1e-6)
    family = staticmethod(losses.gaussian)
    record: ClassVar = {"kind": "posterior", "posterior": "0.7", "prior": "0.5", "delta": "1e-06"}
    text = "posterior:0.7,0.5,1e-06"
    refused = (
        lambda: dp.AttackRisk(posterior=0.4, prior=0.5),
        lambda: dp.AttackRisk(posterior=0.7),
        lambda: dp.AttackRisk(posterior=1.0, prior=0.5),
        lambda: dp.AttackRisk(posterior=0.7, prior=0.5, delta=1.0),
    )
    own_excess = 1e-8  # log(delta): an ulp of epsilon is 1e-16 of probability, beside 1e-6


def test_every_kind_has_its_contract() -> None:
    tested = {
        t.promise.tag
        for k, t in globals().items()
        if k.startswith("Test") and issubclass(t, GuaranteeContract)
    }
    assert tested == set(REGISTERED)


@pytest.mark.parametrize(
    ("planted", "noticed_by"),
    [
        (
            (ZCDPFilter, "limit", property(lambda b: b._limit(2 * declared(b.promise.rho)))),
            "spent_and_left_are_within",
        ),
        (
            (ZCDPFilter, "left", lambda b, cost: dp.ZCDP(declared_at_least(cost.amount))),
            "costs_are_rounded_up_and",
        ),
        ((ZCDPFilter, "price", lambda b, budget: budget), "a_wrong_price_is_refused"),
        ((ZCDPFilter, "charge", lambda b, loss, budget, room: b.nothing), "the_whole_total_may_be_spent"),
        ((dp.ZCDP, "divided", lambda z, parts: dp.ZCDP(z.rho / parts**0.5)), "parts_together_keep"),
        (
            (dp.ZCDP, "measure", lambda z, loss: Measure("rho", 0.99 * loss.zcdp(), z.rho)),
            "its_own_loss_is_at",
        ),
        ((dp.ZCDP, "record", lambda z: {"kind": "zcdp", "rho": f"{z.rho:.3f}"}), "record"),
        ((dp.ZCDP, "text", property(lambda z: f"zcdp:{z.rho:.0e}")), "text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_contract_notices_mistakes(
    planted: tuple[type, str, Any], noticed_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = TestZCDP()
    (check,) = (getattr(contract, name) for name in dir(contract) if name.startswith(f"test_{noticed_by}"))
    check()
    monkeypatch.setattr(*planted)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check()


def test_an_unknown_kind_is_an_error() -> None:
    for content in ({"kind": "renyi", "rho": "1.0"}, {"kind": None}, {"kind": []}, "zcdp", None):
        with pytest.raises(dp.errors.LedgerError, match="no kind of guarantee"):
            from_record(content)


def test_neighbours_are_recorded_by_words_that_stay() -> None:
    for relation, word in ((dp.ADD_REMOVE, "add_remove"), (dp.REPLACE_ONE, "replace_one")):
        assert adjacency_record(relation) == word
        assert read_adjacency(word) is relation
    for other in ("ADD_REMOVE", {}, None, 5):
        with pytest.raises(dp.errors.LedgerError, match="neighbouring relation"):
            read_adjacency(other)


@pytest.mark.parametrize("number", [Fraction(1, 4), Decimal("0.25"), np.float32(0.25), 0.25], ids=repr)
def test_any_number_is_a_number(number: Any) -> None:
    assert dp.ZCDP(number) == dp.ZCDP(0.25)
    assert dp.ApproxDP(number, number) == dp.ApproxDP(0.25, 0.25)


HUGE = [10**400, 10**5000, -(10**400), Fraction(10**400), Decimal("1e400"), Decimal("sNaN")]


@pytest.mark.parametrize("number", HUGE, ids=range(len(HUGE)))
def test_what_is_too_large_is_refused_in_a_line(number: Any) -> None:
    with pytest.raises(dp.errors.InvalidParameter, match="rho is") as caught:
        dp.ZCDP(number)
    assert len(str(caught.value)) < 200
    with pytest.raises(dp.errors.InvalidParameter, match="repetitions"):
        losses.gaussian(1.0) * number


def test_what_is_spent_or_left_is_printed_at_four_digits_and_is_exact() -> None:
    exact = dp.ApproxDP(2.9171622818153957, 1.23456e-5)
    left, spent = exact.read(up=False), exact.read(up=True)
    assert str(left) == f"{left}" == "ApproxDP(epsilon=2.917, delta=1.234e-05)"
    assert str(spent) == "ApproxDP(epsilon=2.918, delta=1.235e-05)"
    assert str(exact) == repr(left) == repr(exact)  # a promise that nobody said it of is printed as it is
    assert left == spent == exact
    assert len({left, spent, exact}) == 1
    assert left.record() == exact.record()
    assert left.text == exact.text
    assert str(replace(left, delta=1e-6)) == "ApproxDP(epsilon=2.9171622818153957, delta=1e-06)"
    assert str(pickle.loads(pickle.dumps(left))) == str(left)
