"""Numbers by public bounds and categories by public lists, as the numbers that models learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from dalenius.calculus.pairs.pair import Reals
from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter
from dalenius.learn.data.rows import matrix, number, same
from dalenius.learn.models.public_bounds import PublicBounds, in_order

Pair = tuple[float, float]


@dataclass(eq=False, repr=False)
class PublicColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns with bounds mapped to [-1, 1], listed categories to a 1 among zeros, all over sqrt(columns).

    Either way a column adds its even part to the square of a row's norm, however many categories it has: rows have
    norm 1 at most. A value that is not listed is all zeros; a missing one is NaN in every place. `fit` looks at
    nothing.

    Parameters
    ----------
    bounds
        For every column a pair (lower, upper), or None where it has categories; public.
    categories
        For every column its list of values, text, whole numbers or True and False, or None where it has bounds; public.

    Raises
    ------
    InvalidParameter
        By `fit`, if a column has not one of bounds and categories.

    Examples
    --------
    >>> import dalenius as dp
    >>> columns = dp.learn.PublicColumns([(0, 10), None], [None, ("F", "M")]).fit()
    >>> columns.transform([[10, "M"], [5, "?"]]).round(3).tolist()
    [[0.707, 0.0, 0.707], [0.0, 0.0, 0.0]]
    """

    bounds: Sequence[Pair | None]
    categories: Sequence[Sequence[Any] | None]

    def fit(self, X: Any = None, y: Any = None) -> PublicColumns:
        self._checked()
        self.n_features_in_ = len(self.bounds)
        return self

    @property
    def sizes(self) -> list[int]:
        """How many numbers each column becomes."""
        return [1 if listed is None else len(listed) for listed in self.categories]

    def transform(self, X: Any) -> Reals:
        """The rows as numbers; what is missing, or not a number where one belongs, is NaN."""
        self._checked()
        return self.scaled(self.written_out(X))

    def written_out(self, X: Any) -> Reals:
        """Numbers as they are, and a 1 for each category among zeros."""
        table, parts = _table(in_order(X, self), len(self.bounds)), []
        for n, listed in enumerate(self.categories):
            values = table[:, n]
            if listed is None:
                parts.append(np.array([[number(value)] for value in values]).reshape(-1, 1))
                continue
            hot = np.column_stack([same(values, label) for label in listed]).astype(float)
            hot[[_is_missing(value) for value in values]] = np.nan
            parts.append(hot)
        return np.hstack(parts)

    def scaled(self, rows: Reals) -> Reals:
        """Rows that are written out already, on their common scale."""
        ends = [
            pair
            for pair, size in zip(self.bounds, self.sizes, strict=True)
            for pair in [(-1.0, 1.0) if pair is None else pair] * size
        ]
        mapped = PublicBounds(ends).transform(rows)
        return np.asarray(mapped * np.sqrt(len(ends) / len(self.bounds)))

    def _checked(self) -> None:
        if len(self.bounds) != len(self.categories) or len(self.bounds) == 0:
            raise InvalidParameter("bounds and categories must have one entry for every column.")
        for pair, listed in zip(self.bounds, self.categories, strict=True):
            if (pair is None) == (listed is None):
                raise InvalidParameter("every column needs bounds or categories, and None for the other.")
            if listed is not None and (
                isinstance(listed, str) or len(listed) == 0 or len(set(listed)) < len(listed)
            ):
                raise InvalidParameter(f"the categories {shown(listed)} must be a list of different values.")
        pairs = [pair for pair in self.bounds if pair is not None]
        if pairs:
            PublicBounds(pairs).fit()


def _table(X: Any, columns: int) -> Any:
    """Rows and columns of any values; only its shape is spoken of."""
    given = X.to_numpy(dtype=object) if hasattr(X, "to_numpy") and hasattr(X, "columns") else X
    if hasattr(given, "toarray"):
        return matrix(given, columns, "PublicColumns").astype(object)
    try:
        table = np.asarray(given, dtype=object)
    except Exception:
        raise InvalidParameter("X must be a table: rows of the same length.") from None
    if table.ndim != 2 or table.shape[1] != columns:
        raise InvalidParameter(
            f"X has shape {table.shape}; it must be a table with {columns} columns, those of the fit in their order."
        )
    return table


def _is_missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)
    except Exception:  # pandas.NA says neither yes nor no
        return True
