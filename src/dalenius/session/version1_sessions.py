"""Questions that a session of dalenius 0.1 asked, and their answers, in the words of version 2.

Version 1 wrote a question by the names that classes and their fields had in 0.1. Those names are known, so most
questions can be told anew, and are then answered from the record as before. What cannot (a join, of whose public table
only a digest of another kind was kept; a search; a model with a function in it) stays the text that it was.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.record import JSON, exact, headed
from dalenius.errors import DaleniusError
from dalenius.learn.saved import ADDED, WORDS
from dalenius.session.record import answers, questions

AGGREGATES = {
    "Count": "count",
    "CountDistinct": "count_distinct",
    "Sum": "sum",
    "Mean": "mean",
    "Variance": "variance",
    "Std": "std",
    "Covariance": "covariance",
    "Correlation": "correlation",
    "Proportion": "proportion",
    "Histogram": "histogram",
    "Quantiles": "quantiles",
    "FindBounds": "bounds",
}

GUARANTEES = {
    "PureDP": ("pure", "epsilon"),
    "ApproxDP": ("approx", "epsilon", "delta"),
    "ZCDP": ("zcdp", "rho"),
    "GDP": ("gdp", "mu"),
    "RDP": ("rdp", "order", "epsilon"),
}

TAGS = {name: tag for tag, (name, _) in WORDS.items()}

WRONG = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(RecursionError, SyntaxError, TypeError, ValueError),
)
"""What comes of text that is not as 0.1 wrote it; the old ledger is closed by then, and must go on in the new one."""

ARRAYS = {"<f8": "number", "<i8": "integer", "|b1": "bool"}


def told_anew(
    question: str, answer: str, unit: Callable[[str], Any], adjacency: str
) -> tuple[str, str] | None:
    """The question and its answer, or None where they cannot be told anew."""
    try:
        asked = json.loads(question)
        if isinstance(asked, dict):
            return _plan(asked, json.loads(answer), unit, adjacency)
        if asked[0] == "fit":
            return _fit(asked, json.loads(answer), unit, adjacency)
        return _release(asked, json.loads(answer), unit, adjacency)
    except (*WRONG, DaleniusError):
        return None


def _release(asked: list[Any], answer: Any, unit: Callable[[str], Any], adjacency: str) -> tuple[str, str]:
    query, price = json.loads(asked[0])["Query"], _price(asked[1])
    content = {"query": _query(query), "price": price}
    if query["keys"] == {"Discover": {}}:
        found = answer["answer"]
        told = None if found is None else _answer(query, json.loads(found), price)
        kind, said = "discovery", {"keys": _keys(answer["keys"]), "answer": told}
    else:
        kind, said = "release", {"answer": _answer(query, answer, price)}
    return _question("release", unit(asked[2]), adjacency, content), _said(kind, said)


def _plan(asked: dict[str, str], answer: Any, unit: Callable[[str], Any], adjacency: str) -> tuple[str, str]:
    parts = {name: json.loads(text) for name, text in asked.items()}
    ((price, who),) = {(part[1], part[2]) for part in parts.values()}
    queries = {name: json.loads(part[0])["Query"] for name, part in parts.items()}
    content = {"queries": {name: _query(query) for name, query in queries.items()}, "price": _price(price)}
    said = {name: _answer(query, json.loads(answer[name]), _price(price)) for name, query in queries.items()}
    return _question("release_all", unit(who), adjacency, content), _said("release_all", {"answers": said})


def _fit(asked: list[Any], answer: Any, unit: Callable[[str], Any], adjacency: str) -> tuple[str, str]:
    words = {"coef_": "coefficients", "intercept_": "intercept", "value_": "value"}
    content = {
        "model": _parameter(json.loads(asked[1]))["model"],
        "query": _query(json.loads(asked[2])["Query"]),
    }
    released = {words[name]: _array(value) for name, value in answer.items()}
    return _question("fit", unit(asked[3]), adjacency, content), _said("fit", {"released": released})


def _question(kind: str, unit: Any, adjacency: str, content: Mapping[str, JSON]) -> str:
    assert isinstance(unit, dict)
    told = {"kind": kind, "unit": unit, "adjacency": adjacency, **content}
    return headed(questions.FORMAT, 2, told)


def _said(kind: str, content: Mapping[str, JSON]) -> str:
    return headed(answers.FORMAT, 2, {"kind": kind, **content})


# -- questions ----------------------------------------------------------------------------------------


def _price(text: str) -> dict[str, str]:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    tag, *words = GUARANTEES[call.func.id]
    numbers = {str(part.arg): exact(ast.literal_eval(part.value)) for part in call.keywords}
    assert set(numbers) == set(words)
    return {"kind": tag, **numbers}


def _query(query: dict[str, Any]) -> dict[str, JSON]:
    keys, table = query["keys"], query["table"]["Table"]
    listed = (
        {"kind": "listed", "rows": [[_constant(part) for part in row] for row in keys["Keys"]["rows"]]}
        if (keys and "Keys" in keys)
        else None
    )
    return {
        "table": _table(table),
        "group_by": query["columns"],
        "keys": {"kind": "discovered"} if keys == {"Discover": {}} else listed,
        "aggregates": [{"name": name, "aggregate": _aggregate(asked)} for name, asked in query["aggregates"]],
    }


def _table(table: dict[str, Any]) -> dict[str, JSON]:
    fields = [field["Field"] for field in table["fields"]]
    schema = table["schema"]["Schema"]
    return {
        "name": table["name"],
        "columns": [
            {"name": f["name"], "type": f["kind"], "missing": f["nullable"] or f["nan"]}
            for f in sorted(fields, key=lambda f: str(f["name"]))
        ],
        "facts": {
            "nulls": _nulls(schema["nulls"]),
            "columns": {name: _facts(column["Column"]) for name, column in schema["columns"]},
        },
        "steps": [_step(step) for step in table["steps"]],
    }


def _facts(column: dict[str, Any]) -> dict[str, JSON]:
    categories = column["categories"]
    return {
        "bounds": _numbers(column["bounds"]),
        "categories": None if categories is None else [_constant(value) for value in categories],
        "nulls": _nulls(column["nulls"]),
        "type": column["type"],
    }


def _step(step: dict[str, Any]) -> dict[str, JSON]:
    if "Filter" in step:
        return {"kind": "filter", "condition": step["Filter"]["condition"]}
    return {"kind": "compute", "name": step["Compute"]["name"], "expression": step["Compute"]["text"]}


def _aggregate(aggregate: dict[str, Any]) -> dict[str, JSON]:
    ((name, parts),) = aggregate.items()
    several = ("bounds", "x_bounds", "y_bounds", "edges", "levels")
    told: dict[str, JSON] = {"kind": AGGREGATES[name]}
    for word, value in parts.items():
        if word == "granularity" and value is not None:
            told[word] = str(Fraction(_number(value)))
            continue
        told[word] = (
            _nulls(value) if word == "nulls" else _numbers(value) if word in several else _number(value)
        )
    return told


def _number(value: Any) -> JSON:
    """A double or a fraction as text; anything else as it is."""
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        assert kind in ("float", "fraction")
        return text
    return value


def _numbers(values: Any) -> JSON:
    return None if values is None else [_number(value) for value in values]


def _nulls(nulls: Any) -> JSON:
    return {"impute": _constant(nulls["Impute"]["value"])} if isinstance(nulls, dict) else nulls


def _constant(value: Any) -> JSON:
    if isinstance(value, bool):
        return {"kind": "bool", "is": value}
    if isinstance(value, int):
        return {"kind": "integer", "is": str(value)}
    if isinstance(value, str):
        return {"kind": "text", "is": value}
    ((kind, text),) = value.items()
    return {"kind": {"float": "number", "date": "date", "datetime": "timestamp"}[kind], "is": text}


def _keys(keys: list[list[Any]]) -> JSON:
    return [[_constant(part) for part in key] for key in keys]


# -- answers ------------------------------------------------------------------------------------------


def _answer(query: dict[str, Any], answer: dict[str, Any], price: Mapping[str, str]) -> dict[str, JSON]:
    """The measures that version 1 wrote into the question, and the numbers in their order."""
    measures: dict[str, Any] = {}
    plain: set[str] = set()  # which are used for more than quantiles
    levels: dict[str, dict[Any, None]] = {}  # which quantiles are read from which
    roles = []
    for (_, aggregate), parts in zip(query["aggregates"], query["roles"], strict=True):
        told = {}
        for role, measure in parts:
            key = json.dumps(measure, sort_keys=True)
            measures.setdefault(key, _measure(measure["Measure"]))
            told[role] = list(measures).index(key)
            if "Quantiles" in aggregate:
                read = tuple(_numbers(aggregate["Quantiles"]["levels"]))
                levels.setdefault(key, {})[read] = None
            else:
                plain.add(key)
        roles.append(told)
    noisy, ranks = iter(answer["measures"]), iter(answer["ranks"])
    gaussian = price["kind"] != "pure" and price.get("delta") != "0.0"
    kept = [
        {
            "measure": measure,
            "noisy": _noisy(next(noisy), measure) if key in plain else None,
            "ranks": [_ranks(next(ranks), gaussian) for _ in levels.get(key, {})],
        }
        for key, measure in measures.items()
    ]
    assert not [*noisy, *ranks]
    return {"columns": answer["columns"], "keys": _keys(answer["keys"]), "roles": roles, "measures": kept}


def _measure(measure: dict[str, Any]) -> dict[str, JSON]:
    return {
        "kind": measure["kind"],
        "values": [_value(value["Value"]) for value in measure["values"]],
        "given": measure["given"],
        "origin": measure["origin"],
        "bins": None if measure["bins"] is None else _bins(measure["bins"]["Bins"]),
        "labels": [],
    }


def _value(value: dict[str, Any]) -> dict[str, JSON]:
    return {
        "expression": value["text"],
        "type": value["kind"],
        "lower": _number(value["lower"]),
        "upper": _number(value["upper"]),
        "step": _number(value["granularity"]),
        "centre": value["centre"],
        "nulls": _nulls(value["nulls"]),
        "missing": value["nullable"],
    }


def _bins(bins: dict[str, Any]) -> dict[str, JSON]:
    return {
        "expression": bins["text"],
        "lower": _number(bins["lower"]),
        "width": _number(bins["width"]),
        "size": bins["size"],
        "edges": _numbers(bins["listed"]),
        "nulls": _nulls(bins["nulls"]),
        "missing": bins["nullable"],
        "whole": bins["whole"],
    }


def _noisy(kept: dict[str, Any], measure: Mapping[str, Any]) -> dict[str, JSON]:
    """Version 1 does not say whether noise that is not Gaussian was on whole numbers: it was where little can change.

    Then all numbers are whole. So are those of Laplace noise only where a value has so many steps that the grid of the
    noise, 2^-40 of it, is coarser than one.
    """
    steps = [
        (Fraction(value["upper"]) - Fraction(value["lower"])) / Fraction(value["step"])
        for value in measure["values"]
    ]
    whole = math.prod(steps) <= 2**20 and bool(np.all(np.mod(np.float64(kept["values"]), 1) == 0))
    law = "gaussian" if kept["gaussian"] else "geometric" if whole else "laplace"
    return {"law": {"kind": law, "sigma": exact(kept["sigma"])}, "values": _exactly(kept["values"])}


def _ranks(kept: dict[str, Any], gaussian: bool) -> dict[str, JSON]:
    return {
        "levels": _exactly(kept["levels"]),
        "law": {"kind": "gaussian" if gaussian else "laplace", "sigma": exact(kept["sigma"])},
        "blocks": 16,
        "total": _exactly(kept["total"]),
        "best": kept["best"],
        "offsets": _exactly(kept["offsets"]),
        "reached": kept["reached"],
    }


def _exactly(values: Any) -> JSON:
    return [_exactly(value) for value in values] if isinstance(values, list) else exact(values)


# -- models -------------------------------------------------------------------------------------------


def _parameter(value: Any) -> JSON:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, list):
        return [_parameter(part) for part in value]
    ((kind, told),) = value.items()
    if kind == "float":
        return {"number": told}
    if kind == "dict":
        return {
            "mapping": sorted(([_parameter(key), _parameter(part)] for key, part in told), key=json.dumps)
        }
    if kind == "array":
        return {"array": {"type": ARRAYS[told[0]], "shape": told[1], "digest": told[2]}}
    if kind in GUARANTEES:
        tag, *words = GUARANTEES[kind]
        return {"guarantee": {"kind": tag, **{word: _number(told[word]) for word in words}}}
    name, settings = told if kind == "estimator" else (f"dalenius.{kind}", told)
    if not name.startswith("dalenius."):
        return {"model": {"kind": "estimator", "class": name, "parameters": _parameters(settings)}}
    tag = TAGS[name.rpartition(".")[2]]
    own = {word: part for word, part in settings.items() if word in WORDS[tag][1]}
    assert set(own) == {word for word in WORDS[tag][1] if (tag, word) not in ADDED}
    return {"model": {"kind": tag, "parameters": _parameters(own)}}


def _parameters(settings: Mapping[str, Any]) -> dict[str, JSON]:
    return {word: _parameter(value) for word, value in settings.items()}


def _array(values: Any) -> dict[str, JSON]:
    made = np.asarray(values, dtype=float)
    return {"type": "number", "shape": list(made.shape), "values": [exact(x) for x in made.ravel().tolist()]}
