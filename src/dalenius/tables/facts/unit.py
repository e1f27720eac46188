"""Who is protected, and how much of them may enter an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dalenius.core.checks import count
from dalenius.core.habits import hinted
from dalenius.core.record import unknown
from dalenius.errors import InvalidParameter, LedgerError
from dalenius.tables.facts.kinds import is_text
from dalenius.tables.facts.nearest import nearest


@dataclass(frozen=True, init=False)
class Unit:
    """The unit of privacy: one row, everyone's rows that share an id, or those of them that share a period, too.

    Rows beyond the bounds are left out inside the engine, by a rule that looks at the rows of one unit at a
    time (see `dalenius.tables.compute.bounding`), so that adding, removing or replacing one unit changes at most
    `max_rows` rows of what is aggregated, in at most `max_groups` groups.

    Parameters
    ----------
    column
        The id. For a table in which every row is its own unit, use `Unit.rows()`. Several columns, `["person_id",
        "month"]`, first that of the person, make a unit of each combination: a person *in one month* is protected. No
        theorem makes that a promise about the person: whoever has rows in k months is promised k times epsilon or mu,
        and k^2 times rho (`caveat` says so; docs/proofs/relations.md). The other columns hold whole numbers, text or
        dates.
    max_rows
        At most so many rows of one unit enter an answer. Needed with an id. In a session of several tables, either one
        number for each of them, or a mapping: {"visits": 4, "purchases": 3}.
    max_groups
        The rows of one unit enter at most so many groups of an answer; `max_rows` when not given.

    Raises
    ------
    InvalidParameter
        If `max_rows` is missing, or a bound is not a whole number above 0.

    Examples
    --------
    >>> from dalenius.tables import Unit
    >>> Unit("person_id", max_rows=4, max_groups=2)
    Unit('person_id', max_rows=4, max_groups=2)
    >>> Unit.rows()
    Unit.rows()
    >>> Unit("person_id", max_rows={"visits": 4, "purchases": 3}).of("purchases")
    Unit('person_id', max_rows=3, max_groups=3)
    >>> Unit(["person_id", "month"], max_rows=2)
    Unit(['person_id', 'month'], max_rows=2, max_groups=2)
    """

    column: str | None
    """The id; of several columns the first."""
    max_rows: int
    max_groups: int
    tables: tuple[tuple[str, int], ...] = ()
    """The rows of each table, where they differ; `max_rows` is then the largest of them."""
    beside: tuple[str, ...] = ()
    """The other columns of the id: rows that differ in one of them are of different units."""
    fewer_groups: int | None = field(default=None, compare=False, repr=False)
    """The bound on groups where it was below that on rows: it stays, however many rows a step makes of one."""

    @hinted(column="the name of the id column; where every row is a unit of its own, Unit.rows()")
    def __init__(
        self,
        column: str | Sequence[str],
        *,
        max_rows: int | Mapping[str, int] | None = None,
        max_groups: int | None = None,
    ) -> None:
        columns = _columns(column)
        if max_rows is None:
            raise InvalidParameter(
                f"Unit({column!r}) needs max_rows: how many rows of one {each(columns)} may enter an answer. Without "
                f"it one person could change an answer without limit. For one row: Unit({column!r}, max_rows=1)."
            )
        tables: tuple[tuple[str, int], ...] = ()
        if isinstance(max_rows, Mapping):
            if not max_rows or not all(map(is_text, max_rows)):
                raise InvalidParameter(
                    f"max_rows is {max_rows!r}; of several tables it is a mapping by their names: "
                    "{'visits': 4, 'purchases': 3}."
                )
            tables = tuple(
                sorted((name, count(f"max_rows of {name!r}", most, 1)) for name, most in max_rows.items())
            )
            max_rows = max(most for _, most in tables)
        rows = count("max_rows", max_rows, 1)
        groups = rows if max_groups is None else count("max_groups", max_groups, 1)
        vars(self).update(
            column=columns[0],
            max_rows=rows,
            max_groups=min(rows, groups),
            tables=tables,
            beside=columns[1:],
            fewer_groups=groups if groups < rows else None,
        )

    @classmethod
    def rows(cls) -> Unit:
        """Every row is its own unit: one person, one row."""
        unit = cls.__new__(cls)
        vars(unit).update(column=None, max_rows=1, max_groups=1, tables=(), beside=(), fewer_groups=None)
        return unit

    def of(self, table: str) -> Unit:
        """The unit in one of several tables.

        Parameters
        ----------
        table
            Its name.

        Returns
        -------
        Unit
            With the bounds of that table.

        Raises
        ------
        InvalidParameter
            If there are bounds for each table and none for this one.
        """
        if not self.tables:
            return self
        own = dict(self.tables)
        if table not in own:
            raise InvalidParameter(
                f"max_rows says nothing of the table {table!r}; {nearest(table, own)}. Say it for each table."
            )
        return self._with(own[table])

    def times(self, most: int) -> Unit:
        """The unit after each of its rows has become at most so many.

        Parameters
        ----------
        most
            At most so many.

        Returns
        -------
        Unit
            With so many times the rows; a bound on groups that was below that on rows stays.
        """
        return self._with(self.max_rows * most)

    def at_most(self, rows: int) -> Unit:
        """The unit with fewer rows.

        Parameters
        ----------
        rows
            At most so many.

        Returns
        -------
        Unit
            With the lower of both bounds.
        """
        return self._with(min(self.max_rows, rows))

    def _with(self, rows: int) -> Unit:
        assert self.column is not None, "rows without an id cannot be bounded"
        made = Unit(self.columns, max_rows=rows, max_groups=self.fewer_groups)
        vars(made).update(fewer_groups=self.fewer_groups)
        return made

    def check_whole(self, what: str) -> None:
        """Refuse what is about people, or takes units to be independent, where a unit is a person in one month.

        Parameters
        ----------
        what
            What is asked for, such as "a test".

        Raises
        ------
        InvalidParameter
            If the id has several columns.
        """
        if self.beside:
            raise InvalidParameter(
                f"{what} takes units to be people, independent of each other, and here each {self.each} is one: the "
                f"rows of one {self.column} may be alike. Use a session with Unit({self.column!r}, max_rows=...)."
            )

    def record(self) -> dict[str, Any]:
        """The unit in the words of a ledger.

        Returns
        -------
        dict
            JSON; docs/record-format.md describes it.
        """
        if self.column is None:
            return {"kind": "row"}
        rows = dict(self.tables) if self.tables else self.max_rows
        limits: dict[str, Any] = {"max_rows": rows, "max_groups": self.max_groups}
        where = " in tables" if self.tables else ""
        if self.beside:
            return {"kind": f"several ids{where}", "columns": list(self.columns), **limits}
        return {"kind": f"id{where}", "column": self.column, **limits}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Unit:
        """The unit that `record` wrote.

        Parameters
        ----------
        record
            What `record` gave.

        Returns
        -------
        Unit
            The same unit.

        Raises
        ------
        LedgerError
            If this version knows no such unit.
        """
        if record["kind"] == "row":
            return cls.rows()
        if record["kind"] in ("id", "id in tables"):
            return cls(record["column"], max_rows=record["max_rows"], max_groups=record["max_groups"])
        if record["kind"] in ("several ids", "several ids in tables"):
            return cls(record["columns"], max_rows=record["max_rows"], max_groups=record["max_groups"])
        raise unknown("a unit", record["kind"], LedgerError)

    @property
    def is_row(self) -> bool:
        return self.column is None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that tell units apart, together; none where every row is a unit."""
        return () if self.column is None else (self.column, *self.beside)

    @property
    def each(self) -> str:
        """What one unit is called: person_id, or person_id in one month."""
        return each(self.columns)

    @property
    def caveat(self) -> str:
        """What is not promised, where a unit is less than all rows of an id; else nothing."""
        if not self.beside:
            return ""
        return (
            f"Protected is each {self.each}, not each {self.column}: whoever has rows in k of them is promised k "
            "times epsilon or mu, k^2 times rho."
        )

    def __repr__(self) -> str:
        if self.column is None:
            return "Unit.rows()"
        rows = dict(self.tables) or self.max_rows
        given = list(self.columns) if self.beside else self.column
        return f"Unit({given!r}, max_rows={rows}, max_groups={self.max_groups})"


def each(columns: Sequence[str]) -> str:
    """One unit, for people."""
    return " in one ".join([columns[0], " and ".join(columns[1:])][: len(columns)]) if columns else "row"


def _columns(given: object) -> tuple[str, ...]:
    """The columns of the id, from a name or several."""
    columns = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not columns or not all(map(is_text, columns)) or len(set(columns)) < len(columns):
        raise InvalidParameter(
            f"the unit's column is {given!r}; it must be the name of the id column, or several, each once: "
            "Unit(['person_id', 'month'], max_rows=...). Where every row is its own unit, use Unit.rows()."
        )
    return columns
