"""Waiting for a job of a console."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dalenius.errors import ConsoleError
from dalenius.remote.line import Line, Progress

WAIT = 20.0
"""Seconds that the console may hold a request until a job leaves."""
GOING = ("waiting", "running")
STATES = (*GOING, "done", "failed", "refused", "cancelled")


def waited(line: Line, job: str, progress: Progress | bool) -> Mapping[str, Any]:
    """The job, once it has left. Ctrl-C stops the waiting and nothing else: asked again, the answer is on record."""
    with _told(progress) as tell:
        while True:
            found = seen(line, job, WAIT)
            tell(found)
            if found["state"] not in GOING:
                return found


def seen(line: Line, job: str, wait: float) -> Mapping[str, Any]:
    """The job as the console tells of it: at once, or after so many seconds, or when it has left."""
    found = line.get("jobs", job, wait=wait, held=wait)
    if not isinstance(found, Mapping) or found.get("state") not in STATES:
        raise ConsoleError("the console told of a job in a way that this dalenius does not know.")
    return found


@contextmanager
def _told(progress: Progress | bool) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    if callable(progress):
        yield progress
    elif progress and sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("waiting for the console") as status:

            def tell(seen: Mapping[str, Any]) -> None:
                left = seen.get("seconds_left")
                more = f", the next slot ends in {left:g} s" if isinstance(left, int | float) else ""
                status.update(f"{seen['state']}{more}")

            yield tell
    else:
        yield lambda seen: None
