"""The data of the learning benchmark; imports nothing but NumPy, so that the peers can make them, too."""

from __future__ import annotations

import numpy as np

COLUMNS = 50
STEEP = 10.3
"""Such that without privacy a little more than 95 % of the labels can be told."""


def design(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of norm about 1, clipped to norm 1; logistic labels. The coefficients are the same for every seed."""
    truth = np.random.default_rng(1234).normal(size=COLUMNS)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, COLUMNS)) / np.sqrt(COLUMNS)
    y = rng.random(rows) < 1 / (1 + np.exp(-STEEP * (x @ truth)))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
    return x, y.astype(int)
