"""A finite, public domain: which columns a table has, and which values each of them can take."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array, Ints
from dalenius.errors import InvalidParameter

MOST_CELLS = 2**28
"""A histogram with more cells than this (2 GiB of counts) is not made."""


class Codes(np.ndarray):
    """Rows of a table as whole numbers, one column for each of a domain's: what `Domain.codes` gives."""


@dataclass(frozen=True)
class Bins:
    """Equal bins of a numeric column; the highest number belongs to the last one.

    Parameters
    ----------
    low, high
        The ends, public: a row with a number outside them is left out.
    count
        How many bins there are.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"pay": dp.queries.Bins(0, 100, 20)})
    >>> domain.codes({"pay": [0.0, 52.5, 100.0, -1.0]}).ravel().tolist()
    [0, 10, 19]
    """

    low: float
    high: float
    count: int

    def __post_init__(self) -> None:
        low, high = checks.interval("(low, high)", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "count", checks.count("count", self.count, least=1))
        if self.count > 2**40:
            raise InvalidParameter.of("count", f"count is {self.count}; it must be at most 2^40.")

    def __len__(self) -> int:
        return self.count

    @property
    def edges(self) -> Array:
        """The `count + 1` ends of the bins."""
        return self.low + (self.high - self.low) * (np.arange(self.count + 1) / self.count)

    def codes(self, values: Any) -> Ints:
        """The bin of every value; -1 for what is in none."""
        numbers = _floats(values)
        with np.errstate(invalid="ignore", over="ignore"):
            inside = (numbers >= self.low) & (numbers <= self.high)
            share = (np.where(inside, numbers, self.low) - self.low) / (self.high - self.low)
        found = np.minimum((share * self.count).astype(np.int64), self.count - 1)
        return np.where(inside, found, -1)

    def between(self, low: Any, high: Any) -> range:
        """The bins of the numbers from low to below high (all of the last bin's, if that ends there).

        Parameters
        ----------
        low, high
            Edges of bins: a bin cannot be divided.

        Returns
        -------
        range
            Their codes.

        Raises
        ------
        InvalidParameter
            If one of them is no edge, or low is not below high.
        """
        width = (self.high - self.low) / self.count
        ends = [(checks.number("an end", end) - self.low) / width for end in (low, high)]
        first, last = (round(end) for end in ends)
        edges = all(abs(end - round(end)) <= 1e-6 for end in ends)
        if not edges or not 0 <= first < last <= self.count:
            raise InvalidParameter(
                f"({low}, {high}) is not an interval of bins; its ends must be edges, {self.low:g} to {self.high:g} in "
                f"steps of {width:g}, the lower one first."
            )
        return range(first, last)


