"""What an aggregate is: one column of an answer (or a few), and all there is to know about it.

An argument is a column or any expression of the language in `dalenius.tables.rows.expressions`. `bounds` may be left
out when the schema has them; values beyond are clamped. `nulls` is the policy for missing values of this
argument, when the schema does not have it.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from dalenius.core.checks import number
from dalenius.errors import InvalidParameter
from dalenius.tables.aggregates.record import Form
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.measures.gridding import Value, make_value
from dalenius.tables.measures.measure import Measure
from dalenius.tables.rows.terms import Term
from dalenius.tables.statistics.column import Column
from dalenius.tables.statistics.laws import Noisy

if TYPE_CHECKING:
    from dalenius.tables.plan.noises import Noise
    from dalenius.tables.release.released import Released
    from dalenius.tables.sql.calls import Call

Bounds = tuple[float, float]
Roles = Mapping[str, Measure]
Record = dict[str, Any]


class Argument(Protocol):
    """An aggregate's argument, found in the table it is asked of."""

    @property
    def term(self) -> Term: ...
    @property
    def text(self) -> str: ...
    @property
    def bounds(self) -> Bounds: ...
    @property
    def nulls(self) -> Nulls: ...
    @property
    def condition(self) -> bool: ...


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


class Columns(Protocol):
    """The table an aggregate is asked of: knows the types, bounds and policies of columns."""

    def argument(self, text: str, bounds: Bounds | None, nulls: Nulls | None, what: str) -> Argument:
        """A number, with its bounds and policy."""

    def present(self, text: str, nulls: Nulls | None, what: str) -> tuple[str, ...]:
        """What a row must have for the argument not to be missing."""

    def canonical(self, text: str, what: str) -> str:
        """The text with every column named exactly."""

    def declared(self, text: str, nulls: Nulls | None, what: str) -> Term:
        """Anything that has a value or a policy for lacking one, of whatever type."""

    def categories(self, text: str, what: str) -> tuple[Any, ...] | None:
        """The public categories of a column, where the schema has them."""


@dataclass(frozen=True)
class Aggregate(ABC):
    """One column of an answer, or a few.

    A kind of aggregate is one class in one file: it says which measures it is made of and how its estimate follows
    from the noisy ones. What it does not say cannot be asked of it: a class that lacks a method cannot be made.
    """

    tag: ClassVar[str]
    """The word for this kind in records and messages. It is written into ledgers and never changes."""
    sql_names: ClassVar[tuple[str, ...]]
    """The functions of SQL, and of the command line, that ask for it; in lower case."""
    words: ClassVar[Mapping[str, Form]]
    """What is recorded of it: every part by the word for it, which never changes either, and how it is written."""
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
    def roles(self, table: Columns) -> dict[str, Measure]:
        """The measures this aggregate is computed from, by the part each plays."""

    @abstractmethod
    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        """Its columns of the answer: post-processing of what was released."""

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

    def record(self) -> Record:
        """What identifies it, for the ledger: {"kind": tag, ...}, numbers as exact text."""
        return {
            "kind": self.tag,
            **{word: form.write(getattr(self, word)) for word, form in self.words.items()},
        }

    @classmethod
    def from_record(cls, content: Record) -> Aggregate:
        """What `record` wrote."""
        return cls(**{word: form.read(content[word]) for word, form in cls.words.items()})

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

    def limits(self, table: Callable[[], Columns]) -> Bounds | None:
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
        return f"{self.tag}({', '.join(self.arguments)})"

    def dropping(self) -> Aggregate:
        """The same with a policy for missing values, where it has none: is anything else wrong with it?"""
        undeclared = any(
            f.name == "nulls" and getattr(self, f.name) is None for f in dataclasses.fields(self)
        )
        return replace(self, nulls="drop") if undeclared else self  # type: ignore[call-arg]


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
