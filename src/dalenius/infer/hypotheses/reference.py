"""The law of a statistic when the hypothesis holds, by simulation from what was released and nothing else."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.random import Generator, Philox

from dalenius.core.arrays import Reals

REPLICATES = 4999
"""Simulated statistics behind a p-value: its standard error is .003 at .05."""


def generator(*released: object) -> Generator:
    """Random numbers that are the same whenever the same numbers were released, and others otherwise.

    Their bits come from the released numbers alone, so p-values are post-processing and can be recomputed; and no
    fixed set of draws makes one p-value wrong in all releases.
    """
    text = b"".join(np.ascontiguousarray(np.asarray(part, dtype=np.float64)).tobytes() for part in released)
    return Generator(Philox(key=int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big")))


TIED = 1e-9
"""Statistics that differ by this part or less are equal: the same table in another order gives other last digits."""


def pvalue(statistic: float, simulated: Reals) -> float:
    """The rank of the statistic among simulated ones, itself counted: its chance to be at most a is at most a
    (Dwass 1957; Davison and Hinkley 1997, section 4.2.1)."""
    return float(
        (1 + np.count_nonzero(simulated >= statistic - TIED * abs(statistic))) / (len(simulated) + 1)
    )


def pvalues(statistics: Reals, simulated: Reals) -> Reals:
    """The same for many statistics."""
    ordered = np.sort(simulated)
    more = len(ordered) - np.searchsorted(ordered, statistics - TIED * np.abs(statistics), side="left")
    return np.asarray((1.0 + more) / (len(ordered) + 1))
