"""What noisy histograms of single columns say about the exact ones, where noise is large: posterior means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from dalenius.core.arrays import Bools, Reals
from dalenius.queries.marginals.fit import Target

ROUNDS, FIRST, MOVES, CHAINS = 240, 60, 3, 4
"""Rounds of the Markov chains, how many of them are not counted, moves in a round, and chains of a column."""
UNEVEN = (0.1, 0.4, 1.0, 2.0, 3.5)
"""Standard deviations of the part of a log count that is a cell's own."""
HILLS, WIDTHS, EVEN_ENOUGH = (1.0, 2.5), (2.0, 6.0), 1.0
"""Heights and widths, in cells, of the part that neighbours share; only where their own part is this or less."""
LONGEST = 128
"""Columns with more values are left as they were measured."""
WORTH = 0.015
"""A column is worth it where noise is about this part of the rows, or more; elsewhere the prior has nothing to add."""
FAR = 4.0
"""A mean that is farther from what was measured than noise goes, by so many standard deviations, is not used."""


def denoised(targets: Sequence[Target], total: float) -> list[Target]:
    """Single columns with their posterior means in place of noisy counts, where that is worth it.

    The prior of the counts of a column is total softmax(g), g a Gaussian vector around any level: a part of its own for
    every cell, and where it helps a part that neighbours share. How large these are is unknown, too (a finite set,
    each alike). So a column of a few large cells pools the small ones, a smooth one borrows from neighbours, and one
    that is neither stays as it was measured: the noisy counts tell which. All this is post-processing: the prior may be
    wrong, and the promise of privacy and the intervals from the noise do not depend on it.

    Means are by elliptical slice sampling (Murray, Adams and MacKay 2010), the hyperparameters by Gibbs steps, all
    columns at once, from fixed seeds: the same released counts give the same means.
    """
    found = list(targets)
    chosen = [k for k, t in enumerate(targets) if _worth(t, total)]
    for some in (chosen[n : n + 16] for n in range(0, len(chosen), 16)):
        means, spreads = _posterior([targets[k] for k in some], total)
        for k, mean, spread in zip(some, means, spreads, strict=True):
            off = float(((mean - _summing(targets[k], total)) ** 2).sum()) / targets[k].sigma ** 2
            if off <= mean.size + FAR * math.sqrt(2 * mean.size):
                sigma = min(targets[k].sigma, math.sqrt(float((spread**2).mean())))
                found[k] = Target(targets[k].scope, mean, max(sigma, targets[k].sigma / 10))
    return found


def _worth(target: Target, total: float) -> bool:
    cells = target.counts.size
    return len(target.scope) == 1 and 2 < cells <= LONGEST and math.sqrt(cells) * target.sigma > WORTH * total


def _summing(target: Target, total: float) -> Reals:
    return np.asarray(target.counts + (total - target.counts.sum()) / target.counts.size)


def _kernels(cells: int, width: int) -> Reals:
    """Covariances of g, one for each hyperparameter; cells beyond the column's are apart, and do nothing."""
    place = np.arange(width)
    distance = np.abs(place[:, None] - place)
    found = []
    for own in UNEVEN:
        hills = [(0.0, 1.0), *(product(HILLS, WIDTHS) if own <= EVEN_ENOUGH else ())]
        for height, reach in hills:
            kernel = own**2 * np.eye(width) + height**2 * np.exp(-0.5 * (distance / reach) ** 2)
            kernel[cells:] = kernel[:, cells:] = 0.0
            kernel[place[cells:], place[cells:]] = 1.0
            found.append(kernel)
    return np.array(found)


