"""One direction of a composition: certified delta(epsilon) and epsilon(delta) of a sum of losses.

Which engine answers:
- one loss with a closed form: that form;
- losses on one lattice (randomized response, geometric, discrete Gaussian): `lattice`, exact;
- few discrete losses on no common lattice: `enumeration`, exact;
- discrete losses some of which are rare and huge: `rare_atoms`, which counts those;
- otherwise the `contour`, when the characteristic functions decay fast enough to cut the line; atoms beside a density,
  and outcomes that show few densities, are counted apart (`few_continuous`), near the largest loss without any line;
- where that line is long or wide and jumps are rare and huge: `layers`, a line for each scale of them;
- where it cannot be cut, and for lattices too fine to go through: the `smoothed` line, which needs no decay;
- where that is too long, or layers are too wide, everything is rounded onto a lattice, which also serves as the
  independent check.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, partial
from typing import Literal

import numpy as np

from dalenius.calculus.engines import far_jumps, layers
from dalenius.calculus.engines.contour import Contour, Lines, Roof, exp_up, log_peak
from dalenius.calculus.engines.enumeration import enumerated
from dalenius.calculus.engines.few_continuous import FewContinuous
from dalenius.calculus.engines.lattice import LatticeLine, common_spacing
from dalenius.calculus.engines.layer_lines import ShortLine
from dalenius.calculus.engines.rare_atoms import RareAtoms
from dalenius.calculus.engines.rounded import RoundedSum
from dalenius.calculus.engines.saddle import Moments, above
from dalenius.calculus.engines.search import crossings, least_epsilon
from dalenius.calculus.engines.smoothed import RoughLine, SmoothedLine
from dalenius.calculus.pairs import divergences
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import TINY, UNIT, Bounds, Pair, Reals, Terms
from dalenius.calculus.pairs.renyi import best_order, epsilon_bound, profile_bound, remembered, renyi_atoms
from dalenius.core.checks import float_up
from dalenius.core.quiet import beyond_floats

FIRST = 1e-2
"""Where moments are looked at first: three decades from there."""

FEW = 2.0 ** np.arange(-1.5, 2.0, 0.5)
"""Moments for a first look, relative to a rate that is known."""

WIDE = 1e-6
"""A bracket on delta wider than this (relative) is worth a second try."""

ROUNDED_OFF = 8 * UNIT
"""Of what counts as infinite: where all other losses have less of delta than this, no line need be drawn for them."""

LEAST_DELTA = 1e-300
"""Below this a delta has few digits, and none to spare for bounds."""

TOO_WIDE = 0.1
"""One wider than this is left to the lattice."""

TAIL = 1e3
"""Where delta is below this many times what lies beyond the end of a table, divergences are asked, too."""
ROUNDED_AWAY = 1e20
"""Where it is this many times what lies beyond that end, the lower bound has room for it."""
NEAR_THE_END = 1e-9
"""Share of delta that outcomes with many continuous parts may have to be bounded and not computed."""
AT_THE_END = 1e-12
"""An epsilon nearer than this to the largest loss is found by halving."""
END = 1e-3
"""Nearer than this to the largest loss, relatively, it is looked at alone first."""
CLOSE, MOST_BOUNDED = 1e-9, 1e-4
"""More of it where that moves epsilon by no more than CLOSE of itself."""

Engine = Literal["auto", "contour", "grid", "proof"]


class Sum:
    """A sum of independent privacy losses with known laws, all of one direction."""

    def __init__(self, terms: Terms, for_upper: bool = False) -> None:
        self.terms = terms
        self._for_upper = for_upper
        """Whether upper bounds alone are wanted: lower ones may then be left out where they take longer."""
        self._rounded: RoundedSum | None = None
        self._layers: layers.Layers | None = None
        self._failed: list[float] = []
        self._rate = 0.0
        self._atomic: Sum | None = None
        self._wide: tuple[float, Bounds] | None = None
        """Where layers were last asked, and what they said."""
        self._not_near = math.inf
        self._noise_helps: bool | None = None
        """Whether a smoothed line says what layers do not; None before it was asked."""
        self.last_line: Contour | None = None
        """A line that all of the law, or most of it, was last seen on, if there is one."""

    @property
    def infinite(self) -> float:
        """P-mass of L = +inf, rounded up."""
        return self.infinite_bounds.upper

    @cached_property
    def infinite_bounds(self) -> Bounds:
        """Bounds on 1 - prod (1 - p_i)^n_i.

        Each logarithm, product and partial sum is rounded; expm1 passes on no more than its argument's error.
        """
        shown = [(pair.infinite_bounds, n) for pair, n in self.terms if pair.infinite > 0.0]
        if any(bounds.upper >= 1.0 for bounds, _ in shown):
            return Bounds(1.0, 1.0)
        if not shown:
            return Bounds(0.0, 0.0)
        if len(shown) == 1 and shown[0][1] == 1:
            return shown[0][0]
        low, high = (-math.expm1(sum(n * math.log1p(-ends[k]) for ends, n in shown)) for k in (0, 1))
        off = UNIT * (16 + 4 * len(shown)) * high
        return Bounds(max(0.0, math.nextafter(low - off, 0.0)), min(1.0, math.nextafter(high + off, 2.0)))

    @cached_property
    def largest(self) -> float:
        if not all(math.isfinite(pair.largest) for pair, _ in self.terms):
            return math.inf if any(pair.largest == math.inf for pair, _ in self.terms) else -math.inf
        exact = sum((n * Fraction(pair.largest) for pair, n in self.terms), Fraction(0))
        return float_up(exact)

    @cached_property
    def moments(self) -> Moments:
        # With rare and huge jumps the saddle is far below that rate, and moments there take long.
        if far_jumps.are_far(self.terms, self._rate):
            if self.largest < math.inf:  # near it log delta falls much faster than were the sum normal
                return Moments(self.terms, self._rate / 30)
            return Moments(self.terms, self._rate / layers.ASIDE, 2)
        return Moments(self.terms, FIRST)

    @cached_property
    def spacing(self) -> float | None:
        return common_spacing(self.terms)

    @cached_property
    def exact(self) -> Atoms | None:
        """The whole law, when it is discrete, on no common lattice, and small."""
        return enumerated(self.terms) if self.spacing is None else None

    def delta(self, epsilon: float, engine: Engine = "auto") -> Bounds:
        """Certified bounds on the hockey-stick divergence of order exp(epsilon)."""
        if not self.terms:
            if epsilon >= 0.0:
                return Bounds(0.0, 0.0)
            gap = -math.expm1(epsilon)  # an ulp off, perhaps
            return Bounds(math.nextafter(gap, 0.0), min(1.0, math.nextafter(gap, 2.0)))
        if engine == "proof":
            from dalenius.calculus.engines import proof

            return proof.delta_bounds(self, epsilon)
        if epsilon >= self.largest or self.infinite == 1.0:
            return self.infinite_bounds
        if engine == "auto" and self._is_closed:
            closed = self.terms[0][0].delta(epsilon)
            if closed is not None:
                return closed
        if engine != "grid" and self.exact is not None:
            return self.exact.delta(epsilon)
        if engine == "auto" and self.infinite > 0.0:
            upper = self.chernoff(epsilon)
            if upper <= self.infinite * (1 + ROUNDED_OFF):
                return Bounds(self.infinite_bounds.lower, upper)
        finite = self._on_lines(epsilon, engine) if engine != "grid" else None
        if finite is None:
            finite = self._on_grid(epsilon)
        if engine != "grid":
            finite = self._beside_wide(epsilon, finite)
        bounds = self._with_infinite(epsilon, finite)
        if engine == "auto" and self.spacing is not None and not _is_narrow(bounds) and self._few is not None:
            # Beside the largest loss, or where losses are hundreds apart, a line is nothing but rounding.
            bounds = min(bounds, self._few.delta(epsilon), key=lambda both: both.upper - both.lower)
        return bounds

    @cached_property
    def _few(self) -> Atoms | None:
        """The same on a common lattice, which is quicker to follow along a line, and as a rule good enough there."""
        return enumerated(self.terms)

    @cached_property
    def _is_closed(self) -> bool:
        """Whether this is one release whose profile has a form."""
        return len(self.terms) == 1 and self.terms[0][1] == 1 and self.terms[0][0].delta(0.0) is not None

    def _with_infinite(self, epsilon: float, finite: Bounds) -> Bounds:
        # Parameters are the doubles given; merging them cost a few ulps, which log delta feels like this.
        slack = 64 * UNIT * (2.0 - math.log(max(finite.upper, TINY)))
        known = self.infinite_bounds
        upper = min(1.0, (known.upper + finite.upper * (1 + slack)) * (1 + 4 * UNIT))
        floor = -math.expm1(epsilon) * (1 - 1e-15) if epsilon < 0 else 0.0
        lower = max((known.lower + finite.lower * (1 - slack)) * (1 - 4 * UNIT), floor)
        return Bounds(min(lower, upper), upper)

    def guess(self, log_delta: float) -> tuple[float, float]:
        """Roughly the epsilon at which delta is exp(log_delta), and -d log delta / d epsilon there."""
        if self.largest == -math.inf or self.infinite > 0.999:  # nothing finite to look at
            return 1.0, 1.0
        at_the_end = self._guess_at_the_end(log_delta)
        if at_the_end is not None:
            return at_the_end
        if not self._is_closed:  # its moments are not needed, and far out they may take long
            self._rate = self._rate or normal_rate(self.terms, log_delta)
        if not far_jumps.are_far(self.terms, self._rate):
            tame = far_jumps.guess(self.terms, log_delta)
            if tame is not None:
                return self._tamed(tame)
        if np.isfinite(self.moments.k).sum() < 8:
            return 1.0, 1.0
        c, epsilon = self.moments.for_delta(log_delta)
        if (
            self._rate > 0.0
            and far_jumps.are_far(self.terms, self._rate)
            and not far_jumps.are_far(self.terms, c)
        ):
            # Near the largest loss of other terms it falls much faster than were it normal.
            tame = far_jumps.guess(self.terms, log_delta)
            if tame is not None:
                return self._tamed(tame)
        floor = -math.inf
        if self.few is not None and self.largest < math.inf:
            floor = self.few.least_epsilon(math.exp(log_delta), self.largest)
        if floor > min(epsilon, self.largest) or (math.isfinite(floor) and epsilon >= self.largest):
            return floor, 1 / max(self.largest - floor, 1e-300)
        self._rate = c
        return min(epsilon, self.largest), c

    def _guess_at_the_end(self, log_delta: float) -> tuple[float, float] | None:
        """`guess` where the largest loss alone makes up nearly all of delta."""
        if self.few is None or self.largest == math.inf or self._is_closed:
            return None
        floor = self.few.least_epsilon(math.exp(log_delta), self.largest)
        away = self.largest - floor
        if not 0.0 < away < END * self.largest or self.few.delta(floor).upper > 2 * math.exp(log_delta):
            return None
        self._rate = 1 / away
        return floor, self._rate

    def _tamed(self, guess: tuple[float, float]) -> tuple[float, float]:
        """A guess of `layers`, taken."""
        epsilon, self._rate = guess
        if epsilon > 0.0 and far_jumps.are_huge(self.terms, self._rate):
            self._failed.append(epsilon)  # one line for all of the law would be drawn in vain
        return min(epsilon, self.largest), self._rate

    @property
    def rate(self) -> float:
        """Roughly the rate at which log delta falls where it was last looked at; 0 before that."""
        return self._rate

    def chernoff(self, epsilon: float, rate: float = 0.0) -> float:
        """An upper bound on delta(epsilon) that needs nothing but real moments; `rate` says where to look first."""
        self._rate = self._rate or rate
        if not self.terms or self.infinite > 0.999 or self.largest == -math.inf:
            return 1.0
        if epsilon >= self.largest:
            return self.infinite
        self.moments.for_epsilon(epsilon)  # so that the grid reaches the saddle
        return self._chernoff(epsilon, self.moments.s, self.moments.k)

    def chernoff_near(self, epsilon: float, rate: float) -> float:
        """The same by few moments around a rate."""
        if not self.terms or self.infinite > 0.999 or self.largest == -math.inf or epsilon >= self.largest:
            return 1.0
        s = rate * FEW
        with np.errstate(all="ignore"):
            k = sum((n * pair.rough_log_mgf(s) for pair, n in self.terms), np.zeros_like(s))
        return self._chernoff(epsilon, s, k)

    def chernoff_epsilon(self, log_delta: float) -> float:
        """An epsilon at which Chernoff's bound is exp(log_delta), however small that is; inf when there is none."""
        if np.isfinite(self.moments.k).sum() >= 8:
            self.moments.for_delta(log_delta)  # so that the grid reaches the saddle
        finite = np.isfinite(self.moments.k)
        if not finite.any():
            return math.inf
        s, k = self.moments.s[finite], self.moments.k[finite]
        least = float(((above(self.terms, k) + log_peak(s) - log_delta) / s).min())
        return max(0.0, least * (1 + 16 * UNIT))

    def _chernoff(self, epsilon: float, s: Reals, k: Reals) -> float:
        finite = np.isfinite(k)
        if not finite.any():
            return 1.0
        s, k = s[finite], k[finite]
        bound = above(self.terms, k) + log_peak(s) - s * epsilon
        return (self.infinite + exp_up(min(float(bound.min()), 0.0))) * (1 + 4 * UNIT)

    def roof(self, epsilon: float, delta: float, like: Contour) -> float:
        """An upper bound on delta(epsilon) by a line like another one, good if that is of much the same law."""
        if not self.terms or self.infinite > 0.999:
            return 1.0
        if epsilon >= self.largest:
            return self.infinite
        # A smoothed line is that of a sum with a little noise more, which tells no less.
        terms = (*self.terms, like.terms[-1]) if isinstance(like, SmoothedLine) else self.terms
        finite = Roof(terms, like, epsilon, math.log(delta)).delta(epsilon)
        return self._with_infinite(epsilon, finite).upper

    def bound(self, epsilon: float) -> float:
        """An upper bound on delta(epsilon) by one short line, where other engines would narrow what it says."""
        if not self.terms or not self._has_cuts or epsilon >= self.largest:
            return 1.0
        finite = self._on_line(epsilon, self.short_lines)
        return 1.0 if finite is None else self._with_infinite(epsilon, finite).upper

    def bound_by_layers(self, epsilon: float) -> float:
        """The same by layers, where these alone do not say enough to be the answer."""
        if not self.terms or not self._has_cuts or epsilon >= self.largest:
            return 1.0
        return self._with_infinite(epsilon, self._layered(epsilon)).upper

    @cached_property
    def lines(self) -> Lines:
        if self.spacing is not None:
            return Lines(self.moments, partial(LatticeLine, spacing=self.spacing))
        if self.few is None:
            return self.plain_lines
        return Lines(self.moments, partial(Contour, apart=self.few.most, few=self.few.delta), self.few.delta)

    @cached_property
    def plain_lines(self) -> Lines:
        """Lines beside which nothing is counted but atoms: those that are proved in ball arithmetic."""
        return Lines(self.moments, Contour)

    @cached_property
    def few(self) -> FewContinuous | None:
        return FewContinuous.of(self.terms)

    def _near_the_end(self, epsilon: float) -> Bounds | None:
        """Bounds that need no line, where outcomes with many continuous parts hardly reach beyond epsilon."""
        if self.few is None or self.largest - epsilon >= self._not_near:
            return None
        # There log delta falls as fast as the largest loss is near, and a width of delta moves epsilon by little.
        worth = CLOSE * max(epsilon, 1e-3) / (self.largest - epsilon)
        share = max(NEAR_THE_END, min(worth, MOST_BOUNDED))
        for look in (self.few.more_again, partial(self.few.more, largest=self.largest)):
            more = look(epsilon)
            if more < 1.0 and more <= share * (few := self.few.delta(epsilon)).lower:
                return Bounds(few.lower, min(1.0, few.upper + more))
        self._not_near = self.largest - epsilon
        return None

    def finite(self, epsilon: float) -> Bounds | None:
        """D(epsilon) of finite losses that may have total mass below 1."""
        if epsilon >= self.largest:
            return Bounds(0.0, 0.0)
        return self.exact.delta(epsilon) if self.exact is not None else self._on_lines(epsilon)

    def _on_lines(self, epsilon: float, engine: Engine = "auto") -> Bounds | None:
        """By one line, or by layers or a smoothed line where one cannot be cut, or only far out, or would be wide."""
        if self._rare is not None:
            return self._rare.delta(epsilon)
        known = self._near_the_end(epsilon)
        if known is not None:
            return known
        tries = self._is_tried(epsilon) or (engine == "contour" and self._has_cuts)
        lines = self._lines_for(engine) if tries else None
        bounds = self._on_line(epsilon, lines) if lines is not None else None
        if tries and (bounds is None or (self._has_cuts and not _is_narrow(bounds))):
            self._failed.append(epsilon)
        if self._has_cuts:
            if bounds is None and self._noise_helps:
                bounds = self._noisy.delta(epsilon)
                return bounds if bounds is not None else self._on_layers(epsilon, None)
            bounds = self._on_layers(epsilon, bounds)
            if bounds is not None and (_is_narrow(bounds) or self._is_enough(bounds, epsilon)):
                return bounds
            return self._with_noise(epsilon, bounds)
        if bounds is None:
            bounds = self._smoothed.delta(epsilon)
            self.last_line = self._smoothed.line
            return bounds
        if lines is not None and lines.line is not None and lines.line.period_is_short:
            closer = self._smoothed.delta(epsilon)
            if closer is not None:
                return Bounds(max(bounds.lower, closer.lower), min(bounds.upper, closer.upper))
        return bounds

    def _with_noise(self, epsilon: float, known: Bounds | None) -> Bounds | None:
        """What a smoothed line says where layers say little: atoms keep a line long, and jumps are out of reach."""
        bounds = self._noisy.delta(epsilon) if self._noise_helps is None else None
        if bounds is None:
            self._noise_helps = False
            return known
        # Far out what layers say from above may be all there is.
        self._noise_helps = known is None and bounds == self._beside_wide(epsilon, bounds)
        return bounds if known is None else min(known, bounds, key=lambda both: both.upper - both.lower)

    def _lines_for(self, engine: Engine) -> Lines:
        return self.short_lines if engine == "auto" and self._has_cuts else self.lines

    def _is_tried(self, epsilon: float) -> bool:
        """Whether one line is worth a try: it failed at no epsilon near this one, or only once without layers."""
        near = sum(abs(epsilon - other) <= 0.5 * max(abs(epsilon), abs(other)) for other in self._failed)
        return near < (1 if self._has_cuts else 2)

    @cached_property
    def _rare(self) -> RareAtoms | None:
        return RareAtoms.of(self.terms, WithoutRare, Sum) if self.spacing is None else None

    @cached_property
    def _has_cuts(self) -> bool:
        return any(pair.cuts(1.0) is not None for pair, _ in self.terms)

    def _on_layers(self, epsilon: float, known: Bounds | None) -> Bounds | None:
        """What one line says, where that is narrow; else the narrower of it and what layers say."""
        if known is not None and _is_narrow(known):
            return known
        bounds = self._layered(epsilon)
        if known is not None:
            return min(known, bounds, key=lambda both: both.upper - both.lower)
        return bounds if bounds.upper - bounds.lower <= TOO_WIDE * bounds.lower else None

    def _layered(self, epsilon: float) -> Bounds:
        """What layers say of D(epsilon), however wide."""
        if self._layers is None:
            few = None if self.few is None or self.few.most > 1 else self.few.delta
            self._layers = layers.Layers(self.terms, epsilon, self._rate, few)
        elif not self._layers.fits(epsilon):
            self._layers.refit(epsilon, self._rate)
        bounds = self._layers.delta(epsilon)
        self.last_line = self._layers.pieces[-1].line
        self._wide = epsilon, bounds
        return bounds

    def _beside_wide(self, epsilon: float, bounds: Bounds) -> Bounds:
        """The bounds, and those of layers that were too wide to be enough: their upper end alone may say more."""
        if self._wide is None or self._wide[0] != epsilon:
            return bounds
        wide = self._wide[1]
        upper = min(bounds.upper, wide.upper)
        return Bounds(min(max(bounds.lower, wide.lower), upper), upper)

    def _is_enough(self, bounds: Bounds, epsilon: float) -> bool:
        """Whether layers with noise are as narrow as epsilon needs."""
        return self._layers is not None and self._layers.noisy and self._layers.is_narrow(bounds, epsilon)

    @cached_property
    def short_lines(self) -> Lines:
        """As `lines`, where layers would cost less than a long line."""
        if self.few is None:
            return Lines(self.moments, ShortLine)
        draw = partial(ShortLine, apart=self.few.most, few=self.few.delta)
        return Lines(self.moments, draw, self.few.delta)

    @cached_property
    def _smoothed(self) -> Lines:
        return Lines(self.moments, SmoothedLine)

    @cached_property
    def _noisy(self) -> Lines:
        return Lines(self.moments, RoughLine)

    def _on_line(self, epsilon: float, lines: Lines) -> Bounds | None:
        known = self._near_the_end(epsilon)
        if known is not None:
            return known
        bounds = lines.delta(epsilon)
        line = lines.line
        self.last_line = line if self.spacing is None and line is not None and line.atoms is None else None
        if bounds is None or line is None or line.atoms is None or line.apart:
            return bounds
        if len(line.atoms) == sum(pair.as_atoms is not None for pair, _ in self.terms):
            return None  # nothing but atoms, on no lattice
        # The line leaves out the outcomes in which every term shows an atom; they are counted apart.
        if self._atomic is None:
            self._atomic = Sum(line.atoms)
        discrete = self._atomic.finite(epsilon)
        if discrete is None:
            return None
        return Bounds(bounds.lower + discrete.lower, min(1.0, bounds.upper + discrete.upper))

    def _on_grid(self, epsilon: float) -> Bounds:
        if self._rounded is None or not self._rounded.fits(epsilon):
            self._rounded = RoundedSum.of(self.terms, epsilon)
        if self._rounded is None:
            return Bounds(0.0, 1.0)
        if self._for_upper:
            return Bounds(0.0, self._rounded.upper(epsilon))
        return self._rounded.delta(epsilon)


