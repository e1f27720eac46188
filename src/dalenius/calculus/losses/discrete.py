"""Losses with finitely many (or lattice) values: randomized response and its relatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.atoms import Atoms, geometric_atoms, lattice_atoms, two_point_atoms
from dalenius.calculus.pairs.discrete_gaussian import DiscreteGaussianAtoms
from dalenius.calculus.pairs.pair import UNIT
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter


def pure(epsilon: float, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of anything epsilon-DP. The extremal pair is binary randomized response.

    (Kairouz, Oh and Viswanath 2015.)

    Parameters
    ----------
    epsilon
        The privacy parameter, 0 or more.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The worst loss that is epsilon-DP; nothing at all for epsilon = 0.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> round((dp.losses.pure(0.1) * 100).epsilon(delta=1e-6), 6)
    4.774568
    """
    epsilon = checks.moderate("epsilon", checks.nonnegative("epsilon", epsilon))
    if epsilon == 0:
        return Loss.zero(adjacency)
    return Loss.symmetric(
        two_point_atoms(epsilon), adjacency, call("pure", epsilon=epsilon, adjacency=adjacency)
    )


def approx(epsilon: float, delta: float, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of anything (epsilon, delta)-DP: with probability delta all is revealed, else randomized response.

    The four-point extremal pair of Kairouz, Oh and Viswanath 2015.

    Parameters
    ----------
    epsilon
        The privacy parameter, 0 or more.
    delta
        The probability of failure, in [0, 1).
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The worst loss that is (epsilon, delta)-DP.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.losses.approx(1.0, 1e-6).delta(epsilon=1.0) >= 1e-6
    True
    """
    epsilon = checks.moderate("epsilon", checks.nonnegative("epsilon", epsilon))
    delta = checks.failure_probability("delta", delta)
    if delta == 0:
        return pure(epsilon, adjacency)
    if epsilon == 0:
        pair = Atoms(np.zeros(1), np.array([1 - delta]), delta)
    else:
        inner = two_point_atoms(epsilon)
        pair = Atoms(inner.loss, inner.mass * (1 - delta), delta, inner.lattice, inner.index)
    return Loss.symmetric(pair, adjacency, call("approx", epsilon=epsilon, delta=delta, adjacency=adjacency))


def randomized_response(epsilon: float, k: int = 2, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of k-ary randomized response: the truth with probability e^epsilon / (e^epsilon + k - 1).

    For one person's answer against another answer of theirs: the other k - 2 answers tell nothing (Warner,
    "Randomized response", 1965, for k = 2). Under replace-one that is what neighbours differ in, so pass
    adjacency=dp.REPLACE_ONE; under add/remove it also bounds an answer against a report made without
    looking, and is the default because losses of the default adjacency add up.

    Parameters
    ----------
    epsilon
        The privacy parameter, 0 or more.
    k
        How many answers there are, 2 or more.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of one answer.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.losses.randomized_response(1.0).epsilon(delta=0.0)
    1.0
    """
    epsilon = checks.moderate("epsilon", checks.nonnegative("epsilon", epsilon))
    k = checks.count("k", k, least=2)
    if epsilon == 0:
        return Loss.zero(adjacency)
    each = 1.0 / (math.exp(epsilon) + k - 1) if epsilon < 700 else math.exp(-epsilon)
    truth = 1.0 / (1.0 + (k - 1) * math.exp(-epsilon))
    pair = (
        two_point_atoms(epsilon)
        if k == 2
        else lattice_atoms(epsilon, 0.0, np.array([each, (k - 2) * each, truth]), start=-1)
    )
    return Loss.symmetric(
        pair, adjacency, call("randomized_response", epsilon=epsilon, k=(k, 2), adjacency=adjacency)
    )


def geometric(scale: float, sensitivity: int = 1, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of f(X) + two-sided geometric noise, P(k) proportional to exp(-|k|/scale), f integer valued.

    (Ghosh, Roughgarden and Sundararajan 2012, with alpha = exp(-1/scale).) For vectors the worst case puts all of the
    change in one coordinate, as for `laplace`.

    Parameters
    ----------
    scale
        The scale of the noise, above 0.
    sensitivity
        How far neighbours can move f(X), in l1 norm: a whole number from 1 to 1e6.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

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
    >>> dp.losses.geometric(scale=2.0).epsilon(delta=0.0)
    0.5
    """
    scale = checks.positive("scale", scale, "Noise of scale 0 hides nothing.")
    steps = checks.count("sensitivity", sensitivity, least=1)
    checks.moderate("sensitivity / scale", steps / scale)
    if steps > 10**6:
        raise InvalidParameter(
            f"sensitivity is {steps}; the exact discrete pair is kept up to 1e6. Use coarser units, or laplace()."
        )
    pair = geometric_atoms(checks.ratio_up(1.0, scale), steps)
    return Loss.symmetric(
        pair, adjacency, call("geometric", scale=scale, sensitivity=(steps, 1), adjacency=adjacency)
    )


def discrete_gaussian(sigma: float, sensitivity: int = 1, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of an integer f(X) + discrete Gaussian noise, P(k) proportional to exp(-k^2 / (2 sigma^2)).

    Neighbours move f by at most `sensitivity`, a whole number, in one dimension (Canonne, Kamath and
    Steinke 2020). The loss is linear in the outcome: a lattice of spacing sensitivity / sigma^2. Outcomes
    beyond 38 sigma are counted as revealing all, which adds 5e-300 to delta.

    Parameters
    ----------
    sigma
        The parameter of the noise, above 0 and at most 1e5.
    sensitivity
        How far neighbours can move f(X): a whole number from 1 to 1e6.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

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
    >>> loss = dp.losses.discrete_gaussian(sigma=10.0)
    >>> abs(loss.epsilon(1e-5) - dp.losses.gaussian(sigma=10.0).epsilon(1e-5)) < 0.01
    True
    """
    sigma = checks.positive("sigma", sigma, "Noise of scale 0 hides nothing.")
    steps = checks.count("sensitivity", sensitivity, least=1)
    if sigma > 1e5:
        raise InvalidParameter(
            f"sigma is {sigma}; the exact discrete pair is kept up to 1e5. Use coarser units: divide sigma and "
            "sensitivity by the same whole number."
        )
    checks.moderate("sensitivity / sigma", steps / sigma)
    if steps > 10**6:
        raise InvalidParameter(
            f"sensitivity is {steps}; the exact discrete pair is kept up to 1e6. Use coarser units."
        )
    pair = DiscreteGaussianAtoms(sigma, steps)
    return Loss.symmetric(
        pair, adjacency, call("discrete_gaussian", sigma=sigma, sensitivity=(steps, 1), adjacency=adjacency)
    )


def from_pair(p: Sequence[float], q: Sequence[float], adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of a release whose worst neighbours give the finite distributions p (with) and q (without).

    Outcomes possible under one only are losses of infinite size. Both must sum to 1 (to 1e-9; they
    are then taken as given, never rescaled upwards).

    Parameters
    ----------
    p
        Probabilities of the outcomes with the record.
    q
        Probabilities of the same outcomes without it.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of one release, its two directions apart.

    Raises
    ------
    InvalidParameter
        If p or q is not a distribution, or they have different lengths.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.losses.from_pair([0.9, 0.1], [0.5, 0.5]).delta(0.0)  # doctest: +ELLIPSIS
    0.4...
    """
    with_one, without = _distribution("p", p), _distribution("q", q)
    if len(with_one) != len(without):
        raise InvalidParameter(
            f"p has {len(with_one)} outcomes and q has {len(without)}; give the same outcomes in the same order, with "
            "probability 0 where one is impossible."
        )
    name = call("from_pair", p=f"[{len(with_one)} outcomes]", q="[...]", adjacency=adjacency)
    remove, add = _atoms(with_one, without), _atoms(without, with_one)
    return Loss(((remove, 1),), ((add, 1),), adjacency, name)


def _distribution(name: str, values: Sequence[float]) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(
            f"{name} is {checks.shown(values)}; it must be a list of probabilities."
        ) from None
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameter(
            f"{name} has shape {array.shape}; it must be a non-empty list of probabilities."
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise InvalidParameter(
            f"{name} holds a negative or non-finite number; probabilities are between 0 and 1."
        )
    if abs(float(array.sum()) - 1.0) > 1e-9:
        raise InvalidParameter(f"{name} sums to {float(array.sum())}; it must sum to 1.")
    return array


def _atoms(p: np.ndarray, q: np.ndarray) -> Atoms:
    both = (p > 0) & (q > 0)
    p_both, q_both = p[both], q[both]
    # Where the ratio is near 1, p - q is exact and the logarithm keeps its relative accuracy.
    near = (p_both > q_both / 2) & (p_both < 2 * q_both)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        ratio = p_both / q_both
        direct = (ratio > 1e-300) & (ratio < 1e300)
        far = np.where(direct, np.log(ratio), np.log(p_both) - np.log(q_both))
        loss, mass = np.where(near, np.log1p((p_both - q_both) / q_both), far), p_both
    apart = np.where(direct, 1 + np.abs(loss), np.abs(np.log(p_both)) + np.abs(np.log(q_both)))
    rounding = np.where(near, 2 * np.abs(loss), apart)
    # What the probabilities lack of 1 is shared out in the truth: it moves every loss by as much.
    lack = (abs(math.fsum([*p, -1.0])) + abs(math.fsum([*q, -1.0]))) * (1 + 1e-8)
    blur = 2 * UNIT * float(rounding.max(initial=0.0)) + lack
    values, where = np.unique(loss, return_inverse=True)
    merged = np.bincount(where, weights=mass, minlength=len(values))
    infinite = checks.float_up(sum(map(Fraction, p[(p > 0) & (q == 0)].tolist()), Fraction(0)))
    return Atoms(values, merged, infinite, slack=8 * UNIT + lack, blur=blur)
