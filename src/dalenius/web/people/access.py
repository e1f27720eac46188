"""Who may use a route: exactly one of these rules stands in each, or the console does not start.

    @router.get("/api/v1/datasets")
    def datasets(person: SignedIn, store: TheStore) -> ...:

`Anyone`: nobody needs to be signed in (None then). `SignedIn`: any role. `Analyst`, `Steward`: this role and no other;
a person who does both has two names, so that the record shows in which role something was done.

A request shows who it comes from by a token (`Authorization: Bearer ...`), or by the cookie of a sign-in. What a
browser sends along by itself is no proof of will: a request that changes something by cookie must also carry the CSRF
word, in the form's field `csrf` or the header `X-CSRF-Token`, and come from a page of this console.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from dalenius.web.limits import visitor
from dalenius.web.people import acts
from dalenius.web.problems import Problem
from dalenius.web.quick import quickly
from dalenius.web.settings import Settings
from dalenius.web.state import settings_of, store_of
from dalenius.web.store import sign_ins, tokens
from dalenius.web.store.people import ANALYST, ROLES, STEWARD, Person
from dalenius.web.store.store import StoreUnusable
from dalenius.web.texts import form_of

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True)
class Rule:
    """Who may: the roles, and whether nobody will do."""

    name: str
    roles: tuple[str, ...]
    open: bool = False


RULES = {
    rule.name: rule
    for rule in (
        Rule("anyone", ROLES, open=True),
        Rule("signed_in", ROLES),
        Rule("analyst", (ANALYST,)),
        Rule("steward", (STEWARD,)),
    )
}

Dependency = Callable[[Request], Coroutine[Any, Any, Any]]


def _dependency(rule: Rule) -> Dependency:
    async def allowed(request: Request) -> Person | None:
        person = await who(request)
        if person is None:
            if rule.open:
                return None
            raise Problem(401, headers={"WWW-Authenticate": "Bearer"})
        if person.role not in rule.roles:
            raise Problem(403, f"this is for the role {rule.roles[0]}, and yours is {person.role}.")
        return person

    allowed.access = rule.name  # type: ignore[attr-defined]  # read by `rule_of`
    return allowed


anyone, signed_in = _dependency(RULES["anyone"]), _dependency(RULES["signed_in"])
analyst, steward = _dependency(RULES["analyst"]), _dependency(RULES["steward"])

Anyone = Annotated[Person | None, Depends(anyone)]
SignedIn = Annotated[Person, Depends(signed_in)]
Analyst = Annotated[Person, Depends(analyst)]
Steward = Annotated[Person, Depends(steward)]


def rule_of(route: APIRoute) -> str | None:
    """The name of the one rule of a route; None where there is none, or more than one."""
    found: list[str] = []

    def look(dependant: Any) -> None:
        for each in dependant.dependencies:
            found.extend([each.call.access] if hasattr(each.call, "access") else [])
            look(each)

    look(route.dependant)
    return found[0] if len(found) == 1 else None


def cookie_name(settings: Settings) -> str:
    """With the prefix that binds it to this host and to https, where there is https."""
    return "__Host-dalenius" if settings.https else "dalenius"


def csrf_word(secret: str) -> str:
    """What a form of this sign-in carries: made from the cookie's secret, which no other site can read."""
    return hashlib.sha256(f"csrf {secret}".encode()).hexdigest()


async def who(request: Request) -> Person | None:
    """Who the request comes from; left in `request.state.person`, too."""
    if not hasattr(request.state, "person"):
        request.state.person = await _who(request)
    found: Person | None = request.state.person
    return found


def address_of(request: Request) -> str:
    """Where a request comes from, as one visitor is counted by it."""
    return visitor(request.client.host if request.client else "unknown")


async def _who(request: Request) -> Person | None:
    shown = request.headers.getlist("authorization")
    if shown:
        return await quickly(_by_token, request, shown)
    person = await quickly(_by_cookie, request)
    if person is not None and request.method not in SAFE:
        await _check_will(request)
    await quickly(_count, request, person)
    return person


def _count(request: Request, person: Person | None) -> None:
    with contextlib.suppress(StoreUnusable):  # a console without its store can still say so
        request.app.state.calls.take(person.id if person else f"at {address_of(request)}")


def _by_token(request: Request, shown: list[str]) -> Person:
    """Who has this token; in one thread, since most requests come so."""
    scheme, _, text = shown[0].partition(" ")
    found = None
    if len(shown) == 1 and scheme.lower() == "bearer":
        with store_of(request).reading() as connection:
            found = tokens.find(connection, text.strip())
    if found is None:
        request.app.state.failures.take(address_of(request))
        acts.note_refusal(store_of(request), text.strip())
        raise Problem(
            401,
            "the token that was sent is not one that works.",
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )
    _count(request, found[0])
    return found[0]


def _by_cookie(request: Request) -> Person | None:
    settings = settings_of(request)
    secret = request.cookies.get(cookie_name(settings))
    if not secret:
        return None
    store = store_of(request)
    with store.reading() as connection:
        found = sign_ins.find(connection, secret, settings.idle_minutes)
    if found is None:
        return None
    person, stale = found
    if stale:
        with store.writing() as connection:
            sign_ins.see(connection, secret)
    request.state.csrf = csrf_word(secret)
    return person


async def _check_will(request: Request) -> None:
    check_origin(request)
    given = request.headers.get("x-csrf-token", "")
    if not given and request.headers.get("content-type", "").startswith(FORMS):
        field = (await form_of(request)).get("csrf", "")
        given = field if isinstance(field, str) else ""
    if not hmac.compare_digest(given.encode(), request.state.csrf.encode()):
        raise Problem(
            403,
            "the request does not carry the word of the page it should come from.",
            kind="csrf",
            title="This did not come from a page of the console",
            fix="Load the page again and repeat what you did.",
        )


def check_origin(request: Request) -> None:
    """Refuse what another site makes a browser send. Programs that are no browser send neither header."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    foreign = site not in (None, "same-origin", "none")
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        foreign = True
    if foreign:
        raise Problem(
            403,
            "the request was made by a page of another site.",
            kind="csrf",
            title="This did not come from a page of the console",
            fix="Open the console itself and repeat what you did.",
        )
