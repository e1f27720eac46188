"""Kinds of background work: each one object in one place, known by its tag for ever."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

from dalenius.errors import InvalidParameter
from dalenius.session.session import Session

Payload = Mapping[str, Any]
"""What was asked, as JSON."""

MODULES = ("dalenius.web.asking.kinds",)
"""Where kinds are; each module registers its own when it is imported."""


class Kind(Protocol):
    """What a kind of work knows about itself.

    Everything but `run` depends on public facts alone, and refuses what cannot be asked.
    """

    tag: str
    """Its name in the record."""

    def question(self, session: Session, payload: Payload) -> str:
        """The text under which the ledger files the question: the same for the same question and price."""

    def plan(self, session: Session, payload: Payload) -> float:
        """How long it takes, as a multiple of an ordinary question of the same data: from public facts."""

    def run(self, session: Session, payload: Payload) -> str:
        """The answer as JSON text: from the record, or charged, computed and recorded."""

    def on_record(self, session: Session, payload: Payload) -> str | None:
        """The same from the record alone; None where it is not there. Nothing is ever charged."""


_known: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    """Make a kind known; a tag belongs to one kind."""
    if _known.setdefault(kind.tag, kind) is not kind:
        raise InvalidParameter(f"two kinds of work are called {kind.tag!r}; rename one.")
    return kind


def kind_of(tag: str) -> Kind:
    """The kind with a tag; one that nobody registered is an error."""
    if tag not in _known:
        for module in MODULES:
            try:
                importlib.import_module(module)
            except ModuleNotFoundError as problem:
                if problem.name is None or not module.startswith(problem.name):
                    raise
    if tag not in _known:
        raise InvalidParameter(
            f"there is no kind of work called {tag!r}; known are {', '.join(sorted(_known)) or 'none'}."
        )
    return _known[tag]
