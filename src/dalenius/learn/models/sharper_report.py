"""The Hessian of a fit, released: a sharper report of what the fit cost one person."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.adaptive import DataDependentReport
from dalenius.adaptive.personal.perturbed_objective import FARTHEST, PerturbedObjective
from dalenius.adaptive.personal.release import Statement
from dalenius.calculus.pairs.pair import Reals
from dalenius.errors import InvalidParameter
from dalenius.learn.data.rows import factors, labels_of, matrix, same
from dalenius.learn.data.targets import numbers

BITS = 40
"""One record's entries are whole numbers of 2^-40 of the largest."""
SHRINK = 1 - 1e-9
"""So that a record with rounded entries moves the sum by no more than its bound."""
TOGETHER = 1 << 20


def sharper_report(model: Any, X: Any, y: Any, promise: Any) -> DataDependentReport:
    """A second release about the records of a fit: its Hessian, under a promise of its own."""
    report = model.privacy_report_
    (fit,) = report.releases
    if not isinstance(fit, PerturbedObjective) or fit.noise != "gaussian":
        raise InvalidParameter(
            "a sharper report is for fits by objective perturbation with Gaussian noise; this one is "
            f"{report.releases[0].tag.replace('_', ' ')}."
        )
    rows, labels = prepared(fit, X, y)
    scores, squares = np.zeros(len(rows)), np.zeros(len(rows))
    for column, weight in zip(
        rows.T, fit.theta, strict=True
    ):  # a matrix product may round otherwise in other company
        scores += column * weight
        squares += column * column
    reach = fit.constants(Statement(FARTHEST))["reach"] * np.sqrt(squares)
    bends = model._curve().least_bend(scores, labels, reach)
    hessian = summed_below(rows, bends, fit.smoothness)
    hessian[np.diag_indices(len(hessian))] += Fraction(fit.ridge)
    return DataDependentReport.released(report, hessian, promise)


def prepared(fit: PerturbedObjective, X: Any, y: Any) -> tuple[Reals, Reals]:
    """Rows and labels as the fit saw them; records that it left out are left out, whatever is in them."""
    fields = fit.fields
    table = matrix(X, len(fields.features))
    if fields.labels.kind == "classes":
        given = labels_of(y, len(table))
        negative, positive = (same(given, label) for label in fields.labels.values)
        usable, labels = negative | positive, positive.astype(float)
    else:
        labels = numbers(y, len(table))
        usable = np.isfinite(labels) & ((labels >= 0) | (fields.labels.kind != "counts"))
    keep = usable & (factors(table, fields.row_norm, "clip") > 0)
    kept = labels[keep] if fields.labels.kind == "classes" else fields.labels.numbers(labels[keep])
    return fields.rows(table[keep].reshape(-1, table.shape[1])), kept


def summed_below(rows: Reals, bends: Reals, most: float) -> Any:
    """A sum of one matrix for each record, each not above bend x x^T and in Frobenius norm at most `most`; exact.

    The entries of a record are rounded to whole numbers of a unit u = 2^-40 `most` or less, each by 0.51 units at most
    (products of doubles err by 2^-11 units), which moves eigenvalues by 0.51 d u; so d/2 + 1 units are taken from its
    diagonal (d < 90). bend |x|^2 <= most, times SHRINK, leaves room for both in the norm. Whole numbers are added
    exactly.
    """
    count, size = rows.shape
    if size >= 90:
        raise InvalidParameter(
            f"the rows have {size} columns; a Hessian of so many says nothing beside its noise."
        )
    unit = 2.0 ** (math.floor(math.log2(most)) - BITS)
    total = np.zeros((size, size), dtype=object)
    step = max(1, TOGETHER // size**2)
    for start in range(0, count, step):
        x, weight = rows[start : start + step], bends[start : start + step] * (SHRINK / unit)
        each = np.rint(weight[:, None, None] * x[:, :, None] * x[:, None, :]).astype(np.int64)
        total += each.sum(axis=0).astype(object)
    total[np.diag_indices(size)] -= count * (size // 2 + 1)
    return total * Fraction(unit)
