"""Transcripts of releases: all that is drawn, drawn on one table and played again on a neighbour."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import pytest

from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms import DiscreteGaussian, Exponential, Geometric
from dalenius.queries import AdaptiveMarginals, Domain, Workload
from dalenius.queries.marginals import adaptive_marginals, plan
from dalenius.queries.marginals.plan import Plan

DOMAIN = Domain({"a": 2, "b": 2, "c": 2})
WORKLOAD = Workload.marginals(DOMAIN, 2)
RAW = {kind: kind.release for kind in (DiscreteGaussian, Exponential, Geometric)}

Steps = list[tuple[Any, Any, Any]]
"""Of every step the mechanism, what it was given, and what came out."""


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch, forced: Steps | None = None) -> Iterator[Steps]:
    """The steps of the releases within the block; with the outcomes of another transcript, where one is given."""
    steps: Steps = []

    def release(self: Any, value: Any) -> Any:
        outcome = RAW[type(self)](self, value) if forced is None else forced[len(steps)][2]
        steps.append((self, np.array(value), outcome))
        return outcome

    with monkeypatch.context() as patch:
        for kind in RAW:
            patch.setattr(kind, "release", release)
        yield steps


def log_likelihood(steps: Steps) -> float:
    return math.fsum(_log_probability(*step) for step in steps)


def _log_probability(mechanism: Any, value: Any, outcome: Any) -> float:
    """Up to a constant that neighbours share."""
    if isinstance(mechanism, Exponential):
        exponents = value / mechanism.scale
        top = exponents.max()
        return float(exponents[outcome] - top - math.log(np.exp(exponents - top).sum()))
    off = np.abs(np.asarray(outcome) - value).astype(float)
    if isinstance(mechanism, Geometric):
        return float(-off.sum() / mechanism.scale)
    return float(-(off**2).sum() / (2 * mechanism.sigma**2))


def table(rows: Any) -> Any:
    return DOMAIN.codes(np.array(rows, dtype=np.int64).reshape(-1, 3))


def replayed(
    mechanism: AdaptiveMarginals, pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> tuple[Steps, Steps]:
    """A transcript that was drawn on the first of two tables, and the same outcomes on the second."""
    with recorded(monkeypatch) as first:
        mechanism.release(pair[0])
    with recorded(monkeypatch, first) as second:
        mechanism.release(pair[1])
    assert len(first) == len(second)
    return first, second


def neighbours(adjacency: Adjacency) -> list[tuple[Any, Any]]:
    """Tables of up to three rows and every neighbour, up to a relabelling of values."""
    base, every = [[0, 0, 0], [1, 1, 0]], [list(row) for row in product((0, 1), repeat=3)]
    if adjacency is ADD_REMOVE:
        return [(table(base), table([*base, row])) for row in every] + [(table([]), table(every[:1]))]
    return [(table([*base, [0, 0, 0]]), table([*base, row])) for row in every]


def choose_one_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a fit costs, and how good it is, does not touch privacy; nor does how the budget is divided."""

    def planned(self: AdaptiveMarginals, rows: float) -> Plan:
        return Plan(self.domain.shape, tuple(self.candidates), self.prices, max(rows, 1.0), 1, 0.65)

    monkeypatch.setattr(AdaptiveMarginals, "plan", planned)
    monkeypatch.setattr(plan, "NOISY_SELECTION_SHARE", 0.1)
    monkeypatch.setattr(adaptive_marginals, "ROUND_STEPS", 2)
    monkeypatch.setattr(adaptive_marginals, "FINAL_STEPS", 2)
