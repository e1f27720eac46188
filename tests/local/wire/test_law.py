"""The exact law of what clients send, for every kind: it is the mechanism's, and keeps epsilon to the last bit."""

from __future__ import annotations

import dataclasses
import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from dalenius import local
from dalenius.local.wire import kind as kinds
from dalenius.local.wire.client import Client
from dalenius.local.wire.parameters import Parameters
from dalenius.local.wire.words import WORDS, below
from dalenius.noise.enclosure import exp_bounds
from tests.local.wire.laws import law, noisy_law
from tests.local.wire.surveys import SURVEYS, fixed_words, values

PRECISION = 300


def laws(survey: Parameters) -> list[dict[str, Fraction]]:
    client = Client(survey)
    if not survey.is_for_numbers:
        return [law(client, value) for value in values(survey)[:4]]
    if survey.kind.tag == "laplace_mean":
        return [noisy_law(survey, value) for value in (0, 1, 2, 4)]
    low, high = survey.mechanism.bounds
    return [law(client, low + (high - low) * part) for part in (0.0, 0.25, 0.5, 1.0)]


def small(survey: Parameters) -> Parameters:
    """Piecewise reports have 90 000 places: the same on a grid of 6 steps. Noise of a few steps, and none of a margin
    of 45 scales."""
    copy = dataclasses.replace(survey)
    if survey.kind.tag in ("piecewise_mean", "hybrid_mean"):
        steps, window = 6, 3
        other = Fraction(exp_bounds(Fraction(survey.mechanism.epsilon), PRECISION)[1], 1 << PRECISION)
        fits = kinds.down(window / (window + steps * other))
        copy.__dict__["constants"] = {**survey.constants, "window": window, "steps": steps, "fits": fits}
    if survey.kind.tag == "laplace_mean":
        copy.__dict__["constants"] = {**survey.constants, "margin": 3}
    return copy


@pytest.mark.parametrize("name", SURVEYS)
def test_no_report_tells_more_than_epsilon(name: str) -> None:
    survey = small(SURVEYS[name])
    # exp(epsilon) from below, so that a ratio that is above it by anything fails.
    most = Fraction(1 << PRECISION, exp_bounds(Fraction(survey.mechanism.epsilon), PRECISION)[1])
    found = laws(survey)
    for one in found:
        assert sum(one.values()) == 1
    sharpest = Fraction(1)
    for one, another in itertools.permutations(found, 2):
        assert one.keys() == another.keys()
        sharpest = max(sharpest, *(one[report] / another[report] for report in one))
    assert sharpest <= most
    assert sharpest >= most * (1 - Fraction(1, 2**56))


@pytest.mark.parametrize("name", sorted(set(SURVEYS) - {"piecewise", "hybrid", "laplace"}))
def test_the_loss_covers_the_law(name: str) -> None:
    survey = SURVEYS[name]
    found = laws(survey)
    worst = max(
        sum(max(one[report] - another[report], Fraction(0)) for report in one)
        for one, another in itertools.permutations(found, 2)
    )
    bounds = survey.loss.delta_bounds(0.0)
    assert Fraction(bounds.lower) * (1 - Fraction(1, 2**40)) <= worst <= Fraction(bounds.upper)


@pytest.mark.parametrize("name", [name for name, survey in SURVEYS.items() if not survey.is_for_numbers])
def test_estimates_are_unbiased(name: str) -> None:
    """The tally that is expected, in place of one that was counted, gives the answer back."""
    survey = SURVEYS[name]
    m, rows = survey.mechanism, []
    for answer, reports in enumerate(laws(survey)):
        expected = np.zeros(m.tally_size)
        for report, chance in reports.items():
            row = survey.kind.row(survey.constants, json.loads(report))
            one = np.frombuffer(row, np.uint8)[None] if isinstance(row, bytes) else np.array([row])
            expected += float(chance) * m.tally(one)
        shares, _ = m.shares(expected, 1)
        rows.append((shares, answer))
    for shares, answer in rows:
        np.testing.assert_allclose(shares, np.eye(m.k)[answer], atol=1e-12)


