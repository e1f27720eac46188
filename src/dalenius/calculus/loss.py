"""Loss: the worst-case privacy loss of a release, in both directions. What it tells is in `views` and `meaning`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dalenius.calculus.engines.accountant import Direction, merged
from dalenius.calculus.meaning import Meaning
from dalenius.calculus.pairs.pair import Pair, Terms
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency, adjacency_record
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.record import headed, opened
from dalenius.errors import AdjacencyMismatch, InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Loss(Meaning):
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
        told = self.adjacency is ADD_REMOVE or adjacency_record(self.adjacency) in self.expression
        where = "" if told else f", adjacency={self.adjacency!r}"
        return f"Loss({self.expression}{where})"

    def _repr_html_(self) -> str:
        """What a notebook shows: a few certified numbers, and what attacks can reach."""
        from dalenius.calculus.notebook import loss_html

        return loss_html(self)

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

    # -- in words, as text and as a picture ----------------------------------------------------------

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

        return plot(self, path=path)


def call(name: str, **arguments: Any) -> str:
    """The text of a constructor call; a tuple (value, default) is left out when it is the default.

    A neighbouring relation is part of the text unless it is add/remove: read again, the text means the same loss.
    """
    shown = []
    for key, value in arguments.items():
        if key == "adjacency":
            value, default = value if isinstance(value, tuple) else (value, ADD_REMOVE)
            value = (adjacency_record(checked_adjacency(value)), adjacency_record(default))
        if isinstance(value, tuple):
            value, default = value
            if value == default:
                continue
        shown.append(f"{key}={value:.12g}" if isinstance(value, float) else f"{key}={value}")
    return f"{name}({', '.join(shown)})"


def from_json(text: str) -> Loss:
    """The loss that `Loss.to_json` wrote.

    Parameters
    ----------
    text
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
    >>> dp.losses.from_json(dp.losses.laplace(scale=2.0).to_json()).epsilon(0.0)
    0.5
    """
    return Loss.from_json(text)


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
    listed = [checked(loss, "total") for loss in losses]
    if not listed:
        return Loss.zero()
    first = listed[0]
    if any(loss.adjacency is not first.adjacency for loss in listed):
        return sum(listed[1:], first)  # which says what cannot be added
    remove, add = (
        tuple(term for loss in listed for term in getattr(loss, terms))
        for terms in ("terms_remove", "terms_add")
    )
    return Loss(remove, add, first.adjacency, _joined(*listed))


def _times(terms: Terms, n: int) -> Terms:
    return tuple((pair, k * n) for pair, k in terms)


def _joined(*losses: Loss) -> str:
    parts = [x.expression for x in losses if x.terms_remove or x.terms_add]
    return " + ".join(parts) if parts else losses[0].expression


def _outside(text: str) -> str:
    """The part of an expression that is not inside brackets."""
    depth, kept = 0, []
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        kept.append(letter if depth == 0 else "")
    return "".join(kept)
