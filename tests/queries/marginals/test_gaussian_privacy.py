"""The adaptive loop with Gaussian noise: what every path tells of two neighbours, exactly, and whole transcripts.

A filter keeps its promise if along every path the divergences of the steps, each given what was released before, add
up to no more than the budget. These are known exactly for the inputs that a step had on two neighbours: no failure by
chance is possible. Beside that the likelihood ratios of whole transcripts are held against the promise's own profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logsumexp, ndtri
from scipy.stats import beta

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.mechanisms import Exponential
from dalenius.queries import AdaptiveMarginals
from dalenius.queries.marginals import adaptive_marginals, plan
from dalenius.queries.marginals.spending import Prices, cost
from tests.noise.seeded import seeded
from tests.queries.marginals.transcripts import (
    WORKLOAD,
    choose_one_of_three,
    log_likelihood,
    neighbours,
    replayed,
    table,
)

ORDERS = np.array([1 + 1e-4, 1.01, 1.1, 1.5, 2.0, 4.0, 8.0, 32.0, 200.0])


@pytest.fixture(autouse=True)
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_one_of_three(monkeypatch)


def logs(choice: Exponential, scores: Any) -> Any:
    return scores / choice.scale - logsumexp(scores / choice.scale)


def choice_rho(choice: Exponential, one: Any, other: Any) -> float:
    """The largest Renyi divergence over its order: the least rho for which these two laws are rho-zCDP."""
    p, q = logs(choice, one), logs(choice, other)
    return max(float(logsumexp(a * p + (1 - a) * q)) / ((a - 1) * a) for a in ORDERS)


def choice_mu(choice: Exponential, one: Any, other: Any) -> float:
    """The least mu for which two finite laws are mu-GDP: trade-off functions are linear between likelihood ratios."""
    p, q = logs(choice, one), logs(choice, other)
    order = np.argsort(q - p)
    probits = []
    for law in (np.exp(p[order]), np.exp(q[order])):
        below, beyond = law.cumsum()[:-1], law[::-1].cumsum()[-2::-1]
        probits.append(np.where(below < 0.5, ndtri(below), -ndtri(beyond)))
    return float(np.max(probits[0] - probits[1], initial=0.0))


def told(steps: tuple[Any, Any], gaussian: bool) -> float:
    """What a path tells of two neighbours: the sum of mu^2, or of rho, over its steps."""
    total = 0.0
    for (mechanism, one, _), (_, other, _) in zip(*steps, strict=True):
        if isinstance(mechanism, Exponential):
            both = ((one, other), (other, one))
            if gaussian:
                total += max(choice_mu(mechanism, *pair) for pair in both) ** 2
            else:
                total += max(choice_rho(mechanism, *pair) for pair in both)
        else:
            # The discrete Gaussian is |shift|^2/(2 sigma^2)-zCDP exactly (Canonne, Kamath and Steinke 2020, Theorem 4).
            moved = float(((one - other) ** 2).sum()) / mechanism.sigma**2
            total += moved if gaussian else moved / 2
    return total


def most_told(mechanism: AdaptiveMarginals, monkeypatch: pytest.MonkeyPatch, times: int = 2) -> float:
    """Of the budget, at the worst of all neighbours of tiny tables and of one where scores move most."""
    gaussian, found = isinstance(mechanism.prices.promise, dp.GDP), list[float]()
    base = [
        [0, 0, 1],
        [1, 1, 0],
    ] * 100  # the row that comes lowers the score of a and b, and raises that of a and c
    one = base if mechanism.adjacency is ADD_REMOVE else [*base, [0, 0, 0]]
    large = (table(one), table([*base, [0, 1, 1]]))
    with seeded(7):
        for one, other in [*neighbours(mechanism.adjacency)[-3:], large]:
            for pair in ((one, other), (other, one)):
                found += [told(replayed(mechanism, pair, monkeypatch), gaussian) for _ in range(times)]
    return max(found) / float(mechanism.prices.limit)


GUARANTEES = [dp.ZCDP(0.5), dp.GDP(1.0), dp.ApproxDP(1.0, 1e-6)]


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_no_path_tells_more_than_the_budget(
    guarantee: Any, adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = most_told(AdaptiveMarginals(WORKLOAD, guarantee, adjacency=adjacency), monkeypatch)
    assert 0.9 <= found <= 1 + 1e-9


@pytest.mark.parametrize("guarantee", GUARANTEES[:2], ids=str)
def test_wrong_l2_sensitivity_is_caught(guarantee: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of ADD_REMOVE where a row is replaced: its l2 sensitivity is sqrt(2), not 1."""
    right = Prices.noise
    monkeypatch.setattr(Prices, "noise", lambda self, amount: right(Prices(guarantee, ADD_REMOVE, 1), amount))
    monkeypatch.setattr(adaptive_marginals.Purse, "pay", lambda self, mechanism: None)
    mechanism = AdaptiveMarginals(WORKLOAD, guarantee, adjacency=REPLACE_ONE)
    assert most_told(mechanism, monkeypatch) > 1.5


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("guarantee", GUARANTEES[:2], ids=str)
def test_wrong_sensitivity_of_scores_is_caught(
    guarantee: Any, adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half the sensitivity, as for scores that are divided by two; most of a round goes to the choice to see it."""
    monkeypatch.setattr(plan, "NOISY_SELECTION_SHARE", 0.9)
    mechanism = AdaptiveMarginals(WORKLOAD, guarantee, adjacency=adjacency)
    assert most_told(mechanism, monkeypatch) <= 1 + 1e-9
    right = Prices.selection

    def wrong(self: Prices, amount: Fraction, sensitivity: int) -> Exponential:
        fair = right(self, amount, sensitivity)
        return Exponential(sensitivity=sensitivity / 2, epsilon=fair.epsilon, adjacency=adjacency)

    monkeypatch.setattr(Prices, "selection", wrong)
    assert most_told(mechanism, monkeypatch) > 1.05


# -- whole transcripts ----------------------------------------------------------------------------------

TIMES, LEVEL = 70, 1e-10


def excess(mechanism: AdaptiveMarginals, monkeypatch: pytest.MonkeyPatch) -> float:
    """How far P(S) certainly exceeds e^eps Q(S) + delta(eps), for S where the log ratio of transcripts exceeds eps.

    Bounds of Clopper and Pearson, at four thresholds: above 0 by chance with probability below 8 LEVEL.
    """
    pair = neighbours(mechanism.adjacency)[-1 if mechanism.adjacency is REPLACE_ONE else 0]
    with seeded(2):
        ratios = [
            [_ratio(replayed(mechanism, order, monkeypatch)) for _ in range(TIMES)]
            for order in (pair, pair[::-1])
        ]
    first, second = np.array(ratios[0]), -np.array(ratios[1])
    found = []
    for eps in (0.0, 0.5, 1.0, 2.0):
        hits, others = int((first > eps).sum()), int((second > eps).sum())
        least = beta.ppf(LEVEL, hits, TIMES - hits + 1) if hits else 0.0
        most = beta.ppf(1 - LEVEL, others + 1, TIMES - others) if others < TIMES else 1.0
        found.append(least - math.exp(eps) * most - mechanism.loss.delta(eps))
    return float(max(found))


def _ratio(steps: tuple[Any, Any]) -> float:
    return log_likelihood(steps[0]) - log_likelihood(steps[1])


@pytest.mark.parametrize(("guarantee", "adjacency"), [(dp.GDP(0.5), ADD_REMOVE), (dp.ZCDP(0.1), REPLACE_ONE)])
def test_transcripts_are_within_the_profile_and_a_twentieth_of_the_noise_is_not(
    guarantee: Any, adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = AdaptiveMarginals(WORKLOAD, guarantee, adjacency=adjacency)
    assert excess(mechanism, monkeypatch) <= 0
    right: Callable[..., Any] = Prices.noise
    monkeypatch.setattr(Prices, "noise", lambda self, amount: right(self, 400 * amount))
    monkeypatch.setattr(adaptive_marginals.Purse, "pay", lambda self, mechanism: None)
    assert excess(mechanism, monkeypatch) > 0


# -- the price of a choice ------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.01, 0.5, 2.0, 8.0])
def test_a_choice_costs_the_mu_of_its_worst_position(eta: float) -> None:
    """Of all two-point laws whose logits are eta apart, the one in the middle is farthest apart in probits."""
    middle = np.linspace(-20, 20, 4001)
    apart = ndtri(expit(middle + eta / 2)) - ndtri(expit(middle - eta / 2))
    charged = math.sqrt(cost(dp.GDP(10.0).filter(), Exponential(sensitivity=1, epsilon=eta)).amount)
    assert np.nanmax(apart) <= charged * (1 + 1e-9)
    assert charged <= np.nanmax(apart) * (1 + 1e-6)


@pytest.mark.parametrize("eta", [0.1, 1.0, 4.0])
def test_no_scores_tell_more_than_the_price_and_two_tell_all_of_it(eta: float) -> None:
    """Exact trade-off functions of the exponential mechanism, scores of sensitivity 1 in all directions.

    Bounded range (Dong, Durfee and Rogers 2020): log ratios of all outcomes lie within an interval of length eta.
    """
    choice = Exponential(sensitivity=1, epsilon=eta)
    charged = math.sqrt(cost(dp.GDP(10.0).filter(), choice).amount)
    draw, found = np.random.default_rng(0), []
    for size in (2, 3, 10):
        for spread in (0.0, 1.0, 10.0):
            scores = draw.normal(0, spread * choice.scale, (100, size))
            moves = draw.choice([-1, 0, 1], (100, size))
            found += [choice_mu(choice, u, u + move) for u, move in zip(scores, moves, strict=True)]
            ratios = [logs(choice, u) - logs(choice, u + move) for u, move in zip(scores, moves, strict=True)]
            assert max(np.ptp(ratio) for ratio in ratios) <= eta * (1 + 1e-9)
    assert max(found) <= charged
    tight = choice_mu(choice, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert charged * (1 - 1e-6) <= tight <= charged
