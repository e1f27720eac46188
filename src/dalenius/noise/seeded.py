"""Reproducible bits, FOR TESTS ONLY: what is drawn under a known seed hides nothing.

Not exported by :mod:`dalenius.noise` or :mod:`dalenius`; no sampler or mechanism takes a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from dalenius.noise.source import Source, Words, current


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
def using(source: Source) -> Iterator[None]:
    """Within the block, in this thread, bits come from `source`."""
    token = current.set(source)
    try:
        yield
    finally:
        current.reset(token)
