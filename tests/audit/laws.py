"""Textbook noise for releases that are audited, on a grid so fine that only deliberate leaks leak.

Draws are doubles rounded to multiples of 2^-30 together with what they are added to: the low-order bits of
the input do not survive. The generator is seeded anew by `reset`, so every test sees the same draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GRID = 2.0**-30

_rng = np.random.default_rng(0)


def reset(seed: int) -> None:
    global _rng
    _rng = np.random.default_rng(seed)


def rng() -> np.random.Generator:
    return _rng


def rounded(values: Any) -> np.ndarray:
    return np.round(np.asarray(values, dtype=float) / GRID) * GRID


def with_laplace(value: Any, scale: float, times: int) -> np.ndarray:
    """value + Laplace noise, `times` times; every coordinate with its own."""
    return rounded(np.asarray(value, dtype=float) + _rng.laplace(0.0, scale, (times, *np.shape(value))))


def with_normal(value: Any, sigma: Any, times: int) -> np.ndarray:
    """value + normal noise, `times` times; every coordinate with its own."""
    return rounded(np.asarray(value, dtype=float) + sigma * _rng.standard_normal((times, *np.shape(value))))


def chosen(weights: Any, times: int) -> np.ndarray:
    """Indices drawn with probability proportional to weights."""
    weights = np.asarray(weights, dtype=float)
    return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], _rng.random(times), side="right")
