"""The privacy profiles and the trade-off curves of losses, drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.calculus.loss import Loss

INK, GREY = "#1b1f24", "#8c959f"
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#0a7c86", "#bc4c00", "#57606a")
LINES = ("-", "--", "-.", ":")
"""Each colour in turn, then each with another line: all can be told apart without colours, too, up to four."""
MOST = len(COLOURS) * len(LINES)
LONGEST = 110
ATTACK = "the best attack there can be"


def plot(*losses: Loss, labels: Sequence[str] | None = None, path: str | None = None) -> Figure:
    """Draw the privacy profiles and the trade-off curves of several losses side by side (needs the `plot` extra).

    Left: delta against epsilon; where the bounds are apart, the space between them is shaded. Right: the errors of the
    best attack, below the line of blind guessing.

    Parameters
    ----------
    *losses
        From 1 to 32 of them.
    labels
        What the legend (the title, of one loss) calls them; None for how each was made, and for which neighbours
        where they differ in that.
    path
        Where to save the picture; not saved for None.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    InvalidParameter
        If something is not a loss, there are too many, or the labels are not as many printable texts.

    Examples
    --------
    >>> import dalenius as dp
    >>> figure = dp.plot(dp.losses.gaussian(1.0), dp.losses.laplace(1.0), labels=["Gauss", "Laplace"])  # doctest: +SKIP
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'dalenius[plot]'") from None

    names = _labels(losses, labels)
    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    right.plot([0, 1], [1, 0], color=GREY, linestyle="--", linewidth=1.2, label="guessing blindly")
    least = 1.0
    for number, (loss, name) in enumerate(zip(losses, names, strict=True)):
        epsilon = _grid(loss)
        bounds = [loss.delta_bounds(float(e)) for e in epsilon]
        low, high = np.array([b.lower for b in bounds]), np.array([b.upper for b in bounds])
        least = min(least, float(high[high > 0].min(initial=1.0)))
        colour, line = COLOURS[number % len(COLOURS)], LINES[number // len(COLOURS)]
        if len(losses) > 1 and len(losses) <= len(LINES):
            line = LINES[number]
        _draw(left, right, (epsilon, low, high), _verbatim(name) if len(losses) > 1 else None, colour, line)
    left.set(xlabel="epsilon", ylabel="delta", title="Privacy profile", yscale="log")
    left.set_ylim(max(least * 0.5, 1e-14), 1.5)
    right.set(
        xlabel="share of outsiders accused (type I error)",
        ylabel="share of members missed (type II error)",
        title="What an attacker can do",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    if len(losses) == 1:
        right.legend(frameon=False, loc="upper right")
        figure.suptitle(_verbatim(names[0]), fontsize=10, color=INK)
    else:
        figure.legend(
            *left.get_legend_handles_labels(), loc="outside upper center", frameon=False, fontsize=9, ncols=2
        )
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    if path is not None:
        figure.savefig(path if hasattr(path, "write") else checks.path("path", path), dpi=150)
    return figure


def _labels(losses: Sequence[Loss], labels: Sequence[str] | None) -> list[str]:
    if not 1 <= len(losses) <= MOST:
        raise InvalidParameter(f"plot() was given {len(losses)} losses; it draws from 1 to {MOST}.")
    for loss in losses:
        if not hasattr(loss, "delta_bounds"):
            raise InvalidParameter(
                f"plot() was given {checks.shown(loss)}; it takes losses, such as dalenius.losses.gaussian(sigma=1.0)."
            )
    if labels is None:
        mixed = len({loss.adjacency for loss in losses}) > 1
        return [
            _short(loss.expression, 60 if len(losses) > 1 else LONGEST)
            + (f" ({loss.adjacency.value})" if mixed else "")
            for loss in losses
        ]
    if not isinstance(labels, list | tuple) or not all(_is_label(label) for label in labels):
        raise InvalidParameter.of(
            "labels",
            f"labels is {checks.shown(labels)}; it must be a list of texts, not empty, one for each loss.",
        )
    if len(labels) != len(losses):
        raise InvalidParameter.of(
            "labels", f"labels: {len(labels)} for {len(losses)} losses; give one label for each."
        )
    return [str(label) for label in labels]


def _is_label(label: object) -> bool:
    """Text that can be drawn: not blank, and no half of a character."""
    return isinstance(label, str) and bool(label.strip()) and label.replace("\n", " ").isprintable()


def _verbatim(name: str) -> str:
    """What Matplotlib draws as this text: no formulas, and no label is hidden."""
    return ("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$")


def _draw(
    left: Any, right: Any, profile: tuple[Reals, Reals, Reals], name: str | None, colour: str, line: str
) -> None:
    """One loss: its profile, and the curve of the best attack, which its upper bounds imply."""
    epsilon, low, high = profile
    low, drawn = np.maximum(low, 1e-320), np.maximum(high, 1e-320)
    left.fill_between(epsilon, low, drawn, color=colour, alpha=0.25, linewidth=0)
    left.plot(epsilon, drawn, color=colour, linestyle=line, linewidth=2, label=name)
    alpha = np.linspace(0.0, 1.0, 401)
    lines = [
        np.maximum(1 - d - math.exp(min(e, 700.0)) * alpha, math.exp(-e) * (1 - d - alpha))
        for e, d in zip(epsilon, high, strict=True)
    ]
    curve = np.maximum(0.0, np.max(lines, axis=0))
    right.plot(alpha, curve, color=colour, linestyle=line, linewidth=2, label=None if name else ATTACK)
    if not name:
        right.fill_between(
            alpha, 0, curve, color=GREY, alpha=0.2, linewidth=0, label="out of reach of any attack"
        )


def _short(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


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
