"""Any loss as a finite symmetric pair from above and from below, for operations that need one pair."""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.engines.enumeration import enumerated
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import Pair, Reals, Terms
from dalenius.calculus.pairs.tabulate import symmetric_above, symmetric_below, symmetric_below_both

POINTS = 160
MOST_ATOMS = 500
"""A law that has more is tabulated."""

LAST_EPSILON = 600.0
"""Beyond this epsilon a table counts what is left of delta as certain loss: exp(epsilon) must be a float."""


def single_pair(loss: Loss) -> Pair | None:
    """The one pair of both directions, when the loss is a single symmetric one."""
    if loss.is_symmetric and len(loss.terms_remove) == 1 and loss.terms_remove[0][1] == 1:
        return loss.terms_remove[0][0]
    return None


def finite_pair(loss: Loss) -> tuple[Atoms, Atoms]:
    """Atoms from below and from above for the worse of both directions at every epsilon."""
    pair = single_pair(loss)
    if pair is not None:
        below, above = pair.lower.as_atoms, pair.upper.as_atoms
        if below is not None and above is not None:
            return below, above
    return tabulated(loss)


def finite_pairs(loss: Loss) -> tuple[tuple[Atoms, Atoms], tuple[Atoms, Atoms]]:
    """Atoms from below and from above for each of both directions.

    From above the worse of both serves either; from below it is above the one that tells less.
    """
    if loss.is_symmetric:
        return (finite_pair(loss),) * 2
    remove, add = sides(loss)
    if remove[0] is remove[1] and add[0] is add[1]:
        return remove, add
    both = (symmetric_below_both(remove[0], add[0]), tabulated(loss)[1])
    return both, both


def sides(loss: Loss) -> tuple[tuple[Atoms, Atoms], tuple[Atoms, Atoms]]:
    """Atoms below and above the profile of either direction from epsilon 0 on; the same one where it has its law."""
    exact = [_multiplied_out(terms) for terms in (loss.terms_remove, loss.terms_add)]
    if exact[0] is not None and exact[1] is not None:
        return (exact[0], exact[0]), (exact[1], exact[1])
    alone = (Loss(terms, terms, loss.adjacency, "") for terms in (loss.terms_remove, loss.terms_add))
    grid = np.unique(np.concatenate([epsilon_grid(side) for side in alone]))
    bounds = [[side.delta(float(e)) for e in grid] for side in (loss.remove, loss.add)]
    low = [np.array([b.lower for b in row]) for row in bounds]
    high = [np.array([b.upper for b in row]) for row in bounds]
    remove, add = (
        (
            symmetric_below(grid, low[k], high[k], (low[1 - k], high[1 - k])),
            symmetric_above(grid, high[k], high[1 - k]),
        )
        for k in (0, 1)
    )
    return remove, add


def _multiplied_out(terms: Terms) -> Atoms | None:
    """The law of few atoms in all."""
    if not all(pair.lower is pair.upper for pair, _ in terms):
        return None
    found = enumerated(terms)
    return found if found is not None and len(found.loss) <= MOST_ATOMS else None


def epsilon_grid(loss: Loss) -> Reals:
    """0 and points up to where delta is beyond notice."""
    largest = max(side.largest for side in loss.directions)
    floor = max(side.infinite for side in loss.directions)
    level = floor * (1 + 1e-9) + min(1e-25, 1e-6 * loss.delta(0.0))
    reach = loss.epsilon(level) if level < 1.0 else 0.0
    reach = largest if math.isfinite(largest) and largest < 1.5 * reach else reach
    reach = (
        min(reach, LAST_EPSILON) or LAST_EPSILON
    )  # a profile that is level from 0 on has no end of its own
    return (
        np.unique(np.concatenate((np.linspace(0.0, 1.0, POINTS), np.linspace(0.0, 1.0, POINTS // 2) ** 2)))
        * reach
    )


def tabulated(*losses: Loss) -> tuple[Atoms, Atoms]:
    """The pointwise largest profile of several losses, from below and from above."""
    grid = np.unique(np.concatenate([epsilon_grid(loss) for loss in losses]))
    bounds = [[loss.delta_bounds(float(e)) for e in grid] for loss in losses]
    high = np.max([[b.upper for b in row] for row in bounds], axis=0)
    low = np.max([[b.lower for b in row] for row in bounds], axis=0)
    return symmetric_below(grid, low, high), symmetric_above(grid, high)
