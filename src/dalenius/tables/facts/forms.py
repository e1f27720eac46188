"""How parts of questions and answers are written into records, and read again."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

from dalenius.core.record import JSON, exact, unknown
from dalenius.errors import LedgerError
from dalenius.tables.facts.kinds import Kind, kind_of_value
from dalenius.tables.facts.schema import Impute, Nulls


class Form(NamedTuple):
    """How a part is written, and read again. field: what it is called in the code, where that is another word."""

    write: Callable[[Any], JSON]
    read: Callable[[JSON], Any]
    field: str = ""

    def of(self, field: str) -> Form:
        """The same for a part that the code calls otherwise."""
        return self._replace(field=field)

    @property
    def optional(self) -> Form:
        """The same for a part that may be None."""
        return Form(_none_or(self.write), _none_or(self.read))

    @property
    def several(self) -> Form:
        """The same for a tuple of such parts."""
        return Form(lambda xs: [*map(self.write, xs)], lambda xs: tuple(map(self.read, xs)))


def _none_or(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: None if x is None else f(x)


class Recorded:
    """Something whose record has a word for each of its parts; words never change, names in the code may."""

    words: ClassVar[Mapping[str, Form]]

    def record(self) -> dict[str, JSON]:
        """For the ledger; numbers as exact text."""
        return {word: form.write(getattr(self, form.field or word)) for word, form in self.words.items()}

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Self:
        """What `record` wrote."""
        return cls(**{form.field or word: form.read(record[word]) for word, form in cls.words.items()})


_CONSTANTS: Mapping[str, tuple[Callable[[Any], JSON], Callable[[Any], Any]]] = {
    "bool": (bool, bool),
    "integer": (str, int),
    "number": (exact, float),
    "text": (str, str),
    "timestamp": (datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date.isoformat, datetime.date.fromisoformat),
}


def constant_record(value: Any) -> dict[str, JSON]:
    """{"kind": "text", "is": "CA"}: `1`, `True`, `1.0` and `"1"` are four things."""
    kind: Kind | None = kind_of_value(value)
    if kind is None:
        raise TypeError(f"a {type(value).__name__} is no constant of a question; this is a defect")
    return {"kind": kind, "is": _CONSTANTS[kind][0](value)}


def read_constant(record: Mapping[str, JSON]) -> Any:
    """The constant that `constant_record` wrote."""
    if record["kind"] not in _CONSTANTS:
        raise unknown("a constant", record["kind"], LedgerError)
    return _CONSTANTS[record["kind"]][1](record["is"])


def nulls_record(nulls: Nulls | None) -> JSON:
    """The policy for missing values: null (none declared), "drop", "never", or {"impute": constant}."""
    return {"impute": constant_record(nulls.value)} if isinstance(nulls, Impute) else nulls


def read_nulls(record: JSON) -> Nulls | None:
    """The policy that `nulls_record` wrote."""
    if isinstance(record, dict):
        return Impute(read_constant(record["impute"]))
    if record not in (None, "drop", "never"):
        raise unknown("a policy for missing values", record, LedgerError)
    policy: Nulls | None = record
    return policy


PLAIN = Form(lambda value: value, lambda record: record)
"""Text, whole numbers, true and false, and null."""
NUMBER = Form(exact, float)
FRACTION = Form(exact, Fraction)
NUMBERS = NUMBER.several.optional
CONSTANTS = Form(constant_record, read_constant).several
NULLS = Form(nulls_record, read_nulls)


def key_records(keys: Iterable[tuple[Any, ...]]) -> list[list[JSON]]:
    """Keys, each part with its type."""
    return [CONSTANTS.write(key) for key in keys]


def read_keys(records: Iterable[Iterable[JSON]]) -> list[tuple[Any, ...]]:
    """The keys that `key_records` wrote."""
    return [CONSTANTS.read(key) for key in records]
