"""Composition of (epsilon, delta)-DP releases: basic, advanced, optimal; groups; disjoint parts.

Every rule here is stated for mechanisms that share one adjacency, whichever it is, and holds when each
mechanism is chosen after seeing the earlier answers but with the epsilons and deltas fixed beforehand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from dalenius.calculus.theorems.conversions import delta_from_renyi, epsilon_from_renyi, pure_log_mgf
from dalenius.calculus.theorems.numerics import (
    ULP,
    exact_sum_up,
    numbers,
    product_up,
    smallest,
    terms_up,
    up,
)
from dalenius.calculus.theorems.randomized_response import ComposedLoss, heterogeneous, homogeneous, lattice
from dalenius.core import checks
from dalenius.errors import CannotMeet, InvalidParameter

__all__ = [
    "Step",
    "advanced",
    "advanced_heterogeneous",
    "basic",
    "group",
    "inverse_advanced",
    "optimal_heterogeneous",
    "optimal_heterogeneous_epsilon",
    "optimal_homogeneous",
    "optimal_homogeneous_epsilon",
    "parallel",
]

MeanBound = Literal["dwork-roth", "bun-steinke", "tanh"]

_MEAN_BOUNDS: Final[dict[str, Callable[[float], float]]] = {
    "dwork-roth": lambda epsilon: epsilon * math.expm1(epsilon) if epsilon < 700 else math.inf,
    "bun-steinke": lambda epsilon: epsilon * epsilon / 2,
    "tanh": lambda epsilon: epsilon * math.tanh(epsilon / 2),
}

MAX_STEPS: Final = 10_000_000
MAX_LATTICE_STEPS: Final = 4_000


class Step(NamedTuple):
    """What each of k steps may cost, and what k of them were checked to cost together.

    Parameters
    ----------
    epsilon, delta
        Of one step.
    total_epsilon, total_delta
        Of all together.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.theorems.Step(0.1, 1e-7, 1.0, 1e-5).total_epsilon
    1.0
    """

    epsilon: float
    delta: float
    total_epsilon: float
    total_delta: float


def basic(epsilons: Iterable[float], deltas: Iterable[float] | None = None) -> tuple[float, float]:
    """Basic composition: epsilons and deltas add (Dwork, McSherry, Nissim and Smith 2006; Awan 2025, Thm 3.3).

    Parameters
    ----------
    epsilons
        The epsilon of every step.
    deltas
        The delta of every step; all 0 for None.

    Returns
    -------
    tuple of float
        (epsilon, delta) of all steps together.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> basic([1.0, 0.5], [1e-6, 0.0])
    (1.5, 1e-06)
    """
    costs, failures = _pairs(epsilons, deltas)
    return exact_sum_up(costs), min(1.0, exact_sum_up(failures))


def advanced(
    epsilon: float, k: int, slack: float, delta: float = 0.0, kl: MeanBound = "tanh"
) -> tuple[float, float]:
    """Advanced composition of k (epsilon, delta)-DP steps, or basic composition where that is better.

    Theorem (Dwork, Rothblum and Vadhan 2010; Awan 2025, Thm 10.1). The composition is
    (epsilon', k delta + slack)-DP with epsilon' = epsilon sqrt(2 k log(1/slack)) + k D, where D bounds the
    mean of one loss: "dwork-roth" epsilon (e^epsilon - 1), "bun-steinke" epsilon^2/2, or "tanh"
    epsilon tanh(epsilon/2), the exact maximum (that of randomized response, which every
    epsilon-DP release post-processes). Proof: the losses lie in [-epsilon, epsilon], so their
    centred sum exceeds epsilon sqrt(2 k log(1/slack)) with probability at most slack (Azuma), and a tail
    bound on the loss is a delta (Lemma 6).

    Returned is the minimum of this and (k epsilon, k delta): for few steps the basic sum wins, and then
    no slack is spent. :func:`optimal_homogeneous_epsilon` is never worse than either.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    k
        How many steps.
    slack
        The delta that the bound may spend, in (0, 1).
    delta
        The probability of failure, in [0, 1).
    kl
        Which bound on the mean loss of one step: 'dwork-roth', 'bun-steinke' or 'tanh'.

    Returns
    -------
    tuple of float
        (epsilon, delta) of all steps together.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> [round(x, 5) for x in advanced(0.1, 100, 1e-6, kl="dwork-roth")]
    [6.30823, 0.0]
    >>> advanced(0.125, 8, 1e-5)
    (1.0, 0.0)
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    k = checks.count("k", k, 1)
    slack = checks.open_probability("slack", slack, "It is the extra delta that buys the square root.")
    delta = checks.failure_probability("delta", delta)
    checks.one_of("kl", kl, *_MEAN_BOUNDS)
    mean = _MEAN_BOUNDS[kl](epsilon)
    spread = epsilon * math.sqrt(-2.0 * k * math.log(slack))
    bound = terms_up(spread, k * mean)
    simple = product_up(k, epsilon)
    failures = product_up(k, delta)
    if simple <= bound:
        return simple, min(1.0, failures)
    return bound, min(1.0, exact_sum_up([failures, slack]))


def advanced_heterogeneous(
    epsilons: Iterable[float], slack: float, deltas: Iterable[float] | None = None
) -> tuple[float, float]:
    """Advanced composition of steps with different costs, or basic composition where that is better.

    Theorem (Azuma-Hoeffding as in :func:`advanced`; Kairouz, Oh and Viswanath 2015). The composition is
    (epsilon', slack + sum delta_i)-DP with
    epsilon' = sqrt(2 log(1/slack) sum epsilon_i^2) + sum epsilon_i tanh(epsilon_i/2).

    Parameters
    ----------
    epsilons
        The epsilon of every step.
    slack
        The delta that the bound may spend, in (0, 1).
    deltas
        The delta of every step; all 0 for None.

    Returns
    -------
    tuple of float
        (epsilon, delta) of all steps together.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(advanced_heterogeneous([0.1] * 50 + [0.05] * 100, 1e-6)[0], 5)
    4.92705
    """
    costs, failures = _pairs(epsilons, deltas)
    slack = checks.open_probability("slack", slack, "It is the extra delta that buys the square root.")
    spread = math.sqrt(-2.0 * math.log(slack) * math.fsum(cost * cost for cost in costs))
    bound = terms_up(spread, math.fsum(cost * math.tanh(cost / 2) for cost in costs))
    simple, failed = basic(costs, failures)
    if simple <= bound:
        return simple, failed
    return bound, min(1.0, exact_sum_up([*failures, slack]))


def inverse_advanced(epsilon: float, k: int, slack: float) -> Step:
    """A per-step budget for k steps that together cost at most `epsilon`.

    Corollary (Dwork and Roth 2014, Cor 3.21; Awan 2025, Cor 10.1), for 0 < epsilon < 1: steps of
    epsilon/(2 sqrt(2 k log(1/slack))) and delta slack/(2k). As printed it has two faults: the total delta
    is k slack/(2k) + slack = 1.5 slack, and it fails for slack near 1 (k = 1, epsilon = .999,
    slack = .9). So the steps are recomposed, the totals are part of the answer, and a total above
    `epsilon` raises CannotMeet.

    It wastes about half of the budget: calibrate :func:`optimal_homogeneous_epsilon` instead.

    Parameters
    ----------
    epsilon
        What all steps may cost together, between 0 and 1.
    k
        How many steps.
    slack
        The delta that the bound may spend, in (0, 1).

    Returns
    -------
    Step
        What a step may cost, and what all of them were checked to cost.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    CannotMeet
        If the steps together cost more than `epsilon`.

    Examples
    --------
    >>> step = inverse_advanced(0.5, 100, 1e-6)
    >>> round(step.epsilon, 10), step.delta, step.total_epsilon <= 0.5, round(step.total_delta, 12)
    (0.0047559967, 5e-09, True, 1.5e-06)
    """
    epsilon = checks.positive("epsilon", epsilon)
    k = checks.count("k", k, 1)
    slack = checks.open_probability("slack", slack)
    step = epsilon / (2 * math.sqrt(-2.0 * k * math.log(slack)))
    failure = slack / (2 * k)
    total_epsilon, total_delta = advanced(step, k, slack, failure)
    if total_epsilon > epsilon:
        raise CannotMeet(
            f"{k} steps of {step} recompose to epsilon {total_epsilon}, above the {epsilon} asked for: the corollary "
            f"fails at slack {slack}. Use a smaller slack, or optimal_homogeneous_epsilon."
        )
    return Step(step, failure, total_epsilon, total_delta)


def optimal_homogeneous(epsilon: float, k: int, total_epsilon: float, delta: float = 0.0) -> float:
    """The exact delta of k (epsilon, delta)-DP steps at `total_epsilon`, rounded up.

    Theorem (Kairouz, Oh and Viswanath 2015, Thm 3.3). The adaptive composition is
    (total_epsilon, d)-DP, and no smaller d is right for every choice of steps, with
    d = 1 - (1-delta)^k (1 - E[(1 - e^(total_epsilon - L))_+]), L = epsilon (2J - k),
    J ~ Bin(k, e^epsilon/(1+e^epsilon)).

    The sum has positive terms only and its binomial weights are good to about 1e-12 relative at
    k = 10^6, also where d is 1e-300; that error is added to the result.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    k
        How many steps.
    total_epsilon
        The epsilon of all steps together.
    delta
        The probability of failure, in [0, 1).

    Returns
    -------
    float
        delta.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(optimal_homogeneous(1.0, 2, 1.0), 7), optimal_homogeneous(1.0, 2, 2.0)
    (0.3378347, 0.0)
    """
    epsilon, k, delta = _steps(epsilon, k, delta)
    total_epsilon = checks.nonnegative("total_epsilon", total_epsilon)
    failed = _any_failure({delta: k})
    return _with_failures(failed, 0.0 if epsilon == 0 else homogeneous(epsilon, k).delta(total_epsilon))


def optimal_homogeneous_epsilon(epsilon: float, k: int, total_delta: float, delta: float = 0.0) -> float:
    """The least total epsilon of k (epsilon, delta)-DP steps at `total_delta`, rounded up.

    Inverse of :func:`optimal_homogeneous`: the answer was seen to satisfy it.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    k
        How many steps.
    total_delta
        The delta of all steps together.
    delta
        The probability of failure, in [0, 1).

    Returns
    -------
    float
        epsilon.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(optimal_homogeneous_epsilon(0.1, 100, 1e-6), 6)
    4.774568
    """
    epsilon, k, delta = _steps(epsilon, k, delta)
    total_delta = checks.failure_probability("total_delta", total_delta)
    failed = _any_failure({delta: k})
    enough = product_up(k, epsilon)
    if epsilon == 0:
        _refuse_unreachable(failed, total_delta)
        return 0.0
    return _least_epsilon(homogeneous(epsilon, k), failed, total_delta, enough)


def optimal_heterogeneous(
    epsilons: Iterable[float], total_epsilon: float, deltas: Iterable[float] | None = None
) -> float:
    """The delta of steps with different costs at `total_epsilon`, rounded up; exact where feasible.

    Theorem (Murtagh and Vadhan 2016, Thm 1.5; Awan 2025, Thm 10.2). The least delta valid for every adaptive
    composition of (epsilon_i, delta_i)-DP steps is
    1 - prod(1-delta_i) (1 - sum_S max(e^(eps(S)) - e^(total_epsilon) e^(eps(S^c)), 0) / prod(1+e^(eps_i))),
    over subsets S with eps(S) the sum of their epsilons. Exact evaluation is #P-complete, so:

    * equal epsilons are merged into binomials, and while the number of distinct sums stays within two
      million the value is exact up to rounding (which is added);
    * otherwise the losses are moved to a lattice of step h = 2^-m in a way that dominates. The result d~
      satisfies d(t) <= d~(t) <= d(t - k h), and usually lies far nearer d(t) since the moves are centred.
      Here h is at most 2^-19 of the sum of the epsilons for up to 95 steps and grows in proportion to
      k beyond; the Renyi bound of the same losses is used where it is smaller and beyond 4000 steps.

    Parameters
    ----------
    epsilons
        The epsilon of every step.
    total_epsilon
        The epsilon of all steps together.
    deltas
        The delta of every step; all 0 for None.

    Returns
    -------
    float
        delta.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(optimal_heterogeneous([1.0, 1.0], 1.0), 7), round(optimal_heterogeneous([0.5, 1.0], 0.75), 7)
    (0.3378347, 0.2401018)
    """
    costs, failures = _pairs(epsilons, deltas)
    total_epsilon = checks.nonnegative("total_epsilon", total_epsilon)
    failed = _any_failure(Counter(failures))
    exact = heterogeneous(costs)
    if exact is not None:
        return _with_failures(failed, exact.delta(total_epsilon))
    loss = delta_from_renyi(_renyi_of(costs), total_epsilon, "improved")
    if len(costs) <= MAX_LATTICE_STEPS:
        loss = min(loss, lattice(costs)[0].delta(total_epsilon))
    return _with_failures(failed, loss)


def optimal_heterogeneous_epsilon(
    epsilons: Iterable[float], total_delta: float, deltas: Iterable[float] | None = None
) -> float:
    """The least total epsilon of steps with different costs at `total_delta`, rounded up.

    Inverse of :func:`optimal_heterogeneous`: the answer was seen to satisfy it. In its inexact regime
    the answer exceeds the optimum by at most k h.

    Parameters
    ----------
    epsilons
        The epsilon of every step.
    total_delta
        The delta of all steps together.
    deltas
        The delta of every step; all 0 for None.

    Returns
    -------
    float
        epsilon.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(optimal_heterogeneous_epsilon([0.1] * 100, 1e-6), 6)
    4.774568
    """
    costs, failures = _pairs(epsilons, deltas)
    total_delta = checks.failure_probability("total_delta", total_delta)
    failed = _any_failure(Counter(failures))
    enough = exact_sum_up(costs)
    exact = heterogeneous(costs)
    if exact is not None:
        return _least_epsilon(exact, failed, total_delta, enough)
    _refuse_unreachable(failed, total_delta)
    # (total_delta - failed)/(1 - failed) is what is left for the loss; rounded down.
    left = (total_delta - failed) / (1 - failed) * (1 - 8 * ULP)
    if not left > 0:
        return enough
    best = min(enough, epsilon_from_renyi(_renyi_of(costs), left, "improved"))
    if len(costs) <= MAX_LATTICE_STEPS:
        rounded, _ = lattice(costs)
        if rounded.delta(best) <= left:
            return smallest(lambda epsilon: rounded.delta(epsilon) <= left, 0.0, best)
    return best


def group(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Group privacy: what an (epsilon, delta)-DP release costs `size` people together.

    Theorem (Dwork and Roth 2014, Thm 2.2; Awan 2025, Prop 3.2 and its supplement): for data sets at
    distance at most `size`, (size epsilon, delta (e^(size epsilon) - 1)/(e^epsilon - 1)).

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    delta
        The probability of failure, in [0, 1).
    size
        How many people, 1 or more.

    Returns
    -------
    tuple of float
        (epsilon, delta) of the group. `losses.group` is tighter.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> group(0.5, 0.0, 4)
    (2.0, 0.0)
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    delta = checks.failure_probability("delta", delta)
    size = checks.count("size", size, 1)
    total = product_up(size, epsilon)
    if delta == 0 or size == 1:
        return total, delta
    if epsilon == 0:
        return total, min(1.0, product_up(size, delta))
    # (e^(n eps) - 1)/(e^eps - 1) in logarithms, so that neither exponential overflows.
    exponent = math.log(delta) + (size - 1) * epsilon + _log1mexp(size * epsilon) - _log1mexp(epsilon)
    if exponent > 1:
        return total, 1.0
    # Rounding (size - 1) * epsilon is the only error that grows; 1e-15 absolute covers the logarithms.
    error = 16 * ULP * (1 + abs(math.log(delta)) + size * epsilon + abs(_log1mexp(epsilon)))
    return total, min(1.0, up(math.exp(exponent + error)))


def parallel(epsilons: Iterable[float]) -> float:
    """Parallel composition: mechanisms run on disjoint parts of the data cost their maximum.

    Theorem (McSherry 2009; Awan 2025, Prop 4.3), for ADD_REMOVE adjacency only, when a record's part is a
    function of that record alone. Two ways to break it: parts cut by looking at the data (a median
    split), and REPLACE_ONE adjacency, where one changed record can touch two parts and a mechanism that
    reveals the size of its part may be free on its own.

    Parameters
    ----------
    epsilons
        The epsilon of every step.

    Returns
    -------
    float
        The largest epsilon. `losses.parallel` does the same for any losses.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> parallel([0.5, 1.0, 0.25])
    1.0
    """
    return max(numbers("epsilons", epsilons), default=0.0)


def _pairs(epsilons: Iterable[float], deltas: Iterable[float] | None) -> tuple[list[float], list[float]]:
    costs = numbers("epsilons", epsilons)
    if deltas is None:
        return costs, [0.0] * len(costs)
    failures = numbers("deltas", deltas, checks.failure_probability)
    if len(failures) != len(costs):
        raise InvalidParameter(
            f"there are {len(costs)} epsilons and {len(failures)} deltas; give one delta for each epsilon."
        )
    return costs, failures


def _steps(epsilon: float, k: int, delta: float) -> tuple[float, int, float]:
    k = checks.count("k", k, 1)
    if k > MAX_STEPS:
        raise InvalidParameter(
            f"k is {k}; exact composition goes up to {MAX_STEPS}. Use advanced, or a Renyi bound."
        )
    return checks.nonnegative("epsilon", epsilon), k, checks.failure_probability("delta", delta)


def _any_failure(deltas: Mapping[float, int]) -> float:
    """1 - prod(1 - delta_i)^n_i, rounded up; one delta alone is returned as it is."""
    positive = [(delta, count) for delta, count in deltas.items() if delta > 0]
    if sum(count for _, count in positive) <= 1:
        return sum(delta for delta, _ in positive)
    return min(1.0, up(-math.expm1(math.fsum(n * math.log1p(-delta) for delta, n in positive)), 16))


def _with_failures(failed: float, loss: float) -> float:
    if failed == 0 or loss == 0:
        return failed + loss
    return min(1.0, up(failed + (1 - failed) * loss, 4))


def _refuse_unreachable(failed: float, total_delta: float) -> None:
    if failed > total_delta:
        raise CannotMeet(
            f"the deltas of the steps alone come to {failed}, above total_delta {total_delta}; no epsilon is large "
            "enough. Raise total_delta or lower the deltas of the steps."
        )


def _least_epsilon(loss: ComposedLoss, failed: float, total_delta: float, enough: float) -> float:
    _refuse_unreachable(failed, total_delta)

    def private(epsilon: float) -> bool:
        return _with_failures(failed, loss.delta(epsilon)) <= total_delta

    if private(0.0):
        return 0.0
    return smallest(private, 0.0, enough) if private(enough) else enough


def _renyi_of(epsilons: Sequence[float]) -> Callable[[float], float]:
    groups = Counter(epsilons)
    values = np.array(list(groups))
    counts = np.array([float(count) for count in groups.values()])

    def curve(order: float) -> float:
        each = np.minimum(values, pure_log_mgf(values, order - 1) / (order - 1))
        return up(float(counts @ each), len(values) + 32)

    return curve


def _log1mexp(x: float) -> float:
    """log(1 - e^-x) for x > 0."""
    return math.log(-math.expm1(-x)) if x < 0.7 else math.log1p(-math.exp(-x))
