"""What is done to every record alone before learning: nothing that depends on any other record."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import _check_feature_names

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.arrays import unmasked
from dalenius.core.quiet import quiet
from dalenius.errors import InvalidParameter
from dalenius.learn.data.parameters import checked_norm
from dalenius.learn.data.refits import alone

Rows = Literal["clip", "normalize"]
SHRINK = 1 - 1e-12
"""So that rounding never leaves a row longer than its bound."""


@dataclass
class Records:
    """Rows scale_i x_i, each followed by a constant (none for constant 0), and one label each.

    The features are never copied: scale and constant enter the products.
    """

    features: Reals
    scale: Reals
    constant: float
    labels: Reals

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def size(self) -> int:
        """How many numbers a row has, the constant included."""
        return int(self.features.shape[1]) + (self.constant > 0)

    def scores(self, theta: Reals, part: Any = slice(None)) -> Reals:
        """Row times theta, for some rows."""
        columns = self.features.shape[1]
        scores = (self.features[part] @ theta[:columns]) * self.scale[part]
        return np.asarray(scores + self.constant * theta[-1] if self.constant > 0 else scores)

    def combined(self, weights: Reals, part: Any = slice(None)) -> Reals:
        """The sum of rows times weights, for some rows."""
        total = (weights * self.scale[part]) @ self.features[part]
        return np.append(total, self.constant * weights.sum()) if self.constant > 0 else np.asarray(total)

    def gram(self, weights: Reals, part: Any = slice(None)) -> Reals:
        """The sum of weight * row row^T, for some rows; the weights are nonnegative."""
        features, scale = self.features[part], self.scale[part]
        if np.count_nonzero(weights) < 0.7 * len(weights):
            seen = np.flatnonzero(weights)
            features, scale, weights = features[seen], scale[seen], weights[seen]
        root = (np.sqrt(weights) * scale)[:, None] * features
        inner = root.T @ root
        if self.constant == 0:
            return np.asarray(inner)
        beside = self.constant * ((weights * scale) @ features)
        corner = np.array([[self.constant**2 * weights.sum()]])
        return np.block([[inner, beside[:, None]], [beside[None, :], corner]])

    def thinned(self, every: int) -> Records:
        """Every so-many-th row; nothing is copied."""
        return Records(self.features[::every], self.scale[::every], self.constant, self.labels[::every])

    def rows(self, part: Any = slice(None), times: float = 1.0, out: Reals | None = None) -> Reals:
        """Some rows, written out (into `out`, if given), multiplied by a number."""
        columns, factor = self.features.shape[1], self.scale[part] * times
        table = np.empty((len(factor), self.size)) if out is None else out
        if isinstance(part, np.ndarray) and self.constant == 0 and self.features.flags.c_contiguous:
            self.features.take(part, axis=0, out=table, mode="clip")  # quicker; no place is out of range
            table *= factor[:, None]
        else:
            np.multiply(self.features[part], factor[:, None], out=table[:, :columns])
            table[:, columns:] = self.constant * times
        return table


@dataclass(frozen=True)
class RecordBlocks:
    """Records that come in blocks, anew and in the same order each time `read` is called: any number of them."""

    read: Callable[[], Iterable[Records]]
    size: int
    """How many numbers a row has, the constant included."""


def records(
    features: Reals, labels: Reals, usable: Reals, norm: float, how: Rows, constant: float = 0.0
) -> Records:
    """Rows brought to their norm; those that hold NaN or infinity, or are not `usable`, count as absent."""
    scale = factors(features, norm, how)
    keep = (scale > 0) & usable
    if not keep.all():
        features, scale, labels = features[keep], scale[keep], labels[keep]
    extreme = (scale < 1e-100) | (scale > 1e100)
    if extreme.any():  # scaled after a product, these would overflow in it
        features, scale = (
            np.where(extreme[:, None], features * scale[:, None], features),
            np.where(extreme, 1.0, scale),
        )
    return Records(features, scale, constant, labels)


NOT_NUMBERS = ("str", "cat", "date", "time", "period", "interval")
"""How the names of frames' column types begin that hold no numbers."""


def matrix(values: Any, columns: int | None = None, model: str = "this model") -> Reals:
    """A two-dimensional array of floats; its shape and its types are public, its values are not spoken of."""
    values = unmasked(values)
    if hasattr(values, "toarray"):
        raise InvalidParameter("X is a sparse matrix, which is not supported; pass X.toarray().")
    kinds = [str(kind).lower() for kind in values.dtypes] if hasattr(values, "columns") else []
    try:
        given = np.asarray(values) if hasattr(values, "__array__") else np.asarray(values, dtype=object)
    except Exception:
        raise InvalidParameter("X must be a table: rows of the same length.") from None
    if given.dtype.kind in "US" or any(kind.startswith(NOT_NUMBERS[:2]) for kind in kinds):
        raise InvalidParameter(
            "X must be a table of numbers. Encode text and categories with fixed, public codes first: "
            "dp.learn.PublicColumns(bounds, categories), or let session.fit do it."
        )
    if given.dtype.kind in "Mm" or any(kind.startswith(NOT_NUMBERS[2:]) for kind in kinds):
        raise InvalidParameter(
            "X has a column of dates or times; make numbers of it in public units first, such as days since 2000."
        )
    if given.dtype.kind == "c":
        raise InvalidParameter("Complex data not supported: X must be a table of real numbers.")
    if given.shape == (0,) and isinstance(values, list | tuple):
        given = given.reshape(0, columns or 1)  # no rows: a list cannot say how many columns they would have
    with quiet():  # of a single value
        try:
            # Row after row, as one row alone is: what a row is added up to must not depend on where the others lie.
            table = np.asarray(given, dtype=np.float64, order="C")
        except Exception:
            # One odd value must not decide for all of them: what is not a number is NaN, and its row absent.
            table = np.array([number(value) for value in given.ravel()]).reshape(given.shape)
    if table.ndim != 2 or table.shape[1] == 0:
        raise InvalidParameter(
            f"X has {table.ndim} dimensions; it must have two, rows and at least one column. Reshape your data: "
            "X.reshape(-1, 1) makes one column of a list."
        )
    if columns is not None and table.shape[1] != columns:
        raise InvalidParameter(
            f"X has {table.shape[1]} features, but {model} is expecting {columns} features as input."
        )
    return table


