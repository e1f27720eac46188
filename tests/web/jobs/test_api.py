"""Jobs, health and numbers as programs see them."""

from __future__ import annotations

import re
import time

from dalenius.web.jobs import record
from dalenius.web.jobs.slots import Slots
from tests.web.console import Console


def test_a_job_is_its_owners_and_waits_to_the_boundary(console: Console) -> None:
    anna, boris = console.api("Anna"), console.api("Boris")
    begun = time.time()
    job = record.add(
        console.store,
        kind="release",
        dataset="nowhere",
        person=console.people["Anna"].id,
        analyst="Anna",
        payload={},
        key="k",
        slots=Slots(0.2, 10.0),
    )
    told = anna.get(f"/api/v1/jobs/{job.id}", params={"wait": 5}).json()
    # There is no such data set: refused before anything was charged, and told at the end of the slot all the same.
    assert told["state"] == "refused"
    assert time.time() - begun > 0.15
    assert [each["job"] for each in anna.get("/api/v1/jobs").json()] == [job.id]
    assert boris.get("/api/v1/jobs").json() == []
    for answer in (
        boris.get(f"/api/v1/jobs/{job.id}"),
        boris.delete(f"/api/v1/jobs/{job.id}"),
        anna.get("/api/v1/jobs/none"),
    ):
        assert answer.status_code == 404
        assert answer.json()["detail"] == "you have no such job."
    assert anna.delete(f"/api/v1/jobs/{job.id}").json() == told  # it had left
    assert anna.get(f"/api/v1/jobs/{job.id}", params={"wait": 1e9}).status_code == 422


def test_health_is_for_anyone_and_numbers_for_stewards(console: Console) -> None:
    assert console.client.get("/healthz").json() == {"status": "ok"}
    ready = console.client.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ok")
    assert console.client.get("/metrics").status_code == 401
    assert console.api("Anna").get("/metrics").status_code == 403
    text = console.api("Stella").get("/metrics").text
    names = set(re.findall(r"^(dalenius_\w+)", text, re.MULTILINE))
    assert names == {
        "dalenius_info",
        "dalenius_jobs_submitted_total",
        "dalenius_jobs_left_total",
        "dalenius_jobs_waiting",
        "dalenius_jobs_under_way",
    }


def test_a_console_without_workers_is_not_ready(console: Console) -> None:
    console.app.state.jobs.workers.stop()
    time.sleep(1.1)
    ready = console.client.get("/readyz")
    assert ready.status_code == 503
    assert ready.json() == {"status": "not ready", "store": "ok", "ledger": "ok", "workers": "not ready"}
