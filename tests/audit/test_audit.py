"""What the result says, what it accepts, and what it refuses."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.audit import Attack, Audit, lower_bound
from dalenius.errors import InvalidParameter
from dalenius.noise import bernoulli, discrete_laplace
from tests.noise.seeded import seeded

SURE = 1 - 1e-9


def _plain_id(value: object) -> str:
    """The same in every process: no addresses of functions."""
    return repr(value).split(" at 0x")[0]


def attack(alarms: int, misses: int, trials: int = 1000, failure: float = 0.05) -> Attack:
    return Attack("first", "output >= 0", alarms, misses, trials, failure)


def result(*attacks: Attack, claim: Any = None) -> Audit:
    return Audit("a release", attacks, 2000, 0.0, 0.95, claim)


class TestAttack:
    def test_both_branches_of_theorem_3_4(self) -> None:
        """FPR .05 and power .1359140914 is the cap at epsilon 1; so is the second branch at .3."""
        large = 10**9  # so many trials that the confidence bounds hardly matter
        low = attack(round(0.05 * large), large - round(0.1359140914 * large), large)
        high = attack(round(0.3 * large), large - round(0.7424843912 * large), large)
        for found in (low, high):
            assert 0.998 < found.epsilon() < 1.0
        assert (
            0.998
            < attack(round(0.05 * large), large - round(0.1359240914 * large), large).epsilon(1e-5)
            < 1.0
        )

    def test_errors_are_bounded_from_above(self) -> None:
        found = attack(100, 300)
        assert found.type_one > 0.1
        assert found.type_two > 0.3
        assert attack(100, 300, failure=1e-9).type_one > found.type_one

    def test_exchanging_the_errors_changes_nothing(self) -> None:
        one, other = attack(20, 700), attack(700, 20)
        assert one.epsilon() == other.epsilon()
        assert one.delta(1.0) == other.delta(1.0)
        assert one.gdp() == other.gdp()

    def test_a_useless_attack_shows_nothing(self) -> None:
        found = attack(500, 500)
        assert (found.epsilon(), found.delta(0.0), found.gdp()) == (0.0, 0.0, 0.0)

    def test_delta_and_epsilon_are_inverse(self) -> None:
        found = attack(10, 200)
        assert found.epsilon(found.delta(1.0)) == pytest.approx(1.0, abs=1e-6)

    def test_a_large_epsilon_does_not_overflow(self) -> None:
        assert attack(0, 0).delta(1e6) == 0.0


class TestAudit:
    def test_says_what_its_best_attack_says(self) -> None:
        weak, strong = attack(300, 500), attack(20, 500)
        found = result(weak, strong)
        assert found.epsilon == strong.epsilon()
        assert found.epsilon_at(0.1) == strong.epsilon(0.1) < found.epsilon
        assert found.delta(0.5) == strong.delta(0.5)
        assert found.gdp == strong.gdp()

    def test_tradeoff_is_convex_and_symmetric(self) -> None:
        found = result(attack(300, 500), attack(20, 500), attack(1, 900))
        alpha = np.linspace(0, 1, 201)
        curve = np.array([found.tradeoff(a) for a in alpha])
        assert (np.diff(curve, 2) > -1e-12).all()
        assert curve[0] == 1.0
        assert curve[-1] == pytest.approx(0.0, abs=1e-12)
        assert (curve <= 1 - alpha + 1e-12).all()
        for one, two in found.points:
            assert found.tradeoff(two) == pytest.approx(one, abs=1e-12)

    def test_tradeoff_passes_below_every_attack(self) -> None:
        attacks = [attack(300, 500), attack(20, 500), attack(1, 900)]
        found = result(*attacks)
        for a in attacks:
            assert found.tradeoff(a.type_one) <= a.type_two + 1e-12
            assert found.tradeoff(a.type_two) <= a.type_one + 1e-12

    @pytest.mark.parametrize(
        ("true", "false"),
        [
            (dp.PureDP(4.0), dp.PureDP(2.0)),
            (4.0, 2),
            (dp.ApproxDP(1.0, 0.5), dp.ApproxDP(1.0, 0.1)),
            (dp.GDP(2.5), dp.GDP(1.0)),
            (dp.ZCDP(4.0), dp.ZCDP(0.1)),
            (dp.RDP(2.0, 6.0), dp.RDP(2.0, 0.1)),
            (losses.laplace(0.25), losses.laplace(1.0)),
            (losses.gaussian(0.4), losses.gaussian(2.0)),
            (
                dp.TradeOff(dp.theorems.gaussian_tradeoff(2.5)),
                dp.TradeOff(dp.theorems.gaussian_tradeoff(1.0)),
            ),
        ],
        ids=_plain_id,
    )
    def test_contradicts(self, true: Any, false: Any) -> None:
        found = result(attack(20, 500), attack(300, 100))
        assert not found.contradicts(true)
        assert found.contradicts(false)

    def test_contradicts_the_mechanisms_own_claim(self) -> None:
        assert result(attack(20, 500), claim=losses.pure(1.0)).contradicts()
        assert not result(attack(20, 500), claim=losses.pure(4.0)).contradicts()

    def test_a_function_claims_nothing(self) -> None:
        with pytest.raises(InvalidParameter, match="name the claim"):
            result(attack(20, 500)).contradicts()

    @pytest.mark.parametrize("claim", ["1.0", True, object(), [1.0]])
    def test_refuses_what_is_no_claim(self, claim: Any) -> None:
        with pytest.raises(InvalidParameter, match="claim"):
            result(attack(20, 500)).contradicts(claim)

    def test_repr_and_explain(self) -> None:
        found = result(attack(20, 500), claim=losses.pure(1.0))
        assert (
            repr(found) == "Audit(epsilon >= 2.724 at delta = 0, confidence 0.95, 2000 trials of a release)"
        )
        text = found.explain()
        assert "accuses the first input when output >= 0" in text
        assert "epsilon is at least 2.724" in text
        assert "CONTRADICTED" in text
        assert "at most 0.05" in text
        assert "not contradicted" in result(attack(500, 480), claim=losses.pure(1.0)).explain()
        assert "tells the two inputs apart" in result(attack(500, 500)).explain()

    def test_plot(self, tmp_path: Any) -> None:
        result(attack(20, 500), claim=losses.pure(1.0)).plot(str(tmp_path / "audit.png"))
        assert (tmp_path / "audit.png").stat().st_size > 10_000
        result(attack(20, 500)).plot()
        result(attack(20, 500)).plot(claim=1.0)


class TestOutputs:
    """Whatever comes out, a difference in it is found."""

    @staticmethod
    def found(*outputs: Any, **options: Any) -> Audit:
        """Each input is answered rightly nine times in ten, by the other's output otherwise."""
        with seeded(8):
            return lower_bound(
                lambda x: outputs[1 - x if bernoulli(0.1) else x], (0, 1), 4000, confidence=SURE, **options
            )

    @pytest.mark.parametrize(
        "outputs",
        [
            (1, 2),
            (1.5, None),
            ("yes", "no"),
            (b"yes", b"no"),
            (True, False),
            (1.0, float("nan")),
            (1.0, float("inf")),
            (0.0, -0.0),
            ((1, "a"), (1, "b")),
            ([1, 2], [1, 2, 3]),
            ([], [0]),
            ({"a": 1}, {"a": 1, "b": 0}),
            ({"a": 1.0}, {"a": 1.5}),
            ({1, 2}, {1, 3}),
            (frozenset(), frozenset([1])),
            (np.zeros(3), np.ones(3)),
            (np.zeros(3), np.zeros(4)),
            (np.array("a"), np.array("b")),
            (np.array(1), np.array(2)),
            (np.int64(1), np.float64(2)),
            (1 + 2j, 1 + 3j),
            (Fraction(1, 3), Fraction(2, 3)),
            (10**400, -(10**400)),
            (None, ()),
            ({"a": [1, {"b": None}]}, {"a": [1, {"b": 2}]}),
            (slice(1), slice(2)),
            (np.zeros((30, 30)), np.eye(30)),
        ],
        ids=lambda outputs: repr(outputs)[:50],
    )
    def test_any_output(self, outputs: tuple[Any, Any]) -> None:
        assert 1.4 < self.found(*outputs).epsilon <= np.log(9)

    @pytest.mark.parametrize(
        "output", [None, [], {}, (), set(), np.zeros(0), np.zeros((0, 3)), "", 0], ids=_plain_id
    )
    def test_an_output_that_says_nothing(self, output: Any) -> None:
        assert lower_bound(lambda _: output, (0, 1), 200).epsilon == 0.0

    def test_outputs_first_seen_when_measuring(self) -> None:
        """Numbers while learning, something else afterwards: no error, and no false alarm."""
        calls = iter(range(10**6))

        def turncoat(x: int) -> Any:
            return x * 0 if next(calls) < 1000 else "text"

        assert lower_bound(turncoat, (0, 1), 1000).epsilon == 0.0

    def test_statistics_find_what_is_hidden(self) -> None:
        """The parity of a sum over many columns says all; nothing generic sees it."""
        order = 12

        def parity(x: int, n: int) -> np.ndarray:
            bits = bernoulli(0.5, (n, order)).astype(int)
            bits[:, 0] = (x + bernoulli(0.1, n) + bits[:, 1:].sum(axis=1)) % 2
            # Big random multiples of two, so that no row repeats.
            return bits + 2 * discrete_laplace(2.0**30, (n, order))

        with seeded(9):
            blind = lower_bound(parity, (0, 1), 20_000, confidence=SURE, batched=True)
            told = lower_bound(
                parity,
                (0, 1),
                20_000,
                confidence=SURE,
                batched=True,
                statistics=[lambda row: int(row.sum()) % 2],
            )
        assert blind.epsilon < 0.1
        assert told.epsilon > 1.8
        assert "statistic 0" in told.attacks[0].when

    def test_correlated_columns(self) -> None:
        """A common noise that cancels in a difference of weighted columns: the regression finds it."""

        def together(x: int, n: int) -> np.ndarray:
            common = discrete_laplace(1000.0, n)
            return np.column_stack([common + x + discrete_laplace(0.5, n), 2 * common])

        with seeded(10):
            found = lower_bound(together, (0, 1), 40_000, confidence=SURE, batched=True)
        assert 1.7 < found.epsilon <= 2.0

    def test_a_bit_that_flips_with_the_sign(self) -> None:
        """No column differs alone; two together do."""

        def paired(x: int, n: int) -> np.ndarray:
            one = bernoulli(0.5, n)
            return np.column_stack([one, one ^ bool(x) ^ bernoulli(0.1, n), bernoulli(0.5, n)])

        with seeded(11):
            found = lower_bound(paired, (0, 1), 20_000, confidence=SURE, batched=True)
        assert 1.8 < found.epsilon <= np.log(9)

    def test_both_ways_of_drawing_agree(self) -> None:
        def one(x: int) -> int:
            return x ^ int(bernoulli(0.2))

        def many(x: int, n: int) -> np.ndarray:
            return x ^ bernoulli(0.2, n)

        with seeded(12):
            a = lower_bound(one, (0, 1), 4000)
        with seeded(12):
            b = lower_bound(many, (0, 1), 4000, batched=True)
        assert abs(a.epsilon - b.epsilon) < 0.3


