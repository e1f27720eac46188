"""CSV files: one record is one row, whatever is in it, and none of them changes how the others are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dalenius as dp
from dalenius.calculus.errors import SourceError

PLAIN = "".join(f"{i},x\n" for i in range(20_000))


def asked(path: Path, text: str | bytes, **wanted: Any) -> tuple[dp.Session, Any]:
    """A session on a file with this content, and an answer with hardly any noise."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    s = dp.Session(path, unit=dp.Unit.rows(), budget=dp.ZCDP(1e4), schema=dp.Schema(nulls="drop"))
    return s, s.release(s.table.agg(**(wanted or {"n": dp.count()})), dp.ZCDP(1e3))


@pytest.mark.parametrize("inside", ["line\n" * 1000, "7,y\n" * 1000, "a,b\n", '""', "\n", ",,,,"])
@pytest.mark.parametrize("before", [PLAIN, "1,x\n" * 3, ""])
def test_a_record_with_anything_in_quotes_is_one_row(tmp_path: Path, inside: str, before: str) -> None:
    _, answer = asked(tmp_path / "data.csv", f'a,b\n{before}5,"{inside}"\n{PLAIN}')
    assert answer["n"].estimate[0] == pytest.approx(before.count("\n") + 20_001, abs=0.5)


@pytest.mark.parametrize("odd", ["1,x,3,4,5,6", "1"])
def test_a_record_of_another_length_is_left_out_and_adds_no_column(tmp_path: Path, odd: str) -> None:
    s, answer = asked(tmp_path / "data.csv", "a,b\n" + "1,x\n" * 10 + odd + "\n" + "1,x\n" * 10)
    assert [field.name for field in s.table.fields] == ["a", "b"]
    assert answer["n"].estimate[0] == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n", ["a", "b"]),
        (b"a;b\n1,5;x\n2;y\n", ["a", "b"]),
        (b"a\tb\n1\tx\n2\ty\n", ["a", "b"]),
        (b'"a, b",c\n1,2\n3,4\n', ["a, b", "c"]),
        (b"a,b\n1,\xe9\n2,y\n", ["a", "b"]),
    ],
)
def test_the_first_line_says_what_the_columns_are(tmp_path: Path, text: bytes, names: list[str]) -> None:
    s, answer = asked(tmp_path / "data.csv", text)
    assert [field.name for field in s.table.fields] == names
    assert answer["n"].estimate[0] == pytest.approx(2, abs=0.5)


@pytest.mark.parametrize("first", ["a,a", "a,", "a,b\rc", '"a,b'])
def test_names_that_are_no_names_are_refused(tmp_path: Path, first: str) -> None:
    with pytest.raises(SourceError, match="first line"):
        asked(tmp_path / "data.csv", f"{first}\n1,2\n")


def test_a_type_that_changes_is_null_from_there(tmp_path: Path) -> None:
    """6.7 in a column of whole numbers is not 7; dates that are not written 2020-12-31 are text."""
    wanted = {"c": dp.count("a"), "m": dp.mean("a", bounds=(0, 10))}
    _, answer = asked(tmp_path / "data.csv", "a\n" + "5\n" * 30_000 + "6.7\n" * 30_000, **wanted)
    assert answer["c"].estimate[0] == pytest.approx(30_000, abs=0.5)
    assert answer["m"].estimate[0] == pytest.approx(5, abs=0.01)
    s, _ = asked(tmp_path / "dates.csv", "d,e\n31/12/2020,2020-12-31\n30/12/2020,2020-12-30\n")
    assert [field.kind for field in s.table.fields] == ["text", "date"]


@pytest.mark.parametrize("text", ["", "\n", '"a\nb",c\n1,2\n'])
def test_a_file_without_a_line_of_names_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceError, match="first line"):
        asked(tmp_path / "data.csv", text)
