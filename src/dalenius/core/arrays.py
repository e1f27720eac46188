"""What arrays hold, by name."""

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
