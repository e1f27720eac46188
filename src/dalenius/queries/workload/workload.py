"""Many linear questions about one table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter
from dalenius.queries.domain import Bins, Categories, Domain, too_large
from dalenius.queries.rows import Rows
from dalenius.queries.workload.factors import (
    Factor,
    Identity,
    Intervals,
    Matrix,
    Prefix,
    Ranges,
    coefficient_matrix,
)
from dalenius.queries.workload.parts import MOST_ENUMERATED, Cells, Conjunctions, Part, Product

if TYPE_CHECKING:
    from dalenius.queries.workload.choice import Choice

WORDS: dict[str, type[Factor]] = {"identity": Identity, "prefix": Prefix, "ranges": Ranges}


class Workload:
    """Linear questions about a table over a finite domain: each adds up the counts of cells, times coefficients.

    Made by `marginals`, `ranges`, `prefixes`, `predicates`, `product` and `matrix`; `first + second` asks both, and
    `3 * workload` asks the same with errors that count three times as much when a release is planned. The
    questions are kept as products of questions about single columns and never written out as a matrix.

    Parameters
    ----------
    domain
        The domain of the table.
    parts
        Questions that belong together, each with its weight.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"sex": ["F", "M"], "age": 4})
    >>> w = dp.queries.Workload.marginals(domain, 1) + dp.queries.Workload.product(domain, {"age": "prefix"})
    >>> len(w), w.sensitivity()
    (10, 6)
    >>> w.answers({"sex": ["F", "F", "M"], "age": [0, 3, 3]}).tolist()
    [2, 1, 1, 0, 0, 2, 1, 1, 1, 3]
    """

    def __init__(self, domain: Domain, parts: Iterable[tuple[float, Part]]) -> None:
        if not isinstance(domain, Domain):
            raise InvalidParameter.of("domain", f"domain is {checks.shown(domain)}; it must be a Domain.")
        self.domain = domain
        self.parts = tuple((checks.positive("weight", weight), part) for weight, part in parts)
        if not self.parts:
            raise InvalidParameter.of("parts", "there is no question in this workload.")

    # -- how one is made ----------------------------------------------------------------------------

    @classmethod
    def marginals(cls, domain: Domain, which: int | Iterable[Iterable[str]]) -> Workload:
        """Histograms over sets of columns.

        Parameters
        ----------
        domain
            The domain of the table.
        which
            A number k for all sets of k columns, or a list of sets of names. The empty set counts all rows.

        Returns
        -------
        Workload
            One question for each cell of each marginal.

        Raises
        ------
        InvalidParameter
            If a name is unknown, or there are fewer columns than k.
        """
        _checked_domain(domain)
        if isinstance(which, Iterable) and not isinstance(which, str):
            sets = [domain.checked(names) for names in which]
        else:
            size = checks.count("which", which)
            if size > len(domain):
                raise InvalidParameter.of(
                    "which", f"which is {size}, and the domain has {len(domain)} columns."
                )
            sets = list(itertools.combinations(domain.names, size))
        return cls(domain, [(1.0, _product(domain, dict.fromkeys(names, "identity"))) for names in sets])

    @classmethod
    def product(cls, domain: Domain, columns: Mapping[str, Any]) -> Workload:
        """All combinations of questions about some columns.

        Parameters
        ----------
        domain
            The domain of the table.
        columns
            By name: "identity" for each value, "prefix" for at most each value, "ranges" for each range of values, or
            a matrix with one column for each value. Columns not named are summed over.

        Returns
        -------
        Workload
            The product of these questions, the last column changing fastest.

        Raises
        ------
        InvalidParameter
            If a name is unknown, or a factor is none of these.
        """
        return cls(domain, [(1.0, _product(domain, columns))])

    @classmethod
    def ranges(cls, domain: Domain, ranges: Iterable[Any] | None = None) -> Workload:
        """Counts of ranges of values.

        Parameters
        ----------
        domain
            The domain of the table; its columns are taken to be in order.
        ranges
            Pairs (low, high) of codes for a domain of one column, from low up to and not including high; for several
            columns mappings from names to such pairs. All ranges, in all columns together, by default.

        Returns
        -------
        Workload
            One question for each range.

        Raises
        ------
        InvalidParameter
            If a range is empty or leaves the domain.
        """
        _checked_domain(domain)
        if ranges is None:
            return cls.product(domain, dict.fromkeys(domain.names, "ranges"))
        return cls(domain, [(1.0, _intervals(domain, ranges))])

    @classmethod
    def prefixes(cls, domain: Domain) -> Workload:
        """Counts of the rows up to each value, in all columns together: the empirical distribution function.

        Parameters
        ----------
        domain
            The domain of the table; its columns are taken to be in order.

        Returns
        -------
        Workload
            One question for each cell.
        """
        _checked_domain(domain)
        return cls.product(domain, dict.fromkeys(domain.names, "prefix"))

    @classmethod
    def predicates(cls, domain: Domain, masks: Iterable[Any]) -> Workload:
        """Counts of the rows that fulfil conditions.

        Parameters
        ----------
        domain
            The domain of the table.
        masks
            Conditions. Each is a mapping from names of columns to the values allowed there (codes, for whole numbers
            and bins; or an interval of bins by its ends, (20, 40), as in `PrivateMultiplicativeWeights`), or a boolean
            array of the domain's shape.

        Returns
        -------
        Workload
            One question for each condition.

        Raises
        ------
        InvalidParameter
            If a condition is neither, or names a value outside the domain.
        """
        _checked_domain(domain)
        listed: Any = masks
        given = list(listed) if isinstance(listed, Iterable) and not isinstance(listed, str | Mapping) else []
        if given and all(isinstance(mask, Mapping) for mask in given):
            return cls(domain, [(1.0, _conjunctions(domain, given))])
        if not given or any(
            not isinstance(m, np.ndarray) or m.dtype != np.bool_ or m.shape != domain.shape for m in given
        ):
            raise InvalidParameter.of(
                "masks",
                f"masks must list mappings from names to values, or boolean arrays of the shape {domain.shape}.",
            )
        return cls.matrix(domain, np.stack([mask.reshape(-1) for mask in given]))

    @classmethod
    def matrix(cls, domain: Domain, coefficients: Any) -> Workload:
        """Any linear questions, by their coefficients.

        Parameters
        ----------
        domain
            The domain of the table.
        coefficients
            One row for each question, one column for each cell of the domain, in the order of `histogram.ravel()`.
            Integers are kept; other numbers are used to nine digits.

        Returns
        -------
        Workload
            One question for each row.

        Raises
        ------
        InvalidParameter
            If the matrix has another number of columns, or holds what is not a finite number.
        """
        _checked_domain(domain)
        too_large(domain.cells, "the domain")
        values = coefficient_matrix(coefficients, domain.cells, "the matrix of questions")
        factor = Matrix(domain.cells, values)
        if len(domain) == 1:
            return cls(domain, [(1.0, Product((0,), (factor,)))])
        return cls(domain, [(1.0, Cells(tuple(range(len(domain))), domain.shape, factor))])

    def __add__(self, other: object) -> Workload:
        if not isinstance(other, Workload):
            return NotImplemented
        if other.domain != self.domain:
            raise InvalidParameter("the two workloads are about different domains.")
        return Workload(self.domain, self.parts + other.parts)

    def __mul__(self, weight: object) -> Workload:
        factor = checks.positive("weight", weight)
        return Workload(self.domain, [(factor * known, part) for known, part in self.parts])

    __rmul__ = __mul__

    # -- what it says of itself -----------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of questions; unlike `len`, of any size."""
        return sum(part.rows for _, part in self.parts)

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and (self.domain, self.parts) == (other.domain, other.parts)

    def __hash__(self) -> int:
        return hash((self.domain, self.parts))

    def __repr__(self) -> str:
        return f"Workload({self.size} questions about {', '.join(self.domain.names)})"

    def weights(self) -> Reals:
        """The weight of every question.

        Returns
        -------
        ndarray
            One number for each question.
        """
        self._listed()
        return np.concatenate([np.full(part.rows, weight) for weight, part in self.parts])

    def answers(self, data: Any) -> Array:
        """The exact answers: for tests and for public data, as these are not private.

        Parameters
        ----------
        data
            A table, as `Domain.codes` takes it, or a histogram of the domain's shape.

        Returns
        -------
        ndarray
            One number for each question.

        Raises
        ------
        InvalidParameter
            If the data are of another kind, or there are too many questions to list.
        """
        self._listed()
        rows = Rows.of(self.domain, data)
        return np.concatenate([part.answers(rows.counts(part.positions)) for _, part in self.parts])

    def sensitivity(self, norm: Literal[1, 2] = 1, adjacency: Adjacency = ADD_REMOVE) -> float:
        """The most one record changes the answers to all questions together.

        Parameters
        ----------
        norm
            1 for the l1 norm, 2 for the l2 norm.
        adjacency
            Whether a record is added or removed, or replaced.

        Returns
        -------
        float
            The sensitivity: exact where the questions can be written out or treat all values of a column alike, and
            an upper bound elsewhere.

        Raises
        ------
        InvalidParameter
            If the norm is neither 1 nor 2.
        """
        if norm not in (1, 2):
            raise InvalidParameter.of("norm", f"norm is {checks.shown(norm)}; it must be 1 or 2.")
        checked_adjacency(adjacency)
        together = self._together(norm, adjacency)
        return together if norm == 1 else math.sqrt(together)

    def _together(self, power: int, adjacency: Adjacency) -> float:
        """The sum over the parts; where there are several, a record need not be the worst for all of them."""
        if len(self.parts) > 1 and self.domain.cells * self.size <= MOST_ENUMERATED:
            return Matrix(self.domain.cells, self.dense()).sensitivity(power, adjacency)
        return sum(part.sensitivity(power, adjacency) for _, part in self.parts)

    def dense(self) -> Array:
        """The questions written out over all cells of the domain.

        Returns
        -------
        ndarray
            One row for each question, one column for each cell.

        Raises
        ------
        InvalidParameter
            If that would be more than 2^28 numbers.
        """
        too_large(self.domain.cells * self.size, "the matrix of this workload")
        found = []
        for _, part in self.parts:
            sizes = [n if i in part.positions else 1 for i, n in enumerate(self.domain.shape)]
            order = np.argsort(part.positions)
            each = part.matrix().reshape(part.rows, *part.shape).transpose(0, *(1 + order))
            full = np.broadcast_to(each.reshape(part.rows, *sizes), (part.rows, *self.domain.shape))
            found.append(full.reshape(part.rows, -1))
        return np.concatenate(found)

    def best(
        self, guarantee: Guarantee, n: int, *, adjacency: Adjacency = ADD_REMOVE, rows_per_unit: int = 1
    ) -> Choice:
        """The way of release with the least predicted error; no data are looked at.

        Parameters
        ----------
        guarantee
            What the release must keep.
        n
            About how many rows the table has; public.
        adjacency
            The neighbouring relation.
        rows_per_unit
            The most rows of one person.

        Returns
        -------
        Choice
            `mechanism`, `why` in words, and `table`, every candidate with its predicted error.

        Raises
        ------
        InvalidParameter
            If no way of release can answer this workload, or a parameter is out of range.
        """
        from dalenius.queries.workload.choice import choose

        return choose(self, guarantee, n, adjacency, rows_per_unit)

    def _listed(self) -> None:
        too_large(self.size, "the list of answers")


