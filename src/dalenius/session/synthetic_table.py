"""A synthetic table: rows from a distribution that was fitted to noisy marginals, and what can be said of them."""

from __future__ import annotations

import hashlib
import html
import textwrap
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals
from dalenius.core.checks import path as checked_path
from dalenius.errors import InvalidParameter
from dalenius.queries.marginals.marginals_release import UNASKED, MarginalsRelease
from dalenius.session.coded_columns import Binned, CodedColumn, Days, Listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_PROMISE = (
    "Rows are made up: none is a person's. Marginals that were measured are as accurate as `error` says; any other "
    "statistic of these rows, such as a relation of more columns at once, carries no promise. Where in its bin a "
    "number lies was drawn evenly. Analyses that take the rows for data will find intervals that are too short."
)
"""What every reader of synthetic data must know."""

CONFIDENCE = 0.95
"""Of `error`."""

ARROW = {"text": pa.string(), "integer": pa.int64(), "bool": pa.bool_(), "date": pa.date32()}


class SyntheticTable:
    """Synthetic rows, their marginals with intervals, and what they cost. All of it may be published.

    `Session.synthesize` returns it.

    Parameters
    ----------
    columns
        How every column was coded.
    release
        What was measured and fitted.
    loss
        What it cost a unit.
    rows
        How many rows to make; None for as many as the release says the table has, and a million at most.
    cost
        The price, in words.
    free
        Whether it came from the record, for nothing.
    given
        When it was released.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> people = pd.DataFrame({"age": [20, 30, 40] * 1000, "town": ["a", "b", "b"] * 1000})
    >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(0.5))
    >>> made = s.synthesize({"age": (18, 65), "town": ["a", "b"]}, budget=dp.ZCDP(0.1), rows=500)
    >>> made.to_pandas().shape, made.columns
    ((500, 2), ('age', 'town'))
    """

    def __init__(
        self,
        columns: Sequence[CodedColumn],
        release: MarginalsRelease,
        loss: Loss,
        rows: int | None = None,
        cost: str = "",
        free: bool = False,
        given: str | None = None,
    ) -> None:
        self._columns = {column.name: column for column in columns}
        self.release, self.loss = release, loss
        self.cost, self.free, self.given = cost, free, given
        self._rows = None if rows is None else checks.count("rows", rows, 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    @property
    def rows(self) -> int:
        """How many rows there are: those asked for, or as many as the noisy marginals say, and a million at most."""
        return min(self.release.rows, UNASKED) if self._rows is None else self._rows

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        record = f", from the record of {self.given}" if self.free else ""
        return f"<SyntheticTable: {self.rows} rows of {', '.join(self.columns)}{record}>"

    # -- rows -----------------------------------------------------------------------------------------

    @cached_property
    def codes(self) -> Ints:
        """The rows as codes, one column for each column; the same every time the release is read."""
        return self.release.codes(self.rows)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table.

        Returns
        -------
        pyarrow.Table
            With nulls where a synthetic cell is missing.
        """
        made = {}
        for n, (name, column) in enumerate(self._columns.items()):
            made[name] = pa.array(column.values(self.codes[:, n], self._draw(name)), _arrow_type(column))
        return pa.table(made)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            Whole numbers that can be missing are of type Int64.
        """
        import pandas as pd

        table = self.to_arrow()
        nullable = {
            name: pd.Int64Dtype()
            for name, column in self._columns.items()
            if column.missing and _arrow_type(column) == pa.int64()
        }
        return table.to_pandas(integer_object_nulls=True).astype(nullable)

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows into a Parquet file, with what one must know in its metadata.

        Parameters
        ----------
        path
            The file, which is written over.
        """
        import pyarrow.parquet as parquet

        about = {"dalenius": "synthetic data", "cost": self.cost, "note": NO_PROMISE}
        parquet.write_table(self.to_arrow().replace_schema_metadata(about), checked_path("path", path))

    def to_csv(self, path: str | Path) -> None:
        """Write the rows into a CSV file.

        Parameters
        ----------
        path
            The file, which is written over.
        """
        from pyarrow import csv

        csv.write_csv(self.to_arrow(), checked_path("path", path))

    # -- what is known --------------------------------------------------------------------------------

    @cached_property
    def error(self) -> dict[tuple[str, ...], float]:
        """By columns, for each marginal that was measured: how far its fitted counts are from the real ones, at most.

        A share of the rows (total variation); each holds with probability 0.95. Above 1 the noise is too large to tell.
        """
        return {names: self.release.error(names, CONFIDENCE) for names in self.release.measured if names}

    def marginal(self, *names: str, confidence: float = 0.95) -> Any:
        """The counts over some columns together, with intervals from the noise of what was measured.

        Parameters
        ----------
        names
            Columns.
        confidence
            The probability with which an interval holds the count of the real table.

        Returns
        -------
        pandas.DataFrame
            A row for each combination of codes: the columns, `count` by the model, and `low` and `high`. These are NaN
            where no marginal with these columns was measured: nothing honest can be said then.

        Raises
        ------
        InvalidParameter
            If there is no such column.
        """
        import pandas as pd

        name: Any
        for name in names:
            if not isinstance(name, str) or name not in self._columns:
                raise InvalidParameter(
                    f"there is no column {checks.shown(name)}; there are {', '.join(self.columns)}."
                )
        if not names:
            raise InvalidParameter("name at least one column.")
        counts = self.release.marginal(names)
        low, high = self._limits(names, checks.confidence(confidence), counts.shape)
        labels = pd.MultiIndex.from_product([self._columns[name].labels for name in names], names=names)
        frame = pd.DataFrame(
            {"count": counts.ravel(), "low": low.ravel(), "high": high.ravel()}, index=labels
        )
        return frame.reset_index()

    def summary(self) -> str:
        """What it is, in a page of plain text.

        Returns
        -------
        str
            Columns and codes, error, cost, and what carries no promise.
        """
        lines = [f"Synthetic table: {self.rows} rows", f"Cost: {self.cost or 'unknown'}", self._measured]
        width = max(map(len, self.columns))
        lines += [f"  {name.ljust(width)}  {_words(column)}" for name, column in self._columns.items()]
        return "\n".join([*lines, textwrap.fill(NO_PROMISE, 100)])

    __str__ = summary

    @property
    def _measured(self) -> str:
        """How many marginals were measured, and how well, in a sentence."""
        parts = []
        for what, errors in (
            ("of single columns", [e for names, e in self.error.items() if len(names) == 1]),
            ("of several columns", [e for names, e in self.error.items() if len(names) > 1]),
        ):
            if errors:
                off = f"off by at most {np.mean(errors):.2g}, worst {max(errors):.2g}"
                parts.append(f"{len(errors)} {what} ({off})")
        return (
            f"Marginals measured: {' and '.join(parts)}, as a share of the rows, each with 95 % confidence."
        )

    def _repr_html_(self) -> str:
        head = self.to_pandas().head(8).to_html(index=False, na_rep="")
        about = html.escape(f"{self.rows} rows; cost {self.cost}. {self._measured} {NO_PROMISE}")
        return f"{head}<p>{about}</p>"

    def plot(self, *names: str) -> Figure:
        """Draw marginals of single columns, with intervals where there are any.

        Parameters
        ----------
        names
            Columns; the first six, if none are named.

        Returns
        -------
        matplotlib.figure.Figure
            A panel for each column.
        """
        from matplotlib.figure import Figure

        chosen = names or self.columns[:6]
        across = min(len(chosen), 3)
        down = -(-len(chosen) // across)
        figure = Figure(figsize=(4.2 * across, 3.0 * down), layout="constrained")
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for panel, name in zip(panels, chosen, strict=False):
            table = self.marginal(name)
            at = np.arange(len(table))
            panel.bar(at, table["count"], color="#7fb3a3")
            known = table["low"].notna()
            panel.vlines(at[known], table["low"][known], table["high"][known], color="#0b6e4f")
            ticks = at[:: max(len(at) // 6, 1)]
            panel.set_xticks(ticks, table[name].iloc[ticks], rotation=30, ha="right", fontsize=7)
            panel.set_title(name, fontsize=9)
        for panel in panels[len(chosen) :]:
            panel.set_visible(False)
        return figure

    def _limits(
        self, names: tuple[str, ...], confidence: float, shape: tuple[int, ...]
    ) -> tuple[Reals, Reals]:
        """Of the counts of a marginal; NaN where it was not measured."""
        if set(names) not in map(set, self.release.measured):
            return np.full(shape, np.nan), np.full(shape, np.nan)
        limits = self.release.conf_int(confidence, names)
        return np.maximum(limits[..., 0], 0.0), limits[..., 1]

    def _draw(self, what: str) -> np.random.Generator:
        """Numbers for one purpose: the same for the same release. Nothing here touches the data."""
        mark = hashlib.sha256(f"{self.release.mark} {self.rows} {what}".encode()).digest()
        return np.random.default_rng(np.frombuffer(mark, dtype=np.uint32))


def _arrow_type(column: CodedColumn) -> Any:
    if isinstance(column, Binned):
        return pa.int64() if column.whole else pa.float64()
    if isinstance(column, Days):
        return pa.date32()
    assert isinstance(column, Listed)
    from dalenius.tables.facts.kinds import kind_of_value

    return ARROW[str(kind_of_value(column.categories[0]))]


def _words(column: CodedColumn) -> str:
    kinds = {"listed": "categories", "bins": "bins", "days": "bins of days"}
    there = " and missing" if column.missing else ""
    return (
        f"{column.sizes} {kinds[column.tag]}{there}: {column.labels[0]} ... {column.labels[column.sizes - 1]}"
    )
