"""Questions in SQL: the aggregate part of SELECT, anything else refused with the reason.

    SELECT state, COUNT(*) AS n, AVG(income) AS pay
    FROM people JOIN regions USING (state)
    WHERE age >= 18
    GROUP BY state

- FROM names the one private table; JOIN ... USING or ON a = b AND ..., INNER or LEFT, public tables given by name.
- Columns are written alone or as table.column; a name that no table has, or two, is refused.
- SELECT lists grouping columns and aggregates: COUNT(*), COUNT(x), COUNT(DISTINCT id) of the unit's id, SUM,
  AVG or MEAN, VARIANCE, STDDEV, COVARIANCE or COVAR_SAMP, CORR, MEDIAN, QUANTILE(x, level),
  PERCENTILE_CONT(level) WITHIN GROUP (ORDER BY x), PROPORTION(condition). Bounds follow the argument,
  AVG(income, 0, 250000), or come from the schema; HISTOGRAM(x, bins, lower, upper) likewise.
- The groups are public: from the schema's categories, or the keys given beside the text.

`parse_aggregates("n = count(), pay = mean(income, 0, 250000)")` reads a list of aggregates alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from sqlglot import exp, parse, parse_one
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from dalenius.errors import QueryRefused
from dalenius.tables import aggregates as ask
from dalenius.tables.aggregates import Aggregate
from dalenius.tables.expressions import DIALECT, LONGEST, quoted, written
from dalenius.tables.kinds import is_text
from dalenius.tables.nearest import nearest
from dalenius.tables.problems import Problems
from dalenius.tables.public import PublicTable
from dalenius.tables.qualified import Names
from dalenius.tables.query import Query, Table

PARTS = {
    "having": "HAVING would choose groups by their exact answers; filter the released table instead",
    "order": "ORDER BY would order by exact answers; sort the released table instead",
    "limit": "LIMIT would drop groups by their exact answers; cut the released table instead",
    "offset": "OFFSET would drop groups by their exact answers; cut the released table instead",
    "distinct": "SELECT DISTINCT shows rows of the data; use COUNT(DISTINCT id) or keys=discover()",
    "with_": "WITH is not available; ask about the table directly",
    "with": "WITH is not available; ask about the table directly",
    "windows": "window functions look at other rows and are not available",
    "qualify": "QUALIFY chooses rows by other rows and is not available",
    "laterals": "LATERAL is not available",
    "sample": "samples are not available; the release accounts for the whole table",
    "into": "SELECT INTO writes; only questions are answered",
    "locks": "locks are not available; nothing is written",
    "match": "MATCH_RECOGNIZE is not available",
    "pivots": "PIVOT is not available",
}
UNDERSTOOD = ("expressions", "from_", "where", "group", "joins")
STRUCTURE: Mapping[type, tuple[str, ...]] = {
    exp.Select: UNDERSTOOD,
    exp.From: ("this",),
    exp.Table: ("this", "db", "catalog", "alias"),
    exp.TableAlias: ("this",),
    exp.Join: ("this", "side", "kind", "method", "using", "on"),
    exp.Where: ("this",),
    exp.Group: ("expressions",),
    exp.Alias: ("this", "alias"),
    exp.Column: ("this", "table", "db", "catalog"),
    exp.Identifier: ("this", "quoted"),
    exp.Star: (),
    exp.Count: ("this", "expressions", "big_int"),
    exp.Distinct: ("expressions",),
    exp.Anonymous: ("this", "expressions"),
    exp.WithinGroup: ("this", "expression"),
    exp.PercentileCont: ("this", "expression"),
    exp.PercentileDisc: ("this", "expression"),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc"),
}
"""The parts of a SELECT that are understood here; what is between them, the language of expressions looks after."""
EXTREMES = "the least and the greatest value belong to one person; use bounds(...) or a quantile such as 0.01"
REFUSED: Mapping[type, str] = {
    exp.Min: EXTREMES,
    exp.Max: EXTREMES,
    exp.ArrayAgg: "a list of values shows rows of the data",
    exp.GroupConcat: "a list of values shows rows of the data",
    exp.AnyValue: "it shows a row of the data",
    exp.First: "it shows a row of the data",
    exp.Last: "it shows a row of the data",
}


OURS = (
    *(
        "SUM",
        "AVG",
        "MEAN",
        "VARIANCE",
        "VAR_SAMP",
        "STD",
        "STDDEV",
        "STDDEV_SAMP",
        "COVARIANCE",
        "COVAR_SAMP",
    ),
    *("CORR", "CORRELATION", "MEDIAN", "QUANTILE", "HISTOGRAM", "PROPORTION", "BOUNDS"),
)


def _without_ours(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: made for name, made in table.items() if name not in OURS}


class Asking(DuckDB):
    """DuckDB's dialect, but aggregates may have their bounds as further arguments."""

    class Parser(DuckDB.Parser):  # type: ignore[valid-type,misc]
        FUNCTIONS = _without_ours(DuckDB.Parser.FUNCTIONS)
        FUNCTION_PARSERS = _without_ours(DuckDB.Parser.FUNCTION_PARSERS)


