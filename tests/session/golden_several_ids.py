"""`python -m tests.session.golden_several_ids FOLDER`: a person's month as the unit, made once, read for ever."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

import dalenius as dp
from dalenius.session.ledger import Ledger
from tests.session.golden_ledger import make

NAME = "several-ids"


def session(ledger: Ledger) -> dp.Session:
    visits = pd.DataFrame(
        {"id": [1, 1, 1, 2, 2, 3], "month": ["01", "01", "02", "01", "02", "02"], "x": [1, 2, 3, 4, 5, 6]}
    )
    return dp.Session(
        visits,
        unit=dp.Unit(["id", "month"], max_rows=2, max_groups=1),
        budget=dp.ZCDP(1.0),
        schema=dp.Schema({"month": {"categories": ["01", "02"]}}, nulls="drop"),
        ledger=ledger,
        name="visits",
    )


def told(ledger: Ledger) -> dict[str, Any]:
    """By month, and of the rows of each unit."""
    s = session(ledger)
    by_month = s.table.group_by("month").agg(n=dp.count(), u=dp.count_distinct())
    of_each = s.table.per_unit().agg(rows=dp.sum("rows", bounds=(0, 5)))
    answers = [s.release(query, dp.ZCDP(0.1)) for query in (by_month, of_each)]
    return {
        "unit": s.account.unit,
        "left": repr(s.remaining),
        "answers": [
            {column: list(map(str, cells)) for column, cells in a.to_dict().items()} for a in answers
        ],
    }


if __name__ == "__main__":
    make(Path(sys.argv[1]), NAME, told)
