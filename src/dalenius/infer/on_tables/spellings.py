"""Slopes and roots of curvatures of scores, in expressions that an engine computes.

Every kind of curve that is spelled here has one entry; a score of another kind is computed in blocks. u and y are
doubles within 2^400 of zero. What is returned need not be exact: it is clamped before it counts (`pushed_source`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ibis

from dalenius.infer.scores import CurveScore, Score
from dalenius.sums.curves import ClippedPoisson, Huber, Logistic
from dalenius.tables.compute.totals import clamped_to, exponential
from dalenius.tables.rows.terms import double


class Spelled(NamedTuple):
    """Of one row: f' over `steepest`, and the root of f'' over `sharpest`."""

    slope: Any
    root: Any


def spelled(score: Score, u: Any, y: Any) -> Spelled:
    """The score at u = x.theta for the response y, in expressions."""
    assert isinstance(score, CurveScore)
    slope, bend = CURVES[type(score.curve)](score.curve, u, y)
    sharp = ibis.cases((bend > double(0.0), bend), else_=double(0.0)) * double(1 / score.sharpest)
    return Spelled(slope * double(1 / score.steepest), sharp.sqrt())


def is_spelled(score: Score) -> bool:
    """Whether `spelled` knows it."""
    return type(score) is CurveScore and type(score.curve) in CURVES


def _huber(curve: Huber, u: Any, y: Any) -> tuple[Any, Any]:
    away = u - y
    return clamped_to(away, curve.knee), _where(away.abs() <= double(curve.knee), double(1.0))


def _logistic(curve: Logistic, u: Any, y: Any) -> tuple[Any, Any]:
    p = double(1.0) / (double(1.0) + exponential(double(0.0) - u))
    away = p - y
    return clamped_to(away, curve.knee), _where(away.abs() <= double(curve.knee), p * (double(1.0) - p))


def _clipped_poisson(curve: ClippedPoisson, u: Any, y: Any) -> tuple[Any, Any]:
    rate = exponential(u)
    away = rate - y
    return clamped_to(away, curve.knee), _where(away.abs() <= double(curve.knee), rate)


def _where(condition: Any, value: Any) -> Any:
    return ibis.cases((condition, value), else_=double(0.0))


CURVES: dict[type[Any], Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    Huber: _huber,
    Logistic: _logistic,
    ClippedPoisson: _clipped_poisson,
}
"""By the class itself: one that is made of it may have another slope."""
