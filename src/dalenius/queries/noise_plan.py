"""Noise for several groups of whole-numbered measurements: as much for each as its share of the promise allows.

A group is a vector of whole numbers of which one record changes at most so much, in l1 and in l2 norm. Laplace noise
makes the release of all groups the sum of (l1 norm / scale) differentially private, Gaussian noise the sum of
(squared l2 norm / (2 sigma^2)) zero-concentrated and, just as additively in mu^2, Gaussian differentially private.
Both are drawn exactly, on the whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import ApproxDP, Guarantee, PureDP
from dalenius.calculus.loss import Loss, call
from dalenius.calculus.notebook import cost_rows
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.discrete_gaussian import DiscreteGaussianAtoms
from dalenius.calculus.pairs.discrete_mu import discrete_gaussian_mu
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.known import RenyiPair
from dalenius.calculus.pairs.pair import Pair
from dalenius.core import checks, notebook
from dalenius.core.adjacency import Adjacency
from dalenius.core.arrays import Array
from dalenius.core.checks import float_up
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.noise import discrete_gaussian, discrete_laplace

Law = Literal["laplace", "gaussian"]
LARGEST_SCALE = 2.0**50
"""Noise beyond this is refused: no answer would be left."""

SHOWN = 12
"""So many groups are shown in a notebook."""


@dataclass(frozen=True)
class Group:
    """The most one record changes a vector of whole numbers: in l1 norm, in squared l2 norm, and in one of them."""

    l1: int
    squared: int
    one: int = 1

    def times(self, rows: int) -> Group:
        """For a person with this many rows, which may all be alike."""
        return Group(self.l1 * rows, self.squared * rows**2, self.one * rows)


def law_for(guarantee: Guarantee, noise: Law | None) -> Law:
    """Laplace noise for pure promises, Gaussian noise for all others unless Laplace noise is asked for."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter.of(
            "guarantee",
            f"guarantee is {checks.shown(guarantee)}; it must be a guarantee: dp.ZCDP(0.1), for instance.",
        )
    pure = guarantee.as_pure() is not None
    if noise is None:
        return "laplace" if pure else "gaussian"
    checks.one_of("noise", noise, "laplace", "gaussian")
    if noise == "gaussian" and pure:
        raise InvalidParameter.of("noise", "Gaussian noise keeps no pure promise: use noise='laplace'.")
    if noise == "laplace" and not pure and not isinstance(guarantee, ApproxDP):
        raise InvalidParameter.of("noise", "Laplace noise is for PureDP and ApproxDP promises here.")
    return noise


@dataclass(frozen=True, repr=False)
class NoisePlan:
    """The size of the noise of every group, and what they cost together."""

    law: Law
    groups: tuple[Group, ...]
    scales: tuple[float, ...]
    adjacency: Adjacency

    @classmethod
    def calibrated(
        cls,
        guarantee: Guarantee,
        law: Law,
        groups: Sequence[Group],
        relative: Sequence[float],
        adjacency: Adjacency,
    ) -> NoisePlan:
        """The least noise that keeps a guarantee, its sizes in the proportion of `relative`."""

        def plan(factor: float) -> NoisePlan:
            return cls(law, tuple(groups), tuple(float(factor * x) for x in relative), adjacency)

        if law == "laplace":
            pure = guarantee.as_pure() or PureDP(guarantee.size or 0.0)
            total = sum(Fraction(g.l1) / Fraction(float(x)) for g, x in zip(groups, relative, strict=True))
            factor = float_up(total / Fraction(pure.epsilon))
            return _kept(pure, plan, [factor])
        return _kept(guarantee, plan, _gaussian_factors(guarantee, groups, relative))

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of all groups together."""
        if self.law == "laplace":
            parts = [
                losses.geometric(scale, group.l1, self.adjacency)
                if group.l1 <= 10**6
                else losses.pure(float_up(group.l1 / Fraction(scale)), self.adjacency)
                for group, scale in zip(self.groups, self.scales, strict=True)
            ]
            return sum(parts[1:], parts[0])
        return _gaussian_loss(self.groups, self.scales, self.adjacency)

    @property
    def variances(self) -> Array:
        """The variance of one coordinate's noise in each group; never 0, for precisions are finite."""
        return np.array([max(_variance(self.law, scale), 1e-200) for scale in self.scales])

    def __repr__(self) -> str:
        number, name = len(self.groups), self.law.capitalize()
        least, most = f"{min(self.scales):.4g}", f"{max(self.scales):.4g}"
        wide = least if least == most else f"{least} to {most}"
        return f"<NoisePlan: {name} noise of scale {wide} on {number} group{'s' * (number != 1)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: what it costs, and the noise of the first groups."""
        number = len(self.groups)
        facts = [("noise", self.law.capitalize()), ("groups of numbers", str(number)), *cost_rows(self.loss)]
        head = ("group", "one record moves it by, in l1", "in l2", "scale of the noise")
        rows = [
            (str(n), str(group.l1), f"{math.sqrt(group.squared):.4g}", f"{scale:.6g}")
            for n, (group, scale) in enumerate(zip(self.groups, self.scales, strict=True))
        ]
        more = notebook.heading(f"and {number - SHOWN} groups more") if number > SHOWN else ""
        return notebook.table(facts) + notebook.grid(head, rows[:SHOWN]) + more

    def noisy(self, group: int, values: Array) -> Array:
        """Whole numbers with the noise of a group."""
        draw = discrete_laplace if self.law == "laplace" else discrete_gaussian
        return np.asarray(values + draw(self.scales[group], values.shape))


