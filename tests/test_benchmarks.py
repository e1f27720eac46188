"""The benchmark's own side: every case answers, within its width. No peers, and nothing about speed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from time import sleep

import pytest
from benchmarks import cases, ledger_long, ours, parts, report
from benchmarks.ask import Reply
from benchmarks.timing import MOST, Timing, timed

from dalenius.session.verify import verify

TRAINING = [(sigma, steps) for sigma in (1.0, 2.0) for steps in (1_000, 10_000, 100_000)]


@pytest.mark.parametrize("delta", [1e-5, 1e-12, 1e-30])
@pytest.mark.parametrize(("sigma", "steps"), TRAINING)
def test_training_runs_are_within_the_width(sigma: float, steps: int, delta: float) -> None:
    run = parts.training(sigma, steps)
    lower, upper = ours.epsilon(run, delta)
    assert 0 < lower <= upper
    assert upper - lower <= parts.WIDTH * max(1.0, upper)
    assert ours.log_delta_width(run, upper, delta) <= parts.WIDTH


def test_the_number_of_the_issue() -> None:
    lower, upper = ours.epsilon(parts.training(1.0, 10_000), 1e-5)
    assert lower - 5e-10 <= 6.187712390 <= upper + 5e-10


def test_mixture_is_of_different_mechanisms_in_equal_numbers() -> None:
    mixed = parts.mixture()
    assert len({json.dumps(part) for part in mixed}) == len(mixed) == 200
    assert {kind: sum(part["kind"] == kind for part in mixed) for kind in parts.KINDS} == dict.fromkeys(
        parts.KINDS, 40
    )


def test_mixture_is_within_the_width() -> None:
    lower, upper = ours.epsilon(parts.mixture(), 1e-6)
    assert 0 < lower <= upper
    assert upper - lower <= parts.WIDTH * max(1.0, upper)


def test_calibrated_noise_keeps_the_promise_and_little_less_does_not() -> None:
    sigma = ours.noise(10_000, 1.0, 1e-6)
    assert ours.loss(parts.training(sigma, 10_000)).delta(1.0) <= 1e-6
    assert ours.loss(parts.training(sigma * (1 - 1e-8), 10_000)).delta_bounds(1.0).lower > 1e-6


def test_repeated_mechanisms_meet_their_targets() -> None:
    assert [check for row in cases.repeated(None) for check in row.checks if not check.met] == []


def test_forget_empties_the_caches() -> None:
    from dalenius.calculus.pairs import mixture

    found = [x for x in vars(mixture).values() if hasattr(x, "cache_info")]
    ours.epsilon(parts.training(1.0, 100), 1e-5)
    assert any(x.cache_info().currsize for x in found)
    ours.forget()
    assert not any(x.cache_info().currsize for x in found)


def test_timed_counts_repetitions_and_not_the_warm_up() -> None:
    calls: list[int] = []
    _, time = timed(lambda: calls.append(1), 7)
    assert (len(calls), time.repetitions) == (MOST + 1, MOST)  # over in no time: repeated
    calls.clear()
    _, time = timed(lambda: (calls.append(1), sleep(0.1)), 7)
    assert (len(calls), time.repetitions) == (8, 7)
    assert time.fastest <= time.median <= time.slowest


@pytest.mark.parametrize(
    ("value", "bounds", "verdict"),
    [
        (None, None, "no answer"),
        (math.inf, None, "no answer"),
        (0.9, None, "too small"),
        (1.5, None, "consistent"),
        (1.5, (1.4, 1.6), "too large"),
        (0.9, (0.8, 0.95), "too small"),
        (0.99, (0.9, 1.1), "consistent"),
    ],
)
def test_a_peers_answer_is_judged(
    value: float | None, bounds: tuple[float, float] | None, verdict: str
) -> None:
    assert Reply("peer", value, bounds, None, None).against(1.0, 1.01).startswith(verdict)


def test_report_says_what_was_missed_and_what_was_not_answered() -> None:
    row = cases.Row({"steps": 1_000}, 1.0, 1.1, Timing.of([0.1]))
    row.checks.append(cases.Check("bracket width", 1e-6, row.width))
    cases.add_peer(row, Reply(cases.DP, math.inf, None, None, Timing.of([3.0])), 20.0)
    cases.add_peer(row, Reply(cases.PRV, None, None, "stopped after 120 s", None), 50.0)
    case = cases.Case("A", "title", "text", rows=[row])
    text = report.markdown([case], {"cores": "2"}, 120.0)
    assert "**no**, 0 of 1" in text
    assert "no answer: inf" in text
    assert "no answer: stopped after 120 s" in text
    assert "times faster" not in text  # nothing to be faster than
    assert (
        json.loads(report.machine_readable([case], {}))["cases"][0]["rows"][0]["replies"][0]["value"] == "inf"
    )


def test_a_long_ledger_is_one_as_sessions_make_them(tmp_path: Path) -> None:
    where = str(tmp_path / "long.ledger")
    assert ledger_long.fill(where, 40) == 40
    assert verify(where).ok
    page = "# Damage\n\ntext\n"
    for told in ("old", "new"):
        page = ledger_long.page(ledger_long.page(page, "SQLite", told), "PostgreSQL", told)
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings == ["# Damage", "## A long ledger, SQLite", "## A long ledger, PostgreSQL"]
    assert "old" not in page
