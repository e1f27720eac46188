"""Sessions from registrations: the same place, the same account and the same terms, always.

A process opens a source once and its ledger once, and keeps a session for each data set and analyst. Whether somebody
may ask, and whether the registration has changed, is looked up in the store each time: both may change at any moment.
"""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from dalenius.core.checks import shown
from dalenius.errors import DaleniusError, SourceError
from dalenius.session.ledger import Ledger
from dalenius.session.opening import SessionAccount
from dalenius.session.session import Session
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.kinds import Field
from dalenius.web.datasets.registration import Registration, check_ready, read_registration
from dalenius.web.datasets.sources import kind_of
from dalenius.web.problems import Problem
from dalenius.web.settings import Settings
from dalenius.web.store import Store
from dalenius.web.store import datasets as kept
from dalenius.web.store.datasets import Kept


class NoSuchDataset(Problem):
    """There is no data set of that name, or none that this person may ask of: the words are the same."""

    def __init__(self, name: str) -> None:
        super().__init__(
            404,
            f"there is no data set {shown(name)} that you may use.",
            fix="Check the name, or ask a steward to register or to grant it.",
        )


NotGranted = NoSuchDataset


class _Opened:
    """What a process has open, for one store."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.locks: dict[str, threading.Lock] = {}
        self.sources: dict[str, tuple[int, Source]] = {}
        self.failed: dict[str, tuple[int, float, str]] = {}
        """When a source could not be opened last, by its version, and why."""
        self.has_outlines_only = False
        """Whether this process plans, and never opens a source itself."""
        self.sessions: dict[str, tuple[int, dict[str | None, Session]]] = {}
        self.ledgers: dict[str, Ledger] = {}

    def of(self, name: str) -> threading.Lock:
        with self.lock:
            return self.locks.setdefault(name, threading.Lock())


_OPENED: WeakKeyDictionary[Store, _Opened] = WeakKeyDictionary()
_LOCK = threading.Lock()


def _opened(store: Store) -> _Opened:
    with _LOCK:
        return _OPENED.setdefault(store, _Opened())


def open_session(store: Store, settings: Settings, name: str, analyst: str | None) -> Session:
    """The session of a data set whose account is open.

    Parameters
    ----------
    store, settings
        The console's.
    name
        The data set.
    analyst
        Who asks, by the name in the ledger; the grant is looked up. None: a steward who looks.

    Returns
    -------
    Session
        One for each data set and analyst in a process, until the registration changes.

    Raises
    ------
    NoSuchDataset
        If there is none that this analyst may ask of.
    """
    return session_of(store, settings, _open_to(store, name, analyst), analyst)


def session_at_hand(store: Store, name: str, analyst: str) -> Session | None:
    """The same, if this process has it: nothing is opened, which may take as long as a server of data likes."""
    known = _open_to(store, name, analyst)
    version, sessions = _opened(store).sessions.get(name, (0, {}))
    return sessions.get(analyst) if version == known.version else None


@dataclass(frozen=True)
class Outline:
    """What is public about the source of a data set as it is registered now, for a process that plans."""

    version: int
    source: Source


def outline_of(store: Store, settings: Settings, name: str, analyst: str | None) -> Outline:
    """The outline of a data set that this analyst may ask of."""
    known = _open_to(store, name, analyst)
    return Outline(known.version, session_of(store, settings, known, analyst).source.outline())


def plan_with(store: Store, name: str, outline: Outline) -> None:
    """Have sessions of this outline here, and of no source: how long a plan takes then depends on nothing else."""
    opened = _opened(store)
    opened.has_outlines_only = True
    with opened.of(name):
        if opened.sources.get(name, (None, None))[0] != outline.version:
            opened.sources[name] = (outline.version, outline.source)


def _open_to(store: Store, name: str, analyst: str | None) -> Kept:
    with store.reading() as connection:
        known = kept.get(connection, name) if analyst is None else kept.granted(connection, name, analyst)
    if known is None or not known.is_open:
        raise NoSuchDataset(name)
    return known


def session_of(store: Store, settings: Settings, known: Kept, analyst: str | None) -> Session:
    """The session of a data set as the store has it, opened or on record; who may have it was settled before."""
    opened = _opened(store)
    version, sessions = opened.sessions.get(known.name, (0, {}))
    if version == known.version and analyst in sessions:
        return sessions[analyst]
    came = time.monotonic()
    with opened.of(known.name):
        version, sessions = opened.sessions.get(known.name, (0, {}))
        if version != known.version:
            sessions = {}
        if analyst not in sessions:
            whole = sessions.get(None)
            if whole is None:
                registration = read_registration(known.registration)
                source = _source(store, settings, known, registration, analyst is not None, came)
                whole = _session(registration, source, ledger(store, settings))
            own = whole if analyst is None else _own(whole, analyst)
            sessions = {**sessions, None: whole, analyst: own}
            opened.sessions[known.name] = (known.version, sessions)
        return sessions[analyst]


def let_go_of_lost(store: Store, name: str) -> None:
    """Let go of a data set's source if its server no longer answers: the next session opens it again, or is refused.

    Asked before work begins. A question that finds its source gone only after the charge is charged in vain.
    """
    opened = _opened(store)
    with opened.of(name):
        _, source = opened.sources.get(name, (0, None))
        if source is not None and not source.answers():
            opened.sources.pop(name)
            opened.sessions.pop(name, None)


def open_account(store: Store, settings: Settings, known: Kept) -> Session:
    """Open the account in the ledger, with the terms of the registration: from then on they hold for ever."""
    session = session_of(store, settings, known, None)
    account = session.account
    assert isinstance(account, SessionAccount)
    account.open_now()
    return session


def fields_of(
    store: Store, settings: Settings, known: Kept, quiet: bool = False
) -> dict[str, tuple[Field, ...]]:
    """The columns of each table: their names and kinds, as the engine describes them."""
    came = time.monotonic()
    with _opened(store).of(known.name):
        source = _source(store, settings, known, read_registration(known.registration), quiet, came)
    return fields_in(source)


def fields_in(source: Source) -> dict[str, tuple[Field, ...]]:
    """The columns of each table."""
    return {each.name: each.fields for each in source.together.values() or [source]}


def looked_at(registration: Registration, secret: str | None, settings: Settings) -> Source:
    """The source, opened; refused where the settings do not allow it, or no longer."""
    kind = kind_of(registration.source["kind"])
    tables = kind.tables(dict(registration.source), secret, settings)
    if len(tables) != 1:
        return Source.open_together(tables, {name: registration.schema(name) for name in tables})
    ((name, (data, table)),) = tables.items()
    source = Source.open(data, table=table, schema=registration.schema(name))
    return replace(source, name=name)


def ledger(store: Store, settings: Settings) -> Ledger:
    """The console's ledger, made if it is not there; one object for the process."""
    opened, where = _opened(store), settings.ledger_address
    with opened.lock:
        if where not in opened.ledgers:
            opened.ledgers[where] = Ledger.open(where)
        return opened.ledgers[where]


