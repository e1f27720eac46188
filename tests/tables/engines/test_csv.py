"""CSV files: one record is one row, whatever is in it, and none of them changes how the others are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dalenius as dp
from dalenius.errors import SourceError
from dalenius.tables import Source
from dalenius.tables.compute import exact
from dalenius.tables.engines.duckdb.connection import spill
from dalenius.tables.facts.schema import Records

PLAIN = "".join(f"{i},x\n" for i in range(20_000))


def asked(path: Path, text: str | bytes, records: Records = "lines", **wanted: Any) -> tuple[dp.Session, Any]:
    """A session on a file with this content, and an answer with hardly any noise."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    facts = dp.Schema(nulls="drop", records=records)
    s = dp.Session(path, unit=dp.Unit.rows(), budget=dp.ZCDP(1e4), schema=facts)
    return s, s.release(s.table.agg(**(wanted or {"n": dp.count()})), dp.ZCDP(1e3))


@pytest.mark.parametrize("inside", ["line\n" * 1000, "7,y\n" * 1000, "a,b\n", '""', "\n", ",,,,"])
@pytest.mark.parametrize("before", [PLAIN, "1,x\n" * 3, ""])
def test_a_record_with_anything_in_quotes_is_one_row(tmp_path: Path, inside: str, before: str) -> None:
    _, answer = asked(tmp_path / "data.csv", f'a,b\n{before}5,"{inside}"\n{PLAIN}', "quoted")
    assert answer["n"].estimate[0] == pytest.approx(before.count("\n") + 20_001, abs=0.5)


def test_one_broken_line_hides_no_other(tmp_path: Path) -> None:
    """A quote that is never closed, and far below a proper field that begins with a line break."""
    plain = "".join(f"{i},x,y\n" for i in range(500))
    rest = '600,"\nfoo",y\n' + "".join(f"{i},x,y\n" for i in range(10))
    _, before = asked(tmp_path / "before.csv", f"id,a,b\n{plain}{rest}")
    _, after = asked(tmp_path / "after.csv", f'id,a,b\n1,2,"abc\n{plain}{rest}')
    assert after["n"].estimate[0] == pytest.approx(before["n"].estimate[0], abs=1.5)
    assert before["n"].estimate[0] == pytest.approx(
        510, abs=0.5
    )  # the field over two lines is two broken lines


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


def integers(path: Path, text: bytes, schema: dp.Schema, **wanted: Any) -> list[list[int]]:
    """What an answer is made of, before any noise."""
    path.write_bytes(text)
    source = Source.open(path, schema=schema)
    query = source.table().agg(**wanted)
    table = exact.evaluate(source, query, dp.Unit.rows())
    source.close()
    return [table[measure].ravel().tolist() for measure in query.measures]


@pytest.mark.parametrize("declared", [{"type": "number"}, {}])
def test_a_record_with_an_unreadable_value_is_still_counted(tmp_path: Path, declared: dict[str, Any]) -> None:
    values = ["?"] * 100 + ["1.5"] * 900
    text = "x,y\n" + "".join(f"{value},1\n" for value in values)
    wanted = {"n": dp.count(), "m": dp.mean("x", bounds=(0, 3), granularity=0.5), "there": dp.count("x")}
    schema = dp.Schema({"x": declared}, nulls="drop")
    assert integers(tmp_path / "x.csv", text.encode(), schema, **wanted)[:2] == [[1000], [900]]
    filled = dp.Schema({"x": {**declared, "impute": 0}}, nulls="drop")
    _, total = integers(
        tmp_path / "x.csv", text.encode(), filled, n=dp.count(), s=dp.sum("x", (0, 3), granularity=0.5)
    )
    assert total == [2700]  # 1.35 on average, in steps of a half
    long = "x\n" + "1.5\n" * 50_000 + "?\n" * 10_000
    rows = dp.Schema({"x": declared}, nulls="drop")
    assert integers(tmp_path / "x.csv", long.encode(), rows, n=dp.count(), c=dp.count("x")) == [
        [60_000],
        [50_000],
    ]


NASTY = [
    b"7,x\ry,1",
    b"7,x,1\r",
    b'7,"x,1',
    b'7,x",1',
    b"7,\x00,1",
    b"7,\xff,1",
    b"7",
    b"7,8,9,10",
    b"",
    b"a,b,c",
    b'"',
]
NASTY += [
    b"99999999999999999999,x,nan",
    b"7,x,1e999",
    b"7,x,-inf",
    b"7," + b"x" * 3_000_000 + b",1",
    b"6.7,x,?",
    b",,",
]


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_a_nasty_line_changes_no_other(tmp_path: Path, nasty: bytes) -> None:
    types = dp.Schema(
        {"a": {"type": "integer"}, "b": {"type": "text"}, "c": {"type": "number"}}, nulls="drop"
    )
    lines = [b"%d,x,%d.5" % (n, n) for n in range(50)]
    end = b"\r\n" if len(nasty) % 2 else b"\n"
    wanted = {
        "n": dp.count(),
        "a": dp.sum("a", (0, 100)),
        "c": dp.mean("c", (0, 64)),
        "b": dp.proportion("b = 'x'"),
    }
    for schema in (types, dp.Schema(nulls="drop")):
        plain, beside = (
            integers(tmp_path / "x.csv", b"a,b,c\n" + end.join(some) + end, schema, **wanted)
            for some in (lines, [*lines[:30], nasty, *lines[30:]])
        )
        assert plain[0] == [50]
        assert beside[0][0] - 50 in (0, 1)
        source = Source.open(tmp_path / "x.csv", schema=schema)
        most = [max(abs(m.low), abs(m.high)) for m in source.table().agg(**wanted).measures]
        source.close()
        assert all(abs(new[0] - old[0]) <= m for old, new, m in zip(plain, beside, most, strict=True))
        if nasty.startswith(b"7,8") or nasty in (b"7", b"", b'"'):
            assert plain == beside


def test_types_are_not_guessed_from_a_row_in_an_unlucky_place(tmp_path: Path) -> None:
    for at in (0, 50, 99):
        lines = ["2020-01-31,5,true,1.5,2020-01-31 10:00:00,word"] * 100
        lines[at] = "x,x,x,x,x,1"
        (tmp_path / "x.csv").write_text("a,b,c,d,e,f\n" + "\n".join(lines) + "\n")
        kinds = [field.kind for field in Source.open(tmp_path / "x.csv").fields]
        assert kinds == ["date", "integer", "bool", "number", "timestamp", "text"]


def test_files_of_one_table_have_one_first_line(tmp_path: Path) -> None:
    (tmp_path / "a-1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a-2.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n3,4\r\n")
    source = Source.open(str(tmp_path / "a-*.csv"), schema=dp.Schema(nulls="drop"))
    query = source.table().agg(s=dp.sum("a", (0, 9)))
    assert exact.evaluate(source, query, dp.Unit.rows())[query.measures[0]].tolist() == [4]
    (tmp_path / "a-2.csv").write_text("b,a\n3,4\n")
    with pytest.raises(SourceError, match="the same first line"):
        Source.open(str(tmp_path / "a-*.csv"))


def test_nothing_of_the_data_stays_behind(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\nsecret-value\n")
    source = Source.open(tmp_path / "x.csv", schema=dp.Schema(nulls="drop"))
    assert not [file for file in spill().rglob("*") if file.is_file() and file.suffix == ".table"]
    query = source.table().agg(n=dp.count())
    assert exact.evaluate(source, query, dp.Unit.rows())[query.measures[0]].tolist() == [1]
