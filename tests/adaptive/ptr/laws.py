"""Exact laws of releases, made from the parameters that the released code runs on, and their divergences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from dalenius.adaptive.ptr import DistanceTest, NoisyMax, ProposeTestRelease, Refusal
from dalenius.adaptive.ptr.local_noise import LocalNoise
from dalenius.adaptive.ptr.parts import Stable

LARGEST = 1e4


@dataclass(frozen=True)
class Law:
    """Outcomes with a probability each, and a Laplace number of this mass, centre and scale."""

    atoms: dict[Any, float] = field(default_factory=dict)
    mass: float = 0.0
    centre: float = 0.0
    scale: float = 1.0

    @property
    def refused(self) -> float:
        return self.atoms.get(Refusal(), 0.0)


def geometric_tail(scale: float, least: int) -> float:
    """P(k >= least) for P(k) proportional to exp(-|k|/scale)."""
    q = math.exp(-1 / scale)
    return q**least / (1 + q) if least > 0 else 1 - q ** (1 - least) / (1 + q)


def pass_probability(test: DistanceTest, distance: int) -> float:
    """From the threshold and the noise that the test itself uses."""
    return geometric_tail(test._scale, test.threshold - min(distance, 10**6))


def law(m: ProposeTestRelease, data: Any) -> Law:
    """Of one release on these data."""
    test, mechanism = m.test, m.mechanism
    assert isinstance(test, DistanceTest)
    assert isinstance(mechanism, Stable)
    passed = pass_probability(test, test.mechanism.distance(data))
    atoms = {Refusal(): 1 - passed}
    if isinstance(mechanism, LocalNoise):
        # On its grid the noise is no less private than the continuous law (docs/mechanisms-on-a-grid.md).
        return Law(atoms, passed, float(mechanism.statistic(data)), mechanism.scale)
    if isinstance(mechanism, NoisyMax):
        first = first_wins(data[0] - data[1], mechanism.scale)
        return Law(atoms | {0: passed * first, 1: passed * (1 - first)})
    return Law(atoms | {mechanism.release(data): passed})


def first_wins(gap: int, scale: float) -> float:
    """P(gap + the difference of two Laplace numbers > 0), by integrating over one of them.

    The integral of the density exp(-|z|)/2 times the tail of the other, in closed form on three intervals.
    """
    u = abs(gap) / scale
    loses = 0.25 * math.exp(-u) + 0.25 * u * math.exp(-u) + 0.25 * math.exp(-u)
    return 1 - loses if gap >= 0 else loses


def hockey_stick(p: Law, q: Law, factor: float) -> float:
    """The integral of (p - factor q)+."""
    outcomes = p.atoms.keys() | q.atoms.keys()
    total = sum(max(0.0, p.atoms.get(o, 0.0) - factor * q.atoms.get(o, 0.0)) for o in outcomes)
    if p.mass == 0:
        return total
    assert p.scale == q.scale
    shift = abs(p.centre - q.centre) / p.scale
    inner = factor * q.mass / p.mass
    if inner <= math.exp(-shift):
        return total + p.mass * (1 - inner)
    if inner >= math.exp(shift):
        return total
    return total + p.mass * (1 - math.exp((math.log(inner) - shift) / 2))


def renyi(p: Law, q: Law, order: float) -> float:
    """The divergence of laws without a Laplace part."""
    assert p.mass == q.mass == 0
    total = 0.0
    for outcome, weight in p.atoms.items():
        if weight > 0:
            other = q.atoms.get(outcome, 0.0)
            if other == 0:
                return math.inf
            total += math.exp(order * math.log(weight) + (1 - order) * math.log(other))
    return math.log(total) / (order - 1)


def worst_profile(
    pairs: Iterable[tuple[Any, Any]], of: Callable[[Any], Law], epsilons: Iterable[float]
) -> dict[float, float]:
    """The largest hockey-stick divergence over ordered pairs, at each epsilon."""
    known: dict[Any, Law] = {}
    worst = dict.fromkeys(epsilons, 0.0)
    for x, y in pairs:
        for z in (x, y):
            if z not in known:
                known[z] = of(z)
        for epsilon in worst:
            worst[epsilon] = max(worst[epsilon], hockey_stick(known[x], known[y], math.exp(epsilon)))
    return worst
