"""A loss as text that can be kept: the worst pairs of both directions, each by its tag and its exact numbers.

What is read back is the same loss to the last bit: all its bounds are the same numbers. A loss that rests on a
function (`rdp`, a promise of a trade-off curve) cannot be written. The format is described in docs/record-format.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dalenius.calculus.pairs.allocation import AllocationPair
from dalenius.calculus.pairs.atoms import Atoms, Lattice
from dalenius.calculus.pairs.bounded_range import BoundedRangePair
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.discrete_gaussian import DiscreteGaussianAtoms
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.gaussian_mixtures import GaussianMixturesPair
from dalenius.calculus.pairs.half_normal import ChiPair, HalfNormalPair
from dalenius.calculus.pairs.known import GroupOf, RenyiPair, WorstOf
from dalenius.calculus.pairs.laplace import LARGEST_SAMPLED, LaplacePair
from dalenius.calculus.pairs.pair import Pair, Terms
from dalenius.calculus.pairs.rectified import RectifiedPair
from dalenius.calculus.pairs.revealed import RevealedPair
from dalenius.calculus.pairs.sampled import SampledPair
from dalenius.calculus.pairs.sampled_gaussian import SampledGaussianPair
from dalenius.calculus.pairs.sampled_laplace import SampledLaplacePair
from dalenius.calculus.pairs.skellam import SkellamAtoms, SkellamVectorPair
from dalenius.calculus.pairs.subset import SubsetPair
from dalenius.calculus.pairs.subset_gaussian import SubsetGaussianPair
from dalenius.calculus.pairs.subset_laplace import SubsetLaplacePair
from dalenius.core.adjacency import WORDS, adjacency_record
from dalenius.core.record import JSON, CannotBeWritten, exact, unknown
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.calculus.loss import Loss

FORMAT, VERSION = "dalenius loss", 1

EXCESS = 1e-9
"""What sums of a written loss may be off by roundings."""

MOST_TEXT, MOST_DIGITS = 10**6, 4000
"""The longest text of an expression, and of a number that is a fraction."""
MOST_TIMES = 10**300
"""As for repetitions: a whole number that is a double, too."""
MOST_LOSS, MOST_SHIFT = 1e6, 200.0
"""The largest loss of one outcome, and shift of a mixture, that is read."""
WIDEST = 10**8
"""How many places of a lattice a written loss may span; none that is made here has as many."""


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
        expression, relation = record["expression"], record["adjacency"]
        if not isinstance(expression, str) or len(expression) > MOST_TEXT:
            raise ValueError
        if not isinstance(relation, str) or relation not in WORDS:
            raise unknown("a neighbouring relation", relation, InvalidParameter)
        remove, add = (_read_terms(record[side]) for side in ("remove", "add"))
        return Loss(remove, add, WORDS[relation], expression)
    except InvalidParameter:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError, AttributeError, IndexError):
        raise InvalidParameter("this dalenius loss is not written as we write them.") from None


def _terms_record(terms: Terms) -> list[JSON]:
    return [{"times": times, "pair": pair_record(pair)} for pair, times in terms]


def _read_terms(records: list[JSON]) -> Terms:
    return tuple((read_pair(record["pair"]), _count(record["times"])) for record in _listed(records))


def pair_record(pair: Pair) -> dict[str, JSON]:
    """One ordered pair of distributions."""
    for tag, kind in PAIRS.items():
        if type(pair) in kind.types:
            words = {name: word.write(getattr(pair, name)) for name, word in kind.words.items()}
            return {"kind": tag, **words}
    raise CannotBeWritten(
        f"a loss that holds a {type(pair).__name__} cannot be written down. Bound it first by one that can: "
        "losses.gdp(loss.gdp()) or losses.approx(loss.epsilon(delta), delta)."
    )


def read_pair(record: Mapping[str, JSON]) -> Pair:
    """The pair that `pair_record` wrote."""
    kind = PAIRS.get(record["kind"]) if isinstance(record["kind"], str) else None
    if kind is None:
        raise unknown("a loss", record["kind"], InvalidParameter)
    return kind.make(*(word.read(record[name]) for name, word in kind.words.items()))


# -- how one value is written and read: ValueError for what was not written here ----------------------------


class _Word(NamedTuple):
    write: Callable[[Any], JSON]
    read: Callable[[JSON], Any]


def _number(text: JSON, most: float = math.inf) -> float:
    """A finite double, 0 or more."""
    value = _signed(text)
    if not 0.0 <= value <= most:
        raise ValueError
    return value


def _signed(text: JSON) -> float:
    """A finite double, in the one way in which it is written."""
    if not isinstance(text, str):
        raise ValueError
    value = float(text)
    if exact(value) != text or not math.isfinite(value):
        raise ValueError
    return value


def _between(least: float, most: float) -> _Word:
    """A double in the range that the public function takes: what it makes is then as large as that allows."""

    def read(text: JSON) -> float:
        value = _number(text, most)
        if value < least:
            raise ValueError
        return value

    return _Word(exact, read)


def _up_to(most: int) -> _Word:
    def read(text: JSON) -> int:
        value = _count(text)
        if value > most:
            raise ValueError
        return value

    return _Word(int, read)


def _count(times: JSON) -> int:
    """How often: a pair that is there less than once would take away from the others."""
    if type(times) is not int or not 1 <= times <= MOST_TIMES:
        raise ValueError
    return times


def _positive(text: JSON) -> float:
    value = _number(text)
    if value == 0.0:
        raise ValueError
    return value


def _square(text: JSON) -> Fraction:
    """A fraction: digits, and perhaps a stroke and digits; no exponent, which can stand for any number of them."""
    if not isinstance(text, str) or len(text) > MOST_DIGITS or not re.fullmatch("[0-9]+(/[0-9]+)?", text):
        raise ValueError
    value = Fraction(text)
    if not 0 < value <= MOST_TIMES or exact(value) != text:
        raise ValueError
    return value


def _lattice(record: JSON) -> Lattice:
    spacing, offset = (_signed(record[word]) for word in ("step", "offset"))
    if not spacing > 0.0:
        raise ValueError
    return Lattice(spacing, offset)


def _places(written: JSON) -> npt.NDArray[np.int64]:
    if not isinstance(written, list) or not all(type(place) is int for place in written):
        raise ValueError
    if written and max(written) - min(written) > WIDEST:
        raise ValueError
    return np.array(written, dtype=np.int64)


def _rate(text: JSON) -> float:
    """Above 0 and below 1: a sample at rate 1 is written as what was sampled."""
    value = _positive(text)
    if value >= 1.0:
        raise ValueError
    return value


def _truth(value: JSON) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _rho(rho: float) -> str:
    if math.isinf(rho):
        raise CannotBeWritten(
            "this loss rests on a function, a curve of Renyi divergences, and a function cannot be written down. "
            "Bound it first by one that can: losses.zcdp(loss.zcdp()) or losses.approx(loss.epsilon(delta), delta)."
        )
    return exact(rho)


def _of_type(type: type[Pair]) -> _Word:
    """A pair of one family."""

    def read(record: Mapping[str, JSON]) -> Pair:
        pair = read_pair(record)
        if not isinstance(pair, type):
            raise ValueError
        return pair

    return _Word(pair_record, read)


def _list(word: _Word) -> _Word:
    return _Word(
        lambda values: [word.write(value) for value in values],
        lambda written: [word.read(value) for value in _listed(written)],
    )


def _listed(written: JSON) -> list[JSON]:
    """A list, and no text or table, whose letters and keys can be counted as well."""
    if not isinstance(written, list):
        raise ValueError
    return written


def _optional(word: _Word) -> _Word:
    return _Word(
        lambda value: None if value is None else word.write(value),
        lambda written: None if written is None else word.read(written),
    )


NUMBER = _Word(exact, _number)
POSITIVE = _Word(exact, _positive)
TRUTH = _Word(bool, _truth)
NUMBER_OR_INF = _Word(exact, lambda text: math.inf if text == exact(math.inf) else _number(text))
SIGNED = _Word(exact, _signed)
SHARE = _Word(exact, lambda text: _number(text, 1 + EXCESS))
RATE = _Word(exact, _rate)
SIZED = _between(1e-100, 1e100)
COUNT = _Word(int, _count)
PAIR = _Word(pair_record, read_pair)
LATTICE = _Word(
    lambda lattice: {"step": exact(lattice.spacing), "offset": exact(lattice.offset)},
    _lattice,
)
PLACES = _Word(lambda index: [int(place) for place in index], _places)


# -- the families of pairs -----------------------------------------------------------------------------------


def _atoms(loss: list[float], mass: list[float], infinite: float, *rest: Any) -> Atoms:
    """Probabilities add up to 1 at least, and losses are where the lattice has them: else a loss is understated.

    Bounds from above may have a little too much of either law.
    """
    lattice, index, slack, blur = rest
    sizes = {len(loss), len(mass)} | (set() if index is None else {len(index)})
    if len(sizes) > 1 or (lattice is None) != (index is None) or slack > 1.0:
        raise ValueError
    if any(abs(x) > MOST_LOSS for x in loss) or blur > MOST_LOSS:
        raise ValueError
    pair = Atoms(np.array(loss), np.array(mass), infinite, *rest)
    total = float(pair.mass.sum()) + pair.infinite
    under = float(np.sum(pair.mass * np.exp(np.minimum(-pair.loss, 700.0))))
    if total < 1 - EXCESS - pair.slack or under > 1.01 + 2 * pair.blur:
        raise ValueError
    if pair.lattice is not None and pair.index is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.abs(pair.lattice.offset + pair.lattice.spacing * pair.index - pair.loss)
        if not (apart <= EXCESS * (1 + np.abs(pair.loss)) + pair.blur).all():
            raise ValueError
    return pair


def _sampled(base: Pair, rate: float, added: bool) -> SampledPair:
    if isinstance(base, GaussianPair):
        return SampledGaussianPair(base, rate, added)
    if isinstance(base, LaplacePair) and base.shift <= LARGEST_SAMPLED:
        return SampledLaplacePair(base, rate, added)
    return SampledPair(base, rate, added)


def _mixtures(up: list[list[float]], down: list[list[float]]) -> GaussianMixturesPair:
    """Shifts above 0 and increasing, weights above 0 that sum to no more than 1."""
    for side in (up, down):
        shifts, weights = [shift for shift, _ in side], [weight for _, weight in side]
        if (
            any(x > MOST_SHIFT for x in shifts)
            or sorted(set(shifts)) != shifts
            or not all(x > 0.0 for x in shifts + weights)
            or sum(weights) > 1 + EXCESS
        ):
            raise ValueError
    if not up and not down:
        raise ValueError
    return GaussianMixturesPair(*(tuple((shift, weight) for shift, weight in side) for side in (up, down)))


def _allocation(mu: float, steps: int, chosen: int, added: bool) -> AllocationPair:
    if not chosen < steps or mu > MOST_LOSS:
        raise ValueError
    return AllocationPair(mu, steps, chosen, added)


def _revealed(weights: list[float], pairs: list[Pair]) -> RevealedPair:
    """Weights that sum to 1 at least."""
    if not pairs or len(weights) != len(pairs) or min(weights) <= 0.0 or sum(weights) < 1 - EXCESS:
        raise ValueError
    return RevealedPair(tuple(weights), tuple(pairs))


class _Kind:
    """A family of pairs: its words, in the order in which `make` takes their values."""

    def __init__(self, make: Callable[..., Pair], *types: type[Pair], **words: _Word) -> None:
        self.make, self.types, self.words = make, types, words


PAIRS = {
    "gaussian": _Kind(GaussianPair.of_square, GaussianPair, square=_Word(exact, _square)),
    "laplace": _Kind(LaplacePair, LaplacePair, shift=POSITIVE),
    "bounded_range": _Kind(BoundedRangePair, BoundedRangePair, eta=POSITIVE),
    "half_normal": _Kind(HalfNormalPair, HalfNormalPair, offset=NUMBER, mu=NUMBER),
    "rectified": _Kind(RectifiedPair, RectifiedPair, offset=NUMBER, mu=NUMBER),
    "chi": _Kind(ChiPair, ChiPair, offset=NUMBER, mu=NUMBER, dimension=COUNT),
    "atoms": _Kind(
        _atoms,
        Atoms,
        loss=_list(SIGNED),
        mass=_list(SHARE),
        infinite=SHARE,
        lattice=_optional(LATTICE),
        index=_optional(PLACES),
        slack=NUMBER,
        blur=NUMBER,
    ),
    "discrete_gaussian": _Kind(
        DiscreteGaussianAtoms,
        DiscreteGaussianAtoms,
        sigma=_between(1e-4, 1e5),
        sensitivity=_up_to(10**6),
    ),
    "skellam": _Kind(SkellamAtoms, SkellamAtoms, variance=_between(1e-3, 1e6), sensitivity=_up_to(10**4)),
    "skellam_vector": _Kind(SkellamVectorPair, SkellamVectorPair, variance=SIZED, l2=SIZED, l1=SIZED),
    "zcdp": _Kind(RenyiPair, RenyiPair, rho=_Word(_rho, _number), floor=_optional(PAIR), mu=NUMBER_OR_INF),
    "sampled": _Kind(
        _sampled,
        SampledPair,
        SampledGaussianPair,
        SampledLaplacePair,
        base=PAIR,
        rate=RATE,
        added=TRUTH,
    ),
    "subset": _Kind(
        lambda inner: inner.mirrored(),
        SubsetPair,
        SubsetGaussianPair,
        SubsetLaplacePair,
        inner=_of_type(SampledPair),
    ),
    "gaussian_mixtures": _Kind(
        _mixtures, GaussianMixturesPair, up=_list(_list(NUMBER)), down=_list(_list(NUMBER))
    ),
    "allocation": _Kind(
        _allocation, AllocationPair, mu=POSITIVE, steps=_up_to(10**7), chosen=_up_to(10**7), added=TRUTH
    ),
    "revealed": _Kind(_revealed, RevealedPair, weights=_list(SHARE), pairs=_list(PAIR)),
    "bracket": _Kind(Bracket, Bracket, below=PAIR, above=PAIR, known=_optional(PAIR)),
    "worst_of": _Kind(
        lambda sums: WorstOf(tuple(sums)), WorstOf, sums=_list(_Word(_terms_record, _read_terms))
    ),
    "group_of": _Kind(GroupOf, GroupOf, step=_of_type(WorstOf), size=COUNT),
}
"""The tag of each pair, and its words, which are attributes of the pair; never changed. A class may be renamed."""