def training(model: Any, values: Any) -> Reals:
    """X of a fit; the names of its columns, if it has them, are public, and kept for predictions."""
    alone(model)
    table = matrix(values)
    _check_feature_names(model, values, reset=True)
    return table


def number(value: object) -> float:
    """A float; NaN for what cannot be read as one."""
    try:
        return float(value)  # type: ignore[arg-type]
    except Exception:  # whatever a value raises, it is not a number
        return float("nan")


def same(values: Any, label: object) -> Any:
    """Which values are this label, each on its own."""
    if values.dtype != object:
        return np.broadcast_to(np.asarray(values == label), values.shape)

    def is_label(value: object) -> bool:
        try:
            return bool(value == label)
        except Exception:  # missing values of some libraries cannot be compared
            return False

    return np.array([is_label(value) for value in values], dtype=bool)


def one_each(values: Any, rows: int) -> Any:
    """Labels or targets, one per row."""
    if values is None:
        raise InvalidParameter("y is None; this estimator requires y to be passed, but the target y is None.")
    values = unmasked(values)
    labels = np.asarray(values) if hasattr(values, "__array__") else listed(values)
    if labels.shape == (rows, 1):
        warnings.warn(
            "y is a column; a one-dimensional array was expected.", DataConversionWarning, stacklevel=3
        )
        labels = labels[:, 0]
    if labels.shape != (rows,):
        raise InvalidParameter(
            f"y has shape {labels.shape} and X {rows} rows; there must be one label per row."
        )
    return labels


def labels_of(values: Any, rows: int, numeric: bool | None = None) -> Any:
    """Labels or targets, their type checked where they have one.

    The type of an array or a column is public; that of a list is a matter of its values and not looked at. `numeric`
    says what is expected: numbers, text, or (None) either.
    """
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    name = str(getattr(values, "dtype", "")).lower()
    if (kind and kind in "Mmc") or name.startswith(NOT_NUMBERS[2:]):
        raise InvalidParameter(
            "y has a type of dates, times or complex numbers; make real numbers or labels of it."
        )
    text = bool(kind) and (kind in "US" or name.startswith("str"))
    if text and numeric is True:
        raise InvalidParameter(
            "y is an array of text where numbers were declared; say what the labels are, such as classes=('no', "
            "'yes'), or make numbers of it."
        )
    if bool(kind) and kind in "biuf" and numeric is False:
        raise InvalidParameter(
            "y is an array of numbers, but the declared classes are text; name its numbers."
        )
    return one_each(values, rows)


def listed(values: Any) -> Any:
    """A list as an array; one of several kinds keeps them, or a single text would make texts of all numbers."""
    items = list(values) if isinstance(values, list | tuple) else None
    if items is None or len({type(value) for value in items}) < 2:
        return np.asarray(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def products(rows: Reals, table: Reals) -> Reals:
    """rows @ table, every row made of its own numbers alone, to the last bit.

    A product of matrices adds up a row in an order that depends on how many rows there are and on its place among them.
    Where what becomes of a row is counted, one more row could so move any number of others.
    """
    total = np.zeros((len(rows), *table.shape[1:]))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, weights in zip(rows.T, table, strict=True):
            total += np.multiply.outer(column, weights)
    return total


def checked_rows(how: object) -> Rows:
    """How rows are brought to their norm."""
    found: Rows = checks.one_of("rows", how, "clip", "normalize")
    return found


def factors(features: Reals, norm: float, how: Rows) -> Reals:
    """What to multiply every row by so that its Euclidean norm is at most `norm`; 0 for rows that are not numbers."""
    norm, how = checked_norm(norm), checked_rows(how)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.sqrt(np.einsum("ij,ij->i", features, features))
    odd = ~((size > 1e-140) & (size < 1e150))
    if odd.any():  # NaN, infinity, nothing but zeros, or squares beyond the range of floats
        some = features[odd]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            largest = np.abs(some).max(axis=1)
            size[odd] = np.where(largest == 0, 0.0, largest * np.linalg.norm(some / largest[:, None], axis=1))
    usable = np.isfinite(size)
    size = np.where(usable & (size > norm * 1e-280), size, norm)
    factor = norm * SHRINK / size if how == "normalize" else np.minimum(1.0, norm * SHRINK / size)
    return np.asarray(factor * usable)
