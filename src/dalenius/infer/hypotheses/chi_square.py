"""Chi-square tests of noisy counts: goodness of fit, and independence.

Counts c of k public cells are released with independent noise of variance s^2 in each. Pearson's statistic of noisy
counts rejects far too often; here the noise is in the covariance (Kifer and Rogers 2017, "A New Class of Private
Chi-Square Hypothesis Tests") and in the reference law.

Goodness of fit, shares p. With n public, d = c - n p; else d = c - (sum of c) p, which needs no n. Either way

    d = A (c - n p),   A = I  or  I - p 1',   Cov d = A (n (diag p - p p') + s^2 I) A',

and the statistic is d'W (W' Cov W)^-1 W'd with the columns of W orthonormal and orthogonal to 1: the direction that
holds noise alone is left out (their projected statistic). It is about chi-square with k - 1 degrees of freedom.

Independence of r x q cells. u and v are the margins' shares, d = c - n u v'; all rows and columns of d add up to 0, and

    Cov d = n (diag u - u u') x (diag v - v v') + s^2 (I - u 1')(I - 1 u') x (I - v 1')(I - 1 v')

(x: Kronecker) to first order; the statistic is the quadratic form as above, about chi-square with (r-1)(q-1) degrees.
In the first term n and the margins are raised by one row and one standard deviation of their noise (`_raised`): a
margin that is released near 0 would say that its cells hardly vary, and few rows would look like a dependence.

The p-value is not read off a chi-square table: counts and noise are drawn from the hypothesis at the released n (and
margins), 4 999 times, and the statistic is ranked among those (a parametric bootstrap; exact for goodness of fit with
n public). The noise may be geometric and as large as the counts.

What is not public (n, margins) is known up to its noise alone, and the law of the statistic changes with it where
there are few rows. So the p-value is the largest of those at several places: the released n and an upper limit for it,
the released margins and the raised ones (for goodness of fit: the released n and four numbers around it). And where a
margin is not far above its own noise (`_few`), it is not below the tail of a chi-square law either, which with the
raised covariance lies above that of the statistic (stretched, the more so for noise with longer tails than the
Gaussian has: STRETCH). This is no theorem: sizes were simulated for 4 to 256 rows, even and very uneven margins,
2 x 2 and 3 x 3 cells, and both kinds of noise (360 cases of 8 000 tables); the largest were 10.3, 5.1 and 1.1 % at the
levels of 10, 5 and 1 %, within two standard errors of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats
from scipy.linalg import helmert

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.arrays import Bools, Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.infer import inputs
from dalenius.infer.columns import Categories, Column
from dalenius.infer.hypotheses import reference
from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest, Released, needed
from dalenius.infer.hypotheses.parts import Part, cell_counts, drawn
from dalenius.infer.hypotheses.result import TestResult
from dalenius.intervals.laws import Law

MOST_ROWS = 10**15
"""A released number of rows beyond this is taken for this."""

AROUND = -2.0, -1.0, 1.0, 2.0
"""Where goodness of fit looks beside the released number of rows, in standard deviations of its noise."""

UPPER = 2.0
"""The upper limit for a number of rows lies so many standard deviations of its noise above what was released."""

CLEAR = 10.0, 4.0
"""A margin of more rows than the first, plus the second times the deviation of its noise, is known well enough."""

FEW = (
    "A row or column of the table has few rows beside its noise: the p-value is a cautious one, larger than it would "
    "have to be."
)
"""What goes with a table that is too thin for a sharp p-value."""

STRETCH = 1.15, 1.8
"""The chi-square law for few rows is stretched so much: under Gaussian noise, and under any with longer tails."""


@dataclass(frozen=True)
class GoodnessOfFitTest(HypothesisTest):
    """The chi-square test of given shares as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (geometric noise), or others (Gaussian noise).
    levels
        All the values there can be; public. Rows with others are absent (ADD_REMOVE) or of the first level.
    shares
        Their shares under the hypothesis; equal ones for None.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.GoodnessOfFitTest(dp.GDP(1.0), levels=("a", "b", "c"))
    >>> round(test.loss.gdp(), 6), test.run(["a"] * 500 + ["b"] * 100).pvalue < 0.01
    (1.0, True)
    """

    levels: tuple[Any, ...] = ()
    shares: tuple[float, ...] | None = None

    method = "chi-square test of goodness of fit"

    def _check(self) -> None:
        object.__setattr__(self, "levels", inputs.levels("levels", self.levels))
        k = len(self.levels)
        given = (1 / k,) * k if self.shares is None else checked_shares("shares", self.shares, (k,))
        object.__setattr__(self, "shares", tuple(float(p) for p in given))

    @cached_property
    def counts(self) -> Part:
        return cell_counts(self.guarantee, 1.0, self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return self.counts.mechanism.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Categories(self.levels),)

    def release(self, *data: Any) -> Released:
        places = inputs.codes(data[0], self.levels, "x")
        fixed = self.adjacency is REPLACE_ONE
        places = np.maximum(places, 0) if fixed else places[places >= 0]
        counts = np.bincount(places, minlength=len(self.levels)).astype(np.int64)
        released = {"counts": np.asarray(self.counts.release(counts), dtype=np.float64)}
        return {**released, "rows": len(places)} if fixed else released

    def judge(self, released: Released) -> TestResult:
        found = goodness_of_fit_from_counts(
            released["counts"], self.counts.law, shares=self.shares, rows=released.get("rows"), loss=self.loss
        )
        return found

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        (shares,) = needed(effect, self.method, shares="the true shares of the levels")
        truth = checked_shares("shares", shares, (len(self.levels),))
        null = np.array(self.shares)
        if not private:
            counts = generator.multinomial(n, truth, replicates)
            return np.asarray(
                stats.chi2.sf(((counts - n * null) ** 2 / (n * null)).sum(axis=1), len(null) - 1)
            )
        law, rows = self.counts.law, n if self.adjacency is REPLACE_ONE else None
        real, simulated = (
            _fit(_noisy_counts(generator, n, p, law, replicates), null, law, rows) for p in (truth, null)
        )
        return reference.pvalues(real, simulated)


@dataclass(frozen=True)
class IndependenceTest(HypothesisTest):
    """The chi-square test of independence as an object, with its cost: what `power` plans.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (geometric noise), or others (Gaussian noise).
    x_levels
        All the values of the first column; public. Rows with others are absent (ADD_REMOVE) or of the first level.
    y_levels
        All the values of the second column.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.IndependenceTest(dp.PureDP(1.0), x_levels=("a", "b"), y_levels=(0, 1))
    >>> test.run(["a"] * 300 + ["b"] * 300, [0] * 250 + [1] * 100 + [0] * 50 + [1] * 200).pvalue < 0.01
    True
    """

    x_levels: tuple[Any, ...] = ()
    y_levels: tuple[Any, ...] = ()

    method = "chi-square test of independence"

    def _check(self) -> None:
        for name in ("x_levels", "y_levels"):
            object.__setattr__(self, name, inputs.levels(name, getattr(self, name)))

    @cached_property
    def counts(self) -> Part:
        return cell_counts(self.guarantee, 1.0, self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return self.counts.mechanism.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return Categories(self.x_levels), Categories(self.y_levels)

    def release(self, *data: Any) -> Released:
        first = inputs.codes(data[0], self.x_levels, "x")
        second = inputs.codes(data[1], self.y_levels, "y")
        inputs.same_length(first, second, "x and y")
        fixed = self.adjacency is REPLACE_ONE
        if fixed:
            first, second = np.maximum(first, 0), np.maximum(second, 0)
        else:
            known = (first >= 0) & (second >= 0)
            first, second = first[known], second[known]
        shape = len(self.x_levels), len(self.y_levels)
        cells = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).astype(np.int64)
        noisy = np.asarray(self.counts.release(cells), dtype=np.float64).reshape(shape)
        return {"counts": noisy, "rows": len(first)} if fixed else {"counts": noisy}

    def judge(self, released: Released) -> TestResult:
        return independence_from_counts(
            released["counts"], self.counts.law, rows=released.get("rows"), loss=self.loss
        )

    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        (shares,) = needed(effect, self.method, shares="the true shares of all cells, rows x columns")
        shape = len(self.x_levels), len(self.y_levels)
        truth = checked_shares("shares", shares, shape)
        null = truth.sum(axis=1, keepdims=True) * truth.sum(axis=0, keepdims=True)
        if not private:
            plain = generator.multinomial(n, truth.ravel(), replicates).reshape(-1, *shape)
            return np.asarray(stats.chi2.sf(_pearson(plain), (shape[0] - 1) * (shape[1] - 1)))
        law, rows = self.counts.law, n if self.adjacency is REPLACE_ONE else None
        tables, simulated = (
            _noisy_counts(generator, n, p.ravel(), law, replicates).reshape(-1, *shape) for p in (truth, null)
        )
        real = _dependence(tables, law, rows)
        ranked = reference.pvalues(real, _dependence(simulated, law, rows))
        return np.maximum(ranked, _least_pvalues(tables, law, real))


def goodness_of_fit_test(
    x: object,
    guarantee: Guarantee,
    *,
    levels: Any,
    shares: Any = None,
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether categories have given shares: the chi-square test with the noise in its reference law.

    Parameters
    ----------
    x
        One value a row. Rows with others are absent (ADD_REMOVE) or counted as the first level (REPLACE_ONE).
    guarantee
        What the release promises: PureDP (geometric noise), or others (Gaussian noise).
    levels
        All the values there can be; public.
    shares
        Their shares under the hypothesis; equal ones if left out.
    adjacency
        ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    TestResult
        The noisy counts are in `released`.

    Raises
    ------
    InvalidParameter
        If a setting cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> dice = [1, 2, 3, 4, 5, 6] * 100 + [6] * 200
    >>> dp.infer.goodness_of_fit_test(dice, dp.PureDP(1.0), levels=range(1, 7)).pvalue < 0.01
    True
    """
    return GoodnessOfFitTest(guarantee, levels=levels, shares=shares, adjacency=adjacency).run(x)


