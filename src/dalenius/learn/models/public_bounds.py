"""Features brought to one scale by public bounds: nothing is learned from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.learn.data.rows import matrix


def in_order(X: Any, scale: Any) -> Any:
    """The columns of a frame that a scale names, in its order; what has no names, as it is."""
    wanted, columns = getattr(scale, "feature_names_in_", None), getattr(X, "columns", None)
    if wanted is None or columns is None or not all(isinstance(name, str) for name in columns):
        return X
    have = list(columns)
    lacking = [name for name in wanted if name not in have]
    if lacking:
        raise InvalidParameter(
            f"X has no column {lacking[0]!r}, which the model was fitted to; it needs the columns "
            f"{', '.join(map(repr, wanted))}, computed as in the fit. An array is taken by its places: X.to_numpy()."
        )
    return X[list(wanted)]


@dataclass(eq=False, repr=False)
class PublicBounds(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns clamped to their bounds and mapped to [-1, 1] / sqrt(d): rows of norm 1 at most.

    `bounds` has a pair (lower, upper) for every column, known without looking at the data. `fit` looks at nothing.
    Where a session made it, its columns have names (`feature_names_in_`), by which those of a frame are found.

    Parameters
    ----------
    bounds
        A pair (lower, upper) for every column; public.

    Raises
    ------
    InvalidParameter
        By `fit`, if a pair is not two numbers, the lower one first.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.learn.PublicBounds([(0, 10), (-5, 5)]).fit_transform([[10, 0], [99, -5]]).round(3).tolist()
    [[0.707, 0.0], [0.707, -0.707]]
    """

    bounds: Sequence[tuple[float, float]]

    def fit(self, X: Any = None, y: Any = None) -> PublicBounds:
        self._ends()
        self.n_features_in_ = len(self.bounds)
        return self

    def transform(self, X: Any) -> Reals:
        """The rows on their common scale; NaN stays NaN."""
        lower, upper = self._ends()
        x = matrix(in_order(X, self), len(lower), type(self).__name__)
        half = upper / 2 - lower / 2
        inside = (np.clip(x, lower, upper) - (lower + half)) / half
        return np.asarray(np.clip(inside, -1.0, 1.0) / np.sqrt(len(lower)))

    def _ends(self) -> tuple[Reals, Reals]:
        if len(self.bounds) == 0:
            raise InvalidParameter("bounds is empty; give a pair (lower, upper) for every column.")
        pairs = [
            [checks.number(f"a bound of column {n}", end) for end in pair]
            for n, pair in enumerate(self.bounds)
        ]
        if any(len(pair) != 2 or pair[0] >= pair[1] for pair in pairs):
            raise InvalidParameter("every column needs a pair (lower, upper) with lower below upper.")
        lower, upper = np.array(pairs).T
        return lower, upper
