"""A data set as a steward registered it: what it is called, where it is, what is public about it, and its terms.

It is kept as JSON with a format and a version, without secrets. Everything in it is public facts: nothing was read from
a row, and nothing is proposed that a row could have told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dalenius.calculus.guarantees import from_record
from dalenius.core.adjacency import read_adjacency
from dalenius.core.record import unknown
from dalenius.errors import InvalidParameter, LedgerError
from dalenius.tables.facts.schema import Column, Schema
from dalenius.tables.facts.unit import Unit
from dalenius.web.datasets import facts
from dalenius.web.datasets.faults import Faults
from dalenius.web.datasets.sources import kind_of
from dalenius.web.datasets.terms import Terms

FORMAT, VERSION = "dalenius data set", 1

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
TAKEN = frozenset({"new", "ask", "answers"})
"""Names that the addresses of pages have for something else."""
LONGEST_TITLE, LONGEST_ABOUT = 120, 4_000


@dataclass(frozen=True)
class Registration:
    """What a session is opened from; terms: None until they were written."""

    name: str
    title: str
    source: Mapping[str, Any]
    about: str = ""
    columns: Mapping[str, Mapping[str, Column]] = field(default_factory=dict)
    terms: Terms | None = None
    published: bool = False

    @property
    def place(self) -> str:
        """Where the data is, in words without secrets."""
        return kind_of(self.source["kind"]).words(dict(self.source))

    def schema(self, table: str) -> Schema:
        """The public facts of one table."""
        return facts.schema_of(self.columns.get(table, {}), self.source.get("records") or "lines")

    def text(self) -> str:
        """As it is kept."""
        columns = {
            table: {name: facts.written(column) for name, column in own.items()}
            for table, own in self.columns.items()
        }
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "name": self.name,
                "title": self.title,
                "about": self.about,
                "source": dict(self.source),
                "columns": columns,
                "terms": None if self.terms is None else self.terms.record(),
                "published": self.published,
            },
            sort_keys=True,
        )


def read_registration(text: str) -> Registration:
    """What `text` wrote; what a later version wrote is refused."""
    content = json.loads(text)
    if content.get("format") != FORMAT or content.get("version") != VERSION:
        raise unknown("a data set", content.get("version"), LedgerError)
    return Registration(
        content["name"],
        content["title"],
        content["source"],
        content["about"],
        {table: _columns(own) for table, own in content["columns"].items()},
        None if content["terms"] is None else _terms(content["terms"]),
        content["published"],
    )


def _columns(kept: Mapping[str, Any]) -> dict[str, Column]:
    return {name: facts.read_written(told) for name, told in kept.items()}


def _terms(kept: Mapping[str, Any]) -> Terms:
    def promise(content: Any) -> Any:
        return None if content is None else from_record(content)

    return Terms(
        Unit.from_record(kept["unit"]),
        from_record(kept["budget"]),
        read_adjacency(kept["adjacency"]),
        promise(kept["ceiling"]),
        kept["renewals"],
        kept["reserve"],
        {
            name: share if isinstance(share, str) else from_record(share)
            for name, share in kept["shares"].items()
        },
        promise(kept["per_question"]),
    )


def read_name(given: object, faults: Faults) -> str:
    """What the data set is called, in addresses and in the ledger."""
    if not isinstance(given, str) or NAME.fullmatch(given) is None or given in TAKEN:
        faults.add(
            "name",
            "a name has 1 to 63 small letters a to z, digits, - and _, and begins with a letter or a digit"
            + (f"; {given!r} is taken." if given in TAKEN else "."),
        )
        return ""
    return given


def read_title(given: object, faults: Faults, path: str = "title") -> str:
    """One line."""
    if (
        not isinstance(given, str)
        or not given.strip()
        or len(given) > LONGEST_TITLE
        or not given.isprintable()
    ):
        faults.add(path, f"this is one line of 1 to {LONGEST_TITLE} characters.")
        return ""
    return given.strip()


def read_about(given: object, faults: Faults) -> str:
    """Some sentences, or none."""
    if given is None or given == "":
        return ""
    if not isinstance(given, str) or len(given) > LONGEST_ABOUT or any(c in given for c in "\0\x1b"):
        faults.add("about", f"this is text of at most {LONGEST_ABOUT} characters.")
        return ""
    try:
        given.encode("utf-8")
    except UnicodeEncodeError:
        faults.add("about", "this is not valid text.")
        return ""
    return given.strip().replace("\r\n", "\n")


def check_ready(registration: Registration) -> Terms:
    """The terms, of a data set that can be opened."""
    if registration.terms is None:
        raise InvalidParameter(
            f"the terms of {registration.name!r} are not written yet: who is protected, and the budget."
        )
    return registration.terms