def independence_test(
    x: object,
    y: object,
    guarantee: Guarantee,
    *,
    x_levels: Any,
    y_levels: Any,
    adjacency: Adjacency = ADD_REMOVE,
) -> TestResult:
    """Test whether two categorical columns are independent: the chi-square test with the noise in its reference law.

    Parameters
    ----------
    x
        One value of the first column a row.
    y
        The second column, of the same rows.
    guarantee
        What the release promises: PureDP (geometric noise), or others (Gaussian noise).
    x_levels
        All the values of `x`; public. Rows with others are absent (ADD_REMOVE) or of the first level (REPLACE_ONE).
    y_levels
        All the values of `y`.
    adjacency
        ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    TestResult
        The noisy contingency table is in `released`.

    Raises
    ------
    InvalidParameter
        If a setting cannot be, or the columns differ in length.

    Examples
    --------
    >>> import dalenius as dp
    >>> x, y = ["a"] * 400 + ["b"] * 400, [0, 1] * 200 + [0] * 300 + [1] * 100
    >>> dp.infer.independence_test(x, y, dp.GDP(1.0), x_levels=("a", "b"), y_levels=(0, 1)).rejects()
    True
    """
    test = IndependenceTest(guarantee, x_levels=x_levels, y_levels=y_levels, adjacency=adjacency)
    return test.run(x, y)


