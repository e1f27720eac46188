"""Moments of w(x) = 1 - g + g exp(mu x - mu^2/2) under N(0,1): what sampling makes of a Gaussian shift."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from dalenius.calculus.pairs.pair import UNIT, Complexes, Reals, Tilted, in_cells
from dalenius.calculus.pairs.panels import parted

CUT = 45.0
"""Quadrature nodes whose weight is below exp(-CUT) of the largest are dropped, and charged to the error."""

REACH = 9.5
"""Standard deviations kept beyond the extreme saddle of the integrand: exp(-REACH^2 / 2) < exp(-CUT)."""


class Rule:
    """M(c + i t) as a weighted sum over losses: weights_j exp(i t loss_j), with an error that grows with |t|.

    `noise` bounds the error of each loss in rounding units, `exponent` is the log weight before scaling,
    `order` the power of w in it, `outside` the error of the rule itself relative to the largest weight, and `slack`
    the rounding of all else in the exponent, in units.
    """

    def __init__(
        self,
        loss: Reals,
        exponent: Reals,
        order: Reals,
        noise: Reals,
        x: Reals,
        outside: float,
        slack: Reals | float = 8.0,
    ) -> None:
        top = float(exponent.max())
        weights = np.exp(exponent - top)
        total = float(weights.sum())
        self.x, self.loss, self.weights = x, loss, weights / total
        self.log_scale = top + math.log(total)
        # Exponents and phases inherit the rounding of the losses.
        rounding = UNIT * (np.abs(order) * noise + 2 * x * x + 2 * np.abs(order * loss) + slack)
        self.fixed = float(self.weights @ rounding) + (3 * len(x) + 8) * UNIT + outside / total
        self.per_t = float(self.weights @ (UNIT * (noise + 8 * np.abs(loss))))

    def along(self, t: Reals) -> Tilted:
        values = transform(t, self.loss, self.weights)
        return Tilted(self.log_scale, values, self.fixed + self.per_t * np.abs(t))

    @cached_property
    def median(self) -> float:
        order = np.argsort(self.loss)
        place = int(np.searchsorted(np.cumsum(self.weights[order]), 0.5))
        return float(self.loss[order[min(place, len(order) - 1)]])

    @cached_property
    def spread(self) -> float:
        """Mean absolute deviation of the discrete law that the rule is: how fast |M| can move with t."""
        return float(self.weights @ np.abs(self.loss - self.median)) * (1 + 1e-9) + 1e-300


CHUNK = 250_000
"""Exponentials held at once: 4 MB."""


def transform(t: Reals, loss: Reals, weights: Reals) -> Complexes:
    """sum_j weights_j exp(i t_k loss_j). On an even grid from 0 most exponentials are products of two others.

    The rounding of phases then is that of two: 2 UNIT |t loss| each, within the 8 that `Rule.per_t` allows.
    """
    size = len(t)
    if size < 8 or size * len(loss) < 1_000 or not np.array_equal(t, np.arange(size) * t[1]):
        return on_grid(t, np.zeros(1), loss, weights).ravel()
    block = math.isqrt(size)
    return on_grid(t[::block], t[:block], loss, weights).ravel()[:size]


def on_grid(starts: Reals, offsets: Reals, loss: Reals, weights: Reals) -> Complexes:
    """sum_j weights_j exp(i (start_k + offset_l) loss_j), some losses at a time."""
    total = np.zeros((len(starts), len(offsets)), dtype=complex)
    many = max(1, CHUNK // max(len(starts), len(offsets)))
    for k in range(0, len(loss), many):
        some = loss[k : k + many]
        coarse = np.exp(1j * np.multiply.outer(starts, some))
        if len(offsets) == 1 and offsets[0] == 0.0:
            total[:, 0] += coarse @ weights[k : k + many]
            continue
        coarse *= weights[k : k + many]
        total += coarse @ np.exp(1j * np.multiply.outer(some, offsets))
    return total


@lru_cache(maxsize=256)
def trapezoid(mu: float, rate: float, added: bool, c: float, reach: float) -> Rule:
    """Trapezoid rule for M(c + i t) = E_{x ~ N(0,1)} w(x)^m, w = 1 - g + g exp(mu x - mu^2/2), |t| <= reach.

    m = 1 + s in the remove direction, m = -s in the add direction. The integrand is analytic for
    |Im x| < pi / mu. On Im x = a, theta = mu a < pi, |w| lies between cos(theta/2) w(Re x) and
    w(Re x) and |arg w| <= theta, so the L1 norm on that line is at most

        exp(a^2/2 + |t| theta) * max(1, cos(theta/2)^Re m) * M(c),

    and the trapezoid error (Trefethen and Weideman 2014, Theorem 5.1) is at most twice that divided
    by exp(2 pi a / h) - 1. Outside the nodes kept, |d log|integrand| / dx| >= REACH on either side, and what
    lies there is below exp(-CUT) of the peak; so are the four vertical sides of `step_for`, a <= 8.5 long.
    """
    m = -c if added else 1.0 + c
    h = step_for(mu, rate, m, reach, 40.0)
    low, high = window(mu, rate, m)
    x = np.arange(math.floor(low / h), math.ceil(high / h) + 1) * h
    log_w, noise = log_mixture(mu * x - mu * mu / 2, rate)
    noise = noise + 4 * (np.abs(mu * x) + mu * mu)
    exponent = m * log_w - 0.5 * x * x + math.log(h) - 0.5 * math.log(2 * math.pi)
    top = float(exponent.max())
    keep = exponent > top - CUT
    dropped = (np.count_nonzero(~keep) + 2.0 / -math.expm1(-REACH * h) + 4 * 8.5 / h) * math.exp(-CUT)
    outside = dropped + 2.2 * math.exp(-40.0) * float(np.exp(exponent[keep] - top).sum())
    loss = -log_w if added else log_w
    return Rule(loss[keep], exponent[keep], np.full(np.count_nonzero(keep), m), noise[keep], x[keep], outside)


def log_mixture(z: Reals, rate: float) -> tuple[Reals, Reals]:
    """log(1 - g + g exp(z)) and a bound on its absolute error in rounding units, z itself known to a few."""
    small = z < 700.0  # exp(z) is a float
    near = np.where(small, z, 0.0)
    if rate > 0.5:  # both terms positive where expm1 would cancel against 1
        near = np.where(
            near < -0.5, np.log((1.0 - rate) + rate * np.exp(near)), np.log1p(rate * np.expm1(near))
        )
    else:
        near = np.log1p(rate * np.expm1(near))
    noise = 8.0 * (np.abs(z) + np.abs(near)) + 8.0 * (rate > 0.5)
    if small.all():
        return near, noise
    far = np.maximum(z, 700.0) + math.log(rate)  # above -45, whatever the rate
    far = far + np.log1p((1.0 - rate) * np.exp(-far))
    value = np.where(small, near, far)
    return value, 8.0 * (np.abs(z) + np.abs(value)) + 4.0 * abs(math.log(rate)) * ~small + 8.0 * (rate > 0.5)


def log_mixture_at(z: float, rate: float) -> float:
    """`log_mixture` at one place, without its error."""
    if z >= 700.0:
        far = z + math.log(rate)
        return far + math.log1p((1.0 - rate) * math.exp(-far))
    if rate > 0.5 and z < -0.5:
        return math.log((1.0 - rate) + rate * math.exp(z))
    return math.log1p(rate * math.expm1(z))


def strip(mu: float, m: float, reach: float) -> tuple[float, float]:
    """A strip |Im x| <= a, and a bound on the logarithm of what the L1 norm grows by on its edge (see trapezoid)."""
    a = min(2.5 / mu, 8.5, math.sqrt(80.0 / max(-m, 1.0)) / mu)
    return a, a * a / 2 + reach * mu * a + min(0.0, m) * math.log(math.cos(mu * a / 2))


PARTS = (0.05, 0.08, 0.13, 0.2, 0.32, 0.5, 0.7, 1.0)


@lru_cache(maxsize=1024)
def step_for(mu: float, rate: float, m: float, reach: float, digits: float) -> float:
    """The largest step whose error bound (see trapezoid) is exp(-digits) relative, for |Im m| up to `reach`.

    Where that takes many nodes only the window is looked at. There |w| shrinks by no more than 1 - q (1 - cos(mu a)),
    q the share g exp(z)/w, which like arg w is largest at the right end. Where that is not enough the L1 norm on
    Im x = a is computed rather than bounded: |exp(i t log w)| = exp(-t arg w), and arg w is tiny where exp(z) is. For
    real x let u = m log w - x^2/2, |u''| <= bend. On a cell of width `gap` u is at most the larger of its ends + bend
    gap^2/8, its mean at least that of the ends - bend gap^2/8, and arg w at most that at the right end.

    The window is closed by vertical sides at half nodes x, less than 1 beyond its ends, where the kernel
    1/(exp(-2 pi i (x + i y)/h) - 1) of the residue theorem is below exp(-2 pi y/h), and the integrand below
    exp(u(x) + y^2/2 + t arg w) cos(mu y/2)^min(m, 0). With v = g exp(z)/(1-g), the derivative of arg w by y,
    mu Re (v exp(i mu y)/(1 + v exp(i mu y))), falls with y where v <= 1 and grows where v >= 1: arg w is at
    most y/a times the larger of mu a v/(1+v) and its value at y = a. So are y^2/2, -log cos and, for mu a <= pi/2,
    -log(1 - q (1 - cos)), which are convex, y/a times theirs. Hence, if 2 pi a/h is at least the sum of the three at
    y = a, the side is at most a exp(u(x)); see `trapezoid`.
    """
    a, growth = strip(mu, m, reach)
    best = 2 * math.pi * a / (growth + digits)
    low, high = window(mu, rate, m)
    if (high - low) / best < 100:
        return best
    far = rate * math.exp(min(mu * (high + 1.0) - mu * mu / 2, 700.0))
    share = far / (1.0 - rate + far)
    for part in PARTS:
        a = part * min(1.5 / mu, 8.5)
        theta = mu * a
        turn_there = math.atan2(far * math.sin(theta), 1.0 - rate + far * math.cos(theta))
        widening = a * a / 2
        if m < 0:
            widening += m * max(math.log(math.cos(theta / 2)), math.log1p(-share * (1.0 - math.cos(theta))))
        sides = reach * max(theta * share, turn_there) + widening
        best = max(best, min(2 * math.pi * a / max(reach * turn_there + widening + digits, sides), 0.5))
    if (high - low) / best < 1000:
        return best
    bend = 1.0 + abs(m) * mu * mu / 4
    size = math.ceil((high - low + 2) * math.sqrt(bend) / 0.2) + 2
    if size > 20_000:
        return best
    x = np.linspace(low - 1.0, high + 1.0, size)
    z = mu * x - mu * mu / 2
    u = m * log_mixture(z, rate)[0] - 0.5 * x * x
    within = bend * float(x[1] - x[0]) ** 2 / 8
    u -= u.max()
    total = math.log(float(np.exp((u[1:] + u[:-1]) / 2).sum())) - within
    weight = np.maximum(u[1:], u[:-1]) + within - total
    ratio = rate * np.exp(np.minimum(z[1:], 700.0))
    last = float(ratio[-1])
    for a in map(float, np.geomspace(0.05, 1.0, 8) * min(2.8 / mu, 8.5)):
        theta = mu * a
        turn = np.arctan2(ratio * math.sin(theta), 1.0 - rate + ratio * math.cos(theta))
        exponent = weight + reach * turn
        top = float(exponent.max())
        widening = a * a / 2 + min(0.0, m) * math.log(math.cos(theta / 2))
        growth = top + math.log(float(np.exp(exponent - top).sum())) + widening
        sides = reach * max(theta * last / (1.0 - rate + last), float(turn[-1])) + widening
        best = max(best, min(2 * math.pi * a / max(growth + digits, digits, sides), 0.5))
    return best


@lru_cache(maxsize=4096)
def window(mu: float, rate: float, m: float) -> tuple[float, float]:
    """An interval outside which log|integrand|, u(x) = m log w - x^2/2, has slope at least REACH."""
    if m >= 0:  # u' = -x + m mu r(x) with 0 < r < 1
        return -REACH, m * mu + REACH
    # u'' <= -1: one peak, where x = m mu r(x) < 0.
    low, high = m * mu, 0.0
    while high - low > 0.05:
        middle = (low + high) / 2
        r = rate * math.exp(mu * middle - mu * mu / 2)
        r /= 1.0 - rate + r
        low, high = (middle, high) if m * mu * r > middle else (low, middle)
    return low - REACH - 1e-6, high + REACH + 1e-6


def size_for(mu: float, rate: float, m: float, reach: float) -> float:
    """How many nodes a rule would have."""
    low, high = window(mu, rate, m)
    return (high - low) / step_for(mu, rate, m, reach, 40.0)


MOST_TILT, FEW_TILTS = 1e6, 1e3
MOST_WORK = 1e9


def log_moments(mu: float, rate: float, m: Reals) -> Reals:
    """log E w(x)^m for real m (the same rule, error about 1e-13); inf for orders beyond use."""
    result = np.full(len(m), np.inf)
    usable = np.flatnonzero(np.abs(m) * mu <= MOST_TILT)
    # Orders of similar size share nodes: the window of the largest holds that of the others.
    usable = usable[np.argsort(np.abs(m[usable]), kind="stable")]
    for block in np.array_split(usable, max(1, len(usable) // 36)):
        if len(block) == 0:
            continue
        extreme = float(m[block[-1]])
        h = min(step_for(mu, rate, extreme, 0.0, 36.0), step_for(mu, rate, float(m[block[0]]), 0.0, 36.0))
        windows = [window(mu, rate, float(m[block[0]])), window(mu, rate, extreme)]
        low, high = min(w[0] for w in windows), max(w[1] for w in windows)
        if (high - low) / h * len(block) > 1e8:
            break  # inf: the caller does without
        x = np.arange(math.floor(low / h), math.ceil(high / h) + 1) * h
        exponent = np.multiply.outer(m[block], log_mixture(mu * x - mu * mu / 2, rate)[0]) - 0.5 * x * x
        top = exponent.max(axis=1)
        total = np.exp(exponent - top[:, None]).sum(axis=1)
        result[block] = top + np.log(total * h) - 0.5 * math.log(2 * math.pi)
    result[(m == 0) | (m == 1)] = 0.0
    return result


DIGITS = 90.0
"""The rule of `log_moments_up` errs by exp(-DIGITS): far below what is left of M - 1."""


def log_moments_up(mu: float, rate: float, s: Reals, added: bool) -> Reals:
    """log M(s) rounded up, s > 0, with M(s) = E w^m, m = 1 + s, or -s in the add direction.

    E w = 1, so M - 1 = E f with f = w^m - 1 - m (w - 1), which is positive; in the remove direction it is
    w expm1(s v) - s (w - 1), in the other expm1(-s v) + s (w - 1), v = log w. The trapezoid rule integrates
    w^m, w and 1 each with the error of `trapezoid`, with the strip of the most negative m. Orders beyond
    use, and rates at which w loses its digits, are left to `log_moments`.
    """
    near = (1.0 + s) * mu <= 60.0
    result = np.full(len(s), math.inf)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is left to `log_moments`
        result[near] = [_log_moment_up(mu, rate, x, added) for x in s[near].tolist()]
    rest = ~np.isfinite(result)
    if rest.any():
        m = -s[rest] if added else 1.0 + s[rest]
        result[rest] = log_moments(mu, rate, m) * (1 + 1e-12) + 1e-12
    return result


def _log_moment_up(mu: float, rate: float, s: float, added: bool) -> float:
    m = -s if added else 1.0 + s
    a, growth = strip(mu, m, 0.0)
    h = 2 * math.pi * a / (growth + DIGITS)
    ends = [window(mu, rate, power) for power in (m, 0.0, 1.0)]
    low, high = min(e[0] for e in ends) - 5.0, max(e[1] for e in ends) + 5.0
    x = np.arange(math.floor(low / h), math.ceil(high / h) + 1) * h
    z = mu * x - mu * mu / 2
    if float(z.max()) > 700.0:
        return math.inf
    gain = rate * np.expm1(z)  # w - 1
    w = 1.0 + gain
    off_w = UNIT * (4 * np.abs(gain) + 4 * (np.abs(mu * x) + mu * mu) * rate * np.exp(z))
    if float(w.min()) <= 0.0 or float((off_w / w).max()) > 1e-6:
        return math.inf
    v = np.log1p(gain)
    if s * float(np.abs(v).max()) > 600.0:
        return math.inf
    power = np.expm1(-s * v if added else s * v)
    first = power if added else w * power
    second = s * gain if added else -s * gain
    slope = s * np.abs(1 - (1 + power) / w) if added else (1 + s) * np.abs(power)
    density = np.exp(-0.5 * x * x) * (h / math.sqrt(2 * math.pi))
    value = np.maximum(first + second, 0.0)
    off = 8 * UNIT * (np.abs(first) + np.abs(second)) + 2 * slope * off_w + UNIT * (2 * x * x + 16) * value
    # The three integrands at the ends, which fall from there on with slope REACH at least.
    sizes = (1 + power if added else w * (1 + power)) + 1 + abs(m) * (w + 1)
    tails = float((sizes * density)[[0, -1]].sum()) / -math.expm1(-REACH * h)
    rule = 2.2 * math.exp(-DIGITS) * float(sizes @ density)
    total = (float(value @ density) + float(off @ density)) * (1 + (3 * len(x) + 8) * UNIT) + tails + rule
    if not math.isfinite(total):
        return math.inf
    return math.log1p(total) * (1 + 4 * UNIT)


class Envelope(NamedTuple):
    """|M(c+it)|/M(c) is at most values_j on [breaks_j, breaks_{j+1}), and smooth(t) from t on."""

    breaks: Reals
    values: Reals
    smooth: Callable[[Reals], Reals]

    def on(self, t: Reals) -> Reals:
        """The bound on the cells of `t`, the last one unbounded."""
        return np.asarray(np.minimum(in_cells(self.values, self.breaks, t), self.smooth(t)))


@lru_cache(maxsize=64)
def envelope_for(mu: float, rate: float, added: bool, c: float, level: float) -> Envelope:
    """Two bounds on the tilted characteristic function of L.

    For all large t: cut off the outcomes left of some x_0, where L hardly moves; what they weigh is
    `left`. The rest has a density in L of total variation at most 2 (k + 1) times its largest value,
    k its number of maxima, and a characteristic function below variation / t. With
    u(x) = log(phi w^m / |L'|), u' = -x - mu + (m + 1) mu r(x), r = g exp(z)/w a sigmoid, which a line meets
    at most three times: k <= 2, and k = 1 where u' is monotone.
    For smaller t: evaluated on a geometric grid; |M| moves by at most the mean absolute deviation per unit
    of t.
    """
    m = -c if added else 1.0 + c
    rule = trapezoid(mu, rate, added, c, 0.0)
    bend = 1.0 + (abs(m) + 1.0) * mu * mu / 4  # bounds |u''| and the curvature of the tilted log density
    low, high = window(mu, rate, m)
    low, high = low - mu, high + mu
    x = np.linspace(low, high, math.ceil((high - low) * math.sqrt(bend) / 0.2) + 2)
    gap = float(x[1] - x[0])
    z = mu * x - mu * mu / 2
    log_w, _ = log_mixture(z, rate)
    log_f = m * log_w - 0.5 * x * x - 0.5 * math.log(2 * math.pi) - rule.log_scale + bend * gap * gap / 8
    log_g = log_f - (math.log(mu * rate) + z - log_w)
    f = np.exp(log_f)
    left = np.concatenate(([0.0], np.cumsum(gap * np.maximum(f[1:], f[:-1]))))
    largest = np.exp(np.minimum(np.maximum.accumulate(log_g[::-1])[::-1], 700.0))
    modes = 1.0 if (m + 1.0) * mu * mu / 4 <= 1.0 else 2.0
    some = np.linspace(0, len(x) - 1, 24).astype(int)
    left, variation = left[some] * (1 + 1e-9), 2 * (modes + 1) * largest[some] * (1 + 1e-9)

    left = left + 1e-14  # what lies beyond the window

    def smooth(t: Reals) -> Reals:
        with np.errstate(over="ignore"):
            return np.asarray(np.min(left[:, None] + variation[:, None] / np.maximum(t, 1e-300), axis=0))

    right = np.cumsum(gap * np.maximum(f[1:], f[:-1])[::-1])[::-1]
    cut = int(np.searchsorted(-right, -0.02 * (1.0 - level)))  # few outcomes, far out: not worth resolving

    def law(reach: float) -> Law | None:
        ends = float(x[0]), float(x[min(cut, len(x) - 1)])
        missed = (float(right[cut]) if cut < len(right) else 0.0) * (1 + 1e-9) + 1e-14
        return bulk(mu, rate, m, added, ends, reach, rule.log_scale, missed)

    return Envelope(*stepped(rule.spread, smooth, law, level), smooth)


MANY, MUCH = 60.0, 0.1
"""How often a uniform law must occur to be enough, and how much of the variance must be its."""


class Uniform(NamedTuple):
    """Uniform laws that a law of L is at least: shares p, widths w. Many steps need no more to decay.

    What is left has a transform of at most 1 - p, and that of a uniform law is sin(y)/y, y = t w/2, which falls until
    y = 2.5 and is nowhere as large again.
    """

    shares: Reals
    widths: Reals
    variance: float
    """Roughly that of all of the law."""

    def serves(self, times: int, much: float = MUCH) -> bool:
        """Whether so many steps decay far enough, and not much later than they do."""
        enough = times * float(self.shares.max()) >= MANY
        return enough and float((self.shares * self.widths**2).max()) / 12 >= much * self.variance

    def on(self, t: Reals) -> Reals:
        """A bound on |M(c + iu)|/M(c) for all u >= t."""
        y = np.multiply.outer(0.5 * self.widths, t)
        falling = np.minimum(y, 2.5)
        size = np.minimum(np.sin(falling) / np.maximum(falling, 1e-300), 1 / np.maximum(y, 1.0))
        size[y < 1e-8] = 1.0
        bound = 1.0 - self.shares[:, None] * (1.0 - size)
        return np.asarray(bound.min(axis=0) + 1e-15)


NOTHING = Uniform(np.zeros(1), np.zeros(1), math.inf)
FALLS = np.array([0.5, 1.0, 2.0, 3.0])


def uniform_in(log_density: Reals, loss: Reals, log_slope: Reals, dip: float, variance: float) -> Uniform:
    """Uniform laws in that with this density by x, relative to its mass.

    At places x in a row, between which the log density dips by no more than `dip` below the lower one; the loss is
    monotone in x, and so is the logarithm of its slope. The density by the loss is that by x over the slope.
    """
    keep = log_density > float(log_density.max()) - FALLS[:, None]
    first, last = keep.argmax(axis=1), keep.shape[1] - 1 - keep[:, ::-1].argmax(axis=1)
    widths = np.abs(loss[last] - loss[first])
    least = np.array([log_density[i : j + 1].min() for i, j in zip(first, last, strict=True)])
    shares = widths * np.exp(least - dip - np.maximum(log_slope[first], log_slope[last])) * (1 - 1e-9)
    return Uniform(np.minimum(shares, 1.0), widths * (1 - 1e-9), variance)


def variance_of(weights: Reals, loss: Reals) -> float:
    """That of a discrete law of mass 1."""
    return float(weights @ (loss - float(weights @ loss)) ** 2)


@lru_cache(maxsize=64)
def uniform_for(mu: float, rate: float, added: bool, c: float) -> Uniform:
    """That of the tilted law, at the nodes of its rule: m log w has no curvature above |m| mu^2/4."""
    m = -c if added else 1.0 + c
    rule = trapezoid(mu, rate, added, c, 0.0)
    gaps = np.diff(rule.x)
    if len(gaps) < 8 or float(gaps.max()) > 1.5 * float(gaps.min()):  # nodes between two modes were left out
        return NOTHING
    gap = float(gaps.max())
    log_w = -rule.loss if added else rule.loss
    log_slope = math.log(mu * rate) + mu * rule.x - mu * mu / 2 - log_w
    dip = max(m, 0.0) * (mu * gap) ** 2 / 32
    return uniform_in(
        np.log(rule.weights / gap), rule.loss, log_slope, dip, variance_of(rule.weights, rule.loss)
    )


MUCH_TO_LOOK_AT = 20_000
"""Exponentials that `Law.on_cells` takes without a thought."""
LIGHT, FIRST_CELLS = 1e-4, 6
HARDLY = 1 / 80
"""A level to this power is no bound worth having: that of many steps is then exp(-1/2)."""


class Law(NamedTuple):
    """A discrete law whose transform is within `error` of M(c + i t)/M(c), for |t| up to some reach."""

    loss: Reals
    weights: Reals
    error: float

    def near_zero(self, breaks: Reals) -> Reals:
        """Bounds on |M|/M(c) between the breaks, good for small t.

        |M|^2 = E cos(t (L - L')) <= 1 - t^2 v + t^4 (2 m + 6 v^2)/24 with v and m the second and fourth
        central moments; outcomes far from the middle are set apart and count in full.
        """
        start, end = breaks[:-1] ** 2, breaks[1:] ** 4 / 24
        best = np.ones(len(start))
        mean = float(self.weights @ self.loss)
        distance = np.abs(self.loss - mean)
        spread = float(self.weights @ distance)
        total = float(self.weights.sum())
        for cut in (4.0, 15.0, 60.0):
            bulk = distance <= cut * spread
            weights, away = self.weights[bulk], self.loss[bulk]
            mass = float(weights.sum())
            weights = weights / mass
            square = (away - float(weights @ away)) ** 2
            second, fourth = float(weights @ square) * (1 - 1e-9), float(weights @ square**2) * (1 + 1e-9)
            squared = 1 - start * second + end * (2 * fourth + 6 * second**2)
            best = np.minimum(best, total - mass + mass * np.sqrt(np.clip(squared, 0.0, 1.0)))
        return np.asarray(best + self.error + 1e-14)

    def on_cells(self, edges: Reals, useless: float = math.inf) -> Reals:
        """Bounds on |M|/M(c) between the edges: its value in the middle, and how fast it can move.

        Where some of them are above `useless` and there are many to find, all may be 1 instead.

        Where cells are equally wide, up to rounding, so are the places where it is looked at.
        """
        middle = (edges[1:] + edges[:-1]) / 2
        # |sum w exp(i t (L - a))| moves by at most sum w |L - a| per unit of t, whatever a.
        pace = float(self.weights @ np.abs(self.loss - float(self.weights @ self.loss)))
        half = np.diff(edges) / 2
        if len(middle) * len(self.loss) > MUCH_TO_LOOK_AT:
            # Of many outcomes most weigh nothing beside what the bound moves by within a cell.
            heavy = self.weights > LIGHT * pace * float(half.min()) / len(self.loss)
            light = float(self.weights[~heavy].sum())
            some = Law(self.loss[heavy], self.weights[heavy], self.error + light * (1 + 1e-9))
            first = slice(None, None, -(-len(middle) // FIRST_CELLS))
            if float(some._at_middles(middle[first], half[first], pace).min()) > useless:
                return np.ones_like(middle)
            return some._at_middles(middle, half, pace)
        return self._at_middles(middle, half, pace)

    def _at_middles(self, middle: Reals, half: Reals, pace: float) -> Reals:
        even = middle[0] + (middle[-1] - middle[0]) * np.arange(len(middle)) / max(len(middle) - 1, 1)
        if len(middle) > 8 and float(np.abs(even - middle).max()) < 1e-9 * float(half.max()):
            block = math.isqrt(len(middle))
            values = on_grid(even[::block], even[:block] - even[0], self.loss, self.weights)
            size, half = np.abs(values.ravel()[: len(middle)]), half * (1 + 1e-8)
        else:
            real, imaginary = np.zeros(len(middle)), np.zeros(len(middle))
            many = max(1, 4 * CHUNK // len(middle))
            for k in range(0, len(self.loss), many):
                phase = np.multiply.outer(middle, self.loss[k : k + many])
                real += np.cos(phase) @ self.weights[k : k + many]
                imaginary += np.sin(phase) @ self.weights[k : k + many]
            size = np.hypot(real, imaginary)
        return np.asarray(size + pace * half + self.error)


GAUSS, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(16)
RHO = 2.5
MOST_PANELS = 2000


def bulk(
    mu: float,
    rate: float,
    m: float,
    added: bool,
    ends: tuple[float, float],
    reach: float,
    log_scale: float,
    missed: float,
) -> Law | None:
    """Gauss-Legendre panels for the part of M(c + i t) between two points, for |t| <= reach.

    On the Bernstein ellipse RHO of a panel of half width r, with half axes `long` and b, theta = mu b <= 1.4:
    |w| is at most w(Re x) and at least cos(theta/2) w(Re x), and |arg w| is at most theta min(1, 2 q), q
    the share g exp(z)/w at the right end of the ellipse (arg w grows with theta at the rate
    Re u/(1+u), |u| = q/(1-q), which is at most q for |u| <= 1 and at most 1 otherwise). Between
    its nodes and out to the ends of the ellipse log |integrand| on the real axis moves by at most
    (|x| + |m| mu q) times the distance, itself at most long - 0.95 r. The rule errs by at most
    64/15 r RHO^-2n/(1 - RHO^-2) times the largest modulus (Trefethen 2013, Theorem 19.3).
    """
    long, tall = (RHO + 1 / RHO) / 2, (RHO - 1 / RHO) / 2
    widest = min(0.5, 1.4 / (mu * tall), math.sqrt(60.0 / max(-m, 1.0)) / (mu * tall))
    odds = math.log(rate) - math.log1p(-rate) - mu * mu / 2

    def look(left: Reals, half: Reals) -> tuple[Reals, ...]:
        right = left + (1 + long) * half
        q = 1.0 / (1.0 + np.exp(-np.clip(odds + mu * right, -700.0, 700.0)))
        turn = reach * mu * tall * np.minimum(1.0, 2 * q) * half
        steep = (np.maximum(np.abs(left), np.abs(right)) + half + abs(m) * mu * q) * half
        growth = turn + (tall * half) ** 2 / 2 + steep * (long - 0.95)
        if m < 0:
            growth += m * np.log(np.cos(mu * tall / 2 * half))
        return np.ceil(np.maximum(turn / 10.0, steep / 15.0)), growth

    found = parted(*ends, widest, look, MOST_PANELS)
    if found is None:
        return None
    left, half, growths = found
    x = (left + half)[:, None] + half[:, None] * GAUSS
    log_w, noise = log_mixture(mu * x - mu * mu / 2, rate)
    exponent = m * log_w - 0.5 * x * x - 0.5 * math.log(2 * math.pi) - log_scale
    weights = np.exp(exponent) * (half[:, None] * GAUSS_WEIGHTS)
    each = np.exp(exponent.max(axis=1) + growths) * half
    error = 64 / 15 * RHO ** (-2 * len(GAUSS)) / (1 - RHO**-2) * float(each.sum())
    rounding = UNIT * (
        (abs(m) + reach) * (noise + 8 * (np.abs(mu * x) + mu * mu + np.abs(log_w))) + 2 * x * x + 64.0
    )
    error += float(np.sum(weights * rounding)) + 1e-12
    loss = -log_w if added else log_w
    return Law(loss.ravel(), weights.ravel(), error + missed)


def level_for(times: int) -> float:
    """A bound worth having on |M|/M(c) that will be raised to this power."""
    return min(max(math.exp(-40.0 / times), 0.5), 1.0 - 1e-6)


def stepped(
    spread: float, smooth: Callable[[Reals], Reals], law: Callable[[float], Law | None], level: float
) -> tuple[Reals, Reals]:
    """Bounds on |M(c+it)|/M(c) on cells, where that for all large t is above `level`.

    `spread` is about the mean absolute deviation of L, `law(reach)` a law good for t up to there.
    """
    unit = 1.0 / spread
    with np.errstate(over="ignore"):  # hardly any spread: the last ends are inf
        ends = unit * 1.3 ** np.arange(102.0)
    enough = smooth(ends) <= level
    # A cell of another grid may begin a little before the smooth bound is good enough.
    end = 1.2 * float(ends[int(np.argmax(enough))]) if enough.any() else float(ends[-1])
    finest = 0.5 * unit if level > 0.9 else 0.25 * unit
    end = min(end, 80 * finest)
    fine = law(end)
    if fine is None:
        return np.zeros(1), np.ones(1)
    breaks = 1e-5 * unit * 1.1 ** np.arange(120.0)
    breaks = breaks[breaks <= end]
    values = fine.near_zero(breaks)
    good = np.flatnonzero(values <= level)
    start = int(good[-1]) + 1 if len(good) else int(np.argmin(values))
    grid = [float(breaks[start])]
    while grid[-1] < end:
        grid.append(min(grid[-1] + min(0.2 * grid[-1], finest), end))
    edges = np.array(grid)
    values = np.concatenate(([1.0], values[:start], fine.on_cells(edges, level**HARDLY), [1.0]))
    return np.concatenate(([0.0], breaks[:start], edges)), np.minimum(values * (1 + 1e-12), 1.0)
