"""A centre of numbers without useful bounds: Huber's location after a private test, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import ndtri, stdtrit

from dalenius.adaptive.ptr import ProposeTestRelease, Refusal
from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import CannotMeet
from dalenius.infer.columns import Column, Numbers
from dalenius.infer.estimates.settings.estimate import Bounds, Estimate, TableRows, bounds_of, needed
from dalenius.infer.influence.huber_location import LocalHuberLocation
from dalenius.infer.inputs import column
from dalenius.infer.result import Result
from dalenius.intervals.laws import multiple
from dalenius.mechanisms import Laplace

TEST, SPREAD = 0.3, 0.2
"""The shares of epsilon for the test and for the variance; the rest is for the estimate."""
SPARE = 5.0
"""By so many scales of its noise the test is to be passed."""
SQUARES = 2.0**-20
"""Squares are rounded to whole numbers of this."""


@dataclass(frozen=True)
class HuberLocation(Estimate):
    """Huber's location by propose-test-release as an object, with its cost: what a session takes.

    `dp.infer.huber_location` says how it is estimated. In a session the column is held in memory.

    Parameters
    ----------
    guarantee
        The promise: `ApproxDP(epsilon, delta)`.
    bounds
        What is public about the numbers; wide bounds cost nothing. In a session they may be left out where the column
        has some.
    adjacency
        ADD_REMOVE or REPLACE_ONE.
    c
        Where psi bends, in the units of the data.
    size
        About how many rows there are: public, or declared.
    share
        Which share of the rows surely lies within c of the estimate, and of every place near it.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> m = dp.infer.HuberLocation(dp.ApproxDP(1.0, 1e-6), bounds=(-1e6, 1e6), c=15.0, size=3000)
    >>> m.loss.epsilon(1e-6) <= 1.0
    True
    >>> people = pd.DataFrame({"age": [20, 30, 40] * 1000})
    >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ApproxDP(3.0, 1e-5))
    >>> bool(abs(s.infer(m, "age").params[0] - 30) < 3)
    True
    """

    bounds: Bounds = None
    c: float = field(kw_only=True)
    size: int = field(kw_only=True)
    share: float = field(default=0.5, kw_only=True)

    what = "Huber's location"

    def _check(self) -> None:
        object.__setattr__(self, "bounds", bounds_of("bounds", self.bounds))
        object.__setattr__(self, "c", checks.positive("c", self.c))
        object.__setattr__(self, "size", checks.count("size", self.size, least=1))
        object.__setattr__(self, "share", checks.open_probability("share", self.share))
        if (
            not isinstance(self.guarantee, ApproxDP)
            or not self.guarantee.delta > 0
            or not self.guarantee.epsilon > 0
        ):
            raise CannotMeet(
                f"a release after a private test cannot keep {self.guarantee}: it needs a delta for data that should "
                "not pass. Ask for ApproxDP(epsilon, delta), or use dp.infer.m_estimate, which needs no test."
            )
        if self.bounds is not None:
            _ = self._release

    @property
    def _promise(self) -> ApproxDP:
        return self.guarantee  # type: ignore[return-value]  # checked above

    @cached_property
    def _release(self) -> ProposeTestRelease:
        between = needed("bounds", self.bounds, self.what)
        return self._within((between.low, between.high))

    def _within(self, bounds: tuple[float, float]) -> ProposeTestRelease:
        epsilon = self._promise.epsilon * (1 - 1e-9)
        test, wrong = TEST * epsilon, self._promise.delta * (1 - 1e-6)
        spare = (math.log(1 / wrong) + SPARE) / test
        near = self.share * self.size - spare
        if near < spare / 4:
            raise CannotMeet(
                f"{self.size} rows, {self.share:g} of them within c of the estimate, cannot pass a test that holds "
                f"{self._promise}: it takes about {1.25 * spare / self.share:.0f} rows."
            )
        most = self.c * (1 if self.adjacency is ADD_REMOVE else 2)
        sensitivity = most / near
        mechanism = LocalHuberLocation(
            sensitivity=sensitivity,
            scale=sensitivity / ((1 - TEST - SPREAD) * epsilon),
            bounds=bounds,
            c=self.c,
            adjacency=self.adjacency,
        )
        return ProposeTestRelease.by_distance(mechanism, epsilon=test, wrong_pass=wrong)

    @cached_property
    def _counts(self) -> Laplace:
        """For the number of rows within c, and the sum of psi^2/c^2: both move by 1 at most."""
        scale = 2 / (SPREAD * self._promise.epsilon) * (1 + 1e-9)
        return Laplace(sensitivity=2, scale=scale, adjacency=self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        """What a release costs, whatever the data and wherever the bounds are."""
        return self._within((-2 * self.c, 2 * self.c)).loss + self._counts.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Numbers(bounds_of("bounds", self.bounds)),)

    def told(self, bounds: Sequence[tuple[float, float] | None]) -> Self:
        return replace(self, bounds=bounds[0]) if self.bounds is None else self

    def release_from(self, rows: TableRows) -> Result:
        blocks = rows.column()
        return self._result(np.concatenate([np.empty(0), *blocks]), rows.names[0], blocks.half_step)

    def release(self, *data: Any) -> Result:
        """The estimate with its interval; none if the test refuses.

        Parameters
        ----------
        *data
            One column of numbers; rows that hold no finite number are absent (in the middle of the bounds, where rows
            are replaced).

        Returns
        -------
        Result
            The location.

        Raises
        ------
        InvalidParameter
            If it is not one column of numbers.
        """
        return self._result(*column(data[0]))

    def _result(self, values: Reals, name: str, moved: float = 0.0) -> Result:
        """moved: how far values may have been moved already."""
        estimate = self._release.release(values)
        method = "Huber's location, propose-test-release"
        if isinstance(estimate, Refusal):
            why = "the private test refused: too few rows, or too few of them within c of the estimate"
            return Result([name], [math.nan], loss=self.loss, method=method, reason=why)
        noise = self._release.mechanism._noise  # type: ignore[attr-defined]
        near, squares = self._counts.release(self._about(values, estimate))
        error = math.sqrt(2) * self._counts.scale
        if near < 4 * error:
            why = "the number of rows near the estimate drowns in its noise"
            return Result([name], [estimate], loss=self.loss, method=method, reason=why)
        sampling = max(float(squares), error) * self.c**2 / float(near) ** 2
        total = sampling + 2 * noise.scale**2
        peaked = np.array(3 * (2 * noise.scale**2 / total) ** 2)
        bse = math.sqrt(total)
        # What noise and sampling of the two numbers make of the variance, as degrees of freedom (Satterthwaite 1946).
        uncertain = (
            (error / max(float(squares), error)) ** 2 + (2 * error / float(near)) ** 2 + 3 / float(near)
        )
        freedom = 2 * (total / sampling) ** 2 / uncertain

        def limits(alpha: float) -> list[list[float]]:
            wider = float(stdtrit(freedom, 1 - alpha / 2) / ndtri(1 - alpha / 2))
            reach = wider * float(multiple(peaked, alpha)) * bse + moved
            return [[estimate - reach, estimate + reach]]

        return Result([name], [estimate], loss=self.loss, method=method, limits=limits, bse=[bse])

    def _about(self, values: Any, estimate: float) -> list[float]:
        """The rows within c of the estimate, and the sum of psi^2/c^2 in whole numbers of 2^-20."""
        mechanism: LocalHuberLocation = self._release.mechanism  # type: ignore[assignment]
        places = mechanism.bounds[0] + mechanism.grid_rows(values) * mechanism._step
        u = np.clip((places - estimate) / self.c, -1.0, 1.0)
        whole = np.rint(u * u / SQUARES).astype(np.int64)
        return [float(np.count_nonzero(np.abs(u) < 1)), float(int(whole.sum())) * SQUARES]


def huber_location(
    x: Any,
    guarantee: Guarantee,
    *,
    bounds: tuple[float, float],
    c: float,
    size: int,
    share: float = 0.5,
    adjacency: Adjacency = ADD_REMOVE,
) -> Result:
    """Huber's estimate of location, with noise for its local sensitivity, after a private test.

    What the estimate calibrated by its influence function aims at (Avella-Medina 2021), with its condition tested: one
    row moves the estimate by about c/(rows within c of it), and a private test (`LocalHuberLocation`) makes sure of
    that for all data sets near the one at hand. Bounds, which any mean pays for, are free. Where the test does not pass
    there is no estimate. The interval adds the noise to the sampling error, for which two numbers are released.

    Parameters
    ----------
    x
        One number for each row.
    guarantee
        `ApproxDP(epsilon, delta)`: the test needs a delta.
    bounds
        What is public about the numbers; as wide as you like.
    c
        Where psi bends, in the units of the data: 1.345 times a guess of their spread, say.
    size
        About how many rows there are: public, or declared. A wrong number may make the test refuse, never less
        private.
    share
        Which share of the rows surely lies within c of any place near the estimate.
    adjacency
        ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    Result
        The location; NaN and no interval if the test refused.

    Raises
    ------
    CannotMeet
        If the promise has no delta, or so few rows cannot pass.
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> x = np.random.default_rng(0).standard_t(1.5, size=5000) + 20
    >>> fit = dp.infer.huber_location(x, dp.ApproxDP(1.0, 1e-6), bounds=(-1e9, 1e9), c=2.0, size=5000)
    >>> bool(abs(fit.params[0] - 20) < 0.3), fit.interval_available
    (True, True)
    """
    return HuberLocation(
        guarantee, bounds=checks.interval("bounds", bounds), c=c, size=size, share=share, adjacency=adjacency
    ).release(x)
