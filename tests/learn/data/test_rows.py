"""One odd value makes its own row absent, and does nothing to the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.adaptive.principal_components import Rows
from dalenius.errors import InvalidParameter
from dalenius.infer import inputs
from dalenius.learn.data.rows import factors, matrix, one_each, products, records, same
from dalenius.learn.data.targets import numbers
from dalenius.learn.numerics.exact_sums import ExactSums
from dalenius.sums.curves import Logistic
from tests.noise.seeded import seeded

ODD: list[Any] = [None, "x", pd.NA, pd.NaT, 10**400, Decimal("sNaN"), b"1", [1], {}, object()]


@pytest.mark.parametrize("odd", ODD, ids=[type(value).__name__ for value in ODD])
def test_in_labels_targets_and_rows(odd: Any) -> None:
    labels = one_each([1, 0, odd, 1], 4)
    assert same(labels, 1).tolist() == [True, False, False, True]
    assert same(labels, 0).tolist() == [False, True, False, False]
    found = numbers([0.5, 1, odd, True], 4)
    assert found[[0, 1, 3]].tolist() == [0.5, 1.0, 1.0]
    assert isinstance(odd, bytes) or not np.isfinite(found[2])
    table = np.empty((2, 2), dtype=object)
    table[:] = [[1.0, 2], [3.0, 4]]
    table[1, 1] = odd
    found = matrix(table)
    assert found[0].tolist() == [1.0, 2.0]
    assert isinstance(odd, bytes) or not np.isfinite(found[1, 1])


def test_what_is_masked_is_not_read() -> None:
    """One array, or a list of them; and where rows are refused and not left out."""
    table = np.ma.array([[1.0, 2.0], [3.0, 12345.0]], mask=[[False, False], [False, True]])
    for given in (table, list(table), [[1.0, 2.0], [3.0, np.ma.masked]]):
        for read in (matrix(given), inputs.matrix(given)[0]):
            assert np.array_equal(read, [[1.0, 2.0], [3.0, np.nan]], equal_nan=True)
    assert np.array_equal(numbers(np.ma.array([1, 2], mask=[0, 1]), 2), [1.0, np.nan], equal_nan=True)
    assert same(one_each(np.ma.array(["a", "a"], mask=[0, 1]), 2), "a").tolist() == [True, False]
    answers = np.ma.array(["a", "b"], mask=[0, 1])
    refused: list[Callable[[], Any]] = [
        lambda: dp.local.histogram(answers, dp.PureDP(1.0), categories=["a", "b"]),
        lambda: Rows(1.0, 2).gram(table),
    ]
    for call in refused:
        with pytest.raises(InvalidParameter):
            call()


def test_in_frames_with_missing_values() -> None:
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, False, None], dtype="boolean"),
            "c": [0.5, 1.5, 2.5],
        }
    )
    found = matrix(frame)
    assert found[0].tolist() == [1.0, 1.0, 0.5]
    assert np.isnan(found[1, 0])
    assert np.isnan(found[2, 1])
    for kind in ("string", "boolean", object):
        values = pd.Series(["a", None, "b"] if kind != "boolean" else [True, None, False], dtype=kind)
        assert same(one_each(values, 3), values[0]).tolist() == [True, False, False]
    for text in (pd.DataFrame({"a": ["x", "y"]}), pd.DataFrame({"a": pd.Categorical(["x", "y"])})):
        with pytest.raises(InvalidParameter, match="public codes"):
            matrix(text)


def test_the_fit_is_that_without_the_row() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2)) / 2
    y: list[Any] = (x[:, 0] > 0).astype(int).tolist()
    model = dp.learn.LogisticRegression(dp.ApproxDP(5.0, 1e-5))
    with seeded(1):
        without = model.fit(x, y).coef_
    for odd in ("x", None, pd.NA):
        with seeded(1), warnings.catch_warnings():
            warnings.simplefilter("error")
            found = model.fit(np.vstack([x, x[:1]]), [*y, odd]).coef_
        np.testing.assert_allclose(found, without, atol=1e-5)


@pytest.mark.parametrize("norm", [1e-304, 2.7e-162, 1e-101, 1e101, 1e300])
def test_norms_whose_squares_are_not_floats_are_refused(norm: float) -> None:
    x, y = np.ones((3, 1)), np.ones(3)
    models: tuple[Any, ...] = (
        dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5), row_norm=norm),
        dp.learn.LinearRegression(dp.ApproxDP(1.0, 1e-5), row_norm=norm),
        dp.learn.GradientLeastSquares(dp.PureDP(1.0), row_norm=norm),
        dp.learn.PosteriorSampleRegression(dp.ApproxDP(1.0, 1e-5), row_norm=norm),
        dp.learn.AdaptivePosteriorSampleRegression(dp.ApproxDP(1.0, 1e-5), row_norm=norm),
    )
    for model in models:
        with pytest.raises(InvalidParameter, match="row_norm"):
            model.fit(x, y)


@pytest.mark.parametrize("bounds", [(0.0, 5e-324), (-1.7e308, 1.7e308), (1e308, 1.7e308)])
def test_bounds_whose_width_is_not_a_float_are_refused(bounds: tuple[float, float]) -> None:
    for kind in (dp.learn.ExponentialMean, dp.learn.GradientMean, dp.learn.GradientQuantile):
        with pytest.raises(InvalidParameter, match="apart"):
            kind(dp.PureDP(1.0), bounds=bounds).fit([0.0])
    with pytest.raises(InvalidParameter, match="apart"):
        dp.learn.HuberRegression(dp.ApproxDP(1.0, 1e-5), target_bounds=bounds).fit(
            np.ones((2, 1)), [1.0, 2.0]
        )


def test_nothing_is_decided_by_the_number_of_rows() -> None:
    """A short row and many of them: the solver's allowance once grew with their number until zeros were released."""
    model = dp.learn.LogisticRegression(dp.PureDP(1.0), row_norm=1e-4, method="output")
    found = []
    for n in (761, 762, 20_000):
        with seeded(2):
            found.append(float(model.fit(np.full((n, 1), 1e-4), np.ones(n)).coef_[0, 0]))
    assert found[0] < found[1] * (1 + 1e-6)
    assert found[2] >= found[0]


