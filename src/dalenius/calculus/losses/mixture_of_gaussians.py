"""Gaussian noise on a sum to which a record, or a group of them, contributes a random amount."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.gaussian_mixtures import GaussianMixturesPair, Side, unshifted
from dalenius.calculus.pairs.pair import UNIT, Pair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.checks import float_up
from dalenius.errors import InvalidParameter

MOST_SIGMAS = 100.0
"""A record that can move the sum by more standard deviations than this is in plain sight."""
MOST_IN_GROUP = 1000
MOST_SENSITIVITIES = 2000
LEAST_WEIGHT = Fraction(1, 10**290)
"""Weights below this become part of that of the largest shift: they are no safe floats."""
CLOSE = 16 * UNIT
"""Relative roundings of weights that the bounds have room for; what is further apart is kept as two pairs."""
NOTHING = Atoms(np.zeros(1), np.ones(1))
EXCESS = Fraction(1, 10**9)
"""What probabilities given as floats may sum to above or below 1."""


def mixture_of_gaussians(
    sigma: float,
    sensitivities: Sequence[float],
    probabilities: Sequence[float],
    adjacency: Adjacency = ADD_REMOVE,
) -> Loss:
    """Loss of f(X) + N(0, sigma^2 I), to which one neighbour adds a random vector of known largest length.

    With probability probabilities[i], nobody learns which i, the record adds a vector of length sensitivities[i] at
    most. Its worst pair is sum_i p_i N(s_i, sigma^2) against N(0, sigma^2), in either order, for add/remove, and
    against sum_i p_i N(-s_i, sigma^2) for replace-one neighbours: each of two records adds its own vector. Both are
    attained, and the pairs of sampling at a rate are the case (0, s) with probabilities (1 - rate, rate). Ganesh
    2024, "Tight group-level DP guarantees for DP-SGD with sampling via mixture of Gaussians mechanisms"; the theorem,
    which covers both relations, is proved in docs/batches.md. The lengths are bounds: shorter vectors tell less.

    Parameters
    ----------
    sigma
        The standard deviation of the noise, above 0.
    sensitivities
        The largest l2 norm of what is added in each case, 0 or more, up to 100 sigma.
    probabilities
        The probability of each case; they sum to 1.
    adjacency
        The neighbouring relation: `dp.ADD_REMOVE` (one data set has the record and the other does not; that the record
        is emptied while its place stays is the same pair) or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of one release.

    Raises
    ------
    InvalidParameter
        If the lists have different lengths or a parameter is outside what is allowed.
    TooLittleNoise
        If a sensitivity is more than 100 sigma.

    Examples
    --------
    >>> import dalenius as dp
    >>> step = dp.losses.mixture_of_gaussians(1.0, [0, 1, 2], [0.98, 0.0199, 0.0001])
    >>> round((step * 100).epsilon(delta=1e-6), 3)
    1.977
    """
    sigma = checks.positive("sigma", sigma, "Noise of scale 0 hides nothing.")
    lengths = _listed("sensitivities", sensitivities)
    chances = _listed("probabilities", probabilities)
    if len(lengths) != len(chances):
        raise InvalidParameter.of(
            "probabilities",
            f"there are {len(lengths)} sensitivities and {len(chances)} probabilities; each case needs both.",
        )
    total = sum((Fraction(p) for p in chances), Fraction(0))
    if not abs(total - 1) <= EXCESS:
        raise InvalidParameter.of(
            "probabilities", f"the probabilities sum to {float(total):g}; they must sum to 1."
        )
    weights: dict[float, Fraction] = {}
    for length, chance in zip(lengths, chances, strict=True):
        if chance > 0.0:
            shift = checks.moderate("sensitivity / sigma", checks.ratio_up(length, sigma), MOST_SIGMAS)
            weights[shift] = weights.get(shift, Fraction(0)) + Fraction(chance)
    # What rounding left out counts as the worst case, what it added comes off the best ones.
    weights[max(weights)] += max(Fraction(0), 1 - total)
    excess = max(Fraction(0), total - 1)
    for shift in sorted(weights):
        taken = min(weights[shift], excess)
        weights[shift], excess = weights[shift] - taken, excess - taken
    name = f"mixture_of_gaussians(sigma={sigma:.12g}, sensitivities={_shown(lengths)}, probabilities={_shown(chances)}"
    if checked_adjacency(adjacency) is REPLACE_ONE:
        name += ", adjacency=replace_one"
    return loss_of_shifts(weights, adjacency, f"{name})")


def poisson_sampled_group(
    sigma: float, rate: float, size: int, sensitivity: float = 1.0, adjacency: Adjacency = ADD_REMOVE
) -> Loss:
    """Loss of a noisy sum over a Poisson sample towards a group: up to `size` records of one person, say.

    Every record is in the sample independently with probability `rate` and adds a vector of norm up to `sensitivity`
    to a sum with Gaussian noise. As many of the group as Binomial(size, rate) are in it, so the worst pair is a
    mixture of Gaussians with sensitivities 0, 1, ..., size times that of one (Ganesh 2024), and composing it over the
    steps is tight, where `group` of the loss of a record is not. With replace-one neighbours all records of the
    group may be other ones.

    Parameters
    ----------
    sigma
        The standard deviation of the noise, above 0.
    rate
        The probability that a record is in the sample, in [0, 1].
    size
        How many records the group has at most, from 1 to 1000.
    sensitivity
        The largest l2 norm of what a record adds, above 0.
    adjacency
        The neighbouring relation: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of one step towards the group.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the group can move the sum by more than 100 sigma.

    Examples
    --------
    >>> import dalenius as dp
    >>> step = dp.losses.poisson_sampled_group(sigma=1.0, rate=0.01, size=4)
    >>> one = dp.losses.poisson_sampled(dp.losses.gaussian(1.0), 0.01)
    >>> round((step * 1000).epsilon(1e-6), 4), round((one * 1000).epsilon(1e-6), 4)
    (10.0153, 2.1245)
    """
    sigma = checks.positive("sigma", sigma, "Noise of scale 0 hides nothing.")
    rate = checks.probability("rate", rate)
    size = checks.count("size", size, least=1)
    sensitivity = checks.positive("sensitivity", sensitivity)
    if size > MOST_IN_GROUP:
        raise InvalidParameter.of("size", f"size is {size}; it must be at most {MOST_IN_GROUP}.")
    one = Fraction(sensitivity) / Fraction(sigma)
    checks.moderate("size * sensitivity / sigma", float_up(size * one), MOST_SIGMAS)
    weights = {float_up(j * one): chance for j, chance in binomial(size, rate).items()}
    name = call(
        "poisson_sampled_group",
        sigma=sigma,
        rate=rate,
        size=size,
        sensitivity=(sensitivity, 1.0),
        adjacency=adjacency,
    )
    return loss_of_shifts(weights, checked_adjacency(adjacency), name)


def binomial(size: int, rate: float) -> dict[int, Fraction]:
    """The exact probabilities of Binomial(size, rate)."""
    p = Fraction(rate)
    top, bottom = p.numerator, p.denominator
    whole = bottom**size
    return {
        j: Fraction(math.comb(size, j) * top**j * (bottom - top) ** (size - j), whole)
        for j in range(size + 1)
    }


def loss_of_shifts(weights: Mapping[float, Fraction], adjacency: Adjacency, name: str) -> Loss:
    """The loss of a mixture with these weights of shifts, in units of sigma."""
    below, above = shifted(weights, up=False), shifted(weights, up=True)
    if not above:
        return Loss.zero(adjacency)
    if _is_close(below, above):
        below = above

    def pair(both: bool, down: bool) -> Pair:
        low, high = (
            mixture_pair(() if down else side, side if both or down else ()) if side else NOTHING
            for side in (below, above)
        )
        return high if below is above else Bracket(low, high)

    if adjacency is ADD_REMOVE:
        return Loss(((pair(False, False), 1),), ((pair(False, True), 1),), adjacency, name)
    return Loss.symmetric(pair(True, False), adjacency, name)


def shifted(weights: Mapping[float, Fraction], up: bool) -> Side:
    """The shifts above 0 with weights that are floats; no less lies beyond any place than before if `up`, else no more.

    What rounding adds to a weight is taken from that of the next smaller shift. So the small ones, and what is left for
    shift 0, keep their digits where there are some.
    """
    kept = {shift: weight for shift, weight in weights.items() if shift > 0.0 and weight > 0}
    if not kept:
        return ()
    small = sum((weight for weight in kept.values() if weight < LEAST_WEIGHT), Fraction(0))
    kept = {shift: weight for shift, weight in kept.items() if weight >= LEAST_WEIGHT or shift == max(kept)}
    if up and small:
        kept[max(kept)] = max(kept[max(kept)] + small, LEAST_WEIGHT)
    side, more = [], Fraction(0)
    for shift in sorted(kept, reverse=True):
        wanted = kept[shift] - more
        safe = wanted if wanted >= LEAST_WEIGHT else LEAST_WEIGHT if up and wanted > 0 else Fraction(0)
        weight = float_up(safe) if up else -float_up(-safe)
        more = Fraction(weight) - wanted
        if weight > 0.0:
            side.append((shift, weight))
    return tuple(side[::-1])


def _is_close(below: Side, above: Side) -> bool:
    """Whether roundings of weights are no more than what is granted to any number."""
    weights = [(unshifted(side), *(weight for _, weight in side)) for side in (below, above)]
    same = [shift for shift, _ in below] == [shift for shift, _ in above]
    return same and all(abs(a - b) <= CLOSE * max(a, b) for a, b in zip(*weights, strict=True))


def mixture_pair(up: Side, down: Side) -> Pair:
    """The pair of two mixtures; one shift on one side is what sampling at a rate makes of a Gaussian pair."""
    side = up or down
    if len(side) > 1 or (up and down):
        return GaussianMixturesPair(up, down)
    shift, weight = side[0]
    pair = GaussianPair(shift)
    return pair if weight == 1.0 else pair.sampled(weight, added=bool(down))


def _listed(name: str, values: object) -> list[float]:
    if (
        not isinstance(values, Sequence | np.ndarray)
        or isinstance(values, str | bytes)
        or np.ndim(values) == 0
        or not len(values)
    ):
        raise InvalidParameter.of(
            name, f"{name} is {checks.shown(values)}; it must be a list of numbers, not empty."
        )
    if len(values) > MOST_SENSITIVITIES:
        raise InvalidParameter.of(
            name, f"{name} has {len(values)} entries; at most {MOST_SENSITIVITIES} are taken."
        )
    return [checks.nonnegative(f"{name}[{i}]", value) for i, value in enumerate(values)]


def _shown(values: list[float]) -> str:
    return "[" + ", ".join(f"{value:.12g}" for value in values) + "]"
