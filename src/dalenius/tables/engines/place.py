"""Where data is, and what it is called: one rule for Python and for the command line.

A ledger keeps a budget for each name, and remembers where the data of that name is. So the same name at another
place is noticed, and so is the same place under another name. Each engine knows the places of what it opens
(`engines.place_of`):

    place_of("people.csv")                                    a file: its path without links and dots
    place_of("parts/*.parquet")                               several: the folder's path, and the pattern
    place_of("parts")                                         a folder of Parquet files: the pattern of all below it
    place_of("s3://bucket/people.parquet?key=...")            an address: host and path; never a key or a token
    place_of("https://host/people.csv?year=2024")             and a digest of what else is asked there
    place_of("postgresql://me:secret@DB/x", "people")         host, port, database, table; never who asks
    place_of(frame)                                           None of these: it is in memory, and has no place

`name_of` calls a file by its name without its ending (`adult.train.csv` is "adult.train"), and a database's table
by its own.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import posixpath
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

SQUEEZED = (".gz", ".zst", ".bz2", ".xz", ".zip")
PATTERN = "*?["

SCHEMES = {"http": "https", "s3a": "s3", "s3n": "s3", "gcs": "gs"}
"""Other ways to the same place."""

FOLDED = {"file": "main", "spark": "default"}
"""Where capitals do not matter in the names of tables, and the schema that tables are in anyway."""

WHO_ASKS = re.compile(
    r"x-amz-.*|x-goog-.*|s3_(?!endpoint).*|s[eprtv]|spr|sip|sk(oid|t|tid|e|s|v)|expires|awsaccesskeyid|googleaccessid"
    r"|(.*[-_.])?(\w*token|\w*secret|(api|access|private)?_?key(_?id)?|sig(nature)?|auth(orization)?|pass(word|wd)?|pwd"
    r"|user(name)?|credentials?)",
    re.IGNORECASE,
)
"""What an address says of who asks, and until when: of a signature of Amazon, Google or Azure, and the like. It is
another one every time, for the same data."""

SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
"""Other letters than these are as they are."""


@dataclass(frozen=True)
class Place:
    """Where data is, in words that a ledger keeps.

    kind: "file", "url", "postgres", "spark", or "memory" for what has no place. where: the canonical path or
    address, without users and passwords. table: in a database.
    """

    kind: str
    where: str = ""
    table: str | None = None
    parts: tuple[tuple[str, Place], ...] = ()
    """The places of several tables, by name; the kind is then "several"."""

    @classmethod
    def several(cls, parts: Mapping[str, Place]) -> Place:
        """Where several tables are; nowhere, if all of them are in memory."""
        if all(place.kind == "memory" for place in parts.values()):
            return cls("memory")
        return cls("several", parts=tuple(sorted(parts.items())))

    def written(self) -> dict[str, Any]:
        """For a ledger."""
        own: dict[str, Any] = {"kind": self.kind, "where": self.where, "table": self.table}
        return own | {"tables": {name: place.written() for name, place in self.parts}} if self.parts else own

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Place:
        """What `written` wrote."""
        table = content["table"]
        parts = {str(name): cls.read(place) for name, place in content.get("tables", {}).items()}
        return cls(
            str(content["kind"]),
            str(content["where"]),
            None if table is None else str(table),
            tuple(sorted(parts.items())),
        )

    def overlaps(self, other: Place) -> bool:
        """Whether some of the data is the same: the same place, or files that both have."""
        if self.parts or other.parts:
            here = [place for _, place in self.parts] or [self]
            there = [place for _, place in other.parts] or [other]
            return any(one.overlaps(another) for one in here for another in there)
        if self._table != other._table or self.kind != other.kind or self.kind == "memory":
            return False
        if self.kind == "url":
            asked = {self._asked, other._asked}
            return (len(asked) == 1 or "" in asked) and _meet(self._address, other._address)
        return self.where == other.where or (self.kind == "file" and bool(self._files & other._files))

    def is_at(self, other: Place) -> bool:
        """Whether this is the place of the other: the same words, or files that are the same ones."""
        if self == other:
            return True
        if self.parts or other.parts:
            here, there = dict(self.parts), dict(other.parts)
            return here.keys() == there.keys() and all(here[name].is_at(there[name]) for name in here)
        if self.kind != other.kind or self._table != other._table:
            return False
        if self.where == other.where:
            return True
        if self.kind == "url":
            return self._address == other._address and self._asked == other._asked
        return self.kind == "file" and bool(self._files) and self._files == other._files

    def __str__(self) -> str:
        if self.kind == "memory":
            return "a data frame, which has no place"
        if self.parts:
            return " and ".join(f"{name!r} at {place}" for name, place in self.parts)
        return self.where if self.table is None else f"table {self.table!r} of {self.where}"

    @property
    def _table(self) -> str | None:
        """What names the table for the engine: more ways to write one would be more budgets for it.

        Databases in files, and Spark, take capitals for small letters; of the catalogue there is one.
        """
        if self.table is None:
            return None
        table = self.table.translate(SMALL) if self.kind in FOLDED else self.table
        *schemas, name = table.split(".")
        schema = schemas[-1] if schemas else None
        return name if schema in (None, FOLDED.get(self.kind, "public")) else f"{schema}.{name}"

    @property
    def _address(self) -> str:
        """An address on the web in one spelling: however it is reached, and however its path is written."""
        parts = urlsplit(self.where)
        scheme = SCHEMES.get(parts.scheme, parts.scheme)
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
        return f"{scheme}://{parts.hostname or ''}{port}{posixpath.normpath('/' + unquote(parts.path).lstrip('/'))}"

    @property
    def _asked(self) -> str:
        """The digest of what else is asked at an address: other data, as a rule."""
        return urlsplit(self.where).query

    @property
    def _files(self) -> set[tuple[int, int]]:
        """The files themselves: links, hard ones too, lead to the same."""
        files = set()
        for path in _listed(self.where):
            try:
                facts = os.stat(path)
            except OSError:
                continue
            files.add((facts.st_dev, facts.st_ino))
        return files


def name_of(data: Any, table: str | None = None) -> str | None:
    """What the data is called where nobody names it; None for what is in memory.

    >>> name_of("data/adult.train.csv"), name_of("people.csv.gz"), name_of("parts/2024-*.parquet")
    ('adult.train', 'people', '2024')
    >>> name_of("postgresql://me@host/db", "people")
    'people'
    """
    if not isinstance(data, str | Path):
        return table
    return table if table is not None else file_name(str(data))


def file_name(text: str) -> str:
    """A file's name without its ending; of a pattern, the part that is fixed."""
    if os.path.isdir(text):  # of files, which a program may have called by their ending
        name = os.path.basename(os.path.abspath(text))
        return Path(name).stem if name.lower().endswith((".parquet", ".pq")) else name or "data"
    text = shown(text)
    fixed = text[: min((text.find(sign) for sign in PATTERN if sign in text), default=len(text))]
    if fixed != text:
        name = Path(fixed).name if fixed.endswith(("/", os.sep)) else Path(fixed).name.rstrip("-_.")
        return name or Path(fixed).parent.name or "data"
    name = Path(text).name
    for ending in SQUEEZED:
        name = name[: -len(ending)] if name.lower().endswith(ending) else name
    return Path(name).stem or "data"


