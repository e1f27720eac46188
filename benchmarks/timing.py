"""Median wall-clock time of a call, caches emptied before every repetition."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.ours import forget

T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """Seconds."""

    median: float
    fastest: float
    slowest: float
    repetitions: int

    @classmethod
    def of(cls, seconds: list[float]) -> Timing:
        return cls(statistics.median(seconds), min(seconds), max(seconds), len(seconds))


ENOUGH = 0.5
"""Seconds: what takes milliseconds is repeated for so long, or a passing load on the machine would be measured."""
MOST = 100


def timed(call: Callable[[], T], repetitions: int = 9) -> tuple[T, Timing]:
    """The answer, and how long it took: one warm-up, then the median of at least so many repetitions."""
    answer = call()
    seconds: list[float] = []
    while len(seconds) < repetitions or (sum(seconds) < ENOUGH and len(seconds) < MOST):
        forget()
        start = time.perf_counter()
        answer = call()
        seconds.append(time.perf_counter() - start)
    return answer, Timing.of(seconds)
