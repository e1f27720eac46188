"""What a steward declares of the columns: read, checked against their kinds, and written down.

Nothing here looks at a row: kinds come from the engine's description of the table, everything else from the steward.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter
from dalenius.tables.facts.kinds import KINDS, Field, Kind
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.facts.schema import Column, Constant, Impute, Schema, bounds_of
from dalenius.web.datasets.faults import Faults
from dalenius.web.texts import is_a_line

WORDS = ("bounds", "categories", "nulls", "impute", "type")
MOST_CATEGORIES = 10_000
LONGEST_VALUE = 1_000

Facts = dict[str, dict[str, Any]]
"""By column, what was declared, as it is kept: JSON."""


def read_facts(
    given: object, fields: Mapping[str, Sequence[Field]], faults: Faults
) -> dict[str, dict[str, Column]]:
    """The facts of all tables, by table and column."""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        faults.add("facts", "this must be a mapping of tables to columns to facts.")
        return {}
    made: dict[str, dict[str, Column]] = {}
    for table, columns in given.items():
        if table not in fields:
            faults.add(f"facts.{table}", f"there is no such table; {nearest(str(table), fields)}.")
        elif not isinstance(columns, Mapping):
            faults.add(f"facts.{table}", "this must be a mapping of columns to facts.")
        else:
            made[table] = _columns(table, columns, fields[table], faults)
    return made


def schema_of(columns: Mapping[str, Column], records: Any = "lines") -> Schema:
    """The schema that a session is opened with."""
    return Schema(dict(columns), records=records)


def written(column: Column) -> dict[str, Any]:
    """Facts as they are kept."""
    found: dict[str, Any] = {}
    if column.bounds is not None:
        found["bounds"] = list(column.bounds)
    if column.days is not None:
        found["bounds"] = [day.isoformat() for day in column.days]
    if column.categories is not None:
        found["categories"] = [_plain(value) for value in column.categories]
    if isinstance(column.nulls, Impute):
        found["impute"] = _plain(column.nulls.value)
    elif column.nulls is not None:
        found["nulls"] = column.nulls
    if column.type is not None:
        found["type"] = column.type
    return found


def read_written(told: Mapping[str, Any]) -> Column:
    """What `written` wrote."""
    given = {word: told[word] for word in ("bounds", "categories", "nulls", "type") if word in told}
    if "categories" in given:
        given["categories"] = [_constant_of(value) for value in given["categories"]]
    if "impute" in told:
        given["nulls"] = Impute(_constant_of(told["impute"]))
    return Column(**given)


def _plain(value: Constant) -> Any:
    """JSON; a date must not be taken for text when it is read again."""
    return {"date": value.isoformat()} if isinstance(value, datetime.date) else value


def _constant_of(value: Any) -> Any:
    return datetime.date.fromisoformat(value["date"]) if isinstance(value, Mapping) else value


def shown_facts(column: Column) -> dict[str, Any]:
    """Facts for people and programs: dates as text, an imputed constant by its word."""
    told = written(column)
    plain = {
        key: [_text(each) for each in value] if key == "categories" else value for key, value in told.items()
    }
    if "impute" in plain:
        plain["impute"] = _text(plain["impute"])
    return plain


def _text(value: Any) -> Any:
    return value["date"] if isinstance(value, Mapping) else value


def _columns(
    table: str, given: Mapping[str, Any], fields: Sequence[Field], faults: Faults
) -> dict[str, Column]:
    known, made = {field.name: field for field in fields}, {}
    for name, facts in given.items():
        path = f"facts.{table}.{name}"
        if name not in known:
            faults.add(path, f"the data has no such column; {nearest(str(name), known)}.")
        elif not isinstance(facts, Mapping):
            faults.add(path, "this must be a mapping of facts: bounds, categories, nulls, impute, type.")
        else:
            column = _column(path, facts, known[name], faults)
            if column is not None and column != Column():
                made[name] = column
    return made


def _column(path: str, given: Mapping[str, Any], field: Field, faults: Faults) -> Column | None:
    if unknown := sorted(set(given) - set(WORDS)):
        faults.add(path, f"{shown(unknown[0])} is not a fact; {nearest(str(unknown[0]), WORDS)}.")
    before = len(faults.fields)
    told = {word: given.get(word) for word in WORDS if given.get(word) not in (None, "", [])}
    declared = told.get("type")
    if declared is not None and declared not in KINDS:
        faults.add(f"{path}.type", f"this must be one of {', '.join(KINDS)}.")
        declared = None
    kind: Kind | None = declared or field.kind or field.items
    facts: dict[str, Any] = {"type": declared}
    if "bounds" in told:
        facts["bounds"] = faults.attempt(f"{path}.bounds", partial(_bounds, told["bounds"]))
    if "categories" in told:
        facts["categories"] = faults.attempt(
            f"{path}.categories", partial(_categories, told["categories"], kind)
        )
    if "nulls" in told and "impute" in told:
        faults.add(f"{path}.nulls", "either a rule for missing values or a constant to put there; keep one.")
    elif "impute" in told:
        facts["nulls"] = faults.attempt(f"{path}.impute", lambda: Impute(_constant(told["impute"], kind)))
    elif "nulls" in told:
        if told["nulls"] == "impute":  # what the form says when the constant beside it is empty
            faults.add(f"{path}.nulls", "write the constant that missing values become.")
        elif told["nulls"] not in ("drop", "never"):
            faults.add(f"{path}.nulls", "this must be drop or never, or a constant to impute.")
        else:
            facts["nulls"] = told["nulls"]
    if len(faults.fields) > before:
        return None
    column = faults.attempt(path, lambda: Column(**facts))
    if column is None:
        return None
    as_read = [Field(field.name, field.dtype, kind, field.nullable)] if declared else [field]
    for word, at in (("bounds", "bounds"), ("categories", "categories"), ("nulls", "impute")):
        if getattr(column, word) is not None:
            only = Column(**{word: getattr(column, word)})
            faults.attempt(f"{path}.{at}", lambda only=only: Schema({field.name: only}).check(as_read))  # type: ignore[misc]
    return column if len(faults.fields) == before else None


def _bounds(given: Any) -> tuple[float, float] | None:
    if isinstance(given, Sequence) and not isinstance(given, str):
        given = [number(value) for value in given]
        if len(given) == 2 and None in given:
            raise InvalidParameter("bounds are two numbers: one of them is missing.")
        if given == [None, None]:
            return None
    return bounds_of(given, "this column")


def number(value: Any) -> Any:
    """A number that was written as text, with or without blanks between its digits; None where there is none."""
    if not isinstance(value, str):
        return value
    text = "".join(value.split()).replace("_", "")
    if not text:
        return None
    try:
        return int(text) if text.lstrip("+-").isdecimal() and len(text) < 19 else float(text)
    except ValueError:
        raise InvalidParameter(f"{value.strip()!r} is not a number; write it as 250000 or 0.5.") from None


def _categories(given: Any, kind: Kind | None) -> tuple[Constant, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InvalidParameter("categories must be a list.")
    if len(given) > MOST_CATEGORIES:
        raise InvalidParameter(f"there may be at most {MOST_CATEGORIES} categories.")
    made = tuple(_constant(value, kind) for value in given)
    return Column(categories=made).categories or ()


def _constant(value: Any, kind: Kind | None) -> Any:
    """A constant of the column's kind, from text or from JSON."""
    if isinstance(value, str) and not (len(value) <= LONGEST_VALUE and is_a_line(value)):
        raise InvalidParameter(
            f"a value is {shown(value)}; it must be one line of at most {LONGEST_VALUE} characters that can be shown."
        )
    if not isinstance(value, str) or kind == "text":
        return value
    text = value.strip()
    try:
        if kind == "integer":
            return int(text)
        if kind == "number":
            return float(text)
        if kind == "date":
            return datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidParameter(f"{text!r} is not a value of this column, which is of kind {kind}.") from None
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise InvalidParameter(f"{text!r} is not a value of this column; write true or false.")
        return text.lower() == "true"
    return value
