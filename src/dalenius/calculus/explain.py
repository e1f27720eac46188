"""A loss in plain sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import TYPE_CHECKING

from dalenius.calculus.belief import belief
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.decimals import rounded_up

if TYPE_CHECKING:
    from dalenius.calculus.loss import Loss

WIDE = Context(prec=30, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Room for exp of any loss: floats end at e^709."""


@dataclass(frozen=True)
class Known:
    """Upper bounds that the sentences are made of: the best ones, or whatever is known."""

    epsilon: float
    """At the delta asked for."""
    advantage: float
    power: float
    """At the level 1/100."""
    auc: float
    failure: float
    """The chance that beliefs leave out, and `gain` the epsilon there."""
    gain: float


def explain(loss: Loss, delta: float) -> str:
    """What the loss promises, and what the best attacker could do with the release."""
    delta = checks.failure_probability("delta", delta)
    if not (loss.terms_remove or loss.terms_add):
        return "This release does not depend on the data at all: nothing about anyone can be learned from it."
    failure = telling_delta(loss, delta)
    known = Known(
        loss.epsilon(delta),
        loss.membership_advantage(),
        loss.power(0.01),
        loss.auc(),
        failure,
        loss.epsilon(failure),
    )
    told = [f"Release: {loss.expression} ({loss.adjacency.value} record).", *sentences(loss, delta, known)]
    for before, after in beliefs(known):
        told.append(f"  {before:>6} before -> at most {after} after")
    return "\n".join(told)


def sentences(loss: Loss, delta: float, known: Known) -> list[str]:
    """What is promised and what an attacker gains; the last sentence leads to `beliefs`."""
    who = "your record is in the data"
    if loss.adjacency is not ADD_REMOVE:
        who = "the data holds your record or another"
    guessed, found = percent((1 + known.advantage) / 2), percent(known.power)
    lines = [
        promised(loss, delta, known.epsilon),
        f"Somebody who guesses whether {who} is right half the time without the release, and at most {guessed} of the "
        "time with it.",
        f"An attack that accuses 1 in 100 innocent people by mistake finds at most {found} of those who are in.",
        "Shown one release made with you and one made without, the best attack tells which is which at most "
        f"{percent(known.auc)} of the time.",
        "How sure such an attacker can become that you are in the data, by how sure they were before"
        + (f",\nbut for {_chance(known.failure)}:" if known.failure else ":"),
    ]
    return lines


def beliefs(known: Known) -> list[tuple[str, str]]:
    """How sure an attacker was before and can be after, rounded up."""
    return [(percent(prior), percent(belief(prior, known.gain))) for prior in (0.01, 0.1, 0.5)]


def telling_delta(loss: Loss, delta: float) -> float:
    """A delta at which something can be said: the one asked for, unless an outcome gives away with more than that."""
    revealed = loss.delta_at_infinity()
    if revealed < delta or revealed == 0.0:
        return delta
    tried = (max(delta, revealed), 2 * revealed)
    return next((each for each in tried if each < 1.0 and math.isfinite(loss.epsilon(each))), delta)


def promised(loss: Loss, delta: float, epsilon: float) -> str:
    """What the epsilon at this delta promises, or why there is none."""
    revealed = loss.delta_at_infinity()
    if math.isfinite(epsilon):
        factor = WIDE.exp(Decimal(epsilon))
        if delta == 0.0:
            return (
                f"It is {rounded_up(epsilon, 6)}-differentially private: no outcome becomes more than "
                f"{rounded_up(factor, 4)} times as likely, or as unlikely, because of you."
            )
        return (
            f"It is ({rounded_up(epsilon, 6)}, {delta:g})-differentially private: apart from an event of probability "
            f"{delta:g}, no outcome becomes more than {rounded_up(factor, 4)} times as likely, or as unlikely, "
            "because of you."
        )
    if revealed > 0:
        return (
            f"With probability up to {percent(revealed)} an outcome gives you away completely; no epsilon is "
            f"promised at delta = {delta:g}."
        )
    return f"Its losses have no largest value: no epsilon is promised at delta = {delta:g}."


def _chance(delta: float) -> str:
    """A small probability in words.

    >>> _chance(1e-6), _chance(3e-7), _chance(0.003)
    ('one chance in 1 000 000', 'a chance of 3e-7', 'a chance of 0.3 %')
    """
    times = round(1 / delta)
    if times <= 10**12 and 1 / times == delta:  # both are the double next to what is meant
        return f"one chance in {times:_}".replace("_", " ")
    shown = Decimal(repr(delta)) if len(repr(delta)) <= 8 else Decimal(delta)
    return (
        f"a chance of {rounded_up(100 * shown, 3)} %"
        if delta >= 1e-4
        else f"a chance of {rounded_up(shown, 3)}"
    )


def percent(share: float) -> str:
    """Three digits, rounded up: a bound must not look smaller than it is."""
    return f"{rounded_up(min(100.0, share * 100), 4 if share > 0.9 else 3)} %"
