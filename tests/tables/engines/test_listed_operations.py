"""Only operations that are listed as total reach an engine, and only engines that are known are asked."""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from dalenius.errors import QueryRefused, SourceError
from dalenius.tables import Schema, Source, Unit, mean, sum, variance
from dalenius.tables.compute import exact
from dalenius.tables.engines import KNOWN, engine_of
from dalenius.tables.engines.engine import LIMIT, Engine, fits
from dalenius.tables.rows import total

ROWS = ibis.table({"x": "float64", "i": "int64", "s": "string", "d": "date"}, name="t")

PARTIAL: dict[str, Any] = {
    "text to a number": ROWS.s.cast("int64"),
    "text to a double": ROWS.s.cast("float64"),
    "text to a date": ROWS.s.cast("date"),
    "a logarithm": ROWS.x.log(),
    "a power": ROWS.x**2,
    "integers divided": ROWS.i / ROWS.i,
    "an absolute integer": ROWS.i.abs(),
    "a root of an integer": ROWS.i.sqrt(),
    "a regular expression": ROWS.s.re_search("("),
    "days added": ROWS.d + ibis.interval(days=1),
    "a shift": ROWS.i << ROWS.i,
    "a length in characters": ROWS.s.length(),
}


@pytest.mark.parametrize("expression", PARTIAL.values(), ids=PARTIAL)
def test_what_is_not_listed_is_refused(expression: Any) -> None:
    with pytest.raises(QueryRefused, match="not among the operations known to be total"):
        total.check(expression)
    for engine in KNOWN.values():
        with pytest.raises(QueryRefused, match="not among the operations known to be total"):
            engine.check(ROWS.select(y=expression), ROWS)


@pytest.mark.parametrize("aggregate", [ROWS.x.sum(), ROWS.x.mean(), ROWS.i.median(), ROWS.x.max()])
def test_aggregates_too(aggregate: Any) -> None:
    for engine in KNOWN.values():
        with pytest.raises(QueryRefused, match="not among"):
            engine.check(ROWS.aggregate(y=aggregate), ROWS)


def test_a_double_becomes_an_integer_by_floor_or_on_a_grid_only() -> None:
    with pytest.raises(QueryRefused, match="Cast of float64"):
        total.check(ROWS.x.cast("int64"))
    total.check(ROWS.x.floor())


def test_what_the_owner_computes_is_the_owners() -> None:
    """The walk ends at the relation that was opened."""
    view = ROWS.mutate(y=ROWS.x.log())
    for engine in KNOWN.values():
        engine.check(view.select(z=view.y + view.y), view)


def test_an_unknown_engine_is_no_other() -> None:
    with pytest.raises(SourceError, match="'trino' is not an engine"):
        engine_of("trino")


def test_what_an_engine_does_not_say_is_an_error() -> None:
    """Never another engine's answer."""
    with pytest.raises(TypeError, match="does not say its operations, functions, casts"):

        class Half(Engine):
            name, title, opened = "half", "Half", "half a table"

    class Silent(Engine):
        name, title, opened = "silent", "Silent", "a table"
        operations, functions, casts = total.COMMON, {}, total.CASTS  # type: ignore[assignment]
        at_hand = False

    with pytest.raises(TypeError, match=r"abstract methods.*digest.*sum"):
        Silent()  # type: ignore[abstract]


# Sums: their type is a matter of the bounds, and they cannot overflow.


@pytest.mark.parametrize("aggregate", [sum, mean, variance])
@pytest.mark.parametrize("bounds", [(0, 1), (-5, 1e6), (-1e100, 1e100), (2**40, 2**41)])
def test_types_do_not_depend_on_the_data(aggregate: Any, bounds: tuple[float, float]) -> None:
    def types(values: list[float | None]) -> list[Any]:
        source = Source.open(pa.table({"x": pa.array(values, pa.float64())}))
        query = source.table(Schema(nulls="drop")).agg(a=aggregate("x", bounds))
        found = exact.evaluate(source, query, Unit.rows())
        return [found[measure].dtype for measure in query.measures]

    assert types([]) == types([None]) == types([1e308] * 20) == types([-1e308, 0.5])


def test_sums_beyond_64_bits_are_clamped() -> None:
    source = Source.open(pa.table({"x": [0.5]}))
    query = source.table(Schema(nulls="drop")).agg(m=mean("x", (0, 1)))
    (measure,) = [m for m in query.measures if m.kind == "sum"]
    assert fits(measure.bits)
    for sign in (1, -1):
        limbs = [(np.array([5]), 1), (np.array([sign * 2**50]), 2**23)]
        found = exact._combined(measure, limbs)
        assert found.dtype == np.int64
        assert found.tolist() == [sign * LIMIT]


def test_duckdb_clamps_its_sums() -> None:
    """Without the clamp the sum would not come out in 64 bits at all."""
    source = Source.open(pa.table({"x": pa.array([2**62, 2**62, 2**62], pa.int64())}))
    (column,) = source.rows.columns
    ((piece, power),) = KNOWN["duckdb"].sum(source.rows[column], 30)
    assert power == 0
    assert source.fetch(source.rows.aggregate(s=piece))["s"].to_pylist() == [LIMIT]
