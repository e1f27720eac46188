"""What a ledger holds, for people and for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.notebook import grid, heading, table
from dalenius.session.account import Account
from dalenius.session.entries import SCHEMA, Entry
from dalenius.session.ledger import Ledger
from dalenius.session.log import DIGITS, bodies, cost_text, left_text, promise_text
from dalenius.session.words import in_words


def overview(ledger: Ledger) -> dict[str, Any]:
    """The accounts with their balances; plain data, numbers as exact decimals."""
    return {
        "ledger": ledger.id,
        "schema": SCHEMA,
        "checkpoint": ledger.checkpoint(),
        "accounts": [_account(ledger, account) for account in ledger.accounts()],
    }


def _account(ledger: Ledger, account: Account) -> dict[str, Any]:
    state = account.state()
    balance, standing, limit = state.balance, state.standing, state.limit
    with ledger.reading() as rows:
        tally = rows.memory.accounts[account.seq]
    left = state.left(None)
    analysts = [
        {
            "analyst": name,
            "share": _share(account, name),
            "allowed": state.allowance(name).written() if name in standing.shares else None,
            "spent": balance.of(name).written(),
            "left": state.left(name).written() if name in standing.shares else None,
        }
        for name in sorted({*balance.by, *standing.shares})
        if name or standing.shares
    ]
    return {
        "dataset": account.dataset,
        "unit": account.unit,
        "adjacency": account.filter.adjacency.name.lower(),
        "kind": account.filter.kind,
        "promise": account.promise.numbers,
        "budget": state.budget.numbers,
        "spent": account.filter.spent(balance.total).numbers,
        "left": account.filter.left(left).numbers,
        "exact": {"limit": limit.written(), "spent": balance.total.written(), "left": left.written()},
        "renewals": {"settled": standing.renewals, "used": standing.renewed},
        "closed": standing.closed,
        "analysts": analysts,
        "place": account.place(),
        "charges": tally.charges,
        "answers": tally.answered - tally.failed,
        "failures": tally.failed,
    }


def account_html(account: Account) -> str:
    """One account, for notebooks: what was charged is rounded up, what is left down."""
    rows = [("account", account.dataset), ("unit", account.unit)]
    rows += [("analyst", account.analyst)] if account.analyst else []
    state = account.state()
    left = state.left(account.analyst)
    return table(
        [
            *rows,
            ("promised", promise_text(account.promise, DIGITS)),
            ("budget", promise_text(state.budget, DIGITS)),
            ("charged", cost_text(state.balance.total)),
            ("left", "closed" if state.standing.closed else left_text(left, account.filter.left(left))),
        ]
    )


def accounts_html(ledger: Ledger) -> str:
    """The accounts as a table, for notebooks: costs rounded up, what is left down."""
    head = ("account", "promised", "budget", "charged", "left", "questions")
    rows = []
    for account in ledger.accounts():
        state = account.state()
        with ledger.reading() as view:
            charges = view.memory.accounts[account.seq].charges
        left = state.left(None)
        rows.append(
            (
                account.dataset,
                promise_text(account.promise, DIGITS),
                promise_text(state.budget, DIGITS),
                cost_text(state.balance.total),
                "closed" if state.standing.closed else left_text(left, account.filter.left(left)),
                str(charges),
            )
        )
    return heading(f"Ledger {ledger.store.label}") + grid(head, rows)


def _share(account: Account, name: str) -> str | None:
    """A share as it was settled when the account was opened."""
    share = account.shares.get(name)
    return share.text if isinstance(share, Guarantee) else None if share is None else str(share)


def exported(ledger: Ledger, readable: bool = False) -> Iterator[str]:
    """The whole ledger as lines of JSON: a heading, the entries in order, and the checkpoint they end at.

    The lines hold everything the hashes are made of, so a copy can be checked without the ledger. Readable: the bodies,
    the questions and the answers as JSON and not as text of JSON, each question also in words.
    """
    heading = {"format": "dalenius ledger", "schema": SCHEMA, "ledger": ledger.id}
    yield json.dumps({**heading, "readable": True} if readable else heading, ensure_ascii=True)
    last = ledger.checkpoint()
    for entry, body in bodies(ledger, int(last.partition(":")[0])):
        # The body as text: the hash is over its letters.
        told = readable_entry(entry, body) if readable else entry._asdict()
        line = json.dumps(told, ensure_ascii=not readable)
        yield line.encode("utf-8", "backslashreplace").decode("utf-8")  # half a character stays an escape
    yield json.dumps({"checkpoint": last}, ensure_ascii=True)


def readable_entry(entry: Entry, body: Mapping[str, Any]) -> dict[str, Any]:
    """An entry for people and their programs."""
    told = dict(body)
    if entry.kind == "charge":
        told = {"what": in_words(str(body["question"])), **told, "question": _inner(body["question"])}
    elif entry.kind == "answer":
        told["answer"] = _inner(body["answer"])
    return {
        "seq": entry.seq,
        "kind": entry.kind,
        "account": entry.account or None,
        **{word: value for word, value in told.items() if word not in ("seq", "kind", "account", "hash")},
        "hash": entry.hash,
    }


def _inner(text: Any) -> Any:
    """What a text of JSON says; any other text is itself."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text
    return found if isinstance(found, dict | list) else text
