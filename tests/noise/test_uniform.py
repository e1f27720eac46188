"""Uniform integers, coins and categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.noise import uniform, uniform_integers
from dalenius.noise.source import words
from dalenius.noise.uniform import below as integers_below
from dalenius.noise.uniform import one
from tests.noise.goodness import WrongLaw, check_events
from tests.noise.seeded import ListedSource, seeded, using

N = 200_000


class TestUniformIntegers:
    @pytest.mark.parametrize(("low", "high"), [(0, 2), (-3, 4), (10, 1034), (-500, 501), (0, 97)])
    def test_law(self, low: int, high: int) -> None:
        with seeded(1):
            drawn = uniform_integers(low, high, N)
        counts = np.bincount(drawn - low, minlength=high - low)
        check_events(counts, np.full(high - low, 1 / (high - low)), N)

    @pytest.mark.parametrize(
        "n", [2**24, 2**24 + 1, 3 * 2**40, 2**62 + 1, 2**63, 2**63 + 2**62, 2**64 - 1, 2**64]
    )
    def test_large_ranges(self, n: int) -> None:
        with seeded(2):
            drawn = integers_below(n, N)
        assert int(drawn.max()) < n
        parts = [int((drawn <= (n - 1) * k // 8).sum()) for k in range(1, 8)]
        check_events(parts, [((n - 1) * k // 8 + 1) / n for k in range(1, 8)], N)
        check_events([int((drawn % np.uint64(3) == r).sum()) for r in range(3)], [1 / 3] * 3, N)

    def test_a_power_of_two_too_many_is_noticed(self) -> None:
        with seeded(3):
            drawn = words(N) % np.uint64(6 << 61) // np.uint64(1 << 61)  # modulo without refusing
        with pytest.raises(WrongLaw):
            check_events(np.bincount(drawn.astype(np.int64), minlength=6), [1 / 6] * 6, N)

    def test_every_small_range_by_enumeration(self) -> None:
        """With 32 digits v, floor(v n / 2^32) is refused where it would be counted once too often."""
        for n in (3, 5, 7, 1000):
            edges = [-(-(k << 32) // n) for k in range(n + 1)]  # the first v with quotient k
            kept = [edges[k + 1] - edges[k] - int(n * edges[k] % 2**32 < 2**32 % n) for k in range(n)]
            assert set(kept) == {2**32 // n}

    def test_the_refused_digits_are_refused(self) -> None:
        """2^32 mod 3 = 1: of the products 3 v only 0 has a remainder that small. 2^64 mod 3*2^40 likewise."""
        with using(ListedSource([0x55555556])):
            assert uniform._try(3, 2).tolist() == [1]  # the halves are 0x55555556 and 0
        n = 3 << 40
        edge = 2**64 - 2**64 % n
        with using(ListedSource([edge, edge - 1])):
            assert uniform._try(n, 2).tolist() == [n - 1]

    def test_beyond_64_bits(self) -> None:
        with seeded(4):
            drawn = uniform_integers(-(2**100), 2**100 + 1, 2000)
        assert drawn.dtype == object
        assert all(-(2**100) <= x <= 2**100 for x in drawn)
        check_events([sum(x > 0 for x in drawn), sum(abs(x) < 2**99 for x in drawn)], [0.5, 0.5], 2000)

    def test_one(self) -> None:
        with seeded(5):
            drawn = np.array([one(5) for _ in range(5000)])
        check_events(np.bincount(drawn, minlength=5), [0.2] * 5, 5000)
        assert one(1) == 0

    def test_edges_and_shapes(self) -> None:
        assert uniform_integers(-(2**63), 2**63, 10).dtype == np.int64
        assert uniform_integers(5, 6) == 5
        assert type(uniform_integers(5, 9)) is int
        assert uniform_integers(0, 9, (2, 0, 3)).shape == (2, 0, 3)
        assert uniform_integers(0, 9, ()).shape == ()

    @pytest.mark.parametrize(
        ("low", "high", "size"),
        [
            (1, 1, 3),
            (2, 1, 3),
            (0.5, 2, 3),
            (0, 5, -1),
            (0, 5, 2.0),
            (0, 5, True),
            (0, 5, (2, -1)),
            ("0", 5, 1),
        ],
    )
    def test_bad_input(self, low: Any, high: Any, size: Any) -> None:
        with pytest.raises(InvalidParameter):
            uniform_integers(low, high, size)
