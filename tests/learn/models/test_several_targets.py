"""One promise for the models of several targets: what they cost together, and what one record moves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import dalenius as dp
from dalenius import learn
from dalenius.errors import InvalidParameter
from dalenius.learn.methods import noisy_statistics
from dalenius.learn.models.several_targets import fit_linear, of_each
from dalenius.mechanisms import AnalyzeGauss, Gaussian
from tests.noise.seeded import seeded

PROMISES = (
    dp.ApproxDP(1.0, 1e-5),
    dp.ApproxDP(4.0, 1e-3),
    dp.ZCDP(0.1),
    dp.GDP(0.5),
    dp.PureDP(1.0),
    dp.ApproxDP(1.0, 0.0),
    dp.RDP(8.0, 0.5),
)


@pytest.mark.parametrize("number", [2, 7])
@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_all_fits_together_keep_the_promise(promise: Any, number: int) -> None:
    """And leave little of it; the whole promise for each would not."""
    model = learn.LogisticRegression(promise, row_norm=2.0)
    each, loss = of_each(model, number)
    total = sum([clone(each).price() for _ in range(number - 1)], each.price())
    assert promise.holds(total)
    assert promise.holds(loss)
    assert not promise.holds(model.price() * number)
    assert each.get_params() == model.get_params() | {"guarantee": each.guarantee}
    # A little more for each would be too much.
    more = clone(each).set_params(guarantee=each.guarantee.divided(1 / 1.05))
    assert not promise.holds(more.price() * number)
    if isinstance(promise, dp.ApproxDP) and promise.delta:
        assert each.guarantee.epsilon > 1.2 * promise.epsilon / number  # better than dividing


def test_any_model_can_be_divided() -> None:
    for model in (
        learn.PoissonRegression(dp.ApproxDP(1.0, 1e-5)),
        learn.OneVsRest(dp.GDP(0.5)),
        learn.MultinomialRegression(dp.PureDP(0.5)),
        learn.PosteriorSampleRegression(dp.ApproxDP(1.0, 1e-5)),
        learn.PrivateSearch(learn.LogisticRegression(dp.GDP(1.0)), [{"row_norm": 2.0}], dp.GDP(0.5)),
    ):
        each, loss = of_each(model, 3)
        assert model.guarantee.holds(loss)
        assert model.guarantee.holds(each.price() * 3)
    with pytest.raises(InvalidParameter, match="cannot be divided"):
        of_each(learn.LogisticRegression(dp.TradeOff(lambda a: max(0.0, 0.9 - a))), 2)
    with pytest.raises(InvalidParameter, match="promise"):
        of_each(learn.LogisticRegression(1.0), 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [2, 5])
def test_one_gram_for_all(number: int) -> None:
    """The noise of X^T X is that of one target alone; that of each X^T y is sqrt(number) times as large."""
    model = learn.LinearRegression(dp.GDP(0.5), share=0.3)
    each, loss = of_each(model, number)
    assert loss.gdp() == pytest.approx(0.5, rel=1e-6)
    assert dp.GDP(0.5).holds(loss)
    (gram, product), (own_gram, own_product) = model._plan().noise(4), each._plan().noise(4)
    assert own_gram == pytest.approx(gram, rel=1e-8)
    assert own_product == pytest.approx(product * math.sqrt(number), rel=1e-8)
    alone = math.sqrt(number) * gram  # with a matrix for each, and the promise divided
    assert own_gram < 0.75 * alone


@pytest.mark.parametrize("number", [2, 5])
def test_one_record_moves_what_the_noise_is_for(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst record has norm 1 and all its targets at a bound: it moves by the sensitivity, and by no more."""
    seen: list[tuple[Any, Any]] = []
    for kind in (AnalyzeGauss, Gaussian):
        monkeypatch.setattr(
            kind, "release", lambda self, value: seen.append((self, value)) or value.astype(float)
        )
    model = learn.LinearRegression(dp.GDP(0.5), intercept_scale=0.0)
    each = [
        clone(of_each(model, number)[0]).set_params(target_bounds=(0, 10 * (n + 1))) for n in range(number)
    ]
    rest = np.array([[0.1, 0.2], [0.3, -0.4]]), np.ones((2, number))
    worst = np.array([[0.6, 0.8]]), np.array([[10.0 * (n + 1) if n % 2 else 0.0 for n in range(number)]])
    there = np.vstack((rest[0], worst[0])), np.vstack((rest[1], worst[1]))
    for data in (rest, there):
        fit_linear(model, each, lambda data=data: [data], 2)  # type: ignore[misc]
    grams, products = seen[::2], seen[1::2]
    for (mechanism, before), (_, after) in (grams, products):
        moved = math.sqrt(sum(float(x) ** 2 for x in (after - before).ravel()))
        assert 0.999 < moved / mechanism.sensitivity <= 1.0


def test_fits_are_those_of_one_target_each() -> None:
    """With hardly any noise; bounds differ from target to target. A row that lacks a target is absent in all."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-0.5, 0.5, size=(4000, 2))
    targets = np.column_stack((10 + 4 * x[:, 0], -300 * x[:, 1]))
    bounds = [(7.0, 13.0), (-200.0, 200.0)]
    model = learn.LinearRegression(dp.GDP(50.0))
    spoiled = np.vstack((x, x[:2] + 0.3)), np.vstack((targets, [[np.nan, 9.0], [9.0, np.inf]]))
    for data in ((x, targets), spoiled):
        each = [clone(of_each(model, 2)[0]).set_params(target_bounds=pair) for pair in bounds]
        halves = [(data[0][:999], data[1][:999]), (data[0][999:], data[1][999:])]
        fitted = fit_linear(model, each, lambda halves=halves: halves, 2)  # type: ignore[misc]
        for n, one in enumerate(fitted):
            assert one.score(x, targets[:, n]) > 0.999
            assert one.loss_ == one.price()
    with seeded(4):
        first = fit_linear(model, each, lambda: [(x, targets)], 2)
    with seeded(4):
        other = fit_linear(model, each, lambda: [(x[:7], targets[:7]), (x[7:], targets[7:])], 2)
    assert np.array_equal(first[1].coef_, other[1].coef_)  # added exactly


def test_noise_has_its_law() -> None:
    """The spread of what is released of X^T y, from no rows at all: the right scale, and not one 15 % off."""
    plan = noisy_statistics.NoisyStatistics(0.5, 1.0, 0.5, targets=3)
    from dalenius.learn.data.rows import Records

    nothing = Records(np.empty((0, 2)), np.empty(0), 0.0, np.empty((0, 3)))
    with seeded(9):
        drawn = np.array([plan.release(nothing)[1].ravel() for _ in range(700)])
    assert drawn.shape == (700, 6)
    ratio = drawn.std() / (math.sqrt(3) / (0.5 * math.sqrt(0.5)))
    assert abs(ratio - 1) < 0.06
