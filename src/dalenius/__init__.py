"""Differential privacy from one front door: `import dalenius as dp`.

Importing this loads nothing heavy; a room is opened when one of its names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "ADD_REMOVE",
    "GDP",
    "RDP",
    "REPLACE_ONE",
    "ZCDP",
    "Adjacency",
    "ApproxDP",
    "Guarantee",
    "Ledger",
    "Loss",
    "PureDP",
    "Schema",
    "Session",
    "TradeOff",
    "Unit",
    "__version__",
    "audit",
    "bounds",
    "calibrate",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "discover",
    "errors",
    "histogram",
    "impute",
    "learn",
    "losses",
    "mean",
    "mechanisms",
    "median",
    "mode",
    "proportion",
    "quantile",
    "quantiles",
    "std",
    "sum",
    "theorems",
    "variance",
    "within",
]

if TYPE_CHECKING:
    from dalenius import audit, errors, learn, losses, mechanisms
    from dalenius.calculus import theorems
    from dalenius.calculus.calibrate import calibrate
    from dalenius.calculus.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP, TradeOff
    from dalenius.calculus.loss import Loss
    from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
    from dalenius.session.accuracy import within
    from dalenius.session.ledger import Ledger
    from dalenius.session.session import Session
    from dalenius.tables.aggregates import (
        bounds,
        correlation,
        count,
        count_distinct,
        covariance,
        histogram,
        mean,
        median,
        mode,
        proportion,
        quantile,
        quantiles,
        std,
        sum,
        variance,
    )
    from dalenius.tables.keys import discover
    from dalenius.tables.schema import Schema, impute
    from dalenius.tables.unit import Unit
else:
    # Only at run time: a type checker that saw this __getattr__ would accept any misspelt name.
    _MODULES = {
        "audit": "dalenius.audit",
        "errors": "dalenius.errors",
        "learn": "dalenius.learn",
        "losses": "dalenius.losses",
        "mechanisms": "dalenius.mechanisms",
        "theorems": "dalenius.calculus.theorems",
    }
    _MEMBERS = {
        "dalenius.core.adjacency": ("ADD_REMOVE", "REPLACE_ONE", "Adjacency"),
        "dalenius.calculus.calibrate": ("calibrate",),
        "dalenius.calculus.guarantees": ("GDP", "RDP", "ZCDP", "ApproxDP", "Guarantee", "PureDP", "TradeOff"),
        "dalenius.calculus.loss": ("Loss",),
        "dalenius.session.accuracy": ("within",),
        "dalenius.session.ledger": ("Ledger",),
        "dalenius.session.session": ("Session",),
        "dalenius.tables.aggregates": (
            "bounds",
            "correlation",
            "count",
            "count_distinct",
            "covariance",
            "histogram",
            "mean",
            "median",
            "mode",
            "proportion",
            "quantile",
            "quantiles",
            "std",
            "sum",
            "variance",
        ),
        "dalenius.tables.keys": ("discover",),
        "dalenius.tables.schema": ("Schema", "impute"),
        "dalenius.tables.unit": ("Unit",),
    }
    _HOMES = {name: home for home, names in _MEMBERS.items() for name in names}

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _MODULES:
            value = import_module(_MODULES[name])
        elif name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
