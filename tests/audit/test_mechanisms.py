"""Every public mechanism is audited on its worst pair: never above its claim, and near it where it is tight.

Run are `releases`, `release` and, where there is one, a watch; on the worst pair and on longer inputs. A mistake
in one of these alone is planted in every mechanism, and must be found.

Confidence is 1 - 1e-9: a mechanism that keeps its promise fails with probability below 1e-9 over the seed,
and below 5e-8 for all of them together. Seeds are fixed. `tight` is the share of the claimed epsilon, at
`delta`, that the audit must find; what is missing is the price of certainty (a high one for an unlikely
outcome, which is where the loss of a selection is largest), or a claim that is not attained, as noted.
"""

from __future__ import annotations

import inspect
import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius import mechanisms
from dalenius.audit import lower_bound
from tests.noise.seeded import seeded
from tests.sample import sampled

SURE = 1 - 1e-9
SINGLE = 200
"""Releases one at a time, twice in a row, in each way a mechanism has, on every pair."""
ONE = {"sensitivity": 1, "epsilon": 1.0}
UNIT = {"sensitivity": 1, "scale": 1.0}
REPLACE = {"adjacency": dp.REPLACE_ONE}
HEXAGON = np.array([[math.cos(t), math.sin(t)] for t in np.arange(6) * math.pi / 3])


@dataclass(frozen=True)
class Listed:
    """One mechanism with its parameters, and how much of its claim the audit must find."""

    name: str
    options: dict[str, Any]
    tight: float
    delta: float = 0.0
    trials: int = 200_000
    pair: Any = None

    @property
    def mechanism(self) -> Any:
        return getattr(mechanisms, self.name)(**self.options)

    def __str__(self) -> str:
        shown = ", ".join(f"{k}={v}" for k, v in self.options.items() if np.ndim(v) < 2)
        return f"{self.name}({shown})"