def _checked_domain(domain: object) -> None:
    if not isinstance(domain, Domain):
        raise InvalidParameter.of("domain", f"domain is {checks.shown(domain)}; it must be a Domain.")


def _product(domain: Domain, columns: Any) -> Product:
    _checked_domain(domain)
    if not isinstance(columns, Mapping):
        raise InvalidParameter.of(
            "columns",
            f"columns is {checks.shown(columns)}; it must say by name what is asked of each column.",
        )
    named = sorted((domain.position(name), given) for name, given in columns.items()) if columns else []
    return Product(
        tuple(place for place, _ in named),
        tuple(_factor(domain.shape[place], given) for place, given in named),
    )


def _factor(n: int, given: Any) -> Factor:
    if isinstance(given, str):
        return WORDS[checks.one_of("what is asked of a column", given, *WORDS)](n)
    return Matrix(n, coefficient_matrix(given, n, "what is asked of a column"))


def _intervals(domain: Domain, ranges: Any) -> Part:
    given = list(ranges) if isinstance(ranges, Iterable) and not isinstance(ranges, str | Mapping) else []
    if not given:
        raise InvalidParameter.of(
            "ranges", "ranges must list pairs (low, high), or mappings from names to pairs."
        )
    if not isinstance(given[0], Mapping):
        if len(domain) > 1:
            raise InvalidParameter.of(
                "ranges", "give ranges of several columns as mappings from names to pairs (low, high)."
            )
        return Product((0,), (_pairs(given, domain.shape[0]),))
    named = sorted({domain.position(name) for one in given if isinstance(one, Mapping) for name in one})
    if not named or not all(isinstance(one, Mapping) for one in given):
        raise InvalidParameter.of("ranges", "ranges must all be mappings from names to pairs (low, high).")
    factors = []
    for place in named:
        name, n = domain.names[place], domain.shape[place]
        factors.append(_pairs([one.get(name, (0, n)) for one in given], n))
    return (
        Conjunctions(tuple(named), tuple(factors))
        if len(named) > 1
        else Product(tuple(named), tuple(factors))
    )


