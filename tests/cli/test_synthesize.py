"""`dalenius synthesize` as a person runs it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from dalenius.cli.main import app

SCHEMA = """
nulls = "never"
[columns.income]
bounds = [0, 200_000]
[columns.state]
categories = ["CA", "NY"]
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(2)
    folder = tmp_path_factory.mktemp("data")
    frame = pd.DataFrame({"state": rng.choice(["CA", "NY"], 800), "income": rng.gamma(3, 20_000, 800)})
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "people.toml").write_text(SCHEMA)
    return folder / "people.csv"


def run(data: Path, folder: Path, *words: object) -> Result:
    given = ["--ledger", folder / "L", "--schema", data.with_suffix(".toml"), "--columns", "state, income"]
    more = ["--budget", "zcdp:0.1", "--total", "zcdp:0.5", "--bins", 5]
    return CliRunner().invoke(app, [str(word) for word in ("synthesize", data, *given, *more, *words)])


def test_a_file_is_written_and_the_next_one_is_free(data: Path, tmp_path: Path) -> None:
    first = run(data, tmp_path, "--out", tmp_path / "made.parquet")
    assert first.exit_code == 0, first.output
    assert "Left: ZCDP(rho=0.4)" in first.output
    assert "carries no promise" in " ".join(first.output.split())
    assert list(pd.read_parquet(tmp_path / "made.parquet")) == ["state", "income"]
    quoted = ("--columns", '"state", "income"')
    again = run(data, tmp_path, "--out", tmp_path / "few.csv", "--rows", 7, "--json", *quoted)
    assert again.exit_code == 0, again.output
    told = json.loads(again.output)
    assert (told["rows"], told["free"], told["remaining"]) == (7, True, "ZCDP(rho=0.4)")
    assert len(pd.read_csv(tmp_path / "few.csv")) == 7
    table = run(data, tmp_path, "--out", tmp_path / "more.csv", "--csv")
    assert table.exit_code == 0, table.output
    lines = list(csv.DictReader(table.stdout.splitlines()))
    assert {line["columns"]: float(line["at_most"]) for line in lines} == {
        ", ".join(each["columns"]): each["at_most"] for each in told["error"]
    }
    assert "Left: ZCDP(rho=0.4)" in table.stderr
    assert f"Written: {tmp_path / 'more.csv'}" in table.stderr.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--out", "made.txt"), "must end in .parquet or .csv"),
        (("--out", "no/such/folder/made.csv"), "folder is not there"),
        (("--out", "made.csv", "--private-bins", "state"), "no number"),
        (("--out", "made.csv", "--where", "incomee > 3"), "'income'"),
        (("--out", "made.csv", "--bins", "0"), "bins"),
    ],
)
def test_what_is_refused_costs_nothing(
    data: Path, words: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(data, tmp_path, *words)
    assert done.exit_code == 2, done.output
    assert told in " ".join(done.output.split())
    assert not (tmp_path / "L").exists()


def test_a_file_that_is_there_is_not_written_over(data: Path, tmp_path: Path) -> None:
    (tmp_path / "made.csv").write_text("mine")
    assert run(data, tmp_path, "--out", tmp_path / "made.csv").exit_code == 2
    assert (tmp_path / "made.csv").read_text() == "mine"
