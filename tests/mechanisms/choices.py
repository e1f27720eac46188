"""Laws of selection mechanisms worked out from their definitions, sharing no code with the library."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize_scalar

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)

Law = dict[object, float]


def softmax(scores: Sequence[float], rate: float) -> np.ndarray:
    """The exponential mechanism: probabilities proportional to exp(rate * score)."""
    top = max(scores)
    weights = [math.exp(rate * (score - top)) for score in scores]
    total = math.fsum(weights)
    return np.array([w / total for w in weights])


def flipped(scores: Sequence[float], rate: float) -> np.ndarray:
    """Permute and flip, one permutation after the other."""
    accept = [math.exp(rate * (score - max(scores))) for score in scores]
    chances = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            chances[i] += left * accept[i] / len(orders)
            left *= 1 - accept[i]
    return chances


def winners(scores: Sequence[float], scale: float, noise: str) -> np.ndarray:
    """Report noisy max by quadrature over the winner's noise."""
    u = np.asarray(scores, dtype=float) / scale
    density, below = NOISES[noise]
    edges = np.unique(np.concatenate((np.linspace(u.min() - 45, u.max() + 45, 240), u)))
    x, w = panels(edges)
    logs = np.array([below(x - v) for v in u])
    chances = []
    for i, v in enumerate(u):
        others = np.delete(logs, i, axis=0).prod(axis=0)
        chances.append(float((density(x - v) * others * w).sum()))
    return np.array(chances)


def panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    half = np.diff(edges) / 2
    return (edges[:-1, None] + half[:, None] * (1 + NODES)).ravel(), (half[:, None] * WEIGHTS).ravel()


def _tail(z: np.ndarray) -> np.ndarray:
    return np.exp(-np.maximum(z, 0.0))


NOISES: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    "laplace": (
        lambda z: 0.5 * np.exp(-np.abs(z)),
        lambda z: np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0.0)), 1 - 0.5 * _tail(z)),
    ),
    "exponential": (lambda z: np.where(z < 0, 0.0, _tail(z)), lambda z: np.where(z < 0, 0.0, 1 - _tail(z))),
    "gumbel": (
        lambda z: np.exp(-z - np.exp(-np.maximum(z, -30.0))) * (z > -30),
        lambda z: np.exp(-np.exp(-np.maximum(z, -30.0))),
    ),
}


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def spread(p: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """The largest log ratio, and how far log ratios are apart."""
    ratio = np.log(p) - np.log(q)
    return float(np.abs(ratio).max()), float(ratio.max() - ratio.min())


def worst_delta(law: Callable[[float], np.ndarray], shift: float, epsilon: float) -> float:
    """The largest hockey stick between two candidates at gap h and at gap h - shift, over h."""

    def lost(h: float) -> float:
        p, q = law(h), law(h - shift)
        return -max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))

    starts = np.linspace(-3 * shift - 5, 3 * shift + 5, 60)
    best = starts[int(np.argmin([lost(h) for h in starts]))]
    step = starts[1] - starts[0]
    found = minimize_scalar(
        lost, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-12}
    )
    return float(-found.fun)


def cumulative(chances: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The distribution function of 0, 1, 2, ... with these probabilities."""
    total = np.concatenate(([0.0], np.cumsum(chances)))

    def cdf(x: np.ndarray) -> np.ndarray:
        return total[np.clip(np.floor(np.asarray(x, dtype=float)).astype(int) + 1, 0, len(total) - 1)]

    return cdf


def first_above(
    values: Sequence[float], threshold_scale: float, value_scale: float, noise: str
) -> np.ndarray:
    """AboveThreshold at threshold 0 by quadrature over the threshold's noise; the last entry is "none"."""
    return np.array(
        [
            above_pattern(values, {i}, threshold_scale, value_scale, noise, upto=i + 1)
            for i in range(len(values))
        ]
        + [above_pattern(values, set(), threshold_scale, value_scale, noise)]
    )


def above_pattern(
    values: Sequence[float],
    above: set[int],
    threshold_scale: float,
    value_scale: float,
    noise: str,
    upto: int | None = None,
) -> float:
    """The probability that exactly these of the first `upto` values come out above one noisy threshold."""
    upto = len(values) if upto is None else upto
    density, below = NOISES[noise]
    # One-sided noise is centred by its mean.
    centre, shift = (threshold_scale, value_scale) if noise == "exponential" else (0.0, 0.0)
    reach = 45 * threshold_scale
    corners = [0.0, *(v - shift for v in values)]
    edges = np.unique(np.concatenate((np.linspace(-reach, reach, 600), corners, [-centre])))
    x, w = panels(edges)
    total = density((x + centre) / threshold_scale) / threshold_scale * w
    for i in range(upto):
        under = below((x - values[i] + shift) / value_scale)
        total = total * (1 - under if i in above else under)
    return float(total.sum())
