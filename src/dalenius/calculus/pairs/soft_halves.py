"""Parts of the law of a Gaussian release on a fixed number of sampled records, for `engines.layers`.

With x > h = mu/2 and w = 1 - g + g exp(mu x - mu^2/2), which is 1 at h and grows, the loss is log w with the density
w phi(x), -log w with the density phi(x), and 0 with what is left (`subset_gaussian`). A part weighs both halves by the
same D(x) of `soft_cut`; what has no low cut holds the atom, too. So

    transform(s) = integral over x > h of D (w^(1+s) + w^(-s)) phi, and the atom,

which is symmetric, s against -1-s, and all parts are nonnegative laws that add up to the whole.

The halves end sharply at h. Rules just begin there (`part_nodes`). Their decay is that of the integrals over all x,
which are smooth (`PartEnvelope`), but for what these have left of h:

    |J(c + it)| <= sum over both halves of (envelope(t) * all of it + what is left of h), at s = c,

where D of a low cut is tiny. Close to h no part decays fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import erf, gammaincc, gammaln

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Cuts, Part, Reals, Tilted
from dalenius.calculus.pairs.soft_cut import SoftCuts, SoftPart, part_nodes
from dalenius.calculus.pairs.soft_envelope import STEEP, below_envelope_of, part_envelope
from dalenius.calculus.pairs.soft_weight import (
    FARTHEST,
    FEW_PRODUCTS,
    MOST_CELLS,
    Nodes,
    along,
    rule_of,
    tops,
)

GAUSS, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(16)
LOG_ROOT = 0.5 * math.log(2 * math.pi)
MOST_NODES = 100_000
MOST_TILT = 1000.0
"""Without cuts, orders beyond this over mu are of no use."""
MOST_MU = 4.0
"""Above, tails beyond the window are not bounded closely enough; there layers serve."""
MOST_WORK = 5e7
"""Products that one line may take."""
FAR_BEYOND = math.log(128.0)
"""Where exp(mu (x - high)) is this large the weight falls too steeply to be looked at."""


def log_tie(mu: float, rate: float) -> float:
    """log of the mass of the atom at loss 0: what neither side of the sampled Gaussian pair claims."""
    return math.log1p(-rate) + math.log(float(erf(mu / 2 / math.sqrt(2))))


@dataclass(frozen=True)
class HalvesCuts(Cuts):
    """The soft cuts of both halves."""

    mu: float
    rate: float
    sharpness: float

    @cached_property
    def right(self) -> SoftCuts:
        return SoftCuts(self.mu, self.rate, False, self.sharpness)

    @cached_property
    def left(self) -> SoftCuts:
        return SoftCuts(self.mu, self.rate, True, self.sharpness)

    def place(self, level: float) -> float:
        """The x > h whose loss is +-level: those of `SoftCuts` are counted from log(1 - g)."""
        return self.right.place(level - math.log1p(-self.rate))

    def steepest(self, level: float) -> float:
        return self.right.steepest(level - math.log1p(-self.rate))

    def highest(self, mass: float) -> float:
        return max(self.right.highest(mass) + math.log1p(-self.rate), 1e-300)

    def jump(self, s: float) -> float:
        return self.right.jump(s)

    def log_beyond(self, level: float) -> float:
        # The density of one half is at most that of the remove direction, of the other that of the add direction.
        at = level - math.log1p(-self.rate)
        return float(np.logaddexp(self.right.log_beyond(at), self.left.log_beyond(at)))

    def below(self, level: float) -> SoftHalves:
        return halves_of(self, None, self.place(level))

    def between(self, low: float, high: float) -> SoftHalves:
        return halves_of(self, self.place(low), None if high == math.inf else self.place(high))

    def crowd(self, low: float, high: float, s: float) -> float:
        part = self.below(high)
        x, weight, _ = part.tilted_law(s)
        return float(weight[x > self.place(low)].sum())


@lru_cache(maxsize=256)
def halves_of(cuts: HalvesCuts, low: float | None, high: float | None) -> SoftHalves:
    return SoftHalves(cuts, low, high)


@dataclass(frozen=True)
class SoftHalves(Part):
    """Both halves between a low and a high cut, and the atom at 0 where there is no low one."""

    cuts: HalvesCuts
    low: float | None
    high: float | None

    @property
    def h(self) -> float:
        return self.cuts.mu / 2

    @cached_property
    def sides(self) -> tuple[SoftPart, SoftPart]:
        """The parts of the same D on all of the line, whose loss is log w, and -log w."""
        return SoftPart(self.cuts.right, self.low, self.high), SoftPart(self.cuts.left, self.low, self.high)

    @property
    def narrowest(self) -> float:
        return self.sides[0].narrowest

    @cached_property
    def log_atom(self) -> float:
        return log_tie(self.cuts.mu, self.cuts.rate) if self.low is None else -math.inf

    # -- real arguments --------------------------------------------------------------------------------

    def _real_nodes(self, steepest: float, most: float) -> tuple[Reals, Reals, Reals] | None:
        """Panels of 16 nodes for all orders up to `most`, |s| <= steepest: x, log of weight D phi, log w.

        D and phi move on the scale `narrowest`; a panel of twice that on either side has a Bernstein ellipse of
        parameter 4 on which they grow by exp(7), and the rule errs by 4^-32 times that, or exp(-37). Next to h, where
        w^-s falls like exp(-s mu g (x - h)), panels are narrower; then each is about as wide as its distance to h, so
        that its ellipse stays right of it, and w^-s below 1. Beyond the high cut they follow the width of D.
        """
        mu, a = self.cuts.mu, self.cuts.sharpness
        first, last = self.sides[0].window(most, most)
        if self.high is not None:  # a peak before FAR_BEYOND has fallen by 39 a twice as far
            last = min(last, max(self.high, self.h) + (FAR_BEYOND + math.log(2.0)) / mu)
        at, widest = max(self.h, first), 2.0 * self.narrowest
        sharp = 3.0 / max(steepest * mu * self.cuts.rate, 1e-300)
        edges = [at]
        while at < last:
            r = min(widest, max(sharp, 0.45 * (at - self.h)))
            if self.high is not None and at > self.high:
                r = min(r, 2.0 / math.sqrt(1.0 + mu * mu * a * math.exp(min(mu * (at - self.high), 60.0))))
            at += 2 * r
            edges.append(at)
            if 16 * len(edges) > MOST_NODES:
                return None
        ends = np.array(edges) if len(edges) > 1 else np.array([at, at + widest])
        half = np.diff(ends)[:, None] / 2
        x = (ends[:-1, None] + half * (1.0 + GAUSS)).ravel()
        fixed = self.sides[0].log_weight(x) - 0.5 * x * x - LOG_ROOT + np.log(half * GAUSS_WEIGHTS).ravel()
        return x, fixed, mixture.log_mixture(mu * x - mu * mu / 2, self.cuts.rate)[0]

    @cached_property
    def _nodes(self) -> dict[tuple[int, int], tuple[Reals, Reals, Reals] | None]:
        return {}

    def _nodes_for(self, steepest: float) -> tuple[Reals, Reals, Reals] | None:
        """As `_real_nodes`, the orders rounded up so that similar ones find the same nodes."""
        share = max(steepest * self.cuts.mu * self.cuts.rate * self.narrowest, 1.0)
        key = math.ceil(math.log2(share) / 3), math.ceil(math.log2(1.0 + steepest) / 2)
        if key not in self._nodes:
            if len(self._nodes) > 7:
                self._nodes.clear()
            scale = self.cuts.mu * self.cuts.rate * self.narrowest
            self._nodes[key] = self._real_nodes(8.0 ** key[0] / scale, min(4.0 ** key[1], self._most))
        return self._nodes[key]

    @cached_property
    def _most(self) -> float:
        """Orders of w beyond this are of no use."""
        mu, a = self.cuts.mu, self.cuts.sharpness
        if self.high is None:
            return (FARTHEST if self.low is not None else MOST_TILT) / mu
        return 3 * a * (1.0 + math.exp(min(-self.cuts.right.log_odds - mu * self.high, 600.0)))

    @cached_property
    def _moments(self) -> dict[bytes, Reals]:
        return {}

    def log_mgf(self, s: Reals) -> Reals:
        s = np.asarray(s, dtype=float)
        key = s.tobytes()
        if key not in self._moments:
            if len(self._moments) > 7:
                self._moments.clear()
            self._moments[key] = self._log_mgf(np.maximum(s, -1.0 - s))
        return self._moments[key].copy()

    def _log_mgf(self, s: Reals) -> Reals:
        """That for s >= -1/2."""
        result = np.full(len(s), np.inf)
        finite = np.flatnonzero(1.0 + s <= self._most)
        finite = finite[np.argsort(s[finite], kind="stable")]
        for block in np.array_split(finite, max(1, len(finite) // 18)):
            if len(block) == 0:
                continue
            found = self._nodes_for(float(s[block[-1]]))
            if found is None:
                continue
            x, fixed, log_w = found
            right = np.multiply.outer(1.0 + s[block], log_w) + fixed
            top = np.maximum(right.max(axis=1), self.log_atom)
            total = np.exp(np.maximum(right - top[:, None], -700.0)).sum(axis=1)
            left = np.multiply.outer(-s[block], log_w) + fixed
            total += np.exp(np.clip(left - top[:, None], -700.0, 50.0)).sum(axis=1)
            if self.low is None:
                total += np.exp(self.log_atom - top)
            value = top + np.log(total)
            if self.high is not None:
                far = self.cuts.mu * (x[right.argmax(axis=1)] - self.high) > FAR_BEYOND
                value[far] = np.inf
            result[block] = value
        return result

    def tilted_law(self, c: float) -> tuple[Reals, Reals, Reals]:
        """Places x, weights that add up to 1, and losses of the law tilted by c; the atom at h."""
        found = self._nodes_for(max(c, -1.0 - c))
        if found is None:
            return np.array([self.h]), np.ones(1), np.zeros(1)
        x, fixed, log_w = found
        exponent = np.concatenate(((1.0 + c) * log_w + fixed, -c * log_w + fixed, [self.log_atom]))
        weight = np.exp(np.maximum(exponent - exponent.max(), -700.0))
        return (
            np.concatenate((x, x, [self.h])),
            weight / weight.sum(),
            np.concatenate((log_w, -log_w, [0.0])),
        )

    def spread(self, c: float) -> float:
        _, weight, loss = self.tilted_law(c)
        return float(weight @ np.abs(loss - weight @ loss))

    def mean(self) -> float:
        _, weight, loss = self.tilted_law(0.0)
        return float(weight @ loss)

    def mass(self) -> tuple[float, float, float]:
        return self._mass

    @cached_property
    def _mass(self) -> tuple[float, float, float]:
        """The law is symmetric: P- and Q-mass are the same, 1 less what is above the cut."""
        assert self.low is None
        if self.high is None:
            return 0.0, 0.0, 0.0
        above = math.exp(float(halves_of(self.cuts, self.high, None).log_mgf(np.zeros(1))[0]))
        if above > 0.5:
            return math.log1p(-min(above, 1 - 1e-9)), 0.0, math.inf
        off = UNIT * (64 * (self.cuts.sharpness + 16) * (1 + self.cuts.mu * abs(self.high)) + 1e4) * above
        return math.log1p(-above), 0.0, off

    # -- along a line ----------------------------------------------------------------------------------

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        rule = self.rule_for(c, float(np.max(np.abs(t))), len(t))
        if rule is None or len(rule.loss) * len(t) > MOST_WORK:
            return None
        return along(rule, t)

    @cached_property
    def _rules(self) -> dict[float, list[tuple[float, mixture.Rule]]]:
        return {}

    def rule_for(self, c: float, reach: float, count: int) -> mixture.Rule | None:
        """A rule for |t| <= reach: one found before that reaches further serves few t as well."""
        if c not in self._rules and len(self._rules) > 3:
            self._rules.clear()
        known = self._rules.setdefault(c, [])
        for far, rule in known:
            if far == reach or (far > reach and count * len(rule.loss) < FEW_PRODUCTS):
                return rule
        found = self._rule(c, reach)
        if found is not None:
            known.append((reach, found))
        return found

    def _rule(self, c: float, reach: float) -> mixture.Rule | None:
        """Both halves and the atom. The larger half is laid first: what is tiny beside it is left out."""
        right, left = self.sides
        one = part_nodes(right, c, reach, self.h, self.log_atom)
        if one is None:
            return None
        other = part_nodes(left, c, reach, self.h, max(self.log_atom, one.peak))
        if other is None:
            return None
        parts = [one, other]
        if self.low is None:
            zero = np.zeros(1)
            parts.append(
                Nodes(zero, np.array([self.log_atom]), zero, zero, zero, np.array([32.0]), self.log_atom, 0.0)
            )
        return rule_of(parts) if sum(len(part.loss) for part in parts) else None

    @property
    def atomic(self) -> Atoms | None:  # type: ignore[override]
        """The atom at 0, as `Pair.atomic`."""
        return Atoms(np.zeros(1), np.array([math.exp(self.log_atom)])) if self.low is None else None

    def beside_atoms(self, c: float, t: Reals) -> Reals:
        """As `Pair.beside_atoms`."""
        return kinked(self, c)(t)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        if self.low is None:
            return below_envelope(self, c, mixture.level_for(times)).on(t)
        return halves_envelope(self, c).at(t)


class HalvesEnvelope:
    """A bound on |J(c + it)| / J(c) of a part with a low cut."""

    def __init__(self, part: SoftHalves, c: float) -> None:
        whole = float(part.log_mgf(np.array([c]))[0])
        self.sides = []
        self.rest = 0.0
        for side in part.sides:
            m = side.order(c)
            x, fixed, log_w = side.grid_for(m, m)
            log_all = float(side.log_mgf(np.array([c]))[0]) - whole
            if len(x) > MOST_CELLS or not log_all < 600.0:
                self.rest = math.inf
                return
            gap = float(x[1] - x[0])
            upper = tops(side, x, fixed) + np.maximum(m * log_w[1:], m * log_w[:-1])
            inside = upper[: np.searchsorted(x, part.h)]
            gone = float(np.logaddexp.reduce(inside)) + math.log(gap) if len(inside) else -math.inf
            gone = float(np.logaddexp(gone, fixed[0] + m * log_w[0] - math.log(STEEP))) - LOG_ROOT - whole
            self.rest += math.exp(min(gone, 600.0)) * (1 + 1e-9)
            if log_all > math.log(1e-20):
                self.sides.append((math.exp(log_all) * (1 + 1e-9), part_envelope(side, c)))
            else:
                self.rest += 1e-20

    def at(self, t: Reals) -> Reals:
        bound = sum((share * side.at(t) for share, side in self.sides), np.full(len(t), self.rest))
        return np.asarray(np.minimum(bound, 1.0))


@lru_cache(maxsize=64)
def halves_envelope(part: SoftHalves, c: float) -> HalvesEnvelope:
    return HalvesEnvelope(part, c)


@lru_cache(maxsize=64)
def kinked(part: SoftHalves, c: float) -> Callable[[Reals], Reals]:
    """The atom, and a bound on the decay of both halves together, for a part without a low cut.

    Let F = w^m D phi, m = 1 + c and -c, and T F = (F/L')', L = log w, L' = mu r, r = g exp(z)/w. By parts, twice, the
    halves are, at c + i t,

        [F/L'](h) (1/(it) - 1/(it)) - t^-2 ([T F/L'](h), both + integrals of (T F/L')' exp(+-itL), both).

    The first terms cancel, for both F are the same at h. With E = log(F/L'^2), p = log(F/L') and its slope
    p' = (m+1) mu r - x - mu - mu k, the integrand is exp(E) times

        p'' + p' (p' - mu (1 - r)),   p'' = (m+1) mu^2 r (1 - r) - 1 - mu^2 v,

    where (log D)' = -mu k, k = zeta times the hazard rate of the gamma law at zeta (`soft_cut`), which grows, and
    (log D)'' = -mu^2 v, v = k (a - zeta + k), the second factor the mean of what a gamma variable beyond zeta has
    beyond it, which falls. On cells r, x, r (1 - r), k and v lie in intervals; E'' = p'' + mu^2 r (1 - r). Beyond the
    last one E falls with slope STEEP at least, and the polynomial, at most Q there, grows by no more than (1 + y)^2
    exp(2 mu y) within y, for zeta does by exp(mu y); with mu <= MOST_MU this leaves a slope of 2.
    """
    mu, g, h, a = part.cuts.mu, part.cuts.rate, part.h, part.cuts.sharpness
    log_all = float(part.log_mgf(np.array([c]))[0])
    if not math.isfinite(log_all) or mu > MOST_MU:
        return np.ones_like
    ends_at_h = 0.0
    total = 0.0
    for side in part.sides:
        m = side.order(c)
        x = _cells(part, side, m)
        if len(x) > MOST_CELLS:
            return np.ones_like
        end, gap = float(x[-1]), np.diff(x)
        log_w = mixture.log_mixture(mu * x - mu * mu / 2, g)[0]
        log_r = math.log(g) + mu * x - mu * mu / 2 - log_w
        r = np.exp(np.minimum(log_r, 0.0))
        k, excess = np.zeros_like(x), np.full_like(x, a)
        zeta = np.zeros_like(x)
        if part.high is not None:
            zeta = side.zeta(x, part.high)
            k, excess = hazard(a, zeta)
        height = (
            m * log_w + side.log_weight(x) - 0.5 * x * x - LOG_ROOT - 2 * (math.log(mu) + log_r) - log_all
        )
        both = r * (1 - r)
        least = np.minimum(both[:-1], both[1:])
        most = np.where((r[:-1] < 0.5) & (r[1:] > 0.5), 0.25, np.maximum(both[:-1], both[1:]))
        pulls = k[:-1] * excess[1:] * (1 - 1e-6), k[1:] * excess[:-1] * (1 + 1e-6)
        near, far, left, right, slack, tight = x[:-1], x[1:], r[:-1], r[1:], k[:-1], k[1:]
        ranges = []
        for order, less in ((m + 1, 1.0), (m + 2, 2.0)):
            low, high = np.minimum(order * left, order * right), np.maximum(order * left, order * right)
            ranges.append((mu * (low - less - tight) - far, mu * (high - less - slack) - near))
        products = [u * v for u in ranges[0] for v in ranges[1]]
        turns = (m + 1) * mu * mu * least, (m + 1) * mu * mu * most
        curve = np.minimum(*turns) - 1 - mu * mu * pulls[1], np.maximum(*turns) - 1 - mu * mu * pulls[0]
        size = np.maximum(
            np.abs(np.max(products, axis=0) + curve[1]), np.abs(np.min(products, axis=0) + curve[0])
        )
        steep = np.maximum(np.abs(curve[0]), np.abs(curve[1])) + mu * mu / 4
        top = np.maximum(height[1:], height[:-1]) + np.minimum(steep * gap * gap / 8, 50.0)
        total += float(np.exp(np.minimum(top, 600.0)) @ (size * gap))
        q = (end + (abs(m) + 4 + float(zeta[-1]) + a) * mu) ** 2 + 1.0
        total += 4 * q * math.exp(min(float(height[-1]), 600.0))
        ends_at_h += mu * ((m + 1) * g - 1 - float(k[0])) - h
    height_at_h = math.exp(min(float(height[0]), 600.0))
    total += abs(ends_at_h) * height_at_h + 1e-6 * (abs(m) + 4 + a) * mu * height_at_h
    total *= 1 + 1e-6
    atom = math.exp(part.log_atom - log_all) * (1 + 1e-12)
    rest = max(-math.expm1(part.log_atom - log_all), 0.0) * (1 + 1e-12) + 1e-12

    def smooth(t: Reals) -> Reals:
        return np.asarray(np.minimum(1.0, atom + np.minimum(rest, total / np.maximum(t, 1e-150) ** 2)))

    return smooth


def _cells(part: SoftHalves, side: SoftPart, m: float) -> Reals:
    """Cells from h to the end of the window, on which the log integrand of order m hardly bends."""
    mu, a = part.cuts.mu, part.cuts.sharpness
    end = max(side.window(m, m)[1], part.h + mixture.REACH)
    x = np.linspace(part.h, end, 600)
    log_w = mixture.log_mixture(mu * x - mu * mu / 2, part.cuts.rate)[0]
    r = np.exp(np.minimum(math.log(part.cuts.rate) + mu * x - mu * mu / 2 - log_w, 0.0))
    height = m * log_w + side.log_weight(x) - 0.5 * x * x
    bend = 1.0 + (abs(m) + 2.0) * mu * mu * r
    if part.high is not None:
        bend += mu * mu * (a + side.zeta(x, part.high))
    density = np.sqrt(bend) * np.where(height > height.max() - 60.0, 7.0, 1.0)
    count = np.concatenate(([0.0], np.cumsum(np.maximum(density[1:], density[:-1]) * np.diff(x))))
    size = min(max(math.ceil(float(count[-1])), 64), MOST_CELLS + 1)
    return np.interp(np.linspace(0.0, count[-1], size + 1), count, x)


def hazard(a: float, zeta: Reals) -> tuple[Reals, Reals]:
    """zeta times the hazard rate of the gamma law of shape a, and the mean of what is beyond zeta, less zeta.

    Where Q(a, zeta) is no float the first is between zeta - a + 1 and zeta: nothing of weight is there.
    """
    above = gammaincc(a, zeta)
    known = (above > 1e-290) & (zeta > 1e-290)
    safe = np.where(known, zeta, 1.0)
    k = np.exp(np.minimum(a * np.log(safe) - safe - float(gammaln(a)), 700.0)) / np.where(known, above, 1.0)
    k = np.where(known, np.minimum(k, zeta), np.where(zeta > 1.0, zeta, 0.0))
    return k, np.clip(a - zeta + k, np.where(known, 0.0, 1.0), a)


@lru_cache(maxsize=32)
def below_envelope(part: SoftHalves, c: float, level: float) -> mixture.Envelope:
    """As that of `soft_cut`: whatever lies below another cut, and the atom, in full, and the rest decays."""
    return below_envelope_of(part, c, level, kinked(part, c), lambda *ends: halves_of(part.cuts, *ends))
