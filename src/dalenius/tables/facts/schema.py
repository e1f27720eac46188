"""Public facts about a table: what anyone may know of its columns without looking at the data.

A description file in TOML (or YAML, with the same names):

    nulls = "drop"                          # for every column that does not say otherwise
    records = "lines"                       # of a CSV file: no line breaks inside quotes

    [columns.income]
    bounds = [0, 250_000]                   # values are clamped to these
    impute = 0                              # instead of nulls = "drop": null and NaN become 0

    [columns.state]
    categories = ["CA", "NY", "TX"]         # the groups of group_by("state")

    [columns.visited]
    bounds = [2023-01-01, 2024-12-31]       # of dates: the days, weeks, months, ... one can group by

    [columns.age]
    type = "integer"                        # for a CSV file, whose types would otherwise be guessed
    bounds = [0, 120]
    nulls = "never"

Null and NaN ("missing" below). A question may use a column that can hold either only when its policy is
declared, in the description, for the whole table, or in the aggregate itself:

- "drop": a row whose value is missing is left out of the aggregates that use the value, and of filters on it;
  it is still counted by `count()`. This is what SQL does with null; NaN is treated as null.
- impute: missing values become a constant.
- "never": the owner of the data says there are none. If there is one after all it is read as the lower bound,
  like any other value outside the bounds: an error would tell that it is there, and the sensitivity must hold
  anyway.
"""

from __future__ import annotations

import datetime
import math
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from dalenius.core.checks import is_one_of, number, shown
from dalenius.core.checks import path as checked_path
from dalenius.errors import InvalidParameter
from dalenius.tables.facts.dates import Day, day_of, ends_of
from dalenius.tables.facts.kinds import (
    KEYS,
    KINDS,
    NUMERIC,
    Field,
    Kind,
    fits,
    is_storable,
    is_text,
    kind_of_value,
)
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.facts.problems import Problems

Constant: TypeAlias = bool | int | float | str | datetime.date


@dataclass(frozen=True)
class Impute:
    """Missing values become this constant."""

    value: Constant

    def __post_init__(self) -> None:
        if kind_of_value(self.value) is None:
            raise InvalidParameter(
                f"the constant to impute is {self.value!r}; it must be a number, text, a date, True or False."
            )
        if isinstance(self.value, float) and not math.isfinite(self.value):
            raise InvalidParameter(f"the constant to impute is {self.value}; it must be finite.")
        if isinstance(self.value, int) and abs(self.value) > sys.float_info.max:
            raise InvalidParameter(f"the constant to impute is {shown(self.value)}, which is beyond doubles.")
        if isinstance(self.value, str) and not is_storable(self.value):
            raise InvalidParameter(
                f"the constant to impute is {self.value!r}; it must not hold the character with code 0, nor half of a "
                "pair of surrogates."
            )


Nulls: TypeAlias = Literal["drop", "never"] | Impute

Records: TypeAlias = Literal["quoted", "lines"]
"""What one record of a CSV file is; see `dalenius.tables.engines.duckdb.records`."""

MEANT: Mapping[str, Kind] = {
    **dict.fromkeys(("int", "int64", "bigint", "whole"), "integer"),
    **dict.fromkeys(("float", "float64", "double", "real", "numeric", "decimal"), "number"),
    **dict.fromkeys(("str", "string", "varchar", "object", "category"), "text"),
    **dict.fromkeys(("boolean", "logical"), "bool"),
    "datetime": "timestamp",
}
"""What other programs call the types of columns."""

HOW_TO_DECLARE = (
    'declare nulls="drop" (rows without a value are left out), impute(constant), or nulls="never" '
    "(the data has none): in the aggregate, for its own argument, in the column's description, or for all columns, "
    'dp.Session(..., schema=dp.Schema(nulls="drop"))'
)


def imputed_number(nulls: Nulls, text: str) -> float | None:
    """The constant that missing numbers become, if the policy is to impute one; a condition counts as 0 and 1."""
    if not isinstance(nulls, Impute):
        return None
    if not isinstance(nulls.value, bool | int | float):
        raise InvalidParameter(f"{nulls.value!r} cannot be imputed for {text!r}, which is a number.")
    return float(nulls.value)


def impute(value: Constant) -> Impute:
    """The policy under which missing values become a constant.

    Parameters
    ----------
    value
        What null and NaN become.

    Returns
    -------
    Impute
        The policy, for `nulls`.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.mean("pay", bounds=(0, 9), nulls=dp.impute(0)).nulls
    Impute(value=0)
    """
    return Impute(value)


