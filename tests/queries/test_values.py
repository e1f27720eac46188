"""Synthetic values have the codes that they were made from, whatever the kind of column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalenius.queries import Bins, Domain
from dalenius.queries.values import values


@pytest.mark.parametrize(
    "column",
    [7, Bins(-3.0, 7.0, 7), Bins(0, 1e-300, 3), ["a", "b"], [1, "1", 2.5, (3, 4)], [True, "no"]],
    ids=str,
)
@pytest.mark.parametrize("rows", [0, 1, 500])
def test_values_have_their_codes_again(column: Any, rows: int) -> None:
    draw, domain = np.random.default_rng(0), Domain({"x": column})
    codes = draw.integers(0, domain.cells, rows)
    made = values(domain.columns["x"], codes, draw)
    assert len(made) == rows
    assert np.array_equal(np.asarray(domain.codes({"x": made}))[:, 0], codes)
