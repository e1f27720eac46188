"""A result for one data set, from an estimator that takes many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.arrays import Reals
from dalenius.infer.result import Result
from dalenius.intervals.differences import Estimated
from dalenius.intervals.laws import Noisy


def single(
    estimate: Callable[[float], Estimated],
    name: str,
    loss: Loss,
    method: str,
    rows: Noisy,
    notes: Iterable[str] = (),
) -> Result:
    """One number of one data set. estimate: by alpha."""
    best, error, _, _ = estimate(0.05)

    def limits(alpha: float) -> Reals:
        _, _, low, high = estimate(alpha)
        return np.array([[low[0], high[0]]])

    return Result(
        [name],
        best[:1],
        loss=loss,
        method=method,
        limits=limits,
        bse=error[:1],
        nobs=max(float(rows.values[0]), 0.0),
        nobs_noisy=loss.adjacency is ADD_REMOVE,
        notes=notes,
    )
