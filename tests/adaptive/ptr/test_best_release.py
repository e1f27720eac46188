"""The best of a random number of releases that may refuse, exactly, for all votes of up to six people."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dalenius as dp
from dalenius.adaptive.ptr import BestRelease, LocalMedian, NoisyMax, ProposeTestRelease, Refusal, StableMode
from dalenius.adaptive.selection.approximate import best_of_approximate, without_failure
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.learn import GeometricTries, NegativeBinomialTries, PoissonTries
from tests.adaptive.ptr import laws
from tests.adaptive.ptr.laws import Law, worst_profile
from tests.mechanisms.contract import bits, frequency

VOTES = [(a, b) for a in range(7) for b in range(7 - a)]
EPSILONS = (0.0, 0.2, 0.6, 0.9, 1.2, 1.5, 2.4, 3.0)
MEAN = 4.0


def pairs() -> list[tuple[Any, Any]]:
    moved = [(x, (x[0] + a, x[1] + b)) for x in VOTES for a, b in [(1, 0), (-1, 0), (0, 1), (0, -1)]]
    return [(x, y) for x, y in moved if y in VOTES]


def score(answer: int) -> float:
    """Candidate 0 is preferred."""
    return -float(answer)


def stable() -> ProposeTestRelease:
    return ProposeTestRelease.by_distance(StableMode(), epsilon=0.3, wrong_pass=0.02)


def noisy() -> ProposeTestRelease:
    return ProposeTestRelease.by_distance(
        NoisyMax(scale=0.5, limit=0.5, delta=0.02), epsilon=0.5, wrong_pass=0.02
    )


def best_law(candidates: tuple[ProposeTestRelease, ...], data: Any, mean: float = MEAN) -> Law:
    """phi(F(y)) - phi(F(y-)) with the generating function of a geometric number of trials."""
    each = [laws.law(m, data) for m in candidates]
    g, below, atoms = 1 / mean, 0.0, {}
    before = 0.0
    for outcome in (Refusal(), 1, 0):
        below += sum(one.atoms.get(outcome, 0.0) for one in each) / len(each)
        now = g * below / (1 - (1 - g) * below)
        atoms[outcome], before = now - before, now
    return Law(atoms)


@pytest.mark.parametrize("candidates", [(stable(),), (noisy(),), (stable(), noisy())], ids=str)
def test_keeps_the_stated_losses(candidates: tuple[ProposeTestRelease, ...]) -> None:
    m = BestRelease(candidates=candidates, score=score, tries=GeometricTries(MEAN))
    known = {x: best_law(candidates, x) for x in VOTES}
    worst = worst_profile(pairs(), known.__getitem__, EPSILONS)
    for epsilon, true in worst.items():
        assert true <= m.loss.delta(epsilon) * (1 + 1e-9), epsilon
        assert true <= m.renyi_loss.delta(epsilon) * (1 + 1e-9), epsilon
    assert all(1e-3 < one.refused < 1 - 1e-3 for one in known.values())


def test_delta_is_charged_as_often_as_there_are_trials() -> None:
    """Charged once it would be too small: a control that must fail."""
    candidates = (stable(),)
    worst = worst_profile(pairs(), lambda x: best_law(candidates, x, 20.0), (0.9,))
    m = BestRelease(candidates=candidates, score=score, tries=GeometricTries(20.0))
    assert worst[0.9] > 3 * 0.02
    assert m.renyi_loss.delta_at_infinity() == pytest.approx(20 * candidates[0].loss.delta_at_infinity())


@pytest.mark.slow
def test_both_bounds_are_far_below_liu_and_talwar() -> None:
    """Their delta for trials that are (epsilon, delta)-DP: sqrt(2 delta) T + delta_2, T = log(1/delta_2)/tau."""
    trial = ProposeTestRelease.by_distance(
        LocalMedian(sensitivity=1.0, scale=4.0, bounds=(0.0, 100.0)), epsilon=0.25, wrong_pass=1e-8
    )
    m = BestRelease(candidates=(trial,), score=abs, tries=GeometricTries(10.0))
    printed = math.sqrt(2 * 1e-8) * 10 * math.log(1 / 5e-7) + 5e-7
    assert printed > 1e-2
    assert m.renyi_loss.delta(1.5) <= 1.001e-7
    assert m.loss.delta(1.5) <= 1.001e-7
    assert m.loss.epsilon(2e-7) <= m.renyi_loss.epsilon(2e-7) <= 1.5


@pytest.mark.slow
def test_draws_follow_the_law() -> None:
    candidates, data, trials = (stable(), noisy()), (5, 1), 6000
    m = BestRelease(candidates=candidates, score=score, tries=GeometricTries(MEAN))
    with bits("best"):
        drawn = [m.release(data) for _ in range(trials)]
    seen = [x if isinstance(x, Refusal) else x[1] for x in drawn]
    for outcome, p in best_law(candidates, data).atoms.items():
        low, high = frequency(sum(x == outcome for x in seen), trials)
        assert low <= p <= high, outcome
    assert {x[0] for x in drawn if not isinstance(x, Refusal)} == {0, 1}


def test_no_trial_is_a_refusal_and_errors_do_not_show() -> None:
    def fails(answer: Any) -> float:
        raise RuntimeError("12345")

    for bad in (fails, lambda answer: math.nan):
        m = BestRelease(candidates=(stable(),), score=bad, tries=GeometricTries(5.0))
        assert m.release((60, 0)) == (0, 0)
    none = BestRelease(candidates=(stable(),), score=score, tries=PoissonTries(1.001))
    with bits("poisson"):
        drawn = [none.release((60, 0)) for _ in range(200)]
    assert Refusal() in drawn
    assert (0, 0) in drawn


def test_failures_and_the_rest_make_up_a_loss() -> None:
    whole = dp.losses.approx(0.5, 1e-3) + dp.losses.gaussian(2.0)
    finite, delta = without_failure(whole)
    assert delta == pytest.approx(1e-3)
    assert finite.delta_at_infinity() == 0
    again = finite + dp.losses.approx(0.0, 1e-3)
    for epsilon in (0.0, 0.5, 2.0):
        assert again.delta(epsilon) == pytest.approx(whole.delta(epsilon), rel=1e-9)


def test_refuses_what_it_cannot_bound() -> None:
    with pytest.raises(CannotMeet, match="fail with certainty"):
        best_of_approximate(GeometricTries(10.0), dp.losses.approx(0.1, 0.2))
    with pytest.raises(CannotMeet):
        best_of_approximate(NegativeBinomialTries(10.0), dp.losses.gaussian(1.0))
    with pytest.raises(InvalidParameter, match="candidates"):
        BestRelease(candidates=(), score=score, tries=GeometricTries(5.0))
    with pytest.raises(InvalidParameter, match="tries"):
        BestRelease(candidates=(stable(),), score=score, tries=dp.learn.FixedTries(3))  # type: ignore[arg-type]
