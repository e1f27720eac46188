"""The strips of the discrete ziggurat cover the law."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from dalenius.noise.discrete_gaussian import _Sampler
from dalenius.noise.strips import Strips
from tests.noise.seeded import seeded

COVERED = [0.02, 0.2, 0.3, 0.49, 0.5, 1.0, 2.5, 10.0, 333.3, 1e6, 2.0**21, 2.0**30, 2.0**56]


def rho(x: int, sigma: float) -> Any:
    return mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(sigma) ** 2))


@pytest.mark.parametrize("sigma", COVERED)
class TestStrips:
    """Areas are equal and nothing of the bell is left out, in exact arithmetic."""

    def test_areas_are_equal(self, sigma: float) -> None:
        strips = Strips.of(Fraction(sigma) ** 2)
        assert strips.count <= 255
        for i in (1, 2, strips.count // 2, strips.count):
            assert strips.exactly(i)[1] * (int(strips.width[i]) << strips.block) == strips.area
            bottom, thickness = strips.exactly(i)
            assert abs(float(bottom) - strips.bottom[i]) < 2.0**-44
            assert abs(float(thickness) - strips.thickness[i]) < 2.0**-50
        assert 4 * strips.step * strips.stair == strips.area
        assert not strips.width[0]
        assert not strips.width[strips.count + 1 :].any()

    def test_the_bell_is_covered(self, sigma: float) -> None:
        """The first points that a strip leaves out are below its bottom; the stairs are above the tail."""
        strips = Strips.of(Fraction(sigma) ** 2)
        bottoms = [strips.exactly(i)[0] for i in range(1, strips.count + 1)]
        last_bottom, last_thickness = strips.exactly(strips.count)
        with mpmath.workprec(200):
            assert last_bottom + last_thickness >= 1
            for i, bottom in enumerate(bottoms, start=1):
                blocks = int(strips.width[i])
                right = (blocks - blocks // 2 << strips.block) - 1  # the last integer of the strip
                left = blocks // 2 << strips.block
                assert right <= strips.reach
                assert left <= strips.reach + strips.shift
                height = mpmath.mpf(bottom.numerator) / bottom.denominator
                if right < strips.reach:
                    assert rho(right + 1, sigma) <= height
                if left < strips.reach + strips.shift:
                    assert rho(left + 1, sigma) <= height
            blocks = int(strips.width[1])
            assert (blocks - blocks // 2 << strips.block) - 1 == strips.reach
            assert blocks // 2 << strips.block == strips.reach + strips.shift
            stair = mpmath.mpf(strips.stair.numerator) / strips.stair.denominator
            for j in [*range(100), 1000]:
                assert rho(strips.reach + 1 + j * strips.step, sigma) <= stair / mpmath.mpf(2) ** j

    def test_sure_columns_are_under_the_bell(self, sigma: float) -> None:
        strips = Strips.of(Fraction(sigma) ** 2)
        with mpmath.workprec(200):
            for i in range(1, strips.count + 1):
                bottom, thickness = strips.exactly(i)
                top = bottom + thickness
                if strips.sure[i] >= 0:
                    assert rho(int(strips.sure[i]), sigma) >= mpmath.mpf(top.numerator) / top.denominator
        assert strips.sure[0] == -1
        assert (strips.sure[strips.count + 1 :] == -1).all()

    def test_few_proposals_are_lost(self, sigma: float) -> None:
        with seeded(1):
            kept = len(_Sampler(Strips.of(Fraction(sigma) ** 2)).proposals(20_000))
        assert kept > 0.95 * 20_000
