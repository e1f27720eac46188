"""Rank tests: Mann and Whitney, Wilcoxon's signed ranks, Kruskal and Wallis, from sums of signs with noise.

Each statistic is a sum of signs of comparisons, a whole number, 0 on average under the hypothesis whatever the numbers
of rows; ties count 0, which is the midrank rule.

    Mann-Whitney     C = sum over i, j of sign(x_i - y_j) = 2 U - n m
    signed ranks     W = sum over i <= j of sign(x_i + x_j) = sum of sign(x_i) rank(|x_i|)
    Kruskal-Wallis   A = sum over g of |C_g|,   C_g = sum over i in g, all j, of sign(z_i - z_j)

Sensitivity. Replacing one x changes m signs of C, each by 2 at most: 2 m, and 2 max(n, m) for either sample. Of W it
changes n signs: 2 n. A record z put into group a among N - 1 others changes C_a by -sum over g <> a of t_g and the
others by t_g, where |t_g| <= n_g (within a group signs cancel): A moves by 2 (N - 1) at most, and by 4 (N - 1) for
replacing one, which is taking one out and putting one in. (Couch, Kazan, Shi, Bray and Groce 2019, "Differentially
Private Nonparametric Hypothesis Testing", have the same for replacement: 2 max(n, m), 2 n, and 8 for 2 (N - 1) A /
N^2. With one number to release, A sees more than the sum of squares of Kruskal and Wallis.)

Under ADD_REMOVE the numbers of rows are released first, with noise, and rounded up they are limits: of more rows than
that, so many are used, drawn at random. Adding a record then adds it to those used, or puts it in the place of
another (keep the order in which the others are drawn): the sensitivities of replacing hold for every data set, with
the limits in the place of n, m and N. The p-value takes the limits for the numbers of rows used: those are no more,
and the variance grows with them, so it is never too small. So it is with ties, of which the variance is less than
without:

    n m (n + m + 1) / 3,   n (n + 1)(2 n + 1) / 6,   (N + 1) (N diag(n) - n n') / 3.
"""

from __future__ import annotations

import math
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
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.infer import inputs
from dalenius.infer.columns import OUTCOMES, Categories, Column, Numbers
from dalenius.infer.hypotheses import reference, rows
from dalenius.infer.hypotheses.hypothesis_test import (
    HypothesisTest,
    Released,
    alternative,
    needed,
)
from dalenius.infer.hypotheses.means import one_or_two_sided
from dalenius.infer.hypotheses.parts import Moved, Part, cell_counts, drawn, part, stretched
from dalenius.infer.hypotheses.result import TestResult
from dalenius.noise import uniform_integers

ROWS = 0.1
"""The share of the promise that numbers of rows take, where they are not public."""

EQUAL = 3.0
"""By how many times what noise alone makes of them differences of group sizes are shrunk; chosen by simulation."""


