"""Objective perturbation: minimise the loss of the data plus a ridge plus a random linear term."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.errors import CannotMeet
from dalenius.learn.data.parameters import checked_ratio
from dalenius.learn.data.rows import RecordBlocks, Records
from dalenius.learn.numerics import passes
from dalenius.learn.numerics.links import Link, OneScore
from dalenius.learn.numerics.minimise import Objective, minimiser, nothing_found
from dalenius.mechanisms import Gaussian
from dalenius.noise import gaussian
from dalenius.sums.curves import Curve

NOISE_BITS = 40
OUTPUT_SHARE = 0.02
"""The output noise costs mu * OUTPUT_SHARE on top of mu: a relative 2e-4 of the whole."""
LARGEST_RIDGE = 1e3
"""In units of the largest bend; where that is not enough, more noise is better."""
TOLERANCE = 1e-9
"""The gradient left by the solver, in units of sigma. The output noise that hides it does not fall with the number of
records n, as the noise in the objective and the sampling error do; so small, it is the smallest of the three for all n
that fit into a computer. The rounding of b, 2^-41 sigma in each entry, is 2000 times as small."""


@dataclass(frozen=True)
class ObjectivePerturbation:
    """Releases an approximate minimiser of sum f(x.theta; y) + (ridge/2)|theta|^2 + b.theta, b ~ N(0, sigma^2 I).

    Add/remove adjacency. |f'||x| <= gradient_bound, f''|x|^2 <= smoothness. The point found is within
    tolerance/ridge of the minimum, and N(0, output_sigma^2 I) is added to it; the loss is
    `losses.approximate_minima(..., bound="sharp")` (docs/proofs/objective-perturbation.md; Iyengar et al. 2019 and
    Redberg 2023, Theorem 4.4.1, for the tolerance). All numbers are chosen from the guarantee alone.

    With a `Link` of several scores in place of a curve, its gradients stay in `directions` dimensions, and `smoothness`
    bounds the mean of the eigenvalues of a record's Hessian (docs/proofs/multinomial-perturbation.md). `copies` are so
    many fits of the kind, each with fresh noise: `loss` is that of one, and all of them together keep the promise.

    Floating point: b is an exactly rounded normal vector, off by at most 2^-41 sigma in each entry, which moves the
    gradient by as little and is part of the tolerance; the output noise is drawn exactly on a grid by
    `mechanisms.Gaussian`, whose sensitivity covers everything that happens before it.
    """

    sigma: float
    ridge: float
    gradient_bound: float
    smoothness: float
    directions: int | None = None
    """In which one record can pull, where they are not one."""

    @classmethod
    def calibrated(
        cls,
        guarantee: Guarantee,
        gradient_bound: float,
        smoothness: float,
        noise_ratio: float = 1.2,
        directions: int | None = None,
        copies: int = 1,
    ) -> ObjectivePerturbation:
        """sigma is `noise_ratio` times what the Gaussian mechanism would need; the ridge is what is then needed.

        More noise needs less ridge. The ratio is raised where the promise cannot be kept with any ridge.
        """
        noise, ridge = _for_units(guarantee, checked_ratio(noise_ratio), directions, copies)
        return cls(noise * gradient_bound, ridge * smoothness, gradient_bound, smoothness, directions)

    @classmethod
    def kifer(cls, guarantee: Guarantee, gradient_bound: float, smoothness: float) -> ObjectivePerturbation:
        """The noise and the ridge of Kifer, Smith and Thakurta 2012 (Redberg 2023, Theorem 4.2.8), for comparison.

        `loss` is our account of them, and smaller than what was asked for.
        """
        if not isinstance(guarantee, ApproxDP) or guarantee.delta == 0 or guarantee.epsilon == 0:
            raise CannotMeet(f"Kifer's constants cannot keep {guarantee}; ask for ApproxDP(epsilon, delta).")
        epsilon, delta = guarantee.epsilon, guarantee.delta
        sigma = gradient_bound * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
        plan = cls(sigma, 2 * smoothness / epsilon, gradient_bound, smoothness)
        if not guarantee.holds(plan.loss):
            raise CannotMeet(
                f"Kifer's constants cannot be shown to keep {guarantee}; use method='objective'."
            )
        return plan

    @property
    def tolerance(self) -> float:
        return TOLERANCE * self.sigma

    @property
    def output_sigma(self) -> float:
        return 2 * self.tolerance / self.ridge / (OUTPUT_SHARE * self.gradient_bound / self.sigma)

    @property
    def loss(self) -> Loss:
        """That of the same problem in units in which both bounds are 1: the same in all units."""
        noise, ridge = _down(self.sigma / self.gradient_bound), _down(self.ridge / self.smoothness)
        return unit_loss(noise, ridge, self.directions)

    def fit(self, records: Records | RecordBlocks, curve: Curve | Link) -> Reals:
        """theta, noise included. Where the solver fails (it should not), noise alone: zero plus the output noise."""
        noise = self.sigma * np.asarray(gaussian(coefficients(records, curve), bits=NOISE_BITS))
        theta = perturbed_minimum(records, curve, self.ridge, noise, self.tolerance)
        output = Gaussian(sensitivity=2 * self.tolerance / self.ridge, sigma=self.output_sigma)
        return np.asarray(output.release(theta))


@lru_cache(maxsize=256)
def unit_loss(sigma: float, ridge: float, directions: int | None = None) -> Loss:
    """The loss for gradients and bends of 1 at most."""
    tolerance = TOLERANCE * sigma
    return losses.approximate_minima(
        sigma,
        ridge,
        1.0,
        1.0,
        tolerance=tolerance,
        output_sigma=2 * tolerance / ridge / (OUTPUT_SHARE / sigma),
        dimension=directions,
        bound="sharp",
    )


@lru_cache(maxsize=256)
def _for_units(
    guarantee: Guarantee, ratio: float, directions: int | None, copies: int
) -> tuple[float, float]:
    """sigma and ridge for gradients and bends of 1 at most."""

    def of(s: float, r: float) -> Loss:
        return unit_loss(s, r, directions) * copies

    least = calibrate(lambda s: losses.gaussian(s) * copies, guarantee)
    for _ in range(20):
        sigma = _up(ratio * least)
        try:
            if directions is not None:
                ridge = _rough_ridge(lambda r, s=sigma: guarantee.holds(of(s, r)))  # type: ignore[misc]
            else:
                ridge = calibrate(lambda r, s=sigma: of(s, r), guarantee)  # type: ignore[misc]
        except CannotMeet:
            ratio *= 1.2
            continue
        ridge = _up(ridge)
        while not guarantee.holds(of(sigma, ridge)):  # the promise was verified before the digits were cut
            ridge = _up(ridge * (1 + 1e-10))
        return sigma * (1 + 1e-14), ridge * (1 + 1e-14)
    raise CannotMeet(f"objective perturbation cannot keep {guarantee}; ask for another method or promise.")


def _rough_ridge(enough: Callable[[float], bool]) -> float:
    """A ridge that is enough, within 5 % of the least, in a dozen tries: of chi, some promises are slow to check."""
    if not enough(LARGEST_RIDGE):
        raise CannotMeet("no ridge is enough")
    high = 16.0
    while not enough(high):
        high *= 4
    low = high / 4
    while low > 1e-6 and enough(low):
        low, high = low / 4, low
    for _ in range(5):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _down(x: float) -> float:
    """x with 12 digits, or a little less: what is accounted is the same in all units, and never more than there is."""
    short = float(f"{x:.12g}")
    return short if short <= x else float(f"{x * (1 - 1e-12):.12g}")


def _up(x: float) -> float:
    short = float(f"{x:.12g}")
    return short if short >= x else float(f"{x * (1 + 1e-12):.12g}")


def coefficients(records: Records | RecordBlocks, curve: Curve | Link) -> int:
    """How many there are."""
    return records.size * (curve.outputs if isinstance(curve, Link) else 1)


def perturbed_minimum(
    records: Records | RecordBlocks, curve: Curve | Link, ridge: float, noise: Reals, tolerance: float
) -> Reals:
    """The minimum to within tolerance/ridge: of one score and rows in memory quickly, else by passes over blocks."""
    if isinstance(records, Records) and isinstance(curve, Curve):
        return close_minimum(Objective(records, curve, ridge, noise), tolerance)
    link = curve if isinstance(curve, Link) else OneScore(curve)
    blocks = records.read if isinstance(records, RecordBlocks) else lambda: [records]
    return passes.close_minimum(passes.Passes(blocks, link, ridge, noise), tolerance)


def close_minimum(objective: Objective, tolerance: float) -> Reals:
    """A point within `tolerance`/ridge of the minimum (as where the gradient is shorter than that); else zeros.

    A quarter of the tolerance is left for what rounding does to the noise and to the gradient. Nothing is decided by
    the number of rows. Zeros would tell one row from none, if they came; no data are known for which they do, with
    public numbers of the sizes that models take (`parameters`): where Newton's steps miss the minimum, larger ridges
    lead to it (`minimise.continued`).
    """
    try:
        theta, left = minimiser(objective, 0.5 * tolerance)
    except (np.linalg.LinAlgError, ValueError):  # a Hessian that rounding made singular, or not finite
        return nothing_found(objective.noise)
    return theta if left <= 0.75 * tolerance else nothing_found(theta)