def test_numbers_are_unbiased() -> None:
    survey = SURVEYS["one bit"]
    for part, reports in zip((0.0, 0.25, 0.5, 1.0), laws(survey), strict=True):
        low, high = survey.mechanism.bounds
        mean = sum(float(chance) * survey.mechanism.decode(int(report)) for report, chance in reports.items())
        assert mean == pytest.approx(low + (high - low) * part, abs=1e-9)


def test_numbers_with_noise_are_unbiased_and_no_more_than_their_loss() -> None:
    """At a whole number of steps the divergence of geometric noise is a sum, and what is charged is no less."""
    for epsilon in (0.01, 0.5, 8.0):
        survey = Parameters(local.Laplace(epsilon=epsilon, bounds=(-1.0, 3.0)))
        c = survey.constants
        r = Fraction(c["on"], WORDS)
        worst = float(1 - r ** (c["steps"] // 2))  # between the ends, at no epsilon
        assert worst <= survey.loss.delta_bounds(0.0).upper
        assert worst == pytest.approx(survey.loss.delta_bounds(0.0).lower, rel=1e-9)
        assert survey.loss.epsilon(0.0) == pytest.approx(epsilon, rel=1e-12)
        decoded = survey.kind.decoded(survey.mechanism, c)
        assert len(decoded) == survey.kind.places(c)
        places = np.abs(np.arange(len(decoded)) - c["margin"])  # from the lower bound
        weights = (1 - float(r)) / (1 + float(r)) * float(r) ** places
        weights[[0, -1]] /= 1 - float(r)
        assert weights.sum() == pytest.approx(1.0, rel=1e-9)
        assert weights @ decoded == pytest.approx(-1.0, abs=1e-6 / epsilon)
        spread = float(weights @ (decoded + 1.0) ** 2)
        assert spread == pytest.approx(survey.mechanism.variance(-1.0), rel=1e-3)


def test_noise_is_the_difference_of_two_runs() -> None:
    survey = SURVEYS["laplace"]
    c, top = survey.constants, 2**64 - 1
    for first, second in ((0, 0), (3, 1), (0, 2), (10**4, 0), (0, 10**4)):
        drawn = survey.kind.draw(c, 2**31, iter([0, *[0] * first, top, *[0] * second, top]))
        at = c["margin"] + c["steps"] // 2 + first - second
        assert drawn == min(max(at, 0), c["steps"] + 2 * c["margin"])


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 0.62, 2.0, 40.0])
def test_the_hybrid_is_a_coin_and_two_kinds(epsilon: float) -> None:
    """The coin knows nothing of the number, so that the parts' laws are enough; it is rounded to the part that tells
    less."""
    whole, parts = (Parameters(m(epsilon=epsilon)).constants for m in (local.Hybrid, local.Piecewise))
    bit = Parameters(local.Duchi(epsilon=epsilon)).constants["fits"]
    assert whole["bit"] == bit
    assert {name: whole[name] for name in parts} == parts
    share = Fraction(local.Hybrid(epsilon=epsilon).share)
    assert whole["piecewise"] - 1 < share * WORDS <= whole["piecewise"]
    assert parts["fits"] <= bit  # what both tell is in proportion to these
    collector = local.Aggregator(Parameters(local.Hybrid(epsilon=epsilon, bounds=(0, 10))))
    collector.add(Client(collector.parameters).reports([2.5] * 400))
    found = collector.estimate()
    assert abs(found.estimate - 2.5) < 6 * found.standard_error + 1e-9


def test_thresholds_are_on_the_private_side() -> None:
    for epsilon in (1e-6, 0.1, 1.0, 10.0, 40.0):
        for m in (local.RandomizedResponse(epsilon=epsilon, k=7), local.LocalHashing(epsilon=epsilon, k=50)):
            fits = Parameters(m).constants["fits"]
            assert fits <= m.p * WORDS < fits + 1
        unary = local.OptimizedUnaryEncoding(epsilon=epsilon, k=3)
        assert (
            Parameters(unary).constants["other"] - 1 < unary.q * WORDS <= Parameters(unary).constants["other"]
        )


def test_below_throws_away_what_is_left_over() -> None:
    words = iter([2**64 - 1, 2**64 - 2, 7])
    assert below(2**63 + 1, words) == 7
    assert below(10, iter([2**64 - 1, 13])) == 3
    drawn = [below(3, fixed_words(n)) for n in range(600)]
    assert {0, 1, 2} == set(drawn)
