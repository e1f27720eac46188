"""Lines of single layers of a law: of what lies between two soft cuts, some with a tiny Gaussian loss (`layers`)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalenius.calculus.engines.contour import SOME_NODES, Aliases, Contour, least_period
from dalenius.calculus.engines.saddle import Moments, Saddle
from dalenius.calculus.engines.smoothed import LOOSER, RoughLine, Smoothing
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import UNIT, Complexes, Pair, Part, Reals, Terms, Tilted

LONG = 500
"""From so many nodes on a line is worth a look at what else decays along it."""
TIERS = ((1e-9, 2_000), (1e-8, 40_000), (1e-7, 200_000))
ALIASES = 1e-10
"""Relative error aimed at for aliasing on the line of one layer."""
SHORT = ((1e-12, 1_000), (1e-10, 2_000))
APART = ((1e-12, 1_000), (1e-10, 4_000), (1e-9, 20_000))
GROWTH = 16.0
"""A line that needs this many times as much noise as epsilon allows is not drawn at all."""


class Split(NamedTuple):
    """One term of one layer: what is below its low level, what is between the two (None: nothing), and how often."""

    below: Part | Pair
    between: Part | None
    times: int


class LayerMoments(Moments):
    """The measure of one layer on the real axis."""

    apart: Terms | None = None
    """Atoms at loss 0 beside which a single jump is counted elsewhere."""

    def __init__(self, splits: tuple[Split, ...], start: float, decades: int = 3) -> None:
        self.splits = splits
        super().__init__((), start, decades)

    def log_mgf(self, s: Reals) -> Reals:
        below, gain = np.zeros(len(s)), np.zeros(len(s))
        for split in self.splits:
            log_below = split.below.log_mgf(s)
            below += split.times * log_below
            if split.between is not None:
                gain += split.times * np.logaddexp(0.0, split.between.log_mgf(s) - log_below)
        # prod B^n = prod B'^n exp(gain); expm1(gain) without overflow, and never 0.
        gain = np.maximum(gain, 1e-300)
        return np.asarray(below + gain + np.log(-np.expm1(-gain)))

    @property
    def log_mass(self) -> float:
        """A bound: the least s that K is known at says nearly as much as the mass would, which takes long."""
        return 0.0


class LayerLine(Contour):
    """A line for the measure of one layer."""

    tiers = TIERS

    def __init__(self, moments: LayerMoments, saddle: Saddle) -> None:
        self._begin(moments, saddle)
        self._lay_layer(saddle)

    def _begin(self, moments: LayerMoments, saddle: Saddle) -> None:
        self.moments, self.c, self.splits, self.atoms_apart = moments, saddle.c, moments.splits, moments.apart

    def _lay_layer(self, saddle: Saddle) -> None:
        """Choose the nodes and evaluate the measure there."""
        self.period = least_period(saddle, ALIASES)
        self.step = 2 * math.pi / self.period
        self.feasible = False
        if not 1e-100 < self.step < 1e100:
            return
        self.aliases = Aliases.of(saddle, self.moments.log_mass, self.period)
        reach, self.truncation = self._cut(saddle.log_delta - (saddle.log_mgf - saddle.c * saddle.epsilon))
        self.feasible = math.isfinite(reach)
        if self.feasible:
            self._evaluate(np.arange(math.ceil(reach / self.step) + 1) * self.step)

    def _cut(self, log_share: float) -> tuple[float, float]:
        edges = self.step * 1.25 ** np.arange(0.0, 64.0)
        beyond = self._jumps_beyond(edges)
        if beyond is None:
            return math.inf, math.inf
        reach, tail = self._first_good(edges, beyond, log_share)
        uncut = [split for split in self.splits if split.between is None]
        if reach <= LONG * self.step or not uncut or self.atoms_apart is not None:
            return reach, tail
        # Terms that are not cut are a factor of both products (beside atoms set apart, of one of them alone).
        log_common = np.zeros_like(edges)
        for split in reversed(uncut):  # noise comes last, costs least, and ends the line
            with np.errstate(divide="ignore"):
                log_common += split.times * np.log(split.below.envelope(self.c, edges, split.times))
            reach, tail = self._first_good(edges, beyond * np.exp(np.minimum(log_common, 0.0)), log_share)
            if reach <= SOME_NODES * self.step:
                break
        return reach, tail

    def _jumps_beyond(self, edges: Reals) -> Reals | None:
        """A bound on the difference of the products from each edge on, without what is not cut, relative to t = 0."""
        c = np.array([self.c])
        gain, bound = 0.0, np.zeros_like(edges)
        log_low, log_high = 0.0, np.zeros_like(edges)
        for split in self.splits:
            if split.between is None:
                continue
            log_ratio = float((split.between.log_mgf(c) - split.below.log_mgf(c))[0])
            if not math.isfinite(log_ratio):
                return None
            log_one = float(np.logaddexp(0.0, log_ratio))  # log(B/B'), of which J/B' is the ratio
            gain += split.times * log_one
            # J / R with R = B(c); or |B|^n + |B'|^n, |B| <= |J| + |B'|. All relative to B(c)^n.
            jump = math.exp(log_ratio - log_one) * split.between.envelope(self.c, edges)
            bound += split.times * jump
            log_low -= split.times * log_one
            log_high += split.times * np.log(np.minimum(jump + math.exp(-log_one), 1.0))
        # With A <= R, single jumps beside atoms are at most as many.
        direct = np.exp(log_high) + math.exp(log_low)
        bound = np.minimum(bound, direct) if self.atoms_apart is None else 2 * bound
        return np.asarray(bound / -math.expm1(-gain) * (1 + 1e-9))

    def _evaluate(self, t: Reals) -> None:
        """prod B^n - prod B'^n on the line, B = B' + J, scaled to 1 at t = 0.

        The difference is a sum of n products with one factor J and n - 1 factors B or B'. Let all values, true or
        computed, be below R, and off by e; a product of N factors then is off by at most prod R sum e / R.
        """
        size = len(t)
        log_below, gain, direct = np.zeros(size, complex), np.zeros(size, complex), np.zeros(size, complex)
        log_reach, jumps, jump_errors, errors, roundings = (np.zeros(size) for _ in range(5))
        self.exponent = self.size_of_exponent = 0.0
        near = np.ones(size, dtype=bool)
        single: list[Tilted | None] = []
        for below, between, n in self.splits:
            rest = below.tilted(self.c, t)
            jump = None if between is None else between.tilted(self.c, t)
            if rest is None or (jump is None and between is not None):
                self.feasible = False
                return
            single.append(jump)
            scale = rest.log_scale
            low, low_error = rest.values, rest.error
            high, high_error = np.zeros(size, complex), np.zeros(size)
            if jump is not None:
                # Both on the scale of their sum.
                scale = float(np.logaddexp(rest.log_scale, jump.log_scale))
                low, low_error = (y * math.exp(rest.log_scale - scale) for y in (rest.values, rest.error))
                high, high_error = (y * math.exp(jump.log_scale - scale) for y in (jump.values, jump.error))
                low_error = low_error + 4 * UNIT * (1 + abs(scale)) * np.abs(low)
                high_error = high_error + 4 * UNIT * (1 + abs(scale) + abs(jump.log_scale)) * np.abs(high)
            self.exponent += n * scale
            self.size_of_exponent += abs(n * scale)
            low = np.where(low == 0, 1e-300, low)
            both = low + high
            both = np.where(both == 0, 1e-300, both)
            log_low = np.log(low)
            with np.errstate(over="ignore", invalid="ignore"):
                ratio = high / low
            close = np.abs(ratio) < 0.5
            near &= close
            log_below += n * log_low
            gain += n * _log1p(np.where(close, ratio, 0.0))
            direct += n * np.log(both)
            rounding = UNIT * 4 * (1 + np.abs(log_low)) * np.abs(low)
            error = low_error + high_error + rounding
            reach = np.maximum(np.abs(low), np.abs(both)) + error
            log_reach += n * np.log(reach)
            jumps += n * (np.abs(high) + high_error) / reach
            jump_errors += n * (high_error + 16 * UNIT * np.abs(high)) / reach
            errors += n * error / reach
            roundings += n * UNIT * 8 * (1 + np.abs(np.log(both)))
        near &= gain.real < 700.0  # beyond, expm1 overflows, and nothing cancels
        share = (
            float(-np.expm1((log_below[0] - direct[0]).real))
            if not near[0]
            else float(-np.expm1(-gain[0].real))
        )
        if not share > 0:
            self.feasible = False
            return
        self.exponent += math.log(share)
        with np.errstate(over="ignore", invalid="ignore"):
            values = (
                np.where(near, np.exp(log_below) * _expm1(gain), np.exp(direct) - np.exp(log_below)) / share
            )
        power = np.exp(log_reach) / share
        reach = np.abs(values)
        error = power * (jump_errors + jumps * errors + np.where(near, 0.0, roundings + 2 * errors))
        error += 64 * UNIT * (reach + power * jumps)
        if self.atoms_apart is not None:
            alone, off = self._single(single, self.atoms_apart)
            values, error = values - alone, error + off
            reach = np.abs(values)
        self._keep(t, values, reach + error, error)

    def _single(self, jumps: list[Tilted | None], atoms: Terms) -> tuple[Complexes, Reals]:
        """The sum of n J prod A^n / A on the scale of the values, and its error."""
        logs = [float(part.log_mgf(np.zeros(1))[0]) for part, _ in atoms]
        whole = sum(n * log for log, (_, n) in zip(logs, atoms, strict=True))
        size = self.size_of_exponent + sum(n * abs(log) for log, (_, n) in zip(logs, atoms, strict=True))
        total, off = np.zeros(1, complex), np.zeros(1)
        for jump, log, (_, n) in zip(jumps, logs, atoms, strict=True):
            if jump is None:
                continue
            factor = n * math.exp(min(whole - log + jump.log_scale - self.exponent, 700.0))
            total = total + factor * jump.values
            rounding = 16 * UNIT * (4 + size + abs(jump.log_scale) + sum(m for _, m in atoms))
            off = off + factor * (jump.error + rounding * (np.abs(jump.values) + jump.error))
        return total, off


class NoisyLayerLine(Smoothing, LayerLine):
    """The line of one layer and a tiny Gaussian loss, which ends it where atoms of terms that are not cut do not."""

    loose, most_growth, beside = LOOSER, GROWTH, True

    def __init__(self, moments: LayerMoments, saddle: Saddle) -> None:
        self._begin(moments, saddle)
        self._choose(saddle)

    def _lay_smoothed(self, saddle: Saddle, noise: GaussianPair) -> None:
        assert isinstance(self.moments, LayerMoments)
        self.splits = (*self.moments.splits, Split(noise, None, 1))
        self._lay_layer(saddle)


class ShortLine(Contour):
    """One line for all of the law, or for all that is below the last level."""

    tiers = SHORT


class ApartLine(Contour):
    """A line for the outcomes below the last level in which two releases or more show what is beside their atoms."""

    tiers = APART

    def _lay(self, saddle: Saddle, parts: Terms = (), apart: int = 0, fades: bool = True) -> None:
        super()._lay(saddle, parts, apart=1, fades=False)


class NoisyLine(RoughLine):
    """What is below the last level, and a tiny Gaussian loss."""

    most_growth, noise_first, most_nodes, beside = GROWTH, True, 60_000, True


def _log1p(z: np.ndarray) -> np.ndarray:
    """log(1 + z) for complex z, to a few roundings of itself."""
    x, y = z.real, z.imag
    return np.asarray(0.5 * np.log1p(x * (2 + x) + y * y) + 1j * np.arctan2(y, 1 + x))


def _expm1(z: np.ndarray) -> np.ndarray:
    """exp(z) - 1 for complex z, to a few roundings of itself."""
    half = np.sin(z.imag / 2)
    return np.asarray(
        np.expm1(z.real) * np.cos(z.imag) - 2 * half * half + 1j * np.exp(z.real) * np.sin(z.imag)
    )
