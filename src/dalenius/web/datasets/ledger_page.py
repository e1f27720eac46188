"""The ledger as a living page, its verification and export, and the statement of a year."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from dalenius.session.words import shortened
from dalenius.web.datasets import acts, opening
from dalenius.web.datasets.api import STATEMENT_POLICY, _with_ends
from dalenius.web.datasets.history import log_of
from dalenius.web.datasets.holding import held_in
from dalenius.web.datasets.registration import read_registration
from dalenius.web.datasets.standing import chart, standing_of, terms_in_words
from dalenius.web.pages import Link, render
from dalenius.web.people.access import Steward
from dalenius.web.settings import Settings
from dalenius.web.state import TheSettings, TheStore
from dalenius.web.store import Store, alerts
from dalenius.web.store import datasets as kept
from dalenius.web.store.people import STEWARD

router = APIRouter(include_in_schema=False)

LINKS = (Link("Ledger", "/ledger", (STEWARD,)),)

SHOWN = 200
LONGEST = 400
"""Characters of a question on the page; analysts write them. The exports have all of it."""
"""Lines of a page, the newest first; the export has all of them."""
EVERY = 5
"""Seconds between two looks."""


@router.get("/ledger")
def ledger(request: Request, _: Steward, store: TheStore, settings: TheSettings) -> Response:
    """What the last verification found, and the ways to verify and export."""
    with store.reading() as connection:
        verified = kept.last_verification(connection)
        names = [each.name for each in kept.everything(connection) if each.is_open]
    return render(
        request,
        "datasets/ledgers.html",
        verified=verified,
        names=names,
        now=datetime.datetime.now(datetime.UTC),
    )


@router.post("/ledger/verify")
def verify(by: Steward, store: TheStore, settings: TheSettings) -> Response:
    """Read everything anew."""
    acts.verify(store, settings, by)
    return RedirectResponse("/ledger", status_code=303)


@router.get("/ledger/export")
def export(by: Steward, store: TheStore, settings: TheSettings, readable: bool = False) -> Response:
    """The whole ledger as lines of JSON."""
    return StreamingResponse(
        _with_ends(acts.export(store, settings, by, readable)),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": 'attachment; filename="ledger.jsonl"'},
    )


@router.get("/datasets/{name}/ledger")
def living(request: Request, _: Steward, store: TheStore, settings: TheSettings, name: str) -> Response:
    """Who, when, what, cost and what is left; it looks for more by itself."""
    context = _context(request, store, settings, name)
    return render(request, "datasets/ledger.html", every=EVERY, **context)


@router.get("/datasets/{name}/ledger/now")
def part(
    request: Request,
    _: Steward,
    store: TheStore,
    settings: TheSettings,
    name: str,
    seen: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """The part of the page that changes; nothing where it has not changed since it was seen."""
    context = _context(request, store, settings, name)
    if seen == context["seen"]:
        return Response(status_code=204)
    return render(request, "datasets/_ledger_now.html", **context)


@router.get("/datasets/{name}/ledger.csv")
def as_csv(request: Request, by: Steward, store: TheStore, settings: TheSettings, name: str) -> Response:
    """All lines of this data set, for a spreadsheet."""
    acts.account_of(store, settings, name)
    acts.note_export(store, by, name)
    log = log_of(opening.ledger(store, settings), name, held_in(request, name))
    return Response(
        log.to_csv(),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}-ledger.csv"'},
    )


@router.get("/datasets/{name}/statement")
def statement(
    _: Steward,
    store: TheStore,
    settings: TheSettings,
    name: str,
    year: Annotated[int | None, Query(ge=1970, le=9998)] = None,
) -> Response:
    """The statement of a year: a page that needs nothing else, and may be saved and sent."""
    acts.account_of(store, settings, name)
    made = opening.ledger(store, settings).statement(year, name)
    return HTMLResponse(made.html, headers={"Content-Security-Policy": STATEMENT_POLICY})


def _context(request: Request, store: Store, settings: Settings, name: str) -> dict[str, Any]:
    account = acts.account_of(store, settings, name)
    known = acts.known(store, name)
    registration = read_registration(known.registration)
    with store.reading() as connection:
        verified = kept.last_verification(connection)
        thresholds = alerts.thresholds(connection, name)
    log = log_of(opening.ledger(store, settings), name, held_in(request, name))
    terms = registration.terms
    standing = standing_of(account, None if terms is None else terms.ceiling, verified, thresholds)
    waiting = sum(line.outcome == "no answer" for line in log)
    checked = verified.time if verified is not None else ""
    return {
        "known": known,
        "registration": registration,
        "standing": standing,
        "verified": verified,
        "words": terms_in_words,
        "lines": [
            (line.seq, line.act, [shortened(cell, LONGEST) for cell in line.cells()])
            for line in reversed(log[-SHOWN:])
        ],
        "more": max(0, len(log) - SHOWN),
        "chart": Markup(
            chart(account, log, datetime.datetime.now(datetime.UTC))
        ),  # drawn here; texts are escaped
        "seen": f"{log[-1].seq if len(log) else 0}.{waiting}.{checked}",
        "year": datetime.datetime.now(datetime.UTC).year,
    }
