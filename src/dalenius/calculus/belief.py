"""How sure somebody can become of what they doubted, by an epsilon."""

from __future__ import annotations

import math


def belief(prior: float, gain: float) -> float:
    """The most that a prior belief in (0, 1) can become when odds grow by exp(gain), rounded up; 0 and 1 stay.

    >>> round(belief(0.5, 1.0), 6), belief(0.1, math.inf)
    (0.731059, 1.0)
    """
    if prior in (0.0, 1.0):
        return prior
    if math.isinf(gain):
        return 1.0
    # Six roundings, each of at most one part in 2^53; a smaller prior has odds that are no floats.
    prior = max(prior, 1e-300)
    return min(1.0, (1.0 + 2.0**-50) / (1.0 + (1.0 - prior) / prior * math.exp(-gain)))
