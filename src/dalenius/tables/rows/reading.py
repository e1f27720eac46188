"""What a question sees of a column: its clean form (see `kinds`), under a policy for missing values."""

from __future__ import annotations

import datetime
import re
from typing import Any

import ibis

from dalenius.errors import QueryRefused
from dalenius.tables.facts.kinds import Field, fits
from dalenius.tables.facts.schema import Impute, Nulls, imputed_number
from dalenius.tables.rows.terms import INT64, Term, double, moment

DECIMAL = re.compile(r"decimal\((\d+), (\d+)\)")
DIGITS = 38
"""Decimals of so many are zero or within 2^-128 and 2^128."""


def read(column: Any, field: Field, policy: Nulls | None) -> Term:
    """The term of a clean column: null is the imputed constant, where there is one."""
    name, kind = field.name, field.kind
    assert kind is not None
    missing = field.missing
    undeclared = frozenset({name}) if missing and policy is None else frozenset()
    nullable = missing and policy in (None, "drop")
    value = column
    if isinstance(policy, Impute):
        whole = type(policy.value) is int and kind == "integer"
        if not fits(policy.value, kind) or (whole and not -(2**INT64) <= policy.value < 2**INT64):
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
    decimal = DECIMAL.fullmatch(field.dtype)
    digits, places = (20, 0) if field.dtype == "uint64" else map(int, decimal.groups()) if decimal else (0, 0)
    if not 0 <= places <= digits or not 0 < digits <= DIGITS:  # doubles, and decimals that may be as large
        return Term(value, kind, nullable, undeclared, top=1024, loose=True)
    return Term(value, kind, nullable, undeclared, top=128, bottom=-128, whole=places == 0, loose=True)