def _source(
    store: Store, settings: Settings, known: Kept, registration: Registration, quiet: bool, came: float
) -> Source:
    """The source of a registration; the caller holds the data set's lock. quiet: say no word of where it is. came: when
    the caller did. Those who waited for one who failed have failed with it: each trying again, after the other, forty
    who ask of a server that hangs would wait for forty times as long, and have all threads meanwhile."""
    opened = _opened(store)
    version, source = opened.sources.get(known.name, (0, None))
    source = source if version == known.version else None
    if source is not None:
        return source
    if opened.has_outlines_only:
        raise Problem(
            503,
            "what is public about the data was changed at this moment.",
            fix="Try again.",
            headers={"Retry-After": "1"},
        )
    with store.reading() as connection:
        secret = kept.secret(connection, known.name)
    failed, moment, why = opened.failed.get(known.name, (0, 0.0, ""))
    if failed != known.version or moment < came:
        try:
            source = looked_at(registration, secret, settings)
        except SourceError as problem:
            why = str(problem)
            opened.failed[known.name] = (known.version, time.monotonic(), why)
            if not quiet:
                raise
    if source is None:  # outside the handler: the other one must not hang on as the context of this one
        usual = f"the data of {known.name!r} cannot be opened at this moment; tell the steward."
        raise SourceError(usual if quiet else why)
    opened.sources[known.name] = (known.version, source)
    return source


def _session(registration: Registration, source: Source, where: Ledger) -> Session:
    """A session for nobody in particular."""
    terms = check_ready(registration)
    return Session(
        source,
        unit=terms.unit,
        budget=terms.budget,
        ledger=where,
        name=registration.name,
        adjacency=terms.adjacency,
        shares=dict(terms.shares) or None,
        ceiling=terms.ceiling,
        renewals=terms.renewals,
        reserve=terms.reserve,
        per_question=terms.per_question,
    )


def _own(whole: Session, analyst: str) -> Session:
    """The same for somebody to whom the data set is granted: who has no share of the budget can read, too."""
    account = whole.account
    assert isinstance(account, SessionAccount)
    terms = replace(account.terms, analyst=analyst, reading=True)
    if not account.is_open:
        return whole._asking(SessionAccount(account.where, terms))
    own = copy.copy(account)  # which was found and checked; the ledger need not be asked for each analyst
    own.terms, own.analyst = terms, analyst
    return whole._asking(own)


def open_all(store: Store, settings: Settings) -> None:
    """Open the sources of all data sets that are open, so that nobody's first question waits for it.

    How long that takes may depend on how much data there is: better at the start of a process than in a request. What
    cannot be opened now is tried again when it is asked for.
    """
    with contextlib.suppress(DaleniusError):
        with store.reading() as connection:
            found = [each for each in kept.everything(connection) if each.is_open]
        for known in found:
            with contextlib.suppress(Exception):
                session_of(store, settings, known, None)
