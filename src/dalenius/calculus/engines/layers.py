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

import numpy as np

from dalenius.calculus.engines.contour import exp_up, log_peak
from dalenius.calculus.engines.far_jumps import STEEPER
from dalenius.calculus.engines.layer_lines import (
    ApartLine,
    LayerLine,
    LayerMoments,
    NoisyLayerLine,
    NoisyLine,
    ShortLine,
    Split,
)
from dalenius.calculus.engines.layer_pieces import REFIT, Beyond, Piece
from dalenius.calculus.engines.saddle import Moments
from dalenius.calculus.engines.smoothed import LEAST, LOOSER, WIDTH
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import TINY, UNIT, Bounds, Cuts, Pair, Part, Terms

RATIO, CLOSE = 5.0, 3.0
"""Levels fall by this factor; by the second one where brackets would be wide otherwise."""
MOST_LEVELS = 12
FAR, NEAR = 7.0, 4.0
"""The first level is this many times as far from where most of the law is as epsilon is; with close levels NEAR."""
ASIDE = 10.0
"""Two decades of moments begin so far left of a rate that is known."""
NEVER = 1e-45
"""Outcomes of this probability need no layer of their own."""
NEGLIGIBLE = 21.0
"""What is below delta by this many units of its logarithm is only bounded."""
GOOD = 1e-8
"""Relative width of a bracket worth stopping at."""
SURE = 1e-9
"""Relative width of a bracket on what is below the last level, where that lies on one side."""
CALM = 1.0
"""Where a tilt lifts jumps by less than exp of this, they are as rare as without it."""
LIFTED = 5.0
"""Of that exponent where a line for all that is below a level is worth a try."""
LITTLE_LIFTED = 3.0
"""Of that exponent where jumps up to a level are hardly more likely than without a tilt: the line is that of a sum of
many small steps, or it is found out at once that it is not.
"""
HOPELESS = math.log(0.1)
"""A piece without a line that may be this share of delta, as a logarithm: no line of another piece is of use then."""
MOST_FAILURES = 2
"""So often all ways to cut are tried where none of them is narrow."""
UNSHIFTED = 0.01
"""A shift of the mean by less than this share of a distance leaves the distance as it is."""
MANY = 30.0
"""From so many expected jumps near a level on, what lies below may well decay by itself."""


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
        if epsilon >= 0.0 and all(_is_low(part) for part, _ in parts):
            return None  # without a look at the masses, which take long
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
        self.keep, self.noisy, self.close, self.left = keep, noisy, False, MOST_FAILURES
        self._has_uncut = any(
            pair.cuts(1.0) is None and not isinstance(pair, GaussianPair) for pair, _ in terms
        )
        self._fit(epsilon)

    @property
    def ratio(self) -> float:
        """By which levels fall."""
        return CLOSE if self.close else RATIO

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
            below = cuts.below(distance)
            # The mean of a low part is not above 0, and what it lacks for that is at most about the mass beyond.
            if not (below.is_low and n * math.exp(cuts.log_beyond(distance)) < UNSHIFTED * distance):
                mean += n * below.mean()
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
        most = max(end for end, cuts in zip(self.ends, self.cuts, strict=True) if cuts is not None)
        first = low = min((NEAR if self.close else FAR) * self.target, most)
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
            decays = self._has_atoms or self._keeps or self._is_calm(low, rest)
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
            self.pieces.append(self._layer(low / self.ratio, low))
            estimate = max(estimate, self.pieces[-1].look(epsilon))
            low /= self.ratio
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
                high = min(self.ratio**2 * first, most)
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

    def _is_calm(self, level: float, rest: Piece) -> bool:
        """Whether what lies below the level may well decay by itself."""
        if rest._saddle is None:
            return False
        return rest._saddle.c * level < LITTLE_LIFTED or self._jumps(level, rest) > MANY

    def _jumps(self, level: float, rest: Piece) -> float:
        """How many steps are expected not far below the level, tilted for epsilon."""
        if rest._saddle is None:
            return 0.0
        c = rest._saddle.c
        return sum(
            n * cuts.crowd(min(level, end) / self.ratio**2, min(level, end), c)
            for (_, n), cuts, end in zip(self.terms, self.cuts, self.ends, strict=True)
            if cuts is not None
        )

    def delta(self, epsilon: float) -> Bounds:
        """Certified bounds on D(epsilon)."""
        if math.isfinite(self.centre):
            bounds = self._sum(epsilon)
            if bounds.upper - bounds.lower <= GOOD * bounds.lower:
                return bounds
            # The pieces that count: those that hardly add to delta may fall much faster.
            near = abs(epsilon - self.centre) * self._slope(epsilon) < 2.0
            allowed = min(2 * self.width, 2 * LOOSER if self.noisy else 1e-5) if near else GOOD
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
        best = self.keep, self.noisy, self.close
        ways = [(keep, False) for keep in ((self.keep, not self.keep) if self._could_keep else (self.keep,))]
        if self._has_uncut:
            ways.insert(1, (self.keep, True))
        for way in (
            (*way, close) for close in ((self.close, True) if not self.close else (True,)) for way in ways
        ):
            if way != best:
                self.keep, self.noisy, self.close = way
                again = self._refitted(epsilon, bounds)
                if again is not bounds:
                    bounds, best = again, way
                if self.is_narrow(bounds, epsilon):
                    return bounds
        self.left -= 1
        if best != (self.keep, self.noisy, self.close):
            self.keep, self.noisy, self.close = best
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


def _is_low(part: Part | Pair) -> bool:
    """Whether the Q-mass is surely no less than the P-mass, as that of a pair that is not cut is."""
    return part.is_low if isinstance(part, Part) else True


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
