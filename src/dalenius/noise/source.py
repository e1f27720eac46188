"""Random bits: from the operating system's secure source, in large blocks, each bit handed out once.

`words(n)` is the only way the samplers of this room reach randomness. There is one source and no way to name
another: nothing in this package can turn secure noise into noise that somebody could repeat.
"""

from __future__ import annotations

import os
import threading

import numpy as np

from dalenius.core.arrays import Words

BLOCK = 1 << 13
"""Words fetched at once for small requests (64 KiB)."""


class SystemSource:
    """`os.urandom`, in blocks.

    Small requests are served from a buffer, one at a time; a word leaves the buffer when it is handed out
    (its place is overwritten), and a forked child throws the whole buffer away, so that no two callers,
    threads or processes ever see the same bits. Large requests, and those made while another is being
    served, go to the operating system directly.
    """

    def __init__(self) -> None:
        self.discard()

    def discard(self) -> None:
        """Forget what is buffered, and whoever held the lock: what a child does after a fork."""
        self._lock = threading.Lock()
        self._buffer: Words = np.empty(0, dtype=np.uint64)
        self._next = 0
        self._process = os.getpid()

    def words(self, n: int) -> Words:
        """The next `n` words; they are the caller's to keep and are never handed out again."""
        if self._process != os.getpid():  # a fork that did not go through Python's hooks
            self.discard()
        # Nobody waits for the lock, which may be held by the very call that a signal has interrupted.
        if n >= BLOCK or not self._lock.acquire(blocking=False):
            return _fetch(n)
        try:
            if self._next + n > len(self._buffer):
                self._buffer, self._next = _fetch(BLOCK).copy(), 0
            part = self._buffer[self._next : self._next + n]
            self._next += n
            taken = part.copy()
            part[:] = 0
        finally:
            self._lock.release()
        return taken


def _fetch(n: int) -> Words:
    return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


SYSTEM = SystemSource()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SYSTEM.discard)


def words(n: int) -> Words:
    """`n` fresh uniform 64-bit words."""
    return SYSTEM.words(n)


def word() -> int:
    """One fresh uniform 64-bit word."""
    return int(words(1)[0])
