"""Mistakes planted on purpose, of different kinds: the generator must find each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from dalenius.errors import EngineFailed
from dalenius.tables.compute import exact
from dalenius.tables.compute.exact import ExactTable
from dalenius.tables.measures import gridding
from tests.tables.hostile import stores
from tests.tables.hostile.campaign import neighbours, run
from tests.tables.hostile.judge import Leak, Tally


@dataclass(frozen=True)
class Planted:
    """A mistake. worlds: how many the generator may look at before it must have found it."""

    name: str
    plant: Callable[[pytest.MonkeyPatch], None]
    worlds: int = 25

    def sought(self, number: int, tally: Tally) -> Leak | None:
        """What the generator finds when the mistake is there."""
        with pytest.MonkeyPatch.context() as patch:
            self.plant(patch)
            return run(neighbours(stores.frame, "duckdb"), self.worlds, number, tally)


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
    import numpy as np

    return [np.asarray(values) for values in table.values.values()]


LEAKS = (
    Planted("a value is not clamped", _unclamped),
    Planted("the rows of a unit are not bounded", _unbounded),
    Planted("the type of an answer depends on its size", _typed),
    Planted("groups appear when somebody is in them", _appearing),
    Planted("a message quotes a value", _quoting, worlds=60),
)
