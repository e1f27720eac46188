"""Everything that is wrong with what a steward wrote, each beside the field it was written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from dalenius.errors import InvalidParameter, Refused

T = TypeVar("T")


class Faulty(InvalidParameter):
    """What a steward wrote cannot be; `fields` has what is wrong by the path of the field, such as `unit.column`."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.fields = dict(fields)
        several = f"{len(fields)} things are wrong: " if len(fields) > 1 else ""
        super().__init__(
            several + " ".join(f"{path}: {words}" if path else words for path, words in fields.items())
        )


class Faults:
    """Collects what is refused, so that all of it can be put right at once.

    >>> faults = Faults()
    >>> faults.attempt("age.bounds", lambda: 1)
    1
    >>> faults.add("age.bounds", "the lower must be below the upper.")
    >>> faults.fields
    {'age.bounds': 'the lower must be below the upper.'}
    """

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}

    def add(self, path: str, words: str) -> None:
        """One more; of several about one field, all."""
        known = self.fields.get(path)
        self.fields[path] = words if known is None or known == words else f"{known} {words}"

    def attempt(self, path: str, action: Callable[[], T]) -> T | None:
        """What the action gives; None, and a note, if it is refused."""
        try:
            return action()
        except Refused as problem:
            self.add(path, str(problem))
            return None

    def raise_any(self) -> None:
        """Raise what was found, all of it."""
        if self.fields:
            raise Faulty(self.fields)
