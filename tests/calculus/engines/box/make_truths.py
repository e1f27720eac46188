"""`python -m tests.calculus.engines.box.make_truths`: delta of short runs at random points of the box, to 50 digits.

Independent of the engines: no transform, no grid, no composition theorem. The losses of all steps but the last are
integrated out one by one, and the last step has a closed form:

    D_n(y) = E[D_{n-1}(y - L_1)],   D_1(y) = P(L > y) - e^y Q(L > y).

Arithmetic is in balls of 320 bits. Between the places where the integrand is not smooth, quadrature (tanh-sinh beside
them, Gauss-Legendre elsewhere) is done with two steps, and both must agree to 50 digits, or the point is left out.
Discrete pairs are enumerated. The epsilon at which delta is asked is where a coarse quadrature has the delta of the
point. Takes about half an hour; `... make_truths "3 steps" long` makes these groups alone.
"""

from __future__ import annotations

import json
import math
import signal
import sys
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import combinations_with_replacement, pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks import box_points
from benchmarks.box_points import Point
from flint import arb, ctx

from dalenius.calculus.pairs.pair import Bounds

SEED = 14
KEPT = Path(__file__).with_name("truths.json")
COARSE = 6
STEPS = {1: 120, 2: 180, 3: 24}
"""How many points have so many steps."""
FINE = {1: (64, 64), 2: (96, 72), 3: (48, 40)}
"""Nodes a unit of the two quadratures that must agree, by the number of steps."""
PAIRS = 46
LONG, PATIENCE = 130, 0.7
"""How many long runs, and after how many seconds of processor time one is left out."""
ctx.prec = 320
ROOT2 = arb(2).sqrt()


def tail(x: arb) -> arb:
    """P(N(0, 1) > x)."""
    return (x / ROOT2).erfc() / 2


@dataclass(frozen=True)
class Normal:
    """N(0, sigma^2), shifted by 1 with the record."""

    sigma: float

    @property
    def width(self) -> float:
        return self.sigma

    @cached_property
    def scale(self) -> arb:
        return arb(self.sigma)

    def above(self, x: arb, shift: int) -> arb:
        return tail((x - shift) / self.scale)

    def below(self, x: arb, shift: int) -> arb:
        return tail((shift - x) / self.scale)

    def density(self, x: arb, shift: int) -> arb:
        z = (x - shift) / self.scale
        return (-z * z / 2).exp() / (self.scale * ROOT2 * arb.pi().sqrt())

    def log_ratio(self, x: arb) -> arb:
        """log of the density with the shift over that without."""
        return (2 * x - 1) / (2 * self.scale**2)

    def place(self, log_ratio: arb) -> arb:
        return arb(1) / 2 + self.scale**2 * log_ratio

    @cached_property
    def ends(self) -> tuple[arb, arb]:
        """Nothing of weight 1e-90 is outside."""
        return -arb(20.5) * self.scale, 1 + arb(20.5) * self.scale

    steepest = math.inf
    atoms = False


@dataclass(frozen=True)
class Laplace:
    """Laplace noise of this scale, shifted by 1 with the record."""

    b: float

    @property
    def width(self) -> float:
        return self.b

    @cached_property
    def scale(self) -> arb:
        return arb(self.b)

    def above(self, x: arb, shift: int) -> arb:
        z = (x - shift) / self.scale
        return (-z).exp() / 2 if z > 0 else 1 - z.exp() / 2

    def below(self, x: arb, shift: int) -> arb:
        z = (x - shift) / self.scale
        return z.exp() / 2 if z < 0 else 1 - (-z).exp() / 2

    def density(self, x: arb, shift: int) -> arb:
        return (-abs(x - shift) / self.scale).exp() / (2 * self.scale)

    def log_ratio(self, x: arb) -> arb:
        return (2 * x - 1) / self.scale

    def place(self, log_ratio: arb) -> arb:
        return (1 + self.scale * log_ratio) / 2

    ends = (arb(0), arb(1))
    atoms = True

    @cached_property
    def steepest(self) -> arb:
        return 1 / self.scale


