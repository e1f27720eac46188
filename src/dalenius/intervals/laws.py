"""The laws of the noise: what one released number, or a combination of several, stays within.

Gaussian noise is as good as continuous (its grid is 2^-40 of it), Laplace noise too; for small sensitivities the
noise of PureDP is geometric, on whole numbers, and its quantiles are exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from dalenius.core.arrays import Reals
from dalenius.core.record import JSON, exact
from dalenius.intervals.roots import halved

FLATTEST = 1e-300
"""Noise is at least so wide: nothing is divided by zero."""


@dataclass(frozen=True)
class Law(ABC):
    """The law of the noise in one released number, with this standard deviation."""

    sigma: float

    tag: ClassVar[str]
    """The word for this law in records. It is written into ledgers and never changes."""
    whole: ClassVar[bool] = False
    """Whether it is on whole numbers."""

    @property
    def variance(self) -> float:
        return max(self.sigma, FLATTEST) ** 2

    @property
    @abstractmethod
    def fourth(self) -> float:
        """The fourth cumulant."""

    @property
    def edge(self) -> float:
        """What a distance is lengthened by where the noise has no values between whole numbers. (In combination with
        other noise; alone its law is exact.)"""
        return 0.0

    @abstractmethod
    def reach(self, failure: float) -> tuple[float, float]:
        """How far below and above the truth can be, but for this chance, half of it on each side."""

    def sum_below(self, t: Reals, first: Reals, second: Reals) -> Reals:
        """The chance that two noises of this kind, with these variances, together are at most t."""
        raise TypeError(f"sums of {self.tag} noise have no law here; this is a defect")

    def log_moment(self, s: Reals) -> Reals:
        """log E exp(s noise), for s >= 0; infinity where there is none."""
        raise TypeError(f"{self.tag} noise has no moments here; this is a defect")

    @property
    def smooth(self) -> Law:
        """What sums of many such noises are taken for: the same on the real line."""
        return self

    def record(self) -> dict[str, JSON]:
        """In the words of a ledger. sigma is the standard deviation, whatever the law."""
        return {"kind": self.tag, "sigma": exact(self.sigma)}

    @classmethod
    def from_record(cls, content: Mapping[str, JSON]) -> Law:
        """The law that `record` wrote."""
        return cls(float(content["sigma"]))


class Normal(Law):
    """Gaussian noise."""

    tag = "gaussian"

    @property
    def fourth(self) -> float:
        return 0.0

    def reach(self, failure: float) -> tuple[float, float]:
        both = self.sigma * -float(ndtri(failure / 2))
        return both, both

    def sum_below(self, t: Reals, first: Reals, second: Reals) -> Reals:
        return np.asarray(ndtr(t / np.sqrt(first + second)))

    def log_moment(self, s: Reals) -> Reals:
        return np.asarray(self.variance * s**2 / 2)


class TwoSidedExponential(Law):
    """Laplace noise."""

    tag = "laplace"

    @property
    def fourth(self) -> float:
        return 3.0 * self.variance**2

    def reach(self, failure: float) -> tuple[float, float]:
        both = self.sigma / math.sqrt(2) * math.log(1 / failure)
        return both, both

    def sum_below(self, t: Reals, first: Reals, second: Reals) -> Reals:
        a = np.sqrt(first / 2)
        b = np.maximum(np.sqrt(second / 2), 1e-6 * a)
        b = np.where(np.abs(b - a) < 1e-3 * a, a * (1 - 1e-3), b)
        size = np.abs(t)
        tail = (a * a * np.exp(-size / a) - b * b * np.exp(-size / b)) / (2 * (a * a - b * b))
        return np.asarray(np.where(t < 0, tail, 1 - tail))

    def log_moment(self, s: Reals) -> Reals:
        return _of_part(self.variance * s**2 / 2)


class TwoSidedGeometric(TwoSidedExponential):
    """The same on whole numbers: P(k) is proportional to q^|k|."""

    tag = "geometric"
    whole = True

    @classmethod
    def of_scale(cls, scale: float) -> TwoSidedGeometric:
        """With q = exp(-1/scale)."""
        return cls(math.exp(-1 / (2 * scale)) * math.sqrt(2) / -math.expm1(-1 / scale))

    @property
    def smooth(self) -> Law:
        return TwoSidedExponential(self.sigma)

    @property
    def edge(self) -> float:
        """Half of half a step, and half a step where it is a step or nothing."""
        return 0.25 if self.sigma >= 0.5 else 0.5

    def log_moment(self, s: Reals) -> Reals:
        # (1 - q)^2 / ((1 - q e^s) (1 - q e^-s)), where q / (1 - q)^2 is half the variance
        return _of_part(self.variance * 2 * np.sinh(np.minimum(s, 300.0) / 2) ** 2)

    def reach(self, failure: float) -> tuple[float, float]:
        """Noise leaves (q^(a+1) + q^(b+1)) / (1 + q) outside of -a..b: the shortest range is taken, which may be longer
        by one on one side, so that the chance is used up as well as it can be."""
        square = self.sigma**2
        q = square / (square + 1 + math.sqrt(2 * square + 1))  # of variance 2 q / (1 - q)^2
        if q == 0.0:
            return 0.0, 0.0
        one = math.log(q)
        m = max(0, math.ceil((math.log(failure / 2) + math.log1p(q)) / one * (1 - 1e-12)) - 1)
        if m > 0 and m * one <= math.log(failure):
            return float(m - 1), float(m)
        return float(m), float(m)


@dataclass(frozen=True)
class Combined(Law):
    """A sum of many noises, known by its standard deviation and its excess kurtosis; see `multiple`.

    It is what is left when noisy numbers are combined; it is never drawn, and never written down.
    """

    kurtosis: float = 0.0

    tag = "combined"

    @property
    def fourth(self) -> float:
        return self.kurtosis * self.variance**2

    def reach(self, failure: float) -> tuple[float, float]:
        both = self.sigma * float(multiple(np.array([self.kurtosis]), failure)[0])
        return both, both


@dataclass(frozen=True, eq=False)
class Noisy:
    """One measure after noise: floats, one per group (groups x bins for histograms), each with noise of this law."""

    values: Reals
    law: Law

    @property
    def sigma(self) -> float:
        return self.law.sigma

    @property
    def variance(self) -> float:
        return self.law.variance

    @property
    def edge(self) -> float:
        return self.law.edge

    @property
    def fourth(self) -> float:
        return self.law.fourth

    @property
    def of_square(self) -> float:
        """The variance of the square of the noise."""
        return self.fourth + 2 * self.variance**2

    def scaled(self, factor: float) -> Noisy:
        """The same numbers in other units."""
        return Noisy(self.values * factor, replace(self.law, sigma=self.law.sigma * factor))


def multiple(peakedness: Reals, failure: float) -> Reals:
    """How many standard deviations a combination of noises stays within, but for this chance.

    peakedness: its excess kurtosis, from 0 (normal) to 3 (one Laplace). The law is taken to be the sum of a normal
    and a Laplace variable with that kurtosis: exact for those, and within 2 % from 80 % to 99.9 % for sums of several
    Laplace variables.
    """
    places, values = _multiples(failure)
    return np.asarray(np.interp(np.clip(peakedness / 3, 0.0, 1.0) ** 0.25, places, values))


def beyond(peakedness: Reals, t: Reals) -> Reals:
    """The chance that a combination of noises is more than so many standard deviations above 0; see `multiple`."""
    place = np.clip(peakedness / 3, 0.0, 1.0) ** 0.25
    far = np.where(place < NORMAL, 2 * ndtr(-np.abs(t)), _tail(place, np.abs(t))) / 2
    return np.asarray(np.where(t > 0, far, 1 - far))


def _of_part(part: Reals) -> Reals:
    """log of 1 / (1 - part), which is infinite from 1 on."""
    return np.where(part < 1, -np.log1p(-np.where(part < 1, part, 0.0)), np.inf)


NORMAL = 0.2
"""Below this fourth root of the kurtosis (over 3), the difference from the normal law is less than 1e-3."""


def _tail(place: Reals, t: Reals) -> Reals:
    """The chance that the sum of a normal and a Laplace variable is further away than t."""
    a = np.maximum(place / math.sqrt(2), 1e-9)  # the Laplace scale; 12 a^4 is the kurtosis
    s = np.sqrt(np.maximum(1 - 2 * a**2, 1e-12))
    rise = s**2 / (2 * a**2)
    far = np.exp(np.minimum(rise - t / a + log_ndtr(t / s - s / a), 0.0))
    near = np.exp(np.minimum(rise + t / a + log_ndtr(-t / s - s / a), 0.0))
    return np.asarray(2 * ndtr(-t / s) + far - near)


@lru_cache(maxsize=64)
def _multiples(failure: float) -> tuple[Reals, Reals]:
    places = np.linspace(0.0, 1.0, 129)
    most = np.full_like(places, 2 + 2 * math.log(1 / failure))
    far = halved(lambda t: _tail(places, t) > failure, np.zeros_like(places), most)
    return places, np.where(places < NORMAL, -float(ndtri(failure / 2)), far)


def truncated_mean(seen: Reals, noise: Reals, most: Reals) -> Reals:
    """The mean of what is between 0 and `most`, equally likely before `seen` was read through so much noise."""
    noise = np.maximum(noise, 1e-300)
    most = np.maximum(most, 1e-12)
    a, b = -seen / noise, (most - seen) / noise
    mass = ndtr(b) - ndtr(a)
    slope = np.exp(-np.minimum(a * a, 1e3) / 2) - np.exp(-np.minimum(b * b, 1e3) / 2)
    slope = slope / math.sqrt(2 * math.pi)
    inner = seen + noise * slope / np.maximum(mass, 1e-12)
    # Far outside, the nearer end.
    return np.asarray(np.clip(np.where(mass > 1e-9, inner, seen), 0.0, most))
