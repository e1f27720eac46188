"""Does a sample have a given law? With a false-alarm probability that is a bound, not an approximation.

Each event of a finite family is counted; under the law its count is binomial, and its exact tail
probability is compared with ALARM over twice the number of events. By the union bound a correct sampler
fails with probability at most ALARM, whatever the dependence between the events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

ALARM = 1e-9

Pmf = Callable[[NDArray[Any]], NDArray[np.float64]]


class WrongLaw(AssertionError):
    """The sample does not have the law."""


def check_events(counts: Any, probabilities: Any, n: int, alarm: float = ALARM) -> None:
    """Each of several events: how often it happened in n draws, and its probability."""
    counts, probabilities = np.asarray(counts), np.asarray(probabilities, dtype=np.float64)
    threshold = alarm / (2 * len(counts))
    lower, upper = stats.binom.cdf(counts, n, probabilities), stats.binom.sf(counts - 1, n, probabilities)
    wrong = np.flatnonzero(np.minimum(lower, upper) < threshold)
    if len(wrong):
        i = wrong[0]
        expected = n * probabilities[i]
        raise WrongLaw(f"event {i} of {len(counts)}: {counts[i]} of {n} times, expected {expected:.1f}")


def check_integers(values: Any, pmf: Pmf, support: NDArray[Any], alarm: float = ALARM) -> None:
    """Single values that are likely enough, and both tails at every place where they are.

    `support` holds all but a negligible part of the law; what is outside is judged with its end points.
    """
    values = np.asarray(values).reshape(-1)
    n = len(values)
    p = pmf(support)
    p = p / p.sum()
    places = np.clip(np.searchsorted(support, values), 0, len(support) - 1)
    counts = np.bincount(places, minlength=len(support))
    single = n * p >= 20
    upper_p, upper_c = p[::-1].cumsum()[::-1], counts[::-1].cumsum()[::-1]
    tails = np.unique(np.searchsorted(-upper_p, -np.array([0.9, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4])))
    tails = tails[(tails > 0) & (tails < len(support))]
    check_events(
        np.concatenate([counts[single], upper_c[tails]]),
        np.concatenate([p[single], np.minimum(upper_p[tails], 1.0)]),
        n,
        alarm,
    )


def check_continuous(values: Any, distribution: Any, alarm: float = ALARM) -> None:
    """The parts of a sample below the quantiles of a continuous law."""
    values = np.asarray(values).reshape(-1)
    q = np.array([1e-4, 1e-3, 0.01, 0.03, *np.arange(0.05, 0.96, 0.05), 0.97, 0.99, 0.999, 0.9999])
    edges = distribution.ppf(q)
    check_events([(values <= edge).sum() for edge in edges], q, len(values), alarm)
