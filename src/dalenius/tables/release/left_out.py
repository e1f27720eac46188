"""What an answer leaves out of the table, in words: rows of a unit beyond its bounds.

The noise is drawn for what is kept, and so are the intervals: a count of 20 000 rows, of which 936 are beyond the
bounds, is shown as 19 064 give or take the noise. How much is left out is private itself; `Session.truncation` asks.
"""

from __future__ import annotations

from dalenius.tables.plan.plan import Plan
from dalenius.tables.rows.relations import PerUnit, PrivateJoin


def left_out(plan: Plan) -> str:
    """A sentence or two; nothing where every row counts."""
    table, unit, column = plan.query.table, plan.unit, plan.unit.each
    if unit.is_row:
        return ""
    joins = [step for step in table.steps if isinstance(step, PrivateJoin)]
    whole = not joins and (
        any(isinstance(step, PerUnit) for step in table.steps)
        or all(measure.once for measure in plan.query.measures)
    )
    parts = []
    if joins:
        sides = [(table.name, joins[0].left), *((step.table.name, step.right) for step in joins)]
        listed = " and ".join(f"{rows} of {name}" for name, rows in sides)
        parts.append(f"before they are joined, at most {listed} are kept of the rows of each {column}")
        most = joins[-1].left * joins[-1].right
    if not whole and (not joins or unit.max_rows < most):
        joined = " joined" if joins else ""
        parts.append(
            f"at most {_counted(unit.max_rows, joined)} of each {column} count{'s' * (unit.max_rows == 1)}"
        )
    if plan.query.columns and unit.max_groups < unit.max_rows:
        parts.append(f"each {column} counts in at most {unit.max_groups} group{'s' * (unit.max_groups > 1)}")
    if not parts:
        return ""
    said = "; ".join(parts)
    beside = (
        f", table=session.table[{table.name!r}]" if joins or getattr(table.family, "together", None) else ""
    )
    each = " of that table" if joins else ""
    return (
        f"{said[0].upper()}{said[1:]}. What is beyond that is left out, and intervals do not cover it: "
        f"session.truncation(budget{beside}) tells how many are cut{each}."
    )


def _counted(rows: int, joined: str) -> str:
    return f"{rows}{joined} row{'s' * (rows > 1)}"
