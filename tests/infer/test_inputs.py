"""What estimators take: arrays and frames, whose values no error speaks of. Nothing here is random."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.infer.inputs import codes, column, finite, labels, levels, matrix, name_of
from dalenius.infer.promise import gaussian_mu, pure_epsilon


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ([1, 2.5, None], "x"),
        (np.array([1, 2.5, np.nan]), "x"),
        (np.array([[1], [2.5], [np.nan]]), "x"),
        (pd.Series([1, 2.5, None], name="pay"), "pay"),
        (pd.DataFrame({"pay": [1, 2.5, None]}), "pay"),
        (pl.Series("pay", [1.0, 2.5, None]), "pay"),
        ([1, 2.5, "what?"], "x"),
        (np.array([1, 2.5, object()], dtype=object), "x"),
    ],
)
def test_a_column_is_numbers_and_a_name(given, name: str) -> None:
    values, found = column(given)
    np.testing.assert_array_equal(values, [1.0, 2.5, np.nan])
    assert found == name
    assert finite(values).tolist() == [True, True, False]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_table_has_the_names_of_its_columns(frame) -> None:
    values, names = matrix(frame({"age": [1, 2], "pay": [3.0, 4.0]}))
    np.testing.assert_array_equal(values, [[1, 3], [2, 4]])
    assert names == ("age", "pay")
    assert matrix(np.ones((2, 2)))[1] == ("x1", "x2")


@pytest.mark.parametrize(
    "given",
    [
        "text",
        None,
        np.array(["a", "b"]),
        pd.Series(["a", "b"], dtype="string"),
        pd.Series(pd.to_datetime(["2020-01-01"])),
        pd.Series(["a"], dtype="category"),
        np.array([1j]),
        np.ones((2, 2)),
    ],
)
def test_what_is_not_a_column_of_numbers_is_refused(given) -> None:
    with pytest.raises(InvalidParameter):
        column(given)


class Odd:
    def __hash__(self) -> int:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError


@pytest.mark.parametrize(
    "given",
    [
        ["b", "a", None, [1], Odd(), "c"],
        np.array(["b", "a", None, [1], Odd(), "c"], dtype=object),
        np.array(["b", "a", "", "x", "y", "c"]),
        pd.Series(["b", "a", None, "x", "y", "c"], dtype="category"),
        pd.DataFrame({"x": ["b", "a", None, "x", "y", "c"]}),
    ],
    ids=["list", "objects", "text", "categories", "frame"],
)
def test_a_value_that_is_no_level_has_no_code_and_changes_no_other(given) -> None:
    assert codes(given, ("a", "b", "c")).tolist() == [1, 0, -1, -1, -1, 2]
    assert labels(given, ("a", "b"))[:2].tolist() == [1.0, 0.0]


def test_rows_that_are_lists_are_no_levels() -> None:
    assert codes([[0], [1]], (0, 1)).tolist() == [-1, -1]


def test_numbers_and_flags_are_levels_of_any_type() -> None:
    for given in ([1, 0, 2, math.nan], np.array([1, 0, 2, math.nan]), pd.Series([True, False, None, None])):
        assert codes(given, (0, 1)).tolist() == [1, 0, -1, -1]


@pytest.mark.parametrize("given", [5, "ab", {0, 1}, [0], [0, 0], [[0], [1]], range(1001)], ids=str)
def test_levels_are_listed_each_once(given) -> None:
    with pytest.raises(InvalidParameter, match="outcomes"):
        levels("outcomes", given)


def test_inputs_are_not_changed() -> None:
    given = np.array([1.0, 2.0])
    column(given)[0][:] = 0.0
    assert given.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "promise", [dp.GDP(0.7), dp.ZCDP(0.3), dp.ApproxDP(1.0, 1e-6), dp.RDP(4.0, 1.0)], ids=str
)
def test_the_mu_of_a_promise_keeps_it_and_hardly_more_would_not(promise) -> None:
    mu = gaussian_mu(promise)
    assert promise.holds(dp.losses.gaussian(sigma=1 / mu))
    assert not promise.holds(dp.losses.gaussian(sigma=1 / (mu * (1 + 1e-5))))
    assert pure_epsilon(promise) is None


def test_pure_promises_have_an_epsilon_and_no_mu() -> None:
    assert pure_epsilon(dp.PureDP(0.5)) == 0.5
    with pytest.raises(CannotMeet, match="GDP"):
        gaussian_mu(dp.PureDP(0.5))
    with pytest.raises(InvalidParameter):
        gaussian_mu(1.0)


def test_names_are_never_data() -> None:
    """Attributes called `name` or `columns` may be the values: names are published with a result."""
    secret = [1.5, 777.0]
    assert matrix(pa.table({"a": secret, "b": secret}))[1] == ("a", "b")
    assert column(pa.table({"a": secret}))[1] == "a"
    for name in ("name", "column_names"):
        assert column(pd.DataFrame({name: secret}))[1] == name
        assert matrix(pd.DataFrame({name: secret}))[1] == (name,)
        assert name_of(pd.DataFrame({name: secret}), "x") == "x"
    assert matrix(pd.Series(secret))[1] == ("x1",)


def test_what_is_masked_is_missing() -> None:
    hidden = np.ma.array([1, 0, 1], mask=[False, True, False])
    np.testing.assert_array_equal(column(hidden)[0], [1, np.nan, 1])
    np.testing.assert_array_equal(matrix(hidden[:, None])[0], [[1], [np.nan], [1]])
    assert codes(hidden, [0, 1]).tolist() == [1, -1, 1]
    assert labels(hidden, [0, 1]).tolist() == pytest.approx([1, np.nan, 1], nan_ok=True)


def test_levels_of_arrow_arrays_are_their_values() -> None:
    assert codes(pa.array(["a", "b", None]), ["a", "b"]).tolist() == [0, 1, -1]


def test_rows_of_different_shapes_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="rows of the same length"):
        column([np.zeros(2), np.zeros((2, 3))])
    assert codes([np.zeros(2), np.zeros((2, 3))], [0, 1]).tolist() == [-1, -1]


@pytest.mark.parametrize(
    "y", [np.zeros(2, dtype=[("a", int)]), np.array([True, False])], ids=["record", "flag"]
)
def test_any_labels_can_be_compared_with_any_classes(y) -> None:
    assert np.isnan(labels(y, ["a", 2**70])).all()


@pytest.mark.parametrize(
    "promise", [dp.GDP(1e-300), dp.GDP(1e9), dp.ZCDP(0.0), dp.ZCDP(1e9), dp.ApproxDP(1e-20, 1e-20)], ids=str
)
def test_promises_that_no_useful_noise_keeps_are_named(promise) -> None:
    with pytest.raises(CannotMeet, match=r"this estimate cannot keep .* with a mu from 1e-09 to 10000"):
        gaussian_mu(promise)


def test_what_is_masked_is_none_of_the_levels() -> None:
    """Not even "?", which is what numpy writes for it unless told otherwise."""
    masked = np.ma.masked_array(["a", "?", "b"], [False, False, True])
    assert codes(masked, ("a", "?")).tolist() == [0, 1, -1]
    assert np.isnan(labels(masked, ("a", "?"))).tolist() == [False, False, True]