def parse_sql(
    text: str,
    table: Table,
    *,
    unit: str | None = None,
    public: Mapping[str, Any] | None = None,
    keys: Any = None,
) -> Query:
    """The question a SELECT asks.

    table: what FROM must name (by `table.name`). unit: the id column, for COUNT(DISTINCT id). public: public
    tables by the names JOIN uses. keys: the groups, as in `Table.group_by`.
    """
    select = _select(text)
    select, asked = _joined(select, table, public or {})
    problems, where = Problems(), select.args.get("where")
    if where is not None:
        asked = problems.attempt(lambda: asked.filter(_text(where.this))) or asked
    columns = problems.attempt(lambda: _grouping(select)) or []
    names, found = _listed(select, columns, unit, problems)
    if not found and not problems.found:
        raise QueryRefused(
            "the SELECT list has no aggregate; rows cannot be released, ask e.g. for COUNT(*)."
        )
    for column in columns:
        if column not in names:
            problems.add(QueryRefused(f"GROUP BY {column} must also stand in the SELECT list."))
    if keys is not None and not columns and not problems.found:
        raise QueryRefused("keys are given, but there is no GROUP BY.")
    grouped = problems.attempt(lambda: asked.group_by(*columns, keys=keys)) if columns else None
    asking = asked if grouped is None else grouped
    made = problems.attempt(lambda: asking.agg(**found)) if found else None
    problems.raise_any()
    assert made is not None
    return made


def grouped_by(text: str) -> str | None:
    """The first column of GROUP BY."""
    columns = _grouping(_select(text))
    return columns[0] if columns else None


def parse_aggregates(text: str, unit: str | None = None) -> dict[str, Aggregate]:
    """Aggregates written `name = call(...)` or `call(...) AS name`, separated by commas."""
    select = _plain(_select(f"SELECT {text}", "the list of aggregates"), "expressions")
    if not select.expressions:
        raise QueryRefused("the list of aggregates is empty; write e.g. 'n = count()'.")
    found: dict[str, Aggregate] = {}
    for item in select.expressions:
        if (isinstance(item, exp.EQ) and isinstance(item.this, exp.Column)) or isinstance(
            item, exp.PropertyEQ
        ):
            _plain(item.this, "this")
            name, call = item.this.name, item.expression
        else:
            name, call = item.alias_or_name, item.unalias()
        _add(found, name or type(call).__name__.lower(), aggregate(call, unit))
    return found


def aggregate(call: Any, unit: str | None = None) -> Aggregate:
    """The aggregate a function call asks for."""
    for kind, reason in REFUSED.items():
        if isinstance(call, kind):
            raise QueryRefused(f"{written(call)} is refused: {reason}.")
    if isinstance(call, exp.Window):
        raise QueryRefused(f"{written(call)} is refused: window functions look at other rows.")
    if isinstance(call, exp.Filter):
        raise QueryRefused(
            f"{written(call)} is refused: write the condition inside, as in SUM(CASE WHEN a > 1 THEN x END), or in "
            "WHERE."
        )
    if isinstance(call, exp.Count):
        return _count(call, unit)
    if isinstance(call, exp.WithinGroup):
        return _within_group(call)
    name, arguments = _call(call)
    rule = RULES.get(name)
    if rule is None:
        raise QueryRefused(f"{written(call)} is not an aggregate that can be released; there are {_known()}.")
    try:
        return rule(name, arguments)
    except IndexError:
        raise QueryRefused(f"{written(call)} lacks an argument.") from None


