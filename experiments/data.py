"""The data sets, prepared as the thesis prepares them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

Arrays = tuple[np.ndarray, np.ndarray]


def adult(folder: Path) -> Arrays:
    """45 222 rows without missing values, one-hot, columns divided by their maxima, rows scaled to norm 1."""
    rows: list[dict[str, str]] = []
    for name in ("adult.train.csv", "adult.test.csv"):
        with open(folder / name, newline="") as file:
            rows += [{k: v.strip().rstrip(".") for k, v in row.items()} for row in csv.DictReader(file)]
    rows = [row for row in rows if "?" not in row.values()]
    labels = np.array([row.pop("classification") == ">50K" for row in rows], dtype=int)
    columns = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        try:
            columns.append(np.array(values, dtype=float))
        except ValueError:
            columns += [np.array([v == kind for v in values], dtype=float) for kind in sorted(set(values))]
    table = np.column_stack(columns)
    return unit_rows(table / np.abs(table).max(axis=0)), labels


def credit(folder: Path) -> Arrays:
    """Credit-card default, 30 000 rows: columns divided by their largest absolute value, rows scaled to norm 1."""
    with open(folder / "credit-default.csv", newline="") as file:
        rows = [{k.strip(): float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    labels = np.array([row.pop("default.payment.next.month") for row in rows]).astype(int)
    for row in rows:
        row.pop("ID")
    table = np.array([list(row.values()) for row in rows])
    return unit_rows(table / np.abs(table).max(axis=0)), labels


def synthetic_l(columns: int = 20) -> Arrays:
    """10 000 rows of Iyengar et al. (2019): scikit-learn's generator, rows scaled to norm 1.

    Their paper says 20 columns; their public code (sunblaze-ucb/dpml-benchmark) makes 40, 30 of them informative, the
    classes 2 apart, with seed 1000. Both can be had here: with 20 columns, 10 are informative and the rest is the same.
    """
    x, y = make_classification(10_000, columns, n_informative=columns - 10, class_sep=2.0, random_state=1000)
    return unit_rows(x), y


def wine(folder: Path) -> Arrays:
    """White wine quality: columns and target standardised, rows scaled to norm 1 (thesis 3.4)."""
    table = np.genfromtxt(folder / "wine-quality-white.csv", delimiter=";", skip_header=1)
    x, y = table[:, :-1], table[:, -1]
    return unit_rows((x - x.mean(axis=0)) / x.std(axis=0)), (y - y.mean()) / y.std()


def unit_rows(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def split(rows: int, seed: int, share: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    """Random training and test rows."""
    order = np.random.default_rng(seed).permutation(rows)
    return order[: int(share * rows)], order[int(share * rows) :]
