"""Reading a SELECT: what is understood of it, and that nothing else is written there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from dalenius.errors import QueryRefused
from dalenius.tables.aggregates import NAMED
from dalenius.tables.facts.kinds import is_text
from dalenius.tables.rows.expressions import LONGEST, Reading, written

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
    exp.Cube: ("expressions",),
    exp.Rollup: ("expressions",),
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


SQL_OWN = ("count", "percentile_cont", "percentile_disc")
"""Functions of ours that are read as SQL has them: they have a syntax of their own."""


def _without_ours(table: Mapping[str, Any]) -> dict[str, Any]:
    ours = {name.upper() for name in NAMED if name not in SQL_OWN}
    return {name: made for name, made in table.items() if name not in ours}


class Asking(Reading):
    """DuckDB's dialect, but aggregates may have their bounds as further arguments."""

    class Parser(Reading.Parser):
        FUNCTIONS = _without_ours(Reading.Parser.FUNCTIONS)
        FUNCTION_PARSERS = _without_ours(Reading.Parser.FUNCTION_PARSERS)


def read_select(
    text: str, what: str = "the question", how: str = "SELECT ... FROM ... [WHERE ...] [GROUP BY ...]"
) -> Any:
    if not is_text(text):
        raise QueryRefused(f"{what} is {text!r}; it must be SQL text.")
    if len(text) > LONGEST:
        raise QueryRefused(f"{what} is {len(text)} characters long; at most {LONGEST} are allowed.")
    try:
        trees = [tree for tree in parse(text, read=Asking) if tree is not None]
    except (SqlglotError, RecursionError):
        raise QueryRefused(
            f"{what} is not valid SQL; write {how}. Names that are not plain words, or are words of SQL, stand in "
            'double quotes, "residual sugar"; text stands in single ones.'
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
            plain(node, *STRUCTURE[type(node)])
    return select


def _listed_groups(group: Any) -> None:
    """Columns, or one CUBE or ROLLUP of columns and nothing beside it."""
    more = any(value for part, value in group.args.items() if part != "expressions")
    shaped = [
        item for item in group.expressions if isinstance(item, exp.GroupingSets | exp.Cube | exp.Rollup)
    ]
    alone = len(group.expressions) == 1 and not isinstance(group.expressions[0], exp.GroupingSets)
    if more or (shaped and not alone):
        raise QueryRefused(
            "GROUPING SETS, GROUP BY ALL and columns beside CUBE or ROLLUP are not available; list the columns, or "
            "write GROUP BY CUBE (a, b) or GROUP BY ROLLUP (a, b) alone."
        )


def plain(tree: Any, *parts: str) -> Any:
    """The tree, if it has no parts other than these: nothing that was written is passed over."""
    if any(value and part not in parts for part, value in tree.args.items()):
        raise QueryRefused(f"{written(tree)} is written in a way that is not available; use its plain form.")
    return tree
