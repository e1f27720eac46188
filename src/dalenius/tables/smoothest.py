"""The fourth moment of a population of which bounds, mean and variance are known.

Among all densities with these the one of greatest entropy is exp(a + b x + c x^2) between the bounds: a truncated
normal one, uniform if c = 0, and leaning to the two ends, like a Bernoulli population, if c > 0. Its fourth moment
is exact for those populations and a guess for others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[Any]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def kurtosis(mean: Reals, variance: Reals) -> Reals:
    """E (x - mean)^4 / variance^2, for bounds -1 and 1; between 1 and 9."""
    mean = np.clip(mean, -0.999, 0.999)
    most = 1 - mean**2
    share = np.clip(variance / most, 1e-6, 1.0)
    normal = variance < 0.1 * (1 - np.abs(mean)) ** 2  # the bounds are more than three deviations away
    ends = share > 0.97
    found = _solved(mean, np.clip(share, 1e-3, 0.97) * most)
    found = np.where(ends, 4 / most - 3, np.where(normal, 3.0, found))
    return np.clip(found, 1.0, np.maximum(9.0, np.where(ends, 4 / most, 9.0)))


def _solved(mean: Reals, variance: Reals) -> Reals:
    """Newton's method for b and c, damped; both moments are smooth functions of them, and increase with them."""
    x = _NODES
    wanted = np.stack((mean, variance + mean**2))
    b, c = np.zeros_like(mean), np.zeros_like(mean)
    for _ in range(25):
        p = _density(b, c)
        first, second, third, fourth = (p @ x**k for k in (1, 2, 3, 4))
        vx, vxx, vy = second - first**2, third - first * second, fourth - second**2
        gap = (wanted[0] - first, wanted[1] - second)
        det = np.maximum(vx * vy - vxx**2, 1e-14)
        step = ((vy * gap[0] - vxx * gap[1]) / det, (vx * gap[1] - vxx * gap[0]) / det)
        size = np.maximum(np.maximum(np.abs(step[0]), np.abs(step[1])) / (3 + np.abs(b) + np.abs(c)), 1.0)
        b, c = np.clip(b + step[0] / size, -400, 400), np.clip(c + step[1] / size, -400, 400)
    p = _density(b, c)
    middle = (p @ x)[:, None]
    away = x - middle
    return np.asarray((p * away**4).sum(axis=1) / np.maximum((p * away**2).sum(axis=1), 1e-12) ** 2)


def _density(b: Reals, c: Reals) -> Reals:
    exponent = b[:, None] * _NODES + c[:, None] * _NODES**2
    p = _WEIGHTS * np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))