def nulls_of(given: object, of: str) -> Nulls | None:
    """A policy as the user wrote it, checked."""
    if given is None or isinstance(given, Impute):
        return given
    if isinstance(given, str) and given == "drop":
        return "drop"
    if isinstance(given, str) and given == "never":
        return "never"
    raise InvalidParameter(f"nulls for {of} is {given!r}; it must be 'drop', 'never' or impute(constant).")


def bounds_of(given: object, of: str) -> tuple[float, float] | None:
    """(lower, upper) as floats, lower < upper; None where none are given."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidParameter(f"the bounds of {of} are {given!r}; they must be a pair (lower, upper).")
    pair = tuple(given)
    if len(pair) != 2:
        raise InvalidParameter(f"the bounds of {of} are {pair!r}; they must be a pair (lower, upper).")
    if any(isinstance(end, str | datetime.date) for end in pair):
        raise InvalidParameter(
            f"the bounds of {of} are {pair!r}; each must be a finite number. Of a date, count days: "
            "dp.mean(\"DATE_DIFF('day', DATE '2024-01-01', day)\", bounds=(0, 366))."
        )
    # Minus zero is zero: the same question must not have two texts.
    lower = number(f"the lower bound of {of}", pair[0]) + 0.0
    upper = number(f"the upper bound of {of}", pair[1]) + 0.0
    if lower >= upper:
        raise InvalidParameter(
            f"the bounds of {of} are ({lower:g}, {upper:g}); the lower must be below the upper"
            f"{': exchange them' if lower > upper else ''}."
        )
    return lower, upper


@dataclass(frozen=True, init=False)
class Column:
    """What is public about one column: bounds, categories, the policy for missing values, its type.

    >>> from dalenius.tables import Column
    >>> Column(bounds=(0, 250_000), nulls="drop")
    Column(bounds=(0.0, 250000.0), nulls='drop')
    """

    bounds: tuple[float, float] | None
    categories: tuple[Constant, ...] | None
    nulls: Nulls | None
    type: Kind | None
    days: tuple[datetime.date, datetime.date] | None
    """The first and the last day, where `bounds` are dates; rows beyond are in no group."""

    def __init__(
        self,
        *,
        bounds: Iterable[float | Day] | None = None,
        categories: Iterable[Constant] | None = None,
        nulls: Nulls | None = None,
        type: Kind | None = None,
    ) -> None:
        problems = Problems()
        if type is not None and not is_one_of(type, *KINDS):
            meant = MEANT.get(str(type).lower())
            hint = f": write {meant!r}" if meant else ""
            problems.add(f"the type of a column is {type!r}; it must be one of {', '.join(KINDS)}{hint}.")
        given = list(bounds) if isinstance(bounds, Iterable) and not isinstance(bounds, str) else bounds
        dated = isinstance(given, list) and any(day_of(end) is not None for end in given)
        days = problems.attempt(lambda: ends_of(given, "a column")) if dated else None  # type: ignore[arg-type]
        facts: dict[str, Any] = {"type": type, "days": days}
        facts["bounds"] = None if dated else problems.attempt(lambda: bounds_of(given, "a column"))
        facts["categories"] = problems.attempt(lambda: categories_of(categories))
        facts["nulls"] = problems.attempt(lambda: nulls_of(nulls, "a column"))
        problems.raise_any()
        vars(self).update(facts)

    def __repr__(self) -> str:
        facts = {name: getattr(self, name) for name in ("bounds", "categories", "nulls", "type")}
        if self.days is not None:
            facts["bounds"] = tuple(map(str, self.days))
        return (
            f"Column({', '.join(f'{name}={value!r}' for name, value in facts.items() if value is not None)})"
        )


@dataclass(frozen=True, init=False)
class Schema:
    """Public facts about the columns of a table.

    Parameters
    ----------
    columns
        Facts by the name of the column: a `Column`, or a mapping with `bounds`, `categories`, `nulls`, `type`.
    nulls
        The policy for missing values of columns that have none of their own: "drop", "never" or `dp.impute(constant)`.
    records
        How a CSV file is divided into records: "lines", one a line, or "quoted" (line breaks may stand inside quotes).

    Raises
    ------
    InvalidParameter
        If a fact cannot be; all that is wrong is in one message.

    Examples
    --------
    >>> from dalenius.tables import Column, Schema
    >>> schema = Schema({"age": Column(bounds=(0, 120))}, nulls="drop")
    >>> schema["age"].bounds, schema.policy("age"), schema["unknown"]
    ((0.0, 120.0), 'drop', Column())
    """

    columns: tuple[tuple[str, Column], ...]
    nulls: Nulls | None
    records: Records = field(compare=False)

    def __init__(
        self,
        columns: Mapping[str, Column | Mapping[str, Any]] | None = None,
        *,
        nulls: Nulls | None = None,
        records: Records = "lines",
    ) -> None:
        problems = Problems()
        made = {}
        if not isinstance(columns, Mapping | None):
            raise InvalidParameter(
                f"the columns of a schema are {shown(columns)}; they must be a mapping of names to facts: "
                "{'age': {'bounds': (0, 120)}}."
            )
        for name, facts in (columns or {}).items():
            column = problems.attempt(partial(_column, name, facts))
            if column is not None:
                made[name] = column
        policy = problems.attempt(lambda: _for_all(nulls))
        if records not in get_args(Records):
            problems.add(
                f"records is {records!r}; it must be 'lines' or 'quoted' (line breaks may stand inside quotes)."
            )
        problems.raise_any()
        vars(self).update(columns=tuple(sorted(made.items())), nulls=policy, records=records)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a description file.

        Parameters
        ----------
        path
            A TOML or YAML file, by the ending of its name.

        Returns
        -------
        Schema
            What it says.

        Raises
        ------
        InvalidParameter
            If it cannot be read, or says what cannot be.
        """
        return cls.of(_read(checked_path("the description file", path)), str(path))

    @classmethod
    def of(cls, content: Mapping[str, Any], name: str = "the description") -> Schema:
        """The schema a description file holds, already parsed.

        Parameters
        ----------
        content
            What the file says.
        name
            The file, for messages.

        Returns
        -------
        Schema
            The same facts.

        Raises
        ------
        InvalidParameter
            If it says what cannot be.
        """
        problems = Problems()
        problems.attempt(lambda: _only(content, ("columns", "nulls", "records"), name))
        columns = content.get("columns", {})
        if not isinstance(columns, Mapping):
            problems.add(f"`columns` in {name} must be a table of columns, each with its facts.")
            columns = {}
        made = problems.attempt(
            lambda: cls(columns, nulls=content.get("nulls"), records=content.get("records", "lines"))
        )
        problems.raise_any()
        assert made is not None
        return made

    def check(self, fields: Iterable[Field]) -> None:
        """Refuse what does not fit the columns of a table.

        Parameters
        ----------
        fields
            The columns.

        Raises
        ------
        InvalidParameter
            For names the table lacks, with a suggestion, and for facts of another type.
        """
        own, problems = {f.name: f for f in fields}, Problems()
        for name, column in self.columns:
            if name not in own:
                problems.add(
                    f"the schema describes a column {name!r}, which the data has not; {nearest(name, own)}. (What a "
                    "computed or joined column needs is said in the question.)"
                )
                continue
            kind = own[name].kind or own[name].items
            for fault in _misfits(column, kind):
                what = kind or f"of type {own[name].dtype}"
                problems.add(f"column {name!r} is {what}, but the schema has {fault}.")
        problems.raise_any()

    def __getitem__(self, name: str) -> Column:
        """The facts about a column; none for a column that is not described."""
        return dict(self.columns).get(name, Column())

    def policy(self, name: str) -> Nulls | None:
        """The declared policy for missing values of a column.

        Parameters
        ----------
        name
            The column.

        Returns
        -------
        "drop", "never", Impute or None
            None where none is declared.
        """
        own = self[name].nulls
        return self.nulls if own is None else own

    def __repr__(self) -> str:
        policy = "" if self.nulls is None else f", nulls={self.nulls!r}"
        records = "" if self.records == "lines" else f", records={self.records!r}"
        return f"Schema({dict(self.columns)!r}{policy}{records})"


