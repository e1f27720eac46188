"""A picture of an account's year: what was left of it, day by day. SVG, drawn by hand; its colours are the page's."""

from __future__ import annotations

import datetime
import html
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WORD = 62
"""More than the word for an act is wide."""
SHORT = 22
"""What is at least there for the word below a mark."""

DAY = datetime.timedelta(days=1)
MONTHLY = 100 * DAY
"""Longer times are marked by their months."""
STEPS = tuple(
    datetime.timedelta(minutes=minutes)
    for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7 * 1440, 14 * 1440)
)
"""Of shorter times, what may lie between two marks."""


@dataclass(frozen=True)
class Step:
    """From then on so much was left; with a word for what a steward did."""

    time: datetime.datetime
    left: float
    act: str = ""


def burn_down(
    steps: Sequence[Step],
    start: datetime.datetime,
    end: datetime.datetime,
    last: datetime.datetime,
    unit: str,
    *,
    narrow: bool = False,
    over: str = "the year",
) -> str:
    """The picture. start, end: of the year, or of another time; last: where the line stops, now or the end of it."""
    width, height = (400, 240) if narrow else (800, 260)
    left, right, top, bottom = 52, 12, 22, 28
    most = max((step.left for step in steps), default=0.0) or 1.0
    ticks = _ticks(most)
    roof = max(ticks[-1], most)

    def x(when: datetime.datetime) -> float:
        share = (when - start) / (end - start)
        return left + (width - left - right) * min(max(share, 0.0), 1.0)

    def y(amount: float) -> float:
        return top + (height - top - bottom) * (1 - amount / roof)

    floor = y(0)
    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" class="{"phone" if narrow else "wide"}">']
    parts.append(f"<title>{html.escape(unit)} left over {over}</title>")
    for tick in ticks:
        parts.append(
            f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        )
        parts.append(f'<text x="{left - 7}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.4g}</text>')
    for begins, name in _marks(start, end, narrow):
        parts.append(
            f'<line class="grid" x1="{x(begins):.1f}" x2="{x(begins):.1f}" y1="{floor:.1f}" y2="{floor + 4:.1f}"/>'
        )
        if name and x(begins) + 3 + SHORT < width:
            parts.append(f'<text x="{x(begins) + 3:.1f}" y="{height - 9}">{name}</text>')
    if steps:
        parts += _line(steps, last, x, y, floor, width - right)
    if last < end:
        parts.append(
            f'<line class="today" x1="{x(last):.1f}" x2="{x(last):.1f}" y1="{top}" y2="{floor:.1f}"/>'
        )
    return "".join([*parts, "</svg>"])


def _marks(
    start: datetime.datetime, end: datetime.datetime, narrow: bool
) -> list[tuple[datetime.datetime, str]]:
    """Moments to mark below the picture, each with what it is called, or with nothing where there is no room."""
    if end - start > MONTHLY:
        first = start.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        months = (
            first.replace(year=first.year + (first.month - 1 + k) // 12, month=(first.month - 1 + k) % 12 + 1)
            for k in range(14)
        )
        return [
            (month, MONTHS[month.month - 1] if not narrow or month.month % 3 == 1 else "")
            for month in months
            if start <= month < end
        ]
    most = 4 if narrow else 8
    step = next((step for step in STEPS if (end - start) / step <= most), STEPS[-1])
    day = start.replace(hour=0, minute=0, second=0, microsecond=0)
    found = day + step * math.ceil((start - day) / step)
    marks = []
    while found < end:
        hours = f"{found:%H:%M}"
        marks.append((found, hours if step < DAY else f"{found.day} {MONTHS[found.month - 1]}"))
        found += step
    return marks


def _line(
    steps: Sequence[Step],
    last: datetime.datetime,
    x: Callable[[datetime.datetime], float],
    y: Callable[[float], float],
    floor: float,
    edge: float,
) -> list[str]:
    """The steps, what is below them, and a mark for each act."""
    points = [(x(steps[0].time), y(steps[0].left))]
    for before, after in itertools.pairwise(steps):
        points += [(x(after.time), y(before.left)), (x(after.time), y(after.left))]
    points.append((x(max(last, steps[-1].time)), y(steps[-1].left)))
    path = " L".join(f"{a:.1f} {b:.1f}" for a, b in points)
    area = f"M{points[0][0]:.1f} {floor:.1f} L{path} L{points[-1][0]:.1f} {floor:.1f} Z"
    found = [f'<path class="area" d="{area}"/>', f'<path class="line" d="M{path}"/>']
    spoken = -math.inf
    for step in steps:
        if not step.act:
            continue
        at, height = x(step.time), y(step.left)
        found.append(f'<circle class="act" cx="{at:.1f}" cy="{height:.1f}" r="3.4"/>')
        anchor, begins, beside = ("end", at - WORD, at - 6) if at > edge - WORD else ("start", at, at + 6)
        if begins > spoken:  # words that would lie on each other are left out: the table has them all
            found.append(
                f'<text x="{beside:.1f}" y="{max(height - 7, 12):.1f}" text-anchor="{anchor}">'
                f"{html.escape(step.act)}</text>"
            )
            spoken = begins + WORD
    return found


def _ticks(most: float) -> list[float]:
    """Round numbers from 0 on, three to six of them, up to the most or just above."""
    size = 10 ** math.floor(math.log10(most / 3))
    step = next(size * times for times in (1, 2, 2.5, 5, 10) if most / (size * times) <= 4.5)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]
