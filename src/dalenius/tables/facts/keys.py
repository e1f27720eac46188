"""The groups of an answer, fixed before the data is looked at.

A group that appears because somebody is in it tells that they are. So the groups are public: listed in the
query, taken from a public table or from the categories in the schema. Every listed key is in the answer, with
zero rows if it has none; rows whose key is not listed are left out, and so are rows whose key is null (impute a
constant for the column and list the constant to have them counted). `discover()` asks for the keys that are in
the data instead; it is for the release to publish only those that enough units share, and to charge for it.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa

from dalenius.core.checks import shown
from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.facts.forms import CONSTANTS, key_records
from dalenius.tables.facts.kinds import KEYS, Kind, fits, is_storable
from dalenius.tables.facts.public import ARROW, PublicTable

Key: TypeAlias = tuple[Any, ...]
Code: TypeAlias = tuple[Any, ...]
"""A key as it comes from the engine when it was discovered: integers, and the bytes of text as hexadecimal digits."""

LONGEST = 1024
"""Text of more bytes is no group that could be discovered."""

MOST = 10_000_000
"""More public keys than this are surely a mistake, and would fill the memory."""


@dataclass(frozen=True)
class Discover:
    """The keys are to be discovered from the data, privately; see `discover`."""

    tag: ClassVar[str] = "discovered"

    def record(self) -> dict[str, JSON]:
        """For the ledger."""
        return {"kind": self.tag}

    @classmethod
    def asked(cls, record: JSON) -> Discover:
        """What a record asks for that anybody may have written."""
        if set(record) != {"kind"}:
            raise InvalidParameter("keys that are discovered have nothing else to say.")
        return cls()


def discover() -> Discover:
    """Groups from the data itself, for `group_by`.

    A release publishes a discovered key only when a noisy number of units that share it passes a threshold,
    which costs some delta; rare keys stay hidden.

    Returns
    -------
    Discover
        In the place of keys.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> visits = pd.DataFrame({"city": ["Oslo"] * 500 + ["Bergen"] * 400})
    >>> s = dp.Session(visits, unit=dp.Unit.rows(), budget=dp.ApproxDP(2.0, 1e-6))
    >>> q = s.table.group_by("city", keys=dp.discover()).agg(n=dp.count())
    >>> sorted(s.release(q, dp.ApproxDP(1.0, 1e-6)).keys)
    [('Bergen',), ('Oslo',)]
    """
    return Discover()


@dataclass(frozen=True)
class Keys:
    """Public keys of some columns, without duplicates, in the order given."""

    tag: ClassVar[str] = "listed"

    columns: tuple[str, ...]
    rows: tuple[Key, ...]

    def record(self) -> dict[str, JSON]:
        """For the ledger."""
        return {"kind": self.tag, "rows": key_records(self.rows)}

    @classmethod
    def asked(cls, record: JSON) -> list[Key]:
        """The keys of a record that anybody may have written, for `group_by` to check."""
        rows = record.get("rows")
        if set(record) != {"kind", "rows"} or not isinstance(rows, list):
            raise InvalidParameter(
                "listed keys are {'kind': 'listed', 'rows': [...]}, with a list of constants for each group."
            )
        return [CONSTANTS.given("a key", row if isinstance(row, list) else [row]) for row in rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{len(self.rows)} public keys of {', '.join(self.columns)}>"

    def arrow(self, kinds: tuple[Kind, ...], index: str, names: tuple[str, ...]) -> Any:
        """The keys as an Arrow table of columns `names`, and their position as `index`."""
        parts = zip(names, zip(*self.rows, strict=True), kinds, strict=True)
        columns = {name: pa.array(values, ARROW[kind]) for name, values, kind in parts}
        return pa.table(columns | {index: pa.array(range(len(self.rows)), pa.int64())})


def read_key(code: Code, kinds: tuple[Kind, ...]) -> Key:
    """The key of a code. A part that is no text in UTF-8, and no day of the calendar, is None."""
    return tuple(_read(part, kind) for part, kind in zip(code, kinds, strict=True))


def _read(part: Any, kind: Kind) -> Any:
    if kind == "bool":
        return bool(part)
    if kind == "integer":
        return int(part)
    try:
        if kind == "text":
            return bytes.fromhex(part).decode("utf-8")
        return datetime.date(part // 10_000, part // 100 % 100, part % 100)
    except ValueError:
        return None


def public_keys(columns: tuple[str, ...], given: Any) -> Keys:
    """Keys as the user gave them: a list, a mapping of columns to lists (all combinations), or a public
    table."""
    if isinstance(given, Mapping):
        return _checked(columns, _product(columns, given))
    if isinstance(given, Iterable) and not _is_frame(given):
        if isinstance(given, str | bytes):
            raise InvalidParameter(
                f"keys are {given!r}; they must be a list, a mapping of lists or a public table: keys=[{given!r}]."
            )
        return _checked(columns, [key if isinstance(key, tuple | list) else (key,) for key in given])
    if given is None:
        raise InvalidParameter("keys are missing.")
    if isinstance(given, FunctionType):
        raise InvalidParameter(
            "keys are a function; to find them privately it is called: keys=dp.discover()."
        )
    return table_keys(columns, PublicTable.of(given))


def table_keys(columns: tuple[str, ...], table: PublicTable) -> Keys:
    """The distinct rows of some columns of a public table, sorted; rows with a null are passed over."""
    rows = {tuple(map(_whole, row)) for row in table.select(columns).rows() if None not in row}
    try:
        return _checked(columns, sorted(rows))
    except TypeError:
        raise InvalidParameter(
            "the keys in the public table have mixed types; use one type per column."
        ) from None


def checked_kinds(keys: Keys, kinds: Mapping[str, Kind | None]) -> tuple[Kind, ...]:
    """The kinds of the grouping columns, once every key is known to fit its column."""
    own = tuple(group_kind(name, kinds[name]) for name in keys.columns)
    for row in keys.rows:
        for name, kind, value in zip(keys.columns, own, row, strict=True):
            if not fits(value, kind):
                raise InvalidParameter(
                    f"column {name!r} is of type {kind}, but its keys hold {value!r}; list keys of that type."
                )
    return own


def group_kind(name: str, kind: Kind | None) -> Kind:
    if kind not in KEYS:
        raise QueryRefused(
            f"column {name!r} is of type {kind or 'unknown'}; one can group by whole numbers, text, dates and "
            "conditions. Compute such a column first, e.g. with_columns(decade='FLOOR(age / 10)'); FLOOR stands around "
            "all of it, FLOOR(FLOOR(age / 10) * 10)."
        )
    return kind


def _product(columns: tuple[str, ...], given: Mapping[Any, Any]) -> list[Key]:
    if set(given) != set(columns):
        raise InvalidParameter(
            f"keys are given for {', '.join(map(repr, given))}; they must be for the grouping columns "
            f"{', '.join(map(repr, columns))}."
        )
    lists = [list(given[name]) for name in columns]
    size = math.prod(map(len, lists))
    if size > MOST:
        raise InvalidParameter(f"the keys combine to {size} groups; at most {MOST} are allowed.")
    return list(itertools.product(*lists))


def _checked(columns: tuple[str, ...], rows: Iterable[Any]) -> Keys:
    made = tuple(tuple(_plain(value) for value in row) for row in rows)
    if not made:
        raise InvalidParameter("the list of keys is empty; an answer needs at least one group.")
    if len(made) > MOST:
        raise InvalidParameter(f"there are {len(made)} keys; at most {MOST} are allowed.")
    for row in made:
        if len(row) != len(columns):
            raise InvalidParameter(
                f"the key {row!r} has {len(row)} part{'s' * (len(row) != 1)}; the grouping columns are "
                f"{', '.join(map(repr, columns))}. Give each key as a tuple of {len(columns)}, or the values of each "
                f"column, which are combined: keys={{{', '.join(f'{name!r}: [...]' for name in columns)}}}."
            )
        if any(value is None for value in row):
            raise InvalidParameter(
                f"the key {row!r} holds a null, which is not a group; impute a constant for the column and list it."
            )
    seen = set()
    for row in made:
        # 1 and True are equal to Python and different to the engines.
        identity = tuple((type(value), value) for value in row)
        if identity in seen:
            raise InvalidParameter(
                f"the key {row if len(row) > 1 else row[0]!r} is listed twice; list each key once."
            )
        seen.add(identity)
    return Keys(columns, made)


def _plain(value: Any) -> Any:
    """NumPy's scalars and Arrow's as Python values."""
    value = value.item() if type(value).__module__ == "numpy" and value.ndim == 0 else value
    value = value.as_py() if isinstance(value, pa.Scalar) else value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, str) and is_storable(value):
        return value
    if isinstance(value, datetime.datetime) and value.tzinfo is None and value.time() == datetime.time():
        return value.date()  # pandas has no other dates
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    raise InvalidParameter(
        f"the key {shown(value)} is not a whole number of 64 bits, text, a date, True or False."
    )


def _whole(value: Any) -> Any:
    """1.0 as 1: beside a missing value, pandas keeps whole numbers as doubles. One groups by no other doubles."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _is_frame(given: Any) -> bool:
    return hasattr(given, "columns") or hasattr(given, "column_names") or hasattr(given, "schema")
