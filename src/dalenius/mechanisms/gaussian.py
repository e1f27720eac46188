"""The Gaussian mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scipy.special import ndtri

from dalenius.calculus import losses
from dalenius.calculus.guarantees import GDP
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.additive_noise import IndependentNoise
from dalenius.mechanisms._support.grid_noise import coordinate_failure, discrete_gaussian_sigma
from dalenius.noise import discrete_gaussian


@dataclass(frozen=True, kw_only=True)
class Gaussian(IndependentNoise):
    """Releases f(X) + N(0, sigma^2), independent in every coordinate.

    Neighbours (`adjacency`) move f by at most `sensitivity` in l2 norm. The release is exactly
    sensitivity/sigma-GDP (Dong, Roth and Su 2022), whatever the number of coordinates.

    `calibrated` gives the least sigma for any promise, for any epsilon (the analytic calibration of Balle
    and Wang 2018, Theorem 8); `classical` the textbook formula, which is larger and holds below epsilon = 1 only.

    Numbers are put on a grid of about 2^-40 of the noise and discrete Gaussian noise is drawn exactly on that
    grid, wider by just as little as makes the stated loss an upper bound at every epsilon and delta
    (docs/mechanisms-on-a-grid.md). Integers of any size and doubles are taken exactly.

    Parameters
    ----------
    sensitivity
        The most that one record changes f, in l2 norm.
    sigma
        The standard deviation of the noise.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.mechanisms import Gaussian
    >>> m = Gaussian.calibrated(dp.ApproxDP(1.0, 1e-5), sensitivity=1)
    >>> round(m.sigma, 6), m.release([41.0, 12.5]).shape
    (3.730632, (2,))
    """

    sensitivity: float
    sigma: float
    adjacency: Adjacency = ADD_REMOVE
    _size, _stated_by, _share = "sigma", (GDP,), 0.7071

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        return losses.gaussian(self.sigma, self.sensitivity, self.adjacency)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within.

        The two-sided normal quantile z of 1 - confidence^(1/size) times sigma, exact for independent
        coordinates; plus the grid: P(|k| > m) is at most twice the normal tail beyond m/s, so an error of
        more than s z + 3/2 steps is as rare. The nearest double to the answer adds its own rounding.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of coordinates.

        Returns
        -------
        float
            The error, in the units of the value.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        z = -float(ndtri(coordinate_failure(confidence, size) / 2))
        return float(self._grid.granularity) * (1.5 + self._units(size) * z * (1 + 1e-13))

    @classmethod
    def classical(
        cls,
        epsilon: float,
        delta: float,
        *,
        sensitivity: float,
        constant: float = 1.32,
        adjacency: Adjacency = ADD_REMOVE,
    ) -> Gaussian:
        """sigma = c sensitivity/epsilon with c^2 = 2 ln(constant/delta): (epsilon, delta)-DP for epsilon < 1.

        Awan (2025), Theorem 9.3, whose proof needs the constant 1.32 and c >= 3/2; the usual 1.25 (Dwork and Roth
        2014, Theorem A.1) is accepted: its printed proof has a false step, its conclusion holds. From epsilon = 1
        on the formula proves nothing, and at 10 it is wrong: use `calibrated`, which needs less noise anyway.

        Parameters
        ----------
        epsilon
            Between 0 and 1, both excluded.
        delta
            Between 0 and 1, both excluded.
        sensitivity
            The most that one record changes f, in l2 norm.
        constant
            1.25 or more.
        adjacency
            The neighbouring relation that the sensitivity is stated for.

        Returns
        -------
        Gaussian
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range; an epsilon of 1 or more is.

        Examples
        --------
        >>> from dalenius.mechanisms import Gaussian
        >>> round(Gaussian.classical(0.5, 1e-5, sensitivity=1).sigma, 6)
        9.712078
        """
        epsilon, delta = checks.positive("epsilon", epsilon), checks.open_probability("delta", delta)
        constant = checks.within("constant", constant, "1.25 or more (1.32 is proved)", lambda x: x >= 1.25)
        if epsilon >= 1:
            raise InvalidParameter(
                f"epsilon is {epsilon}; the classical formula holds below 1 only. Use "
                "Gaussian.calibrated(dalenius.ApproxDP(epsilon, delta), sensitivity=...), which always holds."
            )
        c = math.sqrt(max(2 * math.log(constant / delta), 2.25))
        sigma = c * checks.positive("sensitivity", sensitivity) / epsilon
        return cls(sensitivity=sensitivity, sigma=sigma, adjacency=adjacency)

    def _draw(self, size: int, shape: tuple[int, ...]) -> Any:
        return discrete_gaussian(self._units(size), shape)

    def _units(self, size: int) -> float:
        return discrete_gaussian_sigma(self.sensitivity, self.sigma, size, self._grid)