def _for_all(nulls: object) -> Nulls | None:
    """The policy of all columns that have none of their own."""
    if isinstance(nulls, Impute):
        raise InvalidParameter("a constant to impute fits columns of one type; declare it column by column.")
    return nulls_of(nulls, "the schema")


def _misfits(column: Column, kind: Kind | None) -> Iterator[str]:
    """What is said of a column that cannot be true of one of this kind."""
    if column.type is not None and column.type != kind:
        yield f"the type {column.type!r} for it; leave the type out (it is for CSV files)"
    if column.bounds is not None and kind not in (*NUMERIC, "bool"):
        fixes = {"text": "; if a CSV file holds numbers there, declare type: number"}
        fixes |= dict.fromkeys(("date", "timestamp"), "; of dates they are the first and the last day")
        fix = fixes.get(kind or "", "")
        yield f"the bounds {column.bounds} for it, which numbers have{fix}"
    if column.days is not None and kind not in ("date", "timestamp"):
        fix = "; if a CSV file holds dates there, declare type: date" if kind == "text" else ""
        yield f"the bounds {tuple(map(str, column.days))} for it, which dates have{fix}"
    for value in column.categories or ():
        if kind not in KEYS or not fits(value, kind):
            yield f"the category {value!r} for it, which is not {kind if kind in KEYS else 'something to group by'}"
            break
    if isinstance(column.nulls, Impute) and (kind is None or not fits(column.nulls.value, kind)):
        yield f"{column.nulls.value!r} to impute"


