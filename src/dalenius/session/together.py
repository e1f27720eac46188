"""Several questions asked as one plan: one charge for all of them, and one accuracy that holds for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import total
from dalenius.core.checks import label, shown
from dalenius.core.notebook import printed
from dalenius.errors import InvalidParameter
from dalenius.session.accuracy import Within
from dalenius.session.explain import Explanation
from dalenius.tables.ask.cube import CubeQuery
from dalenius.tables.ask.query import Query
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.plan.plan import Plan
from dalenius.tables.release.expected import expected


@dataclass(frozen=True)
class Together:
    """Questions by name. cube: what they are the margins of, where they are some."""

    queries: Mapping[str, Query]
    cube: CubeQuery | None = None

    @classmethod
    def of(cls, asked: object) -> Together:
        """From questions by name, or from a cube or rollup."""
        if isinstance(asked, CubeQuery):
            return cls(asked.named, asked)
        names = list(asked) if isinstance(asked, Mapping) else []
        if not isinstance(asked, Mapping) or not names or not all(isinstance(name, str) for name in names):
            raise InvalidParameter(
                f"release_all needs questions by name, at least one: {{'n': query}}, not {shown(asked)}."
            )
        for name in names:
            label("the name of a question", name)
        return cls(asked)

    def planned(self, plan: Callable[[Query], Plan]) -> JointPlan:
        """With noise, each by itself."""
        return JointPlan(self, {name: plan(query) for name, query in self.queries.items()})


@dataclass(frozen=True)
class JointPlan:
    """A plan for each question, and the loss of all of them."""

    asked: Together
    plans: Mapping[str, Plan]

    @cached_property
    def loss(self) -> Loss:
        return total([plan.loss for plan in self.plans.values()])

    @property
    def explained(self) -> Explanations:
        """What is to be expected; of a cube, of its numbers as they are shown, made to agree."""
        plans, cube = list(self.plans.values()), self.asked.cube
        plans = plans if cube is None else expected(cube, plans)
        return Explanations(dict(zip(self.plans, map(Explanation, plans), strict=True)))


@dataclass(frozen=True)
class Explanations:
    """What is to be expected of each of several questions; `print` it, or ask for one error.

    Of a cube or rollup, noise and errors are those of its cells and margins after they were made to agree: the best
    linear estimates from all of them. Counts are then shown as the nearest table that is whole, not negative and adds
    up, which moves numbers within (or beside) their intervals where cells are small.
    """

    parts: Mapping[str, Explanation]

    def error(self, confidence: float = 0.95, column: str | None = None, rows: float | None = None) -> float:
        """The error an estimate stays within, in the worst question that has the column; see `Explanation.error`."""
        having = [part for part in self.parts.values() if column is None or column in _columns(part)]
        if not having:
            known = dict.fromkeys(name for part in self.parts.values() for name in _columns(part))
            raise InvalidParameter(
                f"there is no column {column!r} in the answers; {nearest(str(column), known)}."
            )
        return max(part.error(confidence, column, rows) for part in having)

    def meets(self, accuracy: Within) -> bool:
        """Whether every error that was named is kept to, in every question."""
        level = self.level(accuracy)
        return all(self.error(level, column, accuracy.rows) <= error for column, error in accuracy.each)

    def level(self, accuracy: Within) -> float:
        """The confidence of one number: more than that of all answers, where all are to hold together."""
        return 1 - (1 - accuracy.confidence) / (self.cells if accuracy.simultaneous else 1)

    @property
    def cells(self) -> int:
        """How many numbers with an interval there are, in all answers together."""
        return sum(part.cells for part in self.parts.values())

    def assumed(self, accuracy: Within) -> str:
        """What an accuracy rests on beyond public facts, in words."""
        if accuracy.rows is None:
            return ""
        for part in self.parts.values():
            named = [(name, e) for name, e in accuracy.each if name is None or name in _columns(part)]
            for name, error in named:
                alone = Within(error, accuracy.confidence, name, accuracy.rows)
                if told := part.assumed(alone):
                    return told
        return ""

    def __str__(self) -> str:
        return "\n\n".join(f"{name}:\n{part}" for name, part in self.parts.items())

    def _repr_html_(self) -> str:
        """What a notebook shows: the same lines as `print`."""
        return printed(self)


def _columns(part: Explanation) -> list[str]:
    return [name for name, _ in part.plan.query.aggregates]
