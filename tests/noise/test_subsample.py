"""Permutations and subsets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.noise import fixed_subsample, permutation, poisson_subsample
from tests.noise.goodness import WrongLaw, check_events
from tests.noise.seeded import ListedSource, seeded, using

N = 20_000


class TestPermutation:
    def test_every_order_is_equally_likely(self) -> None:
        orders = {order: i for i, order in enumerate(itertools.permutations(range(4)))}
        with seeded(1):
            found = [orders[tuple(permutation(4).tolist())] for _ in range(N)]
        check_events(np.bincount(found, minlength=24), [1 / 24] * 24, N)

    def test_equal_keys_are_drawn_anew(self) -> None:
        with using(ListedSource([5, 5, 1, 3, 2, 1])):
            assert permutation(3).tolist() == [2, 1, 0]

    def test_each_place_of_a_long_one(self) -> None:
        with seeded(2):
            order = permutation(100_000)
        assert (np.sort(order) == np.arange(100_000)).all()
        check_events(
            [(order[:50_000] < 50_000 * k / 10).sum() for k in range(1, 11)],
            [k / 20 for k in range(1, 11)],
            50_000,
        )

    def test_edges(self) -> None:
        assert permutation(0).tolist() == []
        assert permutation(1).tolist() == [0]
        assert permutation(3).dtype == np.int64

    @pytest.mark.parametrize("n", [-1, 2.5, "3", float("nan"), True])
    def test_bad_input(self, n: Any) -> None:
        with pytest.raises(InvalidParameter):
            permutation(n)


class TestFixed:
    @pytest.mark.parametrize(("n", "m"), [(5, 2), (5, 3), (6, 1), (6, 5), (4, 4), (4, 0)])
    def test_every_subset_is_equally_likely(self, n: int, m: int) -> None:
        subsets = {subset: i for i, subset in enumerate(itertools.combinations(range(n), m))}
        with seeded(1):
            found = [subsets[tuple(fixed_subsample(n, m).tolist())] for _ in range(N // 2)]
        check_events(np.bincount(found, minlength=len(subsets)), [1 / len(subsets)] * len(subsets), N // 2)

    @pytest.mark.parametrize(("n", "m"), [(100_000, 30_000), (100_000, 80_000), (10**12, 1000)])
    def test_large(self, n: int, m: int) -> None:
        with seeded(2):
            chosen = fixed_subsample(n, m)
        assert len(chosen) == m
        assert (np.diff(chosen) > 0).all()
        assert chosen[0] >= 0
        assert chosen[-1] < n
        # Hypergeometric counts are less spread than binomial ones, so the bound holds here too.
        check_events([(chosen < n * k // 10).sum() for k in range(1, 10)], [k / 10 for k in range(1, 10)], m)

    @pytest.mark.parametrize(("n", "m"), [(3, 4), (-1, 0), (3, -1), (3, 1.5), (2**62, 1)])
    def test_bad_input(self, n: Any, m: Any) -> None:
        with pytest.raises(InvalidParameter):
            fixed_subsample(n, m)


class TestPoisson:
    @pytest.mark.parametrize("rate", [Fraction(1, 100), 0.1, Fraction(1, 3), 0.5, 0.9])
    def test_joint_law_of_three(self, rate: Any) -> None:
        p = float(rate)
        with seeded(1):
            found = [sum(1 << int(i) for i in poisson_subsample(3, rate)) for _ in range(N // 4)]
        law = [p ** k.bit_count() * (1 - p) ** (3 - k.bit_count()) for k in range(8)]
        check_events(np.bincount(found, minlength=8), law, N // 4)

    @pytest.mark.parametrize(
        ("n", "rate"),
        [(10**6, 0.01), (10**6, 1e-4), (10**6, 0.125), (10**6, 0.12), (10**6, 0.4), (10**12, 1e-8)],
    )
    def test_count_places_and_gaps(self, n: int, rate: float) -> None:
        with seeded(2):
            chosen = poisson_subsample(n, rate)
        assert (np.diff(chosen) > 0).all()
        if n <= 10**6:
            check_events([len(chosen)], [rate], n)
            check_events([(chosen < n // 3).sum()], [rate], n // 3)
        m = len(chosen)
        check_events([(chosen < n * k // 8).sum() for k in range(1, 8)], [k / 8 for k in range(1, 8)], m)
        # Gaps below the end of the range are geometric; the last ones are cut off, so leave the end out.
        gaps = np.diff(chosen[: m - m // 4]) - 1
        at = [math.ceil(a / rate) for a in (0.1, 0.5, 1, 2)]
        check_events(
            [(gaps >= k).sum() for k in at], [math.exp(k * math.log1p(-rate)) for k in at], len(gaps), 1e-6
        )

    def test_rejects_a_rate_that_is_off(self) -> None:
        for rate in (0.01, 0.4):
            with seeded(3), pytest.raises(WrongLaw):
                check_events([len(poisson_subsample(10**6, rate * 1.15))], [rate], 10**6)

    @pytest.mark.parametrize("rate", [1e-12, 1e-18, 1e-30, 1e-300, Fraction(1, 10**400)])
    def test_tiny_rates(self, rate: Any) -> None:
        """In a million there is one with probability at most 1e-6."""
        with seeded(4):
            assert len(poisson_subsample(10**6, rate)) == 0

    def test_long_gaps_are_exact(self) -> None:
        """Beyond what doubles resolve: n rate = 20 with gaps near 2^57."""
        n, rate = 2**61, Fraction(20, 2**61)
        counts = []
        for seed in range(40):
            with seeded(seed):
                chosen = poisson_subsample(n, rate)
            assert (np.diff(chosen) > 0).all()
            assert not len(chosen) or chosen[-1] < n
            counts.append(len(chosen))
        # Poisson of mean 800; each tail beyond 200 from it has probability below 1e-9.
        assert abs(sum(counts) - 800) < 200

    def test_the_band_is_settled(self) -> None:
        """Words at which the first gap changes, with a rate for which the band is wide."""
        rate = Fraction(1, 2**40)
        with seeded(5):
            assert len(poisson_subsample(2**44, rate)) > 0

    def test_edges(self) -> None:
        assert poisson_subsample(0, 0.5).tolist() == []
        assert poisson_subsample(5, 0).tolist() == []
        assert poisson_subsample(5, 1).tolist() == [0, 1, 2, 3, 4]
        assert poisson_subsample(100_000, 0.5).dtype == np.int64

    @pytest.mark.parametrize(
        ("n", "rate"), [(-1, 0.5), (3, -0.1), (3, 1.1), (3, float("nan")), (3, "x"), (2**62, 0.1)]
    )
    def test_bad_input(self, n: Any, rate: Any) -> None:
        with pytest.raises(InvalidParameter):
            poisson_subsample(n, rate)
