"""Bounds on how fast the transforms of parts of laws decay along a line, by L1 norms on lines beside the real one.

Where x is moved off the real line D grows by a known factor (`soft_weight`), while exp(i t L) becomes exp(-t arg), and
the arg of what exp(L) becomes is the larger the steeper L is.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

import numpy as np

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.pair import Cuts, Part, Reals
from dalenius.calculus.pairs.soft_weight import MOST_CELLS, Weighted, log_p, push_of, tops

STEEP = 10.0
"""Beyond the window the log integrand falls with at least this slope."""
ANGLES = (1.5, 3.0, 4.5, 6.0)
"""Shifts theta of the line, in units of 1/sqrt(a)."""
WIDEST = 1.4
"""No theta beyond this."""
TURNED = 1.0 / math.cos(WIDEST / 2)
"""What a slope beside the real line may be of that on it."""
MARGIN = 3.6
"""Windows reach so far beyond where the log integrand falls with slope STEEP, on the left at least."""
SOME, LITTLE = 30, 1e-15
GROUP = 2
"""Cells that share a bound on exp(-t arg)."""


class Shifted(Weighted):
    """A weighted part whose power is known beside the real line."""

    @abstractmethod
    def shifted(self, x: Reals, y: float, c: float) -> tuple[Reals, Reals] | None:
        """Bounds in the cells along x + i y, the law tilted by c: above, on the log of the modulus of the power; below,
        on the arg of exp(L). None where they are no floats.
        """

    @abstractmethod
    def slopes(self, x: float, c: float) -> tuple[float, float]:
        """What the log of the power, the law tilted by c, rises by on the real line: at x, and the most anywhere."""

    @abstractmethod
    def like(self, low: float | None, high: float | None) -> Shifted:
        """The part of the same law between other cuts."""

    def beyond(self, right: float) -> float:
        """Where the log integrand has fallen by 40, if right of `right` its slope is at most -STEEP by `window`.

        Right of the high cut that bound falls at the rate 1/narrowest^2; between the cuts what pushes right of the low
        one has ended, and it falls hardly any more.
        """
        if self.high is None:
            return right + MARGIN
        return min(right + MARGIN, max(right, self.high) + 9.5 * self.narrowest)

    def is_steep(self, x: float, d: float, c: float) -> bool:
        """Whether the bounds of `PartEnvelope` fall with slope STEEP right of x, where D is moved by d.

        Beside the real line the slope of the power is at most TURNED times that on it, or the most anywhere. Right of a
        high cut it grows no faster than exp(mu x), as what pulls D down does.
        """
        mu, a = self.cuts.mu, self.cuts.sharpness
        here, most = self.slopes(x + d, c)
        push = 0.0
        if self.low is not None:
            push = mu * min(a, push_of(a, a * math.exp(min(mu * (x - self.low), 60.0))))
        if self.high is None:
            return -(x + d) + most + push <= -STEEP
        drag = mu * a * math.exp(min(mu * (x - self.high), 60.0))
        push = min(push, mu * a - drag)
        if -(x + d) + most + push <= -STEEP:
            return True
        return TURNED * here <= drag and -(x + d) + TURNED * here + mu * a - drag <= -STEEP

    def uniform(self, c: float) -> mixture.Uniform:
        """Uniform laws within the law tilted by c; none by default."""
        return mixture.NOTHING

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        if self.low is not None:
            return part_envelope(self, c).at(t)
        if times >= mixture.MANY:
            uniform = self.uniform(c)
            if uniform.serves(times):
                return uniform.on(t)
        return below_envelope(self, c, mixture.level_for(times)).on(t)


class PlacedCuts(Cuts):
    """Cuts at the places x of their levels."""

    @abstractmethod
    def place(self, level: float) -> float:
        """The x at which the loss is so far from the anchor."""

    @abstractmethod
    def part(self, low: float | None, high: float | None) -> Shifted:
        """What lies between two places, the same object for the same ones."""

    def below(self, level: float) -> Shifted:
        return self.part(None, self.place(level))

    def between(self, low: float, high: float) -> Shifted:
        return self.part(self.place(low), None if high == math.inf else self.place(high))

    def whole(self) -> Shifted:
        return self.part(None, None)

    def crowd(self, low: float, high: float, s: float) -> float:
        part = self.below(high)
        m = part.order(s)
        x, fixed, grown = part.grid_for(m, m)
        exponent = fixed + m * grown
        weight = np.exp(np.maximum(exponent - exponent.max(), -700.0))
        return float(weight[x > self.place(low)].sum() / weight.sum())


class PartEnvelope:
    """The L1 norm on lines x + i theta/mu as a function of t.

    On a cell log D(x - d) - x^2/2 is below its top there, the power at most that at one of its ends, which grow or fall
    together (`shifted`), and |exp(i t L)| is exp(-t arg), arg at least what is said of the cell. Where D is nearly 1
    its growth is not: without a low cut, |D| <= 1 + cos(theta)^-a P(a, zeta_high(x - d)). Beyond the window, which is
    moved along with D, the bounds fall with slope STEEP: on the left since it begins MARGIN further out, where a power
    that falls is no steeper, on the right where `is_steep` says so.
    """

    def __init__(self, part: Shifted, c: float) -> None:
        m = part.order(c)
        x, fixed, grown = part.grid_for(m, m)
        self.rows: list[tuple[Reals, Reals, float]] = []
        if len(x) > MOST_CELLS:
            return
        gap = float(x[1] - x[0])
        mu, a = part.cuts.mu, part.cuts.sharpness
        whole = float(np.logaddexp.reduce(fixed + m * grown)) + math.log(gap)
        log_d = part.log_weight(x) if part.low is not None or part.high is not None else np.zeros_like(x)
        for unit in ANGLES:
            theta = unit / math.sqrt(a)
            if theta > WIDEST:
                break
            d = -math.log(math.cos(theta)) / mu
            if d > MARGIN or not part.is_steep(float(x[-1]), d, c):
                continue
            moved = x + d  # the weight at `moved` is bounded by D at x
            growth = a * mu * d + theta * theta / mu**2 / 2
            size = tops(part, x, log_d - 0.5 * moved * moved) + growth
            last = float(size[-1])
            if part.low is None:
                normal = -0.5 * moved * moved
                bare = np.maximum(normal[1:], normal[:-1]) + gap * gap / 8 + theta * theta / mu**2 / 2
                if part.high is not None:
                    crossing = log_p(a, part.zeta(x[1:], part.high))
                    bare = bare + np.logaddexp(0.0, crossing + a * mu * d)
                size = np.minimum(size, bare)
            found = part.shifted(moved, theta / mu, c)
            if found is None:
                break
            power, turn = found
            weight = np.exp(np.minimum(size + power + math.log(gap) - whole, 700.0)) * (1 + 1e-9)
            near = np.flatnonzero(weight > 1e-20)
            if len(near) == 0:
                continue
            kept = slice(int(near[0]), int(near[-1]) + 1)
            rest = float(weight[: near[0]].sum() + weight[near[-1] + 1 :].sum())
            # Right of the window D falls, but from what it is said to be, not from the smaller of the two.
            drop = last - float(size[-1]) if part.high is not None else 0.0
            rest += float(weight[0] + weight[-1] * math.exp(min(drop, 700.0))) / (gap * STEEP)
            turn, weight = turn[kept], weight[kept]
            groups = np.arange(0, len(turn), GROUP)
            self.rows.append((np.minimum.reduceat(turn, groups), np.add.reduceat(weight, groups), rest))

    def at(self, t: Reals) -> Reals:
        """The bound for t in increasing order, which falls: some at a time, until the last is good for all others."""
        best = np.ones(len(t))
        for start in range(0, len(t), SOME):
            some = slice(start, start + SOME)
            for turn, weight, rest in self.rows:
                bound = np.exp(-np.multiply.outer(t[some], turn)) @ weight * (1 + 1e-9) + rest
                best[some] = np.minimum(best[some], bound)
            if start + SOME < len(t) and best[start + SOME - 1] < LITTLE:
                best[start + SOME :] = best[start + SOME - 1]
                break
        return best


@lru_cache(maxsize=64)
def part_envelope(part: Shifted, c: float) -> PartEnvelope:
    return PartEnvelope(part, c)


@lru_cache(maxsize=32)
def below_envelope(part: Shifted, c: float, level: float) -> mixture.Envelope:
    """Bounds on the decay of a part without a low cut."""
    return below_envelope_of(part, c, level, part_envelope(part, c).at, part.like)


class Whole(Protocol):
    """What `below_envelope_of` needs to know of a part without a low cut."""

    @property
    def high(self) -> float | None: ...

    @property
    def narrowest(self) -> float: ...

    def spread(self, c: float) -> float: ...

    def rule_for(self, c: float, reach: float, count: int) -> mixture.Rule | None: ...

    def log_mgf(self, s: Reals) -> Reals: ...


def below_envelope_of(
    part: Whole,
    c: float,
    level: float,
    plain: Callable[[Reals], Reals],
    between: Callable[[float | None, float | None], Part],
) -> mixture.Envelope:
    """The bound `plain`; or whatever lies below another cut, in full, and the rest decays.

    Small t are covered by a discrete law, as in `mixture.envelope_for`. Of many steps each needs to decay but a little.
    """
    spread = part.spread(c)

    def law(reach: float) -> mixture.Law | None:
        fine = part.rule_for(c, reach, 1)
        return None if fine is None else mixture.Law(fine.loss, fine.weights, fine.fixed + fine.per_t * reach)

    if level > 0.5 and spread > 0.0 and plain(np.array([15.0 / spread]))[0] <= level:
        return mixture.Envelope(*mixture.stepped(spread, plain, law, level), plain)
    rule = part.rule_for(c, 0.0, 1)
    if rule is None:
        return mixture.Envelope(np.zeros(1), np.ones(1), np.ones_like)
    whole = float(part.log_mgf(np.array([c]))[0])
    order = np.argsort(rule.x)
    at, cumulated = rule.x[order], np.cumsum(rule.weights[order])
    options: list[tuple[float, float, Part]] = []
    for share in (0.3, 0.01, 1e-4) if level < 0.9 else (0.5, 0.1):
        cut = float(at[min(int(np.searchsorted(cumulated, share)), len(at) - 1)])
        if part.high is not None and cut > part.high - part.narrowest:
            continue
        below, above = between(None, cut), between(cut, part.high)
        logs = [float(p.log_mgf(np.array([c]))[0]) - whole for p in (below, above)]
        shares = [math.exp(min(log, 1.0)) * (1 + 1e-9) if log < 1.0 else math.inf for log in logs]
        options.append((shares[0], shares[1], above))

    def smooth(t: Reals) -> Reals:
        parts = [left + right * above.envelope(c, t) for left, right, above in options]
        return np.asarray(np.min([plain(t), *parts], axis=0))

    return mixture.Envelope(*mixture.stepped(rule.spread, smooth, law, level), smooth)
