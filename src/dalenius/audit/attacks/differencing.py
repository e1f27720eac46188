"""Two answers that differ by one person."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.audit.attacks.guesses import Guesses
from dalenius.audit.attacks.queries import answered
from dalenius.core import checks
from dalenius.core.arrays import Bools
from dalenius.errors import InvalidParameter

MOST_ROWS = 1 << 15
"""Questions are a matrix of bytes with n (n + 1) entries."""


def differencing_subsets(n: int) -> Bools:
    """Everybody but one, for each of n rows, and then everybody: the questions of `differencing`.

    Parameters
    ----------
    n
        The number of rows.

    Returns
    -------
    ndarray of bool
        n + 1 lines.

    Examples
    --------
    >>> from dalenius.audit.attacks import differencing_subsets
    >>> differencing_subsets(2).astype(int).tolist()
    [[0, 1], [1, 0], [1, 1]]
    """
    n = checks.count("n", n, 1)
    if n > MOST_ROWS:
        raise InvalidParameter.of(
            "n", f"n is {n}; the questions about so many rows take n^2 bytes: at most {MOST_ROWS}."
        )
    return np.concatenate([~np.eye(n, dtype=np.bool_), np.ones((1, n), dtype=np.bool_)])


def differencing(release: Any, n: int, truth: Any = None) -> Guesses:
    """Guess each row's bit: how many have it, less how many of all the others have it.

    No question is about fewer than n - 1 rows, and a rule that refuses small groups refuses none of them.

    Parameters
    ----------
    release
        The answers to `differencing_subsets(n)`, or a function that gives them.
    n
        The number of rows.
    truth
        The secret bits, to say how many were found.

    Returns
    -------
    Guesses
        The bits.

    Raises
    ------
    InvalidParameter
        If the answers are not n + 1 numbers.

    Examples
    --------
    >>> from dalenius.audit.attacks import differencing, random_bits
    >>> secret = random_bits(100)
    >>> differencing(lambda who: who @ secret.astype(int), 100, truth=secret).success
    1.0
    """
    queries = differencing_subsets(n)
    answers = answered(release, queries)
    return Guesses(answers[-1] - answers[:-1] > 0.5, truth, "differencing")
