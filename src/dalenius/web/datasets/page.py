"""Pages of data sets: the list, registration, public facts and terms, opening, and who may ask."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from dalenius.errors import DaleniusError, LedgerError, SourceError
from dalenius.tables.facts.kinds import KEYS, KINDS, NUMERIC
from dalenius.web.datasets import acts, describing, forms, opening
from dalenius.web.datasets.faults import Faulty
from dalenius.web.datasets.promise import promise_of
from dalenius.web.datasets.registration import read_registration
from dalenius.web.datasets.sources import KINDS as SOURCES
from dalenius.web.datasets.sources.database_file import ENDINGS as DATABASES
from dalenius.web.datasets.sources.file import ENDINGS as FILES
from dalenius.web.datasets.sources.folder import files_in
from dalenius.web.datasets.standing import Standing, standing_of, terms_in_words
from dalenius.web.pages import Link, render
from dalenius.web.people.access import SignedIn, Steward
from dalenius.web.problems import words_of
from dalenius.web.settings import Settings
from dalenius.web.state import TheSettings, TheStore
from dalenius.web.store import Store, alerts
from dalenius.web.store import datasets as kept
from dalenius.web.store.datasets import Kept
from dalenius.web.store.people import ANALYST, STEWARD
from dalenius.web.texts import form_of

router = APIRouter(include_in_schema=False)

LINKS = (Link("Data sets", "/datasets", (STEWARD, ANALYST)),)


@router.get("/datasets")
def everything(request: Request, person: SignedIn, store: TheStore, settings: TheSettings) -> Response:
    """The data sets that this person sees, and how each stands."""
    rows = []
    for each in describing.seen(store, person):
        registration = read_registration(each.registration)
        standing, trouble = None, ""
        if each.is_open:
            try:
                standing = _standing(store, settings, each, None if person.role == STEWARD else person.name)
            except DaleniusError as problem:  # one that cannot be read must not hide the others
                trouble = words_of(problem)
        rows.append(
            {
                "name": each.name,
                "registration": registration,
                "known": each,
                "standing": standing,
                "trouble": trouble,
            }
        )
    return render(request, "datasets/list.html", rows=rows, steward=person.role == STEWARD)


@router.get("/datasets/new")
def new(request: Request, _: Steward, settings: TheSettings, kind: str = "file") -> Response:
    """The first page of a registration: what it is called, and where it is."""
    return _new_page(request, settings, kind if kind in SOURCES else "file", {}, {})


@router.post("/datasets/new")
async def register(request: Request, by: Steward, store: TheStore, settings: TheSettings) -> Response:
    """A new draft; all that is wrong stands beside its field."""
    form = await _form(request)
    try:
        made = await run_in_threadpool(acts.register, store, settings, by, forms.read_source(form))
    except Faulty as faulty:
        secrets = {f"source.{asked.name}" for kind in SOURCES.values() for asked in kind.asks if asked.secret}
        shown = {name: value for name, value in form.items() if name not in secrets}
        kind = form.get("source.kind", "file")
        return _new_page(request, settings, kind if kind in SOURCES else "file", shown, faulty.fields)
    return RedirectResponse(f"/datasets/{made.name}/edit", status_code=303)


@router.get("/datasets/{name}")
def one(request: Request, person: SignedIn, store: TheStore, settings: TheSettings, name: str) -> Response:
    """A data set: how it stands, what is public about it, who may ask."""
    known = describing.seen_one(store, person, name)
    registration = read_registration(known.registration)
    steward = person.role == STEWARD
    context: dict[str, Any] = {"known": known, "registration": registration, "steward": steward}
    context["tables"], context["trouble"] = _tables(store, settings, known, not steward)
    context["standing"] = None
    if known.is_open:
        try:
            context["standing"] = _standing(store, settings, known, None if steward else person.name)
        except DaleniusError as problem:
            context["trouble"] = words_of(problem)
    context["promise"] = promise_of(registration) if registration.terms is not None else None
    context["granted"], context["others"] = [], []
    if steward:
        with store.reading() as connection:
            context["granted"] = [each.name for each in kept.who_may_ask(connection, name)]
        context["others"] = [each for each in acts.analysts(store) if each not in context["granted"]]
    return render(request, "datasets/one.html", **context)


@router.get("/datasets/{name}/edit")
def edit(request: Request, _: Steward, store: TheStore, settings: TheSettings, name: str) -> Response:
    """Public facts and terms. Nothing is proposed: what the form shows was written by a steward."""
    known = acts.known(store, name)
    fields = opening.fields_of(store, settings, known)
    form = forms.written(read_registration(known.registration), fields)
    return _edit_page(request, store, known, fields, form, {})


@router.post("/datasets/{name}/edit")
async def rewrite(
    request: Request, by: Steward, store: TheStore, settings: TheSettings, name: str
) -> Response:
    """Other facts and terms; all that is wrong stands beside its field."""
    form = await _form(request)
    return await run_in_threadpool(_rewritten, request, by, store, settings, name, form)


@router.get("/datasets/{name}/open")
def confirm(request: Request, _: Steward, store: TheStore, name: str) -> Response:
    """What is settled for ever when the account is opened, in words."""
    known = acts.known(store, name)
    registration = read_registration(known.registration)
    if known.is_open or registration.terms is None:
        return RedirectResponse(f"/datasets/{name}", status_code=303)
    terms = registration.terms
    shares = {who: str(share) for who, share in terms.record()["shares"].items()}
    return render(
        request,
        "datasets/open.html",
        known=known,
        registration=registration,
        promise=promise_of(registration),
        terms=terms,
        shares=shares,
        words=terms_in_words,
    )


@router.post("/datasets/{name}/open")
def open_account(by: Steward, store: TheStore, settings: TheSettings, name: str) -> Response:
    """Open the account in the ledger."""
    acts.open_account(store, settings, by, name)
    return RedirectResponse(f"/datasets/{name}", status_code=303)


@router.post("/datasets/{name}/forget")
def forget(by: Steward, store: TheStore, name: str) -> Response:
    """Remove a draft."""
    acts.forget(store, by, name)
    return RedirectResponse("/datasets", status_code=303)


@router.post("/datasets/{name}/grants")
async def grants(request: Request, by: Steward, store: TheStore, name: str) -> Response:
    """Let an analyst ask, or no longer."""
    form = await _form(request)
    may = form.get("may") == "yes"
    await run_in_threadpool(acts.set_grant, store, by, name, form.get("analyst", ""), may)
    return RedirectResponse(f"/datasets/{name}#who", status_code=303)


@router.post("/datasets/{name}/publish")
async def publish(request: Request, by: Steward, store: TheStore, name: str) -> Response:
    """Show the promise to anybody, or no longer."""
    form = await _form(request)
    await run_in_threadpool(acts.publish, store, by, name, form.get("published") == "yes")
    return RedirectResponse(f"/datasets/{name}#promise", status_code=303)


@router.post("/datasets/{name}/password")
async def password(request: Request, by: Steward, store: TheStore, name: str) -> Response:
    """Another password of the source."""
    form = await _form(request)
    await run_in_threadpool(acts.set_password, store, by, name, form.get("password", ""))
    return RedirectResponse(f"/datasets/{name}", status_code=303)


async def _form(request: Request) -> dict[str, str]:
    return {name: value for name, value in (await form_of(request)).items() if isinstance(value, str)}


def _new_page(
    request: Request, settings: Settings, kind: str, form: dict[str, str], wrong: dict[str, str]
) -> Response:
    endings = {"file": FILES, "database file": DATABASES}.get(kind)
    return render(
        request,
        "datasets/new.html",
        status=422 if wrong else 200,
        kinds=SOURCES.values(),
        kind=SOURCES[kind],
        lacks=SOURCES[kind].offered(settings),
        settings=settings,
        files=list(files_in(settings, endings)) if endings else [],
        form=form,
        wrong=wrong,
    )


def _rewritten(
    request: Request, by: Steward, store: Store, settings: Settings, name: str, form: dict[str, str]
) -> Response:
    known = acts.known(store, name)
    fields = opening.fields_of(store, settings, known)
    try:
        acts.rewrite(store, settings, by, name, forms.read_terms(form, fields, known.is_open))
    except Faulty as faulty:
        return _edit_page(request, store, known, fields, form, faulty.fields)
    return RedirectResponse(f"/datasets/{name}", status_code=303)


def _edit_page(
    request: Request,
    store: Store,
    known: Kept,
    fields: dict[str, Any],
    form: dict[str, str],
    wrong: dict[str, str],
) -> Response:
    registration = read_registration(known.registration)
    names = acts.analysts(store)
    return render(
        request,
        "datasets/edit.html",
        status=422 if wrong else 200,
        known=known,
        registration=registration,
        fields=fields,
        csv=acts.is_csv(registration),
        form=form,
        wrong=wrong,
        analysts=names,
        numeric=(*NUMERIC, "bool"),
        keys=KEYS,
        kinds=KINDS,
        budgets=list(forms.TITLES.items()),
        ids=[field.name for field in next(iter(fields.values()), ()) if field.kind in ("integer", "text")],
    )


def _standing(store: Store, settings: Settings, known: Kept, analyst: str | None) -> Standing:
    session = opening.session_of(store, settings, known, analyst)
    terms = read_registration(known.registration).terms
    with store.reading() as connection:
        verified = kept.last_verification(connection)
        thresholds = alerts.thresholds(connection, known.name)
    return standing_of(session.account, None if terms is None else terms.ceiling, verified, thresholds)


def _tables(store: Store, settings: Settings, known: Kept, quiet: bool) -> tuple[dict[str, Any], str]:
    """The columns; where the source cannot be opened at this moment, why."""
    try:
        fields = opening.fields_of(store, settings, known, quiet)
    except (SourceError, LedgerError) as problem:
        return {}, words_of(problem)
    return describing.columns_of(read_registration(known.registration), fields), ""