def _posterior(targets: Sequence[Target], total: float) -> tuple[list[Reals], list[Reals]]:
    sizes = [t.counts.size for t in targets]
    width, columns, draw = max(sizes), len(targets), np.random.default_rng(0)
    inside = np.arange(width) < np.array(sizes)[:, None]
    counts = np.zeros((columns, width))
    for row, target in zip(counts, targets, strict=True):
        row[: target.counts.size] = _summing(target, total)
    sigma = np.array([t.sigma for t in targets])[:, None]
    chains = _Chains(counts, sigma, inside, total, draw)
    kernels = np.array([_kernels(size, width) for size in sizes])
    roots, inverses = np.linalg.cholesky(kernels), np.linalg.inv(kernels)
    logs = np.linalg.slogdet(kernels)[1]
    ones = np.einsum("khij,kj->khi", inverses, inside)
    weights = np.einsum("khi,ki->kh", ones, inside)
    each = np.arange(columns)[:, None]
    first, second, kept = np.zeros((columns, width)), np.zeros((columns, width)), 0
    for n in range(ROUNDS):
        # Given g, how likely each kernel is, its level integrated out; then a kernel and a level.
        tilted = np.einsum("kci,khij->kchj", chains.g, inverses, optimize=True)
        square = np.einsum("kchj,kcj->kch", tilted, chains.g)
        linear = np.einsum("khi,kci->kch", ones, chains.g)
        likely = -0.5 * (square - linear**2 / weights[:, None] + logs[:, None] + np.log(weights)[:, None])
        likely = np.exp(likely - likely.max(-1, keepdims=True))
        steps = np.cumsum(likely, -1)
        kernel = (steps < draw.random(steps.shape[:2])[..., None] * steps[..., -1:]).sum(-1)
        weight = weights[each, kernel]
        level = np.take_along_axis(linear, kernel[..., None], -1)[..., 0] / weight
        level = level + draw.standard_normal(level.shape) / np.sqrt(weight)
        for _ in range(MOVES):
            chains.move(level[..., None], roots[each, kernel])
        if n >= FIRST:
            first += chains.x.sum(1)
            second += (chains.x**2).sum(1)
            kept += CHAINS
    first, second = first / kept, second / kept
    spread = np.sqrt(np.maximum(second - first**2, 0.0))
    return [m[:n] for m, n in zip(first, sizes, strict=True)], [
        s[:n] for s, n in zip(spread, sizes, strict=True)
    ]


class _Chains:
    """The log counts of all columns, in several chains each, and elliptical slices through them."""

    def __init__(
        self, counts: Reals, sigma: Reals, inside: Bools, total: float, draw: np.random.Generator
    ) -> None:
        self.counts, self.sigma, self.total, self.draw = counts[:, None], sigma[:, None], total, draw
        self.inside = inside[:, None]
        start = np.where(inside, np.log(np.maximum(counts, sigma / 2)), 0.0)
        start -= np.where(inside, start.sum(1, keepdims=True) / inside.sum(1, keepdims=True), 0.0)
        self.g = np.repeat(start[:, None], CHAINS, axis=1)
        self.height, self.x = self._likelihood(self.g)

    def _likelihood(self, g: Reals) -> tuple[Reals, Reals]:
        g = np.where(self.inside, g, -np.inf)
        e = np.exp(g - g.max(-1, keepdims=True))
        x = e * (self.total / e.sum(-1, keepdims=True))
        return -0.5 * (((x - self.counts) / self.sigma) ** 2).sum(-1), x

    def move(self, level: Reals, roots: Reals) -> None:
        """One move of every chain along an ellipse through it, to a point above a random height."""
        around = np.where(self.inside, self.g - level, 0.0)
        across = np.einsum("kcij,kcj->kci", roots, self.draw.standard_normal(around.shape))
        across = np.where(self.inside, across, 0.0)
        shape = self.height.shape
        least = self.height - self.draw.standard_exponential(shape)
        angle = self.draw.random(shape) * 2 * math.pi
        low, high, open_ = angle - 2 * math.pi, angle.copy(), np.ones(shape, dtype=np.bool_)
        for _ in range(60):  # the bracket is halved about each time; who is still out stays where it was
            g = level + around * np.cos(angle)[..., None] + across * np.sin(angle)[..., None]
            height, x = self._likelihood(g)
            taken = open_ & (height > least)
            self.g = np.where(taken[..., None] & self.inside, g, self.g)
            self.x = np.where(taken[..., None], x, self.x)
            self.height = np.where(taken, height, self.height)
            open_ &= ~taken
            if not open_.any():
                return
            low, high = np.where(open_ & (angle < 0), angle, low), np.where(open_ & (angle >= 0), angle, high)
            angle = np.where(open_, low + (high - low) * self.draw.random(shape), angle)
