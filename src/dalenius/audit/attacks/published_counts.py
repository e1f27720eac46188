"""What could someone do with the tables we already published?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from dalenius.audit.attacks.joint_counts import JointCounts
from dalenius.audit.attacks.published_table import PublishedTable
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import GDP
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Histogram

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Budget:
    """What would have kept everybody's presence uncertain.

    Parameters
    ----------
    certainty
        How sure anybody may become that a row is in the data, after 50 % before.
    epsilon
        Of pure DP, for all tables together: certainty stays below for every outcome of the noise.
    pure_noise
        Geometric noise for each of the tables: nineteen in twenty counts are within this of the truth.
    mu
        Of Gaussian DP, for all tables together: certainty stays below on average over the noise.
    gaussian_noise
        The same with discrete Gaussian noise.

    Examples
    --------
    >>> from dalenius.audit.attacks import Budget
    >>> Budget.for_certainty(0.75, tables=2).epsilon
    1.0986122886681096
    """

    certainty: float
    epsilon: float
    pure_noise: float
    mu: float
    gaussian_noise: float

    @classmethod
    def for_certainty(cls, certainty: float, tables: int) -> Budget:
        """The budget that leaves so much certainty, and the noise it takes when each of `tables` counts every row once.

        Parameters
        ----------
        certainty
            Between 1/2 and 1, both excluded.
        tables
            The number of tables.

        Returns
        -------
        Budget
            The budget.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        certainty = checks.within(
            "certainty", certainty, "a number strictly between 0.5 and 1", lambda x: 0.5 < x < 1
        )
        tables = checks.count("tables", tables, 1)
        epsilon, mu = math.log(certainty) - math.log1p(-certainty), 2 * float(ndtri(certainty))
        sigma = calibrate(lambda s: Histogram(sigma=s).loss * tables, GDP(mu))
        pure, gaussian = Histogram(scale=tables / epsilon), Histogram(sigma=sigma)
        return cls(certainty, epsilon, pure.accuracy(0.95), mu, gaussian.accuracy(0.95))


@dataclass(frozen=True, eq=False, repr=False)
class PublishedCounts:
    """What published tables say about the rows behind them.

    Parameters
    ----------
    columns
        All columns of all tables.
    cells
        The combinations of their values that can occur.
    low
        How often each occurs at least.
    high
        How often each occurs at most.
    rows
        The least and the most rows that there can be.
    tables
        The number of tables.
    settled
        Whether all bounds are the best possible; False where time ran out.

    Examples
    --------
    >>> from dalenius.audit.attacks import PublishedTable, published_counts
    >>> by_sex = PublishedTable.exact(("sex", "ill"), [("f", "no"), ("m", "no"), ("m", "yes")], [3, 2, 1])
    >>> published_counts([by_sex]).unique
    1
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    low: Reals
    high: Reals
    rows: tuple[float, float]
    tables: int
    settled: bool

    @property
    def rebuilt(self) -> int:
        """How many rows are known for certain, with a value in every column."""
        return int(self.low.sum())

    @property
    def unique(self) -> int:
        """How many combinations are known to occur exactly once: somebody is alone with theirs."""
        return int(((self.low == 1) & (self.high == 1)).sum())

    @property
    def exact(self) -> int:
        """Of how many combinations that can occur the count is known exactly."""
        return int((self.low == self.high).sum())

    @property
    def share(self) -> float:
        """The share of all rows that is rebuilt, at least."""
        return self.rebuilt / self.rows[1] if 0 < self.rows[1] < math.inf else 0.0

    def records(self) -> list[dict[str, Any]]:
        """The rows that are rebuilt, by combination.

        Returns
        -------
        list of dict
            Its values by column, and `rows`: how many there are at least.
        """
        kept = np.flatnonzero(self.low > 0)
        return [
            {**dict(zip(self.columns, self.cells[k], strict=True)), "rows": int(self.low[k])} for k in kept
        ]

    def budget(self, certainty: float = 0.75) -> Budget:
        """What would have stopped it: from 50 % before, nobody becomes surer than this that a row is there.

        Parameters
        ----------
        certainty
            Between 1/2 and 1, both excluded.

        Returns
        -------
        Budget
            Of pure and of Gaussian DP, with the noise in each count.
        """
        return Budget.for_certainty(certainty, self.tables)

    def __repr__(self) -> str:
        return f"PublishedCounts({self.rebuilt} rows rebuilt, {self.unique} of them alone of their kind)"

    def explain(self, certainty: float = 0.75) -> str:
        """What could be rebuilt, and what would have stopped it, in plain sentences.

        Parameters
        ----------
        certainty
            As for `budget`.

        Returns
        -------
        str
            Some lines of text.
        """
        from dalenius.audit.attacks.explain import published_counts

        return published_counts(self, certainty)

    def plot(self, path: str | None = None) -> Figure:
        """Draw how closely the combinations are known, and what a budget would have left of the certainty.

        Parameters
        ----------
        path
            Where the picture is saved; None to save nothing.

        Returns
        -------
        Figure
            A figure of matplotlib.

        Raises
        ------
        ImportError
            If matplotlib is not installed (the `plot` extra).
        """
        from dalenius.audit.attacks.plot import published_counts

        return published_counts(self, path)


def published_counts(tables: Sequence[PublishedTable], seconds: float = 60.0) -> PublishedCounts:
    """How many rows can be rebuilt from tables of counts that were published about them?

    Every combination of the values of all columns occurs some whole number of times. The published counts are sums of
    these numbers. The least and the most that each number can be, given all sums, is found by integer programming: what
    must occur is rebuilt. Tables that share no column, or few, leave much open; each further table takes from it
    (Dinur and Nissim 2003; Garfinkel, Abowd and Martindale 2018, for the census).

    Parameters
    ----------
    tables
        Tables that count the same rows.
    seconds
        After which to stop; bounds that are not the best are still true.

    Returns
    -------
    PublishedCounts
        What is known of every combination.

    Raises
    ------
    InvalidParameter
        If the tables contradict each other, or have more than 200 000 combinations.

    Examples
    --------
    Two tables, neither of which says who is ill:

    >>> from dalenius.audit.attacks import PublishedTable, published_counts
    >>> by_sex = PublishedTable.exact(("sex", "town"), [("f", "A"), ("f", "B"), ("m", "A")], [4, 1, 3])
    >>> by_ill = PublishedTable.exact(("ill", "town"), [("no", "A"), ("yes", "B")], [7, 1])
    >>> found = published_counts([by_sex, by_ill])
    >>> found.rebuilt, found.unique
    (8, 1)
    """
    given: Any = tables
    tables = list(given) if isinstance(given, Iterable) else []
    if not tables or not all(isinstance(table, PublishedTable) for table in tables):
        raise InvalidParameter.of("tables", "tables must be a list of PublishedTable, one at least.")
    seconds = checks.positive("seconds", seconds)
    joint = JointCounts.of(tables)
    joint.tighten(seconds)
    possible = np.flatnonzero(joint.high > 0)
    every = list(itertools.product(*joint.values))
    return PublishedCounts(
        joint.columns,
        tuple(every[k] for k in possible),
        joint.low[possible],
        joint.high[possible],
        joint.rows(),
        len(tables),
        joint.settled,
    )
