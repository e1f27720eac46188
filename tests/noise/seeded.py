"""Reproducible bits for tests: what is drawn under a known seed hides nothing.

The product has no switch for this: it draws from the operating system and nothing else. Importing this module,
which is not part of the installed package, replaces `words` of the one system source by a function that first
looks whether a test has named another source for its own context.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

from dalenius.noise import source
from dalenius.noise.source import Words


class Source(Protocol):
    """Whatever hands out independent uniform 64-bit words."""

    def words(self, n: int) -> Words: ...


class SeededSource:
    """Words of a counter-based generator with a known key."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(key=seed)

    def words(self, n: int) -> Words:
        raw: Words = self._generator.random_raw(n)
        return raw


class ListedSource:
    """First the listed words, then seeded ones: to walk a sampler into its rare branches."""

    def __init__(self, listed: list[int], seed: int = 0) -> None:
        self._listed = np.array(listed, dtype=np.uint64)
        self._rest = SeededSource(seed)

    def words(self, n: int) -> Words:
        taken, self._listed = self._listed[:n], self._listed[n:]
        return taken if len(taken) == n else np.concatenate([taken, self._rest.words(n - len(taken))])


current: ContextVar[Source | None] = ContextVar("tests.noise.seeded", default=None)
_secure = source.SYSTEM.words


def _words(n: int) -> Words:
    chosen = current.get()
    return _secure(n) if chosen is None else chosen.words(n)


source.SYSTEM.words = _words  # type: ignore[method-assign]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within the block, in this thread, every draw is determined by `seed`.

    >>> from dalenius.noise import uniform_integers
    >>> with seeded(7):
    ...     first = uniform_integers(0, 100, 3)
    >>> with seeded(7):
    ...     assert (uniform_integers(0, 100, 3) == first).all()
    """
    with using(SeededSource(seed)):
        yield


@contextmanager
def using(chosen: Source) -> Iterator[None]:
    """Within the block, in this thread, bits come from `chosen`."""
    token = current.set(chosen)
    try:
        yield
    finally:
        current.reset(token)
