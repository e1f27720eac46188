"""What is wrong with a schema or a question is said before the charge, all at once, with what may have been meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import dalenius as dp
from dalenius.cli.main import app
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables import Field, Schema, Table, count, mean, sum
from dalenius.tables.facts.nearest import nearest

TABLE = Table(
    "people",
    (
        Field("age", "int64", "integer", False),
        Field("income", "float64", "number", True, True),
        Field("state", "string", "text", False),
        Field("hours-per-week", "int64", "integer", False),
    ),
    Schema({"age": {"bounds": (0, 120)}}),
)


def told(action: Any) -> str:
    with pytest.raises(InvalidParameter) as caught:
        action()
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_every_aggregate_is_looked_at() -> None:
    message = told(
        lambda: TABLE.agg(
            a=mean("income"), b=sum("stat", (0, 1)), c=mean("state", (0, 1)), d=count("agee + incom")
        )
    )
    assert message.startswith("6 things are wrong:")
    for part in (
        "mean('income') uses column 'income', which can hold null",
        "mean('income') needs bounds",
        "no column 'stat'; did you mean 'state'?",
        "mean('state') needs numbers",
        "no column 'agee'; did you mean 'age'?",
        "no column 'incom'; did you mean 'income'?",
    ):
        assert part in message


def test_one_problem_is_one_sentence() -> None:
    with pytest.raises(
        QueryRefused, match=r"^there is no column 'agee'; did you mean 'age'\? There are 'age', "
    ):
        TABLE.agg(n=mean("agee"))
    with pytest.raises(QueryRefused, match="2 things"):
        TABLE.filter("agee > 1 AND incom > 2")
    with pytest.raises(QueryRefused, match="did you mean 'state'"):
        TABLE.group_by("State_", keys=["a"])


def test_a_name_with_a_minus_sign() -> None:
    message = told(lambda: TABLE.agg(h=mean("hours - per - week", (0, 99))))
    assert "'hours-per-week' is written in double quotes, \"hours-per-week\"" in message
    TABLE.agg(h=mean('"hours-per-week"', (0, 99)), g=mean("hours-per-week", (0, 99)))


def test_a_statement_is_looked_at_whole() -> None:
    from dalenius.tables.sql import parse_sql

    text = "SELECT stat, AVG(incom), MAX(age) FROM people WHERE agee > 3 GROUP BY stat"
    message = told(lambda: parse_sql(text, TABLE))
    for column, meant in (("stat", "state"), ("incom", "income"), ("agee", "age")):
        assert f"no column {column!r}; did you mean {meant!r}?" in message
    text = "SELECT state, age, AVG(income), MAX(age) AS m FROM people WHERE income > 3 GROUP BY state"
    message = told(lambda: parse_sql(text, TABLE))
    assert message.startswith("6 things are wrong:")
    for part in (
        "age is neither aggregated nor in GROUP BY",
        "MAX(age) is refused",
        "the filter uses column 'income'",
        "needs bounds",
        "mean('income') uses column 'income'",
        "the groups must be public",
    ):
        assert part in message


def test_a_description_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "people.toml"
    path.write_text(
        "null = 'drop'\nnulls = 'dorp'\n[columns.age]\nbound = [0, 1]\nbounds = [9, 1]\ntype = 'int'\n"
        "[columns.state]\ncategories = []\nimpute = 'a'\nnulls = 'drop'\n"
    )
    message = told(lambda: Schema.load(path))
    assert message.startswith("7 things are wrong:")
    for part in (
        "did you mean 'nulls'",
        "'dorp'",
        "did you mean 'bounds'",
        "exchange them",
        "'int'",
        "empty list",
        "both `nulls` and `impute`",
    ):
        assert part in message


FRAME = pd.DataFrame({"id": [1], "income": [1.5], "state": ["CA"]})


def test_a_schema_must_fit_its_data(tmp_path: Path) -> None:
    facts = {
        "incme": {"bounds": (0, 1)},
        "income": {"categories": ["a"], "type": "text"},
        "state": {"bounds": (0, 1), "categories": [1, 2], "impute": 7},
    }
    message = told(
        lambda: dp.Session(
            FRAME,
            unit=dp.Unit("idd", max_rows=1),
            budget=dp.ZCDP(1.0),
            schema=facts,
            ledger=tmp_path / "L",
            name="x",
        )
    )
    assert message.startswith("7 things are wrong:")
    for part in (
        "a column 'incme', which the data has not; did you mean 'income'?",
        "'income' is number, but the schema has the type 'text'",
        "the category 'a' for it",
        "the bounds (0.0, 1.0) for it",
        "the category 1 for it, which is not text",
        "7 to impute",
        "no column 'idd' to tell units by; did you mean 'id'?",
    ):
        assert part in message
    assert not (tmp_path / "L").exists()


def test_the_command_line_says_it_all(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    data.write_text("age,hours-per-week\n30,40\n")
    words = (
        "--agg",
        "a=mean(agee, 0, 9), h=mean(hours-per-week, 0, 99)",
        "--where",
        "yge > 3",
        "--group-by",
        "ag",
    )
    ran = CliRunner().invoke(
        app,
        ["query", str(data), *words, "--keys", "1", "--budget", "zcdp:1", "--ledger", str(tmp_path / "L")],
    )
    assert ran.exit_code == 2
    for part in (
        "'agee'; did you mean 'age'",
        "in double quotes",
        "'yge'; did you mean",
        "'ag'; did you mean",
    ):
        assert part in " ".join(ran.output.split())
    assert not (tmp_path / "L").exists()


def test_long_lists_are_cut() -> None:
    assert nearest("zzz", [f"c{n}" for n in range(40)]).endswith("'c11' and 28 more")
    assert nearest("zzz", []) == "there are none"


def test_short_words_for_long_things() -> None:
    wide = Table("wide", tuple(Field(f"column{n}", "int64", "integer", False) for n in range(500)))
    question = (
        wide.filter("column1 > 3")
        .group_by("column2", keys=range(1000))
        .agg(n=count(), m=mean("column3", (0, 1)))
    )
    assert repr(wide) == (
        "<Table 'wide': column0, column1, column2, column3, column4, column5, column6, column7 and 492 more>"
    )
    assert repr(question) == (
        "<Query of 'wide': n = count(), m = mean(column3) where \"column1\" > 3 by column2 (1000 groups)>"
    )
    s = dp.Session(FRAME, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0))
    assert repr(s) == "<Session: 'data', 3 columns, Unit.rows(); ZCDP(rho=1.0) left of ZCDP(rho=1.0)>"
