"""The ledger: a durable, append-only, hash-chained record of what was charged and answered.

    ledger = Ledger.open("people.ledger")                       # a file, made if it is not there
    ledger = Ledger.open("postgresql://user@host/database")     # a PostgreSQL database
    account = ledger.account("people", dp.ZCDP(0.5))
    reply = account.ask(question, loss, compute)

Everything here is the same for both kinds of store. A reader or writer takes its view of the ledger (a writer the one
write lock), finds in it the last entry this process has checked, reads on from there to the head, and checks all that
too; balances are what the checked chain adds up to (`session.memory`). A writer then appends, and commits.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dalenius.calculus.guarantees import Filter, Guarantee, filter_of, from_record
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency, adjacency_record, read_adjacency
from dalenius.errors import InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session import postgres
from dalenius.session.account import Account, listed
from dalenius.session.address import is_address, read_address
from dalenius.session.entries import CLOSED, FIRST, KINDS, SCHEMA, START, Entry, Kind, digest, now
from dalenius.session.memory import Memory, is_known, memory_of
from dalenius.session.sqlite import SqliteStore
from dalenius.session.store import Head, Rows, Store
from dalenius.tables.facts.unit import Unit

if TYPE_CHECKING:
    from dalenius.session.verify import Verification

PATIENCE = 60.0
"""Seconds to wait for a lock, a thread or a server before giving up."""

BATCH = 5_000
"""Entries read in one go: a writer waits no longer than that takes."""

Shares = Mapping[str, "Fraction | int | float | str"]


class Ledger:
    """An open ledger. Threads may share it, forked children may keep it, and any number may be open at once.

    Parameters
    ----------
    store
        The database that holds it; `Ledger.open` makes one from a path or a URL.

    Examples
    --------
    >>> import tempfile, dalenius as dp
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.open(folder.name + "/people.ledger")
    >>> account = ledger.account("people", dp.ZCDP(0.5))
    >>> account.ask("how many?", dp.losses.gaussian(sigma=2.0), lambda: "[41]")
    Reply(answer='[41]', ticket=Ticket(seq=3, ...
    >>> account.ask("how many?", dp.losses.gaussian(sigma=2.0), lambda: "[43]").answer   # the record, free
    '[41]'
    >>> account.remaining
    ZCDP(rho=0.375)
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._memory: Memory | None = None
        self.id = str(self._checked().id)

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str],
        *,
        create: bool = True,
        checkpoint: str | None = None,
        expect: str | None = None,
        patience: float = PATIENCE,
    ) -> Ledger:
        """The ledger at a path or a postgresql:// URL.

        Opening reads and checks every entry, once in a process; later only what was added is read.

        Parameters
        ----------
        where
            A path, or a postgresql:// URL.
        create
            Whether to make a ledger where there is none.
        checkpoint, expect
            A text that `checkpoint()` gave earlier, kept elsewhere (the two names mean the same). A ledger that does
            not contain it (an old copy put back, a tail cut off, a new ledger in the place of one that was removed) is
            refused, and none is made.
        patience
            How long, in seconds, to wait for others.

        Returns
        -------
        Ledger
            It is open; use it in a `with` block, or call `close`.

        Raises
        ------
        LedgerError
            If there is no ledger and none may be made, or it cannot be read.
        LedgerDamaged
            If it is not what was written, or lacks the checkpoint.
        """
        patience, create = checks.positive("patience", patience), checks.flag("create", create)
        wanted = [text for text in (checkpoint, expect) if text is not None]
        for text in wanted:
            read_checkpoint(text)
        ledger = cls(store_at(where, create and not wanted, patience))
        for text in wanted:
            ledger.require(text)
        return ledger

    def close(self) -> None:
        """Let go of the store. Everything is on record already."""
        self.store.close()
        self._memory = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self.store.label!r})"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a ledger cannot be pickled or copied: it is a connection. Open it again where it is needed: "
            "dp.Ledger.open(...)."
        )

    # -- accounts ---------------------------------------------------------------------------------

    def account(
        self,
        dataset: str,
        budget: Guarantee,
        analyst: str | None = None,
        *,
        shares: Shares | None = None,
        adjacency: Adjacency = ADD_REMOVE,
        unit: str | Unit = "row",
        reserve: float | str | Fraction | None = None,
        place: Mapping[str, object] | None = None,
    ) -> Account:
        """The account of a dataset, opened with this budget if it is new.

        What the first call says holds for ever: a later one that names another budget, other neighbours, another unit
        or other shares is refused.

        Parameters
        ----------
        dataset
            What the ledger calls the data.
        budget
            What is promised about everything that is ever released from it: PureDP, ApproxDP, ZCDP or GDP.
        analyst
            Who spends.
        shares
            A fraction of the budget (of epsilon, rho, mu^2, or mu^2 and delta) for each analyst; together at most 1. In
            an account with shares only those analysts may spend, each up to their share; without, anybody may, and
            `analyst` is a note.
        adjacency
            Whose neighbours the promise is about.
        unit
            Who is protected.
        reserve
            For ApproxDP, the part of epsilon set aside (`calculus.guarantees.approx`); left out, it is what the account
            has, and nothing in a new one.
        place
            Where the data is; kept with a new account, as `session.opening` checks it.

        Returns
        -------
        Account
            To ask, to charge, and to see what is left.

        Raises
        ------
        InvalidParameter
            If the account was opened with other terms.
        """
        _name("dataset", dataset)
        if not isinstance(unit, Unit):
            _name("unit", unit)
        if analyst is not None:
            _name("analyst", analyst)
        parts = _shares(shares)
        with self.reading() as rows:
            entry = rows.first("account", 0, digest(dataset))
        filter = filter_of(budget, adjacency, 0 if reserve is None else reserve)
        if reserve is None and entry is not None:
            body = entry.content()
            filter = filter.like({"kind": body["promise"]["kind"], "reserve": body["reserve"] or 0})
        terms = account_terms(dataset, filter, unit)
        if entry is None:
            entry = self._opened(terms, filter, parts, place)
        return self._account(entry, terms, filter, parts, analyst)

    def accounts(self) -> list[Account]:
        """All accounts, to look at.

        Returns
        -------
        list of Account
            In the order they were opened.
        """
        with self.reading() as rows:
            found = rows.accounts()
        return [read_account(self, entry, None) for entry in found]

    def existing(self, dataset: str, analyst: str | None = None) -> Account:
        """The account of a dataset, as it was opened.

        Parameters
        ----------
        dataset
            What the ledger calls the data.
        analyst
            Who spends.

        Returns
        -------
        Account
            To ask, to charge, and to see what is left.

        Raises
        ------
        LedgerError
            If there is none.
        """
        with self.reading() as rows:
            entry = rows.first("account", 0, digest(_name("dataset", dataset)))
        if entry is None:
            raise LedgerError(f"there is no account for the dataset {dataset!r} in {self.store.label!r}.")
        return read_account(self, entry, analyst)

    def _opened(
        self,
        terms: Mapping[str, object],
        filter: Filter,
        parts: Mapping[str, Fraction] | None,
        place: Mapping[str, object] | None,
    ) -> Entry:
        with self.writing() as rows:
            key = digest(str(terms["dataset"]))
            known = rows.first("account", 0, key)
            if known is not None:
                return known
            shares = {name: str(part) for name, part in (parts or {}).items()}
            body = {**terms, "limit": filter.limit.written(), "shares": shares, "time": now()}
            if place is not None:
                body["place"] = place
            return self.append(rows, "account", 0, key, body)

    def _account(
        self,
        entry: Entry,
        terms: Mapping[str, object],
        filter: Filter,
        parts: Mapping[str, Fraction] | None,
        analyst: str | None,
    ) -> Account:
        body = entry.content()
        for word, mine in terms.items():
            if body[word] != mine:
                raise InvalidParameter(
                    f"the account of {terms['dataset']!r} was opened with {_shown(word, body[word])}, and now "
                    f"{_shown(word, mine)} was asked for. What an account promises is fixed when it is opened."
                )
        account = read_account(self, entry, analyst)
        if parts is not None and dict(parts) != dict(account.shares):
            held = (
                ", ".join(f"{listed([name])}: {part}" for name, part in account.shares.items()) or "no shares"
            )
            raise InvalidParameter(
                f"the account of {terms['dataset']!r} was opened with {held}. Shares are fixed when an "
                "account is opened; leave them out, or name the same."
            )
        return account

    # -- the chain --------------------------------------------------------------------------------

    def checkpoint(self) -> str:
        """The last entry. Kept elsewhere, it proves later that nothing up to it was changed.

        Returns
        -------
        str
            "SEQ:HASH".
        """
        with self.reading() as rows:
            seq, hash = rows.last()
        return f"{seq}:{hash}"

    def require(self, checkpoint: str) -> None:
        """Refuse a ledger that does not contain a checkpoint.

        Parameters
        ----------
        checkpoint
            What `checkpoint()` gave earlier.

        Raises
        ------
        LedgerDamaged
            If the ledger does not contain it.
        """
        seq, hash = read_checkpoint(checkpoint)
        with self.reading() as rows:
            found = rows.memory.hash_of(seq)
        if found != hash:
            raise LedgerDamaged(
                f"the ledger {self.store.label!r} does not contain the checkpoint {checkpoint!r}: it is an "
                "older copy, or was changed. Nothing is released; restore the ledger that has it."
            )

    def verify(self, checkpoint: str | None = None) -> Verification:
        """Everything, read and checked anew from the first entry.

        Parameters
        ----------
        checkpoint
            What `checkpoint()` gave earlier; the ledger must contain it.

        Returns
        -------
        Verification
            Whether it is sound (`ok`), and what is wrong (`problems`).
        """
        from dalenius.session.verify import verified

        return verified(self.store, checkpoint)

    def export(self) -> Iterator[str]:
        """The whole ledger as text, which can be checked without the ledger.

        Returns
        -------
        iterator of str
            Lines of JSON: a heading, the entries in order, and the checkpoint they end at.
        """
        from dalenius.session.report import exported

        return exported(self)

    def grant(self, role: str) -> None:
        """Let a PostgreSQL role spend and do nothing else. For the ledger's owner.

        Parameters
        ----------
        role
            The role's name.

        Raises
        ------
        InvalidParameter
            If the ledger is a file.
        """
        if not isinstance(self.store, postgres.PostgresStore):
            raise InvalidParameter(
                "a ledger in a file has no roles: give rights to the file instead (chmod, chgrp)."
            )
        self.store.grant(_name("the role", role))

    def append(self, rows: Rows, kind: Kind, account: int, key: str, body: Mapping[str, object]) -> Entry:
        """Add an entry inside a writing transaction.

        Parameters
        ----------
        rows
            The transaction.
        kind
            What sort of entry it is.
        account
            The number of the entry that opened its account; 0 where it belongs to none.
        key
            What it is found again by.
        body
            Its content.

        Returns
        -------
        Entry
            The entry, chained to the one before.

        Raises
        ------
        LedgerError
            If no entry is of this kind, or the ledger was closed.
        """
        if kind not in KINDS:
            raise LedgerError(f"an entry cannot be of kind {kind!r}; it must be one of {', '.join(KINDS)}.")
        if rows.memory.closings:
            raise LedgerError(
                f"the ledger {self.store.label!r} was closed, and goes on in {rows.memory.closings[0]['place']!r}."
            )
        seq, hash = rows.last()
        entry = Entry.after(seq, hash, kind, account, key, body)
        rows.add(entry)
        rows.added.append(entry)
        return entry

    @contextlib.contextmanager
    def writing(self) -> Iterator[Rows]:
        """The only writer, on a ledger that was just checked."""
        memory = self._checked()
        start = memory.start()
        with self.store.writing() as rows:
            self._check(rows, memory, start)
            yield rows
            if rows.added:
                rows.confirm()
        memory.add(rows.added)  # durable now: this process has seen it

    @contextlib.contextmanager
    def reading(self) -> Iterator[Rows]:
        """A consistent view of a ledger that was just checked."""
        memory = self._checked()
        start = memory.start()
        with self.store.reading() as rows:
            self._check(rows, memory, start)
            yield rows

    def _checked(self) -> Memory:
        """The memory of this ledger; if it knows nothing yet, after all of the ledger was read."""
        memory = self._memory
        if memory is None:
            memory = self._memory = memory_of(self.store.place)
        seq, hash, least = memory.start()
        unread = seq == 0
        while unread:
            # In views of their own, so that writers get their turn.
            with self.store.reading() as rows:
                head, batch = self._following(rows, seq, hash)
            memory.add(batch)
            unread = len(batch) == BATCH
            if not unread:
                self._ends(head, batch, least)
            seq, hash = batch[-1].seq, batch[-1].hash
        return memory

    def _check(self, rows: Rows, memory: Memory, start: tuple[int, str, int]) -> None:
        """Read on from an entry that was checked to the head, and check that."""
        rows.memory = memory
        seq, hash, least = start
        while True:
            head, batch = self._following(rows, seq, hash)
            memory.add(batch)
            if len(batch) < BATCH:
                break
            seq, hash = batch[-1].seq, batch[-1].hash
        self._ends(head, batch, least)
        rows.end = head.seq

    def _following(self, rows: Rows, seq: int, hash: str) -> tuple[Head, list[Entry]]:
        """The head, and the entries from one on that must be there."""
        head, batch = rows.tail(seq, BATCH)
        if head.version != SCHEMA:
            raise other_version(self.store.label, head.version)
        if seq and (not batch or (batch[0].seq, batch[0].hash) != (seq, hash)):
            raise self._went_back()
        return head, batch

    def _ends(self, head: Head, batch: list[Entry], least: int) -> None:
        """The head is the last entry, and what this process saw before is there."""
        if not batch or (head.seq, head.hash) != (batch[-1].seq, batch[-1].hash):
            raise LedgerDamaged(
                f"the end of the ledger {self.store.label!r} is missing or was changed (its head is entry "
                f"{head.seq!r}). Nothing is released; run `dalenius ledger verify`."
            )
        if head.seq < least:
            raise self._went_back()

    def _went_back(self) -> LedgerDamaged:
        return LedgerDamaged(
            f"the ledger {self.store.label!r} went back in time: entries this process has seen are gone or changed. "
            "Nothing is released; restore the ledger that has them."
        )


