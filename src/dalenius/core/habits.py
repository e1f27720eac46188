"""What people bring along from other libraries, or misspell, and what it is called here.

Python's own words about a name that is not there say nothing of the one that is. These do, and only after Python has
found none: nothing that works takes another way through here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, ClassVar, NoReturn, ParamSpec, Self, TypeVar

from dalenius.core.nearest import meant

P = ParamSpec("P")
R = TypeVar("R")

PROMISES = ("delta", "eps", "epsilon", "mu", "privacy_budget", "rho")
BOUNDS = ("clamp", "clamping_bounds", "high", "low", "lower", "max", "min", "range", "upper")
NAMES = {
    "categories": "classes",
    "data_norm": "row_norm",
    "max_contributions": "max_rows",
    "noise_multiplier": "sigma",
    "random_state": "",
    "rng": "",
    "seed": "",
}
NO_SEED = "noise is drawn from the operating system, and takes no seed: with one it could be taken off again"


def hinted(
    promise: str = "", *, more: str = "", name: str = "", **missing: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function whose refusal of a wrong call says what it takes.

    promise: how a promise is said here; more: what to say where there is too much; name: what people call the function,
    where it has another; missing: of parameters that may be forgotten, what to write.
    """

    def around(function: Callable[P, R]) -> Callable[P, R]:
        takes, better = signature(function), _better

        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                takes.bind(*args, **kwargs)
            except TypeError as problem:
                raise better(
                    name or function.__qualname__, takes.parameters, problem, kwargs, promise, more, missing
                ) from None
            return function(*args, **kwargs)

        # With the globals of the function itself: by them doctest knows where it is at home.
        at_home: Any = FunctionType(
            called.__code__, function.__globals__, function.__name__, None, called.__closure__
        )
        return update_wrapper(at_home, function)

    return around


class Hinted:
    """A class whose refusal of a wrong keyword says what it takes."""

    _promise_said: ClassVar[str] = ""
    """How a promise is said to it."""
    _missing_said: ClassVar[Mapping[str, str]] = {}
    """Of parameters that are forgotten, what to write."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        takes = signature(cls.__init__).parameters if kwargs else {}
        if kwargs and not any(p.kind is Parameter.VAR_KEYWORD for p in takes.values()):
            for name in kwargs:
                if name not in takes:
                    raise TypeError(_unknown(cls.__qualname__, name, takes, cls._promise_said, ""))
        if cls._missing_said and (args or kwargs):  # none are given where a copy is made
            placed = [word for word in signature(cls.__init__).parameters if word != "self"]
            for wanted, how in cls._missing_said.items():
                if wanted not in kwargs and wanted in placed[len(args) :]:
                    raise TypeError(f"{cls.__qualname__}() needs {wanted}: {how}.")
        return super().__new__(cls)


# What is listed of a class that has no `__init__` of its own: that it takes nothing.
vars(Hinted.__new__)["__signature__"] = Signature([Parameter("cls", Parameter.POSITIONAL_ONLY)])


def _better(
    name: str,
    takes: Mapping[str, Parameter],
    problem: TypeError,
    kwargs: Mapping[str, object],
    promise: str,
    more: str,
    missing: Mapping[str, str],
) -> TypeError:
    name = name.removesuffix(".__init__")
    for given in kwargs:
        if given not in takes:
            return TypeError(_unknown(name, given, takes, promise, more))
    for wanted, how in missing.items():
        if str(problem).endswith(f"{wanted!r}"):
            return TypeError(f"{name}() needs {wanted}: {how}.")
    if more and str(problem).startswith("too many"):
        return TypeError(f"{name}(): {more}.")
    ends = " Bounds are one pair: bounds=(lower, upper)." if "bounds" in takes else ""
    hint = ends if str(problem).startswith("too many") else ""
    return TypeError(f"{name}(): {problem}. It takes {_listed(takes)}.{hint}")


def _unknown(name: str, given: str, takes: Mapping[str, Parameter], promise: str, more: str) -> str:
    """What to say of a keyword that there is not."""
    known = [word for word in takes if word != "self"]
    if given in PROMISES and promise:
        return f"{name}() takes no {given}: a promise is one thing here, {promise}."
    if given in BOUNDS and "bounds" in known:
        return f"{name}() takes no {given}: say both ends, bounds=(lower, upper)."
    other = NAMES.get(given)
    if other == "":
        return f"{name}() takes no {given}: {NO_SEED}."
    close = other if other in known else meant(given, known)
    hint = "" if close is None else f"; did you mean {close!r}?"
    if more and close is None:
        return f"{name}() takes no {given!r}: {more}."
    return f"{name}() takes no {given!r}{hint or '.'} It takes {_listed(takes)}."


def _listed(takes: Mapping[str, Parameter]) -> str:
    """`column, bounds; by name nulls, granularity`: parameters in their order, and which have no place."""
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    placed = [p.name for p in takes.values() if p.kind in kinds and p.name != "self"]
    named = [p.name for p in takes.values() if p.kind is Parameter.KEYWORD_ONLY]
    told = ", ".join(placed)
    if named:
        told += ("; by name " if told else "by name ") + ", ".join(named)
    return told or "nothing"


def looked_for(
    room: str, known: Collection[str], hints: Mapping[str, Collection[str]]
) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a room. hints: what to write instead, and what others call it."""
    instead = {name: what for what, names in hints.items() for name in names}

    def missing(name: str) -> NoReturn:
        raise absent(f"module {room!r}", name, known, instead)

    return missing


def absent(kind: str, name: str, known: Collection[str], hints: Mapping[str, str]) -> AttributeError:
    """The error about an attribute that there is not. hints: what others call things, and what to write instead."""
    hint = hints.get(name)
    if hint is None and not name.startswith("_"):
        close = meant(name, [word for word in known if not word.startswith("_")])
        hint = None if close is None else f"did you mean {close!r}?"
    text = f"{kind} has no attribute {name!r}"
    return AttributeError(f"{text}: {hint}" if hint else text)
