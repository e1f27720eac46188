from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import CanonicalNoise
from dalenius.mechanisms.canonical_noise import _chords, _curve, _Law
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits
from tests.mechanisms.quadrature import enumerated
from tests.mechanisms.test_tulap import tulap_cdf


def gdp(mu: float) -> Any:
    return lambda a: float(ndtr(ndtri(1 - a) - mu)) if 0 < a < 1 else 1.0 - a


def canonical_cdf(x: np.ndarray, f: Any, c: float) -> np.ndarray:
    """The recursion of Awan and Vadhan, number by number."""

    def one(x: float) -> float:
        if x < -0.5:
            return f(1 - one(x + 1))
        if x > 0.5:
            return 1 - f(one(x - 1))
        return c * (0.5 - x) + (1 - c) * (x + 0.5)

    return np.array([one(float(v)) for v in np.ravel(x)])


def case(mu: float, sensitivity: float = 1.0) -> Case:
    return Case(
        f"GDP({mu}), sensitivity {sensitivity}",
        lambda change: CanonicalNoise(sensitivity=sensitivity, guarantee=dp.GDP(mu / change)),
        mu=mu,
        sensitivity=sensitivity,
    )


class TestCanonicalNoise(MechanismContract):
    cases = (case(1.0), case(0.3, 2.0), case(2.5))
    scales_back = False
    tight = 1e-3
    promises = (dp.GDP(0.7), dp.ApproxDP(1.0, 1e-3), dp.PureDP(0.5))
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"guarantee": x} for x in (dp.ZCDP(1.0), dp.RDP(2.0, 1.0), dp.GDP(0.0), dp.PureDP(0.0), None, 1.0)),
        {"coordinates": 0},
    )

    def calibrated(self, promise: Any) -> Any:
        return CanonicalNoise.calibrated(promise, sensitivity=0.7)

    def changed(self, mechanism: Any, factor: float) -> Any:
        weaker = {
            dp.GDP: lambda g: dp.GDP(g.mu / factor),
            dp.PureDP: lambda g: dp.PureDP(g.epsilon / factor),
            dp.ApproxDP: lambda g: dp.ApproxDP(g.epsilon / factor, g.delta),
        }[type(mechanism.guarantee)](mechanism.guarantee)
        return CanonicalNoise(sensitivity=mechanism.sensitivity, guarantee=weaker)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        # The recursion is slow: tabulate it and interpolate (it is piecewise smooth, cells 1/200 wide).
        points = np.linspace(-8 / case.mu - 2, 8 / case.mu + 2, 8001)
        table = canonical_cdf(points, gdp(case.mu), float(ndtr(-case.mu / 2)))
        return np.interp(x / case.sensitivity, points, table)

    def profile(self, case: Case, epsilon: float) -> float:
        """From the recursion on a lattice, one sensitivity apart."""
        edges = np.arange(-200, 201) / 20.0 * max(1.0, 1 / case.mu)
        edges = np.round(edges * 20) / 20
        c = float(ndtr(-case.mu / 2))
        one, two = (np.diff(canonical_cdf(edges - s, gdp(case.mu), c)) for s in (0, 1))
        return enumerated(one, two, epsilon)

    tight = 0.02


class TestTheSameAsTulap:
    @pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.5, 0.02)])
    def test_for_epsilon_and_delta(self, epsilon: float, delta: float) -> None:
        promise: Any = dp.ApproxDP(epsilon, delta) if delta else dp.PureDP(epsilon)
        m = CanonicalNoise(sensitivity=1, guarantee=promise)
        with bits("tulap", epsilon):
            drawn = np.sort(m.releases(0.0, 60_000))
        found = np.arange(1, len(drawn) + 1) / len(drawn)
        assert np.abs(found - tulap_cdf(drawn, epsilon, delta)).max() < math.sqrt(
            math.log(2e10) / (2 * 60_000)
        )
        for confidence in (0.5, 0.95, 0.999):
            x = m.accuracy(confidence)
            inside = tulap_cdf(np.array([x, -x]), epsilon, delta)
            assert inside[0] - inside[1] == pytest.approx(confidence, abs=1e-5)


