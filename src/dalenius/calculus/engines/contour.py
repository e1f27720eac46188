"""delta(epsilon) of a sum of losses by integration along a vertical line, with certified error.

For any c > 0 with M(c) finite, and D(e) = E[(1 - exp(e - L))_+ ; L < inf],

    D(e) = 1/(2 pi i) * integral over Re s = c of exp(-s e) M(s) / (s (s+1)) ds.

The trapezoid rule with step h on that line is not an approximation of unknown sign: by Poisson
summation it equals

    sum over all integers m of exp(c m T) D(e + m T),   T = 2 pi / h,

whose terms are all nonnegative. So the full sum is always an upper bound on D(e), and what it adds
is at most two geometric series of Chernoff bounds D(x) <= exp(K(s) - s x) s^s / (1+s)^(1+s), with
s < c for m < 0 and s > c for m > 0. Cutting the sum at t_max costs at most the envelopes of the
characteristic functions (`Pair.envelope`), and rounding is carried term by term. On the line through
the saddle point nothing cancels, so the relative error does not depend on the size of delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dalenius.calculus.engines.saddle import Moments, Saddle, above
from dalenius.calculus.pairs.pair import TINY, UNIT, Bounds, Complexes, Pair, Reals, Terms, Tilted

TOLERANCE = 1e-12
"""Relative error aimed at for aliasing; the bounds use what was achieved."""

TIERS = ((1e-12, 500), (1e-11, 1_000), (1e-10, 2_000), (1e-9, 100_000), (1e-8, 600_000))
"""Truncation error (relative) and the number of nodes it may cost; beyond, other engines serve."""

ENOUGH = 1e-8
"""Of epsilon, or of 1e-3 if that is more: a truncation that moves it by less is not worth many nodes."""

LOOSEST = 1e-6


def tiers_for(saddle: Saddle) -> tuple[tuple[float, int], ...]:
    """TIERS, the fourth as loose as epsilon allows: there log delta falls at the rate c."""
    allowed = min(max(TIERS[3][0], ENOUGH * saddle.c * max(saddle.epsilon, 1e-3)), LOOSEST)
    return (*TIERS[:3], (allowed, TIERS[3][1]), TIERS[4])


EDGES = 1.15 ** np.arange(0.0, 150.0)
"""Where a line may end, in nodes."""
FEW_NODES = 1_000
"""A line no longer than this is drawn without a look for a shorter one."""
LITTLE = 0.1
SOME_NODES = 5_000
"""Terms whose share of log M is below LITTLE are not asked how they decay, if the line is no longer than this without:
many steps that hardly tell anything may still be what ends it.
"""
NEGLIGIBLE = 1e-17
MOST_ROUNDING = 700.0
"""Of an exponent: of one that is off by more nothing is known."""
LEAST_SHARE = -800.0
"""Atomic parts whose product is below exp of this are not set apart: beside rounding nothing is left of it."""


def exp_up(x: float) -> float:
    """exp, never rounded to zero."""
    return max(math.exp(x), TINY) if x < 709.0 else math.inf


class Contour:
    """A vertical line with M evaluated on it once; `delta` may then be asked at many epsilons."""

    tiers: tuple[tuple[float, int], ...] = ()
    """How far the line may go for which truncation; none: as far as epsilon is worth (`tiers_for`)."""
    period_is_short = False
    """Whether the period is shorter than it should be, so that aliases loosen the lower bound."""
    noise_first = False
    """Whether the last term is noise that may well end the line alone."""
    last_once = False
    _flat: Complexes | None = None
    """1 / (s (s+1)) / T on the line."""
    _weighted: tuple[Complexes, float, float] | None = None
    """Values times weights and all of the kernel but phases; their slack, and what it grows by with |epsilon|."""
    atoms: Terms | None = None
    """Atomic parts of the terms, when every term has one: their product does not decay along the line.

    M minus that product does. What the product contributes lives on few points and is added by the caller.
    """
    apart = 0
    """Of how many releases the continuous part may show in what the caller adds; two only if there is one term."""

    def __init__(
        self,
        moments: Moments,
        saddle: Saddle,
        apart: int = 0,
        few: Callable[[float], Bounds] | None = None,
    ) -> None:
        self.moments, self.terms, self.c = moments, moments.terms, saddle.c
        self.tiers = self.tiers or tiers_for(saddle)
        parts = tuple((pair.atomic, n) for pair, n in moments.terms if pair.atomic is not None)
        atoms = self._log_share(parts) if len(parts) == len(moments.terms) else -math.inf
        fades = self._fades(saddle, atoms)
        if few is not None and not fades:
            # What is known already of delta is a better guide than Laplace's method.
            known = math.log(max(few(saddle.epsilon).lower, TINY))
            saddle = saddle._replace(log_delta=max(saddle.log_delta, known))
        self._lay(saddle, parts if atoms > LEAST_SHARE else (), apart, fades)

    def _lay(self, saddle: Saddle, parts: Terms = (), apart: int = 0, fades: bool = True) -> None:
        """Choose the nodes and evaluate M there, less the atomic parts where that makes the line shorter."""
        self.period = least_period(saddle)
        self.step = 2 * math.pi / self.period
        if not 1e-100 < self.step < 1e100 or not math.isfinite(saddle.log_delta):
            self.feasible = False
            return
        self.aliases = Aliases.of(saddle, self.moments.log_mass, self.period)
        log_share = saddle.log_delta - (saddle.log_mgf - saddle.c * saddle.epsilon)
        reach = math.inf
        if fades:
            reach, self.truncation = self._cut(log_share)
        if parts and reach > FEW_NODES * self.step:
            self.atoms, self.apart = parts, apart
            self.tiers = self.tiers[:4]  # beyond, the smoothed line is shorter
            beside, truncation = self._cut(log_share)
            if beside < 0.5 * reach:
                reach, self.truncation = beside, truncation
            else:
                self.atoms, self.apart = None, 0
        self.feasible = math.isfinite(reach)
        if self.feasible:
            self._evaluate(np.arange(math.ceil(reach / self.step) + 1) * self.step)

    def _fades(self, saddle: Saddle, atoms: float) -> bool:
        """Whether the product of the atomic parts, which stays, is small enough to cut the line with it on."""
        if atoms == -math.inf:
            return True
        tolerance, nodes = TIERS[-1]
        step = 2 * math.pi / least_period(saddle)
        log_share = saddle.log_delta - (saddle.log_mgf - saddle.c * saddle.epsilon)
        if not 0.0 < step < math.inf:
            return True  # such a line is not laid at all
        return bool(atoms - math.log(math.pi * nodes * step) < math.log(tolerance) + log_share)

    def _log_share(self, atoms: Terms) -> float:
        """log of the product of A(c) / M(c), A the transforms of the atomic parts."""
        c = np.array([self.c])
        whole = (float(pair.log_mgf(c)[0]) for pair, _ in self.terms)
        return sum(n * (float(part.log_mgf(c)[0]) - k) for (part, n), k in zip(atoms, whole, strict=True))

    def _cut(self, log_share: float) -> tuple[float, float]:
        """A t_max and the tail beyond it relative to M(c) exp(-c e), where delta is exp(log_share)."""
        edges = self.step * EDGES
        if self.atoms is None:
            return self._cut_whole(edges, log_share)
        log_envelope = np.zeros_like(edges)
        log_atoms, beyond_atoms, continuous = 0.0, np.zeros_like(edges), np.zeros_like(edges)
        for pair, n in self.terms:
            if not self.apart:
                with np.errstate(divide="ignore"):
                    log_envelope += n * np.log(pair.envelope(self.c, edges, n))
            assert pair.atomic is not None
            c = np.array([self.c])
            share = math.exp(float((pair.atomic.log_mgf(c) - pair.log_mgf(c))[0]))
            log_atoms += n * math.log(share)
            ratio = np.maximum(pair.beside_atoms(self.c, edges) / share - 1, 0.0)
            beyond_atoms += n * np.log1p(ratio)
            continuous += n * ratio
        # |prod (A + C)^n - prod A^n| is at most prod |M|^n + prod |A|^n, and also that difference of
        # absolute values, here in logs, for either factor may leave the range of floats. With X the sum of
        # n |C|/A, the products that hold j or more C are at most X^j/j! times all.
        with np.errstate(divide="ignore"):
            log_pieces = log_atoms + beyond_atoms + np.log(-np.expm1(-beyond_atoms))
            j = self.apart + 1
            many = log_atoms + beyond_atoms + j * np.log(continuous) - math.lgamma(j + 1)
            log_pieces = np.minimum(log_pieces, many)
        left_out = math.exp(log_atoms) * sum(continuous**k for k in range(j))
        pieces = np.exp(np.minimum(log_envelope, 0.0))
        pieces = np.minimum(pieces + left_out, np.exp(np.minimum(log_pieces, 0.0)))
        return self._first_good(edges, pieces, log_share)

    def _cut_whole(self, edges: Reals, log_share: float) -> tuple[float, float]:
        """The same with nothing set apart: terms in the order of their weight, until what they do is enough."""
        c = np.array([self.c])
        weighed = [(1.0, pair, n) for pair, n in self.terms]
        if len(weighed) > 1:
            weighed = [(n * abs(float(pair.log_mgf(c)[0])), pair, n) for pair, n in self.terms]
            if self.noise_first:
                weighed[-1] = (math.inf, *self.terms[-1])
            weighed.sort(key=lambda term: -term[0])
        left = total = sum(weight for weight, _, _ in weighed if weight < math.inf)
        log_envelope, found = np.zeros_like(edges), (math.inf, math.inf)
        for weight, pair, n in weighed:
            with np.errstate(divide="ignore"):
                log_envelope += n * np.log(pair.envelope(self.c, edges, n))
            found = self._first_good(edges, np.exp(np.minimum(log_envelope, 0.0)), log_share)
            left -= weight if weight < math.inf else 0.0
            if (
                found[0]
                <= (SOME_NODES if left < LITTLE * total or weight == math.inf else FEW_NODES) * self.step
            ):
                break
        return found

    def _first_good(self, edges: Reals, pieces: Reals, log_share: float) -> tuple[float, float]:
        """The first edge beyond which little enough is left, where `pieces` bounds the integrand on each cell."""
        h = self.step
        # Nodes in a cell are at most its width / h + 1, each with |1/(s(s+1))| <= 1/t^2 and weight h/pi.
        tails = np.append(
            (np.diff(edges) + h) * pieces[:-1] / edges[:-1] ** 2,
            pieces[-1] * (1 / edges[-1] + h / edges[-1] ** 2),
        )
        tails = np.cumsum(tails[::-1])[::-1] / math.pi
        for tolerance, budget in self.tiers:
            good = tails <= tolerance * math.exp(min(log_share, 700.0))
            if good.any() and edges[int(np.argmax(good))] <= budget * h:
                j = int(np.argmax(good))
                return float(edges[j]), float(tails[j]) * (1 + 1e-9)
        return math.inf, math.inf

    def _tilted(self, pair: Pair, t: Reals) -> Tilted | None:
        return pair.tilted(self.c, t)

    def _kernel(self, s: Complexes, epsilon: float) -> tuple[Complexes, float, Reals]:
        """exp(-s e) / (s (s+1)), its real exponent apart, and its error beyond rounding.

        The weight of the rule is 1 / T.
        """
        if self._flat is None:
            self._flat = 1 / (s * (s + 1)) / self.period
        kernel = np.exp(-1j * epsilon * self.t) * self._flat
        return kernel, -self.c * epsilon, np.zeros(1)

    def _discrete_part(self, t: Reals, tilted: list[Tilted]) -> tuple[Complexes, Reals]:
        """What the caller adds, on the scale of `values`, and its error: prod A^n, n C prod A^n / A of each term, etc.

        With |A| <= a the absolute value of each product is at most that with a; logarithms carry relative errors.
        """
        assert self.atoms is not None
        parts, log_value, relative = [], np.full(len(t), -self.exponent, dtype=complex), np.zeros(len(t))
        for atoms, n in self.atoms:
            part = atoms.tilted(self.c, t)
            assert part is not None
            parts.append(part)
            log_value += n * (part.log_scale + np.log(np.where(part.values == 0, 1e-300, part.values)))
            relative += n * (np.log1p(part.error / np.maximum(np.abs(part.values), 1e-300)) + 8 * UNIT)
        value = np.exp(log_value)
        size = np.exp(np.minimum(log_value.real + relative, 700.0))
        error = np.minimum(size, np.abs(value) * np.expm1(np.minimum(relative, 700.0)))
        error += 16 * UNIT * self.size_of_exponent
        if not self.apart:
            return value, error
        total, off = value.copy(), error.copy()
        for (_, n), whole, part in zip(self.terms, tilted, parts, strict=True):
            scale = math.exp(part.log_scale - whole.log_scale)
            atom = scale * np.where(part.values == 0, 1e-300, part.values)
            rest = whole.values - scale * part.values
            rest_error = whole.error + scale * (
                part.error + 8 * UNIT * (1 + abs(part.log_scale - whole.log_scale))
            )
            ways, power, most = 1.0, np.ones(len(t), dtype=complex), size
            for j in range(1, self.apart + 1):
                ways, power, most = ways * (n - j + 1) / j, power * rest, most / np.abs(atom)
                others = np.exp(log_value - j * np.log(atom))
                grown = np.abs(others) * np.expm1(np.minimum(relative, 700.0))
                total += ways * power * others
                off += ways * np.abs(power) * np.minimum(most, grown)
                wrong = (np.abs(rest) + rest_error) ** j - np.abs(power)
                off += ways * most * (wrong + 16 * UNIT * (self.size_of_exponent + j) * np.abs(power))
        return total, off

    def _turning(self, t: Reals) -> Reals:
        """How fast rounding of the phase t * e grows with |e|."""
        return t

    def _evaluate(self, t: Reals) -> None:
        """M on the line, as exp(exponent) * values, |values + true error| <= reach."""
        log_value = np.zeros(len(t), dtype=complex)
        log_reach, relative = np.zeros(len(t)), np.zeros(len(t))
        self.exponent = self.size_of_exponent = 0.0
        each = []
        for pair, n in self.terms:
            tilted = self._tilted(pair, t)
            if tilted is None:
                self.feasible = False
                return
            each.append(tilted)
            self.exponent += n * tilted.log_scale
            self.size_of_exponent += abs(n * tilted.log_scale)
            modulus = np.maximum(np.abs(tilted.values), 1e-300)
            log_term = np.log(np.where(tilted.values == 0, 1e-300, tilted.values))
            error = tilted.error + modulus * UNIT * 4 * (1 + np.abs(log_term))
            log_value += n * log_term
            # |a^n - b^n| <= n e (|a| + e)^(n-1) for |a - b| <= e, and likewise for products.
            log_reach += n * np.log(modulus + error)
            relative += n * error / (modulus + error)
        reach = np.exp(np.minimum(log_reach, 0.0))
        error = reach * np.expm1(np.minimum(relative, 700.0))
        values = np.exp(log_value)
        if self.atoms is not None:
            discrete, discrete_error = self._discrete_part(t, each)
            values, error = values - discrete, error + discrete_error
            reach = np.abs(values) + error
        self._keep(t, values, reach, error)

    def _keep(self, t: Reals, values: Complexes, reach: Reals, error: Reals) -> None:
        """The nodes of the sum, their values on the scale exp(exponent), and their errors."""
        self._weighted = None
        # Nodes too small to matter are left out of the sum; |kernel| is largest at t = 0.
        keep = reach + error > NEGLIGIBLE
        keep[0] = True
        self.dropped = 2 * float(np.sum((reach + error)[~keep]))
        self.last_once = self.last_once and bool(keep[-1])
        self.nodes = np.flatnonzero(keep)
        self.t = t[keep]
        self.turning = self._turning(self.t)
        self.values, self.reach, self.error = values[keep], reach[keep], error[keep]
        self.s = self.c + 1j * self.t
        self.weight = np.full(len(self.t), 2.0)
        self.weight[0] = 1.0
        if self.last_once:
            self.weight[-1] = 1.0

    def delta(self, epsilon: float) -> Bounds:
        """Certified bounds on D(epsilon)."""
        low, high = self._trapezoid(epsilon)
        return Bounds(max(0.0, low - self.aliases.at(epsilon)), min(1.0, high))

    def _trapezoid(self, epsilon: float) -> Bounds:
        """As `_sum` with the kernel of this class, of which only phases depend on epsilon: the rest is kept."""
        if self._weighted is None:
            flat = 1 / (self.s * (self.s + 1)) / self.period
            size = self.weight * np.abs(flat)
            fixed = float(np.sum(size * (self.error + UNIT * (16.0 + len(self.t)) * self.reach)))
            turning = float(np.sum(size * (4 * UNIT * self.turning) * self.reach))
            fixed += self.truncation + self.dropped * float(np.abs(flat[0]))
            self._weighted = self.weight * self.values * flat, fixed, turning
        weighted, fixed, turning = self._weighted
        value = float((weighted * np.exp((-1j * epsilon) * self.t)).real.sum())
        return self._scaled(value, fixed + abs(epsilon) * turning, -self.c * epsilon)

    def _sum(
        self, epsilon: float, kernel: Complexes, exponent: float, off: Reals, truncation: float
    ) -> Bounds:
        """The trapezoid sum of values * kernel, everything left out of it and all roundings included."""
        weight = self.weight
        value = float(np.sum(weight * (self.values * kernel).real))
        size = weight * np.abs(kernel)
        phases = 16.0 + len(self.t) + 4 * abs(epsilon) * self.turning
        slack = float(np.sum(size * (self.error + UNIT * phases * self.reach) + weight * off * self.reach))
        slack += truncation + self.dropped * float(np.abs(kernel[0]) + off[0])
        return self._scaled(value, slack, exponent)

    def _scaled(self, value: float, slack: float, exponent: float) -> Bounds:
        """A sum that is off by `slack`, on the scale of exp(exponent) times that of the values."""
        # Near the largest loss the exponents may be so large that their roundings are no longer small.
        rounding = 8 * UNIT * (self.size_of_exponent + abs(exponent) + 4)
        if not (math.isfinite(value + slack) and rounding < MOST_ROUNDING):  # nothing is known
            return Bounds(0.0, math.inf)
        total, grown = self.exponent + exponent, math.exp(rounding)
        upper, lower = (value + slack) * grown, (value - slack) / grown
        high = exp_up(total + math.log(upper)) if upper > 0 else TINY
        low = math.exp(min(total + math.log(lower), 0.0)) if lower > 0 else 0.0
        return Bounds(low, high)


class Roof(Contour):
    """A line drawn like that of another sum: an upper bound, however badly it is placed.

    The full trapezoid sum is one for every c and every period; nothing is known of what it adds. Where Chernoff's bound
    at c is as small as it should be, there is no line.
    """

    at_once: float | None = None

    def __init__(self, terms: Terms, like: Contour, epsilon: float, log_delta: float) -> None:
        self.terms, self.c, self.tiers, self.period, self.step = (
            terms,
            like.c,
            like.tiers,
            like.period,
            like.step,
        )
        c = np.array([self.c])
        log_mgf = sum(n * float(pair.log_mgf(c)[0]) for pair, n in terms)
        self.feasible = math.isfinite(log_mgf)
        if self.feasible:
            bound = float((above(terms, np.array([log_mgf])) + log_peak(c))[0]) - self.c * epsilon
            if bound < log_delta - 1e-6:  # beside which no rounding counts
                self.at_once = exp_up(bound)
                return
        reach = math.inf
        if self.feasible:
            reach, self.truncation = self._cut(log_delta - (log_mgf - self.c * epsilon))
        self.feasible = math.isfinite(reach)
        if self.feasible:
            self._evaluate(np.arange(math.ceil(reach / self.step) + 1) * self.step)

    def delta(self, epsilon: float) -> Bounds:
        if self.at_once is not None:
            return Bounds(0.0, self.at_once)
        if not self.feasible:
            return Bounds(0.0, 1.0)
        return Bounds(0.0, min(1.0, self._trapezoid(epsilon).upper))


class Aliases(NamedTuple):
    """A bound on the sum over m != 0, as two Chernoff series: log of each is `offset` - s * epsilon."""

    left: tuple[float, float]
    right: tuple[float, float]

    @classmethod
    def of(cls, saddle: Saddle, log_mass: float, period: float) -> Aliases:
        """The best s on either side for the epsilon of the saddle; each holds for every epsilon."""
        gap = np.abs(saddle.s - saddle.c) * period
        series = chernoff(saddle) - gap - np.log(-np.expm1(-gap))
        total = series - saddle.s * saddle.epsilon
        sides = []
        for side in (saddle.s < saddle.c, saddle.s > saddle.c):
            best = int(np.argmin(np.where(side, total, np.inf)))
            sides.append((float(series[best]), float(saddle.s[best])) if side.any() else (math.inf, 0.0))
        gap0 = saddle.c * period
        trivial = log_mass - gap0 - math.log(-math.expm1(-gap0))
        left, right = sides
        return cls(min(left, (trivial, 0.0), key=lambda x: x[0] - x[1] * saddle.epsilon), right)

    def at(self, epsilon: float) -> float:
        return sum(exp_up(min(offset - s * epsilon, 700.0)) for offset, s in self)


def log_peak(s: Reals) -> Reals:
    """log of s^s / (1+s)^(1+s); s log s - (1+s) log(1+s) would cancel for large s."""
    return np.asarray(-s * np.log1p(1 / s) - np.log1p(s))


def chernoff(saddle: Saddle) -> Reals:
    """log of exp(K(s)) s^s / (1+s)^(1+s), which times exp(-s e) bounds D(e)."""
    return np.asarray(saddle.k + log_peak(saddle.s))


def least_period(saddle: Saddle, tolerance: float = TOLERANCE) -> float:
    """The least T whose aliases on the line through c are below `tolerance` of delta on both sides."""
    return period_at(saddle, alias_excess(saddle, tolerance), saddle.c, tolerance)


def alias_excess(saddle: Saddle, tolerance: float = TOLERANCE) -> Reals:
    """By how much the logarithms of Chernoff's bounds are above `tolerance` of delta; 1 at least."""
    height = chernoff(saddle) - saddle.s * saddle.epsilon
    return np.asarray(np.maximum(height + _room(saddle, tolerance), 1.0))


