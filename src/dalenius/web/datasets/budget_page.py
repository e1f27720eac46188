"""The page on which a steward raises, renews, shares and closes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from dalenius.errors import InvalidParameter, Refused
from dalenius.web.datasets import acts, forms
from dalenius.web.datasets.registration import read_registration
from dalenius.web.datasets.standing import Standing, standing_of, terms_in_words
from dalenius.web.pages import render
from dalenius.web.people.access import Steward
from dalenius.web.settings import Settings
from dalenius.web.state import TheSettings, TheStore
from dalenius.web.store import Store, alerts
from dalenius.web.store import datasets as kept
from dalenius.web.texts import form_of

router = APIRouter(include_in_schema=False)
ONE_AT_A_TIME = threading.Lock()
"""Two clicks on one button come together; the second must find what the first has done."""


@router.get("/datasets/{name}/budget")
def budget(request: Request, _: Steward, store: TheStore, settings: TheSettings, name: str) -> Response:
    """What is promised, spent and left, and what may still be done."""
    return _page(request, store, settings, name, {}, {})


@router.post("/datasets/{name}/raise")
async def raise_budget(
    request: Request, by: Steward, store: TheStore, settings: TheSettings, name: str
) -> Response:
    """Open more of what was promised."""

    def act(form: dict[str, str]) -> object:
        promise = forms.promise(form, "budget", form.get("kind", "")) or {}
        return acts.raise_budget(store, settings, by, name, promise, form.get("note"))

    return await _done(request, store, settings, name, "raise", act)


@router.post("/datasets/{name}/renew")
async def renew(request: Request, by: Steward, store: TheStore, settings: TheSettings, name: str) -> Response:
    """Open the budget once more."""

    def act(form: dict[str, str]) -> object:
        with ONE_AT_A_TIME:
            _as_it_was_seen(store, settings, name, form)
            return acts.renew(store, settings, by, name, form.get("note"))

    return await _done(request, store, settings, name, "renew", act)


@router.post("/datasets/{name}/shares")
async def share(request: Request, by: Steward, store: TheStore, settings: TheSettings, name: str) -> Response:
    """More for one analyst."""

    def act(form: dict[str, str]) -> object:
        promise = forms.promise(form, "share", form.get("kind", "")) or {}
        with ONE_AT_A_TIME:
            _as_it_was_seen(store, settings, name, form)
            return acts.grant_share(
                store, settings, by, name, form.get("analyst", ""), promise, form.get("note")
            )

    return await _done(request, store, settings, name, "share", act)


@router.post("/datasets/{name}/close")
async def close(request: Request, by: Steward, store: TheStore, settings: TheSettings, name: str) -> Response:
    """End the account."""

    def act(form: dict[str, str]) -> object:
        confirm = form.get("confirm", "").strip()
        acts.close_for_ever(store, settings, by, name, confirm, form.get("note"))
        return None

    return await _done(request, store, settings, name, "close", act)


@router.post("/datasets/{name}/alerts")
async def alert(request: Request, by: Steward, store: TheStore, settings: TheSettings, name: str) -> Response:
    """Be told at other percents."""

    def act(form: dict[str, str]) -> object:
        given = [each.strip().removesuffix("%").strip() for each in form.get("thresholds", "").split(",")]
        return acts.set_alerts(store, by, name, [_whole(each) for each in given if each])

    return await _done(request, store, settings, name, "alerts", act)


def _whole(text: str) -> object:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else text


def _standing(store: Store, settings: Settings, name: str) -> Standing:
    terms = read_registration(acts.known(store, name).registration).terms
    assert terms is not None
    with store.reading() as connection:
        verified = kept.last_verification(connection)
        thresholds = alerts.thresholds(connection, name)
    return standing_of(acts.account_of(store, settings, name), terms.ceiling, verified, thresholds)


def _seen(standing: Standing) -> str:
    """A word for what a steward has settled by now; what is spent has no say in it."""
    shares = [(share.analyst, share.allowed) for share in standing.shares if share.allowed is not None]
    told = repr((standing.renewed, standing.budget.record(), sorted(shares, key=repr)))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _as_it_was_seen(store: Store, settings: Settings, name: str, form: dict[str, str]) -> None:
    """Refuse what would be added twice: by a double click, a page that is sent again, or from a second tab."""
    if form.get("seen") != _seen(_standing(store, settings, name)):
        raise InvalidParameter.of(
            "seen",
            "the account was changed since this page was made; it is shown as it is now. Look, then decide.",
        )


async def _done(
    request: Request,
    store: Store,
    settings: Settings,
    name: str,
    which: str,
    act: Callable[[dict[str, str]], object],
) -> Response:
    form = {key: value for key, value in (await form_of(request)).items() if isinstance(value, str)}
    try:
        await run_in_threadpool(act, form)
    except Refused as problem:
        fields = getattr(problem, "fields", None)
        words = " ".join(fields.values()) if fields else str(problem)
        return await run_in_threadpool(_page, request, store, settings, name, {which: words}, form)
    return RedirectResponse(f"/datasets/{name}/budget", status_code=303)


def _page(
    request: Request, store: Store, settings: Settings, name: str, wrong: dict[str, str], form: dict[str, Any]
) -> Response:
    known = acts.known(store, name)
    registration = read_registration(known.registration)
    standing = _standing(store, settings, name)
    with store.reading() as connection:
        granted = [each.name for each in kept.who_may_ask(connection, name)]
        thresholds = alerts.thresholds(connection, name)
    return render(
        request,
        "datasets/budget.html",
        status=422 if wrong else 200,
        known=known,
        registration=registration,
        standing=standing,
        seen=_seen(standing),
        granted=granted,
        thresholds=form.get("thresholds", ", ".join(map(str, thresholds))),
        words=terms_in_words,
        wrong=wrong,
        form=form,
    )
