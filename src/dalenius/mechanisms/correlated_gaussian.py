"""Weighted sums of vectors that keep growing, with noise that is correlated from step to step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.signal import lfilter

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.participation.schedule import Schedule
from dalenius.calculus.participation.toeplitz import toeplitz_squares
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.core.checks import float_up
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.correlated_stream import CorrelatedStream, measured
from dalenius.mechanisms._support.exact_arrays import real_numbers
from dalenius.mechanisms._support.running_weights import RunningWeights
from dalenius.mechanisms._support.toeplitz_strategies import ENTRY, WIDEST, Bands, Buffers, Strategy
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.noise import Grid, discrete_gaussian

LONGEST = 2**17
"""Steps at most."""

FINE, COARSEST, LARGEST_NOISE = 30, 12, 54
"""A contribution of length `clip` is 2^30 steps of the grid, or as many as keep the noise below 2^54, 2^12 at least."""


@dataclass(frozen=True, kw_only=True)
class CorrelatedGaussian(Mechanism):
    """Releases weighted running sums of vectors, step by step, with Gaussian noise that is correlated between steps.

    Measured is y = C x + Z: row t of x is the sum of what records contribute in step t, each at most `clip` long in
    l2 norm, C is lower triangular Toeplitz with the given coefficients, Z is noise. After step t the sum over s <= t
    of a_(t-s) x_s is estimated from y, without bias: A C^-1 y. The weights are a_k = decay^k; with momentum those of
    theta_t = decay theta_(t-1) + m_t, m_t = momentum m_(t-1) + x_t; in a window, those of its last `window` steps.

    Loss. A record takes part in at most `participations` steps, any two at least `separation`, or a multiple of
    `epoch`, apart. How far that moves C x is computed from the coefficients in whole numbers, and the noise is
    `sigma` times that (twice with REPLACE_ONE), so that all steps together cost what one number of sensitivity 1 with
    noise sigma costs: also if what is contributed depends on earlier releases (docs/proofs/correlated-noise.md).
    Entries of x are put on a grid and the noise is drawn exactly, as for `Gaussian`.

    Parameters
    ----------
    steps
        Steps in all, 131 072 at most.
    sigma
        The noise, in multiples of what one record moves: the sigma of `losses.gaussian`.
    clip
        The most that one record contributes to a step, in l2 norm.
    participations
        In how many steps one record takes part at most.
    separation
        How many steps apart any two of them are at least.
    epoch
        In place of `separation`: they are a multiple of so many steps apart.
    coefficients
        c_0, c_1, ... of the strategy, c_0 above 0 and none above 16 c_0, 8192 at most (`best_toeplitz` finds good
        ones); by default those of the square root of the weights (Kalinin and Lampert 2024).
    bands
        How many coefficients of the square root are kept; by default the number with the least mean squared error.
    buffers
        In place of coefficients, pairs (decay, scale) of a buffered linear Toeplitz strategy, c_0 = 1 and c_k the sum
        of scale decay^(k-1), 16 at most (Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024; `best_buffers`
        finds good ones): a stream then keeps one vector for each of them, however many steps there are.
    decay
        In (0, 1]; 1 for plain sums.
    momentum
        In [0, 1).
    window
        How many steps a sum goes back; None for all.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.mechanisms import CorrelatedGaussian
    >>> m = CorrelatedGaussian(steps=1000, sigma=2.0, participations=4, separation=250)
    >>> stream = m.start(shape=(3,))
    >>> stream.add([0.5, 0.0, -0.5]).shape, len(stream)
    ((3,), 1)
    >>> m.loss.epsilon(1e-6) < 2.4, bool(m.standard_errors().max() < 22)
    (True, True)
    """

    steps: int
    sigma: float
    clip: float = 1.0
    participations: int = 1
    separation: int = 1
    epoch: int | None = None
    coefficients: tuple[float, ...] | None = None
    bands: int | None = None
    buffers: tuple[tuple[float, float], ...] | None = None
    decay: float = 1.0
    momentum: float = 0.0
    window: int | None = None
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", self._schedule.steps)
        if self.steps > LONGEST:
            raise InvalidParameter.of("steps", f"steps is {self.steps}; it must be at most {LONGEST}.")
        sigma = checks.positive("sigma", self.sigma, "Noise of scale 0 hides nothing.")
        if not 1e-3 <= sigma <= 1e6:
            raise InvalidParameter.of("sigma", f"sigma is {sigma}; it must be from 1e-3 to 1e6.")
        object.__setattr__(self, "sigma", sigma)
        clip = checks.within("clip", self.clip, "from 1e-100 to 1e100", lambda x: 1e-100 <= x <= 1e100)
        object.__setattr__(self, "clip", clip)
        checked_adjacency(self.adjacency)
        given = [name for name in ("coefficients", "bands", "buffers") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InvalidParameter.of(given[1], f"give `{given[0]}` or `{given[1]}`, not both.")
        if self.coefficients is not None:
            object.__setattr__(self, "coefficients", Bands.of(self.coefficients).column)
        elif self.buffers is not None:
            object.__setattr__(self, "buffers", Buffers.of(self.buffers).pairs)
        else:
            best = _best_bands(self._running, self._schedule) if self.bands is None else self.bands
            object.__setattr__(self, "bands", checks.count("bands", best, least=1))
            if best > WIDEST:
                raise InvalidParameter.of("bands", f"bands is {best}; at most {WIDEST} are allowed.")
        _ = self._grid, self.loss

    @classmethod
    def calibrated(cls, guarantee: Guarantee, *, steps: int, **options: Any) -> Self:
        """The least noise that keeps a guarantee, for all steps together.

        Parameters
        ----------
        guarantee
            What all that is ever released must satisfy.
        steps
            As for the mechanism.
        **options
            The other parameters of the mechanism.

        Returns
        -------
        Self
            A mechanism whose loss satisfies the guarantee.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no Gaussian noise keeps the guarantee.
        """
        adjacency = options.get("adjacency", ADD_REMOVE)
        sigma = calibrate(lambda s: losses.gaussian(s, adjacency=adjacency), guarantee)
        return cls(steps=steps, sigma=sigma, **options)

    @cached_property
    def loss(self) -> Loss:
        """Of all steps together."""
        return losses.gaussian(self.sigma, adjacency=self.adjacency)

    @cached_property
    def _schedule(self) -> Schedule:
        return Schedule.of(self.steps, self.participations, self.separation, self.epoch)

    @cached_property
    def _running(self) -> RunningWeights:
        return RunningWeights(self.decay, self.momentum, self.window)

    # -- the strategy, in whole numbers --------------------------------------------------------------------

    @cached_property
    def _strategy(self) -> Strategy:
        if self.buffers is not None:
            return Buffers(self.buffers)
        if self.coefficients is not None:
            return Bands(self.coefficients[: self.steps])
        assert self.bands is not None
        return Bands(tuple(self._running.square_root(min(self.bands, self.steps)).tolist()))

    @cached_property
    def _square(self) -> Fraction:
        """How far contributions of length 1 move C x, squared and bounded from above."""
        replaced = 1 if self.adjacency is ADD_REMOVE else 4
        return replaced * self._strategy.square(self._schedule)

    @cached_property
    def _grid(self) -> Grid:
        """A power of two; numbers are clamped where sums would not fit 64 bits."""
        moved = self.sigma * math.sqrt(float(self._square))
        digits = min(FINE, LARGEST_NOISE - math.ceil(math.log2(moved)) - 1)
        if digits < COARSEST:
            raise InvalidParameter.of("sigma", f"sigma is {self.sigma}: such noise does not fit 64 bits.")
        granularity = Fraction(2) ** (math.frexp(self.clip)[1] - 1 - digits)
        most = self._strategy.most
        return Grid(granularity, bounds=(-most * granularity, most * granularity))

    def _parameter(self, size: int) -> float:
        """Of the noise, in whole steps: Lemmas 1 and 3 of docs/mechanisms-on-a-grid.md, with one step to spare."""
        one = Fraction(self._grid.steps(self.clip, size, "l2"))
        moved = math.isqrt(math.ceil(self._square * one**2)) + 1
        # Roundings of a buffer differ in every step and coordinate, and twice where two records do.
        entries = self.steps * size * (1 if self.adjacency is ADD_REMOVE else 4)
        moved += math.ceil(self._strategy.drift * (math.isqrt(entries) + 1))
        parameter = (moved + 1) * Fraction(self.sigma)
        if parameter < 128 / Fraction(self.sigma):
            raise ArithmeticError("the grid is too coarse for this noise; this is a defect")
        if parameter > 1 << 56:
            raise InvalidParameter(f"a vector of {size} numbers is too long for noise of 64 bits.")
        return float_up(parameter)

    @property
    def _unit(self) -> float:
        """Of the entries of C x."""
        return float(self._grid.granularity) / ENTRY

    @property
    def noise(self) -> float:
        """The standard deviation of Z for the first coefficient 1: sigma times what one record moves."""
        return self.sigma * self.clip * math.sqrt(float(self._square)) / ENTRY

    # -- releases ------------------------------------------------------------------------------------------

    def _units(self, value: Any) -> Ints:
        return np.asarray(self._grid.to_units(real_numbers(value)), dtype=np.int64)

    def _draw(self, size: int, shape: tuple[int, ...]) -> Ints:
        return np.asarray(discrete_gaussian(self._parameter(size), shape))

    def start(self, shape: tuple[int, ...] = ()) -> CorrelatedStream:
        """A stream that takes the sums of one step after another; everything it says costs `loss`.

        Parameters
        ----------
        shape
            Of the vector of one step; () for a number.

        Returns
        -------
        CorrelatedStream
            Its `add(value)` takes the sum of one step and returns the weighted sum so far, with noise.

        Raises
        ------
        InvalidParameter
            If the shape is not one.
        """
        sizes = tuple(
            checks.count("shape", size, least=1) for size in (shape if np.ndim(shape) else (shape,))
        )
        size = math.prod(sizes)
        self._parameter(size)
        weights = (self._running.numerator, self._running.denominator)
        return CorrelatedStream(
            sizes, self.steps, self._strategy, self._unit, weights, self._units, self._draw
        )

    def release(self, value: Any) -> Reals:
        """All weighted sums of a whole stream at once.

        Parameters
        ----------
        value
            Finite numbers, a row (or a number) for each step; `steps` of them, or fewer.

        Returns
        -------
        ndarray
            The weighted sum after each step, with noise, of the same shape.

        Raises
        ------
        InvalidParameter
            If these are not finite numbers, or too many steps.
        """
        return np.asarray(self.releases(value, 1)[0])

    def releases(self, value: Any, times: int) -> Any:
        """Independent releases of one stream, along the first axis.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        ndarray
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        units, times = self._units(value), checks.count("times", times)
        if units.ndim == 0 or len(units) > self.steps:
            raise InvalidParameter(
                f"a stream is a list of at most {self.steps} numbers or vectors (`steps`)."
            )
        flat = units.reshape(len(units), -1)
        steps, size = flat.shape
        noise = self._draw(size, (times, steps, size))
        state, y = self._strategy.start(size), np.empty((times, steps, size))
        for t in range(steps):
            state = self._strategy.next(state, flat[t])
            y[:, t] = measured(self._strategy.row, state, noise[:, t])
        entries = lfilter(*self._strategy.undone, y, axis=1)
        totals = lfilter(self._running.numerator, self._running.denominator, entries, axis=1)
        return np.asarray(totals * self._unit).reshape(times, *units.shape)

    @property
    def ways(self) -> Mapping[str, Callable[[Any], Any]]:
        return {"release": self.release, "start": self._streamed}

    def _streamed(self, value: Any) -> Reals:
        numbers = real_numbers(value)
        stream = self.start(numbers.shape[1:])
        return np.array([stream.add(row) for row in numbers])

    def standard_errors(self, size: int = 1) -> Reals:
        """Of the weighted sum after each step, in every coordinate.

        Parameters
        ----------
        size
            Coordinates of a vector, which the grid has to be paid for: next to nothing.

        Returns
        -------
        ndarray
            Standard deviations of the noise, `steps` of them.

        Raises
        ------
        InvalidParameter
            If the size is not a count.
        """
        size = checks.count("size", size, least=1)
        column = self._running.noise(self._strategy.undone, self.steps)
        scale = self._parameter(size) * self._unit
        return np.asarray(scale * np.sqrt(np.cumsum(column**2)))

    @property
    def worst_pair(self) -> Neighbours:
        """A record that contributes `clip` in steps 0, b, 2b, ..., against nobody; REPLACE_ONE: its negative."""
        second = np.zeros(self.steps)
        second[list(self._schedule.first)] = self.clip
        return Neighbours(np.zeros(self.steps) if self.adjacency is ADD_REMOVE else -second, second)

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        """The worst pair, and vectors that are as long."""
        first, second = (np.outer(side, [0.6, -0.8]) for side in self.worst_pair)
        return self.worst_pair, Neighbours(first, second)


def _best_bands(weights: RunningWeights, schedule: Schedule) -> int:
    """Of the square root: with the least mean squared error for one sigma, among powers of two, b and all."""
    most = min(schedule.steps, WIDEST)
    if schedule.longest == 1:
        return most if weights.window is None else min(most, weights.window)
    tried: set[int] = {min(most, b) for b in (*(2**j for j in range(14)), schedule.separation, most)}

    def error(bands: int) -> float:
        column = weights.square_root(bands)
        late = np.arange(schedule.steps, 0, -1)
        square = float(toeplitz_squares(tuple(column.tolist()), schedule).upper)
        return square * float(late @ weights.noise((np.ones(1), column), schedule.steps) ** 2)

    return sorted(tried, key=error)[0]