class TestMechanism:
    """One of our own, without its room: the audit asks for nothing but `release`, `loss` and `worst_pair`."""

    class Coin(dp.mechanisms.Mechanism):
        loss = losses.pure(1.0)
        worst_pair = (0, 1)

        def __init__(self, keep: float) -> None:
            self.keep = keep

        def release(self, value: Any) -> Any:
            return value if random.random() < self.keep else 1 - value

        def __repr__(self) -> str:
            return f"Coin({self.keep})"

    def test_uses_its_worst_pair_and_its_loss(self) -> None:
        random.seed(13)
        honest = lower_bound(self.Coin(0.7310), trials=10_000, confidence=SURE)
        assert honest.claim == losses.pure(1.0)
        assert not honest.contradicts()
        assert 0.7 < honest.epsilon <= 1.0
        assert "Coin(0.731)" in repr(honest)
        assert lower_bound(self.Coin(0.9), trials=10_000, confidence=SURE).contradicts()

    def test_another_pair(self) -> None:
        random.seed(14)
        assert lower_bound(self.Coin(0.9), pair=(1, 1), trials=1000, confidence=SURE).epsilon == 0.0


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            ({"trials": 10}, "trials is 10; it must be a whole number, 100 or more"),
            ({"trials": 1000.5}, "trials"),
            ({"delta": 1.0}, "delta"),
            ({"delta": -0.1}, "delta"),
            ({"confidence": 1.0}, "confidence is 1.0; it must be a number above 0 and below 1"),
            ({"confidence": 0.0}, "confidence"),
            ({"confidence": "high"}, "confidence"),
            ({"pair": None}, "name two neighbouring inputs"),
            ({"pair": (1,)}, "two neighbouring inputs"),
            ({"pair": 3}, "two neighbouring inputs"),
            ({"mechanism": 3}, "a mechanism or a function"),
            ({"mechanism": lambda x, n: [x], "batched": True}, "one output per trial"),
        ],
    )
    def test_refused(self, change: dict[str, Any], complaint: str) -> None:
        arguments: dict[str, Any] = {"mechanism": lambda x: x, "pair": (0, 1), "trials": 200} | change
        with pytest.raises(InvalidParameter, match=complaint):
            lower_bound(**arguments)

    def test_an_error_of_the_release_is_passed_on(self) -> None:
        with pytest.raises(ZeroDivisionError):
            lower_bound(lambda x: 1 // x, (0, 1), 200)

    @pytest.mark.parametrize("value", [-1.0, float("nan"), "1"])
    def test_bad_questions(self, value: Any) -> None:
        found = result(attack(20, 500))
        for ask in (found.epsilon_at, found.delta, found.tradeoff):
            with pytest.raises(InvalidParameter):
                ask(value)


class _Opaque:
    """Equal to nothing but itself."""


class TestUnreadableOutputs:
    @pytest.mark.parametrize(
        "release",
        [
            lambda x: iter([x]),
            lambda x: (y for y in [x]),
            lambda x: _Opaque(),
            lambda x: [x, _Opaque()],
            lambda x: {"a": _Opaque()},
            lambda x: {_Opaque()},
        ],
    )
    def test_refused(self, release: Callable[[int], object]) -> None:
        with pytest.raises(InvalidParameter, match=r"cannot read; it must be a number, an array, text, None"):
            lower_bound(release, pair=(0, 1), trials=200)

    def test_own_statistics_may_read_them(self) -> None:
        found = lower_bound(lambda x: iter([x]), pair=(0, 1), trials=2000, statistics=[lambda out: next(out)])
        assert found.epsilon > 3.0

    def test_what_has_equality_is_read(self) -> None:
        for values in ((date(2020, 1, 1), date(2020, 1, 2)), (b"a", None), (Side.LEFT, Side.RIGHT), (1j, 2j)):
            assert lower_bound(lambda x, v=values: v[x], pair=(0, 1), trials=2000).epsilon > 3.0


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"
