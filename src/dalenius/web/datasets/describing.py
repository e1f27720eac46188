"""A data set as JSON says it: to a steward, and to those who may ask of it."""

from __future__ import annotations

from typing import Any

from dalenius.core.adjacency import adjacency_record
from dalenius.session.log import DIGITS, promise_text
from dalenius.tables.facts.kinds import Field
from dalenius.web.datasets import acts, opening
from dalenius.web.datasets.facts import shown_facts
from dalenius.web.datasets.promise import who_is_protected
from dalenius.web.datasets.registration import Registration, read_registration
from dalenius.web.datasets.standing import standing_of
from dalenius.web.settings import Settings
from dalenius.web.store import Store, alerts
from dalenius.web.store import datasets as kept
from dalenius.web.store.datasets import Kept
from dalenius.web.store.people import STEWARD, Person


def seen(store: Store, person: Person) -> list[Kept]:
    """The data sets that a person sees: all of them as a steward, those that are open and granted as an analyst."""
    with store.reading() as connection:
        everything = kept.everything(connection)
        if person.role == STEWARD:
            return everything
        granted = set(kept.granted_to(connection, person.id))
    return [each for each in everything if each.is_open and each.name in granted]


def seen_one(store: Store, person: Person, name: str) -> Kept:
    """One of these."""
    if person.role == STEWARD:
        return acts.known(store, name)
    found = next((each for each in seen(store, person) if each.name == name), None)
    if found is None:
        raise opening.NoSuchDataset(name)
    return found


def granted(store: Store, person: Person) -> list[str]:
    """The names of the data sets that a person may ask of."""
    return [each.name for each in seen(store, person) if each.is_open]


def columns_of(
    registration: Registration, fields: dict[str, tuple[Field, ...]]
) -> dict[str, list[dict[str, Any]]]:
    """The columns of each table, their kinds, and what is declared of them."""
    found = {}
    for table, own in fields.items():
        schema = registration.schema(table)
        found[table] = [
            {
                "column": field.name,
                "kind": field.kind or (f"list of {field.items}" if field.items else None),
                "bounds": None,
                "categories": None,
                "nulls": None,
                "impute": None,
                "type": None,
                **shown_facts(schema[field.name]),
            }
            for field in own
        ]
    return found


def described(store: Store, settings: Settings, name: str, person: Person) -> dict[str, Any]:
    """The data set as this person sees it. Nothing in it was read from a row."""
    known = seen_one(store, person, name)
    registration = read_registration(known.registration)
    steward = person.role == STEWARD
    found: dict[str, Any] = {
        "name": known.name,
        "title": registration.title,
        "about": registration.about,
        "state": known.state,
        "version": known.version,
        "published": registration.published,
    }
    if steward:
        found["place"] = registration.place
        found["source"] = dict(registration.source)
    fields = opening.fields_of(store, settings, known, quiet=not steward)
    found["tables"] = columns_of(registration, fields)
    terms = registration.terms
    if terms is None:
        return {**found, "unit": None, "budget": None, "engine": None}
    found |= {
        "unit": terms.unit.record(),
        "who_is_protected": who_is_protected(terms.unit, terms.adjacency),
        "adjacency": adjacency_record(terms.adjacency),
        "budget": terms.budget.record(),
        "budget_in_words": promise_text(terms.budget, DIGITS),
        "per_question": None if terms.per_question is None else terms.per_question.record(),
    }
    if steward:
        found["terms"] = terms.record()
    if not known.is_open:
        return {**found, "engine": None}
    session = opening.session_of(store, settings, known, None if steward else person.name)
    account = session.account
    found |= {
        "engine": session.source.engine.name,
        "promise": account.promise.record(),
        "budget": account.budget.record(),
        "spent": account.spent.record(),
        "left": session.remaining.record(),
        "left_in_words": session.left_in_words(),
        "closed": account.is_closed,
    }
    if steward:
        with store.reading() as connection:
            verified = kept.last_verification(connection)
            thresholds = alerts.thresholds(connection, name)
            may = kept.who_may_ask(connection, name)
        found["standing"] = standing_of(account, terms.ceiling, verified, thresholds).record()
        found["granted"] = [each.name for each in may]
    return found
