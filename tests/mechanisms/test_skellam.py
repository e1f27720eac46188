from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ive

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Skellam
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits, follows
from tests.mechanisms.quadrature import enumerated


def case(sensitivity: float, variance: float, **more: Any) -> Case:
    return Case(
        f"sensitivity {sensitivity:.4g}, variance {variance}",
        lambda change: Skellam(sensitivity=sensitivity, variance=variance * change**2, **more),
        sensitivity=sensitivity,
        variance=variance,
    )


def law(variance: float, centre: int, k: np.ndarray) -> np.ndarray:
    return ive(np.abs(k - centre), variance)


def distribution(variance: float, x: np.ndarray) -> np.ndarray:
    reach = math.ceil(40 + 12 * math.sqrt(variance))
    total = np.concatenate(([0.0], np.cumsum(law(variance, 0, np.arange(-reach, reach + 1)))))
    return total[np.clip(np.floor(x).astype(int) + reach + 1, 0, len(total) - 1)]


class TestSkellam(MechanismContract):
    cases = (
        case(1, 9.0),
        case(1, 0.6),
        case(4, 80.0, coordinates=1),
        case(1, 900.0, adjacency=dp.REPLACE_ONE),
    )
    inputs = (41, [1, 2, 3], np.arange(6).reshape(2, 3))
    scalar = int
    dtype = np.int64
    grain = 1.0
    tight = 1e-7
    promises = (dp.ApproxDP(0.5, 1e-6), dp.ApproxDP(3.0, 1e-9))
    bad_parameters = (
        *({"sensitivity": x} for x in (*NUMBERS_OUT_OF_RANGE, 0.5)),
        *({"variance": x} for x in (*NUMBERS_OUT_OF_RANGE, 2.0**31)),
        *({"coordinates": x} for x in (0, -1, 1.5, "2")),
    )
    bad_values = (*MechanismContract.bad_values, 41.0, [1.0, 2.0])
    revealing = ([12345.678, 1.0], [12345, None])

    def calibrated(self, promise: Any) -> Any:
        return Skellam.calibrated(promise, sensitivity=1)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, variance=mechanism.variance * factor**2)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return Skellam.for_accuracy(
            within, confidence, sensitivity=case.sensitivity, size=size, coordinates=1
        )

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        return distribution(case.variance, x)

    def profile(self, case: Case, epsilon: float) -> float:
        reach = math.ceil(60 + 30 * math.sqrt(case.variance))
        k = np.arange(-reach, reach + 1)
        shift = int(case.sensitivity)
        return enumerated(law(case.variance, shift, k), law(case.variance, 0, k), epsilon)


@pytest.mark.parametrize(("variance", "most"), [(3.0, 1.8), (30.0, 1.15)])
def test_vectors_against_the_exact_law(variance: float, most: float) -> None:
    """Two places move by one: the law of the loss is that of a sum of two."""
    m = Skellam(sensitivity=math.sqrt(2), variance=variance)
    reach = math.ceil(40 + 12 * math.sqrt(variance))
    k = np.arange(-reach, reach + 1)
    p, q = law(variance, 0, k), law(variance, -1, k)
    loss = (np.log(p) - np.log(q))[:, None] + (np.log(p) - np.log(q))[None, :]
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = (np.outer(p, p) * np.maximum(0, -np.expm1(np.minimum(epsilon - loss, 0)))).sum()
        assert m.loss.delta(epsilon) >= truth
    # No better than the Gaussian of this variance, and not much worse.
    gaussian = dp.losses.gaussian(math.sqrt(variance), math.sqrt(2))
    assert gaussian.epsilon(1e-6) < m.loss.epsilon(1e-6) < most * gaussian.epsilon(1e-6)


