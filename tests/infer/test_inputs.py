"""What estimators take: arrays and frames, whose values no error speaks of. Nothing here is random."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.infer.inputs import column, finite, matrix
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
