"""The distribution function that a user hands in tells of each row alone, or is refused before it meets the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer.hypotheses.kolmogorov_smirnov import farthest


@pytest.mark.parametrize(
    "cdf",
    [
        lambda x: stats.norm.cdf((x - x.mean()) / x.std()),
        lambda x: stats.rankdata(x) / len(x),
        lambda x: np.linspace(0, 1, len(x)),
    ],
)
def test_a_function_of_several_rows_is_refused(cdf: Callable[[Any], Any]) -> None:
    """With the first, one row far away moved the distance by 99, and not by 1."""
    with pytest.raises(InvalidParameter, match="each row alone"):
        dp.infer.KolmogorovSmirnovTest(dp.GDP(1.0), cdf=cdf)


def test_what_a_function_writes_into_its_argument_is_lost() -> None:
    def spoils(x: Any) -> Any:
        x -= 0.5
        if (x > 10).any():
            raise ValueError
        return np.clip(x + 0.5, 0, 1)

    test, rows = dp.infer.KolmogorovSmirnovTest(dp.GDP(1.0), cdf=spoils), np.linspace(0, 1, 50)
    assert abs(farthest(test._placed(np.append(rows, 99.0))) - farthest(test._placed(rows))) <= 1
