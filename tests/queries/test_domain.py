"""Domains: rows become codes, and what is outside is left out, one row at a time."""

from __future__ import annotations

import datetime
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.queries import Bins, Domain, Workload
from dalenius.queries.domain import Codes
from dalenius.queries.online.linear_query import RESOLUTION, linear_query

PEOPLE = Domain({"sex": ["F", "M"], "age": 16, "pay": Bins(0, 100, 20)})


def test_shape() -> None:
    assert PEOPLE.names == ("sex", "age", "pay")
    assert PEOPLE.shape == (2, 16, 20)
    assert PEOPLE.cells == 640
    assert Domain(dict.fromkeys("abcdefghij", 100)).cells == 10**20
    assert PEOPLE.project(["pay", "sex"]).shape == (20, 2)
    assert pickle.loads(pickle.dumps(PEOPLE)) == PEOPLE
    assert len({PEOPLE, PEOPLE.project(PEOPLE.names)}) == 1
    assert PEOPLE.project(["age", "sex", "pay"]) != PEOPLE


def test_values_outside_drop_their_row_alone() -> None:
    table = {
        "sex": ["F", "M", "?", None, "F", "M", "F", "F"],
        "age": [3, 15, 3, 3, 16, -1, 2.5, 0],
        "pay": [7.5, 100.0, 1, 1, 1, 1, 1, math.nan],
    }
    assert PEOPLE.codes(table).tolist() == [[0, 3, 1], [1, 15, 19]]
    frame = pd.DataFrame(table)
    assert PEOPLE.codes(frame).tolist() == [[0, 3, 1], [1, 15, 19]]


@pytest.mark.parametrize(
    "value",
    [
        "1",
        None,
        object(),
        math.inf,
        -math.inf,
        math.nan,
        10**400,
        1 + 1j,
        [1],
        {},
        "\ud800",
        np.datetime64("NaT"),
    ],
)
def test_no_value_makes_it_fail(value: Any) -> None:
    column = np.empty(2, dtype=object)
    column[:] = [value, 1]
    for kind in (3, Bins(0, 2, 3), [1, 2]):
        assert len(Domain({"x": kind}).codes({"x": column})) == 1


@pytest.mark.parametrize("other", ["x", b"x", None, 2.5, True, 1j, 2**70, float("nan"), [1], ()])
@pytest.mark.parametrize(
    ("column", "rows"),
    [(4, [0, 1, 3]), ([0, 1, 3], [0, 1, 3]), (Bins(0.0, 4.0, 4), [0.5, 1, 3]), (["a", "b"], ["a", "b"])],
)
def test_a_value_of_another_type_changes_no_other_row_of_a_list(column: Any, rows: Any, other: Any) -> None:
    domain = Domain({"x": column})
    alone = domain.codes({"x": rows}).ravel().tolist()
    for kind in (list, tuple):
        beside = domain.codes({"x": kind([*rows, other])}).ravel().tolist()
        assert len(alone) == len(rows)
        assert beside[: len(rows)] == alone


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int64])
def test_unsigned_codes_outside_are_left_out(kind: Any) -> None:
    domain = Domain({"x": 3, "y": 2})
    rows = np.array([[0, 1], [2, 0], [3, 1], [1, 2]], dtype=kind)
    assert domain.codes(rows).tolist() == [[0, 1], [2, 0]]
    assert domain.codes({"x": rows[:, 0], "y": rows[:, 1]}).tolist() == [[0, 1], [2, 0]]
    assert domain.counts(rows, ["x"]).tolist() == [1, 0, 1]


def test_codes_of_another_domain_are_checked() -> None:
    wide = Domain({"x": 9}).codes({"x": [0, 1, 8]})
    assert Domain({"x": 2}).counts(wide).tolist() == [1, 1]
    pmw = dp.queries.PrivateMultiplicativeWeights(Domain({"x": 2}), dp.PureDP(1.0), n=10, queries=2)
    assert pmw.open(wide).asked == 0


def test_ends_of_bins() -> None:
    rng = np.random.default_rng(1)
    bins = Bins(-3.0, 7.0, 7)
    values = np.concatenate([rng.uniform(-4, 8, 500), bins.edges])
    inside = values[(values >= -3) & (values <= 7)]
    codes = np.asarray(Domain({"x": bins}).codes({"x": values}))[:, 0]
    assert np.array_equal(np.bincount(codes, minlength=7), np.histogram(inside, bins.edges)[0])


def test_counts_are_those_of_numpy() -> None:
    rng = np.random.default_rng(2)
    codes = np.stack([rng.integers(0, n, 300) for n in PEOPLE.shape], axis=1)
    full = np.histogramdd(codes, bins=[np.arange(n + 1) for n in PEOPLE.shape])[0]
    assert np.array_equal(PEOPLE.counts(codes), full)
    assert np.array_equal(PEOPLE.counts(codes, ["pay", "sex"]), full.sum(axis=1).T)
    assert PEOPLE.counts(codes, []) == 300


def test_an_array_is_a_histogram_or_codes_by_its_public_shape() -> None:
    assert PEOPLE.histogram(np.zeros((2, 16, 20), dtype=int)) is not None
    assert PEOPLE.histogram(np.zeros(640, dtype=int)) is not None
    assert PEOPLE.histogram(np.zeros((5, 3), dtype=int)) is None
    two = Domain({"a": 5, "b": 2})
    assert two.histogram(np.zeros(10, dtype=int)) is not None
    assert two.histogram(two.codes(np.zeros((5, 2), dtype=int))) is None
    for rows in (4, 5, 6):  # whatever the number of rows
        with pytest.raises(InvalidParameter, match="ravel"):
            two.histogram(np.zeros((rows, 2), dtype=int))
    assert isinstance(two.codes(np.zeros((5, 2), dtype=int)), Codes)


