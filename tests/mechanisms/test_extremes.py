"""Parameters at the ends of what floats hold: a mechanism works, or refuses in its own words."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import dalenius as dp
from dalenius import mechanisms as m
from dalenius.errors import InvalidParameter

NUMBERS = [5e-324, 1e-300, 1.0, 1e300, 1.7e308]
SCORES = [0.0, 1e308, -1e308]
PAIRS = list(itertools.product(NUMBERS, NUMBERS))

SPARSE: list[dict[str, Any]] = [
    {},
    {"answer_share": 5e-324},
    {"answer_share": 0.5},
    {"fresh_threshold": True},
    {"count": 10**299},
    {"count": 3, "answer_share": 0.5, "fresh_threshold": True},
]
INTERVALS: list[Callable[[float], tuple[float, float]]] = [
    lambda s: (0, s),
    lambda s: (-s, s),
    lambda s: (0, 1),
]


def sparse(epsilon: float, s: float, **options: Any) -> None:
    mechanism = m.SparseVector(sensitivity=s, epsilon=epsilon, **({"count": 2} | options))
    mechanism.release(SCORES)
    mechanism.start(1e308).ask(-1e308)
    assert mechanism.accuracy(0.95, 3) > 0


def quantiles(kind: Any, epsilon: float, **options: Any) -> None:
    mechanism = kind(epsilon=epsilon, **options)
    mechanism.release([*options["bounds"], 0.0])
    mechanism.releases([0.0], 2)
    assert mechanism.accuracy(0.95) >= 0


def additive(kind: Any, s: float, noise: float) -> None:
    mechanism = kind(sensitivity=s, **{kind._size: noise})
    mechanism.release(
        [[7]] if kind in (m.AnalyzeGauss, m.Geometric, m.DiscreteGaussian, m.Skellam) else [1e308]
    )
    assert mechanism.accuracy() >= 0


def chosen(kind: Any, epsilon: float, s: float) -> None:
    mechanism = kind(sensitivity=s, epsilon=epsilon)
    mechanism.release(SCORES)
    assert mechanism.accuracy() >= 0


def lies(epsilon: float) -> None:
    mechanism = m.RandomizedResponse(epsilon=epsilon)
    mechanism.release([0, 1])
    assert mechanism.accuracy() >= 0


CASES: dict[str, Callable[[float, float], Any]] = {
    **{f"SparseVector {o}": lambda e, s, o=o: sparse(e, s, **o) for o in SPARSE},
    **{
        f"{kind.__name__} {i} {g}": lambda e, s, kind=kind, i=i, g=g: quantiles(
            kind,
            e,
            bounds=INTERVALS[i](s),
            granularity=g,
            **({"levels": (0.2, 0.5)} if kind is m.Quantiles else {}),
        )
        for kind in (m.Quantile, m.Quantiles)
        for i in range(len(INTERVALS))
        for g in (None, 5e-324, 1e308)
    },
    **{
        kind.__name__: lambda e, s, kind=kind: additive(kind, s, e)
        for kind in (
            m.Laplace,
            m.Gaussian,
            m.KNorm,
            m.AnalyzeGauss,
            m.Geometric,
            m.DiscreteGaussian,
            m.Skellam,
        )
    },
    **{
        kind.__name__: lambda e, s, kind=kind: chosen(kind, e, s)
        for kind in (m.AboveThreshold, m.Exponential, m.PermuteAndFlip, m.ReportNoisyMax)
    },
    "Tulap": lambda e, s: m.Tulap(sensitivity=s, epsilon=e).accuracy(),
    "Staircase": lambda e, s: m.Staircase(sensitivity=s, epsilon=e).accuracy(),
    "CanonicalNoise": lambda e, s: m.CanonicalNoise(sensitivity=s, guarantee=dp.GDP(1.0)).release(e),
    "RandomizedResponse": lambda e, s: lies(e),
}


@pytest.mark.parametrize("case", CASES)
def test_works_or_is_refused(case: str) -> None:
    for epsilon, s in PAIRS:
        with warnings.catch_warnings(), contextlib.suppress(InvalidParameter):
            warnings.simplefilter("ignore")
            CASES[case](epsilon, s)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [({"epsilon": 5e-324}, "epsilon"), ({"epsilon": 1.0, "answer_share": 5e-324}, "answer_share")],
)
def test_too_much_noise_names_the_parameter(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{parameter}") as refused:
        m.SparseVector(sensitivity=1, count=2, **options)
    assert refused.value.parameter == parameter
    with pytest.raises(InvalidParameter, match=r"^epsilon"):
        m.Quantiles(levels=(0.2, 0.5), bounds=(0, 1), epsilon=5e-324)
