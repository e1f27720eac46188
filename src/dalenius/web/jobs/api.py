"""Jobs for programs, and the workers that run while the console does."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from dalenius.web.jobs.jobs import LONGEST_WAIT, Jobs
from dalenius.web.jobs.opener import open_in_process
from dalenius.web.jobs.view import State
from dalenius.web.jobs.workers import Pace
from dalenius.web.people.access import SignedIn
from dalenius.web.problems import Problem
from dalenius.web.settings import Settings
from dalenius.web.store import Store

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])

Id = Annotated[str, Path(description="As it was given when the work was asked for.", max_length=64)]


class JobShown(BaseModel):
    """Background work as far as anyone is told: it depends on the plan and the clock until it leaves."""

    job: str = Field(description="Names the job in the API.")
    kind: str = Field(description="What sort of work it is.")
    dataset: str = Field(description="Of which data set.")
    state: State = Field(
        description="waiting, running (until the end of a slot, whether or not work goes on), done, failed (charged, "
        "without an answer), refused (nothing was charged), or cancelled."
    )
    submitted: str = Field(description="When it was asked for, in UTC.")
    slot: float = Field(
        description="Seconds of its first slot; an overrun leaves after 2, 4, 8, ... times as many."
    )
    leaves: str | None = Field(
        None, description="While it runs: the next moment at which it may leave, in UTC."
    )
    seconds_left: float | None = Field(None, description="While it runs: seconds until then.")
    progress: float | None = Field(
        None, description="While it runs: the part of the slot that is over, 0 to 1."
    )
    left: str | None = Field(None, description="Once it has left: when, in UTC.")
    answer: Any = Field(None, description="Once it is done: the answer.")
    detail: str | None = Field(None, description="Where there is no answer: why, as far as that may be told.")


async def jobs_of(request: Request) -> Jobs:
    """The background work of the app. Not a plain function, which would be run in a thread of its own."""
    return cast("Jobs", request.app.state.jobs)


TheJobs = Annotated[Jobs, Depends(jobs_of)]


@router.get("", response_model_exclude_none=True)
def jobs(person: SignedIn, jobs: TheJobs) -> list[JobShown]:
    """Your last 100 jobs, the newest first, without their answers: ask for one of them."""
    return [JobShown(**told) for told in jobs.list(person.id)]


@router.get("/{id}", response_model_exclude_none=True)
async def job(
    request: Request,
    person: SignedIn,
    jobs: TheJobs,
    id: Id,
    wait: Annotated[
        float,
        Query(description="Seconds to wait for it to leave.", ge=0, le=LONGEST_WAIT, allow_inf_nan=False),
    ] = 0.0,
) -> JobShown:
    """One of your jobs: at once, or once it has left."""
    told = await jobs.wait(id, person.id, wait, partial(_gone, request))
    return _shown(told)


@router.delete("/{id}", response_model_exclude_none=True)
async def cancel(person: SignedIn, jobs: TheJobs, id: Id) -> JobShown:
    """Stop waiting. Nothing is refunded: work that has begun goes on unseen, and work that has left stays as it is."""
    return _shown(await run_in_threadpool(jobs.cancel, id, person.id))


async def _gone(request: Request) -> None:
    """Come back when whoever sent a request has hung up."""
    with contextlib.suppress(ClientDisconnect):
        await request.body()  # what is said before that
        while (await request.receive())["type"] != "http.disconnect":
            pass


def _shown(told: dict[str, Any] | None) -> JobShown:
    if told is None:
        raise Problem(404, "you have no such job.")
    return JobShown(**told)


def jobs_for(settings: Settings, store: Store) -> Jobs:
    """Background work with the settings of a console."""
    pace = Pace(
        lanes=settings.slots if settings.isolation == "process" else 1,  # threads would share one connection
        lease=settings.lease_seconds,
        isolation=settings.isolation,
    )
    opener = partial(open_in_process, settings)
    return Jobs(store, opener, slot=settings.slot_seconds, limit=settings.work_seconds, pace=pace)


@contextlib.asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[None]:
    """The workers, while the console runs."""
    jobs = jobs_for(app.state.settings, app.state.store)
    app.state.jobs = jobs
    jobs.workers.start()
    try:
        yield
    finally:
        await run_in_threadpool(jobs.workers.stop)
