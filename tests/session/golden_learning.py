"""`python -m tests.session.golden_learning FOLDER`: a golden ledger of fits with categories and several classes.

As `golden_ledger`: made once, committed, never written over, and read for ever. Evaluations are among them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dalenius as dp
from tests.session.golden_ledger import Case, make, told_by

FEATURES: dict[str, Any] = {"pay": (0, 125), "town": ["ash", "elm"], "age >= 50": None}


def several(s: dp.Session) -> Any:
    model = dp.learn.MultinomialRegression(dp.PureDP(1.0), classes=("ash", "elm", "oak"))
    return s.fit(model, {"pay": (0, 125), "age / 2": (9, 45)}, "town")


def rest(s: dp.Session) -> Any:
    return s.fit(dp.learn.OneVsRest(dp.PureDP(1.0), classes=(0, 1, 2)), ["age"], "age % 3")


def two(s: dp.Session) -> Any:
    return s.fit(dp.learn.LogisticRegression(dp.PureDP(1.0)), FEATURES, "member")


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    every = {"multinomial": several, "one against the rest": rest, "categories": two}

    def evaluated(price: dp.Guarantee) -> dict[str, Any]:
        return {
            "two classes": lambda s: s.evaluate(two(s), list(FEATURES), "member", price),
            "several classes": lambda s: s.evaluate(several(s), ["pay", "age / 2"], "town", price, bins=4),
        }

    person = dp.Unit("id", max_rows=2, max_groups=1)
    return {
        "pure": Case(dp.PureDP(30.0), {**every, **evaluated(dp.PureDP(0.5))}),
        "zcdp": Case(
            dp.ZCDP(90.0), {**every, **evaluated(dp.ZCDP(0.1))}, {"unit": person, "adjacency": dp.REPLACE_ONE}
        ),
    }


def numbers(made: Any) -> dict[str, Any]:
    """What was released, exactly."""
    if hasattr(made, "counts"):
        told = made.at(0.9).accuracy
        near = [float(f"{x:.9g}") for x in (told.estimate, told.low, told.high, made.law.sigma)]
        return {"counts": [repr(float(x)) for x in made.counts.ravel()], "near": near}
    return {
        name: [repr(float(x)) for x in getattr(made[-1], f"{name}_").ravel()]
        for name in ("coef", "intercept")
    }


if __name__ == "__main__":
    make(Path(sys.argv[1]), "learning", told_by(cases(), numbers))
