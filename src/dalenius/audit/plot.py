"""The trade-off curve an audit found, drawn beside the one that was claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalenius.audit.result import Audit
from dalenius.calculus.loss import Loss
from dalenius.core.decimals import rounded_down

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, BLUE, RED, GREY = "#1b1f24", "#1f6feb", "#cf222e", "#8c959f"


def plot(audit: Audit, path: str | None, claim: Loss | None) -> Figure:
    """Errors of the measured attacks (upper bounds), and below them the region a claim rules out."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'dalenius[plot]'") from None

    figure = Figure(figsize=(5.4, 5.0), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [1, 0], color=GREY, linestyle="--", linewidth=1.2, label="guessing blindly")
    if claim is not None:
        alpha = np.concatenate([[0.0], np.geomspace(1e-4, 4e-3, 9), np.linspace(0.005, 1.0, 200)])
        curve = [claim.tradeoff(float(a)) for a in alpha]
        axes.fill_between(alpha, 0, curve, color=GREY, alpha=0.2, linewidth=0, label="ruled out by the claim")
        axes.plot(alpha, curve, color=BLUE, linewidth=2, label="the claim")
    one, two = zip(*audit.points, strict=True)
    axes.plot(
        one, two, color=RED, linewidth=1.4, marker="o", markersize=3, label="attacks that were measured"
    )
    axes.set(
        xlabel="false accusations (type I error)",
        ylabel="missed (type II error)",
        title=f"epsilon >= {rounded_down(audit.epsilon, 3)} at delta = {audit.level:g}",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    axes.legend(frameon=False, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    title = audit.subject if len(audit.subject) <= 70 else audit.subject[:67] + "..."
    figure.suptitle(title, fontsize=10, color=INK)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