@dataclass(frozen=True)
class Categories:
    """A column whose values are listed."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        try:
            distinct = len(set(self.values))
        except TypeError:
            raise InvalidParameter("the values of a column must be text, numbers or dates.") from None
        if not self.values or distinct < len(self.values):
            raise InvalidParameter(
                f"a column has {len(self.values)} values of which {distinct} are different; list every value once."
            )

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, values: Any) -> Ints:
        """The place of every value in the list; -1 for what is not in it."""
        places = {value: place for place, value in enumerate(self.values)}

        def place(value: Any) -> int:
            try:
                found = places.get(value, -1)
                if found < 0 and isinstance(value, datetime.datetime) and value == _midnight(value):
                    found = places.get(value.date(), -1)
            except Exception:  # a value that cannot be looked up is in no list
                return -1
            return found

        found = _listed(values)
        return np.fromiter(map(place, found), np.int64, len(found))


@dataclass(frozen=True)
class Whole:
    """A column of the whole numbers from 0 to `count - 1`."""

    count: int

    def __len__(self) -> int:
        return self.count

    def codes(self, values: Any) -> Ints:
        """The numbers themselves; -1 for what is outside."""
        values = np.asarray(values)
        if values.dtype.kind in "iub":
            inside = (values >= 0) & (values < self.count)
            return np.where(inside, values.astype(np.int64), -1)  # -1 is no small unsigned number
        numbers = _floats(values)
        with np.errstate(invalid="ignore"):
            inside = (numbers >= 0) & (numbers < self.count) & (numbers == np.floor(numbers))
        return np.where(inside, numbers, -1.0).astype(np.int64)


Column = Bins | Categories | Whole


class Domain:
    """The columns of a table and the values each can take: public, and never found from the data.

    A row in which some column holds a value outside the domain is left out. That is stable: whether a row counts
    depends on that row alone, so that one row still changes every histogram by one.

    Parameters
    ----------
    columns
        By name: a list of the values, a whole number n for the codes 0 to n - 1, or `Bins` of a numeric column.

    Raises
    ------
    InvalidParameter
        If there is no column, or a column is none of these.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"sex": ["F", "M"], "age": 16, "pay": dp.queries.Bins(0, 100, 20)})
    >>> domain.names, domain.shape, domain.cells
    (('sex', 'age', 'pay'), (2, 16, 20), 640)
    >>> codes = domain.codes({"sex": ["F", "M", "?"], "age": [3, 15, 3], "pay": [7.5, 100, 1]})
    >>> domain.counts(codes, ["sex"]).tolist()
    [1, 1]
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        given: Any = columns
        if not isinstance(given, Mapping) or not given:
            raise InvalidParameter.of(
                "columns",
                'columns must be a mapping such as {"sex": ["F", "M"], "age": 16}, with one column or more.',
            )
        for name in given:
            if not isinstance(name, str) or not name:
                raise InvalidParameter.of(
                    "columns", f"a column's name is {checks.shown(name)}; it must be text."
                )
        self.columns: dict[str, Column] = {name: _column(name, given) for name, given in columns.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(len(column) for column in self.columns.values())

    @property
    def cells(self) -> int:
        """How many different rows there are; it may be far beyond what a histogram can hold."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and list(self.columns.items()) == list(other.columns.items())

    def __hash__(self) -> int:
        return hash(tuple(self.columns.items()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {len(column)}" for name, column in self.columns.items())
        return f"Domain({shown})"

    def position(self, name: object) -> int:
        """The place of a column.

        Parameters
        ----------
        name
            The name of the column.

        Returns
        -------
        int
            Its place among `names`.

        Raises
        ------
        InvalidParameter
            If there is no such column.
        """
        if not isinstance(name, str) or name not in self.columns:
            raise InvalidParameter(
                f"there is no column {checks.shown(name)}; the domain has {', '.join(self.names)}."
            )
        return self.names.index(name)

    def project(self, names: Iterable[str]) -> Domain:
        """The domain of some of the columns, in the order given.

        Parameters
        ----------
        names
            Names of columns, each once.

        Returns
        -------
        Domain
            The domain of these columns.

        Raises
        ------
        InvalidParameter
            If a name is unknown or given twice.
        """
        wanted = self.checked(names)
        return Domain({name: self.columns[name] for name in wanted})

    def checked(self, names: Any) -> tuple[str, ...]:
        """The names of columns as a tuple; an error where one is unknown or given twice."""
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidParameter.of(
                "names",
                f"names is {checks.shown(names)}; it must list names of columns, as {[self.names[0]]}.",
            )
        wanted = tuple(names)
        for name in wanted:
            self.position(name)
        if len(set(wanted)) < len(wanted):
            raise InvalidParameter.of(
                "names", f"names is {checks.shown(wanted)}; each column may stand once."
            )
        return wanted

    def codes(self, data: Any) -> Codes:
        """The rows of a table as whole numbers, without the rows that hold a value outside the domain.

        Parameters
        ----------
        data
            A mapping from names to columns of equal length, a DataFrame, or an integer array of codes already, one
            column for each of the domain's. Other columns of a table are not looked at.

        Returns
        -------
        ndarray
            Whole numbers of the shape (rows, columns).

        Raises
        ------
        InvalidParameter
            If a column is missing, or the data are of another kind.
        """
        if isinstance(data, np.ndarray):
            return self._checked_codes(data)
        columns = [_values(data, name) for name in self.names]
        if len({len(column) for column in columns}) > 1:
            raise InvalidParameter("the columns of the data have different lengths.")
        coded = np.stack(
            [kind.codes(column) for kind, column in zip(self.columns.values(), columns, strict=True)], 1
        )
        return _inside(coded).view(Codes)

    def _checked_codes(self, data: Array) -> Codes:
        if data.ndim != 2 or data.shape[1] != len(self) or data.dtype.kind not in "iu":
            raise InvalidParameter(
                f"an array of codes must hold whole numbers, one column for each of the {len(self)} of the domain; "
                f"this one has {data.ndim} dimensions and type {data.dtype}. Give values as a mapping of columns."
            )
        sizes = np.array(self.shape)
        coded = np.where((data >= 0) & (data < sizes), data.astype(np.int64), -1)
        return _inside(coded).view(Codes)

    def counts(self, codes: Any, names: Iterable[str] | None = None) -> Ints:
        """How many rows fall into each cell of a marginal.

        Parameters
        ----------
        codes
            What `codes` gave, or anything it takes.
        names
            The columns of the marginal; all of them by default.

        Returns
        -------
        ndarray
            Counts, of the shape `project(names).shape`.

        Raises
        ------
        InvalidParameter
            If the marginal has more than 2^28 cells, or the data are of another kind.
        """
        wanted = self.names if names is None else self.checked(names)
        places = [self.position(name) for name in wanted]
        shape = tuple(self.shape[place] for place in places)
        too_large(math.prod(shape), f"the histogram of {', '.join(wanted)}")
        rows = self.codes(codes)
        if not places:
            return np.array(len(rows), dtype=np.int64)
        flat = np.zeros(len(rows), dtype=np.int64)
        for place, size in zip(places, shape, strict=True):
            flat *= size
            flat += np.asarray(rows[:, place])
        return np.bincount(flat, minlength=math.prod(shape)).reshape(shape)

    def histogram(self, data: Any) -> Ints | None:
        """The counts of all cells, where the data are a histogram already; None where they are rows.

        Parameters
        ----------
        data
            An integer array of the domain's shape, or that array flattened. Where a table of codes could have that
            shape, too (two columns, the second of two values), an array that `codes` did not make must be flat.

        Returns
        -------
        ndarray or None
            The counts in the domain's shape.

        Raises
        ------
        InvalidParameter
            If the array cannot be read as counts.
        """
        if not isinstance(data, np.ndarray) or isinstance(data, Codes):
            return None
        if data.ndim == 2 and len(self) == 2 and self.shape[1] == 2:
            raise InvalidParameter(
                "an array of two columns may be a histogram or codes of this domain: give counts as "
                "histogram.ravel(), and rows as a mapping of columns or as domain.codes(array)."
            )
        if data.ndim == 2 and data.shape[1] == len(self):
            return None
        if data.shape not in (self.shape, (self.cells,)) or data.dtype.kind not in "iu":
            raise InvalidParameter(
                f"an array of counts must hold whole numbers in the shape {self.shape}, or flat; this one has "
                f"{data.ndim} dimensions and type {data.dtype}."
            )
        if data.dtype.kind == "u" and data.dtype.itemsize == 8:
            data = np.minimum(data, np.uint64(2**63 - 1))
        return np.asarray(data.astype(np.int64).reshape(self.shape))


def too_large(cells: int, what: str) -> None:
    """An error for an array of more cells than memory holds."""
    if cells > MOST_CELLS:
        raise InvalidParameter(
            f"{what} has {cells:.3g} cells; at most 2^28 are held in memory. Ask about fewer columns at once, or "
            "in wider bins."
        )


def _column(name: str, given: Any) -> Column:
    if isinstance(given, Bins | Categories | Whole):
        return given
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = _listed(given)
    if isinstance(given, range) and len(given) > MOST_CELLS:
        raise InvalidParameter.of("columns", f"the column {name} has more than 2^28 values; use Bins.")
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return Categories(tuple(given))
    size = checks.count(f"the number of values of {name}", given, least=1)
    if size > 2**40:
        raise InvalidParameter.of(
            "columns", f"the column {name} has {size} values; it may have 2^40 at most."
        )
    return Whole(size)


def _values(data: Any, name: str) -> Any:
    try:
        column = data[name]
    except Exception:
        raise InvalidParameter(
            f"the data have no column {name}; give a mapping of columns, a DataFrame or an array of codes."
        ) from None
    if isinstance(column, np.ma.MaskedArray):
        raise InvalidParameter(
            f"the column {name} is a masked array; fill it with a value outside the domain."
        )
    if isinstance(column, list | tuple):  # NumPy would choose one type for all rows, by the oddest of them
        return np.fromiter(column, dtype=object, count=len(column))
    try:
        array = np.asarray(column)
        if array.ndim == 0:
            array = np.fromiter(column, dtype=object, count=len(column))
    except Exception:
        raise InvalidParameter(f"the column {name} cannot be read as one value for each row.") from None
    if array.ndim != 1:
        raise InvalidParameter(
            f"the column {name} has {array.ndim} dimensions; give one value for each row, and each name to one column."
        )
    return column if hasattr(column, "to_pylist") or hasattr(column, "to_list") else array


def _listed(values: Any) -> list[Any]:
    """The values as Python's own, None where there is none: a missing value changes the type of no other."""
    if hasattr(values, "to_pylist"):  # pyarrow
        return list(values.to_pylist())
    if hasattr(values, "to_list"):  # pandas, polars
        return list(values.to_list())
    array = np.asarray(values)
    return list((array.astype("datetime64[us]") if array.dtype.kind == "M" else array).tolist())


def _midnight(moment: datetime.datetime) -> datetime.datetime:
    return datetime.datetime(moment.year, moment.month, moment.day)


def _floats(column: Any) -> Array:
    """Every value as a float, NaN for what is none."""
    values: Array = np.asarray(column)
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)

    def number(value: Any) -> float:
        try:
            return float(value) if not isinstance(value, str | bytes) else math.nan
        except (TypeError, ValueError, OverflowError):
            return math.nan

    return np.fromiter((number(value) for value in values.tolist()), np.float64, len(values))


def _inside(coded: Ints) -> Ints:
    return np.asarray(coded[(coded >= 0).all(axis=1)])
