"""Which way of release answers a workload best: by the predicted errors of all that are registered."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from dalenius.calculus.guarantees import Guarantee
from dalenius.core import checks
from dalenius.core.adjacency import Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.habits import absent
from dalenius.errors import InvalidParameter
from dalenius.queries.workload.factors import Identity
from dalenius.queries.workload.parts import Product
from dalenius.queries.workload.workload import Workload


@dataclass(frozen=True)
class Candidate:
    """A way of release as `Workload.best` sees it."""

    name: str
    about: str
    """What it does, for a sentence that begins with its name."""
    build: Callable[..., Any]
    """From (workload, guarantee, adjacency=, rows_per_unit=) to a mechanism; InvalidParameter where it cannot."""
    bound: bool = False
    """Whether its predicted error is an upper bound from theory and not the error itself."""
    takes_n: bool = False
    """Whether `build` also takes the number of rows, as n=."""
    allowance: bool = False
    """Whether a part of its error depends on the data, so that its predicted error holds an allowance for it."""
    least: Callable[[Workload, Guarantee, int], float] | None = None
    """From (workload, guarantee, n) to what its predicted error is not below; refuses what `build` refuses. Where this
    is above another's error, it is not built, which can take long."""


CANDIDATES: dict[str, Candidate] = {}


def candidate(
    name: str,
    about: str,
    build: Callable[..., Any],
    bound: bool = False,
    takes_n: bool = False,
    allowance: bool = False,
    least: Callable[[Workload, Guarantee, int], float] | None = None,
) -> None:
    """Let `Workload.best` consider a way of release."""
    CANDIDATES[name] = Candidate(name, about, build, bound, takes_n, allowance, least)


@dataclass(frozen=True)
class Line:
    """A candidate's line in the table of a choice."""

    name: str
    error: float
    """The predicted root mean square error of an answer, in rows; inf where there is none."""
    note: str
    mechanism: Any = None
    """None where there is none, or where it could not be the best and was not built."""


@dataclass(frozen=True)
class Choice:
    """What `Workload.best` found.

    Parameters
    ----------
    mechanism
        The mechanism with the least predicted error.
    why
        Why, in words.
    table
        Every candidate with its predicted error, the best first.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"age": 64})
    >>> choice = dp.queries.Workload.ranges(domain).best(dp.PureDP(1.0), n=10_000)
    >>> print(choice.table[0].name)
    matrix mechanism
    """

    mechanism: Any
    why: str
    table: tuple[Line, ...]

    if not TYPE_CHECKING:  # with it type checkers would take every name for one that is there

        def __getattr__(self, name: str) -> NoReturn:
            hints = {"release": "what was chosen releases: choice.mechanism.release(table)"}
            raise absent("a choice", name, dir(type(self)), hints)

    def __str__(self) -> str:
        width = max(len(line.name) for line in self.table)
        lines = [f"{line.name:{width}}  {_shown(line.error):>10}  {line.note}" for line in self.table]
        return "\n".join([self.why, "", *lines])


def choose(
    workload: Workload, guarantee: Guarantee, n: int, adjacency: Adjacency, rows_per_unit: int
) -> Choice:
    """See `Workload.best`."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter.of(
            "guarantee",
            f"guarantee is {checks.shown(guarantee)}; it must be a guarantee: dp.ZCDP(0.1), for instance.",
        )
    rows = checks.count("n", n, least=1)
    checked_adjacency(adjacency)
    units = checks.count("rows_per_unit", rows_per_unit, least=1)
    lines: list[Line] = []
    for one in sorted(CANDIDATES.values(), key=lambda one: one.least is not None):
        to_beat = min((line.error for line in lines), default=math.inf)
        lines.append(_line(one, workload, guarantee, rows, adjacency, units, to_beat))
    table = tuple(sorted(lines, key=lambda line: line.error))
    if not math.isfinite(table[0].error):
        reasons = " ".join(f"{line.name}: {line.note}" for line in table)
        raise InvalidParameter(f"no way of release can answer this workload. {reasons}")
    return Choice(table[0].mechanism, _why(table, rows, _typical_answer(workload, rows)), table)


def _typical_answer(workload: Workload, n: int) -> float | None:
    """The mean count of a cell, for a workload of marginals; None for any other."""
    for _, part in workload.parts:
        if not isinstance(part, Product) or not all(isinstance(factor, Identity) for factor in part.factors):
            return None
    return n * len(workload.parts) / workload.size


def _line(
    one: Candidate,
    workload: Workload,
    guarantee: Guarantee,
    n: int,
    adjacency: Adjacency,
    units: int,
    to_beat: float,
) -> Line:
    try:
        if one.least is not None and (least := one.least(workload, guarantee, n)) > to_beat:
            return Line(one.name, least, f"{one.about}; its bound is at least this, noise left out")
        known = {"n": n} if one.takes_n else {}
        mechanism = one.build(workload, guarantee, adjacency=adjacency, rows_per_unit=units, **known)
        error = float(mechanism.predicted_error(n))
    except InvalidParameter as refused:
        return Line(one.name, math.inf, str(refused))
    note = one.about
    if one.bound:
        note += "; at most, by theory"
    if one.allowance:
        note += "; a part of its error depends on the data, for which there is an allowance"
    return Line(one.name, error, note, mechanism)


def _why(table: Iterable[Line], n: int, typical: float | None) -> str:
    first, *others = table
    error = _shown(first.error)
    said = f"The {first.name} has the least predicted error: about {error} rows for an answer ({first.note})."
    others = [line for line in others if math.isfinite(line.error)]
    if others:
        said += f" Next is the {others[0].name} with {_shown(others[0].error)}."
    if typical is not None and first.error > typical:
        said += f" A cell holds {_shown(typical)} rows on average, less than the noise."
    if first.error > n / 2:
        said += f" With {n} rows that tells next to nothing: ask fewer questions, or promise less."
    return said


def _shown(error: float) -> str:
    return f"{error:.4g}" if math.isfinite(error) else "-"
