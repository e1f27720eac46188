"""Means with 95 % intervals, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t


def interval(values: Sequence[float], digits: int = 2, factor: float = 1.0) -> str:
    """Mean and half width of the 95 % interval (Student)."""
    found = factor * np.asarray(values, dtype=float)
    half = t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found))
    return f"{found.mean():.{digits}f} ± {half:.{digits}f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
