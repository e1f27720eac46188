"""centre + scale Z, rounded exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dalenius.noise.affine import _exactly, rounded_affine
from dalenius.noise.laws import LaplaceLaw, LaplaceLogNormalLaw, NormalLaw, StudentTLaw
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.source import words
from tests.mechanisms.contract import follows
from tests.noise.seeded import seeded

FAR = 10**15
LAWS: dict[str, tuple[Any, Any]] = {
    "normal": (NormalLaw(), stats.norm.cdf),
    "laplace": (LaplaceLaw(), stats.laplace.cdf),
    "cauchy": (StudentTLaw(Fraction(1)), stats.cauchy.cdf),
    "student 2.5": (StudentTLaw(Fraction(5, 2)), stats.t(2.5).cdf),
    "laplace-log-normal": (LaplaceLogNormalLaw(Fraction(1, 2)), None),
}


def log_normal_cdf(x: np.ndarray) -> np.ndarray:
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    parts = [w * stats.laplace.cdf(x * math.exp(-y / 2)) for y, w in zip(nodes, weights, strict=True)]
    return np.sum(parts, axis=0) / weights.sum()


@pytest.mark.parametrize("name", LAWS)
def test_law(name: str) -> None:
    law, cdf = LAWS[name]
    cdf = cdf or log_normal_cdf
    with seeded(11):
        drawn = rounded_affine(law, Fraction(7, 3), Fraction(10**6), 100_000, -FAR, FAR)
    assert follows((drawn + 0.5 - 7 / 3) / 1e6, lambda x: cdf(np.floor(x * 1e6 + 7 / 3) / 1e6 - 4e-7))
    for wrong in (0.85, 1.15):
        assert not follows(drawn / 1e6, lambda x, wrong=wrong: cdf(x * wrong))


@pytest.mark.parametrize("name", LAWS)
def test_doubles_are_within_their_error(name: str) -> None:
    law = LAWS[name][0]
    with seeded(12):
        drawn = words(300 * law.uniforms).reshape(300, law.uniforms)
    values, errors = law.values(drawn)
    for row, value, error in zip(drawn, values, errors, strict=True):
        sure = law.enclose([LazyUniform(int(word), 64) for word in row], 192)
        low, high = Fraction(sure.low, 1 << 192), Fraction(sure.high, 1 << 192)
        assert low - Fraction(error) <= Fraction(value) <= high + Fraction(error)


@pytest.mark.parametrize("name", LAWS)
def test_doubles_and_certified_agree(name: str) -> None:
    """The same words, once in doubles where these are sure, once in certified arithmetic."""
    law = LAWS[name][0]
    centre, scale = Fraction(1, 3), Fraction(1000)
    with seeded(13):
        fast = rounded_affine(law, centre, scale, 200, -FAR, FAR)
    with seeded(13):
        drawn = words(200 * law.uniforms).reshape(200, law.uniforms)
    for row, unit in zip(drawn, fast, strict=True):
        assert unit == _exactly(law, centre, scale, [LazyUniform(int(w), 64) for w in row], -FAR, FAR)


@pytest.mark.parametrize("name", LAWS)
def test_extreme_words_are_settled(name: str) -> None:
    law = LAWS[name][0]
    ends = (0, 1, 1 << 62, 1 << 63, (1 << 64) - 1)
    for first in ends:
        for second in ends:
            uniforms = [LazyUniform(w, 64) for w in (first, second, second)[: law.uniforms]]
            assert -9 <= _exactly(law, Fraction(1, 2), Fraction(1), uniforms, -9, 9) <= 9


def test_clamped_at_both_ends() -> None:
    drawn = rounded_affine(StudentTLaw(Fraction(1)), Fraction(0), Fraction(10**30), 1000, -3, 5)
    assert set(drawn.tolist()) <= set(range(-3, 6))
    assert {-3, 5} <= set(drawn.tolist())
