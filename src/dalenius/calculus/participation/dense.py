"""Any strategy matrix, of doubles that are taken exactly; every bound has its rounding errors in it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dalenius.calculus.participation.schedule import Schedule, Squares
from dalenius.core.arrays import Ints, Reals

UNIT = 2.0**-53
SMALLEST, LARGEST = 1e-100, 1e100
"""Sizes of entries other than 0: products neither underflow nor overflow."""

MOST_WORK = 2 * 10**9
"""Numbers of the table of the bound by rows; a larger one is not written."""

MOST_PREFIXES = 20_000
"""All patterns are tried where they have no more beginnings than this."""


def dense_squares(strategy: Reals, schedule: Schedule) -> Squares:
    """The entries of M = C'C are enclosed, and the sum over s, t in a pattern of |M_st| is maximised over patterns.

    The least of three bounds counts (docs/proofs/correlated-noise.md), of which one is exact for columns that do not
    meet, one for M that falls from the diagonal and from step to step, as Toeplitz strategies have it, and one for
    few steps. The bound from below is what patterns do that are tried, with contributions of one direction and both
    signs.
    """
    product, above = _enclosed(strategy)
    n, b = schedule.steps, schedule.separation
    if schedule.multiples:
        # Each residue by itself: any of its steps, at most so many.
        parts = [np.arange(start, n, b) for start in range(min(b, n))]
        found = [
            _worst(above[np.ix_(part, part)], Schedule(len(part), schedule.longest, 1)) for part in parts
        ]
        upper = max(bound for bound, _ in found)
        tried = [
            part[pattern] for part, (_, patterns) in zip(parts, found, strict=True) for pattern in patterns
        ]
    else:
        upper, tried = _worst(above, schedule)
    # A sum of m doubles that are not negative is off by a factor of at most 1 + m UNIT, to first order.
    rounding = Fraction(2 * schedule.longest**2 + 100, 2**53)
    spread = above - np.abs(product)
    attained = max(_attained(product, spread, pattern) for pattern in tried)
    return Squares(Fraction(max(attained, 0.0)), Fraction(upper) * (1 + rounding))


def _worst(above: Reals, schedule: Schedule) -> tuple[float, list[Ints]]:
    """A bound on the largest sum over a pattern of a least distance, and patterns that come near it."""
    n, k, b = schedule.steps, schedule.longest, schedule.separation
    alone = np.array([int(np.diag(above).argmax())])
    if k == 1:
        return float(np.diag(above).max()), [alone]
    starts = range(max(1, n - (k - 1) * b))
    evenly = [np.arange(start, min(start + k * b, n), b) for start in starts]
    best = max(evenly, key=lambda pattern: float(above[np.ix_(pattern, pattern)].sum()))
    upper, tried = _by_majorant(above, schedule), [alone, best]
    if b == 1 and k == n:
        upper = float(above.sum())
    elif k * n**2 <= MOST_WORK:
        by_rows, chosen = _by_rows(above, schedule)
        upper = min(upper, by_rows)
        tried.append(chosen)
    if _prefixes(schedule) <= MOST_PREFIXES:
        largest, chosen = _all_patterns(above, schedule)
        upper = min(upper, largest)
        tried.append(chosen)
    return upper, tried


def _enclosed(strategy: Reals) -> tuple[Reals, Reals]:
    """C'C in doubles, and a bound on the absolute value of each entry of the true one.

    A scalar product of m terms, added up in any order, is off by at most m UNIT / (1 - m UNIT) times that of the
    absolute values (Higham 2002, section 3.1), which in doubles is itself no further off than that.
    """
    product = strategy.T @ strategy
    sizes = product if (strategy >= 0).all() else np.abs(strategy).T @ np.abs(strategy)
    rounding = 1.01 * (len(strategy) + 2) * UNIT
    above = (np.abs(product) + rounding * sizes) * (1 + 4 * UNIT)
    return product, above


def _attained(product: Reals, spread: Reals, pattern: Ints) -> float:
    """What a record does with contributions of one direction, their signs chosen one after another."""
    block, signs = product[np.ix_(pattern, pattern)], np.ones(len(pattern))
    for t in range(1, len(pattern)):
        signs[t] = 1.0 if signs[:t] @ block[:t, t] >= 0 else -1.0
    magnitude = float(np.abs(block).sum())
    rounding = 2 * UNIT * (len(pattern) ** 2 + 2) * magnitude
    return float(signs @ block @ signs) - rounding - 2 * float(spread[np.ix_(pattern, pattern)].sum())


def _by_rows(above: Reals, schedule: Schedule) -> tuple[float, Ints]:
    """Each row of a pattern's block is at most the largest sum that any pattern with that step takes from the row."""
    k, b, n = schedule.longest, schedule.separation, schedule.steps
    left, right = _sides(above, k, b), _sides(above[::-1, ::-1], k, b)[:, ::-1]
    both = np.max([left[j] + right[k - 1 - j] for j in range(k)], axis=0)
    weights = np.diag(above) + both
    best, taken = np.zeros((k + 1, n + b)), np.zeros((k + 1, n + b), dtype=bool)
    for t in range(n):
        took = best[:-1, t] + weights[t]
        best[1:, t + b] = np.maximum(best[1:, t + b - 1], took)
        taken[1:, t + b] = took >= best[1:, t + b - 1]
    chosen, j, t = [], k, n - 1
    while j > 0 and t >= 0:
        if taken[j, t + b]:
            chosen.append(t)
            j, t = j - 1, t - b
        else:
            t -= 1
    return float(best[k, n + b - 1]), np.array(chosen[::-1])


