"""Is the share p0? The binomial test with canonical noise: as powerful as any private test can be.

n public (REPLACE_ONE). X of n rows are in; Z = X + N is released, N the canonical noise of the promise. Under p0 the
law of Z is the binomial law mixed with that of N, known exactly:

    P(Z >= z) = sum over x of Bin(x; n, p0) F(x - z),   F the distribution function of N.

One-sided p-values are its tails. No test with the same promise has more power against any share on the other side
(Awan and Slavkovic 2018, "Differentially Private Uniformly Most Powerful Tests for Binomial Data", Theorem 4.5, for
(epsilon, delta)-DP; Awan and Vadhan 2023 for other promises). Two-sided: the set of all z below z1 or above z2 with

    g(z1) = g(z2),   g(z) = E[(X - n p0); Z >= z],

is unbiased, and uniformly most powerful among unbiased tests (Awan and Slavkovic 2020, Theorem 6.1). g rises to where
E[X | Z = z] = n p0 and then falls, since that mean grows with z; so every z has one partner, the sets are nested, and
the p-value is P(Z <= z1) + P(Z >= z2).

n not public (ADD_REMOVE). A record is in or out: of the two counts it changes one, by 1, and both are released with
the noise of the whole promise: Z1 = X + N1, Z0 = n - X + N0. T = (1 - p0) Z1 - p0 Z0 is X - n p0 and noise. Its law
depends on n, for which Z1 + Z0 gives a confidence set; the p-value is the largest over that set (its ends and places
between), plus the chance that the set misses n (`hypothesis_test.NUISANCE`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats
from scipy.signal import fftconvolve
from scipy.special import ndtr, ndtri

from dalenius.calculus.guarantees import GDP, ApproxDP, Guarantee, PureDP, TradeOff
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.infer import inputs
from dalenius.infer.columns import OUTCOMES, Column
from dalenius.infer.hypotheses.hypothesis_test import (
    NUISANCE,
    HypothesisTest,
    Released,
    alternative,
    needed,
)
from dalenius.infer.hypotheses.result import TestResult
from dalenius.infer.promise import gaussian_mu
from dalenius.mechanisms.canonical_noise import CanonicalNoise
from dalenius.mechanisms.gaussian import Gaussian
from dalenius.mechanisms.tulap import Tulap

NARROW = 0.1
"""The least mu for which noise is canonical; the Gaussian noise of a smaller one has a standard deviation above 10."""

FAR = 12.0
"""Standard deviations of a count that are summed over; and 60 rows."""

PLACES = 9
"""Numbers of rows tried within their confidence set."""


@dataclass(frozen=True)
class BinomialTest(HypothesisTest):
    """The binomial test as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises. PureDP and ApproxDP have Tulap noise, GDP from a mu of 0.1 on and TradeOff the
        canonical noise of their curve, others Gaussian noise.
    share
        The share under the hypothesis, strictly between 0 and 1.
    alternative
        "two-sided", "less" or "greater": where the share is if the hypothesis fails.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public and the test optimal.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.BinomialTest(dp.PureDP(1.0), share=0.5, adjacency=dp.REPLACE_ONE)
    >>> test.loss.epsilon(0.0), test.run([1] * 90 + [0] * 10).pvalue < 0.001
    (1.0, True)
    """

    share: float = 0.5
    alternative: str = "two-sided"

    method = "binomial test"

    def _check(self) -> None:
        object.__setattr__(self, "share", checks.open_probability("share", self.share))
        alternative(self.alternative)

    @cached_property
    def mechanism(self) -> Tulap | CanonicalNoise | Gaussian:
        """Noise for one count, or for two of which a record changes one."""
        return canonical(self.guarantee, self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return self.mechanism.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return (OUTCOMES,)

    def release(self, *data: Any) -> Released:
        x = outcomes(data[0], self.adjacency)
        inside = int(np.count_nonzero(x))
        if self.adjacency is REPLACE_ONE:
            return {"inside": self.mechanism.release(float(inside)), "rows": len(x)}
        inside_noisy, outside = self.mechanism.release(np.array([inside, len(x) - inside], dtype=np.float64))
        return {"inside": inside_noisy, "outside": outside}

    def judge(self, released: Released) -> TestResult:
        law, share = self._law(released), self.share
        found = law.estimate
        low, high = self.limits(released)
        return TestResult(
            self.method,
            f"the share is {share:g}" + _side(self.alternative, share),
            float(released["inside"]),
            law.pvalue(share, self.alternative),
            loss=self.loss,
            released=released,
            estimates={"share": found, "lower limit (95 %)": low, "upper limit (95 %)": high},
        )

    def limits(self, released: Released, alpha: float = 0.05) -> tuple[float, float]:
        """The shares that one-sided tests at half of alpha do not reject: a confidence interval.

        Parameters
        ----------
        released
            What `release` gave.
        alpha
            The chance to miss the share, at most.

        Returns
        -------
        tuple of float
            The lower and the upper limit.
        """
        alpha = checks.open_probability("alpha", alpha)
        law = self._law(released)

        def ends(side: str) -> float:
            outside, inside = (0.0, 1.0) if side == "greater" else (1.0, 0.0)
            for _ in range(30):
                middle = (inside + outside) / 2
                if 0 < middle < 1 and law.pvalue(middle, side) <= alpha / 2:
                    outside = middle
                else:
                    inside = middle
            return outside

        return ends("greater"), ends("less")

    def power(self, n: int, level: float, private: bool, replicates: int, **effect: Any) -> float:
        (truth,) = needed(effect, self.method, share="the true share, between 0 and 1")
        truth = checks.probability("share", truth)
        law = self._fixed(n) if private else Exact(0.0, n, None)
        return law.power(self.share, truth, self.alternative, level)

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        (truth,) = needed(effect, self.method, share="the true share, between 0 and 1")
        x = generator.binomial(n, truth, replicates)
        if self.adjacency is REPLACE_ONE:
            z = x + self.mechanism.releases(0.0, replicates)
            laws: list[Exact | Unknown] = [Exact(float(value), n, self.mechanism) for value in z]
        else:
            both = self.mechanism.releases(np.zeros(2), replicates) + np.stack((x, n - x), axis=1)
            laws = [Unknown(float(a), float(b), self.mechanism) for a, b in both]
        return np.array([law.pvalue(self.share, self.alternative) for law in laws])

    def _law(self, released: Released) -> Exact | Unknown:
        if self.adjacency is REPLACE_ONE:
            return Exact(float(released["inside"]), int(released["rows"]), self.mechanism)
        return Unknown(float(released["inside"]), float(released["outside"]), self.mechanism)

    def _fixed(self, n: int) -> Exact | Unknown:
        if self.adjacency is REPLACE_ONE:
            return Exact(0.0, n, self.mechanism)
        return Unknown(n * self.share, n * (1 - self.share), self.mechanism)


def binomial_test(
    x: object,
    guarantee: Guarantee,
    *,
    share: float = 0.5,
    alternative: str = "two-sided",
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether a share is `share`, with the most power that the promise allows.

    With a public number of rows (REPLACE_ONE) the noise is canonical (Tulap for PureDP and ApproxDP), the p-value is
    exact, and the test is uniformly most powerful: one-sided among all tests with this promise, two-sided among
    unbiased ones (Awan and Slavkovic 2018, 2020). Under ADD_REMOVE the number of rows is not known; both counts are
    released for the price of one, and the p-value is never too small.

    Parameters
    ----------
    x
        One outcome a row: True or False, 1 or 0. What is neither is absent (ADD_REMOVE) or counts as 0 (REPLACE_ONE).
    guarantee
        What the release promises: PureDP, ApproxDP, GDP, ZCDP, RDP or TradeOff.
    share
        The share under the hypothesis, strictly between 0 and 1.
    alternative
        "two-sided", "less" or "greater".
    adjacency
        ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    TestResult
        With an estimate of the share and its 95 % limits, from inverted tests.

    Raises
    ------
    InvalidParameter
        If a setting cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> found = dp.infer.binomial_test([1] * 800 + [0] * 200, dp.PureDP(1.0), share=0.5)
    >>> found.pvalue < 0.001, 0.7 < found.estimates["share"] < 0.9
    (True, True)
    """
    return BinomialTest(guarantee, share=share, alternative=alternative, adjacency=adjacency).run(x)


