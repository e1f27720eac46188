"""The parts of generalized propose-test-release, each of which an instance fills in.

Redberg 2023, chapter 3; Redberg, Zhu and Wang 2023.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Neighbours


class PrivateTest(ABC):
    """A private yes or no: may the mechanism be run on these data?

    Its randomness is its own. Nothing but the answer may leave it.
    """

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The privacy loss of the answer."""

    wrong_pass: float
    """At most how likely data that do not keep the mechanism's budget are to pass, rounded up."""

    @abstractmethod
    def passes(self, data: Any) -> bool:
        """The answer."""

    def answers(self, data: Any, times: int) -> list[bool]:
        """Independent answers, `times` of them: what an audit runs."""
        return [self.passes(data) for _ in range(times)]


class PrivateBound(ABC):
    """A private statement about the data that is probably true: "the smallest eigenvalue is at least 7"."""

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The privacy loss of the statement."""

    failure: float
    """At most how likely the statement is to be false, whatever the data, rounded up."""

    @abstractmethod
    def release(self, data: Any) -> Any:
        """The statement: a number, or whatever the mechanism is chosen by."""


class DataDependent(ABC):
    """A mechanism M_phi, phi being its fields, whose privacy loss depends on the data.

    A data set X *keeps the budget* if for each of its neighbours X', M_phi(X) and M_phi(X') are within `budget` of
    each other, both ways (Redberg 2023, Definition 3.5.1).
    """

    @property
    @abstractmethod
    def budget(self) -> Loss:
        """The loss between a data set that keeps the budget and each of its neighbours."""

    @property
    def worst_loss(self) -> Loss | None:
        """The loss between any neighbours whatever; None where there is no bound."""
        return None

    @abstractmethod
    def keeps_budget(self, data: Any) -> bool:
        """Whether these data keep the budget. A secret: no release asks for it, only a test with noise may."""

    @abstractmethod
    def release(self, data: Any) -> Any:
        """A draw of M_phi(data): private only if the data keep the budget."""

    def releases(self, data: Any, times: int) -> Sequence[Any]:
        """Independent draws, `times` of them: what an audit runs."""
        return [self.release(data) for _ in range(times)]

    @property
    @abstractmethod
    def worst_pair(self) -> Neighbours:
        """Neighbours on which the whole release costs as much as it may, or nearly so: what an audit runs on."""


class Stable(DataDependent):
    """A mechanism of which one knows how far data are from not keeping its budget."""

    @abstractmethod
    def distance(self, data: Any) -> int:
        """How many records must change until the data do not keep the budget: 0 for such data, a secret.

        Changes are those of the mechanism's neighbouring relation, so that neighbours are at most 1 apart.
        """

    def keeps_budget(self, data: Any) -> bool:
        return self.distance(data) > 0


class Family(ABC):
    """Mechanisms M_phi on the same data, one for each phi, and how to choose phi from a statement about the data."""

    @property
    @abstractmethod
    def budget(self) -> Loss:
        """The loss of M_phi between X and each of its neighbours, both ways, for the phi chosen by a true statement."""

    @abstractmethod
    def choose(self, statement: Any) -> Any | None:
        """A phi whose mechanism keeps the budget on all data of which the statement is true; None if there is none."""

    @abstractmethod
    def release(self, data: Any, phi: Any) -> Any:
        """A draw of M_phi(data)."""

    @property
    @abstractmethod
    def worst_pair(self) -> Neighbours:
        """Neighbours on which the whole release costs as much as it may, or nearly so: what an audit runs on."""


def checked_part(name: str, value: object, kind: type, example: str) -> None:
    """Refuse what is not a part of this kind."""
    if not isinstance(value, kind):
        raise InvalidParameter.of(
            name, f"{name} is {checks.shown(value)}; it must be a {kind.__name__}, such as {example}."
        )
