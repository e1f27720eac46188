"""Kolmogorov-Smirnov tests: the largest distance between distribution functions, with noise.

One sample, hypothesis F. K = sup over t of |#{x <= t} - n F(t)| is n times the distance. A record added at x changes
#{x <= t} - n F(t) by 1{x <= t} - F(t), between -1 and 1; a record replaced, by 1{x' <= t} - 1{x <= t}: K moves by 1 at
most, either way. Two samples: with s the share of the first sample among all rows and rows at z,

    K = sup over t of |#{x <= t} - s #{z <= t}|,

n m / (n + m) times the distance of the two distribution functions if s = n / (n + m). A record adds 1 - s or -s to it
from its place on, or moves within its sample: K moves by max(s, 1 - s) at most, for any s that is fixed beforehand.
(For replacement this is the usual max(1/n, 1/m); under ADD_REMOVE the distance itself has no bound but 1.)

Under ADD_REMOVE numbers of rows are released first. One sample: K grows with n, and the p-value is taken at an upper
limit of n, plus the chance that n is larger (`hypothesis_test.NUISANCE`). Two samples: s is the released share; then
#{x <= t} - s #{z <= t} does not end at 0 but at D = n - s (n + m) = s N2 - (1 - s) N1, N1 and N2 the noises of the
numbers of rows, whose law is known.

The law of K without noise is Kolmogorov's (with Stephens' 1970 correction for one sample), and for two samples that of
the largest distance from 0 of a Brownian motion with variance s (1 - s) (n + m) that ends at D, for which

    P(sup < k | D) = sum over j of (-1)^j exp(-2 j k (j k - D) / variance)      for |D| < k

by reflection; for D = 0 it is Kolmogorov's law again. It is averaged over D and over the noise added to K. Continuous
paths go further than those of samples, and rows that are equal go less far: p-values are a little too large, not too
small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from scipy import stats

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.columns import OUTCOMES, Column, Numbers
from dalenius.infer.hypotheses import reference, rows
from dalenius.infer.hypotheses.hypothesis_test import NUISANCE, HypothesisTest, Released, needed
from dalenius.infer.hypotheses.parts import Moved, Part, density, drawn, part, stretched
from dalenius.infer.hypotheses.ranks import rows_part, sample
from dalenius.infer.hypotheses.result import TestResult

ROWS, TWO_ROWS = 0.2, 0.35
"""The shares of the promise that the number of rows takes, of one sample and of two, where it is not public."""

ENDS = 4999
"""Draws of the noises that a two-sample p-value averages over."""

LAWS = (
    *("uniform", "norm", "lognorm", "halfnorm", "cauchy", "halfcauchy", "laplace", "logistic", "loglaplace"),
    *("expon", "gamma", "invgamma", "chi", "chi2", "maxwell", "rayleigh", "nakagami", "weibull_min"),
    *(
        "weibull_max",
        "exponweib",
        "gumbel_r",
        "gumbel_l",
        "genextreme",
        "genpareto",
        "pareto",
        "lomax",
        "fisk",
    ),
    *(
        "beta",
        "f",
        "t",
        "powerlaw",
        "arcsine",
        "triang",
        "truncexpon",
        "invgauss",
        "burr",
        "burr12",
    ),
)
"""Distributions of scipy.stats whose distribution functions are formulas, for rows of a session. Others integrate or
add up, for as long as a row's value makes them, and warn where they do not get there: time and words would tell."""

SHAPED = ("beta", "f", "gamma", "invgamma", "chi", "chi2", "nakagami")
"""Those of an incomplete beta or gamma function. Near the middle it has more terms the larger the shapes are, about
sqrt(a) of them for beta(a, a), and none far away."""

MOST_SHAPE = 1e4
"""The largest shape of these: up to here a row costs at most a few microseconds, wherever it is."""

PLACES: Reals = np.sinh(np.linspace(-12.0, 12.0, 65))
"""Where a distribution function is tried before it meets the data."""

