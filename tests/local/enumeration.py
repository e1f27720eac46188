"""The exact law of one report, by running the sampler itself once for every way its coins can fall.

The samplers of a randomizer's module are replaced by ones that take every value in turn; what comes out is
added up with exact probabilities. Nothing is sampled, and nothing of the randomizer is written a second time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dalenius.local import (
    duchi,
    hadamard_response,
    hybrid,
    local_hashing,
    mean_randomizer,
    piecewise,
    subset_selection,
    unary_encoding,
)
from dalenius.mechanisms import randomized_response

MODULES = (
    duchi, hadamard_response, hybrid, local_hashing, mean_randomizer, piecewise, randomized_response,
    subset_selection, unary_encoding,
)  # fmt: skip

Law = dict[Any, Fraction]


@cache
def _bytes(p: Fraction, bits: int) -> list[Fraction]:
    """Of each byte, with coins for so many bits; those beyond are 0, and the randomizer clears them anyhow."""
    return [p ** b.bit_count() * (1 - p) ** (bits - b.bit_count()) for b in range(1 << bits)]


class Coins:
    """One way for all coins to fall after another."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.script: list[int] = []
        self.sizes: list[int] = []
        self.at, self.chance = 0, Fraction(1)

    def choose(self, chances: list[Fraction]) -> int:
        if self.at == len(self.script):
            self.script.append(0)
            self.sizes.append(len(chances))
        place = self.script[self.at]
        self.at += 1
        self.chance *= chances[place]
        return place

    def next(self) -> bool:
        """Go on to the next way; False after the last."""
        while self.script and self.script[-1] == self.sizes[-1] - 1:
            self.script.pop()
            self.sizes.pop()
        if not self.script:
            return False
        self.script[-1] += 1
        return True

    # -- what stands for the samplers -------------------------------------------------------------

    def bernoulli(self, p: Any, size: Any = None) -> Any:
        chance = Fraction(p.item() if isinstance(p, np.ndarray) else p)
        assert np.size(p) == 1
        assert size in (None, 1, (1,), ())
        up = chance == 1 if chance in (0, 1) else bool(self.choose([1 - chance, chance]))
        return np.full(np.shape(p) or size or (), up)

    def uniform_integers(self, low: int, high: int, size: Any = None) -> Any:
        assert size in (1, (1,), ())
        return np.full(size, low + self.choose([Fraction(1, high - low)] * (high - low)))

    def packed_bernoulli(self, p: Any, n: int) -> Any:
        assert n == 1
        return np.array([self.choose(_bytes(Fraction(p), self.bits))], dtype=np.uint8)

    def settle(self, mechanism: Any, reports: Any, answers: Any, missing: Any) -> None:
        """As many bits as are missing, all sets of them equally likely (which has a test of its own)."""
        want = bool(missing[0] > 0)
        able = [
            bit
            for bit in range(mechanism.k)
            if bit != answers[0] and bool(reports[0, bit >> 3] >> (bit & 7) & 1) != want
        ]
        sets = list(combinations(able, abs(int(missing[0]))))
        for bit in sets[self.choose([Fraction(1, len(sets))] * len(sets))]:
            reports[0, bit >> 3] ^= np.uint8(1 << (bit & 7))


def law(monkeypatch: pytest.MonkeyPatch, mechanism: Any, value: Any) -> Law:
    """Every report that `release(value)` can give, with its probability."""
    coins = Coins(getattr(mechanism, "k", 0))
    with monkeypatch.context() as patch:
        for module in MODULES:
            for name in ("bernoulli", "uniform_integers", "packed_bernoulli"):
                if hasattr(module, name):
                    patch.setattr(module, name, getattr(coins, name))
        patch.setattr(
            subset_selection.SubsetSelection, "_settle", lambda self, r, a, m: coins.settle(self, r, a, m)
        )
        found: Law = defaultdict(Fraction)
        while True:
            coins.at, coins.chance = 0, Fraction(1)
            report = mechanism.release(np.array([value]))[0]
            found[tuple(report.tolist()) if report.ndim else report.item()] += coins.chance
            if not coins.next():
                break
    assert sum(found.values()) == 1
    return dict(found)


def hockey_stick(first: Law, second: Law, ratio: Fraction) -> Fraction:
    """The largest excess of the first over `ratio` times the second."""
    zero = Fraction(0)
    return sum((max(p - ratio * second.get(report, zero), zero) for report, p in first.items()), zero)


def worst(laws: list[Law], measure: Callable[[Law, Law], Fraction]) -> Fraction:
    return max(measure(a, b) for a in laws for b in laws if a is not b)
