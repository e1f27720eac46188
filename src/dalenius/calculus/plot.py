"""The privacy profile and the trade-off curve of a loss, drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core import checks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.calculus.loss import Loss

INK, BLUE, GREY = "#1b1f24", "#1f6feb", "#8c959f"


def plot(loss: Loss, path: str | None = None) -> Figure:
    """Left: delta against epsilon. Right: the errors of the best attack, below the line of blind guessing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'dalenius[plot]'") from None

    epsilon = _grid(loss)
    bounds = [loss.delta_bounds(float(e)) for e in epsilon]
    high = np.array([b.upper for b in bounds])
    low = np.array([b.lower for b in bounds])

    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.fill_between(
        epsilon, np.maximum(low, 1e-320), np.maximum(high, 1e-320), color=BLUE, alpha=0.25, linewidth=0
    )
    left.plot(epsilon, np.maximum(high, 1e-320), color=BLUE, linewidth=2)
    left.set(xlabel="epsilon", ylabel="delta", title="Privacy profile", yscale="log")
    left.set_ylim(max(float(high[high > 0].min(initial=1.0)) * 0.5, 1e-14), 1.5)

    alpha = np.linspace(0.0, 1.0, 401)
    lines = [
        np.maximum(1 - d - math.exp(e) * alpha, math.exp(-e) * (1 - d - alpha))
        for e, d in zip(epsilon, high, strict=True)
    ]
    curve = np.maximum(0.0, np.max(lines, axis=0))
    right.plot([0, 1], [1, 0], color=GREY, linestyle="--", linewidth=1.2, label="guessing blindly")
    right.plot(alpha, curve, color=BLUE, linewidth=2, label="the best attack there can be")
    right.fill_between(
        alpha, 0, curve, color=GREY, alpha=0.2, linewidth=0, label="out of reach of any attack"
    )
    right.set(
        xlabel="share of outsiders accused (type I error)",
        ylabel="share of members missed (type II error)",
        title="What an attacker can do",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    right.legend(frameon=False, loc="upper right")
    title = loss.expression if len(loss.expression) <= 110 else loss.expression[:107] + "..."
    figure.suptitle(title, fontsize=10, color=INK)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    if path is not None:
        figure.savefig(path if hasattr(path, "write") else checks.path("path", path), dpi=150)
    return figure


def _grid(loss: Loss) -> np.ndarray:
    largest = max(side.largest for side in loss.directions)
    floor = loss.delta_at_infinity()
    if floor > 0.999:
        return np.linspace(0.0, 1.0, 60)
    reach = loss.epsilon(max(1e-12, floor * (1 + 1e-6)))
    top = min(largest, reach) if math.isfinite(reach) else 1.0
    return np.unique(
        np.concatenate((np.linspace(0.0, max(top, 1e-6), 60), np.geomspace(1e-3, 1.0, 20) * max(top, 1e-6)))
    )