def outcomes(values: object, adjacency: Adjacency) -> Ints:
    """0 or 1 for each row; rows that are neither are absent, or 0 where the number of rows is public."""
    x = inputs.column(values, "x")[0]
    good = (x == 0) | (x == 1)
    return (x[good] if adjacency is ADD_REMOVE else np.where(good, x, 0.0)).astype(np.int64)


def canonical(guarantee: Guarantee, adjacency: Adjacency) -> Tulap | CanonicalNoise | Gaussian:
    """The noise for counts that one record changes in one place, by 1.

    Gaussian where it is so wide that canonical noise, which takes time in proportion, would have its law: rounding to
    whole numbers, by which they differ, adds a thousandth to its variance.
    """
    if isinstance(guarantee, PureDP | ApproxDP):
        return Tulap.calibrated(guarantee, sensitivity=1.0, adjacency=adjacency)
    if isinstance(guarantee, TradeOff) or (isinstance(guarantee, GDP) and guarantee.mu >= NARROW):
        return CanonicalNoise(sensitivity=1.0, guarantee=guarantee, adjacency=adjacency)
    return Gaussian(sensitivity=1.0, sigma=1 / gaussian_mu(guarantee), adjacency=adjacency)


def _side(alternative: str, share: float) -> str:
    return {"two-sided": "", "less": f" or more than {share:g}", "greater": f" or less than {share:g}"}[
        alternative
    ]


