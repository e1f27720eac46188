"""Is the mean m0, and are two means equal? Student's and Welch's tests with the noise as one more source of variance.

Values lie between public bounds and are cut off there.

One sample. Rows become u = (x - m0) / w, w the larger distance of m0 from a bound, so that |u| <= 1. The sums S of u
and Q of u^2 are released. Under the hypothesis E S = 0 and Var S = E Q: the statistic

    T = S / sqrt(V),   V = max(Q, 0) + (variance of the noise in S),

needs no number of rows. Without noise it is Student's t in other words (t^2 = T^2 (n - 1) / (n - T^2)), and normal
quantiles are a little too large for it, never too small, for normal populations. The noise s_q of Q makes V uncertain:
T is compared with Student's law of 2 V^2 / s_q^2 degrees of freedom (Satterthwaite 1946).

Two samples. u = (x - middle) / half the width. Numbers of rows n (where not public), sums S and sums of squares Q of
both samples are released; a record is in one of them. With means m = S / n, and variances v around the mean of all rows
(theirs under the hypothesis, and hardly moved by the noise of one sum),

    T = (m1 - m2) / sqrt(V1 + V2),   V = (n v + (noise of S) + m^2 (noise of n)) / n^2,

is compared with Student's law, its degrees of freedom those of Welch (1947) with the noise of Q, S and n in the
variance of each V. Where one of the samples has hardly more rows than its noise, nothing is rejected.

Laplace noise makes the numerator longer-tailed than normal: its kurtosis is in the p-value (`intervals.laws.beyond`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats
from scipy.special import ndtri

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer import inputs
from dalenius.infer.columns import OUTCOMES, Column, Numbers
from dalenius.infer.hypotheses import rows
from dalenius.infer.hypotheses.bounded_test import BoundedTest
from dalenius.infer.hypotheses.hypothesis_test import Released, alternative, needed
from dalenius.infer.hypotheses.parts import Moved, Part, drawn, part
from dalenius.infer.hypotheses.result import TestResult
from dalenius.intervals.laws import beyond

ONE_SAMPLE = (0.8, 0.2)
"""Shares of the promise: the sum, and the sum of squares."""

TWO_SAMPLES = (0.15, 0.65, 0.2)
"""Numbers of rows, sums, sums of squares; the first goes to the others where numbers of rows are public."""

SUMMED = 200
"""Up to so many rows, planning draws each of them."""

FEW = 4.0
"""A sample with fewer rows than so many standard deviations of their noise is not judged."""


@dataclass(frozen=True)
class MeanTest(BoundedTest):
    """The test of one mean as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        What is public about the values: (lowest, highest). They are cut off there. In a session they may be left out
        where the schema has those of the column.
    mean
        The mean under the hypothesis, strictly between the bounds.
    alternative
        "two-sided", "less" or "greater".
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.MeanTest(dp.GDP(1.0), bounds=(0, 10), mean=5.0)
    >>> test.run([6.0, 7.0, 5.5] * 100).pvalue < 0.001, round(test.loss.gdp(), 6)
    (True, 1.0)
    """

    mean: float = 0.0
    alternative: str = "two-sided"

    method = "test of a mean"

    def _check(self) -> None:
        super()._check()
        low, high = self.bounds
        mean = checks.number("mean", self.mean)
        if not low < mean < high:
            raise InvalidParameter.of("mean", f"mean is {mean:g}; it must be between the bounds.")
        object.__setattr__(self, "mean", mean)
        alternative(self.alternative)

    @property
    def reach(self) -> float:
        """The larger distance of the mean from a bound."""
        low, high = self.limits
        return max(high - self.mean, self.mean - low)

    @cached_property
    def sum(self) -> Part:
        far = 1.0
        if self.adjacency is REPLACE_ONE:
            # From one bound to the other, each on the grid: half a step of rounding at either end.
            low, high = self.limits
            far = (high - low) / self.reach + 2 / rows.STEPS
        return part(self.guarantee, ONE_SAMPLE[0], Moved(far, far), self.adjacency)

    @cached_property
    def square(self) -> Part:
        return part(self.guarantee, ONE_SAMPLE[1], Moved(1.0, 1.0), self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return self.sum.mechanism.loss + self.square.mechanism.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Numbers(self.bounds),)

    def release(self, *data: Any) -> Released:
        x = np.clip(rows.column(data[0], "x", self.adjacency, self.mean), *self.limits)
        u = rows.steps(x, self.mean, self.reach)
        return {
            "sum": self.sum.release(int(u.sum()) / rows.STEPS),
            "square": self.square.release(int(rows.squares(u).sum()) / rows.STEPS),
        }

    def judge(self, released: Released) -> TestResult:
        s, q = float(released["sum"]), float(released["square"])
        t, p = self._judged(np.array([s]), np.array([q]))
        return TestResult(
            self.method,
            f"the mean is {self.mean:g}" + _side(self.alternative, f"{self.mean:g}"),
            float(t[0]),
            float(p[0]),
            loss=self.loss,
            released=released,
        )

    def _judged(self, s: Reals, q: Reals) -> tuple[Reals, Reals]:
        law = self.sum.law
        variance = np.maximum(q, 0.0) + law.variance
        t = s / np.sqrt(variance)
        degrees = 2 * variance**2 / self.square.law.variance
        return t, one_or_two_sided(t, law.fourth / variance**2, degrees, self.alternative)

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        mean, deviation = needed(effect, self.method, mean="the true mean", deviation="of the population")
        population = Population(mean, deviation, self.limits)
        s, q = population.sums(generator, replicates, n, self.mean, self.reach)
        if not private:
            t = s / np.sqrt(np.maximum(q - s**2 / n, 1e-300) * n / (n - 1))
            return one_or_two_sided(t, np.zeros(replicates), np.full(replicates, n - 1.0), self.alternative)
        s = s + drawn(self.sum.law, generator, s.shape)
        return self._judged(s, q + drawn(self.square.law, generator, s.shape))[1]


@dataclass(frozen=True)
class TwoSampleMeanTest(BoundedTest):
    """The test of two means as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        What is public about the values: (lowest, highest). They are cut off there. In a session they may be left out
        where the schema has those of the column.
    alternative
        "two-sided", "less" (the first mean is smaller) or "greater".
    adjacency
        ADD_REMOVE, or REPLACE_ONE: both numbers of rows are public, and a record stays in its sample.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.TwoSampleMeanTest(dp.GDP(1.0), bounds=(0, 10))
    >>> test.run([6.0, 7.0, 5.5] * 100, [4.0, 5.0, 6.5] * 100).pvalue < 0.001
    True
    """

    alternative: str = "two-sided"

    method = "test of two means"

    def _check(self) -> None:
        super()._check()
        alternative(self.alternative)

    @cached_property
    def parts(self) -> tuple[Part | None, Part, Part]:
        """Of the numbers of rows, sums, and sums of squares."""
        rows_share, sums, squares = TWO_SAMPLES
        one = Moved(1, 1.0)
        if self.adjacency is REPLACE_ONE:
            sums, squares = sums / (sums + squares), squares / (sums + squares)
            moved = Moved(2.0, 2.0)
            of_sums = part(self.guarantee, sums, moved, self.adjacency)
            return None, of_sums, part(self.guarantee, squares, one, self.adjacency)
        return (
            part(self.guarantee, rows_share, one, self.adjacency, whole=True),
            part(self.guarantee, sums, one, self.adjacency),
            part(self.guarantee, squares, one, self.adjacency),
        )

    @cached_property
    def loss(self) -> Loss:
        first, sums, squares = self.parts
        loss = sums.mechanism.loss + squares.mechanism.loss
        return loss if first is None else first.mechanism.loss + loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return OUTCOMES, Numbers(self.bounds)

    def data(self, *columns: Any) -> tuple[Any, ...]:
        """The first sample is of rows with 1."""
        return rows.two_samples(*columns)

    def release(self, *data: Any) -> Released:
        low, high = self.limits
        middle = (low + high) / 2
        counts, sums, squares = [], [], []
        for values, what in zip(data, ("x", "y"), strict=True):
            x = rows.column(values, what, self.adjacency, middle)
            u = rows.steps(x, middle, (high - low) / 2)
            counts.append(len(u))
            sums.append(int(u.sum()) / rows.STEPS)
            squares.append(int(rows.squares(u).sum()) / rows.STEPS)
        of_rows, of_sums, of_squares = self.parts
        number = np.array(counts, dtype=np.int64)
        return {
            "rows": np.asarray(number if of_rows is None else of_rows.release(number), dtype=np.float64),
            "sums": of_sums.release(np.array(sums)),
            "squares": of_squares.release(np.array(squares)),
        }

    def judge(self, released: Released) -> TestResult:
        n, s, q = (np.asarray(released[name])[None] for name in ("rows", "sums", "squares"))
        t, p = self._judged(n, s, q)
        low, high = self.limits
        means = (low + high) / 2 + (high - low) / 2 * np.clip(s[0] / np.maximum(n[0], 1.0), -1.0, 1.0)
        side = {
            "two-sided": "",
            "less": ", or the first is larger",
            "greater": ", or the second is larger",
        }
        return TestResult(
            self.method,
            "the two means are equal" + side[self.alternative],
            float(t[0]),
            float(p[0]),
            loss=self.loss,
            released=released,
            estimates={"first mean": float(means[0]), "second mean": float(means[1])},
        )

    def _judged(self, n: Reals, s: Reals, q: Reals) -> tuple[Reals, Reals]:
        of_rows, of_sums, of_squares = (None if one is None else one.law for one in self.parts)
        assert of_sums is not None
        assert of_squares is not None
        rows_noise = 0.0 if of_rows is None else of_rows.variance
        size = np.maximum(n, 2.0)
        m = np.clip(s / size, -1.0, 1.0)
        # Around the mean of both: a large noise in one sum must not make that sample's variance small.
        common = np.clip(s.sum(axis=-1) / size.sum(axis=-1), -1.0, 1.0)[..., None]
        scatter = (q - 2 * common * s + size * common**2) / (size - 1)
        v = np.clip(scatter, 0.0, 1.0)
        each = (size * v + of_sums.variance + m**2 * rows_noise) / size**2
        wobble = 2 * v**2 * size**2 / (size - 1) + of_squares.variance + 4 * common**2 * of_sums.variance
        wobble = wobble + (common**2 - v) ** 2 * rows_noise
        total = each.sum(axis=-1)
        t = (m[..., 0] - m[..., 1]) / np.sqrt(total)
        degrees = 2 * total**2 / (wobble / size**4).sum(axis=-1)
        fourth = of_sums.fourth + m**4 * (0.0 if of_rows is None else of_rows.fourth)
        peak = (fourth / size**4).sum(axis=-1) / total**2
        p = one_or_two_sided(t, peak, degrees, self.alternative)
        few = (n < FEW * np.sqrt(rows_noise) + 2).any(axis=-1)
        return t, np.where(few, 1.0, p)

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        difference, deviation = needed(
            effect,
            self.method,
            difference="of the true means, the first less the second",
            deviation="of both populations",
        )
        low, high = self.limits
        middle, half, difference = (low + high) / 2, (high - low) / 2, checks.number("difference", difference)
        sizes = np.array((n // 2, n - n // 2), dtype=np.float64)
        both = [
            Population(middle + side * difference / 2, deviation, self.bounds).sums(
                generator, replicates, int(size), middle, half
            )
            for size, side in zip(sizes, (1, -1), strict=True)
        ]
        s, q = (np.stack([sums[k] for sums in both], axis=1) for k in (0, 1))
        if not private:
            each = np.maximum(q - s**2 / sizes, 1e-300) / (sizes - 1) / sizes
            total = each.sum(axis=1)
            t = (s[:, 0] / sizes[0] - s[:, 1] / sizes[1]) / np.sqrt(total)
            degrees = total**2 / (each**2 / (sizes - 1)).sum(axis=1)
            return one_or_two_sided(t, np.zeros(replicates), degrees, self.alternative)
        of_rows, of_sums, of_squares = self.parts
        counts = np.tile(sizes, (replicates, 1))
        if of_rows is not None:
            counts = counts + drawn(of_rows.law, generator, s.shape)
        s, q = s + drawn(of_sums.law, generator, s.shape), q + drawn(of_squares.law, generator, s.shape)
        return self._judged(counts, s, q)[1]


def mean_test(
    x: object,
    guarantee: Guarantee,
    *,
    bounds: tuple[float, float],
    mean: float,
    alternative: str = "two-sided",
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether a mean is `mean`: Student's test with the noise as one more source of variance.

    Parameters
    ----------
    x
        One number a row. What is none is absent (ADD_REMOVE) or taken for `mean` (REPLACE_ONE).
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        What is public about the values: (lowest, highest). They are cut off there, and the mean is that of the rest.
    mean
        The mean under the hypothesis, strictly between the bounds.
    alternative
        "two-sided", "less" or "greater".
    adjacency
        ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    TestResult
        The outcome; `dalenius.infer.mean` gives an estimate with an interval.

    Raises
    ------
    InvalidParameter
        If a setting cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.infer.mean_test([6.0, 7.0, 5.5] * 100, dp.GDP(1.0), bounds=(0, 10), mean=5.0).pvalue < 0.001
    True
    """
    return MeanTest(guarantee, bounds=bounds, mean=mean, alternative=alternative, adjacency=adjacency).run(x)


