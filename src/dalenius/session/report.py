"""What a ledger holds, for people and for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dalenius.session.account import Account
from dalenius.session.chain import BATCH
from dalenius.session.entries import SCHEMA
from dalenius.session.ledger import Ledger


def overview(ledger: Ledger) -> dict[str, Any]:
    """The accounts with their balances; plain data, numbers as exact decimals."""
    return {
        "ledger": ledger.id,
        "schema": SCHEMA,
        "checkpoint": ledger.checkpoint(),
        "accounts": [_account(ledger, account) for account in ledger.accounts()],
    }


def _account(ledger: Ledger, account: Account) -> dict[str, Any]:
    balance = account.balance()
    with ledger.reading() as rows:
        tally = rows.memory.accounts[account.seq]
    analysts = [
        {
            "analyst": name,
            "share": str(account.shares[name]) if name in account.shares else None,
            "spent": balance.of(name).written(),
            "left": balance.of(name).below(account.allowance(name)).written() if account.shares else None,
        }
        for name in sorted({*balance.by, *account.shares})
        if name or account.shares
    ]
    return {
        "dataset": account.dataset,
        "unit": account.unit,
        "adjacency": account.filter.adjacency.name.lower(),
        "kind": account.filter.kind,
        "budget": account.promise.numbers,
        "spent": account.filter.spent(balance.total).numbers,
        "left": account.filter.left(balance.total.below(account.limit)).numbers,
        "exact": {
            "limit": account.limit.written(),
            "spent": balance.total.written(),
            "left": balance.total.below(account.limit).written(),
        },
        "analysts": analysts,
        "place": account.place(),
        "charges": tally.charges,
        "answers": tally.answered - tally.failed,
        "failures": tally.failed,
    }


def exported(ledger: Ledger) -> Iterator[str]:
    """The whole ledger as lines of JSON: a heading, the entries in order, and the checkpoint they end at.

    The lines hold everything the hashes are made of, so a copy can be checked without the ledger.
    """
    heading = {"format": "dalenius ledger", "schema": SCHEMA, "ledger": ledger.id}
    yield json.dumps(heading, ensure_ascii=True)
    seq, last = 0, ledger.checkpoint()
    end = int(last.partition(":")[0])  # entries made while this runs belong to the next export
    while seq < end:
        with ledger.reading() as rows:
            batch = [rows.same(entry) for entry in rows.tail(seq + 1, min(BATCH, end - seq))[1]]
        for entry in batch:
            yield json.dumps(
                entry._asdict(), ensure_ascii=True
            )  # the body as text: the hash is over its letters
        seq += len(batch)
    yield json.dumps({"checkpoint": last}, ensure_ascii=True)
