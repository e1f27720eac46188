"""Everything that is wrong with a description or a question, in one message."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dalenius.errors import InvalidParameter, QueryRefused, Refused

T = TypeVar("T")

MOST = 50
"""Things that are looked at once they are wrong. To say what is wrong with one may take as long as there are many."""


class Problems:
    """Collects what is refused, so that it can be put right at once and not one thing at a time.

    >>> problems = Problems()
    >>> problems.attempt(lambda: 1)
    1
    >>> def wrong(): raise InvalidParameter("this is wrong.")
    >>> problems.attempt(wrong)
    >>> problems.raise_any()
    Traceback (most recent call last):
    dalenius.errors.InvalidParameter: this is wrong.
    """

    def __init__(self) -> None:
        self.noted: list[Refused] = []
        self.wrong = 0

    def attempt(self, action: Callable[[], T]) -> T | None:
        """What the action gives; None, and a note, if it is refused; nothing any more once so many were."""
        if self.wrong >= MOST:
            return None
        try:
            return action()
        except Refused as problem:
            self.wrong += 1
            self.add(problem)
            return None

    def add(self, problem: Refused | str) -> None:
        """One more (text: an InvalidParameter); of several about the same thing only the first."""
        problem = InvalidParameter(problem) if isinstance(problem, str) else problem
        parts = problem.parts if isinstance(problem, Several) else [problem]
        self.noted += [part for part in parts if str(part) not in {str(known) for known in self.noted}]

    def raise_any(self) -> None:
        """Raise what was found: the one, or one that tells them all."""
        if len(self.noted) == 1:
            raise self.noted[0] from None
        if self.noted:
            refused = all(isinstance(part, QueryRefused) for part in self.noted)
            raise (SeveralRefused if refused else Several)(self.noted) from None


class Several(InvalidParameter):
    """Several things that are wrong."""

    def __init__(self, parts: list[Refused]) -> None:
        self.parts = parts
        lines = "".join(f"\n- {part}" for part in parts)
        super().__init__(f"{len(parts)} things are wrong:{lines}")


class SeveralRefused(Several, QueryRefused):
    """Several things that are wrong with a question."""
