"""Discrete losses with a few large values that hardly ever occur: how often each occurs is counted, the rest is a sum.

A line has one tilt. One that suits the bulk of a sum lifts a loss that is far beyond it, however rare, above everything
else, and one that does not is too flat to see the bulk. So the rare atoms are taken out of their terms. With k a table
of how often each of them occurs, and B_k the sum of the other atoms of the releases that are left,

    D(e) = sum over k of weight(k) D_{B_k}(e - loss(k)),
    weight(k) = product over terms of n (n-1) ... (n-|k|+1) * product over their rare atoms of p_j^k_j / k_j!,

which is no more than the law of total probability: every D on the right is that of atoms with a total mass below 1.
Tables are taken in the order of their weight. A table and all that extend it have together at most
weight(k) exp(lambda), lambda = sum_j n p_j, because every further atom multiplies by at most n p_j / (k_j + 1); what is
never looked at is bounded by that.

Below its bulk a sum is seen from the other side: (1 - x)_+ = 1 - x + (x - 1)_+, so D_B(e) = P - exp(e) Q + r with P and
Q the masses of B, and r = E (exp(e - B) - 1)_+ = exp(e) D'(-e), D' that of the pair with P and Q exchanged. Far below,
no line is needed at all: r <= E exp((1 + u) (e - B)) for every u > 0.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from dalenius.calculus.engines.contour import exp_up
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import TINY, UNIT, Bounds, Pair, Reals, Terms

RARE = 0.01
"""The mean number of rare atoms in a sum."""
FAR = 4.0
"""And how far they are, in standard deviations of the sum of their own term without them."""
MOST_OF_ONE, MOST_ATOMS, MOST_TABLES = 12, 24, 2000

SMALL = 1e-10
"""Share of delta that may be bounded rather than computed."""

LEAST = 1e-32
"""A delta that is asked for as a rule; smaller ones cost a second look."""
NOTHING = 1e-300

BEYOND = np.geomspace(1e-6, 1e12, 55)


class Finite(Protocol):
    """What is asked of the sums this one is made of (see `accountant.Sum`)."""

    @property
    def largest(self) -> float: ...

    def finite(self, epsilon: float) -> Bounds | None: ...

    def chernoff(self, epsilon: float) -> float: ...


class Jump(NamedTuple):
    term: int
    loss: float
    mass: float


class RareAtoms:
    """A sum of atoms, some of them set apart."""

    def __init__(
        self,
        bulk: Terms,
        jumps: list[Jump],
        part: Callable[[Terms], Finite],
        whole: Callable[[Terms], Finite],
    ) -> None:
        self.bulk, self.jumps, self.part, self.whole = bulk, jumps, part, whole
        self.mean = sum(bulk[jump.term][1] * jump.mass for jump in jumps) * (1 + 1e-9)
        self.parts: dict[tuple[int, ...], tuple[Finite, Below]] = {}

    @classmethod
    def of(
        cls, terms: Terms, part: Callable[[Terms], Finite], whole: Callable[[Terms], Finite]
    ) -> RareAtoms | None:
        """None when there is nothing rare and far.

        `part` makes a sum without rare atoms, `whole` any other (seen from the other side, there may be more of them).
        """
        if not all(isinstance(pair, GaussianPair) or _is_finite(pair) for pair, _ in terms):
            return None
        bulk: list[tuple[Pair, int]] = []
        jumps: list[Jump] = []
        for i, (pair, n) in enumerate(terms):
            atoms = pair.as_atoms
            if atoms is None:
                bulk.append((pair, n))
                continue
            end = _rare_above(atoms, n * len(terms))
            spread = math.sqrt(n * _variance(atoms, atoms.loss <= end))
            rare = (atoms.loss > end) & (atoms.loss > FAR * spread)
            if np.count_nonzero(rare) > MOST_OF_ONE:  # no gap, but a tail that a line can follow
                rare[:] = False
            jumps += [
                Jump(i, float(x), float(p)) for x, p in zip(atoms.loss[rare], atoms.mass[rare], strict=True)
            ]
            bulk.append((_without(atoms, rare), n))
        return cls(tuple(bulk), jumps, part, whole) if 0 < len(jumps) <= MOST_ATOMS else None

    def delta(self, epsilon: float) -> Bounds | None:
        """Bounds on D(epsilon)."""
        bounds = self._delta(epsilon, LEAST)
        if bounds is not None and bounds.upper < LEAST:
            return self._delta(epsilon, 0.0)
        return bounds

    def _delta(self, epsilon: float, least: float) -> Bounds | None:
        """Where D is above `least`; parts that are negligible beside it are bounded."""
        slack = max(pair.slack for pair, _ in self.bulk if isinstance(pair, Atoms))
        # (-weight, number of the last atom, its multiplicity, counts per term, loss)
        heap: list[tuple[float, int, int, tuple[int, ...], float]] = [
            (-1.0, 0, 0, (0,) * len(self.bulk), 0.0)
        ]
        low = high = 0.0
        grown = math.exp(self.mean)
        for i in range(MOST_TABLES):
            # The heap is added up now and then: each time the whole of it would take longer than the rest.
            if not heap or (i % (1 + len(heap) // 8) == 0 and self._waiting(heap) * grown < SMALL * low):
                break
            minus, last, times, counts, loss = heapq.heappop(heap)
            weight = -minus
            bounds = self._part(counts, epsilon - loss, SMALL * max(low, least) / weight)
            if bounds is None:
                return None
            off = sum(counts) * (slack + 16 * UNIT)
            low += weight * bounds.lower * (1 - off)
            high += weight * bounds.upper * (1 + off)
            for j in range(last, len(self.jumps)):
                jump = self.jumps[j]
                left = self.bulk[jump.term][1] - counts[jump.term]
                if left == 0:
                    continue
                repeated = times + 1 if j == last else 1
                more = (*counts[: jump.term], counts[jump.term] + 1, *counts[jump.term + 1 :])
                child = weight * left * jump.mass / repeated
                if child > 0.0:
                    heapq.heappush(heap, (-child, j, repeated, more, loss + jump.loss))
        rest = self._waiting(heap) * grown * (1 + 1e-6) + 1e-320
        return Bounds(low * (1 - 1e-13), min(1.0, high * (1 + 1e-13) + rest))

    @staticmethod
    def _waiting(heap: list[tuple[float, int, int, tuple[int, ...], float]]) -> float:
        return -math.fsum(node[0] for node in heap)

    def _part(self, counts: tuple[int, ...], epsilon: float, enough: float) -> Bounds | None:
        """Bounds on D of the bulk, this many releases fewer, to `enough` or better."""
        if counts not in self.parts:
            terms = [(pair, n - k) for (pair, n), k in zip(self.bulk, counts, strict=True) if n > k]
            turned = tuple((_turned(pair), n) for pair, n in terms)
            self.parts[counts] = self.part(tuple(terms)), Below(terms, self.whole(turned))
        part, below = self.parts[counts]
        # Losses were added up in floats, and those taken out may be off by their blur.
        shaky = sum(
            k * (self.bulk[jump.term][0].blur + 8 * UNIT * jump.loss)
            for jump in self.jumps
            if (k := counts[jump.term]) > 0
        )
        if shaky == 0.0:
            return self._at(part, below, epsilon, enough)
        shaky += 4 * UNIT * abs(epsilon)
        left = self._at(part, below, epsilon - shaky, enough)
        right = self._at(part, below, epsilon + shaky, enough)
        return None if left is None or right is None else Bounds(right.lower, left.upper)

    @staticmethod
    def _at(part: Finite, below: Below, epsilon: float, enough: float) -> Bounds | None:
        if epsilon >= part.largest:
            return Bounds(0.0, 0.0)
        straight = below.delta(epsilon, enough)
        if straight is not None:
            return straight
        most = part.chernoff(epsilon)
        return Bounds(0.0, most) if most <= max(enough, NOTHING) else part.finite(epsilon)


class Below:
    """A sum of atoms seen from below: P - exp(e) Q, and what is missing."""

    def __init__(self, terms: list[tuple[Pair, int]], turned: Finite) -> None:
        self.turned = turned
        self.log_p = self.log_q = self.off_p = self.off_q = self.mean = 0.0
        k = np.zeros(len(BEYOND))
        for pair, n in terms:
            values = pair.log_mgf(-1.0 - BEYOND)
            k += n * (values + 1e-9 * (1 + np.abs(values)) + (1 + BEYOND) * pair.blur)
            if isinstance(pair, GaussianPair):  # of mass 1 on both sides
                self.mean += n * pair.mu**2 / 2
                continue
            assert isinstance(pair, Atoms)
            log_p, log_q = (float(x) for x in pair.log_mgf(np.array([0.0, -1.0])))
            self.log_p += n * log_p
            self.log_q += n * log_q
            self.mean += n * float(pair.mass @ pair.loss) / math.exp(log_p)
            # Terms of the sums err by their mass, their exponents and the blur of their losses.
            exponents = float(np.abs(np.log(pair.mass)).max(initial=0.0) + np.abs(pair.loss).max(initial=0.0))
            off = pair.slack + UNIT * (2 * len(pair.loss) + 32 + 4 * exponents)
            self.off_p += n * off
            self.off_q += n * (off + pair.blur)
        self.k: Reals = k

    def delta(self, epsilon: float, enough: float) -> Bounds | None:
        """Bounds on D(epsilon) below the mean, None above it."""
        q = self.log_q + epsilon
        if epsilon >= self.mean or q > 0.0:
            return None
        p_low, p_high = math.exp(self.log_p - self.off_p), math.exp(min(self.log_p + self.off_p, 0.0))
        # e is a float; log q + e is off by a rounding of either.
        off = self.off_q + 4 * UNIT * (abs(self.log_q) + abs(epsilon))
        low, high = p_low - math.exp(q + off), p_high - math.exp(q - off)
        most = exp_up(min(float(((1 + BEYOND) * epsilon + self.k).min()) + 1e-9, 700.0))
        if most <= max(enough, 1e-12 * low):
            return Bounds(max(0.0, low), max(0.0, high) + most)
        missing = self.turned.finite(-epsilon)
        if missing is None:
            return None
        scale = math.exp(epsilon) if epsilon < 700.0 else math.inf
        return Bounds(
            max(0.0, low + scale * missing.lower * (1 - 4 * UNIT)),
            max(0.0, high + scale * missing.upper * (1 + 4 * UNIT)),
        )


def _is_finite(pair: Pair) -> bool:
    return pair.as_atoms is not None and len(pair.as_atoms.loss) > 0


def _rare_above(atoms: Atoms, count: int) -> float:
    """The least loss above which there is no more than RARE / count."""
    order = np.argsort(-atoms.loss, kind="stable")
    rare = np.cumsum(atoms.mass[order]) * count <= RARE
    kept = order[~rare]
    return float(atoms.loss[kept[0]]) if len(kept) else math.inf


def _variance(atoms: Atoms, kept: Reals) -> float:
    mass, loss = atoms.mass[kept], atoms.loss[kept]
    total = float(mass.sum())
    mean = float(mass @ loss) / total
    return float(mass @ (loss - mean) ** 2) / total


def _without(atoms: Atoms, rare: Reals) -> Atoms:
    if not rare.any():
        return atoms.atomic
    kept = ~rare
    index = atoms.index[kept] if atoms.index is not None else None
    return Atoms(atoms.loss[kept], atoms.mass[kept], 0.0, atoms.lattice, index, atoms.slack, atoms.blur)


def _turned(pair: Pair) -> Pair:
    """The same with P and Q exchanged."""
    if isinstance(pair, GaussianPair):
        return pair
    assert isinstance(pair, Atoms)
    wide = float(np.abs(pair.loss).max(initial=0.0))
    slack = pair.slack + 2 * pair.blur + UNIT * (8 + 4 * wide)
    mass = pair.mass * np.exp(-pair.loss)
    return Atoms(-pair.loss[::-1], np.maximum(mass, TINY)[::-1], slack=slack, blur=pair.blur)