def _sides(above: Reals, k: int, b: int) -> Reals:
    """At [j, s]: the most that j or fewer steps up to s - b take from row s."""
    n = len(above)
    result = np.zeros((k, n))
    previous = np.zeros((n, n + b))  # row s, patterns among the first t steps at t + b
    for j in range(1, k):
        current = np.zeros((n, n + b))
        for t in range(n):
            current[t + 1 :, t + b] = np.maximum(
                current[t + 1 :, t + b - 1], previous[t + 1 :, t] + above[t + 1 :, t]
            )
        rows = np.arange(b, n)
        result[j, b:] = current[rows, rows]
        previous = current
    return result


def _by_majorant(above: Reals, schedule: Schedule) -> float:
    """Of the least larger entries that fall with the distance and with the later step: there 0, b, 2b, ... is worst."""
    n = schedule.steps
    by_distance = np.zeros((n, n))  # [g, j] is the entry (j - g, j)
    for g in range(n):
        by_distance[g, g:] = np.diagonal(above, g)
    largest = np.maximum.accumulate(np.maximum.accumulate(by_distance[::-1, ::-1], axis=0), axis=1)[
        ::-1, ::-1
    ]
    first = np.array(schedule.first)
    return float(largest[np.abs(first[:, None] - first), np.maximum(first[:, None], first)].sum())


def _prefixes(schedule: Schedule) -> int:
    """Patterns of one participation less."""
    k, b, n = schedule.longest, schedule.separation, schedule.steps
    return sum(math.comb(max(n - (j - 1) * (b - 1), 0), j) for j in range(k))


def _all_patterns(above: Reals, schedule: Schedule) -> tuple[float, Ints]:
    """The largest sum of all, beginning by beginning; entries are not negative, so that longest patterns suffice."""
    b, n = schedule.separation, schedule.steps
    best, chosen = 0.0, [0]
    stack: list[tuple[list[int], float, Reals]] = [([], 0.0, np.diag(above).copy())]
    while stack:
        pattern, total, gain = stack.pop()  # gain[t]: what step t adds
        start = pattern[-1] + b if pattern else 0
        if start >= n:
            continue
        last = start + int(gain[start:].argmax())
        if total + gain[last] > best:
            best, chosen = float(total + gain[last]), [*pattern, last]
        if len(pattern) + 1 < schedule.longest:
            stack.extend(
                ([*pattern, t], float(total + gain[t]), gain + 2 * above[t]) for t in range(start, n - b)
            )
    return best, np.array(chosen)
