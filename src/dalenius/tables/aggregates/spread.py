"""How far values lie from their means, alone and together: what variances and covariances are made of."""

from __future__ import annotations

import numpy as np

from dalenius.intervals.moments import Deviations
from dalenius.intervals.spreads import deviation, error_of_root
from dalenius.tables.aggregates.aggregate import Inputs
from dalenius.tables.measures.gridding import Value
from dalenius.tables.statistics.column import Column

ONE = ("sum", "sum", "square")
TWO = ("sum_x", "sum_y", "product")


def half_width(value: Value) -> float:
    """The most a row can be away from the centre, in steps."""
    return float(max(abs(value.low), abs(value.high), 1))


def deviations(inputs: Inputs, x: Value, y: Value, names: tuple[str, str, str]) -> Deviations:
    """A and B of `moments`, from these roles and the count."""
    n, first, second, product = (inputs[name] for name in ("count", *names))
    a, b = 1 / half_width(x), 1 / half_width(y)
    return Deviations(n, first.scaled(a), second.scaled(b), product.scaled(a * b), x == y)


def spreads(inputs: Inputs, x: Value, y: Value) -> tuple[Deviations, Deviations]:
    """Those of x and of y alone."""
    xx = deviations(inputs, x, x, ("sum_x", "sum_x", "square_x"))
    return xx, deviations(inputs, y, y, ("sum_y", "sum_y", "square_y"))


def spread_column(name: str, inputs: Inputs, names: tuple[str, str, str], root: bool = False) -> Column:
    """A variance (from the roles ONE), its root, or a covariance (TWO): see `moments`."""
    one = names == ONE
    (x,), (y,) = (inputs.roles[name].values for name in names[:2])
    parts = deviations(inputs, x, y, names)
    worth = half_width(x) * half_width(y) * float(x.granularity * y.granularity)
    drawn = None
    if inputs.sampling:
        drawn = parts.drawn() if one else parts.drawn(*spreads(inputs, x, y))
    edge = inputs[names[2]].edge / (half_width(x) * half_width(y)) * parts.size
    ratio, error, low, high, within = deviation(parts, drawn, inputs.failure, x.binary, edge)
    # A value is off by half a step, which moves a (co)variance by as much of the other's deviation, twice.
    rounding = sum((0.0 if v.exact else 1.0) * np.sqrt(2.0) / half_width(v) for v in (x, y))
    low, high = np.clip(low - rounding, *within), np.clip(high + rounding, *within)
    estimate = np.clip(ratio, *within)
    low, high = np.minimum(low, estimate), np.maximum(high, estimate)
    if root:
        error = error_of_root(ratio, error)
        estimate, low, high = np.sqrt(estimate), np.sqrt(low), np.sqrt(high)
        worth, within = np.sqrt(worth), (0.0, np.sqrt(2.0))
    error = np.minimum(error, within[1] - within[0])
    return Column(name, estimate * worth, error * worth, low * worth, high * worth)
