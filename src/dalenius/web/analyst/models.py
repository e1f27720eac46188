"""Regressions, estimates, tests and models in a form: Python's own objects make the request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from sklearn.base import ClassifierMixin, RegressorMixin

from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.core.adjacency import Adjacency
from dalenius.core.checks import either, shown
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.session.record.estimators import FIELDS, KNOWN, estimator_record
from dalenius.session.record.estimators import WORDS as REGRESSIONS
from dalenius.session.session import Session
from dalenius.tables.facts.forms import BROKEN

MOST = 100
"""Features of one model."""


class Form(BaseModel):
    """A model, an estimate or a test as the form has it; what is empty is not said."""

    model_config = ConfigDict(extra="forbid")
    what: str = Field("", max_length=100, description="its word, as linear, mean or fit logistic")
    table: str = Field("", max_length=200, description="of a data set with several tables")
    features: str = Field(
        "", max_length=20_000, description="columns or expressions, with commas between them"
    )
    target: str = Field("", max_length=20_000, description="what is explained or compared")
    where: str = Field("", max_length=20_000, description="a condition: only rows where it holds")
    value: str = Field("", max_length=100, description="the number under the hypothesis")
    settings: str = Field("", max_length=20_000, description="name = JSON, with semicolons between them")
    amount: str = Field("", max_length=100, description="what it may cost: epsilon, rho or mu")


@dataclass(frozen=True)
class What:
    """Something to be fitted or tested: its parts, in words; a part that is empty is not asked for."""

    title: str
    group: str
    name: str
    """As dp.infer, or dp.learn for a fit, calls it."""
    features: str
    target: str = ""
    value: str = ""
    """The word of the number under the hypothesis."""
    many: bool = False
    fit: bool = False
    loose: bool = False
    """Whether Python alone says what it is of: a target may be there or not."""

    def is_paid_by(self, promise: Guarantee) -> bool:
        """Whether a budget of this kind can pay for it at all."""
        return isinstance(promise, ApproxDP) or self.name not in APPROXIMATE

    @property
    def settings(self) -> tuple[str, ...]:
        """What may be said beside it."""
        found = next(words for name, words in _known(self.fit).values() if name == self.name)
        return tuple(word for word in found if word not in ("guarantee", "adjacency", self.value))

    def make(self, guarantee: Guarantee, adjacency: Adjacency, settings: Mapping[str, Any]) -> Any:
        """The object that Python has for it."""
        import dalenius.infer
        import dalenius.learn

        if self.fit:
            return getattr(dalenius.learn, self.name)(guarantee, **settings)
        named = {
            FIELDS.get((tag, word), word): value
            for tag in _tags(self.name)
            for word, value in settings.items()
        }
        return getattr(dalenius.infer, self.name)(guarantee=guarantee, adjacency=adjacency, **named)


def _known(fit: bool) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    from dalenius.learn.saved import WORDS

    return WORDS if fit else KNOWN


def _tags(name: str) -> list[str]:
    return [tag for tag, (called, _) in KNOWN.items() if called == name]


APPROXIMATE = frozenset(
    {
        "PosteriorSampleRegression",
        "AdaptivePosteriorSampleRegression",
        "CalibratedPosteriorSampleRegression",
        "LocalLogisticRegression",
        "HuberLocation",
    }
)
"""Those whose loss no rho, no mu and no epsilon alone bounds: they keep ApproxDP, and only its budgets pay for it."""

COLUMNS, COLUMN, CONDITION, VALUES = "columns", "a column", "a condition", "a column of values"
WITH_INTERVALS, TESTED, MODELS = "estimates with intervals", "tests", "models to predict with"
COMMON: Mapping[str, What] = {
    "linear": What(
        "linear regression with intervals", WITH_INTERVALS, "LinearRegression", COLUMNS, COLUMN, many=True
    ),
    "logistic": What(
        "logistic regression with intervals",
        WITH_INTERVALS,
        "LogisticRegression",
        COLUMNS,
        CONDITION,
        many=True,
    ),
    "mean": What("mean with an interval", WITH_INTERVALS, "Mean", COLUMN),
    "proportion": What("share of rows with an interval", WITH_INTERVALS, "Proportion", CONDITION),
    "difference": What("difference of two means", WITH_INTERVALS, "DifferenceOfMeans", CONDITION, VALUES),
    "correlation": What("correlation", WITH_INTERVALS, "Correlation", COLUMN, COLUMN),
    "mean test": What("test of a mean", TESTED, "MeanTest", COLUMN, value="mean"),
    "share test": What("test of a share", TESTED, "BinomialTest", CONDITION, value="share"),
    "two means": What("test of two means", TESTED, "TwoSampleMeanTest", CONDITION, VALUES),
    "fit linear": What(
        "model to predict a number", MODELS, "LinearRegression", COLUMNS, COLUMN, many=True, fit=True
    ),
    "fit logistic": What(
        "model to predict a condition", MODELS, "LogisticRegression", COLUMNS, CONDITION, many=True, fit=True
    ),
}
"""Those that most people want, in words of their own."""

NOT_IN_A_FORM = frozenset({"m_estimate", "kolmogorov_smirnov_test"})
"""Estimators with a setting that is a function or a law, which cannot be written into a field."""


def _others() -> dict[str, What]:
    """All others that a session takes, from the lists by which the ledger knows them."""
    import dalenius.infer
    import dalenius.learn
    from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest
    from dalenius.learn.saved import WORDS

    named = {(each.name, each.fit) for each in COMMON.values()}
    found = {}
    for tag, (name, _) in KNOWN.items():
        if (name, False) in named or tag in NOT_IN_A_FORM:
            continue
        is_test = issubclass(getattr(dalenius.infer, name), HypothesisTest)
        group = TESTED if is_test else WITH_INTERVALS
        columns = COLUMNS if tag in REGRESSIONS else COLUMN
        found[tag] = What(
            tag.replace("_", " "), group, name, columns, "a column, where it has one", many=True, loose=True
        )
    for tag, (name, words) in WORDS.items():
        kind = getattr(dalenius.learn, name)
        can = issubclass(kind, RegressorMixin | ClassifierMixin) and "estimator" not in words
        if can and (name, True) not in named:
            title = tag.replace("_", " ")
            found[f"fit {tag}"] = What(
                title, MODELS, name, COLUMNS, "a column or a condition", many=True, fit=True
            )
    return found


@cache
def whats() -> Mapping[str, What]:
    """All that can be asked for, by its word in the form."""
    return {**COMMON, **_others()}


def request(session: Session, given: Mapping[str, str], budget: Guarantee) -> dict[str, Any]:
    """What the form asks for, in the words of a request, with the largest promise that the budget pays for."""
    what = whats().get(given["what"])
    if what is None:
        raise InvalidParameter.of(
            "what", f"what is {shown(given['what'])}; it must be {either(list(whats()))}."
        )
    features: Any = _features(what, given["features"])
    target = given["target"].strip() or None
    if (target is None) != (not what.target) and not what.loose:
        needs = f"needs {what.target} as its target" if what.target else "has no target; leave it empty"
        raise InvalidParameter.of("target", f"the {what.title} {needs}.")
    settings = _settings(what, given.get("settings", ""))
    if what.value:
        try:
            settings[what.value] = float(given["value"])
        except ValueError:
            said = f"the {what.title} needs the {what.value} under the hypothesis, a number; it is"
            raise InvalidParameter.of("value", f"{said} {shown(given['value'])}.") from None
    elif given["value"].strip():
        raise InvalidParameter.of("value", f"the {what.title} has no hypothesis; leave its number empty.")
    table = None
    if given["where"].strip():
        table = (session.table if not given["table"] else session.table[given["table"]]).filter(
            given["where"]
        )
    elif given["table"]:
        table = session.table[given["table"]]
    kept = session.account.promise
    if not what.is_paid_by(kept):
        raise InvalidParameter.of(
            "what",
            f"the {what.title} can keep ApproxDP(epsilon, delta) and nothing else, and the budget of this data set is "
            f"{kept!r}, which cannot pay for that: choose another model, or ask the steward for a data set with an "
            "ApproxDP budget.",
        )
    try:
        made = _promising(session, what, settings, (features, target, table), budget)
    except CannotMeet as problem:
        raise InvalidParameter.of(
            "what",
            f"for {budget!r} of {kept!r} the {what.title} cannot be had: {problem} If no amount pays for it, the kind "
            "of this budget does not: choose another model.",
        ) from None
    except BROKEN as problem:
        if isinstance(problem, InvalidParameter):
            raise
        raise InvalidParameter.of(
            "settings",
            f"the {what.title} cannot be made with these settings: check their types, and that one which has no usual "
            f"value is there. It has {', '.join(what.settings) or 'none'}.",
        ) from None
    content: dict[str, Any] = {"kind": "infer", "features": features, "target": target}
    if what.fit:
        from dalenius.learn.saved import model_record

        content = {**content, "kind": "fit", "model": model_record(made)}
    else:
        content["estimator"] = estimator_record(made)
    if table is not None:
        content["table"] = table.record()
    return {word: value for word, value in content.items() if value is not None}


def promise_of(made: Any) -> Guarantee:
    """What a request of a fit or an inference promises."""
    asked = made.model if hasattr(made, "model") else made.estimator
    found: Guarantee = asked.guarantee
    return found


def _promising(session: Session, what: What, settings: Mapping[str, Any], of: Any, budget: Guarantee) -> Any:
    """The object, with the promise that Python gives it: `session.fit(model, ..., budget=...)`."""
    features, target, table = of

    def make(promise: Guarantee) -> Any:
        return what.make(promise, session.adjacency, settings)

    def loss_of(promise: Guarantee) -> Any:
        planned = session._fitting if what.fit else session._asked
        return planned(make(promise), features, target, table).loss

    return session._promising(make, budget, loss_of)


def _settings(what: What, text: str) -> dict[str, Any]:
    """What is said beside it: name = JSON, with semicolons between them; a bare word is text."""
    found: dict[str, Any] = {}
    for part in (each for each in text.split(";") if each.strip()):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not equals or name not in what.settings:
            has = f"its settings are {', '.join(what.settings)}" if what.settings else "it has no settings"
            raise InvalidParameter.of("settings", f"the {what.title} has no setting {shown(name)}; {has}.")
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = value
        found[name] = tuple(read) if isinstance(read, list) else read
    return found


def _features(what: What, text: str) -> list[str] | str:
    found = [part for part in split(text) if part]
    if not found or len(found) > (MOST if what.many else 1):
        needs = f"{what.features}, with commas between them" if what.many else what.features
        raise InvalidParameter.of("features", f"the {what.title} is of {needs}; it is given {len(found)}.")
    return found if what.many and not (what.loose and len(found) == 1) else found[0]


def split(text: str) -> list[str]:
    """Parts between commas that are not inside brackets or quotes.

    >>> split("age, LEAST(pay, 9), \\"a,b\\"")
    ['age', 'LEAST(pay, 9)', '"a,b"']
    """
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        else:
            depth += (sign == "(") - (sign == ")")
            if sign == "," and depth <= 0:
                parts.append("")
                continue
        parts[-1] += sign
    return [part.strip() for part in parts]
