"""How parts of questions and answers are written into records, and read again."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

from dalenius.core.checks import shown
from dalenius.core.record import JSON, exact, unknown
from dalenius.errors import InvalidParameter, LedgerError
from dalenius.tables.facts.kinds import Kind, kind_of_value
from dalenius.tables.facts.schema import Impute, Nulls


class Form(NamedTuple):
    """How a part is written, and read again. field: what it is called in the code, where that is another word. plain:
    how people would write it in JSON (5, "CA"), put as we do."""

    write: Callable[[Any], JSON]
    read: Callable[[JSON], Any]
    field: str = ""
    plain: Callable[[JSON], JSON] = lambda record: record

    def of(self, field: str) -> Form:
        """The same for a part that the code calls otherwise."""
        return self._replace(field=field)

    @property
    def optional(self) -> Form:
        """The same for a part that may be None."""
        return Form(_none_or(self.write), _none_or(self.read), plain=_none_or(self.plain))

    @property
    def several(self) -> Form:
        """The same for a tuple of such parts."""
        return Form(
            lambda xs: [*map(self.write, xs)],
            lambda xs: tuple(map(self.read, xs)),
            plain=lambda xs: [*map(self.plain, xs)] if isinstance(xs, list) else xs,
        )

    def given(self, what: str, record: JSON) -> Any:
        """What somebody else wrote, who may have written anything: nothing of it is passed over or taken for another
        thing."""
        try:
            written = self.plain(record)
            value = self.read(written)
            if self.write(value) == written:
                return value
        except (*BROKEN, LedgerError):
            pass
        raise InvalidParameter(f"{what} is {shown(record)}, which is not as it is written in a question.")


BROKEN = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""What reading of something else than we write may come to."""


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


def _double(record: JSON) -> float:
    # float() takes true for 1, too, and a name of digits in any script.
    if not isinstance(record, str):
        raise TypeError
    return float(record)


def _fraction(record: JSON) -> Fraction:
    # Fraction("1e999999999") would fill the memory.
    if not isinstance(record, str) or not re.fullmatch(r"-?[0-9]{1,1200}(/[0-9]{1,1200})?", record):
        raise ValueError
    return Fraction(record)


def _plain_number(record: JSON) -> JSON:
    if isinstance(record, str) and len(record) <= 400:
        return exact(float(record))
    return exact(record) if isinstance(record, int | float) and not isinstance(record, bool) else record


def _plain_constant(record: JSON) -> JSON:
    return constant_record(record) if isinstance(record, bool | int | float | str) else record


PLAIN = Form(lambda value: value, lambda record: record)
"""Text, whole numbers, true and false, and null."""
NUMBER = Form(exact, _double, plain=_plain_number)
FRACTION = Form(exact, _fraction)
NUMBERS = NUMBER.several.optional
CONSTANT = Form(constant_record, read_constant, plain=_plain_constant)
CONSTANTS = CONSTANT.several
NULLS = Form(nulls_record, read_nulls)


def key_records(keys: Iterable[tuple[Any, ...]]) -> list[list[JSON]]:
    """Keys, each part with its type."""
    return [CONSTANTS.write(key) for key in keys]


def read_keys(records: Iterable[Iterable[JSON]]) -> list[tuple[Any, ...]]:
    """The keys that `key_records` wrote."""
    return [CONSTANTS.read(key) for key in records]
