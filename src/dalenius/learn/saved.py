"""Models in words: what identifies a fit in a ledger, and what a saved model file holds.

Every model and every part of one has a tag and a word for each parameter, listed here and never changed; a class or a
parameter may be renamed. A part that cannot be written, such as a function, is refused (`CannotBeWritten`).

    dp.learn.save(model, "model.json")       released numbers, public parameters, and the loss
    model = dp.learn.load("model.json")      the same model: predictions and bounds to the last bit
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from dalenius.calculus.guarantees import Guarantee, TradeOff, from_record
from dalenius.calculus.saved import loss_record, read_loss
from dalenius.core.checks import path as checked_path
from dalenius.core.record import JSON, CannotBeWritten, exact, headed, opened, unknown
from dalenius.errors import InvalidParameter
from dalenius.learn.models.fitted_pipeline import FittedPipeline

FORMAT, VERSION = "dalenius model", 1

Words = tuple[str, ...]

_LINEAR: Words = ("guarantee", "row_norm", "rows", "intercept_scale")
_METHOD: Words = ("noise_ratio", "method")
_CLASSES: Words = ("classes", "class_weight")
_DRAWN: Words = (*_LINEAR, "target_bounds", "coef_bound")

WORDS: dict[str, tuple[str, Words]] = {
    "logistic_regression": ("LogisticRegression", (*_LINEAR, *_METHOD, *_CLASSES, "knee")),
    "linear_svc": ("LinearSVC", (*_LINEAR, *_METHOD, *_CLASSES, "width")),
    "multinomial_regression": ("MultinomialRegression", (*_LINEAR, "noise_ratio", *_CLASSES, "knee")),
    "one_vs_rest": ("OneVsRest", (*_LINEAR, *_METHOD, *_CLASSES, "knee")),
    "huber_regression": ("HuberRegression", (*_LINEAR, *_METHOD, "target_bounds", "knee")),
    "poisson_regression": ("PoissonRegression", (*_LINEAR, *_METHOD, "most", "knee")),
    "linear_regression": ("LinearRegression", (*_LINEAR, "target_bounds", "share", "shrink")),
    "posterior_sample_regression": ("PosteriorSampleRegression", (*_LINEAR, "target_bounds")),
    "adaptive_posterior_sample_regression": (
        "AdaptivePosteriorSampleRegression",
        (*_LINEAR, "target_bounds"),
    ),
    "calibrated_posterior_sample_regression": (
        "CalibratedPosteriorSampleRegression",
        (*_LINEAR, "target_bounds", "ridge"),
    ),
    "local_logistic_regression": ("LocalLogisticRegression", (*_LINEAR, *_CLASSES, "ridge")),
    "exponential_least_squares": ("ExponentialLeastSquares", _DRAWN),
    "gradient_least_squares": ("GradientLeastSquares", _DRAWN),
    "exponential_quantile_regression": ("ExponentialQuantileRegression", (*_DRAWN, "level")),
    "gradient_quantile_regression": ("GradientQuantileRegression", (*_DRAWN, "level")),
    "exponential_mean": ("ExponentialMean", ("guarantee", "bounds")),
    "gradient_mean": ("GradientMean", ("guarantee", "bounds")),
    "exponential_quantile": ("ExponentialQuantile", ("guarantee", "bounds", "level")),
    "gradient_quantile": ("GradientQuantile", ("guarantee", "bounds", "level")),
    "subsample_aggregate": (
        "SubsampleAggregate",
        ("estimator", "guarantee", "size", "bound", "parts", "extract", "timeout"),
    ),
    "private_search": (
        "PrivateSearch",
        ("estimator", "candidates", "guarantee", "tries", "validation", "scoring", "score_share"),
    ),
    "private_bounds": ("PrivateBounds", ("guarantee", "within", "share")),
    "private_scaler": ("PrivateScaler", ("guarantee", "bounds", "deviations")),
    "public_bounds": ("PublicBounds", ("bounds",)),
    "public_columns": ("PublicColumns", ("bounds", "categories")),
    "descent": ("Descent", ("steps", "rate", "optimiser", "learning_rate", "momentum")),
    "fixed_tries": ("FixedTries", ("number",)),
    "geometric_tries": ("GeometricTries", ("mean",)),
    "negative_binomial_tries": ("NegativeBinomialTries", ("mean", "eta")),
    "poisson_tries": ("PoissonTries", ("mean",)),
}
"""By tag: what `dalenius.learn` calls the class today, and the words for its parameters.

