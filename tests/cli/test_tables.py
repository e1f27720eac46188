"""`dalenius query | price | demo` as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from dalenius.calculus.errors import InvalidParameter
from dalenius.cli.main import app
from dalenius.cli.people import people
from dalenius.tables.sql import parse_aggregates


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(2)
    path = tmp_path_factory.mktemp("data") / "people.csv"
    frame = pd.DataFrame(
        {
            "id": rng.integers(0, 900, 1500),
            "state": rng.choice(["CA", "NY"], 1500),
            "income": rng.gamma(3, 20_000, 1500),
        }
    )
    frame.to_csv(path, index=False)
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


ASK = ("--agg", "n=count(), pay=mean(income, 0, 250000)", "--budget", "zcdp:0.05")


def test_the_command_of_the_manual(data: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "L"
    words = (
        "query",
        data,
        "--unit",
        "id",
        "--group-by",
        "state",
        "--keys",
        "CA,NY,TX",
        *ASK,
        "--ledger",
        ledger,
    )
    first = run(*words, "--total", "zcdp:0.5")
    assert first.exit_code == 0, first.output
    assert "Left: ZCDP(rho=0.45)" in first.output
    assert "TX" in first.output
    again = run(*words, "--json")
    told = json.loads(again.output)
    assert told["free"]
    assert told["remaining"] == "ZCDP(rho=0.45)"
    assert len(told["columns"]["pay"]) == 3


def test_sql(data: Path, tmp_path: Path) -> None:
    ask = "SELECT state, COUNT(*) AS n FROM people WHERE income > 0 GROUP BY state"
    words = (
        "sql",
        data,
        ask,
        "--keys",
        "CA,NY",
        "--budget",
        "zcdp:0.1",
        "--ledger",
        tmp_path / "L",
        "--json",
    )
    found = run(*words)
    assert found.exit_code == 0, found.output
    assert len(json.loads(found.output)["columns"]["n"]) == 2
    refused = run("sql", data, "SELECT * FROM people", "--budget", "zcdp:0.1", "--ledger", tmp_path / "L")
    assert refused.exit_code == 2


def test_prices_are_free(data: Path, tmp_path: Path) -> None:
    words = (
        "price",
        data,
        "--agg",
        "n=count()",
        "--within",
        10,
        "--total",
        "zcdp:0.5",
        "--ledger",
        tmp_path / "L",
    )
    found = run(*words)
    assert found.exit_code == 0, found.output
    assert found.output.startswith("ZCDP(rho=0.019")


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (("--agg", "n=count(", "--budget", "zcdp:0.1"), "aggregates"),
        (("--agg", "n=cuont()", "--budget", "zcdp:0.1"), "there are"),
        (("--agg", "n=mean(wealth, 0, 1)", "--budget", "zcdp:0.1"), "wealth"),
        (("--agg", "n=mean(income, 5, 1)", "--budget", "zcdp:0.1"), "exchange"),
        (("--agg", "n=mean(income)", "--budget", "zcdp:0.1"), "bounds"),
        (("--agg", "n=count()", "--budget", "zcdp:0.1", "--group-by", "state"), "keys"),
        (("--agg", "n=count()", "--budget", "zcdp:0.1", "--group-by", "state", "--keys", "CA,CA"), "twice"),
        (("--agg", "n=count()", "--budget", "zcdp:9", "--total", "zcdp:1"), "left"),
        (("--agg", "n=count()", "--budget", "pure:1", "--total", "zcdp:1"), "ZCDP"),
    ],
)
def test_bad_input_is_one_sentence(data: Path, tmp_path: Path, words: tuple[str, ...], fix: str) -> None:
    found = run("query", data, *words, "--ledger", tmp_path / "L")
    assert found.exit_code == 2
    assert fix in found.output
    assert "Traceback" not in found.output


def test_nothing_is_evaluated() -> None:
    for text in ("n=__import__('os').system('true')", "n=count(**{})", "n=count(lambda: 1)", "n=(1).real"):
        with pytest.raises(InvalidParameter):
            parse_aggregates(text)


def test_the_people_are_always_the_same() -> None:
    table = people(2000)
    assert table.num_rows == 2000
    assert table.equals(people(2000))


def test_the_demo(tmp_path: Path) -> None:
    found = run("demo", "--to", tmp_path, "--rows", 3000)
    assert found.exit_code == 0, found.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<table" in page
    assert "http" not in page  # self-contained
    again = run("demo", "--to", tmp_path, "--rows", 3000)
    assert again.exit_code == 0  # every answer is on record
    assert again.output.splitlines()[-3:] == found.output.splitlines()[-3:]
