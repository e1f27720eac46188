"""Threads for what is over at once: who somebody is, and answers that are at hand. Nothing that plans or waits for work
has them, so however much of that there is, nobody waits for a thread who only reads what is on record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

T = TypeVar("T")

MOST = 8
"""At a time, in one event loop: as many as the store has connections."""

_limit: RunVar[CapacityLimiter] = RunVar("dalenius quick")


async def quickly(function: Callable[..., T], *given: object) -> T:
    """What a function gives that asks the store for little and computes next to nothing, in a thread of these."""
    try:
        limit = _limit.get()
    except LookupError:
        limit = CapacityLimiter(MOST)
        _limit.set(limit)
    return await to_thread.run_sync(function, *given, limiter=limit)
