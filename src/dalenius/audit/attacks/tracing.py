"""Is this person among those whose averages were published? (Homer et al. 2008)"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dalenius.audit.attacks.membership import Membership
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter

Statistic = Literal["product", "distance", "likelihood"]
EDGE = 1e-9
"""Frequencies are kept this far from 0 and 1 before a logarithm is taken."""


def tracing(
    means: Any, candidates: Any, reference: Any, inside: Any = None, statistic: Statistic = "product"
) -> Membership:
    """A score for each candidate: how much nearer the published means are to them than to the population's.

    With x a candidate's attributes, m the published means and q the population's, summed over attributes:

    - "product": (x - q)(m - q), the inner product (Dwork, Smith, Steinke, Ullman and Vadhan 2015; most powerful when
      the means carry Gaussian noise);
    - "distance": |x - q| - |x - m| (Homer et al. 2008);
    - "likelihood": x log(m/q) + (1 - x) log((1 - m)/(1 - q)), for attributes 0 or 1 (Sankararaman, Obozinski,
      Jordan and Halperin 2009); means outside of (0, 1) are taken to its ends.

    Parameters
    ----------
    means
        What was published: a number for each attribute.
    candidates
        A line for each person asked about.
    reference
        The population's means; or people of the population who are neither candidates nor in the data, a line each.
    inside
        Who is in the data, to say how good the attack is.
    statistic
        "product", "distance" or "likelihood".

    Returns
    -------
    Membership
        The scores.

    Raises
    ------
    InvalidParameter
        If shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.audit.attacks import tracing
    >>> rng = np.random.default_rng(0)
    >>> people = rng.random((400, 5000)) < 0.3
    >>> inside = np.arange(400) < 100
    >>> tracing(people[inside].mean(axis=0), people, np.full(5000, 0.3), inside).power(0.01)
    1.0
    """
    statistic = checks.one_of("statistic", statistic, "product", "distance", "likelihood")
    m, x, q = _numbers("means", means), _numbers("candidates", candidates), _numbers("reference", reference)
    x = np.atleast_2d(x)
    if q.ndim == 2:
        q = q.mean(axis=0)
    if m.ndim != 1 or q.shape != m.shape or x.ndim != 2 or x.shape[1:] != m.shape:
        raise InvalidParameter(
            f"the means have the shape {m.shape}, the candidates {x.shape} and the reference {q.shape}; each attribute "
            "needs one mean, one column of candidates and one of the reference."
        )
    scores: Reals
    if statistic == "product":
        scores = (x - q) @ (m - q)
    elif statistic == "distance":
        scores = (np.abs(x - q) - np.abs(x - m)).sum(axis=1)
    else:
        m, q = (np.clip(y, EDGE, 1 - EDGE) for y in (m, q))
        ones, zeros = np.log(m / q), np.log((1 - m) / (1 - q))
        scores = x @ (ones - zeros) + zeros.sum()
    return Membership(scores, inside, "tracing")


def _numbers(name: str, value: Any) -> Reals:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.full(1, np.nan)
    if numbers.size == 0 or not np.isfinite(numbers).all():
        raise InvalidParameter.of(name, f"{name} must hold finite numbers.")
    return numbers
