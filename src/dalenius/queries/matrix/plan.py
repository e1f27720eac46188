"""Which measurements to make for a workload, and with how much noise each: by total squared error, without data.

With `energy(e)` = sum over the questions of weight^2 |q on E(e)|^2 the total squared error of a strategy is
sum over e of energy(e) / precision(e) (Li, Miklau, Hay, McGregor and Rastogi 2015 for the general trace formula).

Gaussian noise. Measuring the contrasts of every E(e) with variance s(e)^2 costs sum of |column|^2 / s(e)^2. By Cauchy
and Schwarz the least error for a cost has precision(e) proportional to sqrt(energy(e) / dimension(e)). Among all
strategies whose Gram matrix is a number on each E(e) none is better: every cell has the same share of the cost, which
is sum of dimension(e) precision(e) / cells. If the workload is one of marginals, permuting the values of a column
changes nothing, the best Gram matrix of all may be averaged over permutations, and then it is one of these: the plan is
the best matrix mechanism there is for it (docs/proofs/matrix-mechanism.md; Xiao, He, Zhang and Kifer 2023 measure such
residuals with correlated noise).

Laplace noise. The cost is the sum of l1 norms / scales, and which measurements are best is found numerically: counts at
all levels, and contrasts of pairs (Haar wavelets: Xiao, Wang and Gehrke 2010), their scales by quasi-Newton steps from
several starts. The same for Gaussian noise when records are replaced.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import minimize

from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter
from dalenius.queries.matrix.strategy import Levels, Measurement, Strategy, gains
from dalenius.queries.matrix.trees import Tree
from dalenius.queries.noise_plan import Law
from dalenius.queries.workload.factors import Identity
from dalenius.queries.workload.parts import Part, Product
from dalenius.queries.workload.workload import Workload

MOST_SPACES = 20_000
"""More combinations of levels than this are refused."""
MOST_TRIED = 400
"""Up to this many combinations of levels are tried as counts for Laplace noise; beyond, those of the workload."""
MOST_LEVELS = 6
"""Deeper trees than this are tried with equal numbers of blocks only: Laplace noise has no use for many levels."""
NEGLIGIBLE = 3e-4
"""Measurements with less than this share of the largest are left out."""


@lru_cache(maxsize=64)
def planned(workload: Workload, law: Law, adjacency: Adjacency) -> Strategy:
    """The strategy for a workload."""
    trees = tuple(_tree(workload, i, law, adjacency) for i in range(len(workload.domain)))
    energy = energies(workload, trees)
    measurements, relative = _shares(trees, energy, law, adjacency)
    return Strategy(trees, measurements, relative)


def energies(workload: Workload, trees: Sequence[Tree]) -> dict[Levels, float]:
    """For every space E(e) that the workload touches: sum over the questions of weight^2 |q on E(e)|^2."""
    found: dict[Levels, float] = {}
    spaces = sum(math.prod(len(trees[i].blocks) for i in part.positions) for _, part in workload.parts)
    if spaces > 8 * MOST_SPACES:
        raise InvalidParameter(
            f"the workload needs {spaces} combinations of levels: ask about fewer columns at once."
        )
    for weight, part in workload.parts:
        outside = summed_over(trees, part)
        spectrum = part.spectrum([trees[i].blocks for i in part.positions])
        top = float(spectrum.max())
        for place in np.ndindex(*spectrum.shape):
            here = weight**2 * float(spectrum[place]) * outside
            if here > 1e-13 * weight**2 * top * outside:
                levels = in_all_columns(part, place, len(trees))
                found[levels] = found.get(levels, 0.0) + here
    if len(found) > MOST_SPACES:
        raise InvalidParameter(
            f"the workload needs {len(found)} combinations of levels: ask about fewer columns at once."
        )
    return found


def summed_over(trees: Sequence[Tree], part: Part) -> float:
    """What the columns that are summed over contribute to the energy of a question: the length of a sum, squared."""
    return float(math.prod(tree.padded for i, tree in enumerate(trees) if i not in part.positions))


def in_all_columns(part: Part, place: Sequence[int], columns: int) -> Levels:
    """Levels of a part's columns, with the whole for every other."""
    levels = dict(zip(part.positions, place, strict=True))
    return tuple(levels.get(i, 0) for i in range(columns))