@pytest.mark.parametrize(
    "columns",
    [
        None,
        {},
        [],
        {"a": 0},
        {"a": -1},
        {"a": 2.5},
        {"a": []},
        {"a": ["x", "x"]},
        {"a": [[1], [2]]},
        {"a": None},
        {1: 3},
        {"": 3},
        {"a": "text"},
        {"a": 10**400},
        {"a": object()},
    ],
)
def test_what_is_no_domain_is_refused(columns: Any) -> None:
    with pytest.raises(InvalidParameter):
        Domain(columns)


@pytest.mark.parametrize(
    "bins", [(0, 0, 1), (1, 0, 1), (0, math.inf, 1), (0, 1, 0), (0, 1, 2.5), ("a", 1, 1), (0, math.nan, 2)]
)
def test_what_are_no_bins_is_refused(bins: Any) -> None:
    with pytest.raises(InvalidParameter):
        Bins(*bins)


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "text",
        [1, 2],
        {"sex": ["F"]},
        {"sex": ["F"], "age": [1, 2], "pay": [1]},
        np.zeros((2, 3)),
        np.zeros((2, 4), int),
        np.zeros(3),
        {"sex": 1, "age": 1, "pay": 1},
    ],
)
def test_what_are_no_rows_is_refused(data: Any) -> None:
    with pytest.raises(InvalidParameter):
        dp.queries.HistogramNoise(dp.queries.Workload.marginals(PEOPLE, 1), dp.PureDP(1.0)).release(data)


def test_a_histogram_that_is_too_large_is_refused() -> None:
    wide = Domain(dict.fromkeys("abcdefgh", 100))
    with pytest.raises(InvalidParameter, match="cells"):
        wide.counts(np.zeros((1, 8), dtype=int))
    with pytest.raises(InvalidParameter, match="no column"):
        wide.project(["z"])


ODD_VALUES = ["x", b"x", None, 0.5, 10**400, [3], {}, math.nan, datetime.date(2024, 1, 1), True, "1"]


@pytest.mark.parametrize("odd", ODD_VALUES, ids=repr)
@pytest.mark.parametrize("column", [[1, 2**53 + 1], 3, Bins(0, 9, 9)], ids=["list", "number", "bins"])
def test_one_row_of_another_type_moves_no_other_row(column: Any, odd: Any) -> None:
    domain = Domain({"a": column})
    others = [1, 2, 2**53 + 1]
    before = domain.codes({"a": others}).tolist()
    after = domain.codes({"a": [*others, odd]}).tolist()
    assert after[: len(before)] == before
    assert len(after) <= len(before) + 1


@pytest.mark.parametrize("frame", [pa.table, pl.DataFrame], ids=["pyarrow", "polars"])
def test_a_missing_number_does_not_round_the_others(frame: Any) -> None:
    domain = Domain({"a": [2**53, 2**53 + 1]})
    assert domain.codes(frame({"a": [2**53 + 1, None]})).tolist() == [[1]]


def test_a_missing_value_of_a_dictionary_is_missing() -> None:
    column = pa.array(["x", "y", None]).dictionary_encode()
    assert Domain({"s": ["x", "y"]}).codes(pa.table({"s": column})).tolist() == [[0], [1]]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_days_are_found_among_moments(unit: str) -> None:
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]
    moments = np.array([*days, "NaT", datetime.datetime(2024, 1, 1, 12)], dtype=f"datetime64[{unit}]")
    for data in (pd.DataFrame({"day": moments}), {"day": moments}):
        assert Domain({"day": days}).codes(data).tolist() == [[0], [1]]
        assert Domain({"day": moments[:2]}).codes(data).tolist() == [[0], [1]]


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="each name to one column"):
        Domain({"a": 3}).codes(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_a_range_beyond_memory_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="use Bins"):
        Domain({"a": range(10**12)})


def test_an_interval_of_bins_means_the_same_everywhere() -> None:
    """From one edge to below another; what would divide a bin is refused."""
    domain = Domain({"pay": Bins(0, 100, 10), "x": 3})
    pay = np.arange(0, 101, 5)
    rows = {"pay": pay, "x": np.zeros(len(pay), dtype=int)}
    counts = domain.counts(rows)
    for ends in ((20, 40), (0, 100), (np.float64(90), 100.0), (30, 40)):
        truth = int(((pay >= ends[0]) & ((pay < ends[1]) | (ends[1] == 100))).sum())
        assert Workload.predicates(domain, [{"pay": ends}]).answers(rows).tolist() == [truth]
        query = linear_query(domain, {"pay": ends})
        assert query.exact(counts.reshape(10, 3).sum(axis=1)) == truth * RESOLUTION
    for ends in ((20, 45), (40, 20), (20, 20), (-10, 20), (0, 110), ("a", 20), (math.nan, 20)):
        for ask in (
            lambda e: Workload.predicates(domain, [{"pay": e}]),
            lambda e: linear_query(domain, {"pay": e}),
        ):
            with pytest.raises(InvalidParameter):
                ask(ends)
    assert Workload.predicates(domain, [{"pay": [2, 4]}]).answers(rows).tolist() == [4]  # codes, as before
