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

    `columns`, where some features are the categories of one column, a 1 among zeros: every column's name, and its
    categories or None. A person is asked for the column, and d is the number of columns.
    """

    features: tuple[str, ...]
    target: str
    labels: Labels
    row_norm: float
    normalize: bool
    constant: float
    bounds: tuple[tuple[float, float], ...] | None = None
    columns: tuple[tuple[str, tuple[Any, ...] | None], ...] | None = None

    def __post_init__(self) -> None:
        checks.positive("row_norm", self.row_norm)
        if self.columns is not None:
            numbers = sum(1 if listed is None else len(listed) for _, listed in self.columns)
            if numbers != len(self.features) or self.bounds is None:
                raise InvalidParameter(
                    "columns with categories need a feature, and bounds, for each of them."
                )
        checks.nonnegative("constant", self.constant)
        if not self.features or (self.bounds is not None and len(self.bounds) != len(self.features)):
            raise InvalidParameter("a record needs features, and bounds for all of them or for none.")
        for low, high in self.bounds or ():
            if not checks.number("a bound", low) < checks.number("a bound", high):
                raise InvalidParameter("every feature needs a pair (lower, upper) with lower below upper.")

    def rows(self, given: Any) -> Reals:
        """The rows as the fit saw them, the constant column included."""
        if isinstance(given, Mapping) or hasattr(given, "columns"):
            given = _beside(self._numbers(given))
        table = np.atleast_2d(_finite(given, "the record"))
        if table.ndim != 2 or table.shape[1] != len(self.features):
            raise InvalidParameter(
                f"a record has {len(self.features)} features ({', '.join(self.features[:4])}"
                f"{', ...' if len(self.features) > 4 else ''}); give one number for each."
            )
        if self.bounds is not None:
            low, high = np.array(self.bounds).T
            half = high / 2 - low / 2
            table = (np.clip(table, low, high) - (low + half)) / half / np.sqrt(len(self.columns or low))
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

    def _numbers(self, given: Any) -> list[Any]:
        """The features by their names: numbers, and a 1 for each category among zeros."""
        parts = []
        for column, listed in self.asked:
            if listed is None:
                parts.append(self._column(given, column))
                continue
            values = np.atleast_1d(np.asarray(self._column(given, column), dtype=object))
            if any(value is None or value != value for value in values):
                raise InvalidParameter(
                    f"the record has no value of {column!r}: such records were left out of the fit."
                )
            for value in {str(one): one for one in values}.values():
                slips = [one for one in listed if str(one).lower() == str(value).strip().lower()]
                if (
                    slips and value not in listed
                ):  # another value would be none of the list, and told a smaller bound
                    raise InvalidParameter(
                        f"{column!r} is {value!r}; write it as the fit has it, {slips[0]!r}."
                    )
            parts += [np.array([float(value == category) for value in values]) for category in listed]
        return parts

    @staticmethod
    def _column(given: Any, name: str) -> Any:
        if name in given:
            return np.asarray(given[name])
        # An expression may be written without the quotes that its canonical text has.
        same = [other for other in given if str(other).replace('"', "") == name.replace('"', "")]
        if len(same) != 1:
            hint = "; a condition is 1 where it holds, 0 elsewhere" if not name.isidentifier() else ""
            plain = name.replace('"', "")
            raise InvalidParameter(f'the record has no "{plain}", which the fit used{hint}.')
        return np.asarray(given[same[0]])

    @property
    def asked(self) -> list[tuple[str, tuple[Any, ...] | None]]:
        """What a person is asked for: names, with the categories of those that have some."""
        if self.columns is None:
            return [(name, None) for name in self.features]
        features, found = iter(self.features), []
        for name, listed in self.columns:
            own = [next(features) for _ in listed or (None,)]
            found.append((own[0] if listed is None else name, listed))
        return found

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
            **self._ends(),
        }

    def _ends(self) -> dict[str, JSON]:
        """`bounds`; of columns with categories by another word, so that nobody who reads that one takes it for all."""
        ends = None if self.bounds is None else [[exact(end) for end in pair] for pair in self.bounds]
        if self.columns is None:
            return {"bounds": ends}
        told: list[JSON] = [
            {"name": name, "categories": None if listed is None else [_label(value) for value in listed]}
            for name, listed in self.columns
        ]
        return {"ends": ends, "columns": told}

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Fields:
        columns = record.get("columns")
        bounds = record["bounds"] if columns is None else record["ends"]
        return cls(
            tuple(str(name) for name in record["features"]),
            str(record["target"]),
            Labels.from_record(record["labels"]),
            float(record["row_norm"]),
            bool(record["normalize"]),
            float(record["constant"]),
            None if bounds is None else tuple((float(low), float(high)) for low, high in bounds),
            None if columns is None else tuple(map(_read_column, columns)),
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


def _read_column(record: Mapping[str, JSON]) -> tuple[str, tuple[Any, ...] | None]:
    listed = record["categories"]
    return str(record["name"]), None if listed is None else tuple(map(_read_label, listed))


def _read_label(record: JSON) -> Any:
    return float(record["number"]) if isinstance(record, dict) else record
