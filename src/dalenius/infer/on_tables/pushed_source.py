"""Sums of scores computed by the engine that has the rows: one statement a step, and nothing but sums comes back.

A row is standardised, brought to its bounded length and rounded as `Standard` and `Totals` say, in the engine's
doubles. Two engines may round a row to neighbouring integers (`exp`, and the order in which squares are added).
What bounds a row's share does not rest on that:

- the integers Z of a row count only if the sum of their squares, in integers, is at most (2^18 + root of their
  number)^2; else the row adds nothing;
- slopes are clamped to 2^18 as they become integers, and what Z is multiplied by for a matrix to [-1, 1], so that
  every |R| is at most |Z|.

So a row adds at most 2^18 (2^18 + root) to the sum of s Z, and the square of (2^18 + root) to a matrix: less than
`longest`, for any number of columns, in every engine.

No double overflows, or underflows, which PostgreSQL refuses: what enters a product is clamped to 2^60 of its scale, and
flushed to zero below 2^-60 of it; theta is flushed to zero below 2^-300.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ibis
import numpy as np

from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.on_tables.block_source import BlockSource
from dalenius.infer.on_tables.spellings import is_spelled, spelled
from dalenius.infer.scores import Rows, Score, Source, Standard, Totals
from dalenius.sums.grids import ROW_BITS
from dalenius.tables.compute.totals import Total, Wanted, clamped_to, nearest
from dalenius.tables.rows.terms import balanced, double, integer

MOST = 2**ROW_BITS
FAR = 2.0**60
SCALES = 2.0**200
"""Reach and scales are within 2^-200 and 2^200."""

Summing = Callable[[Wanted], list[int]]
"""The exact sums of what is wanted, over all rows."""
Tallying = Callable[[Callable[[Any], Any]], dict[int, int]]
"""How many rows have each value of an int64 expression of a row."""


@dataclass(frozen=True)
class PushedSource(Source):
    """A table in an engine. `sums` and `tally` ask it; `blocks` reads it, for scores that are not spelled.

    `once` makes an engine compute columns once that are mentioned often (`Engine.once`).
    """

    blocks: BlockSource
    sums: Summing
    tally: Tallying
    once: Callable[[Any], Any]

    @property
    def columns(self) -> int:  # type: ignore[override]
        return self.blocks.columns

    def count(self) -> int:
        return self.tally(lambda rows: rows.mutate(place=integer(0))).get(0, 0)

    def column_counts(self, edges: Reals) -> Array:
        found = np.zeros((self.columns + 1, edges.shape[1] + 1), dtype=np.int64)
        for j in range(self.columns + 1):
            for place, rows in self.tally(partial(_placed, name=f"v{j}", edges=edges[j])).items():
                found[j, place] += rows
        return found

    def rows(self, standard: Standard) -> Rows:
        sizes = [standard.reach, standard.y_scale, *standard.scales]
        if not all(1 / SCALES <= size <= SCALES for size in sizes):
            raise InvalidParameter("a scale is beyond what doubles hold well; rescale the columns.")
        return PushedRows(self, standard)


@dataclass(frozen=True)
class PushedRows(Rows):
    """Standardised anew in every statement."""

    source: PushedSource
    standard: Standard

    def totals(
        self, theta: Reals, score: Score, *, want_score: bool, want_bend: bool, want_square: bool
    ) -> Totals:
        if not is_spelled(score):
            return self.source.blocks.rows(self.standard).totals(
                theta, score, want_score=want_score, want_bend=want_bend, want_square=want_square
            )
        size = self.size
        pairs = [(i, j) for i in range(size) for j in range(i + 1)]

        def wanted(rows: Any) -> tuple[Any, list[Total]]:
            rows = self._predicted(rows, theta)
            at = spelled(score, rows["u"], rows["y"])
            columns = {}
            if want_score or want_square:
                columns["slope"] = at.slope * rows["weight"]
            if want_bend:
                columns["root"] = at.root
            rows = self.source.once(rows.mutate(**columns))
            whole: dict[str, Any] = {}
            if want_score:
                whole["s"] = nearest(rows["slope"] * double(MOST), MOST)
            for name, factor, needed in (("b", "root", want_bend), ("q", "slope", want_square)):
                if needed:
                    share = clamped_to(rows[factor], 1.0)
                    whole |= {
                        f"{name}{j}": nearest(share * rows[f"z{j}"].cast("float64"), MOST)
                        for j in range(size)
                    }
            rows = self.source.once(rows.mutate(**whole))
            sums = [Total(rows["s"] * rows[f"z{j}"], PRODUCT) for j in range(size)] if want_score else []
            for name, needed in (("b", want_bend), ("q", want_square)):
                if needed:
                    sums += [Total(rows[f"{name}{i}"] * rows[f"{name}{j}"], PRODUCT) for i, j in pairs]
            return rows, sums

        found = iter(self.source.sums(wanted))
        sums = np.array([next(found) for _ in range(size)], dtype=object) if want_score else None
        matrices = [_symmetric(size, pairs, found) if needed else None for needed in (want_bend, want_square)]
        return Totals(sums, *matrices)

    def residual_counts(self, theta: Reals, edges: Reals) -> Array:
        def placed(rows: Any) -> Any:
            rows = self._predicted(rows, theta)
            rows = self.source.once(rows.mutate(away=(rows["u"] - rows["y"]).abs()))
            some = balanced([rows[f"z{j}"] * rows[f"z{j}"] for j in range(self.size)], operator.add)
            place = _place(rows["away"], edges)
            return rows.mutate(place=ibis.cases((some > integer(0), place), else_=integer(-1)))

        counts = np.zeros(len(edges) + 1, dtype=np.int64)
        for place, rows in self.source.tally(placed).items():
            if place >= 0:
                counts[place] += rows
        return counts

    def _predicted(self, rows: Any, theta: Reals) -> Any:
        """With Z as z0, z1, ..., the row's weight, u = x.theta and the response y."""
        standard, columns, once = self.standard, len(self.standard.centers), self.source.once
        reach = double(standard.reach)
        scaled = {
            f"x{j}": _scaled(rows[f"v{j}"], float(standard.centers[j]), float(standard.scales[j]))
            for j in range(columns)
        }
        y = _scaled(rows[f"v{columns}"], standard.y_center, standard.y_scale)
        rows = once(rows.select(**scaled, y=y))
        squares = [rows[name] * rows[name] for name in scaled] + [double(standard.constant**2)]
        norm = balanced(squares, operator.add).sqrt()
        rows = once(rows.mutate(weight=reach / ibis.greatest(norm, reach)))
        share = rows["weight"] * double(MOST / standard.reach)
        whole = {f"w{j}": nearest(rows[f"x{j}"] * share, MOST) for j in range(columns)}
        if standard.constant > 0:
            whole[f"w{columns}"] = nearest(share * double(standard.constant), MOST)
        rows = once(rows.select(**whole, weight=rows["weight"], y=rows["y"]))
        longest = math.ceil((MOST + math.sqrt(self.size)) ** 2)
        length = balanced([rows[name] * rows[name] for name in whole], operator.add)
        rows = once(rows.mutate(short=length <= integer(longest)))
        kept = {
            f"z{j}": ibis.cases((rows["short"], rows[f"w{j}"]), else_=integer(0)) for j in range(self.size)
        }
        rows = once(rows.select(**kept, weight=rows["weight"], y=rows["y"]))
        products = [rows[f"z{j}"].cast("float64") * double(_tame(float(theta[j]))) for j in range(self.size)]
        stretch = double(standard.reach / MOST) / rows["weight"]
        return once(rows.mutate(u=balanced(products, operator.add) * stretch))