# -- the trees ------------------------------------------------------------------------------------------


def _tree(workload: Workload, column: int, law: Law, adjacency: Adjacency) -> Tree:
    """The best of several ways to cut a column, for the questions about it alone; values that are asked about one by
    one are not cut any other way."""
    n = workload.domain.shape[column]
    asked = [(weight, part) for weight, part in workload.parts if column in part.positions]
    if not asked:
        return Tree(n, ())
    if n == 1:
        return Tree(1, (1,))
    if all(_by_value(part, column) for _, part in asked):
        return Tree(n, (n,))
    scored = [
        (_score(Tree(n, radices), column, asked, law, adjacency), radices) for radices in _ways_to_cut(n)
    ]
    return Tree(n, min(scored)[1])


def _by_value(part: Part, column: int) -> bool:
    return isinstance(part, Product) and isinstance(part.factors[part.positions.index(column)], Identity)


def _score(
    tree: Tree, column: int, asked: Iterable[tuple[float, Part]], law: Law, adjacency: Adjacency
) -> float:
    table = np.zeros(len(tree.blocks))
    for weight, part in asked:
        place = part.positions.index(column)
        for level, block in enumerate(tree.blocks):
            table[level] += weight**2 * _energy(part, place, block)
    spectrum = np.maximum(np.diff(table, prepend=0.0), 0.0)
    energy: dict[Levels, float] = {
        (level,): float(x) for level, x in enumerate(spectrum) if x > 1e-13 * spectrum.max()
    }
    _, _, error = _solved((tree,), energy, law, adjacency, starts=0)
    return error


@lru_cache(maxsize=4096)
def _energy(part: Part, place: int, block: int) -> float:
    return part.energy([block if i == place else 1 for i in range(len(part.positions))])


