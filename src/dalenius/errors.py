"""What goes wrong, as types with fields: `from dalenius.errors import BudgetExceeded`.

Every error of this package is a `DaleniusError`, and also the built-in type that people expect. A message says what was
given, what is allowed and what to do; nothing decides by reading one.

    DaleniusError
    ├── Refused                     ValueError      what was asked for is refused: nothing was read or charged
    │   └── InvalidParameter                        a value outside what is allowed
    │       ├── AdjacencyMismatch
    │       ├── NotMonotone
    │       ├── CannotMeet
    │       ├── UnsupportedComposition
    │       ├── TooMuchNoise
    │       ├── TooLittleNoise
    │       ├── QueryRefused                        a question that cannot be asked
    │       └── SourceError         OSError         data that cannot be opened
    ├── BudgetExceeded              ValueError      asked, left
    ├── LedgerError                 OSError         a ledger that cannot be used
    │   ├── LedgerDamaged                           a ledger that is not what was written
    │   └── NotALedger                              a file that is something else
    ├── ConsoleError                ConnectionError a console cannot be reached, or does not let you in
    └── EngineFailed                RuntimeError    charged, and the engine could not carry it out
"""

from __future__ import annotations

from typing import Any, Self


class DaleniusError(Exception):
    """Anything this package raises on purpose."""


class Refused(DaleniusError, ValueError):
    """What was asked for is refused. Nothing was read, nothing was charged."""


class InvalidParameter(Refused):
    """A value outside what is allowed. parameter: the name of what was given, where one is to blame."""

    parameter: str | None = None

    @classmethod
    def of(cls, parameter: str, message: str) -> Self:
        """The error, with the name of the parameter that is to blame."""
        error = cls(message)
        error.parameter = parameter
        return error


class AdjacencyMismatch(InvalidParameter):
    """Two losses stated for different neighbouring relations were put together."""


class NotMonotone(InvalidParameter):
    """A family given to :func:`dalenius.calibrate` costs neither more nor less as its parameter grows."""


class CannotMeet(InvalidParameter):
    """No parameter of a family keeps the promise."""


class UnsupportedComposition(InvalidParameter):
    """The losses are sound one by one, but no valid rule is known for what was asked of them."""


class TooMuchNoise(InvalidParameter):
    """So much noise was asked for that nothing would be left of the answer."""


class TooLittleNoise(InvalidParameter):
    """So little noise was asked for that nothing would be promised."""


class QueryRefused(InvalidParameter):
    """A question that cannot be asked: outside the language, of the wrong type, or not private if told."""


class SourceError(InvalidParameter, OSError):
    """Data that cannot be opened: a missing file, an unknown table, an engine that is not installed."""


class BudgetExceeded(DaleniusError, ValueError):
    """A release would cost more than is left of a budget. Nothing was charged and no data was touched.

    asked: what the release costs. left: what may still be spent. Both in the budget's own currency, where they are
    known.
    """

    def __init__(self, message: str, asked: Any = None, left: Any = None) -> None:
        super().__init__(message)
        self.asked, self.left = asked, left

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.asked, self.left)


class LedgerError(DaleniusError, OSError):
    """A ledger cannot be opened, read or written. Nothing is released without its charge on record."""


class LedgerDamaged(LedgerError):
    """A ledger is not what was written: an entry was changed, removed, or the file went back in time."""


class NotALedger(LedgerError):
    """What was named as a ledger is another file."""


class FunctionFailed(DaleniusError, RuntimeError):
    """A function that was given data failed on them. What it said is withheld: it may quote the data."""


class EngineFailed(DaleniusError, RuntimeError):
    """The engine could not carry a question out. What it said is withheld: it may quote the data."""


class ConsoleError(DaleniusError, ConnectionError):
    """A console cannot be reached, does not know the token or the data set, or answers in a way that is not known."""
