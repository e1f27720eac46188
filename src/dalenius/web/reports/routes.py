"""Publish a privacy report (steward), and read it (anyone). Nothing that is typed into its page leaves the page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, Path, Request, UploadFile
from fastapi.responses import Response
from markupsafe import Markup
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from dalenius.adaptive import PrivacyReport
from dalenius.adaptive.personal.page import inside
from dalenius.core.checks import shown
from dalenius.core.record import JSON, text
from dalenius.errors import InvalidParameter, Refused
from dalenius.web.pages import Link, render
from dalenius.web.people.access import Steward, anyone
from dalenius.web.problems import Problem
from dalenius.web.state import TheStore
from dalenius.web.store import Store, audit, reports
from dalenius.web.store.people import STEWARD, Person
from dalenius.web.texts import check, is_a_line

router = APIRouter(tags=["privacy reports"])
LINKS = (Link("Privacy reports", "/reports"),)

FAILURE = 1e-6
"""The chance over the noise with which a page's bound may fail."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'none'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""Stricter than that of other pages: the browser itself lets nothing that was typed leave."""

NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
Name = Annotated[str, Path(pattern=NAME, description="the name it was published under")]


class Listed(BaseModel):
    """A report that was published."""

    name: str = Field(description="names it in addresses")
    title: str = Field(description="the heading of its page")
    page: str = Field(description="the address of its page")


class Publication(BaseModel):
    """A report to be published."""

    title: str = Field(min_length=1, max_length=200, description="the heading of its page")
    report: dict[str, Any] = Field(
        description="what PrivacyReport.to_json wrote: released and public numbers only"
    )


class Report(Listed):
    """A published report with its content."""

    report: dict[str, Any] = Field(description="read it in Python with PrivacyReport.from_json")


@router.get("/api/v1/reports", dependencies=[Depends(anyone)], summary="The published privacy reports")
def list_reports(store: TheStore) -> list[Listed]:
    """Names and titles. Nobody has to sign in."""
    with store.reading() as connection:
        found = reports.listed(connection)
    return [Listed(name=name, title=title, page=f"/reports/{name}") for name, title in found]


@router.get("/api/v1/reports/{name}", dependencies=[Depends(anyone)], summary="A published privacy report")
def read_report(name: Name, store: TheStore) -> Report:
    """Released and public numbers, with which everybody can compute their own bound."""
    found = _found(store, name)
    return Report(name=name, title=found.title, page=f"/reports/{name}", report=_opened(found.report))


@router.put("/api/v1/reports/{name}", summary="Publish a privacy report", status_code=201)
def publish_report(name: Name, publication: Publication, person: Steward, store: TheStore) -> Listed:
    """From now on anyone can read it, under this name. An older report of the same name is replaced."""
    _publish(store, person, name, publication.title, text(publication.report))
    return Listed(name=name, title=publication.title, page=f"/reports/{name}")


@router.delete("/api/v1/reports/{name}", summary="Take a privacy report down", status_code=204)
def withdraw_report(name: Name, person: Steward, store: TheStore) -> None:
    """What was read before stays with those who read it."""
    _withdraw(store, person, name)


@router.get("/reports", dependencies=[Depends(anyone)], include_in_schema=False)
def list_page(request: Request, store: TheStore) -> Response:
    """All published reports; for stewards, a form to publish one."""
    return _listed(request, store)


@router.post("/reports", include_in_schema=False)
async def publish_by_page(
    request: Request,
    person: Steward,
    store: TheStore,
    name: Annotated[str, Form(max_length=100)] = "",
    title: Annotated[str, Form(max_length=200)] = "",
    report: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Publish the file that `PrivacyReport.save` wrote."""
    held = b"" if report is None else await report.read()

    def publish() -> Response:
        try:
            if not re.fullmatch(NAME, name):
                raise InvalidParameter.of(
                    "name", f"name is {shown(name)}; it must be small letters, digits, - and _, as pay-2026."
                )
            try:
                read = json.loads(held)
            except (ValueError, RecursionError):
                raise InvalidParameter.of(
                    "report", "the file is not JSON; choose the one that report.save('report.json') wrote."
                ) from None
            check(read)
            written = text(read)
            _publish(store, person, name, title, written)
        except Refused as problem:
            return _listed(request, store, problem=str(problem), given={"name": name, "title": title})
        return RedirectResponse("/reports", status_code=303)

    return await run_in_threadpool(publish)


@router.post("/reports/{name}/withdraw", include_in_schema=False)
def withdraw_by_page(name: Name, person: Steward, store: TheStore) -> Response:
    """Take a report down."""
    _withdraw(store, person, name)
    return RedirectResponse("/reports", status_code=303)


@router.get("/reports/{name}", dependencies=[Depends(anyone)], include_in_schema=False)
def report_page(request: Request, name: Name, store: TheStore) -> Response:
    """The page in which a person types their own record."""
    found = _found(store, name)
    request.state.person = (
        None  # the same page for everybody: the policy forbids every form, signing out included
    )
    page = render(request, "report.html", title=found.title, content=Markup(_page(found.report)), name=name)
    page.headers["Content-Security-Policy"] = POLICY
    return page


@router.get("/report.js", dependencies=[Depends(anyone)], include_in_schema=False)
def script() -> Response:
    """The script of the page: the one that a saved report has inside."""
    code = files("dalenius.adaptive.personal").joinpath("page.js").read_text(encoding="utf-8")
    return Response(code, media_type="text/javascript")


def _publish(store: Store, person: Person, name: str, title: str, written: str) -> None:
    if not is_a_line(title):
        raise InvalidParameter.of("title", "the title is one line of text that can be shown.")
    report = PrivacyReport.from_json(written)
    inside(report, FAILURE)  # refused now, if no page can be made of it
    with store.writing() as connection:
        reports.publish(connection, name, title.strip() or name, report.to_json(), person.name)
        audit.note(connection, person, "published a privacy report", name)
    _page.cache_clear()


def _withdraw(store: Store, person: Person, name: str) -> None:
    with store.writing() as connection:
        if not reports.withdraw(connection, name):
            raise Problem(404, f"there is no privacy report {name!r}.")
        audit.note(connection, person, "took a privacy report down", name)


def _listed(
    request: Request, store: Store, problem: str = "", given: Mapping[str, str] | None = None
) -> Response:
    with store.reading() as connection:
        found = reports.listed(connection)
    person = request.state.person
    return render(
        request,
        "reports.html",
        status=422 if problem else 200,
        reports=found,
        steward=person is not None and person.role == STEWARD,
        problem=problem,
        given=given or {"name": "", "title": ""},
    )


def _found(store: Any, name: str) -> reports.Published:
    with store.reading() as connection:
        found = reports.find(connection, name)
    if found is None:
        raise Problem(404, f"there is no privacy report {name!r}.")
    return found


def _opened(written: str) -> dict[str, JSON]:
    found: dict[str, JSON] = json.loads(written)
    return found


@lru_cache(maxsize=32)
def _page(written: str) -> str:
    return inside(PrivacyReport.from_json(written), FAILURE)
