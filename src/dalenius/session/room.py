"""Whether an answer has room in a ledger: known from the question alone, so it is said before anything is charged."""

from __future__ import annotations

from collections.abc import Iterable

from dalenius.errors import QueryRefused
from dalenius.session.account import MOST
from dalenius.tables.ask.query import Query
from dalenius.tables.facts.keys import Keys

NUMBER = 28
"""Characters of one number in a record, with quotes and comma: 17 digits, sign, point and exponent."""
PART_OF_KEY = 40
"""Characters around one part of a key, with its kind."""
RANKS = 2_000
"""Characters of what is kept of one quantile in one group: the counts around its rank."""


def check_room(queries: Iterable[Query]) -> None:
    """Refuse questions whose answer a ledger could not keep."""
    asked = list(queries)
    needed = sum(map(_characters, asked))
    if needed > MOST:
        cells = sum(_groups(query) * _columns(query) for query in asked)
        raise QueryRefused(
            f"the answer would have {cells:,} numbers, which is more than a ledger keeps of one answer (it may need "
            f"{needed:,} characters, and {MOST:,} are allowed). Ask for fewer groups or bins at a time; nothing was "
            "charged."
        )


def _groups(query: Query) -> int:
    return len(query.keys) if isinstance(query.keys, Keys) else 1


def _columns(query: Query) -> int:
    return sum(aggregate.width(roles) for _, aggregate, roles in query.parts)


def _characters(query: Query) -> int:
    each = 4 * NUMBER * _columns(query)
    for _, aggregate, roles in query.parts:
        width = aggregate.width(roles)
        each += sum(NUMBER * m.size if m.size <= width else RANKS * width for m in roles.values())
    keys = query.keys.rows if isinstance(query.keys, Keys) else ()
    return each * _groups(query) + sum(PART_OF_KEY + len(str(part)) for key in keys for part in key)
