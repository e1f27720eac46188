"""The lemmas of docs/mechanisms-on-a-grid.md by enumeration, on grids coarse enough to write the laws out.

Each domination is shown to hold, and shown to fail without the extra noise that pays for it.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from dalenius.calculus.pairs.discrete_mu import _wave, lattice_mu
from dalenius.core.checks import float_up
from dalenius.mechanisms._support import grid_noise
from dalenius.noise import Grid

EPSILONS = np.concatenate((np.linspace(0, 1, 401), np.linspace(1, 12, 200)))


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    return np.array([np.maximum(p - math.exp(e) * q, 0.0).sum() for e in epsilons])


def laplace_profile(shift: float, epsilons: np.ndarray) -> np.ndarray:
    return np.where(epsilons < shift, -np.expm1((epsilons - shift) / 2), 0.0)


def gaussian_profile(mu: float, epsilons: np.ndarray) -> np.ndarray:
    return ndtr(-epsilons / mu + mu / 2) - np.exp(epsilons) * ndtr(-epsilons / mu - mu / 2)


def discrete_laplace(scale: float, centre: int, reach: int) -> np.ndarray:
    k = np.arange(-reach, reach + 1)
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * np.exp(-np.abs(k - centre) / scale)


def discrete_gaussian(sigma: float, centre: int, reach: int) -> np.ndarray:
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-((k - centre) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


class TestLemma1Rounding:
    """Rounded neighbours are at most grid.steps(...) apart."""

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_random_neighbours(self, norm: str) -> None:
        rng = np.random.default_rng(1)
        grid = Grid(Fraction(1))
        for size in (1, 2, 5):
            for sensitivity in (0.3, 1.0, 2.75):
                bound = float(grid.steps(sensitivity, size, norm))
                order = 1 if norm == "l1" else 2
                worst = 0.0
                for _ in range(500):
                    x = rng.uniform(-5, 5, size)
                    step = rng.normal(size=size)
                    step *= sensitivity / np.linalg.norm(step, ord=order)
                    moved = grid.to_units(x + step * (1 - 1e-12)) - grid.to_units(x)
                    worst = max(worst, float(np.linalg.norm(moved, ord=order)))
                assert worst <= bound + 1e-12
                assert worst > sensitivity or size == 1  # rounding does drive neighbours apart


class TestLemma2Laplace:
    @pytest.mark.parametrize(("scale", "steps"), [(8.0, 3), (8.0, 16), (2.0, 5), (1.0, 1), (0.6, 4)])
    def test_shift_with_the_extra_is_above_and_without_is_not(self, scale: float, steps: int) -> None:
        reach = 60 * math.ceil(scale) + steps
        epsilons = np.linspace(0, steps / scale, 1001)
        true = hockey_stick(
            discrete_laplace(scale, steps, reach), discrete_laplace(scale, 0, reach), epsilons
        )
        shift = steps / scale
        exact = shift + 2 * math.log(math.cosh(1 / (2 * scale)))
        assert exact <= shift + 1 / (4 * scale**2)
        assert (true <= laplace_profile(exact, epsilons) + 1e-14).all()
        assert (true > laplace_profile(shift, epsilons) + 1e-5 / scale**2).any()
        # Not even a hundredth of the extra could be spared.
        assert (true > laplace_profile(shift + 0.99 * (exact - shift), epsilons) + 1e-9).any()

    @pytest.mark.parametrize("size", [1, 2])
    @pytest.mark.parametrize("sensitivity", [1.0, 1.3, 2.0])
    @pytest.mark.parametrize("scale", [0.7, 2.0, 3.5])
    def test_what_is_released_is_within_the_stated_loss(
        self, size: int, sensitivity: float, scale: float
    ) -> None:
        """An 1/8 grid, all moves that neighbours can make on it, in one and two dimensions."""
        grid = Grid(Fraction(1, 8))
        units = grid_noise.discrete_laplace_scale(sensitivity, scale, size, grid)
        most = int(grid.steps(sensitivity, size, "l1"))
        reach = math.ceil(22 * units) + most if size == 1 else math.ceil(9 * units) + most
        epsilons = np.linspace(0, sensitivity / scale, 60 if size == 1 else 15)
        stated = laplace_profile(sensitivity / scale, epsilons)
        moves = [(most,)] if size == 1 else [(a, most - a) for a in range(0, most // 2 + 1, 3)]
        for move in moves:
            p = q = np.ones(())
            for a in move:
                p = np.multiply.outer(p, discrete_laplace(units, a, reach))
                q = np.multiply.outer(q, discrete_laplace(units, 0, reach))
            assert (hockey_stick(p, q, epsilons) <= stated + 1e-12).all(), move
        # Noise of the scale named, without the extra: the stated loss would be too small.
        bare = scale / float(grid.granularity)
        p, q = discrete_laplace(bare, most, 8 * reach), discrete_laplace(bare, 0, 8 * reach)
        assert (hockey_stick(p, q, epsilons) > stated + 1e-6).any()

    def test_the_extra_is_small_on_the_grid_in_use(self) -> None:
        for size, most in ((1, 1e-11), (1000, 2e-9), (10**6, 2e-6)):
            grid = Grid.fine(1.0, 3.0)
            extra = (
                grid_noise.discrete_laplace_scale(1.0, 3.0, size, grid) * float(grid.granularity) / 3.0 - 1
            )
            assert 0 < extra < most


class TestLemma3Gaussian:
    @pytest.mark.parametrize(
        ("sigma", "steps"), [(1.0, 1), (2.0, 1), (3.0, 2), (8.0, 3), (8.0, 20), (30.0, 5)]
    )
    def test_bound_holds_and_the_bare_ratio_does_not(self, sigma: float, steps: int) -> None:
        reach = math.ceil(38 * sigma) + steps
        epsilons = np.linspace(0, 8 * steps / sigma, 800)
        true = hockey_stick(
            discrete_gaussian(sigma, steps, reach), discrete_gaussian(sigma, 0, reach), epsilons
        )
        mu = lattice_mu(sigma, steps**2, 1)
        assert (true <= gaussian_profile(mu, epsilons) * (1 + 1e-9) + 1e-16).all()
        assert (true > gaussian_profile(steps / sigma, epsilons) * (1 + 1e-9) + 1e-16).any()
        assert mu <= steps / sigma * (1 + 0.4 / sigma**2)

    @pytest.mark.parametrize("sigma", [1.5, 3.0, 8.0])
    def test_vectors(self, sigma: float) -> None:
        """Every move of squared length 5 in up to three places, and the bound for five."""
        reach = math.ceil(8 * sigma)
        epsilons = np.linspace(0, 12 / sigma, 25)
        mu = lattice_mu(sigma, 5, 5)
        moves = {
            tuple(sorted(v, reverse=True))
            for v in itertools.product(range(3), repeat=3)
            if 0 < sum(x * x for x in v) <= 5
        }
        for move in moves:
            # The loss is a function of sum v_i k_i: convolve the laws of v_i k_i.
            p = np.ones(1)
            for a in (x for x in move if x):
                one = np.zeros(2 * a * reach + 1)
                one[::a] = discrete_gaussian(sigma, 0, reach)
                p = np.convolve(p, one)
            half = (len(p) - 1) // 2
            square = sum(x * x for x in move)
            loss = (2 * np.arange(-half, half + 1) + square) / (2 * sigma**2)
            true = np.array([(p * np.maximum(0, -np.expm1(np.minimum(e - loss, 0)))).sum() for e in epsilons])
            assert (true <= gaussian_profile(mu, epsilons) + 1e-13).all(), move

    def test_randomised_rounding_gives_the_discrete_law(self) -> None:
        """N(0, s^2 - t^2) rounded at random with width t is within a factor exp(c) of the discrete law."""
        s, t = 3.0, 0.4
        k = np.arange(-25, 26)
        x = np.linspace(-40, 40, 40_001)
        near = np.arange(-45, 46)
        theta = np.exp(-((x[:, None] - near[None, :]) ** 2) / (2 * t * t)).sum(axis=1)
        density = np.exp(-(x**2) / (2 * (s * s - t * t))) / math.sqrt(2 * math.pi * (s * s - t * t))
        rounded = np.array(
            [np.trapezoid(density * np.exp(-((x - a) ** 2) / (2 * t * t)) / theta, x) for a in k]
        )
        exact = discrete_gaussian(s, 0, 60)[60 - 25 : 60 + 26]
        apart = np.abs(np.log(rounded) - np.log(exact))
        wave = _wave(t)
        bound = -math.log1p(-wave) + _wave(s)
        assert apart.max() <= bound
        assert apart.max() > 1e-6  # and it is not nothing

    @pytest.mark.parametrize(("sensitivity", "sigma"), [(1.0, 3.0), (2.5, 0.01), (1e-3, 50.0)])
    @pytest.mark.parametrize("size", [1, 10, 10**6])
    def test_units(self, sensitivity: float, sigma: float, size: int) -> None:
        """The inequality of Lemma 3 in exact arithmetic, c as large as 10^-500."""
        grid = Grid.fine(sensitivity, sigma)
        s = Fraction(grid_noise.discrete_gaussian_sigma(sensitivity, sigma, size, grid))
        mu = Fraction(sensitivity) / Fraction(sigma)
        reach = Fraction(grid.steps(sensitivity, size, "l2"))
        spare = mu - Fraction(1, 10**500)
        assert reach**2 <= spare**2 * (s**2 - 64)
        assert s * grid.granularity / Fraction(sigma) < 1 + Fraction(1, 10**3)

    def test_wave_of_the_width_in_use(self) -> None:
        # c(8) = 3 * 2 exp(-2 pi^2 64) at most, so that with a million coordinates 2 mu stays below 10^-500.
        log10 = -2 * math.pi**2 * 64 / math.log(10)
        assert math.log10(6 * 2.6) + log10 + 6 < -500

    def test_pure_losses_as_gaussian_ones(self) -> None:
        """A loss bounded by c is sqrt(pi/2) c-GDP at most."""
        for c in np.geomspace(1e-3, 50, 200):
            mu = 1.25332 * c
            assert 2 * ndtr(mu / 2) - 1 >= math.tanh(c / 2) * (1 - 1e-12)


def test_grids_that_are_too_coarse_are_noticed() -> None:
    with pytest.raises(ArithmeticError):
        grid_noise.discrete_laplace_scale(1000.0, 1.0, 1, Grid(Fraction(1000)))
    with pytest.raises(ArithmeticError):
        grid_noise.discrete_gaussian_sigma(1.0, 1.0, 1, Grid(Fraction(1)))


def test_up() -> None:
    for x in (Fraction(1, 3), Fraction(1, 10), Fraction(3), Fraction(10**30 + 1)):
        assert Fraction(float_up(x)) >= x
        assert Fraction(math.nextafter(float_up(x), 0)) < x