LISTED = [
    Listed("Laplace", {"sensitivity": 1, "scale": 2.0}, 0.88),
    Listed("Laplace", {"sensitivity": 3, "scale": 1.0}, 0.93),
    Listed("Laplace", {"sensitivity": 1, "scale": 1.0}, 0.78, pair=(np.zeros(3), np.full(3, 1 / 3))),
    Listed("Geometric", {"sensitivity": 1, "scale": 2.0}, 0.88),
    Listed("Geometric", {"sensitivity": 3, "scale": 1.0}, 0.93),
    Listed("Gaussian", {"sensitivity": 1, "sigma": 1.0}, 0.6, 1e-3),
    Listed("Gaussian", {"sensitivity": 1, "sigma": 1.0}, 0.6, 1e-3, pair=(np.zeros(3), np.full(3, 3**-0.5))),
    Listed("DiscreteGaussian", {"sensitivity": 1, "sigma": 1.0}, 0.6, 1e-3),
    Listed("DiscreteGaussian", {"sensitivity": math.sqrt(2), "sigma": 1.5}, 0.55, 1e-3),
    Listed("Skellam", {"sensitivity": 1, "variance": 1.0}, 0.55, 1e-3),
    # A bound on divergences, not the law: nobody attains it.
    Listed("Skellam", {"sensitivity": math.sqrt(2), "variance": 2.0}, 0.4, 1e-3),
    Listed("Staircase", {"sensitivity": 1, "epsilon": 1.0}, 0.88),
    Listed("Staircase", {"sensitivity": 1, "epsilon": 3.0, "objective": "squared"}, 0.9),
    Listed("Tulap", {"sensitivity": 1, "epsilon": 1.0}, 0.93),
    Listed("Tulap", {"sensitivity": 1, "epsilon": 1.0, "delta": 0.05}, 0.93, 0.05),
    Listed("CanonicalNoise", {"sensitivity": 1, "guarantee": dp.GDP(1.0)}, 0.6, 1e-3),
    Listed("RandomizedResponse", {"epsilon": 1.0}, 0.93),
    Listed("RandomizedResponse", {"epsilon": 1.0, "k": 5}, 0.88),
    Listed("KNorm", {**UNIT, "norm": "l1"}, 0.85, pair=(np.zeros(3), np.eye(3)[0])),
    Listed("KNorm", {**UNIT, "norm": "l2"}, 0.6, trials=60_000, pair=(np.zeros(3), np.eye(3)[0])),
    Listed("KNorm", {**UNIT, "norm": "linf"}, 0.8, trials=60_000, pair=(np.zeros(3), np.ones(3))),
    Listed("KNorm", {**UNIT, "norm": mechanisms.Hull.of_vertices(HEXAGON)}, 0.75, trials=40_000),
    Listed("AnalyzeGauss", {"sensitivity": 1, "sigma": 0.7}, 0.6, 1e-3),
    Listed("Histogram", {"scale": 2.0}, 0.88),
    Listed("Histogram", {"scale": 2.0, **REPLACE}, 0.88),
    Listed("Histogram", {"sigma": 1.0, **REPLACE}, 0.6, 1e-3),
    # The claim of a stability histogram adds two losses of which a pair of neighbours meets one.
    Listed("StabilityHistogram", {"scale": 1.0, "threshold": 5}, 0.6, 0.02, 8000),
    Listed("MatrixCounter", {"horizon": 4, "sigma": 1.0}, 0.45, 1e-3, 40_000),
    Listed("MatrixCounter", {"horizon": 3, "sigma": 1.0, **REPLACE}, 0.3, 1e-3, 40_000),
    Listed("CorrelatedGaussian", {"steps": 4, "sigma": 1.0}, 0.4, 1e-3, 40_000),
    Listed(
        "CorrelatedGaussian",
        {"steps": 4, "sigma": 1.0, "participations": 2, "separation": 2, "momentum": 0.5, **REPLACE},
        0.3,
        1e-3,
        40_000,
    ),
    Listed("TreeCounter", {"horizon": 4, "scale": 2.0, "branches": 2}, 0.6, 0.0, 40_000),
    Listed("Exponential", ONE, 0.7),
    Listed("Exponential", {**ONE, "monotone": True}, 0.7),
    Listed("IntervalExponential", {**ONE, "bounds": (0, 10)}, 0.7),
    Listed("Quantile", {"bounds": (0, 10), "epsilon": 1.0}, 0.7),
    Listed("Quantile", {"bounds": (0, 10), "epsilon": 1.0, "level": 0.9, **REPLACE}, 0.7),
    # The first of two rounds; a pair for which both are at their worst is not known.
    Listed("Quantiles", {"bounds": (0, 10), "epsilon": 2.0, "levels": (0.25, 0.5, 0.75)}, 0.23, 0.0, 60_000),
    Listed("ReportNoisyMax", {**ONE, "noise": "laplace"}, 0.75),
    Listed("ReportNoisyMax", {**ONE, "noise": "exponential"}, 0.9),
    Listed("ReportNoisyMax", {**ONE, "noise": "gumbel"}, 0.7),
    Listed("PermuteAndFlip", ONE, 0.9),
    Listed("AboveThreshold", ONE, 0.7),
    Listed("AboveThreshold", {**ONE, "noise": "laplace"}, 0.58),
    Listed("AboveThreshold", {**ONE, "monotone": True}, 0.8),
    Listed("SparseVector", {**ONE, "epsilon": 2.0, "count": 2}, 0.6, 0.0, 100_000),
    Listed("SparseVector", {**ONE, "epsilon": 2.0, "count": 2, "fresh_threshold": True}, 0.38, 0.0, 100_000),
    Listed("SparseVector", {**ONE, "epsilon": 4.0, "count": 2, "answer_share": 0.5}, 0.35, 0.0, 40_000),
]


