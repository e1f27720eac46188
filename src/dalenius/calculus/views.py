"""What a loss tells: bounds on delta and epsilon, divergences, and the trade-off of errors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import get_args

import numpy as np

from dalenius.calculus.engines.accountant import Direction, Engine
from dalenius.calculus.pairs import divergences
from dalenius.calculus.pairs.pair import Bounds
from dalenius.calculus.theorems.duality import tradeoff_from_profile
from dalenius.core import checks
from dalenius.core.quiet import beyond_floats


class Views(ABC):
    """Certified views of one or two directions of a loss, the worse of both."""

    __slots__ = ()

    @property
    @abstractmethod
    def directions(self) -> tuple[Direction, ...]:
        """Both directions, or the one where they have the same law."""

    # -- (epsilon, delta) -------------------------------------------------------------------------

    @beyond_floats
    def delta_bounds(self, epsilon: float, engine: Engine = "auto") -> Bounds:
        """Certified (lower, upper) bounds on the least delta at this epsilon.

        Parameters
        ----------
        epsilon
            Any finite number.
        engine
            'auto' picks the quickest; 'contour', 'grid' and 'proof' (ball arithmetic) ask for one of them.

        Returns
        -------
        Bounds
            (lower, upper).

        Raises
        ------
        InvalidParameter
            If epsilon is not a finite number or there is no such engine.
        UnsupportedComposition
            If engine='proof' has nothing to say about this loss.

        Examples
        --------
        >>> import dalenius as dp
        >>> low, high = dp.losses.gaussian(sigma=1.0).delta_bounds(1.0)
        >>> low < 0.12693673750664397 < high
        True
        """
        epsilon = checks.number("epsilon", epsilon)
        checks.one_of("engine", engine, *get_args(Engine))
        sides = [side.delta(epsilon, engine) for side in self.directions]
        return Bounds(max(b.lower for b in sides), max(b.upper for b in sides))

    def delta(self, epsilon: float) -> float:
        """The least delta such that the release is (epsilon, delta)-DP, rounded up.

        Parameters
        ----------
        epsilon
            Any finite number.

        Returns
        -------
        float
            The upper bound of :meth:`delta_bounds`.

        Raises
        ------
        InvalidParameter
            If epsilon is not a finite number.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).delta(1.0), 6)
        0.126937
        """
        return self.delta_bounds(epsilon).upper

    @beyond_floats
    def epsilon_bounds(self, delta: float, engine: Engine = "auto") -> Bounds:
        """Certified (lower, upper) bounds on the least epsilon >= 0 at this delta.

        Parameters
        ----------
        delta
            The probability of failure, in [0, 1).
        engine
            'auto' picks the quickest; 'contour', 'grid' and 'proof' (ball arithmetic) ask for one of them.

        Returns
        -------
        Bounds
            (lower, upper); inf where no epsilon will do.

        Raises
        ------
        InvalidParameter
            If delta is not in [0, 1) or there is no such engine.
        UnsupportedComposition
            If engine='proof' has nothing to say about this loss.

        Examples
        --------
        >>> import dalenius as dp
        >>> low, high = dp.losses.gaussian(sigma=1.0).epsilon_bounds(1e-5)
        >>> high - low < 1e-9
        True
        """
        delta = checks.failure_probability("delta", delta)
        checks.one_of("engine", engine, *get_args(Engine))
        lower = upper = 0.0
        for side in self.directions:
            if side.adds_nothing(Bounds(lower, upper), delta, engine, self.directions[0]):
                continue
            bounds = side.epsilon(delta, engine)
            lower, upper = max(lower, bounds.lower), max(upper, bounds.upper)
        return Bounds(lower, upper)

    def epsilon(self, delta: float) -> float:
        """The least epsilon such that the release is (epsilon, delta)-DP, rounded up; may be inf.

        Parameters
        ----------
        delta
            The probability of failure, in [0, 1).

        Returns
        -------
        float
            The upper bound of :meth:`epsilon_bounds`.

        Raises
        ------
        InvalidParameter
            If delta is not in [0, 1).

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).epsilon(1e-5), 6)
        4.377178
        """
        return self.epsilon_bounds(delta).upper

    # -- divergences ------------------------------------------------------------------------------

    @beyond_floats
    def renyi(self, order: float) -> float:
        """An upper bound on the Renyi divergence of this order (1 is KL, inf the largest loss).

        Parameters
        ----------
        order
            From 1 (Kullback-Leibler) to inf (the largest loss).

        Returns
        -------
        float
            The bound; inf where none is known.

        Raises
        ------
        InvalidParameter
            If the order is below 1.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).renyi(8.0), 6)
        4.0
        """
        if not np.ndim(order) and order == math.inf:
            return self.epsilon(0.0)
        order = checks.within("order", order, "a number from 1 up, or inf", lambda x: x >= 1)
        return max(divergences.renyi(side.terms, order) for side in self.directions)

    def kl(self) -> float:
        """An upper bound on the Kullback-Leibler divergence, the expected privacy loss.

        Returns
        -------
        float
            The bound; inf where none is known.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).kl(), 6)
        0.5
        """
        return self.renyi(1.0)

    def total_variation(self) -> float:
        """The largest difference in probability any event can show: delta at epsilon 0.

        Returns
        -------
        float
            In [0, 1], rounded up.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).total_variation(), 6)
        0.382925
        """
        return self.delta(0.0)

    @beyond_floats
    def zcdp(self) -> float:
        """The least rho (rounded up) with Renyi divergence <= rho * order at every order > 1; may be inf.

        Returns
        -------
        float
            rho.

        Examples
        --------
        >>> import dalenius as dp
        >>> (dp.losses.gaussian(sigma=1.0) * 3).zcdp()
        1.5
        """
        return max(divergences.zcdp(side.terms) for side in self.directions)

    @beyond_floats
    def gdp(self) -> float:
        """A mu for which the release is mu-GDP, exact for Gaussian losses; inf when none is known.

        Returns
        -------
        float
            mu.

        Examples
        --------
        >>> import dalenius as dp
        >>> (dp.losses.gaussian(sigma=1.0) * 4).gdp()
        2.0
        """
        return max(divergences.gdp(side.terms) for side in self.directions)

    def tradeoff(self, alpha: float) -> float:
        """A lower bound on the type II error of every level-alpha test of whether a person is in the data.

        `theorems.tradeoff_from_profile` of `delta`.

        Parameters
        ----------
        alpha
            The type I error of the tests.

        Returns
        -------
        float
            In [0, 1], rounded down.

        Raises
        ------
        InvalidParameter
            If alpha is not in [0, 1].

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).tradeoff(0.05), 6)
        0.740489
        """
        alpha = checks.probability("alpha", alpha)
        if alpha == 0.0:
            revealed = self.delta_at_infinity()
            return max(0.0, math.nextafter(1.0 - revealed, 0.0) if revealed else 1.0)
        return tradeoff_from_profile(self.delta, alpha, max(side.largest for side in self.directions))

    def delta_at_infinity(self) -> float:
        """The delta that no epsilon removes: the probability of an outcome only one neighbour can give.

        Returns
        -------
        float
            In [0, 1].

        Examples
        --------
        >>> import dalenius as dp
        >>> dp.losses.approx(1.0, 1e-6).delta_at_infinity()
        1e-06
        """
        return max(side.revealed for side in self.directions)
