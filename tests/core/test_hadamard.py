"""The fast transform is the matrix, on whole numbers to the last one, and leaves its argument alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard

from dalenius.core.hadamard import hadamard_transform


@pytest.mark.parametrize("shape", [(1,), (2,), (8,), (3, 16), (2, 3, 4)])
def test_it_is_the_matrix(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(-(2**40), 2**40, shape)
    before = values.copy()
    assert np.array_equal(hadamard_transform(values), values @ hadamard(shape[-1], dtype=np.int64))
    assert np.array_equal(values, before)
