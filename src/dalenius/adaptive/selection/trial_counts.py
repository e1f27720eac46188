"""How often to try: random numbers of trials (or a fixed one), and what the best of so many costs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
from scipy.special import gammaln

from dalenius.calculus import losses
from dalenius.calculus.guarantees import RDP, ApproxDP, Guarantee
from dalenius.calculus.loss import Loss, call
from dalenius.calculus.losses.best_of import NegativeBinomial, PoissonLaw, mean_above_one
from dalenius.calculus.losses.best_profile import BestOf
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import CannotMeet
from dalenius.noise import categorical, geometric

ORDERS = 1 + np.geomspace(0.02, 5000.0, 240)


class Tries(ABC):
    """A law of the number K of trials, and what the best of K costs.

    A random number must stay secret: only the best trial is released.
    """

    @abstractmethod
    def draw(self) -> int:
        """K."""

    @abstractmethod
    def loss(self, *trials: Loss, promise: Guarantee | None = None) -> Loss:
        """The loss of the best of K trials, in the form that serves the promise best.

        `trials` are the losses of the candidates' trials; one, if they are all the same.
        """


@dataclass(frozen=True)
class FixedTries(Tries):
    """K = `number`: the candidates in turn, from the first to the last and again from the first.

    Costs the sum of the trials' losses, as if all of them were released. For `ZCDP`, `GDP` and `RDP`, which add up
    slowly, that is the least there is; for any promise it is if there are only two candidates.

    Parameters
    ----------
    number
        How many trials.

    Raises
    ------
    InvalidParameter
        If it is not a count from 1 up.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.learn.FixedTries(3).loss(dp.losses.gdp(1.0)).zcdp()
    1.5
    """

    number: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", checks.count("number", self.number, least=1))

    def draw(self) -> int:
        return self.number

    def loss(self, *trials: Loss, promise: Guarantee | None = None) -> Loss:
        whole, rest = divmod(self.number, len(trials))
        parts = [loss * whole for loss in trials if whole] + list(trials[:rest])
        return reduce(add, parts)


class RandomTries(Tries):
    """A random K: each trial draws one of the candidates at random."""

    mean: float
    exact = False
    """Whether K is drawn from its very law, and not from a table of doubles that is cut off where 2^-60 or less is
    left.

    The bound of `best_of` holds for a table, too, but for the last digits: without the largest K, phi'(z) grows less
    steeply, so that c is smaller, and phi' is larger by one part in 2^60 at most.
    """

    @abstractmethod
    def log_weight(self, x: Reals) -> Reals:
        """log phi'(1 - x), phi being the generating function of K."""

    @abstractmethod
    def extra(self, trial: Loss, bases: Reals) -> Reals:
        """What Papernot and Steinke 2022 add to the Renyi divergence of a trial, at each of ORDERS, besides
        log(mean)/(order - 1); `bases` are (order - 1) times that divergence."""

    def loss(self, *trials: Loss, promise: Guarantee | None = None) -> Loss:
        """By the profile of the trials (`best_of`); for ZCDP and RDP promises by their Renyi divergences."""
        strict = promise is not None and promise.as_pure() is not None
        view = None if promise is None else promise.view
        if not self.exact and (strict or view == "divergence"):
            raise CannotMeet(
                f"{type(self).__name__} draws from a table and cannot keep {promise}; use FixedTries or GeometricTries."
            )
        if view == "divergence":
            divergences = np.max([self._renyi(loss) for loss in trials], axis=0)
            if isinstance(promise, RDP):
                return losses.rdp(_Table(tuple(divergences.tolist())), trials[0].adjacency)
            return losses.zcdp(self._rho(trials, divergences), trials[0].adjacency)
        at = promise.size if promise is not None and view == "profile" else None
        text = call("best_of", tries=repr(self), trial="...")
        return BestOf(trials, self.log_weight).loss(text, at or 0.0)

    def keeps(self, promise: ApproxDP, trials: tuple[Loss, ...]) -> bool:
        """Whether the loss will keep the promise, looking at its epsilon only."""
        return BestOf(trials, self.log_weight).delta(promise.epsilon) * (1 + 1e-6) <= promise.delta

    def _renyi(self, trial: Loss) -> Reals:
        """Divergences at ORDERS; they grow with the order, so that a higher one may be the better bound."""
        bases = np.array([(a - 1) * trial.renyi(float(a)) for a in ORDERS])
        divergences = (bases + math.log(self.mean)) / (ORDERS - 1) + self.extra(trial, bases)
        return np.asarray(np.minimum.accumulate(divergences[::-1])[::-1] * (1 + 1e-12))

    def _rho(self, trials: tuple[Loss, ...], divergences: Reals) -> float:
        """The largest divergence over its order: at the left end of each interval with the divergence of the right."""
        inside = float((divergences[1:] / ORDERS[:-1]).max())
        first = float(divergences[0])
        # Beyond the last order: rho of a trial times the order, and what is added never exceeds its limit.
        last = float(ORDERS[-1])
        beyond = max(
            loss.zcdp() + (self.most_extra(loss) + math.log(self.mean) / (last - 1)) / last for loss in trials
        )
        return max(inside, first, beyond) * (1 + 1e-12)

    @abstractmethod
    def most_extra(self, trial: Loss) -> float:
        """What `extra` is at most, at any order."""


