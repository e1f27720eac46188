"""The seeded bits that tests use: repeatable inside their block and their thread, absent elsewhere."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from dalenius.noise.source import word, words
from tests.noise.seeded import ListedSource, current, seeded, using


def test_a_seed_repeats() -> None:
    with seeded(1):
        first = words(10)
    with seeded(1):
        assert (words(10) == first).all()
    with seeded(2):
        assert not (words(10) == first).any()


def test_a_seed_ends_with_its_block() -> None:
    with pytest.raises(RuntimeError, match="out"), seeded(1):
        raise RuntimeError("out")
    assert current.get() is None


def test_seeds_nest() -> None:
    with seeded(1):
        outer = words(4)
    with seeded(1):
        start = words(2)
        with seeded(5):
            words(100)
        rest = words(2)
    assert (np.concatenate([start, rest]) == outer).all()


def test_another_thread_keeps_the_system_source() -> None:
    seen: list[object] = []
    with seeded(1):
        thread = threading.Thread(target=lambda: seen.append(current.get()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_listed_words_come_first() -> None:
    with using(ListedSource([5, 6, 7])):
        assert words(2).tolist() == [5, 6]
        assert word() == 7
        assert len(words(10)) == 10