def test_one_place_is_cheaper_than_many_and_large_moves_are_bounded() -> None:
    one, many = Skellam(sensitivity=3, variance=50.0, coordinates=1), Skellam(sensitivity=3, variance=50.0)
    assert one.loss.epsilon(1e-6) < many.loss.epsilon(1e-6)
    far = Skellam(sensitivity=20_000, variance=2.0**29, coordinates=1)
    assert 0 < far.loss.epsilon(1e-6) < math.inf
    assert Skellam(sensitivity=1, variance=1e-5).loss.delta(1.0) > 0.9
    assert Skellam(sensitivity=2.5, variance=9.0, coordinates=1).loss == dp.losses.skellam(9.0, 2)


@pytest.mark.parametrize("variance", [1e-4, 2e6])
def test_accuracy_without_the_law(variance: float) -> None:
    m = Skellam(sensitivity=1, variance=variance)
    with bits("far", variance):
        errors = np.abs(m.releases(0, 20_000))
    assert (errors > m.accuracy(0.9)).mean() < 0.1
    assert m.accuracy(0.9) <= 2.5 * math.sqrt(variance) + 1


class TestShares:
    @pytest.mark.parametrize("parties", [1, 3, 20])
    def test_the_noise_of_the_total_has_the_law_of_the_mechanism(self, parties: int) -> None:
        m = Skellam(sensitivity=1, variance=5.0)
        values = np.arange(parties) - 1
        with bits("shares", parties):
            shares = [m.share(np.full(20_000, value), parties) for value in values.tolist()]
        noise = m.combine(shares) - values.sum()
        assert follows(noise, lambda x: distribution(5.0, x))
        assert not follows(noise, lambda x: distribution(5.0 * 1.3, x))

    def test_a_part_missing_is_seen_and_accounted_for(self) -> None:
        m = Skellam(sensitivity=1, variance=5.0)
        with bits("missing"):
            noise = m.combine([m.share(np.zeros(20_000, dtype=int), 10) for _ in range(6)])
        assert not follows(noise, lambda x: distribution(5.0, x))
        left = m.after_dropouts(10, 6)
        assert follows(noise, lambda x: distribution(left.variance, x))
        assert left.variance == 3.0
        assert left.loss.epsilon(1e-5) > m.loss.epsilon(1e-5)
        assert m.after_dropouts(3, 1).variance <= 5 / 3

    @pytest.mark.parametrize("modulus", [2**20, 1000, 2**62])
    def test_sums_are_exact_whatever_the_type_and_the_modulus(self, modulus: int) -> None:
        """Noise of next to no variance shows the arithmetic: all but certainly 0."""
        m = Skellam(sensitivity=1, variance=1e-7)
        values = [
            np.array([200, -300]),
            np.array([7, 9], dtype=np.uint64),
            [2**70 * modulus, -(2**70) * modulus - 4],
            np.array([-1, 3], dtype=np.int8),
        ]
        with bits("types"):
            shares = [m.share(value, 4, modulus) for value in values]
        assert all(share.dtype == np.int64 and share.min() >= 0 and share.max() < modulus for share in shares)
        assert m.combine(shares, modulus).tolist() == [206, -292]
        assert m.combine([sum(int(s[0]) for s in shares) % modulus], modulus) == 206
        with bits("one"):
            total = m.combine([m.share(-5, 1, modulus)], modulus)
        assert type(total) is int
        assert total == -5

    def test_refusals(self) -> None:
        m = Skellam(sensitivity=1, variance=4.0)
        for wrong in (
            lambda: m.share(1, 0),
            lambda: m.share(1, 2.5),  # type: ignore[arg-type]
            lambda: m.share(1.0, 2),
            lambda: m.share(1, 2, 1),
            lambda: m.share(1, 2, 2**63),
            lambda: m.combine([]),
            lambda: m.combine([1, [1, 2]]),
            lambda: m.combine([1.5]),
            lambda: m.after_dropouts(3, 4),
            lambda: m.after_dropouts(3, 0),
        ):
            with pytest.raises(InvalidParameter):
                wrong()
