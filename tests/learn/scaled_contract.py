"""What every transformer that finds a scale in the data must obey: inherit `ScaledContract`."""

from __future__ import annotations

import pickle
import warnings
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn.methods import column_noise
from tests.learn.contract import ABSENT, EMPTY, QUIET, RANDOM
from tests.noise.seeded import seeded

PROMISES = (dp.ZCDP(0.1), dp.PureDP(0.5), dp.ApproxDP(1.0, 1e-5), dp.GDP(0.5))

NASTY = (
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    5e-324,
    1.7e308,
    -1.7e308,
    1.0,
    2.0**-40,
    -(2.0**60),
    0.1,
    1900.0,
)

EXPECTED = {
    "check_dtype_object": QUIET,
    "check_estimators_empty_data_messages": EMPTY,
    "check_estimators_nan_inf": ABSENT,
}


class Recorded:
    """Noise that keeps what it released."""

    def __init__(self, mechanism: Any, kept: list[Any], factor: float = 1.0) -> None:
        self.mechanism, self.kept, self.factor = mechanism, kept, factor

    def release(self, exact: Any) -> Any:
        whole = np.asarray(exact, dtype=float)
        self.kept.append(whole + (np.asarray(self.mechanism.release(exact)) - whole) * self.factor)
        return self.kept[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mechanism, name)


