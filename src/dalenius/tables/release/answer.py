"""The answer to a question: estimates with standard errors and intervals, as a table one can look at."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from dalenius.core.checks import confidence as checked_confidence
from dalenius.core.checks import flag, is_one_of
from dalenius.errors import InvalidParameter
from dalenius.intervals.laws import Noisy
from dalenius.tables.compute.exact import ExactTable
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.plan.plan import Plan
from dalenius.tables.release.estimates import Wanted, columns
from dalenius.tables.release.left_out import left_out
from dalenius.tables.release.released import Released, release
from dalenius.tables.statistics.column import Column

MOST_SHOWN = 60


class UnknownColumn(InvalidParameter, KeyError):
    """A column that the answer does not have."""

    __str__ = InvalidParameter.__str__


@dataclass(frozen=True, eq=False)
class Answer:
    """What was released for a question. Everything here is post-processing: look as often as you like.

    `columns` holds, for every aggregate, estimates with `error` (standard error from the privacy noise),
    `low` and `high`. `at(...)` gives the same answer with other intervals.
    """

    plan: Plan
    released: Released
    cost: str
    wanted: Wanted = field(default_factory=Wanted)
    free: bool = False
    """Whether this answer was on record and cost nothing now."""
    given: str | None = None
    """When it was given, for the first time where it was on record."""

    @cached_property
    def columns(self) -> list[Column]:
        if self.keys:
            return columns(self.plan.query, self.released, self.wanted)
        # No key came to light: the columns of a group of nobody, without that group.
        nobody = {
            noise.measure: np.zeros(
                (1, noise.measure.size) if noise.measure.bins is not None else 1, dtype=np.int64
            )
            for noise in self.plan.noises
        }
        shapes = columns(self.plan.query, release(self.plan, ExactTable((), [()], nobody)), self.wanted)
        none = np.empty(0)
        return [replace(column, estimate=none, error=none, low=none, high=none) for column in shapes]

    @property
    def keys(self) -> list[tuple[Any, ...]]:
        """The groups, one tuple each."""
        return self.released.keys

    @property
    def left_out(self) -> str:
        """What is beyond the bounds of a unit and does not count, in words; empty where every row counts."""
        return left_out(self.plan)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if is_one_of(name, column.name):
                return column
        known = [column.name for column in self.columns]
        parts = [column for column in known if column.startswith((f"{name}[", f"{name}_"))]
        if parts:
            raise UnknownColumn(
                f"{name!r} has a column for each part; ask for one of them: {', '.join(map(repr, parts))}."
            )
        raise UnknownColumn(f"there is no column {name!r} in the answer; {nearest(str(name), known)}.")

    def at(
        self,
        confidence: float | None = None,
        *,
        simultaneous: bool | None = None,
        sampling: bool | None = None,
    ) -> Answer:
        """The same answer with other intervals.

        confidence: of each interval, or of all of them at once with `simultaneous`. sampling: intervals are for the
        population the rows were drawn from, not for the table: of means, proportions, variances, covariances,
        correlations and quantiles. Counts, sums and histograms are of the table always.
        """
        wanted = Wanted(
            self.wanted.confidence if confidence is None else checked_confidence(confidence),
            self.wanted.simultaneous if simultaneous is None else flag("simultaneous", simultaneous),
            self.wanted.sampling if sampling is None else flag("sampling", sampling),
        )
        return replace(self, wanted=wanted)

    def consistent(self) -> Answer:
        """Counts that could be true: whole and not negative.

        For groups that add up, ask for the same count without groups, too: `parts.agreeing_with(total)`.
        """
        measures = {
            measure: replace(noisy, values=np.maximum(np.rint(noisy.values), 0.0)) if measure.whole else noisy
            for measure, noisy in self.released.measures.items()
        }
        return replace(self, released=replace(self.released, measures=measures, shown=None))

    def agreeing_with(self, total: Answer) -> Answer:
        """This answer with counts and sums adjusted to add up to a total asked for without groups.

        Least squares, weighted by the noise of both: every group moves by the same amount, so that their sum
        is the best estimate from both. Counts are then made whole and not negative with that sum, rounded. Intervals
        stay those of the unadjusted noise.
        """
        given: object = total
        if not isinstance(given, Answer) or len(total) != 1 or total.released.columns:
            raise InvalidParameter(
                f"the total is {total!r}; it must be an answer without groups: the same question, not grouped."
            )
        measures: dict[Any, Noisy] = {}
        for measure, noisy in self.released.measures.items():
            other = total.released.measures.get(measure)
            if other is None or not measure.adds_up or not self.keys:
                measures[measure] = noisy
                continue
            groups = len(self.keys)
            inside, outside = groups * noisy.sigma**2, other.sigma**2
            gap = (other.values - noisy.values.sum(axis=0)) * inside / (inside + outside) / groups
            values = noisy.values + gap
            measures[measure] = replace(noisy, values=_whole(values) if measure.whole else values)
        return replace(self, released=replace(self.released, measures=measures, shown=None)).consistent()

    # -- other shapes ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name: keys, then for each aggregate its estimate, error, low and high."""
        names = self.released.columns
        table: dict[str, list[Any]] = {name: [key[k] for key in self.keys] for k, name in enumerate(names)}
        for column in self.columns:
            table[column.name] = column.plain
            if column.has_interval:
                table[f"{column.name}_error"] = column.error.tolist()
                table[f"{column.name}_low"] = column.low.tolist()
                table[f"{column.name}_high"] = column.high.tolist()
        return table

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        import pandas as pd

        frame = pd.DataFrame(self.to_dict())
        frame.attrs = {"cost": self.cost, "from_the_record": self.free, "given": self.given}
        return frame

    def to_polars(self) -> Any:
        """A Polars DataFrame."""
        import polars as pl

        return pl.DataFrame(self.to_dict())

    def to_arrow(self) -> Any:
        """An Arrow table."""
        return pa.table(self.to_dict())

    def to_markdown(self) -> str:
        """A Markdown table: estimate [low, high]."""
        head = [*self.released.columns, *(column.name for column in self.columns)]
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row in self._rows():
            cells = (cell.replace("|", "\\|").replace("\n", " ") for cell in row)
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def to_html(self) -> str:
        """An HTML table with a bar for every estimate and a whisker for its interval."""
        head = "".join(
            f"<th>{html.escape(name)}</th>"
            for name in (*self.released.columns, *(column.name for column in self.columns))
        )
        body = []
        scales = [_scale(column) for column in self.columns]
        for k, key in enumerate(self.keys):
            cells = [f"<td>{html.escape(str(part))}</td>" for part in key]
            cells += [_cell(column, k, scale) for column, scale in zip(self.columns, scales, strict=True)]
            body.append("<tr>" + "".join(cells) + "</tr>")
        note = html.escape(self._note())
        return (
            f'<table class="dalenius" style="{_TABLE}"><thead><tr>{head}</tr></thead>'
            f'<tbody>{"".join(body)}</tbody></table><p style="{_NOTE}">{note}</p>'
        )

    _repr_html_ = to_html

    def __str__(self) -> str:
        head = [*self.released.columns, *(column.name for column in self.columns)]
        rows = [head, *self._rows(MOST_SHOWN)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        if len(self) > MOST_SHOWN:
            lines.append(f"... and {len(self) - MOST_SHOWN} more groups")
        return "\n".join([*lines, self._note()])

    def __repr__(self) -> str:
        record = f", from the record of {self.given}" if self.free else ""
        return f"<Answer: {len(self)} rows, {len(self.columns)} columns{record}>"

    def _rows(self, most: int | None = None) -> list[list[str]]:
        return [
            [*map(str, key), *(_text(column, k) for column in self.columns)]
            for k, key in enumerate(self.keys[:most])
        ]

    def _note(self) -> str:
        kind = "all together" if self.wanted.simultaneous else "each"
        what = "noise and sampling (of counts and sums: noise)" if self.wanted.sampling else "noise"
        cost = f"cost: {self.cost}."
        if self.free:
            cost = f"from the record of {self.given}, free now; it cost {self.cost}."
        names = [column.name for column in self.columns]
        ranks = [name for name in names if f"{name}_off" in names]
        off = "".join(f" {name}_off: how many rows the rank of {name} may be off." for name in ranks)
        if any(f"{name}_outcome" in names for name in names):
            off += " refused: the data do not bear the proposal, or do so barely."
        gone = f" {self.left_out}" if self.left_out else ""
        return f"{100 * self.wanted.confidence:g} % intervals ({kind}) cover the {what}; {cost}{off}{gone}"


def _number(value: float, error: float) -> str:
    """Digits down to a tenth of the standard error."""
    if math.isnan(value):
        return "-"
    if not 0 < error < math.inf:
        return f"{value:,.6g}"
    places = max(0, min(12, 1 - math.floor(math.log10(error))))
    return f"{value:,.{places}f}"


def _text(column: Column, k: int) -> str:
    if not column.is_number:
        return str(column.estimate[k])
    error = float(column.error[k])
    if column.whole:
        low, high = math.floor(column.low[k]), math.ceil(column.high[k])
        return f"{column.estimate[k]:,.0f} [{low:,}, {high:,}]"
    if math.isnan(column.low[k]):
        return _number(float(column.estimate[k]), 0.0)
    ends = (_number(float(x), error) for x in (column.estimate[k], column.low[k], column.high[k]))
    return "{} [{}, {}]".format(*ends)


def _scale(column: Column) -> tuple[float, float]:
    if not column.is_number:
        return 0.0, 1.0
    ends = np.concatenate((column.estimate, column.low, column.high))
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    low, high = min(low, 0.0), max(high, 0.0)  # bars begin at zero
    return low, high if high > low else low + 1.0


def _cell(column: Column, k: int, scale: tuple[float, float]) -> str:
    if not column.is_number:
        return f'<td style="padding:2px 10px">{html.escape(_text(column, k))}</td>'
    low, high = scale

    def at(x: float) -> float:
        return 100 * min(max((x - low) / (high - low), 0.0), 1.0) if math.isfinite(x) else 0.0

    bar, left, right = at(column.estimate[k]), at(column.low[k]), at(column.high[k])
    width = max(right - left, 0.5)
    picture = (
        '<div style="position:relative;height:8px;width:120px;background:#eef1f5">'
        f'<div style="position:absolute;height:8px;width:{bar:.1f}%;background:#7aa6c2"></div>'
        f'<div style="position:absolute;top:3px;height:2px;left:{left:.1f}%;width:{width:.1f}%;'
        'background:#1f3b4d"></div></div>'
    )
    return f'<td style="text-align:right;padding:2px 10px">{html.escape(_text(column, k))}{picture}</td>'


_TABLE = "border-collapse:collapse;font:13px/1.4 system-ui,sans-serif"
_NOTE = "font:12px system-ui,sans-serif;color:#556"


def _whole(values: Any) -> Any:
    """The nearest values that are not negative and have the same sum (of each column), then whole ones that do."""
    table = values.reshape(len(values), -1)
    whole = np.empty_like(table)
    for k, column in enumerate(table.T):
        sum_of_all = max(0.0, float(np.rint(column.sum())))
        if sum_of_all == 0:
            whole[:, k] = 0.0
            continue
        high = np.sort(column)[::-1]
        excess = (np.cumsum(high) - sum_of_all) / np.arange(1, len(high) + 1)
        column = np.maximum(column - excess[np.flatnonzero(high > excess)[-1]], 0.0)
        down = np.floor(column)
        missing = int(sum_of_all - down.sum())
        down[np.argsort(down - column, kind="stable")[:missing]] += 1
        whole[:, k] = down
    return whole.reshape(values.shape)
