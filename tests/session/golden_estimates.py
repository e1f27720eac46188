"""`python -m tests.session.golden_estimates FOLDER`: a golden ledger of means, shares, quantiles and the like.

As `golden_inference`: made once, committed, never written over, and read for ever.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dalenius as dp
from tests.session.golden_inference import numbers as numbers
from tests.session.golden_ledger import Case, make, told_by

PAY, AGE = {"pay": (0, 125)}, {"age": (18, 90)}


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    infer, pure, zcdp = dp.infer, dp.PureDP(0.5), dp.ZCDP(0.1)
    asked: dict[str, tuple[Any, Any, Any]] = {
        "mean": (infer.Mean(zcdp, bounds=(0, 125)), "pay", None),
        "clipped": (infer.Mean(zcdp, location=(0, 125), moment=(3, 9e4)), "pay", None),
        "spread known": (infer.Mean(zcdp, location=(0, 125), sd_at_most=50), "pay", None),
        "unknown": (infer.Mean(zcdp, bounds="unknown"), {"pay": (-1e6, 1e6)}, None),
        "variance": (infer.Variance(zcdp), PAY, None),
        "std": (infer.Std(zcdp), PAY, None),
        "share": (infer.Proportion(zcdp), "age >= 50", None),
        "difference": (infer.DifferenceOfMeans(zcdp), "age >= 50", PAY),
        "median": (infer.Median(zcdp, bins=512), PAY, None),
        "quantiles": (infer.Quantiles(zcdp, levels=(0.25, 0.75), bins=512), AGE, None),
        "magnitudes": (infer.Quantiles(zcdp, levels=(0.5,), bounds="unknown", bins=512), AGE, None),
        "correlation": (infer.Correlation(zcdp, x_bounds=(18, 90)), "age", PAY),
        "table": (infer.Contingency(zcdp, x_levels=(0, 1), y_levels=(0, 1)), "age % 2", "FLOOR(pay / 63)"),
    }
    pures = {"mean": (infer.Mean(pure), PAY, None), "share": (infer.Proportion(pure), "age >= 50", None)}
    public = {"mean": (infer.Mean(zcdp, adjacency=dp.REPLACE_ONE), PAY, None)}
    person = dp.Unit("id", max_rows=2, max_groups=1)
    return {
        "zcdp": Case(dp.ZCDP(9.0), {name: _asking(*one) for name, one in asked.items()}),
        "pure": Case(dp.PureDP(9.0), {name: _asking(*one) for name, one in pures.items()}),
        "persons": Case(dp.ZCDP(9.0), {"mean": _asking(*asked["mean"])}, {"unit": person}),
        "replace": Case(dp.ZCDP(9.0), {"mean": _asking(*public["mean"])}, {"adjacency": dp.REPLACE_ONE}),
    }


def _asking(how: Any, features: Any, target: Any) -> Any:
    return lambda session: session.infer(how, features, target)


if __name__ == "__main__":
    make(Path(sys.argv[1]), "estimates", told_by(cases(), numbers))
