"""What every mechanism is: frozen data that both releases and accounts, so that the two cannot drift apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dalenius.calculus.loss import Loss
from dalenius.core.habits import Hinted


class Neighbours(NamedTuple):
    """Two inputs of `release` that one person's data can turn into each other.

    Parameters
    ----------
    first
        An input of `release`.
    second
        Another one.

    Examples
    --------
    >>> from dalenius.mechanisms import Laplace
    >>> Laplace(sensitivity=2, scale=1.0).worst_pair
    Neighbours(first=0.0, second=2.0)
    """

    first: Any
    second: Any


class Mechanism(Hinted, ABC):
    """A private release: what comes out, and what it costs.

    Examples
    --------
    >>> from dalenius.mechanisms import Geometric, Mechanism
    >>> m = Geometric(sensitivity=1, scale=2.0)
    >>> isinstance(m, Mechanism), m.loss.epsilon(delta=0.0)
    (True, 0.5)
    """

    _promise_said = "kept by the right noise: Laplace.calibrated(dp.PureDP(1.0), sensitivity=1)"

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""

    @abstractmethod
    def release(self, value: Any) -> Any:
        """One private answer about `value`.

        Parameters
        ----------
        value
            What is to be protected; each mechanism says which kinds it takes.

        Returns
        -------
        Any
            What may be shown.

        Raises
        ------
        InvalidParameter
            If the value is not of a kind that the mechanism takes. The message never shows the value.
        """

    def releases(self, value: Any, times: int) -> Sequence[Any]:
        """Independent private answers about one value, `times` of them along the first axis.

        What an audit runs: together they cost `loss * times`. A mechanism that can draw them at once overrides
        the loop.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        sequence
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        return [self.release(value) for _ in range(times)]

    @property
    @abstractmethod
    def worst_pair(self) -> Neighbours:
        """Neighbouring inputs on which the loss is attained, or nearly so: what an audit runs on."""

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        """The worst pair, and others an audit tries beside it: longer inputs, other ways to be a neighbour."""
        return (self.worst_pair,)

    @property
    def ways(self) -> Mapping[str, Callable[[Any], Any]]:
        """Every way to get one private answer about a value; an audit runs each of them."""
        return {"release": self.release}
