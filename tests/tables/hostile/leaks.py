"""Mistakes planted on purpose, of different kinds: the generator must find each."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pytest

from dalenius.errors import EngineFailed, QueryRefused
from dalenius.session import account, synthesis
from dalenius.session.evaluating import Evaluating
from dalenius.session.fit_rows import FitRows
from dalenius.session.synthesis import Synthesis
from dalenius.tables.compute import exact, truncation
from dalenius.tables.compute.exact import ExactTable
from dalenius.tables.engines.duckdb import DuckDB
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures import gridding
from dalenius.tables.rows.relations import PrivateJoin
from dalenius.tables.rows.scope import Scope
from dalenius.tables.rows.spelling import builtin
from tests.tables.hostile import relations, stores
from tests.tables.hostile.campaign import Try, fits_and_plans, neighbours, run, syntheses_and_feeds
from tests.tables.hostile.judge import Leak, Tally


def _frames(_folder: Path) -> Try:
    return neighbours(stores.frame, "duckdb")


def _dated(_folder: Path) -> Try:
    return neighbours(stores.frame, "duckdb", units=16, mostly_dates=True)


def _shared(_folder: Path) -> Try:
    return neighbours(stores.frame, "duckdb", units=16, shared=True)


def _made(folder: Path) -> Try:
    return syntheses_and_feeds("duckdb", folder)


def _models(folder: Path) -> Try:
    return fits_and_plans("duckdb", folder)


WORLDS = 40
"""The generator may look at before it must have found a mistake. Each is found in one of the first four; what is drawn
changes with what is asked, and any one of them is found in one world in four, or more."""


@dataclass(frozen=True)
class Planted:
    """A mistake. tried: what looks for it."""

    name: str
    plant: Callable[[pytest.MonkeyPatch], None]
    tried: Callable[[Path], Try] = _frames

    def sought(self, number: int, tally: Tally) -> Leak | None:
        """What the generator finds when the mistake is there."""
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            self.plant(patch)
            return run(self.tried(Path(folder)), WORLDS, number, tally)


def _unclamped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gridding, "clamp", lambda term, lower, upper, missing: term.value.cast("float64"))


def _unbounded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(exact, "bounded", lambda rows, *_: rows)


def _by_the_first(patch: pytest.MonkeyPatch) -> None:
    """Of an id of several columns one counts: rows of another unit decide which of a unit's are kept."""
    bounded = exact.bounded
    patch.setattr(exact, "bounded", lambda *given: bounded(*given[:-1], given[-1][:1]))


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


def _in_company(patch: pytest.MonkeyPatch) -> None:
    """What is predicted for a row depends on how many rows there are."""
    cells = Evaluating._cells

    def change(self: Evaluating, block: Any) -> Any:
        codes, predicted, bins = cells(self, block)
        return codes, predicted, bins if len(codes) % 2 else self.bins - 1 - bins

    patch.setattr(Evaluating, "_cells", change)


def _warning(patch: pytest.MonkeyPatch) -> None:
    """A solver says that it did not get there, of some rows, and nobody silences it."""
    fitted = FitRows.fitted

    def fit(self: FitRows, model: Any, target: int = 0) -> Any:
        if sum(len(labels) for _, labels in self.blocks) % 2:
            warnings.warn("the last step was not accepted", RuntimeWarning, stacklevel=1)
        return fitted(self, model, target)

    patch.setattr(FitRows, "fitted", fit)
    patch.setattr(account, "quiet", nullcontext)


def _related(_folder: Path) -> Try:
    return relations.neighbours(relations.in_frames, "duckdb", units=12)


