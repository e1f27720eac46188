"""Bits: fresh, used once, not shared across threads or forks, and from one source only."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import dalenius
from dalenius import noise
from dalenius.noise import source, uniform_integers
from dalenius.noise.source import BLOCK, SystemSource, words


def test_words_are_uniform_bits() -> None:
    """Each of the 64 digits is one half the time, false alarm below 1e-9 (9 standard deviations each)."""
    drawn = words(1 << 16)
    ones = np.unpackbits(drawn.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=0, dtype=np.int64)
    assert np.all(np.abs(ones - (1 << 15)) < 9 * (1 << 7))


@pytest.mark.parametrize("n", [0, 1, 7, BLOCK - 1, BLOCK, 3 * BLOCK + 1])
def test_as_many_as_asked_for(n: int) -> None:
    drawn = SystemSource().words(n)
    assert drawn.dtype == np.uint64
    assert len(drawn) == n


def test_no_word_is_handed_out_twice() -> None:
    """Two of these 64-bit words are equal by chance with probability below 1e-10."""
    fresh = SystemSource()
    drawn = np.concatenate([fresh.words(n) for n in range(200)])
    assert len(np.unique(drawn)) == len(drawn)


def test_what_was_handed_out_leaves_the_buffer() -> None:
    fresh = SystemSource()
    fresh.words(100)
    assert not fresh._buffer[:100].any()
    assert fresh._buffer[100:].any()


def test_what_was_handed_out_is_the_callers() -> None:
    fresh = SystemSource()
    first = fresh.words(10)
    kept = first.copy()
    fresh.words(10)
    assert (first == kept).all()


def test_threads_share_nothing() -> None:
    found: list[np.ndarray] = []

    def draw() -> None:
        found.extend(words(3) for _ in range(500))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = np.concatenate(found)
    assert len(np.unique(drawn)) == len(drawn) == 12_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.allowed_skip(reason="a system without fork cannot share a buffer that way")
def test_a_forked_child_draws_bits_of_its_own() -> None:
    words(5)  # the buffer holds words that parent and child could both take
    assert source.SYSTEM._next > 0
    context = multiprocessing.get_context("fork")
    receivers = []
    for _ in range(2):
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=lambda send=send: send.send(words(50)))
        child.start()
        receivers.append((receive, child))
    drawn = [words(50)]
    for receive, child in receivers:
        drawn.append(receive.recv())
        child.join()
    assert len(np.unique(np.concatenate(drawn))) == 150


def test_a_fork_unknown_to_python_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = SystemSource()
    fresh.words(1)
    before = fresh._buffer.copy()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    after = fresh.words(10)
    assert not np.isin(after, before).any()


def test_nobody_waits_for_the_buffer() -> None:
    """A call that interrupts another, in a signal handler say, gets words of its own."""
    fresh = SystemSource()
    fresh.words(1)
    before = fresh._buffer.copy()
    with fresh._lock:
        taken = fresh.words(10)
    assert len(taken) == 10
    assert not np.isin(taken, before).any()
    assert (fresh._buffer == before).all()


def test_a_child_may_draw_while_the_parent_held_the_lock() -> None:
    fresh = SystemSource()
    with fresh._lock:
        fresh.discard()  # what the child does first
        assert len(fresh.words(3)) == 3
        assert fresh._next == 3


def test_draws_differ() -> None:
    assert uniform_integers(0, 2**62, 4).tolist() != uniform_integers(0, 2**62, 4).tolist()


def test_the_package_has_no_other_source() -> None:
    """No name of the room leads to another source, and no part of the package to a seeded one."""
    assert not {"seeded", "SeededSource", "words", "source"} & set(noise.__all__)
    assert "seeded" not in dalenius.__all__
    seen = (
        "import dalenius.noise.source as s, sys; "
        "print(sorted(k for k, v in vars(s).items() if hasattr(v, 'words')), "
        "any('seeded' in name for name in sys.modules), 'words' in vars(s.SYSTEM))"
    )
    result = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert result.stdout.split("\n")[0] == "['SYSTEM', 'SystemSource'] False False"
