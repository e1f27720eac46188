"""What somebody needs to know of a session to build the same questions without the data: public facts alone.

The record has tags and a version like everything that is written down; docs/record-format.md describes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.calculus.guarantees import Filter, Guarantee, amounts, filter_of, from_record
from dalenius.calculus.guarantees.cost import Cost
from dalenius.core.adjacency import Adjacency, adjacency_record, read_adjacency
from dalenius.core.record import JSON
from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.session.session import Session
from dalenius.tables.ask.reading import bounded
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.forms import BROKEN, CONSTANTS, NULLS, NUMBERS
from dalenius.tables.facts.kinds import KINDS, Field
from dalenius.tables.facts.schema import Column, Schema
from dalenius.tables.facts.unit import Unit

FORMAT, VERSION = "dalenius description", 1


def description(session: Session) -> dict[str, JSON]:
    """A session for somebody afar: its tables, its unit, and how its account stands for its analyst."""
    account = session.account
    sources = session.source.together.values() or [session.source]
    per_question = session.per_question
    return {
        "format": FORMAT,
        "version": VERSION,
        "dataset": account.dataset,
        "analyst": account.analyst,
        "several": bool(session.source.together),
        "tables": [_table_record(source) for source in sources],
        "unit": session.unit.record(),
        "adjacency": adjacency_record(session.adjacency),
        "promise": account.promise.record(),
        "reserve": amounts.decimal(getattr(account.filter, "reserve", amounts.declared(0.0))),
        "per_question": None if per_question is None else per_question.record(),
        "account": standing(session),
    }


def standing(session: Session) -> dict[str, JSON]:
    """How the account stands at this moment: exact numbers, as the ledger writes them."""
    account = session.account
    state = account.state()
    return {
        "budget": state.budget.record(),
        "limit": state.limit.written(),
        "first": state.first_allowance(account.analyst).written(),
        "spent": state.balance.total.written(),
        "allowance": state.allowance(account.analyst).written(),
        "left": state.left(account.analyst).written(),
        "shared": bool(state.standing.shares),
        "closed": state.standing.closed,
    }


@dataclass(frozen=True)
class Standing:
    """How an account stands, as it was told."""

    budget: Guarantee
    limit: Cost
    first: Cost
    spent: Cost
    allowance: Cost
    left: Cost
    shared: bool
    closed: bool


@dataclass(frozen=True)
class Described:
    """A session as it was described: a source without rows, the unit, and what pays."""

    dataset: str
    analyst: str | None
    source: Source
    unit: Unit
    adjacency: Adjacency
    filter: Filter
    per_question: Guarantee | None
    account: Standing


def read_description(record: JSON) -> Described:
    """The session that `description` told of; InvalidParameter for anything else."""
    try:
        return _read(bounded(record))
    except DaleniusError as problem:
        raise InvalidParameter(f"the description of the data set cannot be used: {problem}") from None
    except BROKEN:
        raise InvalidParameter("the description of the data set is not written as we write them.") from None


def read_standing(record: JSON, filter: Filter) -> Standing:
    """How the account stands, from `standing`."""
    try:
        costs = {word: filter.nothing.read(record[word]) for word in COSTS}
        budget = from_record(record["budget"])
        return Standing(budget, shared=bool(record["shared"]), closed=bool(record["closed"]), **costs)
    except (*BROKEN, DaleniusError):
        raise InvalidParameter("how the account stands is not written as we write it.") from None


COSTS = ("limit", "first", "spent", "allowance", "left")


def _read(record: Mapping[str, Any]) -> Described:
    if record["format"] != FORMAT or not isinstance(record["version"], int):
        raise ValueError
    if record["version"] > VERSION:
        raise InvalidParameter(
            f"it is of version {record['version']}, and this dalenius reads up to version {VERSION}: install a newer "
            "dalenius."
        )
    adjacency = read_adjacency(record["adjacency"])
    pays = filter_of(from_record(record["promise"]), adjacency, amounts.from_decimal(record["reserve"]))
    together: dict[str, Source] = {}
    made = [_read_table(table, together) for table in record["tables"]]
    if record["several"]:
        together.update({source.name: source for source in made})
    per_question = record["per_question"]
    return Described(
        str(record["dataset"]),
        None if record["analyst"] is None else str(record["analyst"]),
        made[0],
        Unit.from_record(record["unit"]),
        adjacency,
        pays,
        None if per_question is None else from_record(per_question),
        read_standing(record["account"], pays),
    )


def _table_record(source: Source) -> dict[str, JSON]:
    facts = source.schema
    return {
        "name": source.name,
        "columns": [
            {
                "name": field.name,
                "stored": field.dtype,
                "type": field.kind,
                "items": field.items,
                "nullable": field.nullable,
                "nan": field.nan,
                "mended": field.mended,
            }
            for field in source.fields
        ],
        "facts": [
            {
                "column": name,
                "bounds": NUMBERS.write(told.bounds) if told.bounds is not None else None,
                "categories": CONSTANTS.write(told.categories) if told.categories is not None else None,
                "nulls": NULLS.write(told.nulls),
                **({} if told.days is None else {"days": CONSTANTS.write(told.days)}),
            }
            for name, told in facts.columns
        ],
        "nulls": NULLS.write(facts.nulls),
    }


def _read_table(record: Mapping[str, Any], together: dict[str, Source]) -> Source:
    fields = tuple(_read_field(each) for each in record["columns"])
    facts = {each["column"]: _read_facts(each) for each in record["facts"]}
    schema = Schema(facts, nulls=NULLS.given("a policy", record["nulls"]))
    schema.check(fields)
    nowhere: Any = None  # there are no rows here, and nothing that could read them
    return Source(nowhere, nowhere, str(record["name"]), fields, schema, nowhere, together=together)


def _read_field(each: Mapping[str, Any]) -> Field:
    for kind in (each["type"], each["items"]):
        if kind is not None and kind not in KINDS:
            raise InvalidParameter(
                f"a column is of type {kind!r}, which this dalenius does not know: install a newer."
            )
    flags = (bool(each["nullable"]), bool(each["nan"]), bool(each["mended"]))
    return Field(str(each["name"]), str(each["stored"]), each["type"], *flags, items=each["items"])


def _read_facts(each: Mapping[str, Any]) -> Column:
    categories = each["categories"]
    days = each.get("days")
    return Column(
        bounds=NUMBERS.given("bounds", each["bounds"]) if days is None else CONSTANTS.given("bounds", days),
        categories=None if categories is None else CONSTANTS.given("categories", categories),
        nulls=NULLS.given("a policy", each["nulls"]),
    )
