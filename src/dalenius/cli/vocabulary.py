"""The names an expression may use, and the parameters each of them takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Sort(Enum):
    """What may be written for a parameter."""

    NUMBER = "a number"
    WHOLE = "a whole number"
    LOSS = "a loss"
    LOSSES = "any number of losses"
    LIST = "a list of numbers such as [0.9, 0.1]"
    ADJACENCY = "add_remove or replace_one"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a form."""

    name: str
    sort: Sort = Sort.NUMBER
    optional: bool = False
    python: str = ""
    """Its name in `dalenius.losses`, where that differs."""
    most: int | None = None
    """The largest whole number accepted, where the loss keeps a table of that size."""

    @property
    def python_name(self) -> str:
        return self.python or self.name


@dataclass(frozen=True)
class Form:
    """A name with its parameters and the function of `dalenius.losses` it stands for."""

    name: str
    constructor: str
    parameters: tuple[Parameter, ...]

    @property
    def signature(self) -> str:
        """`laplace(scale[, sensitivity, adjacency])`."""
        needed = ", ".join(
            "loss, loss, ..." if p.sort is Sort.LOSSES else p.name for p in self.parameters if not p.optional
        )
        extra = ", ".join(p.name for p in self.parameters if p.optional)
        if not extra:
            return f"{self.name}({needed})"
        return f"{self.name}({needed}[, {extra}])" if needed else f"{self.name}([{extra}])"


def _form(name: str, *parameters: Parameter, constructor: str = "") -> Form:
    return Form(name, constructor or name, parameters)


_EPSILON, _SIGMA, _RATE = Parameter("epsilon"), Parameter("sigma"), Parameter("rate")
_LOSS = Parameter("loss", Sort.LOSS)
_ADJACENCY = Parameter("adjacency", Sort.ADJACENCY, optional=True)
_SENSITIVITY = Parameter("sensitivity", optional=True)
_STEPS = Parameter("sensitivity", Sort.WHOLE, optional=True, most=10**6)
_ANSWERS = Parameter("k", Sort.WHOLE, optional=True)
_DRAWN, _RECORDS = Parameter("m", Sort.WHOLE), Parameter("n", Sort.WHOLE)
_OBJECTIVE = (_SIGMA, Parameter("ridge"), Parameter("gradient_bound"), Parameter("smoothness"))
_DIMENSION = Parameter("dimension", Sort.WHOLE, optional=True)

_ALL = (
    _form("pure", _EPSILON, _ADJACENCY),
    _form("approx", _EPSILON, Parameter("delta"), _ADJACENCY),
    _form("randomized_response", _EPSILON, _ANSWERS, _ADJACENCY),
    _form("rr", _EPSILON, _ANSWERS, _ADJACENCY, constructor="randomized_response"),
    _form("laplace", Parameter("scale"), _SENSITIVITY, _ADJACENCY),
    _form("geometric", Parameter("scale"), _STEPS, _ADJACENCY),
    _form("gaussian", _SIGMA, _SENSITIVITY, _ADJACENCY),
    _form("discrete_gaussian", _SIGMA, _STEPS, _ADJACENCY),
    _form("bounded_range", Parameter("eta"), _ADJACENCY),
    _form("expo", Parameter("epsilon", python="eta"), _ADJACENCY, constructor="bounded_range"),
    _form("zcdp", Parameter("rho"), _ADJACENCY),
    _form("gdp", Parameter("mu"), _ADJACENCY),
    _form("from_pair", Parameter("p", Sort.LIST), Parameter("q", Sort.LIST), _ADJACENCY),
    _form("objective_perturbation", *_OBJECTIVE, _DIMENSION),
    _form("approximate_minima", *_OBJECTIVE, Parameter("tolerance"), Parameter("output_sigma"), _DIMENSION),
    _form("poisson_sampled", _LOSS, _RATE),
    _form("poisson", _RATE, _LOSS, constructor="poisson_sampled"),
    _form("sampled_without_replacement", _LOSS, _DRAWN, _RECORDS),
    _form("subset", _DRAWN, _RECORDS, _LOSS, constructor="sampled_without_replacement"),
    _form("cp", _LOSS, Parameter("p")),
    _form("group", _LOSS, Parameter("size", Sort.WHOLE)),
    _form("parallel", Parameter("losses", Sort.LOSSES)),
    _form("to_replace_one", _LOSS),
    _form("to_adjacency", _LOSS, Parameter("adjacency", Sort.ADJACENCY)),
)

FORMS = {form.name: form for form in _ALL}

REFUSED = {
    "rdp": "rdp() takes a whole curve of divergences, which cannot be written here; use zcdp(rho), or "
    "Python: dalenius.losses.rdp(curve).",
    "from_tradeoff": "from_tradeoff() takes a function, which cannot be written here; use gdp(mu) or "
    "from_pair([...], [...]), or Python: dalenius.losses.from_tradeoff(f).",
    "total": 'total() is written with "+" here: gaussian(1.0) + laplace(2.0).',
    "Loss": "Loss itself cannot be written; write a loss by name, such as gaussian(1.0).",
}
"""Public names of `dalenius.losses` that text cannot express, and why."""

ADJACENCIES = ("add_remove", "replace_one")

NOT_NUMBERS = ("nan", "inf", "infinity")
"""Words other programs read as numbers: parameters are finite, and these must not pass for variables."""


def is_adjacency(word: str) -> bool:
    """Capitals are welcome: Python spells them ADD_REMOVE and REPLACE_ONE."""
    return word.lower() in ADJACENCIES


def is_variable(word: str) -> bool:
    """Whether a bare word can only mean a parameter to be found."""
    return not (is_adjacency(word) or word.lower() in NOT_NUMBERS or word in FORMS or word in REFUSED)