def _select(text: str, what: str = "the question") -> Any:
    if not is_text(text):
        raise QueryRefused(f"{what} is {text!r}; it must be SQL text.")
    if len(text) > LONGEST:
        raise QueryRefused(f"{what} is {len(text)} characters long; at most {LONGEST} are allowed.")
    try:
        trees = [tree for tree in parse(text, read=Asking) if tree is not None]
    except (SqlglotError, RecursionError):
        raise QueryRefused(
            f"{what} is not valid SQL; write SELECT ... FROM ... [WHERE ...] [GROUP BY ...]."
        ) from None
    if len(trees) != 1 or isinstance(trees[0], exp.Block):
        raise QueryRefused(f"{what} holds several statements; ask one at a time.")
    if isinstance(trees[0], exp.SetOperation):
        raise QueryRefused(f"{what} combines queries (UNION, EXCEPT, INTERSECT); ask them one at a time.")
    if not isinstance(trees[0], exp.Select):
        raise QueryRefused(f"{what} is not a SELECT; nothing but questions can be asked.")
    select = trees[0]
    for part, value in select.args.items():
        if value and part not in UNDERSTOOD:
            raise QueryRefused(f"{what} is refused: {PARTS.get(part, f'{part.upper()} is not available')}.")
    if select.args.get("group") is not None:
        _listed_groups(select.args["group"])
    for node in select.walk():
        if type(node) in STRUCTURE:
            _plain(node, *STRUCTURE[type(node)])
    return select


def _listed_groups(group: Any) -> None:
    more = any(value for part, value in group.args.items() if part != "expressions")
    if more or any(isinstance(item, exp.GroupingSets | exp.Cube | exp.Rollup) for item in group.expressions):
        raise QueryRefused(
            "GROUPING SETS, CUBE, ROLLUP and GROUP BY ALL are not available; list the columns, and ask for totals in a "
            "question of their own."
        )


def _plain(tree: Any, *parts: str) -> Any:
    """The tree, if it has no parts other than these: nothing that was written is passed over."""
    if any(value and part not in parts for part, value in tree.args.items()):
        raise QueryRefused(f"{written(tree)} is written in a way that is not available; use its plain form.")
    return tree


def _joined(select: Any, table: Table, public: Mapping[str, Any]) -> tuple[Any, Table]:
    """The SELECT with every column under its flat name, and the table with its public ones joined."""
    source = select.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table):
        raise QueryRefused(f"FROM must name the table {table.name!r} and nothing else.")
    named = ".".join(part.name for part in source.this.parts)
    if named.lower() != table.name.lower():
        raise QueryRefused(
            f"there is no private table {written(source.this)}; it is called {table.name!r}: write FROM "
            f"{_identifier(table.name)}."
        )
    names = Names(table, source.this.alias or source.this.name)
    joins = [_Joined(join, names, public) for join in select.args.get("joins") or ()]
    used, problems = {flat for join in joins for flat, _ in join.on}, Problems()
    resolved = select.copy()
    for part in (*resolved.expressions, resolved.args.get("where"), resolved.args.get("group")):
        for column in list(part.find_all(exp.Column)) if part is not None else ():
            if isinstance(column.this, exp.Star):
                continue
            flat = problems.attempt(partial(names.find, column))
            if flat is None:
                continue
            used.add(flat)
            if column.table or flat != column.name:
                column.replace(exp.column(flat, quoted=True))
    problems.raise_any()
    for join in joins:
        table = table.join_public(join.renamed(used), on=join.pairs(used), how=join.how)
    return resolved, table


