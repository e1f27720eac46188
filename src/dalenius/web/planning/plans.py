"""What can be planned: answers of a wanted accuracy, and training runs. A plan is its own link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

from dalenius import losses
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.decimals import exact, rounded_up
from dalenius.core.nearest import meant
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Gaussian, Laplace

LONGEST = 64
"""Letters of a number in a link."""


@dataclass(frozen=True)
class Plan:
    """Numbers that describe a release. A subclass names its kind, says what each number may be, and makes the loss."""

    kind: ClassVar[str]
    title: ClassVar[str]
    delta: float

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """The plan of a link's parameters; what is missing has its default."""
        allowed = [field.name for field in fields(cls)]
        for name in given:
            if name not in allowed:
                near = meant(name, allowed)
                hint = f"; did you mean {near!r}?" if near else f"; it has {checks.either(allowed)}."
                raise InvalidParameter.of(
                    name, f"there is no {checks.shown(name)} in a plan of kind {cls.kind!r}{hint}"
                )
        plan = cls.default()
        values: dict[str, Any] = {}
        for name in allowed:
            start = getattr(plan, name)
            said = given.get(name, "").strip()
            values[name] = start if not said else said if isinstance(start, str) else _number(name, said)
        return cls(**values)

    @classmethod
    def default(cls) -> Self:
        """A plan to start from."""
        raise NotImplementedError

    @cached_property
    def loss(self) -> Loss:
        """What everything that is planned costs together, add or remove a record."""
        return self.made()

    def made(self) -> Loss:
        """The loss, made anew: two threads do not share one."""
        raise NotImplementedError

    def said(self) -> str:
        """What would be released, in words."""
        raise NotImplementedError

    def parameters(self) -> dict[str, float | int | str]:
        """Its numbers, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def query(self) -> str:
        """The link's parameters, in one spelling."""
        told = {name: text(value) for name, value in self.parameters().items()}
        return urlencode({"kind": self.kind, **told})


def text(value: float | str) -> str:
    """A parameter as it stands in a link or a field."""
    return value if isinstance(value, str) else exact(value)


def _number(name: str, text: str) -> float:
    try:
        if len(text) > LONGEST or "_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        raise InvalidParameter.of(name, f"{name} is {checks.shown(text)}; it must be a number.") from None


def _between(name: str, value: float, least: float, most: float) -> float:
    allowed = f"a number from {least:g} to {most:g}"
    return checks.within(name, value, allowed, lambda x: least <= x <= most)


def _whole(name: str, value: float, most: int) -> int:
    found = checks.count(name, value, least=1)
    if found > most:
        raise InvalidParameter.of(name, f"{name} is {checks.shown(found)}; it must be at most {most}.")
    return found


@dataclass(frozen=True)
class Training(Plan):
    """So many steps, each on a Poisson sample of the records, with Gaussian noise on the sum of clipped gradients."""

    kind: ClassVar[str] = "training"
    title: ClassVar[str] = "A training run"
    steps: int
    rate: float
    noise: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", checks.failure_probability("delta", self.delta))
        object.__setattr__(self, "steps", _whole("steps", self.steps, 10**7))
        object.__setattr__(self, "rate", _between("rate", self.rate, 1e-7, 1.0))
        object.__setattr__(self, "noise", _between("noise", self.noise, 0.3, 1000.0))

    @classmethod
    def default(cls) -> Self:
        return cls(delta=1e-6, steps=1000, rate=0.01, noise=1.0)

    def made(self) -> Loss:
        step = losses.gaussian(sigma=self.noise)
        return (losses.poisson_sampled(step, rate=self.rate) if self.rate < 1.0 else step) * self.steps

    def said(self) -> str:
        one = self.steps == 1
        drawn = (
            "all records" if self.rate == 1.0 else f"each record drawn with a chance of {exact(self.rate)}"
        )
        return (
            f"{self.steps} training step{'' if one else 's'} by noisy gradients: {drawn}, gradients clipped, Gaussian "
            f"noise of {exact(self.noise)} times the clipping norm on their sum."
        )


@dataclass(frozen=True)
class Answers(Plan):
    """So many numbers, each within an error with a confidence, when one record changes each by so much at most."""

    kind: ClassVar[str] = "answers"
    title: ClassVar[str] = "Answers of a wanted accuracy"
    NOISES: ClassVar[dict[str, Callable[..., Laplace | Gaussian]]] = {
        "laplace": Laplace.for_accuracy,
        "gaussian": Gaussian.for_accuracy,
    }
    error: float
    confidence: float
    change: float
    questions: int
    noise: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", checks.failure_probability("delta", self.delta))
        object.__setattr__(self, "error", _between("error", self.error, 1e-6, 1e12))
        object.__setattr__(self, "confidence", _between("confidence", self.confidence, 0.5, 0.999999))
        object.__setattr__(self, "change", _between("change", self.change, 1e-6, 1e12))
        object.__setattr__(self, "questions", _whole("questions", self.questions, 10**5))
        checks.one_of("noise", self.noise, *self.NOISES)
        _ = self.mechanism

    @classmethod
    def default(cls) -> Self:
        return cls(delta=1e-6, error=20.0, confidence=0.95, change=1.0, questions=10, noise="gaussian")

    @cached_property
    def mechanism(self) -> Laplace | Gaussian:
        """The most noise that is as accurate."""
        return self.NOISES[self.noise](self.error, self.confidence, sensitivity=self.change)

    def made(self) -> Loss:
        return self.mechanism.loss * self.questions

    def said(self) -> str:
        made = self.mechanism
        size = made.scale if isinstance(made, Laplace) else made.sigma
        name = (
            "Laplace noise of scale" if isinstance(made, Laplace) else "Gaussian noise of standard deviation"
        )
        one = self.questions == 1
        return (
            f"{self.questions} answer{'' if one else 's'}, {'' if one else 'each '}off by at most {exact(self.error)} "
            f"in {rounded_up(100 * self.confidence, 8)} % of cases, for example counts, when a record changes an "
            f"answer by at most {exact(self.change)}: {name} {size:.4g}."
        )


KINDS: dict[str, type[Plan]] = {kind.kind: kind for kind in (Training, Answers)}


def read(given: Mapping[str, str]) -> Plan:
    """The plan of a link's parameters, `kind` among them."""
    rest = dict(given)
    kind = checks.one_of("kind", rest.pop("kind", None) or Training.kind, *KINDS)
    return KINDS[kind].read(rest)
