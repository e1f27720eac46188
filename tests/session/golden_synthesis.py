"""`python -m tests.session.golden_synthesis FOLDER`: a golden ledger of synthetic data, and what their marginals say.

As `golden_ledger`: made once, committed, never written over, and read for ever.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dalenius as dp
from tests.session.golden_ledger import Case, make, told_by

DAYS = (datetime.date(2024, 1, 1), datetime.date(2024, 1, 3))
EVERY: dict[str, Any] = {"age": 6, "pay": (0, 125), "score": 4, "town": None, "day": DAYS, "member": None}


def asked(columns: Any, budget: dp.Guarantee, **options: Any) -> Callable[[dp.Session], Any]:
    return lambda s: s.synthesize(columns, budget, **options)


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    few = ["score", "town"]
    person = dp.Unit("id", max_rows=2, max_groups=1)
    return {
        "zcdp": Case(
            dp.ZCDP(9.0),
            {
                "every kind of column": asked(EVERY, dp.ZCDP(1.0), bins=5),
                "private bins": asked(few, dp.ZCDP(1.0), bins=4, private_bins=["score"]),
                "listed marginals": asked(few, dp.ZCDP(0.5), bins=4, marginals=[("score",), ("town",)]),
            },
        ),
        "pure persons": Case(dp.PureDP(9.0), {"few": asked(few, dp.PureDP(2.0), bins=4)}, {"unit": person}),
        "replace": Case(
            dp.ApproxDP(9.0, 1e-6),
            {"few": asked(few, dp.ApproxDP(2.0, 1e-6), bins=4)},
            {"adjacency": dp.REPLACE_ONE},
        ),
    }


def numbers(made: Any) -> dict[str, Any]:
    """What the marginals of single columns say, what was measured with it, and how well."""
    told: dict[str, Any] = {"rows": made.rows, "measured": [list(names) for names in made.error]}
    for name in made.columns:
        table = made.marginal(name, confidence=0.9)
        told[name] = {
            "labels": list(table[name]),
            "low": [repr(float(x)) for x in table["low"]],
            "high": [repr(float(x)) for x in table["high"]],
            "count": [float(f"{x:.6g}") for x in table["count"]],
        }
    return told


if __name__ == "__main__":
    make(Path(sys.argv[1]), "synthesis", told_by(cases(), numbers))
