"""Private tables of the same units, joined: what is counted, what is refused, and that one budget pays."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter, QueryRefused, SourceError
from dalenius.session.continual import Periods
from dalenius.session.record import questions
from dalenius.session.together import Together
from dalenius.tables.compute import exact
from tests.servers.postgres import PostgresServer

RNG = np.random.default_rng(7)
VISITS = pd.DataFrame(
    {
        "person_id": RNG.integers(0, 60, 300),
        "day": RNG.integers(0, 4, 300),
        "site": RNG.choice(["a", "b"], 300),
        "price": RNG.integers(0, 9, 300),
    }
)
PURCHASES = pd.DataFrame(
    {
        "person_id": RNG.integers(0, 70, 200),
        "day": RNG.integers(0, 4, 200),
        "item": RNG.choice(["x", "y", "z"], 200),
        "price": RNG.integers(0, 99, 200),
    }
)
BOTH = {"visits": VISITS, "purchases": PURCHASES}
DROP = dp.Schema(nulls="drop")
MANY = {"visits": 30, "purchases": 30}
"""More than anybody has: nothing is left out."""


def session(rows: Any = None, data: Any = None, **more: Any) -> dp.Session:
    unit = dp.Unit("person_id", max_rows=rows or {"visits": 2, "purchases": 3})
    facts = {"visits": DROP, "purchases": DROP}
    given = BOTH if data is None else data
    return dp.Session(given, unit=unit, budget=dp.ZCDP(1e3), schema=facts, **more)


def integers(s: dp.Session, query: Any) -> dict[str, list[int]]:
    """The exact integers of a question, by the name of what is asked."""
    found = exact.evaluate(s.source, query, s._unit(query.table))
    return {name: found[next(iter(roles.values()))].ravel().tolist() for name, _, roles in query.parts}


@pytest.mark.parametrize("how", ["inner", "left"])
def test_without_truncation_it_is_the_join(how: Any) -> None:
    s = session(MANY)
    both = s.table["visits"].join(s.table["purchases"], on=["person_id", "day"], how=how)
    asked = both.agg(
        n=dp.count(),
        matched=dp.count("item"),
        paid=dp.sum("purchases.price", bounds=(0, 99)),
        dear=dp.sum("purchases.price > price AND item = 'x'"),
        people=dp.count_distinct(),
    )
    plain = VISITS.merge(PURCHASES, on=["person_id", "day"], how=how, suffixes=("", "_p"))
    dear = (plain["price_p"] > plain["price"]) & (plain["item"] == "x")
    assert integers(s, asked) == {
        "n": [len(plain)],
        "matched": [int(plain["item"].notna().sum())],
        "paid": [int(plain["price_p"].sum())],
        "dear": [int(dear.sum())],
        "people": [plain["person_id"].nunique()],
    }


def test_sides_are_cut_before_and_after_filters() -> None:
    s = session({"visits": 2, "purchases": 1})
    kept = s.table["purchases"].filter("item = 'x'")
    both = s.table["visits"].join(kept, on="person_id").agg(n=dp.count())
    mine = VISITS.groupby("person_id").size().clip(upper=2)
    theirs = PURCHASES[PURCHASES["item"] == "x"].groupby("person_id").size().clip(upper=1)
    assert integers(s, both)["n"] == [int((mine * theirs).sum())]


def test_both_sides_keep_the_same_days() -> None:
    """Each keeps whole days in one order, so what meets is more than two independent choices would leave."""
    s = session({"visits": 2, "purchases": 2})
    by_day = s.table["visits"].join(s.table["purchases"], on=["person_id", "day"]).agg(n=dp.count())
    found = integers(s, by_day)["n"][0]
    by_chance = 0.0
    for person, visits in VISITS.groupby("person_id"):
        bought = PURCHASES[PURCHASES["person_id"] == person]
        pairs = len(visits.merge(bought, on="day"))
        by_chance += pairs * min(1, 2 / len(visits)) * min(1, 2 / max(len(bought), 1))
    assert found > 1.15 * by_chance


def test_the_bound_is_the_product() -> None:
    s = session({"visits": 2, "purchases": 3})
    visits, purchases = s.table["visits"], s.table["purchases"]
    both = visits.join(purchases, on="person_id")
    assert both.bound == dp.Unit("person_id", max_rows=6)
    assert visits.limit_rows(1).join(purchases, on="person_id").bound.max_rows == 3
    assert both.limit_rows(4).bound.max_rows == 4
    assert visits.join(purchases.per_unit(), on="person_id").bound.max_rows == 2
    assert session(5).table["visits"].bound.max_rows == 5
    narrow = dp.Unit("person_id", max_rows={"visits": 2, "purchases": 3}, max_groups=1)
    assert narrow.of("visits").times(3) == dp.Unit("person_id", max_rows=6, max_groups=1)


def test_three_tables() -> None:
    third = pd.DataFrame({"person_id": [1, 1, 2, 3], "town": ["p", "q", "p", "q"]})
    unit = dp.Unit("person_id", max_rows={"visits": 30, "purchases": 30, "homes": 2})
    facts = dict.fromkeys(("visits", "purchases", "homes"), DROP)
    s = dp.Session({**BOTH, "homes": third}, unit=unit, budget=dp.ZCDP(1), schema=facts)
    at = s.table["visits"].join(s.table["purchases"], on="person_id").join(s.table["homes"], on="person_id")
    assert at.bound.max_rows == 1800
    plain = VISITS.merge(PURCHASES, on="person_id").merge(third, on="person_id")
    asked = at.group_by("town", keys=["p", "q"]).agg(n=dp.count())
    assert integers(s, asked)["n"] == [int((plain["town"] == town).sum()) for town in "pq"]
    nested = s.table["homes"].join(
        s.table["visits"].join(s.table["purchases"], on="person_id"), on="person_id", how="left"
    )
    assert nested.bound.max_rows == 1800
    assert integers(s, nested.agg(n=dp.count("item")))["n"] == [len(plain)]


def test_sql_asks_the_same_question() -> None:
    s = session()
    both = s.table["visits"].join(s.table["purchases"], on=["person_id", "day"], how="left")
    by_site = (
        both.filter('"purchases.price" > price')
        .group_by("site", keys=["a", "b"])
        .agg(n=dp.count("purchases.day"), pay=dp.mean("purchases.price", bounds=(0, 99)))
    )
    text = """
        SELECT v.site, COUNT(p.day) AS n, AVG(p.price, 0, 99) AS pay
        FROM visits AS v LEFT JOIN purchases AS p ON v.person_id = p.person_id AND p.day = v.day
        WHERE p.price > v.price GROUP BY v.site
    """
    s.release(by_site, budget=dp.ZCDP(0.1))
    assert s.sql(text, budget=dp.ZCDP(0.1), keys=["a", "b"]).free
    assert s.sql(
        text.replace("AS p ON", "ON").replace("p.", "purchases."), dp.ZCDP(0.1), keys=["a", "b"]
    ).free


def test_expressions_take_qualified_names() -> None:
    s = session()
    both = s.table["visits"].join(s.table["purchases"], on="person_id")
    assert both.names[4:] == ("purchases.person_id", "purchases.day", "item", "purchases.price")
    assert both.filter("purchases.price > 3").steps[-1] == both.filter('"purchases.price" > 3').steps[-1]
    with pytest.raises(QueryRefused, match="name the column alone"):
        both.filter("visits.price > 3")


def test_one_account_for_all(tmp_path: Path) -> None:
    VISITS.to_parquet(tmp_path / "visits.parquet")
    PURCHASES.to_csv(tmp_path / "purchases.csv", index=False)
    data = {name: str(next(tmp_path.glob(f"{name}.*"))) for name in BOTH}
    s = session(data=data, ledger=tmp_path / "kept.ledger")
    s.release(s.table["visits"].agg(n=dp.count()), dp.ZCDP(1))
    both = s.table["visits"].join(s.table["purchases"], on="person_id").agg(n=dp.count())
    s.release(both, dp.ZCDP(1))
    assert s.remaining == dp.ZCDP(998)
    again = session(data=data, ledger=tmp_path / "kept.ledger")
    repeated = again.table["visits"].join(again.table["purchases"], on="person_id").agg(n=dp.count())
    assert again.release(repeated, dp.ZCDP(1)).free
    for name, path in data.items():
        with pytest.raises(InvalidParameter, match="has an account already, named 'purchases and visits'"):
            dp.Session(
                path,
                unit=dp.Unit("person_id", max_rows=2),
                budget=dp.ZCDP(1),
                ledger=tmp_path / "kept.ledger",
                name=f"{name} again",
            )


def test_questions_about_one_table_are_what_they_were() -> None:
    """Their text does not depend on the tables beside it."""
    s = session({"visits": 2, "purchases": 3})
    alone = dp.Session(VISITS, unit=dp.Unit("person_id", max_rows=2), budget=dp.ZCDP(1), schema=DROP)
    object.__setattr__(alone.source, "name", "visits")
    asked = [one.agg(n=dp.count()) for one in (s.table["visits"], alone.table)]
    units = [one._unit(query.table) for one, query in zip((s, alone), asked, strict=True)]
    texts = {
        questions.of_release(query, dp.ZCDP(1), unit, dp.ADD_REMOVE)
        for query, unit in zip(asked, units, strict=True)
    }
    assert len(texts) == 1


def in_sqlite(folder: Path) -> Any:
    with sqlite3.connect(folder / "shop.sqlite") as held:
        for name, frame in BOTH.items():
            frame.to_sql(name, held, index=False)
    held.close()
    return folder / "shop.sqlite"


def in_duckdb(folder: Path) -> Any:
    with duckdb.connect(folder / "shop.duckdb") as held:
        for name, frame in BOTH.items():
            held.register("given", frame)
            held.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return folder / "shop.duckdb"


@pytest.mark.parametrize("put", [in_sqlite, in_duckdb])
def test_tables_of_one_database(put: Callable[[Path], Any], tmp_path: Path) -> None:
    s = session(data=put(tmp_path), table=["visits", "purchases"])
    _same_as_frames(s)


def test_tables_of_ibis(tmp_path: Path) -> None:
    in_duckdb(tmp_path)
    first, second = (ibis.duckdb.connect(tmp_path / "shop.duckdb", read_only=True) for _ in range(2))
    _same_as_frames(session(data={name: first.table(name) for name in BOTH}))
    with pytest.raises(SourceError, match="must be in one place"):
        session(data={"visits": first.table("visits"), "purchases": second.table("purchases")})


def test_tables_of_postgres(postgres_server: PostgresServer) -> None:
    import psycopg

    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as held:
        for name, frame in BOTH.items():
            kinds = ("bigint" if kind == "int64" else "text" for kind in map(str, frame.dtypes))
            listed = zip(frame.columns, kinds, strict=True)
            held.execute(f"CREATE TABLE {name} ({', '.join(' '.join(pair) for pair in listed)})")
            with held.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in frame.itertuples(index=False):
                    copy.write_row(row)
    _same_as_frames(session(data=url, table={"visits": "visits", "purchases": "public.purchases"}))


def _same_as_frames(s: dp.Session) -> None:
    frames = session()
    for on in (["person_id"], ["person_id", "day"]):
        found = []
        for one in (s, frames):
            both = one.table["visits"].join(one.table["purchases"], on=on)
            asked = both.group_by("item", keys=["x", "y"]).agg(
                n=dp.count(), pay=dp.sum("purchases.price", bounds=(0, 99))
            )
            found.append(integers(one, asked))
        assert found[0] == found[1]


def test_mistakes_are_told_with_their_fix(tmp_path: Path) -> None:
    s = session()
    visits, purchases = s.table["visits"], s.table["purchases"]
    strange = session().table["purchases"]
    for wrong, told in {
        lambda: visits.join(purchases, on="day"): r"on=\['person_id', 'day'\]",
        lambda: visits.join(visits, on="person_id"): "cannot be joined with itself",
        lambda: visits.join(strange, on="person_id"): "not of one session",
        lambda: visits.join(PURCHASES, on="person_id"): "by join_public",
        lambda: visits.join(
            purchases, on={"person_id": "person_id", "site": "day"}
        ): "must be whole numbers, text",
        lambda: visits.join(purchases, on="person_id", how="outer"): "'inner' or 'left'",
        lambda: s.table.filter("day > 1"): r"s.table\['visits'\].filter",
        lambda: s.table["visit"]: "did you mean 'visits'",
        lambda: visits.limit_rows(3): "can only lower",
        lambda: s.release(strange.agg(n=dp.count()), dp.ZCDP(1)): "of another session",
        lambda: s.sql("SELECT COUNT(*) FROM visits JOIN purchases USING (day)", dp.ZCDP(1)): "unit's id",
        lambda: session({"visits": 1}): "says nothing of the table 'purchases'",
        lambda: session({"visits": 1, "purchases": 1, "more": 1}): "names a table 'more'",
        lambda: dp.Session(BOTH, unit=dp.Unit.rows(), budget=dp.ZCDP(1)): "whose rows are whose",
        lambda: dp.Session(VISITS, unit=dp.Unit.rows(), budget=dp.ZCDP(1)).table.limit_rows(1): "has an id",
        lambda: dp.Session(VISITS, unit=dp.Unit("day", max_rows=1), budget=dp.ZCDP(1)).table["x"]: "has one",
    }.items():
        with pytest.raises(InvalidParameter, match=told):
            wrong()
    assert s.remaining == dp.ZCDP(1e3)
    with pytest.raises(SourceError, match="must be in one place"):
        session(data={"visits": VISITS, "purchases": in_sqlite(tmp_path)})


def test_feeds_of_joined_tables_are_refused() -> None:
    """What is kept of a day before a join may depend on later days."""
    s = session()
    both = s.table["visits"].join(s.table["purchases"], on="person_id")
    with pytest.raises(QueryRefused, match="a feed"):
        s.continual(both.group_by("day", keys=[0, 1, 2]).agg(n=dp.count()), dp.ZCDP(1))


def test_joins_and_feeds_are_found_on_record_by_their_price() -> None:
    """What was answered at a price is free at it, however little is left: a price is then not changed to fit."""
    s = session()
    joined = s.table["visits"].join(s.table["purchases"], on="person_id").agg(n=dp.count())
    fewer = s.table["visits"].limit_rows(1).agg(n=dp.count())
    feed = s.table["visits"].group_by("day", keys=range(4)).agg(n=dp.count())
    price = dp.ZCDP(0.1)
    both = {"a": joined, "b": fewer}
    for asked, ask, query in (
        (joined, s.release, joined),
        (fewer, s.release, fewer),
        (Periods.of(feed), s.continual, feed),
        (Together.of(both), s.release_all, both),
    ):
        assert not s._is_on_record(asked, price)
        ask(query, price)
        assert s._is_on_record(asked, price)


def test_rows_that_met_by_another_id_are_refused() -> None:
    """A household with rows of many people would change what is counted of each of theirs."""
    people = pd.DataFrame({"person": range(5), "household": range(5)})
    source = dp.tables.Source.open_together(
        {"a": (people, None), "b": (people, None)}, {"a": DROP, "b": DROP}
    )
    one, other = (
        dp.Session(source, unit=dp.Unit(name, max_rows=1), budget=dp.ZCDP(1), name="people")
        for name in ("person", "household")
    )
    a, b = one.table["a"], one.table["b"]
    for table in (
        a.join(b, on="person").filter("household > 0"),
        a.per_unit(),
        a.join(b.per_unit("n"), on="person"),
    ):
        with pytest.raises(
            QueryRefused, match="built where 'person' tells units apart, and here 'household' does"
        ):
            other.release(table.agg(n=dp.count()), dp.ZCDP(0.1))
    assert other.remaining == dp.ZCDP(1)


def test_ids_of_two_types_are_refused() -> None:
    texts = PURCHASES.assign(person_id=PURCHASES["person_id"].astype(str))
    s = session(data={"visits": VISITS, "purchases": texts})
    with pytest.raises(QueryRefused, match="one type in all tables"):
        s.table["visits"].join(s.table["purchases"], on="person_id")


def test_models_of_joined_rows_pay_for_all_of_them() -> None:
    s = session()
    both = s.table["visits"].join(s.table["purchases"], on="person_id")
    model = dp.learn.LogisticRegression(dp.GDP(0.3))
    single = dp.learn.LogisticRegression(dp.GDP(0.3))
    s.fit(model, {"price": (0, 9)}, "item = 'x'", table=both)
    after = s.spent
    s.fit(single, {"price": (0, 9)}, "site = 'a'", table=s.table["visits"])
    joined, alone = after.rho, s.spent.rho - after.rho
    assert joined > 8 * alone  # six rows cost 36 times one, two rows four times


def test_the_record_of_a_join_is_for_ever() -> None:
    """Its words are in ledgers: they have a tag of their own, and do not change."""
    s = session()
    theirs = s.table["purchases"].limit_rows(2)
    both = s.table["visits"].join(theirs, on=["person_id", "day"], how="left").limit_rows(3)
    join, limit = both.record()["steps"]
    assert limit == {"kind": "limit rows", "max_rows": 3}
    assert {word: join[word] for word in join if word != "table"} == {
        "kind": "private join",
        "how": "left",
        "on": [["day", "day"], ["person_id", "person_id"]],
        "columns": [
            ["day", "purchases.day"],
            ["item", "item"],
            ["person_id", "purchases.person_id"],
            ["price", "purchases.price"],
        ],
        "max_rows": {"left": 2, "right": 2},
    }
    assert join["table"] == theirs.record()
    assert s.table["visits"].per_unit().record()["steps"] == [
        {"kind": "rows of each unit", "unit": "person_id", "name": "rows"}
    ]
    unit = dp.Unit("person_id", max_rows={"visits": 2, "purchases": 3})
    written = {"kind": "id in tables", "column": "person_id", "max_rows": {"purchases": 3, "visits": 2}}
    assert unit.record() == {**written, "max_groups": 3}
    assert dp.Unit.from_record(unit.record()) == unit
