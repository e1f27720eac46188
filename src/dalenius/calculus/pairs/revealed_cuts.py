"""Parts of one of several laws, and which one is told, between soft cuts of each (`revealed`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Cuts, Pair, Part, Reals, Tilted

UNSEEN = 1e-20
"""Laws with less of the sum than this are not looked at, but charged."""
MANY, RARE = 100, 1e-3
"""What is raised to a power of MANY or more is hardly larger for a law that so seldom shows among as many."""


def log_mgf(log_weights: Sequence[float], laws: Sequence[Part | Pair], s: Reals) -> Reals:
    """log of the weighted sum of transforms."""
    return np.asarray(
        logsumexp([w + law.log_mgf(s) for w, law in zip(log_weights, laws, strict=True)], axis=0)
    )


def shares(log_weights: Sequence[float], laws: Sequence[Part | Pair], c: float) -> Reals:
    """What each law adds to the weighted sum at c."""
    at = np.array([c])
    scales = np.array([w + float(law.log_mgf(at)[0]) for w, law in zip(log_weights, laws, strict=True)])
    return np.asarray(np.exp(scales - logsumexp(scales)) * (1 + 1e-9))


def tilted(log_weights: Sequence[float], laws: Sequence[Part | Pair], c: float, t: Reals) -> Tilted | None:
    """The weighted sum of transforms along a line, but for laws of which it has less than a rounding."""
    parts, rest = [], 0.0
    for share, w, law in zip(shares(log_weights, laws, c), log_weights, laws, strict=True):
        if share < UNSEEN:
            rest += share
            continue
        part = law.tilted(c, t)
        if part is None:
            return None
        parts.append((w + part.log_scale, part))
    # So that the sum is 1 at t = 0, however often it is multiplied.
    top = float(logsumexp([scale for scale, _ in parts]))
    values, error = np.zeros(len(t), dtype=complex), np.full(len(t), 2 * rest)
    for scale, part in parts:
        share = math.exp(scale - top)
        values += share * part.values
        # A scale far from 1 loses a rounding of its logarithm.
        rounding = UNIT * (8 + 2 * len(parts) + 4 * abs(part.log_scale) + 4 * abs(top))
        error += share * (part.error * (1 + 1e-9) + rounding * np.abs(part.values))
    return Tilted(top, values, error)


def envelope(
    log_weights: Sequence[float], laws: Sequence[Part | Pair], c: float, t: Reals, times: int
) -> Reals:
    """A bound on the weighted sum, relative to that at c: what laws add that are too rare to count need not decay."""
    total = np.zeros(len(t))
    for share, law in zip(shares(log_weights, laws, c), laws, strict=True):
        rare = share < UNSEEN or (times >= MANY and share * times < RARE)
        total += share * (1.0 if rare else law.envelope(c, t, times))
    return np.asarray(np.minimum(total, 1.0))


def beside_atoms(log_weights: Sequence[float], laws: Sequence[Part | Pair], c: float, t: Reals) -> Reals:
    """As `Pair.beside_atoms`, where each law has atoms."""
    bounds = np.array([law.beside_atoms(c, t) for law in laws])  # type: ignore[union-attr]
    return np.asarray(np.minimum(shares(log_weights, laws, c) @ bounds, 1.0))


def atomic(log_weights: Sequence[float], laws: Sequence[Part | Pair]) -> Atoms | None:
    """The atoms of all; None where one of them has none."""
    loss, mass, slack, blur = [], [], 0.0, 0.0
    for w, law in zip(log_weights, laws, strict=True):
        atoms = law.atomic
        if not isinstance(atoms, Atoms):
            return None
        loss.append(atoms.loss)
        mass.append(math.exp(w) * atoms.mass)
        slack, blur = max(slack, atoms.slack), max(blur, atoms.blur)
    # A weight far from 1 loses a rounding of its logarithm.
    slack += UNIT * (16 + len(laws) + 2 * max(abs(w) for w in log_weights))
    places, index = np.unique(np.concatenate(loss), return_inverse=True)
    total = np.bincount(index, np.concatenate(mass), len(places))
    return Atoms(places, total, slack=slack, blur=blur)


@dataclass(frozen=True)
class RevealedPart(Part):
    """A part of each of several laws."""

    log_weights: tuple[float, ...]
    laws: tuple[Part | Pair, ...]

    def log_mgf(self, s: Reals) -> Reals:
        return log_mgf(self.log_weights, self.laws, s)

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        return tilted(self.log_weights, self.laws, c, t)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        return envelope(self.log_weights, self.laws, c, t, times)

    @cached_property
    def atomic(self) -> Atoms | None:  # type: ignore[override]
        return atomic(self.log_weights, self.laws)

    def beside_atoms(self, c: float, t: Reals) -> Reals:
        return beside_atoms(self.log_weights, self.laws, c, t)

    @property
    def is_low(self) -> bool:
        return all(isinstance(law, Part) and law.is_low for law in self.laws)

    def mean(self) -> float:
        return sum(
            math.exp(w) * law.mean()
            for w, law in zip(self.log_weights, self.laws, strict=True)
            if isinstance(law, Part)
        )


@dataclass(frozen=True)
class RevealedCuts(Cuts):
    """The cuts of each law; None of what is kept whole."""

    log_weights: tuple[float, ...]
    laws: tuple[Part | Pair, ...]
    each: tuple[Cuts | None, ...]

    @property
    def _cut(self) -> list[tuple[float, Cuts]]:
        return [(w, one) for w, one in zip(self.log_weights, self.each, strict=True) if one is not None]

    def below(self, level: float) -> RevealedPart:
        laws = (
            law if one is None else one.below(level) for law, one in zip(self.laws, self.each, strict=True)
        )
        return RevealedPart(self.log_weights, tuple(laws))

    def between(self, low: float, high: float) -> RevealedPart:
        return RevealedPart(
            tuple(w for w, _ in self._cut), tuple(one.between(low, high) for _, one in self._cut)
        )

    def steepest(self, level: float) -> float:
        return min(one.steepest(level) for _, one in self._cut)

    def highest(self, mass: float) -> float:
        # Laws that are rarer than this by themselves do not count.
        shown = [one.highest(mass * math.exp(-w)) for w, one in self._cut if mass < 0.5 * math.exp(w)]
        return max(shown, default=1e-300)

    def log_beyond(self, level: float) -> float:
        return float(logsumexp([w + one.log_beyond(level) for w, one in self._cut])) + 1e-12

    def crowd(self, low: float, high: float, s: float) -> float:
        return sum(math.exp(w) * one.crowd(low, high, s) for w, one in self._cut)

    def jump(self, s: float) -> float:
        return max(one.jump(s) for _, one in self._cut)


@dataclass(frozen=True)
class LateCuts(Cuts):
    """The cuts of a law that jumps down, beside laws that jump up: each at a level so many times as far.

    No tilt that the jumps up allow makes the ones down negligible beside them. So these are in the layers below, where
    none of the former are left that count.
    """

    cuts: Cuts
    lag: float

    def below(self, level: float) -> Part:
        return self.cuts.below(self.lag * level)

    def between(self, low: float, high: float) -> Part:
        return self.cuts.between(self.lag * low, self.lag * high)

    def steepest(self, level: float) -> float:
        return self.cuts.steepest(self.lag * level)

    def highest(self, mass: float) -> float:
        return self.cuts.highest(mass) / self.lag

    def log_beyond(self, level: float) -> float:
        return self.cuts.log_beyond(self.lag * level)

    def crowd(self, low: float, high: float, s: float) -> float:
        return self.cuts.crowd(self.lag * low, self.lag * high, s)

    def jump(self, s: float) -> float:
        return self.cuts.jump(s)