def _ways_to_cut(n: int) -> list[tuple[int, ...]]:
    """Into values at once; and, for every depth, into nearly equal numbers with the fewest empty places."""
    found: dict[tuple[int, ...], None] = {(n,): None}
    for depth in range(2, min(MOST_LEVELS, (n - 1).bit_length()) + 1):
        large = max(2, math.ceil(n ** (1 / depth) - 1e-9))
        mixed = [(large,) * (depth - few) + (max(2, large - 1),) * few for few in range(depth)]
        radices = min((one for one in mixed if math.prod(one) >= n), key=math.prod)
        found[radices] = found[radices[::-1]] = None
    for radix in (2, 16):
        depth = max(1, math.ceil(math.log(n) / math.log(radix) - 1e-9))
        rest = -(-n // radix ** (depth - 1))
        if depth > 1 and rest > 1:
            found[(rest, *(radix,) * (depth - 1))] = None
    return list(found)


# -- the shares -----------------------------------------------------------------------------------------


def _shares(
    trees: tuple[Tree, ...], energy: dict[Levels, float], law: Law, adjacency: Adjacency
) -> tuple[tuple[Measurement, ...], tuple[float, ...]]:
    measurements, relative, _ = _solved(trees, energy, law, adjacency, starts=2)
    return measurements, relative


def _solved(
    trees: tuple[Tree, ...], energy: dict[Levels, float], law: Law, adjacency: Adjacency, starts: int
) -> tuple[tuple[Measurement, ...], tuple[float, ...], float]:
    """Measurements, the relative sizes of their noise, and the total squared error at cost 1."""
    if law == "gaussian" and adjacency is ADD_REMOVE:
        return _contrasts(trees, energy)
    tried = _candidates(trees, energy, law)
    spaces = list(energy)
    gain = gains(trees, tried, spaces)
    groups = [m.group(trees, adjacency) for m in tried]
    target = np.array([energy[part] for part in spaces])
    if law == "laplace":
        cost = np.array([float(g.l1) for g in groups])
        shares, error = _quasi_newton(target, gain / 2, cost, 2, starts)
    else:
        cost = np.array([float(g.squared) for g in groups])
        shares, error = _quasi_newton(target, gain, cost, 1, starts)
    kept = shares * cost > NEGLIGIBLE * (shares * cost).max()
    if not ((gain[kept] > 0).any(axis=0)).all():
        kept = shares > 0
    relative = 1 / shares[kept] if law == "laplace" else 1 / np.sqrt(shares[kept])
    chosen = tuple(m for m, keep in zip(tried, kept, strict=True) if keep)
    return chosen, tuple(relative.tolist()), error


def _contrasts(
    trees: tuple[Tree, ...], energy: dict[Levels, float]
) -> tuple[tuple[Measurement, ...], tuple[float, ...], float]:
    """Contrasts for every space, by the formula of Cauchy and Schwarz."""
    tried = tuple(Measurement(part, contrast=True) for part in energy)
    gain = np.array([m.gain(trees, m.levels) for m in tried])
    squared = np.array([float(m.group(trees, ADD_REMOVE).squared) for m in tried])
    target = np.array(list(energy.values()))
    weight = np.sqrt(target / (gain * squared))  # 1 / variance
    error = float(np.sqrt(target * squared / gain).sum()) ** 2
    return tried, tuple((1 / np.sqrt(weight)).tolist()), error


def _candidates(trees: tuple[Tree, ...], energy: dict[Levels, float], law: Law) -> list[Measurement]:
    ladders = [range(max(part[i] for part in energy) + 1) for i in range(len(trees))]
    every = math.prod(len(ladder) for ladder in ladders)
    cells = math.prod(tree.padded for tree, ladder in zip(trees, ladders, strict=True) if len(ladder) > 1)
    levels: list[Levels] = (
        list(itertools.product(*ladders)) if every <= MOST_TRIED and cells <= 2**24 else list(energy)
    )
    counts = [Measurement(one) for one in levels]
    paired = [
        Measurement(part, contrast=True)
        for part in energy
        if any(part)
        and (
            law == "gaussian"
            or all(trees[i].radices[level - 1] == 2 for i, level in enumerate(part) if level)
        )
    ]
    return counts + paired


def _quasi_newton(target: Reals, gains: Array, cost: Reals, power: int, starts: int) -> tuple[Reals, float]:
    """Shares a >= 0 with sum of cost a = 1 and the least sum over e of target(e) / sum of a^power gains(., e).

    From equal shares of the cost and `starts` random ones; with none, a rough answer for a comparison.
    """

    def objective(z: Reals) -> tuple[float, Reals]:
        raw = np.exp(z - z.max())
        total = float(raw @ cost)
        a = raw / total
        precision = a**power @ gains
        error = float((target / precision).sum())
        slope = -(gains @ (target / precision**2)) * power * a ** (power - 1)
        back = a * (slope - cost * float(slope @ a))
        return math.log(error), back / error

    rng = np.random.default_rng(0)
    options: Any = {"maxiter": 400} if starts else {"maxiter": 100, "ftol": 1e-8}
    best: Any = None
    for start in range(1 + starts):
        z = -np.log(cost) + (rng.normal(size=len(cost)) * 0.7 if start else 0.0)
        found = minimize(
            objective,
            z,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-40.0, 10.0)] * len(z),
            options=options,
        )
        if best is None or found.fun < best.fun:
            best = found
    raw = np.exp(best.x - best.x.max())
    return np.asarray(raw / float(raw @ cost)), float(math.exp(best.fun))
