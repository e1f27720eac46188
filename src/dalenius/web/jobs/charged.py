"""What the ledger knows about one piece of work: the only judge of whether it was charged."""

from __future__ import annotations

from typing import Literal

from dalenius.session.account import Account
from dalenius.session.opening import SessionAccount

Standing = Literal["nothing", "charged", "answered"]


def head(account: Account) -> int:
    """The last entry of the ledger, before work begins: what is charged for it comes later."""
    if isinstance(account, SessionAccount) and not account.is_open:
        return 0
    with account.ledger.reading() as rows:
        return rows.end


def standing(account: Account, key: str, since: int) -> Standing:
    """Whether the answer is on record, or a charge under this key was made after an entry and has none.

    Only one piece of work under a key is under way at a time, so a charge that came since is its own. A process that is
    cut off from the store and goes on by itself can charge once more: that wastes budget, and what it hands over is
    refused by the store.
    """
    if isinstance(account, SessionAccount) and not account.is_open:
        return "nothing"
    with account.ledger.reading() as rows:
        answers = rows.answers(account.seq, key)
        if any(not entry.content().get("failed") for entry in answers):
            return "answered"
        if any(entry.seq > since for entry in answers):
            return "charged"
        pending = rows.memory.accounts[account.seq].pending
        return "charged" if any(k == key and seq > since for seq, k in list(pending.items())) else "nothing"
