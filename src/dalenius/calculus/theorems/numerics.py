"""Outward rounding and one-sided searches shared by the theorems. No privacy statement lives here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from scipy.optimize import minimize_scalar

from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter

ULP = 2.0**-52
TINY = math.nextafter(0.0, 1.0)


def up(value: float, ulps: float = 4.0) -> float:
    """A float above every real number within `ulps` units in the last place of `value`."""
    # The final nextafter covers the rounding of this very line and, for subnormal values, the slack
    # that the product loses.
    return math.nextafter(value + abs(value) * (ulps * ULP), math.inf)


def down(value: float, ulps: float = 4.0) -> float:
    """A float below every real number within `ulps` units in the last place of `value`."""
    return math.nextafter(value - abs(value) * (ulps * ULP), -math.inf)


def exact_sum_up(values: Iterable[float]) -> float:
    """The least float not below the exact sum: nothing is added when the sum is representable."""
    return checks.float_up(sum(map(Fraction, values), Fraction(0)))


def product_up(count: int, value: float) -> float:
    """The least float not below the exact product of a whole number and a float."""
    return checks.float_up(count * Fraction(value))


def terms_up(*terms: float, ulps: float = 8.0) -> float:
    """An upper bound on a sum whose terms are each known to `ulps` units in their own last place."""
    slack = math.fsum(abs(term) for term in terms) * (ulps * ULP)
    return math.nextafter(math.fsum(terms) + slack, math.inf)


def exp_up(exponent: float, error: float) -> float:
    """An upper bound on exp(x) for every x within `error` of `exponent`; infinity where it overflows."""
    shifted = exponent + error
    if shifted > 709.0:
        return math.inf
    return up(math.exp(shifted), 4.0)


def smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """A float where `holds` is true, within a few ulps of the least one, if `holds` is monotone.

    `holds(high)` must be true. Only points where `holds` was seen to be true are ever returned, so a
    predicate that errs on the safe side gives a result on the safe side.
    """
    return last_true(holds, high, low, relative=2 * ULP)[0]


def lowest(
    value: Callable[[float], float], points: Sequence[float], within: float = 1e-9
) -> tuple[float, float]:
    """(argument, value) of a small value: the best of a grid, refined around it; not proved least."""
    values = [value(point) for point in points]
    best = min(range(len(points)), key=values.__getitem__)
    if not math.isfinite(values[best]):
        return points[best], values[best]
    ends = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    found = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": within})
    if found.fun < values[best]:
        return float(found.x), float(found.fun)
    return points[best], values[best]


def numbers(name: str, values: Iterable[object], check: checks.Check = checks.nonnegative) -> list[float]:
    """A list of finite floats, each of which passes the check."""
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
        raise InvalidParameter(f"{name} is {values!r}; it must be a sequence of numbers, one per mechanism.")
    return [check(f"{name}[{index}]", value) for index, value in enumerate(values)]
