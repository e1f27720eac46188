"""Every record takes part in a few steps chosen at random: balls in bins."""

from __future__ import annotations

import math

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.losses.neighbours import chained_above
from dalenius.calculus.pairs.allocation import AllocationPair
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import InvalidParameter

MOST_STEPS = 10**7


def random_allocation(
    sigma: float, steps: int, chosen: int = 1, sensitivity: float = 1.0, adjacency: Adjacency = ADD_REMOVE
) -> Loss:
    """Loss of `steps` noisy sums when every record adds to `chosen` of them, drawn by itself uniformly at random.

    Also called balls in bins: an epoch of `steps` batches, where each record is thrown into one of them. Nobody
    learns which, and batches have random sizes. Each release adds N(0, sigma^2 I), and may be chosen after
    seeing the ones before.

    For one step out of t the worst pair is the mean of N(mu e_i, I) over i = 1 .. t against N(0, I), in either order.
    It is attained, and its profile is computed from the law of a sum of t log-normal variables, with certified ends
    some 1e-4 to 5e-3 apart.
    For k steps the pair is dominated by that of one step out of floor(t/k), k times: a random choice of k is a
    random division into k parts with one choice in each. The lower end then is what a sum of scores of the steps
    tells, or all of them less the logarithm of the choices: two thousandths of epsilon away in the median of random
    runs with epsilon below 5, up to a fifth where k is a large share of t, so that floor(t/k) loses much. (Chua,
    Ghazi, Harrison, Leeman, Kamath, Kumar, Manurangsi, Sinha and Zhang 2025, "Balls-and-bins sampling for DP-SGD";
    Feldman and Shenfeld 2025, "Privacy amplification by random allocation", and 2026, "Efficient privacy loss
    accounting for subsampling and random allocation"; proofs in docs/batches.md.)

    Parameters
    ----------
    sigma
        The standard deviation of the noise of a step, above 0. Nothing is amplified above 1000 times the
        sensitivity, where the steps count as if they were known.
    steps
        How many steps there are, t, from 1 to 1e7.
    chosen
        How many of them a record takes part in, k, from 1 to t.
    sensitivity
        The largest l2 norm of what a record adds to a step, above 0.
    adjacency
        `dp.ADD_REMOVE`, which includes a record that is emptied while its place stays, or `dp.REPLACE_ONE`, which is
        followed along the chain remove, add in each of the k parts: an upper bound, its lower end what the sum of all
        releases tells.

    Returns
    -------
    Loss
        The loss of all the steps together: one epoch. More epochs, each with new draws, are a multiple of it.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> epoch = dp.losses.random_allocation(sigma=1.0, steps=100)
    >>> coins = dp.losses.poisson_sampled(dp.losses.gaussian(1.0), 0.01) * 100
    >>> epoch.epsilon(1e-6) < coins.epsilon(1e-6) < dp.losses.gaussian(1.0).epsilon(1e-6)
    True
    """
    sigma = checks.positive("sigma", sigma, "Noise of scale 0 hides nothing.")
    steps = checks.count("steps", steps, least=1)
    chosen = checks.count("chosen", chosen, least=1)
    sensitivity = checks.positive("sensitivity", sensitivity)
    if steps > MOST_STEPS:
        raise InvalidParameter.of("steps", f"steps is {steps}; it must be at most 1e7.")
    if chosen > steps:
        raise InvalidParameter.of(
            "chosen", f"chosen is {chosen} and there are {steps} steps; it cannot be more."
        )
    mu = checks.moderate("sensitivity / sigma", checks.ratio_up(sensitivity, sigma))
    name = call(
        "random_allocation",
        sigma=sigma,
        steps=steps,
        chosen=(chosen, 1),
        sensitivity=(sensitivity, 1.0),
        adjacency=adjacency,
    )
    replaced = checked_adjacency(adjacency) is REPLACE_ONE
    if steps == chosen:
        terms = ((GaussianPair(2 * mu if replaced else mu), chosen),)
        return Loss(terms, terms, adjacency, name)
    remove, add = (AllocationPair(mu, steps, chosen, added) for added in (False, True))
    if not replaced:
        return Loss(((remove, chosen),), ((add, chosen),), ADD_REMOVE, name)
    # Records that point in opposite directions move the sum of all releases by 2 k mu, its noise being sqrt(t): for
    # each of k parts a k-th of that. From above, the parts run beside each other, each along its own chain.
    part = Loss(((remove, 1),), ((add, 1),), ADD_REMOVE, name)
    chain = chained_above(part, GaussianPair(2 * mu * math.sqrt(chosen / steps) * (1 - 1e-12)), name)
    each = ((chain.terms_remove[0][0], chosen),)
    return Loss(each, each, REPLACE_ONE, name)
