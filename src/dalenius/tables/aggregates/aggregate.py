"""What an aggregate is: one column of an answer (or a few), and all there is to know about it.

An argument is a column or any expression of the language in `dalenius.tables.rows.expressions`. `bounds` may be left
out when the schema has them; values beyond are clamped. `nulls` is the policy for missing values of this
argument, when the schema does not have it.
"""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dalenius.core.checks import number
from dalenius.errors import InvalidParameter
from dalenius.intervals.laws import Noisy
from dalenius.tables.aggregates.call import Call
from dalenius.tables.facts.forms import Recorded
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.measures.gridding import Value, make_value
from dalenius.tables.measures.measure import Measure
from dalenius.tables.rows.scope import Argument, Scope
from dalenius.tables.statistics.column import Column

if TYPE_CHECKING:
    from dalenius.tables.plan.noise import Noise
    from dalenius.tables.release.released import Released

PLAIN_NAME = re.compile(r'"([A-Za-z_]\w*)"')
"""A quoted name that is as well read without its quotes."""

Bounds = tuple[float, float]
Roles = Mapping[str, Measure]

GIVEN_LATER = "the budget, given with the question: session.release(q, dp.ZCDP(0.01))"
"""How a promise is said to an aggregate: it is not."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What was released for an aggregate, and how its intervals are to be made.

    failure: the chance that an interval may miss. sampling: intervals are for the population that the rows were drawn
    from, where there is such a thing.
    """

    roles: Roles
    released: Released
    failure: float
    sampling: bool = False

    def __getitem__(self, role: str) -> Noisy:
        """The noisy measure that plays a part."""
        return self.released.measures[self.roles[role]]


@dataclass(frozen=True)
class Aggregate(Recorded, ABC):
    """One column of an answer, or a few.

    A kind of aggregate is one class in one file: it says which measures it is made of and how its estimate follows
    from the noisy ones. What it does not say cannot be asked of it: a class that lacks a method cannot be made.
    """

    tag: ClassVar[str]
    """The word for this kind in records and messages. It is written into ledgers and never changes."""
    sql_names: ClassVar[tuple[str, ...]]
    """The functions of SQL, and of the command line, that ask for it; in lower case."""
    endings: ClassVar[tuple[str, ...]] = ("_error", "_low", "_high")
    """What is put after its name in the names of further columns."""
    priced: ClassVar[bool] = True
    """Whether its error can be foretold, at least from the number of rows."""

    @property
    @abstractmethod
    def arguments(self) -> tuple[str, ...]:
        """The columns and expressions it is asked of."""

    @property
    @abstractmethod
    def explanation(self) -> str:
        """How it comes about from what is released, in a few words."""

    @abstractmethod
    def roles(self, table: Scope) -> dict[str, Measure]:
        """The measures this aggregate is computed from, by the part each plays."""

    @abstractmethod
    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        """Its columns of the answer: post-processing of what was released."""

    @abstractmethod
    def normal(self, table: Scope) -> Self:
        """The same aggregate in its one spelling: columns named exactly, bounds and policies as they hold in the
        table. Whatever is left out, or said again, equal questions have equal records."""

    def error(self, noises: Mapping[str, Noise], typical: Inputs | None, confidence: float) -> float | None:
        """What the estimate is off by at most, with this confidence, before anything is released.

        noises: by role. typical: what would be released of rows evenly spread over the bounds, with intervals of this
        confidence; None where their number is not known. None: it cannot be said, for the reason in `unpriced`.
        """
        if typical is None or not self.priced:
            return None
        made = self.estimate("", typical)
        return max(float((column.high - column.low).max()) / 2 for column in made)

    @property
    def unpriced(self) -> str:
        """Why `error` has no answer, where it has none."""
        if self.priced:
            return "depends on how many rows a group has; say so: within(..., rows=1000), or --rows 1000."
        return (
            "depends on the data: how many values lie near it. It has no price by accuracy; choose a budget, and see "
            "how wide the interval comes out."
        )

    def record(self) -> dict[str, Any]:
        """What identifies it, for the ledger: {"kind": tag, ...}."""
        return {"kind": self.tag, **super().record()}

    @classmethod
    def asked(cls, record: Mapping[str, Any]) -> Aggregate:
        """What a record asks for that anybody may have written. What is left out is as in the call; what has no
        meaning here is refused, never passed over."""
        required = {field.name for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING}
        given = {word: value for word, value in record.items() if word != "kind"}
        for word in given:
            if word not in cls.words:
                raise InvalidParameter(
                    f"a {cls.tag} has no {word!r}; {nearest(str(word), cls.words)}."
                    if cls.words
                    else f"a {cls.tag} has no {word!r}; there is nothing to say about it."
                )
        for word, form in cls.words.items():
            if (form.field or word) in required and word not in given:
                raise InvalidParameter(f"a {cls.tag} needs {word!r}: what it is asked of.")
        parts = {
            (form.field or word): form.given(f"{word!r} of a {cls.tag}", given[word])
            for word, form in cls.words.items()
            if word in given
        }
        return cls.made(**parts)

    @classmethod
    @abstractmethod
    def made(cls, **parts: Any) -> Aggregate:
        """The aggregate with these parts, by the names of the fields, every one of them checked as in the call."""

    @classmethod
    @abstractmethod
    def from_sql(cls, call: Call) -> Aggregate:
        """What one of `sql_names` asks for."""

    @property
    def minor(self) -> tuple[str, ...]:
        """Roles that only intervals of a population need: how much the rows vary."""
        return ()

    def weight(self, role: str) -> Fraction:
        """How much of the budget a role is worth beside the others."""
        return Fraction(1, 4) if role in self.minor else Fraction(1)

    @property
    def limits(self) -> Bounds | None:
        """What its estimates and intervals are kept within, beyond what they are by themselves."""
        return None

    def width(self, roles: Roles) -> int:
        """How many intervals it has in each group."""
        return 1

    @property
    def ranks(self) -> tuple[float, ...]:
        """The quantiles it reads from bins, in place of counts."""
        return ()

    @property
    def what(self) -> str:
        """The call, for messages."""
        return f"{self.tag}({', '.join(map(repr, self.arguments))})"

    def __str__(self) -> str:
        shown = (PLAIN_NAME.sub(r"\1", text) for text in self.arguments)
        return f"{self.tag}({', '.join(shown)})"

    def dropping(self) -> Self:
        """The same with a policy for missing values, where it has none: is anything else wrong with it?"""
        policies = [field.name for field in dataclasses.fields(self) if field.name.endswith("nulls")]
        undeclared: dict[str, Any] = {name: "drop" for name in policies if getattr(self, name) is None}
        return replace(self, **undeclared)


def on_grid(argument: Argument, granularity: Fraction | None = None, halves: bool = True) -> Value:
    """The argument on its grid. halves: from its centre, to be multiplied."""
    return make_value(
        argument.term, argument.text, argument.bounds, argument.nulls, granularity, halves=halves
    )


def numbers(name: str, given: object, of: str, instead: str = "") -> tuple[float, ...]:
    """A list of numbers. instead: what else one may mean."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidParameter(
            f"{of} is given {given!r}; it needs a list of numbers, like [0.25, 0.5, 0.75]{instead}."
        )
    return tuple(number(name, value) for value in given)


def checked_text(column: object, tag: str) -> str:
    """The argument of an aggregate, which is text."""
    if not isinstance(column, str) or not column.strip():
        raise InvalidParameter(
            f"{tag} is asked of {column!r}; it must be a column or an expression, as text."
        )
    return column
