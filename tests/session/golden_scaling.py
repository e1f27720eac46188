"""`python -m tests.session.golden_scaling FOLDER`: a golden ledger of fits that find the scale of their features.

As `golden_ledger`: made once, committed, never written over, and read for ever.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import dalenius as dp
from tests.session.golden_ledger import Case, make, told_by


def bounds(s: dp.Session) -> Any:
    steps = [
        ("bounds", dp.learn.PrivateBounds(dp.PureDP(2.0), within=(0, 1000))),
        ("model", dp.learn.LogisticRegression(dp.PureDP(1.0))),
    ]
    return s.fit(Pipeline(steps), ["pay * 2", "score + 0", "age", "town", "age >= 50"], "member")


def scaler(s: dp.Session) -> Any:
    steps = [
        ("scale", dp.learn.PrivateScaler(dp.PureDP(2.0), deviations=2.0)),
        ("model", dp.learn.HuberRegression(dp.PureDP(1.0))),
    ]
    return s.fit(Pipeline(steps), ["pay", "score", "town"], "age")


def both(s: dp.Session) -> Any:
    steps = [
        ("bounds", dp.learn.PrivateBounds(dp.PureDP(2.0), share=0.9)),
        ("scale", dp.learn.PrivateScaler(dp.PureDP(1.0))),
        ("model", dp.learn.OneVsRest(dp.PureDP(1.0), classes=("ash", "elm", "oak"))),
    ]
    return s.fit(Pipeline(steps), ["pay - 60", "age"], "town")


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    every = {"bounds": bounds, "scaler": scaler, "both": both}
    person = dp.Unit("id", max_rows=2, max_groups=1)
    return {
        "pure": Case(dp.PureDP(30.0), every),
        "zcdp": Case(dp.ZCDP(900.0), every, {"unit": person, "adjacency": dp.REPLACE_ONE}),
    }


def numbers(made: Any) -> dict[str, Any]:
    """What was released, exactly."""
    told = {
        name: [repr(float(x)) for x in np.ravel(getattr(made[-1], f"{name}_"))]
        for name in ("coef", "intercept")
    }
    return {**told, "bounds": [None if pair is None else list(map(repr, pair)) for pair in made[0].bounds]}


if __name__ == "__main__":
    make(Path(sys.argv[1]), "scaling", told_by(cases(), numbers))