The words are those of the record.
"""

ADDED: dict[tuple[str, str], Any] = {
    ("subsample_aggregate", "timeout"): 60.0,
    ("logistic_regression", "class_weight"): None,
    ("linear_svc", "class_weight"): None,
    ("multinomial_regression", "class_weight"): None,
    ("one_vs_rest", "class_weight"): None,
    ("local_logistic_regression", "class_weight"): None,
}
"""(tag, word) of a parameter that came later -> its default then: with it, it is left out, and records stay."""

RELEASED: dict[str, str] = {
    "coefficients": "coef_",
    "intercept": "intercept_",
    "value": "value_",
    "lower": "lower_",
    "upper": "upper_",
    "mean": "mean_",
    "scale": "scale_",
}
"""What a fit releases: the word of a record, and the attribute of a fitted model."""

FINDS_SCALE = ("private_bounds", "private_scaler")
"""Tags of steps before a model that are fitted to the data, at a price of their own."""


@cache
def _classes() -> dict[str, type]:
    from dalenius import learn

    return {tag: getattr(learn, name) for tag, (name, _) in WORDS.items()}


def tag_of(model: object) -> str | None:
    """The tag of a model or a part of one; None for what is not ours."""
    return next((tag for tag, kind in _classes().items() if type(model) is kind), None)


# -- parameters ---------------------------------------------------------------------------------------


def model_record(model: Any, *, arrays: bool = False) -> dict[str, JSON]:
    """A model, or a part of one, with all its public parameters.

    arrays: whether public arrays among the parameters are written out; else a digest stands for each.
    """
    tag = tag_of(model)
    if isinstance(model, Pipeline) and model.steps and tag_of(model.steps[0][1]) in FINDS_SCALE:
        steps = [{"model": model_record(step, arrays=arrays)} for _, step in model.steps]
        return {"kind": "pipeline", "parameters": {"steps": steps}}
    if tag is None:
        return _estimator_record(model, arrays)
    words = {word: getattr(model, word) for word in WORDS[tag][1]}
    told = {
        word: value for word, value in words.items() if (tag, word) not in ADDED or value != ADDED[tag, word]
    }
    return {"kind": tag, "parameters": {word: _record(value, arrays) for word, value in told.items()}}


def read_model(record: Mapping[str, JSON]) -> Any:
    """The model that `model_record` wrote, not fitted."""
    tag = record["kind"]
    if tag == "estimator":
        return _read_estimator(record)
    if tag == "pipeline":
        steps = _read(record["parameters"]["steps"])
        return Pipeline([(f"step {n}", step) for n, step in enumerate(steps, start=1)])
    if tag not in WORDS:
        raise unknown("a model", tag, InvalidParameter)
    words = {word: _read(value) for word, value in record["parameters"].items()}
    return _classes()[tag](**words)


def asked_model(record: JSON) -> Any:
    """The model, not fitted, of a record that anybody may have written; it may raise whatever a wrong one comes to.

    Only models of ours: parameters of others may name files of whoever fits them.
    """
    rest = [record]
    while rest:
        part = rest.pop()
        if isinstance(part, dict) and part.get("kind") == "estimator":
            raise InvalidParameter(
                f"the model holds an estimator of the class {part.get('class')!r}; only models of dp.learn travel. Use "
                "a session on the data."
            )
        rest += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    known = (*WORDS, "pipeline")
    if not isinstance(record, dict) or set(record) != {"kind", "parameters"} or record["kind"] not in known:
        raise InvalidParameter(
            "a model is an object with 'parameters', and a 'kind' which is one of " + ", ".join(known) + "."
        )
    return read_model(record)


def _estimator_record(model: Any, arrays: bool) -> dict[str, JSON]:
    """An estimator of another package, by the name under which everybody finds its class."""
    if not hasattr(model, "get_params") or isinstance(model, type):
        raise CannotBeWritten(f"a {type(model).__name__} cannot be written down.")
    settings = {name: _record(value, arrays) for name, value in model.get_params(deep=False).items()}
    return {"kind": "estimator", "class": _importable(type(model)), "parameters": settings}


def _importable(kind: type) -> str:
    """A class that everybody finds under one name: not one that was typed into a notebook, and may change."""
    found: Any = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    package = kind.__module__.partition(".")[0]
    if package in ("__main__", "dalenius") or found is not kind:
        raise CannotBeWritten(f"the class {kind.__qualname__} cannot be found by its name.")
    return f"{kind.__module__}.{kind.__qualname__}"


def _read_estimator(record: Mapping[str, JSON]) -> Any:
    """Only scikit-learn's: a file must not be able to name any function of any module."""
    module, _, name = str(record["class"]).rpartition(".")
    if module.partition(".")[0] != "sklearn":
        raise InvalidParameter(
            f"the model holds an estimator of the class {record['class']!r}; only those of scikit-learn are loaded."
        )
    from sklearn.utils import all_estimators

    known = {f"{kind.__module__}.{kind.__qualname__}": kind for _, kind in all_estimators()}
    if record["class"] not in known:
        raise InvalidParameter(
            f"the model holds scikit-learn's {name}, which the installed version does not have in {module}."
        )
    return known[record["class"]](**{word: _read(value) for word, value in record["parameters"].items()})


