"""Batches cut from a random order: what most data loaders do."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import UNIT, Reals
from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import InvalidParameter

MOST_BATCHES = 10**9
CELLS = 2000


def shuffled_batches(
    sigma: float, batches: int, sensitivity: float = 1.0, adjacency: Adjacency = REPLACE_ONE
) -> Loss:
    """Loss of one epoch over records in a random order, cut into batches: every record is in exactly one of them.

    What most data loaders do. No amplification is proved for it: the upper end is that of one release with known
    batches, N(mu, 1) against N(0, 1), since given the order a record changes one noisy sum. The lower end is what the
    largest of all sums tells when the other records all point the same way (Chua, Ghazi, Kamath, Kumar, Manurangsi,
    Sinha and Zhang 2024, "How private are DP-SGD implementations?"), which for little noise is close to the upper
    end, and far above what Poisson sampling at the same rate would cost. The order is drawn anew for every epoch, and
    does not depend on the data; epochs are a multiple of the loss.

    Parameters
    ----------
    sigma
        The standard deviation of the noise of each sum, above 0.
    batches
        How many batches an epoch has, from 1 to 1e9.
    sensitivity
        The largest l2 norm of what a record adds, above 0. Replacing a record moves a sum by twice this.
    adjacency
        `dp.REPLACE_ONE`; or `dp.ADD_REMOVE` in the sense that a record is emptied and its place stays (zero-out), so
        that the batches of the others do not change. If records really came and went, every batch after theirs would
        change, and nothing is claimed.

    Returns
    -------
    Loss
        The loss of one epoch.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> epoch = dp.losses.shuffled_batches(sigma=1.0, batches=100, adjacency=dp.ADD_REMOVE)
    >>> [round(float(end), 2) for end in epoch.epsilon_bounds(1e-5)]
    [4.06, 4.38]
    """
    sigma = checks.positive("sigma", sigma, "Noise of scale 0 hides nothing.")
    batches = checks.count("batches", batches, least=1)
    sensitivity = checks.positive("sensitivity", sensitivity)
    if batches > MOST_BATCHES:
        raise InvalidParameter.of("batches", f"batches is {batches}; it must be at most 1e9.")
    mu = checks.moderate("sensitivity / sigma", checks.ratio_up(sensitivity, sigma), 5e3)
    name = call(
        "shuffled_batches",
        sigma=sigma,
        batches=batches,
        sensitivity=(sensitivity, 1.0),
        adjacency=(adjacency, REPLACE_ONE),
    )
    replaced = checked_adjacency(adjacency) is REPLACE_ONE
    above = GaussianPair(2 * mu if replaced else mu)
    if batches == 1:
        return Loss.symmetric(above, adjacency, name)
    shorter = mu * (1 - 8 * UNIT)
    remove, add = largest_sum(2 * shorter, 0.0 if replaced else shorter, batches)
    if replaced:  # either of two neighbours may be the one with the odd record
        return Loss.symmetric(Bracket(remove, above), adjacency, name)
    return Loss(((Bracket(remove, above), 1),), ((Bracket(add, above), 1),), adjacency, name)


def largest_sum(shift: float, other: float, batches: int) -> tuple[Atoms, Atoms]:
    """What the largest of several N(0, 1), one of them moved by `shift` or by `other`, tells, in both orders.

    Its distribution functions are Phi(c - shift) Phi(c)^(batches - 1) and that of `other`; the outcome kept is the
    cell it falls into.
    """
    level = math.sqrt(2 * math.log(batches))
    edges = np.linspace(min(other, level) - 4.0, shift + level + 7.0, CELLS)
    p, off_p = _cells_of_maximum(edges, shift, batches)
    q, off_q = _cells_of_maximum(edges, other, batches)
    kept = (p > 4e6 * off_p) & (q > 4e6 * off_q)
    p, q, off_p, off_q = p[kept], q[kept], off_p[kept], off_q[kept]
    loose = 2 * (off_p / p + off_q / q) + 8 * UNIT

    def told(first: Reals, second: Reals) -> Atoms:
        loss = np.log(first) - np.log(second)
        return Atoms(loss - loose - 8 * UNIT * np.abs(loss), first * (1 - loose), slack=1e-12, blur=1e-14)

    return told(p, q), told(q, p)


def _cells_of_maximum(edges: Reals, shift: float, batches: int) -> tuple[Reals, Reals]:
    """Masses between the edges and beyond them, and their errors: those of logarithms of Phi, times the mass."""
    logs = log_ndtr(edges - shift) + (batches - 1) * log_ndtr(edges)
    below, above = np.exp(logs), -np.expm1(logs)
    off = 32 * UNIT * (np.minimum(below, above) + np.abs(logs) * below)
    middle = np.where(logs[:-1] > -0.7, above[:-1] - above[1:], below[1:] - below[:-1])
    mass = np.concatenate((below[:1], np.maximum(middle, 0.0), above[-1:]))
    return mass, np.append(off, 0.0) + np.insert(off, 0, 0.0)