class _Ranked(HypothesisTest):
    """A sum of signs after the numbers of rows, and noise in proportion to those."""

    @cached_property
    def of_rows(self) -> Part | None:
        """Numbers of rows; None where they are public."""
        return rows_part(self.guarantee, self.adjacency)

    @cached_property
    def unit(self) -> Part:
        """Noise for a statistic that one record moves by 1."""
        share = 1.0 if self.of_rows is None else 1 - ROWS
        return part(self.guarantee, share, Moved(1.0, 1.0), self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        first = self.of_rows
        return self.unit.mechanism.loss if first is None else first.mechanism.loss + self.unit.mechanism.loss


@dataclass(frozen=True)
class MannWhitneyTest(_Ranked):
    """The Mann-Whitney test as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    alternative
        "two-sided", "less" (the first sample is smaller) or "greater".
    adjacency
        ADD_REMOVE, or REPLACE_ONE: both numbers of rows are public, and a record stays in its sample.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.MannWhitneyTest(dp.PureDP(1.0))
    >>> test.run(range(100, 300), range(50, 250)).pvalue < 0.01, test.loss.epsilon(0.0) <= 1.0
    (True, True)
    """

    alternative: str = "two-sided"

    method = "Mann-Whitney test"

    def _check(self) -> None:
        alternative(self.alternative)

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
        number, most = limited(np.array([len(x), len(y)], dtype=np.int64), self.of_rows)
        x, y = some(x, most[0]), some(y, most[1])
        noise = stretched(self.unit, 2 * int(most.max()))
        return {"rows": number, "limits": most, "signs": noise.release(compared(x, y))}

    def judge(self, released: Released) -> TestResult:
        c, most = float(released["signs"]), np.asarray(released["limits"], dtype=np.float64)
        t, p = self._judged(np.array([c]), most[None])
        side = {
            "two-sided": "",
            "less": ", or the first is larger",
            "greater": ", or the second is larger",
        }
        return TestResult(
            self.method,
            "the two samples are from one population" + side[self.alternative],
            float(t[0]),
            float(p[0]),
            loss=self.loss,
            released=released,
            estimates={"P(x > y) - P(x < y)": float(np.clip(c / max(most.prod(), 1.0), -1.0, 1.0))},
        )

    def _judged(self, c: Reals, most: Reals) -> tuple[Reals, Reals]:
        n, m = most[:, 0], most[:, 1]
        variance = n * m * (n + m + 1) / 3
        return signs_judged(self, c, variance, 2 * np.maximum(n, m))

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
        most = limits_drawn(np.tile(sizes, (replicates, 1)), self.of_rows, generator)
        found = []
        for limits in np.minimum(most, sizes).astype(int) if private else [sizes.astype(int)] * replicates:
            x, y = (sample(kind, size, generator) for kind, size in zip((first, second), limits, strict=True))
            found.append(compared(x, y))
        if not private:
            t = np.array(found) / math.sqrt(sizes.prod() * (n + 1) / 3)
            return normal_pvalues(t, self.alternative)
        noise = drawn(self.unit.law, generator, (replicates,)) * 2 * np.maximum(most.max(axis=1), 1)
        return self._judged(np.array(found) + noise, most)[1]


@dataclass(frozen=True)
class SignedRankTest(_Ranked):
    """Wilcoxon's signed-rank test as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    alternative
        "two-sided", "less" (the centre is below 0) or "greater".
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.infer.SignedRankTest(dp.PureDP(1.0)).run(range(-50, 250)).pvalue < 0.01
    True
    """

    alternative: str = "two-sided"

    method = "Wilcoxon signed-rank test"

    def _check(self) -> None:
        alternative(self.alternative)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Numbers(),)

    def release(self, *data: Any) -> Released:
        x = rows.column(data[0], "x", self.adjacency)
        number, most = limited(np.array([len(x)], dtype=np.int64), self.of_rows)
        noise = stretched(self.unit, 2 * int(most[0]))
        return {"rows": number, "limits": most, "signs": noise.release(signed_ranks(some(x, most[0])))}

    def judge(self, released: Released) -> TestResult:
        w, most = float(released["signs"]), np.asarray(released["limits"], dtype=np.float64)
        t, p = self._judged(np.array([w]), most[None])
        side = {"two-sided": "", "less": " or above it", "greater": " or below it"}
        return TestResult(
            self.method,
            "values are symmetric around 0" + side[self.alternative],
            float(t[0]),
            float(p[0]),
            loss=self.loss,
            released=released,
        )

    def _judged(self, w: Reals, most: Reals) -> tuple[Reals, Reals]:
        n = most[:, 0]
        return signs_judged(self, w, n * (n + 1) * (2 * n + 1) / 6, 2 * n)

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        (population,) = needed(effect, self.method, population="a scipy.stats distribution")
        most = limits_drawn(np.full((replicates, 1), float(n)), self.of_rows, generator)
        found = []
        for limit in np.minimum(most[:, 0], n).astype(int) if private else [n] * replicates:
            x = sample(population, limit, generator)
            found.append(signed_ranks(x))
        if not private:
            return normal_pvalues(
                np.array(found) / math.sqrt(n * (n + 1) * (2 * n + 1) / 6), self.alternative
            )
        noise = drawn(self.unit.law, generator, (replicates,)) * 2 * np.maximum(most[:, 0], 1)
        return self._judged(np.array(found) + noise, most)[1]


