"""What is shown of a job: a function of the public plan, the clock, and what has left.

Between its start and the boundary at which it leaves, a job that is computed, one that is done, one that failed and one
whose worker was killed look the same.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Literal

from dalenius.web.jobs.record import Job

State = Literal["waiting", "running", "done", "failed", "refused", "cancelled"]

FAILED = (
    "it was charged, and its answer was never recorded. Why is withheld, since it may depend on the data. Nothing is "
    "refunded, and asking again is charged again."
)
"""What is told when work failed after the charge: in the engine, by a worker that was killed, or by its limit."""

CANCELLED = (
    "nobody waits for it any more. What was charged stays charged: should the answer be on record, asking the same "
    "again is free."
)

GONE = (
    "its answer was on record, and the ledger has it no longer: an older copy may have been put back. Nothing was "
    "charged for this. Tell the steward."
)

NOT_TOLD = "something failed before anything was charged. Ask again, and tell whoever runs the console."


def state(job: Job, now: float) -> State:
    """Where a job is, as far as anyone is told."""
    if job.cancelled is not None:
        return "cancelled"
    if job.leaves is None:
        return "waiting"
    if job.outcome is None or now < job.leaves:
        return "running"
    return job.outcome


def shown(job: Job, now: float, answer: str | None = None) -> dict[str, Any]:
    """The job as JSON, with its answer once it has left. answer: of one that left without a lane (`record.begin`)."""
    where = state(job, now)
    told: dict[str, Any] = {
        "job": job.id,
        "kind": job.kind,
        "dataset": job.dataset,
        "state": where,
        "submitted": moment(job.submitted),
        "slot": job.first,
    }
    if where == "running":
        assert job.starts is not None
        assert job.leaves is not None
        told["leaves"] = moment(job.leaves)
        told["seconds_left"] = round(max(0.0, job.leaves - now), 1)
        told["progress"] = round(min(1.0, max(0.0, (now - job.starts) / (job.leaves - job.starts))), 2)
    elif where == "done":
        assert job.leaves is not None
        answer = answer or job.answer
        has = {"detail": GONE} if answer is None else {"answer": json.loads(answer)}
        told |= {"left": moment(job.leaves), **has}
    elif where in ("failed", "refused"):
        assert job.leaves is not None
        told |= {
            "left": moment(job.leaves),
            "detail": FAILED if where == "failed" else job.problem or NOT_TOLD,
        }
    elif where == "cancelled":
        told["detail"] = CANCELLED
    return told


def moment(seconds: float) -> str:
    """A time of the store, as text."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
