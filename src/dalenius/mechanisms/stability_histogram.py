"""Counts of cells that are not known beforehand: only those that are common enough appear."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.guarantees import ApproxDP, Guarantee, PureDP
from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import Terms
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms._support.canonical_keys import canonical
from dalenius.mechanisms._support.grid_noise import check_noise_ratio
from dalenius.mechanisms.geometric import Geometric
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.noise import discrete_laplace, permutation


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram(Mechanism):
    """Releases the noisy counts of the keys whose noisy count reaches `threshold`, and nothing about the others.

    Every key that occurs gets geometric noise, P(k) proportional to exp(-|k|/scale); keys below the
    threshold are dropped. `release` takes the records (one key each: text, bytes, numbers, dates, UUIDs, or
    tuples of these) or a mapping from keys to counts; it returns a dictionary, largest counts first and ties
    in random order, so that the order of the data does not show. Keys come back in the one form that equal
    keys share (1 for True and 1.0, UTC for any zone: `keys.py`), so that nobody's spelling shows either.

    Loss. Adding a record to a key that occurs already moves one count by 1: geometric noise, then
    post-processing. A record with a new key makes that key appear with probability

        delta = P(1 + k >= threshold) = q^(threshold-1)/(1 + q),  q = exp(-1/scale),

    which it cannot do without the record; given that it does not, both data sets give the same law. With the
    record against without it, that is approx(0, delta); without it against with it, a loss of -ln(1 - delta)
    and no more. So each direction is dominated by geometric(scale) or by one of these, and the sum of the
    two losses dominates both. Replacing a record takes it from one key and gives it to another, with noise of
    its own: the sum of both directions.

    Parameters
    ----------
    scale
        The scale of the noise on counts.
    threshold
        The least noisy count that is shown; a whole number.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> from dalenius.mechanisms import StabilityHistogram
    >>> m = StabilityHistogram(scale=2.0, threshold=45)
    >>> list(m.release(["tea"] * 1000 + ["hemlock"]))
    ['tea']
    >>> m.loss.delta(0.5) < 1e-9
    True
    """

    scale: float
    threshold: int
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "scale", checks.positive("scale", self.scale, "Noise of scale 0 hides nothing.")
        )
        object.__setattr__(self, "threshold", checks.count("threshold", self.threshold, least=1))
        checked_adjacency(self.adjacency)
        check_noise_ratio("scale", self.scale, 1.0)
        _ = self.loss

    @property
    def delta(self) -> float:
        """The chance that a key with a single record appears, rounded up: the least delta of the loss.

        A little more than the loss has, so that what the accountant adds to be safe fits below it.
        """
        return min(1.0, _appears(self.scale, self.threshold) * (1 + 5e-13))

    @cached_property
    def loss(self) -> Loss:
        return _loss(self.scale, self.threshold, self.adjacency)

    def release(self, value: Iterable[Hashable] | Mapping[Any, int]) -> dict[Any, int]:
        """The common keys, with noisy counts.

        Parameters
        ----------
        value
            The records, one key each, or a mapping from keys to counts.

        Returns
        -------
        dict
            The keys whose noisy count reaches the threshold, with that count, largest first.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        counts = _counts(value)
        if not counts:
            return {}
        keys = list(counts)
        order = np.asarray(permutation(len(keys)))
        noise = np.asarray(discrete_laplace(self.scale, len(keys))).tolist()
        noisy = [(counts[keys[i]] + k, i) for i, k in zip(order.tolist(), noise, strict=True)]
        kept = sorted((pair for pair in noisy if pair[0] >= self.threshold), key=lambda pair: -pair[0])
        return {keys[i]: n for n, i in kept}

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """An error that, with probability `confidence`, none of `size` keys that occur is off by more than.

        Then, of these, every key with a count of at least `threshold` plus this much appears, every count
        that appears is within this much, and no key with a count below `threshold` minus this much appears.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of keys that occur.

        Returns
        -------
        float
            The error of a count.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        return Geometric(sensitivity=1, scale=self.scale).accuracy(confidence, size)

    @classmethod
    def for_accuracy(
        cls,
        within: float,
        confidence: float = 0.95,
        *,
        delta: float,
        size: int = 1,
        adjacency: Adjacency = ADD_REMOVE,
    ) -> StabilityHistogram:
        """The most noise with which `size` keys stay within an error, and the least threshold for `delta`.

        Parameters
        ----------
        within
            The error that no count may exceed.
        confidence
            The probability with which that must hold.
        size
            The number of cells.
        delta
            The most probability with which a key that one record has may appear.
        adjacency
            The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

        Returns
        -------
        StabilityHistogram
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        scale = Geometric.for_accuracy(within, confidence, sensitivity=1, size=size).scale
        return cls(scale=scale, threshold=_threshold(scale, delta), adjacency=adjacency)

    @classmethod
    def calibrated(cls, guarantee: Guarantee, *, adjacency: Adjacency = ADD_REMOVE) -> StabilityHistogram:
        """The least noise and then the least threshold that keep an ApproxDP guarantee.

        All of epsilon goes to the counts and all of delta to the threshold.

        Parameters
        ----------
        guarantee
            ApproxDP, with epsilon and delta above 0.
        adjacency
            The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

        Returns
        -------
        StabilityHistogram
            The mechanism.

        Raises
        ------
        CannotMeet
            If the guarantee is of another kind.
        """
        if not isinstance(guarantee, ApproxDP) or guarantee.delta == 0 or guarantee.epsilon == 0:
            raise CannotMeet(
                f"{guarantee} cannot be kept: a key that only one record has may appear, with probability "
                "delta. Promise ApproxDP(epsilon, delta) with both above 0."
            )
        changes = 2 if checked_adjacency(adjacency) is REPLACE_ONE else 1
        scale = Geometric.calibrated(PureDP(guarantee.epsilon), sensitivity=changes).scale
        threshold = _threshold(scale, guarantee.delta)
        while not guarantee.holds(_loss(scale, threshold, adjacency)):
            threshold += 1
        return cls(scale=scale, threshold=threshold, adjacency=adjacency)

    @property
    def worst_pair(self) -> Neighbours:
        """A key that is common, and common but for one record: where the counts give most away."""
        many = self.threshold + 40 * math.ceil(self.scale)
        if self.adjacency is REPLACE_ONE:
            return Neighbours({"a": many, "b": many + 1}, {"a": many + 1, "b": many})
        return Neighbours({"a": many}, {"a": many + 1})

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        """A record with a unique key as well; and one that comes first, with a key that only equals another."""
        common = ["a"] * (self.threshold + 40 * math.ceil(self.scale))
        before: list[Any] = [*common, *([1] * len(common))]
        after = [True, *before[1 if self.adjacency is REPLACE_ONE else 0 :]]
        return self.worst_pair, self.rare_pair, Neighbours(before, after)

    @property
    def rare_pair(self) -> Neighbours:
        """A record with a unique key, and no such record: where the threshold reveals most."""
        return Neighbours({"a": 1}, {"b": 1} if self.adjacency is REPLACE_ONE else {})