@dataclass(frozen=True)
class KruskalWallisTest(HypothesisTest):
    """The Kruskal-Wallis test as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    levels
        All groups there can be; public.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: the number of rows is public, and a record may change its group.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.KruskalWallisTest(dp.GDP(1.0), levels=("a", "b", "c"))
    >>> test.run(list(range(600)), ["a"] * 200 + ["b"] * 200 + ["c"] * 200).pvalue < 0.01
    True
    """

    levels: tuple[Any, ...] = ()

    method = "Kruskal-Wallis test"

    def _check(self) -> None:
        object.__setattr__(self, "levels", inputs.levels("levels", self.levels))

    @cached_property
    def of_counts(self) -> Part:
        """Noise for the numbers of rows of all groups."""
        return cell_counts(self.guarantee, ROWS, self.adjacency)

    @cached_property
    def unit(self) -> Part:
        """Noise for a number that one record moves by 4."""
        return part(self.guarantee, 1 - ROWS, Moved(4.0, 4.0), self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return self.of_counts.mechanism.loss + self.unit.mechanism.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return Categories(self.levels), Numbers()

    def data(self, *columns: Any) -> tuple[Any, ...]:
        groups, values = columns
        return values, groups

    def release(self, *data: Any) -> Released:
        values = inputs.column(data[0], "values")[0]
        places = inputs.codes(data[1], self.levels, "groups")
        inputs.same_length(values, places, "values and groups")
        if self.adjacency is REPLACE_ONE:
            values, places = np.where(np.isfinite(values), values, 0.0), np.maximum(places, 0)
        else:
            known = np.isfinite(values) & (places >= 0)
            values, places = values[known], places[known]
        k = len(self.levels)
        counts = np.asarray(
            self.of_counts.release(np.bincount(places, minlength=k).astype(np.int64)), dtype=np.float64
        )
        most = self._most(counts, len(values))
        noise = stretched(self.unit, max(most - 1, 1))
        used = some(np.arange(len(values)), most)
        signs = int(np.abs(group_signs(values[used], places[used], k)).sum())
        return {"counts": counts, "limit": most, "signs": noise.release(signs)}

    def _most(self, counts: Reals, rows: int) -> int:
        if self.adjacency is REPLACE_ONE:
            return max(rows, 1)
        return max(1, math.ceil(min(float(counts.sum()), 1e15)))

    def judge(self, released: Released) -> TestResult:
        counts, most = np.asarray(released["counts"]), int(released["limit"])
        statistic = float(released["signs"])
        generator = reference.generator(counts, [statistic])
        simulated = self._null(generator, counts, float(most), reference.REPLICATES)
        return TestResult(
            self.method,
            f"the {len(self.levels)} groups are from one population",
            statistic,
            reference.pvalue(statistic, simulated),
            loss=self.loss,
            released=released,
        )

    def _null(self, generator: Generator, counts: Reals, most: float, replicates: int) -> Reals:
        """Sums of signs are normal, of groups of the released sizes, made to add up to the limit."""
        size = likely_sizes(counts, self.of_counts.law.variance, most)
        cov = (most + 1) / 3 * (most * np.diag(size) - np.outer(size, size))
        values, vectors = np.linalg.eigh(cov)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        signs = generator.standard_normal((replicates, len(size))) @ root.T
        noise = drawn(self.unit.law, generator, (replicates,)) * max(most - 1, 1.0)
        return np.asarray(np.abs(signs).sum(axis=1) + noise)

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        (populations,) = needed(
            effect, self.method, populations="scipy.stats distributions, one for each group"
        )
        k = len(self.levels)
        if not isinstance(populations, list | tuple) or len(populations) != k:
            raise InvalidParameter.of(
                "populations", f"populations must be {k} distributions, one for each group."
            )
        size = max(n // k, 1)
        places = np.repeat(np.arange(k), size)
        counts = np.full((replicates, k), float(size))
        noisy = counts + drawn(self.of_counts.law, generator, counts.shape)
        most = np.array([float(self._most(row, k * size)) for row in noisy])
        found = []
        for limit in most.astype(int):
            groups = [sample(kind, size, generator) for kind in populations]
            used = generator.permutation(k * size)[:limit] if private else slice(None)
            found.append(group_signs(np.concatenate(groups)[used], places[used], k))
        if not private:
            h = 3 / (k * size * (k * size + 1.0)) * (np.array(found) ** 2 / size).sum(axis=1)
            return np.asarray(stats.chi2.sf(h, k - 1))
        noise = drawn(self.unit.law, generator, (replicates,)) * np.maximum(most - 1, 1.0)
        real, p = np.abs(np.array(found)).sum(axis=1) + noise, np.empty(replicates)
        for limit in np.unique(most):
            simulated = self._null(generator, counts[0], float(limit), 2000)
            p[most == limit] = reference.pvalues(real[most == limit], simulated)
        return p


def mann_whitney_test(
    x: object,
    y: object,
    guarantee: Guarantee,
    *,
    alternative: str = "two-sided",
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether two samples are from one population, by ranks: no bounds are needed.

    Parameters
    ----------
    x
        One number for each row of the first sample. What is none is absent (ADD_REMOVE) or 0 (REPLACE_ONE).
    y
        The same for the second sample. A record is in one of the two.
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    alternative
        "two-sided", "less" (the first sample is smaller) or "greater".
    adjacency
        ADD_REMOVE, or REPLACE_ONE: both numbers of rows are public, and a record stays in its sample.

    Returns
    -------
    TestResult
        With an estimate of P(x > y) - P(x < y).

    Raises
    ------
    InvalidParameter
        If a setting cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.infer.mann_whitney_test(range(100, 300), range(50, 250), dp.PureDP(1.0)).pvalue < 0.01
    True
    """
    return MannWhitneyTest(guarantee, alternative=alternative, adjacency=adjacency).run(x, y)


def signed_rank_test(
    x: object,
    guarantee: Guarantee,
    *,
    alternative: str = "two-sided",
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether values are symmetric around 0, by ranks; of pairs, pass their differences.

    Parameters
    ----------
    x
        One number a row. What is none is absent (ADD_REMOVE) or 0 (REPLACE_ONE).
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    alternative
        "two-sided", "less" (the centre is below 0) or "greater".
    adjacency
        ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    TestResult
        The outcome.

    Raises
    ------
    InvalidParameter
        If a setting cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.infer.signed_rank_test(range(-50, 250), dp.GDP(1.0)).pvalue < 0.01
    True
    """
    return SignedRankTest(guarantee, alternative=alternative, adjacency=adjacency).run(x)


def kruskal_wallis_test(
    values: object,
    groups: object,
    guarantee: Guarantee,
    *,
    levels: Any,
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether several groups are from one population, by ranks: no bounds are needed.

    Parameters
    ----------
    values
        One number a row.
    groups
        The group of each row. Rows with another group, or with no number, are absent (ADD_REMOVE), or in the first
        group and 0 (REPLACE_ONE).
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    levels
        All groups there can be; public.
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
    >>> values, groups = list(range(600)), ["a"] * 200 + ["b"] * 200 + ["c"] * 200
    >>> dp.infer.kruskal_wallis_test(values, groups, dp.PureDP(1.0), levels=("a", "b", "c")).pvalue < 0.01
    True
    """
    return KruskalWallisTest(guarantee, levels=levels, adjacency=adjacency).run(values, groups)


def compared(x: Reals, y: Reals) -> int:
    """The sum over all pairs of sign(x - y)."""
    ordered = np.sort(y)
    below, most = (np.searchsorted(ordered, x, side=side) for side in ("left", "right"))
    return int((below + most - len(y)).sum())


def signed_ranks(x: Reals) -> int:
    """The sum over all i <= j of sign(x_i + x_j)."""
    size = np.sort(np.abs(x))
    below, most = (np.searchsorted(size, np.abs(x), side=side) for side in ("left", "right"))
    return (
        int((np.sign(x).astype(np.int64) * (below + most + 1)).sum()) // 2
    )  # doubled midranks add up to even numbers


def group_signs(values: Reals, places: Ints, k: int) -> Ints:
    """For each group the sum over its rows and all rows of sign(z_i - z_j)."""
    ordered = np.sort(values)
    below, most = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    signs = np.zeros(k, dtype=np.int64)
    np.add.at(signs, places, below + most - len(values))
    return signs


def likely_sizes(counts: Reals, noise: float, most: float) -> Reals:
    """Sizes of groups that add up to `most`, from counts (last axis) with noise of this variance.

    Noise makes groups look more unequal than they are, and sums of signs are the larger the more equal groups are: at
    the counts as released the null law would lie too low (6.5 % of p-values below .05 where there is as much noise as
    rows). So what sets the counts apart is shrunk by `EQUAL` times what noise alone makes of it (as by James and Stein
    1961, who take 1 of it where the aim is the least error).
    """
    mean = counts.mean(axis=-1, keepdims=True)
    away = counts - mean
    square = (away**2).sum(axis=-1, keepdims=True)
    kept = np.maximum(1 - EQUAL * (counts.shape[-1] - 1) * noise / np.maximum(square, 1e-300), 0.0)
    size = np.maximum(mean + kept * away, 0.5)
    return np.asarray(size / size.sum(axis=-1, keepdims=True) * most)


def rows_part(guarantee: Guarantee, adjacency: Adjacency, share: float = ROWS) -> Part | None:
    """Noise for numbers of rows, of which a record changes one."""
    if adjacency is REPLACE_ONE:
        return None
    return part(guarantee, share, Moved(1, 1.0), adjacency, whole=True)


def limited(number: Ints, noise: Part | None) -> tuple[Reals, Ints]:
    """Released numbers of rows, and the most that are used."""
    if noise is None:
        return number.astype(np.float64), np.maximum(number, 1)
    noisy = np.asarray(noise.release(number), dtype=np.float64)
    return noisy, _upper(noisy).astype(np.int64)


def limits_drawn(number: Reals, noise: Part | None, generator: Generator) -> Reals:
    """The same for simulated numbers."""
    return number if noise is None else _upper(number + drawn(noise.law, generator, number.shape))


def _upper(noisy: Reals) -> Reals:
    return np.clip(np.ceil(noisy), 1.0, 1e15)


def some(values: Array, most: int) -> Array:
    """At most so many of the rows, drawn at random."""
    keys = np.asarray(uniform_integers(0, 1 << 62, len(values)))
    return np.asarray(values[np.argsort(keys, kind="stable")[: int(most)]])


def signs_judged(test: Any, c: Reals, variance: Reals, moved: Reals) -> tuple[Reals, Reals]:
    """Statistic and p-value of a sum of signs with noise for what one record moves it by."""
    law = test.unit.law
    total = variance + law.variance * moved**2
    t = c / np.sqrt(total)
    peak = law.fourth * moved**4 / total**2
    return t, one_or_two_sided(t, peak, np.full(len(t), np.inf), test.alternative)


def normal_pvalues(t: Reals, alternative: str) -> Reals:
    """Of a classical statistic without noise."""
    return one_or_two_sided(t, np.zeros(len(t)), np.full(len(t), np.inf), alternative)


def sample(population: Any, n: int, generator: Generator) -> Reals:
    """Simulated rows of a scipy.stats distribution."""
    if not hasattr(population, "rvs"):
        raise InvalidParameter(
            f"a population is {checks.shown(population)}; it must be a distribution such as scipy.stats.norm(0.3, 1)."
        )
    return np.asarray(population.rvs(n, random_state=generator), dtype=np.float64)
