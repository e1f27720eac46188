"""Arguments of the wrong kind: an error of ours, or an answer; never an error from inside."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius import adaptive
from dalenius.errors import DaleniusError
from tests.adaptive.personal.golden_reports import reports
from tests.test_odd_input import ODD

REPORT, HESSIAN = reports()["logistic"], np.eye(2)

CALLS: dict[str, Callable[[Any], object]] = {
    "x": lambda odd: REPORT.epsilon(odd, "yes"),
    "y": lambda odd: REPORT.epsilon([40.0, 12.0, 0.0], odd),
    "by name": lambda odd: REPORT.epsilon({"age": odd, "school": odd, "target": "yes"}),
    "failure": lambda odd: REPORT.worst(failure=odd),
    "people": lambda odd: REPORT.worst(people=odd),
    "member": lambda odd: REPORT.epsilon([40.0, 12.0, 0.0], "yes", member=odd),
    "releases": lambda odd: adaptive.PrivacyReport(odd),
    "some releases": lambda odd: adaptive.PrivacyReport([odd]),
    "from_json": adaptive.PrivacyReport.from_json,
    "load": adaptive.PrivacyReport.load,
    "save": lambda odd: REPORT.save([odd]),
    "goe size": lambda odd: adaptive.goe_quantile(odd, 0.1),
    "goe failure": lambda odd: adaptive.goe_quantile(3, odd),
    "gaussian": lambda odd: adaptive.gaussian_loss(odd, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 1.0),
    "laplace": lambda odd: adaptive.laplace_loss([1.0, 2.0, 3.0], odd, [1.0, 2.0, 3.0], 1.0),
    "sigma": lambda odd: adaptive.gaussian_loss(1.0, 1.0, 1.0, odd),
    "hessian": lambda odd: adaptive.objective_perturbation_loss(
        odd, [0, 0], HESSIAN, [0, 0], 1.0, member=False
    ),
    "gradient": lambda odd: adaptive.objective_perturbation_loss(
        HESSIAN, odd, HESSIAN, [0, 0], 1.0, member=False
    ),
    "rows": lambda odd: adaptive.glm_losses(odd, [1.0], [1.0], HESSIAN, [0, 0], 1.0, member=False),
    "slopes": lambda odd: adaptive.glm_losses([[0.0, 1.0]], odd, [1.0], HESSIAN, [0, 0], 1.0, member=False),
    "theta": lambda odd: adaptive.posterior_sample_loss(
        odd, [1.0, 0], 0.0, HESSIAN, [0, 0], 1.0, member=False
    ),
    "label": lambda odd: adaptive.posterior_sample_loss(
        [0, 0], [1, 0], odd, HESSIAN, [0, 0], 1.0, member=False
    ),
    "row norm": lambda odd: adaptive.statistics_loss(odd, 1.0, 1.0, 1.0),
    "report": lambda odd: adaptive.DataDependentReport.released(odd, HESSIAN, dp.PureDP(1.0)),
    "released": lambda odd: adaptive.DataDependentReport.released(REPORT, odd, dp.ApproxDP(1.0, 1e-6)),
}


@pytest.mark.parametrize("nothing", [None, 5, "", b"", [None], 0.5], ids=repr)
def test_a_report_of_nothing_is_no_report(nothing: Any) -> None:
    """It would say that a release cost 0."""
    with pytest.raises(DaleniusError, match="made of releases"):
        adaptive.PrivacyReport(nothing)
    with pytest.raises(DaleniusError, match="ceiling"):
        adaptive.PrivacyReport([], ceiling=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CALLS)
def test_odd_input(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for odd in ODD:
        with contextlib.suppress(DaleniusError):
            CALLS[name](odd)


@pytest.mark.parametrize(
    "records",
    [
        [[40.0, 12.0, 0.0], [40.0]],
        {"age": [40.0, 50.0], "school": [12.0], "target": ["yes", "no"]},
        {"age": [40.0, 50.0], "school": 12.0, "target": ["yes", "no"]},
    ],
    ids=["ragged", "columns", "one number"],
)
def test_records_of_different_lengths(records: object) -> None:
    labels = None if isinstance(records, dict) else ["yes", "no"]
    with pytest.raises(DaleniusError):
        REPORT.epsilon(records, labels)


def test_a_failure_probability_too_small_to_be_divided() -> None:
    with pytest.raises(DaleniusError, match="failure"):
        REPORT.page(failure=5e-324)
