"""The minimum is found for every number that a model takes: else zeros are released, and that would tell."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.learn.methods import objective_perturbation
from dalenius.learn.numerics import passes
from tests.sample import WHOLE

ENDS = (1e-6, 1.0, 1e6)
APPROX, PURE = dp.ApproxDP(1.0, 1e-6), dp.PureDP(1.0)
MODELS: list[tuple[Any, dict[str, Any]]] = [
    (dp.learn.LogisticRegression, {}),
    (dp.learn.OneVsRest, {}),
    (dp.learn.MultinomialRegression, {}),
    *((dp.learn.LinearSVC, {"width": width}) for width in ENDS),
    *((dp.learn.HuberRegression, {"knee": knee, "target_bounds": (0.0, 1.0)}) for knee in ENDS),
    *(
        (dp.learn.PoissonRegression, {"most": most, "knee": knee})
        for most, knee in ((1e-6, None), (1.0, 1e-3), (10.0, None), (1e6, None), (1e6, 1e3), (1e-6, 1e6))
    ),
]
CASES = [
    (model, {**given, "row_norm": norm, "intercept_scale": scale, "noise_ratio": ratio}, promise)
    for (model, given), norm, scale, ratio, promise in itertools.product(
        MODELS, (1e-100, 1.0, 1e100), (0.0, *ENDS), (1.2, 100.0), (APPROX, PURE, dp.ApproxDP(1e-3, 1e-9))
    )
]


class NotFound(Exception):
    pass


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_found(like: Any) -> Any:
        raise NotFound

    for module in (objective_perturbation, passes):
        monkeypatch.setattr(module, "nothing_found", nothing_found)


@pytest.mark.parametrize(("model", "given", "promise"), CASES if WHOLE else CASES[::23])
def test_whatever_the_public_numbers_are(model: Any, given: dict[str, Any], promise: Any) -> None:
    rng = np.random.default_rng(1977)
    made = model(promise, **given)
    try:
        made.price()
    except CannotMeet:  # of public numbers, before any data
        return
    for rows in (0, 1, 3, 300):
        x = given["row_norm"] * rng.uniform(-1, 1, size=(rows, 2))
        y = rng.integers(0, 2, rows)
        made.fit(x, y)
        made.fit(np.repeat(x[:1], rows, axis=0), np.ones(rows))
        assert np.isfinite(made.coef_).all()


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (dp.learn.LogisticRegression, {"intercept_scale": 6.3e153}),
        (dp.learn.LogisticRegression, {"intercept_scale": 1e-7}),
        (dp.learn.LinearSVC, {"width": 1e300}),
        (dp.learn.HuberRegression, {"knee": 1e-9, "target_bounds": (0.0, 1.0)}),
        (dp.learn.PoissonRegression, {"knee": 1e-10}),
        (dp.learn.PoissonRegression, {"most": 1e7}),
        (dp.learn.OneVsRest, {"noise_ratio": 1e10}),
    ],
)
def test_numbers_for_which_it_would_not_be_are_refused(model: Any, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        model(APPROX, **given).price()