def paired_mean_test(
    x: object,
    y: object,
    guarantee: Guarantee,
    *,
    bounds: tuple[float, float],
    alternative: str = "two-sided",
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether the differences x - y of pairs have the mean 0.

    Parameters
    ----------
    x
        One number a row.
    y
        The other number of the same rows. Pairs with a missing number are absent (ADD_REMOVE) or count as equal.
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        What is public about the *differences*: (lowest, highest), on either side of 0. They are cut off there.
    alternative
        "two-sided", "less" or "greater".
    adjacency
        ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    TestResult
        The outcome.

    Raises
    ------
    InvalidParameter
        If a setting cannot be, or the columns differ in length.

    Examples
    --------
    >>> import dalenius as dp
    >>> before, after = [5.0, 6.0, 7.0] * 100, [6.0, 6.5, 8.0] * 100
    >>> dp.infer.paired_mean_test(before, after, dp.GDP(1.0), bounds=(-3, 3)).pvalue < 0.001
    True
    """
    first, second = inputs.column(x, "x")[0], inputs.column(y, "y")[0]
    inputs.same_length(first, second, "x and y")
    test = MeanTest(guarantee, bounds=bounds, mean=0.0, alternative=alternative, adjacency=adjacency)
    with np.errstate(over="ignore", invalid="ignore"):
        found = test.run(first - second)
    found.method = "paired test of means"
    found.hypothesis = found.hypothesis.replace("the mean", "the mean difference", 1)
    return found


def two_sample_mean_test(
    x: object,
    y: object,
    guarantee: Guarantee,
    *,
    bounds: tuple[float, float],
    alternative: str = "two-sided",
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether two samples have the same mean: Welch's test with the noise as one more source of variance.

    Parameters
    ----------
    x
        One number for each row of the first sample. What is none is absent (ADD_REMOVE) or in the middle (REPLACE_ONE).
    y
        The same for the second sample. A record is in one of the two.
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        What is public about the values: (lowest, highest). They are cut off there.
    alternative
        "two-sided", "less" (the first mean is smaller) or "greater".
    adjacency
        ADD_REMOVE, or REPLACE_ONE: both numbers of rows are public, and a record stays in its sample.

    Returns
    -------
    TestResult
        With both means.

    Raises
    ------
    InvalidParameter
        If a setting cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> x, y = [6.0, 7.0, 5.5] * 100, [4.0, 5.0, 6.5] * 100
    >>> dp.infer.two_sample_mean_test(x, y, dp.PureDP(1.0), bounds=(0, 10)).pvalue < 0.01
    True
    """
    return TwoSampleMeanTest(guarantee, bounds=bounds, alternative=alternative, adjacency=adjacency).run(x, y)


def one_or_two_sided(t: Reals, peak: Reals, degrees: Reals, alternative: str) -> Reals:
    """The p-value of t: a normal law with this kurtosis in its numerator, an estimated variance below."""

    def above(t: Reals) -> Reals:
        z = -ndtri(np.clip(beyond(np.asarray(peak), t), 1e-300, 1 - 1e-16))
        return np.asarray(stats.t.sf(z, np.maximum(degrees, 1.0)))

    if alternative == "two-sided":
        return np.minimum(2 * above(np.abs(t)), 1.0)
    return above(t if alternative == "greater" else -t)


@dataclass(frozen=True)
class Population:
    """A normal population, cut off at bounds: what power is worked out for."""

    mean: float
    deviation: float
    bounds: tuple[float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", checks.number("mean", self.mean))
        object.__setattr__(self, "deviation", checks.positive("deviation", self.deviation))

    def sums(
        self, generator: Generator, replicates: int, n: int, centre: float, reach: float
    ) -> tuple[Reals, Reals]:
        """Sums and sums of squares of (x - centre) / reach of n rows; beyond 200 rows, normal with their moments."""
        if n <= SUMMED:
            x = np.clip(generator.normal(self.mean, self.deviation, (replicates, n)), *self.bounds)
            u = (x - centre) / reach
            return u.sum(axis=1), (u * u).sum(axis=1)
        x = np.clip(self.mean + self.deviation * ndtri((np.arange(4000) + 0.5) / 4000), *self.bounds)
        u = (x - centre) / reach
        pair = np.stack((u, u * u))
        cov = n * np.cov(pair, bias=True) + 1e-12 * np.eye(2)
        found = generator.multivariate_normal(n * pair.mean(axis=1), cov, replicates)
        return found[:, 0], found[:, 1]


def _side(alternative: str, value: str) -> str:
    return {"two-sided": "", "less": f" or more than {value}", "greater": f" or less than {value}"}[
        alternative
    ]