def categories_of(given: Iterable[Constant] | None) -> tuple[Constant, ...] | None:
    """A list of public categories, checked: different constants of one type; None where none are given."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidParameter(f"categories are {shown(given)}; they must be a list.")
    values = tuple(given)
    kinds = {kind_of_value(value) for value in values}
    if not values:
        raise InvalidParameter("categories are an empty list; there must be at least one.")
    if kinds - {"text", "integer", "bool", "date"} or len(kinds) != 1:
        raise InvalidParameter(
            "categories must be all text, all whole numbers, all dates, or all of True and False"
            " (YAML reads unquoted NO and OFF as False: quote them)."
        )
    if len(set(values)) != len(values):
        raise InvalidParameter("categories hold the same value twice; list each once.")
    return values


def _column(name: str, given: object) -> Column:
    if not is_text(name):
        raise InvalidParameter(f"{name!r} cannot name a column; a name is text, not empty.")
    if isinstance(given, Column):
        return given
    if not isinstance(given, Mapping):
        raise InvalidParameter(
            f"what is said of column {name!r} must be a table of facts (bounds, categories, ...){_meant(name, given)}."
        )
    problems, facts = Problems(), dict(given)
    of = f"the description of column {name!r}"
    problems.attempt(lambda: _only(facts, ("bounds", "categories", "nulls", "impute", "type"), of))
    policy = problems.attempt(lambda: _policy(facts, f"column {name!r}"))
    for word in ("bounds", "categories", "type"):
        problems.attempt(partial(_fact, word, facts.get(word), of))
    problems.raise_any()
    return Column(
        bounds=facts.get("bounds"), categories=facts.get("categories"), nulls=policy, type=facts.get("type")
    )


def _meant(name: str, given: object) -> str:
    """What somebody may have meant who gave a value in place of facts."""
    if name == "nulls" and is_one_of(given, "drop", "never"):
        return f"; of all columns it is said beside them: dp.Schema({{...}}, nulls={given!r})"
    if isinstance(given, tuple | list) and len(given) == 2 and not any(isinstance(end, str) for end in given):
        return f"; bounds are {{'bounds': {shown(given)}}}"
    if isinstance(given, list | tuple | set | range):
        return f"; categories are {{'categories': {shown(given)}}}"
    return ""


def _fact(word: str, value: Any, of: str) -> None:
    """Refuse a fact that cannot be, on its own."""
    try:
        Column(**{word: value})
    except InvalidParameter as problem:
        raise InvalidParameter(f"in {of}: {problem}") from None


def _policy(facts: Mapping[str, Any], of: str) -> Nulls | None:
    if "nulls" in facts and "impute" in facts:
        raise InvalidParameter(f"{of} has both `nulls` and `impute`; keep one.")
    return Impute(facts["impute"]) if "impute" in facts else nulls_of(facts.get("nulls"), of)


def _only(given: Mapping[str, Any], allowed: tuple[str, ...], name: str) -> None:
    problems = Problems()
    for word in given:
        if word not in allowed:
            problems.add(f"{name} says {word!r}; {nearest(str(word), allowed)}.")
    problems.raise_any()


def _read(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise InvalidParameter(f"the description file {path} does not exist; check the path.")
    parse = PARSERS.get(path.suffix.lower())
    if parse is None:
        raise InvalidParameter(f"the description file {path} must end in .toml, .yaml or .yml.")
    try:
        content = parse(path.read_text(encoding="utf-8"))
    except ModuleNotFoundError:
        raise InvalidParameter(
            f"{path} is YAML, which needs the package pyyaml; install it or use TOML."
        ) from None
    except Exception as problem:  # what the two parsers raise has no common ancestor
        raise InvalidParameter(f"{path} cannot be read as {path.suffix[1:].upper()}: {problem}") from None
    if not isinstance(content, Mapping):
        raise InvalidParameter(f"{path} must hold a table with `columns` and `nulls`.")
    return content


def _yaml(text: str) -> object:
    import yaml

    return yaml.safe_load(text)


PARSERS: Mapping[str, Callable[[str], object]] = {".toml": tomllib.loads, ".yaml": _yaml, ".yml": _yaml}
