"""What a steward does to data sets: one function for each act, the same for the pages and for programs.

Each writes a line of the audit log in the transaction that does it; what is done to an account is in the ledger
besides, under the steward's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dalenius.calculus.guarantees import Guarantee
from dalenius.errors import InvalidParameter, LedgerDamaged
from dalenius.session.account import Account
from dalenius.session.entries import acting_as
from dalenius.session.session import Session
from dalenius.session.verify import Verification
from dalenius.tables.compute.source import Source
from dalenius.tables.engines.duckdb import csv
from dalenius.tables.facts.schema import Column
from dalenius.web.datasets import opening
from dalenius.web.datasets.facts import read_facts
from dalenius.web.datasets.faults import Faults
from dalenius.web.datasets.opening import NoSuchDataset
from dalenius.web.datasets.registration import (
    Registration,
    check_ready,
    read_about,
    read_name,
    read_registration,
    read_title,
)
from dalenius.web.datasets.sources import kind_of
from dalenius.web.datasets.terms import Terms, guarantee, read_terms
from dalenius.web.settings import Settings
from dalenius.web.store import Store, alerts, audit, people
from dalenius.web.store import datasets as kept
from dalenius.web.store.datasets import OPEN, Kept
from dalenius.web.store.people import ANALYST, Person

T = TypeVar("T")

TERMS = ("unit", "adjacency", "budget", "ceiling", "renewals", "reserve", "shares")
"""What is settled for ever when the account is opened."""


def known(store: Store, name: str) -> Kept:
    """The data set of that name, for a steward."""
    with store.reading() as connection:
        found = kept.get(connection, name)
    if found is None:
        raise NoSuchDataset(name)
    return found


def analysts(store: Store) -> list[str]:
    """The names of those who may be granted something."""
    with store.reading() as connection:
        return [
            each.person.name
            for each in people.everyone(connection)
            if each.active and each.person.role == ANALYST
        ]


def register(store: Store, settings: Settings, by: Person, given: Mapping[str, Any]) -> Kept:
    """A new draft, from what was written; its source is opened once, for the names and kinds of its columns."""
    faults = Faults()
    name = read_name(given.get("name"), faults)
    with store.reading() as connection:
        if name and kept.get(connection, name) is not None:
            faults.add("name", f"there is a data set {name!r} already; choose another name.")
    title, about = read_title(given.get("title"), faults), read_about(given.get("about"), faults)
    asked = given.get("source")
    record: dict[str, Any] = {}
    secret = None
    if not isinstance(asked, Mapping):
        faults.add("source", "say where the data is.")
    else:
        kind = faults.attempt("source.kind", lambda: kind_of(asked.get("kind")))
        if kind is not None:
            record, secret = kind.read(asked, settings, faults), kind.secret(asked)
    made = Registration(name, title, record, about)
    source = None
    if not faults.fields:
        source = faults.attempt("source", lambda: opening.looked_at(made, secret, settings))
    if source is not None:
        source.close()
    if source is not None and any(given.get(word) for word in ("facts", "unit", "budget")):
        made = _with(made, given, lambda m: opening.looked_at(m, secret, settings), analysts(store), faults)
    faults.raise_any()
    with store.writing() as connection:
        kept.add(connection, name, made.text(), secret)
        audit.note(connection, by, "registered a data set", name, place=made.place)
    return known(store, name)


def rewrite(store: Store, settings: Settings, by: Person, name: str, given: Mapping[str, Any]) -> Kept:
    """Other words, facts or terms. Of an open account the terms stay: only what a question is given may change."""
    here, faults = known(store, name), Faults()
    before = read_registration(here.registration)
    title = read_title(given.get("title", before.title), faults)
    about = read_about(given.get("about", before.about), faults)
    with store.reading() as connection:
        secret = kept.secret(connection, name)
    now = replace(before, title=title or before.title, about=about)
    if here.is_open:
        for word in TERMS:
            if word in given and given[word] not in (None, ""):
                faults.add(
                    word, "this was settled when the account was opened, and holds for ever; leave it out."
                )
    fixed = before.terms if here.is_open else None
    now = _with(
        now, given, lambda made: opening.looked_at(made, secret, settings), analysts(store), faults, fixed
    )
    faults.raise_any()
    with store.writing() as connection:
        kept.change(connection, here, now.text())
        audit.note(connection, by, "changed a data set", name)
    return known(store, name)


def publish(store: Store, by: Person, name: str, published: bool) -> Kept:
    """Show what the data set promises to anybody, or no longer."""
    here = known(store, name)
    now = replace(read_registration(here.registration), published=published)
    check_ready(now)
    with store.writing() as connection:
        kept.change(connection, here, now.text())
        audit.note(connection, by, "published the promise" if published else "withdrew the promise", name)
    return known(store, name)


def set_alerts(store: Store, by: Person, name: str, thresholds: Sequence[object]) -> tuple[int, ...]:
    """Be told at other percents of the budget."""
    if not known(store, name).is_open:
        raise InvalidParameter(f"{name!r} is a draft, of which nothing can be spent; open it first.")
    with store.writing() as connection:
        told = alerts.set_thresholds(connection, name, thresholds)
        audit.note(connection, by, "changed the alerts", name)
    return told


def set_password(store: Store, by: Person, name: str, password: str) -> None:
    """Another password of the source; it is not shown again."""
    here = known(store, name)
    registration = read_registration(here.registration)
    if not any(each.secret for each in kind_of(registration.source["kind"]).asks):
        raise InvalidParameter("this source has no password.")
    with store.writing() as connection:
        kept.set_secret(connection, name, password or None)
        kept.change(connection, here, here.registration)
        audit.note(connection, by, "changed a source's password", name)


def open_account(store: Store, settings: Settings, by: Person, name: str) -> Kept:
    """Open the account in the ledger: from then on its terms hold for ever, and those who are granted it may ask."""
    here = known(store, name)
    if here.is_open:
        raise InvalidParameter(f"the account of {name!r} is open already.")
    check_ready(read_registration(here.registration))
    with acting_as(by.name):
        opening.open_account(store, settings, here)
    with store.writing() as connection:
        kept.change(connection, here, here.registration, OPEN)
        audit.note(connection, by, "opened the account", name)
    return known(store, name)


def forget(store: Store, by: Person, name: str) -> None:
    """Remove a draft."""
    known(store, name)
    with store.writing() as connection:
        if not kept.remove_draft(connection, name):
            raise InvalidParameter(f"the account of {name!r} is open: it can be closed, and never forgotten.")
        audit.note(connection, by, "removed a draft", name)


def set_grant(store: Store, by: Person, name: str, analyst: str, may: bool) -> None:
    """Let an analyst ask of a data set, or no longer."""
    known(store, name)
    with store.writing() as connection:
        entry = people.named(connection, analyst)
        if entry is None or entry.person.role != ANALYST:
            raise InvalidParameter.of(
                "analyst", f"there is no analyst {analyst!r}; add them to the people first."
            )
        if may:
            kept.grant(connection, name, entry.person.id)
        else:
            kept.withdraw(connection, name, entry.person.id)
        audit.note(connection, by, "granted" if may else "withdrew a grant", name, analyst=analyst)


# -- the account --------------------------------------------------------------------------------------------


def account_of(store: Store, settings: Settings, name: str) -> Account:
    """The account of a data set, to look at."""
    return opening.open_session(store, settings, name, None).account


def raise_budget(
    store: Store, settings: Settings, by: Person, name: str, budget: Mapping[str, Any], note: str | None
) -> Guarantee:
    """Open more of what was promised, within the ceiling."""
    promise = _promise(budget, "budget")
    return _done(
        store, settings, by, name, "raised the budget", lambda a: a.raise_budget(promise, note=_note(note))
    )


def renew(store: Store, settings: Settings, by: Person, name: str, note: str | None) -> Guarantee:
    """Open the budget once more."""
    return _done(store, settings, by, name, "renewed the budget", lambda a: a.renew(note=_note(note)))


def grant_share(
    store: Store,
    settings: Settings,
    by: Person,
    name: str,
    analyst: str,
    share: Mapping[str, Any],
    note: str | None,
) -> Guarantee:
    """Let an analyst spend so much more; from then on only those with a share may spend."""
    promise = _promise(share, "share")
    with store.reading() as connection:
        if not kept.may_ask(connection, name, analyst):
            raise InvalidParameter.of(
                "analyst", f"{analyst!r} may not ask of {name!r} yet; grant them the data set first."
            )
    return _done(
        store,
        settings,
        by,
        name,
        "granted a share",
        lambda a: a.grant_share(analyst, promise, note=_note(note)),
        analyst=analyst,
    )


def close_for_ever(
    store: Store, settings: Settings, by: Person, name: str, confirm: str, note: str | None
) -> None:
    """End the account; the name must be written once more."""
    if confirm != name:
        raise InvalidParameter.of("confirm", f"to close the account for ever write its name, {name}.")
    _done(store, settings, by, name, "closed the account", lambda a: a.close_for_ever(note=_note(note)))


def verify(store: Store, settings: Settings, by: Person) -> Verification:
    """Read the ledger anew from its first entry; it must hold what it held when it was last found sound."""
    with store.reading() as connection:
        last = kept.last_verification(connection, sound=True)
    try:
        found = opening.ledger(store, settings).verify(None if last is None else last.checkpoint)
    except LedgerDamaged as problem:  # it cannot even be opened
        found = Verification("the ledger", problems=[str(problem)])
    with store.writing() as connection:
        kept.note_verification(connection, by.name, found.ok, found.checkpoint, found.problems)
        audit.note(connection, by, "verified the ledger", "", sound=found.ok)
    return found


def export(store: Store, settings: Settings, by: Person, readable: bool) -> Iterator[str]:
    """The whole ledger as lines of JSON: the questions and answers of everybody."""
    lines = opening.ledger(store, settings).export(readable=readable)
    note_export(store, by, "")
    return lines


def note_export(store: Store, by: Person, name: str) -> None:
    """That the ledger was taken along: of one data set, or (no name) all of it."""
    with store.writing() as connection:
        audit.note(connection, by, "exported the ledger", name)


def _done(
    store: Store,
    settings: Settings,
    by: Person,
    name: str,
    what: str,
    act: Callable[[Account], T],
    **facts: Any,
) -> T:
    account = account_of(store, settings, name)
    with acting_as(by.name):
        left = act(account)
    with store.writing() as connection:
        audit.note(connection, by, what, name, **facts)
    return left


def _promise(given: Any, path: str) -> Guarantee:
    faults = Faults()
    promise = faults.attempt(path, lambda: guarantee(given, faults, path))
    if promise is None and not faults.fields:
        faults.add(path, "this is needed.")
    faults.raise_any()
    assert promise is not None
    return promise


def _note(note: str | None) -> str | None:
    return note if note and note.strip() else None


# -- checking --------------------------------------------------------------------------------------------


def _with(
    before: Registration,
    given: Mapping[str, Any],
    opened: Callable[[Registration], Source],
    names: list[str],
    faults: Faults,
    fixed: Terms | None = None,
) -> Registration:
    """The registration with other facts and terms."""
    source = faults.attempt("source", lambda: opened(replace(before, columns={})))
    if source is None:
        return before
    fields = opening.fields_in(source)
    source.close()
    columns: Mapping[str, Mapping[str, Column]] = before.columns
    if "facts" in given:
        columns = read_facts(given["facts"], fields, faults)
        if not is_csv(before):
            for table, own in columns.items():
                for name, column in own.items():
                    if column.type is not None:
                        faults.add(
                            f"facts.{table}.{name}.type",
                            "only a CSV file's columns are read by a declared kind.",
                        )
    if fixed is not None:
        terms: Terms | None = fixed
        if "per_question" in given:
            each = faults.attempt(
                "per_question", lambda: guarantee(given["per_question"], faults, "per_question")
            )
            terms = replace(fixed, per_question=each)
    else:
        told = {**(before.terms.record() if before.terms is not None else {}), **given}
        terms = read_terms(told, fields, columns, names, faults)
    made = replace(before, columns=columns, terms=terms)
    if not faults.fields and terms is not None:
        faults.attempt("", lambda: _tried(opened(made), terms))
    return made


def _tried(source: Source, terms: Terms) -> None:
    """A session that nobody keeps: it refuses all that the real one would."""
    try:
        _session(source, terms)
    finally:
        source.close()


def _session(source: Source, terms: Terms) -> Session:
    return Session(
        source,
        unit=terms.unit,
        budget=terms.budget,
        adjacency=terms.adjacency,
        shares=dict(terms.shares) or None,
        ceiling=terms.ceiling,
        renewals=terms.renewals,
        reserve=terms.reserve,
        per_question=terms.per_question,
    )


def is_csv(registration: Registration) -> bool:
    """Whether the kinds of columns may be declared."""
    files = registration.source.get("files") or {}
    return any(path.lower().endswith(csv.ENDINGS) for path in files.values())
