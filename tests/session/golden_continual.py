"""`python -m tests.session.golden_continual FOLDER`: a golden ledger of feeds, and what they have published.

As `golden_ledger`: made once, committed, never written over, and read for ever.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dalenius as dp
from dalenius.session.ledger import Ledger
from tests.session.golden_ledger import Case, make


def feed(budget: Any) -> Any:
    def ask(session: dp.Session) -> Any:
        query = session.table.group_by("age", keys=list(range(18, 91))).agg(n=dp.count())
        return session.continual(query, budget)

    return ask


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    person = dp.Unit("id", max_rows=2, max_groups=2)
    return {
        "matrix": Case(dp.ZCDP(9.0), {"feed": feed(dp.ZCDP(0.5))}),
        "tree": Case(dp.PureDP(9.0), {"feed": feed(dp.PureDP(1.0))}),
        "persons": Case(dp.GDP(9.0), {"feed": feed(dp.GDP(0.5))}, {"unit": person}),
        "replace": Case(dp.ZCDP(9.0), {"feed": feed(dp.ZCDP(0.5))}, {"adjacency": dp.REPLACE_ONE}),
    }


def numbers(published: Any) -> dict[str, list[str]]:
    """What was published, exactly: texts of doubles."""
    return {name: [repr(x) for x in column] for name, column in published.to_dict().items()}


def published(ledger: Ledger) -> dict[str, Any]:
    """Of every feed, in two steps."""
    told = {}
    for name, case in cases().items():
        asked = case.questions["feed"](case.session(name, ledger))
        asked.publish(20)
        told[name] = numbers(asked.publish(31))
    return told


if __name__ == "__main__":
    make(Path(sys.argv[1]), "continual", published)