@dataclass(frozen=True)
class NegativeBinomialTries(RandomTries):
    """The negative binomial law of shape `eta` > 0 given K >= 1, with this mean (Papernot and Steinke 2022).

    P(K = k) = (1-g)^k binom(k + eta - 1, k) / (g^-eta - 1). The smaller eta, the less the tuning costs and the more
    K varies. eta = 1 is geometric.

    Parameters
    ----------
    mean
        The mean number of trials, above 1.
    eta
        The shape, above 0.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.learn.NegativeBinomialTries(mean=10.0).draw() >= 1
    True
    """

    mean: float = 10.0
    eta: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", mean_above_one(self.mean))
        object.__setattr__(self, "eta", checks.positive("eta", self.eta))

    @property
    def g(self) -> float:
        return self._law.g

    @cached_property
    def _law(self) -> NegativeBinomial:
        return NegativeBinomial(self.mean, self.eta)

    def draw(self) -> int:
        k = np.arange(1, int(60 * self.mean / min(self.eta, 1.0)) + 2000)
        logs = k * math.log1p(-self.g) + gammaln(k + self.eta) - gammaln(k + 1) - gammaln(self.eta)
        return 1 + int(categorical(np.exp(logs - logs.max())))

    def log_weight(self, x: Reals) -> Reals:
        return self._law.log_weight(x)

    def extra(self, trial: Loss, bases: Reals) -> Reals:
        """(1 + eta) times the least of (1 - 1/b) D_b + log(1/g)/b over orders b (their Theorem 2)."""
        bounds = bases / ORDERS - math.log(self.g) / ORDERS
        return np.full(len(ORDERS), (1 + self.eta) * min(float(bounds.min()), -math.log(self.g)))

    def most_extra(self, trial: Loss) -> float:
        return -(1 + self.eta) * math.log(self.g)


class GeometricTries(NegativeBinomialTries):
    """P(K = k) = (1 - g)^(k-1) g for k >= 1, with mean 1/g = `mean`.

    Pure: three times the epsilon of a trial (Liu and Talwar 2019 Theorem 3.2). K is drawn exactly.

    Parameters
    ----------
    mean
        The mean number of trials, above 1.

    Raises
    ------
    InvalidParameter
        If the mean is not above 1.

    Examples
    --------
    >>> import dalenius as dp
    >>> round(dp.learn.GeometricTries(10.0).loss(dp.losses.pure(1.0)).epsilon(0.0), 9)
    3.0
    """

    exact = True

    def __init__(self, mean: float = 10.0) -> None:
        super().__init__(mean, 1.0)

    def __repr__(self) -> str:
        return f"GeometricTries(mean={self.mean!r})"

    @cached_property
    def _scale(self) -> float:
        return -1 / math.log1p(-1 / self.mean)

    def draw(self) -> int:
        return 1 + int(geometric(self._scale))

    def loss(self, *trials: Loss, promise: Guarantee | None = None) -> Loss:
        epsilon = max(loss.epsilon(0.0) for loss in trials)
        if math.isfinite(epsilon):
            return losses.pure(3 * epsilon * (1 + 1e-15), trials[0].adjacency)
        return super().loss(*trials, promise=promise)


@dataclass(frozen=True)
class PoissonTries(RandomTries):
    """K ~ Poisson(mean); K = 0 must return something that does not depend on the data.

    Parameters
    ----------
    mean
        The mean number of trials, above 1.

    Raises
    ------
    InvalidParameter
        If the mean is not above 1.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.learn.PoissonTries(mean=10.0).draw() >= 0
    True
    """

    mean: float = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", mean_above_one(self.mean))

    def draw(self) -> int:
        k = np.arange(0, int(self.mean + 20 * math.sqrt(self.mean) + 60))
        return int(categorical(np.exp(k * math.log(self.mean) - self.mean - gammaln(k + 1))))

    def log_weight(self, x: Reals) -> Reals:
        return PoissonLaw(self.mean).log_weight(x)

    def extra(self, trial: Loss, bases: Reals) -> Reals:
        """mean * delta at epsilon = log(1 + 1/(order - 1)) (their Theorem 6), delta that of the trial."""
        return np.array([self.mean * trial.delta(math.log1p(1 / (a - 1))) for a in ORDERS])

    def most_extra(self, trial: Loss) -> float:
        return self.mean * trial.delta(0.0)


@dataclass(frozen=True)
class _Table:
    """Divergences at ORDERS as a function; between two orders that of the higher one."""

    divergences: tuple[float, ...]

    def __call__(self, order: float) -> float:
        place = int(np.searchsorted(ORDERS, order))
        return self.divergences[place] if place < len(ORDERS) else math.inf
