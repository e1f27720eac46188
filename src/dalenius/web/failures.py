"""What a request is answered that goes wrong: problem JSON for programs, a page with the same words for people."""

from __future__ import annotations

import contextlib
import logging
from urllib.parse import quote

from fastapi import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from dalenius.errors import DaleniusError
from dalenius.web.pages import render
from dalenius.web.people.access import who
from dalenius.web.problems import MEDIA_TYPE, Problem, problem_of

log = logging.getLogger("dalenius.web")


async def answer(request: Request, error: Exception) -> Response:
    """The answer to a request that ended in this exception."""
    problem, line = problem_of(error)
    if line is not None:
        log.error(line)
    if not for_a_person(request):
        return JSONResponse(
            problem.document(),
            status_code=problem.status_code,
            headers=problem.headers,
            media_type=MEDIA_TYPE,
        )
    if problem.status_code == 401 and request.method == "GET" and "authorization" not in request.headers:
        there = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/sign-in?next={quote(there, safe='')}", status_code=303)
    if request.method == "GET":  # the top of the page says who is signed in, also where no route was found
        with contextlib.suppress(Problem, DaleniusError):
            await who(request)
    page = render(request, "problem.html", status=problem.status_code, problem=problem.document())
    for name, value in (problem.headers or {}).items():
        page.headers[name] = value
    return page


def for_a_person(request: Request) -> bool:
    """Whether a browser shows the answer as a page."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")
