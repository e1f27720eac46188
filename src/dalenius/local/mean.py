"""A mean in the local model: everybody reports, and the reports are averaged."""

from __future__ import annotations

from typing import Any

from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee, PureDP
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.local.best import promise
from dalenius.local.hybrid import Hybrid
from dalenius.local.mean_estimate import MeanEstimate
from dalenius.local.mean_randomizer import MeanRandomizer


def mean(
    values: Any,
    guarantee: Guarantee | float,
    *,
    bounds: tuple[float, float],
    mechanism: type[MeanRandomizer] = Hybrid,
) -> MeanEstimate:
    """The mean of numbers, when every person reports with noise of their own.

    Runs both sides: what each person would do, and what whoever collects the reports would. The default has the least
    worst variance of the four randomizers of numbers, at every epsilon.

    Parameters
    ----------
    values
        One number for each person. Those outside the bounds are moved to the nearer one.
    guarantee
        What one person's report keeps, whatever their number is replaced by; a number is the epsilon of PureDP.
    bounds
        Where numbers lie: public, never taken from the data.
    mechanism
        A randomizer: `dp.local.Hybrid`, `Piecewise`, `Duchi` or `Laplace`.

    Returns
    -------
    MeanEstimate
        The mean, its standard error and intervals.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    CannotMeet
        If the randomizer cannot keep the guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> ages = np.random.default_rng(0).uniform(20, 60, 20_000)
    >>> found = dp.local.mean(ages, dp.PureDP(1.0), bounds=(0, 100))
    >>> bool(abs(found.estimate - 40) < 6 * found.standard_error), bool(found.standard_error < 1)
    (True, True)
    """
    given: object = mechanism
    if not (isinstance(given, type) and issubclass(given, MeanRandomizer)):
        raise InvalidParameter.of(
            "mechanism",
            f"mechanism is {checks.shown(mechanism)}; it must be a randomizer of numbers, such as dp.local.Hybrid.",
        )
    make: Any = mechanism
    kept = promise(guarantee)
    epsilon = kept.epsilon if isinstance(kept, PureDP) else calibrate(lambda e: make(epsilon=e).loss, kept)
    randomizer: MeanRandomizer = make(epsilon=epsilon, bounds=bounds)
    return randomizer.mean(randomizer.release(values))
