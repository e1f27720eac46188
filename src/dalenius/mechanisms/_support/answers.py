"""Answers 0 .. k - 1 on their way through a mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.arrays import Ints
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import whole_numbers


def as_answers(value: Any, k: int, name: str = "value") -> Ints:
    """Whole numbers from 0 to k - 1, of any shape; truth values too if there are two of them."""
    numbers = whole_numbers(_as_integers(value) if k == 2 else value, name)
    if not all(0 <= x < k for x in (numbers.min(), numbers.max())):
        raise InvalidParameter(f"{name} holds an answer that is not one of 0 .. {k - 1}.")
    return numbers.astype(np.int64)


def _as_integers(value: Any) -> Any:
    """Yes and no as 1 and 0."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, np.ndarray) and value.dtype == np.bool_ and not isinstance(value, np.ma.MaskedArray):
        return value.astype(np.int64)
    if isinstance(value, list | tuple) and all(isinstance(x, bool | np.bool_) for x in value):
        return [int(x) for x in value]
    return value
