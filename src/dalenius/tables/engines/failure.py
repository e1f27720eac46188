"""What is told when something fails after the charge: the same few words, whatever failed and wherever.

Steps after a charge are total: no value in a row can make them fail. What can still go wrong (a full disk, a lost
connection, memory) may do so because of the data, and what engines say about it may quote the data. So an exception
is replaced by one that depends on nothing: not on the question, not on the engine, not on what went wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dalenius.core.sealed import sealed as whatever_fails
from dalenius.errors import EngineFailed

T = TypeVar("T")

FAILED = (
    "the question could not be carried out, after it was charged. Why is withheld, since it may depend on the data; "
    "the ledger says that it happened. Whoever may see the data can run the question in the engine itself."
)


def sealed(action: Callable[[], T]) -> T:
    """What the action returns; any exception becomes EngineFailed, always with the same text.

    KeyboardInterrupt and its like pass: they come from outside, not from the data.
    """
    return whatever_fails(action, EngineFailed(FAILED))