def test_much_noise_is_added_exactly_or_refused() -> None:
    """Above 2^53 steps of its grid the noise is added as integers; on a grid coarser than the data's not at all."""
    x, y = np.full((3, 1), 0.7), np.full(3, 0.9)
    settings = dp.learn.Descent(steps=1, optimiser="momentum", momentum=0.0, learning_rate=1.0)
    with seeded(1):
        model = dp.learn.HuberRegression(dp.GDP(1e-4), method=settings, intercept_scale=0.0).fit(x, y)
    assert np.isfinite(model.coef_).all()
    with pytest.raises(InvalidParameter, match="weaker promise"):
        dp.learn.HuberRegression(dp.GDP(1e-6), method=settings, intercept_scale=0.0).fit(x, y)


def test_scores_are_functions_of_one_record() -> None:
    """What a score of one's own raises, or returns, decides about its record only."""

    def odd(told: Any, true: Any) -> Any:
        if true == 3:
            raise RuntimeError(f"this is about a person: {true}")
        return {0: 1.0, 1: 0.25, 2: "x", 4: np.nan, 5: 7.0, 6: -1.0, 7: None}[true]

    search = dp.learn.PrivateSearch(
        dp.learn.LogisticRegression(dp.PureDP(1.0)), [{}], dp.PureDP(3.0), scoring=odd
    )
    model = dp.learn.LogisticRegression(dp.PureDP(50.0)).fit(np.ones((900, 1)), np.ones(900))
    found = search._each(model, np.ones((8, 1)), np.arange(8))
    assert found.tolist() == [1.0, 0.25, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert np.isfinite(search.fit(np.ones((20, 1)), np.arange(20) % 8).best_score_)


def test_scores_of_labels_that_cannot_be_compared() -> None:
    x, y = np.ones((6, 1)), [1, 0, pd.NA, "x", None, 1]
    search = dp.learn.PrivateSearch(dp.learn.LogisticRegression(dp.PureDP(1.0)), [{}], dp.PureDP(3.0))
    model = dp.learn.LogisticRegression(dp.PureDP(50.0)).fit(np.ones((900, 1)), np.ones(900))
    assert search._each(model, x, one_each(y, 6)).tolist() == [1, 0, 0, 0, 0, 1]
    assert np.isfinite(search.fit(x, y).best_score_)


def test_a_list_of_numbers_with_a_text_in_it_keeps_its_numbers() -> None:
    drawn = []
    for values in ([True, 1, 0.5], [True, 1, 0.5, "x"]):
        with seeded(1):
            drawn.append(dp.learn.GradientMean(dp.PureDP(1.0)).fit(values).value_)
    assert drawn[0] == drawn[1]


def test_one_column_of_a_frame_is_not_a_table() -> None:
    series = pd.Series([1.0, 2.0])
    with pytest.raises(InvalidParameter, match="two, rows and at least one column"):
        dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5)).fit(series, [0, 1])


def test_a_flat_law_is_drawn_at_once() -> None:
    with seeded(1):
        drawn = [dp.learn.GradientMean(dp.PureDP(1e-6)).fit([1.0]).value_ for _ in range(200)]
    assert 0.3 < np.mean(drawn) < 0.7


