"""What was released about a classifier: noisy counts of labels and predictions, and what follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from dalenius.calculus.loss import Loss
from dalenius.calculus.notebook import cost_rows
from dalenius.core import notebook
from dalenius.core.arrays import Reals
from dalenius.core.checks import failure_probability
from dalenius.core.decimals import rounded_up
from dalenius.errors import InvalidParameter
from dalenius.intervals import ratios
from dalenius.intervals.laws import Law, multiple


@dataclass(frozen=True)
class Estimated:
    """A number from noisy counts, and an interval for what it is without their noise.

    >>> print(Estimated(0.81761, 0.81432, 0.8210), Estimated(32617.4, 32432.9, 32801.2), sep="; ")
    0.8176 (0.8143 to 0.821); 32,617 (32,432 to 32,802)
    """

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        if max(abs(self.estimate), abs(self.high)) >= 1000:  # a count of rows
            return f"{self.estimate:,.0f} ({math.floor(self.low):,} to {math.ceil(self.high):,})"
        return f"{self.estimate:.4g} ({self.low:.4g} to {self.high:.4g})"


def error_of_accuracy(law: Law, classes: int, bins: int, rows: float, confidence: float) -> float:
    """How far the accuracy of so many rows may be off by the noise, where that is most: all are predicted rightly.

    The noise of right - v all has the variance of R (1 - v)^2 + W v^2 counts, R of rows that are right and W of others:
    it bends upwards in v, and W is R (k - 1) for k classes. So it is most at v = 1, or beyond, where an estimate is
    that is too large.
    """
    right, every, variance = bins * classes / (2 if classes == 2 else 1), bins * classes**2, law.variance
    every = every // 2 if classes == 2 else every
    if (
        every * variance < 1e-30
    ):  # too little for the floats below: a sum is off by 1e-12 once in 10^6 at most
        return 1e-12

    def fourth(v: Reals) -> Reals:
        return np.asarray(law.fourth * ((1 - v) ** 4 * right + v**4 * (every - right)))

    c = [np.array(x) for x in (variance * right, -2 * variance * right, variance * every)]
    at, parts = np.array(rows), (c[0], c[1], c[2])
    low, high = ratios.interval(at, at, parts, fourth, 1 - confidence, (0.0, 3.0), law.edge)
    return max(float(high) - 1.0, 1.0 - float(low))


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How good a classifier is on the rows of a table, by noisy counts. All of it was paid for once.

    Intervals are for the rows of the table, at `confidence`; with `sampling`, for the population that they were drawn
    from. Each is for itself.

    Attributes
    ----------
    classes
        The labels.
    counts
        Noisy counts: of two classes, labels x bins of the second one's probability; else labels x predictions x bins of
        the probability of what is predicted. The k-th of B bins is above k/B, up to (k + 1)/B.
    law
        The law of the noise in every count.
    loss
        What it cost.
    is_probability
        Whether the model gives probabilities; else bins are of the logistic function of its score.
    confidence
        That of the intervals.
    sampling
        Whether they are for a population.
    """

    classes: list[Any]
    counts: Reals
    law: Law
    loss: Loss
    is_probability: bool
    confidence: float = 0.95
    sampling: bool = field(default=False)

    def at(self, confidence: float | None = None, sampling: bool | None = None) -> Evaluation:
        """The same counts with other intervals; nothing is paid.

        Parameters
        ----------
        confidence
            How sure, such as 0.95.
        sampling
            Whether intervals are for the population that the rows were drawn from, each for itself.

        Returns
        -------
        Evaluation
            With these intervals.
        """
        sure = (
            self.confidence if confidence is None else 1 - failure_probability("confidence", 1 - confidence)
        )
        wide = self.sampling if sampling is None else bool(sampling)
        return Evaluation(self.classes, self.counts, self.law, self.loss, self.is_probability, sure, wide)

    @property
    def rows(self) -> Estimated:
        """How many rows were evaluated: those that have all features and one of the labels."""
        total = float(self.counts.sum())
        reach = self._reach(np.array(float(self.counts.size)))
        return Estimated(max(total, 0.0), max(total - reach, 0.0), max(total + reach, 0.0))

    @property
    def confusion(self) -> Reals:
        """Noisy counts, labels x predictions; they may be below 0."""
        return np.asarray(
            np.stack([self.counts[label][part].sum(axis=-1) for label, part in self._cells()]).reshape(
                len(self.classes), -1
            )
        )

    @property
    def confusion_margins(self) -> Reals:
        """How far each entry of `confusion` may be off, at the confidence."""
        sizes = [float(self.counts[label][part].size) for label, part in self._cells()]
        return np.array([self._reach(np.array(size)) for size in sizes]).reshape(len(self.classes), -1)

    @property
    def accuracy(self) -> Estimated:
        """The share of rows whose class is predicted."""
        entries, sizes = self.confusion, self._sizes()
        right = np.eye(len(self.classes), dtype=bool)
        return self._share(entries[right].sum(), sizes[right].sum(), entries.sum(), sizes.sum())

    def recall(self, label: Any) -> Estimated:
        """Of the rows with this label, the share that is predicted so.

        Parameters
        ----------
        label
            One of the classes.

        Returns
        -------
        Estimated
            The share, and its interval.

        Raises
        ------
        InvalidParameter
            If it is not one of the classes.
        """
        n, entries, sizes = self._place(label), self.confusion, self._sizes()
        return self._share(entries[n, n], sizes[n, n], entries[n].sum(), sizes[n].sum())

    def precision(self, label: Any) -> Estimated:
        """Of the rows that are predicted so, the share with this label.

        Parameters
        ----------
        label
            One of the classes.

        Returns
        -------
        Estimated
            The share, and its interval.

        Raises
        ------
        InvalidParameter
            If it is not one of the classes.
        """
        n, entries, sizes = self._place(label), self.confusion, self._sizes()
        return self._share(entries[n, n], sizes[n, n], entries[:, n].sum(), sizes[:, n].sum())

    @property
    def auc(self) -> Estimated:
        """The chance that of two rows with different labels the second class has the higher score; of two classes only.

        Within a bin the order is not known: the interval allows for either. Its width is that of a linear expansion in
        the noise, with the variance of the product of two noises added.
        """
        if len(self.classes) != 2:
            raise InvalidParameter(
                "AUC is of two classes; of more, see `recall`, `precision` and `confusion`."
            )
        negative, positive = self.counts
        p, n, bins = float(positive.sum()), float(negative.sum()), len(positive)
        reach = self._reach(np.array(float(bins)))
        if p <= reach or n <= reach:
            return Estimated(0.5, 0.0, 1.0)
        below = np.cumsum(negative) - negative / 2
        above = positive.sum() - np.cumsum(positive) + positive / 2
        auc = float(positive @ below) / (p * n)
        by_positive, by_negative = (below / n - auc) / p, (above / p - auc) / n
        variance = self.law.variance * float(by_positive @ by_positive + by_negative @ by_negative)
        variance += self.law.variance**2 * (bins * (bins - 1) / 2 + bins / 4) / (p * n) ** 2
        if self.sampling:
            # Hanley and McNeil 1982: of how likely the others are ranked rightly, by the rows of each label.
            seen = [np.maximum(each, 0.0) for each in (positive, negative)]
            spread = [
                float(w @ (at - auc) ** 2) / max(w.sum(), 1.0)
                for w, at in zip(seen, (below / n, above / p), strict=True)
            ]
            variance += spread[0] / p + spread[1] / n
        ties = max(float(positive @ negative), 0.0) / (2 * p * n)
        width = ties - float(ndtri((1 - self.confidence) / 2)) * math.sqrt(variance)
        return Estimated(min(max(auc, 0.0), 1.0), max(auc - width, 0.0), min(auc + width, 1.0))

    @property
    def calibration(self) -> list[tuple[float, float, Estimated, Estimated]]:
        """Of every bin its ends, how many rows are in it, and the share of them that has the class of the probability.

        That is the second of two classes, and what is predicted of more.
        """
        if not self.is_probability:
            raise InvalidParameter("this model gives no probabilities, so they cannot be calibrated.")
        bins = self.counts.shape[-1]
        if len(self.classes) == 2:
            hit, cells = self.counts[1], 2.0
            every, hits = self.counts.sum(axis=0), 1.0
        else:
            hit, cells = np.einsum("kkb->b", self.counts), float(len(self.classes) ** 2)
            every, hits = self.counts.sum(axis=(0, 1)), float(len(self.classes))
        found = []
        for k in range(bins):
            reach = self._reach(np.array(cells))
            here = float(every[k])
            rows = Estimated(max(here, 0.0), max(here - reach, 0.0), max(here + reach, 0.0))
            found.append((k / bins, (k + 1) / bins, rows, self._share(float(hit[k]), hits, here, cells)))
        return found

    def summary(self) -> str:
        """All of it in words.

        Returns
        -------
        str
            A few lines.
        """
        lines = [
            f"{'population' if self.sampling else 'table'}, {self.confidence:.0%} intervals",
            f"rows       {self.rows}",
            f"accuracy   {self.accuracy}",
        ]
        if len(self.classes) == 2:
            lines.append(f"AUC        {self.auc}")
        wide = max(len(str(name)) for name in self.classes)
        lines.append(f"{'label':{wide}}  predicted " + " ".join(f"{name!s:>10}" for name in self.classes))
        for name, entries in zip(self.classes, self.confusion, strict=True):
            lines.append(f"{name!s:{wide}}            " + " ".join(f"{x:>10.0f}" for x in entries))
        margin = rounded_up(float(self.confusion_margins.max()), 2)
        lines.append(f"each entry within {margin}")
        return "\n".join(lines)

    __str__ = summary

    def __repr__(self) -> str:
        return f"<Evaluation: accuracy {self.accuracy}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the same numbers as `summary`, and what they cost."""
        where = "population" if self.sampling else "table"
        facts = [
            (f"{self.confidence:.0%} intervals for", f"the {where}, each for itself"),
            ("rows", str(self.rows)),
            ("accuracy", str(self.accuracy)),
        ]
        facts += [("AUC", str(self.auc))] if len(self.classes) == 2 else []
        within = rounded_up(float(self.confusion_margins.max()), 2)
        head = ("label", *(f"predicted {name}" for name in self.classes))
        entries = [
            (str(name), *(f"{x:.0f}" for x in row))
            for name, row in zip(self.classes, self.confusion, strict=True)
        ]
        below = notebook.heading(f"each entry within {within}")
        return notebook.table([*facts, *cost_rows(self.loss)]) + notebook.grid(head, entries) + below

    def _place(self, label: Any) -> int:
        if label not in self.classes:
            raise InvalidParameter(f"there is no class {label!r}; the classes are {self.classes!r}.")
        return self.classes.index(label)

    def _cells(self) -> list[tuple[int, Any]]:
        """Where the counts of each entry of the confusion matrix are, in its order."""
        number, bins = len(self.classes), self.counts.shape[-1]
        if number == 2:
            halves = (slice(0, bins // 2), slice(bins // 2, bins))
            return [(label, half) for label in range(2) for half in halves]
        return [(label, predicted) for label in range(number) for predicted in range(number)]

    def _sizes(self) -> Reals:
        sizes = [self.counts[label][part].size for label, part in self._cells()]
        return np.array(sizes, dtype=float).reshape(len(self.classes), -1)

    def _reach(self, cells: Reals) -> float:
        """How far a sum of so many counts is off, at the confidence."""
        peaked = self.law.fourth / self.law.variance**2 / cells
        return (
            float(multiple(peaked, 1 - self.confidence) * np.sqrt(self.law.variance * cells)) + self.law.edge
        )

    def _share(self, top: float, in_top: float, bottom: float, in_bottom: float) -> Estimated:
        """top/bottom, where `in_top` of the `in_bottom` counts of the latter are the former's (Fieller 1954)."""
        variance = self.law.variance
        rows = max(bottom, 0.0) if self.sampling else 0.0
        c = [
            np.array(x)
            for x in (variance * in_top, rows - 2 * variance * in_top, variance * in_bottom - rows)
        ]

        def fourth(v: Reals) -> Reals:
            return np.asarray(self.law.fourth * ((1 - v) ** 4 * in_top + v**4 * (in_bottom - in_top)))

        low, high = ratios.interval(
            np.array(top),
            np.array(bottom),
            (c[0], c[1], c[2]),
            fourth,
            1 - self.confidence,
            (0.0, 1.0),
            self.law.edge,
        )
        best = min(max(top / bottom, 0.0), 1.0) if bottom > 0 else 0.5
        return Estimated(best, min(float(low), best), max(float(high), best))
