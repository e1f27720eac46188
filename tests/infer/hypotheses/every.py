"""Every test with settings, a small data set of each kind, and an effect that is none: what suites run through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

import dalenius as dp
from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest

LEVELS = ("a", "b", "c")
NORMAL = stats.norm()
X = np.array([0.2, 0.9, 0.4, 0.4, 0.7, 0.1, 0.6, 0.3])
Y = np.array([0.5, 0.8, 0.4, 0.2, 0.9])
WORDS = ["a", "b", "c", "a", "a", "b", "a", "c"]

Make = Callable[..., HypothesisTest]

EVERY: dict[str, tuple[Make, tuple[Any, ...], dict[str, Any]]] = {
    "binomial": (lambda g, **k: dp.infer.BinomialTest(g, share=0.3, **k), ([1, 0, 1, 1],), {"share": 0.3}),
    "mean": (
        lambda g, **k: dp.infer.MeanTest(g, bounds=(0, 1), mean=0.5, **k),
        (X,),
        {"mean": 0.5, "deviation": 0.2},
    ),
    "two means": (
        lambda g, **k: dp.infer.TwoSampleMeanTest(g, bounds=(0, 1), **k),
        (X, Y),
        {"difference": 0.0, "deviation": 0.2},
    ),
    "fit": (
        lambda g, **k: dp.infer.GoodnessOfFitTest(g, levels=LEVELS, shares=(0.2, 0.3, 0.5), **k),
        (WORDS,),
        {"shares": (0.2, 0.3, 0.5)},
    ),
    "independence": (
        lambda g, **k: dp.infer.IndependenceTest(g, x_levels=LEVELS, y_levels=(0, 1), **k),
        (WORDS, [0, 1, 1, 0, 1, 0, 0, 1]),
        {"shares": np.outer((0.2, 0.3, 0.5), (0.4, 0.6))},
    ),
    "anova": (
        lambda g, **k: dp.infer.AnovaTest(g, bounds=(0, 1), levels=LEVELS, **k),
        (X, WORDS),
        {"means": (0.5, 0.5, 0.5), "deviation": 0.2},
    ),
    "distance": (
        lambda g, **k: dp.infer.KolmogorovSmirnovTest(g, cdf=NORMAL, **k),
        (X,),
        {"population": NORMAL},
    ),
    "two distances": (
        lambda g, **k: dp.infer.TwoSampleKolmogorovSmirnovTest(g, **k),
        (X, Y),
        {"first": NORMAL, "second": NORMAL},
    ),
    "Mann-Whitney": (
        lambda g, **k: dp.infer.MannWhitneyTest(g, **k),
        (X, Y),
        {"first": NORMAL, "second": NORMAL},
    ),
    "signed ranks": (lambda g, **k: dp.infer.SignedRankTest(g, **k), (X - 0.5,), {"population": NORMAL}),
    "Kruskal-Wallis": (
        lambda g, **k: dp.infer.KruskalWallisTest(g, levels=LEVELS, **k),
        (X, WORDS),
        {"populations": [NORMAL] * 3},
    ),
}
