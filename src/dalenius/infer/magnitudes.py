"""Public sizes whose products and ratios, and the squares of these, are doubles with room to spare."""

from __future__ import annotations

from dalenius.core import checks
from dalenius.errors import InvalidParameter

MOST = 1e40
"""y_scale * x_center / x_scale is squared in covariances."""


def center(name: str, value: object) -> float:
    """A number that is not too far from 0."""
    found = checks.number(name, value)
    if not abs(found) <= MOST:
        raise _beyond(name, value)
    return found


def scale(name: str, value: object) -> float:
    """A number above 0, neither too small nor too large."""
    found = checks.positive(name, value)
    if not 1 / MOST <= found <= MOST:
        raise _beyond(name, value)
    return found


def interval(name: str, value: object) -> tuple[float, float]:
    """(lowest, highest), with a middle and a width of such sizes."""
    low, high = checks.interval(name, value)
    if not max(-low, high) <= MOST or not high - low >= 1 / MOST:
        raise _beyond(name, value)
    return low, high


def _beyond(name: str, value: object) -> InvalidParameter:
    return InvalidParameter.of(
        name,
        f"{name} is {checks.shown(value)}, beyond what doubles hold well (from {1 / MOST:g} to {MOST:g}); rescale the "
        "column.",
    )
