"""Categories with exact weights."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.noise import categorical
from tests.noise.goodness import WrongLaw, check_events
from tests.noise.seeded import ListedSource, seeded, using

N = 200_000


class TestCategorical:
    @pytest.mark.parametrize(
        "weights",
        [
            [1, 2, 3],
            [0.1, 0.2, 0.7, 0.0],
            [Fraction(1, 3), Fraction(1, 7), 2],
            [1e-300, 1.0, 1e-3],
            [2**70, 2**70 + 1, 2**69],
            [1e300, 1.0, 1e300],
            [5],
            np.arange(50),
            np.array([0.5, 0.25, 0.125]),
        ],
    )
    def test_law(self, weights: Any) -> None:
        with seeded(1):
            drawn = categorical(weights, N)
        exact = [Fraction(w) for w in (weights.tolist() if isinstance(weights, np.ndarray) else weights)]
        p = [float(w / sum(exact)) for w in exact]
        check_events(np.bincount(drawn, minlength=len(p)), p, N)

    def test_rejects_a_weight_that_is_off(self) -> None:
        with seeded(1), pytest.raises(WrongLaw):
            check_events(np.bincount(categorical([1.15, 2.0], N)), [1 / 3, 2 / 3], N)

    def test_boundary_words_are_settled(self) -> None:
        """The words in which one category ends and the next begins, for weights beyond 64 bits."""
        weights = [2**80 + 1, 2**80, 2**80 - 1]
        total = sum(weights)
        ends = [weights[0], weights[0] + weights[1], total]
        for i in (0, 1):
            cut, rest = divmod((ends[i] << 64), total)
            found = []
            for seed in range(300):
                with using(ListedSource([cut], seed)):
                    found.append(categorical(weights, 1)[0] == i)
            check_events([sum(found)], [rest / total], 300)

    def test_shapes(self) -> None:
        assert type(categorical([1, 1])) is int
        assert categorical([1, 1], (2, 2)).shape == (2, 2)

    @pytest.mark.parametrize(
        "weights",
        [
            [],
            [0, 0],
            [1, -1],
            [float("nan"), 1],
            [float("inf"), 1],
            ["1", "2"],
            [True, False],
            [[1, 2]],
            [1, None],
        ],
    )
    def test_bad_input(self, weights: Any) -> None:
        with pytest.raises(InvalidParameter):
            categorical(weights, 1)
