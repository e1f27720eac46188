"""How likely is it that a test sees an effect; how many rows, or how much budget, does that take?

Nothing here touches data. Powers of the binomial test are sums over its exact law; others are simulated, always with
the same random numbers, so that they are the same whenever they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest
from dalenius.infer.promise import checked_guarantee

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPLICATES = 1000
"""Simulated data sets behind a power: its standard error is .016 at most."""

MOST_ROWS = 10**8
"""Beyond so many rows no sample size is looked for."""

MOST_DRAWN = 20_000
"""The most rows of a test that is simulated row by row (ranks, distances)."""


def power(
    test: HypothesisTest,
    n: int,
    *,
    level: float = 0.05,
    private: bool = True,
    replicates: int = REPLICATES,
    **effect: Any,
) -> float:
    """The chance that a test rejects, for n rows and a true effect.

    Parameters
    ----------
    test
        The test with its promise, such as `BinomialTest(dp.PureDP(1.0), share=0.5)`.
    n
        The number of rows; of both samples or all groups together, which are of equal sizes.
    level
        The chance to reject a hypothesis that holds.
    private
        False for the classical test of the same rows, without noise.
    replicates
        Simulated data sets, where the power is not exact.
    **effect
        The truth, in words of the test: `share` (binomial); `mean` and `deviation`; `difference` and `deviation` (two
        means); `means` and `deviation` (groups); `shares` (counts); `population`, `first` and `second`, or
        `populations` (distributions of scipy.stats, for ranks and distances).

    Returns
    -------
    float
        The power; exact for the binomial test, else simulated, with a standard error below 0.5 / sqrt(replicates).

    Raises
    ------
    InvalidParameter
        If the effect is not one of the test's, or a number cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.BinomialTest(dp.PureDP(1.0), share=0.5, alternative="greater", adjacency=dp.REPLACE_ONE)
    >>> [round(dp.infer.power(test, n, share=0.6), 3) for n in (50, 100, 200)]
    [0.371, 0.618, 0.875]
    """
    test, n = _checked(test), checks.count("n", n, least=2)
    level, private = checks.open_probability("level", level), checks.flag("private", private)
    return test.power(n, level, private, checks.count("replicates", replicates, least=100), **effect)


def sample_size(
    test: HypothesisTest,
    *,
    power: float = 0.8,
    level: float = 0.05,
    private: bool = True,
    replicates: int = REPLICATES,
    **effect: Any,
) -> int:
    """The number of rows from which on a test sees an effect with a given power.

    Parameters
    ----------
    test
        The test with its promise.
    power
        The chance to reject that is wanted.
    level
        The chance to reject a hypothesis that holds.
    private
        False for the classical test without noise.
    replicates
        Simulated data sets, where the power is not exact.
    **effect
        The truth, as for `power`.

    Returns
    -------
    int
        The number of rows: within 1 % where the power is simulated.

    Raises
    ------
    CannotMeet
        If more rows are needed than are looked for (1e8, or 20 000 where every row is simulated).
    InvalidParameter
        If the effect is not one of the test's, or a number cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.BinomialTest(dp.PureDP(1.0), share=0.5, alternative="greater", adjacency=dp.REPLACE_ONE)
    >>> [dp.infer.sample_size(test, power=0.8, share=0.6, private=private) for private in (True, False)]
    [160, 158]
    """
    wanted = checks.open_probability("power", power)
    find = _Power(_checked(test), level, private, replicates, effect)
    most = MOST_DRAWN if {"population", "populations", "first"} & set(effect) else MOST_ROWS
    low, high = 2, 4
    while find(high) < wanted:
        low, high = high, 2 * high
        if low > most:
            raise CannotMeet(
                f"{low} rows do not give a power of {wanted:g}: is there an effect at all, and is the budget "
                "not too small?"
            )
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        low, high = (middle, high) if find(middle) < wanted else (low, middle)
    return high


def budget_for_power(
    test: HypothesisTest,
    n: int,
    *,
    power: float = 0.8,
    level: float = 0.05,
    replicates: int = REPLICATES,
    **effect: Any,
) -> Guarantee:
    """The smallest promise of the test's kind with which n rows give a power.

    Parameters
    ----------
    test
        The test; of its promise the kind counts, and its other numbers (the delta of ApproxDP).
    n
        The number of rows.
    power
        The chance to reject that is wanted.
    level
        The chance to reject a hypothesis that holds.
    replicates
        Simulated data sets, where the power is not exact.
    **effect
        The truth, as for `power`.

    Returns
    -------
    Guarantee
        The promise, within 1 %.

    Raises
    ------
    CannotMeet
        If no budget gives that power: n is too small even without noise.
    InvalidParameter
        If the promise is not made of numbers, or a number cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.BinomialTest(dp.PureDP(1.0), share=0.5, alternative="greater", adjacency=dp.REPLACE_ONE)
    >>> dp.infer.budget_for_power(test, 200, power=0.8, share=0.6)
    PureDP(epsilon=0.349)
    """
    test, n, wanted = _checked(test), checks.count("n", n, least=2), checks.open_probability("power", power)
    size = test.guarantee.size
    if size is None:
        raise InvalidParameter(
            f"{test.guarantee} has no size to look for; use PureDP, ApproxDP, ZCDP, GDP or RDP."
        )

    def enough(factor: float) -> bool:
        sized = replace(test, guarantee=test.guarantee.of_size(factor * size))
        return _Power(sized, level, True, replicates, effect)(n) >= wanted

    low, high = 1.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
        if high * size > 50:
            raise CannotMeet(
                f"no budget of this kind gives {n} rows a power of {wanted:g}; more rows are needed."
            )
    while enough(low):
        low, high = low / 2, low
        if low * size < 1e-6:
            raise CannotMeet("every budget gives that power.")
    while high / low > 1.005:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if enough(middle) else (middle, high)
    return test.guarantee.of_size(float(f"{high * size * 1.0005:.3g}"))


@dataclass(frozen=True, eq=False)
class PowerCurve:
    """Power against the number of rows, for several promises and for the classical test without noise.

    Parameters
    ----------
    method
        The test.
    rows
        Numbers of rows.
    powers
        For each promise, as text, a power for each number of rows.
    level
        The level of the test.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.BinomialTest(dp.PureDP(1.0), share=0.5, alternative="greater", adjacency=dp.REPLACE_ONE)
    >>> curve = dp.infer.power_curve(test, [100, 200], [dp.PureDP(0.5)], share=0.6)
    >>> {name: [round(float(p), 2) for p in values] for name, values in curve.powers.items()}
    {'without noise': [0.62, 0.86], 'PureDP(epsilon=0.5)': [0.55, 0.84]}
    """

    method: str
    rows: Ints
    powers: dict[str, Reals]
    level: float

    def plot(self, path: str | None = None) -> Figure:
        """Draw the curves (needs the `plot` extra).

        Parameters
        ----------
        path
            Where to save the picture; not saved for None.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("drawing needs matplotlib: pip install 'dalenius[plot]'") from None
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        for i, (name, values) in enumerate(self.powers.items()):
            style = {"color": "#1b1f24", "linestyle": "--"} if i == 0 else {"marker": "o", "markersize": 3}
            axes.plot(self.rows, values, label=name, **style)
        axes.axhline(self.level, color="#8c959f", linewidth=1, linestyle=":")
        axes.set(xscale="log", xlabel="rows", ylabel=f"power at level {self.level:g}", ylim=(0, 1.02))
        axes.set_title(self.method, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure


def power_curve(
    test: HypothesisTest,
    rows: Sequence[int],
    guarantees: Sequence[Guarantee],
    *,
    level: float = 0.05,
    replicates: int = REPLICATES,
    **effect: Any,
) -> PowerCurve:
    """Power against the number of rows, for several promises, beside the classical test without noise.

    Parameters
    ----------
    test
        The test; its own promise does not matter.
    rows
        Numbers of rows.
    guarantees
        The promises.
    level
        The chance to reject a hypothesis that holds.
    replicates
        Simulated data sets, where the power is not exact.
    **effect
        The truth, as for `power`.

    Returns
    -------
    PowerCurve
        The numbers, and `plot`.

    Raises
    ------
    InvalidParameter
        If the effect is not one of the test's, or a number cannot be.

    Examples
    --------
    >>> import dalenius as dp
    >>> test = dp.infer.MeanTest(dp.GDP(1.0), bounds=(0, 1), mean=0.5)
    >>> curve = dp.infer.power_curve(test, [50, 500], [dp.GDP(0.5), dp.GDP(2.0)], mean=0.55, deviation=0.2)
    >>> sorted(curve.powers)
    ['GDP(mu=0.5)', 'GDP(mu=2.0)', 'without noise']
    """
    test = _checked(test)
    lists: tuple[object, ...] = (rows, guarantees)
    if not all(isinstance(given, Iterable) for given in lists):
        raise InvalidParameter("rows and guarantees must be lists: of numbers of rows, and of promises.")
    numbers = [checks.count("rows", n, least=2) for n in rows]
    powers = {"without noise": np.array([_Power(test, level, False, replicates, effect)(n) for n in numbers])}
    for promise in guarantees:
        sized = replace(test, guarantee=checked_guarantee(promise))
        powers[repr(promise)] = np.array([_Power(sized, level, True, replicates, effect)(n) for n in numbers])
    return PowerCurve(test.method, np.array(numbers, dtype=np.int64), powers, level)


@dataclass(frozen=True)
class _Power:
    test: HypothesisTest
    level: float
    private: bool
    replicates: int
    effect: dict[str, Any]

    def __call__(self, n: int) -> float:
        return power(
            self.test, n, level=self.level, private=self.private, replicates=self.replicates, **self.effect
        )


def _checked(test: object) -> HypothesisTest:
    if not isinstance(test, HypothesisTest):
        raise InvalidParameter.of(
            "test",
            f"test is {checks.shown(test)}; it must be a test such as BinomialTest(dalenius.PureDP(1.0)).",
        )
    return test
