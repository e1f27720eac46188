"""Repro samples: confidence sets with the coverage they state, for any number of rows and simulated releases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.result import Result
from dalenius.infer.simulation.bootstrap import along
from dalenius.infer.simulation.indirect import indirect_estimate
from dalenius.infer.simulation.model import Model
from dalenius.infer.simulation.moments import Local, Moments, covariance_of
from dalenius.infer.simulation.released import Release, checked_model, generator

SPENT = 0.1
"""The share of alpha that pays for where the other parameters may be (Berger and Boos 1994)."""
PRECISION = 0.02
"""Of an end, in standard errors; the outer side is reported."""
BEYOND = (0.4, 0.9, 1.5, 2.5)
"""Standard errors beyond an end at which it is tried once more whether anything is accepted."""
RADII = (1.5, 3.0, 4.5, 6.0)
"""Standard errors from the likeliest values of the other parameters at which they are tried."""


def repro_samples(
    released: Any,
    mechanism: Any,
    model: Model,
    *,
    n: int,
    replicates: int = 399,
    alphas: Sequence[float] = (0.1, 0.05, 0.01),
    seed: int = 0,
) -> Result:
    """Intervals with finite-sample coverage for the parameters of a model, from statistics released with noise.

    For each value of the parameters, releases are simulated from the same seeds, and the value is kept unless the true
    release ranks among the most extreme of them (Xie and Wang 2022; Awan and Wang 2023, "Simulation-based,
    finite-sample inference for privatized data"). At the truth all of them are exchangeable, so that the set
    of values kept holds the truth with probability 1 - alpha at least, whatever n, the noise, the bounds and the number
    of simulated releases. Their randomness is that of `seed` and the released numbers: with one set of simulated
    releases for all, coverage would be off for good, by about sqrt(alpha / replicates).

    A single parameter is ranked by its estimate from the statistics, studentized, whose law hardly depends on the other
    parameters; these range over a confidence set of their own, found by Mahalanobis depth, which takes a tenth of alpha
    (Berger and Boos 1994). Of that set the likeliest values and those along its axes are tried, not all: with several
    parameters coverage rests on this search. Ends are searched for outward and reported on their outer side. Pure
    post-processing.

    Parameters
    ----------
    released
        The released number or numbers.
    mechanism
        What released them (Gaussian, Laplace, Geometric or DiscreteGaussian); a list if they had one each.
    model
        One of `dalenius.infer.models`, or a `SimulationModel`.
    n
        The number of rows, public.
    replicates
        The number of simulated releases at each value.
    alphas
        The levels at which limits are found.
    seed
        For the simulation, which then can be repeated.

    Returns
    -------
    Result
        Estimates, standard errors and intervals; its loss is that of the release.

    Raises
    ------
    InvalidParameter
        If the parts do not fit together, or there are too few replicates for an alpha.

    Examples
    --------
    >>> import dalenius as dp
    >>> noise = dp.mechanisms.Gaussian(sensitivity=1, sigma=5.0, adjacency=dp.REPLACE_ONE)
    >>> fit = dp.infer.repro_samples(290.3, noise, dp.infer.models.Bernoulli(), n=1000)
    >>> fit.params.round(2), fit.conf_int().round(2)
    (array([0.29]), array([[0.26, 0.32]]))
    """
    ranks = _Ranks.of(released, mechanism, model, n, replicates, seed)
    levels = sorted({checks.open_probability("alphas", alpha) for alpha in alphas}, reverse=True)
    for alpha in levels:
        ranks.most_extreme(alpha)
    found = {alpha: [ranks.interval(j, alpha) for j in range(len(model.names))] for alpha in levels}
    return Result(
        model.names,
        ranks.estimate.theta,
        loss=ranks.release.loss,
        method="repro samples",
        limits=found.__getitem__,
        bse=np.sqrt(np.diag(ranks.estimate.covariance)),
        alphas=levels,
        nobs=ranks.release.n,
        notes=("The intervals rest on the model, and on nothing that needs large samples.",),
    )


def repro_test(
    released: Any,
    mechanism: Any,
    model: Model,
    null: Mapping[str, float],
    *,
    n: int,
    replicates: int = 999,
    seed: int = 0,
) -> float:
    """The p-value of a hypothesis about one parameter, or all of them, with finite-sample size.

    All of them: the rank of the release by Mahalanobis depth among simulated ones. One: the largest two-sided rank that
    any values of the others give, and what their confidence set may miss; see `repro_samples`. Pure post-processing.

    Parameters
    ----------
    released
        The released number or numbers.
    mechanism
        What released them; a list if they had one each.
    model
        One of `dalenius.infer.models`, or a `SimulationModel`.
    null
        Values by the names of parameters: of one, or of all.
    n
        The number of rows, public.
    replicates
        The number of simulated releases; p-values are multiples of 1 / (replicates + 1), or of twice that.
    seed
        For the simulation, which then can be repeated.

    Returns
    -------
    float
        The p-value: if the hypothesis is true, it is at most alpha with probability alpha at most. (For one parameter
        of several, as far as the search for the worst values of the others goes.)

    Raises
    ------
    InvalidParameter
        If the parts do not fit together.

    Examples
    --------
    >>> import dalenius as dp
    >>> noise = dp.mechanisms.Gaussian(sensitivity=1, sigma=5.0, adjacency=dp.REPLACE_ONE)
    >>> dp.infer.repro_test(290.3, noise, dp.infer.models.Bernoulli(), {"share": 0.5}, n=1000)
    0.002
    """
    ranks = _Ranks.of(released, mechanism, model, n, replicates, seed)
    given: object = null
    named = isinstance(given, Mapping) and set(given) <= set(model.names)
    if not named or len(null) not in (1, len(model.names)):
        raise InvalidParameter.of(
            "null", f"null must give a value to one of {', '.join(model.names)}, or to all of them, by name."
        )
    values = {name: checks.number(f"null[{name!r}]", value) for name, value in null.items()}
    for (low, high), name in zip(model.space, model.names, strict=True):
        if name in values and not low <= values[name] <= high:
            raise InvalidParameter.of(
                "null", f"{name} is {values[name]:g}; the model has it from {low:g} to {high:g}."
            )
    if len(values) == len(model.names) > 1:
        return ranks.at(np.array([values[name] for name in model.names])).depth
    (name,) = values
    return ranks.two_sided(model.names.index(name), values[name])


@dataclass(frozen=True, eq=False)
class _Rank:
    """Of the release among simulated ones at one parameter: chances of being as extreme, ties included."""

    depth: float
    low: Reals
    """Of each parameter's estimate: the chance of one as low."""
    high: Reals


class _Ranks:
    """The release among simulated ones, for any parameter, with the seeds held fixed."""

    def __init__(self, release: Release, model: Model, size: int, rng: np.random.Generator) -> None:
        self.release, self.size = release, size
        # Which way to look is learned from simulations of their own: then, at each parameter, the release and the
        # simulated ones are exchangeable, and no more is needed for coverage.
        self.moments = Moments(model, release.n, release.noise, rng, max(100, size // 2))
        self.simulated = Moments(model, release.n, release.noise, rng, size)
        self.noise = release.noise.draw(rng, size)
        self.estimate = indirect_estimate(release.values, self.moments)

    @classmethod
    def of(cls, released: Any, mechanism: Any, model: Any, n: Any, replicates: Any, seed: Any) -> _Ranks:
        release = Release.checked(released, mechanism, n)
        model = checked_model(model, release)
        size = checks.count("replicates", replicates, 19)
        return cls(release, model, size, generator(seed, release.values))

    def most_extreme(self, alpha: float) -> int:
        """How many of the ranks on each side are refused."""
        spent = SPENT * alpha if len(self.estimate.theta) > 1 else 0.0
        number = math.floor((alpha - spent) / 2 * (self.size + 1) * (1 + 1e-12))
        if number < 1:
            need = math.ceil(2 / (alpha * (1 - SPENT)))
            raise InvalidParameter.of(
                "replicates", f"replicates is {self.size}; limits at alpha = {alpha:g} need {need} or more."
            )
        return number

    def at(self, theta: Reals) -> _Rank:
        """Distances and studentized estimates of all, and how many are as extreme as the release's."""
        local = self.moments.local(theta)
        all_ = np.vstack((self.release.values, self.simulated.statistics(theta) + self.noise)) - local.mean
        moved = all_ @ local.weights.T
        stretched = np.exp(np.clip(moved @ local.spread_slopes, -1.0, 1.0))
        scores = moved / stretched
        near = 1e-9 * np.abs(scores[0])
        low = (scores <= scores[0] + near).mean(axis=0)
        high = (scores >= scores[0] - near).mean(axis=0)
        return _Rank(_depth(all_), low, high)

    def interval(self, j: int, alpha: float) -> tuple[float, float]:
        return self._end(j, alpha, -1.0), self._end(j, alpha, 1.0)

    def two_sided(self, j: int, t: float) -> float:
        """Twice the smaller one-sided chance, at the worst values of the others, and what these may miss."""
        spent = 0.001 if len(self.estimate.theta) > 1 else 0.0
        worst = max(min(rank.low[j], rank.high[j]) for rank in self._others(j, t, spent))
        return float(min(1.0, 2 * worst + spent))

    def _end(self, j: int, alpha: float, side: float) -> float:
        """Outward from the estimate; the least t known to be refused, as all tried beyond it are."""
        number = self.most_extreme(alpha)

        def kept(t: float) -> bool:
            """Too large a t makes the release look low."""
            return any(
                round((rank.low if side > 0 else rank.high)[j] * (self.size + 1)) > number
                for rank in self._others(j, t, SPENT * alpha)
            )

        error = float(np.sqrt(self.estimate.covariance[j, j]))
        last = float((self.moments.high if side > 0 else self.moments.low)[j])
        inner = float(self.estimate.theta[j])
        step = min(2.0 * error, abs(last - inner)) if error > 0 else abs(last - inner)
        for _ in range(60):
            outer = inner + side * step
            if side * (outer - last) >= 0:
                outer = last
            if kept(outer):
                if outer == last:
                    return last
                inner, step = outer, max(step, error) / 2
                continue
            further = [outer + side * more * error for more in BEYOND]
            missed = [t for t in further if side * (last - t) > 0 and kept(t)]
            if not missed:
                return self._narrowed(kept, inner, outer, error)
            inner = missed[-1]
        return last

    @staticmethod
    def _narrowed(kept: Any, inner: float, outer: float, error: float) -> float:
        while abs(outer - inner) > max(PRECISION * error, 1e-12 * abs(outer)):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if kept(middle) else (inner, middle)
        return outer

    def _others(self, j: int, t: float, spent: float) -> Iterator[_Rank]:
        """The ranks at t and at values of the other parameters that their confidence set holds.

        First the likeliest values, then outward along each axis of the others' law until the set ends.
        """
        start = along(self.estimate, self.moments, j, t)
        yield self.at(start)
        for direction in _axes(self.estimate, j):
            for sign in (-1.0, 1.0):
                for radius in RADII:
                    theta = np.clip(start + sign * radius * direction, self.moments.low, self.moments.high)
                    theta[j] = t
                    rank = self.at(theta)
                    if rank.depth <= spent:
                        break
                    yield rank


def _axes(at: Local, j: int) -> list[Reals]:
    """The axes of the law of the other parameters, given parameter j, as steps of one standard error."""
    others = [k for k in range(len(at.theta)) if k != j]
    if not others:
        return []
    given = at.covariance[np.ix_(others, others)] - np.outer(
        at.covariance[others, j], at.covariance[j, others]
    ) / max(at.covariance[j, j], 1e-300)
    values, vectors = np.linalg.eigh(given)
    axes = []
    for value, vector in zip(values, vectors.T, strict=True):
        axis = np.zeros(len(at.theta))
        axis[others] = np.sqrt(max(value, 0.0)) * vector
        axes.append(axis)
    return axes


def _depth(points: Reals) -> float:
    """The share of points that are, by Mahalanobis distance among all of them, as far out as the first one."""
    centred = points - points.mean(axis=0)
    inverse = np.linalg.pinv(covariance_of(centred), hermitian=True)
    far = np.einsum("id,de,ie->i", centred, inverse, centred)
    return float((far >= far[0] * (1 - 1e-9)).mean())
