"""Entries of version 1, as dalenius 0.1 wrote them, in the words of version 2.

An entry keeps its number and its time. The question of a charge stays the text that it was, and the answer too, but
for what a session asked: `version1_sessions`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from dalenius.errors import InvalidParameter, LedgerDamaged
from dalenius.session.entries import Entry
from dalenius.tables.facts.unit import Unit

WORDS = {"pure": ("epsilon",), "approx": ("epsilon", "delta"), "zcdp": ("rho",), "gdp": ("mu",)}
"""The numbers of each promise, which were written in this order."""

ADJACENCIES = {"ADD_REMOVE": "add_remove", "REPLACE_ONE": "replace_one"}


def body_of(entry: Entry) -> dict[str, Any]:
    """The body that an account, a charge or an answer of version 1 has in version 2."""
    body = entry.read()
    if entry.kind == "account":
        return account_of(body)
    if entry.kind == "charge":
        who = body["analyst"] or ""
        return {
            **body,
            "by": {who: body["by"][who]},
        }  # the first ledgers told of all analysts in every charge
    return body


def account_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an account."""
    try:
        promise = body["promise"]
        words = WORDS[promise["kind"]]
        numbers = dict(zip(words, promise["values"], strict=True))
        return {
            "dataset": body["dataset"],
            "promise": {"kind": promise["kind"], **numbers},
            "reserve": promise.get("reserve"),
            "adjacency": ADJACENCIES[body["adjacency"]],
            "unit": unit_of(body["unit"]),
            "limit": body["limit"],
            "shares": body["shares"],
            "time": body["time"],
            **({"place": body["place"]} if "place" in body else {}),
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        raise LedgerDamaged("an account of the ledger is not written as version 1 writes them.") from None


def unit_of(text: Any) -> Any:
    """A session of 0.1 wrote its unit as Python would: Unit('id', max_rows=4, max_groups=2)."""
    if text == "Unit.rows()":
        return Unit.rows().record()
    try:
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        assert call.func.id == "Unit"
        (column,) = (ast.literal_eval(part) for part in call.args)
        more = {str(part.arg): ast.literal_eval(part.value) for part in call.keywords}
        unit = Unit(column, **more)
    except (AssertionError, SyntaxError, TypeError, ValueError, InvalidParameter):
        return text  # words of the one who opened the account
    return unit.record() if repr(unit) == text else text
