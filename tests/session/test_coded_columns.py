"""Columns as codes: for every value there is one, the same in every engine, and a row changes no count by more than it
may."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter, LedgerError
from dalenius.session.coded_columns import Binned, asked_columns, codes, read_coded
from dalenius.session.synthesis import Synthesis
from dalenius.tables import Source

DAYS = (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
FACTS: dict[str, Any] = {
    "age": {"bounds": (0, 99)},
    "pay": {"bounds": (0, 100)},
    "town": {"categories": ["ash", "it's", "é"]},
    "grade": {"categories": [-1, 2, 7]},
}
HOW = {"age": 10, "pay": 4, "town": None, "grade": None, "member": None}


def people(**odd: Any) -> pd.DataFrame:
    rows = {
        "age": [0, 9, 10, 99, 55],
        "pay": [0.0, 24.999, 25.0, 99.0, None],
        "town": ["ash", "it's", "é", None, "ash"],
        "grade": [-1, 2, 7, 2, 2],
        "member": [True, False, True, False, True],
    }
    rows = {name: [*values, odd[name]] if odd else values for name, values in rows.items()}
    return pd.DataFrame(rows)


def synthesis(source: Source, unit: dp.Unit | None = None, columns: Any = HOW, **options: Any) -> Synthesis:
    settings: dict[str, Any] = {"bins": 4, "private_bins": (), "marginals": 2, **options}
    pays = dp.ZCDP(1.0).filter(dp.ADD_REMOVE)
    table = source.table()
    return Synthesis.of(columns, table, unit or dp.Unit.rows(), pays, dp.ZCDP(0.5), 0.0, **settings)


def read(source: Source, unit: dp.Unit | None = None) -> Any:
    columns = asked_columns(HOW, source.table(), 4, (), ())
    return codes(source, source.table(), columns, unit or dp.Unit.rows())  # type: ignore[arg-type]


EXPECTED = [[0, 0, 0, 0, 1], [0, 0, 1, 1, 0], [1, 1, 2, 2, 1], [9, 3, 3, 1, 0], [5, 4, 0, 1, 1]]


def test_every_value_has_its_code() -> None:
    found = read(Source.open(people(), schema=dp.Schema(FACTS)))
    assert found.tolist() == EXPECTED


def test_a_broken_promise_of_no_nulls_is_the_lower_bound() -> None:
    source = Source.open(people(), schema=dp.Schema(FACTS, nulls="never"))
    assert read(source).tolist() == [
        [5, 0, 0, 1, 1] if row[1] == 4 else row for row in EXPECTED if row[2] < 3
    ]


HOSTILE: list[dict[str, Any]] = [
    {"age": 2**63 - 1, "pay": np.inf, "town": "ash", "grade": 2, "member": True},
    {"age": -(2**63), "pay": -np.inf, "town": None, "grade": 7, "member": False},
    {"age": 5, "pay": np.nan, "town": "not listed", "grade": 2, "member": True},
    {"age": 5, "pay": 1e308, "town": "é", "grade": 99, "member": True},
    {"age": 5, "pay": -0.0, "town": "'; DROP TABLE people; --", "grade": -(2**60), "member": False},
]


@pytest.mark.parametrize("odd", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_row_adds_one_row_or_none(odd: dict[str, Any]) -> None:
    """It has a code in every column or is left out; the others stay what they are."""
    found = read(Source.open(people(**odd), schema=dp.Schema(FACTS)))
    asked = synthesis(Source.open(people(), schema=dp.Schema(FACTS)))
    unlisted = odd["town"] not in (None, *FACTS["town"]["categories"]) or odd["grade"] not in (-1, 2, 7)
    assert len(found) == 5 + (not unlisted)
    rest = found.tolist()
    for row in EXPECTED:
        rest.remove(row)
    assert len(rest) == (not unlisted)
    assert (found >= 0).all()
    assert (found < [column.size for column in asked.widest]).all()


def test_a_unit_has_so_many_rows_whatever_they_are() -> None:
    """Neighbours by a person with many rows: no marginal moves by more than max_rows in all."""
    rng = np.random.default_rng(3)
    base = pd.concat([people()] * 4, ignore_index=True).assign(id=np.arange(20) // 2)
    base["pay"] = base["pay"].astype(float)
    crowd = pd.concat([people()] * 6, ignore_index=True).assign(id=10**6, age=rng.integers(-5, 200, 30))
    unit = dp.Unit("id", max_rows=3)
    without, with_them = (
        read(Source.open(rows, schema=dp.Schema(FACTS)), unit) for rows in (base, pd.concat([base, crowd]))
    )
    assert len(with_them) - len(without) <= 3
    for column in range(5):
        size = int(max(without[:, column].max(), with_them[:, column].max())) + 1
        counts = [np.bincount(found[:, column], minlength=size) for found in (without, with_them)]
        assert np.abs(counts[0] - counts[1]).sum() <= 3


def test_values_lie_in_their_bins_and_have_their_codes_again() -> None:
    source = Source.open(
        pd.DataFrame({"age": [1], "pay": [0.1], "town": ["ash"], "day": [DAYS[0]], "flag": [True]}),
        schema=dp.Schema({name: FACTS[name] for name in ("age", "pay", "town")}),
    )
    how = {"age": 7, "pay": 9, "town": None, "day": DAYS, "flag": None}
    asked = asked_columns(how, source.table(), 12, (), ())
    draw, many = np.random.default_rng(0), 400
    drawn = [draw.integers(0, column.size, many) for column in asked]  # type: ignore[union-attr]
    made = {c.name: c.values(code, draw) for c, code in zip(asked, drawn, strict=True)}  # type: ignore[union-attr]
    again = Source.open(pd.DataFrame(made).convert_dtypes(), schema=source.schema)
    wanted = synthesis(again, columns=how, bins=12)
    assert np.array_equal(codes(again, again.table(), wanted.widest, dp.Unit.rows()), np.column_stack(drawn))


def test_records_are_read_again_and_unknown_kinds_are_refused() -> None:
    source = Source.open(people().assign(day=DAYS[0]), schema=dp.Schema(FACTS))
    for column in asked_columns({**HOW, "day": DAYS}, source.table(), 5, (), ()):
        assert read_coded(column.record()) == column
    with pytest.raises(LedgerError, match="install a newer"):
        read_coded({"kind": "colours", "name": "x", "missing": False})
    bins = {"kind": "bins", "name": "x", "missing": False, "edges": ["0.0", "1.0"], "whole": False}
    for odd in (
        {"name": 5},
        {"missing": "no"},
        {"edges": []},
        {"edges": ["1.0", "0.0"]},
        {"edges": ["0.0", "nan"]},
    ):
        with pytest.raises((TypeError, ValueError)):
            read_coded({**bins, **odd})


def test_private_edges_may_be_anything() -> None:
    source = Source.open(people(), schema=dp.Schema(FACTS))
    asked = asked_columns({"age": None, "pay": None}, source.table(), 4, ["age", "pay"], ())
    for numbers in ([np.nan] * 3, [np.inf, -np.inf, 5], [7, 7, 7], [99, 50.5, 0], [-1e300, 1e300, 3]):
        for column in asked:
            settled: Binned = column.settled(numbers)  # type: ignore[union-attr]
            assert 1 <= settled.sizes <= 4
            assert settled.edges == tuple(sorted(set(settled.edges)))
            assert settled.expression


@pytest.mark.parametrize(
    ("columns", "options", "told"),
    [
        ([], {}, "at least one column"),
        ("age", {}, "must list columns"),
        (["agee"], {}, "'age'"),
        (["age", "age"], {}, "twice"),
        (["note"], {}, "categories must be public"),
        (["free"], {}, "no public bounds"),
        ({"town": [1, 2]}, {}, "category 1"),
        ({"age": (10, 0)}, {}, "lower must be below"),
        ({"day": None}, {}, "first and the last"),
        (["town"], {"private_bins": ["town"]}, "no number"),
        (["town"], {"private_bins": ["age"]}, "not among the columns"),
        (["age"], {"bins": 1}, "bins"),
        (["age", "pay"], {"marginals": [("age", "town")]}, "'town'"),
        ({"age": [0] * 2}, {}, "twice"),
        ({"pay": (0, 5e-324)}, {}, "too narrow"),
        # Whatever edges come out: of 700 quantiles some take more text than of 700 whole numbers.
        ({"free": (0, 700)}, {"bins": 700, "private_bins": ["free"]}, "more than one expression can hold"),
    ],
)
def test_what_cannot_be_coded_is_refused_in_words(columns: Any, options: Any, told: str) -> None:
    frame = people().assign(day=DAYS[0], free=1.5, note="x")
    with pytest.raises(InvalidParameter, match=told):
        synthesis(Source.open(frame, schema=dp.Schema(FACTS)), columns=columns, **options)


def test_ids_are_not_synthesized() -> None:
    source = Source.open(people().assign(id=1), schema=dp.Schema(FACTS))
    with pytest.raises(InvalidParameter, match="tells people apart"):
        synthesis(source, dp.Unit("id", max_rows=1), columns={"id": (0, 9), "age": None})
