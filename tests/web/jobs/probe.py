"""Work that does as it is told, and a store and a ledger for it."""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.session.ledger import Ledger
from dalenius.web.jobs import kinds, record
from dalenius.web.jobs.jobs import Jobs
from dalenius.web.jobs.workers import Pace
from dalenius.web.store.store import Store
from tests.session.helpers import rho


class Probe:
    """A question of any text, whose answer takes so long, fails, ends its process, or is no question at all."""

    tag = "probe"

    def question(self, session: Any, payload: Mapping[str, Any]) -> str:
        if payload.get("how") == "odd":
            raise InvalidParameter("this is no question.")
        return str(payload["text"])

    def plan(self, session: Any, payload: Mapping[str, Any]) -> float:
        return float(payload.get("weight", 1.0))

    def run(self, session: Any, payload: Mapping[str, Any]) -> str:
        def compute() -> str:
            if "touched" in payload:
                with Path(payload["touched"]).open("a") as file:
                    file.write(f"{payload['text']}\n")
            time.sleep(payload.get("seconds", 0.0))
            if payload.get("how") == "fail":
                raise MemoryError("of row 17")
            if payload.get("how") == "crash":
                os._exit(9)
            return json.dumps(int.from_bytes(os.urandom(6)))

        answer: str = session.account.ask(
            self.question(session, payload), rho(payload.get("cost", "0.01")), compute
        ).answer
        return answer

    def on_record(self, session: Any, payload: Mapping[str, Any]) -> str | None:
        found: str | None = session.account.recorded(self.question(session, payload))
        return found


kinds.register(Probe())


@functools.cache
def ledger_at(where: str) -> Ledger:
    return Ledger.open(where)


def opened(where: str, dataset: str, analyst: str | None) -> Any:
    return SimpleNamespace(account=ledger_at(where).account(dataset, dp.ZCDP(1.0), analyst))


class Bench:
    """A store, a ledger, and jobs on them."""

    def __init__(
        self,
        folder: Path,
        store: str | None = None,
        ledger: str | None = None,
        slot: float = 0.3,
        limit: float = 60.0,
        **pace: Any,
    ) -> None:
        self.ledger = ledger or str(folder / "ledger")
        self.store = Store.open(store or folder / "console.sqlite")
        self.opener = functools.partial(opened, self.ledger)
        given = {"lanes": 1, "lease": 0.5, "tick": 0.01, "poll": 0.02, "isolation": "thread"} | pace
        self.jobs = Jobs(self.store, self.opener, slot=slot, limit=limit, pace=Pace(**given))

    def submit(self, text: str, person: str = "ana", **payload: Any) -> str:
        return self.jobs.submit("probe", "people", person, {"text": text, **payload}).id

    def charges(self) -> int:
        return self.opener("people", None).account.ledger.accounts()[0].state().balance.total.amount

    def after(self, id: str, patience: float = 60.0) -> dict[str, Any]:
        """The job once it has left."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            found = record.look(self.store, id)
            assert found is not None
            told = self.jobs.look(id, found[0].person)
            assert told is not None
            if told["state"] not in ("waiting", "running"):
                return told
            time.sleep(0.02)
        raise AssertionError(f"it did not leave: {told}")
