"""Ratios of noisy parts, where floats end."""

from __future__ import annotations

import numpy as np

from dalenius.intervals.ratios import passing


def test_what_floats_cannot_hold_is_no_interval() -> None:
    """Neither a number nor nothing: everything may be the ratio, at parts and noise of every size."""
    sizes = np.array([0.0, 1e-320, 1.0, 1e160, 1e300, np.inf])
    a, b, c, k = (part.ravel() for part in np.meshgrid(sizes, sizes, sizes, sizes[1:]))
    low, high = passing(a, b, (c, -c, c), k)
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()
    assert (low <= high).all()
    assert np.isfinite(low).any()
    assert np.isinf(low[b == 0]).all()
