"""The fast Hadamard transform."""

from __future__ import annotations

from dalenius.core.arrays import Array


def hadamard_transform(values: Array) -> Array:
    """Sylvester's Hadamard matrix, which is symmetric, times vectors along the last axis, of a length 2^m: exact on
    whole numbers."""
    found = values.copy()
    half = 1
    while half < found.shape[-1]:
        pairs = found.reshape(*found.shape[:-1], -1, 2, half)
        first, second = pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]
        pairs[..., 0, :], pairs[..., 1, :] = first, second
        half *= 2
    return found