class _Joined:
    """One JOIN: the public table, what it is joined on, and what its columns are called from then on."""

    def __init__(self, join: Any, names: Names, public: Mapping[str, Any]) -> None:
        self.data = _public(join.this, public)
        side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        plain = (side, kind) in {("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")}
        if not plain or join.args.get("method"):
            raise QueryRefused("only JOIN and LEFT JOIN with public tables are available.")
        self.how: Literal["inner", "left"] = "left" if side == "LEFT" else "inner"
        self.alias, self.names = join.this.alias_or_name, names
        self.theirs = PublicTable.of(self.data)
        using, condition = join.args.get("using"), join.args.get("on")
        if using:
            self.on = [self._using(item) for item in using]
        elif condition is not None:
            self.on = [self._pair(part) for part in _conjuncts(condition)]
        else:
            raise QueryRefused("a JOIN needs USING (column) or ON ours = theirs.")
        self.flat = names.add(self.alias, self.theirs, [theirs for _, theirs in self.on] if using else [])

    def _using(self, item: Any) -> tuple[str, str]:
        return self.names.find(exp.column(item.name)), self._own(item.name)

    def _pair(self, condition: Any) -> tuple[str, str]:
        if isinstance(condition, exp.Paren):
            return self._pair(condition.this)
        a, b = condition.this, condition.args.get("expression")
        if isinstance(condition, exp.EQ) and isinstance(a, exp.Column) and isinstance(b, exp.Column):
            for ours, theirs in ((a, b), (b, a)):
                if self._is_own(theirs) and not self._is_own(ours):
                    return self.names.find(ours), self._own(theirs.name)
        raise QueryRefused(
            f"ON {written(condition)} is refused: write ON column = {self.alias}.column, joined by AND."
        )

    def _is_own(self, column: Any) -> bool:
        """Whether a name means the table that is being joined."""
        if column.table:
            return bool(column.table.lower() == self.alias.lower())
        here = any(name.lower() == column.name.lower() for name in self.theirs.names)
        before = any(table.matches(column.name) for table in self.names.tables)
        if here and before:
            raise QueryRefused(f"the column {column.name!r} is ambiguous; write table.{column.name}.")
        return here

    def _own(self, name: str) -> str:
        if name in self.theirs.names:
            return name
        found = [own for own in self.theirs.names if own.lower() == name.lower()]
        if len(found) != 1:
            raise QueryRefused(
                f"there is no column {name!r} in {self.alias}; {nearest(name, self.theirs.names)}."
            )
        return found[0]

    def _kept(self, used: set[str]) -> dict[str, str]:
        """The columns joined on that the question also looks at: they stay, under their flat names."""
        return {theirs: self.flat[theirs] for _, theirs in self.on if self.flat[theirs] in used}

    def pairs(self, used: set[str]) -> list[tuple[str, str]]:
        kept = self._kept(used)
        return [(ours, _key(theirs) if theirs in kept else theirs) for ours, theirs in self.on]

    def renamed(self, used: set[str]) -> Any:
        """The public table with its columns under their flat names; as it is where they have them."""
        kept, keys = self._kept(used), {theirs for _, theirs in self.on}
        columns = {}
        for name in self.theirs.names:
            if name not in keys or name in kept:
                columns[self.flat[name]] = name
            if name in keys:
                columns[_key(name) if name in kept else name] = name
        if all(flat == name for flat, name in columns.items()):
            return self.data
        arrow = self.theirs.arrow.select(list(columns.values()))
        return arrow.rename_columns(list(columns))


def _key(name: str) -> str:
    return f"{name} (joined on)"


def _public(named: Any, public: Mapping[str, Any]) -> Any:
    known = ", ".join(public) or "none are given"
    if not isinstance(named, exp.Table) or named.args.get("db"):
        raise QueryRefused(f"{written(named)} is not one of the public tables ({known}).")
    found = [name for name in public if name.lower() == named.name.lower()]
    exact = [name for name in found if name == named.name] or found
    if len(exact) != 1:
        many = f"; {nearest(named.name, public)}" if public else ""
        raise QueryRefused(
            f"{written(named)} is not one of the public tables ({known}){many}. Only those can be joined, because a "
            "second private table would have its own units."
        )
    return public[exact[0]]


def _conjuncts(tree: Any) -> list[Any]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return (
        [part for side in tree.flatten() for part in _conjuncts(side)]
        if isinstance(tree, exp.And)
        else [tree]
    )


