"""Asking by accuracy from a shell, in every form, with help and completion at hand."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner, Result

from dalenius.cli import commands, main
from dalenius.cli.main import app


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.csv"
    ages = np.arange(600) % 80
    frame = pd.DataFrame({"age": ages, "hours-per-week": ages / 2, "sex": np.where(ages > 40, "F", "M")})
    frame.to_csv(path, index=False)
    return path


def run(*words: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env=env)


def test_an_accuracy_is_paid_in_one_step(data: Path, tmp_path: Path) -> None:
    ledger = ("--ledger", tmp_path / "L", "--total", "zcdp:0.5")
    ask = (data, "--agg", "n=count(), m=mean(age, 0, 99)", *ledger)
    accuracy = ("--within", "n=20", "--within", "m=5", "--rows", 500)
    price = run("price", *ask, *accuracy)
    assert price.exit_code == 0, price.output
    assert price.stdout.count("\n") == 1
    assert "epsilon" in price.stderr
    assert "Assumed: 500 rows in each group" in price.stderr
    first = run("query", *ask, *accuracy)
    assert first.exit_code == 0, first.output
    assert f"cost: {price.stdout.strip()}." in first.stdout
    assert "more questions like the last" in first.stdout
    again = run("query", *ask, "--budget", price.stdout.strip(), "--json")
    assert json.loads(again.stdout)["free"]
    text = "SELECT COUNT(*) AS n, AVG(age, 0, 99) AS m FROM people"
    assert "from the record of" in run("sql", data, text, *ledger, *accuracy).stdout
    told = json.loads(run("price", data, "--sql", text, *ledger, *accuracy, "--json").stdout)
    assert told["budget"] == price.stdout.strip()
    assert told["affordable"]
    assert told["times"] > 1
    assert told["epsilon"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say what the answer may cost"),
        (("--budget", "zcdp:0.1", "--within", 5), "one of --budget and --within"),
        (("--within", 5, "--within", "n=5"), "--within once"),
        (("--within", "n=5", "--within", "n=6"), "--within once"),
        (("--within", "x"), "not a number"),
        (("--within", "m=5"), "there is no column 'm' in the answer"),
        (("--rows", 5), "belong to --within"),
        (("--per-question", "pure:1"), "paid in ZCDP"),
        (("--split-evenly-over", 0), "1 or more"),
        (("--json", "--csv", "--within", 5), "choose one"),
    ],
)
def test_what_cannot_be_asked(words: tuple[Any, ...], said: str, data: Path, tmp_path: Path) -> None:
    asked = ("query", data, "--agg", "n=count()", "--ledger", tmp_path / "L", "--total", "zcdp:0.5")
    found = run(*asked, *words)
    assert found.exit_code == 2, found.output
    assert said in found.stderr
    assert not (tmp_path / "L").exists()


def test_the_same_for_every_question(data: Path, tmp_path: Path) -> None:
    """By an option, or by the environment of the shell, in which a budget for one question still comes first."""
    ask = ("query", data, "--agg", "n=count()", "--total", "zcdp:0.5")
    shell = {"DALENIUS_LEDGER": str(tmp_path / "L"), "DALENIUS_PER_QUESTION": "zcdp:0.01"}
    assert "cost: ZCDP(rho=0.01)." in run(*ask, env=shell).stdout
    assert "cost: ZCDP(rho=0.02)." in run(*ask, "--budget", "zcdp:0.02", env=shell).stdout
    assert "cost: ZCDP(rho=0.025)." in run(*ask, "--split-evenly-over", 20, env=shell).stdout
    made = ("synthesize", data, "--columns", "sex", "--out", tmp_path / "made.csv", "--schema")
    schema = tmp_path / "s.toml"
    schema.write_text('[columns.sex]\ncategories = ["F", "M"]\n')
    assert "ZCDP(rho=0.01)" in run(*made, schema, env=shell).stdout
    told = run(
        "infer", data, "mean_test", "--feature", "age", "--set", "mean=40", "--set", "bounds=0, 99", env=shell
    )
    assert told.exit_code == 0, told.output
    assert "Left: ZCDP(rho=0.425)" in told.stdout


COMMANDS = {
    "query": (
        "query",
        "DATA",
        "--agg",
        "n=count()",
        "--group-by",
        "sex",
        "--keys",
        "F,M",
        "--budget",
        "zcdp:0.1",
    ),
    "sql": ("sql", "DATA", "SELECT COUNT(*) AS n FROM people", "--budget", "zcdp:0.1"),
    "price": ("price", "DATA", "--agg", "n=count()", "--within", "9"),
    "infer": (
        *("infer", "DATA", "linear_regression", "--feature", "age, 0, 99", "--target", "age, 0, 99"),
        *("--budget", "zcdp:0.1"),
    ),
    "test": ("infer", "DATA", "binomial_test", "--feature", "age > 9", "--budget", "zcdp:0.1"),
    "infer --price": (
        "infer",
        "DATA",
        "binomial_test",
        "--feature",
        "age > 9",
        "--budget",
        "zcdp:0.1",
        "--price",
    ),
    "losses": ("losses",),
    "account": ("account", "gaussian(2)", "--epsilon", "1"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_table_in_every_form(name: str, data: Path, tmp_path: Path) -> None:
    words = [data if word == "DATA" else word for word in COMMANDS[name]]
    if data in words:
        words += ["--ledger", tmp_path / "L", "--total", "zcdp:0.5"]
    assert json.loads(run(*words, "--json").stdout)
    found = run(*words, "--csv")
    assert found.exit_code == 0, found.output
    header, *rows = list(csv.reader(io.StringIO(found.stdout)))
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    lines = run(*words, "--markdown").stdout.splitlines()
    assert len(lines) == len(rows) + 2
    assert set(lines[1]) <= set("|- ")


def test_a_table_with_its_margins(data: Path, tmp_path: Path) -> None:
    schema = tmp_path / "s.toml"
    schema.write_text('[columns.sex]\ncategories = ["F", "M"]\n[columns.age]\ncategories = [1, 2]\n')
    text = "SELECT sex, age, COUNT(*) AS n FROM people GROUP BY CUBE (sex, age)"
    to = ("--schema", schema, "--ledger", tmp_path / "L", "--total", "zcdp:1")
    found = run("sql", data, text, *to, "--per-question", "zcdp:0.2", "--csv")
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    count = {(row["sex"], row["age"]): float(row["n"]) for row in rows}
    assert count["F", "1"] + count["F", "2"] == count["F", "all"]
    assert "cost: ZCDP(rho=0.2)" in found.stderr
    assert json.loads(run("sql", data, text, *to, "--budget", "zcdp:0.2", "--json").stdout)["free"]
    price = run("price", data, "--sql", text, *to, "--within", 60)
    assert price.exit_code == 0, price.output
    within = run("sql", data, text, *to, "--within", 60)
    assert within.exit_code == 0, within.output
    assert f"cost: {price.stdout.strip()} for 4 questions" in within.stdout
    assert json.loads(run("sql", data, text, *to, "--budget", price.stdout.strip(), "--json").stdout)["free"]


def test_histograms_and_the_most_frequent_one_row_each(data: Path, tmp_path: Path) -> None:
    to = ("--ledger", tmp_path / "L", "--total", "zcdp:1", "--budget", "zcdp:0.05")
    asked = ("query", data, "--agg", "n=count(), h=histogram(age, [0, 2, 9]), o=top_k(sex, 2, 'F', 'M')", *to)
    rows = list(csv.DictReader(io.StringIO(run(*asked, "--tidy", "h", "--csv").stdout)))
    assert [(row["lower"], row["upper"]) for row in rows] == [("0.0", "2.0"), ("2.0", "9.0")]
    plain = run(*asked, "--tidy", "o", "--markdown", "--plain")
    assert plain.stdout.startswith("| place | o | o_n | o_n_error | o_n_low | o_n_high |")
    assert "[" not in plain.stdout
    wrong = run(*asked, "--tidy", "n", "--budget", "zcdp:0.9")
    assert wrong.exit_code == 2
    assert "there are h, o" in wrong.stderr
    for text in ("HISTOGRAM(age, ARRAY[0, 2, 9])", "HISTOGRAM(age, 0, 2, 5, 9)", "HISTOGRAM(age, 0, 2, 5)"):
        found = run("sql", data, f"SELECT {text} AS h FROM people", *to)
        if "ARRAY" in text:
            assert "h[0, 2)" in found.stdout, found.output
        else:
            assert "HISTOGRAM(age, ARRAY[0, 18, 65, 100])" in found.stderr


def test_cells_that_would_break_a_table(data: Path, tmp_path: Path) -> None:
    words = ("query", data, "--agg", "n=count()", "--group-by", "sex", "--keys-from", tmp_path / "k.csv")
    (tmp_path / "k.csv").write_text('sex\n"a|b"\n"c\x1b[31m"\n"d""e"\n')
    asked = (*words, "--budget", "zcdp:0.1", "--ledger", tmp_path / "L")
    rows = list(csv.reader(io.StringIO(run(*asked, "--csv").stdout)))
    assert [row[0] for row in rows] == ["sex", "a|b", "c\\x1b[31m", 'd"e']
    assert "a\\|b" in run(*asked, "--markdown").stdout


def programs(group: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path]
    for name, command in getattr(group, "commands", {}).items():
        found += programs(command, (*path, name))
    return found


@pytest.mark.parametrize("path", programs(typer.main.get_command(app)), ids=" ".join)
def test_help_in_one_letter(path: tuple[str, ...]) -> None:
    short, long = run(*path, "-h"), run(*path, "--help")
    assert short.exit_code == 0
    assert short.output == long.output
    assert "Usage:" in short.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("dalenius pri", "price"),
        ("dalenius query people.csv --with", "--within"),
        ("dalenius infer people.csv mean_t", "mean_test"),
        ("dalenius query people.csv --nulls ", "never"),
    ],
)
def test_shells_complete(words: str, expected: str) -> None:
    number = str(len(words.split(" ")) - 1)
    env = {"_DALENIUS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": number}
    found = CliRunner().invoke(app, [], env=env, prog_name="dalenius")
    assert expected in found.stdout.split()


def test_what_was_meant_is_said(data: Path, tmp_path: Path) -> None:
    to = ("--ledger", tmp_path / "L", "--budget", "zcdp:0.1")
    schema = tmp_path / "s.toml"
    schema.write_text('nuls = "drop"\n[columns.age]\nbonds = [0, 9]\n[columns.sex]\ncategories = "F"\n')
    for words, said in (
        (("query", data, "--agg", "m=mean(aeg, 0, 9)", *to), ["did you mean 'age'"]),
        (("query", data, "--agg", "m=mean(hours-per-week, 0, 9)", *to), ['double quotes, "hours-per-week"']),
        (
            ("query", data, "--agg", "n=count()", *to, "--schema", schema),
            ["'nulls'", "'bounds'", "must be a list"],
        ),
        (("query", data, "--agg", "n=count()", "--ledgr", "L"), ["--ledger"]),
        (("qurey", data), ["query"]),
        (
            ("query", tmp_path, "--agg", "n=count()", *to),
            ["without .parquet files", f"'{tmp_path}/*.csv'", f"'{tmp_path}/**/*.csv'"],
        ),
    ):
        found = run(*words)
        assert found.exit_code == 2, found.output
        assert all(part in found.output for part in said), found.output


def test_a_column_in_quotes_is_that_column(data: Path, tmp_path: Path) -> None:
    words = ("query", data, "--agg", "n=count()", "--budget", "zcdp:0.1", "--ledger", tmp_path / "L")
    found = run(*words, "--group-by", '"age", "sex"', "--keys-from", tmp_path / "k.csv")
    assert found.exit_code == 2
    (tmp_path / "k.csv").write_text("age,sex\n1,F\n")
    found = run(*words, "--group-by", '"age", "sex"', "--keys-from", tmp_path / "k.csv")
    assert found.exit_code == 0, found.output


@pytest.mark.parametrize(
    ("terminal", "env", "coloured"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {"TERM": "xterm"}, False),
    ],
)
def test_colour_is_for_people_who_want_it(
    terminal: bool, env: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(commands.sys.stderr, "isatty", lambda: terminal, raising=False)
    assert ("\x1b[" in commands._red("Error:")) == coloured
    assert main.app.info.context_settings == {"help_option_names": ["-h", "--help"]}


def test_two_tables_of_the_same_people(tmp_path: Path) -> None:
    for name, rows in (("visits", 2), ("purchases", 3)):
        frame = pd.DataFrame({"person": np.repeat(np.arange(500), rows), "what": ["a", "b", "c"][rows - 1]})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    join = "SELECT COUNT(*) AS n FROM visits JOIN purchases ON visits.person = purchases.person"
    data = (tmp_path / "visits.csv", "--and", f"purchases={tmp_path / 'purchases.csv'}")
    to = ("--unit", "person", "--ledger", tmp_path / "L", "--total", "zcdp:8", "--budget", "zcdp:8")
    rows = ("--max-rows", "visits=2", "--max-rows", "purchases=3")
    found = run("sql", *data, join, *to, *rows, "--csv")
    assert found.exit_code == 0, found.output
    count = float(next(csv.DictReader(io.StringIO(found.stdout)))["n"])
    assert count == pytest.approx(3000, abs=15 * 6 / 4)  # sigma = 6 / sqrt(2 * 8); false alarm 1e-50
    for words, problem in (
        (("sql", *data, join, *to, "--max-rows", "visits=two"), "whole number"),
        (("sql", *data, join, *to, "--max-rows", "visits"), "whole number"),
        (("sql", *data, join, *to, *rows, "--schema", tmp_path / "s.toml"), "NAME=VALUE"),
        (("sql", *data, join, *to, *rows, "--table", "visits"), "one of them"),
        (("query", *data, "--agg", "n=count()", *to, *rows), "dalenius sql"),
    ):
        refused = run(*words)
        assert (refused.exit_code, problem in refused.stderr) == (2, True), refused.output