def _counts(n: int, p: float, together: int = 1) -> tuple[Reals, Reals]:
    """The numbers of rows in that matter, and their chances; so many `together` count as their middle."""
    wide = FAR * math.sqrt(n * p * (1 - p)) + 60
    first, last = max(0, math.floor(n * p - wide)), min(n, math.ceil(n * p + wide))
    if together == 1:
        x = np.arange(first, last + 1)
        return x.astype(np.float64), stats.binom.pmf(x, n, p)
    edges = np.append(np.arange(first, last, together), last)
    chances = np.diff(stats.binom.cdf(edges, n, p), prepend=0.0)
    return np.append(edges[:1], (edges[1:] + edges[:-1] + 1) / 2).astype(np.float64), chances


@dataclass(frozen=True)
class Exact:
    """One released count z of n rows, n known; no noise for None."""

    z: float
    n: int
    noise: Tulap | CanonicalNoise | Gaussian | None

    @property
    def estimate(self) -> float:
        return min(max(self.z / max(self.n, 1), 0.0), 1.0)

    def pvalue(self, p: float, alternative: str) -> float:
        """Exact but for 1e-7, which is added: the step of the grid and what is left out of the sum."""
        tails = _Tails(self.n, p, self.noise)
        if alternative == "greater":
            found = tails.above(self.z)
        elif alternative == "less":
            found = 1 - tails.above(self.z, strictly=True)
        else:
            found = tails.both(self.z)
        return min(1.0, max(0.0, found) + 1e-7)

    def power(self, p: float, truth: float, alternative: str, level: float) -> float:
        null, real = _Tails(self.n, p, self.noise), _Tails(self.n, truth, self.noise)
        low, high = null.region(alternative, level)
        return min(1.0, max(0.0, real.above(high) + 1 - real.above(low, strictly=True)))


