"""Columns of an answer as bars with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.tables.release.cells import key_text
from dalenius.tables.release.sheet import ENDS, Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 60
"""So many rows can be told apart in a picture."""
BAR, WHISKER = "#7aa6c2", "#1f3b4d"


def draw(sheet: Sheet, names: list[str], path: str | Path | None) -> Figure:
    """One panel for each column, a bar for each row."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidParameter("pictures need Matplotlib: pip install 'dalenius[plot]'.") from None
    if not names:
        raise InvalidParameter("there is no column of numbers to draw.")
    rows = min(len(sheet), MOST)
    labels = [_label(sheet.names, key) for key in sheet.keys[:rows]]
    figure = Figure(figsize=(1.6 + 3.4 * len(names), 1.1 + 0.3 * max(rows, 1)), layout="constrained")
    panels = figure.subplots(1, len(names), sharex=sheet.alike, sharey=True, squeeze=False)[0]
    places = np.arange(rows)
    for panel, name in zip(panels, names, strict=True):
        column = sheet[name]
        estimate = np.nan_to_num(column.estimate[:rows].astype(float))
        panel.barh(places, estimate, height=0.7, color=BAR)
        known = np.isfinite(column.low[:rows]) & np.isfinite(column.high[:rows])
        panel.hlines(
            places[known], column.low[:rows][known], column.high[:rows][known], color=WHISKER, linewidth=2
        )
        panel.set_title(name, fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    panels[0].set_yticks(places, labels)
    panels[0].set_ylim(max(rows, 1) - 0.4, -0.6)  # the first row above, and no more room than a bar needs
    note = sheet.note if len(sheet) <= MOST else f"The first {MOST} of {len(sheet)} rows. {sheet.note}"
    figure.supxlabel(note, fontsize=7, color="#556", wrap=True)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _label(names: tuple[str, ...], key: tuple[Any, ...]) -> str:
    """What stands beside a bar; of a bin of a histogram, from where to where it goes."""
    parts = [key_text(part) for part in key]
    if names[-2:] == ENDS:
        parts[-2:] = [f"{parts[-2]} to {parts[-1]}"]
    return ", ".join(parts) or "all"
