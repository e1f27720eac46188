"""Numbers for Prometheus: the schedule of the work, and that the parts are there.

All of them are read from the store and the ledger when they are asked for, so every worker process tells the same. None
of them moves with a row: a job is counted when it is asked for, when it starts, and when it leaves, which the public
plan fixes (`jobs.slots`), and never when its work ends; what is spent of a budget moves with the charge, whose moments
the plan fixes, too. For the same reason there is no number of the ledger's entries, no duration, no memory and no count
of failures.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Iterator

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.concurrency import run_in_threadpool

from dalenius import __version__
from dalenius.errors import DaleniusError
from dalenius.web.datasets import opening
from dalenius.web.datasets.standing import percent_spent, standing_of
from dalenius.web.jobs import record
from dalenius.web.people.access import Anyone
from dalenius.web.problems import Problem
from dalenius.web.settings import Settings
from dalenius.web.state import settings_of, store_of
from dalenius.web.store import Store, alerts, datasets
from dalenius.web.store.people import STEWARD

router = APIRouter(tags=["health"])

TEXT = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}}, response_class=Response)
async def metrics(person: Anyone, request: Request) -> Response:
    """Numbers for Prometheus: for stewards, and for programs on the server itself where the settings say so."""
    steward = person is not None and person.role == STEWARD
    if not steward and not (settings_of(request).metrics_local and _is_local(request)):
        raise Problem(
            401 if person is None else 403,
            "the numbers of the console are for stewards; for a program on the same machine, start the console with "
            "--metrics-local.",
        )
    return Response(
        await run_in_threadpool(numbers, store_of(request), settings_of(request)), media_type=TEXT
    )


def numbers(store: Store, settings: Settings) -> bytes:
    """The numbers, in Prometheus's text."""
    registry = CollectorRegistry()
    registry.register(_Numbers(store, settings))
    return generate_latest(registry)


class _Numbers:
    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        census = record.census(self.store)
        info = GaugeMetricFamily("dalenius_info", "The version that runs.", labels=["version"])
        info.add_metric([__version__], 1)
        yield info
        yield CounterMetricFamily("dalenius_jobs_submitted", "Jobs that were asked for.", census["submitted"])
        yield CounterMetricFamily(
            "dalenius_jobs_left", "Jobs that have left, or were cancelled.", census["left"]
        )
        yield GaugeMetricFamily("dalenius_jobs_waiting", "Jobs that wait for a lane.", census["waiting"])
        spent = GaugeMetricFamily(
            "dalenius_budget_spent_ratio",
            "The part of the open budget that is charged, in whole percents, rounded up.",
            labels=["dataset"],
        )
        told = GaugeMetricFamily(
            "dalenius_alerts",
            "Alerts that the page of a data set shows: percents that its stewards set, and a ledger that is not sound.",
            labels=["dataset"],
        )
        for name, ratio, number in _standings(self.store, self.settings):
            spent.add_metric([name], ratio)
            told.add_metric([name], number)
        yield spent
        yield told
        yield GaugeMetricFamily(
            "dalenius_jobs_under_way", "Jobs between their start and their leaving.", census["under_way"]
        )


def _standings(store: Store, settings: Settings) -> Iterator[tuple[str, float, int]]:
    """By data set: the part that is spent, and how many alerts there are. A charge is made before the data are read,
    at a moment that the plan fixes (`jobs.slots`), and is never taken back: so this does not move when work ends. One
    whose ledger cannot be read is left out."""
    with store.reading() as connection:
        opened = [each.name for each in datasets.everything(connection) if each.is_open]
        verified = datasets.last_verification(connection)
        thresholds = {name: alerts.thresholds(connection, name) for name in opened}
    for name in opened:
        with contextlib.suppress(DaleniusError):
            account = opening.ledger(store, settings).existing(name)
            shown = standing_of(account, None, verified, thresholds[name]).alerts
            yield name, percent_spent(account.state()) / 100, len(shown)


def _is_local(request: Request) -> bool:
    """Whether it comes from this machine, and neither through a proxy on it nor from a page of another site whose name
    was made to lead here (a browser sends that name as the host)."""
    named = request.url.hostname in ("localhost", "127.0.0.1", "::1") or settings_of(request).hosts
    if (
        request.client is None
        or not named
        or any(name in request.headers for name in ("x-forwarded-for", "forwarded", "via"))
    ):
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
