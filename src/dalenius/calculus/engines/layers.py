"""delta(epsilon) of a sum with rare and huge jumps, layer by layer.

A rare sample moves the loss far, most steps hardly at all: no single line suits both scales. Cut the law of each step
softly at levels b_1 > b_2 > ... > b_K (`Pair.cuts`), and let B_k be the transform of a step's law below b_k, B_0 = M
that of all of it. Over all terms j,

    prod M_j^n = sum_k [prod B_{j,k}^n - prod B_{j,k+1}^n] + prod B_{j,K}^n.

Each bracket is the transform of a nonnegative measure, for the law below b_k is at least that below b_{k+1}. So the
argument of `contour` holds for every layer by itself: the trapezoid sum is an upper bound on its share of D(e), and
Chernoff bounds of the same measure bound what it adds. Each layer has its own line, its own period and its own end:
with J_k = B_k - B_{k+1} and R >= |B_k|, |B_{k+1}|,

    |prod B_k^n - prod B_{k+1}^n| <= prod R^n sum_j n_j |J_j| / R_j,

and J_k, which has no outcomes below b_{k+1}, decays on that scale. What is below the last level is negligible, or has a
line of its own, or lies on one side of epsilon as a whole: then D is its P-mass less exp(e) times its Q-mass, but for
E[(exp(e - L) - 1)_+], which a Chernoff bound covers, too.

Where every pair has an atom at loss 0, of transform A, and a continuous part beside it that decays slowly, outcomes in
which at most one release shows the latter are counted apart (`few_continuous`), for all of the law. What is below
the last level is then left with those of two and more (`ApartLine`), and from each layer n A^(n-1) J is taken; both are
nonnegative measures still.

Where atoms of terms that are not cut keep the lines long, each line has a tiny Gaussian loss besides: what `smoothed`
says of the mean over L holds for the measure of one layer as it does for a law. Terms whose jumps the tilt of epsilon
does not lift are then cut where they end, with next to nothing beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dalenius.calculus.engines.contour import (
    SOME_NODES,
    Aliases,
    Contour,
    chernoff,
    exp_up,
    least_period,
    log_peak,
)
from dalenius.calculus.engines.saddle import Moments, Saddle
from dalenius.calculus.engines.smoothed import LEAST, LOOSER, WIDTH, RoughLine, Smoothing
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import TINY, UNIT, Bounds, Complexes, Cuts, Pair, Part, Reals, Terms, Tilted

RATIO = 3.0
"""Levels fall by this factor."""
MOST_LEVELS = 12
LONG = 500
"""From so many nodes on a line is worth a look at what else decays along it."""
FAR = 4.0
"""The first level is this many times as far from where most of the law is as epsilon is."""
ASIDE = 10.0
"""Two decades of moments begin so far left of a rate that is known."""
NEVER = 1e-45
"""Outcomes of this probability need no layer of their own."""
TIERS = ((1e-9, 2_000), (1e-8, 40_000), (1e-7, 200_000))
ALIASES = 1e-10
"""Relative error aimed at for aliasing on the line of one layer."""
NEGLIGIBLE = 21.0
"""What is below delta by this many units of its logarithm is only bounded."""
SHORT = ((1e-12, 1_000), (1e-10, 2_000))
APART = ((1e-12, 1_000), (1e-10, 4_000), (1e-9, 20_000))
REFIT = 1e-6
"""Where a bracket is wider than this, levels are chosen anew."""
GOOD = 1e-8
"""Relative width of a bracket worth stopping at."""
SURE = 1e-9
"""Relative width of a bracket on what is below the last level, where that lies on one side."""
GROWTH = 16.0
"""A line that needs this many times as much noise as epsilon allows is not drawn at all."""
CALM = 1.0
"""Where a tilt lifts jumps by less than exp of this, they are as rare as without it."""
LIFTED = 5.0
"""Of that exponent where a line for all that is below a level is worth a try."""
HOPELESS = math.log(0.1)
"""A piece without a line that may be this share of delta, as a logarithm: no line of another piece is of use then."""
MOST_FAILURES = 2
"""So often all ways to cut are tried where none of them is narrow."""
LOWER = 0.75
SAME = 1.0
"""A line drawn for a delta serves another whose logarithm is this near."""
RARE = 0.01
"""Jumps of this total probability are left out of a guess."""
HUGE = 5.0
"""Where tilted jumps reach further than this, one line for all of the law is too long."""
JUMPS = math.log(1e-14), math.log(1e4)
"""Between these logarithms is every jump."""
STEEPER = 2.0
MANY = 30.0
"""From so many expected jumps near a level on, what lies below may well decay by itself."""


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
        return float(self.log_mgf(np.zeros(1))[0])


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


class Piece:
    """A layer, or what is below the last one: its measure on the real axis, and the line last drawn."""

    def __init__(self, moments: Moments, draw: type[Contour], count: int) -> None:
        self.moments, self._draw, self.count = moments, draw, count
        self.line: Contour | None = None
        self._tail = (math.inf, 0.0)
        self._saddle: Saddle | None = None
        self._aim = math.inf

    def look(self, epsilon: float, enough: float = -math.inf) -> float:
        """Find the saddle; a guess at the log of what this piece adds to delta.

        A bound below `enough` will do: then no saddle is sought.
        """
        finite = np.isfinite(self.moments.k)
        if finite.sum() < 8:  # nothing is known
            return 0.0
        if self._saddle is None or self._saddle.epsilon != epsilon:
            self.line = self._saddle = None
            if enough > -math.inf:
                s, k = self.moments.s[finite], self.moments.k[finite]
                self._bound(s, k + 1e-9 * (1 + np.abs(k)) + 1e-13 * self.count + log_peak(s), epsilon)
                if self.log_bound(epsilon) < enough:
                    return self.log_bound(epsilon)
            saddle = _moved(self.moments.saddle(epsilon))
            self._saddle = saddle._replace(k=saddle.k + 1e-13 * self.count)
        saddle = self._saddle
        self._bound(saddle.s, chernoff(saddle), epsilon)
        bound = min(self.log_bound(epsilon), 0.0)
        return min(saddle.log_delta, bound) if bound - 12.0 < saddle.log_delta < math.inf else bound - 3.0

    def _bound(self, s: Reals, height: Reals, epsilon: float) -> None:
        best = int(np.argmin(height - s * epsilon))
        self._tail = float(height[best]), float(s[best])

    def log_bound(self, epsilon: float) -> float:
        """log of a Chernoff bound on what this piece adds."""
        return self._tail[0] - self._tail[1] * epsilon

    def draw(self, log_delta: float) -> bool:
        """A line good enough where delta, of all pieces together, is about exp(log_delta)."""
        if self._saddle is None:
            return False
        if self.line is not None and abs(log_delta - self._aim) < SAME:
            return True
        self._aim = log_delta
        saddle = self._saddle._replace(log_delta=log_delta)
        line = self._draw(self.moments, saddle)
        if not line.feasible and isinstance(self.moments, LayerMoments):
            # Close to where K ends, panels cannot be bounded; a place further left serves nearly as well.
            line = self._draw(self.moments, _at(saddle, LOWER))
        if line.feasible:
            self.line = line
        return self.line is not None  # one drawn for another delta still holds

    def draws(self, epsilon: float, guess: float, others: float, worth: float = REFIT) -> bool:
        """Whether a line says enough here, beside other pieces of about exp(others): one that had to stay left of
        its saddle, where the cut lets K end, does not.
        """
        if not self.draw(max(guess, others)) or self.line is None:
            return False
        low, high = self.line.delta(epsilon)
        return high - low <= max(worth * low, 1e-9 * math.exp(min(others, 0.0)))

    def delta(self, epsilon: float) -> Bounds:
        if self.line is not None:
            return self.line.delta(epsilon)
        return Bounds(0.0, exp_up(min(self.log_bound(epsilon), 0.0)) * (1 + 1e-9))


class Beyond(Piece):
    """What lies beyond all levels, of which only a bound on its mass is known."""

    def __init__(self, log_mass: float) -> None:
        self.line = None
        self._tail = (log_mass, 0.0)

    def look(self, epsilon: float, enough: float = -math.inf) -> float:
        return self.log_bound(epsilon)

    def draw(self, log_delta: float) -> bool:
        return False


def _moved(saddle: Saddle) -> Saddle:
    """The saddle, or a place to its left with a shorter period, where K climbs a wall right of it."""
    least = least_period(saddle)
    best = saddle
    height = saddle.log_mgf - saddle.c * saddle.epsilon - math.log(saddle.c) - math.log1p(saddle.c)
    for other in (_at(saddle, share) for share in (0.75, 0.5, 0.35)):
        c = other.c
        if not 0.2 * saddle.c < c < 0.9 * saddle.c:
            continue
        period = least_period(other)
        if (
            period < 0.5 * least
            and other.log_mgf - c * saddle.epsilon - math.log(c) - math.log1p(c) < height + 4.0
        ):
            least, best = period, other
    return best


def _at(saddle: Saddle, share: float) -> Saddle:
    """The saddle moved to a place near this share of it where K is known."""
    j = int(np.argmin(np.abs(saddle.s - share * saddle.c)))
    c = float(saddle.s[j])
    keep = np.abs(saddle.s - c) > 1e-4 * c
    return saddle._replace(c=c, log_mgf=float(saddle.k[j]), s=saddle.s[keep], k=saddle.k[keep])


class OneSided:
    """What is below the last level, where it lies above epsilon as a whole, but for a Chernoff bound."""

    def __init__(self, parts: tuple[tuple[Part | Pair, int], ...], epsilon: float) -> None:
        self.parts = parts
        masses = [(part.mass() if isinstance(part, Part) else (0.0, 0.0, 0.0), n) for part, n in parts]
        self.log_mass = sum(n * mass for (mass, _, _), n in masses)
        self.log_ratio = sum(n * ratio for (_, ratio, _), n in masses)
        self.size = sum(n * (abs(mass) + abs(ratio)) for (mass, ratio, _), n in masses)
        self.off = sum(n * off for (_, _, off), n in masses)
        self._tail = self._chernoff(epsilon)

    @classmethod
    def of(cls, parts: tuple[tuple[Part | Pair, int], ...], epsilon: float) -> OneSided | None:
        """None where it lies below epsilon in the mean."""
        log_ratio = sum(n * part.mass()[1] for part, n in parts if isinstance(part, Part))
        return cls(parts, epsilon) if epsilon + log_ratio < 0.0 else None

    def _chernoff(self, epsilon: float) -> tuple[float, float]:
        """The best bound E[(exp(e - L) - 1)_+] <= exp(K(-q-1) + (q+1) e) q^q / (1+q)^(1+q), as offset and slope."""
        gap = -(epsilon + self.log_ratio)
        q = np.geomspace(0.3, 3000.0, 40) / max(gap, 1e-12)
        count = sum(n for _, n in self.parts)
        with np.errstate(all="ignore"):
            k = sum((n * part.log_mgf(-1.0 - q) for part, n in self.parts), np.zeros(len(q)))
        bound = k + 1e-9 * (1 + np.abs(k)) + 1e-13 * count + log_peak(q)
        bound = np.where(np.isfinite(bound), bound, np.inf)
        best = int(np.argmin(bound + (1 + q) * epsilon))
        return float(bound[best]), float(1 + q[best])

    def delta(self, epsilon: float) -> Bounds:
        off = self.off + 16 * UNIT * (self.size + abs(epsilon) + 1)
        if not math.isfinite(off):
            return Bounds(0.0, 1.0)
        gaps = (-math.expm1(min(epsilon + self.log_ratio + sign * off, 700.0)) for sign in (1, -1))
        low, high = (
            math.exp(self.log_mass - sign * off) * max(x, 0.0) for sign, x in zip((1, -1), gaps, strict=True)
        )
        offset, slope = self._tail
        return Bounds(low, high * (1 + 8 * UNIT) + exp_up(min(offset + slope * epsilon, 0.0)) * (1 + 1e-9))


class Layers:
    """The pieces of a sum, cut at levels that suit one epsilon."""

    def __init__(
        self,
        terms: Terms,
        epsilon: float,
        rate: float = 0.0,
        few: Callable[[float], Bounds] | None = None,
        keep: bool = False,
        noisy: bool = False,
    ) -> None:
        """`rate` is that at which log delta falls, if known; `few` what outcomes with one continuous part add.

        With `keep`, terms that do not jump are not cut. With `noisy`, a tiny Gaussian loss ends every line.
        """
        self.terms, self.few, self.rate = terms, few, rate
        self.count = sum(n for _, n in terms)
        # The masses of a Gaussian pair are 1; those of others are not looked at.
        self._has_masses = all(
            isinstance(pair, GaussianPair) or pair.cuts(1.0) is not None for pair, _ in terms
        )
        # Atoms, and all that is close to them, do not decay: no layer is drawn among them that need not be.
        atoms = [pair.atomic for pair, _ in terms]
        self._has_atoms = all(isinstance(x, Atoms) and x.loss.tolist() == [0.0] for x in atoms)
        self.keep, self.noisy, self.left = keep, noisy, MOST_FAILURES
        self._has_uncut = any(
            pair.cuts(1.0) is None and not isinstance(pair, GaussianPair) for pair, _ in terms
        )
        self._fit(epsilon)

    def refit(self, epsilon: float, rate: float) -> None:
        """Cut anew, in the way that served last."""
        self.rate = rate
        self._fit(epsilon)

    def _fit(self, epsilon: float) -> None:
        """Cut at levels that suit this epsilon."""
        self.target, self.fitted = self._distance(epsilon), epsilon
        # All moments begin here: what is below a level is asked for the same ones by the layer and for what is left.
        self.start, self.decades = (0.1 / self.target, 3) if self.rate == 0.0 else (self.rate / ASIDE, 2)
        self._cut()
        self.ends = self._ends()
        self.pieces: list[Piece] = []
        self.centre, self.width = math.nan, math.inf
        self.rest: OneSided | None = None
        self._is_apart = False
        self._pile(epsilon)

    def _cut(self) -> None:
        """Choose each term's cuts. With `keep`, those that do not jump (`are_far`) have none beside others that do.

        A level among what most of such a law is puts outcomes without any jump into a layer, and no tilt makes those
        small beside the jumps that the layer is for.
        """
        cuts = [pair.cuts(self.target) for pair, _ in self.terms]
        self.beyond_calm = 0.0
        tame = [one is not None and one.jump(STEEPER * self.rate) == 0.0 for one in cuts]
        jumps = [one is not None and not calm for one, calm in zip(cuts, tame, strict=True)]
        self._could_keep = any(tame) and any(jumps)
        self._keeps = self._could_keep and self.keep and not self.noisy
        self.cuts: list[Cuts | None] = list(cuts)
        self.uncut: list[Part | Pair] = [pair for pair, _ in self.terms]
        if self.noisy:
            self._cut_calm(cuts)
        if not self._keeps:
            return
        for k, one in enumerate(cuts):
            if one is not None and tame[k]:
                self.cuts[k], self.uncut[k] = None, one.whole() or self.uncut[k]

    def _cut_calm(self, cuts: list[Cuts | None]) -> None:
        """Cut terms whose jumps no tilt lifts where they end, and nowhere else: no layer is drawn of them."""
        for k, (one, (_, n)) in enumerate(zip(cuts, self.terms, strict=True)):
            end = math.inf if one is None else one.highest(NEVER / n)
            if one is not None and self.rate * end < CALM:
                self.cuts[k], self.uncut[k] = None, one.below(end)
                self.beyond_calm += n * math.exp(one.log_beyond(end))

    def _ends(self) -> list[float]:
        """Where the jumps of each term end, but for some that never happen: it is not cut further out."""
        return [
            math.inf if cuts is None else cuts.highest(NEVER / n)
            for (_, n), cuts in zip(self.terms, self.cuts, strict=True)
        ]

    def _distance(self, epsilon: float) -> float:
        """How far epsilon is from where the sum is without jumps."""
        middle, cut = 0.0, []
        for pair, n in self.terms:
            if pair.cuts(1.0) is None:
                middle += n * self._middle(pair)
            else:
                cut.append((pair, n))
        distance = max(abs(epsilon - middle - sum(n * pair.anchor for pair, n in cut)), 1e-300)
        mean = middle
        for pair, n in cut:
            cuts = pair.cuts(distance)
            assert cuts is not None
            mean += n * cuts.below(distance).mean()
        away = abs(epsilon - mean) if math.isfinite(mean) else distance
        return max(away, 1e-3 * distance)

    def _middle(self, pair: Pair) -> float:
        """The mean of a law that is never cut, tilted as the sum is at epsilon, where it may be close to its end."""
        s = np.array([0.0, 1e-4] if self.rate == 0.0 else [0.999 * self.rate, 1.001 * self.rate])
        low, high = (float(k) for k in pair.log_mgf(s))
        return (high - low) / float(s[1] - s[0])

    def fits(self, epsilon: float) -> bool:
        if abs(epsilon - self.fitted) <= 0.05 * self.target:
            return True
        return abs(math.log(self._distance(epsilon)) - math.log(self.target)) < 0.4

    def _below(self, level: float) -> tuple[tuple[Part | Pair, int], ...]:
        return tuple(
            (whole if cuts is None else cuts.below(min(level, end)), n)
            for (_, n), whole, cuts, end in zip(self.terms, self.uncut, self.cuts, self.ends, strict=True)
        )

    def _layer(self, low: float, high: float) -> Piece:
        splits = tuple(
            Split(below, None if cuts is None else _between(cuts, low, high, end), n)
            for (below, n), cuts, end in zip(self._below(low), self.cuts, self.ends, strict=True)
        )
        # The tail of a part without a high level is heavy: it has few moments.
        start, decades = (min(self.start, 0.1), 3) if high == math.inf else (self.start, self.decades)
        draw = NoisyLayerLine if self.noisy else LayerLine
        return Piece(LayerMoments(splits, start, decades), draw, self.count)

    def _rest(self, below: tuple[tuple[Part | Pair, int], ...]) -> Piece:
        draw = NoisyLine if self.noisy else ShortLine
        return Piece(Moments(below, self.start, self.decades), draw, self.count)  # type: ignore[arg-type]

    def _top(self, low: float) -> Piece:
        """What is not below a level: no more is known of it than its mass."""
        mass = sum(
            n * math.exp(cuts.log_beyond(min(low, end)))
            for (_, n), cuts, end in zip(self.terms, self.cuts, self.ends, strict=True)
            if cuts is not None
        )
        return Beyond(math.log(max(mass, TINY)) + 1e-9)

    def _never(self) -> list[Piece]:
        """What is beyond the ends of calm terms."""
        return [Beyond(math.log(self.beyond_calm) + 1e-9)] if self.beyond_calm > 0.0 else []

    def _pile(self, epsilon: float) -> None:
        """Add layers, from the top, until what is below them can be had; then part the top until it is negligible."""
        if all(cuts is None for cuts in self.cuts):
            self.pieces = [*self._never(), self._rest(self._below(math.inf))]
            return
        most = max(cuts.highest(NEVER) for cuts in self.cuts if cuts is not None)
        first = low = min(FAR * self.target, most)
        self.pieces = [self._top(low)]
        estimate = math.nan
        for _ in range(MOST_LEVELS):
            below = self._below(low)
            rest = self._rest(below)
            # Where a bound shows that little is left, no saddle is sought.
            guess = rest.look(epsilon, estimate - NEGLIGIBLE if estimate > -math.inf else -math.inf)
            if math.isnan(estimate):
                if self.pieces[0].log_bound(epsilon) > guess - NEGLIGIBLE - 5.0:
                    self.pieces = [self._layer(low, math.inf)]
                estimate = self.pieces[0].look(epsilon, guess - NEGLIGIBLE - 5.0)
            if rest.log_bound(epsilon) < estimate - NEGLIGIBLE:
                break
            one_sided = OneSided.of(below, epsilon) if self._has_masses else None
            bounds = Bounds(0.0, 1.0) if one_sided is None else one_sided.delta(epsilon)
            if bounds.upper - bounds.lower < SURE * max(bounds.lower, math.exp(min(estimate, 0.0))):
                self.rest = one_sided
                break
            decays = self._has_atoms or self._keeps or self._jumps(low, rest) > MANY
            if self.noisy:
                decays = rest._saddle is not None and rest._saddle.c * low < LIFTED
            worth = REFIT if rest._saddle is None else self._worth(epsilon, rest._saddle.c)
            if decays and rest.draws(epsilon, guess, estimate, worth):
                break
            if self._has_atoms and self.few is not None and not self.noisy:
                beside = Piece(rest.moments, ApartLine, self.count)
                beside.look(epsilon)
                if beside.draws(epsilon, guess, estimate):
                    rest, self._is_apart = beside, True
                    break
            self.pieces.append(self._layer(low / RATIO, low))
            estimate = max(estimate, self.pieces[-1].look(epsilon))
            low /= RATIO
        else:  # `rest` is still what lies below the level before, which holds the last layer, too
            rest = self._rest(self._below(low))
            guess = rest.look(epsilon)
        # The top is only bounded, by its mass or by few moments: it is no guess at delta.
        estimate = max((piece.look(epsilon) for piece in self.pieces[1:]), default=-math.inf)
        if self.rest is None:
            self.pieces.append(rest)
            estimate = max(estimate, guess)
        else:
            estimate = max(estimate, math.log(max(self.rest.delta(epsilon).upper, TINY)))
        while self.pieces[0].log_bound(epsilon) > estimate - NEGLIGIBLE:
            if isinstance(self.pieces[0], Beyond):
                self.pieces[0] = self._layer(first, math.inf)
            elif first < most:
                high = min(RATIO**2 * first, most)
                self.pieces[:1] = [self._top(high), self._layer(first, high)]
                estimate = max(estimate, self.pieces[1].look(epsilon))
                first = high
            else:
                break
            self.pieces[0].look(epsilon)
        self.pieces[:0] = self._never()
        if self._is_apart:
            atoms = tuple((pair.atomic, n) for pair, n in self.terms if pair.atomic is not None)
            for piece in self.pieces:
                if not isinstance(piece, Beyond) and isinstance(piece.moments, LayerMoments):
                    piece.moments.apart = atoms

    def _jumps(self, level: float, rest: Piece) -> float:
        """How many steps are expected not far below the level, tilted for epsilon."""
        if rest._saddle is None:
            return 0.0
        c = rest._saddle.c
        return sum(
            n * cuts.crowd(min(level, end) / RATIO**2, min(level, end), c)
            for (_, n), cuts, end in zip(self.terms, self.cuts, self.ends, strict=True)
            if cuts is not None
        )

    def delta(self, epsilon: float) -> Bounds:
        """Certified bounds on D(epsilon)."""
        if math.isfinite(self.centre):
            bounds = self._sum(epsilon)
            slopes = [piece.line.c for piece in self.pieces if piece.line is not None]
            near = abs(epsilon - self.centre) * max(slopes, default=0.0) < 2.0
            most = 2 * LOOSER if self.noisy else 1e-5
            allowed = max(GOOD, min(2 * self.width, most)) if near else GOOD
            if bounds.upper - bounds.lower <= allowed * bounds.lower:
                return bounds
        bounds = self._redrawn(epsilon)
        if self.fitted != epsilon and self.left and not self.is_narrow(bounds, epsilon):
            # Levels, or what lies on one side as a whole, may suit this epsilon no more.
            bounds = self._refitted(epsilon, bounds)
        if self.left and not self.is_narrow(bounds, epsilon):
            bounds = self._otherwise(epsilon, bounds)
        self.centre, self.width = epsilon, (bounds.upper - bounds.lower) / max(bounds.lower, TINY)
        return bounds

    def _otherwise(self, epsilon: float, bounds: Bounds) -> Bounds:
        """The narrowest bounds by other ways to cut the terms, the best of which is used from here on.

        What failed `MOST_FAILURES` times is not tried again.
        """
        best = self.keep, self.noisy
        ways = [(keep, False) for keep in ((self.keep, not self.keep) if self._could_keep else (self.keep,))]
        if self._has_uncut:
            ways.insert(1, (self.keep, True))
        for keep, noisy in ways:
            if (keep, noisy) != best:
                self.keep, self.noisy = keep, noisy
                again = self._refitted(epsilon, bounds)
                if again is not bounds:
                    bounds, best = again, (keep, noisy)
                if self.is_narrow(bounds, epsilon):
                    return bounds
        self.left -= 1
        if best != (self.keep, self.noisy):
            self.keep, self.noisy = best
            self._fit(epsilon)
            self._redrawn(epsilon)
        return bounds

    def _worth(self, epsilon: float, slope: float) -> float:
        """The relative width of delta that is worth it: with noise, what moves epsilon by little."""
        if not self.noisy:
            return REFIT
        return max(REFIT, min(2 * WIDTH * max(epsilon, LEAST) * slope, 2 * LOOSER))

    def _slope(self, epsilon: float) -> float:
        """Roughly how fast log delta falls: as each piece does, at its own saddle."""
        known = [
            (piece.delta(epsilon).upper, piece.line.c) for piece in self.pieces if piece.line is not None
        ]
        total = sum(delta for delta, _ in known)
        return sum(delta * c for delta, c in known) / total if total > 0.0 else self.rate

    def is_narrow(self, bounds: Bounds, epsilon: float) -> bool:
        """Whether there is no need to look for narrower bounds."""
        width = bounds.upper - bounds.lower
        if width <= REFIT * bounds.lower:
            return True
        return self.noisy and width <= self._worth(epsilon, self._slope(epsilon)) * bounds.lower

    def _refitted(self, epsilon: float, known: Bounds) -> Bounds:
        self._fit(epsilon)
        return min(known, self._redrawn(epsilon), key=lambda both: both.upper - both.lower)

    def _redrawn(self, epsilon: float) -> Bounds:
        """Bounds by lines drawn for this epsilon."""
        log_delta = -math.inf
        for piece in reversed(self.pieces):
            log_delta = max(log_delta, piece.look(epsilon, log_delta - NEGLIGIBLE - 5.0))
        if self.rest is not None:
            log_delta = max(log_delta, math.log(max(self.rest.delta(epsilon).upper, TINY)))
        for _ in range(3):
            bounds = self._drawn(epsilon, log_delta)
            if bounds.upper - bounds.lower <= GOOD * bounds.lower or bounds.upper > 0.1 * math.exp(log_delta):
                break
            # The guess was far off: aim at what was found instead.
            log_delta = math.log(max(bounds.upper, TINY))
        return bounds

    def _drawn(self, epsilon: float, log_delta: float) -> Bounds:
        """A line for each piece that matters; the others, and those that have none, are covered by Chernoff bounds."""
        for piece in reversed(self.pieces):  # the longest lines first
            if piece.log_bound(epsilon) < log_delta - NEGLIGIBLE:
                piece.line = None
                continue
            piece.look(epsilon)
            if not piece.draw(log_delta) and piece.log_bound(epsilon) > log_delta + HOPELESS:
                break
        return self._sum(epsilon)

    def _sum(self, epsilon: float) -> Bounds:
        parts = [piece.delta(epsilon) for piece in self.pieces]
        if self.rest is not None:
            parts.append(self.rest.delta(epsilon))
        atoms = self.pieces[-1].line.atoms if self.pieces[-1].line is not None else None
        if self._is_apart:
            assert self.few is not None
            parts.append(self.few(epsilon))
        elif atoms is not None and epsilon < 0.0:
            parts.append(_at_zero(atoms, epsilon))
        slack = 8 * UNIT * len(parts)
        return Bounds(
            sum(p.lower for p in parts) * (1 - slack), min(1.0, sum(p.upper for p in parts) * (1 + slack))
        )


def _between(cuts: Cuts, low: float, high: float, end: float) -> Part | None:
    """What is between two levels of a term whose jumps end somewhere; all that is further out is in the top layer."""
    if high == math.inf:
        return cuts.between(min(low, end), math.inf)
    return cuts.between(low, min(high, end)) if low < end else None


def _at_zero(atoms: Terms, epsilon: float) -> Bounds:
    """What atoms at loss 0, which a line left out, add below epsilon 0."""
    value = math.exp(sum(n * float(part.log_mgf(np.zeros(1))[0]) for part, n in atoms)) * -math.expm1(epsilon)
    slack = 64 * UNIT * sum(n for _, n in atoms)
    return Bounds(value * (1 - slack), value * (1 + slack) + TINY)


def guess(terms: Terms, log_delta: float) -> tuple[float, float] | None:
    """Roughly the epsilon at which delta is exp(log_delta), and the rate at which log delta falls there.

    At least the one at which single jumps make up delta; and jumps below that are tame. None without such jumps.
    """
    steep = tuple((pair, n) for pair, n in terms if pair.largest == math.inf and pair.cuts(1.0) is not None)
    if not steep:
        return None
    jump = math.exp(_one_jump(steep, log_delta))
    parts, most = [], math.inf
    for pair, n in terms:
        level = jump + abs(pair.anchor)
        rough = pair.cuts(level)
        if rough is not None:
            level = max(level, rough.highest(RARE / n))
        cuts = pair.cuts(level)
        parts.append((pair if cuts is None else cuts.below(level), n))
        most = min(most, math.inf if cuts is None else cuts.steepest(level))
    moments = Moments(tuple(parts), most / 1e3)  # type: ignore[arg-type]
    moments.k[moments.s > most] = np.inf
    if np.isfinite(moments.k).sum() < 8:
        return None
    c, epsilon = moments.for_delta(log_delta)
    epsilon = max(epsilon, jump)
    floor, log_top = _top_atoms(terms)
    if (
        log_top > log_delta + 1.0 and floor > 0.0
    ):  # at their largest loss alone the others have more than delta
        above, short = math.exp(_one_jump(steep, log_delta - log_top)), math.exp(log_delta - log_top)
        away = above if above > short else -short
        if floor + away > epsilon:
            epsilon, c = floor + away, max(c, 1.0 / abs(away))
    return (epsilon, max(c, 0.5 / epsilon)) if epsilon > 1e-10 else (0.0, max(c, 1.0))


def _top_atoms(terms: Terms) -> tuple[float, float]:
    """The largest loss of the terms that are not cut, and roughly the log of its probability; 0 where none is known."""
    loss = log_mass = 0.0
    for pair, n in terms:
        if pair.cuts(1.0) is not None:
            continue
        if not isinstance(pair.atomic, Atoms) or len(pair.atomic.loss) == 0:
            return 0.0, -math.inf
        top = int(np.argmax(pair.atomic.loss))
        loss += n * float(pair.atomic.loss[top])
        log_mass += n * math.log(max(float(pair.atomic.mass[top]), TINY))
    return loss, log_mass


def _one_jump(steep: Terms, log_delta: float) -> float:
    """Roughly the log of the epsilon at which single jumps have delta exp(log_delta)."""

    def excess(log_epsilon: float) -> float:
        epsilon = math.exp(log_epsilon)
        known = [(pair.delta(epsilon), n) for pair, n in steep]
        single = sum(n * bounds.upper for bounds, n in known if bounds is not None)
        return math.log(max(single, TINY)) - log_delta

    # Where the mass beyond is that is not far beyond where delta is.
    high = JUMPS[0]
    for pair, n in steep:
        cuts = pair.cuts(1.0)
        assert cuts is not None
        high = max(high, math.log(max(cuts.highest(math.exp(log_delta) / n), 1e-300)))
    low = high = min(high, JUMPS[1])
    above = below = excess(high)
    while above <= 0.0 and low > JUMPS[0]:
        high, below, low = low, above, max(low - 0.5, JUMPS[0])
        above = excess(low)
    while below >= 0.0 and high < JUMPS[1]:
        low, above, high = high, below, min(high + 0.5, JUMPS[1])
        below = excess(high)
    for _ in range(2):  # the logarithm falls smoothly: chords
        if not above > 0.0 > below:
            break
        x = low + (high - low) * min(max(above / (above - below), 0.05), 0.95)
        value = excess(x)
        low, above, high, below = (x, value, high, below) if value > 0.0 else (low, above, x, value)
    return low + (high - low) * above / (above - below) if above > 0.0 > below else high


def are_far(terms: Terms, c: float) -> bool:
    """Whether jumps hardly show in the law tilted by c, and by somewhat more: it is tame as it is."""
    cuts = [pair.cuts(1.0) for pair, _ in terms]
    return c > 0.0 and all(one is None or one.jump(STEEPER * c) == 0.0 for one in cuts)


def are_huge(terms: Terms, c: float) -> bool:
    """Whether the law tilted by c would jump so far that no line is short."""
    return any((cuts := pair.cuts(1.0)) is not None and cuts.jump(c) > HUGE for pair, _ in terms)


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
