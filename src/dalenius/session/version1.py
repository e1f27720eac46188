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

GUARANTEES = {
    "PureDP": ("pure", "epsilon"),
    "ApproxDP": ("approx", "epsilon", "delta"),
    "ZCDP": ("zcdp", "rho"),
    "GDP": ("gdp", "mu"),
    "RDP": ("rdp", "order", "epsilon"),
}
"""By the name of its class: the tag of a guarantee, and its numbers in the order in which they were written."""

ADJACENCIES = {"ADD_REMOVE": "add_remove", "REPLACE_ONE": "replace_one"}


def body_of(entry: Entry) -> dict[str, Any]:
    """The body that an account, a charge or an answer of version 1 has in version 2."""
    body = entry.read()
    if entry.kind == "account":
        return account_of(body)
    if entry.kind == "charge":  # the first ledgers told of all analysts in every charge
        who = body["analyst"] or ""
        body["by"] = {who: body["by"][who]}
    return body


def account_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an account."""
    words = {tag: numbers for tag, *numbers in GUARANTEES.values()}
    try:
        promise = body["promise"]
        numbers = zip(words[promise["kind"]], promise["values"], strict=True)
        return {
            **body,
            "promise": {"kind": promise["kind"], **dict(numbers)},
            "reserve": promise.get("reserve"),
            "adjacency": ADJACENCIES[body["adjacency"]],
            "unit": unit_of(body["unit"]),
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        raise LedgerDamaged("an account of the ledger is not written as version 1 writes them.") from None


def unit_of(text: Any) -> Any:
    """A session of 0.1 wrote its unit as Python would: Unit('id', max_rows=4, max_groups=2)."""
    if text == "Unit.rows()":
        return Unit.rows().record()
    try:
        _, (column,), limits = call_in(text)
        unit = Unit(column, **limits)
    except (AssertionError, SyntaxError, TypeError, ValueError, InvalidParameter):
        return text  # words of the one who opened the account
    return unit.record() if repr(unit) == text else text


def call_in(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, the arguments and the named arguments of a call of constants, as Python writes it."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    named = {str(part.arg): ast.literal_eval(part.value) for part in call.keywords}
    return call.func.id, [ast.literal_eval(part) for part in call.args], named