BOUNDS = {"bounds": (0, 10)}
PLANTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "AboveThreshold": (ONE, {"epsilon": 2.0}),
    "AnalyzeGauss": ({"sensitivity": 1, "sigma": 1.4}, {"sigma": 0.7}),
    "CanonicalNoise": ({"sensitivity": 1, "guarantee": dp.GDP(0.5)}, {"guarantee": dp.GDP(1.0)}),
    "CorrelatedGaussian": ({"steps": 3, "sigma": 2.0, "participations": 2}, {"sigma": 1.0}),
    "DiscreteGaussian": ({"sensitivity": 1, "sigma": 2.0}, {"sigma": 1.0}),
    "Exponential": (ONE, {"epsilon": 2.0}),
    "Gaussian": ({"sensitivity": 1, "sigma": 2.0}, {"sigma": 1.0}),
    "Geometric": ({"sensitivity": 1, "scale": 2.0}, {"scale": 1.0}),
    "Histogram": ({"scale": 2.0}, {"scale": 1.0}),
    "IntervalExponential": ({**ONE, **BOUNDS}, {"epsilon": 2.0}),
    "KNorm": ({"sensitivity": 1, "scale": 2.0}, {"scale": 1.0}),
    "Laplace": ({"sensitivity": 1, "scale": 2.0}, {"scale": 1.0}),
    "MatrixCounter": ({"horizon": 3, "sigma": 2.0}, {"sigma": 1.0}),
    "PermuteAndFlip": (ONE, {"epsilon": 2.0}),
    "Quantile": ({**BOUNDS, "epsilon": 1.0}, {"epsilon": 2.0}),
    # A quarter of the noise: see above.
    "Quantiles": ({**BOUNDS, "epsilon": 0.5, "levels": (0.25, 0.5, 0.75)}, {"epsilon": 2.0}),
    "RandomizedResponse": ({"epsilon": 1.0}, {"epsilon": 2.0}),
    "ReportNoisyMax": (ONE, {"epsilon": 2.0}),
    "Skellam": ({"sensitivity": 1, "variance": 4.0}, {"variance": 1.0}),
    "SparseVector": ({**ONE, "count": 2}, {"epsilon": 2.0}),
    "StabilityHistogram": ({"scale": 2.0, "threshold": 12}, {"scale": 1.0}),
    "Staircase": ({"sensitivity": 1, "epsilon": 0.5}, {"epsilon": 1.0}),
    "TreeCounter": ({"horizon": 3, "scale": 4.0}, {"scale": 2.0}),
    "Tulap": ({"sensitivity": 1, "epsilon": 0.5}, {"epsilon": 1.0}),
}
"""What is claimed, and what is done instead: half the noise."""


def public() -> set[str]:
    found = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    return {
        name
        for name, thing in found.items()
        if inspect.isclass(thing)
        and issubclass(thing, mechanisms.Mechanism)
        and not inspect.isabstract(thing)
    }


def test_every_mechanism_is_listed() -> None:
    assert {listed.name for listed in LISTED} == public()

    assert set(PLANTED) == public()


@pytest.mark.parametrize("listed", sampled(LISTED), ids=str)
def test_keeps_its_promise(listed: Listed) -> None:
    mechanism = listed.mechanism
    with seeded(zlib.crc32(str(listed).encode())):
        found = lower_bound(mechanism, listed.pair, listed.trials, listed.delta, SURE, single=SINGLE)
    claimed = mechanism.loss.epsilon(listed.delta)
    assert not found.contradicts()
    assert listed.tight * claimed <= found.epsilon <= claimed


