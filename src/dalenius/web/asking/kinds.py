"""A request of an analyst as background work."""

from __future__ import annotations

import json

from dalenius.session.entries import acting_as
from dalenius.session.session import Session
from dalenius.session.travel.outcomes import Outcome, carried_out, looked_up, named
from dalenius.session.travel.requests import Request, read_request
from dalenius.web.asking.shown import shown
from dalenius.web.jobs.kinds import Payload, register


class Asking:
    """payload: {"release": id, "request": the request, settled}."""

    tag = "ask"

    def question(self, session: Session, payload: Payload) -> str:
        """What the ledger calls it."""
        return named(session, self._request(session, payload)).question

    def plan(self, session: Session, payload: Payload) -> float:
        """How long it takes, beside an ordinary question."""
        return self._request(session, payload).weight

    def run(self, session: Session, payload: Payload) -> str:
        """The answer, as it is shown."""
        request = self._request(session, payload)
        with acting_as(session.account.analyst or ""):
            outcome = carried_out(session, request)
        return json.dumps(shown(outcome, request, payload["release"]))

    def on_record(self, session: Session, payload: Payload) -> str | None:
        """The answer for somebody who asked what somebody else was answered meanwhile."""
        request = self._request(session, payload)
        found = looked_up(session, request, expected=lambda question: True)
        return json.dumps(shown(found, request, payload["release"])) if isinstance(found, Outcome) else None

    def _request(self, session: Session, payload: Payload) -> Request:
        return read_request(payload["request"], session)


ASKING = register(Asking())