def _pairs(given: Sequence[Any], n: int) -> Intervals:
    try:
        ends = np.asarray(given)
    except Exception:
        ends = np.empty(0)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise InvalidParameter.of("ranges", "a range must be a pair (low, high) of whole numbers.")
    low, high = ends.astype(np.int64).T
    if (low < 0).any() or (high > n).any() or (low >= high).any():
        raise InvalidParameter.of("ranges", f"a range must have 0 <= low < high <= {n}.")
    return Intervals(n, low.copy(), high.copy())


def _conjunctions(domain: Domain, given: Sequence[Mapping[str, Any]]) -> Part:
    named = sorted({domain.position(name) for one in given for name in one})
    if not named:
        return Product((), ())
    factors = []
    for place in named:
        name, n = domain.names[place], domain.shape[place]
        too_large(len(given) * n, "the list of conditions")
        rows = np.ones((len(given), n), dtype=np.int64)
        for row, one in zip(rows, given, strict=True):
            if name in one:
                row[:] = 0
                row[_allowed(domain, name, one[name])] = 1
        factors.append(Matrix(n, rows))
    return (
        Conjunctions(tuple(named), tuple(factors))
        if len(named) > 1
        else Product(tuple(named), tuple(factors))
    )


def _allowed(domain: Domain, name: str, values: Any) -> list[int]:
    column = domain.columns[name]
    if isinstance(column, Bins) and isinstance(values, tuple) and len(values) == 2:
        return list(column.between(*values))
    wanted = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    if isinstance(column, Bins):
        places = [x if isinstance(x, int | np.integer) and 0 <= x < column.count else -1 for x in wanted]
    else:
        whole = np.empty(len(wanted), dtype=object)
        whole[:] = wanted
        places = column.codes(whole).tolist()
    if min(places, default=0) < 0:
        kind = (
            "one of its values" if isinstance(column, Categories) else f"a code from 0 to {len(column) - 1}"
        )
        raise InvalidParameter.of("masks", f"a condition on {name} names something that is not {kind}.")
    return [int(place) for place in places]
