"""What a noisy table of two columns says beyond their margins: shrunk to nothing where noise could have said it."""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.queries.marginals.refine import on_the_simplex


def centred(table: Reals) -> Reals:
    """A table less its row and column means: what is not in the margins."""
    return np.asarray(
        table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean(), dtype=np.float64
    )


def shrunk(counts: Reals, expected: Reals, sigma: float, total: float) -> Reals:
    """Counts near the exact ones, from noisy ones and those that a model expects.

    Two estimates are made, and the one with the smaller estimated risk is returned.

    - *Few directions.* The part of counts - expected that is not in the margins is a relation of low rank plus white
      noise. Its singular values are shrunk, those that noise alone could have to 0, by the rule that is best in
      squared error for large tables (Gavish and Donoho 2017, "Optimal Shrinkage of Singular Values").
    - *Few cells.* The nearest nonnegative counts with the right sum: better where one column tells the other.

    Risks are by Stein's unbiased estimate, squared distance + 2 sigma^2 divergence - cells sigma^2, with the divergence
    of functions of singular values by Candes, Sing-Long and Trzasko (2013), "Unbiased Risk Estimates for Singular Value
    Thresholding and Spectral Estimators"; of a projection to the simplex, the positive cells but one. All of this is
    post-processing of released counts.
    """
    off = centred(counts - expected)
    left, values, right = np.linalg.svd(off, full_matrices=False)
    kept, divergence = _shrunk_values(values, counts.shape, sigma)
    change = np.asarray((left * kept) @ right)
    degrees = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    few_directions = float(((change - off) ** 2).sum()) + sigma**2 * (2 * divergence - degrees)
    nearest = on_the_simplex(counts, total)
    summing = counts + (total - counts.sum()) / counts.size
    positive = int((nearest > 0).sum())
    few_cells = float(((nearest - summing) ** 2).sum()) + sigma**2 * (2 * (positive - 1) - (counts.size - 1))
    return nearest if few_cells < few_directions else on_the_simplex(expected + change, total)


def _shrunk_values(values: Reals, shape: tuple[int, ...], sigma: float) -> tuple[Reals, float]:
    """Singular values after shrinking, and the divergence of the whole map."""
    short, long = sorted(shape)
    ratio, scale = short / long, sigma * math.sqrt(long)

    def rule(x: Reals) -> Reals:
        y = x / scale
        inside = np.maximum((y * y - ratio - 1) ** 2 - 4 * ratio, 0.0)
        return np.where(y > 1 + math.sqrt(ratio), scale * np.sqrt(inside) / np.maximum(y, 1.0), 0.0)

    kept, step = rule(values), 1e-5 * scale
    slopes = (rule(values + step) - rule(values - step)) / (2 * step)
    apart = values[:, None] ** 2 - values**2
    pairs = np.divide((values * kept)[:, None], apart, out=np.zeros_like(apart), where=apart != 0)
    shares = np.divide(kept, values, out=np.zeros_like(kept), where=values > 0)
    return kept, float(slopes.sum() + (long - short) * shares.sum() + 2 * pairs.sum())
