"""What a question sees of a column: its clean form (see `kinds`), under a policy for missing values."""

from __future__ import annotations

import datetime
from typing import Any

import ibis

from dalenius.errors import QueryRefused
from dalenius.tables.facts.kinds import Field, fits
from dalenius.tables.facts.schema import Impute, Nulls, imputed_number
from dalenius.tables.rows.terms import INT64, Term, double, moment


def read(column: Any, field: Field, policy: Nulls | None) -> Term:
    """The term of a clean column: null is the imputed constant, where there is one."""
    name, kind = field.name, field.kind
    assert kind is not None
    missing = field.missing
    undeclared = frozenset({name}) if missing and policy is None else frozenset()
    nullable = missing and policy in (None, "drop")
    value = column
    if isinstance(policy, Impute):
        if not fits(policy.value, kind):
            raise QueryRefused(
                f"{policy.value!r} cannot be imputed for column {name!r}, which is of type {kind}."
            )
        number = imputed_number(policy, name) if kind == "number" else None
        if isinstance(policy.value, datetime.datetime):
            fill = moment(policy.value)
        else:
            fill = ibis.literal(policy.value) if number is None else double(number)
        value = ibis.coalesce(column, fill) if missing else column
    if kind == "integer":
        return Term(value, kind, nullable, undeclared, top=INT64, bottom=0, whole=True)
    if kind != "number":
        return Term(value, kind, nullable, undeclared)
    if field.dtype.startswith("float") or field.dtype == "decimal":
        return Term(value, kind, nullable, undeclared, top=1024, loose=True)
    # Whole numbers and decimals of at most 38 digits.
    whole = field.dtype == "uint64" or field.dtype.endswith(", 0)")
    return Term(value, kind, nullable, undeclared, top=128, bottom=-128, whole=whole, loose=True)
