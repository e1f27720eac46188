"""The public message that everybody in a survey has: which randomizer, in whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.record import JSON, exact, headed, opened, unknown
from dalenius.errors import InvalidParameter
from dalenius.local.frequency_oracle import MOST_ANSWERS
from dalenius.local.wire.hadamard_response import WireHadamardResponse
from dalenius.local.wire.kind import NEAR, Kind, double
from dalenius.local.wire.local_hashing import WireLocalHashing
from dalenius.local.wire.means import (
    WireHybridMean,
    WireLaplaceMean,
    WireMean,
    WireOneBitMean,
    WirePiecewiseMean,
)
from dalenius.local.wire.randomized_response import WireRandomizedResponse
from dalenius.local.wire.subset_selection import WireSubsetSelection
from dalenius.local.wire.unary_encoding import WireOptimizedUnaryEncoding, WireSymmetricUnaryEncoding

FORMAT, VERSION = "dalenius local parameters", 1

KINDS: tuple[Kind, ...] = (
    WireRandomizedResponse(),
    WireOptimizedUnaryEncoding(),
    WireSymmetricUnaryEncoding(),
    WireHadamardResponse(),
    WireLocalHashing(),
    WireSubsetSelection(),
    WireOneBitMean(),
    WirePiecewiseMean(),
    WireHybridMean(),
    WireLaplaceMean(),
)

MOST_EPSILON = 40.0
"""Beyond, words of 64 bits are too coarse for coins that estimates can be made from."""

LONGEST = 200
"""Characters of a survey's name, and of a category."""


@dataclass(frozen=True)
class Parameters:
    """What everybody in a survey must know, to be published: the randomizer, the survey's name, the answers.

    As text (`to_json`) it is read by `Client` and `Aggregator`, and by the client in JavaScript that comes with this
    package (`dalenius.local.wire`, client.js). Chances are whole numbers out of 2^64, rounded so that a report costs
    no more than the mechanism's loss. The format is described in docs/local-wire-format.md.

    Parameters
    ----------
    mechanism
        RandomizedResponse, OptimizedUnaryEncoding, SymmetricUnaryEncoding, HadamardResponse, LocalHashing or
        SubsetSelection for answers, Duchi, Piecewise, Hybrid or Laplace for numbers; epsilon from 1e-6 (Laplace: 0.01)
        to 40.
    survey
        The name of the survey. Every report carries it, so that reports of two surveys are not mixed up.
    categories
        What the answers 0 .. k - 1 are called: different texts.

    Examples
    --------
    >>> import dalenius as dp
    >>> m = dp.local.RandomizedResponse(epsilon=1.0, k=3)
    >>> message = dp.local.Parameters(m, survey="colours", categories=("red", "green", "blue"))
    >>> dp.local.Parameters.from_json(message.to_json()) == message
    True
    """

    mechanism: Any
    survey: str = ""
    categories: Sequence[str] = ()

    def __post_init__(self) -> None:
        names = checks.either([kind.mechanism.__name__ for kind in KINDS])
        if not any(type(self.mechanism) is kind.mechanism for kind in KINDS):
            raise InvalidParameter.of(
                "mechanism", f"mechanism is {checks.shown(self.mechanism)}; on the wire there are {names}."
            )
        if not self.kind.least <= self.mechanism.epsilon <= MOST_EPSILON:
            raise InvalidParameter.of(
                "epsilon",
                f"epsilon is {self.mechanism.epsilon:g}; on the wire it must be from {self.kind.least:g} to "
                f"{MOST_EPSILON:g}.",
            )
        if not self.is_for_numbers and self.mechanism.k > MOST_ANSWERS:
            raise InvalidParameter.of(
                "k",
                f"k is {self.mechanism.k}; on the wire it must be at most {MOST_ANSWERS}: all are counted.",
            )
        if not is_text(self.survey, 0):
            raise InvalidParameter.of("survey", f"survey must be text of at most {LONGEST} characters.")
        object.__setattr__(self, "categories", self._named(self.categories))

    def _named(self, categories: Any) -> tuple[str, ...]:
        count = 0 if isinstance(self.kind, WireMean) else self.mechanism.k
        names = tuple(categories) if isinstance(categories, list | tuple) else (None,)
        usable = all(is_text(name, 1) for name in names) and len(set(names)) == len(names)
        if not usable or len(names) not in (0, count):
            raise InvalidParameter.of(
                "categories",
                f"categories must be {count} different texts of at most {LONGEST} characters, or left out."
                if count
                else "categories must be left out: this randomizer is for numbers.",
            )
        return names

    @cached_property
    def kind(self) -> Kind:
        return next(kind for kind in KINDS if type(self.mechanism) is kind.mechanism)

    @property
    def is_for_numbers(self) -> bool:
        """Whether people report a number; else they report an answer."""
        return isinstance(self.kind, WireMean)

    @property
    def loss(self) -> Loss:
        """What one report costs the person who sends it."""
        return self.kind.loss(self.mechanism)

    @cached_property
    def constants(self) -> dict[str, int]:
        """The whole numbers and thresholds that a client computes with."""
        return {**self.kind.numbers(self.mechanism), **self.kind.thresholds(self.mechanism)}

    def record(self) -> dict[str, JSON]:
        """The message without its heading."""
        numbers = self.kind.numbers(self.mechanism)
        coins = {name: str(self.constants[name]) for name in self.kind.thresholds(self.mechanism)}
        bounds = {}
        if self.is_for_numbers:
            low, high = self.mechanism.bounds
            bounds = {"lowest": exact(low), "highest": exact(high)}
        named = {"categories": list(self.categories)} if self.categories else {}
        return {
            "kind": self.kind.tag,
            "epsilon": exact(self.mechanism.epsilon),
            "survey": self.survey,
            **numbers,
            **coins,
            **bounds,
            **named,
        }

    def to_json(self) -> str:
        """The message, to be published.

        Returns
        -------
        str
            JSON, the same for the same parameters.
        """
        return headed(FORMAT, VERSION, self.record())

    @staticmethod
    def from_json(text: str) -> Parameters:
        """The parameters of a message.

        Parameters
        ----------
        text
            What `to_json` returned.

        Returns
        -------
        Parameters
            The same parameters.

        Raises
        ------
        InvalidParameter
            If it is no such message, of a newer version, or its thresholds do not keep the epsilon it states.
        """
        return read(opened(text, FORMAT, VERSION))


