"""A loss as text that can be kept: the worst pairs of both directions, each by its tag and its exact numbers.

What is read back is the same loss to the last bit: all its bounds are the same numbers. A loss that rests on a
function (`rdp`, a promise of a trade-off curve) cannot be written. The format is described in docs/record-format.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms, Lattice
from dalenius.calculus.pairs.bounded_range import BoundedRangePair
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.discrete_gaussian import DiscreteGaussianAtoms
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.half_normal import ChiPair, HalfNormalPair
from dalenius.calculus.pairs.known import GroupOf, WorstOf
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.calculus.pairs.pair import Pair, Terms
from dalenius.calculus.pairs.rectified import RectifiedPair
from dalenius.calculus.pairs.renyi import Linear, RenyiPair
from dalenius.calculus.pairs.sampled import SampledPair
from dalenius.calculus.pairs.sampled_gaussian import SampledGaussianPair
from dalenius.calculus.pairs.subset import SubsetPair
from dalenius.calculus.pairs.subset_gaussian import SubsetGaussianPair
from dalenius.core.adjacency import adjacency_record, read_adjacency
from dalenius.core.checks import count, flag
from dalenius.core.record import JSON, CannotBeWritten, exact, unknown
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.calculus.loss import Loss

FORMAT, VERSION = "dalenius loss", 1


def loss_record(loss: Loss) -> dict[str, JSON]:
    """A loss in words: for each direction its pairs, and how often each occurs."""
    return {
        "adjacency": adjacency_record(loss.adjacency),
        "expression": loss.expression,
        "remove": _terms_record(loss.terms_remove),
        "add": _terms_record(loss.terms_add),
    }


def read_loss(record: Mapping[str, JSON]) -> Loss:
    """The loss that `loss_record` wrote."""
    from dalenius.calculus.loss import Loss

    try:
        remove, add = (_read_terms(record[side]) for side in ("remove", "add"))
        return Loss(remove, add, read_adjacency(record["adjacency"]), str(record["expression"]))
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError) as problem:
        if isinstance(problem, InvalidParameter):
            raise
        raise InvalidParameter("this dalenius loss is not written as we write them.") from None


def _terms_record(terms: Terms) -> list[JSON]:
    return [{"times": times, "pair": pair_record(pair)} for pair, times in terms]


def _read_terms(records: list[JSON]) -> Terms:
    return tuple((read_pair(record["pair"]), count("times", record["times"])) for record in records)


def pair_record(pair: Pair) -> dict[str, JSON]:
    """One ordered pair of distributions."""
    for tag, kind in PAIRS.items():
        if type(pair) in kind.types:
            return {"kind": tag, **kind.write(pair)}
    raise CannotBeWritten(
        f"a loss that holds a {type(pair).__name__} cannot be written down. Bound it first by one that can: "
        "losses.gdp(loss.gdp()) or losses.approx(loss.epsilon(delta), delta)."
    )


def read_pair(record: Mapping[str, JSON]) -> Pair:
    """The pair that `pair_record` wrote."""
    kind = PAIRS.get(record["kind"])
    if kind is None:
        raise unknown("a loss", record["kind"], InvalidParameter)
    return kind.read(record)


def _size(text: object, most: float = sys.float_info.max) -> float:
    """A number from 0 up: what no pair can have (NaN, a number below 0) would be read as no loss at all."""
    value = float(text)  # type: ignore[arg-type]
    if not 0 <= value <= most:
        raise ValueError(text)
    return value


class _Kind(NamedTuple):
    types: tuple[type[Pair], ...]
    write: Callable[[Any], dict[str, JSON]]
    read: Callable[[Mapping[str, JSON]], Pair]


def _numbers(type: type[Pair], **words: str) -> _Kind:
    """A pair of a few doubles: the word of each, and what the code calls it."""

    def write(pair: Pair) -> dict[str, JSON]:
        return {word: exact(getattr(pair, name)) for word, name in words.items()}

    def read(record: Mapping[str, JSON]) -> Pair:
        return type(**{name: _size(record[word]) for word, name in words.items()})

    return _Kind((type,), write, read)


def _chi(pair: ChiPair) -> dict[str, JSON]:
    return {"offset": exact(pair.offset), "mu": exact(pair.mu), "dimension": pair.dimension}


def _atoms(pair: Atoms) -> dict[str, JSON]:
    lattice, index = pair.lattice, pair.index
    return {
        "loss": [exact(value) for value in pair.loss.tolist()],
        "mass": [exact(value) for value in pair.mass.tolist()],
        "infinite": exact(pair.infinite),
        "lattice": None
        if lattice is None
        else {"step": exact(lattice.spacing), "offset": exact(lattice.offset)},
        "index": None if index is None else [int(place) for place in index],
        "slack": exact(pair.slack),
        "blur": exact(pair.blur),
    }


def _read_atoms(record: Mapping[str, JSON]) -> Atoms:
    lattice, index = record["lattice"], record["index"]
    loss, mass = [float(value) for value in record["loss"]], [_size(value) for value in record["mass"]]
    if len(mass) != len(loss) or (index is not None and len(index) != len(loss)):
        raise ValueError("a mass for each loss")
    found = Atoms(
        np.array(loss),
        np.array(mass),
        _size(record["infinite"]),
        None if lattice is None else Lattice(float(lattice["step"]), float(lattice["offset"])),
        None if index is None else np.array(index, dtype=np.int64),
        _size(record["slack"]),
        _size(record["blur"]),
    )
    return found


def _renyi(pair: RenyiPair) -> dict[str, JSON]:
    if not isinstance(pair.curve, Linear):
        raise CannotBeWritten(
            "this loss rests on a function, a curve of Renyi divergences, and a function cannot be written down. "
            "Bound it first by one that can: losses.zcdp(loss.zcdp()) or losses.approx(loss.epsilon(delta), delta)."
        )
    floor = None if pair.floor is None else pair_record(pair.floor)
    return {"rho": exact(pair.curve.rho), "floor": floor, "mu": exact(pair.mu)}


def _read_renyi(record: Mapping[str, JSON]) -> Pair:
    floor = None if record["floor"] is None else read_pair(record["floor"])
    return RenyiPair.zcdp_of(_size(record["rho"]), floor, _size(record["mu"], math.inf))


def _discrete(pair: DiscreteGaussianAtoms) -> dict[str, JSON]:
    return {"sigma": exact(pair.sigma), "sensitivity": pair.steps}


def _sampled(pair: SampledPair) -> dict[str, JSON]:
    return {"base": pair_record(pair.base), "rate": exact(pair.rate), "added": pair.added}


def _read_sampled(record: Mapping[str, JSON]) -> SampledPair:
    base, rate, added = read_pair(record["base"]), _size(record["rate"], 1), flag("added", record["added"])
    if rate == 0:
        raise ValueError(rate)
    if isinstance(base, GaussianPair):
        return SampledGaussianPair(base, rate, added)
    return SampledPair(base, rate, added)


def _read_subset(record: Mapping[str, JSON]) -> SubsetPair:
    inner = read_pair(record["inner"])
    if not isinstance(inner, SampledPair):
        raise InvalidParameter("this dalenius loss is not written as we write them.")
    return SubsetGaussianPair(inner) if isinstance(inner, SampledGaussianPair) else SubsetPair(inner)


def _bracket(pair: Bracket) -> dict[str, JSON]:
    known = None if pair.known is None else pair_record(pair.known)
    return {"below": pair_record(pair.below), "above": pair_record(pair.above), "known": known}


def _read_bracket(record: Mapping[str, JSON]) -> Bracket:
    known = None if record["known"] is None else read_pair(record["known"])
    return Bracket(read_pair(record["below"]), read_pair(record["above"]), known)


def _read_group(record: Mapping[str, JSON]) -> GroupOf:
    step = read_pair(record["step"])
    if not isinstance(step, WorstOf):
        raise InvalidParameter("this dalenius loss is not written as we write them.")
    return GroupOf(step, count("size", record["size"], 1))


PAIRS: dict[str, _Kind] = {
    "gaussian": _Kind(
        (GaussianPair,),
        lambda pair: {"square": exact(pair.square)},
        lambda record: GaussianPair.of_square(Fraction(record["square"])),
    ),
    "laplace": _numbers(LaplacePair, shift="shift"),
    "bounded_range": _numbers(BoundedRangePair, eta="eta"),
    "half_normal": _numbers(HalfNormalPair, offset="offset", mu="mu"),
    "rectified": _numbers(RectifiedPair, offset="offset", mu="mu"),
    "chi": _Kind(
        (ChiPair,),
        _chi,
        lambda record: ChiPair(
            _size(record["offset"]), _size(record["mu"]), count("dimension", record["dimension"], 1)
        ),
    ),
    "atoms": _Kind((Atoms,), _atoms, _read_atoms),
    "discrete_gaussian": _Kind(
        (DiscreteGaussianAtoms,),
        _discrete,
        lambda record: DiscreteGaussianAtoms(
            _size(record["sigma"]), count("sensitivity", record["sensitivity"], 1)
        ),
    ),
    "zcdp": _Kind((RenyiPair,), _renyi, _read_renyi),
    "sampled": _Kind((SampledPair, SampledGaussianPair), _sampled, _read_sampled),
    "subset": _Kind(
        (SubsetPair, SubsetGaussianPair), lambda pair: {"inner": pair_record(pair.inner)}, _read_subset
    ),
    "bracket": _Kind((Bracket,), _bracket, _read_bracket),
    "worst_of": _Kind(
        (WorstOf,),
        lambda pair: {"sums": [_terms_record(terms) for terms in pair.sums]},
        lambda record: WorstOf(tuple(_read_terms(terms) for terms in record["sums"])),
    ),
    "group_of": _Kind(
        (GroupOf,), lambda pair: {"step": pair_record(pair.step), "size": pair.size}, _read_group
    ),
}
"""The tag of each pair, never changed; a class may be renamed."""