class ScaledContract:
    """Inherited by one class per transformer."""

    module: ClassVar[Any]
    """Where `noise_for` is called."""
    by_chance: ClassVar[set[str]] = set()
    expected: ClassVar[dict[str, str]] = EXPECTED
    released: ClassVar[tuple[str, ...]]

    def build(self, promise: Any, **options: Any) -> Any:
        raise NotImplementedError

    def fit_worst(self, model: Any, rows: int, columns: int) -> None:
        """Fit to so many rows that move every released number as far as one can."""
        raise NotImplementedError

    def recorded(self, monkeypatch: pytest.MonkeyPatch, factor: float = 1.0) -> list[Any]:
        kept: list[Any] = []
        monkeypatch.setattr(
            self.module, "noise_for", lambda *args: Recorded(column_noise.noise_for(*args), kept, factor)
        )
        return kept

    # -- privacy ------------------------------------------------------------------------------------

    @pytest.mark.parametrize("promise", PROMISES, ids=str)
    def test_keeps_its_promise_for_any_number_of_columns(self, promise: Any) -> None:
        price = self.build(promise).price()
        assert promise.holds(price)
        for columns in (1, 2, 7):
            fitted = self.build(promise).fit(np.zeros((3, columns)))
            assert fitted.loss_ == price
            used = column_noise.noise_for(promise, columns).loss
            for delta in (0.0, 1e-5) if isinstance(promise, dp.PureDP) else (1e-3, 1e-5):
                assert used.epsilon(delta) <= price.epsilon(delta) * (1 + 1e-9)

    @pytest.mark.parametrize("promise", [dp.GDP(0.5), dp.PureDP(0.5)], ids=str)
    def test_the_noise_has_its_scale(self, promise: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its standard deviation to within 5 %, from thousands of numbers; 15 % less is noticed."""

        def deviation(factor: float) -> float:
            kept = self.recorded(monkeypatch, factor)
            with seeded(8):
                while sum(noisy.size for noisy in kept) < 4000:
                    self.build(promise).fit(np.empty((0, 40)))
            return float(np.concatenate(kept).std())

        unit, numbers = self.unit(), self.numbers(40)
        right = (
            unit * numbers / 0.5 * np.sqrt(2)
            if isinstance(promise, dp.PureDP)
            else unit * np.sqrt(numbers) / 0.5
        )
        assert deviation(1.0) == pytest.approx(right, rel=0.05)
        assert deviation(0.85) != pytest.approx(right, rel=0.05)

    def unit(self) -> float:
        """What 1 is in the released numbers."""
        return 1.0

    def numbers(self, columns: int) -> int:
        """How many of the released numbers one row moves by at most 1."""
        raise NotImplementedError

    @pytest.mark.parametrize("promise", [dp.GDP(1.0), dp.PureDP(1.0)], ids=str)
    @pytest.mark.parametrize("wrong", [False, True], ids=["right", "noise_for_one_number"])
    def test_audit(self, promise: Any, wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """The released numbers of 25 columns, with one row and without: noise for one number alone is caught."""
        kept: list[Any] = []

        def noise(guarantee: Any, numbers: int, most: float = 1.0) -> Any:
            return Recorded(column_noise.noise_for(guarantee, 1 if wrong else numbers, most), kept)

        monkeypatch.setattr(self.module, "noise_for", noise)
        model = self.build(promise)

        def release(rows: int) -> float:
            self.fit_worst(model, rows, 25)
            return float(np.asarray(kept.pop()).sum())

        delta = 0.0 if isinstance(promise, dp.PureDP) else 1e-2
        with seeded(21):
            found = dp.audit.lower_bound(release, pair=(1, 0), trials=1000, delta=delta, confidence=1 - 1e-9)
        assert (found.epsilon > model.price().epsilon(delta)) is wrong

    def test_one_row_moves_no_more_than_is_paid_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exact numbers of nasty rows, with a row and without it."""
        kept: list[Any] = []
        monkeypatch.setattr(
            self.module, "noise_for", lambda *args: Recorded(column_noise.noise_for(*args), kept, 0.0)
        )
        rng = np.random.default_rng(3)
        for _ in range(60):
            rows = rng.choice(NASTY, size=(rng.integers(1, 9), 3))
            for part in (rows, rows[1:]):
                self.build(dp.GDP(0.5)).fit(part)
            moved = np.abs(kept[-2] - kept[-1])
            assert moved.max(initial=0.0) <= self.unit()
            assert np.count_nonzero(moved) <= self.numbers(3)

    def test_the_loss_is_known_before(self) -> None:
        for bad in (1.0, None, "epsilon"):
            with pytest.raises(InvalidParameter, match="promise"):
                self.build(bad).price()
            with pytest.raises(InvalidParameter, match="promise"):
                self.build(bad).fit(np.zeros((3, 2)))

    # -- data that is not nice ----------------------------------------------------------------------

    @pytest.mark.parametrize("promise", [dp.GDP(0.01), dp.GDP(20.0), dp.PureDP(5.0)], ids=str)
    def test_whatever_the_rows_the_result_is_usable(self, promise: Any) -> None:
        rng = np.random.default_rng(4)
        cases = [np.empty((0, 2)), np.full((500, 2), np.nan)]
        cases += [np.full((500, 2), value) for value in NASTY]
        cases += [rng.choice(NASTY, size=(300, 2)) for _ in range(10)]
        for rows in cases:
            model = self.build(promise).fit(rows)
            assert all(np.isfinite(pair).all() and pair[0] < pair[1] for pair in model.ends_)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                out = model.transform(rng.choice(NASTY, size=(50, 2)))
            assert (np.abs(out[~np.isnan(out)]) <= 1 / np.sqrt(2)).all()
        assert np.isnan(model.transform([[np.nan, 1.0]])).tolist() == [[True, False]]

    def test_a_row_of_nan_counts_as_absent(self) -> None:
        x = np.random.default_rng(1).uniform(-1, 1, size=(100, 3))
        found = []
        for rows in (x, np.vstack([x, [[np.nan] * 3]])):
            with seeded(5):
                found.append(self.build(dp.GDP(1.0)).fit(rows).ends_)
        assert found[0] == found[1]

    def test_shapes_are_checked_without_showing_values(self) -> None:
        model = self.build(dp.GDP(1.0))
        for bad in (np.zeros(3), np.zeros((3, 0)), np.array([["12345.678"], ["a"]])):
            with pytest.raises(InvalidParameter) as caught:
                clone(model).fit(bad)
            assert "12345" not in str(caught.value)

    # -- scikit-learn's manners ---------------------------------------------------------------------

    def test_in_a_pipeline(self) -> None:
        rng = np.random.default_rng(2)
        x = rng.uniform(-1, 1, size=(4000, 2))
        y = (x[:, 0] > 0).astype(int)
        made = Pipeline(
            [
                ("scale", self.build(dp.ZCDP(0.5))),
                ("model", dp.learn.LogisticRegression(dp.ZCDP(0.5), intercept_scale=1.0)),
            ]
        )
        price = dp.learn.price(made)
        made.fit(x, y)
        assert made.score(x, y) > 0.9
        assert dp.learn.loss(made) == price
        assert dp.ZCDP(1.0 + 1e-6).holds(price)
        assert not dp.ZCDP(0.99).holds(price)
        again = dp.learn.from_json(dp.learn.to_json(made))
        assert np.array_equal(again.predict_proba(x), made.predict_proba(x))
        with pytest.raises(InvalidParameter, match="several times"):
            cross_val_score(made, x, y, error_score="raise")

    def test_names_and_copies(self) -> None:
        x = pd.DataFrame({"a": [0.5, 1.0], "b": [0.0, -1.0]})
        model = self.build(dp.GDP(1.0)).fit(x)
        assert model.get_feature_names_out().tolist() == ["a", "b"]
        assert list(clone(model).set_output(transform="pandas").fit_transform(x).columns) == ["a", "b"]
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.transform(x), model.transform(x))
        assert again.loss_ == model.loss_
        held = set(vars(model)) - set(model.get_params(deep=False))
        assert held == {*self.released, "loss_", "n_features_in_", "feature_names_in_"}

    def test_scikit_learn_checks(self) -> None:
        with warnings.catch_warnings(), seeded(2):
            warnings.simplefilter("ignore")
            results = check_estimator(self.build(dp.ZCDP(0.1)), on_fail=None, on_skip=None)
        failed = {r["check_name"]: repr(r["exception"])[:200] for r in results if r["status"] == "failed"}
        assert set(self.expected) - self.by_chance <= set(failed) <= set(self.expected), failed


DIFFERENT = {
    "check_fit_idempotent": RANDOM,
    "check_pipeline_consistency": RANDOM,
    "check_transformer_data_not_an_array": RANDOM,
    "check_transformer_general": RANDOM,
}
