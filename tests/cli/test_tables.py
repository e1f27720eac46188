"""`dalenius query | price | infer | demo` as a person runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from dalenius.cli.main import app
from dalenius.cli.people import people
from dalenius.cli.pictures import ranges
from dalenius.errors import InvalidParameter
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
    assert len(json.loads(found.stdout)["columns"]["n"]) == 2
    assert "takes all of it" in found.stderr
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
    assert found.stdout == "ZCDP(rho=0.01743)\n"
    asked = ("query", data, "--agg", "n=count()", "--budget", found.stdout.strip(), "--total", "zcdp:0.5")
    paid = run(*asked, "--ledger", tmp_path / "L")
    assert paid.exit_code == 0, paid.output


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (("--agg", "n=count(", "--budget", "zcdp:0.1"), "aggregates"),
        (("--agg", "n=cuont()", "--budget", "zcdp:0.1"), "did you mean count?"),
        (("--agg", "n=mean(wealth, 0, 1)", "--budget", "zcdp:0.1"), "wealth"),
        (("--agg", "n=mean(income, 5, 1)", "--budget", "zcdp:0.1"), "exchange"),
        (("--agg", "n=mean(income)", "--budget", "zcdp:0.1"), "bounds"),
        (("--agg", "n=count()", "--budget", "zcdp:0.1", "--group-by", "state"), "keys"),
        (("--agg", "n=count()", "--budget", "zcdp:0.1", "--group-by", "state", "--keys", "CA,CA"), "twice"),
        (("--agg", "n=count()", "--budget", "pure:1", "--total", "zcdp:1"), "ZCDP"),
    ],
)
def test_bad_input_is_one_sentence(data: Path, tmp_path: Path, words: tuple[str, ...], fix: str) -> None:
    found = run("query", data, *words, "--ledger", tmp_path / "L")
    assert found.exit_code == 2
    assert fix in found.output
    assert "Traceback" not in found.output


def test_too_little_left_has_a_code_of_its_own(data: Path, tmp_path: Path) -> None:
    words = ("--agg", "n=count()", "--budget", "zcdp:9", "--total", "zcdp:1")
    found = run("query", data, *words, "--ledger", tmp_path / "L")
    assert found.exit_code == 4
    assert "100 % is left: at most ZCDP(rho=1.0) can be given" in found.output


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
    assert page.count("<svg") == 5
    assert "Right about" in page
    assert "http" not in page  # self-contained
    again = run("demo", "--to", tmp_path, "--rows", 3000)
    assert again.exit_code == 0  # every answer is on record
    assert again.output.splitlines()[-3:] == found.output.splitlines()[-3:]


def test_what_is_refused_leaves_no_trace_in_the_ledger(data: Path, tmp_path: Path) -> None:
    """A slip in the first question, or a price, does not fix the total and the unit for ever."""
    ledger = tmp_path / "L"
    for wrong in (
        ("query", data, "--agg", "n=cuont()", "--budget", "zcdp:0.05"),
        ("query", data, "--agg", "pay=mean(wages, 0, 9)", "--budget", "zcdp:0.05"),
        ("query", data, "--group-by", "state", "--discover", "--agg", "n=count()", "--budget", "zcdp:0.05"),
        ("query", data, *ASK, "--html", tmp_path / "nowhere" / "page.html"),
        ("query", data, *ASK, "--html", tmp_path),
        ("sql", data, "SELECT * FROM people", "--budget", "zcdp:0.05"),
    ):
        done = run(*wrong, "--ledger", ledger, "--total", "zcdp:7")
        assert done.exit_code == 2, done.output
    assert (
        run(
            "price", data, "--agg", "n=count()", "--within", 10, "--total", "zcdp:7", "--ledger", ledger
        ).exit_code
        == 0
    )
    right = run("query", data, *ASK, "--unit", "id", "--total", "zcdp:0.5", "--ledger", ledger, "--json")
    assert json.loads(right.stdout)["remaining"] == "ZCDP(rho=0.45)"


def test_sql_keys_of_whole_numbers(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("g\n" + "1\n" * 50 + "2\n" * 50)
    words = ("sql", path, "SELECT g, COUNT(*) AS n FROM data GROUP BY g", "--keys", "1,2,3")
    done = run(*words, "--budget", "zcdp:0.5", "--ledger", tmp_path / "L", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["keys"] == [["1"], ["2"], ["3"]]


def test_keys_of_other_kinds(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("d,b\n" + "2020-12-31,true\n2021-01-01,false\n" * 20)
    for column, keys, wrong in (("d", "2020-12-31,2021-01-01", "31.12.2020"), ("b", "true,False", "maybe")):
        words = (
            "query",
            path,
            "--agg",
            "n=count()",
            "--group-by",
            column,
            "--budget",
            "zcdp:0.5",
            "--total",
            "zcdp:5",
        )
        done = run(*words, "--keys", keys, "--ledger", tmp_path / "L")
        assert done.exit_code == 0, done.output
        done = run(*words, "--keys", wrong, "--ledger", tmp_path / "L")
        assert done.exit_code == 2
        assert "of that type" in " ".join(done.output.split())


def test_json_has_null_for_what_was_not_found(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x\n1.5\n2.5\n")
    done = run(
        "query", path, "--agg", "x=bounds(x)", "--budget", "zcdp:0.01", "--ledger", tmp_path / "L", "--json"
    )
    assert done.exit_code == 0, done.output
    assert "NaN" not in done.stdout
    assert json.loads(done.stdout)["columns"]


def test_keys_that_cannot_be_read(data: Path, tmp_path: Path) -> None:
    broken = tmp_path / "keys.parquet"
    broken.write_text("not a table")
    done = run("query", data, "--group-by", "state", "--keys-from", broken, *ASK, "--ledger", tmp_path / "L")
    assert done.exit_code == 2
    assert "cannot be read" in done.output


def test_adaptive_medians_have_a_name_of_their_own(data: Path, tmp_path: Path) -> None:
    paid = ("--ledger", tmp_path / "L", "--budget", "pure:1")
    done = run("query", data, "--agg", "m=median(income, 0, 250000, adaptive=True)", *paid)
    assert done.exit_code == 2
    assert "adaptive_median(income, 0, 250000)" in done.output
    assert run("query", data, "--agg", "m=adaptive_median(income, 0, 250000)", *paid).exit_code == 0


def test_a_demo_into_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    for place in (path, path / "under"):
        done = run("demo", "--to", place)
        assert done.exit_code == 2
        assert "folder" in done.output


def test_pictures_hold_what_they_are_given() -> None:
    """Bars end at their values and lines at their intervals, on one scale; labels are escaped."""
    drawn = ElementTree.fromstring(ranges(["a<b", "c"], [10.0, -5.0], [8.0, -6.0], [12.0, -4.0], "t & u"))
    assert [text.text for text in drawn.iter("text")] == ["a<b", "10", "c", "-5"]
    (up, down), (axis, first, second) = drawn.iter("rect"), drawn.iter("line")
    zero = float(axis.attrib["x1"])
    unit = float(up.attrib["width"]) / 10
    assert float(up.attrib["x"]) == zero
    assert float(down.attrib["width"]) == pytest.approx(5 * unit, abs=0.11)
    for line, low, high in ((first, 8, 12), (second, -6, -4)):
        assert float(line.attrib["x1"]) == pytest.approx(zero + low * unit, abs=0.2)
        assert float(line.attrib["x2"]) == pytest.approx(zero + high * unit, abs=0.2)


INFER = ("--budget", "gdp:0.5", "--total", "gdp:3")


def test_a_regression_and_a_test_from_the_shell(data: Path, tmp_path: Path) -> None:
    words = ("infer", data, "linear_regression", "--feature", "id, 0, 900", "--target", "income, 0, 250000")
    to = (*INFER, "--ledger", tmp_path / "L")
    price = run(*words, *to, "--price", "--json")
    assert json.loads(price.output) == {"budget": "GDP(mu=0.5)", "affordable": True, "times": 36}
    first = run(*words, *to)
    assert first.exit_code == 0, first.output
    assert "robust linear regression" in first.output
    assert "Left: GDP(mu=2.958), enough for 35 more" in first.output
    told = json.loads(run(*words, *to, "--json").output)
    assert told["names"] == ["id", "const"]
    assert told["low"][1] < told["estimates"][1] < told["high"][1]
    assert told["remaining"].startswith("GDP(mu=2.95803989")  # from the ledger
    assert "From the ledger, at no cost now." in run(*words, *to).output
    assert "From the ledger" not in first.output
    test = run(
        *("infer", data, "anova", "--feature", "state", "--target", "income", "--where", "id < 500"),
        *("--set", "levels=CA, NY", "--set", "bounds=0, 250000", *to, "--json"),
    )
    told = json.loads(test.output)
    assert 0 < told["p"] <= 1
    assert list(told["estimates"]) == ["mean of 'CA'", "mean of 'NY'"]
    assert told["cost"] == "0.5-GDP, add/remove one record"
    middle = run(
        *("infer", data, "quantiles", "--feature", "income, 0, 250000", "--set", "levels=0.5"), *to, "--json"
    )
    told = json.loads(middle.output)
    assert told["names"] == ["income 0.5"]
    assert told["low"] < told["estimates"] < told["high"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("anov", "--feature", "state"), "did you mean 'anova'?"),
        (("anova", "--feature", "state", "--set", "level=a,b"), "did you mean 'levels'?"),
        (("poisson_regression", "--feature", "id"), 'poisson_regression needs most: --set "most=..."'),
        (("mean_test", "--feature", "income", "--set", "mean=0.5"), "the test of a mean needs bounds"),
        (("anova", "--feature", "state", "--target", "income"), 'anova needs levels: --set "levels=..."'),
        (("mean", "--feature", "income"), "the mean needs bounds"),
        (("quantiles", "--feature", "income, 0, 9"), 'quantiles needs levels: --set "levels=..."'),
        (
            ("mean_test", "--feature", "income", "--set", "mean=-1", "--set", "bounds=0,9"),
            "between the bounds",
        ),
    ],
)
def test_what_cannot_be_inferred_is_said(
    words: tuple[str, ...], said: str, data: Path, tmp_path: Path
) -> None:
    result = run("infer", data, *words, *INFER, "--ledger", tmp_path / "L")
    assert result.exit_code == 2
    assert said in result.output


def test_keys_of_several_columns(data: Path, tmp_path: Path) -> None:
    """In their order or by name; the same question either way, and so free the second time."""
    frame = pd.read_csv(data)
    frame["rich"] = np.where(frame["income"] > 50_000, "yes", "no")
    frame.to_csv(tmp_path / "more.csv", index=False)
    shared = (tmp_path / "more.csv", "--ledger", tmp_path / "L", "--total", "zcdp:1", "--budget", "zcdp:0.05")
    ask = ("query", *shared, "--agg", "n=count()", "--group-by", "state,rich")
    first = run(*ask, "--keys", "CA,NY", "--keys", "yes,no")
    assert first.exit_code == 0, first.output
    named = run(*ask, "--keys", "rich=yes,no", "--keys", "state=CA,NY", "--json")
    assert json.loads(named.output)["free"]
    cube = "SELECT state, rich, COUNT(*) AS n FROM more GROUP BY CUBE (state, rich)"
    asked = run("sql", *shared, cube, "--keys", "rich=yes,no", "--keys", "state=CA,NY", "--csv")
    assert asked.exit_code == 0, asked.output
    for wrong in (("--keys", "CA,NY"), ("--keys", "CA", "--keys", "yes", "--keys", "no")):
        refused = run(*ask, *wrong)
        assert refused.exit_code == 2
        assert "once for each" in refused.output


def test_keys_of_one_column_by_its_name(data: Path, tmp_path: Path) -> None:
    """And not the group called state=CA, of which there are no rows."""
    ask = (data, "--ledger", tmp_path / "L", "--total", "zcdp:1", "--budget", "zcdp:0.05")
    ask = ("query", *ask, "--agg", "n=count()", "--group-by", "state", "--json")
    plain = run(*ask, "--keys", "CA,NY")
    assert plain.exit_code == 0, plain.output
    for named in ("state=CA,NY", "State = CA,NY"):
        found = json.loads(run(*ask, "--keys", named).output)
        assert (found["free"], found["keys"]) == (True, [["CA"], ["NY"]])


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (("state=CA", "state=NY"), "--keys state=CA,NY"),
        (("state=CA", "rich=yes", "State=NY"), "--keys state=CA,NY"),
        (("state=CA,NY", "yes,no"), "name each, as"),
        (("yes,no", "state=CA,NY"), "The columns are state, rich"),
        (("state=CA,NY", "rihc=yes,no"), "name each, as"),
    ],
)
def test_keys_that_are_named_twice_or_in_part(
    keys: tuple[str, ...], told: str, data: Path, tmp_path: Path
) -> None:
    frame = pd.read_csv(data).assign(rich="yes")
    frame.to_csv(tmp_path / "more.csv", index=False)
    ask = (
        "query",
        tmp_path / "more.csv",
        "--ledger",
        tmp_path / "L",
        "--total",
        "zcdp:1",
        "--budget",
        "zcdp:0.05",
    )
    options = (word for each in keys for word in ("--keys", each))
    refused = run(*ask, "--agg", "n=count()", "--group-by", "state,rich", *options)
    assert refused.exit_code == 2
    assert told in " ".join(refused.output.split())


def test_a_price_before_there_is_a_ledger(data: Path, tmp_path: Path) -> None:
    ask = (data, "--agg", "n=count()", "--within", "50")
    told = run("price", *ask, "--total", "zcdp:0.5")
    assert told.exit_code == 0, told.output
    assert told.output.startswith("ZCDP(rho=")
    for command in ("price", "query"):
        missing = run(command, *ask, *(() if command == "price" else ("--total", "zcdp:0.5")))
        assert (missing.exit_code, "--ledger" in missing.output) == (2, True)


def test_a_first_answer_without_a_total_says_that_it_is_the_last(data: Path, tmp_path: Path) -> None:
    words = ("query", data, "--agg", "n=count()", "--ledger", tmp_path / "L", "--budget", "zcdp:0.05")
    first = run(*words)
    assert first.exit_code == 0
    assert "No --total: zcdp:0.05 will be the budget of 'people' for ever" in first.stderr
    assert "No --total" not in run(*words).stderr
    told = run(*words[:-3], tmp_path / "M", *words[-2:], "--total", "zcdp:1")
    assert told.exit_code == 0
    assert "No --total" not in told.stderr


def test_python_dash_m(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-m", "dalenius", "--version"], capture_output=True, text=True)
    assert ran.stdout.startswith("dalenius ")
