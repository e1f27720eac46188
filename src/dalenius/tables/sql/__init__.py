"""Questions in SQL: the aggregate part of SELECT, anything else refused with the reason.

    SELECT state, COUNT(*) AS n, AVG(income) AS pay
    FROM people JOIN regions USING (state)
    WHERE age >= 18
    GROUP BY state

- FROM names a private table; JOIN ... USING or ON a = b AND ..., INNER or LEFT, public tables given by name, or other
  private tables of the session, on the unit's id among others.
- Columns are written alone or as table.column; a name that no table has, or two, is refused.
- SELECT lists grouping columns and aggregates: COUNT(*), COUNT(x), COUNT(DISTINCT id) of the unit's id, SUM,
  AVG or MEAN, VARIANCE, STDDEV, COVARIANCE or COVAR_SAMP, CORR, MEDIAN, QUANTILE(x, level),
  PERCENTILE_CONT(level) WITHIN GROUP (ORDER BY x), PROPORTION(condition). Bounds follow the argument,
  AVG(income, 0, 250000), or come from the schema; HISTOGRAM(x, bins, lower, upper) likewise, or with
  edges, HISTOGRAM(x, ARRAY[0, 18, 65]). MODE(x) is of the schema's categories, MODE(x, 'a', 'b') of those listed.
- GROUP BY may also name an expression of the SELECT list, which is then a column of that name: SELECT
  DATE_TRUNC('month', day) AS month, COUNT(*) FROM visits GROUP BY month.
- GROUP BY CUBE (a, b) and ROLLUP (a, b) ask for the margins, too, with numbers that add up.
- The groups are public: from the schema's categories, or the keys given beside the text.

`parse_aggregates("n = count(), pay = mean(income, 0, 250000)")` reads a list of aggregates alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlglot import exp

from dalenius.errors import QueryRefused
from dalenius.tables.aggregates import Aggregate
from dalenius.tables.aggregates.call import text_of
from dalenius.tables.ask.cube import CubeQuery
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.facts.problems import Problems
from dalenius.tables.rows.expressions import written
from dalenius.tables.sql.calls import aggregate
from dalenius.tables.sql.grouping import by_expression, taken_out
from dalenius.tables.sql.joins import joined
from dalenius.tables.sql.select import plain, read_select


def parse_sql(
    text: str,
    table: Table | Mapping[str, Table],
    *,
    unit: tuple[str, ...] = (),
    public: Mapping[str, Any] | None = None,
    keys: Any = None,
) -> Query:
    """The question a SELECT asks, without CUBE and ROLLUP; see `parse_question`."""
    made = parse_question(text, table, unit=unit, public=public, keys=keys)
    if isinstance(made, CubeQuery):
        raise QueryRefused("CUBE and ROLLUP are several questions; they cannot be used here.")
    return made


def parse_question(
    text: str,
    table: Table | Mapping[str, Table],
    *,
    unit: tuple[str, ...] = (),
    public: Mapping[str, Any] | None = None,
    keys: Any = None,
) -> Query | CubeQuery:
    """The question a SELECT asks, or the several of GROUP BY CUBE (...) or ROLLUP (...).

    table: what FROM must name (by `table.name`), or several, of which JOIN may name others. unit: the columns of the
    id, for COUNT(DISTINCT id). public: public tables by the names JOIN uses. keys: the groups, as in `Table.group_by`.
    """
    select = by_expression(read_select(text))
    select, asked = joined(select, table, {} if public is None else public)
    problems, where = Problems(), select.args.get("where")
    if where is not None:
        asked = problems.attempt(lambda: asked.filter(text_of(where.this))) or asked
    for name, computed in taken_out(select).items():
        asked = problems.attempt(partial(asked.with_columns, **{name: text_of(computed)})) or asked
    columns = problems.attempt(lambda: _grouping(select)) or []
    names, aggregates = _listed(select, columns, unit, problems)
    if not aggregates and not problems.noted:
        raise QueryRefused(
            "the SELECT list has no aggregate; rows cannot be released, ask e.g. for COUNT(*)."
        )
    for column in columns:
        if column not in names:
            problems.add(QueryRefused(f"GROUP BY {column} must also stand in the SELECT list."))
    if keys is not None and not columns and not problems.noted:
        raise QueryRefused("keys are given, but there is no GROUP BY.")
    ways: dict[type, Any] = {exp.Cube: asked.cube, exp.Rollup: asked.rollup, exp.Column: asked.group_by}
    group = ways[_shape(select)]
    grouped = problems.attempt(lambda: group(*columns, keys=keys)) if columns else None
    asking: Any = asked if grouped is None else grouped
    made: Query | CubeQuery | None = (
        problems.attempt(lambda: asking.agg(**aggregates)) if aggregates else None
    )
    problems.raise_any()
    assert made is not None
    return made


def grouped_by(text: str) -> list[str]:
    """The columns of GROUP BY."""
    select = by_expression(read_select(text))
    taken_out(select)
    return _grouping(select)


def parse_aggregates(text: str, unit: tuple[str, ...] = ()) -> dict[str, Aggregate]:
    """Aggregates written `name = call(...)` or `call(...) AS name`, separated by commas."""
    how = "n=count(), pay=mean(income, 0, 250000)"
    select = plain(read_select(f"SELECT {text}", "the list of aggregates", how), "expressions")
    if not select.expressions:
        raise QueryRefused("the list of aggregates is empty; write e.g. 'n = count()'.")
    aggregates: dict[str, Aggregate] = {}
    for item in select.expressions:
        if isinstance(item, exp.PropertyEQ) or (
            isinstance(item, exp.EQ) and isinstance(item.this, exp.Column)
        ):
            plain(item.this, "this")
            name, call = item.this.name, item.expression
        else:
            name, call = item.alias_or_name, item.unalias()
        _add(aggregates, name or type(call).__name__.lower(), aggregate(call, unit))
    return aggregates


def _grouping(select: Any) -> list[str]:
    group = select.args.get("group")
    if group is None:
        return []
    columns = []
    items = group.expressions if _shape(select) is exp.Column else group.expressions[0].expressions
    for item in items:
        if isinstance(item, exp.Literal) and not item.is_string:
            item = _numbered(select, item)
        if not isinstance(item, exp.Column):
            raise QueryRefused(
                f"GROUP BY {written(item)} must also stand in the SELECT list, with a name: {written(item)} AS name."
            )
        columns.append(item.name)
    return columns


def _shape(select: Any) -> type:
    """Cube, Rollup, or Column for anything else."""
    group = select.args.get("group")
    first = type(group.expressions[0]) if group is not None and group.expressions else exp.Column
    return first if first in (exp.Cube, exp.Rollup) else exp.Column


def _numbered(select: Any, item: Any) -> Any:
    position = int(item.this) if item.this.isdigit() else 0
    if not 1 <= position <= len(select.expressions):
        raise QueryRefused(f"GROUP BY {item.this}: there is no such column in the SELECT list.")
    return select.expressions[position - 1].unalias()


def _listed(
    select: Any, columns: list[str], unit: tuple[str, ...], problems: Problems
) -> tuple[list[str], dict[str, Aggregate]]:
    grouped = set(columns)
    names: list[str] = []
    aggregates: dict[str, Aggregate] = {}
    for item in select.expressions:
        inner = item.unalias()
        if isinstance(inner, exp.Star) or (
            isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
        ):
            raise QueryRefused("SELECT * shows rows of the data; list aggregates, e.g. COUNT(*).")
        if isinstance(inner, exp.Column):
            if inner.name not in grouped:
                reason = "is neither aggregated nor in GROUP BY: its values would be shown"
                problems.add(QueryRefused(f"{inner.name} {reason}."))
            elif isinstance(item, exp.Alias) and item.alias != inner.name:
                problems.add(QueryRefused(f"a grouping column keeps its name; leave out AS {item.alias}."))
            names.append(inner.name)
            continue
        name = item.alias if isinstance(item, exp.Alias) else _default_name(inner)
        made = problems.attempt(partial(aggregate, inner, unit))
        if made is not None:
            problems.attempt(partial(_add, aggregates, name, made))
    return names, aggregates


def _default_name(call: Any) -> str:
    columns = [column.name for column in call.find_all(exp.Column)]
    word = str(call.this) if isinstance(call, exp.Anonymous) else type(call).__name__
    return "_".join([word.lower(), *columns])


def _add(aggregates: dict[str, Aggregate], name: str, made: Aggregate) -> None:
    if name in aggregates:
        raise QueryRefused(f"two aggregates are called {name!r}; give each a name with AS.")
    aggregates[name] = made
