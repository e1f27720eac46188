"""How a person's record becomes the row and the label that a fit used, as the fit itself did it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.record import JSON, exact
from dalenius.errors import InvalidParameter


@dataclass(frozen=True)
class Labels:
    """Two classes, numbers between bounds (moved to [-1, 1]), or counts up to a bound."""

    kind: str
    values: tuple[Any, Any]

    def __post_init__(self) -> None:
        low, high = self.values
        if self.kind != "classes" and not checks.number("a bound", low) < checks.number("a bound", high):
            raise InvalidParameter("the labels need a lower bound below an upper one.")

    def numbers(self, given: Any) -> Reals:
        """Labels as the fit saw them."""
        low, high = self.values
        if self.kind == "classes":
            labels = np.asarray(given)
            positive, negative = labels == high, labels == low
            if np.shape(positive) != labels.shape or not (positive | negative).all():
                raise InvalidParameter(
                    f"the label must be {low!r} or {high!r}: other records were left out of the fit."
                )
            return np.asarray(positive, dtype=float)
        numbers = _finite(given, "the target")
        if self.kind == "counts":
            if (numbers < 0).any():
                raise InvalidParameter("the count must be 0 or more: other records were left out of the fit.")
            return np.asarray(np.minimum(numbers, high))
        middle, spread = low / 2 + high / 2, high / 2 - low / 2
        return np.asarray(np.clip((numbers - middle) / spread, -1.0, 1.0))

    def record(self) -> dict[str, JSON]:
        low, high = self.values
        if self.kind == "classes":
            return {"kind": self.kind, "negative": _label(low), "positive": _label(high)}
        return {"kind": self.kind, "low": exact(low), "high": exact(high)}

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Labels:
        if record["kind"] == "classes":
            return cls("classes", (_read_label(record["negative"]), _read_label(record["positive"])))
        if record["kind"] not in ("targets", "counts"):
            raise InvalidParameter(
                f"labels of kind {record['kind']!r} are not known: install a newer dalenius."
            )
        return cls(record["kind"], (float(record["low"]), float(record["high"])))


@dataclass(frozen=True)
class Fields:
    """What a person is asked for, and how it is brought to scale: nothing but public numbers.

    `bounds` are those of the features where they were mapped to [-1, 1]/sqrt(d) first; rows then have norm `row_norm`
    at most (`normalize`: exactly), and a constant column follows, if it is not 0.
    """

    features: tuple[str, ...]
    target: str
    labels: Labels
    row_norm: float
    normalize: bool
    constant: float
    bounds: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        checks.positive("row_norm", self.row_norm)
        checks.nonnegative("constant", self.constant)
        if not self.features or (self.bounds is not None and len(self.bounds) != len(self.features)):
            raise InvalidParameter("a record needs features, and bounds for all of them or for none.")
        for low, high in self.bounds or ():
            if not checks.number("a bound", low) < checks.number("a bound", high):
                raise InvalidParameter("every feature needs a pair (lower, upper) with lower below upper.")

    def rows(self, given: Any) -> Reals:
        """The rows as the fit saw them, the constant column included."""
        if isinstance(given, Mapping) or hasattr(given, "columns"):
            given = _beside([self._column(given, name) for name in self.features])
        table = np.atleast_2d(_finite(given, "the record"))
        if table.ndim != 2 or table.shape[1] != len(self.features):
            raise InvalidParameter(
                f"a record has {len(self.features)} features ({', '.join(self.features[:4])}"
                f"{', ...' if len(self.features) > 4 else ''}); give one number for each."
            )
        if self.bounds is not None:
            low, high = np.array(self.bounds).T
            half = high / 2 - low / 2
            table = (np.clip(table, low, high) - (low + half)) / half / np.sqrt(len(low))
        largest = np.abs(table).max(axis=1)
        scale = np.where(largest > 0, largest, 1.0)
        size = scale * np.linalg.norm(table / scale[:, None], axis=1)
        tiny = size <= self.row_norm * 1e-280
        factor = np.where(tiny, 1.0, self.row_norm / np.where(tiny, 1.0, size))
        table = table * (factor if self.normalize else np.minimum(factor, 1.0))[:, None]
        return np.column_stack([table, np.full(len(table), self.constant)]) if self.constant else table

    def taken(self, x: Any, y: Any) -> tuple[Reals, Reals]:
        """Rows and labels of some records, given as a table and its labels, or by the names of the fields."""
        if y is None:
            if not (isinstance(x, Mapping) or hasattr(x, "columns")):
                raise InvalidParameter(f"the label is missing; give y, the record's {self.target}.")
            y = self._column(x, self.target)
        rows, labels = self.rows(x), self.labels.numbers(np.atleast_1d(np.asarray(y)))
        if labels.shape != (len(rows),):
            raise InvalidParameter(f"there are {len(rows)} records and labels of shape {labels.shape}.")
        return rows, labels

    @staticmethod
    def _column(given: Any, name: str) -> Any:
        if name not in given:
            raise InvalidParameter(f"the record has no {name!r}, which the fit used.")
        return np.asarray(given[name])

    @property
    def size(self) -> int:
        return len(self.features) + (self.constant > 0)

    def record(self) -> dict[str, JSON]:
        return {
            "features": list(self.features),
            "target": self.target,
            "labels": self.labels.record(),
            "row_norm": exact(self.row_norm),
            "normalize": self.normalize,
            "constant": exact(self.constant),
            "bounds": None if self.bounds is None else [[exact(end) for end in pair] for pair in self.bounds],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Fields:
        bounds = record["bounds"]
        return cls(
            tuple(str(name) for name in record["features"]),
            str(record["target"]),
            Labels.from_record(record["labels"]),
            float(record["row_norm"]),
            bool(record["normalize"]),
            float(record["constant"]),
            None if bounds is None else tuple((float(low), float(high)) for low, high in bounds),
        )


def _beside(columns: list[Any]) -> Any:
    try:
        return np.column_stack([np.atleast_1d(column) for column in columns])
    except ValueError:
        raise InvalidParameter("the columns are not all of the same length.") from None


def _finite(given: Any, what: str) -> Reals:
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{what} must be numbers.") from None
    if not np.isfinite(numbers).all():
        raise InvalidParameter(
            f"{what} holds NaN or infinity: such records were left out of the fit, or a number was put in their place; "
            "then give that."
        )
    return numbers


def _label(value: Any) -> JSON:
    """A class with its type: 1, 1.0, True and "1" are four things."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return {"number": exact(value)}
    if isinstance(value, bool | int | str):
        return value
    raise InvalidParameter(f"a label of type {type(value).__name__} cannot be written down.")


def _read_label(record: JSON) -> Any:
    return float(record["number"]) if isinstance(record, dict) else record
