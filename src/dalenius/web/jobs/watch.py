"""Many who wait for their jobs to begin, and one who looks for all of them: the store is asked once, not by each."""

from __future__ import annotations

import asyncio
import contextlib

from dalenius.web.jobs import record
from dalenius.web.store.store import Store, StoreUnusable


class Watch:
    """For the requests of one event loop."""

    def __init__(self, store: Store, poll: float) -> None:
        self.store, self.poll = store, poll
        self.waiting: dict[str, set[asyncio.Event]] = {}
        self.task: asyncio.Task[None] | None = None

    async def begun(self, id: str, seconds: float) -> None:
        """Come back when a job no longer waits, or after so many seconds."""
        event = asyncio.Event()
        self.waiting.setdefault(id, set()).add(event)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._look())
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)
        finally:
            others = self.waiting.get(id, set())
            others.discard(event)
            if not others:
                self.waiting.pop(id, None)

    async def _look(self) -> None:
        while self.waiting:
            await asyncio.sleep(self.poll)
            asked = list(self.waiting)
            with contextlib.suppress(StoreUnusable):  # it is away: they wait on
                for id in set(asked) - await asyncio.to_thread(record.still_waiting, self.store, asked):
                    for event in self.waiting.get(id, ()):
                        event.set()
