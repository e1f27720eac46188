"""Loss: the worst-case privacy loss of a release, in both directions, and everything it tells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

from dalenius.calculus.engines.accountant import Direction, Engine, merged
from dalenius.calculus.pairs.pair import UNIT, Bounds, Pair, Reals, Terms
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.record import headed, opened
from dalenius.errors import AdjacencyMismatch, InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Loss:
    """The privacy loss of a release against its worst neighbours, add and remove directions apart.

    Losses are values: `a + b` is the loss of releasing both (also when the second release is chosen
    after seeing the first), `a * n` of releasing n times. Every number a view returns is a certified
    bound on the safe side, numerical error included.

    Make one with the functions in `dalenius.losses`.
    """

    __slots__ = ("__dict__", "adjacency", "expression", "terms_add", "terms_remove")

    def __init__(self, remove: Terms, add: Terms, adjacency: Adjacency, expression: str) -> None:
        self.terms_remove = merged(remove)
        self.terms_add = self.terms_remove if add == remove else merged(add)
        self.adjacency = checked_adjacency(adjacency)
        self.expression = expression

    @classmethod
    def symmetric(cls, pair: Pair, adjacency: Adjacency, expression: str) -> Loss:
        """A loss whose two directions have the same worst pair."""
        terms = ((pair, 1),)
        return cls(terms, terms, adjacency, expression)

    @classmethod
    def zero(cls, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        """The loss of a release that does not look at the data."""
        return cls((), (), adjacency, "nothing()")

    # -- composition ------------------------------------------------------------------------------

    def __add__(self, other: object) -> Loss:
        if isinstance(other, int) and other == 0:  # so that sum(losses) works
            return self
        if not isinstance(other, Loss):
            return NotImplemented
        if other.adjacency is not self.adjacency:
            raise AdjacencyMismatch(
                f"one loss is stated for {self.adjacency.value}, the other for {other.adjacency.value}; "
                f"they cannot be "
                "added. Restate both for the same relation, or convert an add/remove loss with "
                "losses.to_replace_one(loss)."
            )
        remove, add = self.terms_remove + other.terms_remove, self.terms_add + other.terms_add
        return Loss(remove, add, self.adjacency, _joined(self, other))

    __radd__ = __add__

    def __mul__(self, times: object) -> Loss:
        n = checks.count("the number of repetitions", times)
        if n == 0:
            return Loss.zero(self.adjacency)
        if n == 1:
            return self
        inner = self.expression if " + " not in _outside(self.expression) else f"({self.expression})"
        return Loss(_times(self.terms_remove, n), _times(self.terms_add, n), self.adjacency, f"{inner} * {n}")

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loss) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return frozenset(self.terms_remove), frozenset(self.terms_add), self.adjacency

    def __repr__(self) -> str:
        where = "" if self.adjacency is ADD_REMOVE else f", adjacency={self.adjacency!r}"
        return f"Loss({self.expression}{where})"

    # -- directions -------------------------------------------------------------------------------

    @cached_property
    def remove(self) -> Direction:
        """The data with the record against the data without it."""
        return Direction(self.terms_remove)

    @cached_property
    def add(self) -> Direction:
        """The data without the record against the data with it."""
        return self.remove if self.is_symmetric else Direction(self.terms_add)

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions have the same law."""
        return frozenset(self.terms_add) == frozenset(self.terms_remove)

    @cached_property
    def directions(self) -> tuple[Direction, ...]:
        return (self.remove,) if self.is_symmetric else (self.remove, self.add)

    # -- (epsilon, delta) -------------------------------------------------------------------------

    def delta_bounds(self, epsilon: float, engine: Engine = "auto") -> Bounds:
        """Certified (lower, upper) bounds on the least delta at this epsilon."""
        epsilon = checks.number("epsilon", epsilon)
        found = [side.delta(epsilon, _engine(engine)) for side in self.directions]
        return Bounds(max(b.lower for b in found), max(b.upper for b in found))

    def delta(self, epsilon: float) -> float:
        """The least delta such that the release is (epsilon, delta)-DP, rounded up."""
        return self.delta_bounds(epsilon).upper

    def epsilon_bounds(self, delta: float, engine: Engine = "auto") -> Bounds:
        """Certified (lower, upper) bounds on the least epsilon >= 0 at this delta."""
        delta = checks.failure_probability("delta", delta)
        lower = upper = 0.0
        for side in self.directions:
            if delta > 0.0 and 0.0 < lower < math.inf and side.stays_below(lower, delta, _engine(engine)):
                continue  # this direction needs no more epsilon than the other is known to need
            found = side.epsilon(delta, _engine(engine))
            lower, upper = max(lower, found.lower), max(upper, found.upper)
        return Bounds(lower, upper)

    def epsilon(self, delta: float) -> float:
        """The least epsilon such that the release is (epsilon, delta)-DP, rounded up; may be inf."""
        return self.epsilon_bounds(delta).upper

    # -- divergences ------------------------------------------------------------------------------

    def renyi(self, order: float) -> float:
        """An upper bound on the Renyi divergence of this order (1 is KL, inf the largest loss)."""
        if order == math.inf:
            return self.epsilon(0.0)
        order = checks.number("order", order, "a number from 1 up, or inf")
        if order < 1:
            raise InvalidParameter(f"order is {order}; it must be a number from 1 up, or inf.")
        return max(_renyi(side, order) for side in self.directions)

    def kl(self) -> float:
        """An upper bound on the Kullback-Leibler divergence, the expected privacy loss."""
        return self.renyi(1.0)

    def total_variation(self) -> float:
        """The largest difference in probability any event can show: delta at epsilon 0."""
        return self.delta(0.0)

    def zcdp(self) -> float:
        """The least rho (rounded up) with Renyi divergence <= rho * order at every order > 1; may be inf."""
        return max(_zcdp(side) for side in self.directions)

    def gdp(self) -> float:
        """A mu for which the release is mu-GDP, exact for Gaussian losses; inf when none is known."""
        return max(_gdp(side) for side in self.directions)

    def tradeoff(self, alpha: float) -> float:
        """A lower bound on the type II error of every level-alpha test of whether a person is in the data.

        f(alpha) = sup over epsilon >= 0 of 1 - delta - e^epsilon alpha and e^-epsilon (1 - delta - alpha):
        every epsilon gives a valid bound, so the search needs no certificate.
        """
        alpha = checks.probability("alpha", alpha)
        if alpha in (0.0, 1.0):
            return max(0.0, 1.0 - alpha - self.delta_at_infinity()) if alpha == 0.0 else 0.0
        top = min(max(side.largest for side in self.directions), 4.0 - math.log(min(alpha, 1 - alpha)), 700.0)

        def steep(epsilon: float) -> float:
            return 1.0 - self.delta(epsilon) - math.exp(epsilon) * alpha

        def shallow(epsilon: float) -> float:
            return math.exp(-epsilon) * (1.0 - self.delta(epsilon) - alpha)

        best = max(0.0, steep(0.0))
        for line in (steep, shallow):
            if top > 0:
                best = max(best, _largest(line, top))
        # 1, delta and the product are rounded, and their difference: a few roundings of 1.
        return max(0.0, best * (1 - 1e-14) - 16 * UNIT)

    def delta_at_infinity(self) -> float:
        """The delta that no epsilon removes: the probability of an outcome only one neighbour can give."""
        return max(side.infinite for side in self.directions) if self.directions else 0.0

    # -- what it means for one person ----------------------------------------------------------------

    def membership_advantage(self) -> float:
        """The most by which seeing the release raises the chance to guess rightly whether a person is in.

        True positive rate minus false positive rate of the best attack: the total variation.
        """
        return self.total_variation()

    def power(self, level: float) -> float:
        """The best attack's true positive rate at this false positive rate."""
        return 1.0 - self.tradeoff(checks.probability("level", level))

    def posterior(self, prior: float, delta: float = 1e-6) -> float:
        """How sure an attacker with this prior that a person is in the data can become.

        The bound holds except with probability `delta` over the release; with delta=0 it always
        holds (and is 1 for losses without a largest value, such as Gaussian noise).
        """
        prior = checks.probability("prior", prior)
        delta = checks.failure_probability("delta", delta)
        if prior in (0.0, 1.0):
            return prior
        gain = self.tail(delta)
        return 1.0 if math.isinf(gain) else 1.0 / (1.0 + (1.0 - prior) / prior * math.exp(-gain))

    def tail(self, delta: float) -> float:
        """A bound the privacy loss exceeds with probability at most delta.

        P(L > x) <= delta(e) / (1 - exp(e - x)) for every e < x.
        """
        delta = checks.failure_probability("delta", delta)
        largest = (
            max(side.largest for side in self.directions) if self.delta_at_infinity() == 0.0 else math.inf
        )
        if delta == 0.0 or not any(side.terms for side in self.directions):
            return max(0.0, largest)
        if self.delta_at_infinity() >= delta:
            return math.inf

        def reach(share: float) -> float:
            # delta(e) = share * delta, so x = e - log(1 - share) has tail at most delta.
            e = self.epsilon(share * delta)
            return e - math.log1p(-share)

        return max(0.0, min(largest, min(reach(x) for x in (0.02, 0.05, 0.1, 0.2, 0.4))))

    def explain(self, delta: float = 1e-6) -> str:
        """What this loss means for one person, in plain sentences."""
        from dalenius.calculus.explain import explain

        return explain(self, delta)

    def to_json(self) -> str:
        """The loss as text to keep: tags and exact numbers, and the version of the format (docs/record-format.md).

        Returns
        -------
        str
            JSON; `Loss.from_json` gives the same loss back, to the last bit of every bound.

        Raises
        ------
        InvalidParameter
            If the loss rests on a function (`losses.rdp`), which cannot be written down.

        Examples
        --------
        >>> import dalenius as dp
        >>> run = dp.losses.poisson_sampled(dp.losses.gaussian(sigma=1.0), rate=0.01) * 1000
        >>> dp.losses.Loss.from_json(run.to_json()) == run
        True
        """
        from dalenius.calculus.saved import FORMAT, VERSION, loss_record

        return headed(FORMAT, VERSION, {"loss": loss_record(self)})

    @staticmethod
    def from_json(text: str) -> Loss:
        """The loss that `to_json` wrote.

        Parameters
        ----------
        text : str
            What `to_json` returned, of this version of the format or an earlier one.

        Returns
        -------
        Loss
            With the same bounds, to the last bit.

        Raises
        ------
        InvalidParameter
            If the text is not a saved loss, or of a newer version: then install a newer dalenius.

        Examples
        --------
        >>> import dalenius as dp
        >>> dp.losses.Loss.from_json(dp.losses.laplace(scale=2.0).to_json()).epsilon(0.0)
        0.5
        """
        from dalenius.calculus.saved import FORMAT, VERSION, read_loss

        found = opened(text, FORMAT, VERSION).get("loss")
        if not isinstance(found, dict):
            raise InvalidParameter("this dalenius loss is not written as we write them.")
        return read_loss(found)

    def plot(self, path: str | None = None) -> Figure:
        """Draw the privacy profile and the trade-off curve (needs the `plot` extra)."""
        from dalenius.calculus.plot import plot

        return plot(self, path)


