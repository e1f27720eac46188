"""Lists: a row for each of the first items, and so many times the rows of a unit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.compute import exact
from tests.servers.postgres import PostgresServer

WHO = [1, 1, 2, 3, 4]
ITEMS = [["a", "b"], ["a", None, "c", "d"], [], None, ["b"] * 9]
NUMBERS = [[1.5, math.nan], [2.0], [math.inf, -3.0, 1.0], None, [None]]
LISTS = pa.table(
    {
        "who": WHO,
        "items": pa.array(ITEMS, pa.list_(pa.string())),
        "xs": pa.array(NUMBERS, pa.large_list(pa.float64())),
        "deep": pa.array([[[1]]] * 5, pa.list_(pa.list_(pa.int64()))),
    }
)


def session(data: Any = LISTS, **more: Any) -> dp.Session:
    unit = dp.Unit("who", max_rows=more.pop("rows", 2))
    return dp.Session(data, unit=unit, budget=dp.ZCDP(1e3), schema=dp.Schema(nulls="drop"), **more)


def counted(s: dp.Session) -> list[list[int]]:
    three = s.table.explode("items", max_items=3)
    asked = [
        three.agg(n=dp.count(), k=dp.count("items"), people=dp.count_distinct()),
        three.group_by("items", keys=["a", "b", "c", "d"]).agg(n=dp.count()),
        s.table.explode("xs", max_items=2).agg(n=dp.count(), x=dp.sum("xs >= 2"), known=dp.count("xs")),
        three.filter("items = 'b'").limit_rows(1).agg(n=dp.count()),
    ]
    tables = [exact.evaluate(s.source, query, s._unit(query.table)) for query in asked]
    return [[int(n) for m in q.measures for n in t[m].ravel()] for q, t in zip(asked, tables, strict=True)]


EXPECTED = [[2 + 3 + 3, 8 - 1, 2], [2, 4, 1, 0], [2 + 1 + 2 + 1, 2, 4], [2]]


def test_rows_of_items(tmp_path: Path) -> None:
    pq.write_table(LISTS, tmp_path / "lists.parquet")
    with duckdb.connect(tmp_path / "lists.duckdb") as held:
        held.register("given", LISTS)
        held.execute("CREATE TABLE lists AS SELECT * FROM given")
    assert counted(session()) == EXPECTED
    assert counted(session(LISTS.slice(0, 0))) == [[0, 0, 0], [0] * 4, [0, 0, 0], [0]]
    assert counted(session(tmp_path / "lists.parquet")) == EXPECTED
    assert counted(session(tmp_path / "lists.duckdb", table="lists")) == EXPECTED


def test_arrays_of_postgres(postgres_server: PostgresServer) -> None:
    """Also those that begin at another place than 1, and those of two dimensions, item by item."""
    import psycopg

    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as held:
        held.execute("CREATE TABLE lists (who bigint, items text[], xs double precision[])")
        for row in zip(WHO, ITEMS, NUMBERS, strict=True):
            held.execute("INSERT INTO lists VALUES (%s, %s::text[], %s::float8[])", row)
        assert counted(session(url, table="lists")) == EXPECTED
        held.execute("DELETE FROM lists")
        held.execute("INSERT INTO lists VALUES (1, '[5:6]={a,b}', '{{1,2},{3,4}}')")
    s = session(url, table="lists")
    asked = [s.table.explode(name, max_items=3).agg(n=dp.count()) for name in ("items", "xs")]
    found = [exact.evaluate(s.source, query, s._unit(query.table)) for query in asked]
    assert [int(table[q.measures[0]][0]) for q, table in zip(asked, found, strict=True)] == [2, 3]


def test_the_bound_multiplies() -> None:
    s = session(rows=2)
    three = s.table.explode("items", max_items=3)
    assert three.bound.max_rows == 6
    assert three.limit_rows(4).bound.max_rows == 4
    assert three.explode("xs", max_items=2).bound.max_rows == 12
    many = three.agg(n=dp.count())
    table = LISTS.take([4] * 9)  # one person, nine rows of nine items
    assert int(exact.evaluate(session(table).source, many, s._unit(many.table))[many.measures[0]][0]) == 6


def test_exploded_tables_are_joined() -> None:
    more = pa.table({"who": [1, 2, 4], "item": ["a", "b", "b"]})
    unit = dp.Unit("who", max_rows={"lists": 2, "more": 1})
    facts = {"lists": dp.Schema(nulls="drop"), "more": dp.Schema(nulls="drop")}
    s = dp.Session({"lists": LISTS, "more": more}, unit=unit, budget=dp.ZCDP(1), schema=facts)
    both = s.table["more"].join(
        s.table["lists"].explode("items", max_items=3), on={"who": "who", "item": "items"}
    )
    query = both.agg(n=dp.count())
    assert both.bound.max_rows == 6
    assert int(exact.evaluate(s.source, query, s._unit(query.table))[query.measures[0]][0]) == 2 + 3


def test_what_cannot_be_exploded_is_told() -> None:
    s, rows = session(), dp.Session(LISTS, unit=dp.Unit.rows(), budget=dp.ZCDP(1))
    frame = pd.DataFrame({"who": [1], "items": [["a"]]})
    for wrong, told in {
        lambda: s.table.explode("who", max_items=2): "takes lists",
        lambda: s.table.explode("deep", max_items=2): "takes lists",
        lambda: s.table.explode("item", max_items=2): "did you mean 'items'",
        lambda: s.table.explode("items", max_items=0): "max_items",
        lambda: s.table.explode("items", max_items=5000): "at most 4096",
        lambda: s.table.explode("items", max_items=2).explode("items", max_items=2): "takes lists",
        lambda: s.table.per_unit().explode("items", max_items=2): "put explode first",
        lambda: rows.table.explode("items", max_items=2): "has an id",
        lambda: session(frame).table.explode("items", max_items=2): "from_pandas",
        lambda: s.table.filter("items = 'a'"): r"explode\('items', max_items=...\)",
    }.items():
        with pytest.raises((InvalidParameter, QueryRefused), match=told):
            wrong()
