"""Memory is flat in the number of draws: what is held beyond the result does not grow with it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius.noise import (
    bernoulli,
    bernoulli_exp,
    categorical,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    geometric,
    noisy_argmax,
    poisson_subsample,
    uniform_integers,
)
from tests.noise.seeded import seeded

SMALL, LARGE = 400_000, 4_000_000
SCORES = np.zeros((LARGE // 10, 10))


def beyond_the_result(draw: Callable[[], Any]) -> int:
    """Bytes held at the peak, the result not counted."""
    tracemalloc.start()
    try:
        size = draw().nbytes
        return tracemalloc.get_traced_memory()[1] - size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "draw",
    [
        lambda n: discrete_laplace(10.0, n),
        lambda n: discrete_laplace(2.0**40, n),
        lambda n: geometric(10.0, n),
        lambda n: discrete_gaussian(10.0, n),
        lambda n: discrete_gaussian(2.0**40, n),
        lambda n: gaussian(n // 4),
        lambda n: bernoulli(0.3, n),
        lambda n: bernoulli_exp(0.3, n),
        lambda n: uniform_integers(0, 10, n),
        lambda n: categorical([1, 2, 3], n),
        lambda n: noisy_argmax(SCORES[: n // 10], 1.0),
    ],
)
def test_flat(draw: Callable[[int], Any]) -> None:
    with seeded(1):
        draw(10)
        few, many = beyond_the_result(lambda: draw(SMALL)), beyond_the_result(lambda: draw(LARGE))
    assert many < 6_000_000
    assert many - few < 1_000_000


def test_rare_choices_out_of_very_many() -> None:
    with seeded(2):
        assert beyond_the_result(lambda: poisson_subsample(10**12, 1e-9)) < 2_000_000
