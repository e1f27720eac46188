"""Bits from the sums over all subsets (Dinur and Nissim 2003)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.audit.attacks.guesses import Guesses
from dalenius.audit.attacks.queries import answered
from dalenius.core import checks
from dalenius.core.arrays import Bools, Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.noise import permutation

MOST = 20
"""Bits, at most: there are 2^n questions."""
CHUNK = 1 << 22


def all_subsets(n: int) -> Bools:
    """Every subset of n rows: subset k holds row i where bit i of k is 1.

    Parameters
    ----------
    n
        The number of rows, at most 20.

    Returns
    -------
    ndarray of bool
        A line for each of the 2^n subsets.

    Examples
    --------
    >>> from dalenius.audit.attacks import all_subsets
    >>> all_subsets(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    n = checks.count("n", n, 1)
    if n > MOST:
        raise InvalidParameter.of(
            "n", f"n is {n}; all subsets are asked about, so it must be {MOST} at most."
        )
    return ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1).astype(np.bool_)


def exhaustive_reconstruction(release: Any, n: int, truth: Any = None) -> Guesses:
    """Rebuild n bits from the answers to all 2^n questions "how many of these rows have the bit?".

    Of all 2^n candidates the one whose largest error is least. If every answer is within E of the truth then so is the
    truth, hence the candidate, and they differ in at most 4 E places: ask about the candidate's ones that the truth
    lacks, where both are within E of the same answer, so there are at most 2 E of them; and the same of its zeros. To
    answer all questions privately takes errors in proportion to n.

    Parameters
    ----------
    release
        The answers to `all_subsets(n)`, or a function that gives them.
    n
        The number of bits, at most 20.
    truth
        The secret bits, to say how many were found.

    Returns
    -------
    Guesses
        The bits.

    Raises
    ------
    InvalidParameter
        If n is more than 20, or the answers are not 2^n numbers.

    Examples
    --------
    >>> from dalenius.audit.attacks import exhaustive_reconstruction, random_bits
    >>> secret = random_bits(8)
    >>> exhaustive_reconstruction(lambda who: who @ secret.astype(int), 8, truth=secret).right
    8
    """
    queries = all_subsets(n)
    answers = answered(release, queries)
    best = _nearest(answers, queries.shape[1])
    return Guesses(queries[best], truth, "exhaustive search")


def _nearest(answers: Reals, n: int) -> int:
    """The candidate with the least largest error: those that are already worse than some candidate are given up."""
    candidates = np.arange(1 << n, dtype=np.int64)
    worst = np.zeros(len(candidates))
    # All that answers single rows and everybody suggest, as a first candidate to beat.
    order = permutation(1 << n).astype(np.int64)
    first = sum((1 << i) for i in range(n) if answers[1 << i] > 0.5)
    least = float(_errors(np.array([first]), order, answers).max())
    done = 0
    while done < len(order):
        some = order[done : done + max(1, CHUNK // len(candidates))]
        worst = np.maximum(worst, _errors(candidates, some, answers).max(axis=1))
        kept = worst <= least
        candidates, worst = candidates[kept], worst[kept]
        done += len(some)
    return int(candidates[np.argmin(worst)])


def _errors(candidates: Ints, subsets: Ints, answers: Reals) -> Reals:
    sums = np.bitwise_count(candidates[:, None] & subsets[None, :])
    return np.asarray(np.abs(sums - answers[subsets]))