def _appears(scale: float, threshold: int) -> float:
    return min(1.0, math.exp(-(threshold - 1) / scale) / (1 + math.exp(-1 / scale)) * (1 + 1e-13))


def _loss(scale: float, threshold: int, adjacency: Adjacency) -> Loss:
    delta = _appears(scale, threshold)
    if delta >= 1:
        raise InvalidParameter(
            f"threshold is {threshold}; with noise of scale {scale:g} every key would show."
        )
    (moved,) = losses.geometric(scale, 1).terms_remove
    shown = Atoms(np.zeros(1), np.array([1.0 - delta]), delta)
    missed = Atoms(np.array([-math.log1p(-delta) * (1 + 2.0**-50)]), np.ones(1))
    remove: Terms = (moved, (shown, 1))
    add: Terms = (moved, (missed, 1))
    name = call("stability_histogram", scale=scale, threshold=threshold)
    if checked_adjacency(adjacency) is REPLACE_ONE:
        remove = add = remove + add
    return Loss(remove, add, adjacency, name)


def _threshold(scale: float, delta: float) -> int:
    """The least threshold with which a single record shows with at most this probability."""
    log_delta = math.log(checks.open_probability("delta", delta))
    return max(1, 1 + math.ceil(-scale * (log_delta + math.log1p(math.exp(-1 / scale)))))


def _counts(value: Any) -> dict[Any, int]:
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable):
        raise InvalidParameter(
            f"value is of type {type(value).__name__}; it must be a list of keys, or a mapping from keys "
            "to counts."
        )
    given = [(key, _count(n)) for key, n in _listed(value)]
    counts: dict[Any, int] = {}
    for key, n in given:
        known = canonical(key)
        counts[known] = counts.get(known, 0) + n
    return {key: n for key, n in counts.items() if n > 0}


def _listed(value: Any) -> list[tuple[Any, Any]]:
    """Keys and counts, one by one; those of an array as Python has them, unless that would change them."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) or value.ndim != 1 or value.dtype.kind not in "biufUSO":
            raise InvalidParameter(
                f"value is an array of {value.dtype} in {value.ndim} dimensions, or masked; give a plain list "
                "of keys: text, numbers, or Python dates."
            )
        value = value.tolist()
    try:
        return list(value.items()) if isinstance(value, Mapping) else [(key, 1) for key in value]
    except Exception:
        raise InvalidParameter("value cannot be read to its end; give a plain list of keys.") from None


def _count(n: Any) -> int:
    if isinstance(n, bool | np.bool_) or not isinstance(n, int | np.integer) or n < 0:
        raise InvalidParameter("value holds a count that is not a whole number, 0 or more.")
    return int(n)