class TestTheLaw:
    """The piecewise linear curve, its noise, and the exact arithmetic behind the doubles."""

    @pytest.mark.parametrize("promise", [dp.GDP(1.0), dp.GDP(0.2), dp.ApproxDP(1.0, 0.01), dp.PureDP(2.0)])
    def test_curve_is_above_f_and_a_tradeoff(self, promise: Any) -> None:
        f = _curve(promise)
        levels, gain = _chords(f)
        slope = np.diff(gain) / np.diff(levels)
        assert (np.diff(slope) <= 1e-6 * slope[1:]).all()  # concave
        exact = [(Fraction(float(a)), Fraction(float(y))) for a, y in zip(levels, gain, strict=True)]
        (a, y), (c, z) = exact[-2], (exact[-1][0], 1 - exact[-1][0])
        assert (z - y) >= (c - a)  # the mirrored curve is convex at c
        for u in np.concatenate((np.geomspace(1e-16, float(c), 997), levels)):
            chord = 1 - float(np.interp(u, levels, gain))
            assert chord >= f(float(u)) - 2e-16
            assert chord <= f(float(u)) + 2e-4  # and close: little is lost
        if isinstance(promise, dp.GDP):
            assert float(c) == pytest.approx(ndtr(-promise.mu / 2), abs=1e-14)

    def test_every_shift_of_the_law_that_is_drawn(self) -> None:
        """T(N, N + m) >= g >= f on a lattice, for the chords g and every shift of up to one sensitivity."""
        law = _Law(*_chords(gdp(1.0)))
        wide = 8
        edges = np.arange(-12 * wide, 12 * wide + 1) / wide

        def below(x: float) -> float:
            if x < -0.5:
                return self.curve(law, 1 - below(x + 1))
            if x > 0.5:
                return 1 - below(-x)
            return law.c + (1 - 2 * law.c) * (x + 0.5)

        cdf = np.array([below(float(x)) for x in edges])
        p = np.append(np.diff(cdf), np.zeros(wide))
        for shift in range(1, wide + 1):
            for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
                assert enumerated(p, np.roll(p, shift), epsilon) <= dp.losses.gdp(1.0).delta(epsilon) + 1e-12
        full = enumerated(p, np.roll(p, wide), 1.0)
        assert full == pytest.approx(dp.losses.gdp(1.0).delta(1.0), rel=5e-3)

    @staticmethod
    def curve(law: _Law, u: float) -> float:
        """g(u); for u >= c the a <= c with g(a) = u, as g is its own inverse."""
        if u < law.c:
            return 1 - float(np.interp(u, law.levels, law.gain))
        return float(np.interp(1 - u, law.gain, law.levels))

    @pytest.mark.parametrize("promise", [dp.GDP(1.0), dp.GDP(0.05), dp.ApproxDP(0.3, 0.01)])
    def test_doubles_and_exact_arithmetic_agree(self, promise: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every draw settled exactly is the draw the doubles found, where they were sure."""
        law = _Law(*_chords(_curve(promise)))
        wide = 1 << 24
        with bits("exactly", repr(promise)):
            fast = law._sizes(wide, 300)
        with bits("exactly", repr(promise)):
            from dalenius.noise import uniform_integers

            digits = uniform_integers(0, 1 << 62, 300)
        slow = [law._exactly(wide, int(d)) for d in digits]
        assert slow == fast.tolist()

    def test_undecided_draws_are_settled(self) -> None:
        """Digits that point exactly at an edge need more of them, and get them."""
        law = _Law(*_chords(gdp(1.0)))
        at_c = int(Fraction(law.c) * 2 * (1 << 62))
        with bits("edge"):
            found = {law._exactly(1 << 24, at_c + i) for i in (-1, 0)}
        assert all(abs(x - (1 << 23)) < 4 for x in found)


def test_any_symmetric_curve() -> None:
    """A curve given as a function: the mixture of two Gaussian ones is not a named promise."""

    def f(a: float) -> float:
        return max(float(_curve(dp.GDP(1.0))(a)), float(_curve(dp.PureDP(1.2))(a)))

    m = CanonicalNoise(sensitivity=1, guarantee=dp.TradeOff(f))
    with bits("any"):
        assert m.release([1.0, 2.0]).shape == (2,)
    assert m.loss.tradeoff(0.05) <= f(0.05) + 1e-6
    better = CanonicalNoise(sensitivity=1, guarantee=dp.GDP(1.0))
    assert m.accuracy() > better.accuracy() * 0.99


def test_refusals() -> None:
    for slope, rest in ((3, 50), (50, 3)):

        def crooked(a: float, slope: int = slope, rest: int = rest) -> float:
            return max(0.0, 1 - slope * a, (1 - a) / rest)

        with pytest.raises(InvalidParameter, match="its own inverse"):
            CanonicalNoise(sensitivity=1, guarantee=dp.TradeOff(crooked))
    with pytest.raises(InvalidParameter, match="diagonal"):
        CanonicalNoise(sensitivity=1, guarantee=dp.GDP(20.0))
    with pytest.raises(InvalidParameter, match="Renyi"):
        CanonicalNoise(sensitivity=1, guarantee=dp.ZCDP(1.0))


@pytest.mark.parametrize(("within", "confidence", "size"), [(1.0, 0.95, 1), (30.0, 0.99, 4), (0.7, 0.5, 1)])
def test_for_accuracy_goes_back(within: float, confidence: float, size: int) -> None:
    """As much noise as the error allows: a per cent more is too much."""
    found = CanonicalNoise.for_accuracy(within, confidence, sensitivity=2, size=size)
    assert 0.999 * within < found.accuracy(confidence, size) <= within
    mu = found.guarantee.mu  # type: ignore[attr-defined]
    assert CanonicalNoise(sensitivity=2, guarantee=dp.GDP(mu / 1.01)).accuracy(confidence, size) > within


@pytest.mark.parametrize("within", [1e-3, 1e7])
def test_for_accuracy_that_cannot_be_is_refused(within: float) -> None:
    with pytest.raises(InvalidParameter, match=r"Gaussian\.for_accuracy"):
        CanonicalNoise.for_accuracy(within, sensitivity=1)
