"""A part of what is left, as the promise that one question is given."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter

USUAL = Decimal("0.05")
"""The share of what is left that a question is offered at first."""
FLOOR = Context(prec=3, rounding=ROUND_FLOOR)


def leading(left: Guarantee) -> str:
    """The word of the number that says how much: epsilon, rho or mu."""
    return next(word for word in ("epsilon", "rho", "mu") if word in left.record())


def part(left: Guarantee, share: Decimal) -> dict[str, Any]:
    """The record of a share of what is left, in three digits, rounded down; mu falls with the root."""
    record = dict(left.record())
    for word, value in record.items():
        if word != "kind":
            times = share.sqrt() if word == "mu" else share
            record[word] = _text(FLOOR.multiply(Decimal(str(value)), times))
    return record


def of_amount(left: Guarantee, amount: str) -> dict[str, Any]:
    """The promise whose leading number is this; a delta goes along in proportion."""
    word = leading(left)
    try:
        given = Decimal(amount.strip())
        size = float(given)  # a few signs can spell a number with a million digits, which no float is
    except (InvalidOperation, ValueError):
        size = math.nan
    if not 0 < size < math.inf or len(amount) > 40:
        raise InvalidParameter.of("amount", f"{word} is {shown(amount)}; it must be a number above 0.")
    record = dict(left.record())
    whole = Decimal(str(record[word]))
    record[word] = _text(given)
    if "delta" in record and whole > 0:
        share = min(Decimal(1), given / whole)
        record["delta"] = _text(FLOOR.multiply(Decimal(str(record["delta"])), share))
    return record


def noise(left: Guarantee, budget: Guarantee) -> float:
    """About how much noise a budget buys, as a multiple of that of the usual part of what is left: noise falls with
    epsilon and with mu, and with the root of rho."""
    if not left.size or not budget.size:
        return 1.0
    power = 0.5 if leading(left) == "rho" else 1.0
    usual = float(USUAL) ** (0.5 if leading(left) == "mu" else 1.0)
    return float(f"{(usual * left.size / budget.size) ** power:.3g}")


def noise_in_words(times: float) -> str:
    """The same for people."""
    if times == 1:
        return f"the noise of {USUAL:.0%} of what is left"
    return f"about {times:g} times the noise of {USUAL:.0%} of what is left"


def _text(value: Decimal) -> str:
    """As records have numbers."""
    return repr(float(value))
