"""The entries of a ledger: what they say, and the chain of hashes that holds them together."""

from __future__ import annotations

import datetime
import getpass
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, Literal, NamedTuple, get_args

from dalenius.core.record import text
from dalenius.errors import LedgerDamaged, LedgerError

SCHEMA = 2
"""Version of the tables and of the entries. A reader refuses every version it was not written for."""

FIRST = 1
"""The version that dalenius 0.1 wrote; `session.convert` reads it, and nothing else does."""

CLOSED = 100
"""A head of version CLOSED + n is that of a ledger of version n in which nothing is charged: one that was converted, or
one that a conversion has not finished yet."""

Kind = Literal["open", "account", "charge", "answer", "steward", "close"]
KINDS: tuple[str, ...] = get_args(Kind)

_scan = json.JSONDecoder().raw_decode

START = "0" * 64
"""What the first entry names as the hash before it."""


class Entry(NamedTuple):
    """One line of the ledger. Its place is `seq`: 1, 2, 3, ...; no clock has a say in it.

    kind     key                     body
    open     ""                      which ledger this is, the version of its format, and what it was converted from
    account  digest of the dataset   the promise, the limit, the analysts' shares
    charge   digest of the question  who asked what, the cost, and all that is spent after it
    answer   digest of the question  the charge it belongs to, and the answer
    steward  ""                      a budget that was raised, renewed or closed, or a share that was granted
    close    ""                      the last entry: which ledger goes on in its place

    docs/record-format.md has every word of the bodies.
    """

    seq: int
    kind: str
    account: int
    """The seq of the account it belongs to; 0 for none."""
    key: str
    body: str
    previous: str
    hash: str

    @classmethod
    def after(
        cls,
        seq: int,
        previous: str,
        kind: Kind,
        account: int,
        key: str,
        body: Mapping[str, object],
        version: int = SCHEMA,
    ) -> Entry:
        """The entry that follows number `seq` with hash `previous`."""
        body_ = text(body)
        hash = chained(seq + 1, kind, account, key, body_, previous, version)
        return cls(seq + 1, kind, account, key, body_, previous, hash)

    @property
    def is_intact(self) -> bool:
        """Whether the hash is the one of the content."""
        return self.is_of(SCHEMA)

    def is_of(self, version: int) -> bool:
        """Whether the hash is the one of the content in this version. A damaged file may hold any type."""
        try:
            return self.hash == chained(*self[:6], version)
        except TypeError:
            return False

    def content(self) -> dict[str, Any]:
        """The body, after a check that it is what was written."""
        if not self.is_intact:
            raise LedgerDamaged(
                f"entry {self.seq} of the ledger was changed after it was written. Nothing is released; run "
                "`dalenius ledger verify`, and restore a copy that verifies and is at least as recent."
            )
        return self.read()

    def read(self) -> dict[str, Any]:
        """The body of an entry that is known to be intact."""
        try:
            if self.body[:1] == "{" and self.body[-1:] == "}":
                # As `json.loads`, without its search for spaces: we write none around it, and others may have.
                content, end = _scan(self.body, 0)
                content = content if end == len(self.body) else None
            else:
                content = json.loads(self.body)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise LedgerDamaged(f"entry {self.seq} of the ledger is not an entry as we write them.")
        return content


def chained(
    seq: int, kind: str, account: int, key: str, body: str, previous: str, version: int = SCHEMA
) -> str:
    """SHA-256 over the content and the hash before it.

    A JSON list of the parts, as `json.dumps` writes it: no two different contents have the same text. Put
    together by hand, which takes a third of the time, since every entry is hashed when a ledger is opened.
    """
    if type(seq) is not int or type(account) is not int:
        raise TypeError("an entry and its account have numbers.")
    text = (
        f'["dalenius ledger", {version}, {seq}, {quoted(kind)}, {account}, {quoted(key)}, {quoted(body)}, '
        f"{quoted(previous)}]"
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def digest(text: str) -> str:
    """The key under which a question or a dataset is found again."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def now() -> str:
    """For readers only: nothing is ever ordered or decided by it, since clocks go backwards."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


_ACTING: ContextVar[str | None] = ContextVar("acting", default=None)


@contextmanager
def acting_as(user: str) -> Iterator[None]:
    """What is written in this block was done by this user of a service, and not by the owner of its process."""
    before = _ACTING.set(user)
    try:
        yield
    finally:
        _ACTING.reset(before)


def user_word() -> dict[str, str]:
    """Who this process belongs to, as an entry says it; nothing where the system does not know.

    For readers only, like the time: anybody may call themselves by any name. A service says for whom it acts.
    """
    try:
        name = _ACTING.get() or getpass.getuser()
        name.encode("utf-8")
    except (OSError, KeyError, ImportError, UnicodeEncodeError):  # a container may have no name for its user
        return {}
    return {"user": name[:200]} if name.strip() else {}


def other_version(label: str, version: object) -> LedgerError:
    """What to do with a ledger that is not of this version."""
    text = f"the ledger {label!r} has version {version!r}, and this dalenius reads version {SCHEMA}"
    if version == FIRST:
        return LedgerError(
            f"{text}. Convert it once: `dalenius ledger convert {label} NEW` makes a new ledger with the same accounts "
            "and all that was spent, and closes this one."
        )
    if version == CLOSED + FIRST:
        return LedgerError(
            f"the ledger {label!r} was closed: it was converted, and goes on in another. Use that one; `dalenius "
            f"ledger convert {label} NEW` finishes a conversion that was interrupted, and says where it went."
        )
    if version == CLOSED + SCHEMA:
        return LedgerError(
            f"the ledger {label!r} is being made by a conversion that is not finished. Run `dalenius ledger convert "
            f"OLD {label}` once more."
        )
    newer = isinstance(version, int) and version > SCHEMA
    return LedgerError(f"{text}: {'install a newer dalenius' if newer else 'no dalenius wrote that'}.")
