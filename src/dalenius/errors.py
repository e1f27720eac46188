"""The front door to what can go wrong: `from dalenius.errors import InvalidParameter`."""

from dalenius.calculus.errors import (
    AdjacencyMismatch,
    CannotMeet,
    InvalidParameter,
    NotMonotone,
    UnsupportedComposition,
)

__all__ = ["AdjacencyMismatch", "CannotMeet", "InvalidParameter", "NotMonotone", "UnsupportedComposition"]
