"""Repeat and select: the best of a random number of trials, for every usual law of that number.

What is released is the best outcome alone; how often it was tried is not. A fixed number n of trials has no better
bound than all of them released, `trial * n`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.calculus.loss import Loss, call, checked
from dalenius.calculus.losses.best_profile import BestOf
from dalenius.calculus.losses.discrete import from_pair
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter


@dataclass(frozen=True)
class TrialLaw(ABC):
    """The law of the number K of trials, phi(z) = E[z^K] being its generating function."""

    @abstractmethod
    def log_weight(self, x: Reals) -> Reals:
        """log phi'(1 - x); -inf where that is not defined, beyond the x that matter."""

    def pure(self, epsilon: float) -> float:
        """The epsilon of the best of trials that are epsilon-DP; inf where none is known."""
        return math.inf


@dataclass(frozen=True)
class NegativeBinomial(TrialLaw):
    """P(K = k) proportional to (1 - g)^k binom(k + shape - 1, k) for k >= 1; shape 0 is logarithmic, 1 geometric.

    phi'(1 - x) is proportional to (g + (1 - g) x)^-(1 + shape). So the best of epsilon-DP trials is
    (2 + shape) epsilon-DP: x > 0 moves by at most the factor e^epsilon, and g + (1 - g) x by no more (Papernot and
    Steinke 2022, Corollary 3; Liu and Talwar 2019 for shape 1).
    """

    mean: float
    shape: float

    @cached_property
    def g(self) -> float:
        if self.shape == 1.0:
            return 1 / self.mean

        def is_too_small(log_g: float) -> bool:
            return negative_binomial_mean(self.shape, math.exp(log_g)) > self.mean

        return math.exp(last_true(is_too_small, math.log(1e-12), math.log1p(-1e-12))[0])

    def log_weight(self, x: Reals) -> Reals:
        log_g = math.log(self.g)
        many = -self.shape * log_g  # log(e^many - 1) without its overflow
        scale = (
            math.log(self.shape) - many - math.log(-math.expm1(-many)) if self.shape else -math.log(-log_g)
        )
        return np.asarray(scale + math.log1p(-self.g) - (1 + self.shape) * np.log(self.g + (1 - self.g) * x))

    def pure(self, epsilon: float) -> float:
        return (2 + self.shape) * epsilon * (1 + 2.0**-51)


@dataclass(frozen=True)
class PoissonLaw(TrialLaw):
    """K ~ Poisson(mean)."""

    mean: float

    def log_weight(self, x: Reals) -> Reals:
        return np.asarray(math.log(self.mean) - self.mean * x)


@dataclass(frozen=True)
class BinomialLaw(TrialLaw):
    """K ~ Binomial(trials, rate): phi'(1 - x) = trials rate (1 - rate x)^(trials - 1)."""

    trials: int
    rate: float

    def log_weight(self, x: Reals) -> Reals:
        with np.errstate(divide="ignore"):
            rest = np.log(np.maximum(1 - self.rate * np.asarray(x), 0.0))
        power = (self.trials - 1) * rest if self.trials > 1 else np.zeros(np.shape(x))
        return np.asarray(math.log(self.trials * self.rate) + power)


def negative_binomial_mean(shape: float, g: float) -> float:
    """The mean of the negative binomial law of this shape given that it is not 0; of the logarithmic law for 0."""
    if shape == 0.0:
        return (1 - g) / (g * -math.log(g))
    return shape * (1 - g) / (g * -math.expm1(shape * math.log(g)))


