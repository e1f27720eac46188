"""Noisy gradient descent and the exact sums under it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn.data.rows import Records, records
from dalenius.learn.methods.descent import NoisyDescent, descent_loss, samples
from dalenius.learn.numerics.exact_sums import ExactSums
from dalenius.sums.curves import HuberHinge, Logistic
from dalenius.sums.grids import on_grid
from tests.noise.seeded import seeded

CONFIDENCE = 1 - 1e-9


def some(rows: int = 3000, columns: int = 4, constant: float = 0.3) -> Records:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns))
    y = (x[:, 0] > 0).astype(float)
    return records(x, y, np.ones(rows, dtype=bool), 1.0, "clip", constant)


def sums(data: Records, theta: np.ndarray, chosen: Any = None, whole: bool = True) -> np.ndarray:
    """The sum in units, with the noise taken away again."""
    found = ExactSums(data, Logistic(), np.hypot(1, data.constant) * (1 + 1e-12), 1.0, 1, whole)
    found.noise = iter(np.zeros((1, data.size), dtype=np.int64))
    return found.noisy_gradient(on_grid(theta), chosen) / found.unit


def test_sums_do_not_depend_on_the_order() -> None:
    data = some(40_000)
    order = np.random.default_rng(1).permutation(len(data))
    mixed = Records(data.features[order], data.scale[order], data.constant, data.labels[order])
    theta = np.array([0.3, -1.7, 2.2, 0.1, 0.77])
    np.testing.assert_array_equal(sums(data, theta), sums(mixed, theta))
    np.testing.assert_array_equal(sums(data, theta), sums(data, theta, whole=False))
    np.testing.assert_array_equal(sums(data, theta), sums(data, theta, np.arange(len(data)), whole=False))


def test_sums_are_whole_numbers_close_to_the_gradient() -> None:
    data, theta = some(), np.array([0.3, -1.7, 2.2, 0.1, 0.77])
    found = sums(data, theta)
    assert (found == np.rint(found)).all()
    rows = data.rows() / np.hypot(1, 0.3)  # rows of norm 1 at most
    unit = ExactSums(data, Logistic(), np.hypot(1, 0.3), 1.0, 1, True).unit
    true = Logistic().slope(rows @ theta, data.labels) @ rows
    np.testing.assert_allclose(found * unit, true, atol=len(data) * 2.0**-16)


def test_sums_of_products_are_exact() -> None:
    data = some(9000)
    found = ExactSums(data, Logistic(), np.hypot(1, 0.3), 1.0, 1, True)
    rows = np.concatenate([rows.copy() for rows, _ in found.blocks.of()]).astype(np.int64).astype(object)
    np.testing.assert_array_equal(found.gram(), rows.T @ rows)


def test_one_record_moves_the_sum_by_no_more_than_its_bound() -> None:
    data, theta = some(500), np.array([0.3, -1.7, 2.2, 0.1, 0.77])
    everyone = sums(data, theta)
    limit = 1 + 2.0**-17 * (1 + np.sqrt(5))
    unit = ExactSums(data, Logistic(), np.hypot(1, 0.3) * (1 + 1e-12), 1.0, 1, True).unit
    for i in range(20):
        keep = np.arange(len(data)) != i
        without = sums(
            Records(data.features[keep], data.scale[keep], data.constant, data.labels[keep]), theta
        )
        assert np.linalg.norm(everyone - without) * unit <= limit


def test_noise_has_its_scale() -> None:
    """A chi-square statistic of 4000 numbers; accepts the right scale at level 1e-9, rejects one off by 15 %."""
    data = some(10)
    with seeded(4):
        noise = np.array(list(ExactSums(data, Logistic(), 1.1, 3.0, 800, True).noise), dtype=float)
    one = ExactSums(data, Logistic(), 1.1, 3.0, 1, True)
    size = noise * one.unit / one.shift / 3.0
    assert 0.87 < np.mean(size**2) < 1.14
    assert not 0.87 < np.mean((0.85 * size) ** 2) < 1.14


def test_loss_is_what_runs() -> None:
    plan = NoisyDescent.calibrated(dp.ApproxDP(1.0, 1e-5), 1.0, steps=50, rate=0.05)
    assert plan.loss == dp.losses.poisson_sampled(dp.losses.gaussian(plan.noise_multiplier), 0.05) * 50
    assert 0.999 < plan.loss.epsilon(1e-5) <= 1.0 + 1e-9
    full = NoisyDescent.calibrated(dp.GDP(0.5), 1.0, steps=50)
    assert 0.499 < full.loss.gdp() <= 0.5 + 1e-9
    assert descent_loss(2.0, 1.0, 4).gdp() == pytest.approx(1.0)


@pytest.mark.parametrize("optimiser", ["adam", "momentum"])
@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_learns(optimiser: Any, rate: float) -> None:
    data = some(20_000, constant=0.0)
    plan = NoisyDescent.calibrated(
        dp.ApproxDP(1.0, 1e-5),
        1.0,
        steps=60,
        rate=rate,
        optimiser=optimiser,
        learning_rate=0.3 if optimiser == "adam" else 2.0 / 20_000 / rate,
    )
    with seeded(3):
        theta = plan.fit(data, Logistic())
    assert np.mean((data.scores(theta) > 0) == data.labels) > 0.93


@pytest.mark.parametrize("optimiser", ["adam", "momentum"])
@pytest.mark.parametrize("factor", [0.001, 1 / 3, 1000.0])
def test_units_of_the_data_do_not_matter(optimiser: Any, factor: float) -> None:
    """The same bits give the same model, but for the last digits; a learning rate in the units of X would not."""
    data = some()
    other = Records(data.features, data.scale * factor, data.constant * factor, data.labels)
    found = []
    for records_, scale in ((data, 1.0), (other, factor)):
        plan = NoisyDescent(
            20, 0.5, 1.0, scale * 1.1, optimiser=optimiser, learning_rate=0.01, ridge=scale**2
        )
        with seeded(1):
            found.append(plan.fit(records_, Logistic()) * scale)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)
    assert np.abs(found[0]).min() > 1e-3


def test_every_number_is_rounded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are (there was a size from which on they were rounded anew in every step), and the blocks
    that are looked at are as many as the rows need."""
    rounded, looked = [], []
    rows, block = Records.rows, ExactSums._block
    monkeypatch.setattr(
        Records, "rows", lambda self, part, *more: rounded.append(part) or rows(self, part, *more)
    )
    monkeypatch.setattr(ExactSums, "_block", lambda self, *more: looked.append(1) or block(self, *more))
    steps = 3
    work = []
    for n in (600_000, 1_200_000):  # below and above 2^24 numbers
        x = np.zeros((n, 20))
        data = Records(x, np.ones(n), 0.0, np.zeros(n))
        NoisyDescent(steps, 1.0, 1.0, 1.0).fit(data, Logistic())
        work.append((len(rounded), len(looked)))
        rounded.clear(), looked.clear()
    (first, seen), (second, seen_twice) = work
    assert 1.9 < second / first < 2.1
    assert 1.9 < seen_twice / seen < 2.1
    assert first == seen / steps


