"""A kind of place that a steward may register: what it is told by, whether the settings allow it, and how it is opened.

What a steward writes never decides where the server connects to: a file must be under a folder of the settings, a
server must be listed there by its name. A place is checked when it is registered and again whenever it is opened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from dalenius.web.datasets.faults import Faults

Record = dict[str, Any]
Tables = dict[str, tuple[Any, str | None]]
"""By the name of the table: what holds it and, in a database, what it is called there."""


class Allowed(Protocol):
    """The settings that say where data may come from, and where the console's own files are: never from there."""

    @property
    def folder(self) -> Path: ...

    @property
    def source_folders(self) -> tuple[Path, ...]: ...

    @property
    def source_hosts(self) -> tuple[str, ...]: ...

    @property
    def source_schemes(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Asked:
    """A field of the form."""

    name: str
    label: str
    hint: str = ""
    needed: bool = True
    secret: bool = False
    choices: tuple[str, ...] = ()
    lines: bool = False
    """Whether several lines may be written."""


class Kind(ABC):
    """A kind of place; one object knows all about it."""

    tag: ClassVar[str]
    """In records; it never changes."""
    title: ClassVar[str]
    asks: ClassVar[Sequence[Asked]]

    @abstractmethod
    def offered(self, allowed: Allowed) -> str | None:
        """None where the settings allow it; else what they lack, in words."""

    @abstractmethod
    def read(self, given: Mapping[str, Any], allowed: Allowed, faults: Faults) -> Record:
        """The place as it is kept, without secrets, from what was written; what is wrong is noted."""

    @abstractmethod
    def tables(self, record: Record, secret: str | None, allowed: Allowed) -> Tables:
        """What to open; refused where the settings no longer allow it."""

    @abstractmethod
    def words(self, record: Record) -> str:
        """Where it is, without secrets."""

    def secret(self, given: Mapping[str, Any]) -> str | None:
        """What is kept apart and never shown again."""
        return None


def text(
    given: Mapping[str, Any], name: str, faults: Faults, needed: bool = True, longest: int = 1000
) -> str:
    """A line of text that was written."""
    value = given.get(name)
    if value is None or value == "":
        if needed:
            faults.add(f"source.{name}", "this is needed.")
        return ""
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        faults.add(f"source.{name}", f"this must be a line of text of at most {longest} characters.")
        return ""
    return value.strip()


def named(given: Mapping[str, Any], name: str, faults: Faults) -> dict[str, str]:
    """Several tables: a mapping of names to what each is, or lines such as `visits = visits.parquet`; a line without a
    name has none yet."""
    value, found = given.get(name), dict[str, str]()
    if value is None or value == "":
        faults.add(f"source.{name}", "this is needed.")
        return {}
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, str):
        pairs = []
        for line in filter(None, map(str.strip, value.splitlines())):
            left, sign, right = line.partition("=")
            pairs.append((left.strip(), right.strip()) if sign else ("", line))
    else:
        pairs = [("", value)]
    for key, what in pairs:
        if not all(
            isinstance(part, str) and part.isprintable() and len(part) <= 1000 for part in (key, what)
        ):
            faults.add(f"source.{name}", "names and places must be lines of text of at most 1000 characters.")
        elif not what:
            faults.add(f"source.{name}", "there is a name, and nothing after it.")
        elif key in found:
            faults.add(f"source.{name}", "each table needs a name of its own: write visits = visits.parquet.")
        else:
            found[key] = what
    if len(found) > 1 and "" in found:
        faults.add(f"source.{name}", "several tables each need a name: write visits = visits.parquet.")
    return found