def read_account(ledger: Ledger, entry: Entry, analyst: str | None) -> Account:
    """The account an entry opened, for one analyst (None: to look at)."""
    body = entry.content()
    filter = read_filter(body)
    shares = {name: Fraction(part) for name, part in body["shares"].items()}
    if analyst is not None and shares and analyst not in shares:
        raise InvalidParameter(
            f"{analyst!r} has no share of the budget of {body['dataset']!r}; those who have: "
            f"{listed(shares)}."
        )
    limit = filter.nothing.read(body["limit"])
    return Account(
        ledger, entry.seq, str(body["dataset"]), filter, limit, shares, analyst, unit_text(body["unit"])
    )


def account_terms(dataset: str, filter: Filter, unit: str | Unit) -> dict[str, Any]:
    """What an account fixes for ever, in the words of its entry."""
    return {
        "dataset": dataset,
        "promise": filter.promise.record(),
        "reserve": filter.written().get("reserve"),
        "adjacency": adjacency_record(filter.adjacency),
        "unit": unit.record() if isinstance(unit, Unit) else unit,
    }


def unit_text(unit: Any) -> str:
    """The unit of an account for people: its own words, or those of a session's unit."""
    return repr(Unit.from_record(unit)) if isinstance(unit, Mapping) else str(unit)


