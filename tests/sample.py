"""A sample of long lists of cases, and of combinations, for `make test`; DALENIUS_WHOLE=1 runs all of them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


WHOLE = bool(os.environ.get("DALENIUS_WHOLE"))


def sampled(cases: Iterable[T]) -> list[T]:
    return list(cases) if WHOLE else list(cases)[::3]


def paired(*lists: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which any two values of different lists meet; all of them with DALENIUS_WHOLE=1.

    >>> len(paired("ab", "cd", "efg"))
    6
    """
    every = list(itertools.product(*(range(len(each)) for each in lists)))
    unmet = {pair for one in every for pair in itertools.combinations(enumerate(one), 2)}
    chosen = every if WHOLE else []
    while unmet and not WHOLE:
        best = max(every, key=lambda one: len(unmet.intersection(itertools.combinations(enumerate(one), 2))))
        unmet.difference_update(itertools.combinations(enumerate(best), 2))
        chosen.append(best)
    return [tuple(each[n] for each, n in zip(lists, one, strict=True)) for one in chosen]


def fewer(trials: int) -> int:
    """A third of the trials of an audit that must stay within a claim: false alarms do not depend on their number."""
    return trials if WHOLE else max(trials // 3, min(trials, 300))
