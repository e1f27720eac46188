"""`python -m tests.session.golden_steward FOLDER`: all that a steward does, made once, read for ever."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dalenius as dp
from dalenius.session.ledger import Ledger
from tests.session.golden_ledger import make
from tests.session.helpers import rho

NAME = "steward"


def lives(ledger: Ledger) -> dict[str, Any]:
    """Accounts of every kind: raised, renewed, shared in both ways, closed."""
    shares: dict[str, Any] = {"ana": dp.ZCDP(0.2), "ben": "1/3"}
    ana = ledger.account(
        "all",
        dp.ZCDP(0.5),
        "ana",
        ceiling=dp.ZCDP(0.75),
        renewals=2,
        shares=shares,
        unit=dp.Unit("id", max_rows=2),
    )
    ana.ask("how many?", rho("0.125"), lambda: "[41]")
    ana.raise_budget(dp.ZCDP(0.7), note="é: a second survey")
    ana.renew()
    ana.grant_share("eve", dp.ZCDP(0.05))
    eve = ledger.existing("all", "eve")
    eve.charge("lost", rho("0.05"))
    approx = ledger.account(
        "approx", dp.ApproxDP(1.0, 1e-7), ceiling=dp.ApproxDP(2.0, 1e-6), renewals=1, reserve=0.25
    )
    approx.charge("all of it", approx.left())
    approx.raise_budget(dp.ApproxDP(1.5, 1e-6))
    ledger.account("gdp", dp.GDP(0.5), renewals=3, adjacency=dp.REPLACE_ONE).renew(note="2027")
    closed = ledger.account("closed", dp.PureDP(1.0))
    closed.grant_share("ana", dp.PureDP(0.5))
    closed.close_for_ever(note="the end")
    return told(ledger)


def told(ledger: Ledger) -> dict[str, Any]:
    """What the accounts say, in texts."""
    accounts = {}
    for account in ledger.accounts():
        state = account.state()
        accounts[account.dataset] = {
            "promise": repr(account.promise),
            "budget": repr(state.budget),
            "limit": state.limit.written(),
            "spent": state.balance.total.written(),
            "left": {str(who): state.left(who).written() for who in (None, *sorted(state.standing.shares))},
            "closed": state.standing.closed,
            "renewed": [state.standing.renewed, state.standing.renewals],
        }
    log = [(line.act, line.account, line.what) for line in ledger.log()]
    return {"accounts": accounts, "log": [list(line) for line in log], "checkpoint": ledger.checkpoint()}


if __name__ == "__main__":
    make(Path(sys.argv[1]), NAME, lives)
