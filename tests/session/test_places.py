"""One name, one place: other data are not answered from the record, and no data has two budgets."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import pytest
from typer.testing import CliRunner

import dalenius as dp
from dalenius.cli.main import app
from dalenius.errors import BudgetExceeded, InvalidParameter, LedgerError
from dalenius.session.ledger import Ledger
from dalenius.session.report import overview
from dalenius.session.verify import verify
from dalenius.tables.engines import place_of
from dalenius.tables.engines.place import Place, file_name, name_of

PRICE, TOTAL = dp.ZCDP(0.05), dp.ZCDP(0.5)


def csv(path: Path, rows: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("x\n" + "1\n" * rows)
    return path


def session(data: Any, ledger: Path | str, budget: dp.Guarantee | None = TOTAL, **more: Any) -> dp.Session:
    return dp.Session(
        data, unit=dp.Unit.rows(), budget=budget, ledger=ledger, schema=dp.Schema(nulls="drop"), **more
    )


def counted(s: dp.Session, price: dp.Guarantee = PRICE) -> dp.tables.Answer:
    return s.release(s.table.agg(n=dp.count()), price)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("people.csv", "people"),
        ("/data/adult.train.csv", "adult.train"),
        ("adult.test.csv.gz", "adult.test"),
        ("people-5000.parquet", "people-5000"),
        ("parts/*.parquet", "parts"),
        ("parts/day-*.parquet", "day"),
        ("*.csv", "data"),
        ("s3://bucket/a/people.v2.parquet", "people.v2"),
        (".csv", ".csv"),
    ],
)
def test_names(text: str, name: str) -> None:
    assert file_name(text) == name
    assert name_of(text, "people") == "people"


@pytest.mark.parametrize(
    "same",
    [
        "postgresql://ann:pass@db.example/x",
        "postgres://ann:p%23ss@DB.Example:5432/x",
        "postgresql://bo@db.example/x?sslmode=require&application_name=me",
        "postgresql:///x?host=db.example&user=ann&password=secret",
        "postgresql://db.example/?dbname=x",
    ],
)
def test_one_database_however_it_is_written(same: str) -> None:
    expected = Place("postgres", "postgresql://db.example:5432/x", "people")
    assert place_of(same, "people") == place_of(same, "public.people") == expected
    assert place_of(same, "other.people") != expected
    assert place_of("postgresql://db.example:5433/x", "people") != expected
    assert place_of("postgresql://db.example/y", "people") != expected


def test_localhost_has_many_names() -> None:
    found = {place_of(f"postgresql://me@{host}/x", "t") for host in ("localhost", "127.0.0.1", "[::1]", "")}
    assert len(found) == 1


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_table_has_one_budget_however_it_is_written(engine: str, tmp_path: Path) -> None:
    path, ledger = tmp_path / f"one.{engine}", tmp_path / "L"
    made = sqlite3.connect(path, isolation_level=None) if engine == "sqlite" else duckdb.connect(str(path))
    for statement in ("CREATE TABLE people (x int)", "CREATE TABLE places (x int)"):
        made.execute(statement)
    made.close()
    counted(session(path, ledger, table="people"))
    for same in ("PEOPLE", "main.People", "Main.people"):
        with pytest.raises(InvalidParameter, match="it would have a second budget"):
            session(path, ledger, table=same)
        assert session(path, ledger, table=same, name="people").remaining == dp.ZCDP(0.45)
    assert not counted(session(path, ledger, table="places")).free


def test_an_attached_file_is_at_its_own_place(tmp_path: Path) -> None:
    path, other = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    for file in (path, other):
        with contextlib.closing(sqlite3.connect(file)) as made:
            made.execute("CREATE TABLE people (x int)")
    backend = ibis.sqlite.connect(path)
    backend.attach("second", other)
    assert place_of(backend.table("people")).is_at(place_of(path, "people"))
    assert place_of(backend.table("people", database="second")).is_at(place_of(other, "people"))


def test_the_catalogue_is_no_other_place() -> None:
    for kind, schema in (("postgres", "public"), ("file", "main"), ("spark", "default")):
        one = Place(kind, "there", "people")
        assert one.is_at(Place(kind, "there", f"catalogue.{schema}.people"))
        assert not one.overlaps(Place(kind, "there", "other.people"))
    assert not Place("postgres", "there", "people").overlaps(Place("postgres", "there", "People"))


def test_two_files_are_two_data_sets(tmp_path: Path) -> None:
    ledger = tmp_path / "L"
    train, test = csv(tmp_path / "adult.train.csv", 900), csv(tmp_path / "adult.test.csv", 300)
    a, b = counted(session(train, ledger)), counted(session(test, ledger))
    assert (a.free, b.free) == (False, False)
    assert abs(a["n"].estimate[0] - b["n"].estimate[0]) > 400  # noise of standard deviation 3
    assert [account.dataset for account in Ledger.open(ledger).accounts()] == ["adult.train", "adult.test"]


def test_one_name_at_two_places_is_refused(tmp_path: Path) -> None:
    ledger = tmp_path / "L"
    here, there = csv(tmp_path / "people.csv", 900), csv(tmp_path / "other" / "people.csv", 300)
    counted(session(here, ledger))
    with pytest.raises(InvalidParameter, match=r"other/people\.csv.*name='\.\.\.' or --name.*moved=True"):
        session(there, ledger)
    assert not counted(session(there, ledger, name="others")).free
    frame = pd.read_csv(here)
    with pytest.raises(InvalidParameter, match="a data frame, which has no place"):
        session(frame, ledger, name="people")
    session(frame, ledger, name="frame").release(
        session(frame, ledger, name="frame").table.agg(n=dp.count()), PRICE
    )
    with pytest.raises(InvalidParameter, match="is about a data frame"):
        session(csv(tmp_path / "third.csv", 3), ledger, name="frame")


@pytest.mark.parametrize("way", ["relative", "dots", "symlink", "hard link", "folder link", "glob", "url"])
def test_one_place_under_two_names_is_refused(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, real = tmp_path / "L", csv(tmp_path / "data" / "people.csv", 50)
    counted(session(real, ledger))
    monkeypatch.chdir(tmp_path)
    if way == "symlink":
        (tmp_path / "linked.csv").symlink_to(real)
    elif way == "hard link":
        os.link(real, tmp_path / "linked.csv")
    elif way == "folder link":
        (tmp_path / "folder").symlink_to(tmp_path / "data")
    other = {
        "relative": "data/people.csv",
        "dots": "data/../data/./people.csv",
        "folder link": "folder/people.csv",
        "glob": "data/*.csv",
        "url": f"file://{real}",
    }.get(way, "linked.csv")
    if way in ("relative", "dots", "folder link"):  # the same name: the same account
        assert counted(session(other, ledger)).free
    with pytest.raises(InvalidParameter, match=r"has an account already, named 'people'.*second budget"):
        session(other, ledger, name="people again")
    counted(session(other, ledger, name="people"))
    assert len(Ledger.open(ledger).accounts()) == 1


def test_data_that_moved(tmp_path: Path) -> None:
    ledger, old = tmp_path / "L", csv(tmp_path / "people.csv", 50)
    counted(session(old, ledger))
    (tmp_path / "new").mkdir()
    new = old.rename(tmp_path / "new" / "people.csv")
    with pytest.raises(InvalidParameter, match="moved=True"):
        session(new, ledger)
    moved = session(new, ledger, moved=True)
    before = Ledger.open(ledger).checkpoint()
    with pytest.raises(dp.errors.BudgetExceeded):
        counted(moved, dp.ZCDP(9.0))
    assert Ledger.open(ledger).checkpoint() == before  # a refusal does not record it either
    assert counted(moved).free
    assert counted(session(new, ledger)).free  # once is enough
    csv(old, 9)
    with pytest.raises(InvalidParameter, match=r"is about .*new/people"):
        session(old, ledger)
    assert verify(ledger).ok
    told = overview(Ledger.open(ledger))["accounts"][0]["place"]
    assert told == {"kind": "file", "where": str(new.resolve()), "table": None}


def test_on_either_store(place: str, tmp_path: Path) -> None:
    data, moved = csv(tmp_path / "people.csv", 50), csv(tmp_path / "new" / "people.csv", 50)
    s = session(data, place)
    with pytest.raises(dp.errors.BudgetExceeded):
        counted(s, dp.ZCDP(9.0))
    with pytest.raises(dp.errors.LedgerError, match="there is no ledger"):
        Ledger.open(place, create=False)
    counted(s)
    with pytest.raises(InvalidParameter, match="moved=True"):
        session(moved, place)
    assert counted(session(moved, place, moved=True)).free
    with pytest.raises(dp.errors.EngineFailed):
        s.account.ask("q", dp.losses.gaussian(20.0), lambda: str(1 // 0))
    found = verify(place)
    assert found.ok, found.problems
    assert found.failures == 1


def test_accounts_of_earlier_versions_hold_no_place(tmp_path: Path) -> None:
    """It is recorded at their first use; the names they were given are found again, or asked about."""
    path, data = tmp_path / "L", csv(tmp_path / "people.csv", 50)
    with Ledger.open(path) as ledger:
        ledger.account("people", dp.ZCDP(0.5), unit=dp.Unit.rows(), shares={"ann": 0.5, "bo": 0.5})
        ledger.account("adult.train.csv", dp.ZCDP(0.5), unit=dp.Unit.rows())
        before = ledger.checkpoint()
        ann = session(data, path, analyst="ann")
        assert ledger.checkpoint() == before
        assert not counted(ann).free
        assert counted(session(data, path, analyst="bo")).free
        with pytest.raises(InvalidParameter, match="is about"):
            session(csv(tmp_path / "b" / "people.csv", 3), path, analyst="bo")
        train = csv(tmp_path / "adult.train.csv", 3)
        with pytest.raises(InvalidParameter, match=r"from an earlier version.*name='adult\.train\.csv'"):
            session(train, path)
        counted(session(train, path, name="adult.train.csv"))
    found = verify(path)
    assert found.ok, found.problems
    assert found.unanswered == 0


def test_tables_of_databases(tmp_path: Path) -> None:
    ledger = tmp_path / "L"
    for file in ("a.duckdb", "b.duckdb"):
        with duckdb.connect(str(tmp_path / file)) as connection:
            connection.execute("CREATE TABLE people AS SELECT 1 AS x; CREATE TABLE pets AS SELECT 1 AS x")
    counted(session(tmp_path / "a.duckdb", ledger, table="people"))
    counted(session(tmp_path / "a.duckdb", ledger, table="pets"))
    counted(session(tmp_path / "a.duckdb", ledger, table="main.people", name="people"))
    with pytest.raises(InvalidParameter, match=r"table 'people' of .*b\.duckdb"):
        session(tmp_path / "b.duckdb", ledger, table="people")


def test_the_budget_of_an_account_that_is_there(tmp_path: Path) -> None:
    ledger, data = tmp_path / "L", csv(tmp_path / "people.csv", 50)
    with pytest.raises(InvalidParameter, match="has no account of 'people' yet"):
        session(data, ledger, None)
    counted(session(data, ledger))
    assert session(data, ledger, None).remaining == dp.ZCDP(0.45)


def test_what_is_refused_leaves_nothing(tmp_path: Path) -> None:
    ledger, data = tmp_path / "L", csv(tmp_path / "people.csv", 50)
    s = session(data, ledger, dp.ZCDP(0.1))
    for ask in (
        lambda: counted(s, dp.ZCDP(0.2)),
        lambda: counted(s, dp.PureDP(0.1)),
        lambda: s.sql("SELECT COUNT(*) FROM nothing", PRICE),
        lambda: s.release(s.table.agg(n=dp.mean("y", (0, 1))), PRICE),
        lambda: s.release_all({"a": s.table.agg(n=dp.count())}, dp.ZCDP(0.2)),
    ):
        with pytest.raises((InvalidParameter, BudgetExceeded)):
            ask()
    s.price(s.table.agg(n=dp.count()), dp.within(100))
    assert s.remaining == dp.ZCDP(0.1)
    assert not ledger.exists()
    with pytest.raises(LedgerError, match="there is no folder"):
        session(data, tmp_path / "nowhere" / "L")
    counted(session(data, ledger, dp.ZCDP(0.3)))  # the total is that of the first question answered
    with pytest.raises(InvalidParameter, match="was opened with promise"):
        counted(s)


def dalenius(*words: object, process: bool = False) -> tuple[int, str, str]:
    if process:  # as a person runs it; a few times only, since starting takes seconds
        program = [sys.executable, "-m", "dalenius.cli.main", *map(str, words)]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, " ".join(done.stderr.split())
    ran = CliRunner().invoke(app, [str(word) for word in words])
    return ran.exit_code, ran.stdout, " ".join(ran.stderr.split())


def test_python_and_the_command_line_have_one_account(tmp_path: Path) -> None:
    ledger, data = tmp_path / "L", csv(tmp_path / "people.v2.csv", 50)
    first = session(data, ledger).account.dataset
    ask = ("query", data, "--agg", "n=count()", "--ledger", ledger, "--nulls", "drop")
    code, out, problem = dalenius(
        *ask, "--budget", "zcdp:0.05", "--total", "zcdp:0.5", "--json", process=True
    )
    assert code == 0, problem
    assert not json.loads(out)["free"]
    s = session(data, ledger, None)
    assert (s.account.dataset, s.remaining) == (first, dp.ZCDP(0.45))
    answer = counted(s)
    assert answer.free
    assert answer.given is not None
    code, out, _ = dalenius(*ask, "--budget", "zcdp:0.05")
    assert code == 0
    assert f"from the record of {answer.given}, free now; it cost" in out
    assert "Left: ZCDP(rho=0.45)" in out
    for text in (str(answer), repr(answer), answer.to_html()):
        assert f"from the record of {answer.given}" in text
    assert answer.to_pandas().attrs == {
        "cost": "ZCDP(rho=0.05)",
        "from_the_record": True,
        "given": answer.given,
    }
    code, _, problem = dalenius(
        *ask[:1], csv(tmp_path / "b" / "people.v2.csv", 5), *ask[2:], "--budget", "zcdp:0.1"
    )
    assert code == 2
    assert "--moved" in problem
    code, _, problem = dalenius(*ask, "--budget", "zcdp:0.1", "--name", "other", "--total", "zcdp:1")
    assert code == 2
    assert "second budget" in problem


def test_the_demo_s_own_account(tmp_path: Path) -> None:
    code, _, problem = dalenius("demo", "--to", tmp_path, "--rows", 1000)
    assert code == 0, problem
    ask = (
        "--unit",
        "person",
        "--max-rows",
        2,
        "--max-groups",
        1,
        "--agg",
        "n=count()",
        "--budget",
        "gdp:0.01",
    )
    code, _, problem = dalenius(
        "query", tmp_path / "people-1000.parquet", *ask, "--ledger", tmp_path / "people-1000.ledger"
    )
    assert code == 0, problem
    assert len(Ledger.open(tmp_path / "people-1000.ledger").accounts()) == 1


def test_a_refused_command_makes_no_ledger(tmp_path: Path) -> None:
    data = csv(tmp_path / "people.csv", 50)
    for expected, words in (
        (4, ("query", data, "--agg", "n=count()", "--budget", "zcdp:9", "--total", "zcdp:1")),
        (2, ("query", data, "--agg", "n=cuont()", "--budget", "zcdp:1")),
        (2, ("query", data, "--agg", "n=mean(y, 0, 1)", "--budget", "zcdp:1")),
        (2, ("sql", data, "SELECT MAX(x) FROM people", "--budget", "zcdp:1")),
    ):
        code, _, problem = dalenius(*words, "--ledger", tmp_path / "L")
        assert code == expected, problem
        assert not (tmp_path / "L").exists()
    code, _, problem = dalenius(
        *("query", data, "--agg", "n=count()", "--budget", "approx:0.3,1e-8", "--ledger", tmp_path / "L"),
        process=True,
    )
    assert code == 0, problem


def test_two_names_of_the_same_data_that_open_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each looked for the other before it was there: one of them is refused when it opens its account."""
    data, ledger = csv(tmp_path / "a.csv", 3), tmp_path / "ledger"
    (tmp_path / "b.csv").symlink_to(data)
    one, other = session(data, ledger, name="one"), session(tmp_path / "b.csv", ledger, name="other")
    monkeypatch.setattr(type(other.account), "_find", lambda self: None)
    counted(one)
    with pytest.raises(InvalidParameter, match="second budget"):
        counted(other)
    assert [account.dataset for account in Ledger.open(ledger).accounts()] == ["one"]