def _identifier(name: str) -> str:
    """A name as SQL needs it: in quotes where it is not a plain word."""
    return name if name.isidentifier() and name.isascii() else quoted(name)


def _grouping(select: Any) -> list[str]:
    group = select.args.get("group")
    if group is None:
        return []
    columns = []
    for item in group.expressions:
        if isinstance(item, exp.Literal) and not item.is_string:
            item = _numbered(select, item)
        if not isinstance(item, exp.Column):
            raise QueryRefused(
                f"GROUP BY {written(item)} is refused: group by a column; compute it first with with_columns(...)."
            )
        columns.append(item.name)
    return columns


def _numbered(select: Any, item: Any) -> Any:
    position = int(item.this) if item.this.isdigit() else 0
    if not 1 <= position <= len(select.expressions):
        raise QueryRefused(f"GROUP BY {item.this}: there is no such column in the SELECT list.")
    return select.expressions[position - 1].unalias()


def _listed(
    select: Any, columns: list[str], unit: str | None, problems: Problems
) -> tuple[list[str], dict[str, Aggregate]]:
    grouped = set(columns)
    names: list[str] = []
    found: dict[str, Aggregate] = {}
    for item in select.expressions:
        inner = item.unalias()
        if isinstance(inner, exp.Star) or (
            isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
        ):
            raise QueryRefused("SELECT * shows rows of the data; list aggregates, e.g. COUNT(*).")
        if isinstance(inner, exp.Column):
            if inner.name not in grouped:
                problems.add(
                    QueryRefused(
                        f"{inner.name} is neither aggregated nor in GROUP BY: its values would be shown."
                    )
                )
            elif isinstance(item, exp.Alias) and item.alias != inner.name:
                problems.add(QueryRefused(f"a grouping column keeps its name; leave out AS {item.alias}."))
            names.append(inner.name)
            continue
        name = item.alias if isinstance(item, exp.Alias) else _default_name(inner)
        made = problems.attempt(partial(aggregate, inner, unit))
        if made is not None:
            problems.attempt(partial(_add, found, name, made))
    return names, found


def _default_name(call: Any) -> str:
    columns = [column.name for column in call.find_all(exp.Column)]
    word = str(call.this) if isinstance(call, exp.Anonymous) else type(call).__name__
    return "_".join([word.lower(), *columns])


def _add(found: dict[str, Aggregate], name: str, made: Aggregate) -> None:
    if name in found:
        raise QueryRefused(f"two aggregates are called {name!r}; give each a name with AS.")
    found[name] = made


def _count(call: Any, unit: str | None) -> Aggregate:
    inner = _plain(call, "this", "expressions", "big_int").this
    if inner is None or isinstance(inner, exp.Star):
        return ask.count()
    if isinstance(inner, exp.Distinct):
        named = [column.name if isinstance(column, exp.Column) else None for column in inner.expressions]
        if unit is None or named != [unit]:
            of = (
                f"COUNT(DISTINCT {unit})" if unit else "the distinct units, which here are the rows: COUNT(*)"
            )
            raise QueryRefused(
                f"{written(call)} is refused: distinct values can only be counted of the unit's id: {of}."
            )
        return ask.count_distinct()
    if call.expressions:
        raise QueryRefused(f"{written(call)}: COUNT takes one argument.")
    return ask.count(_text(inner))


def _within_group(call: Any) -> Aggregate:
    function, order = _plain(call, "this", "expression").this, call.expression
    if not isinstance(function, exp.PercentileCont | exp.PercentileDisc) or not isinstance(order, exp.Order):
        raise QueryRefused(
            f"{written(call)} is not available; use PERCENTILE_CONT(level) WITHIN GROUP (ORDER BY x)."
        )
    if len(order.expressions) != 1 or function.args.get("expression") is not None:
        raise QueryRefused(f"{written(call)} is refused: WITHIN GROUP orders by one expression.")
    ordered = order.expressions[0]
    level = _number(function.this)
    return ask.quantile(_text(ordered.this), 1 - level if ordered.args.get("desc") else level)


def _call(call: Any) -> tuple[str, list[Any]]:
    """A function's name and arguments."""
    if isinstance(call, exp.Anonymous):
        _plain(call, "this", "expressions")
        return str(call.this).lower(), list(call.expressions)
    raise QueryRefused(f"{written(call)} is not an aggregate that can be released; there are {_known()}.")


