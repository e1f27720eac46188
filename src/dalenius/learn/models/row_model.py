"""What all linear models share: how rows are brought to their norm, the constant column, and prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.pairs.pair import Reals
from dalenius.errors import InvalidParameter
from dalenius.learn.data.parameters import checked_norm, checked_scale, constant_column
from dalenius.learn.data.refits import alone
from dalenius.learn.data.rows import (
    RecordBlocks,
    Records,
    Rows,
    checked_rows,
    factors,
    matrix,
    products,
    records,
)
from dalenius.learn.models.in_notebooks import InNotebooks
from dalenius.learn.models.reported import Reported

Blocks = Callable[[], Iterable[tuple[Reals, Reals]]]


@dataclass(eq=False, repr=False)
class RowModel(InNotebooks, Reported, BaseEstimator):  # type: ignore[misc]
    """Rows have norm `row_norm` at most; a constant column is the last one, if there is one."""

    guarantee: Guarantee
    _: KW_ONLY
    row_norm: float = 1.0
    rows: Rows = "clip"
    intercept_scale: float = 0.3

    @property
    def _norm(self) -> float:
        # Here, since every price asks for the norm: what is refused later was charged.
        checked_rows(self.rows)
        return checked_norm(self.row_norm)

    @property
    def _constant(self) -> float:
        return constant_column(self.row_norm, self.intercept_scale)

    @property
    def _square(self) -> float:
        """The largest squared norm of a row with its constant."""
        return float(self._norm**2 * (1 + checked_scale(self.intercept_scale) ** 2) * (1 + 1e-12))

    def fit_blocks(self, read: Blocks, columns: int) -> Any:
        """As `fit`, on rows that come in blocks, anew and in the same order whenever `read` is called.

        No more than a block is held in memory. Only for methods that pass over the rows (`takes_blocks`).
        """
        alone(self)
        size = columns + (self._constant > 0)
        return self._fit_records(
            RecordBlocks(lambda: (self._prepared(x, y) for x, y in read()), size), columns
        )

    def takes_blocks(self) -> bool:
        """Whether `fit_blocks` will do: for objective perturbation, and for noisy statistics."""
        return False

    def _prepared(self, features: Reals, y: Any) -> Records:
        """The records of some rows, each brought to its norm on its own."""
        raise NotImplementedError

    def _fit_records(self, data: Records | RecordBlocks, columns: int) -> Any:
        """Fit to prepared records."""
        raise NotImplementedError

    def _records(self, features: Reals, labels: Reals, usable: Reals) -> Records:
        """Rows at their norm; those with labels or features that cannot be used count as absent."""
        return records(features, labels, usable, self.row_norm, self.rows, self._constant)

    def _split(self, theta: Reals) -> tuple[Reals, float]:
        """The coefficients and the intercept."""
        constant = self._constant
        return (theta[:-1], float(theta[-1]) * constant) if constant else (theta, 0.0)

    def _scores(self, values: Any) -> Reals:
        """x.coef + intercept of the rows, brought to their norm as in the fit."""
        check_is_fitted(self)
        _check_feature_names(self, values, reset=False)
        x = matrix(values, self.n_features_in_, type(self).__name__)
        if not np.isfinite(x).all():
            raise InvalidParameter(
                "X holds NaN or infinity; a prediction needs finite numbers in every column."
            )
        scale, coef = factors(x, self.row_norm, self.rows), np.ravel(self.coef_)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = products(x, coef) * scale
            odd = ~np.isfinite(scores)
            scores[odd] = products(x[odd] * scale[odd, None], coef)
        return np.asarray(scores + np.ravel(self.intercept_)[0])
