"""Parts of one of several laws, and which one is told, between soft cuts of each (`revealed`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from dalenius.calculus.pairs.pair import UNIT, Cuts, Pair, Part, Reals, Tilted


def log_mgf(log_weights: Sequence[float], laws: Sequence[Part | Pair], s: Reals) -> Reals:
    """log of the weighted sum of transforms."""
    return np.asarray(
        logsumexp([w + law.log_mgf(s) for w, law in zip(log_weights, laws, strict=True)], axis=0)
    )


def tilted(log_weights: Sequence[float], laws: Sequence[Part | Pair], c: float, t: Reals) -> Tilted | None:
    """The weighted sum of transforms along a line."""
    parts = [law.tilted(c, t) for law in laws]
    scales = [w + part.log_scale for w, part in zip(log_weights, parts, strict=True) if part is not None]
    if len(scales) < len(parts):
        return None
    top = float(logsumexp(scales))  # so that the sum is 1 at t = 0, however often it is multiplied
    values, error = np.zeros(len(t), dtype=complex), np.zeros(len(t))
    for scale, part in zip(scales, parts, strict=True):
        assert part is not None
        share = float(np.exp(scale - top))
        values += share * part.values
        # A scale far from 1 loses a rounding of its logarithm.
        rounding = UNIT * (8 + 4 * abs(part.log_scale) + 4 * abs(top))
        error += share * (part.error * (1 + 1e-9) + rounding * np.abs(part.values))
    return Tilted(top, values, error)


def envelope(
    log_weights: Sequence[float], laws: Sequence[Part | Pair], c: float, t: Reals, times: int
) -> Reals:
    """That of the weighted sum, by those of each."""
    at = np.array([c])
    scales = np.array([w + float(law.log_mgf(at)[0]) for w, law in zip(log_weights, laws, strict=True)])
    shares = np.exp(scales - logsumexp(scales)) * (1 + 1e-9)
    bounds = [law.envelope(c, t, times) for law in laws]
    return np.asarray(np.minimum(shares @ np.array(bounds), 1.0))


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
    pairs: tuple[Pair, ...]
    each: tuple[Cuts | None, ...]

    @property
    def _cut(self) -> list[tuple[float, Cuts]]:
        return [(w, one) for w, one in zip(self.log_weights, self.each, strict=True) if one is not None]

    def below(self, level: float) -> RevealedPart:
        laws = (
            pair if one is None else one.below(level) for pair, one in zip(self.pairs, self.each, strict=True)
        )
        return RevealedPart(self.log_weights, tuple(laws))

    def between(self, low: float, high: float) -> RevealedPart:
        return RevealedPart(
            tuple(w for w, _ in self._cut), tuple(one.between(low, high) for _, one in self._cut)
        )

    def steepest(self, level: float) -> float:
        return min(one.steepest(level) for _, one in self._cut)

    def highest(self, mass: float) -> float:
        return max(one.highest(min(mass * math.exp(-w), 0.5)) for w, one in self._cut)

    def log_beyond(self, level: float) -> float:
        return float(logsumexp([w + one.log_beyond(level) for w, one in self._cut])) + 1e-12

    def crowd(self, low: float, high: float, s: float) -> float:
        return sum(math.exp(w) * one.crowd(low, high, s) for w, one in self._cut)

    def jump(self, s: float) -> float:
        return max(one.jump(s) for _, one in self._cut)
