"""`python -m tests.session.golden_inference FOLDER`: a golden ledger of inference, and what its results say.

As `golden_ledger`: made once, committed, never written over, and read for ever.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dalenius as dp
from tests.session.golden_ledger import Case, make, told_by

COLUMNS = {"pay": (0, 125), "age * 2": (36, 180)}


def asked(how: Any, target: Any) -> Callable[[dp.Session], Any]:
    return lambda s: s.infer(how, COLUMNS, target)


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    infer, gdp, zcdp = dp.infer, dp.GDP(1.0), dp.ZCDP(0.5)
    # Said, since defaults may change: a reach of 1 is what there was before it could be said.
    near: dict[str, Any] = {"guarantee": gdp, "reach": 1.0}
    usual: dict[str, Any] = {"knee": 1.345, "method": "averaged_newton", "reach": 1.0}
    every = {
        "linear": asked(infer.LinearRegression(guarantee=gdp, **usual), {"age": (18, 90)}),
        "linear, all settings": asked(
            infer.LinearRegression(
                guarantee=dp.ApproxDP(2.0, 1e-6),
                intercept=False,
                loss_name="pseudo_huber",
                method="newton",
                knee=1.5,
                scale=3.0,
                x_center=[60.0, 100.0],
                x_scale=30,
                y_center=50.0,
                y_scale=20.0,
                bounds=[(0, 125), (36, 180)],
                y_bounds=(18, 90),
                reach=1.0,
            ),
            {"age": (18, 90)},
        ),
        "logistic": asked(infer.LogisticRegression(**near), "age >= 50"),
        "poisson": asked(infer.PoissonRegression(most=9, **near), "FLOOR(age / 10)"),
        "multinomial": asked(infer.MultinomialRegression(classes=(0, 1, 2), **near), "age % 3"),
        "m_estimate": asked(infer.MEstimate(slope="log_cosh", **near), {"age": (18, 90)}),
    }
    public = infer.LinearRegression(guarantee=zcdp, adjacency=dp.REPLACE_ONE, **usual)
    person = dp.Unit("id", max_rows=2, max_groups=1)
    return {
        "gdp": Case(dp.GDP(9.0), every),
        "persons": Case(dp.ZCDP(9.0), {"linear": every["linear"]}, {"unit": person}),
        "replace": Case(
            dp.ZCDP(9.0), {"linear": asked(public, {"age": (18, 90)})}, {"adjacency": dp.REPLACE_ONE}
        ),
    }


def numbers(result: Any) -> dict[str, Any]:
    """What a result says, exactly: texts of doubles."""
    told = {
        "params": result.params,
        "bse": result.bse,
        "low": result.conf_int(0.1)[:, 0],
        "high": result.conf_int(0.1)[:, 1],
        "loss": [result.loss.gdp()],
    }
    words: dict[str, Any] = {name: [repr(float(x)) for x in part] for name, part in told.items()}
    return {**words, "names": list(result.names), "notes": list(result.notes), "reason": result.reason}


if __name__ == "__main__":
    make(Path(sys.argv[1]), "inference", told_by(cases(), numbers))
