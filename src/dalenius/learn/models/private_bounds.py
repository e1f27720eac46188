"""Features brought to one scale by bounds that are found privately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.arrays import Ints
from dalenius.learn.data.parameters import checked_guarantee
from dalenius.learn.data.ranges import Range, ranges, widened
from dalenius.learn.data.rows import training
from dalenius.learn.methods.noisy_bounds import NoisyBounds, bin_edges, counts
from dalenius.learn.models.found_bounds import FoundBounds


@dataclass(eq=False, repr=False)
class PrivateBounds(FoundBounds):
    """Bounds that hold nearly all values of a column, found privately; then as `PublicBounds`. Add/remove neighbours.

    Released: how many values of each column are in each of its bins, with noise. The bins end at powers of two, 2^-40
    to 2^60 on both sides of zero, and at 32 even steps of `within` where that is given; values beyond the ends are in
    the end bins. A row is in one bin of every column at most (in none where it is NaN), so that d counts move by 1:
    Gaussian noise for an l2 sensitivity of sqrt(d), Laplace noise for an l1 sensitivity of d where the promise is pure.
    All else is post-processing: counts that noise alone can make are dropped, and the bounds are the ends of the bins
    that hold the middle `share` of what is left. Where noise hides all values of a column they are `within`, or
    (-1, 1). The price does not depend on the number of columns; the noise does.

    `transform` clamps to these bounds and maps to [-1, 1] / sqrt(d): rows have norm 1 at most, whatever was found.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ZCDP(0.01)`.
    within
        A public range (lower, upper) of all columns, or a list with one, or None, for every column. None: any number.
    share
        How much of the values the bounds are to hold; at least 0.5 and below 1.

    Attributes
    ----------
    lower_, upper_
        The bounds that were found, a number for every column.
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
    >>> from sklearn.pipeline import Pipeline
    >>> pay = np.random.default_rng(0).uniform(600, 4000, size=(5000, 1)); rich = (pay[:, 0] > 2500).astype(int)
    >>> bounds = dp.learn.PrivateBounds(dp.ZCDP(0.01)).fit(pay)
    >>> bounds.lower_.tolist(), bounds.upper_.tolist(), round(bounds.loss_.zcdp(), 6)
    ([512.0], [4096.0], 0.01)
    >>> model = Pipeline([("bounds", bounds), ("model", dp.learn.LogisticRegression(dp.ZCDP(0.1)))]).fit(pay, rich)
    >>> round(dp.learn.loss(model).zcdp(), 6)
    0.11
    """

    guarantee: Guarantee
    _: KW_ONLY
    within: Range | Sequence[Range | None] | None = None
    share: float = 0.99

    def price(self) -> Loss:
        return self._plan().loss

    def fit(self, X: Any, y: Any = None) -> PrivateBounds:
        """Find the bounds of the columns of X (n x d); the cost is `loss_`, whatever the data."""
        self._plan()
        x = training(self, X)
        edges = self.edges(x.shape[1])
        return self.fit_counts([counts(x[:, n], column) for n, column in enumerate(edges)])

    def edges(self, columns: int) -> list[tuple[float, ...]]:
        """Where the bins of so many columns end."""
        return [bin_edges(pair) for pair in ranges("within", self.within, columns)]

    def fit_counts(self, counted: Sequence[Ints]) -> PrivateBounds:
        """As `fit`, from the exact counts of the bins (`edges`) of every column."""
        plan = self._plan()
        lower, upper = plan.release(counted, ranges("within", self.within, len(counted)))
        apart = np.array([widened(pair) for pair in zip(lower.tolist(), upper.tolist(), strict=True)])
        self.lower_, self.upper_ = apart.reshape(-1, 2).T
        self.loss_, self.n_features_in_ = plan.loss, len(counted)
        return self

    @property
    def ends_(self) -> list[Range]:
        return list(zip(self.lower_.tolist(), self.upper_.tolist(), strict=True))

    def _plan(self) -> NoisyBounds:
        share = checks.within("share", self.share, "at least 0.5 and below 1", lambda x: 0.5 <= x < 1)
        return NoisyBounds(checked_guarantee(self.guarantee), share)
