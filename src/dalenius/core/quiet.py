"""Nothing is said while private rows are looked at: a warning that one row caused would tell of it.

Filters of warnings belong to the whole process, so they are kept once for all threads that look at the same time: the
first one silences them, the last one puts them back.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_lock = threading.Lock()
_inside = 0
_kept: warnings.catch_warnings[None] | None = None


@contextmanager
def quiet() -> Iterator[None]:
    """No warning is shown, kept or raised meanwhile, whatever the filters are.

    >>> import warnings
    >>> with quiet():
    ...     warnings.warn("of a row")
    """
    if getattr(sys.flags, "context_aware_warnings", False):  # there every thread has filters of its own
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
        return
    _enter()
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _kept
    with _lock:
        _inside += 1
        if _inside == 1:
            _kept = warnings.catch_warnings()
            _kept.__enter__()
            warnings.simplefilter("ignore")


def _leave() -> None:
    global _inside, _kept
    with _lock:
        _inside -= 1
        if _inside == 0 and _kept is not None:
            _kept.__exit__(None, None, None)
            _kept = None


def _in_child() -> None:
    """After a fork another thread that held the lock, or was inside, is not here to leave."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
