"""The steward's page of people, everyone's page of themselves, and the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from dalenius.web.pages import Link, render
from dalenius.web.people import acts
from dalenius.web.people.access import SignedIn, Steward
from dalenius.web.people.sign_in import leave
from dalenius.web.state import TheSettings, TheStore
from dalenius.web.store import audit
from dalenius.web.store.people import ROLES, STEWARD

router = APIRouter(include_in_schema=False)

LINKS = (Link("People", "/people", (STEWARD,)), Link("Audit log", "/audit", (STEWARD,)))

Text = Annotated[str, Form(max_length=200)]
Days = Annotated[int, Form(ge=1)]


@router.get("/people")
def everyone(request: Request, _: Steward, store: TheStore, settings: TheSettings) -> Response:
    """All people and their tokens."""
    return render(request, "people.html", people=acts.known(store), roles=ROLES, days=settings.token_days)


@router.post("/people")
def add(
    request: Request, by: Steward, store: TheStore, settings: TheSettings, name: Text = "", role: Text = ""
) -> Response:
    """A new person; the page shows the first token, once."""
    person, token, text = acts.add(store, by, name, role, settings.token_days)
    return render(request, "token.html", owner=person, token=token, text=text, back="/people")


@router.post("/people/{id}/tokens")
def new_token(
    request: Request,
    by: Steward,
    store: TheStore,
    settings: TheSettings,
    id: str,
    label: Text = "",
    days: Days = 90,
) -> Response:
    """A new token; the page shows it once."""
    token, text = acts.new_token(store, by, id, label, days, settings.token_days)
    owner = acts.known(store, id)[0].person
    return render(request, "token.html", owner=owner, token=token, text=text, back="/people")


@router.post("/people/{id}/sign-out")
def sign_out(by: Steward, store: TheStore, id: str) -> Response:
    """A person is signed out everywhere."""
    acts.sign_out_everywhere(store, by, id)
    return RedirectResponse("/people", status_code=303)


@router.post("/people/{id}/close")
def close(by: Steward, store: TheStore, id: str) -> Response:
    """A person can come in no longer."""
    acts.set_active(store, by, id, False)
    return RedirectResponse("/people", status_code=303)


@router.post("/people/{id}/open")
def let_in(by: Steward, store: TheStore, id: str) -> Response:
    """A person can come in again, with a new token."""
    acts.set_active(store, by, id, True)
    return RedirectResponse("/people", status_code=303)


@router.post("/people/tokens/{token}/revoke")
def revoke(by: Steward, store: TheStore, token: str) -> Response:
    """A token opens nothing any more."""
    acts.revoke(store, by, token)
    return RedirectResponse("/people", status_code=303)


@router.get("/audit")
def log(
    request: Request, _: Steward, store: TheStore, before: Annotated[int | None, Query(ge=1, le=2**62)] = None
) -> Response:
    """Who did what, the newest first."""
    with store.reading() as connection:
        lines = audit.latest(connection, 100, before)
    return render(request, "audit.html", acts=lines)


@router.get("/me")
def me(request: Request, person: SignedIn, store: TheStore, settings: TheSettings) -> Response:
    """One's own tokens."""
    return render(request, "me.html", known=acts.known(store, person.id)[0], days=settings.token_days)


@router.post("/me/tokens")
def my_token(
    request: Request,
    person: SignedIn,
    store: TheStore,
    settings: TheSettings,
    label: Text = "",
    days: Days = 90,
) -> Response:
    """A new token of one's own."""
    token, text = acts.new_token(store, person, person.id, label, days, settings.token_days)
    return render(request, "token.html", owner=person, token=token, text=text, back="/me")


@router.post("/me/tokens/{token}/revoke")
def revoke_mine(person: SignedIn, store: TheStore, token: str) -> Response:
    """A token of one's own opens nothing any more."""
    acts.revoke(store, person, token, owner=person.id)
    return RedirectResponse("/me", status_code=303)


@router.post("/me/sign-out")
def sign_me_out(person: SignedIn, store: TheStore, settings: TheSettings) -> Response:
    """All browsers of one's own are signed out, this one too."""
    acts.sign_out_everywhere(store, person, person.id)
    return leave(settings)
