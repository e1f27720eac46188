"""From unbiased shares to what looks like shares."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from dalenius.core.arrays import Reals


def simplex(shares: Reals) -> Reals:
    """The distribution nearest to the shares: max(shares - t, 0), with the one t for which it adds up to 1.

    (Held, Wolfe and Crowder 1974.) The same as norm-sub of Wang et al. (2020), which finds t by repeated subtraction.
    """
    ordered = np.sort(shares)[::-1]
    # With the j largest kept, t is (their sum - 1)/j; the last j for which the smallest of them stays above t.
    cut = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
    kept = int(np.flatnonzero(ordered > cut)[-1])
    return np.asarray(np.maximum(shares - cut[kept], 0.0))


def norm_mul(shares: Reals) -> Reals:
    """Negative shares are 0, and what is left is scaled to add up to 1; all equal if nothing is left."""
    kept = np.maximum(shares, 0.0)
    total = float(kept.sum())
    return np.asarray(kept / total if total > 0 else np.full(len(shares), 1 / len(shares)))


def base_cut(shares: Reals, sd: float, failure: float) -> Reals:
    """Shares above the noise of an answer that nobody gave, which reaches there with this chance in all of them."""
    reach = -float(ndtri(failure / len(shares))) * sd
    return np.where(shares > reach, shares, 0.0)
