"""The front door to what can go wrong: `from dalenius.errors import InvalidParameter`."""

from dalenius.calculus.errors import (
    AdjacencyMismatch,
    BudgetExceeded,
    CannotMeet,
    InvalidParameter,
    LedgerDamaged,
    LedgerError,
    NotMonotone,
    QueryFailed,
    QueryRefused,
    SourceError,
    UnsupportedComposition,
)

__all__ = [
    "AdjacencyMismatch",
    "BudgetExceeded",
    "CannotMeet",
    "InvalidParameter",
    "LedgerDamaged",
    "LedgerError",
    "NotMonotone",
    "QueryFailed",
    "QueryRefused",
    "SourceError",
    "UnsupportedComposition",
]
