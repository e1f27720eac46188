"""How the budget of a regression is divided, and whether an interval can be had: from public facts alone.

In standardised coordinates of independent columns with normal errors, rows weighted by min(1, (reach/||x||)^2) with
reach = sqrt(p) have a curvature of about TYPICAL per row in every direction. That is a guess, used to plan and for
nothing else: intervals rest on the curvature that is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.infer.scores.averaged_newton import Shares

TYPICAL = 0.55
"""The curvature of a row, in standardised coordinates."""
STANDS_OUT = 3.0
"""How many times sd (sqrt(p) + 1) the least eigenvalue must be expected to have for an interval to be tried."""


@dataclass(frozen=True)
class Plan:
    """Shares of mu^2. `feasible` is whether an interval can be expected."""

    standardise: float
    first_scale: float
    first_bend: float
    first_steps: float
    rounds: int
    scale: float
    main: Shares
    feasible: bool


def plan(
    count: float,
    mu: float,
    size: int,
    adjacency: Adjacency,
    *,
    columns: int,
    looks: int,
    scale_known: bool,
) -> Plan:
    """Shares for `size` coefficients from `count` rows, of which `columns` columns are standardised in `looks` looks.

    Counts need so much that their noise is a small part of the number of rows, curvature so much that its least
    eigenvalue stands out of the noise, and what is left goes to the steps, where it shortens intervals.
    """
    double = 1.0 if adjacency is ADD_REMOVE else 2.0
    power = max(count, 1.0) * mu
    columns_share = min(0.2, max(double / 2 * looks * columns * (30 / power) ** 2, 0.03)) if columns else 0.0
    counts_share = min(0.15, max(double / 2 * (25 / power) ** 2, 0.004))
    rounds = _rounds(power, size, double)
    left = 1 - columns_share - counts_share * (rounds + (not scale_known))
    # sd (sqrt(p) + 1)/(TYPICAL n) of a curvature released with all that is left
    noise = size * (math.sqrt(size) + 1) * math.sqrt(double / 2) / (TYPICAL * power * math.sqrt(left))
    least = (STANDS_OUT * noise) ** 2
    bend = min(0.3, max(6 * least, 0.08))
    early = min(0.06, max(0.2 * bend, 0.03))
    steps = min(0.2, max(0.1, 0.6 * bend))
    square = min(0.1, max(bend / 2, 0.04))
    main = Shares(bend * left, (1 - bend - early - steps - square) * left, square * left)
    return Plan(
        columns_share,
        counts_share,
        early * left,
        steps * left,
        rounds,
        0.0 if scale_known else counts_share,
        main,
        least <= 0.35,
    )


def _rounds(power: float, size: int, double: float) -> int:
    """How often the scale is taken anew on the way to the root: the more, the less noise there is in a step.

    A round for a tenth of mu^2 ends about `noise` of the scale it began with away from the root, or a tenth of it if
    that is more; where the errors are a thousandth of the responses, three such rounds are needed to see them.
    """
    noise = double * 1.345 * size / (TYPICAL * power * math.sqrt(0.1))
    return 1 if noise > 0.2 else 2 if noise > 0.06 else 3 if noise > 0.01 else 4
