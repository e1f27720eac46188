"""Which randomizer to use, chosen before anybody is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy.special import ndtri

from dalenius.calculus.guarantees import Guarantee, PureDP
from dalenius.core import checks
from dalenius.local.frequency_oracle import FrequencyOracle
from dalenius.local.hadamard_response import HadamardResponse
from dalenius.local.local_hashing import LocalHashing
from dalenius.local.randomized_response import RandomizedResponse
from dalenius.local.subset_selection import SubsetSelection
from dalenius.local.unary_encoding import OptimizedUnaryEncoding, SymmetricUnaryEncoding

ORACLES: tuple[type[FrequencyOracle], ...] = (
    RandomizedResponse,
    LocalHashing,
    HadamardResponse,
    SubsetSelection,
    OptimizedUnaryEncoding,
    SymmetricUnaryEncoding,
)
CLOSE = 1.01
"""Errors that differ by less than this factor are as good: the shorter report decides."""


class Candidate(NamedTuple):
    """A randomizer, and what to expect of it.

    Parameters
    ----------
    mechanism
        The randomizer.
    standard_error
        Of a share, on average over the answers (root mean square).
    report_bits
        The size of one report.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.local.best(2, 1.0, 1000).table[0].report_bits
    1
    """

    mechanism: FrequencyOracle
    standard_error: float
    report_bits: int


@dataclass(frozen=True)
class Choice:
    """The randomizer that was chosen, and why.

    Parameters
    ----------
    mechanism
        The randomizer.
    why
        In words.
    table
        All that were considered, the least error first.

    Examples
    --------
    >>> import dalenius as dp
    >>> print(dp.local.best(1000, 1.0, 1_000_000).why)
    LocalHashing: shares are off by 0.0019 (standard error), no other randomizer is better by 1 %, and a report has \
22 bits. Of 1000 answers, those that fewer than 0.75 % give are hidden in the noise.
    """

    mechanism: FrequencyOracle
    why: str
    table: tuple[Candidate, ...]

    def __str__(self) -> str:
        lines = [
            f"{type(one.mechanism).__name__:25} {one.standard_error:.2g}, {one.report_bits} bits"
            for one in self.table
        ]
        return "\n".join([self.why, "", *lines])


def best(k: int, epsilon: float | Guarantee, n: int) -> Choice:
    """The randomizer with the least error for k answers, one of which everybody of n people gives.

    Variances are known before anybody is asked. For a pure protocol the mean over all answers does not depend on the
    true shares, as they add up to 1; Hadamard response is taken for shares spread evenly. Of randomizers whose errors
    differ by less than 1 %, the one with the shortest report is chosen.

    Parameters
    ----------
    k
        The number of possible answers.
    epsilon
        The privacy parameter of one report, or a guarantee that it must keep.
    n
        The number of people.

    Returns
    -------
    Choice
        The randomizer, why, and all that were considered.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    CannotMeet
        If no randomizer keeps the guarantee.

    Examples
    --------
    >>> import dalenius as dp
    >>> choice = dp.local.best(4, 2.0, 10_000)
    >>> choice.mechanism.epsilon, type(choice.mechanism).__name__
    (2.0, 'RandomizedResponse')
    """
    guarantee = promise(epsilon)
    k, n = checks.count("k", k, least=2), checks.count("n", n, least=1)
    made = [oracle.calibrated(guarantee, k=k) for oracle in ORACLES]
    table = sorted((_candidate(m, n) for m in made), key=lambda c: (c.standard_error, c.report_bits))
    good = [c for c in table if c.standard_error <= table[0].standard_error * CLOSE]
    chosen = min(good, key=lambda c: c.report_bits)
    return Choice(chosen.mechanism, _why(chosen, n), tuple(table))


def promise(epsilon: float | Guarantee) -> Guarantee:
    """The guarantee, or the pure one with this epsilon."""
    return epsilon if isinstance(epsilon, Guarantee) else PureDP(checks.positive("epsilon", epsilon))


def _candidate(mechanism: FrequencyOracle, n: int) -> Candidate:
    error = math.sqrt(mechanism.noise_variance(1 / mechanism.k, n))
    return Candidate(mechanism, error, mechanism.report_bits)


def _why(chosen: Candidate, n: int) -> str:
    m = chosen.mechanism
    hidden = min(1.0, -float(ndtri(0.05 / m.k)) * math.sqrt(m.noise_variance(0.0, n)))
    return (
        f"{type(m).__name__}: shares are off by {chosen.standard_error:.2g} (standard error), no other randomizer is "
        f"better by 1 %, and a report has {chosen.report_bits} bit{'s' if chosen.report_bits > 1 else ''}. Of {m.k} "
        f"answers, those that fewer than {100 * hidden:.2g} % give are hidden in the noise."
    )


class Local:
    """`Local.best(k, epsilon, n)` is `dalenius.local.best`.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.Local.best(2, 1.0, 1000) == dp.local.best(2, 1.0, 1000)
    True
    """

    best: Any = staticmethod(best)
