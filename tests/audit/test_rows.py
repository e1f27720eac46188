"""Outputs of every kind are read, and what cannot be read is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.audit import Audit, lower_bound
from dalenius.errors import InvalidParameter
from dalenius.noise import bernoulli, discrete_laplace
from tests.noise.seeded import seeded

SURE = 1 - 1e-9


def _plain_id(value: object) -> str:
    """The same in every process: no addresses of functions."""
    return repr(value).split(" at 0x")[0]


class TestOutputs:
    """Whatever comes out, a difference in it is found."""

    @staticmethod
    def found(*outputs: Any, **options: Any) -> Audit:
        """Each input is answered rightly nine times in ten, by the other's output otherwise."""
        with seeded(8):
            return lower_bound(
                lambda x: outputs[1 - x if bernoulli(0.1) else x], (0, 1), 4000, confidence=SURE, **options
            )

    @pytest.mark.parametrize(
        "outputs",
        [
            (1, 2),
            (1.5, None),
            ("yes", "no"),
            (b"yes", b"no"),
            (True, False),
            (1.0, float("nan")),
            (1.0, float("inf")),
            (0.0, -0.0),
            ((1, "a"), (1, "b")),
            ([1, 2], [1, 2, 3]),
            ([], [0]),
            ({"a": 1}, {"a": 1, "b": 0}),
            ({"a": 1.0}, {"a": 1.5}),
            ({1, 2}, {1, 3}),
            (frozenset(), frozenset([1])),
            (np.zeros(3), np.ones(3)),
            (np.zeros(3), np.zeros(4)),
            (np.array("a"), np.array("b")),
            (np.array(1), np.array(2)),
            (np.int64(1), np.float64(2)),
            (1 + 2j, 1 + 3j),
            (Fraction(1, 3), Fraction(2, 3)),
            (10**400, -(10**400)),
            (None, ()),
            ({"a": [1, {"b": None}]}, {"a": [1, {"b": 2}]}),
            (slice(1), slice(2)),
            (np.zeros((30, 30)), np.eye(30)),
        ],
        ids=lambda outputs: repr(outputs)[:50],
    )
    def test_any_output(self, outputs: tuple[Any, Any]) -> None:
        assert 1.4 < self.found(*outputs).epsilon <= np.log(9)

    @pytest.mark.parametrize(
        "output", [None, [], {}, (), set(), np.zeros(0), np.zeros((0, 3)), "", 0], ids=_plain_id
    )
    def test_an_output_that_says_nothing(self, output: Any) -> None:
        assert lower_bound(lambda _: output, (0, 1), 200).epsilon == 0.0

    def test_outputs_first_seen_when_measuring(self) -> None:
        """Numbers while learning, something else afterwards: no error, and no false alarm."""
        calls = iter(range(10**6))

        def turncoat(x: int) -> Any:
            return x * 0 if next(calls) < 1000 else "text"

        assert lower_bound(turncoat, (0, 1), 1000).epsilon == 0.0

    def test_statistics_find_what_is_hidden(self) -> None:
        """The parity of a sum over many columns says all; nothing generic sees it."""
        order = 12

        def parity(x: int, n: int) -> np.ndarray:
            bits = bernoulli(0.5, (n, order)).astype(int)
            bits[:, 0] = (x + bernoulli(0.1, n) + bits[:, 1:].sum(axis=1)) % 2
            # Big random multiples of two, so that no row repeats.
            return bits + 2 * discrete_laplace(2.0**30, (n, order))

        with seeded(9):
            blind = lower_bound(parity, (0, 1), 20_000, confidence=SURE, batched=True)
            told = lower_bound(
                parity,
                (0, 1),
                20_000,
                confidence=SURE,
                batched=True,
                statistics=[lambda row: int(row.sum()) % 2],
            )
        assert blind.epsilon < 0.1
        assert told.epsilon > 1.8
        assert "statistic 0" in told.attacks[0].when

    def test_correlated_columns(self) -> None:
        """A common noise that cancels in a difference of weighted columns: the regression finds it."""

        def together(x: int, n: int) -> np.ndarray:
            common = discrete_laplace(1000.0, n)
            return np.column_stack([common + x + discrete_laplace(0.5, n), 2 * common])

        with seeded(10):
            found = lower_bound(together, (0, 1), 40_000, confidence=SURE, batched=True)
        assert 1.7 < found.epsilon <= 2.0

    def test_a_bit_that_flips_with_the_sign(self) -> None:
        """No column differs alone; two together do."""

        def paired(x: int, n: int) -> np.ndarray:
            one = bernoulli(0.5, n)
            return np.column_stack([one, one ^ bool(x) ^ bernoulli(0.1, n), bernoulli(0.5, n)])

        with seeded(11):
            found = lower_bound(paired, (0, 1), 20_000, confidence=SURE, batched=True)
        assert 1.8 < found.epsilon <= np.log(9)

    def test_both_ways_of_drawing_agree(self) -> None:
        def one(x: int) -> int:
            return x ^ int(bernoulli(0.2))

        def many(x: int, n: int) -> np.ndarray:
            return x ^ bernoulli(0.2, n)

        with seeded(12):
            a = lower_bound(one, (0, 1), 4000)
        with seeded(12):
            b = lower_bound(many, (0, 1), 4000, batched=True)
        assert abs(a.epsilon - b.epsilon) < 0.3


class _Opaque:
    """Equal to nothing but itself."""


class TestUnreadableOutputs:
    @pytest.mark.parametrize(
        "release",
        [
            lambda x: iter([x]),
            lambda x: (y for y in [x]),
            lambda x: _Opaque(),
            lambda x: [x, _Opaque()],
            lambda x: {"a": _Opaque()},
            lambda x: {_Opaque()},
        ],
    )
    def test_refused(self, release: Callable[[int], object]) -> None:
        with pytest.raises(InvalidParameter, match=r"cannot read; it must be a number, an array, text, None"):
            lower_bound(release, pair=(0, 1), trials=200)

    def test_own_statistics_may_read_them(self) -> None:
        found = lower_bound(lambda x: iter([x]), pair=(0, 1), trials=2000, statistics=[lambda out: next(out)])
        assert found.epsilon > 3.0

    def test_what_has_equality_is_read(self) -> None:
        for values in ((date(2020, 1, 1), date(2020, 1, 2)), (b"a", None), (Side.LEFT, Side.RIGHT), (1j, 2j)):
            assert lower_bound(lambda x, v=values: v[x], pair=(0, 1), trials=2000).epsilon > 3.0


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"
