"""Over all data sets of up to six records on a tiny domain, exact laws of releases keep the stated loss.

For every pair of neighbours, in both orders and at every epsilon tried: not only at the corner (epsilon, delta). The
parameters are such that release and refusal both happen with a probability above 1e-3. The printed versions that are
wrong are run through the same comparison, and must fail it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive.ptr import (
    BoundTest,
    DataDependent,
    DistanceTest,
    LocalInterquartileRange,
    LocalMedian,
    LocalRegressionScale,
    NoisyMax,
    NoisyUpperBound,
    ProposeTestRelease,
    Refusal,
    Stable,
    StableMode,
    StableScale,
    StableValue,
)
from dalenius.adaptive.ptr.distance_test import FAR
from dalenius.adaptive.ptr.noisy_max import data_dependent_epsilon, loss_profile
from dalenius.calculus.loss import Loss
from dalenius.mechanisms import Neighbours
from dalenius.noise import bernoulli, noisy_argmax
from tests.adaptive.ptr.laws import (
    Law,
    first_wins,
    geometric_tail,
    hockey_stick,
    law,
    pass_probability,
    renyi,
    worst_profile,
)
from tests.adaptive.ptr.small_data import Data, data_sets, neighbours

BOTH = (dp.ADD_REMOVE, dp.REPLACE_ONE)
EPSILONS = (0.0, 0.2, 0.5, 0.9, 1.0, 1.3, 1.7, 1.9, 2.0, 2.5)
TEST = {"epsilon": 1.0, "wrong_pass": 0.05}


def pairs(domain: Any, adjacency: dp.Adjacency, most: int = 6) -> Iterator[tuple[Data, Data]]:
    """All ordered pairs of neighbours with at most so many records."""
    for x in data_sets(domain, range(most + 1)):
        for y in neighbours(x, domain, adjacency):
            if len(y) <= most:
                yield x, y


def counts(x: Data, cells: int) -> list[int]:
    return [x.count(v) for v in range(cells)]


def column(x: Data) -> Any:
    """Records (x, y) with y = 2 x + the number, so that the number is the error about the slope 2."""
    rows = np.arange(len(x), dtype=float)[:, None]
    return rows, 2 * rows[:, 0] + np.array(x, dtype=float)


@dataclass(frozen=True)
class Instance:
    """A release, the domain of the records, and how a data set becomes what the release takes."""

    name: str
    build: Callable[[dp.Adjacency], Any]
    domain: tuple[int, ...]
    given: Callable[[Data], Any] = lambda x: x

    def release(self, adjacency: dp.Adjacency) -> ProposeTestRelease:
        return ProposeTestRelease.by_distance(self.build(adjacency), **TEST)

    def __str__(self) -> str:
        return self.name


def median(adjacency: dp.Adjacency) -> LocalMedian:
    return LocalMedian(sensitivity=1.0, scale=1.0, bounds=(0.0, 4.0), adjacency=adjacency)


def spread(adjacency: dp.Adjacency) -> LocalInterquartileRange:
    return LocalInterquartileRange(sensitivity=1.0, scale=1.0, bounds=(0.0, 4.0), adjacency=adjacency)


def errors(adjacency: dp.Adjacency) -> LocalRegressionScale:
    return LocalRegressionScale(
        sensitivity=1.0, scale=1.0, coefficients=(2.0,), largest=4.0, adjacency=adjacency
    )


def parity_changes(x: Data) -> int:
    """How many records must change until "at least three records are 1" changes its truth."""
    ones = x.count(1)
    return ones - 2 if ones >= 3 else 3 - ones


def at_least_three(adjacency: dp.Adjacency) -> StableValue:
    return StableValue(
        function=lambda x: x.count(1) >= 3,
        changes=parity_changes,
        pair=((1, 1, 1), (1, 1, 1, 1)),
        adjacency=adjacency,
    )


INSTANCES = (
    Instance("median", median, (0, 1, 2, 4)),
    Instance("interquartile range", spread, (0, 1, 2, 4)),
    Instance("regression scale", errors, (0, 1, 2, 4), column),
    Instance("mode", lambda a: StableMode(adjacency=a), (0, 1, 2), lambda x: counts(x, 3)),
    Instance("stable value", at_least_three, (0, 1)),
    Instance(
        "scale", lambda a: StableScale(least=1.5, base=2.0, bounds=(0.0, 4.0), adjacency=a), (0, 1, 2, 4)
    ),
    Instance(
        "noisy max, far apart only",
        lambda a: NoisyMax(scale=0.5, limit=0.5, delta=0.05, adjacency=a),
        (0, 1),
        lambda x: counts(x, 2),
    ),
    Instance(
        "noisy max, not in between",
        lambda a: NoisyMax(scale=0.5, limit=1.4, delta=0.01, adjacency=a),
        (0, 1),
        lambda x: counts(x, 2),
    ),
)


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("instance", INSTANCES, ids=str)
def test_keeps_the_stated_loss(instance: Instance, adjacency: dp.Adjacency) -> None:
    m = instance.release(adjacency)
    worst = worst_profile(pairs(instance.domain, adjacency), lambda x: law(m, instance.given(x)), EPSILONS)
    for epsilon, true in worst.items():
        assert true <= m.loss.delta(epsilon) * (1 + 1e-9) + 1e-15, epsilon
    # Data that are infinitely far from what must be refused (none at all, to start with) are never refused.
    given = [instance.given(x) for x in data_sets(instance.domain, range(7))]
    chances = [law(m, x).refused for x in given if m.mechanism.distance(x) < FAR]
    assert all(1e-3 < p < 1 - 1e-3 for p in chances)
    assert max(chances) > 0.9
    assert min(chances) < max(chances) - 0.05


@pytest.mark.parametrize("adjacency", BOTH)
def test_the_loss_is_attained_within_a_factor(adjacency: dp.Adjacency) -> None:
    """A stable value: the test is all there is, and a wrong pass does happen."""
    m = INSTANCES[4].release(adjacency)
    worst = worst_profile(pairs((0, 1), adjacency), lambda x: law(m, x), (1.0,))
    assert worst[1.0] > 0.5 * m.loss.delta(1.0)


@dataclass(frozen=True)
class FarApart(DataDependent):
    """The noisy maximum of two counts, within budget where they are at least `gap` apart."""

    gap: int
    adjacency: dp.Adjacency
    scale: float = 0.5
    worst_pair = Neighbours((4, 0), (5, 0))

    @property
    def budget(self) -> Loss:
        return dp.losses.approx(0.3, 0.05, self.adjacency)

    def keeps_budget(self, data: Any) -> bool:
        return abs(data[0] - data[1]) >= self.gap

    def release(self, data: Any) -> int:
        return int(noisy_argmax([float(c) for c in data], self.scale, "laplace"))


@pytest.mark.parametrize("margin", [1.0, -1.0], ids=["right", "planted: the margin has the wrong sign"])
@pytest.mark.parametrize("adjacency", BOTH)
def test_a_private_bound_as_the_test(adjacency: dp.Adjacency, margin: float) -> None:
    """Generalized propose-test-release with a noisy lower bound on the difference of two counts."""
    step = 1 if adjacency is dp.ADD_REMOVE else 2
    gap = next(t for t in range(20) if (loss_profile(np.arange(t, 40.0), 0.5, step, 0.3) <= 0.05).all())
    noise = dp.mechanisms.Laplace(sensitivity=step, scale=step / 0.8, adjacency=adjacency)
    bound = NoisyUpperBound(lambda x: -abs(x[0] - x[1]), noise, failure=0.05)
    m = ProposeTestRelease(mechanism=FarApart(gap, adjacency), test=BoundTest(bound, limit=-gap))

    def of(x: Data) -> Law:
        first, second = counts(x, 2)
        # Passes if the noise is at most this; by the margin and the scale of the bound itself.
        room = (abs(first - second) - gap - margin * bound.margin) / noise.scale
        passed = math.exp(room) / 2 if room < 0 else 1 - math.exp(-room) / 2
        wins = first_wins(first - second, 0.5)
        return Law({Refusal(): 1 - passed, 0: passed * wins, 1: passed * (1 - wins)})

    worst = worst_profile(pairs((0, 1), adjacency), of, (0.0, 0.4, 0.8, 1.1, 1.5, 3.0))
    kept = all(true <= m.loss.delta(e) * (1 + 1e-9) for e, true in worst.items())
    assert kept is (margin > 0)
    assert all(1e-3 < of(x).refused < 1 - 1e-3 for x in data_sets((0, 1), range(7)))
    assert m.loss.delta(1.1) <= 0.05 * (1 + 1e-6)  # the larger of two deltas, not their sum


@dataclass(frozen=True, kw_only=True)
class Coin(Stable):
    """A coin whose log-odds depend on the number of ones among the records, in steps of which some are high."""

    log_odds: tuple[float, ...] = (0.0, 0.3, 0.5, 2.0, 3.5, 3.7, 3.9, 4.0, 4.1, 4.2, 4.2)
    adjacency: dp.Adjacency = dp.ADD_REMOVE

    @property
    def budget(self) -> Loss:
        return dp.losses.pure(0.3, self.adjacency)

    @property
    def worst_loss(self) -> Loss:
        return dp.losses.pure(1.5, self.adjacency)

    def distance(self, data: Any) -> int:
        steps = np.abs(np.diff(self.log_odds)) > 0.3
        unkept = np.flatnonzero(np.append(steps, False) | np.insert(steps, 0, False))
        return int(np.min(np.abs(unkept - data.count(1))))

    def heads(self, data: Any) -> float:
        return 1 / (1 + math.exp(-self.log_odds[data.count(1)]))

    def release(self, data: Any) -> bool:
        return bool(bernoulli(self.heads(data)))

    worst_pair = Neighbours((1,), (1, 1))


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("wrong_pass", [0.3, 0.05, 0.01])
def test_renyi_divergences_without_delta(adjacency: dp.Adjacency, wrong_pass: float) -> None:
    coin = Coin(adjacency=adjacency)
    m = ProposeTestRelease.by_distance(coin, epsilon=1.0, wrong_pass=wrong_pass)
    assert isinstance(m.test, DistanceTest)

    def of(x: Data) -> Law:
        passed = pass_probability(m.test, coin.distance(x))
        return Law({"refused": 1 - passed, True: passed * coin.heads(x), False: passed * (1 - coin.heads(x))})

    for order in (1.2, 2.0, 4.0, 16.0):
        worst = max(renyi(of(x), of(y), order) for x, y in pairs((0, 1), adjacency))
        bound = m.renyi_loss.renyi(order)
        assert worst <= bound * (1 + 1e-12)
        assert bound <= 1.0 + 0.3 + 1.5
    assert m.renyi_loss.epsilon(0.0) == math.inf  # nothing is claimed of the order infinity
    worst_delta = worst_profile(pairs((0, 1), adjacency), of, EPSILONS)
    assert all(true <= m.loss.delta(e) * (1 + 1e-9) for e, true in worst_delta.items())


@dataclass(frozen=True, kw_only=True)
class OffByOne(StableMode):
    """The distance to data whose mode differs, in place of that to data with such a neighbour."""

    def distance(self, data: Any) -> int:
        return super().distance(data) + 1


@pytest.mark.parametrize("adjacency", BOTH)
def test_a_planted_error_is_found(adjacency: dp.Adjacency) -> None:
    m = ProposeTestRelease.by_distance(OffByOne(adjacency=adjacency), **TEST)
    worst = worst_profile(pairs(range(3), adjacency), lambda x: law(m, counts(x, 3)), (1.0,))
    assert worst[1.0] > 1.5 * m.loss.delta(1.0)


# -- printed, and wrong --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PrintedMedian(LocalMedian):
    """Avella Medina 2025: the distance to data whose median differs from that of these data by more than eta."""

    def distance(self, data: Any) -> int:
        x = np.sort(np.asarray(data, dtype=float))
        m = len(x) // 2
        return next(
            (
                k
                for k in range(m + 1)
                if x[m + k] - x[m] > self.sensitivity or x[m] - x[m - k] > self.sensitivity
            ),
            m + 1,
        )


def test_printed_median_test_is_not_private() -> None:
    """61 zeros, one 0.5 and 59 times 1.2, and one zero moved to 1.2 (odd n, replace-one, as on the slides)."""
    before = (0.0,) * 61 + (0.5,) + (1.2,) * 59
    after = (0.0,) * 60 + (0.5,) + (1.2,) * 60
    options: dict[str, Any] = {
        "sensitivity": 1.0,
        "scale": 1.0,
        "bounds": (0.0, 2.0),
        "adjacency": dp.REPLACE_ONE,
    }
    printed, right = PrintedMedian(**options), LocalMedian(**options)
    assert (printed.distance(before), printed.distance(after)) == (2, 61)
    assert abs(right.distance(before) - right.distance(after)) <= 1
    for mechanism, broken in ((printed, True), (right, False)):
        m = ProposeTestRelease.by_distance(mechanism, epsilon=1.0, wrong_pass=5e-7)
        claim = m.loss.delta(2.0)
        found = hockey_stick(law(m, before), law(m, after), math.exp(2.0))
        assert (found > 0.99) is broken
        assert (found > claim) is broken


def test_printed_median_test_fails_on_small_data_as_well() -> None:
    """Nine records on four values will do."""
    m = ProposeTestRelease.by_distance(
        PrintedMedian(sensitivity=1.0, scale=1.0, bounds=(0.0, 4.0), adjacency=dp.REPLACE_ONE),
        epsilon=1.0,
        wrong_pass=0.001,
    )
    sets = data_sets((0.0, 0.9, 1.2, 2.0), [9])
    ordered = ((x, y) for x in sets for y in neighbours(x, (0.0, 0.9, 1.2, 2.0), dp.REPLACE_ONE))
    worst = worst_profile(ordered, lambda x: law(m, x), (2.0,))
    assert worst[2.0] > 2 * m.loss.delta(2.0)


def test_noisy_max_that_trusts_a_large_gap_is_not_private() -> None:
    """Redberg 2023, Example B.3.1: the loss at a lower bound of the gap, as if it fell with the gap.

    A bound of 0 has the loss 8.208, below the limit 8.5; but true gaps of 1 and 2 have 9.386. The corrected version
    takes the largest loss of all gaps from the bound on.
    """
    scale, limit, delta, test, wrong = 0.1, 8.5, 1e-6, 0.5, 1e-6
    margin = math.ceil(math.log(1 / wrong) / test)

    def release(t: int, allowed: Callable[[int], bool]) -> Law:
        """The bound is max(t + k - margin, 0), k geometric noise of scale 1/test; then the noisy maximum or none."""
        passed, upto = 0.0, t + 200
        for bound in range(upto):
            reach = geometric_tail(1 / test, bound - t + margin) if bound > 0 else 1.0
            beyond = geometric_tail(1 / test, bound + 1 - t + margin)
            passed += (reach - beyond) * allowed(bound)
        first = first_wins(t, scale)
        return Law({"refused": 1 - passed, 0: passed * first, 1: passed * (1 - first)})

    loss_at = [data_dependent_epsilon(t, scale, delta) for t in range(60)]

    def printed(bound: int) -> bool:
        return loss_at[min(bound, 59)] <= limit

    def corrected(bound: int) -> bool:
        return max(loss_at[min(bound, 59) :]) <= limit

    total = math.exp(test + limit)
    for allowed, broken in ((printed, True), (corrected, False)):
        found = max(
            hockey_stick(release(s, allowed), release(t, allowed), total)
            for s, t in ((1, 2), (2, 1), (0, 1), (1, 0))
        )
        assert (found > 10 * (delta + wrong)) is broken