def _globally(patch: pytest.MonkeyPatch) -> None:
    def truncate(engine: Any, scope: Any, unit: Any, most: int, by: Any, used: Any) -> None:
        """The first rows of the table, and not of each unit."""
        identity, kind = scope.identity(unit[0])
        rows = scope.rows.mutate(__h=truncation._mixed(engine.integer(kind, identity), []))
        rows = rows.mutate(__rank=ibis.row_number().over(ibis.window(order_by=[rows["__h"]])))
        scope.rows = rows.filter(rows["__rank"] < 4 * most).drop("__rank", "__h")

    patch.setattr(truncation, "truncate", truncate)


def _added(patch: pytest.MonkeyPatch) -> None:
    """The plan believes in a + b, and nothing enforces it."""
    _unbounded(patch)

    def bound(self: PrivateJoin, unit: Unit) -> Unit:
        return Unit(unit.columns, max_rows=unit.max_rows + self.right)

    patch.setattr(PrivateJoin, "bound", bound)


def _anybody(patch: pytest.MonkeyPatch) -> None:
    """Joined on the day, whoever's it is; each unit is still bounded afterwards."""
    join = Scope.join_private

    def joined(self: Scope, step: PrivateJoin, held: Any) -> None:
        one = ibis.literal(1, "int64")
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(truncation, "truncate", lambda *_: None)
            inside.setattr(Scope, "identity", lambda *_: (one, "integer"))
            join(self, step, held)

    patch.setattr(Scope, "join_private", joined)


def _in_nanoseconds(patch: pytest.MonkeyPatch) -> None:
    """Days since 1970 by a function that has no number for the year 9999."""

    def days(self: DuckDB, date: Any) -> Any:
        return builtin("epoch_ns", "date", returns="int64")(date) % 1000

    patch.setattr(DuckDB, "days", days)
    patch.setitem(DuckDB.functions, "epoch_ns", "d")  # type: ignore[arg-type]


def _of_some_texts(patch: pytest.MonkeyPatch) -> None:
    """The length of a text by a function that not every text is an argument of."""

    def characters(self: DuckDB, text: Any) -> Any:
        return builtin("octet_length", "binary", returns="int64")(
            builtin("unhex", "string", returns="binary")(text)
        )

    patch.setattr(DuckDB, "characters", characters)
    for name, types in {"octet_length": "x", "unhex": "s"}.items():
        patch.setitem(DuckDB.functions, name, types)  # type: ignore[arg-type]


def _of_long_months(patch: pytest.MonkeyPatch) -> None:
    """The 30th of a month, which February has not."""

    def beginning(self: DuckDB, date: Any, span: str) -> Any:
        return builtin("make_date", "int64", "int64", "int64", returns="date")(
            date.year().cast("int64"), date.month().cast("int64"), ibis.literal(30, "int64")
        )

    patch.setattr(DuckDB, "beginning", beginning)
    patch.setitem(DuckDB.functions, "make_date", "i")  # type: ignore[arg-type]


LEAKS = (
    Planted("a value is not clamped", _unclamped),
    Planted("the rows of a unit are not bounded", _unbounded),
    Planted("units of several columns are bounded by the first of them", _by_the_first, _shared),
    Planted("the type of an answer depends on its size", _typed),
    Planted("groups appear when somebody is in them", _appearing),
    Planted("a message quotes a value", _quoting),
    Planted("days are counted in nanoseconds", _in_nanoseconds, _dated),
    Planted("months are taken to have 30 days", _of_long_months, _dated),
    Planted("not every text has a length", _of_some_texts, _dated),
    Planted("rows of a synthesis count nine times when they are odd", _repeated, _made),
    Planted("rows of a feed count nine times when they are odd", _inflated, _made),
    Planted("a synthesis is refused after the charge", _refused, _made),
    Planted("predictions depend on the number of rows", _in_company, _models),
    Planted("the rows of a unit are not bounded for a fit", _unbounded, _models),
    Planted("a warning tells of a row", _warning, _models),
    Planted("rows are truncated before a join by one order for all units", _globally, _related),
    Planted("the fan-out of a join is taken for a + b", _added, _related),
    Planted("rows are joined with those of other units", _anybody, _related),
)