@dataclass(frozen=True)
class Step:
    """One step's loss L: of (1-q) W + q R against W, or the other way round; or the symmetric pair above loss 0."""

    noise: Normal | Laplace
    rate: float
    kind: str

    @cached_property
    def q(self) -> arb:
        return arb(self.rate)

    def loss(self, log_ratio: arb) -> arb:
        value = (1 - self.q + self.q * log_ratio.exp()).log()
        return -value if self.kind == "add" else value

    @cached_property
    def least(self) -> arb | float:
        if self.kind == "both":
            return -self.greatest
        if self.kind == "remove":
            return self.loss(-self.noise.steepest) if self.noise.atoms else (1 - self.q).log()
        return self.loss(self.noise.steepest) if self.noise.atoms else -math.inf

    @cached_property
    def greatest(self) -> arb | float:
        if self.kind == "add":
            return self.loss(-self.noise.steepest) if self.noise.atoms else -(1 - self.q).log()
        return self.loss(self.noise.steepest) if self.noise.atoms else math.inf

    def mixed(self, at: Any, x: arb) -> arb:
        """A probability or density of (1-q) W + q R."""
        return (1 - self.q) * at(x, 0) + self.q * at(x, 1)

    def delta(self, y: arb) -> arb:
        """D_1(y), by the place where L = y."""
        if y <= self.least:
            return 1 - y.exp()
        if y >= self.greatest:
            return arb(0)
        if self.kind == "both" and y < 0:
            return 1 - y.exp() + y.exp() * self.delta(-y)
        noise = self.noise
        if self.kind == "add":
            x = self.place(y)
            return noise.below(x, 0) - y.exp() * self.mixed(noise.below, x)
        x = self.place(y)
        return self.mixed(noise.above, x) - y.exp() * noise.above(x, 0)

    def place(self, y: arb) -> arb:
        """Where L = y."""
        ratio = (-y if self.kind == "add" else y).exp()
        return self.noise.place(((ratio - 1 + self.q) / self.q).log())

    def density(self, x: arb) -> arb:
        """Of x, under P."""
        return self.noise.density(x, 0) if self.kind == "add" else self.mixed(self.noise.density, x)

    @cached_property
    def atoms(self) -> list[tuple[arb, arb]]:
        """Losses of positive probability, and that probability."""
        noise, found = self.noise, []
        if noise.atoms:
            low, high = self.loss(-noise.steepest), self.loss(noise.steepest)
            if self.kind == "add":
                found = [(low, noise.below(arb(0), 0)), (high, noise.above(arb(1), 0))]
            else:
                found = [
                    (low, self.mixed(noise.below, arb(0))),
                    (high, self.mixed(noise.above, arb(1))),
                ]
        if self.kind == "both":
            positive = [(a, w) for a, w in found if a > 0]
            above = self.mixed(noise.above, arb(1) / 2)
            without = noise.above(arb(1) / 2, 0)
            found = positive + [(-a, w * (-a).exp()) for a, w in positive] + [(arb(0), 1 - above - without)]
        return found


@cache
def nodes(per_unit: int) -> list[tuple[arb, arb]]:
    """Tanh-sinh on [-1, 1] with step 1 / per_unit: places and weights."""
    h = arb(1) / per_unit
    found = []
    for k in range(-5 * per_unit, 5 * per_unit + 1):
        t = h * k
        u = arb.pi() / 2 * t.sinh()
        weight = h * arb.pi() / 2 * t.cosh() / u.cosh() ** 2
        if weight > 1e-65:
            found.append((u.tanh(), weight))
    return found


@cache
def smooth_nodes(count: int) -> list[tuple[arb, arb]]:
    """Gauss-Legendre on [-1, 1]."""
    return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]


