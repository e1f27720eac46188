"""The console as one app: its rooms, put together. A route that does not say who may use it stops the start."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from importlib import import_module
from types import ModuleType
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from dalenius import __version__
from dalenius.errors import DaleniusError
from dalenius.web import failures, texts
from dalenius.web.describe import described
from dalenius.web.guard import Guard
from dalenius.web.limits import Limit
from dalenius.web.pages.render import STATIC
from dalenius.web.people.access import rule_of
from dalenius.web.problems import ProblemShown
from dalenius.web.settings import Settings
from dalenius.web.store import Store

ROOMS = (
    "dalenius.web.people.home",
    "dalenius.web.people.sign_in",
    "dalenius.web.people.page",
    "dalenius.web.people.api",
    "dalenius.web.datasets.page",
    "dalenius.web.datasets.budget_page",
    "dalenius.web.datasets.ledger_page",
    "dalenius.web.datasets.promise_page",
    "dalenius.web.datasets.api",
    "dalenius.web.asking.api",
    "dalenius.web.planning.routes",
    "dalenius.web.reports.routes",
    "dalenius.web.analyst.routes",
    "dalenius.web.jobs.api",
    "dalenius.web.health.health",
    "dalenius.web.health.metrics",
)
"""Modules with a `router` each. A room may also have LINKS, a tuple of `pages.Link` shown at the top of every page, and
`running(app)`, an async context manager that is entered while the console runs."""

ABOUT = (
    "Everything that the pages of the console do, for programs. Send a token with every request: "
    "`Authorization: Bearer dalenius_...`. What goes wrong is told as RFC 9457's problem document."
)


class RouteWithoutRule(DaleniusError):
    """A route does not say who may use it."""


def create_app(settings: Settings, store: Store | None = None) -> FastAPI:
    """The console with these settings. Its store is opened, and made where there is none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fastapi.testclient import TestClient
    >>> from dalenius.web.app import create_app
    >>> from dalenius.web.settings import Settings
    >>> client = TestClient(create_app(Settings(Path(tempfile.mkdtemp()))))
    >>> client.get("/api/v1/people").json()["title"]
    'Nobody is signed in'
    """
    settings.make_folder()
    rooms = [import_module(name) for name in ROOMS]
    app = FastAPI(
        title="dalenius console",
        version=__version__,
        description=ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would lead to whatever host the request names
        lifespan=_lifespan(rooms),
        responses={
            "4XX": {"model": ProblemShown, "description": "What is wrong with the request, and what to do."},
            "5XX": {"model": ProblemShown, "description": "What failed here."},
        },
    )
    app.state.settings = settings
    app.state.store = store or Store.open(settings.store_address)
    app.state.calls = Limit(app.state.store, "calls", settings.calls_per_minute)
    app.state.failures = Limit(app.state.store, "failures", settings.failures_per_minute)
    app.state.links = tuple(link for room in rooms for link in getattr(room, "LINKS", ()))
    app.state.routes = []
    for room in rooms:
        app.state.routes += _checked(room.router, room.__name__)
        app.include_router(room.router, dependencies=[Depends(texts.checked)])
    _check_shadows(app.state.routes)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for kind in (DaleniusError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, failures.answer)
    app.add_middleware(Guard, settings=settings)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app


SWITCH = 0.0005
"""Seconds that a thread which plans keeps the interpreter from those that wait for it. An answer from the record asks
the store a few times and waits so long after each; the usual 5 ms would be most of its time."""


def from_environment() -> FastAPI:
    """The console as a worker of `dalenius serve` has it."""
    sys.setswitchinterval(SWITCH)
    return create_app(Settings.from_environment())


def _checked(router: APIRouter, room: str) -> list[APIRoute]:
    for route in router.routes:
        if not isinstance(route, APIRoute) or rule_of(route) is None:
            where = getattr(route, "path", type(route).__name__)
            raise RouteWithoutRule(
                f"the route {where} of {room} does not say who may use it, or says it twice; give it one parameter of "
                "Anyone, SignedIn, Analyst or Steward (dalenius.web.people.access)."
            )
    return [route for route in router.routes if isinstance(route, APIRoute)]


def _check_shadows(routes: list[APIRoute]) -> None:
    """Refuse a route that an earlier one answers in its place, perhaps to other people."""
    for place, route in enumerate(routes):
        for earlier in routes[:place]:
            if set(earlier.methods or ()) & set(route.methods or ()) and earlier.path_regex.match(
                route.path_format
            ):
                raise RouteWithoutRule(
                    f"the route {route.path} would never be reached: {earlier.path} comes before it and answers "
                    "instead; list the special one first, and each room once."
                )


def _lifespan(rooms: list[ModuleType]) -> Any:
    @contextlib.asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(app.state.store.close)
            for room in rooms:
                if hasattr(room, "running"):
                    await stack.enter_async_context(room.running(app))
            yield

    return running
