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
from tests.local.wire.laws import law
from tests.local.wire.surveys import SURVEYS, fixed_words, values

PRECISION = 300


def laws(survey: Parameters) -> list[dict[str, Fraction]]:
    client = Client(survey)
    if not survey.is_for_numbers:
        return [law(client, value) for value in values(survey)[:4]]
    low, high = survey.mechanism.bounds
    return [law(client, low + (high - low) * part) for part in (0.0, 0.25, 0.5, 1.0)]


def small(survey: Parameters) -> Parameters:
    """Piecewise reports have 90 000 places: the same on a grid of 6 steps."""
    if survey.kind.tag != "piecewise_mean":
        return survey
    copy = dataclasses.replace(survey)
    steps, window = 6, 3
    other = Fraction(exp_bounds(Fraction(survey.mechanism.epsilon), PRECISION)[1], 1 << PRECISION)
    fits = kinds.down(window / (window + steps * other))
    copy.__dict__["constants"] = {"window": window, "steps": steps, "fits": fits}
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


@pytest.mark.parametrize("name", sorted(set(SURVEYS) - {"piecewise"}))
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
