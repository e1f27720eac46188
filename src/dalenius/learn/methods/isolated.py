"""Code of others, run on private records in processes that end with what they saw.

An estimator may print, warn, raise, keep rows in a global, draw from shared random numbers or crash. Whatever it does
in its own process, one vector of numbers comes back, or zeros. (A process can still write files or open connections:
only code that is trusted not to may be given records.)

A helper process is started once. It never sees a record: for every part of the data it makes a copy of itself, which
fits that part alone, writes its numbers into a pipe, and is ended.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import cloudpickle
import numpy as np

from dalenius.calculus.pairs.pair import Reals
from dalenius.core.quiet import quiet
from dalenius.errors import InvalidParameter

START = "import sys; sys.path[:] = {path!r}; from dalenius.learn.methods.isolated import serve; serve()"
Task = Callable[[Reals, Any], Any]


def packed(task: Task) -> bytes:
    """The task as bytes that another process can read."""
    if not hasattr(os, "fork"):
        raise InvalidParameter("code of others is run in copies of a process, which this system cannot make.")
    try:
        return bytes(cloudpickle.dumps(task))
    except Exception as problem:
        raise InvalidParameter(
            f"the estimator cannot be sent to a process of its own ({problem}); leave out open files, locks and "
            "connections."
        ) from None


def results(task: bytes, parts: Iterable[tuple[Reals, Any]], size: int, timeout: float) -> Iterator[Reals]:
    """task(x, y) of every part, run alone: `size` finite numbers, or zeros for what fails or takes too long."""
    with _lock:
        for part in parts:
            vector = np.frombuffer(_helper().asked(task, part, timeout), dtype=np.float64)
            yield vector if vector.shape == (size,) and np.isfinite(vector).all() else np.zeros(size)


class _Helper:
    """The other end of `serve`."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.process = subprocess.Popen(
            [sys.executable, "-c", START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def asked(self, task: bytes, part: Any, timeout: float) -> bytes:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump((task, part, timeout), self.process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
            answer = pickle.load(self.process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):  # it has ended
            self.close()
            return b""
        except (
            BaseException
        ):  # an interrupt: the answer that is still to come belongs to nobody who asks later
            self.close()
            raise
        if answer is None:
            raise InvalidParameter(
                "the estimator cannot be read in a process of its own; define it in a module that can be imported."
            )
        return bytes(answer)

    def close(self) -> None:
        global _running
        _running = None
        with contextlib.suppress(OSError):
            self.process.kill()
            self.process.communicate()


_running: _Helper | None = None
_lock = threading.RLock()


def _helper() -> _Helper:
    global _running
    if _running is None or _running.pid != os.getpid():
        _running = _Helper()
        atexit.register(_running.close)
    return _running


def serve() -> None:
    """Answer until the other end is closed. What the code prints goes nowhere."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    helpers = requests.fileno(), replies.fileno()
    known: tuple[bytes, Task | None] = b"", None
    while True:
        try:
            task, part, timeout = pickle.load(requests)
        except EOFError:
            return
        if known[0] != task:
            known = task, _read(task)
        answer = None if known[1] is None else _in_a_copy(known[1], part, timeout, helpers)
        pickle.dump(answer, replies)
        replies.flush()


def _read(task: bytes) -> Task | None:
    try:
        read: Task = pickle.loads(task)
    except Exception:
        return None
    return read


def _in_a_copy(task: Task, part: Any, timeout: float, helpers: Iterable[int]) -> bytes:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        for pipe in helpers:  # by these other parts would come, and answers to them go
            os.close(pipe)
        with os.fdopen(write, "wb") as out:
            out.write(_numbers(task, part))
        os._exit(0)
    os.close(write)
    try:
        return _until(read, time.monotonic() + timeout)
    finally:
        os.close(read)
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _until(pipe: int, end: float) -> bytes:
    """What is written before the pipe is closed; nothing if that is too late."""
    written = b""
    while select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
        more = os.read(pipe, 1 << 16)
        if not more:
            return written
        written += more
    return b""


def _numbers(task: Task, part: Any) -> bytes:
    try:
        np.random.seed()  # noqa: NPY002 - the copies would all draw the same numbers
        with quiet():
            return np.ravel(np.asarray(task(*part), dtype=np.float64)).tobytes()
    except BaseException:
        return b""
