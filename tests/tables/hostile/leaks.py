"""Mistakes planted on purpose, of different kinds: the generator must find each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.errors import EngineFailed, QueryRefused
from dalenius.session import synthesis
from dalenius.session.synthesis import Synthesis
from dalenius.tables.compute import exact
from dalenius.tables.compute.exact import ExactTable
from dalenius.tables.measures import gridding
from tests.tables.hostile import stores
from tests.tables.hostile.campaign import Try, neighbours, run, syntheses_and_feeds
from tests.tables.hostile.judge import Leak, Tally

MADE = 6
"""Worlds in which tables are made up: of two, one pair in nine has CSV files alone, where few rows have a period."""


def _frames(_folder: Path) -> Try:
    return neighbours(stores.frame, "duckdb")


def _made(folder: Path) -> Try:
    return syntheses_and_feeds("duckdb", folder)


@dataclass(frozen=True)
class Planted:
    """A mistake. worlds: how many the generator may look at before it must have found it. tried: what looks."""

    name: str
    plant: Callable[[pytest.MonkeyPatch], None]
    worlds: int = 25
    tried: Callable[[Path], Try] = _frames

    def sought(self, number: int, tally: Tally) -> Leak | None:
        """What the generator finds when the mistake is there."""
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            self.plant(patch)
            return run(self.tried(Path(folder)), self.worlds, number, tally)


def _unclamped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gridding, "clamp", lambda term, lower, upper, missing: term.value.cast("float64"))


def _unbounded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(exact, "bounded", lambda rows, *_: rows)


def _after(patch: pytest.MonkeyPatch, change: Callable[[ExactTable], ExactTable]) -> None:
    """Whatever is evaluated is changed on its way out."""
    run = exact.Evaluation.run
    patch.setattr(exact.Evaluation, "run", lambda self: change(run(self)))


def _typed(patch: pytest.MonkeyPatch) -> None:
    def change(table: ExactTable) -> ExactTable:
        """As int64 when the numbers fit 31 bits."""
        values = {
            m: v.astype("int64") if all(abs(x) < 2**31 for x in v.ravel().tolist()) else v.astype(object)
            for m, v in table.values.items()
        }
        return replace(table, values=values)

    _after(patch, change)


def _appearing(patch: pytest.MonkeyPatch) -> None:
    def change(table: ExactTable) -> ExactTable:
        """Groups with nobody in them are left out."""
        shown = [n for n in range(len(table)) if any(v[n].any() for v in _arrays(table))]
        values = {m: v[shown] for m, v in table.values.items()}
        return replace(table, codes=[table.codes[n] for n in shown], values=values)

    _after(patch, change)


def _quoting(patch: pytest.MonkeyPatch) -> None:
    def change(table: ExactTable) -> ExactTable:
        for values in _arrays(table):
            largest = max(map(abs, values.ravel().tolist()), default=0)
            if largest > 2**52:
                raise EngineFailed(f"{largest} is too large.")
        return table

    _after(patch, change)
    patch.setattr(exact, "sealed", lambda action: action())


def _arrays(table: ExactTable) -> list[Any]:
    return [np.asarray(values) for values in table.values.values()]


def _repeated(patch: pytest.MonkeyPatch) -> None:
    codes = synthesis.codes

    def change(*asked: Any) -> Any:
        rows = codes(*asked)
        return np.repeat(rows, 9, axis=0) if len(rows) % 2 else rows

    patch.setattr(synthesis, "codes", change)


def _refused(patch: pytest.MonkeyPatch) -> None:
    codes, restored, odd = synthesis.codes, Synthesis.restored, [False]

    def remember(*asked: Any) -> Any:
        rows = codes(*asked)
        odd[0] = len(rows) % 2 == 1
        return rows

    def refuse(self: Synthesis, text: str) -> Any:
        if odd[0]:
            raise QueryRefused("there are too few rows.")
        return restored(self, text)

    patch.setattr(synthesis, "codes", remember)
    patch.setattr(Synthesis, "restored", refuse)


def _inflated(patch: pytest.MonkeyPatch) -> None:
    def change(table: ExactTable) -> ExactTable:
        """Nine times as many, when they are odd; whatever is no feed stays as it is."""
        values = {m: v * 9 if v.sum() % 2 else v for m, v in table.values.items()}
        return replace(table, values=values)

    run = exact.Evaluation.run
    patch.setattr(exact.Evaluation, "run", lambda self: change(run(self)) if self.in_order else run(self))


LEAKS = (
    Planted("a value is not clamped", _unclamped),
    Planted("the rows of a unit are not bounded", _unbounded),
    Planted("the type of an answer depends on its size", _typed),
    Planted("groups appear when somebody is in them", _appearing),
    Planted("a message quotes a value", _quoting, worlds=60),
    Planted("rows of a synthesis count nine times when they are odd", _repeated, MADE, _made),
    Planted("rows of a feed count nine times when they are odd", _inflated, MADE, _made),
    Planted("a synthesis is refused after the charge", _refused, MADE, _made),
)