def read_filter(body: Mapping[str, Any]) -> Filter:
    """The filter of an account's body."""
    try:
        promise = from_record(body["promise"])
        return filter_of(promise, read_adjacency(body["adjacency"]), body["reserve"] or 0)
    except (KeyError, TypeError, ValueError):
        raise LedgerDamaged("an account of the ledger is not written as we write them.") from None


def read_checkpoint(text: object) -> tuple[int, str]:
    """The parts of "SEQ:HASH"."""
    seq, colon, hash = text.strip().partition(":") if isinstance(text, str) else ("", "", "")
    if not (
        colon
        and seq.isascii()
        and seq.isdecimal()
        and len(hash) == 64
        and set(hash) <= set("0123456789abcdef")
    ):
        raise InvalidParameter(f"the checkpoint is {text!r}; it must be SEQ:HASH as `ledger show` prints it.")
    return int(seq), hash


def store_at(where: str | os.PathLike[str], create: bool = False, patience: float = PATIENCE) -> Store:
    """The store of a ledger, unchecked; `Ledger.open` checks."""
    store = new_store(where, patience)
    if not store.exists():
        if not create:
            raise LedgerError(f"there is no ledger at {store.label!r}.")
        _not_removed(store)
        store.create([_first()], SCHEMA)
    return store


