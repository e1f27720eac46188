"""What holds for every test: what it costs, what it refuses, what it never does, and the size of its p-values.

False alarms: simulations have fixed random numbers, so a test fails always or never.
"""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, Philox

import dalenius as dp
from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.infer.hypotheses import parts
from dalenius.intervals.laws import Law
from tests.infer.hypotheses.every import EVERY, LEVELS, WORDS, X, Y
from tests.noise.seeded import seeded
from tests.sample import paired

PROMISES = [
    dp.PureDP(0.7),
    dp.ApproxDP(0.7, 1e-5),
    dp.GDP(0.7),
    dp.ZCDP(0.2),
    dp.RDP(8.0, 1.0),
]


@pytest.mark.parametrize(
    ("name", "adjacency", "promise"),
    paired(list(EVERY), [dp.ADD_REMOVE, dp.REPLACE_ONE], PROMISES),
    ids=str,
)
def test_the_loss_keeps_the_promise_and_leaves_little(name: str, adjacency: Any, promise: Any) -> None:
    make, data, _ = EVERY[name]
    test = make(promise, adjacency=adjacency)
    assert promise.holds(test.loss)
    assert test.loss.adjacency is adjacency
    if not isinstance(promise, dp.RDP):
        less = promise.of_size(promise.size * 0.97)
        assert not less.holds(test.loss)
    found = test.run(*data)
    assert 0 <= found.pvalue <= 1
    assert math.isfinite(found.statistic)
    assert found.loss is test.loss
    assert test.method in found.summary()
    assert "p value" in found._repr_html_()
    assert dp.infer.TestResult.from_json(found.to_json()).to_json() == found.to_json()


@pytest.mark.parametrize("name", EVERY)
def test_judging_is_post_processing(name: str) -> None:
    """The same released numbers give the same p-value, to the last bit."""
    make, data, _ = EVERY[name]
    test = make(dp.GDP(1.0))
    released = test.release(*data)
    assert test.judge(released).to_json() == test.judge(released).to_json()


NASTY = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, None, "text", object()]


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
@pytest.mark.parametrize("name", EVERY)
def test_no_row_can_make_it_fail(name: str, adjacency: Any) -> None:
    make, data, _ = EVERY[name]
    test = make(dp.GDP(1.0), adjacency=adjacency)
    for k in range(len(data)):
        for rows in (NASTY, [*data[k], *NASTY], []):
            changed = [list(column) for column in data]
            changed[k] = list(rows)
            if name in ("independence", "anova", "Kruskal-Wallis"):
                other = 1 - k
                changed[other] = (changed[other] * 9)[: len(rows)]
            assert 0 <= test.run(*changed).pvalue <= 1


SIZES = {"fit": 60, "independence": 60}


def rejected(name: str, promise: Any, adjacency: Any, replicates: int = 2000, factor: float = 1.0) -> float:
    make, _, effect = EVERY[name]
    test = make(promise, adjacency=adjacency)
    generator = Generator(Philox(key=7))
    with seeded(5):
        p = test.simulated_pvalues(SIZES.get(name, 90), replicates, generator, True, **effect)
    return float(np.mean(p <= 0.05))


@pytest.mark.parametrize(
    ("promise", "adjacency"),
    [(dp.GDP(0.5), dp.REPLACE_ONE), (dp.PureDP(1.0), dp.ADD_REMOVE)],
    ids=["gdp", "pure"],
)
@pytest.mark.parametrize("name", EVERY)
def test_size(name: str, promise: Any, adjacency: Any) -> None:
    """At most 5 %, beyond four standard errors."""
    number = {"binomial": 40, "two distances": 300, "distance": 600}.get(name, 2000)
    assert rejected(name, promise, adjacency, number) <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / number)


NOISE_RULES = ("mean", "fit", "anova", "distance", "Mann-Whitney", "signed ranks", "Kruskal-Wallis")