def _text(tree: Any) -> str:
    """An expression as text, which says all that the tree does."""
    if isinstance(tree, exp.Column) and not tree.table and tree.this.args.get("quoted"):
        return quoted(tree.name)
    text = written(tree)
    try:
        # What the parser reads and the writer leaves out, IGNORE NULLS for one, would be passed over.
        whole = tree.find(exp.Anonymous) is not None or parse_one(text, read=DIALECT) == _with_cases(tree)
    except SqlglotError:
        whole = False
    if not whole:
        raise QueryRefused(f"{tree.sql()} is written in a way that is not available; use its plain form.")
    return text


def _with_cases(tree: Any) -> Any:
    """IF(a, b, c) is written as CASE WHEN a THEN b ELSE c END."""

    def case(node: Any) -> Any:
        if not isinstance(node, exp.If) or isinstance(node.parent, exp.Case):
            return node
        branch = exp.If(this=node.this, true=node.args["true"])
        return exp.Case(ifs=[branch], default=node.args.get("false"))

    return tree.copy().transform(case)


def _number(tree: Any) -> float:
    sign = 1.0
    while isinstance(tree, exp.Neg | exp.Paren):
        sign = -sign if isinstance(tree, exp.Neg) else sign
        tree = tree.this
    if not isinstance(tree, exp.Literal) or tree.is_string:
        raise QueryRefused(f"{written(tree)} must be a number.")
    return sign * float(tree.this)


def _bounds(arguments: list[Any]) -> tuple[float, float] | None:
    if not arguments:
        return None
    if len(arguments) != 2:
        raise QueryRefused("bounds are two numbers after the argument: mean(income, 0, 250000).")
    return _number(arguments[0]), _number(arguments[1])


def _one(function: Callable[..., Aggregate]) -> Callable[[str, list[Any]], Aggregate]:
    return lambda name, found: function(_text(found[0]), _bounds(found[1:]))


def _two(function: Callable[..., Aggregate]) -> Callable[[str, list[Any]], Aggregate]:
    return lambda name, found: function(
        _text(found[0]), _text(found[1]), _bounds(found[2:4]), _bounds(found[4:])
    )


def _quantile(name: str, found: list[Any]) -> Aggregate:
    return ask.quantile(_text(found[0]), _number(found[1]), _bounds(found[2:]))


def _alone(function: Callable[..., Aggregate], most: int = 1) -> Callable[[str, list[Any]], Aggregate]:
    """A function of so many expressions and nothing else."""

    def made(name: str, found: list[Any]) -> Aggregate:
        if len(found) > most:
            raise QueryRefused(f"{name} takes {most or 'no'} argument{'s' * (most != 1)}, not {len(found)}.")
        return function(*(_text(found[n]) for n in range(most)))

    return made


def _histogram(name: str, found: list[Any]) -> Aggregate:
    bins = _number(found[1]) if len(found) > 1 else None
    if bins is not None and not bins.is_integer():
        raise QueryRefused(f"histogram has {bins:g} bins; their number is a whole one.")
    return ask.histogram(_text(found[0]), None if bins is None else int(bins), _bounds(found[2:]))


def _known() -> str:
    return ", ".join(sorted({"count", *RULES}))


RULES: Mapping[str, Callable[[str, list[Any]], Aggregate]] = {
    "count_distinct": _alone(ask.count_distinct, 0),
    "sum": _one(ask.sum),
    "avg": _one(ask.mean),
    "mean": _one(ask.mean),
    "variance": _one(ask.variance),
    "var_samp": _one(ask.variance),
    "std": _one(ask.std),
    "stddev": _one(ask.std),
    "stddev_samp": _one(ask.std),
    "covariance": _two(ask.covariance),
    "covar_samp": _two(ask.covariance),
    "corr": _two(ask.correlation),
    "correlation": _two(ask.correlation),
    "median": _one(ask.median),
    "quantile": _quantile,
    "proportion": _alone(ask.proportion),
    "histogram": _histogram,
    "bounds": _alone(ask.bounds),
}
