"""Code of others on parts of the data: nothing comes back but numbers."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn.methods import isolated

PARTS = [(np.full((n, 1), float(n)), np.zeros(n)) for n in (1, 2, 3)]
SEEN: list[float] = []


def run(task: Any, timeout: float = 30.0) -> list[list[float]]:
    return [v.tolist() for v in isolated.results(isolated.packed(task), iter(PARTS), 1, timeout)]


def remembers(x: Any, y: Any) -> list[float]:
    SEEN.append(float(x[0, 0]))
    return [float(len(SEEN))]


def test_the_numbers_come_back_in_order() -> None:
    assert run(lambda x, y: [x.sum()]) == [[1.0], [4.0], [9.0]]


def test_no_part_sees_what_another_left_behind() -> None:
    assert run(remembers) == [[1.0]] * 3
    assert SEEN == []


def test_after_an_interrupt_no_answer_is_taken_for_another() -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def slow(x: Any, y: Any) -> list[float]:
        time.sleep(2)
        return [777.0]

    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        run(lambda x, y: [0.0])
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            run(slow)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert run(lambda x, y: [x.sum()]) == [[1.0], [4.0], [9.0]]


def test_no_part_reaches_the_pipes_of_the_helper() -> None:
    def pipes(x: Any, y: Any) -> list[float]:
        found = 0
        for number in range(256):
            with contextlib.suppress(OSError):
                found += stat.S_ISFIFO(os.fstat(number).st_mode)
        return [float(found)]

    assert run(pipes) == [[2.0]] * 3  # both ends of its own


def test_nothing_is_printed_or_warned(
    capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    def loud(x: Any, y: Any) -> list[float]:
        print(x)
        os.write(2, b"rows")
        np.log(np.zeros(1))
        return [1.0]

    assert run(loud) == [[1.0]] * 3
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


@pytest.mark.parametrize("how", ["raises", "exits", "crashes", "sleeps", "too many", "not finite", "text"])
def test_whatever_goes_wrong_counts_as_zeros(how: str) -> None:
    def wrong(x: Any, y: Any) -> Any:
        if len(x) != 2:
            return [7.0]
        if how == "raises":
            raise MemoryError
        if how == "exits":
            raise SystemExit(3)
        if how == "crashes":
            os.abort()
        if how == "sleeps":
            time.sleep(60)
        return {"too many": [1.0, 2.0], "not finite": [np.nan], "text": "rows"}[how]

    start = time.monotonic()
    assert run(wrong, timeout=2.0 if how == "sleeps" else 30.0) == [[7.0], [0.0], [7.0]]
    assert time.monotonic() - start < 50


def test_a_helper_that_was_ended_is_started_again() -> None:
    assert run(lambda x, y: [1.0]) == [[1.0]] * 3
    helper = isolated._helper()
    helper.process.kill()
    helper.process.wait()
    run(lambda x, y: [1.0])  # the first part is lost, and counts as zeros
    assert run(lambda x, y: [1.0]) == [[1.0]] * 3


def test_random_numbers_differ_between_parts() -> None:
    drawn = run(lambda x, y: [np.random.random()])  # noqa: NPY002
    assert len({value for (value,) in drawn}) == 3


def test_what_cannot_be_sent_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    model = dp.learn.SubsampleAggregate(dp.learn.PublicBounds([(0, 1)]), dp.GDP(1.0), size=1, bound=1.0)
    model.price()
    model.extract = threading.Lock().__enter__  # type: ignore[assignment]
    with pytest.raises(InvalidParameter, match="process of its own"):
        model.price()
