"""The whole release of every test, attacked on a worst pair: within the claim as it is, beyond it with half the noise.

Attacks err once in 1e9 and have fixed bits: they fail always or never. The parts of a release are drawn in batches: of
each input, what goes into every mechanism is watched once (numbers of rows with noise of their own first, where noise
depends on them), and the mechanisms are run on it many times.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.infer.hypotheses import parts
from dalenius.mechanisms import Gaussian
from tests.infer.hypotheses.every import EVERY
from tests.noise.seeded import seeded

EPSILON = 1.0
TRIALS = 24_000

# One record more (ADD_REMOVE) that moves each statistic as far as it can, or nearly.
ADDED: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "binomial": (([1],), ([1, 1],)),
    "mean": (([0.5],), ([0.5, 1.0],)),
    "two means": (([0.5], [0.5]), ([0.5, 1.0], [0.5])),
    "fit": ((["a"],), (["a", "b"],)),
    "independence": ((["a"], [0]), (["a", "b"], [0, 1])),
    "anova": (([0.5], ["a"]), ([0.5, 1.0], ["a", "a"])),
    "distance": (([],), ([9.0],)),
}
# One record replaced.
REPLACED: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "two distances": (([0.0], [1.0] * 3), ([1.0], [1.0] * 3)),
    "Mann-Whitney": (([0.0], [1.0] * 3), ([2.0], [1.0] * 3)),
    "signed ranks": (([1.0, 2.0, -3.0],), ([1.0, 2.0, 3.0],)),
    "Kruskal-Wallis": (
        ([0.0, 0.0] + [1.0] * 18, ["a", "a"] + ["b"] * 18),
        ([0.0, 2.0] + [1.0] * 18, ["a", "a"] + ["b"] * 18),
    ),
    "mean": (([0.0],), ([1.0],)),
    "two means": (([0.0], [0.5]), ([1.0], [0.5])),
    "anova": (([0.0], ["a"]), ([1.0], ["a"])),
    "fit": ((["a"],), (["b"],)),
}


def watched(test: Any, data: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The mechanisms that a release runs, and on what."""
    seen: list[tuple[Any, Any]] = []

    def release(self: parts.Part, value: Any) -> Any:
        seen.append((self.mechanism, value))
        return np.asarray(value) if np.ndim(value) else float(value)

    with monkeypatch.context() as patch:
        patch.setattr(parts.Part, "release", release)
        if hasattr(test, "mechanism"):
            kind = type(test.mechanism)
            patch.setattr(
                kind, "release", lambda self, value: seen.append((self, value)) or np.asarray(value)
            )
        test.release(*data)
    return seen


def attacked(test: Any, pair: Any, halved: bool, monkeypatch: pytest.MonkeyPatch) -> float:
    runs = {}
    for k, data in enumerate(pair):
        seen = watched(test, data, monkeypatch)
        if halved:
            seen = [(_half(mechanism), value) for mechanism, value in seen]
        runs[k] = seen

    def releases(which: int, times: int) -> Any:
        return np.column_stack(
            [
                np.asarray(m.releases(value, times), dtype=np.float64).reshape(times, -1)
                for m, value in runs[which]
            ]
        )

    with seeded(21):
        found = dp.audit.lower_bound(
            releases, pair=(0, 1), trials=TRIALS, confidence=1 - 1e-9, batched=True, single=0
        )
    return found.epsilon


def _half(mechanism: Any) -> Any:
    """The mechanism that half of the sensitivity leads to."""
    if isinstance(mechanism, Gaussian):
        return dataclasses.replace(mechanism, sigma=mechanism.sigma / 2)
    if hasattr(mechanism, "epsilon"):
        return dataclasses.replace(mechanism, epsilon=2 * mechanism.epsilon)
    return dataclasses.replace(mechanism, scale=mechanism.scale / 2)


CASES = [(name, dp.ADD_REMOVE, pair) for name, pair in ADDED.items()]
CASES += [(name, dp.REPLACE_ONE, pair) for name, pair in REPLACED.items()]


@pytest.mark.parametrize(("name", "adjacency", "pair"), CASES, ids=lambda case: str(case)[:16])
def test_audit(name: str, adjacency: Any, pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    test = EVERY[name][0](dp.PureDP(EPSILON), adjacency=adjacency)
    claimed = test.loss.epsilon(0.0)
    assert claimed <= EPSILON
    assert attacked(test, pair, False, monkeypatch) <= claimed
    assert attacked(test, pair, True, monkeypatch) > claimed


def test_limits_that_depend_on_noise() -> None:
    """Signed ranks under ADD_REMOVE, run as a whole: the limit, the choice of rows and the noise that follows it."""
    test = dp.infer.SignedRankTest(dp.PureDP(2.0))
    pair = ([1.0, 2.0], [1.0, 2.0, 3.0])
    with seeded(4):
        found = dp.audit.lower_bound(
            lambda rows: (float(test.release(rows)["rows"][0]), test.release(rows)["signs"]),
            pair=pair,
            trials=200,
            confidence=1 - 1e-9,
        )
    assert found.epsilon <= 2 * test.loss.epsilon(0.0)