@pytest.mark.parametrize("name", NOISE_RULES)
def test_noise_that_is_larger_than_it_is_taken_for_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where noise is most of the statistic, 30 % more of it than the p-value knows is seen in the size."""
    promise, adjacency = dp.GDP(0.15), dp.REPLACE_ONE
    assert rejected(name, promise, adjacency, 1500) <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 1500)
    right = parts.drawn

    def wide(law: Law, generator: Generator, shape: tuple[int, ...]) -> Any:
        return right(dataclasses.replace(law, sigma=1.3 * law.sigma), generator, shape)

    from dalenius.infer.hypotheses import anova, chi_square, kolmogorov_smirnov, means, ranks

    make, _, effect = EVERY[name]
    test = make(promise, adjacency=adjacency)
    for module in (means, ranks, kolmogorov_smirnov):
        monkeypatch.setattr(module, "drawn", wide)
    if name in (
        "fit",
        "anova",
        "Kruskal-Wallis",
    ):  # their reference law is simulated: only the data may be wider
        count = [0]

        def first(law: Law, generator: Generator, shape: tuple[int, ...]) -> Any:
            count[0] += 1
            limit = {"fit": 1, "anova": 3, "Kruskal-Wallis": 2}[name]
            return (wide if count[0] <= limit else right)(law, generator, shape)

        for module in (chi_square, anova, ranks):
            monkeypatch.setattr(module, "drawn", first)
    p = test.simulated_pvalues(SIZES.get(name, 90), 1500, Generator(Philox(key=7)), True, **effect)
    assert np.mean(p <= 0.05) > 0.05 + 4 * math.sqrt(0.05 * 0.95 / 1500)


@pytest.mark.parametrize("odd", [None, 5, "x", [], math.nan, object()])
def test_odd_settings_are_errors_of_ours(odd: Any) -> None:
    infer, promise = dp.infer, dp.GDP(1.0)
    calls = [
        lambda: infer.BinomialTest(promise, share=odd if odd != 5 else 5),
        lambda: infer.BinomialTest(odd),
        lambda: infer.BinomialTest(promise, adjacency=odd),
        lambda: infer.BinomialTest(promise, alternative=odd),
        lambda: infer.MeanTest(promise, bounds=odd, mean=0.5),
        lambda: infer.MeanTest(promise, bounds=(0, 1), mean=odd),
        lambda: infer.GoodnessOfFitTest(promise, levels=odd),
        lambda: infer.GoodnessOfFitTest(promise, levels=LEVELS, shares=odd if odd is not None else "x"),
        lambda: infer.AnovaTest(promise, bounds=(0, 1), levels=odd),
        lambda: infer.KolmogorovSmirnovTest(promise, cdf=odd),
        lambda: infer.mann_whitney_test(odd if not isinstance(odd, list) else None, Y, promise),
        lambda: infer.anova(X, WORDS[:-1], promise, bounds=(0, 1), levels=LEVELS),
        lambda: infer.independence_from_counts(odd, parts.Normal(1.0)),
        lambda: infer.goodness_of_fit_from_counts(odd, parts.Normal(1.0)),
        lambda: infer.power(odd, 10),
        lambda: infer.power(infer.MannWhitneyTest(promise), 10, first=odd, second=odd),
        lambda: infer.power(infer.MannWhitneyTest(promise), 10, other=odd),
        lambda: infer.TestResult.from_json(odd),
    ]
    for call in calls:
        with pytest.raises(DaleniusError):
            call()


def test_a_function_that_fails_on_one_row_changes_no_other() -> None:
    def picky(x: Any) -> Any:
        if (x == 0.5).any():
            raise ZeroDivisionError
        return x

    test = dp.infer.KolmogorovSmirnovTest(dp.GDP(1.0), cdf=picky)
    without, with_it = test._placed(np.array([0.2, 0.7])), test._placed(np.array([0.2, 0.5, 0.7]))
    assert with_it[[0, 2]].tolist() == without.tolist()
    assert with_it[1] == 0


@pytest.mark.parametrize("kind", [dp.infer.MeanTest, dp.infer.TwoSampleMeanTest, dp.infer.AnovaTest])
def test_bounds_have_no_default(kind: Any) -> None:
    # With one, values of another magnitude would all be cut off at it, and the test would say nothing.
    test = kind(dp.GDP(1.0), **({"levels": ("a", "b")} if kind is dp.infer.AnovaTest else {}))
    for look in (test.run, test.release, pickle.loads(pickle.dumps(test)).run):
        with pytest.raises(InvalidParameter, match="needs bounds"):
            look([1.0, 2.0], ["a", "b"])
