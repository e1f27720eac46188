"""Pictures of attacks, beside what a claim allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.audit.claims import Claim, as_loss
from dalenius.audit.plot import BLUE, GREY, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.audit.attacks.guesses import Guesses
    from dalenius.audit.attacks.membership import Membership
    from dalenius.audit.attacks.published_counts import PublishedCounts


def guesses(found: Guesses, path: str | None, claim: Claim | None) -> Figure:
    """Every bit as a square, blue if it was guessed right, and the share of right ones."""
    figure = _figure((7.2, 4.0))
    squares, share = figure.subplots(1, 2, width_ratios=(1.6, 1.0))
    draw_bits(squares, found)
    low, high = found.interval()
    share.bar([0], [found.success], width=0.5, color=BLUE)
    share.errorbar(
        [0], [found.success], yerr=[[found.success - low], [high - found.success]], color="black", capsize=5
    )
    share.axhline(0.5, color=GREY, linestyle="--", linewidth=1.2, label="a coin")
    if claim is not None:
        share.axhline(found.allowed(claim), color=RED, label="allowed, on average")
    share.set(
        ylim=(0, 1.02),
        xlim=(-0.6, 0.6),
        xticks=[],
        ylabel="share of right guesses",
        title=f"{found.success:.1%}",
    )
    share.legend(frameon=False, loc="lower right")
    share.spines[["top", "right"]].set_visible(False)
    return _saved(figure, path)


def draw_bits(axes: Any, found: Guesses) -> None:
    """The bits of a first release as squares on axes."""
    right = np.atleast_2d(found.correct)[0]
    width = math.ceil(math.sqrt(len(right)))
    cells = np.full(width * width, np.nan)
    cells[: len(right)] = right
    from matplotlib.colors import ListedColormap

    axes.imshow(
        cells.reshape(width, width), cmap=ListedColormap([RED, BLUE]), vmin=0, vmax=1, interpolation="nearest"
    )
    axes.set(xticks=[], yticks=[], title=f"{len(right)} secret bits: blue rebuilt, red not")
    for spine in axes.spines.values():
        spine.set_visible(False)


def membership(found: Membership, path: str | None, claim: Claim | None) -> Figure:
    """Power against false alarms, with intervals, and the region a claim rules out."""
    figure = _figure((5.4, 5.0))
    axes = figure.subplots()
    draw_power(axes, found, claim)
    return _saved(figure, path)


def draw_power(axes: Any, found: Membership, claim: Claim | None) -> None:
    """The same on axes of the caller."""
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.2, label="guessing blindly")
    if claim is not None:
        loss = as_loss(claim)
        level = np.concatenate([[0.0], np.geomspace(1e-4, 0.02, 10), np.linspace(0.03, 1.0, 60)])
        most = [loss.power(float(a)) for a in level]
        axes.fill_between(
            level, most, 1.0, color=GREY, alpha=0.2, linewidth=0, label="ruled out by the claim"
        )
        axes.plot(level, most, color=BLUE, linewidth=2, label="allowed by the claim")
    alarms, hits = found.curve
    axes.plot(alarms, hits, color=RED, linewidth=1.6, label=found.attack)
    for rate in (0.01, 0.05, 0.1, 0.25, 0.5):
        low, high = found.interval(rate)
        axes.plot([rate, rate], [low, high], color=RED, linewidth=1.0)
    axes.set(
        xlabel="false alarms: others who are accused",
        ylabel="power: members who are found",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    axes.set_aspect("equal")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)


def _figure(size: tuple[float, float]) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'dalenius[plot]'") from None
    return Figure(figsize=size, layout="constrained")


def _saved(figure: Figure, path: str | None) -> Figure:
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def published_counts(found: PublishedCounts, path: str | None) -> Figure:
    """How closely combinations are known; how sure somebody becomes at each epsilon."""
    figure = _figure((8.6, 3.8))
    known, certainty = figure.subplots(1, 2)
    width = found.high - found.low
    kinds = {
        "known exactly": int((width == 0).sum()),
        "within 1": int((width == 1).sum()),
        "within 2 to 5": int(((width >= 2) & (width <= 5)).sum()),
        "more open": int((width > 5).sum()),
    }
    bars = known.barh(list(kinds)[::-1], list(kinds.values())[::-1], color=[GREY, GREY, BLUE, RED])
    known.bar_label(bars, padding=3)
    known.set(
        xlabel="combinations of values", title=f"Today: {found.rebuilt:,} rows rebuilt ({found.share:.0%})"
    )
    epsilon = np.linspace(0.0, 6.0, 200)
    certainty.plot(epsilon, 1 / (1 + np.exp(-epsilon)), color=BLUE, linewidth=2)
    certainty.axhline(1.0, color=RED, linewidth=1.2, label="exact tables")
    certainty.axhline(0.5, color=GREY, linestyle="--", linewidth=1.2, label="no tables")
    certainty.set(
        xlabel="epsilon for all tables together",
        ylabel="certainty that a row is there, at most",
        ylim=(0.48, 1.02),
        title="With a budget",
    )
    certainty.legend(frameon=False, loc="center right")
    for axes in (known, certainty):
        axes.spines[["top", "right"]].set_visible(False)
    return _saved(figure, path)
