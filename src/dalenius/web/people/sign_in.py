"""The page to sign in, and the ways out."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from dalenius.web.pages import render
from dalenius.web.people import acts
from dalenius.web.people.access import Anyone, SignedIn, address_of, check_origin, cookie_name
from dalenius.web.state import TheSettings, TheStore
from dalenius.web.store import audit, sign_ins, tokens

router = APIRouter(include_in_schema=False)

WRONG = (
    "This is not a token that works. Check that all of it was pasted; if it has run out, a steward can make "
    "a new one."
)


@router.get("/sign-in")
def page(request: Request, _: Anyone, next: Annotated[str, Query(max_length=500)] = "/") -> Response:
    """The form."""
    return render(request, "sign_in.html", next=local(next), wrong="")


@router.post("/sign-in")
def sign_in(
    request: Request,
    _: Anyone,
    store: TheStore,
    settings: TheSettings,
    token: Annotated[str, Form(max_length=200)] = "",
    next: Annotated[str, Form(max_length=500)] = "/",
) -> Response:
    """A token becomes a sign-in of this browser, with a new secret whatever cookie was sent."""
    check_origin(request)
    with store.reading() as connection:
        found = tokens.find(connection, token.strip())
    if found is None:
        request.app.state.failures.take(address_of(request))
        acts.note_refusal(store, token.strip())
        return render(request, "sign_in.html", status=401, next=local(next), wrong=WRONG)
    person, shown = found
    old = request.cookies.get(cookie_name(settings))
    with store.writing() as connection:
        if old:
            sign_ins.end(connection, old)
        secret = sign_ins.start(connection, shown, settings.sign_in_hours)
        audit.note(connection, person, "signed in", token=shown.id)
    answer = RedirectResponse(local(next), status_code=303)
    answer.set_cookie(
        cookie_name(settings), secret, httponly=True, samesite="lax", secure=settings.https, path="/"
    )
    return answer


@router.post("/sign-out")
def sign_out(request: Request, person: SignedIn, store: TheStore, settings: TheSettings) -> Response:
    """This browser is signed out."""
    with store.writing() as connection:
        sign_ins.end(connection, request.cookies.get(cookie_name(settings), ""))
        audit.note(connection, person, "signed out")
    return leave(settings)


def leave(settings: TheSettings) -> Response:
    """To the first page, without the cookie."""
    answer = RedirectResponse("/", status_code=303)
    answer.delete_cookie(
        cookie_name(settings), httponly=True, samesite="lax", secure=settings.https, path="/"
    )
    return answer


def local(address: str) -> str:
    """The address if it is a path of this console, else the first page: nobody is sent elsewhere by a link to us.

    Examples
    --------
    >>> local("/datasets/pay?x=1"), local("https://evil.example/"), local("//evil.example"), local("/\\\\evil.example")
    ('/datasets/pay?x=1', '/', '/', '/')
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return "/"
    plain = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if plain and address.isprintable() and not parts.scheme and not parts.netloc else "/"
