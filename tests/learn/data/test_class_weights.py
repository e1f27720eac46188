"""Weights of classes: public, relative to the largest, and refused where they cannot be meant."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.learn.data.class_weights import normal_weights, relative_weights


def test_in_units_of_the_largest() -> None:
    assert relative_weights({0: 1, 1: 4}, (0, 1)) == (0.25, 1.0)
    assert relative_weights({"c": 4.0, "a": 8}, ("a", "b", "c")) == (1.0, 0.125, 0.5)  # b has 1
    assert relative_weights({np.int64(1): Fraction(1, 2)}, np.array([0, 1])) == (1.0, 0.5)
    assert relative_weights(None, (0, 1)) is None
    assert relative_weights({1: 1.0}, (0, 1)) is None
    assert relative_weights({0: 3, 1: 3}, (0, 1)) is None
    rng = np.random.default_rng(0)
    for few in np.exp(rng.uniform(-700, 700, (200, 3))):
        found = relative_weights(dict(enumerate(few)), range(3)) or (1.0,)
        assert max(found) == 1.0  # exactly: a bound hangs on it


def test_one_spelling_of_the_same_weights() -> None:
    assert normal_weights({0: 1, 1: 3}, (0, 1)) == normal_weights({1: 6.0, 0: 2}, (0, 1))
    assert normal_weights({1: 3}, (0, 1)) != normal_weights({1: 4}, (0, 1))


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ("balanced", "read off the data.*public weights.*{0: 1, 1: 3}"),
        ([1, 2], "mapping"),
        ({2: 1.0}, "not one of the classes"),
        ({1: 0}, "above 0"),
        ({1: -1}, "above 0"),
        ({1: np.nan}, "above 0"),
        ({1: np.inf}, "above 0"),
        ({1: "3"}, "above 0"),
        ({1: None}, "above 0"),
    ],
)
def test_refused(bad: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        relative_weights(bad, (0, 1))
