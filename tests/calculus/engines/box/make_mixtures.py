"""`python -m tests.calculus.engines.box.make_mixtures`: delta of one and two releases of mixtures, to 50 digits.

Independent of the engines, in balls of 320 bits. With X > x wherever the loss L(X) exceeds y = L(x),

    D_1(y) = P(X > x) - e^y Q(X > x),   D_2(y) = E[D_1(y - L(X_1))],

and of what tells which of several mixtures it is, D_2 is that of each pair of them, weighed. The integral is taken by
Gauss and Legendre on panels on which neither X_1 nor the x of the second release moves further than the shifts allow,
with two numbers of nodes, and both must agree to 50 digits, or the point is left out; so are those whose epsilon takes
seconds today. Takes a few minutes.

Long runs have the bracket of the grid, where that takes no seconds.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from flint import arb, ctx, fmpq

from tests.calculus.engines.box import mixture_points
from tests.calculus.engines.box.make_truths import ring, smooth_nodes, tail
from tests.calculus.engines.box.mixture_points import EPSILON, Point, Sides

SEED = 14
KEPT = Path(__file__).with_name("mixtures.json")
SHORT, LONG, PATIENCE = 60, 30, 0.5
"""How many points there are; how many seconds of processor time the grid may take, and four times that an epsilon."""
COUNTS = 72, 96
FAR = 21
"""Nothing of weight 1e-90 is so many standard deviations away."""
ctx.prec = 320


def exact(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


@dataclass(frozen=True)
class Mixture:
    """P = sum p_i N(s_i, 1) against Q = sum q_j N(-r_j, 1), the weights of shift 0 left out."""

    sides: Sides

    @cached_property
    def p(self) -> list[tuple[arb, arb]]:
        return self._law(self.sides[0])

    @cached_property
    def q(self) -> list[tuple[arb, arb]]:
        return self._law(self.sides[1])

    @staticmethod
    def _law(side: tuple[tuple[float, float], ...]) -> list[tuple[arb, arb]]:
        rest = 1 - sum((Fraction(weight) for _, weight in side), Fraction(0))
        assert rest >= 0
        return [(arb(0), exact(rest)), *((arb(shift), arb(weight)) for shift, weight in side)]

    @cached_property
    def steepest(self) -> float:
        return max(shift for side in self.sides for shift, _ in side)

    @cached_property
    def ends(self) -> tuple[arb, arb]:
        return -FAR - self.q[-1][0], FAR + self.p[-1][0]

    @cached_property
    def marks(self) -> list[arb]:
        """Places so near to each other that between them no density has a singularity near the real line."""
        low, high = self.ends
        pieces = int(float(high - low) / min(2.0, 3.0 / self.steepest)) + 1
        return [low + (high - low) * k / pieces for k in range(pieces + 1)]

    def density(self, x: arb) -> arb:
        """Of X under P."""
        return sum((p * (-((x - s) ** 2) / 2).exp() for s, p in self.p), arb(0)) / (2 * arb.pi()).sqrt()

    def weights(self, x: arb) -> tuple[arb, arb, arb]:
        """L and its derivative at x, and the weight of P by N(0, 1)."""
        up = [p * (s * x - s * s / 2).exp() for s, p in self.p]
        down = [q * (-r * x - r * r / 2).exp() for r, q in self.q]
        above, below = sum(up, arb(0)), sum(down, arb(0))
        slope = sum((s * part for (s, _), part in zip(self.p, up, strict=True)), arb(0)) / above
        slope += sum((r * part for (r, _), part in zip(self.q, down, strict=True)), arb(0)) / below
        return (above / below).log(), slope, above

    def loss(self, x: arb) -> arb:
        return self.weights(x)[0]

    @cached_property
    def range(self) -> tuple[arb, arb]:
        """L at the ends, beyond which nothing is counted."""
        return self.loss(self.ends[0]), self.loss(self.ends[1])

    def place(self, y: arb) -> arb:
        """Where L = y; an end if that is further out. An error of x moves D_1 by its square only."""
        low, high = self.ends
        if not self.range[0] < y < self.range[1]:
            return low if not y > self.range[0] else high
        x = (low + high) / 2
        for _ in range(400):
            value, slope, _ = self.weights(x)
            gap = (value - y).mid()
            step = (gap / slope).mid()
            if abs(step) < 1e-45 or high - low < 1e-45:
                return (x - step).mid() if low < x - step < high else x
            low, high = (low, x) if gap > 0 else (x, high)
            x = (x - step).mid() if low < x - step < high else ((low + high) / 2).mid()
        raise ArithmeticError("no place found")

    def delta(self, y: arb) -> arb:
        x = self.place(y)
        return sum((p * tail(x - s) for s, p in self.p), arb(0)) - y.exp() * sum(
            (q * tail(x + r) for r, q in self.q), arb(0)
        )


def twice(first: Mixture, second: Mixture, y: arb, count: int) -> arb:
    """D_2(y)."""
    low, high = first.ends
    inner = {
        float(x): x for x in (first.place(y - second.loss(mark)) for mark in second.marks) if low < x < high
    }
    edges = sorted({**{float(x): x for x in first.marks}, **inner}.values(), key=float)
    total = arb(0)
    for a, b in pairwise(edges):
        middle, half = (a + b) / 2, (b - a) / 2
        if not max(float(first.density(x)) for x in (a, middle, b)) > 1e-88:
            continue
        for place, weight in smooth_nodes(count):
            x = middle + half * place
            total += (weight * half * first.density(x) * second.delta(y - first.loss(x))).mid()
    return total


def delta(point: Point, y: arb, count: int) -> arb:
    each = [(arb(weight), mixture(sides)) for weight, sides in mixture_points.laws_of(point)]
    if point.times == 1:
        return sum((weight * law.delta(y) for weight, law in each), arb(0))
    pairs = product(each, each)
    return sum((w * v * twice(law, other, y, count) for (w, law), (v, other) in pairs), arb(0))


@cache
def mixture(sides: Sides) -> Mixture:
    return Mixture(sides)


def truth(point: Point, epsilon: float) -> str | None:
    """50 digits of delta; None where the two quadratures differ."""
    values = [delta(point, arb(epsilon), count) for count in COUNTS[-point.times :]]
    if not values[0] > 1e-40 or not abs(values[0] - values[-1]) <= values[0] * arb(1e-50):
        return None
    return str(values[-1].mid().str(52, radius=False))


def short(point: Point, epsilon: float) -> dict[str, Any] | None:
    found = truth(point, epsilon)
    return None if found is None else {"delta": found, "laws": mixture_points.laws_of(point)}


def long(point: Point, epsilon: float) -> dict[str, Any] | None:
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        grid = mixture_points.direction_of(point).delta(epsilon, "grid")
    except TimeoutError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return {"grid": [grid.lower, grid.upper]}


def found(
    many: int, is_long: bool, answer: Callable[[Point, float], dict[str, Any] | None]
) -> list[dict[str, Any]]:
    """The first points with an epsilon of the box and an answer."""
    kept: list[dict[str, Any]] = []
    for point in mixture_points.points(SEED, is_long):
        if len(kept) == many:
            break
        signal.setitimer(signal.ITIMER_PROF, 4 * PATIENCE)
        try:
            epsilon = mixture_points.direction_of(point).epsilon(point.delta).upper
        except TimeoutError:
            print("no epsilon:", point, flush=True)
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        known = answer(point, epsilon) if EPSILON[0] < epsilon < EPSILON[1] else None
        if known is not None:
            kept.append({"point": point.data(), "epsilon": epsilon, **known})
            print(len(kept), point.family, flush=True)
        elif EPSILON[0] < epsilon < EPSILON[1]:
            print("left out:", point, flush=True)
    return kept


def main(only: list[str]) -> None:
    signal.signal(signal.SIGPROF, ring)
    groups: dict[str, list[dict[str, Any]]] = json.loads(KEPT.read_text(encoding="utf-8")) if only else {}
    for name, make in {
        "short": lambda: found(SHORT, False, short),
        "long": lambda: found(LONG, True, long),
    }.items():
        if not only or name in only:
            groups[name] = make()
    lines = ",\n".join(
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(x) for x in group) + "\n]"
        for name, group in groups.items()
    )
    KEPT.write_text("{" + lines + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
