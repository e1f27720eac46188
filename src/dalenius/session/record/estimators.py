"""Settings of estimators and tests in words: what identifies an inference in a ledger.

Each has a tag and a word for each setting, listed here and never changed; a class or a field may be renamed.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from scipy import stats
from scipy.stats.distributions import rv_frozen

from dalenius.calculus.guarantees import Guarantee, TradeOff, from_record
from dalenius.core.adjacency import Adjacency, adjacency_record, read_adjacency
from dalenius.core.checks import shown
from dalenius.core.record import JSON, exact
from dalenius.errors import InvalidParameter
from dalenius.tables.ask.reading import bounded, reading
from dalenius.tables.facts.nearest import nearest

_ROWS = ("guarantee", "adjacency", "intercept", "x_center", "x_scale", "bounds", "reach")
_RESPONSES = ("scale", "y_center", "y_scale", "y_bounds")

WORDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "linear_regression": ("LinearRegression", (*_ROWS, *_RESPONSES, "loss", "method", "knee")),
    "logistic_regression": ("LogisticRegression", (*_ROWS, "classes")),
    "poisson_regression": ("PoissonRegression", (*_ROWS, "most")),
    "multinomial_regression": ("MultinomialRegression", (*_ROWS, "classes")),
    "m_estimate": ("MEstimate", (*_ROWS, *_RESPONSES, "slope", "outcomes")),
}
"""By tag: what `dalenius.infer` calls the class today, and the words for its settings."""

_PROMISE = ("guarantee", "adjacency")

TESTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "mean_test": ("MeanTest", (*_PROMISE, "bounds", "mean", "alternative")),
    "two_sample_mean_test": ("TwoSampleMeanTest", (*_PROMISE, "bounds", "alternative")),
    "binomial_test": ("BinomialTest", (*_PROMISE, "share", "alternative")),
    "goodness_of_fit_test": ("GoodnessOfFitTest", (*_PROMISE, "levels", "shares")),
    "independence_test": ("IndependenceTest", (*_PROMISE, "x_levels", "y_levels")),
    "anova": ("AnovaTest", (*_PROMISE, "bounds", "levels")),
    "kolmogorov_smirnov_test": ("KolmogorovSmirnovTest", (*_PROMISE, "cdf")),
    "two_sample_kolmogorov_smirnov_test": ("TwoSampleKolmogorovSmirnovTest", _PROMISE),
    "mann_whitney_test": ("MannWhitneyTest", (*_PROMISE, "alternative")),
    "signed_rank_test": ("SignedRankTest", (*_PROMISE, "alternative")),
    "kruskal_wallis_test": ("KruskalWallisTest", (*_PROMISE, "levels")),
}
"""The same of tests."""

ESTIMATES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "mean": ("Mean", (*_PROMISE, "bounds", "location", "moment", "sd_at_most")),
    "variance": ("Variance", (*_PROMISE, "bounds")),
    "std": ("Std", (*_PROMISE, "bounds")),
    "proportion": ("Proportion", _PROMISE),
    "difference_of_means": ("DifferenceOfMeans", (*_PROMISE, "bounds")),
    "median": ("Median", (*_PROMISE, "bounds", "bins")),
    "quantiles": ("Quantiles", (*_PROMISE, "bounds", "bins", "levels")),
    "correlation": ("Correlation", (*_PROMISE, "x_bounds", "y_bounds")),
    "contingency": ("Contingency", (*_PROMISE, "x_levels", "y_levels")),
    "huber_location": ("HuberLocation", (*_PROMISE, "bounds", "c", "size", "share")),
}
"""The same of means, shares and the like."""

KNOWN = {**WORDS, **TESTS, **ESTIMATES}

FIELDS: Mapping[tuple[str, str], str] = {("linear_regression", "loss"): "loss_name"}
"""(tag, word) of a setting that the class calls otherwise."""

BEFORE: Mapping[str, object] = {"reach": 1.0}
"""Words that came later, and what estimators without them did: then they are left out, as in records of that time."""


@cache
def _tags() -> dict[type, str]:
    from dalenius import infer

    return {getattr(infer, name): tag for tag, (name, _) in KNOWN.items()}


def estimator_record(estimator: object) -> dict[str, JSON]:
    """An estimator with all its settings; refused where sessions do not know it."""
    tag = _tags().get(type(estimator))
    if tag is None:
        names = [name for name, _ in KNOWN.values()]
        called = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise InvalidParameter(
            f"{called} is not an estimator that a session can pay for, with its settings; {nearest(called, names)}: "
            "dp.infer.LinearRegression(guarantee=dp.GDP(0.5)), for instance."
        )
    told = {FIELDS.get((tag, word), word) for word in KNOWN[tag][1]}
    if told != {field.name for field in fields(estimator)}:  # type: ignore[arg-type]
        # Two estimators that differ in it would be one question.
        raise InvalidParameter(f"{type(estimator).__name__} has a setting that a ledger has no word for.")
    settings = {word: getattr(estimator, FIELDS.get((tag, word), word)) for word in KNOWN[tag][1]}
    said = {word: value for word, value in settings.items() if word not in BEFORE or value != BEFORE[word]}
    return {"kind": tag, "settings": {word: _record(value) for word, value in said.items()}}


def instead_of(function: str, promise: str) -> str:
    """What a session is given in place of a function of `dalenius.infer`."""
    if function == "paired_mean_test":
        return f'a session is given the differences, dp.infer.MeanTest({promise}) of "after - before"'
    if function not in KNOWN:
        return f"a session has nothing like it; it takes {', '.join(name for name, _ in KNOWN.values())} of dp.infer"
    return f"a session is given the question alone, dp.infer.{KNOWN[function][0]}({promise})"


def read_estimator(record: JSON) -> Any:
    """The estimator or test whose `estimator_record` this is, whoever wrote it; InvalidParameter for anything else.

    What is left out is as by default. A setting that is a function has no record that could be read.

    >>> import dalenius as dp
    >>> read_estimator(estimator_record(dp.infer.MeanTest(dp.GDP(0.5), mean=40.0, bounds=(0, 100)))).mean
    40.0
    """
    return reading(lambda: _estimator(bounded(record)))


def _estimator(record: JSON) -> Any:
    from dalenius import infer

    tag = record.get("kind") if isinstance(record, dict) else None
    if not isinstance(tag, str) or tag not in KNOWN or set(record) != {"kind", "settings"}:
        raise InvalidParameter(
            f"the estimator is {shown(record)}; it must be an object with 'settings', and a 'kind' which is one of "
            f"{', '.join(KNOWN)}."
        )
    name, words = KNOWN[tag]
    for word in record["settings"]:
        if word not in words:
            raise InvalidParameter(f"a {tag} has no setting {word!r}; {nearest(str(word), words)}.")
    given = {FIELDS.get((tag, word), word): _read(value) for word, value in record["settings"].items()}
    return getattr(infer, name)(**given)


def _read(record: JSON) -> Any:
    if isinstance(record, list):
        return tuple(map(_read, record))
    if not isinstance(record, dict):
        return record
    if "law" in record:
        law = getattr(stats, str(record["law"]), None)
        if not isinstance(law, stats.rv_continuous) or set(record) != {"law", "numbers", "named"}:
            raise InvalidParameter(f"{shown(record['law'])} is not a distribution of scipy.stats.")
        return law(*_read(record["numbers"]), **{str(k): _read(v) for k, v in record["named"].items()})
    ((kind, value),) = record.items()
    known: dict[str, Any] = {
        "number": float,
        "text": str,
        "adjacency": read_adjacency,
        "guarantee": from_record,
    }
    if kind == "like_no_other":
        raise InvalidParameter("a setting is a function, which does not travel; use a session on the data.")
    if kind not in known or (kind != "guarantee" and not isinstance(value, str)):
        raise InvalidParameter(f"a setting is {shown(record)}, which is not as it is written in a question.")
    return known[kind](value)


def _record(value: Any) -> JSON:
    """A setting by its value and with its type."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return {"number": exact(value)}
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, Adjacency):
        return {"adjacency": adjacency_record(value)}
    if isinstance(value, Guarantee) and not isinstance(value, TradeOff):
        return {"guarantee": value.record()}
    if isinstance(value, Sequence):
        return [_record(part) for part in value]
    if isinstance(value, rv_frozen):
        named = {name: _record(part) for name, part in value.kwds.items()}
        return {"law": value.dist.name, "numbers": _record(value.args), "named": named}
    if callable(value):  # it may be another function tomorrow: another question every time
        return {"like_no_other": uuid.uuid4().hex}
    raise InvalidParameter(
        f"a setting is a {type(value).__name__}, which a ledger cannot keep; use plain numbers."
    )
