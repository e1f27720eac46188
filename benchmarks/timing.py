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


def timed(call: Callable[[], T], repetitions: int = 9) -> tuple[T, Timing]:
    """The answer, and how long it took: one warm-up, then the median of the repetitions."""
    answer = call()
    seconds = []
    for _ in range(repetitions):
        forget()
        start = time.perf_counter()
        answer = call()
        seconds.append(time.perf_counter() - start)
    return answer, Timing.of(seconds)
