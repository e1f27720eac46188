"""What is not a sheet by itself, as a table: a regression, a test, a model's coefficients, an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.infer.hypotheses.result import TestResult
from dalenius.infer.result import Result
from dalenius.session.columns import named_columns
from dalenius.session.evaluation import Evaluation
from dalenius.tables.release.cells import in_markdown

CONFIDENCE = 0.95
"""Of intervals that nobody asked for otherwise."""


@dataclass(frozen=True)
class Tabled:
    """Columns by name, the part that each plays (key, estimate, error, low, high or other), and their confidence."""

    held: Mapping[str, list[Any]]
    roles: tuple[str, ...]
    confidence: float | None = None

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The columns as an answer shows them; there is one estimate at most."""
        of = next((n for n, role in zip(self.held, self.roles, strict=True) if role == "estimate"), None)
        return [
            {"name": name, "role": role, "of": of if role in ("estimate", "error", "low", "high") else None}
            for name, role in zip(self.held, self.roles, strict=True)
        ]

    def to_markdown(self) -> str:
        """A Markdown table."""
        lines = ["| " + " | ".join(map(in_markdown, self.held)) + " |", "|" + "---|" * len(self.held)]
        for row in zip(*self.held.values(), strict=True):
            cells = (in_markdown(value) if isinstance(value, str) else _number(value) for value in row)
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)


def tabled(result: Any, features: Any = None) -> Tabled | None:
    """The table of a result; None where it has none. features: the columns of a fit."""
    if isinstance(result, Result):
        low, high = np.asarray(result.conf_int(1 - CONFIDENCE)).T
        held: dict[str, list[Any]] = {
            "term": list(result.names),
            "estimate": _reals(result.params),
            "error": _reals(result.bse),
            "low": _reals(low),
            "high": _reals(high),
            "p_value": _reals(result.pvalues),
        }
        return Tabled(held, ("key", "estimate", "error", "low", "high", "other"), CONFIDENCE)
    if isinstance(result, TestResult):
        rows = {"statistic": result.statistic, "p_value": result.pvalue, **result.estimates}
        return Tabled({"number": list(rows), "value": list(rows.values())}, ("key", "other"))
    if isinstance(result, Evaluation):
        return _evaluation(result)
    return _coefficients(result, features) if hasattr(result, "steps") else None


def _evaluation(made: Evaluation) -> Tabled:
    found = {"rows": made.rows, "accuracy": made.accuracy}
    if len(made.classes) == 2:
        found["AUC"] = made.auc
    for label in made.classes:
        found[f"recall of {label}"] = made.recall(label)
        found[f"precision of {label}"] = made.precision(label)
    held: dict[str, list[Any]] = {
        "measure": list(found),
        "estimate": [each.estimate for each in found.values()],
        "low": [each.low for each in found.values()],
        "high": [each.high for each in found.values()],
    }
    # Rows are thousands and shares below 1: no picture has both.
    return Tabled(held, ("key", "other", "other", "other"), made.confidence)


def _coefficients(pipeline: Any, features: Any) -> Tabled | None:
    """A row for every coefficient, with the column it is of, and the category where it has some."""
    scale, model = pipeline[0], pipeline[-1]
    model = getattr(model, "best_estimator_", model)
    if not hasattr(model, "coef_"):
        return None
    coefficients = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    terms = _terms(scale, features, coefficients.shape[1])
    offsets = np.ravel(getattr(model, "intercept_", []))
    if len(offsets) == len(coefficients):
        coefficients, terms = np.column_stack((coefficients, offsets)), [*terms, "intercept"]
    of_term, numbers = terms * len(coefficients), coefficients.ravel().tolist()
    if len(coefficients) == 1:
        return Tabled({"term": of_term, "coefficient": numbers}, ("key", "estimate"))
    of_class = [str(label) for label in model.classes_.tolist() for _ in terms]
    held = {"class": of_class, "term": of_term, "coefficient": numbers}
    return Tabled(held, ("key", "key", "estimate"))


def _terms(scale: Any, features: Any, size: int) -> list[str]:
    """The names of a model's numbers: a column, or a column and one of its categories."""
    names = list(named_columns("features", features)) if features is not None else []
    listed = getattr(scale, "categories", None) or [None] * len(names)
    if len(names) != len(listed):
        return [f"column {n}" for n in range(size)]
    terms = [
        term
        for name, categories in zip(names, listed, strict=True)
        for term in ([name] if categories is None else [f"{name} = {value}" for value in categories])
    ]
    return terms if len(terms) == size else [f"column {n}" for n in range(size)]


def _reals(numbers: Any) -> list[float]:
    return [float(x) for x in np.asarray(numbers, dtype=float)]


def _number(value: Any) -> str:
    return "" if value is None or value != value else f"{value:.6g}"
