"""`python -m tests.session.golden_testing FOLDER`: a golden ledger of tests and of regressions that choose their reach.

As `golden_inference`: made once, committed, never written over, and read for ever.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dalenius as dp
from dalenius.infer import TestResult
from tests.session import golden_inference
from tests.session.golden_ledger import Case, make, told_by

PAY = {"pay": (0, 125)}


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    infer, pure, zcdp = dp.infer, dp.PureDP(0.5), dp.ZCDP(0.1)
    both: dict[str, Any] = {"bounds": (0, 125), "alternative": "less"}
    linear = infer.LinearRegression(guarantee=zcdp, knee=2.0, reach=None, method="averaged_newton")
    asked: dict[str, tuple[Any, Any, Any]] = {
        "mean": (infer.MeanTest(zcdp, mean=50.0, **both), PAY, None),
        "means": (infer.TwoSampleMeanTest(zcdp, **both), "age >= 50", PAY),
        "share": (infer.BinomialTest(zcdp, share=0.25, alternative="two-sided"), "age >= 50", None),
        "fit": (infer.GoodnessOfFitTest(zcdp, levels=(0, 1, 2), shares=(0.5, 0.25, 0.25)), "age % 3", None),
        "table": (
            infer.IndependenceTest(zcdp, x_levels=(0, 1), y_levels=(0, 1)),
            "age % 2",
            "FLOOR(pay / 63)",
        ),
        "anova": (infer.AnovaTest(zcdp, levels=(0, 1), bounds=(0, 125)), "age % 2", PAY),
        "laws": (infer.TwoSampleKolmogorovSmirnovTest(zcdp), "age >= 50", PAY),
        "ranks": (infer.MannWhitneyTest(zcdp, alternative="greater"), "age >= 50", PAY),
        "signs": (infer.SignedRankTest(zcdp, alternative="two-sided"), {"pay - 50": (-50, 75)}, None),
        "groups": (infer.KruskalWallisTest(zcdp, levels=(0, 1)), "age % 2", PAY),
        "far": (linear, PAY, {"age": (18, 90)}),
        "farther": (infer.LogisticRegression(guarantee=zcdp, reach=2.5), PAY, "age >= 50"),
    }
    pures = {"mean": (infer.MeanTest(pure, mean=50.0, **both), PAY, None)}
    return {
        "zcdp": Case(dp.ZCDP(9.0), {name: _asking(*one) for name, one in asked.items()}),
        "pure": Case(dp.PureDP(9.0), {name: _asking(*one) for name, one in pures.items()}),
    }


def _asking(how: Any, features: Any, target: Any) -> Any:
    return lambda session: session.infer(how, features, target)


def numbers(result: Any) -> dict[str, Any]:
    """What a result says, exactly: texts of doubles."""
    if not isinstance(result, TestResult):
        return golden_inference.numbers(result)
    return {
        "p": repr(result.pvalue),
        "statistic": repr(result.statistic),
        "released": {name: [repr(float(x)) for x in part.ravel()] for name, part in result.released.items()},
        "estimates": {name: repr(x) for name, x in result.estimates.items()},
        "said": [result.method, result.hypothesis, *result.notes],
        "loss": repr(result.loss.epsilon(1e-6)),
    }


if __name__ == "__main__":
    make(Path(sys.argv[1]), "testing", told_by(cases(), numbers))