def _record(value: Any, arrays: bool) -> JSON:
    """A parameter by its value and with its type: `1`, `True`, `1.0` and `"1"` are four things."""
    if isinstance(value, np.generic):
        value = _scalar(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return {"number": exact(value)}
    if isinstance(value, str):
        return {"text": str(value)}
    if isinstance(value, tuple | list):
        return [_record(part, arrays) for part in value]
    if isinstance(value, Mapping):
        pairs = [[_record(key, arrays), _record(part, arrays)] for key, part in value.items()]
        return {"mapping": sorted(pairs, key=json.dumps)}
    if isinstance(value, np.ndarray):
        return {"array": _array_record(value, arrays)}
    if isinstance(value, Guarantee):
        return {"guarantee": _guarantee_record(value)}
    return {"model": model_record(value, arrays=arrays)}


def _read(record: JSON) -> Any:
    if isinstance(record, list):
        return tuple(_read(part) for part in record)
    if not isinstance(record, dict):
        return record
    ((kind, value),) = record.items()
    if kind == "mapping":
        return {_read(key): _read(part) for key, part in value}
    known: dict[str, Callable[[Any], Any]] = {
        "number": float,
        "text": str,
        "array": _read_array,
        "guarantee": from_record,
        "model": read_model,
    }
    if kind not in known:
        raise unknown("a parameter", kind, InvalidParameter)
    return known[kind](value)


def _guarantee_record(guarantee: Guarantee) -> dict[str, JSON]:
    if isinstance(guarantee, TradeOff):
        raise CannotBeWritten("a promise that is a function, TradeOff(f), cannot be written down.")
    return dict(guarantee.record())


def _scalar(value: Any) -> Any:
    """NumPy's scalar as Python's, where that is the same value."""
    if isinstance(value, np.bool_ | np.integer | np.float64 | np.float32 | np.float16 | np.str_):
        return value.item()
    raise CannotBeWritten(f"a {type(value).__name__} cannot be written down.")


ARRAYS = {"b": ("bool", "?"), "i": ("integer", "<i8"), "u": ("integer", "<i8"), "f": ("number", "<f8")}


def _array_record(value: Any, arrays: bool) -> dict[str, JSON]:
    if value.dtype.kind not in ARRAYS or value.dtype.itemsize > 8 or value.dtype == np.uint64:
        raise CannotBeWritten(f"an array of {value.dtype} cannot be written down.")
    word, bytes_ = ARRAYS[value.dtype.kind]
    told: dict[str, JSON] = {"type": word, "shape": list(value.shape)}
    if not arrays:
        held = np.ascontiguousarray(value, dtype=bytes_).tobytes()
        return {**told, "digest": hashlib.sha256(held).hexdigest()}
    flat = value.ravel().tolist()
    return {**told, "values": [exact(x) for x in flat] if word == "number" else flat}


def _read_array(record: Mapping[str, JSON]) -> Any:
    types = {"bool": np.bool_, "integer": np.int64, "number": np.float64}
    if record["type"] not in types:
        raise unknown("an array", record["type"], InvalidParameter)
    values = record["values"]
    values = [float(x) for x in values] if record["type"] == "number" else values
    return np.array(values, dtype=types[record["type"]]).reshape(record["shape"])


# -- what was released -------------------------------------------------------------------------------


def released_record(fitted: Any) -> dict[str, JSON]:
    """What a fit releases: its coefficients, or which candidate was best, its score, and its coefficients."""
    if tag_of(fitted) == "private_search":
        best = next(n for n, known in enumerate(fitted.candidates) if known is fitted.best_params_)
        score = float(fitted.best_score_)
        return {
            "best": best,
            "score": None if math.isnan(score) else exact(score),
            "guarantee": _guarantee_record(fitted.best_estimator_.guarantee),
            "model": released_record(fitted.best_estimator_),
        }
    found = {word: getattr(fitted, name) for word, name in RELEASED.items() if hasattr(fitted, name)}
    return {word: _array_record(np.asarray(value, dtype=float), True) for word, value in found.items()}


def restore(model: Any, record: Mapping[str, JSON]) -> Any:
    """Put what was released into a model that is not fitted, and return the model that was fitted in the end."""
    from sklearn.base import clone

    if tag_of(model) == "private_search":
        params = model.candidates[record["best"]]
        best = clone(model.estimator).set_params(**params, guarantee=from_record(record["guarantee"]))
        model.best_params_, model.best_estimator_ = params, best
        model.best_score_ = math.nan if record["score"] is None else float(record["score"])
        return restore(best, record["model"])
    for word, kept in record.items():
        if word not in RELEASED:
            raise unknown("a released number", word, InvalidParameter)
        value = _read_array(kept)
        setattr(model, RELEASED[word], value if value.ndim else float(value))
    return model


# -- files -------------------------------------------------------------------------------------------


def to_json(model: Any) -> str:
    """A fitted model as text: what was released, its public parameters, and its loss.

    Parameters
    ----------
    model : estimator
        A fitted model of `dp.learn`, the pipeline that `Session.fit` returns, or one of `PrivateBounds` or
        `PrivateScaler` and a model.

    Returns
    -------
    str
        JSON with tags and a version (docs/record-format.md).

    Raises
    ------
    InvalidParameter
        If the model is not fitted, or holds a function, which cannot be written down.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> X = np.linspace(-1, 1, 500)[:, None]; y = (X[:, 0] > 0).astype(int)
    >>> model = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5)).fit(X, y)
    >>> again = dp.learn.from_json(dp.learn.to_json(model))
    >>> bool((again.coef_ == model.coef_).all()), again.loss_ == model.loss_
    (True, True)
    """
    steps: list[Any] = []
    if isinstance(model, Pipeline):
        steps, model = _steps(model)
    features = _features(steps, _with_cost)
    names = getattr([*steps, model][0], "feature_names_in_", None)
    named: dict[str, JSON] = {} if names is None else {"names": [str(name) for name in names]}
    return headed(FORMAT, VERSION, {"features": features, **named, **_with_cost(model)})


def told_model(model: Any) -> dict[str, JSON]:
    """A fitted model but for what it cost: its features, its public parameters, and what was released."""
    steps: list[Any] = []
    if isinstance(model, Pipeline):
        steps, model = _steps(model)
    return {"features": _features(steps, _fitted_record), **_fitted_record(model)}


def _features(steps: list[Any], written: Callable[[Any], dict[str, JSON]]) -> JSON:
    """What stands before a model in a pipeline."""
    if not steps:
        return None
    if tag_of(steps[0]) in FINDS_SCALE:
        return {"kind": "steps", "steps": [written(step) for step in steps]}
    return model_record(steps[0], arrays=True)


def asked_fitted(record: JSON) -> Pipeline:
    """The fitted model of a `told_model` that anybody may have written, to predict with; it may raise whatever a wrong
    one comes to. Its `loss_` is None: what it cost was not told.
    """
    if not isinstance(record, dict) or set(record) != {"features", "model", "released"}:
        raise InvalidParameter(
            "a fitted model is an object with 'features', 'model' and 'released', as dp.learn.to_json writes them."
        )
    scale, model = (asked_model(record[word]) for word in ("features", "model"))
    if tag_of(scale) not in ("public_bounds", "public_columns"):
        raise InvalidParameter("the features of a fitted model are public bounds, or public columns.")
    scale.fit()
    columns = sum(scale.sizes) if hasattr(scale, "sizes") else len(scale.bounds)
    mark(model, restore(model, record["released"]), columns, None)
    return FittedPipeline([("bounds", scale), ("model", model)])


def from_json(text: str) -> Any:
    """The fitted model that `to_json` wrote: it predicts, and its `loss_` tells, the same numbers to the last bit.

    Parameters
    ----------
    text : str
        What `to_json` returned, of this version of the format or an earlier one.

    Returns
    -------
    estimator
        The model; a pipeline where one was saved.

    Raises
    ------
    InvalidParameter
        If the text is not a saved model, or of a newer version: then install a newer dalenius.

    Examples
    --------
    >>> import dalenius as dp
    >>> mean = dp.learn.ExponentialMean(dp.PureDP(1.0), bounds=(0, 10)).fit([3.0] * 1000)
    >>> dp.learn.from_json(dp.learn.to_json(mean)).value_ == mean.value_
    True
    """
    record = opened(text, FORMAT, VERSION)
    try:
        model, features = _read_fitted(record), record["features"]
        if features is None:
            return _named(model, record)
        if features["kind"] == "steps":
            steps = [_read_fitted(step) for step in features["steps"]]
            _named(steps[0], record)
            return FittedPipeline([*((str(tag_of(step)), step) for step in steps), ("model", model)])
        return FittedPipeline([("bounds", _named(read_model(features).fit(), record)), ("model", model)])
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as problem:
        if isinstance(problem, InvalidParameter):
            raise
        raise InvalidParameter("this dalenius model is not written as we write them.") from None


def _named(first: Any, record: Mapping[str, JSON]) -> Any:
    """What takes the rows, with the names of their columns, if they had some: so that their order is looked at."""
    names = record.get("names")
    if names is None:
        return first
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidParameter("this dalenius model is not written as we write them.")
    if len(names) != first.n_features_in_:
        raise InvalidParameter("this dalenius model is not written as we write them.")
    first.feature_names_in_ = np.array(names, dtype=object)
    return first


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file; see `to_json`.

    Parameters
    ----------
    model : estimator
        A fitted model of `dp.learn`, the pipeline that `Session.fit` returns, or one of `PrivateBounds` or
        `PrivateScaler` and a model.
    path : str or path
        The file; one that is there is replaced.

    Raises
    ------
    InvalidParameter
        If the model cannot be written down, or the file cannot be written.

    Examples
    --------
    >>> import tempfile, dalenius as dp
    >>> mean = dp.learn.ExponentialMean(dp.PureDP(1.0), bounds=(0, 10)).fit([3.0] * 1000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.learn.save(mean, f"{folder}/mean.json")
    ...     dp.learn.load(f"{folder}/mean.json").value_ == mean.value_
    True
    """
    text, path = to_json(model), checked_path("path", path)
    try:
        path.write_text(text + "\n", encoding="ascii")
    except OSError as problem:
        raise InvalidParameter(f"{os.fspath(path)!r} cannot be written: {problem.strerror}.") from None


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted model in a file that `save` wrote; see `from_json`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The model; a pipeline where one was saved.

    Raises
    ------
    InvalidParameter
        If the file cannot be read, is not a saved model, or is of a newer version.

    Examples
    --------
    >>> import tempfile, dalenius as dp
    >>> mean = dp.learn.GradientMean(dp.PureDP(1.0), bounds=(0, 10)).fit([3.0] * 1000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.learn.save(mean, f"{folder}/mean.json")
    ...     dp.learn.load(f"{folder}/mean.json").loss_ == mean.loss_
    True
    """
    path = checked_path("path", path)
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter(f"there is no saved model to be read in {os.fspath(path)!r}.") from None
    return from_json(text)


def _steps(model: Pipeline) -> tuple[list[Any], Any]:
    *steps, last = (step for _, step in model.steps)
    tags = [tag_of(step) for step in steps]
    is_public = len(tags) == 1 and tags[0] in ("public_bounds", "public_columns")
    if not is_public and not (tags and all(tag in FINDS_SCALE for tag in tags)):
        raise CannotBeWritten(
            "only a pipeline of public bounds and a model, as Session.fit returns it, or of PrivateBounds, "
            "PrivateScaler and a model is saved."
        )
    return steps, last


def _read_fitted(record: Mapping[str, JSON]) -> Any:
    model = read_model(record["model"])
    mark(model, restore(model, record["released"]), record["columns"], read_loss(record["loss"]))
    return model


def _fitted_record(model: Any) -> dict[str, JSON]:
    if tag_of(model) is None and hasattr(model, "student_"):
        raise CannotBeWritten(
            f"a {type(model).__name__} is not written down: its student is an estimator of another package, which has "
            "its own format. All that was released is in `labels_`, for your public queries: save these, or `student_` "
            "by the tools of its package (joblib.dump, skops)."
        )
    if tag_of(model) is None or not hasattr(model, "price"):
        raise CannotBeWritten(f"{type(model).__name__} is not a model of dp.learn.")
    if not hasattr(model, "loss_"):
        raise InvalidParameter(f"this {type(model).__name__} is not fitted yet; there is nothing to save.")
    return {
        "model": model_record(model, arrays=True),
        "released": released_record(model),
    }


def mark(model: Any, fitted: Any, columns: int | None, loss: Any) -> None:
    """What a fit leaves besides what it releases: the number of columns, the classes, and the loss."""
    from sklearn.base import is_classifier

    for part in (model, fitted):
        part.loss_ = loss
        if columns is not None:
            part.n_features_in_ = columns
        if is_classifier(part):
            part.classes_ = np.array(fitted.classes)


def _with_cost(model: Any) -> dict[str, JSON]:
    columns = getattr(model, "n_features_in_", None)
    return {**_fitted_record(model), "columns": columns, "loss": loss_record(model.loss_)}
