"""Who is protected, and how much of them may enter an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core.checks import count
from dalenius.core.record import unknown
from dalenius.errors import InvalidParameter, LedgerError
from dalenius.tables.facts.kinds import is_text


@dataclass(frozen=True, init=False)
class Unit:
    """The unit of privacy: one row, or everyone's rows that share an id.

    Rows beyond the bounds are left out inside the engine, by a rule that looks at the rows of one unit at a
    time (see `dalenius.tables.compute.bounding`), so that adding, removing or replacing one unit changes at most
    `max_rows` rows of what is aggregated, in at most `max_groups` groups.

    Parameters
    ----------
    column
        The id. For a table in which every row is its own unit, use `Unit.rows()`.
    max_rows
        At most so many rows of one unit enter an answer. Needed with an id.
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
    """

    column: str | None
    max_rows: int
    max_groups: int

    def __init__(self, column: str, *, max_rows: int | None = None, max_groups: int | None = None) -> None:
        if not is_text(column):
            raise InvalidParameter(
                f"the unit's column is {column!r}; it must be the name of the id column, or use Unit.rows()."
            )
        if max_rows is None:
            raise InvalidParameter(
                f"Unit({column!r}) needs max_rows: how many rows of one {column} may enter an answer. Without it one "
                "person could change an answer without limit."
            )
        rows = count("max_rows", max_rows, 1)
        groups = rows if max_groups is None else count("max_groups", max_groups, 1)
        vars(self).update(column=column, max_rows=rows, max_groups=min(rows, groups))

    @classmethod
    def rows(cls) -> Unit:
        """Every row is its own unit: one person, one row."""
        unit = cls.__new__(cls)
        vars(unit).update(column=None, max_rows=1, max_groups=1)
        return unit

    def record(self) -> dict[str, Any]:
        """The unit in the words of a ledger.

        Returns
        -------
        dict
            JSON; docs/record-format.md describes it.
        """
        if self.column is None:
            return {"kind": "row"}
        limits = {"max_rows": self.max_rows, "max_groups": self.max_groups}
        return {"kind": "id", "column": self.column, **limits}

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
        if record["kind"] == "id":
            return cls(record["column"], max_rows=record["max_rows"], max_groups=record["max_groups"])
        raise unknown("a unit", record["kind"], LedgerError)

    @property
    def is_row(self) -> bool:
        return self.column is None

    def __repr__(self) -> str:
        if self.column is None:
            return "Unit.rows()"
        return f"Unit({self.column!r}, max_rows={self.max_rows}, max_groups={self.max_groups})"
