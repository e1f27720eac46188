"""A median by whichever mechanism is expected to err least, chosen without a look at the data."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dalenius.adaptive.inverse_sensitivity import InverseSensitivity
from dalenius.adaptive.ptr import DistanceTest, LocalMedian, ProposeTestRelease, Refusal
from dalenius.adaptive.smooth.gaussian import SmoothGaussian
from dalenius.adaptive.smooth.laplace import SmoothLaplace
from dalenius.adaptive.smooth.laplace_log_normal import SmoothLaplaceLogNormal
from dalenius.adaptive.smooth.noise import SmoothNoise, checked_guarantee
from dalenius.adaptive.smooth.student_t import SmoothCauchy, SmoothStudentT
from dalenius.adaptive.statistics import Median
from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import CannotMeet
from dalenius.mechanisms import Mechanism, Quantile
from dalenius.mechanisms._support.interval_grid import IntervalGrid

SMOOTH: tuple[type[SmoothNoise], ...] = (
    SmoothCauchy,
    SmoothStudentT,
    SmoothLaplace,
    SmoothGaussian,
    SmoothLaplaceLogNormal,
)
WORTHWHILE = 0.99
"""The exponential mechanism is taken unless the error of another one is at most this share of its own."""
LARGEST_REFERENCE = 1_000_000
RADII = (0.0, 1.0, 10.0)
"""Radii of inverse sensitivity that are tried, in mean gaps between the records in the middle."""

SPARE_RECORDS = (0, 5, 10, 20, 40)
"""By how many records the reference passes the test of a proposal."""
WRONG_PASS = 0.99
"""Share of delta for data that should not pass: the rest is for rounding."""

Reals = NDArray[np.float64]


class Candidate(NamedTuple):
    """A mechanism that keeps the budget, and its mean absolute error on the reference."""

    mechanism: Mechanism
    error: float


class MedianRelease(NamedTuple):
    """What was released, and by what: `mechanism.loss` is what it cost.

    Parameters
    ----------
    value
        The private median; `Refusal()` where propose-test-release was chosen and refused.
    mechanism
        The mechanism that was chosen.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.adaptive.MedianRelease(1.5, dp.mechanisms.Quantile(bounds=(0, 2), epsilon=1.0)).value
    1.5
    """

    value: float | Refusal
    mechanism: Mechanism


def median(
    values: Any,
    bounds: tuple[float, float],
    budget: Guarantee,
    *,
    size: int,
    spread: float | None = None,
    granularity: Any = None,
    adjacency: Adjacency = ADD_REMOVE,
) -> MedianRelease:
    """A private median of numbers in public bounds, by the mechanism that `median_mechanism` chooses.

    Parameters
    ----------
    values
        One number for each record; there may be none.
    bounds
        (lowest, highest): what is public about the values.
    budget
        The promise that the release keeps.
    size
        About how many records there are: public, or declared. A wrong number costs accuracy, never privacy.
    spread
        A guess at the interquartile range that does not come from the data; by default 1/20 of the bounds' width.
    granularity
        The spacing of the answers; by default between 2^24 and 2^25 points fill the interval.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    MedianRelease
        The value and the mechanism it came from.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range, or the values are not finite numbers.

    Examples
    --------
    >>> import dalenius as dp
    >>> ages = [20, 30, 30, 30, 40] * 400
    >>> found = dp.adaptive.median(ages, (0, 100), dp.PureDP(1.0), size=2000)
    >>> abs(found.value - 30) < 1, found.mechanism.loss.epsilon(delta=0.0) <= 1
    (True, True)
    """
    mechanism = median_mechanism(
        bounds, budget, size=size, spread=spread, granularity=granularity, adjacency=adjacency
    )
    return MedianRelease(mechanism.release(values), mechanism)


def median_mechanism(
    bounds: tuple[float, float],
    budget: Guarantee,
    *,
    size: int,
    spread: float | None = None,
    granularity: Any = None,
    adjacency: Adjacency = ADD_REMOVE,
) -> Mechanism:
    """The mechanism expected to err least for a median.

    Tried are smooth sensitivity with five kinds of noise (of which each keeps some budgets), propose-test-release for
    budgets with a delta, inverse sensitivity, and the exponential mechanism, `dp.mechanisms.Quantile`, which is also
    the K-norm gradient mechanism. Chosen is the least mean absolute error on made-up numbers, normal around the middle
    of the bounds, a refusal counted as an error of the bounds' width; no data are involved.

    Parameters
    ----------
    bounds
        (lowest, highest): what is public about the values.
    budget
        The promise that the release keeps.
    size
        About how many records there are.
    spread
        A guess at the interquartile range; by default 1/20 of the bounds' width.
    granularity
        The spacing of the answers; by default between 2^24 and 2^25 points fill the interval.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Returns
    -------
    Mechanism
        Its `release` takes the numbers.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    CannotMeet
        If nothing keeps the budget.

    Examples
    --------
    >>> import dalenius as dp
    >>> type(dp.adaptive.median_mechanism((0, 100), dp.PureDP(1.0), size=1000)).__name__
    'Quantile'
    """
    points = IntervalGrid.of(bounds, granularity)
    low, high = points.bounds
    width = (high - low) / 20 if spread is None else checks.positive("spread", spread)
    count = min(checks.count("size", size, least=1), LARGEST_REFERENCE)
    checked_guarantee(budget)
    return _best(points, budget, count, width, checked_adjacency(adjacency))


@lru_cache(maxsize=64)
def _best(
    points: IntervalGrid, budget: Guarantee, count: int, width: float, adjacency: Adjacency
) -> Mechanism:
    """The choice, which takes a second and is the same every time."""
    reference = made_up_numbers(points.bounds, count, width)
    options = {"bounds": points.bounds, "granularity": points.granularity, "adjacency": adjacency}
    first, *others = candidates(budget, reference, width / count, options)
    best = min(others, key=lambda found: found.error)
    return (best if best.error < WORTHWHILE * first.error else first).mechanism


def candidates(budget: Guarantee, reference: Reals, gap: float, options: dict[str, Any]) -> list[Candidate]:
    """Every mechanism that keeps the budget, with what it is expected to err by; the exponential one comes first."""
    statistic, exponential = Median(**options), Quantile.calibrated(budget, **options)
    centre = statistic.value(reference)
    found = [Candidate(exponential, _mean_error(exponential, reference, centre))]
    for radius in RADII:
        inverse = InverseSensitivity(epsilon=exponential.epsilon, radius=radius * gap, **options)
        found.append(Candidate(inverse, _mean_error(inverse, reference, centre)))
    for kind in SMOOTH:
        try:
            smooth = kind.planned(budget, statistic=statistic, reference=reference)
        except CannotMeet:
            continue
        found.append(Candidate(smooth, smooth.typical_error(reference)))
    if isinstance(budget, ApproxDP) and budget.delta > 0:
        found += _proposals(budget, statistic, reference)
    return found


def _proposals(budget: ApproxDP, statistic: Median, reference: Reals) -> list[Candidate]:
    """Half of epsilon for the test, half for the noise; half as much again as what the reference would pass with.

    The reference is k records from data more sensitive than A_(k-1).
    """
    width, found = statistic.bounds[1] - statistic.bounds[0], []
    epsilon = budget.epsilon / 2
    for spare in SPARE_RECORDS:
        size = statistic.global_sensitivity
        for _ in range(2):  # the threshold does not depend on the sensitivity
            local = LocalMedian(
                sensitivity=size, scale=size / epsilon, bounds=statistic.bounds, adjacency=statistic.adjacency
            )
            test = DistanceTest(mechanism=local, epsilon=epsilon, wrong_pass=budget.delta * WRONG_PASS)
            records = test.threshold + spare
            local_size = 1.5 * statistic.local_sensitivity(reference, records - 1)
            size = min(max(local_size, float(statistic.points.granularity)), statistic.global_sensitivity)
        refused = math.exp(-epsilon * (spare + 1)) / (1 + math.exp(-epsilon))
        proposal = ProposeTestRelease(mechanism=local, test=test)
        if budget.holds(proposal.loss):
            found.append(Candidate(proposal, (1 - refused) * local.scale + refused * width))
    return found


def _mean_error(mechanism: InverseSensitivity | Quantile, reference: Reals, centre: float) -> float:
    """The mean distance of an answer from the centre, for candidates so dense that they are an interval."""
    if isinstance(mechanism, InverseSensitivity):
        pieces = mechanism.pieces(reference)
        step = float(mechanism.points.granularity)
        starts, ends, scores = pieces.starts * step, (pieces.starts + pieces.lengths) * step, pieces.scores
    else:
        edges = np.concatenate(([mechanism.bounds[0]], np.sort(reference), [mechanism.bounds[1]]))
        starts, ends = edges[:-1], edges[1:]
        scores = -np.abs(np.arange(len(reference) + 1) - len(reference) / 2)
    width = mechanism.bounds[1] - mechanism.bounds[0]  # squares of very large or small numbers are not floats
    starts, ends, centre = starts / width, ends / width, centre / width
    lengths = ends - starts
    weights = lengths * np.exp((scores - scores.max()) / mechanism.scale)
    inside = np.clip(centre, starts, ends)
    halves = (inside - starts) * np.abs(centre - (starts + inside) / 2) + (ends - inside) * np.abs(
        (inside + ends) / 2 - centre
    )
    mean = np.divide(halves, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return float(np.sum(weights * mean) / np.sum(weights)) * width


def made_up_numbers(bounds: tuple[float, float], count: int, spread: float) -> Reals:
    """Normal around the middle of the bounds, with this interquartile range: the same ones every time.

    Their quantiles are apart by gaps that look exponential, as those of a sample do.
    """
    low, high = bounds
    gaps = -np.log(np.modf((np.arange(count + 1) + 0.5) * ((5**0.5 - 1) / 2))[0])
    normal = ndtri(np.cumsum(gaps[:-1]) / gaps.sum())
    return np.asarray(np.clip(low + (high - low) / 2 + normal * (spread / 1.349), low, high))
