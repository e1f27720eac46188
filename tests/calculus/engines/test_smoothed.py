"""Discrete losses on no common lattice: the smoothed line against exact sums, lattices, the grid and planted errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dalenius import losses
from dalenius.calculus.engines import smoothed
from dalenius.calculus.engines.accountant import Direction, Sum, WithoutRare
from dalenius.calculus.engines.contour import Lines
from dalenius.calculus.engines.enumeration import enumerated
from dalenius.calculus.engines.rare_atoms import Jump, RareAtoms
from dalenius.calculus.engines.saddle import Moments
from dalenius.calculus.engines.smoothed import SmoothedLine
from dalenius.calculus.pairs.atoms import Atoms, Lattice, two_point_atoms
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import Bounds, Reals, Terms, Tilted
from tests.calculus.contract import overlap


def on_line(terms: Terms, epsilon: float, line: type[SmoothedLine] = SmoothedLine) -> Bounds:
    bounds = Lines(Moments(terms), line).delta(epsilon)
    assert bounds is not None
    return bounds


def dyadic(rng: np.random.Generator, size: int, bits: int = 24) -> Reals:
    """Probabilities that are whole multiples of 2^-bits, so that their sum is 1 and everything is exact."""
    return rng.multinomial(2**bits - size, rng.dirichlet(np.ones(size))) / 2**bits + 2.0**-bits


def atoms(p: Reals, q: Reals) -> Atoms:
    found = losses.from_pair(p.tolist(), q.tolist()).remove.terms[0][0]
    assert isinstance(found, Atoms)
    return found


def multinomial(p: Reals, q: Reals, n: int) -> Iterator[tuple[Fraction, Fraction]]:
    """P and Q of every table of counts, exactly."""
    exact = [(Fraction(float(x)), Fraction(float(y))) for x, y in zip(p, q, strict=True)]
    for drawn in itertools.combinations_with_replacement(range(len(p)), n):
        ways = math.factorial(n)
        for k in np.bincount(drawn):
            ways //= math.factorial(int(k))
        yield (
            ways * math.prod(exact[i][0] for i in drawn),
            ways * math.prod(exact[i][1] for i in drawn),
        )


def truth(p: Reals, q: Reals, n: int, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        alpha = mpmath.exp(epsilon)
        terms = (
            mpmath.mpf(a.numerator) / a.denominator - alpha * b.numerator / b.denominator
            for a, b in multinomial(p, q, n)
        )
        return sum((x for x in terms if x > 0), mpmath.mpf(0))


@pytest.mark.parametrize("seed", range(6))
def test_short_runs_by_exact_sums(seed: int) -> None:
    """Both engines that may answer, on the same points: the sum written out, and the smoothed line."""
    rng = np.random.default_rng([14, seed])
    size, n = int(rng.integers(3, 6)), int(rng.integers(2, 6))
    p, q = dyadic(rng, size), dyadic(rng, size)
    terms: Terms = ((atoms(p, q), n),)
    whole = enumerated(terms)
    assert whole is not None
    # Between atoms, on one, and so near the end that delta is below 1e-6 of its atom.
    points = [*rng.uniform(0.05, 0.95, 3) * whole.largest, whole.loss[len(whole.loss) // 2]]
    for epsilon in (*points, whole.largest * (1 - 1e-7)):
        exact = truth(p, q, n, float(epsilon))
        for bounds in (on_line(terms, float(epsilon)), whole.delta(float(epsilon))):
            assert bounds.lower <= exact <= bounds.upper, (epsilon, bounds, exact)


LONG = {
    "8 outcomes": (8, 1.0, 1000),
    "40 outcomes": (40, 30.0, 5000),
    "300 outcomes": (300, 3000.0, 200_000),
}


@pytest.mark.parametrize("name", LONG)
def test_long_runs_beside_the_grid(name: str) -> None:
    size, concentration, n = LONG[name]
    p, q = np.random.default_rng(size).dirichlet(np.full(size, concentration), 2)
    loss = losses.from_pair(p.tolist(), q.tolist()) * n
    for delta in (1e-2, 1e-9, 1e-24):
        lower, upper = loss.epsilon_bounds(delta)
        assert 0 < upper - lower <= 1e-6 * upper
    upper = loss.epsilon_bounds(1e-9).upper
    for epsilon in (upper, upper * 0.999):
        assert overlap(loss.delta_bounds(epsilon), loss.delta_bounds(epsilon, "grid"))


def test_lattices() -> None:
    """A lattice, which the smoothed line does not know to be one, is answered exactly by another engine."""
    for n, share in ((7, 0.6), (400, 0.63), (20_000, 0.04)):
        terms: Terms = ((two_point_atoms(0.3), n),)
        for epsilon in (0.3 * (round(share * n) + 0.4), 0.3 * round(share * n)):
            exact = Sum(terms).delta(epsilon)
            bounds = on_line(terms, epsilon)
            assert overlap(exact, bounds), (n, epsilon, exact, bounds)
            assert bounds.upper - bounds.lower < 1e-3 * bounds.upper


def test_lattices_too_fine_to_go_through() -> None:
    """10^5 points a step and 10^4 steps: no period fits, and the smoothed line need not go through one."""
    index = np.array([0, 50_001, 100_000])
    spacing = 1e-6
    pair = Atoms(spacing * index - 0.05, np.array([0.4, 0.18, 0.42]), 0.0, Lattice(spacing, -0.05), index)
    found = Sum(((pair, 10_000),)).delta(25.0)
    assert found.upper - found.lower < 1e-4 * found.upper
    assert overlap(found, Sum(((pair, 10_000),)).delta(25.0, "grid"))


def test_sums_of_several() -> None:
    rng = np.random.default_rng(5)
    parts = [
        losses.from_pair(*rng.dirichlet(np.full(k, 50.0), 2).tolist()) * n
        for k, n in ((3, 70), (9, 30), (31, 10), (100, 5))
    ]
    for loss in (
        sum(parts[1:], parts[0]),
        parts[2] + losses.gaussian(2.0) * 3,
        parts[0] + losses.laplace(3.0) * 2 + losses.laplace(5.0),
        losses.pure(0.1) * 90 + losses.pure(0.17) * 50,
    ):
        lower, upper = loss.epsilon_bounds(1e-8)
        assert upper - lower <= 1e-6 * upper
        assert overlap(loss.delta_bounds(upper), loss.delta_bounds(upper, "grid"))


def test_extremes() -> None:
    """Masses of 1e-300, losses of hundreds, outcomes that one side lacks, and epsilons at the very end."""
    tiny = losses.from_pair([1 - 2e-16, 2e-16, 1e-300, 0.0], [0.5, 1e-300, 0.5 - 1e-3, 1e-3])
    for n in (2, 3000):
        for delta in (1e-3, 1e-18, 1e-30):
            lower, upper = (tiny * n).remove.epsilon(delta)
            assert 0 < upper - lower < 1e-6 * upper
    leaky = losses.from_pair([0.3, 0.3, 0.4 - 1e-9, 1e-9], [0.2, 0.37, 0.43, 0.0]) * 500
    lower, upper = leaky.epsilon_bounds(1e-6)
    assert 0 < upper - lower < 1e-6 * upper
    assert leaky.epsilon_bounds(1e-7) == (math.inf, math.inf)
    p, q = np.random.default_rng(9).dirichlet(np.ones(60), 2)
    end = losses.from_pair(p.tolist(), q.tolist()) * 30
    top = end.remove.largest
    share = 30 * math.log(p[np.argmax(p / q)])
    for gap in (1e-3, 1e-6, 1e-9):  # nothing but the largest loss is above such an epsilon
        bounds, alone = end.remove.delta(top - gap), math.exp(share) * -math.expm1(-gap)
        assert bounds.lower <= alone * (1 + 1e-5)
        assert bounds.upper >= alone * (1 - 1e-5)
        assert bounds.upper - bounds.lower < 1e-2 * alone


def test_the_saddle_is_found_at_the_end() -> None:
    """K tends to a straight line there: its slope must come out exactly, or the line is laid decades away."""
    total = Sum(((two_point_atoms(0.7), 50),))
    epsilon, rate = total.guess(math.log(1e-6) + 50 * math.log(1 / (1 + math.exp(-0.7))))
    assert 0.2e6 < rate < 5e6
    assert 0.2e-6 < total.largest - epsilon < 5e-6


# -- planted errors ------------------------------------------------------------------------------------


class Centred(GaussianPair):
    """Noise without the mean that makes its loss one of a pair: E exp(-Z) is above 1."""

    def tilted(self, c: float, t: Reals) -> Tilted:
        v = self.mu**2
        values = np.exp(-v * t * t / 2 + 1j * v * c * t)
        return Tilted(v * c * c / 2, values, 1e-15 * np.abs(values))


class Halved(SmoothedLine):
    """A line cut at half the length its truncation error is stated for."""

    def _cut(self, log_share: float) -> tuple[float, float]:
        reach, tail = super()._cut(log_share)
        return reach / 2, tail


class Uncorrected(SmoothedLine):
    """The smoothed value taken for a lower bound."""

    def _smoothed(self, epsilon: float) -> tuple[Bounds, float]:
        return super()._smoothed(epsilon)[0], 0.0


def misses(line: type[SmoothedLine]) -> int:
    """How many of the brackets at, near and between the atoms of a short run leave out the truth."""
    terms: Terms = ((two_point_atoms(1.0), 3),)
    count = 0
    for epsilon in (0.9995, 1.0, 1.0001, 0.3, 2.0):
        exact, bounds = Sum(terms).delta(epsilon), on_line(terms, epsilon, line)
        count += not overlap(exact, bounds)
    return count


def test_planted_errors_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert misses(SmoothedLine) == 0
    assert misses(Halved) > 0
    assert misses(Uncorrected) > 0
    monkeypatch.setattr(smoothed, "GaussianPair", Centred)
    assert misses(SmoothedLine) > 0


# -- rare atoms ----------------------------------------------------------------------------------------


def with_rare(bulk: int, width: float, rare: list[tuple[float, float]]) -> Atoms:
    """Atoms with a bulk of losses about 0 and (loss, mass) that are far from it."""
    rng = np.random.default_rng(bulk)
    p = np.append(rng.dirichlet(np.ones(bulk)), [p for _, p in rare])
    loss = np.append(width * rng.normal(size=bulk), [x for x, _ in rare])
    p /= p.sum()
    loss += math.log(p @ np.exp(-loss))
    order = np.argsort(loss)
    return Atoms(loss[order], p[order])


RARE: dict[str, tuple[Atoms, int]] = {
    "one far atom": (with_rare(4, 1e-3, [(3.0, 1e-9)]), 6),
    "two, and one on the other side": (with_rare(3, 1e-2, [(2.0, 1e-4), (7.0, 1e-12), (-5.0, 1e-6)]), 5),
    "nearly nothing else": (with_rare(2, 1e-6, [(0.5, 1e-5), (20.0, 1e-20)]), 7),
}


@pytest.mark.parametrize("name", RARE)
def test_rare_atoms_by_exact_sums(name: str) -> None:
    pair, n = RARE[name]
    terms: Terms = ((pair, n),)
    found, whole = RareAtoms.of(terms, WithoutRare, Sum), enumerated(terms)
    assert found is not None
    assert whole is not None
    for epsilon in (1e-4, 5e-3, 0.49, 0.5, 1.0, 1.999, 2.003, 3.0, 3.9, 4.001, 6.5, 9.1):
        bounds, exact = found.delta(epsilon), whole.delta(epsilon)
        assert bounds is not None
        assert overlap(bounds, exact), (epsilon, bounds, exact)
        assert bounds.upper - bounds.lower < 1e-4 * bounds.upper + 1e-300


def test_rare_atoms_in_long_runs() -> None:
    """A bulk that is all there is to see down to delta 1e-6, one far atom below, then two, then three."""
    loss = Direction(((with_rare(40, 1e-3, [(6.0, 1e-11), (-3.0, 1e-9)]), 3000),))
    for delta, jumps in ((1e-5, 0), (1e-12, 1), (1e-19, 2), (1e-26, 3)):
        lower, upper = loss.epsilon(delta)
        assert 0 < upper - lower < 1e-6 * max(upper, 1e-3)
        assert abs(upper - 6.0 * jumps) < 1.0
        assert overlap(loss.delta(upper), loss.delta(upper, "grid"))


def test_a_rare_atom_counted_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    pair, n = RARE["one far atom"]
    monkeypatch.setattr(Jump, "mass", property(lambda self: 1.0001 * tuple(self)[2]))
    found, whole = RareAtoms.of(((pair, n),), WithoutRare, Sum), enumerated(((pair, n),))
    assert found is not None
    assert whole is not None
    bounds = found.delta(1.0)
    assert bounds is not None
    assert not overlap(bounds, whole.delta(1.0))


# -- what is written out -------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "n"), [(3, 4), (3, 5), (6, 3), (4, 4)])
def test_written_out(size: int, n: int) -> None:
    p, q = np.random.default_rng([size, n]).dirichlet(np.ones(size), 2)
    pair = atoms(p, q)
    found = enumerated(((pair, n),))
    assert found is not None
    assert len(found.loss) == math.comb(size + n - 1, n)
    every = list(itertools.product(range(size), repeat=n))
    for epsilon in np.linspace(-1.0, 1.0, 7) * found.largest:
        values = [
            math.prod(pair.mass[list(i)]) * -math.expm1(min(epsilon - sum(pair.loss[list(i)]), 0.0))
            for i in every
        ]
        bounds = found.delta(float(epsilon))
        assert bounds.lower <= math.fsum(values) * (1 + 1e-12)
        assert bounds.upper >= math.fsum(values) * (1 - 1e-12)
        assert bounds.upper - bounds.lower <= 1e-10 * bounds.upper