def call(name: str, **arguments: Any) -> str:
    """The text of a constructor call; a tuple (value, default) is left out when it is the default."""
    shown = []
    for key, value in arguments.items():
        if isinstance(value, tuple):
            value, default = value
            if value == default:
                continue
        shown.append(f"{key}={value:.12g}" if isinstance(value, float) else f"{key}={value}")
    return f"{name}({', '.join(shown)})"


def checked(loss: object, where: str) -> Loss:
    """The argument, if it is a loss."""
    if not isinstance(loss, Loss):
        raise InvalidParameter(
            f"{where}() was given {loss!r}; it takes a loss, such as dalenius.losses.gaussian(sigma=1.0)."
        )
    return loss


def total(losses: Iterable[Loss]) -> Loss:
    """The loss of releasing all of them."""
    result: Loss | None = None
    for loss in losses:
        result = loss if result is None else result + loss
    return Loss.zero() if result is None else result


def _times(terms: Terms, n: int) -> Terms:
    return tuple((pair, k * n) for pair, k in terms)


def _joined(a: Loss, b: Loss) -> str:
    parts = [x.expression for x in (a, b) if x.terms_remove or x.terms_add]
    return " + ".join(parts) if parts else a.expression


def _outside(text: str) -> str:
    """The part of an expression that is not inside brackets."""
    depth, kept = 0, []
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        kept.append(letter if depth == 0 else "")
    return "".join(kept)


