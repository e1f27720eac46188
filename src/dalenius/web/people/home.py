"""The first page: where to go from here."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from dalenius.web.pages import render
from dalenius.web.people.access import Anyone
from dalenius.web.people.operations import operations

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(request: Request, _: Anyone) -> Response:
    """Where to go, for the one who is signed in."""
    return render(request, "home.html")


@router.get("/api/v1")
def api(request: Request, _: Anyone) -> Response:
    """The documentation of the API, for people."""
    return render(request, "api.html", title="The API", rooms=operations(request.app.openapi()))


@router.get("/api/v1/openapi.json")
def openapi(request: Request, _: Anyone) -> JSONResponse:
    """The documentation of the API, for programs."""
    document: dict[str, Any] = request.app.openapi()
    return JSONResponse(document)
