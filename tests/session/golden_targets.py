"""`python -m tests.session.golden_targets FOLDER`: a golden ledger of fits of several targets, and with class weights.

As `golden_ledger`: made once, committed, never written over, and read for ever.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import dalenius as dp
from tests.session.golden_ledger import Case, make, told_by

PURE = dp.PureDP(1.0)


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    conditions = ["member", "pay > 60"]
    asked: dict[str, Any] = {
        "weights": lambda s: s.fit(dp.learn.LogisticRegression(PURE, class_weight={1: 3}), ["age"], "member"),
        "weights of text": lambda s: s.fit(
            dp.learn.MultinomialRegression(PURE, classes=("ash", "elm", "oak"), class_weight={"oak": 2.5}),
            ["age", "pay"],
            "town",
        ),
        "two targets": lambda s: s.fit(dp.learn.LogisticRegression(PURE), ["age", "town"], conditions),
        "targets of text": lambda s: s.fit(
            dp.learn.OneVsRest(PURE, classes=("ash", "elm", "oak")), ["pay"], ["town", "LOWER(town)"]
        ),
    }
    linear: dict[str, Any] = {
        "targets with bounds": lambda s: s.fit(
            dp.learn.LinearRegression(dp.ZCDP(0.1)), ["age"], {"pay": None, "age / 2": (9, 45)}
        )
    }
    person = dp.Unit("id", max_rows=2, max_groups=1)
    return {
        "pure": Case(dp.PureDP(30.0), asked),
        "zcdp": Case(dp.ZCDP(90.0), {**asked, **linear}, {"unit": person, "adjacency": dp.REPLACE_ONE}),
    }


def numbers(made: Any) -> dict[str, Any]:
    """What was released, exactly."""
    each = made if isinstance(made, dict) else {"": made}
    return {
        f"{name} {word}".strip(): [repr(float(x)) for x in np.ravel(getattr(one[-1], f"{word}_"))]
        for name, one in each.items()
        for word in ("coef", "intercept")
    }


if __name__ == "__main__":
    make(Path(sys.argv[1]), "targets", told_by(cases(), numbers))