def _engine(engine: object) -> Engine:
    if engine not in ("auto", "contour", "grid", "proof"):
        raise InvalidParameter(f"engine is {engine!r}; it must be 'auto', 'contour', 'grid' or 'proof'.")
    return engine


def _renyi(side: Direction, order: float) -> float:
    if side.reveals:
        return math.inf
    if not side.terms:
        return 0.0
    # Divergences grow with the order, so a larger one bounds this; near order 1 rounding is divided by less there.
    least = checks.float_up(Fraction(order) - 1)
    orders = np.geomspace(1e-9, 1.0, 37)
    s = np.append(orders[orders > least], least if least >= 1e-9 else 1e-9)
    return max(0.0, float((side.log_mgf(s) / s).min()) * (1 + 4 * UNIT))


def _gdp(side: Direction) -> float:
    if len(side.terms) == 1 and side.terms[0][1] == 1:
        return side.terms[0][0].gdp
    return math.hypot(*(math.sqrt(n) * pair.gdp for pair, n in side.terms)) * (
        1 + UNIT * (8 + len(side.terms))
    )


def _zcdp(side: Direction) -> float:
    """The least rho known: from the divergences, or term by term from the largest losses."""
    by_reach = sum(n * min(pair.zcdp, pair.zcdp_by_reach) for pair, n in side.terms)
    by_reach *= 1 + UNIT * (8 + 2 * len(side.terms))
    return min(_steepest(side), math.inf if side.reveals else by_reach)


