"""The one bisection: where a condition that holds at one end of an interval stops holding."""

from __future__ import annotations

from collections.abc import Callable


def last_true(
    holds: Callable[[float], bool], low: float, high: float, *, relative: float = 0.0, steps: int = 2000
) -> tuple[float, float]:
    """Two numbers close together, of which the first has the property and the second lacks it.

    Parameters
    ----------
    holds
        The property. It is taken to hold at `low` and to fail at `high`, neither of which is tried; `low` may be the
        larger of the two. Between them it should change once; if it changes more often, one of the changes is found.
    low, high
        The ends.
    relative
        How close is close enough, relative to the larger magnitude; 0 for neighbouring floats.
    steps
        At most so many trials.

    Returns
    -------
    tuple of float
        (the last number seen to have the property, the last one seen to lack it).

    Examples
    --------
    >>> low, high = last_true(lambda x: x * x <= 2.0, 0.0, 2.0)
    >>> low * low <= 2.0 < high * high
    True
    """
    for _ in range(steps):
        if abs(high - low) <= relative * max(abs(low), abs(high)):
            break
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def change_point(
    holds: Callable[[float], bool], start: float, *, relative: float = 0.0, factor: float = 2.0
) -> tuple[float, float]:
    """The same for a property of small positive numbers that large ones lack, the ends sought from `start`.

    Parameters
    ----------
    holds
        The property.
    start
        Where to begin; a guess.
    relative
        How close is close enough, relative to the larger magnitude; 0 for neighbouring floats.
    factor
        By what to go on while the end is not reached.

    Returns
    -------
    tuple of float
        (the last number seen to have the property, or 0; the last one seen to lack it).

    Examples
    --------
    >>> low, high = change_point(lambda x: x * x <= 2.0, 100.0)
    >>> low * low <= 2.0 < high * high
    True
    """
    low = high = start
    if holds(start):
        while holds(high):
            low, high = high, high * factor
    else:
        while low > 0 and not holds(low):
            low, high = low / factor, low
    return last_true(holds, low, high, relative=relative)
