"""Samples of Laplace noise: few steps against nested quadrature of the closed form, many against the other engine."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dalenius as dp
from dalenius.calculus.engines.accountant import Sum
from dalenius.calculus.engines.few_continuous import FewContinuous
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.calculus.pairs.pair import Pair
from dalenius.calculus.pairs.sampled_laplace import SampledLaplacePair
from dalenius.calculus.pairs.subset_laplace import SubsetLaplacePair

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def law(pair: Pair, kinks: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Losses and P-masses of one step: atoms, and Gauss-Legendre panels between losses at which something bends."""
    subset = isinstance(pair, SubsetLaplacePair)
    inner = pair.inner if isinstance(pair, SubsetLaplacePair) else pair
    assert isinstance(inner, SampledLaplacePair)
    e, g, sign = inner.base.shift, inner.rate, -1.0 if inner.added else 1.0
    ends = [0.0, e] if subset else [-e, e]
    with np.errstate(invalid="ignore", divide="ignore"):
        bends = np.log1p(np.expm1(np.array(kinks + [-k for k in kinks])) / g)
    edges = np.unique(np.concatenate((ends, [b for b in bends if ends[0] < b < ends[1]])))
    # Panels grow geometrically from each end of each piece.
    grades = np.concatenate(([0.0], 0.5 * 0.25 ** np.arange(6.0, -1.0, -1.0)))
    grades = np.concatenate((grades, 1 - grades[-2::-1]))
    edges = np.unique(np.concatenate([a + (b - a) * grades for a, b in itertools.pairwise(edges)]))
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    z = (centre[:, None] + half[:, None] * NODES).ravel()
    mass = (half[:, None] * WEIGHTS).ravel() * np.exp(-(z + e) / 2) / 4
    z, mass = np.append(z, [-e, e]), np.append(mass, [0.5, 0.5 * math.exp(-e)])
    w = 1 + g * np.expm1(z)
    loss = sign * np.log1p(g * np.expm1(z))
    if not subset:
        return loss, mass if inner.added else mass * w
    up = z > 0
    loss, q, p = loss[up], mass[up], (mass * w)[up]
    tie = (1 - g) * -math.expm1(-e / 2)
    return np.concatenate((loss, -loss, [0.0])), np.concatenate((p, q, [tie]))


def nested(pair: Pair, steps: int, epsilon: float) -> float:
    """delta(epsilon), one step after another; the last one by the amplification theorem."""
    if steps == 1:
        bounds = pair.delta(epsilon)
        assert bounds is not None
        return (bounds.lower + bounds.upper) / 2
    ends = pair.atomic.loss  # type: ignore[union-attr]
    rest = np.unique(np.add.outer(ends, nested_sums(ends, steps - 2)).ravel())
    loss, mass = law(pair, [epsilon - x for x in rest])
    return float(sum(p * nested(pair, steps - 1, epsilon - x) for x, p in zip(loss, mass, strict=True)))


def nested_sums(ends: np.ndarray, count: int) -> np.ndarray:
    return ends * 0 if count == 0 else np.unique(np.add.outer(ends, nested_sums(ends, count - 1)).ravel())


def pairs_of(e: float, rate: float) -> list[Pair]:
    base = LaplacePair(e)
    remove = base.sampled(rate, False)
    return [remove, base.sampled(rate, True), remove.mirrored()]


def closes(pair: Pair, steps: int, epsilon: float, truth: float, within: float = 1e-9) -> bool:
    low, high = Sum(((pair, steps),)).delta(epsilon, "contour")
    return low <= truth * (1 + within) and truth * (1 - within) <= high and high - low <= 3e-6 * low


@pytest.mark.parametrize(("e", "rate"), [(1.0, 0.01), (3.3, 1e-4), (0.02, 0.3), (2.0, 0.9)])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 0.999])
def test_two_steps(e: float, rate: float, share: float) -> None:
    for pair in pairs_of(e, rate):
        epsilon = share * 2 * pair.largest
        assert closes(pair, 2, epsilon, nested(pair, 2, epsilon))


def test_three_steps() -> None:
    for pair in pairs_of(1.0, 0.05)[:2]:
        epsilon = 0.4 * 3 * pair.largest
        loss, mass = law(pair, [epsilon - x for x in nested_sums(pair.atomic.loss, 2)])  # type: ignore[union-attr]
        # Two steps are known from the test above.
        two = Sum(((pair, 2),))
        values = [two.delta(epsilon - x, "contour") for x in loss]
        low, high = (float(mass @ [v[k] for v in values]) for k in (0, 1))
        assert closes(pair, 3, epsilon, (low + high) / 2)


@pytest.mark.parametrize(
    ("scale", "rate", "steps", "delta"),
    [(1.0, 0.2, 300, 1e-6), (0.5, 0.01, 2000, 1e-9), (20.0, 0.5, 5000, 1e-4), (3.0, 0.03, 12, 1e-5)],
)
def test_the_other_engine_agrees(scale: float, rate: float, steps: int, delta: float) -> None:
    for loss in (
        dp.losses.poisson_sampled(dp.losses.laplace(scale), rate),
        dp.losses.cp(dp.losses.laplace(scale, adjacency=dp.REPLACE_ONE), rate),
    ):
        low, high = (loss * steps).epsilon_bounds(delta)
        assert high - low <= 1e-7 * high
        rough_low, rough_high = (loss * steps).delta_bounds(high, engine="grid")
        assert rough_low <= delta * (1 + 1e-6)
        assert rough_high >= delta * (1 - 1e-6)


