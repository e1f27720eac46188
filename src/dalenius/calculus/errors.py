"""What goes wrong, said so that the reader knows what was given, what is allowed and what to do."""

from __future__ import annotations


class InvalidParameter(ValueError):
    """A value outside what the mathematics allows."""


class AdjacencyMismatch(InvalidParameter):
    """Two losses stated for different neighbouring relations were put together."""


class NotMonotone(InvalidParameter):
    """A family given to :func:`dalenius.calibrate` costs neither more nor less as its parameter grows."""


class CannotMeet(InvalidParameter):
    """No parameter of a family keeps the promise."""


class UnsupportedComposition(InvalidParameter):
    """The losses are sound one by one, but no valid rule is known for what was asked of them."""


class BudgetExceeded(InvalidParameter):
    """A release would cost more than is left of a budget. Nothing was charged and no data was touched."""


class LedgerError(InvalidParameter):
    """A ledger cannot be opened, read or written. Nothing is released without its charge on record."""


class LedgerDamaged(LedgerError):
    """A ledger is not what was written: an entry was changed, removed, or the file went back in time."""


class QueryRefused(InvalidParameter):
    """A question that cannot be asked: outside the language, of the wrong type, or not private if told."""


class SourceError(InvalidParameter):
    """Data that cannot be opened: a missing file, an unknown table, an engine that is not installed."""


class QueryFailed(InvalidParameter):
    """The engine could not carry a question out. What it said is withheld: it may quote the data."""
