"""Models of several targets, paid by one promise: divided between them, or with one X^T X for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from dalenius.calculus.guarantees import GDP, ApproxDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import CannotMeet
from dalenius.learn.data.parameters import checked_guarantee
from dalenius.learn.data.rows import RecordBlocks, Records
from dalenius.learn.data.targets import Targets
from dalenius.learn.methods.noisy_statistics import NoisyStatistics
from dalenius.learn.models.linear_regression import LinearRegression, solution

CLOSE = 5e-3
"""Relative: so little of epsilon may stay unused."""
TRIES = 8
"""At most; each calibrates a fit, which can take a second. Three or four are enough."""


def of_each(model: Any, number: int) -> tuple[Any, Loss]:
    """The model that each of so many targets gets, and what all fits cost together: what `model` promises, at most.

    A `LinearRegression` releases X^T X once for all targets, and X^T y of each; the model of one target is the one
    whose own fit has the noise that these have. Every other model gets its part of the promise, with its own noise.
    """
    if isinstance(model, LinearRegression):
        return _of_one_gram(model, number), _plan(model, number).loss
    promise = checked_guarantee(model.guarantee)

    def part(each: Guarantee) -> tuple[Any, Loss]:
        made = clone(model).set_params(guarantee=each)
        return made, made.price() * number

    if isinstance(promise, ApproxDP) and promise.delta > 0 < promise.epsilon:
        found = _approximate(part, promise, number)
    else:
        found = part((promise.as_pure() or promise).divided(number * (1 + 1e-9)))
    if not promise.holds(found[1]):
        raise CannotMeet(
            f"{number} fits of {type(model).__name__} cannot be shown to keep {promise} together; fit them one by one."
        )
    return found


def _approximate(
    part: Callable[[Guarantee], tuple[Any, Loss]], promise: ApproxDP, number: int
) -> tuple[Any, Loss]:
    """The model with the largest epsilon that was found, and the loss of all.

    Losses are added with all their digits: each fit can have far more than epsilon / number, which does by basic
    composition. The logarithm of what all cost is nearly straight in that of what each has: the line through the ends
    of a bracket leads close to where all is used. What was tried is never assumed to keep the promise.
    """

    def tried(size: float) -> tuple[tuple[Any, Loss], float, bool]:
        made = part(ApproxDP(size, promise.delta / number))
        share = max(made[1].epsilon(promise.delta) / promise.epsilon, 1e-300)
        return made, math.log(share), promise.holds(made[1])

    low, high = math.log(promise.epsilon / number * (1 - 1e-9)), math.log(promise.epsilon)
    best, below, _ = tried(math.exp(low))
    above = math.log(number)  # at most what all cost if each has all; only a guess is made from it
    for _ in range(TRIES):
        if below > -CLOSE or high - low < CLOSE:
            break
        guess = low + (high - low) * (-CLOSE / 2 - below) / (above - below)
        guess = min(max(guess, low + CLOSE / 4), high - CLOSE / 4)
        made, cost, keeps = tried(math.exp(guess))
        if keeps:
            best, low, below = made, guess, cost
        else:
            high, above = guess, max(cost, CLOSE)
    return best


def fit_linear(
    model: LinearRegression,
    each: Sequence[LinearRegression],
    read: Callable[[], Iterable[tuple[Reals, Reals]]],
    columns: int,
) -> list[LinearRegression]:
    """Fit the models of all targets (`of_each` of the model, with the bounds of their targets), from one release.

    read: rows and targets, n x targets, in blocks. A row that lacks one of the targets counts as absent.
    """
    plan, shrink = _plan(model, len(each)), checks.nonnegative("shrink", model.shrink)
    bounds = [Targets(one.target_bounds) for one in each]

    def prepared(features: Reals, given: Reals) -> Records:
        units = [bounds[n].to_unit(given[:, n], len(features)) for n in range(len(each))]
        usable = np.logical_and.reduce([there for _, there in units])
        return model._records(features, np.column_stack([unit for unit, _ in units]), usable)

    size = columns + (model._constant > 0)
    gram, products = plan.release(RecordBlocks(lambda: (prepared(*block) for block in read()), size))
    noise = plan.noise(size)
    return [
        one._set(solution(gram, product, *noise, shrink), columns, one.price())
        for one, product in zip(each, products, strict=True)
    ]


def _plan(model: LinearRegression, number: int) -> NoisyStatistics:
    return replace(model._plan(), targets=number)


def _of_one_gram(model: LinearRegression, number: int) -> LinearRegression:
    """share mu^2 for X^T X, and the same part of the rest for each X^T y: what a fit of one target would have."""
    plan = model._plan()
    rest = (1 - plan.share) / number
    mine = clone(model).set_params(
        guarantee=GDP(plan.mu * math.sqrt(plan.share + rest)), share=plan.share / (plan.share + rest)
    )
    assert isinstance(mine, LinearRegression)
    return mine
