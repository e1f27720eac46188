"""The language of conditions and computed columns: a small part of SQL's expressions, read by sqlglot.

What may be written:

    columns, numbers, 'text', TRUE, FALSE, NULL, DATE '2024-12-31', TIMESTAMP '2024-12-31 23:59:59'
    +  -  *  /                      in double precision; x / 0 is null; the difference of two dates is in days
    n % 7                           of a whole-number column by a positive whole number
    =  <>  <  <=  >  >=  BETWEEN  IN (...)  IS [NOT] NULL      text compares only by = and <>
    AND  OR  NOT  CASE WHEN ... THEN ... ELSE ... END  IF(condition, yes, no)
    COALESCE  NULLIF  LEAST  GREATEST  ABS  FLOOR  CEIL  SQRT
    EXTRACT(YEAR | QUARTER | MONTH | WEEK | DAY | DAYOFWEEK | ISODOW | DAYOFYEAR FROM d), also HOUR, MINUTE and SECOND
        of timestamps; YEAR(d), DATE_PART('month', d)
    DATE_TRUNC('year' | 'quarter' | 'month' | 'week' | 'day', d), always a date
    DATE_DIFF('day', start, end), also 'week', 'month', 'quarter', 'year', and 'hour', 'minute', 'second' of timestamps
    name LIKE 'ab%', '%ab', '%ab%'
    LENGTH(name)  LOWER(name)  UPPER(name)  TRIM(name)  LTRIM  RTRIM  SUBSTRING(name, 1, 3)  LEFT(name, 3)
    CAST(x AS DOUBLE), CAST(flag AS INTEGER), CAST(moment AS DATE)

Every expression has a value for every row: none can make the engine fail. That is a matter of privacy, not of
comfort: an error that depends on a value tells the value. Sums and products are therefore in double precision
and kept far from overflow, division by zero and the root of a negative number give null, text is not cast to
numbers; and whatever differs from one engine to another (the order of text, letters beyond A to Z, zones, logarithms)
is given one meaning (see `spelling` and `calendar`) or left out. The text is never handed to the engine: it is parsed,
checked and built anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from sqlglot import exp, parse_one
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, SqlglotError

from dalenius.errors import QueryRefused
from dalenius.tables.facts.kinds import is_text

DIALECT = "duckdb"
LONGEST = 20_000


def _counted(build: Any, most: int) -> Any:
    """Of a function that the parser takes any number of arguments for, and passes over those it has no use for."""
    return lambda arguments: (
        build(arguments) if len(arguments) <= most else exp.Anonymous(this="of so many arguments")
    )


class Reading(DuckDB):
    """DuckDB's dialect, in which nothing that was written is passed over."""

    class Parser(DuckDB.Parser):  # type: ignore[valid-type,misc]
        FUNCTIONS: ClassVar[dict[str, Any]] = {
            **DuckDB.Parser.FUNCTIONS,
            **{name: _counted(DuckDB.Parser.FUNCTIONS[name], 2) for name in ("DATE_TRUNC", "DATETRUNC")},
            **{name: _counted(DuckDB.Parser.FUNCTIONS[name], 3) for name in ("DATE_DIFF", "DATEDIFF")},
        }


def parse(text: str, what: str = "the expression", names: Iterable[str] = ()) -> Any:
    """The syntax tree of one expression, or QueryRefused, with a word about the columns there are."""
    if not is_text(text):
        raise QueryRefused(f"{what} is {text!r}; it must be an SQL expression, like 'age >= 18'.")
    if len(text) > LONGEST:
        raise QueryRefused(f"{what} is {len(text)} characters long; at most {LONGEST} are allowed.")
    try:
        tree = parse_one(text, read=Reading)
    except (SqlglotError, RecursionError):
        raise QueryRefused(
            f"{what}, {text!r}, is not an SQL expression; write it like 'age >= 18'.{_what_may_be_meant(text, names)}"
        ) from None
    if isinstance(tree, exp.Query | exp.Command | exp.DDL | exp.DML | exp.Block | exp.Drop):
        raise QueryRefused(f"{what}, {text!r}, is a statement; only an expression may stand here.")
    if isinstance(tree, exp.Alias):
        raise QueryRefused(f"{what}, {text!r}, must not name itself with AS.")
    tree = tree.transform(_denied)
    _in_brackets(tree, what)
    return tree


