"""Features standardised by means and standard deviations that are found privately."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.learn.data.parameters import checked_guarantee
from dalenius.learn.data.ranges import Range, ranges
from dalenius.learn.data.rows import training
from dalenius.learn.methods.noisy_moments import NoisyMoments
from dalenius.learn.models.found_bounds import FoundBounds


@dataclass(eq=False, repr=False)
class PrivateScaler(FoundBounds):
    """Columns in public bounds, standardised by a private mean and standard deviation. Add/remove neighbours.

    With u = (x - middle) / half the place of a value between its bounds, from -1 to 1 in steps of 2^-20, released: the
    number of rows, and for every column the sum of u and that of u^2, with noise. A row moves these 1 + 2 d numbers by
    1 at most: Gaussian noise for an l2 sensitivity of sqrt(1 + 2 d), Laplace noise for an l1 sensitivity of 1 + 2 d
    where the promise is pure. A row with NaN in any column counts as absent, infinity as the bound. All else is
    post-processing: means are kept within the bounds, and standard deviations between what the noise alone would show
    and half the width of the bounds. The price does not depend on the number of columns; the noise does.

    `transform` maps (x - mean) / deviation, clamped to `deviations` on either side, to [-1, 1] / sqrt(d): rows have
    norm 1 at most, as by `PublicBounds`, whatever was found.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ZCDP(0.01)`.
    bounds
        A public pair (lower, upper) for all columns, or a list with one for every column. None: (-1, 1) / sqrt(d),
        which is what `PublicBounds` and `PrivateBounds` hand on.
    deviations
        How many standard deviations on either side of the mean are told apart, from 0.5 to 100; public.

    Attributes
    ----------
    mean_, scale_
        The means and the standard deviations that were found, a number for every column.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X is not a table.
    CannotMeet
        By `fit`, if no noise keeps the promise.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> ages = np.random.default_rng(0).normal(40, 5, size=(20_000, 1))
    >>> scaler = dp.learn.PrivateScaler(dp.ZCDP(0.1), bounds=(0, 100)).fit(ages)
    >>> bool(abs(scaler.mean_[0] - 40) < 0.5), bool(abs(scaler.scale_[0] - 5) < 0.5)
    (True, True)
    >>> scaler.transform([[200.0]]).round(6).tolist(), round(scaler.loss_.zcdp(), 6)
    ([[1.0]], 0.1)
    """

    guarantee: Guarantee
    _: KW_ONLY
    bounds: Range | Sequence[Range | None] | None = None
    deviations: float = 3.0

    def price(self) -> Loss:
        self._deviations()
        return NoisyMoments(checked_guarantee(self.guarantee), ()).loss

    def fit(self, X: Any, y: Any = None) -> PrivateScaler:
        """Find mean and standard deviation of the columns of X (n x d); the cost is `loss_`, whatever the data."""
        self.price()
        x = training(self, X)
        return self.fit_blocks([x], x.shape[1])

    def fit_blocks(self, blocks: Iterable[Reals], columns: int) -> PrivateScaler:
        """As `fit`, from rows of so many columns that come in blocks, once."""
        self._deviations()
        otherwise = (-1 / math.sqrt(columns), 1 / math.sqrt(columns))
        pairs = [pair or otherwise for pair in ranges("bounds", self.bounds, columns, otherwise)]
        plan = NoisyMoments(checked_guarantee(self.guarantee), tuple(pairs))
        self.mean_, self.scale_ = plan.release(blocks)
        self.loss_, self.n_features_in_ = plan.loss, columns
        return self

    @property
    def ends_(self) -> list[Range]:
        reach = self._deviations() * self.scale_
        return list(zip((self.mean_ - reach).tolist(), (self.mean_ + reach).tolist(), strict=True))

    def _deviations(self) -> float:
        allowed = "a number from 0.5 to 100"
        return checks.within("deviations", self.deviations, allowed, lambda x: 0.5 <= x <= 100)
