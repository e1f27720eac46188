"""Several quantiles of one column at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import bounded_range
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support import selection_error
from dalenius.mechanisms._support.batched_rank_draws import RankScoreRows
from dalenius.mechanisms._support.epsilon_calibration import scale_for
from dalenius.mechanisms._support.interval_grid import EXACT
from dalenius.mechanisms._support.interval_mechanism import IntervalMechanism
from dalenius.mechanisms._support.rank_draws import UNITS_PER_RANK, RankScores
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.mechanisms.quantile import Quantile, checked_level, records
from dalenius.noise import uniform_integers

AT_ONCE = 1 << 20
"""Candidates and records held in memory together."""
TIE_BITS = 24
"""Every record is moved to one of 2^24 places within its grid step, at random, to break ties."""


class Node(NamedTuple):
    """One quantile and where it stands among those found before it: a share of the records between them."""

    place: int
    share: int
    below: Node | None
    above: Node | None


@dataclass(frozen=True, kw_only=True)
class Quantiles(IntervalMechanism):
    """Quantiles at several levels by halving: the middle one, then one on either side of it, and so on.

    (Kaplan, Schnapp and Stemmer 2022; one exponential mechanism per quantile, on the records and the interval
    between the two quantiles around it.) `release(data)` takes one number per record, clamped to the public
    `bounds`; it returns multiples of the public `granularity`, in the order of the levels, never decreasing.

    1. Each value goes to the nearest multiple of the granularity and then to one of 2^24 places within that
       step, uniformly at random, so that records with equal values are spread out.
    2. The middle level p of those between levels p_0 and p_1, whose quantiles are t_0 and t_1: t is drawn
       from the places in [t_0, t_1] with probability proportional to exp(-d/s), d the distance of a n from
       [l, m], where n counts the records in (t_0, t_1], l those of them below t and m those up to t, a = (p -
       p_0)/(p_1 - p_0), s = 2 max(a, 1 - a) / e under add/remove and twice that under replace-one, e =
       epsilon / (number of rounds). Levels below and above p are treated next.

    Loss: `bounded_range(epsilon / rounds) * rounds`, in ceil(log2(levels + 1)) rounds, so epsilon-DP; under
    ZCDP the cost is epsilon^2 / (8 rounds). Proof. Fix the random places of the records that both data sets
    have. Given what earlier rounds released, the draws of a round look at disjoint sets of records, and the
    sets do not depend on the data. A record added is in one of them: there l - a n and m - a n move by -a or
    1 - a, so d moves by at most max(a, 1 - a) and the log ratio varies by at most 2 max(a, 1 - a)/s = e over
    the outcomes; the other draws keep their laws. A record replaced leaves one set and enters another (or the
    same): two such changes with half of e each. So a round has range e whatever came before, and rounds
    compose. The place of the new record is random in one world only: divergences are convex, so mixing over
    it costs nothing.

    Every draw is exact, as in `Quantile`.

    Parameters
    ----------
    levels
        Increasing numbers between 0 and 1, both excluded.
    bounds
        (lowest, highest): what is public about the values.
    epsilon
        The privacy parameter of all quantiles together.
    granularity
        The spacing of the candidates; by default between 2^24 and 2^25 of them fill the interval.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> from dalenius.mechanisms import Quantiles
    >>> deciles = Quantiles(levels=(0.25, 0.5, 0.75), bounds=(0, 100), epsilon=1.0)
    >>> ages = [20, 30, 30, 30, 40] * 4000
    >>> deciles.release(ages).tolist()
    [30.0, 30.0, 30.0]
    >>> deciles.rounds, deciles.loss
    (2, Loss(bounded_range(eta=0.5) * 2))
    """

    levels: tuple[float, ...]
    bounds: tuple[float, float]
    epsilon: float
    granularity: Any = None
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _checked_levels(self.levels))
        super().__post_init__()
        if self.points.count > 1 << 37:
            raise InvalidParameter(
                f"granularity is {float(self.granularity):g}; for several quantiles there must be at most "
                "2^37 multiples of it between the bounds."
            )
        for node in self._nodes:
            self._scale(node)

    @property
    def rounds(self) -> int:
        """How often a record is looked at."""
        return len(self.levels).bit_length()

    @cached_property
    def epsilon_per_round(self) -> float:
        """epsilon / rounds, rounded down."""
        return _share(self.epsilon, self.rounds)

    def _loss_at(self, epsilon: float) -> Loss:
        return bounded_range(_share(epsilon, self.rounds), self.adjacency) * self.rounds

    @cached_property
    def _root(self) -> Node:
        root = _tree([round(level * UNITS_PER_RANK) for level in self.levels], -1, len(self.levels))
        assert root is not None
        return root

    @property
    def _nodes(self) -> list[Node]:
        nodes, waiting = [], [self._root]
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            waiting += [child for child in (node.below, node.above) if child is not None]
        return nodes

    def _scale(self, node: Node) -> float:
        """In parts of ranks."""
        steps = 2 if self.adjacency is ADD_REMOVE else 4
        return scale_for(float(steps * max(node.share, UNITS_PER_RANK - node.share)), self.epsilon_per_round)

    def release(self, value: Any) -> Reals:
        """Private quantiles at all levels.

        Parameters
        ----------
        value
            One number for each record; there may be none.

        Returns
        -------
        ndarray
            One number for each level, never decreasing.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        data = self.points.nearest(records(value)) - self.points.lowest
        places = np.sort((data << TIE_BITS) + uniform_integers(0, 1 << TIE_BITS, len(data)))
        chosen = np.empty(len(self.levels), dtype=np.int64)
        self._search(self._root, places, 0, (self.points.count << TIE_BITS) - 1, chosen)
        return self.points.values((chosen >> TIE_BITS) + self.points.lowest)

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent answers, one row each: together they cost `loss * times`.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        ndarray
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        data, times = records(value), checks.count("times", times)
        at_once = AT_ONCE // (2 * len(data) + 1)
        if at_once < 2 or self.points.count << TIE_BITS > EXACT:
            return np.array([self.release(data) for _ in range(times)]).reshape(times, len(self.levels))
        units = (self.points.nearest(data) - self.points.lowest) << TIE_BITS
        chosen = np.empty((times, len(self.levels)), dtype=np.int64)
        for start in range(0, times, at_once):
            part = chosen[start : start + at_once]
            places = np.sort(units + uniform_integers(0, 1 << TIE_BITS, (len(part), len(units))), axis=1)
            ends = (
                np.zeros(len(part), dtype=np.int64),
                np.full(len(part), (self.points.count << TIE_BITS) - 1),
            )
            self._search_many(self._root, places, *ends, np.arange(len(part)), part)
        return self.points.values((chosen >> TIE_BITS) + self.points.lowest)

    def _search_many(
        self, node: Node, places: Ints, first: Ints, last: Ints, rows: Ints, chosen: Ints
    ) -> None:
        here = RankScoreRows(places, first, last, places.shape[1] * node.share, self._scale(node)).draw()
        chosen[rows, node.place] = here
        cuts = (places <= here[:, None]).sum(axis=1)
        for cut in np.unique(cuts):
            same = cuts == cut
            if node.below is not None:
                below = places[same, :cut], first[same], here[same]
                self._search_many(node.below, *below, rows[same], chosen)
            if node.above is not None:
                above = places[same, cut:], here[same], last[same]
                self._search_many(node.above, *above, rows[same], chosen)

    def _search(self, node: Node, places: Ints, first: int, last: int, chosen: Ints) -> None:
        here = RankScores(places, first, last, len(places) * node.share, self._scale(node)).draw()
        chosen[node.place] = here
        cut = int(np.searchsorted(places, here, side="right"))
        if node.below is not None:
            self._search(node.below, places[:cut], first, here, chosen)
        if node.above is not None:
            self._search(node.above, places[cut:], here, last, chosen)

    def accuracy(self, confidence: float = 0.95, size: int = 1_000_000) -> float:
        """With this probability every rank is off by at most this much, for any data of up to `size` records.

        Round by round a rank inherits a weighted mean of the errors on either side and adds its own, which is
        at most s log(places) + ... as for `Quantile` plus the most records that share a place. So this is a
        worst case over all data, far above what smooth data show.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The most records there may be.

        Returns
        -------
        float
            The error of a rank.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        failure = 1.0 - checks.confidence(confidence)
        size = checks.count("size", size, least=1)
        each = 1.0 - failure * (1 - 2.0**-10) / len(self.levels)
        gap = selection_error.sure_gap("gumbel", each, self.points.count << TIE_BITS)
        together = _fixed_error(size, failure)

        def worst(node: Node | None) -> float:
            if node is None:
                return 0.0
            return (
                self._scale(node) / UNITS_PER_RANK * gap
                + together
                + max(worst(node.below), worst(node.above))
            )

        return worst(self._root)

    def _error_without_noise(self, confidence: float, size: int = 1_000_000, **options: Any) -> float:
        failure = 1.0 - checks.confidence(confidence)
        return self.rounds * _fixed_error(checks.count("size", size, least=1), failure)

    @property
    def worst_pair(self) -> Neighbours:
        """Where the first round is at its worst; later rounds add to it."""
        level = self._root.share / UNITS_PER_RANK
        first = Quantile(
            level=level,
            bounds=self.bounds,
            epsilon=self.epsilon_per_round,
            granularity=self.granularity,
            adjacency=self.adjacency,
        )
        return first.worst_pair


def _checked_levels(levels: object) -> tuple[float, ...]:
    if not isinstance(levels, Sequence | np.ndarray) or isinstance(levels, str) or len(levels) == 0:
        raise InvalidParameter(
            f"levels is {levels!r}; it must be a list of numbers such as (0.25, 0.5, 0.75)."
        )
    checked = tuple(checked_level(f"levels[{i}]", level) for i, level in enumerate(levels))
    if any(a >= b for a, b in pairwise(checked)):
        raise InvalidParameter("levels must be increasing, each above the one before.")
    return checked


def _tree(parts: list[int], left: int, right: int) -> Node | None:
    """The middle of the levels strictly between two places, with the shares of those around it."""
    if right - left < 2:
        return None
    middle = (left + right) // 2
    low = parts[left] if left >= 0 else 0
    high = parts[right] if right < len(parts) else UNITS_PER_RANK
    share = round(Fraction(parts[middle] - low, high - low) * UNITS_PER_RANK)
    return Node(middle, share, _tree(parts, left, middle), _tree(parts, middle, right))


def _share(epsilon: float, rounds: int) -> float:
    share = epsilon / rounds
    return share if Fraction(share) * rounds <= Fraction(epsilon) else math.nextafter(share, 0.0)


def _fixed_error(size: int, failure: float) -> float:
    """Ranks a round may be off whatever the epsilon: records that share a place, a share that is rounded."""
    return _most_together(size, failure * 2.0**-10) + size / UNITS_PER_RANK


def _most_together(size: int, failure: float) -> int:
    """Except with this probability no place is taken by more records.

    P(some m of them share one place) <= C(size, m) 2^(-24 (m - 1)).
    """
    log_choose = 0.0
    for m in range(1, size + 1):
        log_choose += math.log(size - m + 1) - math.log(m)
        if log_choose - TIE_BITS * math.log(2) * (m - 1) <= math.log(failure):
            return m - 1
    return size
