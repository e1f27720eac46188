"""The exact law of reports: every way a client can decide, with its exact probability."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any
from unittest import mock

from dalenius.local.wire import (
    client,
    hadamard_response,
    local_hashing,
    means,
    randomized_response,
    subset_selection,
    unary_encoding,
)
from dalenius.local.wire.words import WORDS

MODULES = (hadamard_response, local_hashing, means, randomized_response, subset_selection, unary_encoding)


class Decisions:
    """Takes the place of words: follows a script, then the first choice of each decision, and notes the others."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.path, self.script, self.weight = (), script, Fraction(1)
        self.others: list[tuple[int, ...]] = []

    def choose(self, chances: list[Fraction]) -> int:
        if len(self.path) < len(self.script):
            chosen = self.script[len(self.path)]
        else:
            chosen, *others = (n for n, chance in enumerate(chances) if chance > 0)
            self.others += [(*self.path, other) for other in others]
        self.path: tuple[int, ...] = (*self.path, chosen)
        self.weight *= chances[chosen]
        return chosen


def coin(threshold: int, words: Decisions) -> bool:
    heads = Fraction(threshold, WORDS)
    return bool(words.choose([1 - heads, heads]))


def below(m: int, words: Decisions) -> int:
    return words.choose([Fraction(1, m)] * m)


def heads(threshold: int, words: Decisions) -> int:
    """Any number of them, each of which has a chance: here none, one or two. `noisy_law` knows the others."""
    r = Fraction(threshold, WORDS)
    return words.choose([1 - r, r * (1 - r), r * r])


@contextmanager
def decided(grid: int) -> Iterator[None]:
    """Clients that decide as told, numbers on a grid of few places."""
    with mock.patch.object(means, "GRID", grid), mock.patch.object(client, "GRID", grid):
        patches = [
            mock.patch.object(module, name, function)
            for module in MODULES
            for name, function in (("coin", coin), ("below", below), ("heads", heads))
            if hasattr(module, name)
        ]
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in patches:
                patch.stop()


def law(drawer: Any, value: Any, grid: int = 4) -> Counter[str]:
    """The probability of each report of a value."""
    found: Counter[str] = Counter()
    with decided(grid):
        paths: list[tuple[int, ...]] = [()]
        while paths:
            words = Decisions(paths.pop())
            found[json.dumps(drawer._draw(value, words))] += words.weight
            paths += words.others
    return found


def noisy_law(survey: Any, value: int, grid: int = 4) -> Counter[str]:
    """The same of numbers with geometric noise, in closed form: noise k has the chance r^|k| (1 - r)/(1 + r)."""
    c = survey.constants
    r, last = Fraction(c["on"], WORDS), c["steps"] + 2 * c["margin"]
    powers = [Fraction(1)]
    for _ in range(last):
        powers.append(powers[-1] * r)
    found: Counter[str] = Counter()
    start, part = divmod(value * c["steps"], grid)
    for place, chance in ((start, Fraction(grid - part, grid)), (start + 1, Fraction(part, grid))):
        middle = place + c["margin"]
        for report in range(last + 1) if chance else ():
            tail = 1 if report in (0, last) else 1 - r
            found[json.dumps(report)] += chance * powers[abs(report - middle)] * tail / (1 + r)
    return found