def former_names(data: Any) -> set[str]:
    """What earlier versions called the same data: by its first dot in Python, with its ending in a shell."""
    if not isinstance(data, str | Path):
        return set()
    first = str(data).split("*")[0].rstrip("/")
    return {Path(str(data)).name, Path(first).name.split(".")[0] or "data"}


def file_place(text: str, table: str | None) -> Place:
    """Where a file is, or what has an address on the web."""
    if is_address(text):
        return Place("url", f"{shown(text)}{_asked(text)}", table)
    return Place("file", _path(local(text)), table)


def is_address(text: str) -> bool:
    """Whether it is on the web, and not a file of this machine."""
    return "://" in text and not text.startswith("file://")


def local(text: str) -> str:
    """A path of this machine, without the words that make an address of it."""
    return re.sub(r"^file://(localhost(?=/))?", "", text)


def is_plain(url: str) -> bool:
    """Whether there is one way to read it: at most one @, in front of the first slash.

    Of a password that holds these signs as they are, a piece would be taken for the host.
    """
    front, _, rest = url.partition("://")[2].partition("/")
    return "@" not in rest and front.count("@") <= 1


def shown(text: str) -> str:
    """A path, or an address without who asks: users, passwords, keys and tokens are left out."""
    if not is_address(text):
        return text
    parts = urlsplit(text)
    host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    return f"{parts.scheme.lower()}://{host}{parts.path}"


def _asked(text: str) -> str:
    """What an address says of the data beside its path, ?year=2024, as a digest: it may hold more than one knows."""
    said = sorted(pair for pair in parse_qsl(urlsplit(text).query, True) if not WHO_ASKS.fullmatch(pair[0]))
    return f"?{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]}" if said else ""


def _meet(one: str, other: str) -> bool:
    """Whether addresses, which may be patterns, can be of one file; what cannot be known is taken to be so."""
    if one == other or fnmatch(one, other) or fnmatch(other, one):
        return True
    fixed = [re.split(r"[*?\[]", address)[0] for address in (one, other)]
    both = all(len(part) < len(address) for part, address in zip(fixed, (one, other), strict=True))
    return both and (fixed[0].startswith(fixed[1]) or fixed[1].startswith(fixed[0]))


def plain_name(table: str | None, schema: str) -> str | None:
    """A table's name without the schema it is in anyway."""
    return None if table is None else table.removeprefix(f"{schema}.")


def _path(text: str) -> str:
    """The one absolute path; of a pattern, that of its fixed folder and then the pattern."""
    if Path(text).exists() or not any(sign in text for sign in PATTERN):
        return os.path.realpath(text)
    parts = Path(text).parts
    fixed = next(n for n, part in enumerate(parts) if any(sign in part for sign in PATTERN))
    return os.path.join(os.path.realpath(os.path.join(*parts[:fixed]) if fixed else "."), *parts[fixed:])


def _listed(path: str) -> list[str]:
    # Engines pass over no file for the dot that its name begins with.
    return [path] if os.path.exists(path) else glob.glob(path, recursive=True, include_hidden=True)
