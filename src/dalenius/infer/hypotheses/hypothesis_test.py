"""What every test is: frozen settings that release once, judge what was released, and say what it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Reals
from dalenius.core.habits import Hinted
from dalenius.errors import InvalidParameter
from dalenius.infer.columns import Column
from dalenius.infer.hypotheses.result import TestResult
from dalenius.infer.promise import checked_guarantee

Released = Mapping[str, Any]
"""Released numbers by name."""

NUISANCE = 1e-4
"""The chance that a number of rows lies outside of what is allowed for; it is added to p-values.

(Berger and Boos 1994: the largest p-value over a confidence set of what is not known, plus the chance that the set
misses it, is a p-value, however the two depend on each other.)"""

ALTERNATIVES = ("two-sided", "less", "greater")


@dataclass(frozen=True)
class HypothesisTest(Hinted, ABC):
    """A test with its promise. `loss` is the cost, whatever the data; `run` releases once and judges the release."""

    guarantee: Guarantee
    adjacency: Adjacency = field(default=ADD_REMOVE, kw_only=True)

    method: ClassVar[str]

    def __post_init__(self) -> None:
        checked_guarantee(self.guarantee)
        checked_adjacency(self.adjacency)
        self._check()
        _ = self.loss

    def _check(self) -> None:
        """Raise where a setting cannot be."""

    @cached_property
    @abstractmethod
    def loss(self) -> Loss:
        """What one run costs."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """What it is about, in a table: the features and then, where there is one, the target."""

    def sealed(self) -> Self:
        """The same for rows that whoever asks may not see: nothing of theirs is called on a row, or it is refused."""
        return self

    def data(self, *columns: Any) -> tuple[Any, ...]:
        """What `release` takes, from these columns of a table."""
        return columns

    @abstractmethod
    def release(self, *data: Any) -> Released:
        """The only look at the data."""

    @abstractmethod
    def judge(self, released: Released) -> TestResult:
        """The test of what was released: post-processing."""

    def run(self, *data: Any) -> TestResult:
        """Release and judge."""
        return self.judge(self.release(*data))

    @abstractmethod
    def simulated_pvalues(
        self, n: int, replicates: int, generator: Generator, private: bool, **effect: Any
    ) -> Reals:
        """p-values of so many simulated data sets; of the classical test on the same where not private."""

    def power(self, n: int, level: float, private: bool, replicates: int, **effect: Any) -> float:
        """The chance to reject. By simulation, with the same random numbers every time, where not overridden."""
        generator = np.random.Generator(np.random.Philox(key=1948))
        p = self.simulated_pvalues(n, replicates, generator, private, **effect)
        return float(np.mean(p <= level))


def needed(effect: Mapping[str, Any], test: str, **described: str) -> list[Any]:
    """The values of the effect's words, in the order described; an error that names them where they differ."""
    if set(effect) != set(described):
        words = ", ".join(f"{name} ({what})" for name, what in described.items())
        raise InvalidParameter(f"the power of the {test} is for an effect given as {words}.")
    return [effect[name] for name in described]


def alternative(value: object) -> str:
    """One of the three alternatives."""
    return str(checks.one_of("alternative", value, *ALTERNATIVES))
