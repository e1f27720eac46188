"""A question about a table in the words of a ledger: what is asked, and nothing of how it is computed.

The same question has one record, and another question another: every constant is written with its type, every
expression in its normal form, a public table by a digest of its rows. Grids, bins and noise follow from the code of
the day; they are not part of the question but of the answer (`release.record`).
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from dalenius.core.record import JSON, text
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.facts.constants import bounds_record, constant_record, nulls_record
from dalenius.tables.facts.keys import Discover, Keys
from dalenius.tables.facts.kinds import Field
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.facts.schema import Column, Schema
from dalenius.tables.rows.steps import Compute, Filter, Join, Step


def query_record(query: Query) -> dict[str, JSON]:
    """What is asked: the table, what is done to its rows, the groups, and the aggregates in their order."""
    return {
        "table": table_record(query.table),
        "group_by": list(query.columns),
        "keys": keys_record(query.keys),
        "aggregates": [{"name": name, "aggregate": asked.record()} for name, asked in query.aggregates],
    }


def table_record(table: Table) -> dict[str, JSON]:
    """The table as the question sees it: its name, its columns, what is public about them, and the steps so far."""
    return {
        "name": table.name,
        "columns": [field_record(field) for field in sorted(table.fields, key=lambda field: field.name)],
        "facts": schema_record(table.schema),
        "steps": [step_record(step) for step in table.steps],
    }


def field_record(field: Field) -> dict[str, JSON]:
    """missing: whether a row can lack a value."""
    return {"name": field.name, "type": field.kind, "missing": field.missing}


def schema_record(schema: Schema) -> dict[str, JSON]:
    """The public facts that a question may rest on."""
    return {
        "nulls": nulls_record(schema.nulls),
        "columns": {name: _facts(column) for name, column in schema.columns},
    }


def _facts(column: Column) -> dict[str, JSON]:
    categories = column.categories
    return {
        "bounds": bounds_record(column.bounds),
        "categories": None if categories is None else [constant_record(value) for value in categories],
        "nulls": nulls_record(column.nulls),
        "type": column.type,
    }


def step_record(step: Step) -> dict[str, JSON]:
    """What is done to the rows. Expressions are in their normal form, columns named exactly."""
    if isinstance(step, Filter):
        return {"kind": "filter", "condition": step.condition}
    if isinstance(step, Compute):
        return {"kind": "compute", "name": step.name, "expression": step.text}
    if isinstance(step, Join):
        return {
            "kind": "join",
            "how": step.how,
            "on": [[ours, theirs] for ours, theirs in step.on],
            "public": public_digest(step.table),
        }
    raise TypeError(f"no record is written for {type(step).__name__}; this is a defect")


def keys_record(keys: Keys | Discover | None) -> dict[str, JSON] | None:
    """None: all rows are one group."""
    if keys is None:
        return None
    if isinstance(keys, Discover):
        return {"kind": "discovered"}
    return {"kind": "listed", "rows": [[constant_record(part) for part in row] for row in keys.rows]}


@lru_cache(maxsize=64)
def public_digest(table: PublicTable) -> str:
    """SHA-256 over the columns of a public table that a question can use: for each a line with its name and type, and a
    line with its values."""
    found = hashlib.sha256()
    clean = table.sent(0)
    used = [field for field in table.fields if field.kind is not None]
    for field, name in zip(used, clean.names, strict=True):
        values = [_public(value) for value in clean.arrow.column(name).to_pylist()]
        for line in (text({"name": field.name, "type": field.kind}), json.dumps(values)):
            found.update(line.encode("ascii") + b"\n")
    return found.hexdigest()


def _public(value: Any) -> JSON:
    """None, or the value as text; its type is that of its column."""
    return None if value is None else constant_record(value)["is"]
