"""The accountant at work in a process of its own, which is ended when one step takes too long.

Almost every step takes milliseconds. A few losses that nobody would plan take minutes, and a thread cannot be ended:
one of them would keep everybody else waiting, and the server busy. The process is started when it is first needed, and
again after it was ended; it yields to the server (nice), and ends with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from dalenius.web.planning import plans
from dalenius.web.planning.plans import Plan
from dalenius.web.planning.sketch import Known, fine, is_hopeless

STARTING = 60.0
"""Seconds that the process may take to start."""
LIMIT = 2.0
"""Seconds for one step."""
ALARM = 10
"""Seconds after which the process ends itself."""
PART = 0.005
"""Seconds after which what was found is told, so that a newer plan can come first."""
KEPT = 100
"""Plans that are half done."""
HOME = str(Path(__file__).resolve().parents[3])
"""Where this package is found."""

State = Literal["working", "whole", "hopeless", "given up"]


class Ended(Exception):
    """The process was ended, or ended by itself, before it answered."""


class Clerk:
    """Asked by one thread at a time."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.pipe: Connection[Any, Any] | None = None

    def step(self, plan: Plan) -> tuple[State, Known | None]:
        """Go on with a plan for a moment; how it stands then, and what is known."""
        try:
            pipe = self.started()
            pipe.send(plan.query())
            if pipe.poll(LIMIT):
                told: tuple[State, Known | None] = pipe.recv()
                return told
        except (EOFError, OSError):
            pass
        self.close()
        raise Ended

    def started(self) -> Connection[Any, Any]:
        """The pipe to the process, which is started if it does not run."""
        if self.pipe is not None and self.process is not None and self.process.poll() is None:
            return self.pipe
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            # A program of its own: nothing of the server is copied, and whatever started the server is not run again.
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(number)],
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([HOME, os.environ.get("PYTHONPATH", "")])},
            )
        self.pipe = Connection(ours.detach())
        if not self.pipe.poll(STARTING):
            raise OSError
        self.pipe.recv()
        return self.pipe

    def close(self) -> None:
        """End the process, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.pipe is not None:
            self.pipe.close()
        self.process = self.pipe = None


def _serve(pipe: Connection[Any, Any]) -> None:
    """In the process: until the other side is gone."""
    os.nice(5)
    begun: OrderedDict[str, Iterator[tuple[State, Known | None]]] = OrderedDict()
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        pipe.send("ready")
        while True:
            query = pipe.recv()
            steps = begun.pop(query, None) or _steps(query)
            signal.alarm(ALARM)  # should nobody be there any more to end it
            told = _for_a_moment(steps)
            signal.alarm(0)
            if told[0] == "working":
                begun[query] = steps
                while len(begun) > KEPT:
                    begun.popitem(last=False)
            pipe.send(told)


def _for_a_moment(steps: Iterator[tuple[State, Known | None]]) -> tuple[State, Known | None]:
    until = time.monotonic() + PART
    told: tuple[State, Known | None] = ("given up", None)
    try:
        for told in steps:
            if told[0] != "working" or time.monotonic() > until:
                return told
    except Exception:  # a loss that the accountant refuses: what divergences told stands
        return "given up", told[1]
    return told


def _steps(query: str) -> Iterator[tuple[State, Known | None]]:
    plan = plans.read(dict(parse_qsl(query)))
    loss = plan.made()
    if is_hopeless(loss):
        yield "hopeless", None
        return
    known = None
    for known in fine(loss, plan.delta):
        yield "working", known
    yield "whole", known


if __name__ == "__main__":
    # By its full name: what is sent is known to the other side by the same.
    from dalenius.web.planning.clerk import _serve as serve

    serve(Connection(int(sys.argv[1])))
