"""Who is in the data: from means, from models.

False-alarm rates are at most 1e-9 for each test of a claim; attacks on exact releases have margins of more than six
standard deviations.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import dalenius as dp
from dalenius.audit.attacks import Membership, likelihood_ratio, loss_threshold, random_bits, tracing
from dalenius.core.arrays import Array
from dalenius.errors import InvalidParameter

SURE = 1e-9


class TestMembership:
    def test_normal_scores(self) -> None:
        """Power 1 - Phi(z - mu) at every level, and a mu of 1.6 is not 1."""
        random = np.random.default_rng(0)
        inside = random.random(40_000) < 0.5
        found = Membership(random.normal(size=40_000) + 1.6 * inside, inside, independent=True)
        for level in (0.01, 0.05, 0.5):
            power = float(ndtr(1.6 + ndtri(level)))
            assert abs(found.power(level) - power) < 0.03
            low, high = found.interval(level, 1 - 1e-6)
            assert low < found.power(level) < high
            assert found.allowed(dp.GDP(1.6), level) == pytest.approx(power, abs=1e-6)
        assert not found.contradicts(dp.GDP(1.6), SURE)
        assert found.contradicts(dp.GDP(1.0), SURE)
        assert abs(found.advantage - (2 * ndtr(0.8) - 1)) < 0.03

    def test_one_release(self) -> None:
        """Right about all of 64 coins: no small loss allows it; a large one does."""
        inside = random_bits(64)
        found = Membership(inside.astype(float), inside)
        assert found.guesses().right == 64 - abs(int(inside.sum()) - 32)  # half of them are called members
        assert found.contradicts(dp.PureDP(0.1), 1e-3)
        assert not found.contradicts(dp.PureDP(20.0), 1e-3)
        with pytest.raises(InvalidParameter, match="independent"):
            found.audit()

    def test_curve_has_ties(self) -> None:
        found = Membership([1, 1, 0, 0], [1, 0, 1, 0])
        alarms, hits = found.curve
        assert (alarms.tolist(), hits.tolist()) == ([0.0, 0.5, 1.0], [0.0, 0.5, 1.0])
        assert found.power(0.0) == 0.0

    @pytest.mark.parametrize(
        ("scores", "inside"), [([], []), ([np.nan], [1]), ([1.0], [2]), ([1.0], [1, 0]), (["a"], [1])]
    )
    def test_odd_input(self, scores: object, inside: object) -> None:
        with pytest.raises(InvalidParameter):
            Membership(scores, inside)

    def test_one_kind_alone(self) -> None:
        with pytest.raises(InvalidParameter, match="some of each"):
            Membership([1.0, 2.0], [1, 1]).power(0.1)

    def test_words_and_picture(self, tmp_path: object) -> None:
        random = np.random.default_rng(1)
        inside = random.random(500) < 0.5
        found = Membership(random.normal(size=500) + inside, inside, "tracing", independent=True)
        words = found.explain(dp.GDP(2.0))
        assert words.startswith("Tracing that accuses 1% of the others")
        assert words.endswith("The claim is not contradicted.")
        found.plot(f"{tmp_path}/power.png", dp.GDP(2.0))
        assert "500 candidates" in repr(Membership(found.scores))


class TestTracing:
    PEOPLE, ATTRIBUTES = 30, 400

    def trial(self, noise: dp.mechanisms.Mechanism, inside: Array) -> Membership:
        """In each of many surveys one person more, by a coin: sums of 0 and 1, released, and that person's score."""
        random = np.random.default_rng(11)
        q = random.uniform(0.1, 0.9, self.ATTRIBUTES)
        target = random.random((len(inside), self.ATTRIBUTES)) < q
        sums = random.binomial(self.PEOPLE, q, target.shape) + target * inside[:, None]
        means = noise.release(sums) / self.PEOPLE
        scores = [tracing(m, t, q).scores[0] for m, t in zip(means, target, strict=True)]
        return Membership(scores, inside, "tracing", independent=True)

    def mechanism(self, mu: float) -> dp.mechanisms.Mechanism:
        sensitivity = self.ATTRIBUTES**0.5
        return dp.mechanisms.DiscreteGaussian(sensitivity=sensitivity, sigma=sensitivity / mu)

    @pytest.mark.parametrize("statistic", ["product", "distance", "likelihood"])
    def test_exact_means_name_their_members(self, statistic: str) -> None:
        random = np.random.default_rng(2)
        q = random.uniform(0.1, 0.9, 2000)
        people = random.random((200, 2000)) < q
        inside = np.arange(200) < 50
        found = tracing(people[inside].mean(axis=0), people, q, inside, statistic)  # type: ignore[arg-type]
        assert found.power(0.01) > 0.95
        others = random.random((2000, 2000)) < q
        assert tracing(people[inside].mean(axis=0), people, others, inside).power(0.01) > 0.9

    def test_private_means_keep_them(self) -> None:
        inside = random_bits(1200)
        found = self.trial(self.mechanism(1.0), inside)
        claim = self.mechanism(1.0).loss
        assert not found.contradicts(claim, SURE)
        assert found.interval(0.1, 1 - SURE)[0] <= found.allowed(claim, 0.1)

    def test_noise_for_one_attribute_is_caught(self) -> None:
        """The bug: sensitivity 1 where a person moves 400 sums."""
        inside = random_bits(1200)
        broken = dp.mechanisms.DiscreteGaussian(sensitivity=1, sigma=1.0)
        assert self.trial(broken, inside).contradicts(self.mechanism(1.0).loss, SURE)

    def test_odd_shapes(self) -> None:
        with pytest.raises(InvalidParameter, match="shape"):
            tracing([0.5, 0.5], [[1, 0, 1]], [0.5, 0.5])
        with pytest.raises(InvalidParameter, match="finite"):
            tracing([np.inf], [[1]], [0.5])


