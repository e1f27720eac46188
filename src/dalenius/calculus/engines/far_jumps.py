"""Rare and huge jumps: whether a sum has them where it is asked, and roughly which epsilon they lead to (`layers`)."""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.engines.saddle import Moments
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import TINY, Terms

RARE = 0.01
"""Jumps of this total probability are left out of a guess."""
HUGE = 5.0
"""Where tilted jumps reach further than this, one line for all of the law is too long."""
JUMPS = math.log(1e-14), math.log(1e4)
"""Between these logarithms is every jump."""
STEEPER = 2.0


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
