"""Coefficients of a lower triangular Toeplitz strategy with which running sums have little noise.

Nothing here is about privacy: whatever the coefficients, their sensitivity is computed afterwards, exactly.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import minimize

from dalenius.calculus.participation.schedule import Schedule
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.running_weights import RunningWeights
from dalenius.mechanisms._support.toeplitz_strategies import MOST_BUFFERS

ITERATIONS = 400


def best_toeplitz(
    steps: int,
    *,
    bands: int | None = None,
    participations: int = 1,
    separation: int = 1,
    epoch: int | None = None,
    decay: float = 1.0,
    momentum: float = 0.0,
    window: int | None = None,
    error: Literal["mean", "largest"] = "mean",
) -> tuple[float, ...]:
    """Coefficients for `CorrelatedGaussian` with the least squared error of running sums, found numerically.

    L-BFGS over c_1, c_2, ... (c_0 = 1) from the square root of the weights, on the product of the squared error and
    the squared sensitivity of the pattern 0, b, 2b, .... For sums and single participation this is the best Toeplitz
    factorisation to many digits (Choquette-Choo, McMahan, Rush and Thakurta 2023 optimise all lower triangular ones).

    Parameters
    ----------
    steps
        How many steps there are.
    bands
        How many coefficients; by default `steps` of them, or `separation` where records take part several times.
    participations
        In how many steps one record takes part at most.
    separation
        How many steps apart any two of them are at least.
    epoch
        In place of `separation`: they are a multiple of so many steps apart.
    decay
        As for `CorrelatedGaussian`.
    momentum
        As for `CorrelatedGaussian`.
    window
        As for `CorrelatedGaussian`.
    error
        "mean" over the steps, or "largest", which is that of the last step.

    Returns
    -------
    tuple of float
        c_0, c_1, ...

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> from dalenius.mechanisms import best_toeplitz
    >>> [round(c, 3) for c in best_toeplitz(100, bands=4)]
    [1.0, 0.707, 0.607, 0.525]
    """
    schedule = Schedule.of(steps, participations, separation, epoch)
    apart = schedule.separation if schedule.longest > 1 else schedule.steps
    count = min(checks.count("bands", apart if bands is None else bands, least=1), schedule.steps)
    weights = RunningWeights(decay, momentum, window)
    checks.one_of("error", error, "mean", "largest")
    n = schedule.steps
    late = np.arange(n, 0, -1) / n if error == "mean" else np.ones(n)
    start = weights.square_root(count)
    if count == 1:
        return (1.0,)
    objective = Objective(weights.weights(n), late, schedule)
    ratios = start[1:] / start[:-1]
    if schedule.longest == 1 or count <= schedule.separation:
        free = minimize(
            objective,
            np.cumprod(ratios),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": ITERATIONS, "maxfun": 5 * ITERATIONS},
        )
        return (1.0, *free.x.tolist())

    # Columns of one pattern meet. The worst one is 0, b, 2b, ... if c falls, so c_k = exp(-s_1 - ... - s_k), s >= 0.
    def falling(s: Reals) -> tuple[float, Reals]:
        c = np.exp(-np.cumsum(s))
        value, gradient = objective(c)
        return value, -np.cumsum((c * gradient)[::-1])[::-1]

    found = minimize(
        falling,
        -np.log(np.clip(ratios, 1e-12, 1.0)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 50.0)] * (count - 1),
        options={"maxiter": ITERATIONS, "maxfun": 5 * ITERATIONS},
    )
    return (1.0, *np.exp(-np.cumsum(found.x)).tolist())


def best_buffers(
    steps: int,
    buffers: int = 4,
    *,
    participations: int = 1,
    separation: int = 1,
    epoch: int | None = None,
    decay: float = 1.0,
    momentum: float = 0.0,
    window: int | None = None,
    error: Literal["mean", "largest"] = "mean",
) -> tuple[tuple[float, float], ...]:
    """Buffers for `CorrelatedGaussian` with little squared error of running sums, found numerically.

    L-BFGS over decays and scales of c_0 = 1, c_k = sum of scale decay^(k-1) (McMahan, Xu and Zhang 2024 optimise them
    for several participations). Four are within 1 % of the error of the best Toeplitz strategy for one participation,
    and within 6 % for several (experiments/CORRELATED_NOISE.md).

    Parameters
    ----------
    steps
        How many steps there are.
    buffers
        How many, from 1 to 16.
    participations
        In how many steps one record takes part at most.
    separation
        How many steps apart any two of them are at least.
    epoch
        In place of `separation`: they are a multiple of so many steps apart.
    decay
        As for `CorrelatedGaussian`.
    momentum
        As for `CorrelatedGaussian`.
    window
        As for `CorrelatedGaussian`.
    error
        "mean" over the steps, or "largest", which is that of the last step.

    Returns
    -------
    tuple of pairs
        (decay, scale) of each buffer.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> from dalenius.mechanisms import best_buffers
    >>> [(round(d, 2), round(s, 2)) for d, s in best_buffers(100, 2)]
    [(0.66, 0.28), (0.97, 0.22)]
    """
    schedule = Schedule.of(steps, participations, separation, epoch)
    count, n = checks.count("buffers", buffers, least=1), schedule.steps
    if count > MOST_BUFFERS:
        raise InvalidParameter.of("buffers", f"buffers is {count}; at most {MOST_BUFFERS} are allowed.")
    checks.one_of("error", error, "mean", "largest")
    late = np.arange(n, 0, -1) / n if error == "mean" else np.ones(n)
    objective, k = (
        Objective(RunningWeights(decay, momentum, window).weights(n), late, schedule),
        np.arange(n - 1),
    )

    def column(free: Reals) -> tuple[Reals, Reals, Reals]:
        decays, scales = 1 / (1 + np.exp(-free[:count])), np.exp(free[count:])
        with np.errstate(under="ignore"):
            return decays, scales, decays[:, None] ** k

    def value(free: Reals) -> tuple[float, Reals]:
        decays, scales, powers = column(free)
        found, gradient = objective(scales @ powers)
        by_decay = scales * (powers @ (gradient * k)) * (1 - decays)
        return found, np.concatenate((by_decay, powers @ gradient * scales))

    # c_k of about 1/sqrt(pi k) is a mixture of decays over 1 to n steps.
    spans = np.geomspace(1.5, max(n, 2), count)
    start = np.concatenate((np.log(spans), np.log(0.4 / np.sqrt(spans))))
    limits = [(-5.0, math.log(2.0**17))] * count + [(-20.0, 0.0)] * count
    found = minimize(
        value,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        options={"maxiter": 5 * ITERATIONS, "maxfun": 10 * ITERATIONS},
    )
    decays, scales, _ = column(found.x)
    scales = scales * min(1.0, 0.999999 / scales.sum())
    return tuple(sorted(zip(decays.tolist(), scales.tolist(), strict=True)))


class Objective:
    """log(sum of w_k b_k^2) + log(squared sensitivity), b = a/c as power series, with its gradient."""

    def __init__(self, weights: Reals, late: Reals, schedule: Schedule) -> None:
        self.late, self.schedule, self.n = late, schedule, schedule.steps
        self.size = next_fast_len(2 * self.n, real=True)
        self.weights = rfft(weights, self.size)

    def noise(self, column: Reals) -> Reals:
        """b = a/c: how noise in one measurement enters the sums, step after step."""
        return np.asarray(irfft(rfft(undone(column, self.n), self.size) * self.weights, self.size)[: self.n])

    def __call__(self, free: Reals) -> tuple[float, Reals]:
        n, count = self.n, len(free) + 1
        inverse = undone(np.concatenate(([1.0], free)), n)
        spectrum = rfft(inverse, self.size)
        b = irfft(spectrum * self.weights, self.size)[:n]
        error = float(self.late @ b**2)
        # d(1/c) = -(1/c)^2 dc, and the adjoint of a product of series is a correlation.
        back = rfft(2 * self.late * b / error, self.size) * np.conj(self.weights)
        square = rfft(irfft(spectrum**2, self.size)[:n], self.size)
        by_error = -irfft(rfft(irfft(back, self.size)[:n], self.size) * np.conj(square), self.size)[1:count]
        moved, k, apart = np.zeros(n), self.schedule.longest, self.schedule.separation
        column = np.concatenate(([1.0], free, np.zeros(n - count)))
        for start in range(0, k * apart, apart):
            moved[start:] += column[: n - start]
        square_length = float(moved @ moved)
        by_length = np.zeros(n)
        for start in range(0, k * apart, apart):
            by_length[: n - start] += 2 * moved[start:] / square_length
        value = float(np.log(error) + np.log(square_length))
        return value, by_error + by_length[1:count]


def undone(column: Reals, n: int) -> Reals:
    """1/c as a power series, n terms of it, by Newton's iteration."""
    inverse = np.array([1 / column[0]])
    while len(inverse) < n:
        length = min(2 * len(inverse), n)
        size = next_fast_len(3 * length, real=True)
        product = irfft(rfft(column[:length], size) * rfft(inverse, size), size)[:length]
        product = -product
        product[0] += 2.0
        inverse = irfft(rfft(product, size) * rfft(inverse, size), size)[:length]
    return np.asarray(inverse)
