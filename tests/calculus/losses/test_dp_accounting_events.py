"""Events of dp-accounting become losses; its own epsilons agree, within its discretisation."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dalenius as dp
from dalenius import losses

google: Any = pytest.importorskip("dp_accounting")
event: Any = pytest.importorskip("dp_accounting.dp_event")
pld: Any = pytest.importorskip("dp_accounting.pld")
rdp: Any = pytest.importorskip("dp_accounting.rdp")

STEP = 1e-4
RELATIONS = {
    dp.ADD_REMOVE: google.NeighboringRelation.ADD_OR_REMOVE_ONE,
    dp.REPLACE_ONE: google.NeighboringRelation.REPLACE_ONE,
}

GAUSS, LAPLACE = event.GaussianDpEvent(1.5), event.LaplaceDpEvent(2.0)
SAMPLED = event.PoissonSampledDpEvent(0.1, GAUSS)
SAME = {
    "gaussian": (GAUSS, dp.ADD_REMOVE),
    "gaussian, replaced": (GAUSS, dp.REPLACE_ONE),
    "laplace": (LAPLACE, dp.ADD_REMOVE),
    "discrete laplace": (event.DiscreteLaplaceDpEvent(0.7, 2), dp.ADD_REMOVE),
    "randomized response": (event.RandomizedResponseDpEvent(0.5, 4), dp.REPLACE_ONE),
    "sampled gaussian": (event.SelfComposedDpEvent(SAMPLED, 20), dp.ADD_REMOVE),
    "sampled gaussian, replaced": (SAMPLED, dp.REPLACE_ONE),
    "sampled laplace": (event.PoissonSampledDpEvent(0.1, LAPLACE), dp.ADD_REMOVE),
    "mixture": (event.MixtureOfGaussiansDpEvent(1.5, [0.0, 1.0, 2.0], [0.5, 0.3, 0.2]), dp.ADD_REMOVE),
    "composed": (
        event.ComposedDpEvent([GAUSS, event.SelfComposedDpEvent(LAPLACE, 3), SAMPLED]),
        dp.ADD_REMOVE,
    ),
    "nothing": (event.NoOpDpEvent(), dp.ADD_REMOVE),
}


@pytest.mark.parametrize("name", SAME)
def test_both_accountants_agree(name: str) -> None:
    """Theirs rounds each loss up to a multiple of the step, at most 24 of which are added here."""
    what, adjacency = SAME[name]
    step = 2e-2 if name == "mixture" else STEP  # it takes minutes with small ones
    accountant = pld.PLDAccountant(RELATIONS[adjacency], value_discretization_interval=step).compose(what)
    loss = losses.from_dp_accounting(what, adjacency)
    assert loss.adjacency is adjacency
    for delta in (1e-2, 1e-5):
        theirs, ours = accountant.get_epsilon(delta), loss.epsilon_bounds(delta)
        assert ours.lower - 1e-6 <= theirs <= ours.upper + (step if name == "mixture" else 25 * step)


def test_divergences_agree() -> None:
    tree = event.SingleEpochTreeAggregationDpEvent(2.0, [5, 8])
    special = google.NeighboringRelation.REPLACE_SPECIAL
    theirs = rdp.RdpAccountant(neighboring_relation=special).compose(tree)
    ours = losses.from_dp_accounting(tree, dp.ADD_REMOVE)
    assert ours.zcdp() == pytest.approx(4 / (2 * 2.0**2))
    assert ours.epsilon(1e-5) <= theirs.get_epsilon(1e-5) + 1e-9
    plain = losses.from_dp_accounting(event.ZCDpEvent(0.3), dp.ADD_REMOVE)
    assert plain == losses.zcdp(0.3)
    shifted = losses.from_dp_accounting(event.ZCDpEvent(0.3, 0.1), dp.REPLACE_ONE)
    assert shifted.renyi(4.0) == pytest.approx(1.3)


def test_the_best_of_several() -> None:
    """Ours is never above what their divergences give, and not a third below."""
    for shape in (0.0, 1.0, math.inf):
        what = event.RepeatAndSelectDpEvent(event.GaussianDpEvent(4.0), 10.0, shape)
        theirs = rdp.RdpAccountant().compose(what).get_epsilon(1e-6)
        ours = losses.from_dp_accounting(what, dp.ADD_REMOVE).epsilon(1e-6)
        assert 0.6 * theirs <= ours <= theirs


def test_batches_of_a_largest_size() -> None:
    """Theirs is an upper bound of the same pair; ours is one as well. A mesh of 1e-3 is good to 1e-6 here."""
    what = event.TruncatedSubsampledGaussianDpEvent(1000, 0.05, 70, 1.0)
    theirs = pld.PLDAccountant(value_discretization_interval=1e-3).compose(what).get_epsilon(1e-4)
    ours = losses.from_dp_accounting(what, dp.ADD_REMOVE).epsilon_bounds(1e-4)
    assert ours.lower <= theirs + STEP
    assert ours.upper <= theirs * 1.02 + STEP


def test_without_replacement() -> None:
    what = event.SampledWithoutReplacementDpEvent(100, 10, GAUSS)
    inner = losses.gaussian(1.5, 2, dp.REPLACE_ONE)
    often = event.SampledWithReplacementDpEvent(100, 10, GAUSS)
    assert losses.from_dp_accounting(often, dp.REPLACE_ONE) == losses.sampled_with_replacement(inner, 10, 100)
    assert losses.from_dp_accounting(what, dp.REPLACE_ONE) == losses.sampled_without_replacement(
        inner, 10, 100
    )


@pytest.mark.parametrize(
    "what",
    [
        event.NonPrivateDpEvent(),
        event.GaussianDpEvent(0.0),
        event.ComposedDpEvent([GAUSS, event.LaplaceDpEvent(0.0)]),
        event.DiscreteLaplaceDpEvent(0.0, 1),
    ],
    ids=str,
)
def test_no_privacy_at_all(what: Any) -> None:
    assert math.isinf(losses.from_dp_accounting(what, dp.ADD_REMOVE).epsilon(0.5))


@pytest.mark.parametrize(
    ("what", "name"),
    [
        (event.UnsupportedDpEvent(), "UnsupportedDpEvent"),
        (event.ComposedDpEvent([GAUSS, event.UnsupportedDpEvent()]), "UnsupportedDpEvent"),
        (1.0, "one of dp-accounting's"),
        (losses.gaussian(1.0), "one of dp-accounting's"),
    ],
)
def test_what_is_not_known_is_refused_by_name(what: Any, name: str) -> None:
    with pytest.raises(dp.errors.InvalidParameter, match=name):
        losses.from_dp_accounting(what, dp.ADD_REMOVE)


@pytest.mark.parametrize(
    ("what", "adjacency"),
    [
        (event.RandomizedResponseDpEvent(0.5, 4), dp.ADD_REMOVE),
        (event.SampledWithoutReplacementDpEvent(100, 10, GAUSS), dp.ADD_REMOVE),
        (event.SingleEpochTreeAggregationDpEvent(2.0, 5), dp.REPLACE_ONE),
    ],
    ids=str,
)
def test_the_other_relation_is_refused(what: Any, adjacency: dp.Adjacency) -> None:
    with pytest.raises(dp.errors.AdjacencyMismatch, match="neighbours only"):
        losses.from_dp_accounting(what, adjacency)


def nested(depth: int) -> Any:
    deep = GAUSS
    for _ in range(depth):
        deep = event.ComposedDpEvent([deep])
    return deep


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (event.ComposedDpEvent(5), "events is 5"),
        (event.ComposedDpEvent("ab"), "events is 'ab'"),
        (event.MixtureOfGaussiansDpEvent(1.0, None, [1.0]), "sensitivities is None"),
        (event.MixtureOfGaussiansDpEvent(1.0, [], []), r"sensitivities is \[\]"),
        (event.TruncatedSubsampledGaussianDpEvent(1000, None, 30, 1.0), "rate is None"),
        (event.TruncatedSubsampledGaussianDpEvent(None, 0.1, 30, 1.0), "n is None"),
        (nested(3000), "too deep"),
    ],
)
def test_odd_events_are_refused_by_name(wrong: Any, message: str) -> None:
    with pytest.raises(dp.errors.InvalidParameter, match=message):
        losses.from_dp_accounting(wrong, dp.ADD_REMOVE)


def test_a_sample_of_a_sample() -> None:
    """Thirty samples of one another took 2^30 steps."""
    deep = GAUSS
    for _ in range(30):
        deep = event.PoissonSampledDpEvent(0.9, deep)
    bounds = losses.from_dp_accounting(deep, dp.ADD_REMOVE).epsilon_bounds(1e-6)
    once = losses.poisson_sampled(losses.gaussian(1.5), 0.9**30).epsilon_bounds(1e-6)
    assert bounds == pytest.approx(once, rel=1e-9)
