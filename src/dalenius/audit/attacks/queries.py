"""Which bits are summed: the questions a reconstruction asks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import hadamard

from dalenius.core import checks
from dalenius.core.arrays import Bools
from dalenius.errors import InvalidParameter
from dalenius.noise.source import words

MOST = 1 << 30
"""Entries of a matrix of questions, at most."""


def random_bits(*shape: int) -> Bools:
    """Fair coins from the secure source: secrets worth guessing.

    Parameters
    ----------
    *shape
        The lengths of the axes.

    Returns
    -------
    ndarray of bool
        The coins.

    Examples
    --------
    >>> from dalenius.audit.attacks import random_bits
    >>> random_bits(3, 4).shape
    (3, 4)
    """
    sizes = tuple(checks.count("a length", size) for size in shape)
    size = int(np.prod(sizes, dtype=object))
    if size > MOST:
        raise InvalidParameter(f"{size} coins are too many; ask for {MOST} at most.")
    drawn = np.unpackbits(words(-(-size // 64)).view(np.uint8), count=size)
    return drawn.view(np.bool_).reshape(sizes)


def random_subsets(questions: int, n: int) -> Bools:
    """Subsets of n rows, each row in each subset by a fair coin.

    Parameters
    ----------
    questions
        How many subsets.
    n
        The number of rows.

    Returns
    -------
    ndarray of bool
        A line for each subset: who is summed.

    Examples
    --------
    >>> from dalenius.audit.attacks import random_subsets
    >>> random_subsets(8, 5).shape
    (8, 5)
    """
    return random_bits(checks.count("questions", questions, 1), checks.count("n", n, 1))


def hadamard_subsets(n: int) -> Bools:
    """The subsets of Sylvester's Hadamard matrix, each followed by its complement: 2 n questions about n rows.

    Parameters
    ----------
    n
        The number of rows, a power of 2.

    Returns
    -------
    ndarray of bool
        A line for each subset: who is summed.

    Raises
    ------
    InvalidParameter
        If n is not a power of 2.

    Examples
    --------
    >>> from dalenius.audit.attacks import hadamard_subsets
    >>> hadamard_subsets(2).astype(int).tolist()
    [[1, 1], [0, 0], [1, 0], [0, 1]]
    """
    n = checks.count("n", n, 1)
    if n & (n - 1) or n > 1 << 15:
        raise InvalidParameter.of("n", f"n is {n}; it must be a power of 2, up to {1 << 15}.")
    plus = hadamard(n, dtype=np.int8) > 0
    return np.stack([plus, ~plus], axis=1).reshape(2 * n, n)


def asked(queries: Any) -> Bools:
    """A matrix of questions, checked."""
    matrix = np.asarray(queries)
    if (
        matrix.ndim != 2
        or matrix.size == 0
        or not (matrix.dtype == np.bool_ or np.isin(matrix, (0, 1)).all())
    ):
        raise InvalidParameter.of(
            "queries",
            "queries must be a matrix of 0 and 1 with a line for each question and a column for each row.",
        )
    return matrix.astype(np.bool_, copy=False)


def answered(release: Any, queries: Bools) -> Any:
    """The answers: what a release says to these questions, or what it has said."""
    given = release(queries) if callable(release) else release
    try:
        answers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        answers = np.empty(0)
    if answers.shape != (len(queries),) or not np.isfinite(answers).all():
        raise InvalidParameter.of(
            "release", f"the answers must be {len(queries)} finite numbers, one for each question."
        )
    return answers
