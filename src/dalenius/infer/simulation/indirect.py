"""The parameter whose simulated statistics are, on average, the released ones."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import qmc

from dalenius.core.arrays import Reals
from dalenius.infer.simulation.moments import Local, Moments, covariance_of

STARTS = 64
STEPS = 30


def indirect_estimate(released: Reals, moments: Moments) -> Local:
    """The adaptive indirect estimator (Wang, Chang and Awan 2025): distances are weighted by the covariance there.

    What bounds do to the statistics, they do to the simulated ones as well, so that the estimate is free of it. From
    the best of several places, by Gauss-Newton steps, each halved until it is an improvement.
    """
    places = moments.low + (moments.high - moments.low) * qmc.Sobol(len(moments.low), scramble=False).random(
        STARTS
    )
    here = moments.local(min(places, key=lambda theta: _distance(released, moments, theta)))
    far = _distance(released, moments, here.theta)
    for _ in range(STEPS):
        step = here.weights @ (released - here.mean)
        moved = False
        for _ in range(12):
            theta = np.clip(here.theta + step, moments.low, moments.high)
            there = _distance(released, moments, theta)
            if there < far:
                moved = True
                break
            step = step / 2
        if not moved:
            break
        errors = np.sqrt(np.maximum(np.diag(here.covariance), 1e-300))
        small = bool((np.abs(theta - here.theta) < 1e-3 * errors).all())
        here, far = moments.local(theta), there
        if small:
            break
    return here


def misfit(released: Reals, at: Local, moments: Moments) -> float:
    """The distance of the released statistics from those at an estimate, in standard deviations."""
    gap, covariance = _gap(released, moments, at.theta)
    return math.sqrt(max(float(gap @ np.linalg.solve(covariance, gap)), 0.0))


def _distance(released: Reals, moments: Moments, theta: Reals) -> float:
    """Minus twice the normal log-likelihood of the released statistics: far away, a wide law must not look near."""
    gap, covariance = _gap(released, moments, theta)
    sign, size = np.linalg.slogdet(covariance)
    return float(gap @ np.linalg.solve(covariance, gap) + size) if sign > 0 else np.inf


def _gap(released: Reals, moments: Moments, theta: Reals) -> tuple[Reals, Reals]:
    """Between the released and the mean of the simulated statistics, and its covariance."""
    simulated = moments.statistics(theta)
    covariance = covariance_of(simulated) + np.diag(moments.noise.variance)
    return released - simulated.mean(axis=0), covariance
