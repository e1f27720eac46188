"""Whether the console is well: for a load balancer, a supervisor, a person.

What is told is of the machinery: that it is there. Nothing is timed or counted that a question could move.
"""

from __future__ import annotations

import threading
import time
from typing import Literal, cast

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from dalenius.errors import DaleniusError
from dalenius.session.ledger import Ledger
from dalenius.session.opening import existing_ledger
from dalenius.web.people.access import Anyone
from dalenius.web.state import settings_of, store_of

router = APIRouter(tags=["health"])

KEPT = 1.0
"""Seconds for which a finding is told again: asking often is no way to keep the store busy."""


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"] = Field(description="Always ok; no answer at all means that it is not.")


class Ready(BaseModel):
    """What a question needs is there, or not."""

    status: Literal["ok", "not ready"] = Field(description="ok where all of the others are.")
    store: Literal["ok", "not ready"] = Field(description="The console's own record.")
    ledger: Literal["ok", "not ready"] = Field(description="The ledger; ok also before it is made.")
    workers: Literal["ok", "not ready"] = Field(description="Those who carry questions out.")


@router.get("/healthz")
async def healthz(person: Anyone) -> Alive:
    """Whether the process answers."""
    return Alive(status="ok")


@router.get("/readyz")
async def readyz(person: Anyone, request: Request, response: Response) -> Ready:
    """Whether questions can be asked: the store, the ledger and the workers; status 503 where not."""
    found = await run_in_threadpool(_ready, request)
    response.status_code = 200 if found.status == "ok" else 503
    return found


_lock = threading.Lock()


def _ready(request: Request) -> Ready:
    state = request.app.state
    with _lock:
        moment, kept = getattr(state, "ready", (0.0, None))
        if kept is None or time.monotonic() - moment > KEPT:
            kept = _looked_at(request)
            state.ready = (time.monotonic(), kept)
        return cast("Ready", kept)


def _looked_at(request: Request) -> Ready:
    store, settings = store_of(request), settings_of(request)

    def has_store() -> bool:
        with store.reading() as connection:
            return bool(connection.exec_driver_sql("SELECT 1").scalar_one())

    def has_ledger() -> bool:
        if getattr(request.app.state, "ledger_seen", None) is None:
            request.app.state.ledger_seen = existing_ledger(settings.ledger_address)
        ledger: Ledger | None = request.app.state.ledger_seen
        if ledger is not None:
            with ledger.reading() as rows:
                return rows.end > 0
        return True

    def has_workers() -> bool:
        return bool(request.app.state.jobs.workers.alive)

    found = {}
    for name, is_there in (("store", has_store), ("ledger", has_ledger), ("workers", has_workers)):
        try:
            found[name] = is_there()
        except DaleniusError:
            found[name] = False
    said = {name: "ok" if ok else "not ready" for name, ok in found.items()}
    return Ready(status="ok" if all(found.values()) else "not ready", **said)  # type: ignore[arg-type]
