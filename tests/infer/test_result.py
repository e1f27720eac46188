"""Results: limits, p-values, tables, records. Nothing here is random."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, t

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer import Result
from dalenius.infer.limits import ALPHAS

GOLDEN = Path(__file__).parent / "golden" / "results-v1.json"
LOSS = dp.losses.gdp(1.0)


def wald() -> Result:
    return Result(
        ["const", "age"],
        [0.5, -2.0],
        loss=LOSS,
        method="least squares",
        covariance=[[0.04, 0.01], [0.01, 0.25]],
        df=[5.0, np.inf],
        nobs=503.25,
        nobs_noisy=True,
        notes=["A note."],
    )


def curve() -> Result:
    def limits(alpha: float) -> np.ndarray:
        z = norm.isf(alpha / 2)
        return np.array([[0.5 - 0.2 * z, 0.5 + 0.3 * z], [-np.inf, 5.0]])

    return Result(["low", "wide"], [0.5, 1.0], loss=LOSS, method="mean", limits=limits, bse=[0.25, np.nan])


def none() -> Result:
    return Result(
        ["mean"], [0.5], loss=dp.losses.pure(1.0), method="clipped mean", reason="Nothing is known."
    )


RESULTS = {"wald": wald, "curve": curve, "none": none}


def test_covariances_are_known_where_limits_come_from_them() -> None:
    np.testing.assert_array_equal(wald().cov_params(), [[0.04, 0.01], [0.01, 0.25]])
    np.testing.assert_array_equal(curve().cov_params(), [[0.0625, np.nan], [np.nan, np.nan]])
    assert np.isnan(none().cov_params()).all()
    kept = wald()
    kept.cov_params()[:] = 7.0
    np.testing.assert_array_equal(kept.bse, [0.2, 0.5])


@pytest.mark.parametrize("name", RESULTS)
def test_a_frame_has_what_the_summary_has(name: str) -> None:
    fit = RESULTS[name]()
    frame = fit.to_pandas(0.1)
    assert list(frame.index) == list(fit.names)
    np.testing.assert_array_equal(frame[["low", "high"]], fit.conf_int(0.1))
    np.testing.assert_array_equal(frame["estimate"], fit.params)
    np.testing.assert_array_equal(frame["error"], fit.bse)
    np.testing.assert_array_equal(frame["pvalue"], fit.pvalues)


def test_limits_from_a_covariance_are_normal_or_students() -> None:
    fit = wald()
    for alpha in (0.01, 0.05, 0.5):
        q = np.array([t.isf(alpha / 2, 5), norm.isf(alpha / 2)])
        expected = np.column_stack((fit.params - q * [0.2, 0.5], fit.params + q * [0.2, 0.5]))
        np.testing.assert_allclose(fit.conf_int(alpha), expected, rtol=1e-12)
    np.testing.assert_allclose(fit.pvalues, [2 * t.sf(2.5, 5), 2 * norm.sf(4.0)], rtol=1e-10)


def test_limits_of_a_curve_are_exact_at_its_levels_and_straight_between() -> None:
    fit = curve()
    for alpha in (*ALPHAS, 0.97, 0.03, 0.0123):
        z = norm.isf(alpha / 2)
        np.testing.assert_allclose(fit.conf_int(alpha)[0], [0.5 - 0.2 * z, 0.5 + 0.3 * z], rtol=1e-9)
    assert fit.conf_int(0.03)[1].tolist() == [-np.inf, 5.0]


@pytest.mark.parametrize("make", [wald, curve])
def test_a_p_value_is_the_level_at_which_0_comes_onto_a_limit(make) -> None:
    fit = make()
    for k, p in enumerate(fit.pvalues):
        if 1e-4 < p < 0.9:
            assert np.abs(fit.conf_int(float(p))[k]).min() < 1e-9
    assert abs(curve().pvalues[0] - 2 * norm.sf(2.5)) < 1e-12


def test_p_values_of_a_curve_end_where_its_levels_do() -> None:
    far = Result(["a"], [9.0], loss=LOSS, method="m", limits=lambda alpha: [[8.0, 10.0]])
    assert far.pvalues.tolist() == [pytest.approx(1e-4)]
    with pytest.raises(InvalidParameter, match=r"down to alpha = 0\.0001"):
        far.conf_int(1e-5)


def test_limits_never_shrink_as_alpha_falls() -> None:
    odd = Result(["a"], [0.0], loss=LOSS, method="m", limits=lambda a: [[-1.0, 1.0 if a > 0.05 else 0.5]])
    assert odd.conf_int(0.01).tolist() == [[-1.0, 1.0]]


def test_without_an_interval_all_is_nan_and_the_reason_is_told() -> None:
    fit = none()
    assert not fit.interval_available
    assert np.isnan(fit.bse).all()
    assert np.isnan(fit.conf_int()).all()
    assert np.isnan(fit.pvalues).all()
    assert "No interval: Nothing is known." in fit.summary()
    assert "Nothing is known." in fit._repr_html_()


def test_a_summary_shows_every_number_and_note() -> None:
    text = wald().summary()
    for part in ("least squares", "1-GDP, add/remove one record", "503 (released with noise)", "A note."):
        assert part in text
        assert part in wald()._repr_html_()
    assert max(map(len, text.splitlines())) <= 78
    assert "-2.0000" in text
    assert "0.20000" in text


def test_names_cannot_break_a_notebook() -> None:
    fit = Result(["<b>"], [1.0], loss=LOSS, method="<i>", covariance=[[1.0]])
    assert "<b>" not in fit._repr_html_()
    assert "<i>" not in fit._repr_html_()


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_the_same_after_it_was_saved(name: str) -> None:
    fit = RESULTS[name]()
    again = Result.from_json(fit.to_json())
    assert again.to_json() == fit.to_json()
    assert again.loss == fit.loss
    for alpha in (0.01, 0.03, 0.05, 0.95):
        np.testing.assert_array_equal(again.conf_int(alpha), fit.conf_int(alpha))
    assert again.summary() == fit.summary()


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_the_same_in_another_process(name: str) -> None:
    fit = RESULTS[name]()
    for again in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        assert again.to_json() == fit.to_json()


@pytest.mark.parametrize("name", RESULTS)
def test_the_golden_file_reads_for_ever(name: str) -> None:
    written = json.loads(GOLDEN.read_text())[name]
    assert Result.from_json(json.dumps(written)).summary() == RESULTS[name]().summary()
    assert json.loads(RESULTS[name]().to_json()) == written


def test_what_is_not_a_saved_result_is_refused() -> None:
    record = json.loads(wald().to_json())
    for broken in (
        "{}",
        record | {"version": 2},
        {key: value for key, value in record.items() if key != "names"},
        record | {"names": ["one"]},
        record | {"limits": {"kind": "later"}},
        record | {"limits": {"kind": "wald", "covariance": [["-1"]], "degrees": [None]}},
        record | {"limits": {"kind": "none", "number": 10**18, "reason": "It takes all memory."}},
        record | {"rows": "many"},
    ):
        with pytest.raises(InvalidParameter):
            Result.from_json(broken if isinstance(broken, str) else json.dumps(broken))


def test_parts_that_do_not_fit_are_refused() -> None:
    common = {"loss": LOSS, "method": "m"}
    for parts in (
        {},
        {"covariance": [[1.0]], "reason": "both"},
        {"covariance": [[-1.0]]},
        {"covariance": [[np.nan]]},
        {"covariance": np.eye(2)},
        {"covariance": [[1.0]], "df": 0},
        {"limits": lambda alpha: [[1.0, 0.0]]},
        {"limits": lambda alpha: [[np.nan, 0.0]]},
        {"limits": lambda alpha: [0.0, 1.0]},
    ):
        with pytest.raises(InvalidParameter):
            Result(["a"], [1.0], **common, **parts)
    with pytest.raises(InvalidParameter):
        Result(["a", "b"], [1.0], covariance=[[1.0]], **common)
    with pytest.raises(InvalidParameter, match="alpha"):
        wald().conf_int(1.0)


@pytest.mark.parametrize("name", RESULTS)
def test_a_picture_has_a_row_for_each_estimate(name: str, tmp_path: Path) -> None:
    fit = RESULTS[name]()
    figure = fit.plot(str(tmp_path / "fit.png"))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list(fit.names)
    assert (tmp_path / "fit.png").stat().st_size > 1000