def _steepest(side: Direction) -> float:
    """sup over orders of D_order / order: each cell of an order grid by its right and left ends."""
    if not side.terms:
        return 0.0
    slope = sum(n * pair.asymptote[0] for pair, n in side.terms)
    rise = sum(n * pair.asymptote[1] for pair, n in side.terms)
    if side.reveals or not math.isfinite(slope):
        return math.inf
    more = 1 + UNIT * (8 + 2 * len(side.terms))
    known = sum(n * pair.zcdp for pair, n in side.terms)
    if math.isfinite(known):
        return known if len(side.terms) == 1 and side.terms[0][1] == 1 else known * more
    far = min(max(1e3, 1e3 * rise / max(_renyi(side, 1.0), 1e-300)), 1e9)
    edges = 1.0 + np.concatenate(([0.0], np.geomspace(1e-4, far, 400)))
    best = (slope + rise / float(edges[-1])) * more

    def divergence(orders: Reals) -> Reals:
        """Of increasing orders; that of a larger one bounds that of a smaller."""
        s = orders - 1.0
        return np.minimum.accumulate((side.log_mgf(s) / s)[::-1])[::-1]

    # Divergences grow with the order: on a cell, D / order is at most (D at the right) / (left end).
    left, right = edges[:-1], edges[1:]
    for _ in range(12):
        bounds = divergence(right) * (1 + 8 * UNIT)
        reached = max(best, float((bounds / right).max()))
        bounds = bounds / left
        open_ = bounds > reached * (1 + 1e-9)
        best = max(best, float(bounds[~open_].max(initial=0.0)))
        if not open_.any():
            return best
        left, right = left[open_], right[open_]
        if len(left) > 2000:
            break
        cuts = left[:, None] + (right - left)[:, None] * np.linspace(0.0, 1.0, 9)
        left, right = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
    return max(best, float((divergence(right) * (1 + 8 * UNIT) / left).max()))


def _largest(line: Any, top: float) -> float:
    found = minimize_scalar(
        lambda e: -line(e), bounds=(0.0, top), method="bounded", options={"xatol": 1e-9 * top}
    )
    return float(-found.fun)
