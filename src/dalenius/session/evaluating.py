"""How good a fitted classifier is on a session's table, paid from its budget.

The model is public: it was released. Every row falls into one cell, by its label, by what the model predicts for it and
by the probability that it gives; the cells are counted, and the counts released with noise. Accuracy, the confusion
matrix, AUC and calibration all follow from these counts, and are paid for by them together.

A neighbour has one unit more or less, of m rows at most: the counts move by m in l1 and in l2 norm; where a unit is
replaced, by 2 m and sqrt(2) m.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from dalenius.calculus.guarantees import Filter, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.core.checks import count as whole_number
from dalenius.errors import InvalidParameter
from dalenius.intervals.laws import Law, Normal, TwoSidedGeometric
from dalenius.learn.models.public_bounds import PublicBounds
from dalenius.learn.models.public_columns import PublicColumns
from dalenius.learn.models.several_classes import SeveralClasses
from dalenius.learn.saved import told_model
from dalenius.mechanisms import Gaussian, Geometric
from dalenius.session.accuracy import Within
from dalenius.session.columns import beside, check_labels, column_of, named_columns
from dalenius.session.evaluation import Evaluation, error_of_accuracy
from dalenius.session.features import Features, label_code
from dalenius.session.record import answers, questions
from dalenius.session.target_facts import check_text
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.schema import Column
from dalenius.tables.facts.unit import Unit
from dalenius.tables.plan.sensitivity import Sensitivity

MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class Evaluating:
    """What will be evaluated, on which columns, and at what price: settled before any data is read."""

    model: Pipeline
    query: Query
    unit: Unit
    adjacency: Adjacency
    budget: Guarantee
    price: Guarantee
    bins: int
    has_codes: bool

    @classmethod
    def of(
        cls,
        model: Any,
        features: Any,
        target: Any,
        table: Table,
        unit: Unit,
        pays: Filter,
        budget: Guarantee,
        bins: int,
    ) -> Evaluating:
        """Everything that can be refused is refused here. `pays` is what pays, and `budget` what it may cost."""
        steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else []
        is_ours = len(steps) == 2 and isinstance(steps[0], PublicBounds | PublicColumns)
        if not is_ours or not is_classifier(steps[1]) or not hasattr(steps[1], "classes_"):
            raise InvalidParameter(
                "model must be a fitted classifier as session.fit(...) returns it: a pipeline of public bounds and a "
                "model with classes. (Of a regression, ask for the mean of its squared error as a column.)"
            )
        wide = whole_number("bins", bins, least=2)
        if wide % 2:
            raise InvalidParameter(f"bins is {wide}; it must be even, so that one half is an edge.")
        classes = list(steps[1].classes_.tolist())
        if len(classes) ** 2 * wide > MOST_CELLS:
            raise InvalidParameter(
                f"{len(classes)} classes and {wide} bins make too many cells; take fewer bins."
            )
        columns, labels = _columns(steps[0], features, table), named_columns("target", target)
        if len(labels) != 1:
            raise InvalidParameter(f"target names {len(labels)} columns; a model has one.")
        (label,) = labels
        check_text(table, label, classes)
        has_codes = all(isinstance(name, str) for name in classes)
        if has_codes:
            label, around = label_code(table, label, classes), beside(range(len(classes)))
        else:
            around = beside(classes)
        wanted = {
            f"feature {n}": column_of("feature", text, ends) for n, (text, ends) in enumerate(columns.sums)
        }
        query = table.agg(**wanted, target=column_of("target", label, around))
        exact.check(query, unit)
        if not has_codes:
            check_labels(query, classes)
        made = cls(model, query, unit, pays.adjacency, budget, pays.price(budget), wide, has_codes)
        made.mechanism  # noqa: B018 - a price that no noise meets is refused here
        made._try()
        return made

    def _try(self) -> None:
        """Refuse a model that cannot predict, before there is a row of the table: anybody may have written it.

        Its numbers must have the shapes that a fit gives them. With others a prediction may fail, or be another number
        of predictions, for some numbers of rows and not for others: then one row would show, or count many times.
        """
        row = [float(dict(role)["sum"].values[0].lower) for role in self.query.roles]
        row[-1] = 0.0 if self.has_codes else float(self.classes[0])
        try:
            self._check_numbers()
            tried = [np.array([row] * rows).reshape(rows, len(row)) for rows in (0, 1, 2, 5)]
            if [int(self.counted([block]).sum()) for block in tried] != [0, 1, 2, 5]:
                raise ValueError
        except Exception:
            raise InvalidParameter(
                "the model cannot predict: its coefficients are not finite, or not those of its columns and classes. "
                "Take it as session.fit(...) or dp.learn.load(...) gives it."
            ) from None

    def _check_numbers(self) -> None:
        model = getattr(self.model[-1], "best_estimator_", self.model[-1])
        if model.check_classes().tolist() != self.classes:
            raise ValueError
        scores = len(self.classes) if isinstance(model, SeveralClasses) else 1
        for name, shape in {"coef_": (scores, len(self.query.roles) - 1), "intercept_": (scores,)}.items():
            numbers = np.asarray(getattr(model, name), dtype=float)
            if numbers.shape != shape or not np.isfinite(numbers).all():
                raise ValueError

    def _no_counts(self) -> Any:
        return np.zeros((len(self.classes), len(self.classes), self.bins), dtype=np.int64)

    @property
    def mechanism(self) -> Gaussian | Geometric:
        """Noise for every cell."""
        rows, replaced = self.unit.max_rows, self.adjacency is REPLACE_ONE
        moved = Sensitivity(rows * (1 + replaced), rows**2 * (1 + replaced))
        if self.price.as_pure() is not None:
            return Geometric.calibrated(self.price, sensitivity=moved.l1, adjacency=self.adjacency)
        return Gaussian.calibrated(self.price, sensitivity=moved.l2, adjacency=self.adjacency)

    @property
    def law(self) -> Law:
        """Of the noise."""
        made = self.mechanism
        return TwoSidedGeometric.of_scale(made.scale) if isinstance(made, Geometric) else Normal(made.sigma)

    @property
    def loss(self) -> Loss:
        """Of a unit."""
        return self.mechanism.loss

    @property
    def question(self) -> str:
        """A text that identifies it: the same released model on the same columns at the same price."""
        return questions.of_evaluation(
            told_model(self.model), self.query, self.bins, self.budget, self.unit, self.adjacency
        )

    @property
    def classes(self) -> list[Any]:
        return list(self.model[-1].classes_.tolist())

    def error(self, accuracy: Within) -> float:
        """How far the accuracy of as many rows may be off, at the most."""
        assert accuracy.rows is not None
        law, number = self.law, len(self.classes)
        return error_of_accuracy(law, number, self.bins, accuracy.rows, accuracy.confidence)

    def compute(self, source: Source) -> str:
        """Read, predict, count, and write down the noisy counts and nothing else."""
        counts = self.counted(exact.blocks(source, self.query, self.unit))
        kept = counts if len(self.classes) > 2 else _of_two(counts)
        noisy = np.asarray(self.mechanism.release(kept.ravel()), dtype=float).reshape(kept.shape)
        return answers.to_evaluation(noisy, self.law)

    def counted(self, blocks: Iterable[Reals]) -> Any:
        """Rows by label, prediction and bin; private. Each counts by what it is alone (`learn.data.rows.products`)."""
        counts = self._no_counts()
        with np.errstate(all="ignore"):  # coefficients may be anybody's, and beyond what floats can multiply
            for block in blocks:
                np.add.at(counts, self._cells(block), 1)
        return counts

    def restored(self, text: str) -> Evaluation:
        """The evaluation as it was released."""
        counts, law = answers.read_evaluation(text)
        probable = hasattr(self.model[-1], "predict_proba")
        return Evaluation(self.classes, counts, law, self.loss, probable)

    def _cells(self, block: Reals) -> tuple[Any, Any, Any]:
        """Label, prediction and bin of every row that has all its values and one of the labels."""
        codes = np.full(len(block), -1)
        names = range(len(self.classes)) if self.has_codes else self.classes
        for code, label in enumerate(names):
            codes[block[:, -1] == float(label)] = code
        there = (codes >= 0) & np.isfinite(block[:, :-1]).all(axis=1)
        codes, rows = codes[there], block[there, :-1]
        if len(rows) == 0:
            return codes, codes, codes
        scale, model = self.model[0], self.model[-1]
        x = scale.scaled(rows) if isinstance(scale, PublicColumns) else scale.transform(rows)
        # Within -1 and 1 but where bounds are too close for floats: no value may make the prediction fail.
        x = np.nan_to_num(x, nan=0.0, posinf=1.0, neginf=-1.0)
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(x)
        else:
            positive = expit(model.decision_function(x))
            shares = np.column_stack((1 - positive, positive))
        # Of two classes, the second one's share says it all.
        predicted = np.ones(len(shares), dtype=np.intp) if shares.shape[1] == 2 else shares.argmax(axis=1)
        share = shares[np.arange(len(shares)), predicted]
        bin_ = np.clip(np.ceil(share * self.bins).astype(np.intp) - 1, 0, self.bins - 1)
        return codes, predicted, bin_


def _of_two(counts: Any) -> Any:
    """2 labels x bins: nothing is ever counted for a prediction of the first class."""
    return counts[:, 1, :]


def _columns(scale: Any, given: Any, table: Table) -> Features:
    """The columns of the fit, with the bounds and categories that the model has."""
    names = list(named_columns("features", given))
    bounds = scale.bounds
    listed = scale.categories if isinstance(scale, PublicColumns) else [None] * len(bounds)
    if len(names) != len(bounds):
        raise InvalidParameter(
            f"features names {len(names)} columns, and the model has {len(bounds)}: name those of its fit, in their "
            "order."
        )
    return Features.of(
        {
            name: tuple(ends) if values is None else Column(categories=values)
            for name, ends, values in zip(names, bounds, listed, strict=True)
        },
        table,
    )
