"""Curves are convex, their slopes and bends are derivatives, and their bounds are bounds."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.sums.curves import ClippedPoisson, Curve, Huber, HuberHinge, Logistic, PseudoHuber, Weighted

CURVES: tuple[tuple[Curve, tuple[float, ...]], ...] = (
    (Logistic(), (0.0, 1.0)),
    (Logistic(0.5), (0.0, 1.0)),
    (Logistic(0.7), (0.0, 1.0)),
    (HuberHinge(0.5), (0.0, 1.0)),
    (HuberHinge(2.0), (0.0, 1.0)),
    (Huber(0.5), (-1.0, 0.0, 0.3, 1.0)),
    (PseudoHuber(0.5), (-1.0, 0.0, 0.3, 1.0)),
    (ClippedPoisson(10.0, 3.0), (0.0, 1.0, 10.0)),
    (Weighted(Logistic(0.7), (0.2, 1.0)), (0.0, 1.0)),
    (Weighted(HuberHinge(0.5), (3.0, 0.5, 1.0), positive=2), (0.0, 1.0, 2.0)),
)


@pytest.mark.parametrize(("curve", "labels"), CURVES)
def test_slopes_and_bends_are_derivatives_within_their_bounds(
    curve: Curve, labels: tuple[float, ...]
) -> None:
    u = np.linspace(-4.0, 4.0, 80_001)
    step = u[1] - u[0]
    for label in labels:
        y = np.full_like(u, label)
        value, slope, bend = curve.value(u, y), curve.slope(u, y), curve.bend(u, y)
        assert np.abs(slope).max() <= curve.steepest * (1 + 1e-15)
        assert 0 <= bend.min() <= bend.max() <= curve.sharpest * (1 + 1e-12)
        # Over a step, the mean of a slope with Lipschitz constant c is that of its ends, give or take c step.
        assert (
            np.abs(np.diff(value) / step - (slope[1:] + slope[:-1]) / 2).max() <= curve.sharpest * step + 1e-9
        )
        smooth = np.abs(np.diff(bend)) < 0.05 * curve.sharpest  # a bend may jump at its kinks, two or fewer
        assert np.sum(~smooth) <= 2
        gap = np.abs(np.diff(slope) / step - (bend[1:] + bend[:-1]) / 2)
        assert gap[smooth].max() <= 1e-3 * curve.sharpest
        assert (np.diff(slope) >= -1e-15).all()


def test_weights_are_those_of_the_labels() -> None:
    """Labels are class numbers, one of them the curve's 1; a bound on bends nearby is weighted, too."""
    u, reach = np.linspace(-3, 3, 61), np.full(61, 0.3)
    plain, curve = Logistic(0.7), Weighted(Logistic(0.7), (0.25, 1.0, 0.5), positive=2)
    for label, weight in enumerate(curve.weights):
        y, own = np.full(61, float(label)), np.full(61, float(label == 2))
        for word in ("value", "slope", "bend"):
            np.testing.assert_array_equal(getattr(curve, word)(u, y), getattr(plain, word)(u, own) * weight)
        np.testing.assert_array_equal(curve.least_bend(u, y, reach), plain.least_bend(u, own, reach) * weight)
    with pytest.raises(InvalidParameter, match="weight"):
        Weighted(plain, (1.0, -1.0))


@pytest.mark.parametrize("knee", [0.5, 0.6, 0.9, 1.0])
def test_probability_is_where_the_mean_slope_vanishes(knee: float) -> None:
    curve, u = Logistic(knee), np.linspace(-30, 30, 601)
    p = curve.probability(u)
    mean = p * curve.slope(u, np.ones_like(u)) + (1 - p) * curve.slope(u, np.zeros_like(u))
    np.testing.assert_allclose(mean, 0, atol=1e-15)
    assert (np.diff(p) >= 0).all()
    assert p[0] < 1e-12 < 0.5 - abs(p[300] - 0.5)


@pytest.mark.parametrize("bad", [0.0, 0.49, 1.01, -1.0, float("nan"), float("inf"), "half"])
def test_knees_out_of_range_are_refused(bad: object) -> None:
    with pytest.raises(InvalidParameter, match="knee"):
        Logistic(bad)  # type: ignore[arg-type]