def test_the_named_point() -> None:
    loss = dp.losses.poisson_sampled(dp.losses.laplace(1.0), 0.01) * 1000
    low, high = loss.epsilon_bounds(1e-30)
    assert 3.47968198 < low <= high < 3.47968199
    assert high - low < 1e-9


@pytest.mark.parametrize(
    ("rate", "scale", "steps", "delta"),
    [
        (8.68e-7, 2.36, 26, 4e-23),
        (0.94, 1.04, 62, 1.3e-28),
        (1.01e-4, 9.99, 12, 1.5e-19),
        (0.0432, 41.5, 11, 9.6e-17),
        (1.31e-7, 1.42, 9_844_216, 4e-23),
        (3.09e-3, 23.5, 14_144, 3.5e-23),
        (1.17e-5, 22.9, 7, 1.9e-9),
    ],
)
def test_points_that_were_wide(rate: float, scale: float, steps: int, delta: float) -> None:
    low, high = (dp.losses.poisson_sampled(dp.losses.laplace(scale), rate) * steps).epsilon_bounds(delta)
    assert high - low <= 1e-6 * max(high, 1e-3)


def test_sums_of_different_samples() -> None:
    def step(scale: float, rate: float) -> dp.Loss:
        return dp.losses.poisson_sampled(dp.losses.laplace(scale), rate)

    loss = step(2.0, 0.05) * 4 + step(0.7, 0.01) * 3 + step(10.0, 0.3) * 2
    low, high = loss.epsilon_bounds(1e-6)
    assert high - low <= 1e-7 * high
    assert loss.delta_bounds(low, engine="grid")[1] >= 1e-6 * (1 - 1e-6)
    assert loss.delta_bounds(high, engine="grid")[0] <= 1e-6 * (1 + 1e-6)


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(
    ("e", "rate", "c", "times"), [(1.0, 0.01, 50.0, 1000), (3.3, 1e-4, 2e3, 50), (0.02, 0.5, 9.0, 10**5)]
)
def test_the_envelope_is_above_the_transform(
    e: float, rate: float, c: float, times: int, added: bool
) -> None:
    for pair in (LaplacePair(e).sampled(rate, added), LaplacePair(e).sampled(rate, False).mirrored()):
        loss, mass = law(pair, [])
        weight = mass * np.exp(c * loss - (c * loss).max())
        weight /= weight.sum()
        edges = np.geomspace(1e-2, 1e2, 60) / pair.largest
        inside = np.sqrt(edges[:-1] * edges[1:])
        true = np.abs(np.exp(1j * np.multiply.outer(inside, loss)) @ weight)
        assert (true <= pair.envelope(c, edges, times)[:-1] + 1e-10).all()
        assert (true <= pair.beside_atoms(c, edges)[:-1] + 1e-10).all()


def test_planted_errors_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = LaplacePair(1.0).sampled(0.05, False)
    epsilon = 0.6 * 2 * pair.largest
    truth = nested(pair, 2, epsilon)
    assert closes(pair, 2, epsilon, truth)
    whole = FewContinuous.of

    def planted(change: int) -> None:
        def of(terms: tuple[tuple[Pair, int], ...]) -> FewContinuous | None:
            few = whole(terms)
            assert few is not None
            if change == 0:  # outcomes with one continuous part are forgotten
                few.shown = few.shown[1:]
            elif change == 1:  # those with two are counted as if the steps were ordered
                few.shown = (few.shown[0], few.shown[1]._replace(ways=2.0))
            else:  # an atom is heavier than it should be
                few.atoms.mass = few.atoms.mass * (1 + 1e-4)
            return few

        monkeypatch.setattr(FewContinuous, "of", of)

    for change in range(3):
        planted(change)
        assert not closes(pair, 2, epsilon, truth)


def test_what_many_parts_add_is_bounded_by_the_moment_of_another_epsilon() -> None:
    terms = ((LaplacePair(1.0).sampled(0.05, False), 3),)
    largest = 3 * terms[0][0].largest
    few, again = FewContinuous.of(terms), FewContinuous.of(terms)
    assert few is not None
    assert again is not None
    assert again.more_again(0.9 * largest) == 1.0
    again.more(0.999 * largest, largest)
    for share in (0.99, 0.998, 0.9995):
        best = few.more(share * largest, largest)
        assert best <= again.more_again(share * largest) * (1 + 1e-12)
        # Outcomes with three continuous parts are all that is not counted.
        whole, counted = nested(terms[0][0], 3, share * largest), few.delta(share * largest)
        assert whole <= (counted.upper + again.more_again(share * largest)) * (1 + 1e-9)


def test_the_renyi_bound_is_above_and_close() -> None:
    orders = np.array([0.5, 3.0, 40.0, 1e3])
    for e, rate in ((1.0, 0.01), (3.3, 1e-4), (0.02, 0.9)):
        for pair in pairs_of(e, rate)[:2]:
            loss, mass = law(pair, [])
            for s, bound in zip(orders, pair.renyi_log_mgf(orders), strict=True):
                value = math.log(float(mass @ np.exp(s * loss)))
                assert value - 1e-12 <= bound <= value * (1 + 1e-4) + 1e-12
