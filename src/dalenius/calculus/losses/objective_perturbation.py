"""Objective perturbation: minimise sum of losses + (ridge/2)|theta|^2 + b.theta, b ~ N(0, sigma^2 I)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.losses.gaussian import gaussian
from dalenius.calculus.pairs.half_normal import ChiPair, HalfNormalPair
from dalenius.calculus.pairs.rectified import RectifiedPair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.errors import InvalidParameter

Bound = Literal["thesis", "sharp"]


def objective_perturbation(
    sigma: float,
    ridge: float,
    gradient_bound: float,
    smoothness: float,
    dimension: int | None = None,
    bound: Bound = "thesis",
) -> Loss:
    """Loss of the exact minimiser of a convex objective with Gaussian linear noise, add/remove adjacency.

    Releases argmin over R^d of sum_i l(theta; z_i) + (ridge/2)|theta|^2 + b.theta with b ~ N(0, sigma^2 I).
    Needs: l convex and twice differentiable, |grad l| <= gradient_bound, Hessian of one record at most
    `smoothness`, ridge > smoothness, no constraint set, an exact minimiser.

    Without `dimension`, l must be a GLM loss f(x.theta; y) (one rank-1 Hessian per record): the loss is
    dominated by -log(1 - smoothness/ridge) + L^2/(2 sigma^2) + |N(0, L^2/sigma^2)|, L = gradient_bound
    (Redberg 2023, Theorem 4.3.1 and Lemma C.4.6 with the corrected signs; its Renyi divergences are Theorem 4.3.2).
    With `dimension` = d any such l is allowed and the bound becomes
    -d log(1 - smoothness/ridge) + L^2/(2 sigma^2) + (L/sigma) chi_d (Theorem C.5.1, corrected).

    bound="sharp" (GLM losses, any ridge, f' merely Lipschitz) looks at signs and directions: removing a
    record costs at most log(1 + smoothness/ridge) + max(N(L^2/(2 sigma^2), L^2/sigma^2), 0), adding one at
    most L^2/(2 sigma^2) + |N(0, L^2/sigma^2)|. Proved in docs/proofs/objective-perturbation.md.

    bound="sharp" with `dimension` = m is for losses whose gradients, for one record and all theta, stay in a subspace
    of m dimensions, such as the log-loss of m + 1 classes (docs/proofs/multinomial-perturbation.md): there
    `smoothness` bounds the mean of the m eigenvalues of a record's Hessian, removing a record costs at most
    m log(1 + smoothness/ridge) + L^2/(2 sigma^2) + (L/sigma) chi_m, adding one the same without the first term.

    Parameters
    ----------
    sigma
        The standard deviation of the noise in the objective, above 0.
    ridge
        The strength of the regularisation, above 0.
    gradient_bound
        The largest norm of one record's gradient, above 0.
    smoothness
        The largest eigenvalue of one record's Hessian, 0 or more; with `dimension` and 'sharp', the largest mean of
        its eigenvalues.
    dimension
        The number of coefficients, for losses that are not GLMs; None for GLMs. With 'sharp', the number of directions
        in which one record can pull.
    bound
        'thesis' (Redberg 2023) or 'sharp'.

    Returns
    -------
    Loss
        The loss of one release.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> loss = dp.losses.objective_perturbation(sigma=5, ridge=20, gradient_bound=1, smoothness=1)
    >>> round(loss.epsilon(delta=1e-5), 6)
    0.810872
    >>> sharp = dp.losses.objective_perturbation(5, 20, 1, 1, bound="sharp")
    >>> round(sharp.epsilon(delta=1e-5), 6)
    0.774312
    """
    sigma = checks.positive("sigma", sigma, "Without noise the minimiser is not private.")
    ridge = checks.positive("ridge", ridge)
    gradient = checks.positive("gradient_bound", gradient_bound)
    smooth = checks.nonnegative("smoothness", smoothness)
    checks.one_of("bound", bound, "thesis", "sharp")
    if smooth >= ridge and bound == "thesis":
        raise InvalidParameter(
            f"ridge is {ridge} and smoothness {smooth}; the bound needs ridge > smoothness. Raise the ridge, or scale "
            "the features down (smoothness grows with their squared norm)."
        )
    name = call(
        "objective_perturbation",
        sigma=sigma,
        ridge=ridge,
        gradient_bound=gradient,
        smoothness=smooth,
        dimension=(dimension, None),
        bound=(bound, "thesis"),
    )
    checks.moderate("gradient_bound / sigma", gradient / sigma)
    if bound == "sharp":
        mu = checks.ratio_up(gradient, sigma)
        leading = math.nextafter(math.log1p(checks.ratio_up(smooth, ridge)), math.inf) if smooth else 0.0
        if dimension is not None:
            m = checks.count("dimension", dimension, least=1)
            checks.moderate("dimension * log(1 + smoothness/ridge)", m * leading)
            checks.moderate("(gradient_bound / sigma) * sqrt(dimension)", gradient / sigma * math.sqrt(m))
            whole = checks.float_up(m * Fraction(leading))
            return Loss(((ChiPair(whole, mu, m), 1),), ((ChiPair(0.0, mu, m), 1),), ADD_REMOVE, name)
        remove, add = RectifiedPair(leading, mu), HalfNormalPair(0.0, mu)
        return Loss(((remove, 1),), ((add, 1),), ADD_REMOVE, name)
    leading, mu = _log_up(ridge, smooth), checks.ratio_up(gradient, sigma)
    if dimension is None:
        return Loss.symmetric(HalfNormalPair(leading, mu), ADD_REMOVE, name)
    d = checks.count("dimension", dimension, least=1)
    checks.moderate("dimension * -log(1 - smoothness/ridge)", d * leading)
    checks.moderate("(gradient_bound / sigma) * sqrt(dimension)", gradient / sigma * math.sqrt(d))
    return Loss.symmetric(ChiPair(checks.float_up(d * Fraction(leading)), mu, d), ADD_REMOVE, name)


def _log_up(ridge: float, smooth: float) -> float:
    """-log(1 - smooth/ridge), rounded up; smooth / (ridge - smooth) keeps the digits that a quotient near 1 loses."""
    if smooth == 0.0:
        return 0.0
    odds = checks.float_up(Fraction(smooth) / (Fraction(ridge) - Fraction(smooth)))
    return math.nextafter(math.log1p(odds) * (1 + 2.0**-51), math.inf)


def approximate_minima(
    sigma: float,
    ridge: float,
    gradient_bound: float,
    smoothness: float,
    tolerance: float,
    output_sigma: float,
    dimension: int | None = None,
    bound: Bound = "thesis",
) -> Loss:
    """Loss of objective perturbation solved only until the gradient norm is at most `tolerance`.

    The released point is the approximate minimiser plus N(0, output_sigma^2 I). By strong convexity it is
    within tolerance/ridge of the exact one, so this composes `objective_perturbation` with a Gaussian
    release of sensitivity 2 tolerance / ridge (Iyengar et al. 2019; Redberg 2023, Theorem 4.4.1).

    Of bound="sharp" with `dimension` = m the sum is written as one pair: a normal Z is the part of a normal vector of m
    dimensions along any other vector, so that mu chi_m + nu Z is nowhere above (mu^2 + nu^2)^(1/2) chi_m.

    Parameters
    ----------
    sigma
        The standard deviation of the noise in the objective, above 0.
    ridge
        The strength of the regularisation, above 0.
    gradient_bound
        The largest norm of one record's gradient, above 0.
    smoothness
        The largest eigenvalue of one record's Hessian, 0 or more.
    tolerance
        The largest norm of the gradient at the point released.
    output_sigma
        The standard deviation of the noise added to that point.
    dimension
        The number of coefficients, for losses that are not GLMs; None for GLMs.
    bound
        'thesis' (Redberg 2023) or 'sharp'.

    Returns
    -------
    Loss
        The loss of one release, output noise included.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> loss = dp.losses.approximate_minima(5, 20, 1, 1, tolerance=0.01, output_sigma=0.15)
    >>> loss.epsilon(1e-5) > dp.losses.objective_perturbation(5, 20, 1, 1).epsilon(1e-5)
    True
    """
    exact = objective_perturbation(sigma, ridge, gradient_bound, smoothness, dimension, bound)
    tolerance = checks.nonnegative("tolerance", tolerance)
    if tolerance == 0:
        return exact
    output = checks.positive("output_sigma", output_sigma, "An approximate minimiser needs output noise.")
    moved = checks.float_up(2 * Fraction(tolerance) / Fraction(checks.positive("ridge", ridge)))
    if bound == "sharp" and dimension is not None:
        ((remove, _),), ((add, _),) = exact.terms_remove, exact.terms_add
        assert isinstance(remove, ChiPair)
        assert isinstance(add, ChiPair)
        mu = math.hypot(add.mu, checks.ratio_up(moved, output)) * (1 + 1e-15)
        name = call(
            "approximate_minima",
            sigma=sigma,
            ridge=ridge,
            gradient_bound=gradient_bound,
            smoothness=smoothness,
            tolerance=tolerance,
            output_sigma=output,
            dimension=dimension,
            bound=bound,
        )
        wider = [ChiPair(pair.offset, mu, pair.dimension) for pair in (remove, add)]
        return Loss(((wider[0], 1),), ((wider[1], 1),), ADD_REMOVE, name)
    return exact + gaussian(output, sensitivity=moved)
