"""How many rows are not as they were declared: a warning that is paid for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.errors import InvalidParameter
from dalenius.learn.data.parameters import checked_guarantee, checked_norm
from dalenius.learn.data.refits import alone
from dalenius.learn.data.rows import labels_of, matrix, same
from dalenius.learn.data.targets import Targets, numbers
from dalenius.mechanisms import Gaussian, Laplace

KINDS = ("rows", "unreadable", "undeclared", "long")


@dataclass(eq=False, repr=False)
class RowCheck:
    """Releases how many rows there are, and how many of them a model would drop, clip or shorten, with noise.

    `unreadable`: X holds what is not a finite number. `undeclared`: a label outside `classes`, or a target that is not
    a number in `target_bounds` (0 to `most` for counts). `long`: a row longer than `row_norm`. One row moves each of
    the four counts by 1 at most, and all together by 2 (in l1 norm by 4): Gaussian noise for that (Laplace for PureDP),
    add/remove neighbours. A model fits whatever the counts are; that they are large is worth knowing before that.

    Parameters
    ----------
    model
        The model whose declarations are checked.
    guarantee
        The promise that the check keeps.

    Attributes
    ----------
    counts_
        Noisy numbers of rows.
    shares_
        The same as shares of all rows.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> X = np.random.default_rng(0).normal(size=(5000, 2)); y = np.where(X[:, 0] > 0, 1, -1)
    >>> check = dp.learn.RowCheck(dp.learn.LogisticRegression(dp.ZCDP(0.1)), dp.ZCDP(0.001)).fit(X, y)
    >>> bool(0.3 < check.shares_["undeclared"] < 0.7), round(check.loss_.zcdp(), 9)    # classes=(-1, 1) was forgotten
    (True, 0.001)
    """

    model: Any
    guarantee: Guarantee

    def price(self) -> Loss:
        """What a check will cost, whatever the data."""
        return self._noise().loss

    def fit(self, X: Any, y: Any) -> RowCheck:
        """Count; `counts_` has the numbers of rows, `shares_` their shares of all of them."""
        noise = self._noise()
        alone(self)
        x = matrix(X)
        labels = labels_of(y, len(x))
        readable: Any = np.isfinite(x).all(axis=1)
        with np.errstate(all="ignore"):
            long = readable & (np.linalg.norm(x, axis=1) > checked_norm(self.model.row_norm))
        counts = np.array([len(x), (~readable).sum(), (~self._declared(labels)).sum(), long.sum()])
        released = np.asarray(noise.release(counts), dtype=np.float64)
        self.counts_ = dict(zip(KINDS, released.tolist(), strict=True))
        rows = max(self.counts_["rows"], 1.0)
        self.shares_ = {k: min(max(v / rows, 0.0), 1.0) for k, v in self.counts_.items() if k != "rows"}
        self.loss_ = noise.loss
        return self

    def _declared(self, labels: Any) -> Any:
        if hasattr(self.model, "classes"):
            return np.any([same(labels, label) for label in self.model.classes], axis=0)
        bounds = getattr(self.model, "target_bounds", (0.0, getattr(self.model, "most", 1.0)))
        targets, values = Targets(bounds), numbers(labels, len(labels))
        with np.errstate(invalid="ignore"):
            return np.abs(values - targets.middle) <= targets.spread * (1 + 1e-12)

    def _noise(self) -> Gaussian | Laplace:
        if not hasattr(self.model, "row_norm"):
            raise InvalidParameter(
                f"{type(self.model).__name__} declares nothing about rows; check a linear model of dp.learn."
            )
        return _noise(checked_guarantee(self.guarantee))


@lru_cache(maxsize=64)
def _noise(promise: Guarantee) -> Gaussian | Laplace:
    pure = promise.as_pure()
    if pure is not None:
        return Laplace.calibrated(pure, sensitivity=4.0)
    return Gaussian.calibrated(promise, sensitivity=2.0)
