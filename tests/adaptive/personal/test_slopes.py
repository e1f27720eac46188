"""The slopes of reports are those of the fits, and their extremes over an interval are extremes."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.adaptive.personal.slopes import Slope
from dalenius.errors import InvalidParameter
from dalenius.learn.models.reported import _slope
from dalenius.sums.curves import ClippedPoisson, Curve, Huber, HuberHinge, Logistic, Weighted

CURVES = (
    Logistic(1.0),
    Logistic(0.5),
    Huber(0.7),
    HuberHinge(0.5),
    ClippedPoisson(5.0, 2.0),
    Weighted(Logistic(0.5), (0.2, 1.0)),
    Weighted(HuberHinge(0.5), (1.0, 0.1)),
)


def labels(curve: Curve, rng: np.random.Generator, size: int) -> np.ndarray:
    if isinstance(curve, Logistic | HuberHinge | Weighted):
        return rng.integers(0, 2, size).astype(float)
    return rng.uniform(-1, 1, size) if isinstance(curve, Huber) else rng.integers(0, 6, size).astype(float)


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_same_as_the_fit(curve: Curve) -> None:
    rng = np.random.default_rng(0)
    u, y = rng.normal(scale=3, size=500), labels(curve, rng, 500)
    low, high, bend = _slope(curve).near(u, y, np.zeros(500))
    np.testing.assert_allclose(low, curve.slope(u.copy(), y), atol=1e-14)
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(bend, curve.bend(u, y), atol=1e-14)


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_extremes_over_an_interval(curve: Curve) -> None:
    rng = np.random.default_rng(1)
    u, y, reach = rng.normal(scale=2, size=300), labels(curve, rng, 300), rng.uniform(0, 1, 300)
    low, high, bend = _slope(curve).near(u, y, reach)
    for share in np.linspace(-1, 1, 41):
        near = u + share * reach
        slope = curve.slope(near.copy(), y)
        assert (low <= slope + 1e-14).all()
        assert (slope <= high + 1e-14).all()
        assert (curve.bend(near, y) <= bend + 1e-14).all()


def test_an_unknown_loss_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="not one"):
        Slope("squares", 1.0)  # type: ignore[arg-type]
    for kind, weights in (("huber", (1.0, 1.0)), ("logistic", (1.0,)), ("logistic", (1.0, -1.0))):
        with pytest.raises(InvalidParameter, match="weight"):
            Slope(kind, 1.0, weights)  # type: ignore[arg-type]


def test_a_loss_with_weights_has_a_kind_of_its_own() -> None:
    """Who does not know of weights must not read it as one without."""
    plain, weighted = Slope("logistic", 0.5), Slope("logistic", 0.5, (0.25, 1.0))
    assert plain.record() == {"kind": "logistic", "size": "0.5"}
    assert weighted.record() == {"kind": "weighted_logistic", "size": "0.5", "weights": ["0.25", "1.0"]}
    for slope in (plain, weighted):
        assert Slope.from_record(slope.record()) == slope
