"""Estimates with their intervals, one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.infer.result import Result

INK, BLUE, GREY = "#1b1f24", "#1f6feb", "#8c959f"


def plot(result: Result, path: str | None, alpha: float) -> Figure:
    """A point and a line for each; an arrow where an interval goes on beyond the picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'dalenius[plot]'") from None

    limits, k = result.conf_int(alpha), len(result.names)
    figure = Figure(figsize=(6.4, 1.5 + 0.38 * k), layout="constrained")
    axes = figure.subplots()
    seen = np.concatenate((result.params, limits.ravel()))
    seen = seen[np.isfinite(seen)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (-1.0, 1.0)
    margin = 0.08 * ((high - low) or 1.0)
    low, high = low - margin, high + margin
    for row, (value, (start, end)) in enumerate(zip(result.params, limits, strict=True)):
        if not np.isnan(start):
            axes.plot(
                [max(start, low), min(end, high)], [row, row], color=BLUE, linewidth=2, solid_capstyle="butt"
            )
            for x, marker in ((start, "<"), (end, ">")):
                if np.isinf(x):
                    axes.plot([np.clip(x, low, high)], [row], marker, color=BLUE, markersize=7, clip_on=False)
        axes.plot([value], [row], "o", color=INK, markersize=5)
    if low < 0 < high:
        axes.axvline(0.0, color=GREY, linewidth=1, linestyle="--", zorder=0)
    axes.set_xlim(low, high)
    axes.set_ylim(k - 0.5, -0.5)
    axes.set_yticks(range(k), result.names)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0, pad=10)
    title = result.method
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    label = f"{100 * (1 - alpha):g} % intervals" if result.interval_available else "no interval is given"
    axes.set_xlabel(f"{label}: sampling and noise" if result.interval_available else label, fontsize=9)
    if path is not None:
        figure.savefig(path)
    return figure
