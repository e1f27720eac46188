"""The largest promise of a model or an estimator whose fit costs no more than is there for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dalenius.calculus.guarantees import ApproxDP, Filter, Guarantee, PureDP
from dalenius.calculus.guarantees.cost import Cost
from dalenius.errors import InvalidParameter

CLOSE = 1e-3
"""Relative: how near the largest promise the one that is found may stay."""

MOST_EPSILON = 20.0
"""Of a promise that is tried where none of the session's own kind is kept; more promises nothing."""

STEPS = 40
"""Tries at most; each plans a fit, and five or six are enough."""


def largest(like: Guarantee, cost: Callable[[Guarantee], Cost], room: Cost) -> Guarantee | None:
    """The largest promise of this kind, up to this one, that the room pays for: to four digits, from below.

    None if there is none. cost: of a fit that keeps a promise; it grows with it. Everything here is public: no row is
    read. The logarithm of what a fit takes of the room is nearly straight in that of the promise, so that the line
    through the two ends of a bracket leads close to where all of it is taken; what was tried is never assumed to fit.
    """
    if not like.size:
        return None

    def at(size: float) -> Guarantee:
        promise: Guarantee = replace(like, **{str(like.leading): size})  # type: ignore[type-var]
        return promise.shortened(up=False)

    def used(size: float) -> float:
        share = cost(at(size)).use_of(room)
        return math.log(share) if share else -math.inf

    high = low = math.log(like.size)
    above = below = used(like.size)
    if above <= 0:
        return at(like.size)
    if not math.isfinite(above):  # it takes what there is none of
        return None
    for step in range(STEPS):
        if below > 0:  # at least as much less as if the cost were proportional, and more each time
            low -= below + 0.1 * 2**step
            below = used(math.exp(low))
            continue
        if high - low < CLOSE:
            break
        steep = (above - below) / (high - low)
        guess = high - above / steep if math.isfinite(steep) else (low + high) / 2
        guess = min(max(guess - CLOSE / 4, low + CLOSE / 4), high - CLOSE / 4)
        if step % 4 == 3:  # where the line is not straight, halves end the search
            guess = (low + high) / 2
        found = used(math.exp(guess))
        low, below, high, above = (guess, found, high, above) if found <= 0 else (low, below, guess, found)
    return at(math.exp(low)) if below <= 0 and at(math.exp(low)).size else None


def promises(pays: Filter, budget: Guarantee) -> list[Guarantee]:
    """The kinds of promise a fit may be given for a price, in the order they are tried."""
    kinds: list[Guarantee] = [pays.price(budget)]
    promise = pays.promise
    if isinstance(promise, ApproxDP) and promise.delta and isinstance(budget, ApproxDP):
        # A thousandth of delta, as `charge_for_fit` takes, so that many fits have room.
        kinds.append(ApproxDP(budget.epsilon, promise.delta / 1000))
    if not isinstance(promise, PureDP):
        # Every budget pays for it, and some models keep it and nothing else.
        kinds.append(PureDP(MOST_EPSILON))
    return kinds


def given(cost: Callable[[Guarantee], Cost], pays: Filter, budget: Guarantee, room: Cost) -> Guarantee:
    """The promise that a model is given where a session decides: the largest one that costs no more than the room."""
    problems: list[InvalidParameter] = []
    for kind in promises(pays, budget):
        try:
            found = largest(kind, cost, room)
        except (
            InvalidParameter
        ) as problem:  # a kind that this model cannot keep, or that the budget cannot pay
            problems.append(problem)
            continue
        if found is not None:
            return found
    if problems:
        raise problems[0]
    raise InvalidParameter(
        f"{budget!r} pays for no fit of this model, however much noise it adds; say what it is to promise instead."
    )
