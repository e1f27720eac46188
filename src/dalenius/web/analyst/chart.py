"""An answer as a picture: for each group a bar to the estimate, and a whisker over its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_BARS = 60
MOST_CHARTS = 4
MOST_LETTERS = 24
WIDTH, ROW = 640, 26
RIGHT = 36
"""Space after the last mark."""


@dataclass(frozen=True)
class Bar:
    """One group; places along the axis, and words for those who do not see it."""

    label: str
    y: float
    start: float
    width: float
    mark: float
    low: float | None
    high: float | None
    said: str


@dataclass(frozen=True)
class Chart:
    """One estimate over the groups."""

    name: str
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    zero: float
    height: int
    names: int
    """Where names end."""
    width: int = WIDTH


def charts(answer: Mapping[str, Any]) -> list[Chart]:
    """Pictures of the first few estimates of an answer with groups."""
    columns, rows = answer.get("columns"), answer.get("rows")
    if not columns or not rows or not 2 <= len(rows) <= MOST_BARS:
        return []
    places = {(column["role"], column["of"]): place for place, column in enumerate(columns)}
    keys = [place for place, column in enumerate(columns) if column["role"] == "key"]
    found: list[Chart] = []
    for role, name in places:
        if role == "estimate" and len(found) < MOST_CHARTS:
            drawn = _chart(
                name, rows, keys, [places.get((part, name)) for part in ("estimate", "low", "high")]
            )
            found += [drawn] if drawn else []
    return found


def _chart(
    name: str, rows: Sequence[Sequence[Any]], keys: list[int], places: list[int | None]
) -> Chart | None:
    numbers = [[_number(row[place]) if place is not None else None for place in places] for row in rows]
    known = [value for line in numbers for value in line if value is not None]
    if not known or any(line[0] is None for line in numbers):
        return None
    ticks = nice(min(0.0, *known), max(0.0, *known))
    first, last = ticks[0], ticks[-1]
    labels = [", ".join(str(row[place]) for place in keys) or "all" for row in rows]
    names = 16 + math.ceil(10.5 * min(MOST_LETTERS, max(len(label) for label in labels)))  # as a phone writes

    def at(value: float) -> float:
        return round(names + (value - first) / (last - first) * (WIDTH - names - RIGHT), 2)

    bars = []
    for n, (label, (estimate, low, high)) in enumerate(zip(labels, numbers, strict=True)):
        assert estimate is not None
        ends = low is not None and high is not None
        said = f"{label}: {shown(estimate)}" + (f", from {shown(low)} to {shown(high)}" if ends else "")
        bars.append(
            Bar(
                label if len(label) <= MOST_LETTERS else label[: MOST_LETTERS - 1] + "…",
                ROW * n + 8,
                min(at(0.0), at(estimate)),
                abs(at(estimate) - at(0.0)),
                at(estimate),
                at(low) if low is not None and high is not None else None,
                at(high) if low is not None and high is not None else None,
                said,
            )
        )
    marks = tuple((at(tick), shown(tick)) for tick in ticks)
    return Chart(name, tuple(bars), marks, at(0.0), ROW * len(rows) + 34, names)


def nice(low: float, high: float, parts: int = 4) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`, evenly apart.

    >>> nice(0.0, 87.0)
    [0.0, 50.0, 100.0]
    >>> nice(-3.0, 4.0)
    [-4.0, -2.0, 0.0, 2.0, 4.0]
    """
    if not high > low:
        high = low + 1.0
    rough = (high - low) / parts
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [n * step for n in range(first, last + 1)]


def shown(value: Any) -> str:
    """A number with as many digits as are read, whatever its size; other values as text.

    >>> shown(1234567.8), shown(0.01234), shown(None), shown("CA"), shown(12)
    ('1 234 568', '0.01234', '', 'CA', '12')
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}".replace(",", " ") if abs(value) < 1e15 else f"{value:.4g}"
    return f"{value:.4g}"


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
