"""What arrays hold, by name; and arrays with a mask, behind which NumPy reads whenever it makes a plain one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Whatever its caller says; of integers, Python's where they are beyond 64 bits."""
Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]


DEEPEST = 64
"""An array has no more dimensions; lists within lists beyond it are entries to NumPy."""


def has_mask(values: object, deep: int = DEEPEST) -> bool:
    """Whether this is a masked array, or a list with one in it; what is behind a mask is not to be read."""
    if isinstance(values, list | tuple):
        return deep > 0 and _goes_on(values) and any(has_mask(value, deep - 1) for value in values)
    return isinstance(values, np.ma.MaskedArray)


def unmasked(values: Any, deep: int = DEEPEST) -> Any:
    """The same, with NaN in place of what is masked."""
    if isinstance(values, list | tuple):
        return [unmasked(value, deep - 1) for value in values] if deep > 0 and _goes_on(values) else values
    if not isinstance(values, np.ma.MaskedArray):
        return values
    filled = np.ma.filled(values.astype(object), np.nan)
    return filled[()] if filled.ndim == 0 else filled


def _goes_on(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether an entry may be or hold a masked array: by the types of entries, which are quickly looked through."""
    return any(issubclass(kind, list | tuple | np.ma.MaskedArray) for kind in set(map(type, values)))
