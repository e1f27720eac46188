"""One watch, paid for once: whoever else gets hold of it, it says yes no more often than it may."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dalenius.mechanisms import AboveThreshold, SparseVector
from dalenius.mechanisms._support.threshold_watch import Stopped, Watch

ABOVE = AboveThreshold(sensitivity=1, epsilon=1.0)
TWICE = SparseVector(sensitivity=1, epsilon=1.0, count=2, fresh_threshold=True)
NUMBERS = SparseVector(sensitivity=1, epsilon=1.0, count=2, answer_share=0.5)


@pytest.mark.parametrize(("mechanism", "most"), [(ABOVE, 1), (TWICE, 2), (NUMBERS, 2)])
def test_threads(mechanism: Any, most: int) -> None:
    """Four threads that ask at the same moment, with switches as often as can be: never one yes too many."""
    patience = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(60):
            watch, start = mechanism.start(threshold=0), threading.Barrier(4)

            def many(watch: Watch = watch, start: threading.Barrier = start) -> int:
                start.wait()
                said = 0
                for _ in range(3):
                    try:
                        said += bool(watch.ask(1e9))
                    except Stopped:
                        break
                return said

            with ThreadPoolExecutor(4) as pool:
                assert sum(f.result() for f in [pool.submit(many) for _ in range(4)]) == most
    finally:
        sys.setswitchinterval(patience)


def test_a_forked_child_is_refused() -> None:
    watch = ABOVE.start(threshold=0)
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with watch._lock:
            held.set()
            go.wait(20)

    # The lock is held by a thread that does not exist in the child: it must refuse, not wait.
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    child = os.fork()
    if child == 0:
        try:
            watch.ask(1e9)
        except Stopped:
            os._exit(0 if watch.stopped else 2)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    go.set()
    thread.join()
    assert status == 0
    assert watch.ask(1e9) is True
    assert watch.stopped


def test_an_interrupted_answer_stops_it() -> None:
    """What was drawn is not drawn again: cut short, the watch stays stopped."""
    watch = TWICE.start(threshold=0)

    class Interrupted:
        def noisy(self, size: int) -> Any:
            raise KeyboardInterrupt

        def __getattr__(self, name: str) -> Any:
            return getattr(TWICE.comparison, name)

    watch._comparison = Interrupted()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        watch.ask(1e9)
    watch._comparison = TWICE.comparison
    assert watch.stopped
    with pytest.raises(Stopped):
        watch.ask(1e9)


def test_asking_from_within_an_answer_is_refused() -> None:
    watch = NUMBERS.start(threshold=0)
    seen: list[str] = []

    def number(value: float) -> float:
        try:
            watch.ask(1e9)
        except Stopped:
            seen.append("refused")
        return 0.0

    watch._number = number
    assert watch.ask(1e9) == 0.0
    assert seen == ["refused"]
    assert watch.ask(1e9) == 0.0
    assert watch.stopped


def test_cannot_be_doubled() -> None:
    watch = ABOVE.start(threshold=0)
    for double in (copy.copy, copy.deepcopy, pickle.dumps, lambda w: copy.deepcopy([w])):
        with pytest.raises(TypeError, match="cannot be copied"):
            double(watch)


def test_many_values_up_to_the_first_above() -> None:
    """Those after the first above are not asked; the last yes stops it."""
    watch = TWICE.start(threshold=0)
    assert watch.first_above([-1e9] * 5) is None
    assert watch.first_above([-1e9, 1e9, 1e9]) == 1
    assert (watch.asked, watch.stopped) == (7, False)
    assert watch.first_above([1e9]) == 0
    assert watch.stopped
    with pytest.raises(Stopped):
        watch.first_above([1e9])
    assert not watch.forked
