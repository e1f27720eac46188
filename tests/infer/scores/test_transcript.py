"""The adversary sees every iterate: the likelihood ratio over all steps on the worst pair.

One row of the largest score sits at +1e3 or at -1e3, the others at 0, so that every step of a noisy descent is 2 B
apart. Nonparametric bounds (Clopper and Pearson) hold with probability 1 - 1e-9, and bits are seeded: each test fails
always or never. The last iterate alone would show a fifth of this after 20 steps, and hide both planted mistakes.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.infer.scores import ArraySource, CurveScore, NoisySums, Released, Standard
from dalenius.infer.scores.noisy_descent import noisy_descent
from dalenius.sums.curves import Huber
from tests.noise.seeded import seeded

STANDARD, SCORE = Standard(np.zeros(0), np.ones(0), 1.0, 1.0), CurveScore(Huber(1.345))
ROWS, STEPS, MU, TRIALS = 50, 3, 1.0, 800


def sums(last: float) -> NoisySums:
    return NoisySums(
        ArraySource(np.empty((ROWS, 0)), np.append(np.zeros(ROWS - 1), last)).rows(STANDARD), dp.REPLACE_ONE
    )


class Watched(NoisySums):
    """Keeps what it releases."""

    def release(self, theta, score, **mus) -> Released:
        released = super().release(theta, score, **mus)
        self.seen.append(released)
        return released


def transcripts(last: float, mu: float) -> list[list[Released]]:
    watched = Watched(sums(last).rows, dp.REPLACE_ONE)
    found = []
    with seeded(1):
        for _ in range(TRIALS):
            watched.seen = []
            noisy_descent(watched, SCORE, np.zeros(1), mu, STEPS, 1 / ROWS)
            found.append(watched.seen)
    return found


def log_ratios(found: list[list[Released]], sd: float, own: float) -> tuple[np.ndarray, np.ndarray]:
    """log of the density with the row at +1e3 over that at -1e3, which the adversary can work out; and the noise."""
    above, below = sums(1e3).rows, sums(-1e3).rows
    unit = 1.345 * 4.0**-18
    ratios, noise = np.zeros(len(found)), []
    for i, steps in enumerate(found):
        for step in steps:
            away = [
                float(step.score[0]) - float(_exact(rows, step.theta)[0]) * unit for rows in (above, below)
            ]
            ratios[i] += (away[1] ** 2 - away[0] ** 2) / (2 * sd**2)
            noise.append(away[0 if own > 0 else 1] / sd)
    return ratios, np.array(noise)


def _exact(rows, theta):
    return rows.totals(theta, SCORE, want_score=True, want_bend=False, want_square=False).score


def bound(one: np.ndarray, other: np.ndarray) -> float:
    """The mu that the test "the ratio is above 1" shows at least."""
    n, risk = len(one), 5e-10
    hits, alarms = int(np.sum(one > 0)), int(np.sum(other > 0))
    low, high = stats.beta.ppf(risk, hits, n - hits + 1), stats.beta.ppf(1 - risk, alarms + 1, n - alarms)
    return float(stats.norm.ppf(low) - stats.norm.ppf(high))


def attack(mu: float) -> tuple[float, float]:
    """What is shown for certain, and the estimate: means of the log-likelihood ratios are mu^2 apart.

    Both sides have the same bits, so that the estimate has no error but that of the noise's size, which is measured.
    """
    sd = sums(0.0).score_sd(SCORE, mu / math.sqrt(STEPS))
    one, its_noise = log_ratios(transcripts(1e3, mu), sd, 1e3)
    other, _ = log_ratios(transcripts(-1e3, mu), sd, -1e3)
    assert abs(np.mean(its_noise**2) - 1) < 6 * math.sqrt(2 / len(its_noise))
    return bound(one, other), math.sqrt(float(one.mean() - other.mean())) / float(its_noise.std())


def test_the_whole_transcript_shows_what_is_claimed_and_no_more():
    shown, estimate = attack(MU)
    assert 0.3 < shown <= MU
    assert estimate == pytest.approx(MU, rel=0.05)


def test_a_forgotten_factor_of_two_is_caught(monkeypatch):
    right = NoisySums._apart
    monkeypatch.setattr(NoisySums, "_apart", lambda self, score: right(self, score) / 2)
    shown, estimate = attack(MU)
    assert shown > MU
    assert estimate == pytest.approx(2 * MU, rel=0.05)


def test_a_forgotten_root_of_the_number_of_steps_is_caught():
    shown, estimate = attack(MU * math.sqrt(STEPS))
    assert shown > MU
    assert estimate == pytest.approx(MU * math.sqrt(STEPS), rel=0.05)
