"""The noise that gradient descent gathers when every person adds noise of their own."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Reals


def accumulated_noise(curvature: Reals, step: float, rounds: int) -> Reals:
    """The covariance of theta_K given the rows, in units of the variance of one mean message.

    theta_{k+1} = theta_k - step (g(theta_k) + xi_k) with curvature H has sum_k (I - step H)^{K-1-k} step xi_k in its
    error, so that the covariance is step^2 sum_{j<K} (I - step H)^{2j}: not the last round's noise alone. A mean of n
    messages with noise of standard deviation s each has variance s^2/n: of the order of the sampling error, for all n.
    """
    values, vectors = np.linalg.eigh(curvature)
    shrink = (1 - step * values) ** 2
    total = step**2 * sum(shrink**j for j in range(rounds))
    return np.asarray((vectors * total) @ vectors.T)