def goodness_of_fit_from_counts(
    counts: object, law: Law, *, shares: object = None, rows: int | None = None, loss: Loss | None = None
) -> TestResult:
    """Test given shares from counts that were released elsewhere, with independent noise of one law in each.

    Parameters
    ----------
    counts
        The released counts.
    law
        The law of their noise: `dalenius.intervals.laws.Normal(sigma)`, `TwoSidedExponential`, `TwoSidedGeometric`.
    shares
        The shares under the hypothesis; equal ones if left out.
    rows
        The number of rows, where it is public.
    loss
        What the counts cost, to go with the result.

    Returns
    -------
    TestResult
        The outcome.

    Raises
    ------
    InvalidParameter
        If the counts are not numbers, or the shares do not fit them.

    Examples
    --------
    >>> from dalenius.infer import goodness_of_fit_from_counts
    >>> from dalenius.intervals.laws import Normal
    >>> goodness_of_fit_from_counts([120.3, 78.9, 99.2], Normal(4.0)).rejects(0.05)
    True
    """
    c, law = finite_counts(counts, 1), _checked_law(law)
    p = np.full(len(c), 1 / len(c)) if shares is None else checked_shares("shares", shares, (len(c),))
    n = None if rows is None else checks.count("rows", rows)
    statistic = float(_fit(c[None], p, law, n)[0])
    generator, size = reference.generator(c, p), _rows(c, n)
    spread = law.sigma * math.sqrt(len(c))
    sizes = [size] if n is not None else [size, *(_rows(c, None, z * spread) for z in AROUND)]
    ranked = [
        reference.pvalue(
            statistic, _fit(_noisy_counts(generator, k, p, law, reference.REPLICATES), p, law, n)
        )
        for k in sizes
    ]
    return TestResult(
        GoodnessOfFitTest.method,
        "the shares are " + ", ".join(f"{x:.4g}" for x in p[:8]) + (", ..." if len(p) > 8 else ""),
        statistic,
        max(ranked),
        loss=loss,
        released={"counts": c},
        estimates={"rows": size},
    )


