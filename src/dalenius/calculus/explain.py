"""A loss in plain sentences."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import TYPE_CHECKING

from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.decimals import rounded_up

if TYPE_CHECKING:
    from dalenius.calculus.loss import Loss

WIDE = Context(prec=30, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Room for exp of any loss: floats end at e^709."""


def explain(loss: Loss, delta: float) -> str:
    """What the loss promises, and what the best attacker could do with the release."""
    if not (loss.terms_remove or loss.terms_add):
        return "This release does not depend on the data at all: nothing about anyone can be learned from it."
    who = "your record is in the data"
    if loss.adjacency is not ADD_REMOVE:
        who = "the data holds your record or another"
    guessed, found = _percent((1 + loss.membership_advantage()) / 2), _percent(loss.power(0.01))
    lines = [
        f"Release: {loss.expression} ({loss.adjacency.value} record).",
        _promise(loss, delta),
        f"Somebody who guesses whether {who} is right half the time without the release, and at most {guessed} of the "
        "time with it.",
        f"An attack that accuses 1 in 100 innocent people by mistake finds at most {found} of those who are in.",
        "How sure such an attacker can become that you are in the data, by how sure they were before",
        f"(except with probability {delta:g}):",
    ]
    for prior in (0.01, 0.1, 0.5):
        after = _percent(loss.posterior(prior, delta))
        lines.append(f"  {_percent(prior):>6} before -> at most {after} after")
    return "\n".join(lines)


def _promise(loss: Loss, delta: float) -> str:
    epsilon, revealed = loss.epsilon(delta), loss.delta_at_infinity()
    if math.isfinite(epsilon):
        factor = WIDE.exp(Decimal(epsilon))
        return (
            f"It is ({rounded_up(epsilon, 6)}, {delta:g})-differentially private: apart from an event of probability "
            f"{delta:g}, no outcome becomes more than {rounded_up(factor, 4)} times as likely, or as unlikely, "
            "because of you."
        )
    if revealed > 0:
        return (
            f"With probability up to {_percent(revealed)} an outcome gives you away completely; no epsilon is "
            f"promised at delta = {delta:g}."
        )
    return f"Its losses have no largest value: no epsilon is promised at delta = {delta:g}."


def _percent(share: float) -> str:
    """Three digits, rounded up: a bound must not look smaller than it is."""
    return f"{rounded_up(min(100.0, share * 100), 4 if share > 0.9 else 3)} %"