GRID = 1 << 30
"""Distribution functions and shares are whole numbers of this part."""


@dataclass(frozen=True)
class KolmogorovSmirnovTest(HypothesisTest):
    """The Kolmogorov-Smirnov test of a distribution as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    cdf
        The distribution function under the hypothesis: of an array, row by row, or a scipy.stats distribution.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp
    >>> from scipy import stats
    >>> test = dp.infer.KolmogorovSmirnovTest(dp.GDP(1.0), cdf=stats.uniform())
    >>> test.run([k / 1000 for k in range(500)]).pvalue < 0.01
    True
    """

    cdf: Any = None

    method = "Kolmogorov-Smirnov test"

    def _check(self) -> None:
        if not callable(self.cdf) and not callable(getattr(self.cdf, "cdf", None)):
            raise InvalidParameter.of(
                "cdf",
                f"cdf is {checks.shown(self.cdf)}; it must be a distribution such as scipy.stats.norm(0, 1), or a "
                "function from an array to probabilities.",
            )
        if self._takes_arrays:
            whole = _applied(self._function, PLACES)
            for some in (slice(None, None, -1), slice(None, None, 2), slice(40, 41)):
                part = _applied(self._function, PLACES[some])
                if part is None or not np.allclose(part, whole[some], rtol=0, atol=1e-9, equal_nan=True):  # type: ignore[index]
                    raise InvalidParameter.of(
                        "cdf",
                        "cdf is not a function of each row alone: what it says of a number depends on the others it is "
                        "given. A mean or spread within it must be public, not that of the data.",
                    )

    def sealed(self) -> Self:
        """With a distribution of scipy.stats that is made anew from its name and its numbers."""
        law = getattr(self.cdf, "dist", None)
        name = getattr(law, "name", None)
        own = getattr(stats, name, None) if isinstance(name, str) else None
        numbers = (*getattr(self.cdf, "args", ()), *getattr(self.cdf, "kwds", {}).values())
        if isinstance(own, stats.rv_continuous) and name not in LAWS:
            raise InvalidParameter.of(
                "cdf",
                f"scipy.stats.{name} is computed step by step, and how long that takes may depend on a row; where rows "
                f"are a session's, use a distribution with a formula: {', '.join(LAWS)}.",
            )
        if not isinstance(own, stats.rv_continuous) or not all(isinstance(x, int | float) for x in numbers):
            raise InvalidParameter.of(
                "cdf",
                "cdf must be a distribution of scipy.stats with its numbers, as scipy.stats.norm(40, 10), where "
                "rows are a session's: a function would meet them.",
            )
        if any(not math.isfinite(x) if isinstance(x, float) else abs(x) >= 1 << 53 for x in numbers):
            raise InvalidParameter.of(
                "cdf", f"the numbers of scipy.stats.{name} must be finite, and large ones floats, as 1e30."
            )
        called = (own.shapes or "").split(", ") if own.shapes else []
        shapes = (
            *self.cdf.args[: len(called)],
            *(self.cdf.kwds[each] for each in called if each in self.cdf.kwds),
        )
        if name in SHAPED and any(x > MOST_SHAPE for x in shapes):
            raise InvalidParameter.of(
                "cdf",
                f"scipy.stats.{name} has a shape of {max(shapes):g}, and how long that takes may depend on a row; "
                f"where rows are a session's, shapes are at most {MOST_SHAPE:g}. With larger ones it is nearly normal, "
                "as a rule: scipy.stats.norm(mean, deviation).",
            )
        return replace(self, cdf=own(*self.cdf.args, **self.cdf.kwds))

    @property
    def _function(self) -> Callable[[Reals], Any]:
        return getattr(self.cdf, "cdf", self.cdf)  # type: ignore[no-any-return]

    @cached_property
    def _takes_arrays(self) -> bool:
        """Tried at public places; if it fails there, it is asked for one row at a time."""
        return _applied(self._function, PLACES) is not None

    @cached_property
    def of_rows(self) -> Part | None:
        """The number of rows; None where it is public."""
        return rows_part(self.guarantee, self.adjacency, ROWS)

    @cached_property
    def distance(self) -> Part:
        share = 1.0 if self.of_rows is None else 1 - ROWS
        return part(self.guarantee, share, Moved(1.0, 1.0), self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        first = self.of_rows
        return (
            self.distance.mechanism.loss
            if first is None
            else first.mechanism.loss + self.distance.mechanism.loss
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Numbers(),)

    def release(self, *data: Any) -> Released:
        u = self._placed(rows.column(data[0], "x", self.adjacency))
        n = np.array([len(u)], dtype=np.int64)
        number = n if self.of_rows is None else self.of_rows.release(n)
        return {"rows": float(number[0]), "distance": self.distance.release(farthest(u))}

    def _placed(self, x: Reals) -> Ints:
        """F of each row on the grid; whatever F raises on one of them, the others are where they were."""
        p = _applied(self._function, x) if self._takes_arrays else None
        if p is None:
            alone = (_applied(self._function, x[k : k + 1]) for k in range(len(x)))
            p = np.array([0.0 if one is None else one[0] for one in alone])
        return np.rint(np.clip(np.nan_to_num(p, nan=0.0), 0.0, 1.0) * GRID).astype(np.int64)

    def judge(self, released: Released) -> TestResult:
        n, k = float(released["rows"]), float(released["distance"])
        p = self._judged(np.array([k]), np.array([n]))
        return TestResult(
            self.method,
            "the rows are from the distribution named",
            k,
            float(p[0]),
            loss=self.loss,
            released=released,
            estimates={"distance": min(max(k / max(n, 1.0), 0.0), 1.0)},
        )

    def _judged(self, k: Reals, n: Reals) -> Reals:
        extra = 0.0
        if self.of_rows is not None:
            n, extra = n + self.of_rows.law.reach(2 * NUISANCE)[1], NUISANCE
        n = np.maximum(np.ceil(n), 1.0)
        places, weights = density(self.distance.law, 801)
        return np.array(
            [
                min(1.0, float(weights @ kolmogorov_above(value - places, size)) + extra)
                for value, size in zip(k, n, strict=True)
            ]
        )

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        (population,) = needed(effect, self.method, population="a scipy.stats distribution")
        k = np.array([farthest(self._placed(sample(population, n, generator))) for _ in range(replicates)])
        if not private:
            return np.array([float(kolmogorov_above(np.array([value]), float(n))[0]) for value in k])
        number = np.full(replicates, float(n))
        if self.of_rows is not None:
            number = number + drawn(self.of_rows.law, generator, number.shape)
        return self._judged(k + drawn(self.distance.law, generator, k.shape), number)


@dataclass(frozen=True)
class TwoSampleKolmogorovSmirnovTest(HypothesisTest):
    """The Kolmogorov-Smirnov test of two samples as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    adjacency
        ADD_REMOVE, or REPLACE_ONE: both numbers of rows are public, and a record stays in its sample.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.infer.TwoSampleKolmogorovSmirnovTest(dp.GDP(1.0)).run(range(100, 300), range(0, 200)).pvalue < 0.01
    True
    """

    method = "two-sample Kolmogorov-Smirnov test"

    @cached_property
    def of_rows(self) -> Part | None:
        """Both numbers of rows; None where they are public."""
        return rows_part(self.guarantee, self.adjacency, TWO_ROWS)

    @cached_property
    def distance(self) -> Part:
        share = 1.0 if self.of_rows is None else 1 - TWO_ROWS
        return part(self.guarantee, share, Moved(1.0, 1.0), self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        first = self.of_rows
        return (
            self.distance.mechanism.loss
            if first is None
            else first.mechanism.loss + self.distance.mechanism.loss
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        return OUTCOMES, Numbers()

    def data(self, *columns: Any) -> tuple[Any, ...]:
        """The first sample is of rows with 1."""
        return rows.two_samples(*columns)

    def release(self, *data: Any) -> Released:
        x, y = (
            rows.column(values, what, self.adjacency) for values, what in zip(data, ("x", "y"), strict=True)
        )
        n = np.array([len(x), len(y)], dtype=np.int64)
        number = np.asarray(n if self.of_rows is None else self.of_rows.release(n), dtype=np.float64)
        share = first_share(number)
        return {"rows": number, "distance": self._stretched(share).release(apart(x, y, share))}

    def judge(self, released: Released) -> TestResult:
        n, k = np.asarray(released["rows"], dtype=np.float64), float(released["distance"])
        p = self._judged(np.array([k]), n[None], reference.generator(n, [k]))
        size = max(float(n.sum()), 1.0)
        s = first_share(n) / GRID
        return TestResult(
            self.method,
            "the two samples are from one population",
            k,
            float(p[0]),
            loss=self.loss,
            released=released,
            estimates={"distance": min(max(k / (s * (1 - s) * size), 0.0), 1.0)},
        )

    def _stretched(self, share: int) -> Part:
        """Noise for what a record moves the distance by, at a released share."""
        return stretched(self.distance, max(share, GRID - share) / GRID)

    def _judged(self, k: Reals, n: Reals, generator: Generator, ends: int = ENDS) -> Reals:
        return np.array([self._one(value, row, generator, ends) for value, row in zip(k, n, strict=True)])

    def _one(self, k: float, n: Reals, generator: Generator, number: int) -> float:
        s, law = first_share(n) / GRID, self._stretched(first_share(n)).law
        variance = s * (1 - s) * max(float(n.sum()), 1.0)
        if self.of_rows is None:
            places, weights = density(law, 801)
            return min(1.0, float(weights @ bridge_above(k - places, np.zeros(1), variance)))
        first, second = drawn(self.of_rows.law, generator, (2, number))
        ends = s * second - (1 - s) * first
        noise = drawn(law, generator, (number,))
        return float((1 + bridge_above(k - noise, ends, variance).sum()) / (number + 1))

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        first, second = needed(
            effect,
            self.method,
            first="a scipy.stats distribution",
            second="another, of the second half of the rows",
        )
        sizes = np.array((n // 2, n - n // 2), dtype=np.float64)
        number = np.tile(sizes, (replicates, 1))
        if private and self.of_rows is not None:
            number = number + drawn(self.of_rows.law, generator, number.shape)
        k = np.array(
            [
                apart(
                    sample(first, int(sizes[0]), generator), sample(second, int(sizes[1]), generator), share
                )
                for share in map(first_share, number)
            ]
        )
        if not private:
            return np.array(
                [float(bridge_above(np.array([value]), np.zeros(1), sizes.prod() / n)[0]) for value in k]
            )
        wide = np.array([max(first_share(one), GRID - first_share(one)) / GRID for one in number])
        return self._judged(
            k + wide * drawn(self.distance.law, generator, k.shape), number, generator, ENDS // 10
        )


def kolmogorov_smirnov_test(
    x: object, guarantee: Guarantee, *, cdf: Any, adjacency: Adjacency = ADD_REMOVE
) -> TestResult:
    """Test whether rows are from a given distribution.

    Parameters
    ----------
    x
        One number a row. What is none is absent (ADD_REMOVE) or 0 (REPLACE_ONE).
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    cdf
        The distribution function under the hypothesis, of an array, row by row; or a scipy.stats distribution. It must
        be chosen without looking at the data: one that reckons with the mean of what it is given is refused.
        It must not fail on any number: a row on which it does counts as 0, but the rows are then asked one by one,
        and that shows in the time.
    adjacency
        ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    TestResult
        The statistic is the number of rows times the largest distance, with noise.

    Raises
    ------
    InvalidParameter
        If a setting cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> from scipy import stats
    >>> rows = [k / 1000 for k in range(500)]
    >>> dp.infer.kolmogorov_smirnov_test(rows, dp.PureDP(1.0), cdf=stats.uniform()).pvalue < 0.01
    True
    """
    return KolmogorovSmirnovTest(guarantee, cdf=cdf, adjacency=adjacency).run(x)


def two_sample_kolmogorov_smirnov_test(
    x: object, y: object, guarantee: Guarantee, *, adjacency: Adjacency = ADD_REMOVE
) -> TestResult:
    """Test whether two samples are from one population, whatever the way in which they may differ.

    Parameters
    ----------
    x
        One number for each row of the first sample. What is none is absent (ADD_REMOVE) or 0 (REPLACE_ONE).
    y
        The same for the second sample. A record is in one of the two.
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    adjacency
        ADD_REMOVE, or REPLACE_ONE: both numbers of rows are public, and a record stays in its sample.

    Returns
    -------
    TestResult
        The statistic is n m / (n + m) times the largest distance, with noise.

    Raises
    ------
    InvalidParameter
        If a setting cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.infer.two_sample_kolmogorov_smirnov_test(range(100, 300), range(200), dp.GDP(1.0)).pvalue < 0.01
    True
    """
    return TwoSampleKolmogorovSmirnovTest(guarantee, adjacency=adjacency).run(x, y)


def _applied(function: Callable[[Reals], Any], x: Reals) -> Reals | None:
    """A probability for each row; None where the function fails. It gets a copy: whatever it writes is lost."""
    try:
        with np.errstate(all="ignore"):
            p = np.asarray(function(x.copy()), dtype=np.float64)
    except Exception:  # whatever it raises
        return None
    return p if p.shape == x.shape else None


def farthest(u: Ints) -> float:
    """sup over t of |#{u <= t} - n t| for u in steps of the grid: exact."""
    n = len(u)
    if n == 0:
        return 0.0
    ordered = np.sort(u)
    above = np.arange(1, n + 1) * GRID - n * ordered
    below = n * ordered - np.arange(n) * GRID
    return int(max(above.max(), below.max())) / GRID


def first_share(number: Reals) -> int:
    """The first sample's share of the rows, in steps of the grid, from released numbers of rows."""
    first, second = np.clip(np.asarray(number, dtype=np.float64), 1.0, 1e15)
    return round(float(first / (first + second)) * GRID)


def apart(x: Reals, y: Reals, share: int) -> float:
    """sup over t of |#{x <= t} - share #{x or y <= t}|: exact."""
    both = np.concatenate((x, y))
    if len(both) == 0:
        return 0.0
    order = np.argsort(both, kind="stable")
    step = np.where(order < len(x), GRID - share, -share)
    walk = np.cumsum(step)
    last = np.append(np.diff(both[order]) != 0, True)  # only where a value ends
    return int(np.abs(walk[last]).max()) / GRID


def kolmogorov_above(k: Reals, n: float) -> Reals:
    """P(n distance >= k) for n rows (Stephens 1970)."""
    root = np.sqrt(n)
    return np.where(k <= 0, 1.0, stats.kstwobign.sf((root + 0.12 + 0.11 / root) * np.maximum(k, 1e-9) / n))


def bridge_above(k: Reals, end: Reals, variance: float) -> Reals:
    """P(sup |B| >= k) for Brownian motion with this variance that ends at `end`."""
    j = np.arange(-14, 15)
    inside = np.abs(end) < k
    height = np.where(inside, k, 1.0)[:, None]
    end = np.broadcast_to(end, inside.shape)[:, None]
    terms = np.exp(
        np.minimum(-2 * j * height * (j * height - np.where(inside[:, None], end, 0.0)) / variance, 0.0)
    )
    small = np.where(inside, k, 1.0) ** 2 / variance < 0.1  # all but 3e-5 of paths go further
    kept = np.clip((terms * (-1.0) ** np.abs(j)).sum(axis=1), 0.0, 1.0)
    return np.where(inside & ~small, 1 - kept, 1.0)
