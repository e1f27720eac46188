"""Reports of k bits, eight to a byte, the first answer in the lowest bit of the first byte."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.arrays import Bools, Ints
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import array_of

Bytes = NDArray[np.uint8]

ROWS = 255
"""Reports whose bits can be added up in bytes."""
ONES = np.array([value.bit_count() for value in range(256)], dtype=np.uint8)
"""Of each byte."""


def width(k: int) -> int:
    """Bytes of a report."""
    return -(-k // 8)


def clear_padding(reports: Bytes, k: int) -> None:
    """Bits beyond the k-th are 0."""
    if k % 8:
        reports[:, -1] &= np.uint8((1 << (k % 8)) - 1)


def put(reports: Bytes, answers: Ints, bits: Bools) -> None:
    """Set the bit of each report's answer, or clear it."""
    rows, byte, mask = np.arange(len(answers)), answers >> 3, np.left_shift(1, answers & 7).astype(np.uint8)
    rest = reports[rows, byte] & ~mask
    reports[rows, byte] = rest | np.where(bits, mask, np.uint8(0))


def checked(reports: Any, k: int) -> Bytes:
    """Reports as a matrix, or InvalidParameter."""
    array = array_of(reports, "reports")
    if array.dtype != np.uint8 or array.ndim < 1 or array.shape[-1] != width(k) or array.size == 0:
        raise InvalidParameter.of(
            "reports",
            f"reports must be bytes (uint8) with {width(k)} in the last axis, one row for each person, as released.",
        )
    rows = array.reshape(-1, width(k))
    if k % 8 and int(rows[:, -1].max()) >> (k % 8):
        raise InvalidParameter.of("reports", f"reports have a bit set beyond the {k} answers.")
    return rows


def ones(reports: Bytes) -> Ints:
    """How many bits of each report are set."""
    counts = np.zeros(len(reports), dtype=np.int64)
    for start in range(0, len(reports), 1 << 14):
        part = reports[start : start + (1 << 14)]
        counts[start : start + len(part)] = ONES[part].sum(axis=1, dtype=np.int64)
    return counts


def column_sums(reports: Bytes, k: int) -> Ints:
    """How many reports have each bit set."""
    sums = np.zeros((width(k), 8), dtype=np.int64)
    step = ROWS * max(1, (1 << 20) // (ROWS * width(k)))
    for start in range(0, len(reports), step):
        part = reports[start : start + step]
        whole = len(part) // ROWS * ROWS
        for block in (part[:whole].reshape(-1, ROWS, width(k)), part[whole:][None]):
            for bit in range(8):
                of_bit = (block >> np.uint8(bit)) & np.uint8(1)
                sums[:, bit] += of_bit.sum(axis=1, dtype=np.uint8).sum(axis=0, dtype=np.int64)
    return sums.ravel()[:k]
