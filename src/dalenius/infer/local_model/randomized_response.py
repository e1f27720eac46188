"""Shares of a population, from answers that everybody made private alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.result import Result
from dalenius.intervals.binomial import binomial_limits
from dalenius.mechanisms.randomized_response import RandomizedResponse


def randomized_response(answers: Any, mechanism: RandomizedResponse, *, simultaneous: bool = False) -> Result:
    """Shares of each answer, with exact intervals, from what `RandomizedResponse` released.

    A person whose answer is j says so with chance p, and one whose answer is another with chance q. So the number of
    people who say j is binomial with chance q + (p - q) share, whose limits (Clopper and Pearson 1934) are those of the
    share. They hold at any number of people for the population that people were drawn from, and for the shares among
    the people asked too: then the number has a smaller spread than the binomial (Hoeffding 1956). Pure post-processing.

    Parameters
    ----------
    answers
        The released answers, 0 to k - 1, one of each person.
    mechanism
        What released them.
    simultaneous
        Whether all k intervals are to hold at once (Bonferroni; with two answers, one interval says both).

    Returns
    -------
    Result
        One share for each answer; its loss is what the release cost each person (REPLACE_ONE).

    Raises
    ------
    InvalidParameter
        If the answers are not of the mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> coin = dp.mechanisms.RandomizedResponse(epsilon=1.0)
    >>> said = np.repeat([0, 1], [600, 400])
    >>> fit = dp.infer.randomized_response(said, coin)
    >>> fit.params.round(3), fit.conf_int().round(2)[1]
    (array([0.716, 0.284]), array([0.22, 0.35]))
    """
    if not isinstance(mechanism, RandomizedResponse):
        raise InvalidParameter.of(
            "mechanism",
            f"mechanism is {checks.shown(mechanism)}; it must be the RandomizedResponse that was used.",
        )
    simultaneous = checks.flag("simultaneous", simultaneous)
    shares = mechanism.estimate(answers)
    n = int(np.size(answers))
    lie = mechanism.lie / (mechanism.k - 1)
    gain = mechanism.truth - lie
    said = np.rint((shares.estimate * gain + lie) * n)
    tests = mechanism.k if simultaneous and mechanism.k > 2 else 1

    def limits(alpha: float) -> Reals:
        ends = (binomial_limits(said, n, alpha / tests) - lie) / gain
        return np.clip(ends, 0.0, 1.0)

    at_once = "They hold all at once." if simultaneous else "Each holds by itself."
    return Result(
        [f"share {j}" for j in range(mechanism.k)],
        np.clip(shares.estimate, 0.0, 1.0),
        loss=mechanism.loss,
        method="randomized response",
        limits=limits,
        bse=np.sqrt(shares.variance),
        nobs=n,
        notes=(
            f"Exact limits at any number of people. {at_once}",
            "The privacy loss is that of one person's answer.",
        ),
    )
