"""What least squares from noisy X^T X and X^T y cost one person.

A record moves X^T X by x x^T, of Frobenius norm |x|^2, and X^T y by y x. Noise of size s off the diagonal and sqrt(2)
s on it costs as much as noise s against |x|^2/sqrt(2) (Redberg 2023, Theorem A.4.1); so for a person named beforehand
the two releases together are one Gaussian release with mu^2 = |x|^4/(2 s^2) + y^2|x|^2/t^2, and the loss is at most
mu^2/2 + mu z. For everybody at once, |x.Z x| <= tau |x|^2 for the noise matrix and |v.x| <= min(ball |x|, box |x|_1)
for the vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.adaptive.personal.goe import goe_quantile
from dalenius.adaptive.personal.record import Fields
from dalenius.adaptive.personal.release import Release, Statement, padded, reached
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.record import JSON, exact


@dataclass(frozen=True)
class NoisyStatistics(Release):
    """Noise off the diagonal of X^T X and in X^T y, and by how much rows and labels were rounded before."""

    tag = "noisy_statistics"

    fields: Fields
    gram_sigma: float
    product_sigma: float
    row_bound: float
    row_rounding: float = 0.0
    label_rounding: float = 0.0
    rows: int = 1

    def __post_init__(self) -> None:
        for word in NUMBERS[:3]:
            checks.positive(word, getattr(self, word))
        for word in NUMBERS[3:]:
            checks.nonnegative(word, getattr(self, word))
        checks.count("rows", self.rows, least=1)

    def constants(self, statement: Statement) -> dict[str, Any]:
        found: dict[str, Any] = {
            "gram": self.rows / self.gram_sigma,
            "product": self.rows / self.product_sigma,
        }
        if not statement.is_for_everyone:
            return {**found, "ball": statement.directions(1)[0], "box": None, "tau": None}
        half = statement.part(0.5)
        ball, box = half.directions(self.fields.size)
        return {**found, "ball": ball, "box": box, "tau": goe_quantile(self.fields.size, half.failure / 2)}

    def bound(self, constants: Mapping[str, Any], rows: Reals, labels: Reals, member: bool | None) -> Reals:
        size, label = np.linalg.norm(rows, axis=1) + self.row_rounding, np.abs(labels) + self.label_rounding
        gram, product = constants["gram"] * size**2, constants["product"] * label
        square = gram**2 / 2 + (product * size) ** 2  # mu^2
        if constants["tau"] is None:
            return np.asarray(padded(square / 2 + np.sqrt(square) * constants["ball"]))
        away = reached(rows, constants["ball"], constants["box"], self.row_rounding)
        return np.asarray(padded(square / 2 + gram * constants["tau"] / 2 + product * away))

    def worst(self, constants: Mapping[str, Any]) -> float:
        row = np.array([[self.row_bound]])
        return float(self.bound({**constants, "box": None}, row, np.array([1.0]), None)[0])

    def record(self) -> dict[str, JSON]:
        numbers = {word: exact(getattr(self, word)) for word in NUMBERS}
        return {"fields": self.fields.record(), **numbers, "rows": self.rows}

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> NoisyStatistics:
        numbers = {word: float(record[word]) for word in NUMBERS}
        return cls(Fields.from_record(record["fields"]), **numbers, rows=int(record["rows"]))


NUMBERS = ("gram_sigma", "product_sigma", "row_bound", "row_rounding", "label_rounding")