def _denied(node: Any) -> Any:
    """`a NOT LIKE 'x'` as `NOT a LIKE 'x'`, as versions of the parser have had it and all others of its kind."""
    if not isinstance(node, exp.Like) or not node.args.get("negate"):
        return node
    plain_like = node.copy()
    plain_like.set("negate", None)
    return exp.Not(this=plain_like)


def _what_may_be_meant(text: str, names: Iterable[str]) -> str:
    """Of a text that cannot be read: which quotes it may lack."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", " ", text)
    lacking = [name for name in names if not name.isidentifier() and _squeezed(name) in _squeezed(bare)]
    if lacking:
        written_so = ", ".join(map(quoted, lacking))
        stand = "The column stands" if len(lacking) == 1 else "The columns stand"
        return f" {stand} in double quotes: {written_so}."
    said = words_of_sql(text)
    return said if said or "'" in text else f"{said} Text stands in single quotes: \"town = 'Ulm'\"."


def check_quotes(text: str, names: Iterable[str], what: str = "") -> None:
    """Refuse an expression that has a column's name without the quotes it needs: hours-per-week is a difference."""
    for name in names:
        if not name.isidentifier() and _squeezed(name) in _squeezed(text):
            raise QueryRefused(f"{what}the column {name!r} is written in double quotes, {quoted(name)}.")


def _squeezed(text: str) -> str:
    return "".join(text.lower().split())


def words_of_sql(text: str) -> str:
    """Which words of a text may be meant as columns, and are words of SQL."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", " ", text)
    if "`" in bare:
        return ' Names that are not plain words stand in double quotes, "hours-per-week", and not in `these`.'
    words = sorted({word for word in re.findall(r"[A-Za-z_]+", bare) if word.lower() in WORDS})
    if not words:
        return ""
    are = "is a column, it stands" if len(words) == 1 else "are columns, they stand"
    return f" If {' and '.join(words)} {are} in double quotes: {', '.join(map(quoted, words))}."


WORDS = frozenset(
    {
        "all",
        "any",
        "array",
        "asc",
        "check",
        "column",
        "create",
        "default",
        "desc",
        "distinct",
        "do",
        "end",
        "for",
    }
    | {
        "from",
        "grant",
        "group",
        "having",
        "into",
        "limit",
        "offset",
        "on",
        "only",
        "order",
        "primary",
        "references",
    }
    | {
        "select",
        "table",
        "to",
        "union",
        "unique",
        "user",
        "using",
        "values",
        "when",
        "where",
        "window",
        "with",
    }
)
"""Words of SQL that columns are called, too."""


def _in_brackets(tree: Any, what: str) -> None:
    """`1 < a < 5` is refused by SQL; a parser that reads it as (1 < a) < 5 must not answer it."""
    compared = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In, exp.Between, exp.Like)
    for node in tree.find_all(*compared):
        sides = (node.args.get(part) for part in ("this", "expression", "low", "high"))
        if any(isinstance(side, (*compared, exp.Not)) for side in sides):
            raise QueryRefused(f"{what}: {written(node)} can be read in two ways; {_in_one_way(node)}.")


def _in_one_way(node: Any) -> str:
    """What to write for conditions that stand side by side as they do in Python."""
    if node.find(exp.BitwiseAnd, exp.BitwiseOr, exp.ArrayOverlaps):
        return "join conditions by AND and OR, where & and | are of Python"
    order = (exp.LT, exp.LTE, exp.GT, exp.GTE)
    if isinstance(node, order) and isinstance(node.this, order):
        again = node.copy()
        again.set("this", node.this.expression.copy())
        return f"write {written(node.this)} AND {written(again)}"
    return "put a part of it in brackets"


def plain(tree: Any) -> Any:
    """The tree without brackets that change nothing: around all of it, around other brackets, a name or a constant."""
    atoms = (exp.Paren, exp.Column, exp.Literal, exp.Boolean, exp.Null)
    root = exp.Paren(this=tree.copy())
    for node in list(root.find_all(exp.Paren)):
        if node is not root and (isinstance(node.parent, exp.Paren) or isinstance(node.this, atoms)):
            node.replace(node.this)
    return root.this.pop()


def quoted(name: str) -> str:
    """A column's name as it must be written in an expression, quoted when it is not a plain word."""
    return '"' + name.replace('"', '""') + '"'


def written(tree: Any) -> str:
    """The canonical text of a tree: the same for spellings that differ in blanks and capitals only."""
    # What the writer cannot write it would tell the terminal; whether text says all of a tree is looked at elsewhere.
    return str(
        tree.sql(dialect=DIALECT, normalize=False, comments=False, unsupported_level=ErrorLevel.IGNORE)
    )
