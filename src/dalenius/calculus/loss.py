"""Loss: the worst-case privacy loss of a release, in both directions, and everything it tells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.calculus.engines.accountant import Direction, Engine, merged
from dalenius.calculus.pairs import divergences
from dalenius.calculus.pairs.pair import Bounds, Pair, Terms
from dalenius.calculus.theorems.duality import tradeoff_from_profile
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

    Parameters
    ----------
    remove
        The pairs of the remove direction and how often each occurs.
    add
        The same for the add direction.
    adjacency
        The neighbouring relation.
    expression
        How the loss was made, as text.

    Examples
    --------
    >>> import dalenius as dp
    >>> run = dp.losses.gaussian(sigma=2.0) * 10 + dp.losses.laplace(scale=5.0)
    >>> round(run.epsilon(delta=1e-6), 4)
    8.3753
    """

    __slots__ = ("__dict__", "adjacency", "expression", "terms_add", "terms_remove")

    def __init__(self, remove: Terms, add: Terms, adjacency: Adjacency, expression: str) -> None:
        self.terms_remove = merged(remove)
        self.terms_add = self.terms_remove if add == remove else merged(add)
        self.adjacency = checked_adjacency(adjacency)
        self.expression = expression

    @classmethod
    def symmetric(cls, pair: Pair, adjacency: Adjacency, expression: str) -> Loss:
        """A loss whose two directions have the same worst pair.

        Parameters
        ----------
        pair
            The worst pair.
        adjacency
            The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.
        expression
            How the loss was made, as text.

        Returns
        -------
        Loss
            The loss.
        """
        terms = ((pair, 1),)
        return cls(terms, terms, adjacency, expression)

    @classmethod
    def zero(cls, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        """The loss of a release that does not look at the data.

        Parameters
        ----------
        adjacency
            The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

        Returns
        -------
        Loss
            The loss.

        Examples
        --------
        >>> import dalenius as dp
        >>> dp.Loss.zero().epsilon(0.0)
        0.0
        """
        return cls((), (), adjacency, "nothing()")

    # -- composition ------------------------------------------------------------------------------

    def __add__(self, other: object) -> Loss:
        if isinstance(other, int) and other == 0:  # so that sum(losses) works
            return self
        if not isinstance(other, Loss):
            return NotImplemented
        if other.adjacency is not self.adjacency:
            raise AdjacencyMismatch(
                f"one loss is stated for {self.adjacency.value}, the other for {other.adjacency.value}; they cannot "
                "be added. Restate both for the same relation, or convert an add/remove loss with "
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
        """Both directions, or the one where they have the same law."""
        return (self.remove,) if self.is_symmetric else (self.remove, self.add)

    # -- (epsilon, delta) -------------------------------------------------------------------------

    def delta_bounds(self, epsilon: float, engine: Engine = "auto") -> Bounds:
        """Certified (lower, upper) bounds on the least delta at this epsilon.

        Parameters
        ----------
        epsilon
            Any finite number.
        engine
            'auto' picks the quickest; 'contour', 'grid' and 'proof' (ball arithmetic) ask for one of them.

        Returns
        -------
        Bounds
            (lower, upper).

        Raises
        ------
        InvalidParameter
            If epsilon is not a finite number or there is no such engine.
        UnsupportedComposition
            If engine='proof' has nothing to say about this loss.

        Examples
        --------
        >>> import dalenius as dp
        >>> low, high = dp.losses.gaussian(sigma=1.0).delta_bounds(1.0)
        >>> low < 0.12693673750664397 < high
        True
        """
        epsilon = checks.number("epsilon", epsilon)
        sides = [side.delta(epsilon, _engine(engine)) for side in self.directions]
        return Bounds(max(b.lower for b in sides), max(b.upper for b in sides))

    def delta(self, epsilon: float) -> float:
        """The least delta such that the release is (epsilon, delta)-DP, rounded up.

        Parameters
        ----------
        epsilon
            Any finite number.

        Returns
        -------
        float
            The upper bound of :meth:`delta_bounds`.

        Raises
        ------
        InvalidParameter
            If epsilon is not a finite number.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).delta(1.0), 6)
        0.126937
        """
        return self.delta_bounds(epsilon).upper

    def epsilon_bounds(self, delta: float, engine: Engine = "auto") -> Bounds:
        """Certified (lower, upper) bounds on the least epsilon >= 0 at this delta.

        Parameters
        ----------
        delta
            The probability of failure, in [0, 1).
        engine
            'auto' picks the quickest; 'contour', 'grid' and 'proof' (ball arithmetic) ask for one of them.

        Returns
        -------
        Bounds
            (lower, upper); inf where no epsilon will do.

        Raises
        ------
        InvalidParameter
            If delta is not in [0, 1) or there is no such engine.
        UnsupportedComposition
            If engine='proof' has nothing to say about this loss.

        Examples
        --------
        >>> import dalenius as dp
        >>> low, high = dp.losses.gaussian(sigma=1.0).epsilon_bounds(1e-5)
        >>> high - low < 1e-9
        True
        """
        delta = checks.failure_probability("delta", delta)
        lower = upper = 0.0
        for side in self.directions:
            if delta > 0.0 and 0.0 < lower < math.inf and side.stays_below(lower, delta, _engine(engine)):
                continue  # this direction needs no more epsilon than the other is known to need
            bounds = side.epsilon(delta, _engine(engine))
            lower, upper = max(lower, bounds.lower), max(upper, bounds.upper)
        return Bounds(lower, upper)

    def epsilon(self, delta: float) -> float:
        """The least epsilon such that the release is (epsilon, delta)-DP, rounded up; may be inf.

        Parameters
        ----------
        delta
            The probability of failure, in [0, 1).

        Returns
        -------
        float
            The upper bound of :meth:`epsilon_bounds`.

        Raises
        ------
        InvalidParameter
            If delta is not in [0, 1).

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).epsilon(1e-5), 6)
        4.377178
        """
        return self.epsilon_bounds(delta).upper

    # -- divergences ------------------------------------------------------------------------------

    def renyi(self, order: float) -> float:
        """An upper bound on the Renyi divergence of this order (1 is KL, inf the largest loss).

        Parameters
        ----------
        order
            From 1 (Kullback-Leibler) to inf (the largest loss).

        Returns
        -------
        float
            The bound; inf where none is known.

        Raises
        ------
        InvalidParameter
            If the order is below 1.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).renyi(8.0), 6)
        4.0
        """
        if not np.ndim(order) and order == math.inf:
            return self.epsilon(0.0)
        order = checks.within("order", order, "a number from 1 up, or inf", lambda x: x >= 1)
        return max(divergences.renyi(side.terms, order) for side in self.directions)

    def kl(self) -> float:
        """An upper bound on the Kullback-Leibler divergence, the expected privacy loss.

        Returns
        -------
        float
            The bound; inf where none is known.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).kl(), 6)
        0.5
        """
        return self.renyi(1.0)

    def total_variation(self) -> float:
        """The largest difference in probability any event can show: delta at epsilon 0.

        Returns
        -------
        float
            In [0, 1], rounded up.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).total_variation(), 6)
        0.382925
        """
        return self.delta(0.0)

    def zcdp(self) -> float:
        """The least rho (rounded up) with Renyi divergence <= rho * order at every order > 1; may be inf.

        Returns
        -------
        float
            rho.

        Examples
        --------
        >>> import dalenius as dp
        >>> (dp.losses.gaussian(sigma=1.0) * 3).zcdp()
        1.5
        """
        return max(divergences.zcdp(side.terms) for side in self.directions)

    def gdp(self) -> float:
        """A mu for which the release is mu-GDP, exact for Gaussian losses; inf when none is known.

        Returns
        -------
        float
            mu.

        Examples
        --------
        >>> import dalenius as dp
        >>> (dp.losses.gaussian(sigma=1.0) * 4).gdp()
        2.0
        """
        return max(divergences.gdp(side.terms) for side in self.directions)

    def tradeoff(self, alpha: float) -> float:
        """A lower bound on the type II error of every level-alpha test of whether a person is in the data.

        `theorems.tradeoff_from_profile` of `delta`.

        Parameters
        ----------
        alpha
            The type I error of the tests.

        Returns
        -------
        float
            In [0, 1], rounded down.

        Raises
        ------
        InvalidParameter
            If alpha is not in [0, 1].

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.gaussian(sigma=1.0).tradeoff(0.05), 6)
        0.740489
        """
        alpha = checks.probability("alpha", alpha)
        if alpha == 0.0:
            return max(0.0, 1.0 - self.delta_at_infinity())
        return tradeoff_from_profile(self.delta, alpha, max(side.largest for side in self.directions))

    def delta_at_infinity(self) -> float:
        """The delta that no epsilon removes: the probability of an outcome only one neighbour can give.

        Returns
        -------
        float
            In [0, 1].

        Examples
        --------
        >>> import dalenius as dp
        >>> dp.losses.approx(1.0, 1e-6).delta_at_infinity()
        1e-06
        """
        return max(side.infinite for side in self.directions)

    # -- what it means for one person ----------------------------------------------------------------

    def membership_advantage(self) -> float:
        """The most by which seeing the release raises the chance to guess rightly whether a person is in.

        True positive rate minus false positive rate of the best attack: the total variation.

        Returns
        -------
        float
            In [0, 1], rounded up.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.pure(1.0).membership_advantage(), 6)
        0.462117
        """
        return self.total_variation()

    def power(self, level: float) -> float:
        """The best attack's true positive rate at this false positive rate.

        Parameters
        ----------
        level
            The false positive rate.

        Returns
        -------
        float
            In [0, 1], rounded up.

        Raises
        ------
        InvalidParameter
            If the level is not in [0, 1].

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.pure(1.0).power(0.01), 6)
        0.027183
        """
        return 1.0 - self.tradeoff(checks.probability("level", level))

    def posterior(self, prior: float, delta: float = 1e-6) -> float:
        """How sure an attacker with this prior that a person is in the data can become.

        The bound holds except with probability `delta` over the release; with delta=0 it always
        holds (and is 1 for losses without a largest value, such as Gaussian noise).

        Parameters
        ----------
        prior
            How sure the attacker is before the release.
        delta
            The chance that the bound does not hold.

        Returns
        -------
        float
            A probability, rounded up.

        Raises
        ------
        InvalidParameter
            If a probability is outside [0, 1].

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.pure(1.0).posterior(0.5, delta=0.0), 6)
        0.731059
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

        Parameters
        ----------
        delta
            The probability of failure, in [0, 1).

        Returns
        -------
        float
            The bound; inf where there is none.

        Raises
        ------
        InvalidParameter
            If delta is not in [0, 1).

        Examples
        --------
        >>> import dalenius as dp
        >>> dp.losses.laplace(scale=2.0).tail(0.0)
        0.5
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
        """What this loss means for one person, in plain sentences.

        Parameters
        ----------
        delta
            The probability of failure, in [0, 1).

        Returns
        -------
        str
            Several lines.

        Raises
        ------
        InvalidParameter
            If delta is not in [0, 1).

        Examples
        --------
        >>> import dalenius as dp
        >>> print(dp.Loss.zero().explain())
        This release does not depend on the data at all: nothing about anyone can be learned from it.
        """
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
        """Draw the privacy profile and the trade-off curve (needs the `plot` extra).

        Parameters
        ----------
        path
            Where to save the picture; not saved for None.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> import dalenius as dp
        >>> figure = dp.losses.gaussian(sigma=1.0).plot()  # doctest: +SKIP
        """
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
    """The loss of releasing all of them.

    Parameters
    ----------
    losses
        The losses.

    Returns
    -------
    Loss
        The sum; nothing at all for no losses.

    Raises
    ------
    AdjacencyMismatch
        If the losses are stated for different neighbouring relations.
    InvalidParameter
        If something is not a loss.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.losses.total([dp.losses.pure(0.5), dp.losses.pure(0.25)]).epsilon(0.0)
    0.75
    """
    if not isinstance(losses, Iterable):
        raise InvalidParameter(f"total() was given {checks.shown(losses)}; it takes a list of losses.")
    result: Loss | None = None
    for loss in losses:
        result = checked(loss, "total") if result is None else result + checked(loss, "total")
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
    if not checks.is_one_of(engine, "auto", "contour", "grid", "proof"):
        raise InvalidParameter(f"engine is {engine!r}; it must be 'auto', 'contour', 'grid' or 'proof'.")
    return engine  # type: ignore[return-value]