class _Tails:
    """The law of X + N for X of n rows, with the share p."""

    def __init__(self, n: int, p: float, noise: Tulap | CanonicalNoise | Gaussian | None) -> None:
        self.n, self.p, self.noise = n, p, noise
        self.x, self.chance = _counts(n, p)

    def above(self, z: float, strictly: bool = False) -> float:
        """P(X + N >= z)."""
        return float(self.chance @ self._noise_above(z, strictly))

    def pull(self, z: float) -> float:
        """g(z) = E[X - n p; X + N >= z]."""
        return float((self.chance * (self.x - self.n * self.p)) @ self._noise_above(z, False))

    def _noise_above(self, z: float, strictly: bool) -> Reals:
        if self.noise is None:
            return np.asarray(self.x > z if strictly else self.x >= z, dtype=np.float64)
        return below(self.noise, self.x - z)

    @cached_property
    def middle(self) -> float:
        """Where g is largest: E[X | Z = z] = n p."""
        low, high = self.ends
        for _ in range(45):
            first, second = low + 0.382 * (high - low), low + 0.618 * (high - low)
            low, high = (first, high) if self.pull(first) < self.pull(second) else (low, second)
        return (low + high) / 2

    @property
    def ends(self) -> tuple[float, float]:
        reach = 40.0 if self.noise is None else _reach(self.noise)
        return float(self.x[0]) - reach, float(self.x[-1]) + reach

    def partner(self, z: float) -> float:
        """The place on the other side of the middle with the same g."""
        g, middle = self.pull(z), self.middle
        inside, outside = middle, self.ends[0] if z > middle else self.ends[1]
        for _ in range(60):
            place = (inside + outside) / 2
            inside, outside = (place, outside) if self.pull(place) > g else (inside, place)
        return (inside + outside) / 2

    def both(self, z: float) -> float:
        """The chance of the set of all that is as far out, on either side."""
        other = self.partner(z)
        low, high = min(z, other), max(z, other)
        return self.above(high) + 1 - self.above(low, strictly=True)

    def region(self, alternative: str, level: float) -> tuple[float, float]:
        """What is rejected at a level: at most the first, at least the second."""
        first, last = self.ends

        def largest(kept: Any, inside: float, outside: float) -> float:
            for _ in range(60):
                place = (inside + outside) / 2
                inside, outside = (place, outside) if kept(place) else (inside, place)
            return inside

        if alternative == "greater":
            return first - 1, largest(lambda z: self.above(z) <= level, last + 1, first - 1)
        if alternative == "less":
            return largest(lambda z: 1 - self.above(z, True) <= level, first - 1, last + 1), last + 1
        if self.noise is None:  # equal tails: without noise no exact unbiased test without a coin
            high = largest(lambda z: self.above(z) <= level / 2, last + 1, first - 1)
            return largest(lambda z: 1 - self.above(z, True) <= level / 2, first - 1, last + 1), high
        high = largest(lambda z: self.both(z) <= level, last + 1, self.middle)
        return self.partner(high), high


