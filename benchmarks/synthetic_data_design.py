"""The Adult table in codes, as every method of the synthetic-data benchmark gets it.

All 15 columns: categories by public lists, numbers in equal bins between public bounds. This file is read by the
peers' environments too, and imports nothing of this package.
"""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]

DELTA = 1e-9
EPSILONS = (0.1, 1.0, 10.0)
LABEL = "classification"

METHODS = (
    "baseline independent",
    "baseline Gaussian",
    "dalenius AdaptiveMarginals",
    "dpmm MST",
    "dpmm PrivBayes",
    "smartnoise MST",
    "smartnoise MWEM",
    "dpmm AIM",
    "smartnoise AIM",
)
"""From quick to slow."""

BINS: dict[str, tuple[float, float, int]] = {
    "age": (17, 91, 32),
    "fnlwgt": (0, 1_500_000, 32),
    "education-num": (1, 17, 16),
    "capital-gain": (0, 100_000, 32),
    "capital-loss": (0, 5_000, 32),
    "hours-per-week": (0, 100, 32),
}
"""Of the numeric columns: lower and upper bound, and how many equal bins."""


def adult(folder: Path) -> tuple[dict[str, int], Codes, Codes]:
    """Columns with their sizes, and the codes of the training and the test part."""
    parts = [_read(folder / f"adult.{part}.csv") for part in ("train", "test")]
    sizes, coded = {}, []
    for name in parts[0]:
        if name in BINS:
            lower, upper, bins = BINS[name]
            values = [np.array(part[name], dtype=float) for part in parts]
            codes = [np.floor((v - lower) / (upper - lower) * bins).astype(np.int64) for v in values]
            codes = [np.clip(c, 0, bins - 1) for c in codes]
        else:
            # The lists of the documentation of the data set: all of them occur in both parts together.
            listed = sorted(set(parts[0][name]) | set(parts[1][name]))
            bins = len(listed)
            codes = [np.searchsorted(listed, part[name]).astype(np.int64) for part in parts]
        sizes[name] = bins
        coded.append(codes)
    train, test = (np.column_stack([codes[part] for codes in coded]) for part in (0, 1))
    return sizes, train, test


def _read(path: Path) -> dict[str, list[str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        head, *rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if row]
    return {name: [row[n] for row in rows] for n, name in enumerate(head)}


def pairs(columns: int) -> list[tuple[int, ...]]:
    """All pairs of columns."""
    return list(combinations(range(columns), 2))


def triples(columns: int, number: int = 100) -> list[tuple[int, ...]]:
    """A fixed choice of triples of columns."""
    every = list(combinations(range(columns), 3))
    chosen = np.random.default_rng(0).choice(len(every), number, replace=False)
    return [every[n] for n in sorted(chosen)]
