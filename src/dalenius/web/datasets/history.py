"""The ledger's lines of one data set, for pages that look again and again: what was read stays read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from weakref import WeakKeyDictionary

from dalenius.session.ledger import Ledger
from dalenius.session.log import UNANSWERED, Followed, Line, Log

_FOLLOWED: WeakKeyDictionary[Ledger, Followed] = WeakKeyDictionary()
_LOCK = threading.Lock()


def log_of(ledger: Ledger, dataset: str, held: Callable[[str], bool] = lambda question: False) -> Log:
    """The lines of a data set, oldest first.

    held: whether a question's slot is not over. Its line does not say yet that it is answered: the moment at which an
    answer was recorded would tell how long it took.
    """
    with _LOCK:
        followed = _FOLLOWED.setdefault(ledger, Followed(ledger))
    lines = [line for line in followed.lines() if line.account == dataset]
    return Log([_told(line, held) for line in lines])


def _told(line: Line, held: Callable[[str], bool]) -> Line:
    if line.outcome and line.question is not None and held(line.question):
        return replace(line, outcome=UNANSWERED)
    return line
