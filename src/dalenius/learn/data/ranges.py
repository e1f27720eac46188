"""Public ranges of columns, of a size that doubles hold well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter

Range = tuple[float, float]

LARGEST, NARROWEST, RELATIVE = 1e100, 1e-90, 1e-9
"""Of an end; of a width; and of a width beside its larger end."""


def checked_range(name: str, pair: Any) -> Range:
    """(lower, upper), finite, increasing, and far enough apart for doubles."""
    low, high = checks.interval(name, pair)
    most = max(abs(low), abs(high))
    if most > LARGEST or high - low < max(NARROWEST, RELATIVE * most):
        raise InvalidParameter.of(
            name, f"{name} is ({low:g}, {high:g}), beyond what doubles hold well; rescale the data."
        )
    return low, high


def widened(pair: Range) -> Range:
    """A range that was released, as it is or a little wider: far enough apart for doubles, so that none is refused."""
    low, high = pair
    least = 2 * max(NARROWEST, RELATIVE * max(abs(low), abs(high)))
    return pair if high - low >= least else (low - least, high + least)


def ranges(name: str, given: Any, columns: int, otherwise: Range | None = None) -> list[Range | None]:
    """One for every column: from None, from one pair for all of them, or from a list of pairs and Nones."""
    given = given.tolist() if isinstance(given, np.ndarray) else given
    if given is None:
        return [otherwise] * columns
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) == 0:
        raise InvalidParameter.of(
            name,
            f"{name} is {shown(given)}; it must be a pair (lower, upper) for all columns, a list of one for each, or "
            "None.",
        )
    if not any(pair is None or isinstance(pair, Sequence) for pair in given):
        return [checked_range(name, given)] * columns
    if len(given) != columns:
        raise InvalidParameter.of(name, f"{name} lists {len(given)} columns, and there are {columns}.")
    return [
        otherwise if pair is None else checked_range(f"{name}[{n}]", pair) for n, pair in enumerate(given)
    ]