def _room(saddle: Saddle, tolerance: float) -> float:
    return -saddle.log_delta - math.log(tolerance) + math.log(2)


def period_at(saddle: Saddle, excess: Reals, c: float, tolerance: float = TOLERANCE) -> float:
    """`least_period` on the line through another place, with what `alias_excess` says."""
    s = saddle.s
    with np.errstate(divide="ignore"):
        periods = excess / (s - c)
    left, right = -periods[s < 0.999 * c], periods[s > 1.001 * c]
    return max(
        min(_room(saddle, tolerance) / c, float(left.min(initial=math.inf))),
        float(right.min(initial=math.inf)) if len(right) else 0.0,
    )


GOOD = 1e-8
"""A line serves another epsilon while its bracket there is this narrow (relative)."""


class Lines:
    """The last line used, and when to draw another: M is the costly part, and does not depend on epsilon.

    `few` counts what a line with `apart` leaves out; it is added here, for widths are judged beside the whole.
    """

    def __init__(
        self,
        moments: Moments,
        draw: Callable[[Moments, Saddle], Contour],
        few: Callable[[float], Bounds] | None = None,
    ) -> None:
        self.moments, self.draw, self.few = moments, draw, few
        self.line: Contour | None = None
        self.centre = self.width = 0.0

    def _on(self, line: Contour, epsilon: float) -> Bounds:
        bounds = line.delta(epsilon)
        if not line.apart:
            return bounds
        assert self.few is not None
        few = self.few(epsilon)
        return Bounds(bounds.lower + few.lower, min(1.0, bounds.upper + few.upper))

    def delta(self, epsilon: float) -> Bounds | None:
        """Bounds on D(epsilon), or None when no line can be cut short enough."""
        if self.line is not None:
            bounds = self._on(self.line, epsilon)
            near = abs(epsilon - self.centre) * self.line.c < 3.0
            allowed = max(GOOD, 2 * self.width) if near else GOOD
            if bounds.upper - bounds.lower <= allowed * bounds.lower:
                return bounds
        if np.isfinite(self.moments.k).sum() < 8:  # nothing is known
            return None
        saddle = self.moments.saddle(epsilon)
        line = self.draw(self.moments, saddle)
        if not line.feasible:
            return None
        bounds = self._on(line, epsilon)
        if (
            bounds.upper < 0.1 * exp_up(saddle.log_delta)
            and bounds.upper - bounds.lower > GOOD * bounds.lower
        ):
            # Laplace's method was far off (jumps that are rare and huge): aim at what was found instead.
            again = self.draw(self.moments, saddle._replace(log_delta=math.log(max(bounds.upper, TINY))))
            if again.feasible:
                line, bounds = again, self._on(again, epsilon)
        self.line, self.centre = line, epsilon
        self.width = (bounds.upper - bounds.lower) / max(bounds.lower, TINY)
        return bounds
