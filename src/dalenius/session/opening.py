"""The account a session spends from: found in its ledger by name and place, and opened by its first charge.

Nothing is written before that: a question that is refused leaves no ledger, no account and no fixed total behind.

An account is of one name and of one place. The same name at another place would be answered from the record of
other people; the same place under another name would have a second budget. Both are refused, with the fix.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.guarantees.cost import Cost
from dalenius.core.adjacency import Adjacency
from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter, LedgerError
from dalenius.session.account import Account, Balance, State, Ticket
from dalenius.session.entries import Entry
from dalenius.session.ledger import Ledger
from dalenius.session.places import check_is_elsewhere, read_place
from dalenius.session.standing import Standing
from dalenius.session.stores import PATIENCE, new_store
from dalenius.session.terms import check_share, checked_name, proposed, read_terms
from dalenius.tables.ask.several import is_several, listed_tables
from dalenius.tables.compute.source import Source
from dalenius.tables.engines.place import Place
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.facts.schema import Schema
from dalenius.tables.facts.unit import Unit


@dataclass(frozen=True)
class Terms:
    """What a session asks of its account. budget: None for that of an account which is there."""

    dataset: str
    budget: Guarantee | None
    adjacency: Adjacency
    unit: Unit
    analyst: str | None
    shares: Mapping[str, Any] | None
    place: Place
    moved: bool
    """Whether the caller says that the data was at another place before."""
    former: frozenset[str] = frozenset()
    """What earlier versions called the same data, where the caller gave it no name."""
    reserve: float | None = None
    ceiling: Guarantee | None = None
    renewals: int | None = None
    reading: bool = False
    """Whether an analyst may have the account who has no share of it: to read what was answered, not to pay."""


def opened(data: Any, table: Any, schema: Any, unit: Unit) -> Source:
    """The table of a session, or the first of several, opened."""
    if not is_several(data, table):
        return Source.open(data, table=table, schema=_facts(schema, "schema"))
    tables = listed_tables(data, table)
    if unit.column is None:
        raise InvalidParameter(
            "several tables need to know whose rows are whose: unit=dp.Unit('person_id', max_rows={'visits': 4, ...}), "
            "an id that all of them have. Tables of other people each get a session of their own."
        )
    for name in tables:
        unit.of(checked_name("the name of a table", name))
    if extra := sorted({name for name, _ in unit.tables} - set(tables)):
        raise InvalidParameter(
            f"max_rows names a table {extra[0]!r} that is not given; {nearest(extra[0], tables)}."
        )
    if len({name.lower() for name in tables}) < len(tables):
        raise InvalidParameter("two tables have names that differ in capitals only; rename one.")
    if not isinstance(schema, Mapping | None):
        raise InvalidParameter(
            f"schema is {shown(schema)}; of several tables it is a mapping, with the schema of each by its name: "
            f"{{{', '.join(f'{name!r}: dp.Schema(...)' for name in tables)}}}."
        )
    if unknown := sorted(set(schema or {}) - set(tables)):
        raise InvalidParameter(
            f"the schema is of a table {unknown[0]!r}, which is not there; {nearest(unknown[0], tables)}. Of several "
            "tables it is a mapping, with the schema of each by its name."
        )
    facts = {name: _facts(given, f"the schema of {name!r}") for name, given in (schema or {}).items()}
    return Source.open_together(tables, facts)


def _facts(schema: Any, what: str) -> Schema | str | Path | None:
    if not isinstance(schema, Schema | Mapping | str | Path | None):
        raise InvalidParameter(
            f"{what} is {shown(schema)}; it must be a dp.Schema, a mapping of columns to facts, or a file."
        )
    return Schema(dict(schema)) if isinstance(schema, Mapping) else schema


def place_of_all(source: Source) -> Place:
    """Where the data of a session is: the table, or all of several."""
    if not source.together:
        return source.place
    return Place.several({name: one.place for name, one in source.together.items()})


def dataset_name(source: Source, name: str | None, needed: bool) -> str:
    """What the ledger calls the data: the name given, or that of the file or table, or of all of several."""
    if name is not None:
        return checked_name("the name", name)
    if needed and place_of_all(source).kind == "memory":
        raise InvalidParameter(
            "a data frame has no name and no place of its own, and a ledger keeps a budget for each name: say which "
            "data these are, name='people 2024'."
        )
    return " and ".join(sorted(source.together)) or source.name


def existing_ledger(where: str | os.PathLike[str] | Ledger) -> Ledger | None:
    """The ledger, if it is there; nothing is made."""
    if isinstance(where, Ledger):
        return where
    store = new_store(where, PATIENCE)
    if store.exists():
        return Ledger(store)
    store.check_room()
    store.close()
    return None


class SessionAccount(Account):
    """An account that is looked for when it is needed, and opened by its first charge."""

    def __init__(self, where: str | os.PathLike[str] | Ledger, terms: Terms) -> None:
        self.where, self.terms = where, terms
        self._opened: Account | None = None
        self._place_to_record: tuple[Place, dict[str, Any] | None] | None = None
        if self.is_open:
            return
        if terms.budget is None:
            raise InvalidParameter(
                f"the ledger has no account of {terms.dataset!r} yet; say what its budget is: budget=dp.ZCDP(0.5), "
                "or --total zcdp:0.5."
            )
        filter, body = proposed(
            terms.dataset,
            terms.budget,
            adjacency=terms.adjacency,
            unit=terms.unit,
            reserve=0 if terms.reserve is None else terms.reserve,
            shares=terms.shares,
            ceiling=terms.ceiling,
            renewals=terms.renewals,
        )
        _, _, shares = read_terms(body)
        if terms.analyst is not None:
            checked_name("analyst", terms.analyst)
        if not terms.reading:
            check_share(terms.analyst, shares, terms.dataset)
        nowhere: Any = None  # until it is opened
        super().__init__(nowhere, 0, terms.dataset, filter, shares, terms.analyst, repr(terms.unit))
        self._at_first = State(filter, Balance(filter.nothing, {}), Standing.of(body))

    @property
    def is_open(self) -> bool:
        """Whether the ledger has it."""
        if self._opened is None:
            account = self._find()
            if account is not None:  # opened before, or somebody else was quicker
                self._take(account)
        return self._opened is not None

    def found_ledger(self) -> Ledger:
        """The ledger, if it is there."""
        found = existing_ledger(self.where)
        if found is None:
            raise LedgerError(
                "there is no ledger yet: the first question that is charged makes it, and opens the account."
            )
        self.where = found
        return found

    def check_opened(self) -> None:
        if not self.is_open:
            raise InvalidParameter(
                f"the account of {self.dataset!r} is not open yet: its first question opens it, or "
                "dp.Ledger.open(...).account(...) does."
            )

    def open_now(self) -> None:
        """Open the account before its first charge, so that its terms hold; one that is open stays as it is."""
        if not self.is_open:
            self._take(self._open())

    def state(self) -> State:
        return super().state() if self.is_open else self._at_first

    def recorded(self, question: str) -> str | None:
        return super().recorded(question) if self.is_open else None

    def charged(self, question: str) -> str | None:
        return super().charged(question) if self.is_open else None

    def place(self) -> dict[str, Any] | None:
        return super().place() if self.is_open else self.terms.place.written()

    def _charge(self, question: str, cost: Cost, recall: bool) -> Ticket | Entry:
        if not self.is_open:
            self._fitting(self._at_first, cost)
            self._take(self._open())
        elif self._place_to_record is not None:
            if not (recall and self.recorded(question) is not None):
                self._fitting(self.state(), cost)
            if (
                not self.is_closed
            ):  # to a closed account nothing is added; what is on record can be read from anywhere
                here, before = self._place_to_record
                self.record_place(here.written(), before)
                self._place_to_record = None
        return super()._charge(question, cost, recall)

    # -- finding and opening ----------------------------------------------------------------------

    def _open(self) -> Account:
        self.where = self.where if isinstance(self.where, Ledger) else Ledger.open(self.where)
        return self._account(self.where)

    def _account(self, ledger: Ledger) -> Account:
        terms = self.terms
        budget = terms.budget or ledger.existing(terms.dataset).budget
        account = ledger.account(
            terms.dataset,
            budget,
            adjacency=terms.adjacency,
            analyst=None if terms.reading else terms.analyst,
            shares=terms.shares,
            unit=terms.unit,
            place=terms.place.written(),
            reserve=terms.reserve,
            ceiling=terms.ceiling,
            renewals=terms.renewals,
        )
        account.analyst = terms.analyst
        return account

    def _take(self, account: Account) -> None:
        known = account.place()
        here, there = self.terms.place, None if known is None else read_place(known, account.dataset)
        self._place_to_record = None if there is not None and here.is_at(there) else (here, known)
        if there is not None and not here.is_at(there) and not self.terms.moved:
            raise InvalidParameter(
                f"the account of {account.dataset!r} is about {there}, and now {account.dataset!r} is {here}. Other "
                "data need a name of their own: name='...' or --name. If these are the same data, which were moved, "
                "say so once: moved=True or --moved."
            )
        self._opened = account
        vars(self).update(vars(account))

    def _find(self) -> Account | None:
        ledger = existing_ledger(self.where)
        if ledger is None:
            return None
        self.where, mine = ledger, None
        for account in ledger.accounts():
            if account.dataset == self.terms.dataset:
                mine = account
            else:
                self._other(account)
        return None if mine is None else self._account(ledger)

    def _other(self, account: Account) -> None:
        """Refuse if another account is, or may be, about the same data."""
        known, terms = account.place(), self.terms
        check_is_elsewhere(terms.place, terms.dataset, known, account.dataset)
        if known is None and account.dataset in terms.former - {terms.dataset}:
            raise InvalidParameter(
                f"the ledger has an account named {account.dataset!r} from an earlier version, which may be about "
                f"these data, now called {terms.dataset!r}. Say which is meant: name={account.dataset!r} to go on "
                f"with it, name={terms.dataset!r} for other data (--name)."
            )