def place_text(where: object) -> str:
    """The path or the address of a ledger as text; what is neither is refused."""
    try:
        text = os.fspath(where)  # type: ignore[call-overload]
    except TypeError:
        raise InvalidParameter(
            f"the ledger is {where!r}; it must be a path, a postgresql:// URL, or an opened dp.Ledger."
        ) from None
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter(f"the ledger is {where!r}; give a path or a postgresql:// URL, as text.")
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise InvalidParameter(f"the ledger's name {text!r} holds a character that no file's name can hold.")
    return text


def _first() -> Entry:
    body = {"ledger": uuid.uuid4().hex, "version": SCHEMA, "converted_from": None, "time": now()}
    return Entry.after(0, START, "open", 0, "", body)


def new_store(where: str | os.PathLike[str], patience: float) -> Store:
    """The store at a place, whether there is a ledger or not."""
    text = place_text(where)
    if is_address(where) and not os.path.lexists(text):
        postgres.needed()
        return postgres.PostgresStore(read_address(text), patience)
    if text == ":memory:":
        raise InvalidParameter("a ledger in memory would forget what was spent; name a file.")
    path = checks.path("the ledger", text).absolute()
    # The real file: SQLite names its journal after it, and so must every process. A link that leads nowhere is not
    # a place for a new ledger.
    return SqliteStore(path.resolve() if path.exists() or not os.path.lexists(path) else path, patience)


