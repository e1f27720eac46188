"""Running totals with geometric noise, by a tree of partial sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.arrays import Ints, Reals
from dalenius.mechanisms._support.counter import Counter
from dalenius.mechanisms.geometric import Geometric

WIDEST = 64
"""Branches that are tried."""


@dataclass(frozen=True, kw_only=True)
class TreeCounter(Counter):
    """Releases x_1, x_1 + x_2, ... as numbers come in, with geometric noise: for PureDP.

    Steps are the leaves of a tree in which every node has b children; a node is the sum of its leaves, measured with
    geometric noise in the step in which the last of them comes in (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi
    and Song 2011). With h levels, b^h >= horizon, a step is in h nodes: the release is that of numbers of sensitivity
    h times that of a step (twice that with REPLACE_ONE), in l1 norm, and all steps together cost `loss`.

    A total adds up the fewest nodes that cover it. The estimate of each is the best linear combination of its own
    measurement and its children's (Honaker 2015, "from below"): later steps change no earlier total.

    Parameters
    ----------
    horizon
        Steps in all, 8192 at most.
    sensitivity
        The most that one record changes the number of its step; a whole number.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.
    scale
        Of the noise in every node.
    branches
        b, at least 2; by default the number with which totals have the least mean squared error for one epsilon.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.mechanisms import TreeCounter
    >>> year = TreeCounter.calibrated(dp.PureDP(1.0), horizon=365)
    >>> len(year.release([40, 52, 47])), year.branches, year.levels
    (3, 20, 2)
    """

    scale: float
    branches: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.branches is None:
            object.__setattr__(self, "branches", best_branches(self.horizon))
        object.__setattr__(self, "branches", checks.count("branches", self.branches, least=2))
        _ = self.loss

    @classmethod
    def calibrated(cls, guarantee: Guarantee, *, horizon: int, **options: Any) -> Self:
        """The least noise that keeps a guarantee, for all steps together.

        Parameters
        ----------
        guarantee
            What all that is ever released must satisfy.
        horizon
            As for the mechanism.
        **options
            The other parameters of the mechanism.

        Returns
        -------
        Self
            A counter whose loss satisfies the guarantee.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no noise keeps the guarantee.
        """
        shape = cls(horizon=horizon, scale=1e6, **options)
        moved = shape._mechanism.sensitivity
        scale = Geometric.calibrated(guarantee, sensitivity=moved, adjacency=shape.adjacency).scale
        return cls(horizon=horizon, scale=scale, **options)

    @property
    def levels(self) -> int:
        """Nodes that one step is in."""
        return _levels(self.horizon, self._b)

    @property
    def _b(self) -> int:
        assert self.branches is not None
        return self.branches

    @cached_property
    def _mechanism(self) -> Geometric:
        moved = self.levels * self.sensitivity * (1 if self.adjacency is ADD_REMOVE else 2)
        return Geometric(sensitivity=moved, scale=self.scale, adjacency=self.adjacency)

    @property
    def loss(self) -> Loss:
        """Of all steps together."""
        return self._mechanism.loss

    def _measured(self, numbers: Ints, done: int) -> list[Ints]:
        sums = np.concatenate([np.zeros((1, *numbers.shape[1:]), np.int64), np.cumsum(numbers, axis=0)])
        steps = range(done + 1, len(numbers) + 1)
        if not steps:
            return []
        nodes = [[sums[t] - sums[t - size] for size in self._complete(t)] for t in steps]
        noisy = np.asarray(self._mechanism.release(np.array([node for step in nodes for node in step])))
        return np.split(noisy, np.cumsum([len(step) for step in nodes])[:-1])

    def _complete(self, step: int) -> list[int]:
        """Sizes of the nodes that end with this step, counted from 1."""
        sizes = [self._b**level for level in range(self.levels)]
        return [size for size in sizes if step % size == 0]

    def _numbers(self, step: int) -> int:
        return len(self._complete(step))

    @cached_property
    def _variances(self) -> list[float]:
        """Of the estimate of a node, by level, in multiples of the noise of one measurement."""
        return _variances(self._b, self.levels)

    def totals(self, measured: Sequence[Ints]) -> Reals:
        waiting: list[list[Reals]] = [[] for _ in range(self.levels)]
        totals = []
        for nodes in self._as_measured(measured):
            below: Reals | None = None
            for level, node in enumerate(nodes):
                estimate = node
                if below is not None:
                    share = self._b * self._variances[level - 1]
                    estimate = (share * node + below) / (1 + share)
                waiting[level].append(estimate)
                below = np.sum(waiting[level], axis=0) if len(waiting[level]) == self._b else None
                if below is not None and level + 1 < self.levels:
                    waiting[level] = []
            totals.append(np.sum([node for level in waiting for node in level], axis=0))
        return np.array(totals)

    def standard_errors(self, since: int = 0) -> Reals:
        since = self._since(since)
        spread = [self._spread(since, t) for t in range(since + 1, self.horizon + 1)]
        return np.asarray(self._error * np.sqrt(spread))

    def step_errors(self) -> Reals:
        spread = [self._spread(t - 1, t) for t in range(1, self.horizon + 1)]
        return np.asarray(self._error * np.sqrt(spread))

    @property
    def _error(self) -> float:
        """The standard deviation of one measurement."""
        return math.sqrt(2 * math.exp(-1 / self.scale)) / -math.expm1(-1 / self.scale)

    def _spread(self, since: int, until: int) -> float:
        """The variance of a difference of two totals, in multiples of that of one measurement.

        A node of the shorter total is one of the longer, or lies below one of it: the estimate of that holds it with
        the product of the shares that children have in the nodes between.
        """
        longer, shorter = _nodes(until, self._b, self.levels), _nodes(since, self._b, self.levels)
        variances = self._variances
        total = sum(variances[level] for level, _ in longer) + sum(variances[level] for level, _ in shorter)
        for level, end in shorter:
            above = next(m for m, other in longer if other >= end)
            held = math.prod(1 / (1 + self._b * variances[m - 1]) for m in range(level + 1, above + 1))
            total -= 2 * held * variances[level]
        return total


def best_branches(horizon: int) -> int:
    """With the least mean squared error of totals, where all nodes of a step share one epsilon."""

    steps = np.arange(1, horizon + 1)

    def error(b: int) -> float:
        levels = _levels(horizon, b)
        # Of a level a total takes as many nodes as the digit of its length says, in base b; of the highest, the rest.
        sizes = b ** np.arange(levels)[:, None]
        nodes = (steps // sizes % np.where(sizes < sizes[-1], b, horizon + 1)).sum(axis=1)
        return levels**2 * float(nodes @ np.array(_variances(b, levels)))

    return min(range(2, min(WIDEST, max(horizon, 2)) + 1), key=error)


def _levels(horizon: int, b: int) -> int:
    levels = 1
    while b**levels < horizon:
        levels += 1
    return levels


def _variances(b: int, levels: int) -> list[float]:
    variances = [1.0]
    while len(variances) < levels:
        below = b * variances[-1]
        variances.append(below / (1 + below))
    return variances


def _nodes(step: int, b: int, levels: int) -> list[tuple[int, int]]:
    """The fewest nodes that cover the steps up to this one: level and last step of each, from left to right."""
    nodes, end = [], 0
    for level in reversed(range(levels)):
        while end + b**level <= step:
            end += b**level
            nodes.append((level, end))
    return nodes
