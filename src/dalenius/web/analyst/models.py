"""Regressions, estimates, tests and models in a form: Python's own objects make the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.checks import either, shown
from dalenius.errors import InvalidParameter
from dalenius.session.record.estimators import estimator_record
from dalenius.session.session import Session

MOST = 100
"""Features of one model."""


@dataclass(frozen=True)
class What:
    """Something to be fitted or tested: its parts, in words; a part that is empty is not asked for."""

    title: str
    make: Callable[..., Any]
    features: str
    target: str = ""
    value: str = ""
    """The word of the number under the hypothesis."""
    many: bool = False
    fit: bool = False


def _infer(name: str) -> Callable[..., Any]:
    def make(*args: Any, **settings: Any) -> Any:
        import dalenius.infer

        return getattr(dalenius.infer, name)(*args, **settings)

    return make


def _learn(name: str) -> Callable[..., Any]:
    def make(guarantee: Guarantee, **settings: Any) -> Any:
        import dalenius.learn

        settings.pop("adjacency", None)
        return getattr(dalenius.learn, name)(guarantee, **settings)

    return make


COLUMNS, COLUMN, CONDITION, VALUES = "columns", "a column", "a condition", "a column of values"
WHATS: Mapping[str, What] = {
    "linear": What(
        "linear regression with intervals", _infer("LinearRegression"), COLUMNS, COLUMN, many=True
    ),
    "logistic": What(
        "logistic regression with intervals", _infer("LogisticRegression"), COLUMNS, CONDITION, many=True
    ),
    "mean": What("mean with an interval", _infer("Mean"), COLUMN),
    "proportion": What("share of rows with an interval", _infer("Proportion"), CONDITION),
    "difference": What("difference of two means", _infer("DifferenceOfMeans"), CONDITION, VALUES),
    "correlation": What("correlation", _infer("Correlation"), COLUMN, COLUMN),
    "mean test": What("test of a mean", _infer("MeanTest"), COLUMN, value="mean"),
    "share test": What("test of a share", _infer("BinomialTest"), CONDITION, value="share"),
    "two means": What("test of two means", _infer("TwoSampleMeanTest"), CONDITION, VALUES),
    "fit linear": What(
        "model to predict a number", _learn("LinearRegression"), COLUMNS, COLUMN, many=True, fit=True
    ),
    "fit logistic": What(
        "model to predict a condition", _learn("LogisticRegression"), COLUMNS, CONDITION, many=True, fit=True
    ),
}


def request(session: Session, given: Mapping[str, str], guarantee: Guarantee) -> dict[str, Any]:
    """What the form asks for, in the words of a request."""
    what = WHATS.get(given["what"])
    if what is None:
        raise InvalidParameter.of(
            "what", f"what is {shown(given['what'])}; it must be {either(list(WHATS))}."
        )
    features: Any = _features(what, given["features"])
    target = given["target"].strip() or None
    if (target is None) != (not what.target):
        needs = f"needs {what.target} as its target" if what.target else "has no target; leave it empty"
        raise InvalidParameter.of("target", f"the {what.title} {needs}.")
    settings: dict[str, Any] = {"adjacency": session.adjacency}
    if what.value:
        try:
            settings[what.value] = float(given["value"])
        except ValueError:
            said = f"the {what.title} needs the {what.value} under the hypothesis, a number; it is"
            raise InvalidParameter.of("value", f"{said} {shown(given['value'])}.") from None
    elif given["value"].strip():
        raise InvalidParameter.of("value", f"the {what.title} has no hypothesis; leave its number empty.")
    made = what.make(guarantee, **settings)
    content: dict[str, Any] = {"kind": "infer", "features": features, "target": target}
    if what.fit:
        from dalenius.learn.saved import model_record

        content = {**content, "kind": "fit", "model": model_record(made)}
    else:
        content["estimator"] = estimator_record(made)
    if given["where"].strip():
        table = session.table if not given["table"] else session.table[given["table"]]
        content["table"] = table.filter(given["where"]).record()
    elif given["table"]:
        content["table"] = session.table[given["table"]].record()
    return {word: value for word, value in content.items() if value is not None}


def _features(what: What, text: str) -> list[str] | str:
    found = [part for part in split(text) if part]
    if not found or len(found) > (MOST if what.many else 1):
        needs = f"{what.features}, with commas between them" if what.many else what.features
        raise InvalidParameter.of("features", f"the {what.title} is of {needs}; it is given {len(found)}.")
    return found if what.many else found[0]


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