class WithoutRare(Sum):
    """A sum whose rare atoms were set apart already."""

    _rare = None


def _is_narrow(bounds: Bounds) -> bool:
    return bounds.upper - bounds.lower <= WIDE * bounds.lower


class Direction:
    """One direction of a loss: the terms, and certified views of their sum."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._answers: dict[tuple[float, Engine, bool], Bounds] = {}
        self._reveals = divergences.reveals(terms)
        self._by_renyi = not self._reveals and any(pair.renyi_is_tighter for pair, _ in terms)

    @property
    def _closed(self) -> bool:
        """Whether this is one release whose profile is known exactly."""
        return len(self.terms) == 1 and self.terms[0][1] == 1 and self.terms[0][0].delta(0.0) is not None

    @property
    def _is_exact(self) -> bool:
        """Whether upper and lower bounds are those of one law.

        What is known by its divergences alone is as bad as they allow from above, and need not be.
        """
        return all(pair.has_law and pair.lower is pair.upper for pair, _ in self.terms)

    @cached_property
    def upper(self) -> Sum | None:
        """A sum that dominates this one; None when nothing but Renyi curves is known."""
        if self._closed:
            return Sum(self.terms)
        known = [(pair.upper, n) for pair, n in self.terms if pair.has_law]
        curves = tuple((pair, n) for pair, n in self.terms if not pair.has_law)
        if curves and not known:
            return None
        if curves:
            known.append((renyi_atoms(curves), 1))
        return Sum(merged(tuple(known)), for_upper=not self._is_exact)

    @cached_property
    def lower(self) -> Sum:
        """A sum this one dominates."""
        if self.upper is not None and (self._closed or self._is_exact):
            return self.upper
        floors = [term for pair, n in self.terms for term in pair.lower_terms(n)]
        return Sum(merged(tuple((pair, n) for pair, n in floors if pair.has_law)))

    @property
    def infinite(self) -> float:
        return self.upper.infinite if self.upper is not None else 0.0

    @property
    def largest(self) -> float:
        return self.upper.largest if self.upper is not None else math.inf

    @beyond_floats
    def delta(self, epsilon: float, engine: Engine = "auto") -> Bounds:
        """Certified bounds; asked again, the same answer, so that an epsilon found here keeps its delta."""
        if engine == "proof":
            self._provable()
        lower, upper = self._at_least(epsilon, engine), self._at_most(epsilon, engine)
        # Either end is certain by itself: where roundings made them cross, the truth is between them.
        return Bounds(min(lower, upper), max(lower, upper))

    def _at_most(self, epsilon: float, engine: Engine) -> float:
        upper = 1.0
        if self.upper is not None and (engine != "proof" or all(pair.has_law for pair, _ in self.terms)):
            upper = self._answer(self.upper, epsilon, engine).upper
        if self._by_renyi or (self._is_tail and upper < TAIL * self.infinite):
            upper = min(upper, self._renyi_bound(epsilon, engine))
        return upper

    def _at_least(self, epsilon: float, engine: Engine) -> float:
        lower, tail = self._answer(self.lower, epsilon, engine).lower, self.lower.infinite
        if self._floor_is_tail and lower < ROUNDED_AWAY * tail:  # its losses need not be above epsilon
            lower = max(0.0, math.nextafter(lower - tail, 0.0))
        return lower

    def _answer(self, end: Sum, epsilon: float, engine: Engine) -> Bounds:
        """What one of the two sums says, asked once."""
        key = (epsilon, engine, end is self.lower)
        if key not in self._answers:
            if len(self._answers) > 10_000:
                self._answers.clear()
            self._answers[key] = end.delta(epsilon, engine)
        return self._answers[key]

    @cached_property
    def _log_mgf(self) -> Callable[[Reals], Reals]:
        return remembered(partial(divergences.log_mgf, self.terms))

    def _renyi_bound(self, epsilon: float, engine: Engine) -> float:
        log_mgf = self._log_mgf
        if engine != "proof":
            return profile_bound(log_mgf, epsilon)
        from dalenius.calculus.engines import proof

        return proof.renyi_bound(self.terms, epsilon, best_order(log_mgf, epsilon)[0])

    def _provable(self) -> None:
        """Refuse what ball arithmetic has nothing to say about."""
        from dalenius.calculus.engines import proof

        for pair, _ in self.terms:
            proof.check(pair, self._reveals)

    @beyond_floats
    def stays_below(
        self, epsilon: float, delta: float, engine: Engine = "auto", beside: Direction | None = None
    ) -> bool:
        """Whether delta(epsilon) <= delta is certain; `beside` is a direction that was asked for this delta."""
        if engine == "auto" and self.upper is not None:
            other = beside.upper if beside is not None else None
            rate = other.rate if other is not None else 0.0
            like = other.last_line if other is not None else None
            if like is not None:
                if self.upper.roof(epsilon, delta, like) <= delta:
                    return True
            elif rate > 0.0 and self.upper.chernoff_near(epsilon, rate) <= delta:
                return True
            if self.upper.chernoff(epsilon, rate) <= delta:
                return True
            if self.upper.bound(epsilon) <= delta or self.upper.bound_by_layers(epsilon) <= delta:
                return True
        return self.delta(epsilon, engine).upper <= delta

    @beyond_floats
    def epsilon(self, delta: float, engine: Engine = "auto") -> Bounds:
        """Certified bounds on the least epsilon >= 0 with delta(epsilon) <= delta."""
        if not self.terms:
            return Bounds(0.0, 0.0)
        if engine == "proof":
            self._provable()
        if delta == 0.0:
            upper = max(0.0, self.largest) if self.infinite == 0.0 else math.inf
            floor = self.lower
            # Each largest loss was rounded up, by a few units or by what its atoms may be off.
            least = floor.largest * (1 - 64 * UNIT) - 4 * sum(n * pair.blur for pair, n in floor.terms)
            return Bounds(min(upper, max(0.0, least) if floor.infinite == 0.0 else math.inf), upper)
        if engine == "proof":
            return self._proved(delta)
        if engine == "auto" and self._hardly_tells(delta):
            return Bounds(0.0, 0.0)
        if delta < LEAST_DELTA and not self._closed and self.upper is not None and self.infinite == 0.0:
            # No float is left for the digits of delta: the lower end is that of a larger one, the upper one Chernoff's.
            upper = min(self.upper.chernoff_epsilon(math.log(delta)), max(0.0, self.largest))
            return Bounds(min(self.epsilon(LEAST_DELTA, engine).lower, upper), upper)
        if self.lower is self.upper:
            found = self._both_ends(delta, engine)
            if found is not None:
                return found
        upper, rate = self._upper_end(delta, engine)
        lower = self._lower_end(delta, engine, (upper, rate))
        return Bounds(min(lower, upper), max(lower, upper))

    def _both_ends(self, delta: float, engine: Engine) -> Bounds | None:
        """Where the law itself is known, every evaluation serves both ends."""
        guess = self._guess(delta)
        # As near the largest loss as floats tell, nothing is left to interpolate.
        if self.infinite >= delta or guess[1] * AT_THE_END >= 1.0:
            return None
        return crossings(partial(self.delta, engine=engine), delta, guess, self.largest)

    def _upper_end(self, delta: float, engine: Engine) -> tuple[float, float]:
        """An epsilon that is enough, and the rate at which log delta falls about there."""
        guess = self._guess(delta)
        if self.infinite > delta or (self.infinite == delta and self.largest == math.inf):
            # In the second case, too: whatever epsilon is, something is beyond it.
            return (self._by_divergences(delta) if self._is_tail else math.inf), guess[1]

        def at(epsilon: float) -> Bounds:
            most = self._at_most(epsilon, engine)
            known = self._answer(self.upper, epsilon, engine).lower if self.upper is not None else most
            return Bounds(min(max(known, most / 2), most), most)

        if self.lower is not self.upper and self.infinite < delta and guess[1] * AT_THE_END < 1.0:
            found = crossings(at, delta, guess, self.largest, (True,))
            if found is not None:
                return found.upper, guess[1]
        return least_epsilon(at, delta, guess, self.largest, "upper"), guess[1]

    def _lower_end(self, delta: float, engine: Engine, above: tuple[float, float]) -> float:
        """An epsilon that is not enough; `above` is one that is, and a rate there."""
        tail = self.lower.infinite
        if tail > delta and not self._floor_is_tail:
            return math.inf

        def at(epsilon: float) -> Bounds:
            least = self._at_least(epsilon, engine)
            return Bounds(least, max(min(self._answer(self.lower, epsilon, engine).upper, 2 * least), least))

        guess = above if math.isfinite(above[0]) else self._guess(delta)
        if self.lower is not self.upper and tail < delta and self.lower.terms:
            guess = self.lower.guess(math.log(delta - tail))
            if guess[1] * AT_THE_END < 1.0:
                found = crossings(at, delta, guess, self.lower.largest, (False,))
                if found is not None:
                    return found.lower
        return least_epsilon(at, delta, guess, self.lower.largest, "lower")

    def adds_nothing(self, known: Bounds, delta: float, engine: Engine, beside: Direction) -> bool:
        """Whether it is certain that this direction moves neither end of what `beside` needs for this delta."""
        if not 0.0 < known.lower < math.inf or delta <= 0.0:
            return False
        if self.lower is self.upper or engine != "auto" or delta < LEAST_DELTA:
            return self.stays_below(known.lower, delta, engine, beside)
        # Where the ends are far apart the lower one says nothing about the upper one, and each is looked at alone.
        return self._at_least(known.lower, engine) < delta and self.stays_below(
            known.upper, delta, engine, beside
        )

    @property
    def _is_tail(self) -> bool:
        """Whether what counts as an infinite loss is the end of a table, and divergences tell more."""
        return self.infinite > 0.0 and not self._reveals

    @cached_property
    def _floor_is_tail(self) -> bool:
        """The same of what is known from below, which may be a table where the rest is not."""
        return self.lower.infinite > 0.0 and not divergences.reveals(self.lower.terms)

    @cached_property
    def revealed(self) -> float:
        """How likely an outcome is that only one neighbour can give: none is where a divergence is finite."""
        return 0.0 if self._is_tail and math.isfinite(divergences.renyi(self.terms, 2.0)) else self.infinite

    def _by_divergences(self, delta: float) -> float:
        """An epsilon for this delta from the Renyi divergences alone."""
        return epsilon_bound(self._log_mgf, delta)

    def _hardly_tells(self, delta: float) -> bool:
        """Whether delta(0), the total variation, is certainly no more: that of products is at most the sum."""
        most = 0.0
        for pair, n in self.terms:
            known = pair.delta(0.0)
            if known is None:
                return False
            most += n * known.upper
            if most > delta:
                return False
        return most * (1 + 4 * UNIT * (len(self.terms) + 1)) <= delta

    def _proved(self, delta: float) -> Bounds:
        """The float answer, widened until ball arithmetic agrees with both ends."""
        lower, upper = self.epsilon(delta)
        step = 1e-12 * max(1.0, upper)
        while math.isfinite(upper) and upper < self.largest and self.delta(upper, "proof").upper > delta:
            upper, step = upper + step, 2 * step
        step = 1e-12 * max(1.0, lower)
        while lower > 0 and math.isfinite(lower) and self.delta(lower, "proof").lower < delta:
            lower, step = max(0.0, lower - step), 2 * step
        return Bounds(lower, upper)

    def _guess(self, delta: float) -> tuple[float, float]:
        if self.upper is None:
            return 1.0, 1.0
        rest = delta - self.upper.infinite
        return self.upper.guess(math.log(rest if rest > 0 else delta))


def normal_rate(terms: Terms, log_delta: float) -> float:
    """The rate at which log delta falls where delta is exp(log_delta), were the sum normal; 0 when nobody knows.

    The log-moment generating function of a normal loss of variance v is v s (s + 1) / 2.
    """
    s = np.array([0.5])  # smaller ones leave nothing but rounding of a rare sample
    with np.errstate(all="ignore"):
        variance = float(sum(n * pair.rough_log_mgf(s)[0] for pair, n in terms)) / 0.375
    if not 0.0 < variance < math.inf:
        return 0.0
    return min(max(math.sqrt(2 * max(-log_delta, 1.0) / variance), 1e-8), 1e8)


def merged(terms: Terms) -> Terms:
    """Terms of one family put together as far as they go, in an order of their own.

    The same sum has the same terms, however it was put together.
    """
    if len(terms) == 1:
        return type(terms[0][0]).merge(terms)
    families: dict[type[Pair], list[tuple[Pair, int]]] = {}
    for pair, n in terms:
        families.setdefault(type(pair), []).append((pair, n))
    together = [term for family, members in families.items() for term in family.merge(tuple(members))]
    if len(together) == 1:
        return tuple(together)
    return tuple(sorted(together, key=lambda term: (term[0].sort_key, term[1])))
