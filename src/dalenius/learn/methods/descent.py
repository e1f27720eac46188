"""Noisy gradient descent, on all records or on a Poisson sample of them in every step (DP-SGD)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.learn.data.rows import Records
from dalenius.learn.numerics.exact_sums import ExactSums, grid_for
from dalenius.learn.numerics.optimisers import Adam, Momentum, averaged
from dalenius.noise import poisson_subsample
from dalenius.sums.curves import Curve
from dalenius.sums.grids import on_grid

AT_ONCE = 1 << 18
"""Sampled rows drawn together."""

Optimiser = Literal["adam", "momentum"]


@dataclass(frozen=True)
class Descent:
    """How a model is to descend: `LogisticRegression(promise, method=Descent(rate=0.01, steps=500))` is DP-SGD.

    With `rate` below 1 each step sees a Poisson sample of the records, with 1 all of them. The noise follows from the
    promise. Gradients need no clipping beyond what the models do: rows are clipped to `row_norm`, slopes to `knee`.

    Parameters
    ----------
    steps
        How many steps.
    rate
        The share of the records that a step sees, in (0, 1].
    optimiser
        'adam' or 'momentum'.
    learning_rate
        The length of a step.
    momentum
        How much of the past a step keeps, in [0, 1).

    Raises
    ------
    InvalidParameter
        By `fit` of the model, if a parameter is outside what is allowed.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 3)) / 2; y = (X[:, 0] > 0).astype(int)
    >>> sgd = dp.learn.Descent(steps=300, rate=0.05, learning_rate=0.1)
    >>> model = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5), method=sgd).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), model.loss_.expression.count("poisson_sampled")
    (True, 1)
    """

    steps: int = 100
    rate: float = 1.0
    optimiser: Optimiser = "adam"
    learning_rate: float = 0.3
    momentum: float = 0.9


@dataclass(frozen=True)
class NoisyDescent:
    """Releases every iterate of `steps` steps along the sum of gradients plus N(0, (noise_multiplier L)^2 I).

    L = `gradient_bound` bounds the gradient f' |x| of one record (a GLM needs no clipping: rows are short and slopes
    bounded). With `rate` below 1 each step sees a fresh Poisson sample, and the loss is
    `poisson_sampled(gaussian(noise_multiplier), rate) * steps`, which is what runs (Abadi et al. 2016,
    for add/remove neighbours, so noise is relative to L and not 2L). With `rate` 1 it is a Gaussian loss, so
    that promises of GDP and zCDP are kept exactly.

    Records are put on a grid and their gradients summed exactly (`ExactSums`); the noise is exact on the same grid.
    The number of records is not public, so the step length must not depend on it: Adam divides by the size of past
    gradients; for "momentum" the learning rate applies to the sum. Steps are measured in units of the data, so that
    the same data in other units give the same model: for Adam, in units in which the numbers of a row as long as
    allowed are of size 1; for momentum, in units in which that row has norm 1. theta is the average of the last half of
    the iterates.
    """

    steps: int
    rate: float
    noise_multiplier: float
    gradient_bound: float
    learning_rate: float = 0.3
    optimiser: Optimiser = "adam"
    momentum: float = 0.9
    ridge: float = 0.0

    def __post_init__(self) -> None:
        self._set("steps", checks.count("steps", self.steps, least=1))
        self._set("rate", _checked_rate(self.rate))
        why = "Without noise nothing is private."
        self._set("noise_multiplier", checks.positive("noise_multiplier", self.noise_multiplier, why))
        self._set("gradient_bound", checks.positive("gradient_bound", self.gradient_bound))
        self._set("learning_rate", checks.positive("learning_rate", self.learning_rate))
        self._set("ridge", checks.nonnegative("ridge", self.ridge))
        self._set("momentum", checks.failure_probability("momentum", self.momentum))
        checks.one_of("optimiser", self.optimiser, "adam", "momentum")
        grid_for(self.noise_multiplier)

    def _set(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def calibrated(
        cls,
        guarantee: Guarantee,
        gradient_bound: float,
        *,
        steps: int = 100,
        rate: float = 1.0,
        **options: object,
    ) -> NoisyDescent:
        """The least noise with which the whole run keeps a promise."""
        steps, rate = checks.count("steps", steps, least=1), _checked_rate(rate)
        noise = calibrate(
            lambda s: descent_loss(s, rate, steps), guarantee, start=math.sqrt(steps) * rate + 0.5
        )
        return cls(steps, rate, noise, gradient_bound, **options)  # type: ignore[arg-type]

    @property
    def loss(self) -> Loss:
        return descent_loss(self.noise_multiplier, self.rate, self.steps)

    def fit(self, records: Records, curve: Curve) -> Reals:
        """theta: the average of the last half of the iterates."""
        often = self.rate * self.steps >= 2  # does keeping the rounded rows pay?
        sums = ExactSums(records, curve, self.gradient_bound, self.noise_multiplier, self.steps, often)
        towards = (
            Adam(self.learning_rate, self.momentum, self.steps, records.size)
            if self.optimiser == "adam"
            else Momentum(self.learning_rate, self.momentum)
        )
        ridge = self.rate * self.ridge / sums.reach**2
        gradients = sums.noisy_gradients(samples(len(records), self.rate, self.steps))

        def step(theta: Reals, k: int) -> Reals:
            theta = on_grid(theta)
            gradient = next(gradients)(theta)
            if ridge > 0:
                gradient += ridge * theta
            return theta - towards.move(gradient, k)

        return averaged(step, self.steps, records.size) / sums.reach


def _checked_rate(value: object) -> float:
    allowed, why = "a number above 0 and at most 1", "A step must see some records."
    return checks.within("rate", value, allowed, lambda x: 0 < x <= 1, why)


def samples(rows: int, rate: float, steps: int) -> Iterator[Any]:
    """A fresh Poisson sample of rows for every step; None for all of them.

    Whether row i is in the sample of step t is a coin of its own for each (t, i); many steps are drawn in one go.
    """
    if rate == 1 or rows == 0:
        yield from (None for _ in range(steps))
        return
    together = max(1, int(AT_ONCE / (rows * rate + 1)))
    for done in range(0, steps, together):
        block = min(together, steps - done)
        places = poisson_subsample(rows * block, rate)
        ends = np.searchsorted(places, np.arange(1, block + 1) * rows)
        places %= rows
        start = 0
        for end in ends.tolist():
            yield places[start:end]
            start = end


def descent_loss(noise_multiplier: float, rate: float, steps: int) -> Loss:
    """The loss of all steps together."""
    one = losses.gaussian(noise_multiplier)
    return (one if rate == 1 else losses.poisson_sampled(one, rate)) * steps
