"""Privacy profiles by numerical integration and by enumeration: nothing here knows the calculus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad


def hockey_stick(noise: Any, shift: float, epsilon: float, kinks: Sequence[float] = ()) -> float:
    """The integral of (p(x - shift) - e^epsilon p(x))_+, cut at the kinks and where the densities cross."""

    def gap(x: float) -> float:
        return noise.logpdf(x - shift) - noise.logpdf(x) - epsilon

    ends = sorted({float(noise.ppf(1e-17)), *map(float, kinks), shift - float(noise.ppf(1e-17))})
    points = np.unique(np.concatenate([np.linspace(a, b, 200) for a, b in pairwise(ends)]))
    signs = np.array([gap(float(x)) > 0 for x in points])
    cuts = list(ends)
    for i in np.flatnonzero(signs[1:] != signs[:-1]):
        low, high = float(points[i]), float(points[i + 1])
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if (gap(middle) > 0) == signs[i] else (low, middle)
        cuts.append(low)
    cuts.sort()
    total = 0.0
    for a, b in pairwise(cuts):
        if gap((a + b) / 2) > 0:
            total += quad(
                lambda x: max(0.0, noise.pdf(x - shift) - math.exp(epsilon) * noise.pdf(x)),
                a,
                b,
                epsabs=1e-13,
                epsrel=1e-12,
            )[0]
    return total


def enumerated(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The same for two lists of probabilities, the worse of both directions."""
    factor = math.exp(epsilon)
    return float(max(np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum()))