def delta(steps: tuple[Step, ...], y: arb, per_unit: int, least: float) -> arb:
    """D_n(y) of all steps together; nodes that add less than `least` are left out."""
    if not y > sum((step.least for step in steps), arb(0)):
        return 1 - y.exp()
    if not y < sum((step.greatest for step in steps), arb(0)):
        return arb(0)
    if len(steps) == 1:
        return steps[0].delta(y)
    first, rest = steps[0], steps[1:]
    total = sum((w * delta(rest, y - a, per_unit, least) for a, w in first.atoms if w > 0), arb(0))
    low, high = first.noise.ends
    if first.kind == "both":
        low = arb(1) / 2
    for start, end, smooth in panels(first, rest, y, low, high):
        middle, half = (start + end) / 2, (end - start) / 2
        for place, weight in smooth_nodes(3 * per_unit // 2) if smooth else nodes(per_unit):
            x = middle + half * place
            share = weight * half * first.density(x)
            if share < least:
                continue
            left = least / float(share)
            loss = first.loss(first.noise.log_ratio(x))
            value = delta(rest, y - loss, per_unit, left)
            if first.kind == "both":
                value += (-loss).exp() * delta(rest, y + loss, per_unit, left)
            total += share * value
    return total.mid()


def panels(first: Step, rest: tuple[Step, ...], y: arb, low: arb, high: arb) -> list[tuple[arb, arb, bool]]:
    """Pieces of [low, high] cut where D of the rest has a corner, and not longer than a few standard deviations.

    And whether a piece is away from all corners.
    """
    corners = [
        [a for a in (s.least, s.greatest, *(a for a, _ in s.atoms)) if abs(a) < math.inf] for s in rest
    ]
    sums = [arb(0)]
    for options in corners:
        sums = [a + b for a in sums for b in options] if options else []
    signs = (1, -1) if first.kind == "both" else (1,)
    cuts = {0.0: low, 1.0: high}
    for total in sums:
        for sign in signs:
            loss = sign * (y - total)
            ratio = (-loss if first.kind == "add" else loss).exp() - 1 + first.q
            if ratio > 0:
                x = first.place(loss)
                if low < x < high:
                    cuts[float(x)] = x
    edges = sorted(cuts.values(), key=float)
    longest = 4 * first.noise.scale
    found: list[tuple[arb, arb, bool]] = []
    for start, end in pairwise(edges):
        if not end - start > 1e-40:
            continue
        pieces = max(1, math.ceil(float((end - start) / longest)))
        marks = [start + (end - start) * k / pieces for k in range(pieces + 1)]
        found += [(a, b, 0 < k < pieces - 1) for k, (a, b) in enumerate(pairwise(marks))]
    return found


def steps_of(point: Point) -> tuple[Step, ...]:
    """Narrow losses first: what is left then varies slowly."""
    found = []
    if point.family == box_points.DISCRETE:
        return ()
    for part in point.parts:
        kind, rate = point.direction, part["rate"]
        if part["kind"].startswith("without"):
            kind, rate = "both", max(1, round(rate * box_points.RECORDS)) / box_points.RECORDS
        laplace = part["kind"].lower().endswith("laplace")
        noise = Laplace(part["noise"]) if laplace else Normal(part["noise"])
        found += [Step(noise, rate, kind)] * part["times"]
    return tuple(sorted(found, key=lambda step: (step.rate / step.noise.width, step.rate)))


def enumerated(part: dict[str, Any], y: arb) -> arb:
    """Sum of (P - e^y Q)_+ over the outcomes of all repetitions."""
    p, q = ([arb(x) for x in law] for law in box_points.outcomes(part))
    n, total = part["times"], arb(0)
    for chosen in combinations_with_replacement(range(len(p)), n):
        ways, first, second = math.factorial(n), arb(1), arb(1)
        for k in set(chosen):
            ways //= math.factorial(chosen.count(k))
        for k in chosen:
            first, second = first * p[k], second * q[k]
        if first > y.exp() * second:
            total += ways * (first - y.exp() * second)
    return total


def shortened(point: Point, steps: int) -> Point:
    """The same with so few steps, and one direction."""
    direction = point.direction
    if direction == "both":
        direction = "remove" if point.index % 3 else "add"
    if len(point.parts) > 1:
        parts = [{**part, "times": 1} for part in point.parts[:steps]]
    else:
        parts = [{**part, "times": steps} for part in point.parts]
    return replace(point, parts=parts, direction=direction)


def epsilon_at(point: Point) -> float | None:
    """About where the delta of the point is met; None outside the box."""
    if len(steps_of(point)) == 3:  # takes long: a little above that of two of the steps
        fewer = epsilon_at(shortened(point, 2))
        return 1.1 * fewer if fewer is not None else None
    low, high = (math.log(x) for x in box_points.EPSILON)

    def excess(log_epsilon: float) -> bool:
        return bool(exact(point, math.exp(log_epsilon), COARSE) > point.delta)

    if not excess(low) or excess(high):
        return None
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) else (low, middle)
    return math.exp(low)


