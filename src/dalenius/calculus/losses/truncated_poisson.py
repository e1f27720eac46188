"""Poisson samples of which no more than a largest batch is used."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.losses.mixture_of_gaussians import MOST_SIGMAS, mixture_pair
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian_mixtures import Side
from dalenius.calculus.pairs.pair import UNIT, Pair
from dalenius.calculus.pairs.revealed import RevealedPair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency

LOOSE = 1e-9
"""Relative error granted to SciPy's incomplete beta function, as in `pairs.crowd`, where it is tested."""


def truncated_poisson(
    sigma: float, rate: float, n: int, most: int, sensitivity: float = 1.0, adjacency: Adjacency = ADD_REMOVE
) -> Loss:
    """Loss of a noisy sum over a Poisson sample of which at most `most` records are used, drawn from it at random.

    Batches of a largest size, as hardware wants them. Let E be the event that `most` or more of the n - 1 others are
    in the sample. It does not depend on the record. Without it nothing is cut off, and the pair is that of Poisson
    sampling; with it the record, if it gets in at all, takes the place of another, and moves the sum by twice its
    sensitivity at most. So the pair is that of Poisson sampling, and with the probability of E the one of twice the
    sensitivity, which case it is being told. This is smaller than adding (1 + e^epsilon) times that probability to
    delta (Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha and Zhang 2024, "Scalable DP-SGD"); proof in docs/batches.md.
    The lower end is attained when all others add nothing.

    Parameters
    ----------
    sigma
        The standard deviation of the noise, above 0.
    rate
        The probability that a record is in the sample, in [0, 1].
    n
        How many records there are at most, the one in question among them.
    most
        How many records a batch may have.
    sensitivity
        The largest l2 norm of what a record adds, above 0.
    adjacency
        `dp.ADD_REMOVE`, which includes a record that is emptied while its place stays, or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of one step.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the sensitivity is more than 50 sigma.

    Examples
    --------
    >>> import dalenius as dp
    >>> step = dp.losses.truncated_poisson(sigma=1.0, rate=0.01, n=10_000, most=160)
    >>> free = dp.losses.poisson_sampled(dp.losses.gaussian(1.0), 0.01)
    >>> round((step * 1000).epsilon(1e-6), 3), round((free * 1000).epsilon(1e-6), 3)
    (2.125, 2.125)
    """
    sigma = checks.positive("sigma", sigma, "Noise of scale 0 hides nothing.")
    rate = checks.probability("rate", rate)
    n = checks.count("n", n, least=1)
    most = checks.count("most", most, least=1)
    sensitivity = checks.positive("sensitivity", sensitivity)
    mu = checks.moderate("sensitivity / sigma", checks.ratio_up(sensitivity, sigma), MOST_SIGMAS / 2)
    name = call(
        "truncated_poisson",
        sigma=sigma,
        rate=rate,
        n=n,
        most=most,
        sensitivity=(sensitivity, 1.0),
        adjacency=adjacency,
    )
    adjacency = checked_adjacency(adjacency)
    if rate == 0.0:
        return Loss.zero(adjacency)
    tail = _at_least(most, n - 1, rate)
    once, twice, kept = ((mu, rate),), ((2 * mu, rate),), ((mu, rate * (1 - tail) * (1 - 4 * UNIT)),)

    def step(up: Side, down: Side, more_up: Side, more_down: Side, least: tuple[Side, Side]) -> Pair:
        free = mixture_pair(up, down)
        if tail == 0.0:
            return free
        weights = (1 - tail, tail) if tail < 1 else (1.0,)
        cut = mixture_pair(more_up, more_down)
        above = RevealedPair(weights, (free, cut)[-len(weights) :])
        below = mixture_pair(*least) if kept[0][1] > 0.0 else Atoms(np.zeros(1), np.ones(1))
        return Bracket(below, above, above)

    if adjacency is REPLACE_ONE:
        return Loss.symmetric(step(once, once, twice, twice, (kept, kept)), adjacency, name)
    # With E, an emptied record still takes the place of another: mean f - y against f - y + x and f.
    remove = step(once, (), twice, once, (kept, ()))
    add = step((), once, once, twice, ((), kept))
    return Loss(((remove, 1),), ((add, 1),), adjacency, name)


def _at_least(k: int, n: int, p: float) -> float:
    """P(Binomial(n, p) >= k), rounded up."""
    if k > n:
        return 0.0
    away = abs(k - n * p) + 1
    return min(1.0, float(betainc(k, n - k + 1, p)) * (1 + LOOSE + 64 * UNIT * away) + 1e-300)