def test_columns_are_known_by_their_names() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)) / 2, columns=["a", "b"])
    y = (frame["a"] > 0).astype(int)
    models: tuple[Any, ...] = (
        dp.learn.LogisticRegression(dp.ApproxDP(8.0, 1e-5)),
        dp.learn.LinearRegression(dp.ApproxDP(8.0, 1e-5)),
    )
    for model in models:
        fitted = model.fit(frame, y)
        assert fitted.feature_names_in_.tolist() == ["a", "b"]
        fitted.predict(frame)
        with pytest.raises(ValueError, match="feature names"):
            fitted.predict(frame[["b", "a"]])
        assert not hasattr(model.fit(frame.to_numpy(), y), "feature_names_in_")


def test_noise_beyond_doubles_is_added_before_anything_is_rounded() -> None:
    """An odd number of steps above 2^53, which no double holds: the sum is right to its last bit."""
    x, y = np.array([[0.5], [0.25], [1.0]]), np.array([1.0, 0.0, 1.0])
    data = records(x, y, np.ones(3, dtype=bool), 1.0, "clip")
    sums = ExactSums(data, Logistic(), 1.0, 2.0, 1, True)
    exact = sum(
        (sums._block(rows @ np.zeros(1), rows, labels) for rows, labels in sums.blocks.of(None)), np.zeros(1)
    )
    noise = 2**60 + 129
    sums.noise = iter([np.array([noise], dtype=object)])
    found = sums.noisy_gradient(np.zeros(1))
    assert found[0] == float(int(exact[0]) * int(sums.shift) + noise) * (sums.unit / sums.shift)


COMPANY = (1, 2, 3, 4, 5, 7, 8, 13, 64, 1001)
"""Numbers of rows that kernels of linear algebra treat differently."""


def _alone(made: Any, rng: np.random.Generator, columns: int) -> bool:
    """Whether a row becomes the same, to the last bit, among however many others and at whatever place."""
    row = rng.normal(size=columns) * 10.0 ** rng.integers(-4, 5, size=columns)
    seen: set[bytes] = set()
    for n in COMPANY:
        found = made(np.tile(row, (n, 1)))
        seen |= {np.ascontiguousarray(found[k]).tobytes() for k in range(n)}
    return len(seen) == 1


def test_what_becomes_of_a_row_does_not_depend_on_its_company() -> None:
    """Evaluations and searches count what is predicted for each row: with a product of matrices, one row more moved
    seven counts of others."""
    rng, by_blas = np.random.default_rng(4), []
    for columns in (1, 2, 3, 5, 8, 16, 30, 100):
        for outputs in ((), (3,)):
            table = rng.normal(size=(columns, *outputs))
            assert _alone(lambda rows, table=table: products(rows, table), rng, columns)
            by_blas.append(_alone(lambda rows, table=table: rows @ table, rng, columns))
        assert _alone(lambda rows: factors(rows, 1.0, "clip")[:, None], rng, columns)
    assert not all(by_blas)  # what it is not made by
    rows, table = rng.normal(size=(50, 7)), rng.normal(size=(7, 3))
    assert np.allclose(products(rows, table), rows @ table, rtol=1e-13, atol=1e-13)


def test_nor_does_the_norm_of_a_row_of_a_frame() -> None:
    """Frames lie in memory column after column, where two rows or more are added up in another order than one."""
    rng = np.random.default_rng(6)
    for columns in (3, 8, 17):
        row = rng.normal(size=(200, columns)) * 10.0 ** rng.integers(-2, 2, size=(200, columns))
        frames = [pd.DataFrame(row), *(pd.DataFrame(one[None, :]) for one in row)]
        together, *alone = (factors(matrix(frame), 1e-3, "clip") for frame in frames)
        assert together.tolist() == np.concatenate(alone).tolist()


@pytest.mark.parametrize(
    "model",
    [
        dp.learn.LogisticRegression(dp.ZCDP(1.0)),
        dp.learn.LinearSVC(dp.ZCDP(1.0)),
        dp.learn.OneVsRest(dp.ZCDP(1.0), classes=(0, 1, 2)),
        dp.learn.MultinomialRegression(dp.ZCDP(1.0), classes=(0, 1, 2)),
        dp.learn.HuberRegression(dp.ZCDP(1.0)),
        dp.learn.PoissonRegression(dp.ZCDP(1.0), most=5.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_nor_does_what_is_predicted_for_it(model: Any) -> None:
    rng = np.random.default_rng(5)
    with seeded(2):
        fitted = model.fit(rng.normal(size=(200, 8)) / 3, rng.integers(0, 2, 200))
    for name in ("decision_function", "predict_proba", "predict"):
        told = getattr(fitted, name, None)
        if told is not None:
            assert _alone(lambda rows, told=told: told(rows)[:, None], rng, 8), name
