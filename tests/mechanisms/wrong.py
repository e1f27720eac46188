"""Sparse vector techniques that were published as epsilon-DP and are not.

Numbered as in Lyu, Su and Li, "Understanding the sparse vector technique for differential privacy" (2017),
figure
1. Each is `release(values, times)` for threshold 0 and sensitivity 1, one row per run: 1 above, 0 below, nan
   (or
-1) where it had already stopped, and numbers where it gives any. They draw exact noise on a fine grid: what
is wrong is the idea, not the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dalenius.noise import discrete_laplace

STEPS = 1 << 20

Release = Callable[[object, int], np.ndarray]


class Wrong(NamedTuple):
    """A published mechanism, what it claims, and values of neighbours that give it away."""

    name: str
    epsilon: float
    release: Release
    pair: tuple[list[float], list[float]]


def laplace(scale: float, shape: int | tuple[int, int]) -> np.ndarray:
    return discrete_laplace(scale * STEPS, shape) / STEPS


def stopped(above: np.ndarray, count: int) -> np.ndarray:
    """-1 after the answer that used up the count."""
    seen = np.cumsum(above, axis=1) - above
    return np.where(seen >= count, -1, above.astype(np.int64))


def same_noise_in_the_answer(epsilon: float, count: int) -> Release:
    """Algorithm 3 (Roth's lecture notes of 2011): a value found above is released with the noise it was
    compared with, so that it tells where the noisy threshold is not."""

    def release(values: object, times: int) -> np.ndarray:
        q = np.asarray(values, dtype=float)
        noisy = q + laplace(2 * count / epsilon, (times, len(q)))
        above = noisy >= laplace(2 / epsilon, times)[:, None]
        return np.where(stopped(above, count) == 1, noisy, np.nan)

    return release


def noise_without_the_count(epsilon: float, count: int) -> Release:
    """Algorithm 4 (Lee and Clifton 2014): the noise on values does not grow with the count.

    It is (1 + 6 count)/4 epsilon-DP.
    """

    def release(values: object, times: int) -> np.ndarray:
        q = np.asarray(values, dtype=float)
        noisy = q + laplace(4 / (3 * epsilon), (times, len(q)))
        return stopped(noisy >= laplace(4 / epsilon, times)[:, None], count)

    return release


def no_noise_on_values(epsilon: float) -> Release:
    """Algorithm 5 (Stoddard, Chen and Machanavajjhala 2014): only the threshold is noisy."""

    def release(values: object, times: int) -> np.ndarray:
        q = np.asarray(values, dtype=float)
        return (q >= laplace(2 / epsilon, times)[:, None]).astype(np.int64)

    return release


def no_end(epsilon: float) -> Release:
    """Algorithm 6 (Chen, Xiao, Zhang and Xu 2015): as many answers "above" as there are questions."""

    def release(values: object, times: int) -> np.ndarray:
        q = np.asarray(values, dtype=float)
        noisy = q + laplace(2 / epsilon, (times, len(q)))
        return (noisy >= laplace(2 / epsilon, times)[:, None]).astype(np.int64)

    return release


PUBLISHED = (
    Wrong(
        "3: the same noise in the answer",
        2.0,
        same_noise_in_the_answer(2.0, 1),
        ([0.0, 0.0, 0.0, 0.0, 3.0], [1.0, 1.0, 1.0, 1.0, 2.0]),
    ),
    Wrong(
        "4: noise without the count",
        0.5,
        noise_without_the_count(0.5, 6),
        ([0.0] * 3 + [2.0] * 6, [1.0] * 3 + [1.0] * 6),
    ),
    Wrong("5: no noise on values", 1.0, no_noise_on_values(1.0), ([0.0, 1.0], [1.0, 0.0])),
    Wrong("6: no end", 1.0, no_end(1.0), ([0.0] * 8 + [1.0] * 8, [1.0] * 8 + [0.0] * 8)),
)