def independence_from_counts(
    counts: object, law: Law, *, rows: int | None = None, loss: Loss | None = None
) -> TestResult:
    """Test independence from a contingency table that was released elsewhere, with independent noise in each cell.

    Parameters
    ----------
    counts
        The released table, two-dimensional.
    law
        The law of the noise: `dalenius.intervals.laws.Normal(sigma)`, `TwoSidedExponential`, `TwoSidedGeometric`.
    rows
        The number of rows, where it is public.
    loss
        What the table cost, to go with the result.

    Returns
    -------
    TestResult
        The outcome.

    Raises
    ------
    InvalidParameter
        If the counts are not a table of numbers.

    Examples
    --------
    >>> from dalenius.infer import independence_from_counts
    >>> from dalenius.intervals.laws import Normal
    >>> independence_from_counts([[310.2, 190.5], [205.1, 298.8]], Normal(4.0)).pvalue < 0.01
    True
    """
    c, law = finite_counts(counts, 2), _checked_law(law)
    n = None if rows is None else checks.count("rows", rows)
    statistic = float(_dependence(c[None], law, n)[0])
    generator = reference.generator(c)
    ranked = [
        reference.pvalue(
            statistic,
            _dependence(
                _noisy_counts(generator, size, null, law, reference.REPLICATES).reshape(-1, *c.shape), law, n
            ),
        )
        for size, null in _places(c, law, n)
    ]
    return TestResult(
        IndependenceTest.method,
        f"the {c.shape[0]} rows and {c.shape[1]} columns are independent",
        statistic,
        max(*ranked, float(_least_pvalues(c[None], law, np.array([statistic]))[0])),
        loss=loss,
        released={"counts": c},
        estimates={"rows": _rows(c, n)},
        notes=[FEW] if _few(c[None], law)[0] else [],
    )


def checked_shares(name: str, value: object, shape: tuple[int, ...]) -> Reals:
    """Shares of this shape, above 0, that add up to 1."""
    try:
        p = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        p = np.empty(0)
    if p.shape != shape or not (p > 0).all() or not abs(p.sum() - 1) < 1e-6:
        raise InvalidParameter.of(
            name,
            f"{name} is {checks.shown(value)}; it must be {' x '.join(map(str, shape))} numbers above 0 that add up "
            "to 1.",
        )
    return np.asarray(p / p.sum())


def finite_counts(value: object, dimensions: int) -> Reals:
    """Released counts: finite, of this many dimensions, two or more along each."""
    try:
        c = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        c = np.empty(0)
    if c.ndim != dimensions or not np.isfinite(c).all() or min(c.shape) < 2:
        raise InvalidParameter.of(
            "counts",
            f"counts must be {'a table' if dimensions == 2 else 'a list'} of finite numbers, two or more "
            "along each side.",
        )
    return c


def _checked_law(law: object) -> Law:
    if not isinstance(law, Law):
        raise InvalidParameter.of(
            "law",
            f"law is {checks.shown(law)}; it must be that of the noise, such as dalenius.intervals.laws.Normal(4.0).",
        )
    return law


def _rows(c: Reals, n: int | None, more: float = 0.0) -> int:
    return round(min(max(float(c.sum()) + more, 1.0), MOST_ROWS)) if n is None else n


def _noisy_counts(generator: Generator, n: int, p: Reals, law: Law, replicates: int) -> Reals:
    counts = generator.multinomial(n, p, replicates).astype(np.float64)
    return counts if law.sigma == 0 else counts + drawn(law, generator, counts.shape)


def _form(d: Reals, cov: Reals, basis: Reals) -> Reals:
    """d'W (W' Cov W)^-1 W'd along the first axis; one covariance, or one for each."""
    z, inner = d @ basis, np.swapaxes(basis, -1, -2) @ cov @ basis
    inner = inner + 1e-12 * np.trace(inner, axis1=-2, axis2=-1)[..., None, None] * np.eye(basis.shape[1])
    return np.asarray((z * np.linalg.solve(inner, z[..., None])[..., 0]).sum(axis=-1))


def _fit(c: Reals, p: Reals, law: Law, n: int | None) -> Reals:
    k = len(p)
    basis, shrunk = helmert(k).T, np.diag(p) - np.outer(p, p)
    if n is not None:
        return _form(c - n * p, n * shrunk + law.variance * np.eye(k), basis)
    total = np.maximum(c.sum(axis=1), 1.0)
    away = np.eye(k) - np.outer(p, np.ones(k))
    cov = total[:, None, None] * shrunk + law.variance * (away @ away.T)
    return _form(c - c.sum(axis=1, keepdims=True) * p, cov, basis)


