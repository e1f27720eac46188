"""Pictures of answers as SVG, for pages that must stand alone."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

WIDTH, LEFT, RIGHT, LINE = 720, 150, 60, 26
INK, BAR, EDGE, WRONG = "#1c2733", "#8fb8de", "#dde3ea", "#cf222e"
SQUARE, TITLE = 14, 22


def ranges(
    labels: Sequence[str],
    values: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    title: str,
    bars: bool = True,
) -> str:
    """A line for each label: a bar (or a dot) at the value, and a thin line over its interval."""
    least, most = min(0.0, *lows, *values), max(0.0, *highs, *values)
    if not bars:
        room = 0.05 * (max(highs) - min(lows)) or 1.0
        least, most = min(lows) - room, max(highs) + room
    span = most - least or 1.0

    def x(value: float) -> float:
        return LEFT + (value - least) / span * (WIDTH - LEFT - RIGHT)

    parts = [
        f'<line x1="{x(0 if bars else least):.1f}" x2="{x(0 if bars else least):.1f}" y1="0" '
        f'y2="{LINE * len(labels)}" stroke="{EDGE}"/>'
    ]
    for k, (label, value, low, high) in enumerate(zip(labels, values, lows, highs, strict=True)):
        y = LINE * k + LINE / 2
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{html.escape(str(label))}</text>')
        if bars:
            start, end = sorted((x(0.0), x(value)))
            parts.append(
                f'<rect x="{start:.1f}" y="{y - 7}" width="{end - start:.1f}" height="14" fill="{BAR}"/>'
            )
        else:
            parts.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="4" fill="{BAR}" stroke="{INK}"/>')
        parts.append(
            f'<line x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y}" y2="{y}" stroke="{INK}" stroke-width="1.5"/>'
        )
        parts.append(f'<text x="{x(max(high, value)) + 6:.1f}" y="{y + 4}">{short(value)}</text>')
    size = f'viewBox="0 0 {WIDTH} {LINE * len(labels)}" width="{WIDTH}" height="{LINE * len(labels)}"'
    name = html.escape(title)
    return (
        f'<svg role="img" aria-label="{name}" {size} '
        f'font-family="system-ui,sans-serif" font-size="12" fill="{INK}"><title>{name}</title>{"".join(parts)}</svg>'
    )


def squares(flags: Iterable[bool], title: str) -> str:
    """A square for each flag, light where it is true and red where it is not."""
    flags = list(flags)
    width = math.ceil(math.sqrt(len(flags)))
    parts = [
        f'<rect x="{SQUARE * (k % width)}" y="{TITLE + SQUARE * (k // width)}" width="{SQUARE - 1}" '
        f'height="{SQUARE - 1}" fill="{BAR if flag else WRONG}"/>'
        for k, flag in enumerate(flags)
    ]
    name, side = html.escape(title), SQUARE * width
    return (
        f'<svg role="img" aria-label="{name}" width="{side}" height="{side + TITLE}" '
        f'font-family="system-ui,sans-serif" font-size="13" fill="{INK}"><title>{name}</title>'
        f'<text x="0" y="14">{name}</text>{"".join(parts)}</svg>'
    )


def short(value: float) -> str:
    """A number for a label."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
