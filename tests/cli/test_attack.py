"""`dalenius attack reconstruct`: files as they are published."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_main import run, run_json

AGES = """town,age,people
Aby,0-17,3
Aby,18-64,"1,006"
Aby,65+,1
Bro,0-17,2
Bro,18-64,5
Bro,65+,4
Total,Total,"1,021"
"""
ILL = """# Illness by town

Words before it.

| town | age | ill | well | Total |
|---|---|---:|:---:|---:|
| Aby | 0-17 | 0 | 3 | 3 |
| Aby | 18-64 | <3 | 1004 | 1006 |
| Aby | **65+** | * | 0 | 1 |
| Bro | 0-17 | 0 | 2 | 2 |
| Bro | 18-64 | * | 3 | 5 |
| Bro | 65+ | 3 | 1 | 4 |
"""


@pytest.fixture
def published(tmp_path: Path) -> Path:
    (tmp_path / "ages.csv").write_text(AGES)
    (tmp_path / "ill.md").write_text(ILL)
    (tmp_path / "sex.csv").write_text(
        "\ufefftown;sex;n\nAby;f;500\nAby;m;510\nBro;f;5\nBro;m;6\n", encoding="utf-8"
    )
    return tmp_path


def test_hidden_counts_come_out(published: Path) -> None:
    words = run("attack", "reconstruct", str(published / "ill.md"), "--across", "health")
    assert words.splitlines()[:3] == [
        "One table counts 1,021 rows by town, age, health: 9 combinations can occur.",
        "Rebuilt for certain, with a value in every column: 1,021 rows (100.0%).",
        "Combinations known exactly: 9. Known to be one single row: 2.",
    ]
    assert "PureDP(1.098)" in words
    assert words.splitlines()[-2:] == ["Aby   65+  ill", "Bro   65+  well"]


def test_two_tables(published: Path) -> None:
    found = run_json("attack", "reconstruct", str(published / "ages.csv"), str(published / "sex.csv"))
    assert found["columns"] == ["town", "age", "sex"]
    assert found["rows"] == {"at_least": 1021, "at_most": 1021}
    assert found["rebuilt"] == sum(record["at_least"] for record in found["records"]) > 0
    assert found["settled"]
    assert found["budget"]["certainty"] == 0.75
    assert 1.0986 < found["budget"]["epsilon"] < 1.0987


def test_long_and_wide_tables_together(published: Path) -> None:
    files = [str(published / name) for name in ("ill.md", "ages.csv", "sex.csv")]
    found = run_json("attack", "reconstruct", *files, "--across", "health")
    assert found["columns"] == ["town", "age", "health", "sex"]
    assert found["rows"] == {"at_least": 1021, "at_most": 1021}


def test_groups_that_are_numbers(published: Path) -> None:
    path = published / "years.csv"
    path.write_text("year,f,m\n1999,3,1\n2000,<2,5\n")
    assert run_json("attack", "reconstruct", str(path), "--across", "sex")["columns"] == ["year", "sex"]


def test_rounded_and_hidden(published: Path) -> None:
    path = published / "rounded.csv"
    path.write_text("town,n\nAby,10\nBro,*\n")
    nearest = run_json("attack", "reconstruct", str(path), "--rounded-to", "5", "--hidden-below", "3")
    assert nearest["rows"] == {"at_least": 8, "at_most": 14}
    either = run_json("attack", "reconstruct", str(path), "--rounded-to", "5", "--random-rounding")
    assert either["rows"] == {"at_least": 6, "at_most": "inf"}


def test_missing_groups(published: Path) -> None:
    path = published / "some.csv"
    path.write_text("town,sex,n\nAby,f,10\nBro,m,1\n")
    assert run_json("attack", "reconstruct", str(path))["combinations"] == 2
    assert run_json("attack", "reconstruct", str(path), "--missing", "unknown")["combinations"] == 4


def test_picture(published: Path) -> None:
    run("attack", "reconstruct", str(published / "sex.csv"), "--plot", str(published / "sex.png"))
    assert (published / "sex.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("content", "options", "complaint"),
    [
        ("a,b\n1,2\n", (), "--count"),
        ("a,n\nx,y\n", (), '"y" is no count'),
        ("a,n\nx\n", (), "1 cells, not 2"),
        ("a,n\n", (), "no table"),
        ("", (), "no table"),
        ("a,a\n1,2\n", (), "name of its own"),
        ("a,n\nx,1\nx,2\n", (), "twice"),
        ("a,n\nx,-1\n", (), '"-1" is no count'),
        ("a,n\nx,1\n", ("--count", "people"), 'no column "people"'),
        ("a,n\nx,1\n", ("--missing", "maybe"), "zero or unknown"),
        ("a,n\nx,1\n", ("--certainty", "0.4"), "certainty"),
        ("a,n\nx,1\n", ("--plot", "x.exe"), ".png"),
        ("a,b\nx,1\n", ("--across", "a"), "already"),
        ('a,n\n"x,1\n', (), "CSV"),
        ("town,n\nx,5\ntotal,4\n", (), "contradict"),
        ("town,n,n_error,n_low,n_high\nx,5,2,1,9\n", (), "released with noise"),
    ],
)
def test_refused(tmp_path: Path, content: str, options: tuple[str, ...], complaint: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(content)
    assert complaint in run("attack", "reconstruct", str(path), *options, code=2)


def test_no_file_and_no_text(tmp_path: Path) -> None:
    assert "cannot be read" in run("attack", "reconstruct", str(tmp_path / "none.csv"), code=2)
    (tmp_path / "bits.csv").write_bytes(b"\xff\xfe\x00a")
    assert "UTF-8" in run("attack", "reconstruct", str(tmp_path / "bits.csv"), code=2)
