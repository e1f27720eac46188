"""Answers from the record that were told lately: the same request again needs no plan and no look at the ledger.

What is on record stays as it is, and how it is told depends on the request, on public facts and on nothing else. Public
facts belong to a session: with others there is another session. An answer is kept when it is told, which is when its
job has left, and so nobody is told anything sooner. Whether somebody may ask is looked up each time, as always.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.session.session import Session

MOST = 500
"""Answers of one process."""
LONGEST = 20_000
"""Characters of a request, and of an answer: what is longer is read again."""
OWN_PRICE = ("fit", "infer")
"""Kinds whose request says what it costs, without a budget."""


@dataclass(frozen=True)
class Told:
    """A request as it is written down, and its answer, if it is on record."""

    key: str
    kind: str
    said: str
    request: str
    answer: Mapping[str, Any] | None


class AtHand:
    """What was told lately, by session and request."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[weakref.ref[Session], str], Told] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, session: Session, content: Mapping[str, Any]) -> Told | None:
        """As it was told; None where it is not at hand."""
        text = _text(content)
        if text is None:
            return None
        with self._lock:
            place = (weakref.ref(session), text)
            found = self._held.get(place)
            if found is not None:
                self._held.move_to_end(place)
            return found

    def keep(self, session: Session, content: Mapping[str, Any], told: Told) -> None:
        """Have it at hand, if it is an answer and can be told the same way again."""
        text = _text(content)
        if text is None or told.answer is None or len(json.dumps(told.answer)) > LONGEST:
            return
        with self._lock:
            self._held[weakref.ref(session), text] = told
            while len(self._held) > MOST:
                self._held.popitem(last=False)


def _text(content: Mapping[str, Any]) -> str | None:
    """The request, if its price depends on nothing but itself: of an accuracy it depends on what is left."""
    if content.get("accuracy") is not None:
        return None
    if content.get("budget") is None and content.get("kind") not in OWN_PRICE:
        return None
    text = json.dumps(content)
    return text if len(text) <= LONGEST else None


AT_HAND = AtHand()
