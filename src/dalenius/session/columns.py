"""What fits and inference share: columns with their bounds, and what all rows of a unit cost together."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import group, pure, to_adjacency
from dalenius.core.adjacency import Adjacency
from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter
from dalenius.tables.aggregates.sum import Sum
from dalenius.tables.ask.query import Query
from dalenius.tables.facts.unit import Unit

Columns = Mapping[str, tuple[float, float]] | Iterable[str] | str


def name_of(text: str) -> str:
    """A column as people write it; an expression as it is."""
    inner = text[1:-1].replace('""', "")
    is_column = text.startswith('"') and text.endswith('"') and '"' not in inner
    return text[1:-1].replace('""', '"') if is_column else text


def column_of(role: str, text: str, ends: tuple[float, float] | None, name: str | None = None) -> Sum:
    """What is read of a row: a column or an expression, which messages call by its role and its name."""
    return Sum.of(text, ends, called=f"{role} {(name_of(text) if name is None else name)!r}")


def of_a_unit(loss: Loss, unit: Unit, adjacency: Adjacency, budget: Filter | None = None) -> Loss:
    """The loss of all rows of a unit together, towards these neighbours: what this budget is charged.

    Where no closed form follows the neighbours in between, they are counted: by the budget's own rule where it has one
    (`Filter.group`); those of e-DP are of randomized response.
    """
    rows = 1 if unit.column is None else unit.max_rows
    if rows == 1 and loss.adjacency is adjacency:
        return loss
    steps = rows if loss.adjacency is adjacency else 2 * rows  # replacing is removing and adding
    counted = None if budget is None else budget.group(loss, steps, adjacency)
    if counted is not None:
        return counted
    if len(loss.terms_remove) > 1 and math.isfinite(loss.epsilon(0.0)):
        return group(pure(loss.epsilon(0.0), adjacency), steps)
    return to_adjacency(group(loss, rows), adjacency)


def named_columns(what: str, given: Columns | object) -> dict[str, tuple[float, float] | None]:
    if isinstance(given, Mapping):
        columns: dict[str, tuple[float, float] | None] = dict(given)
    else:
        names: list[Any] = (
            [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        )
        if not all(isinstance(name, str) for name in names):
            raise InvalidParameter(
                f"{what} is {shown(given)}; it must be a column, a list of columns, or columns with their bounds: "
                "{'age': (18, 90)}."
            )
        columns = dict.fromkeys(names)
        if len(columns) < len(names):
            raise InvalidParameter(f"{what} names a column twice.")
    if not columns:
        raise InvalidParameter(f"{what} is empty; name at least one column.")
    return columns


def beside(classes: Any) -> tuple[float, float]:
    """Room on either side of the classes, so that any other label stays another label."""
    numbers: list[Any] = [
        label for label in classes if isinstance(label, int | float | np.integer | np.floating)
    ]
    if len(numbers) < len(classes) or not all(abs(label) <= sys.float_info.max for label in numbers):
        raise InvalidParameter(
            f"the classes are {list(classes)!r}; a session's labels are numbers. Use a condition, which is 1 or 0: "
            "target=\"income = '>50K'\"."
        )
    return float(min(numbers)) - 1, float(max(numbers)) + 1


def check_labels(query: Query, classes: Any, place: int = -1) -> None:
    """Refuse classes that are not on the grid of the target, by its place: no row would ever have them."""
    step = dict(query.roles[place])["sum"].values[0].granularity
    off = [label for label in classes if (Fraction(float(label)) / step).denominator != 1]
    if off:
        raise InvalidParameter(
            f"the class {off[0]!r} is not a multiple of {step}, as the numbers in a session are; make whole numbers of "
            'the labels (target="x * 10"), or a condition, which is 1 or 0.'
        )
