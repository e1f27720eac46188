"""A histogram in the local model: everybody reports, and the reports are counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.core import checks
from dalenius.core.arrays import Ints, unmasked
from dalenius.errors import InvalidParameter
from dalenius.local.best import best, promise
from dalenius.local.frequencies import Frequencies
from dalenius.local.frequency_oracle import MOST_ANSWERS, FrequencyOracle
from dalenius.mechanisms._support.answers import as_answers

BATCH = 1 << 17
"""People whose reports are in memory at a time."""


def histogram(
    values: Any,
    guarantee: Guarantee | float,
    *,
    k: int | None = None,
    categories: Sequence[Any] | None = None,
    mechanism: type[FrequencyOracle] | None = None,
) -> Frequencies:
    """How common each answer is, when every person reports with noise of their own.

    Runs both sides: what each person would do, and what whoever collects the reports would. To have people report on
    their own machines, take `best(k, epsilon, n).mechanism`, its `release` there and its `frequencies` here.

    Parameters
    ----------
    values
        One answer for each person: integers from 0 to k - 1, or one of the categories.
    guarantee
        What one person's report keeps, whatever their answer is replaced by; a number is the epsilon of PureDP.
    k
        The number of possible answers, or
    categories
        the possible answers themselves. Public: never take them from the data.
    mechanism
        A randomizer, such as `dp.local.LocalHashing`; by default the one with the least error (`best`).

    Returns
    -------
    Frequencies
        Unbiased shares with variances and intervals; `consistent` makes them a distribution.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range, or an answer is not one of those possible. The message never shows it.
    CannotMeet
        If no randomizer keeps the guarantee.

    Examples
    --------
    >>> import dalenius as dp
    >>> pets = ["cat"] * 6000 + ["dog"] * 3000 + ["none"] * 1000
    >>> found = dp.local.histogram(pets, dp.PureDP(2.0), categories=["cat", "dog", "fish", "none"])
    >>> found.categories[int(found.estimate.argmax())]
    'cat'
    """
    guarantee = promise(guarantee)
    if (k is None) == (categories is None):
        raise InvalidParameter("give either k or categories: the possible answers, which are public.")
    if categories is None and checks.count("k", k, least=2) > MOST_ANSWERS:
        raise InvalidParameter.of("k", f"k is {k}; it must be at most {MOST_ANSWERS}.")
    names = tuple(range(checks.count("k", k, least=2))) if categories is None else _names(categories)
    codes = as_answers(values, len(names), "values").ravel() if categories is None else _codes(values, names)
    oracle = _oracle(mechanism, guarantee, len(names), len(codes))
    tally: Ints = np.zeros(oracle.tally_size, dtype=np.int64)
    for start in range(0, len(codes), BATCH):
        tally += oracle.tally(oracle.release(codes[start : start + BATCH]))
    return Frequencies(oracle, tally, len(codes), names)


def _oracle(
    mechanism: type[FrequencyOracle] | None, guarantee: Guarantee, k: int, people: int
) -> FrequencyOracle:
    if mechanism is None:
        return best(k, guarantee, people).mechanism
    given: object = mechanism
    if not (isinstance(given, type) and issubclass(given, FrequencyOracle)):
        raise InvalidParameter.of(
            "mechanism",
            f"mechanism is {checks.shown(mechanism)}; it must be a randomizer of answers, such as LocalHashing.",
        )
    return mechanism.calibrated(guarantee, k=k)


def _names(categories: Any) -> tuple[Any, ...]:
    names = tuple(categories) if isinstance(categories, Sequence | np.ndarray) else ()
    try:
        distinct = len(set(names))
    except TypeError:
        distinct = 0
    if isinstance(categories, str) or len(names) < 2 or distinct < len(names):
        raise InvalidParameter.of(
            "categories",
            "categories must be a list of at least two different answers, each text or a number.",
        )
    return names


def _codes(values: Any, names: tuple[Any, ...]) -> Ints:
    """The place of each value among the categories."""
    places = {name: place for place, name in enumerate(names)}
    try:
        listed = (
            np.asarray(unmasked(values)).tolist() if not isinstance(values, list | tuple) else list(values)
        )
        codes = [places[value] for value in listed]
    except (KeyError, TypeError, ValueError):
        codes = []
        listed = [None]
    if not codes:
        problem = "is empty" if not listed else "holds an answer that is not one of the categories"
        raise InvalidParameter.of(
            "values", f"values {problem}; list every possible answer, and send others to one such as 'other'."
        ) from None
    return np.array(codes, dtype=np.int64)
