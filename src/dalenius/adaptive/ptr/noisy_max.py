"""Which of two counts is larger, with Laplace noise that costs less where the two are far apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.adaptive.ptr.distance_test import FAR
from dalenius.adaptive.ptr.parts import Stable
from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import whole_numbers
from dalenius.mechanisms._support.float_arrays import WHOLE, Reals
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.noise import noisy_argmax

MOST_GAPS = 10**7


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Stable):
    """The index of the larger of n_0 + Laplace(scale) and n_1 + Laplace(scale).

    (Redberg 2023, Example B.3.1.) Let l(t) = (2 + u) exp(-u)/4, u = t/scale, be the chance that the smaller count wins
    when the counts are t apart. Between counts whose signed difference is s and s + 1 or s - 1 (2 for REPLACE_ONE) the
    loss is that of two coins; a gap keeps the budget approx(limit, delta) if both coins are within it, both ways.

    Large gaps do, since the loser hardly ever wins: l <= delta. But the loss does not fall with the gap. Without delta
    it *rises*, up to step/scale; with delta it rises until l reaches delta and is 0 from then on. So small gaps may
    keep the budget, those in between not, and large ones again, and the distance is that to the gaps in between.

    Parameters
    ----------
    scale
        The scale of the noise on each count.
    limit
        The epsilon of the budget.
    delta
        The delta of the budget.
    adjacency
        The neighbouring relation: a record is a unit of one of the counts.

    Examples
    --------
    >>> from dalenius.adaptive.ptr import NoisyMax, ProposeTestRelease
    >>> m = ProposeTestRelease.by_distance(
    ...     NoisyMax(scale=1.0, limit=0.1, delta=1e-6), epsilon=0.5, wrong_pass=1e-6)
    >>> m.release([300, 100]), m.release([101, 100]), m.loss.delta(0.6) <= 1.01e-6
    (0, Refusal(), True)
    """

    scale: float
    limit: float
    delta: float
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checks.positive("scale", self.scale))
        object.__setattr__(self, "limit", checks.moderate("limit", checks.nonnegative("limit", self.limit)))
        object.__setattr__(self, "delta", checks.failure_probability("delta", self.delta))
        checked_adjacency(self.adjacency)
        if not 2.0**-900 <= self.scale <= 2.0**900:
            raise InvalidParameter.of("scale", f"scale is {self.scale:g}; it must be within [2^-900, 2^900].")
        if self.delta == 0 and self.limit < self._step / self.scale:
            raise InvalidParameter(
                f"limit is {self.limit:g} and delta is 0; without delta wide gaps cost as much as step/scale, "
                f"{self._step / self.scale:g}."
            )
        _ = self._unkept

    @property
    def _step(self) -> int:
        return 1 if self.adjacency is ADD_REMOVE else 2

    @property
    def budget(self) -> Loss:
        return losses.approx(self.limit, self.delta, self.adjacency)

    @property
    def worst_loss(self) -> Loss:
        return losses.laplace(self.scale, float(self._step), self.adjacency)

    @cached_property
    def _unkept(self) -> Reals:
        """The gaps, 0 or more, that do not keep the budget."""
        if self.limit >= self._step / self.scale:
            return np.empty(0)
        # From where the loser wins with probability delta on, both coins are within (0, delta).
        last = self.scale * 10
        while _loser(np.array([last]), self.scale)[0] > self.delta * (1 - 1e-9):
            last *= 2
        if last > MOST_GAPS:
            raise InvalidParameter(
                f"scale is {self.scale:g}; so wide a noise needs gaps of more than {MOST_GAPS:g}."
            )
        gaps = np.arange(math.ceil(last) + self._step + 1, dtype=float)
        return gaps[loss_profile(gaps, self.scale, self._step, self.limit) > self.delta * (1 - 1e-9)]

    def distance(self, data: Any) -> int:
        first, second = _two_counts(data)
        gap, unkept = first - second, self._unkept
        if self.adjacency is not ADD_REMOVE:
            # A move changes the gap by 2; with n records it is at most n.
            unkept = unkept[(unkept % 2 == abs(gap) % 2) & (unkept <= first + second)]
        if len(unkept) == 0:
            return FAR
        apart = np.min(np.abs(np.concatenate((unkept, -unkept)) - gap))
        return int(apart) // self._step

    def release(self, data: Any) -> int:
        return self.releases(data, 1)[0]

    def releases(self, data: Any, times: int) -> list[int]:
        winners: list[int] = noisy_argmax(
            np.tile(_two_counts(data), (times, 1)), self.scale, "laplace"
        ).tolist()
        return winners

    @property
    def worst_pair(self) -> Neighbours:
        """Counts so far apart that the test passes."""
        far = 60 + (int(self._unkept[-1]) if len(self._unkept) else 0)
        return Neighbours([far, 0], [far + 1, 0] if self.adjacency is ADD_REMOVE else [far - 1, 1])


def data_dependent_epsilon(gap: int, scale: float, delta: float, step: int = 1) -> float:
    """The least epsilon with which counts this far apart keep (epsilon, delta), rounded up.

    Parameters
    ----------
    gap
        The larger count minus the smaller one.
    scale
        The scale of the noise on each count.
    delta
        The delta of the budget.
    step
        How far one record moves the difference of the counts.

    Returns
    -------
    float
        Redberg 2023, Theorem B.3.2, with delta and for both neighbours.

    Examples
    --------
    >>> from dalenius.adaptive.ptr.noisy_max import data_dependent_epsilon
    >>> [round(data_dependent_epsilon(t, scale=0.1, delta=1e-6), 3) for t in (0, 1, 2, 3)]
    [8.208, 9.386, 9.386, 0.0]
    """

    def kept(epsilon: float) -> bool:
        return float(loss_profile(np.array([float(gap)]), scale, step, epsilon)[0]) <= delta

    if kept(0.0):
        return 0.0
    return last_true(kept, step / scale, 0.0, relative=1e-12)[0]


def loss_profile(gaps: Reals, scale: float, step: int, epsilon: float) -> Reals:
    """The delta at this epsilon between counts so far apart and their neighbours, the worst of all directions.

    Parameters
    ----------
    gaps
        Differences of the counts, 0 or more.
    scale
        The scale of the noise on each count.
    step
        How far one record moves the difference.
    epsilon
        0 or more.

    Returns
    -------
    ndarray
        A delta for each gap, of coins that are right to a relative 1e-12 or so, however small.
    """
    here = _loser(gaps, scale)
    worst = np.zeros(len(gaps))
    for gap in (gaps + step, gaps - step):
        # Where the gap turns round, what wins with probability l here does with probability 1 - l there.
        size = _loser(np.abs(gap), scale)
        there = np.where(gap >= 0, size, 1 - size)
        worst = np.maximum(worst, np.maximum(_excess(here, there, epsilon), _excess(there, here, epsilon)))
    return worst


def _excess(p: Reals, q: Reals, epsilon: float) -> Reals:
    """(p - e^epsilon q)+ + (1 - p - e^epsilon (1 - q))+, in which small p and q keep their digits."""
    more, factor = np.expm1(epsilon), np.exp(epsilon)
    return np.asarray(np.maximum(p - factor * q, 0) + np.maximum(q - p - more * (1 - q), 0))


def _loser(gaps: Reals, scale: float) -> Reals:
    """P(the smaller count wins): a difference of two Laplace numbers exceeds the gap."""
    u = gaps / scale
    return np.asarray((2 + u) * np.exp(-u) / 4)


def _two_counts(data: Any) -> tuple[int, int]:
    """Those beyond 2^53, where doubles have gaps, count as 2^53: that moves no two neighbours apart."""
    counts = whole_numbers(data)
    if counts.shape != (2,) or (counts < 0).any():
        raise InvalidParameter("value must be two counts, 0 or more.")
    first, second = (min(int(c), WHOLE) for c in counts.tolist())
    return first, second
