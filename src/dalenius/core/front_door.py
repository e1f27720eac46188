"""Names that people look for at the front door, and where the things are."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from dalenius.core.habits import absent

ROOMS = (
    "mechanisms",
    "learn",
    "infer",
    "losses",
    "tables",
    "queries",
    "audit",
    "local",
    "calculus.guarantees",
)

_ENDS = "the least and the greatest value belong to one person; use dp.bounds(...) or dp.quantile(..., 0.99)"
_SESSION = "open the data with dp.Session('people.csv', unit=..., budget=...)"
_ENTRIES = "write dp.ApproxDP(1.0, 1e-6)"
HINTS = {
    "ApproxDPBudget": _ENTRIES,
    "BudgetAccountant": "a dp.Session keeps its own account; dp.Ledger.open(...) looks after many",
    "EpsilonDelta": _ENTRIES,
    "KeySet": "public groups are lists: group_by('town', keys=['Lund', 'Umea'])",
    "PureDPBudget": "write dp.PureDP(1.0)",
    "QueryBuilder": "questions begin with session.table",
    "RhoZCDPBudget": "write dp.ZCDP(0.05)",
    "average": "write dp.mean",
    **dict.fromkeys(["count_if", "fraction", "percentage", "share"], "write dp.proportion('age >= 65')"),
    "ratio": "a ratio is made of what was released: answer.ratio('pay', 'n')",
    "avg": "write dp.mean",
    **dict.fromkeys(["len", "n_rows", "size"], "write dp.count()"),
    **dict.fromkeys(["count_unique", "nunique"], "write dp.count_distinct(), which counts units"),
    "enable_features": "nothing has to be switched on",
    "max": _ENDS,
    "measurements": "mechanisms are in dp.mechanisms",
    "min": _ENDS,
    "models": "models are in dp.learn",
    "read_csv": _SESSION,
    "read_parquet": _SESSION,
    "stddev": "write dp.std",
    "stdev": "write dp.std",
    "tools": "counts and means are asked of a session: session.table.agg(n=dp.count())",
    "transformations": "counts and means are asked of a session: session.table.agg(n=dp.count())",
    "var": "write dp.variance",
}


def missing(name: str, known: Collection[str]) -> AttributeError:
    """What to say of a name that is not at the front door."""
    hints = dict(HINTS)
    if not name.startswith("_") and name not in hints:
        for room in ROOMS:
            if _is_in(room, name):
                hints[name] = f"it is dp.{room}.{name}"
                break
    return absent("module 'dalenius'", name, known, hints)


def _is_in(room: str, name: str) -> bool:
    """Whether a room has the name; of one that needs what is not installed nobody can say."""
    try:
        return hasattr(import_module(f"dalenius.{room}"), name)
    except ImportError:
        return False