@pytest.mark.parametrize("name", PLANTED)
def test_half_the_noise_is_caught(name: str) -> None:
    """The same comparison, of a mechanism with the loss of one that has twice its noise."""
    options, change = PLANTED[name]
    make = getattr(mechanisms, name)
    claimed, done = make(**options), make(**options | change)
    # Caught by 20 000 with other seeds, too; the sparse vector's bound is on unlikely outcomes, and takes more.
    trials = {"StabilityHistogram": 2000, "SparseVector": 100_000}.get(name, 20_000)
    with seeded(zlib.crc32(name.encode())):
        found = lower_bound(done, trials=trials, confidence=SURE, single=0)
    assert found.contradicts(claimed)
    assert not found.contradicts()


EVEN, TIPPED = [0.0] * 6, [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]
PAIRS: dict[str, Any] = {
    "AboveThreshold": ((EVEN, TIPPED),),
    "Exponential": ((EVEN, TIPPED),),
    "IntervalExponential": ((([5.0], [0.0, 0.0]), ([5.0], [1.0, -1.0])),),
    "SparseVector": ((EVEN, TIPPED),),
}
"""Where too little noise shows in few draws; the worst pairs of these are about unlikely outcomes."""


class Planted(mechanisms.Mechanism):
    """A mechanism with the loss of one that has eight or more times the noise, in one way or for long inputs."""

    def __init__(self, name: str, where: str) -> None:
        options, change = PLANTED[name]
        make = getattr(mechanisms, name)
        self.right, self.where = make(**options), where
        factor = 16 if name in PAIRS else 4  # half of the noise is in PLANTED already
        self.wrong = make(**options | {key: _less(key, value, factor) for key, value in change.items()})
        self.fixed = PAIRS.get(name, self.right.pairs)

    @property
    def loss(self) -> Any:
        return self.right.loss

    @property
    def worst_pair(self) -> Any:
        return self.fixed[0]

    @property
    def pairs(self) -> Any:
        return self.fixed

    def _of(self, way: str, value: Any) -> Any:
        planted = self.where == way or (self.where == "pairs" and self._long(value))
        return self.wrong if planted else self.right

    def _long(self, value: Any) -> bool:
        return not any(value is one for one in self.worst_pair)

    def release(self, value: Any) -> Any:
        return self._of("release", value).release(value)

    def releases(self, value: Any, times: int) -> Any:
        return self._of("releases", value).releases(value, times)

    @property
    def ways(self) -> Any:
        def run(way: str) -> Any:
            return lambda value: self._of(way, value).ways[way](value)

        return {way: run(way) for way in self.right.ways}


def _less(key: str, value: Any, factor: int) -> Any:
    """The parameter with so much less noise."""
    if key == "guarantee":
        return dp.GDP(factor * value.mu)
    return factor * value if key == "epsilon" else value / factor


def planted() -> list[tuple[str, str]]:
    found = []
    for name, (options, _) in PLANTED.items():
        mechanism = getattr(mechanisms, name)(**options)
        found += [(name, "releases"), *((name, way) for way in mechanism.ways)]
        if len(mechanism.pairs) > 1:
            found.append((name, "pairs"))
    return found


@pytest.mark.parametrize(("name", "where"), sampled(planted()))
def test_a_mistake_in_one_way_is_caught(name: str, where: str) -> None:
    mechanism = Planted(name, where)
    slow = name == "StabilityHistogram"
    many, few = (2000 if slow else 16_000, 0) if where in ("releases", "pairs") else (100, 600)
    with seeded(zlib.crc32((name + where).encode())):
        found = lower_bound(mechanism, trials=many, confidence=SURE, single=few)
    assert found.contradicts()


def test_threshold_of_a_stability_histogram() -> None:
    """A record with a key of its own: the other pair of neighbours, where delta is attained."""
    mechanism = mechanisms.StabilityHistogram(scale=1.0, threshold=3)
    with seeded(1):
        found = lower_bound(mechanism, mechanism.rare_pair, 6000, confidence=SURE, single=0)
    appears = math.exp(-2) / (1 + math.exp(-1))
    assert 0.4 * appears <= found.delta(1.0) <= appears
    assert not found.contradicts()
