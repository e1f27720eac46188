"""Are the means of several groups equal? Analysis of variance from noisy counts, sums, and one sum of squares.

Values become u = (x - middle) / half the width of their public bounds. A record is in one of k public groups: the
counts n and the sums S of all groups are released, each for the price of one, and the total Q of u^2. With group means
m = S / n and the pooled variance v = (Q - sum of S^2 / n) / (N - k), the variance of a group's mean is

    V = (n v + (noise of S) + M^2 (noise of n)) / n^2,   M the mean of all,

and the statistic is sum of (m - mean weighted by 1 / V)^2 / V over k - 1 (James 1951; Welch 1951, with a pooled
variance): F without noise in equal groups. Noise as large as a small group's sum only takes weight from that group.

The p-value is its rank among 4 999 statistics that were drawn under the hypothesis at the released counts, mean and
variance: sums of rows normal, their squares chi-square, noise added as it is to the data. Swanberg, Globus-Harris,
Griffith, Ritz, Groce and Bray 2019, "Improved Differentially Private Analysis of Variance", have the noise in two sums
over all groups instead; see experiments/INFER_TESTS.md for the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer import inputs
from dalenius.infer.columns import Categories, Column, Numbers
from dalenius.infer.hypotheses import reference, rows
from dalenius.infer.hypotheses.bounded_test import BoundedTest
from dalenius.infer.hypotheses.hypothesis_test import Released, needed
from dalenius.infer.hypotheses.means import Population
from dalenius.infer.hypotheses.parts import Moved, Part, cell_counts, drawn, part
from dalenius.infer.hypotheses.result import TestResult

SHARES = (0.15, 0.75, 0.1)
"""Of the promise: counts, sums, the sum of squares."""


@dataclass(frozen=True)
class AnovaTest(BoundedTest):
    """The analysis of variance as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        What is public about the values: (lowest, highest). They are cut off there. In a session they may be left out
        where the schema has those of the column.
    levels
        All groups there can be; public.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: the number of rows is public, and a record may change its group.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.AnovaTest(dp.GDP(1.0), bounds=(0, 10), levels=("a", "b", "c"))
    >>> values, groups = [4.0, 5.0, 7.0] * 100, ["a", "b", "c"] * 100
    >>> test.run(values, groups).pvalue < 0.01, round(test.loss.gdp(), 6)
    (True, 1.0)
    """

    levels: tuple[Any, ...] = ()

    method = "analysis of variance"

    def _check(self) -> None:
        super()._check()
        object.__setattr__(self, "levels", inputs.levels("levels", self.levels))

    @cached_property
    def parts(self) -> tuple[Part, Part, Part]:
        """Counts, sums, and the sum of squares. Replacing a record takes it from one group to another (l1 2, l2
        sqrt 2), or a value from one bound to the other within a group (2 and 2)."""
        one = Moved(1.0, 1.0)
        promise, adjacency = self.guarantee, self.adjacency
        return (
            cell_counts(promise, SHARES[0], adjacency),
            part(promise, SHARES[1], Moved(2.0, 2.0) if adjacency is REPLACE_ONE else one, adjacency),
            part(promise, SHARES[2], one, adjacency),
        )

    @cached_property
    def loss(self) -> Loss:
        counts, sums, square = (one.mechanism.loss for one in self.parts)
        return counts + sums + square

    @property
    def columns(self) -> tuple[Column, ...]:
        return Categories(self.levels), Numbers(self.bounds)

    def data(self, *columns: Any) -> tuple[Any, ...]:
        groups, values = columns
        return values, groups

    def release(self, *data: Any) -> Released:
        values = inputs.column(data[0], "values")[0]
        places = inputs.codes(data[1], self.levels, "groups")
        inputs.same_length(values, places, "values and groups")
        low, high = self.limits
        middle = (low + high) / 2
        places = (
            np.maximum(places, 0)
            if self.adjacency is REPLACE_ONE
            else np.where(np.isfinite(values), places, -1)
        )
        u = rows.steps(np.where(np.isfinite(values), values, middle), middle, (high - low) / 2)
        u, places = u[places >= 0], places[places >= 0]
        k = len(self.levels)
        counts = np.bincount(places, minlength=k).astype(np.int64)
        sums = np.zeros(k, dtype=np.int64)
        np.add.at(sums, places, u)
        of_counts, of_sums, of_square = self.parts
        return {
            "counts": np.asarray(of_counts.release(counts), dtype=np.float64),
            "sums": of_sums.release(sums / rows.STEPS),
            "square": of_square.release(int(rows.squares(u).sum()) / rows.STEPS),
        }

    def judge(self, released: Released) -> TestResult:
        n, s = np.asarray(released["counts"])[None], np.asarray(released["sums"])[None]
        q = np.array([float(released["square"])])
        statistic, facts = self._statistic(n, s, q)
        simulated = self._null(
            reference.generator(n, s, q),
            np.maximum(np.rint(n[0]), 2),
            float(facts.mean[0]),
            float(facts.variance[0]),
        )
        low, high = self.limits
        names = [f"mean of {checks.shown(level)}" for level in self.levels]
        means = (low + high) / 2 + (high - low) / 2 * facts.means[0]
        return TestResult(
            self.method,
            f"the means of {len(self.levels)} groups are equal",
            float(statistic[0]),
            reference.pvalue(float(statistic[0]), simulated),
            loss=self.loss,
            released=released,
            estimates=dict(zip(names, means.tolist(), strict=True)),
        )

    def _statistic(self, n: Reals, s: Reals, q: Reals) -> tuple[Reals, _Facts]:
        """Along the first axis."""
        of_counts, of_sums, of_square = (one.law for one in self.parts)
        k = n.shape[1]
        size = np.maximum(n, 1.0)
        means = np.clip(s / size, -1.0, 1.0)
        total = np.maximum(size.sum(axis=1), k + 1.0)
        within = q - ((s**2 - of_sums.variance) / size).sum(axis=1)
        # Not below what its noise hides, and not above what bounds allow.
        wobble = np.sqrt(of_square.variance + 4 * of_sums.variance * (means**2).sum(axis=1)) / total
        variance = np.clip(within / (total - k), wobble / 2, 1.0)
        mean = np.clip(s.sum(axis=1) / total, -1.0, 1.0)
        each = size * variance[:, None] + of_sums.variance + mean[:, None] ** 2 * of_counts.variance
        weight = size**2 / each
        centre = (weight * means).sum(axis=1) / weight.sum(axis=1)
        # A group with hardly a row has no mean to compare; its sum less n times the centre is noise all the same.
        away = np.where(n < 1, s - n * centre[:, None], size * (means - centre[:, None]))
        statistic = (away**2 / each).sum(axis=1) / (k - 1)
        return statistic, _Facts(means, mean, variance)

    def _null(
        self,
        generator: Generator,
        n: Reals,
        mean: float,
        variance: float,
        replicates: int = reference.REPLICATES,
    ) -> Reals:
        """Statistics of groups of these sizes with one mean and variance."""
        total, k = float(n.sum()), len(n)
        s = n * mean + np.sqrt(n * variance) * generator.standard_normal((replicates, k))
        q = variance * generator.chisquare(max(total - k, 1.0), replicates) + (s**2 / n).sum(axis=1)
        return self._noisy(generator, np.tile(n, (replicates, 1)), s, q)

    def _noisy(self, generator: Generator, n: Reals, s: Reals, q: Reals) -> Reals:
        of_counts, of_sums, of_square = (one.law for one in self.parts)
        n = n + drawn(of_counts, generator, n.shape)
        s = s + drawn(of_sums, generator, s.shape)
        return self._statistic(n, s, q + drawn(of_square, generator, q.shape))[0]

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        means, deviation = needed(
            effect, self.method, means="of all groups, of equal sizes", deviation="within them"
        )
        k = len(self.levels)
        if not hasattr(means, "__len__") or len(means) != k:
            raise InvalidParameter.of("means", f"means must be {k} numbers, one for each group.")
        low, high = self.limits
        middle, half = (low + high) / 2, (high - low) / 2
        sizes = np.full(k, float(max(n // k, 2)))
        drawn_sums = [
            Population(mean, deviation, self.limits).sums(generator, replicates, int(size), middle, half)
            for mean, size in zip(means, sizes, strict=True)
        ]
        s, q = (np.stack([sums[i] for sums in drawn_sums], axis=1) for i in (0, 1))
        within, total = (q - s**2 / sizes).sum(axis=1), sizes.sum()
        if not private:
            between = (s**2 / sizes).sum(axis=1) - s.sum(axis=1) ** 2 / total
            f = between / (k - 1) / np.maximum(within / (total - k), 1e-300)
            return np.asarray(stats.f.sf(f, k - 1, total - k))
        real = self._noisy(generator, np.tile(sizes, (replicates, 1)), s, q.sum(axis=1))
        mean, variance = float(s.sum(axis=1).mean() / total), float(within.mean() / (total - k))
        return reference.pvalues(real, self._null(generator, sizes, mean, variance, replicates))


@dataclass(frozen=True)
class _Facts:
    """What the released numbers say of the groups: their means, the mean of all, the variance within."""

    means: Reals
    mean: Reals
    variance: Reals


def anova(
    values: object,
    groups: object,
    guarantee: Guarantee,
    *,
    bounds: tuple[float, float],
    levels: Any,
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether all groups have the same mean: analysis of variance with the noise in its reference law.

    Parameters
    ----------
    values
        One number a row.
    groups
        The group of each row. Rows with another group, or with no number, are absent (ADD_REMOVE), or in the first
        group and in the middle of the bounds (REPLACE_ONE).
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        What is public about the values: (lowest, highest). They are cut off there.
    levels
        All groups there can be; public.
    adjacency
        ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    TestResult
        With the means of the groups.

    Raises
    ------
    InvalidParameter
        If a setting cannot be, or the columns differ in length.

    Examples
    --------
    >>> import dalenius as dp
    >>> values, groups = [4.0, 5.0, 7.0] * 100, ["a", "b", "c"] * 100
    >>> dp.infer.anova(values, groups, dp.PureDP(1.0), bounds=(0, 10), levels=("a", "b", "c")).rejects()
    True
    """
    return AnovaTest(guarantee, bounds=bounds, levels=levels, adjacency=adjacency).run(values, groups)


