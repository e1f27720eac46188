"""The subjects of the store, in the order in which their tables are made: one line for each file."""

from __future__ import annotations

from importlib import import_module

from dalenius.web.store.subject import Subject

MODULES = (
    "dalenius.web.store.people",
    "dalenius.web.store.tokens",
    "dalenius.web.store.sign_ins",
    "dalenius.web.store.rates",
    "dalenius.web.store.audit",
    "dalenius.web.store.datasets",
    "dalenius.web.store.alerts",
    "dalenius.web.store.reports",
    "dalenius.web.store.releases",
    "dalenius.web.jobs.record",
)


def subjects() -> tuple[Subject, ...]:
    """All of them. A module of the list has its subject as SUBJECT."""
    return tuple(import_module(name).SUBJECT for name in MODULES)