def exact(point: Point, epsilon: float, per_unit: int) -> arb:
    if point.family == box_points.DISCRETE:
        return enumerated(point.parts[0], arb(epsilon))
    return delta(
        steps_of(point), arb(epsilon), per_unit, 1e-36 if per_unit == COARSE else 1e-57 * point.delta
    )


def truth(point: Point) -> list[dict[str, Any]]:
    """The point, an epsilon and delta there; nothing outside the box or where the quadratures differ."""
    epsilon = epsilon_at(point)
    if epsilon is None:
        return []
    value, other = (exact(point, epsilon, k) for k in FINE[max(1, len(steps_of(point)))])
    if not value > 0 or not abs(value - other) <= value * arb(1e-50):
        print("left out:", point, flush=True)
        return []
    return [{"point": point.data(), "epsilon": epsilon, "delta": value.mid().str(52, radius=False)}]


def long_runs() -> list[dict[str, Any]]:
    """Points of the box as drawn, one direction, and delta by the grid where it has an answer in a few seconds."""
    signal.signal(signal.SIGPROF, ring)
    found: list[dict[str, Any]] = []
    for point in box_points.points(SEED):
        if len(found) == LONG:
            break
        point = replace(point, direction="add" if point.direction == "add" else "remove")
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            side = getattr(box_points.loss(point), point.direction)
            epsilon = side.epsilon(point.delta).upper
            if box_points.counts(Bounds(epsilon, epsilon)):
                grid = side.delta(epsilon, "grid")
                found.append({"point": point.data(), "epsilon": epsilon, "grid": [grid.lower, grid.upper]})
                print("long", len(found), flush=True)
        except TimeoutError:
            pass
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
    return found


def ring(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def short_runs(steps: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for point in box_points.points(SEED + steps):
        if len(found) == STEPS[steps]:
            break
        if len(point.parts) > 1 and steps == 1:
            continue
        short = shortened(point, steps)
        parts = steps_of(short)
        hard = sum(not step.noise.atoms for step in parts[:-1]) + any(step.kind == "both" for step in parts)
        if steps == 3 and hard > 1:  # a double integral over Gaussians takes many minutes
            continue
        found += truth(short)
        print(steps, len(found), flush=True)
    return found


def discrete_pairs() -> list[dict[str, Any]]:
    """Of up to 8 outcomes, and up to 4 times."""
    found: list[dict[str, Any]] = []
    for point in box_points.points(SEED, discrete=True):
        if len(found) == PAIRS:
            break
        point.parts[0] |= {"outcomes": 2 + point.parts[0]["outcomes"] % 7, "times": 1 + point.index % 4}
        found += truth(replace(point, direction="remove"))
    return found


def main(groups: list[str]) -> None:
    """Makes these groups of the file anew, or all of them, and keeps the others."""
    makers = {
        **{f"{steps} steps": partial(short_runs, steps) for steps in STEPS},
        "discrete pairs": discrete_pairs,
        "long": long_runs,
    }
    kept = json.loads(KEPT.read_text(encoding="utf-8"))["groups"] if KEPT.exists() else {}
    for name in groups or makers:
        kept[name] = makers[name]()
        lists = [f'"{name}": [\n' + ",\n".join(json.dumps(x) for x in kept[name]) + "\n]" for name in kept]
        KEPT.write_text(f'{{"seed": {SEED}, "groups": {{\n' + ",\n".join(lists) + "}}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