def anova_from_estimates(estimates: object, errors: object, *, loss: Loss | None = None) -> TestResult:
    """Test whether several means are equal, from estimates that were released elsewhere, each with its standard error.

    The weighted squares of their distances from the weighted mean are compared with the chi-square law (Cochran 1937):
    for estimates that are about normal, with rows enough that their errors are known.

    Parameters
    ----------
    estimates
        The estimated means, of groups that share no record.
    errors
        Their standard errors, sampling and noise together: of an answer of a session, `answer.at(sampling=True)`.
    loss
        What the estimates cost, to go with the result.

    Returns
    -------
    TestResult
        The outcome.

    Raises
    ------
    InvalidParameter
        If there are not two estimates or more, each with an error above 0.

    Examples
    --------
    >>> from dalenius.infer import anova_from_estimates
    >>> anova_from_estimates([50.1, 52.3, 47.2], [0.9, 1.0, 0.8]).pvalue < 0.01
    True
    """
    try:
        m, error = np.array(estimates, dtype=np.float64), np.array(errors, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        m = error = np.empty(0)
    if (
        m.ndim != 1
        or m.shape != error.shape
        or len(m) < 2
        or not np.isfinite(m + error).all()
        or not (error > 0).all()
    ):
        raise InvalidParameter("estimates and errors must be two numbers or more each, the errors above 0.")
    weight = 1 / error**2
    centre = (weight * m).sum() / weight.sum()
    statistic = float((weight * (m - centre) ** 2).sum())
    return TestResult(
        "test of several means",
        f"the {len(m)} means are equal",
        statistic,
        float(stats.chi2.sf(statistic, len(m) - 1)),
        loss=loss,
        released={"estimates": m, "errors": error},
    )
