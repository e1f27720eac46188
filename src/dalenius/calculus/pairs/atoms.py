"""Pairs of discrete distributions: finitely many values of the privacy loss."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dalenius.calculus.pairs.atoms_mu import atoms_mu
from dalenius.calculus.pairs.mixture import log_mixture, transform
from dalenius.calculus.pairs.pair import UNIT, Ball, Bounds, Pair, Reals, Tilted, Transform
from dalenius.core.checks import float_up

MOST_IN_BALLS = 2000

MOST_PRODUCTS = 1_000_000_000
"""Losses times nodes of a line: a second or so of matrix products."""

BLOCK = 64
"""Losses added up at a time: a sum of sums errs by fewer roundings than one long sum."""


class Lattice(NamedTuple):
    """Losses offset + spacing * index."""

    spacing: float
    offset: float


class Atoms(Pair):
    """L takes the value loss_j with P-probability mass_j; +inf with probability `infinite`.

    Under Q the masses are mass_j exp(-loss_j); what is missing from one sits where P is zero.
    `lattice` is set when the losses are known to be equally spaced (`index` then places them).
    `slack` bounds the relative error of the masses, `blur` how far the true losses may be from these (or from
    the points of the lattice), beyond a rounding or two of offset + spacing * index.
    """

    def __init__(
        self,
        loss: Reals,
        mass: Reals,
        infinite: float = 0.0,
        lattice: Lattice | None = None,
        index: npt.NDArray[np.int64] | None = None,
        slack: float = 4 * UNIT,
        blur: float = 0.0,
    ) -> None:
        if not (np.isfinite(loss[mass > 0]).all() and np.isfinite(mass).all()):
            raise ArithmeticError("a privacy loss left the range of floating point; this is a defect")
        keep = mass > 0
        self.loss = np.ascontiguousarray(loss[keep], dtype=float)
        self.mass = np.ascontiguousarray(mass[keep], dtype=float)
        self.infinite = float(infinite)
        self.slack, self.blur = slack, blur
        if lattice is None or len(self.loss) <= 1:  # a single value is a lattice of any spacing
            lattice, index = evenly_spaced(self.loss)
            if len(self.loss) > 1 and lattice is not None:
                self.blur += 8 * UNIT * float(np.abs(self.loss).max())
        elif index is not None:
            index = index[keep]
        self.lattice, self.index = lattice, index
        self._key = (self.loss.tobytes(), self.mass.tobytes(), self.infinite, self.lattice, slack, self.blur)
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atoms) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        low, high = self.loss.min(initial=0), self.loss.max(initial=0)
        return f"Atoms({len(self.loss)} losses from {low:g} to {high:g})"

    @cached_property
    def sort_key(self) -> tuple[str, ...]:
        return (type(self).__name__, repr(self), self.loss.tobytes().hex(), self.mass.tobytes().hex())

    @cached_property
    def largest(self) -> float:
        if len(self.loss) == 0:
            return -math.inf
        exact = Fraction(float(self.loss.max()))
        if self.lattice is not None and self.index is not None:
            place = int(self.index[np.argmax(self.loss)])
            exact = Fraction(self.lattice.offset) + place * Fraction(self.lattice.spacing)
        return float_up(exact + Fraction(self.blur))

    @cached_property
    def atomic(self) -> Atoms:
        """The finite losses: what is infinite is counted elsewhere."""
        if self.infinite == 0.0:
            return self
        return Atoms(self.loss, self.mass, 0.0, self.lattice, self.index, self.slack, self.blur)

    def log_mgf(self, s: Reals) -> Reals:
        result = np.full(len(s), -np.inf)
        if len(self.loss) == 0:
            return result
        block = max(1, 1_000_000 // len(self.loss))
        for i in range(0, len(s), block):
            exponent = np.multiply.outer(s[i : i + block], self.loss) + self._log_mass
            top = exponent.max(axis=1)
            top[~np.isfinite(top)] = 0.0  # inf - inf would be no number
            result[i : i + block] = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
        return result

    @cached_property
    def _log_mass(self) -> Reals:
        return np.asarray(np.log(self.mass))

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return np.minimum(self._log_mgf_up(s), self.log_mgf_by_reach(s))

    def _log_mgf_up(self, s: Reals) -> Reals:
        """log M(s) rounded up, of a pair all of whose mass is finite: M - 1 is the sum of mass expm1(s loss).

        A mass is off by `slack`, a loss by `blur` and a rounding or two, the sum by a rounding a term.
        """
        size, result = np.abs(self.loss), np.empty(len(s))
        widest = float(size.max(initial=0.0))
        far = s * widest > 600.0
        if far.any():
            roundings = len(size) + 16 + 4 * s[far] * widest + 4 * 745.0
            result[far] = self.log_mgf(s[far]) + self.slack + s[far] * self.blur + UNIT * roundings
        near = np.flatnonzero(~far)
        of_mass, of_loss = self.slack + (len(size) + 8) * UNIT, self.blur + 4 * UNIT * size
        block = max(1, 2_000_000 // max(1, len(size)))
        for i in range(0, len(near), block):
            x = s[near[i : i + block]][:, None]
            grown = np.expm1(x * self.loss)
            off = of_mass * np.abs(grown) + (1 + grown) * x * of_loss
            result[near[i : i + block]] = np.log1p(np.maximum((grown + off) @ self.mass, 0.0))
        return result * (1 + 8 * UNIT)

    @cached_property
    def _outline(self) -> Atoms:
        """At most a few thousand atoms that dominate these."""
        from dalenius.calculus.pairs.rounding import round_up

        return round_up(self, float(self.loss.max() - self.loss.min()) / 2000, 0.0).atoms

    def rough_log_mgf(self, s: Reals) -> Reals:
        return (self if len(self.loss) <= 4096 else self._outline).log_mgf(s)

    @property
    def reach(self) -> float:
        if len(self.loss) == 0:
            return math.inf
        complete = abs(float((self.mass * np.exp(-self.loss)).sum()) - 1.0) < 1e-12
        return float(np.abs(self.loss).max()) + self.blur if complete and self.infinite == 0 else math.inf

    @cached_property
    def gdp(self) -> float:
        """By its largest loss, or test by test, whichever is less."""
        if self.infinite > 0 or not math.isfinite(self.reach) or not self.largest < 700:
            return super().gdp
        off = 2 * (self.slack + self.blur)
        return min(super().gdp, atoms_mu(self.loss, self.mass, off) if off < 0.1 else math.inf)

    def delta(self, epsilon: float) -> Bounds:
        if epsilon >= self.largest:
            return self.infinite_bounds
        # A loss that may be this far off moves 1 - exp(epsilon - loss) by at most as much, and may be above
        # epsilon where this one is not.
        shaky = 2 * UNIT * (np.abs(self.loss) + abs(epsilon)) + 2 * self.blur
        above = self.loss + shaky > epsilon
        terms = self.mass[above] * -np.expm1(np.minimum(epsilon - self.loss[above], 0.0))
        value = float(terms.sum()) + self.infinite
        gap = float((self.mass[above] * shaky[above]).sum())
        relative = self.slack + (len(terms) + 8) * UNIT
        return Bounds(max(0.0, value * (1 - relative) - gap), min(1.0, value * (1 + relative) + gap))

    def weights(self, c: float) -> tuple[float, Reals, float]:
        """The scale and masses of mass_j exp(c loss_j), and a bound on the error of their transform (blur aside).

        M(c + i t) = exp(scale) (sum_j w_j exp(i t loss_j) + e) with |e| at most the third number. A weight errs by
        the roundings of its exponent and a few more; the scale is exact up to those of its logarithm, because the
        shift and the total are numbers of our choice.
        """
        exponent = c * self.loss
        near = float(np.abs(exponent).max(initial=0.0)) < 300.0
        shift = 0.0 if near else float((np.log(self.mass) + exponent).max())
        half = np.exp(
            (exponent - shift) / 2
        )  # twice, for exp of the whole may overflow where the mass is tiny
        weights = self.mass * half * half
        total = float(weights.sum())
        weights /= total
        log_total = math.log(total)
        roundings = float(weights @ (2 * np.abs(exponent) + np.abs(exponent - shift))) + 16
        return (
            shift + log_total,
            weights,
            self.slack + UNIT * (roundings + 2 * abs(shift) + 3 * abs(log_total)),
        )

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        if len(t) * len(self.loss) > MOST_PRODUCTS:
            return None
        scale, weights, fixed = self.weights(c)
        values = np.zeros(len(t), dtype=complex)
        for i in range(0, len(weights), BLOCK):
            values += transform(t, self.loss[i : i + BLOCK], weights[i : i + BLOCK])
        sums = min(len(weights), BLOCK) + len(weights) // BLOCK
        fixed += UNIT * (2 * sums + 16) + 2 * abs(c) * self.blur
        spread = float(weights @ np.abs(self.loss))
        return Tilted(scale, values, fixed + (8 * UNIT * spread + self.blur) * np.abs(t))

    def along_period(self, c: float, size: int) -> Tilted:
        """values_k = sum_j w_j exp(2 pi i k index_j / size) for k = 0 .. size//2.

        Of the law on the lattice; how far that is from the true one, `blur`, is for the caller to settle.
        """
        scale, weights, fixed = self.weights(c)
        assert self.index is not None
        half = size // 2 + 1
        if len(weights) * half <= 2_000_000:
            turns = np.multiply.outer(np.arange(half), self.index % size) % size
            values = np.exp(2j * math.pi / size * turns) @ weights
            return Tilted(scale, values, np.full(half, fixed + UNIT * (2 * len(weights) + 16)))
        folded = np.bincount(self.index % size, weights=weights, minlength=size)
        values = np.conj(np.fft.rfft(folded))
        # ||error||_2 <= 8 u log2(N) ||values||_2 = 8 u log2(N) sqrt(N) ||folded||_2 (Higham 2002, Thm 24.2).
        noise = 8 * UNIT * math.log2(size) * math.sqrt(size) * float(np.linalg.norm(folded))
        return Tilted(scale, values, np.full(half, fixed + noise))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        # A rounding's width to the left keeps an atom that sits on an edge in the cell below it.
        place = np.searchsorted(edges, self.loss - 4 * UNIT * np.abs(self.loss), side="left")
        p = np.bincount(place, weights=self.mass, minlength=len(edges) + 1)
        with np.errstate(over="ignore"):
            q = np.bincount(place, weights=self.mass * np.exp(-self.loss), minlength=len(edges) + 1)
        return p, q

    def continuous_delta(self, x: Reals) -> tuple[Reals, Reals]:
        return np.zeros(len(x)), np.zeros(len(x))

    @property
    def tells_nothing(self) -> bool:
        return self.infinite == 0.0 and self.largest <= 0.0

    @property
    def as_atoms(self) -> Atoms:
        return self

    @property
    def _is_randomized_response(self) -> bool:
        if len(self.loss) != 2 or self.infinite > 0 or self.loss[0] != -self.loss[1]:
            return False
        return bool(abs(self.mass[1] * math.exp(-self.loss[1]) - self.mass[0]) <= 8 * UNIT * self.mass[1])

    def chained(self, size: int) -> Pair | None:
        return geometric_atoms(float(self.loss[1]), size) if self._is_randomized_response else None

    def sampled(self, rate: float, added: bool) -> Pair:
        slack = self.slack + 32 * UNIT
        z = -self.loss if added else self.loss
        value = log_mixture(z, rate)[0]
        # Good to a few roundings of itself, and of z times the derivative, the share of exp(z) in the mixture;
        # for z above 700 of log(rate), too, which is hardly larger than z.
        share = np.exp(np.minimum(math.log(rate) + z - value, 0.0))
        blur = self.blur + UNIT * float(np.max(32 * np.abs(value) + 8 * share * np.abs(z), initial=0.0))
        rest = math.log1p(-rate)
        value = np.append(value, rest)
        if added:
            blur += 4 * UNIT * abs(rest) * (self.infinite > 0)
            return Atoms(-value, np.append(self.mass, self.infinite), slack=slack, blur=blur)
        q = self.mass * np.exp(-self.loss)
        slack += 4 * UNIT * float(np.abs(self.loss).max(initial=0.0)) + 2 * self.blur
        missing = max(0.0, 1.0 - float(q.sum()) - 4 * UNIT * len(q))
        blur += 4 * UNIT * abs(rest) * (missing > 0)
        mass = np.append((1 - rate) * q + rate * self.mass, (1 - rate) * missing)
        order = np.argsort(value, kind="stable")
        infinite = float_up(Fraction(rate) * Fraction(self.infinite))
        return Atoms(value[order], mass[order], infinite, slack=slack, blur=blur)

    def mirrored(self) -> Atoms:
        up = self.loss > 0
        loss, mass = self.loss[up], self.mass[up]
        slack = self.slack * 4 + 4 * UNIT * float(loss.max(initial=0.0)) + 2 * self.blur
        return symmetric_atoms(loss, mass, mass * np.exp(-loss), self.infinite, slack, self.blur)

    @property
    def radius(self) -> float:
        """How far losses may be from the floats, or from the points of the lattice, that stand for them."""
        return self.blur + 4 * UNIT * float(np.abs(self.loss).max(initial=0.0))

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        if len(self.loss) > MOST_IN_BALLS:
            return super().in_balls(flint, c, reach)
        arb = flint.arb
        losses = [arb(float(x), self.radius) for x in self.loss]
        masses = [arb(float(p)) * (1 + arb(0, self.slack)) for p in self.mass]

        def mgf(s: Ball) -> Ball:
            return sum((p * (s * x).exp() for x, p in zip(losses, masses, strict=True)), flint.acb(0))

        return mgf


def evenly_spaced(loss: Reals) -> tuple[Lattice | None, npt.NDArray[np.int64] | None]:
    """The lattice on which a few sorted losses lie, to 4 UNIT of the largest, if there is one."""
    if len(loss) == 0 or len(loss) > 256:
        return None, None
    if len(loss) == 1:
        return Lattice(1.0, float(loss[0])), np.zeros(1, dtype=np.int64)
    length = float(loss[-1] - loss[0])
    least = float(np.diff(loss).min())
    if least <= 0 or length / least > 1e5:
        return None, None
    step = length / round(length / least)
    index = np.rint((loss - loss[0]) / step).astype(np.int64)
    if np.abs(loss - loss[0] - step * index).max() > 4 * UNIT * np.abs(loss).max():
        return None, None
    return Lattice(step, float(loss[0])), index


def lattice_atoms(
    spacing: float, offset: float, mass: Reals, start: int = 0, slack: float = 4 * UNIT
) -> Atoms:
    """Atoms at offset + spacing * (start, start + 1, ...)."""
    index = start + np.arange(len(mass))
    return Atoms(offset + spacing * index, mass, 0.0, Lattice(spacing, offset), index, slack)


def symmetric_atoms(
    loss: Reals, mass: Reals, reflected: Reals, infinite: float, slack: float, blur: float
) -> Atoms:
    """Increasing losses above 0 with their masses under P and under Q, their mirror image, and the rest at loss 0.

    P has no mass where Q has an infinite advantage, so only its own infinite part is missing from 1.
    """
    tie = max(0.0, 1.0 - infinite - math.fsum(mass) - math.fsum(reflected))
    losses = np.concatenate((-loss[::-1], [0.0], loss))
    masses = np.concatenate((reflected[::-1], [tie], mass))
    return Atoms(losses, masses, infinite, slack=slack, blur=blur)


def two_point_atoms(epsilon: float) -> Atoms:
    """Binary randomized response, the extremal pair of epsilon-DP."""
    return lattice_atoms(2 * epsilon, -epsilon, expit(np.array([-epsilon, epsilon])))


def geometric_atoms(epsilon: float, steps: int) -> Atoms:
    """Two-sided geometric noise of ratio exp(-epsilon), centred `steps` apart.

    Outcomes <= 0 lose -steps epsilon, outcomes >= steps +steps epsilon, k in between (2k - steps) epsilon.
    It is also what is left of a chain of `steps` neighbours each epsilon-DP: uniform noise added to it gives
    the canonical noise of randomized response, whose shifts compose exactly (Awan and Vadhan 2023).
    """
    decay = math.exp(-epsilon)
    mass = -math.expm1(-epsilon) / (1.0 + decay) * np.exp(-epsilon * (steps - np.arange(steps + 1.0)))
    mass[0] = math.exp(-steps * epsilon) / (1.0 + decay)
    mass[-1] = 1.0 / (1.0 + decay)
    # An offset of 0 or one step: exact, and small beside what sums of many have to show.
    offset = -epsilon if steps % 2 else 0.0
    return lattice_atoms(2.0 * epsilon, offset, mass, -(steps // 2), slack=(16 + 4 * steps * epsilon) * UNIT)