@dataclass(frozen=True)
class Unknown:
    """Two released counts, of rows in and out, each with noise."""

    inside: float
    outside: float
    noise: Tulap | CanonicalNoise | Gaussian

    @property
    def estimate(self) -> float:
        rows = max(self.inside, 0.0) + max(self.outside, 0.0)
        return max(self.inside, 0.0) / rows if rows > 0 else 0.5

    @cached_property
    def rows(self) -> Ints:
        """Places in a confidence set for the number of rows."""
        reach = _both_within(self.noise, NUISANCE)
        low, high = (max(0, round(self.inside + self.outside + side * reach)) for side in (-1, 1))
        return np.unique(np.linspace(low, high, PLACES).round().astype(np.int64))

    def pvalue(self, p: float, alternative: str) -> float:
        t = (1 - p) * self.inside - p * self.outside
        if alternative == "two-sided":
            least = min(self._largest(p, t, "greater"), self._largest(p, t, "less"))
            return min(1.0, 2 * least + NUISANCE)
        return min(1.0, self._largest(p, t, alternative) + NUISANCE)

    def _largest(self, p: float, t: float, alternative: str) -> float:
        chance = max(_tail(int(n), p, p, t, self.noise) for n in self.rows.tolist())
        if alternative == "less":
            chance = max(1 - _tail(int(n), p, p, t, self.noise) for n in self.rows.tolist())
        return min(1.0, chance + 1e-5)

    def power(self, p: float, truth: float, alternative: str, level: float) -> float:
        """At the number of rows that the counts add up to: of its confidence set, the ends that it has on average."""
        n = round(self.inside + self.outside)
        level -= NUISANCE + 2e-5
        if level <= 0:
            return 0.0
        each = level / 2 if alternative == "two-sided" else level
        wide = 12 * math.sqrt(n) + 2 * _reach(self.noise)
        total = 0.0
        for side in ("greater", "less"):
            if alternative in (side, "two-sided"):
                low, high = (0.0, wide) if side == "greater" else (0.0, -wide)
                for _ in range(40):
                    t = (low + high) / 2
                    low, high = (low, t) if self._largest(p, t, side) <= each else (t, high)
                above = _tail(n, truth, p, high, self.noise)
                total += above if side == "greater" else 1 - above
        return min(1.0, total)


def below(noise: Tulap | CanonicalNoise | Gaussian, x: Reals) -> Reals:
    """The chance that the noise is at most x."""
    return np.asarray(ndtr(x / noise.sigma) if isinstance(noise, Gaussian) else noise.cdf(x))


def _reach(noise: Tulap | CanonicalNoise | Gaussian) -> float:
    return noise.accuracy(1 - 1e-12)


def _tail(n: int, truth: float, p: float, t: float, noise: Tulap | CanonicalNoise | Gaussian) -> float:
    """P(X - n p + (1 - p) N1 - p N0 >= t) for X of n rows, with the share `truth`.

    Counts within 1e-7 of what the noise can reach are one: noise has a density of 28 over that at most, by which the
    chance changes by 2e-6 at most.
    """
    x, chance = _counts(n, truth, max(1, int(1e-7 * _reach(noise))))
    away = x - n * p - t
    if isinstance(noise, Gaussian):
        return float(chance @ ndtr(away / (noise.sigma * math.hypot(p, 1 - p))))
    places, values = _weighted(noise, p)
    return float(chance @ np.interp(away, places, values))


@lru_cache(maxsize=64)
def _weighted(noise: Tulap | CanonicalNoise, p: float) -> tuple[Reals, Reals]:
    """The distribution function of (1 - p) N1 - p N0, at places between which it is interpolated: to 1e-5.

    Noise is symmetric, so the order and the signs do not matter; its masses on 4096 cells are convolved.
    """
    edges = np.linspace(-1.0, 1.0, 4097) * _reach(noise)
    first, second = (np.diff(below(noise, edges / max(weight, 1e-6))) for weight in (p, 1 - p))
    mass = np.maximum(fftconvolve(first, second), 0.0)
    places = edges[0] + edges[1] + np.arange(len(mass)) * (edges[1] - edges[0])
    values = np.clip(np.cumsum(mass) - mass / 2, 0.0, 1.0)
    return places, values


@lru_cache(maxsize=64)
def _both_within(noise: Tulap | CanonicalNoise | Gaussian, failure: float) -> float:
    """What the sum of two noises stays within, but for this chance."""
    if isinstance(noise, Gaussian):
        return -noise.sigma * math.sqrt(2) * float(ndtri(failure / 2))
    # P(|N1 + N0| > 2 a): N1 + N0 = 2 ((1 - p) N1 - p N0) in law for p = 1/2.
    places, values = _weighted(noise, 0.5)
    return 2 * float(places[np.searchsorted(values, 1 - failure / 2 + 1e-5 * failure)])