def is_text(value: Any, least: int, most: int = LONGEST) -> bool:
    """Text of `least` to `most` characters that every program can hold: no halves of surrogate pairs."""
    return (
        isinstance(value, str)
        and least <= len(value) <= most
        and not any("\ud800" <= c <= "\udfff" for c in value)
    )


def checked(parameters: Any) -> Parameters:
    """The argument, if it is what everybody in a survey knows."""
    if not isinstance(parameters, Parameters):
        raise InvalidParameter.of(
            "parameters",
            f"parameters is {checks.shown(parameters)}; it must be Parameters: read a message with from_json.",
        )
    return parameters


def read(record: Mapping[str, JSON]) -> Parameters:
    """The parameters that `Parameters.record` wrote."""
    kind = next((kind for kind in KINDS if kind.tag == record.get("kind")), None)
    if kind is None:
        raise unknown("local parameters", record.get("kind"), InvalidParameter)
    try:
        mechanism = kind.make(double(record["epsilon"]), record)
        found = Parameters(mechanism, record["survey"], record.get("categories", ()))
        given = {name: record[name] for name in kind.numbers(mechanism)}
        coins = {name: int(record[name]) for name in kind.thresholds(mechanism)}
        if any(str(count) != record[name] for name, count in coins.items()):
            raise ValueError
    except (KeyError, TypeError, ValueError, OverflowError, ArithmeticError) as problem:
        if isinstance(problem, InvalidParameter):
            raise
        raise InvalidParameter("these dalenius local parameters are not written as we write them.") from None
    if given != kind.numbers(mechanism) or any(type(number) is not int for number in given.values()):
        raise InvalidParameter("the numbers of these dalenius local parameters do not fit each other.")
    for name, sharpest in kind.thresholds(mechanism).items():
        # A coin that shows heads more often than this would tell more than epsilon.
        spare = coins[name] - sharpest if name in kind.rising else sharpest - coins[name]
        if not 0 <= spare <= NEAR:
            raise InvalidParameter(
                f"the threshold {name!r} is not one that keeps the epsilon stated: do not report."
            )
    found.__dict__["constants"] = {**given, **coins}
    return found
