"""Sums of secret bits, exact and private."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dalenius as dp
from dalenius.core.arrays import Array, Bools

Sums = Callable[[Bools], Array]


def exact(bits: Bools) -> Sums:
    return lambda queries: queries.astype(np.int64) @ bits.astype(np.int64)


def mechanism(queries: Bools, mu: float) -> dp.mechanisms.Mechanism:
    """Discrete Gaussian noise of mu-GDP, about, for the change of one bit: it moves the sums that it is in."""
    moved = int(queries.sum(axis=0).max())
    return dp.mechanisms.DiscreteGaussian(
        sensitivity=moved**0.5, sigma=moved**0.5 / mu, adjacency=dp.REPLACE_ONE
    )


def private(bits: Bools, noise: dp.mechanisms.Mechanism) -> Sums:
    return lambda queries: noise.release(exact(bits)(queries))
