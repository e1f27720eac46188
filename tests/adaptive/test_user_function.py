"""Functions of users that fail on data: one error, with the same words whatever went wrong, and nothing behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dalenius as dp
from dalenius.adaptive.ptr import NoisyLowerBound, NoisyUpperBound, ProposeTestRelease, StableValue
from dalenius.errors import FunctionFailed

DATA = [0.25, 0.75]


def raises(*data: Any) -> Any:
    raise ValueError(f"the second record is {data[0][1]}")


def mute(*data: Any) -> Any:
    return "0.75 and more"


def custom(**functions: Any) -> Callable[[], Any]:
    given = {"function": lambda x: 0.5, "sensitivity": lambda x, k: 1.0, **functions}
    statistic = dp.adaptive.statistics.Custom(bounds=(0, 1), pair=([], [1.0]), **given)
    return lambda: dp.adaptive.SmoothStudentT(statistic=statistic, beta=0.2, scale=9.0).release(DATA)


def stable(**functions: Any) -> Callable[[], Any]:
    given: Any = {"function": len, "changes": lambda x: 10**6, **functions}
    value = StableValue(pair=([], [1.0]), **given)
    release = ProposeTestRelease.by_distance(value, epsilon=1.0, wrong_pass=1e-6)
    return lambda: release.release(DATA)


def noisy(kind: Any, function: Any) -> Callable[[], Any]:
    bound = kind(function, dp.mechanisms.Laplace(sensitivity=1, scale=2.0), failure=1e-3)
    return lambda: bound.release(DATA)


CASES = {
    **{
        f"custom {word} {f.__name__}": custom(**{word: f})
        for word in ("function", "sensitivity")
        for f in (raises, mute)
    },
    **{f"changes {f.__name__}": stable(changes=f) for f in (raises, mute, lambda x: -x[1])},
    "stable function": stable(function=raises),
    **{
        f"{kind.__name__} {f.__name__}": noisy(kind, f)
        for kind in (NoisyUpperBound, NoisyLowerBound)
        for f in (raises, mute)
    },
}


@pytest.mark.parametrize("name", CASES)
def test_one_error_for_every_reason(name: str) -> None:
    with pytest.raises(FunctionFailed) as found:
        CASES[name]()
    with pytest.raises(FunctionFailed) as other:
        custom(function=raises)()
    assert str(found.value) == str(other.value)
    assert found.value.__cause__ is None
    assert found.value.__context__ is None
    assert "0.75" not in str(found.value)
