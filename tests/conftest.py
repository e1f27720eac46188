"""Rules every test lives under: no silent skip in CI, and the same random examples in every CI run."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import same_examples

if TYPE_CHECKING:
    from tests.servers.postgres import PostgresServer

IN_CI = os.environ.get("CI") == "true"

os.environ["MPLBACKEND"] = "Agg"
# Workers share the cores: threads of linear algebra that wait for each other would take most of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

SERVERS = {"postgres_server", "spark", "spark_session"}
"""Fixtures that start a server."""

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if IN_CI else "dev")
if IN_CI:
    same_examples.settle()

WHY = (
    "skipped under CI=true: {reason}\n"
    "Install what is missing, or, if skipping loses nothing, mark it @pytest.mark.allowed_skip(reason=...)."
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is there before the first test stays to the end: nobody needs to look for garbage in it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_unconfigure() -> None:
    """At the end they are garbage, too: libraries in C++ complain of what is left of them."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make fast` leaves out: what starts a server, and what took long when it was measured."""
    path = Path(__file__).with_name("slow.txt")  # see slow.py
    listed = path.read_text().split() if path.exists() else []
    slow, places = (
        set(listed),
        {name.partition("::")[0]: place for place, name in reversed([*enumerate(listed)])},
    )
    order: dict[pytest.Item, int] = {}
    for item in items:
        module, _, rest = item.nodeid.partition("::")
        function, _, case = rest.partition("[")
        parts = function.split("::")
        scope = ".".join([module.removesuffix(".py").replace("/", "."), *parts[:-1]])
        served = "postgres" in case or SERVERS & set(getattr(item, "fixturenames", ()))
        if f"{scope}::{parts[-1]}" in slow or served:
            item.add_marker(pytest.mark.slow)
        order[item] = places.get(scope, len(listed))
    # What takes longest together first: what is left at the end is short, and no worker waits long for another.
    items.sort(key=order.__getitem__)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """A skip reports (path, line, reason); anything else is shown as it is."""
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    report.longrepr = WHY.format(reason=_reason(report))
    report.outcome = "failed"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    expected_failure = hasattr(report, "wasxfail")  # pytest reports these as skipped, too
    if IN_CI and report.skipped and not expected_failure and item.get_closest_marker("allowed_skip") is None:
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A whole file skipped while it is imported (`pytest.importorskip` at its top) is a skip as well."""
    report = yield
    if IN_CI and report.skipped:
        _fail(report)
    return report


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A real PostgreSQL server; `postgres_server.fresh()` is the URL of a new, empty database on it."""
    from tests.servers import postgres

    try:
        with postgres.running() as server:
            yield server
    except postgres.NoServer as missing:
        pytest.skip(str(missing))