def best_of(trial: Loss, mean: float, shape: float = 1.0) -> Loss:
    """Loss of the best of K trials, K negative binomial given K >= 1: geometric (shape 1), logarithmic (0), or between.

    P(K = k) is proportional to (1 - g)^k binom(k + shape - 1, k), with g such that the mean is as given. The best is by
    any order of the outcomes; a score that decides must be part of the outcome that the trial's loss is about. By the
    profile of the trial (docs/proofs/best-of-trials.md), and for trials that are epsilon-DP also (2 + shape) epsilon-DP
    (Papernot and Steinke 2022, "Hyperparameter Tuning with Renyi Differential Privacy"; Liu and Talwar 2019).

    Parameters
    ----------
    trial
        The loss of one trial; of several kinds that are drawn at random, the largest.
    mean
        The mean number of trials, above 1 and below a million.
    shape
        The shape of the law, 0 or from 1e-100 to 1000. Smaller shapes cost less, and K varies more.

    Returns
    -------
    Loss
        An upper bound: the loss of releasing the best outcome, and not the number of trials.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> import dalenius as dp
    >>> round(dp.losses.best_of(dp.losses.pure(0.5), mean=10).epsilon(0.0), 4)  # 3 * 0.5 for any mean
    1.3126
    """
    shape = checks.within(
        "shape", shape, "0, or a number from 1e-100 to 1000", lambda x: x == 0 or 1e-100 <= x <= 1000
    )
    law = NegativeBinomial(mean_above_one(mean), shape)
    return _best(trial, law, call("best_of", trial=_text(trial), mean=law.mean, shape=(shape, 1.0)))


def best_of_poisson(trial: Loss, mean: float) -> Loss:
    """Loss of the best of K ~ Poisson(mean) trials; for K = 0 something is released that ignores the data.

    By the profile of the trial (docs/proofs/best-of-trials.md; Papernot and Steinke 2022 and Koskela, Redberg and Wang
    2024, "Privacy Profiles for Private Selection", for others).

    Parameters
    ----------
    trial
        The loss of one trial.
    mean
        The mean number of trials, above 1 and below a million.

    Returns
    -------
    Loss
        An upper bound: the loss of releasing the best outcome, and not the number of trials.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> import dalenius as dp
    >>> best = dp.losses.best_of_poisson(dp.losses.gaussian(sigma=10.0), mean=20)
    >>> best.epsilon(1e-6) < (dp.losses.gaussian(sigma=10.0) * 20).epsilon(1e-6)
    True
    """
    law = PoissonLaw(mean_above_one(mean))
    return _best(trial, law, call("best_of_poisson", trial=_text(trial), mean=law.mean))


def best_of_binomial(trial: Loss, trials: int, rate: float) -> Loss:
    """Loss of the best of K ~ Binomial(trials, rate) trials; for K = 0 something is released that ignores the data.

    Each of so many trials is made or not, by a coin of its own. By the profile of the trial
    (docs/proofs/best-of-trials.md; Koskela, Redberg and Wang 2024, "Privacy Profiles for Private Selection").

    Parameters
    ----------
    trial
        The loss of one trial.
    trials
        The largest number of trials, from 1 to a million.
    rate
        The probability with which each is made, above 0 and below 1. (With 1 all are: `trial * trials`.)

    Returns
    -------
    Loss
        An upper bound: the loss of releasing the best outcome, and not the number of trials.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> import dalenius as dp
    >>> best = dp.losses.best_of_binomial(dp.losses.gaussian(sigma=10.0), trials=200, rate=0.1)
    >>> best.epsilon(1e-6) < (dp.losses.gaussian(sigma=10.0) * 20).epsilon(1e-6)
    True
    """
    trials = checks.count("trials", trials, least=1)
    if trials > 10**6:
        raise InvalidParameter.of("trials", f"trials is {trials}; it must be at most a million.")
    law = BinomialLaw(trials, checks.open_probability("rate", rate))
    return _best(trial, law, call("best_of_binomial", trial=_text(trial), trials=trials, rate=law.rate))


def mean_above_one(mean: object) -> float:
    """A mean number of trials."""
    number = checks.number("mean", mean)
    if not 1 < number < 1e6:
        raise InvalidParameter.of(
            "mean", f"mean is {number}; the mean number of trials must be above 1 and below a million."
        )
    return number


def _best(trial: Loss, law: TrialLaw, expression: str) -> Loss:
    checked(trial, "best_of")
    if not (trial.terms_remove or trial.terms_add):
        return Loss.zero(trial.adjacency)
    if trial.delta_at_infinity() > 0.5:  # hardly a trial to be repeated: nothing is promised
        revealed = from_pair([1.0, 0.0], [0.0, 1.0], trial.adjacency)
        return Loss(revealed.terms_remove, revealed.terms_add, trial.adjacency, expression)
    pure = law.pure(trial.epsilon(0.0))
    return BestOf((trial,), law.log_weight).loss(expression, largest=pure)


def _text(trial: object) -> str:
    return trial.expression if isinstance(trial, Loss) else ""