PRODUCT = 2 * ROW_BITS + 1


def _scaled(x: Any, center: float, scale: float) -> Any:
    """(x - center)/scale, within 2^60 and flushed to zero below 2^-60."""
    away = x - double(center)
    large, small = double(FAR * scale), double(scale / FAR)
    minus_large, minus_small = double(-FAR * scale), double(-scale / FAR)
    tamed = ibis.cases(
        (away <= minus_large, minus_large),
        (away <= minus_small, away),
        (away < small, double(0.0)),
        (away <= large, away),
        else_=large,
    )
    return tamed * double(1 / scale)


def _tame(x: float) -> float:
    """A coefficient that no product with a row takes out of the range of doubles."""
    return 0.0 if abs(x) < 2.0**-300 else min(max(x, -(2.0**300)), 2.0**300)


def _placed(rows: Any, name: str, edges: Reals) -> Any:
    return rows.mutate(place=_place(rows[name], edges))


def _place(x: Any, edges: Reals) -> Any:
    """How many of the edges (which increase) are below x: a search by halves, of a few comparisons a row."""

    def among(low: int, high: int) -> Any:
        if low == high:
            return integer(low)
        middle = (low + high) // 2
        return ibis.cases(
            (x <= double(float(edges[middle])), among(low, middle)), else_=among(middle + 1, high)
        )

    return among(0, len(edges))


def _symmetric(size: int, pairs: Sequence[tuple[int, int]], found: Any) -> Array:
    matrix = np.zeros((size, size), dtype=object)
    for i, j in pairs:
        matrix[i, j] = matrix[j, i] = next(found)
    return matrix