def _kept(guarantee: Guarantee, plan: Any, factors: Sequence[float]) -> NoisePlan:
    """The first of these factors, from the smallest up, that keeps the promise; a rounding or two may be missing."""
    for factor in sorted(factors):
        if not math.isfinite(factor):
            continue
        for step in (0, 1, 2, 4, 64, 2**12, 2**22, 2**32):
            found: NoisePlan = plan(factor * (1 + step * 2.0**-51))
            if max(found.scales) > LARGEST_SCALE:
                raise CannotMeet(
                    f"noise of {max(found.scales):.3g} would be needed to keep {guarantee}: ask fewer questions, or "
                    "promise less."
                )
            if guarantee.holds(found.loss):
                return found
    raise CannotMeet(f"no noise was found that keeps {guarantee}.")


def _gaussian_factors(
    guarantee: Guarantee, groups: Sequence[Group], relative: Sequence[float]
) -> list[float]:
    """By way of mu and of rho: which of the two says more depends on the kind of promise."""
    mu, rho = _largest_mu_rho(guarantee)
    squares = sum(g.squared / x**2 for g, x in zip(groups, relative, strict=True))
    factors = []
    if rho:
        factors.append(math.sqrt(squares / (2 * rho)))
    if mu:
        factor = math.sqrt(squares) / mu
        for _ in range(5):  # discrete noise tells a little more than its continuous counterpart
            factor *= max(1.0, _mu(groups, [factor * x for x in relative]) / mu)
        factors.append(factor)
    return factors


@lru_cache(maxsize=256)
def _largest_mu_rho(guarantee: Guarantee) -> tuple[float | None, float | None]:
    """The largest mu, and the largest rho, that keep a promise."""

    def largest(family: Any) -> float | None:
        try:
            return calibrate(family, guarantee)
        except CannotMeet:
            return None

    sigma = largest(lambda x: losses.gaussian(sigma=x))
    return (1 / sigma if sigma else None), largest(lambda x: losses.zcdp(x))


def _mu(groups: Sequence[Group], sigmas: Sequence[float]) -> float:
    """A move by several whole steps is as many moves by 1, and coordinates and groups add in quadrature."""
    return math.sqrt(
        sum(g.squared * _one_step(sigma) ** 2 for g, sigma in zip(groups, sigmas, strict=True))
    ) * (1 + 1e-14)


@lru_cache(maxsize=4096)
def _one_step(sigma: float) -> float:
    return discrete_gaussian_mu(sigma, 1)


def _gaussian_loss(groups: Sequence[Group], sigmas: Sequence[float], adjacency: Adjacency) -> Loss:
    rho = float_up(
        sum((g.squared / (2 * Fraction(s) ** 2) for g, s in zip(groups, sigmas, strict=True)), Fraction(0))
    )
    mu = _mu(groups, sigmas)
    checks.moderate("the loss of one release", max(rho, mu))
    # From below: the group that costs most, in one coordinate.
    first, sigma = max(zip(groups, sigmas, strict=True), key=lambda pair: pair[0].squared / pair[1] ** 2)
    whole = first.one
    below: Pair = (
        DiscreteGaussianAtoms(sigma, whole)
        if sigma <= 1e4 and whole <= 10**4
        else GaussianPair(whole / sigma * (1 - 1e-9))
    )
    name = call("discrete_gaussians", groups=len(groups), rho=rho)
    if min(sigmas) < 1 or mu > 1e4:
        return Loss.symmetric(RenyiPair(rho, below, mu), adjacency, name)
    return Loss.symmetric(Bracket(below, GaussianPair(mu), RenyiPair(rho)), adjacency, name)


def _variance(law: Law, scale: float) -> float:
    if law == "laplace":
        q = math.exp(-1 / scale)
        return 2 * q / math.expm1(-1 / scale) ** 2
    if scale > 5:
        return scale**2
    k = np.arange(1, 80.0)
    weight = np.exp(-0.5 * (k / scale) ** 2)
    return float(2 * (k * k * weight).sum() / (1 + 2 * weight.sum()))
