"""The same question many times over, and the average of the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.audit.attacks.guesses import Guesses
from dalenius.core import checks
from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Repeated:
    """Answers to one question, asked again and again.

    Parameters
    ----------
    answers
        A line for each time it was asked; what was answered, one number or several.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.audit.attacks import Repeated
    >>> Repeated(np.array([[3.0], [5.0]])).average
    array([4.])
    """

    answers: Array

    @property
    def average(self) -> Reals:
        """The mean of all answers."""
        mean: Reals = self.answers.mean(axis=0)
        return mean

    @property
    def standard_error(self) -> Reals:
        """Of the average, as far as the answers show it: 0 where they are all the same."""
        error: Reals = self.answers.std(axis=0, ddof=1) / len(self.answers) ** 0.5
        return error

    @property
    def distinct(self) -> int:
        """How many different answers were given: 1 where a repeated question is answered from the record."""
        return len(np.unique(self.answers, axis=0))

    def guesses(self, known: Any = 0, truth: Any = None) -> Guesses:
        """Whether each number is `known` or one more, as the average has it.

        Parameters
        ----------
        known
            What each number is without the secret bit: the count of everybody else.
        truth
            The secret bits, to say how many were found.

        Returns
        -------
        Guesses
            The bits.
        """
        return Guesses(np.atleast_1d(self.average - np.asarray(known) > 0.5), truth, "averaging")


def repeated_question(release: Callable[[], Any], times: int = 1000) -> Repeated:
    """Ask the same question `times` times.

    Fresh noise averages out: after k answers it is sqrt(k) times smaller, and the loss is that of k releases. A cache
    that forgets, or that is keyed by the question's wording, answers as if each time were the first. A session of
    `dalenius` answers a question it has answered before from its record, at no further cost: `distinct` is 1.

    Parameters
    ----------
    release
        A function that asks, and returns a number or an array.
    times
        How often.

    Returns
    -------
    Repeated
        The answers and their average.

    Raises
    ------
    InvalidParameter
        If the answers are not finite numbers, always as many.

    Examples
    --------
    >>> import dalenius as dp
    >>> count = dp.mechanisms.Geometric(sensitivity=1, scale=2.0)
    >>> fresh = dp.audit.attacks.repeated_question(lambda: count.release(41), times=4000)
    >>> round(float(fresh.average[0])), fresh.distinct > 1
    (41, True)
    """
    times = checks.count("times", times, 2)
    if not callable(release):
        raise InvalidParameter.of("release", "release must be a function that asks the question once more.")
    given = [release() for _ in range(times)]
    try:
        answers = np.array([np.ravel(np.asarray(answer, dtype=np.float64)) for answer in given])
    except (TypeError, ValueError, OverflowError):
        answers = np.empty((0, 0))
    if answers.size == 0 or not np.isfinite(answers).all():
        raise InvalidParameter.of("release", "every answer must hold finite numbers, always as many.")
    return Repeated(answers)