def squares(X: Array, y: Array) -> object:
    """Least squares through every point that it can: nearly as many features as rows."""
    weights = np.linalg.lstsq(X, y, rcond=None)[0]
    return lambda A, b: -((b - A @ weights) ** 2)


class TestFittedModels:
    @staticmethod
    def data(n: int, d: int, seed: int) -> tuple[Array, Array, Array]:
        random = np.random.default_rng(seed)
        X = random.normal(size=(n, d))
        return X, X @ random.normal(size=d) + random.normal(size=n), random.random(n) < 0.5

    def test_a_model_that_fits_too_well(self) -> None:
        X, y, inside = self.data(400, 150, 3)
        fit = squares(X[inside], y[inside])
        threshold = loss_threshold(fit, X, y, inside)
        ratio = likelihood_ratio(fit, X, y, squares, inside, shadows=32)
        assert threshold.advantage > 0.25
        assert ratio.advantage > 0.25
        assert ratio.contradicts(dp.PureDP(0.01), 1e-3)

    def test_a_private_model(self) -> None:
        """The sum of those inside, each of norm 1, with noise: mu = 1, whatever the attack."""
        random = np.random.default_rng(4)
        X = random.normal(size=(40, 300))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = np.zeros(40)
        noise = dp.mechanisms.Gaussian(sensitivity=1, sigma=1.0)

        def centre(A: Array, b: Array) -> object:
            middle = noise.release(A.sum(axis=0))
            return lambda A, b: A @ middle

        inside = np.asarray(random_bits(40))
        fit = centre(X[inside], y)
        for found in (
            loss_threshold(fit, X, y, inside),
            likelihood_ratio(fit, X, y, centre, inside, shadows=16),
        ):
            assert not found.contradicts(noise.loss, SURE)

    def test_odd_fits(self) -> None:
        with pytest.raises(InvalidParameter, match="finite number for each row"):
            loss_threshold(lambda X, y: [1.0], None, np.zeros(3))
        with pytest.raises(InvalidParameter, match="shadows"):
            likelihood_ratio(lambda X, y: np.zeros(3), np.zeros((3, 1)), np.zeros(3), squares, shadows=2)