def test_audit_stays_within_the_claim() -> None:
    """One step on one record, or on none: the release with the most to see."""
    plan = NoisyDescent(1, 1.0, 1.0, 1.0, learning_rate=1.0, optimiser="momentum", momentum=0.0)
    one = records(np.array([[1.0]]), np.array([1.0]), np.array([True]), 1.0, "clip")
    none = records(np.empty((0, 1)), np.empty(0), np.empty(0, dtype=bool), 1.0, "clip")
    with seeded(7):
        found = dp.audit.lower_bound(
            lambda data: plan.fit(data, HuberHinge(0.5)),
            pair=(one, none),
            trials=3000,
            delta=1e-2,
            confidence=CONFIDENCE,
        )
    assert 0.5 < found.epsilon <= plan.loss.epsilon(1e-2)


def test_bad_parameters() -> None:
    good = {"steps": 10, "rate": 0.5, "noise_multiplier": 1.0, "gradient_bound": 1.0}
    for change in (
        {"steps": 0},
        {"rate": 0.0},
        {"rate": 1.5},
        {"noise_multiplier": 0.0},
        {"gradient_bound": -1.0},
        {"optimiser": "sgd"},
        {"momentum": 1.0},
        {"learning_rate": 0.0},
        {"ridge": -1.0},
    ):
        with pytest.raises(InvalidParameter):
            NoisyDescent(**{**good, **change})


def test_samples_are_poisson_samples() -> None:
    """Sizes and memberships of 400 samples of 50 rows at rate 0.3; level 1e-9 by six standard errors."""
    with seeded(5):
        drawn = list(samples(50, 0.3, 400))
    assert len(drawn) == 400
    member = np.zeros((400, 50))
    for step, rows in enumerate(drawn):
        assert (np.diff(rows) > 0).all()
        member[step, rows] = 1
    spread = np.sqrt(0.3 * 0.7)
    assert abs(member.mean() - 0.3) < 6 * spread / np.sqrt(member.size)
    assert abs(member.mean(axis=0) - 0.3).max() < 7 * spread / np.sqrt(400)
    assert abs(np.var(member.sum(axis=1)) / (50 * 0.3 * 0.7) - 1) < 7 * np.sqrt(2 / 400)  # not a fixed size
    assert abs(np.corrcoef(member[:-1].ravel(), member[1:].ravel())[0, 1]) < 6 / np.sqrt(member.size)
    assert [s is None for s in samples(50, 1.0, 3)] == [True] * 3
