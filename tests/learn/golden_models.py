"""`python -m tests.learn.golden_models FOLDER`: every model as text, and what it predicts.

Made once for a version of the format and committed; a file that is there is never written over.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

import dalenius as dp
from dalenius import learn, losses
from dalenius.learn.saved import VERSION

HERE = Path(__file__).parent / "golden"

X = np.column_stack((np.linspace(-0.7, 0.7, 300), np.cos(np.arange(300.0)) / 2))
Y = np.clip(X[:, 0] - X[:, 1] / 2, -1, 1)
LABELS = (Y > 0).astype(int)
NEW = np.array([[0.5, -0.25], [-0.125, 0.0], [3.0, 4.0]])

GDP, PURE, APPROX = dp.GDP(0.5), dp.PureDP(1.0), dp.ApproxDP(1.0, 1e-5)


def fitted() -> dict[str, Any]:
    """One of every kind of model, fitted."""
    bounds = learn.PublicBounds([(-0.7, 0.7), (-0.5, 0.5)])
    columns = learn.PublicColumns([(-0.7, 0.7), None], [None, (0, 1)])
    kinds = np.column_stack((X[:, 0], LABELS))
    thirds = np.clip(np.floor(Y * 3 + 1), 0, 2).astype(int)
    return {
        "multinomial": learn.MultinomialRegression(APPROX, classes=("a", "b", "c")).fit(
            X, np.array(["a", "b", "c"])[thirds]
        ),
        "one against the rest": learn.OneVsRest(GDP).fit(X, thirds),
        "pipeline of columns": Pipeline(
            [
                ("bounds", columns),
                ("model", learn.LogisticRegression(GDP).fit(columns.fit().transform(kinds), LABELS)),
            ]
        ),
        "private bounds": learn.PrivateBounds(PURE, within=[None, (-2, 2)]).fit(X),
        "private scaler": learn.PrivateScaler(GDP, deviations=2.5).fit(X),
        "pipeline of found bounds": Pipeline(
            [
                ("bounds", learn.PrivateBounds(dp.ZCDP(0.5), share=0.9)),
                ("scale", learn.PrivateScaler(PURE)),
                ("model", learn.LogisticRegression(GDP)),
            ]
        ).fit(X, LABELS),
        "logistic": learn.LogisticRegression(APPROX, classes=("no", "yes")).fit(
            X, np.where(LABELS, "yes", "no")
        ),
        "logistic, weights": learn.LogisticRegression(APPROX, class_weight={0: 1, 1: 2.5}).fit(X, LABELS),
        "multinomial, weights": learn.MultinomialRegression(
            PURE, classes=("a", "b", "c"), class_weight={"b": 4}
        ).fit(X, np.array(["a", "b", "c"])[thirds]),
        "logistic, descent": learn.LogisticRegression(GDP, method=learn.Descent(steps=5)).fit(X, LABELS),
        "svc": learn.LinearSVC(GDP, rows="normalize").fit(X, LABELS),
        "huber": learn.HuberRegression(GDP).fit(X, Y),
        "poisson": learn.PoissonRegression(GDP, most=2.0).fit(X, LABELS),
        "linear": learn.LinearRegression(dp.ZCDP(0.1)).fit(X, Y),
        "posterior": learn.PosteriorSampleRegression(APPROX).fit(X, Y),
        "adaptive posterior": learn.AdaptivePosteriorSampleRegression(APPROX).fit(X, Y),
        "calibrated posterior": learn.CalibratedPosteriorSampleRegression(APPROX, ridge=500.0).fit(X, Y),
        "local logistic": learn.LocalLogisticRegression(APPROX).fit(X, LABELS),
        "exponential least squares": learn.ExponentialLeastSquares(PURE).fit(X, Y),
        "gradient least squares": learn.GradientLeastSquares(PURE).fit(X, Y),
        "exponential quantiles": learn.ExponentialQuantileRegression(PURE, level=0.25).fit(X, Y),
        "gradient quantiles": learn.GradientQuantileRegression(PURE, level=0.25).fit(X, Y),
        "exponential mean": learn.ExponentialMean(PURE, bounds=(-1, 1)).fit(Y),
        "gradient mean": learn.GradientMean(PURE, bounds=(-1, 1)).fit(Y),
        "exponential quantile": learn.ExponentialQuantile(PURE, bounds=(-1, 1), level=0.3).fit(Y),
        "gradient quantile": learn.GradientQuantile(PURE, bounds=(-1, 1), level=0.3).fit(Y),
        "aggregate": learn.SubsampleAggregate(LinearRegression(), GDP, size=3, bound=2.0, parts=10).fit(X, Y),
        "search": learn.PrivateSearch(
            learn.LogisticRegression(GDP),
            [{"row_norm": 0.5}, {"row_norm": 2.0, "method": learn.Descent(steps=3)}],
            GDP,
            tries=learn.FixedTries(3),
            validation=(X[:20], LABELS[:20]),
        ).fit(X, LABELS),
        "pipeline": Pipeline(
            [
                ("bounds", bounds),
                ("model", learn.LogisticRegression(GDP).fit(bounds.fit().transform(X), LABELS)),
            ]
        ),
    }


def numbers(model: Any) -> dict[str, list[str]]:
    """What a model tells, exactly."""
    last = model[-1] if isinstance(model, Pipeline) else model
    loss = last.loss_ if len(getattr(model, "steps", ())) < 3 else learn.loss(model)
    # Anew: the last digits of a bound depend on what the loss was asked before.
    fresh = losses.Loss(loss.terms_remove, loss.terms_add, loss.adjacency, loss.expression)
    found = {"epsilon": fresh.epsilon_bounds(1e-4)}
    for name in ("coef_", "intercept_", "value_", "best_score_"):
        if hasattr(last, name):
            found[name] = np.ravel(getattr(last, name))
    for n, step in enumerate(model[:-1] if isinstance(model, Pipeline) else [model]):
        for name in ("lower_", "upper_", "mean_", "scale_"):
            if hasattr(step, name):
                found[f"{name}{n}"] = getattr(step, name)
    told = {name: [repr(float(x)) for x in values] for name, values in found.items()}
    if hasattr(model, "predict"):
        told["predicted"] = [str(x) for x in np.ravel(model.predict(NEW))]
    elif hasattr(model, "transform"):
        told["predicted"] = [repr(float(x)) for x in np.ravel(model.transform(NEW))]
    return told


LATER = {
    "adaptive": ("calibrated posterior", "local logistic"),
    "classes": ("multinomial", "one against the rest", "pipeline of columns"),
    "scaling": ("private bounds", "private scaler", "pipeline of found bounds"),
    "weights": ("logistic, weights", "multinomial, weights"),
}
"""Models that came after the file of a version was made: they have files of their own."""


def main(folder: Path) -> None:
    """Those files that are not there yet."""
    later = {name for names in LATER.values() for name in names}
    first = [name for name in fitted() if name not in later]
    for ending, names in {"": first, **{f"-{word}": list(names) for word, names in LATER.items()}}.items():
        path = folder / f"models-v{VERSION}{ending}.json"
        if path.exists():
            print(f"{path} is there, and is never written over.")
            continue
        models = fitted()
        told = {
            name: {"text": learn.to_json(models[name]), "numbers": numbers(models[name])} for name in names
        }
        path.write_text(json.dumps(told, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