def _not_removed(store: Store) -> None:
    """No new ledger where this process has one open: what was spent there is spent."""
    if is_known(store.place) and not store.exists():  # or another thread made it, a moment ago
        raise LedgerDamaged(
            "the ledger that this process has open at this place is gone, and a new one would forget what was spent. "
            "Nothing is released; restore it, or close it first."
        )


def _shares(shares: Any) -> dict[str, Fraction] | None:
    if shares is None:
        return None
    if not isinstance(shares, Mapping) or not shares:
        raise InvalidParameter("shares must name at least one analyst, such as {'ana': 0.5, 'ben': '1/4'}.")
    parts = {}
    for name, share in shares.items():
        _name("an analyst", name)
        try:
            # As it was written: 0.1 is one tenth.
            part = Fraction(repr(share)) if isinstance(share, float) else Fraction(share)
        except (TypeError, ValueError, ZeroDivisionError):
            part = Fraction(0)
        if isinstance(share, bool) or not 0 < part <= 1:
            raise InvalidParameter(
                f"the share of {name!r} is {checks.shown(share)}; it must be above 0 and at most 1, as 0.25 or '1/3'."
            )
        parts[name] = part
    if sum(parts.values()) > 1:
        raise InvalidParameter(f"the shares add up to {sum(parts.values())}; together they may be at most 1.")
    return parts


def _name(what: str, text: object) -> str:
    if not isinstance(text, str) or not text.strip() or len(text) > 1000:
        raise InvalidParameter(f"{what} is {text!r}; it must be a name of at most 1000 characters.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidParameter(f"{what} is {text!r}, which is not valid text.") from None
    return text


def _shown(word: str, value: object) -> str:
    if word == "reserve":
        return "no reserve" if value is None else f"a reserve of {value}"
    if isinstance(value, Mapping):
        numbers = ",".join(str(part) for name, part in value.items() if name != "kind")
        return f"{word} {value['kind']}:{numbers}" if numbers else f"{word} {value['kind']}"
    return f"{word} {value!r}"


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