def _margins(c: Reals) -> tuple[Reals, Reals]:
    """Shares of rows and of columns: what is released below half a row counts as that."""
    u, v = (np.maximum(c.sum(axis=axis), 0.5) for axis in (2, 1))
    return u / u.sum(axis=1, keepdims=True), v / v.sum(axis=1, keepdims=True)


def _deviations(c: Reals, law: Law) -> tuple[float, float, float]:
    """Of the noise in a row's sum, in a column's sum, and in the number of rows."""
    _, r, q = c.shape
    return law.sigma * math.sqrt(q), law.sigma * math.sqrt(r), law.sigma * math.sqrt(r * q)


def _raised(c: Reals, law: Law) -> tuple[Reals, Reals]:
    """Shares of rows and of columns, each raised by one row and one standard deviation of its noise."""
    row, column, _ = _deviations(c, law)
    u, v = (np.maximum(c.sum(axis=axis), 0.0) + 1 + more for axis, more in ((2, row), (1, column)))
    return u / u.sum(axis=1, keepdims=True), v / v.sum(axis=1, keepdims=True)


def _few(c: Reals, law: Law) -> Bools:
    """Whether a margin is not clearly above its noise."""
    row, column, _ = _deviations(c, law)
    return np.asarray(
        (c.sum(axis=2).min(axis=1) < CLEAR[0] + CLEAR[1] * row)
        | (c.sum(axis=1).min(axis=1) < CLEAR[0] + CLEAR[1] * column)
    )


def _least_pvalues(c: Reals, law: Law, statistics: Reals) -> Reals:
    """What p-values are not below: where there are few rows, the tail of the stretched chi-square law."""
    stretch = STRETCH[law.fourth > 0]
    tail = stats.chi2.sf(statistics / stretch, (c.shape[1] - 1) * (c.shape[2] - 1))
    return np.where(_few(c, law), tail, 0.0)


def _places(c: Reals, law: Law, n: int | None) -> Iterator[tuple[int, Reals]]:
    """Numbers of rows and shares of cells, independent, that the released table may come from."""
    sizes = [_rows(c, n)]
    if n is None:
        up = max(float(c.sum()), 1.0) + UPPER * _deviations(c[None], law)[2]
        sizes.append(math.ceil(min(up, MOST_ROWS)))
    for u, v in (_margins(c[None]), _raised(c[None], law)):
        null = (u[0][:, None] * v[0]).ravel()
        yield from ((size, null) for size in sizes)


def _pearson(c: Ints) -> Reals:
    """The classical statistic of tables without noise. An empty row or column adds nothing."""
    rows, columns = c.sum(axis=2, keepdims=True), c.sum(axis=1, keepdims=True)
    expected = rows * columns / c.sum(axis=(1, 2), keepdims=True)
    return np.asarray(((c - expected) ** 2 / np.where(expected > 0, expected, 1.0)).sum(axis=(1, 2)))


def _dependence(c: Reals, law: Law, n: int | None) -> Reals:
    many, r, q = c.shape
    u, v = _margins(c)
    total = np.maximum(c.sum(axis=(1, 2)), 0.0) if n is None else np.full(many, float(n))
    total = total + 1 + _deviations(c, law)[2]
    d = c - c.sum(axis=(1, 2))[:, None, None] * u[:, :, None] * v[:, None, :]
    first, second = (_spread(x) for x in _raised(c, law))
    a, b = (np.eye(x.shape[1]) - x[:, :, None] * np.ones(x.shape[1]) for x in (u, v))
    noise = _kronecker(a @ np.swapaxes(a, 1, 2), b @ np.swapaxes(b, 1, 2))
    cov = total[:, None, None] * _kronecker(first, second) + law.variance * noise
    return _form(
        d.reshape(many, r * q), cov, np.asarray(np.kron(helmert(r).T, helmert(q).T), dtype=np.float64)
    )


def _spread(u: Reals) -> Reals:
    """diag u - u u'."""
    return np.asarray(u[:, :, None] * np.eye(u.shape[1]) - u[:, :, None] * u[:, None, :])


def _kronecker(a: Reals, b: Reals) -> Reals:
    r, q = a.shape[1], b.shape[1]
    return np.asarray(np.einsum("mij,mkl->mikjl", a, b).reshape(len(a), r * q, r * q))
