"""Rows that come in blocks: any number of them in the memory of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Stream(Generic[T]):
    """`read()` yields blocks of what an array, or a pair of arrays, would hold. Every look at the rows reads them all.

    half_step: how far values are from what they were before they came on a grid, at most.
    """

    read: Callable[[], Iterable[T]]
    half_step: float = 0.0

    def __iter__(self) -> Iterator[T]:
        return iter(self.read())


def parts(sample: T | Stream[T]) -> Iterable[T]:
    """The blocks of a data set: it is one itself, where it is at hand."""
    return sample if isinstance(sample, Stream) else (sample,)


def half_step(sample: object) -> float:
    """How far values may have been moved already."""
    return sample.half_step if isinstance(sample, Stream) else 0.0
