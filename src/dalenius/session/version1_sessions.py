"""Questions that a session of dalenius 0.1 asked, and their answers, in the words of version 2.

Version 1 wrote a question by the names that classes and their fields had in 0.1. Those names are known, so most
questions can be told anew, and are then answered from the record as before. What cannot (a join, of whose public table
only a digest of another kind was kept; a search; a model with a function in it) stays the text that it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.record import JSON, exact, headed
from dalenius.errors import DaleniusError
from dalenius.learn.saved import ADDED, WORDS
from dalenius.session.record import answers, questions
from dalenius.session.version1 import GUARANTEES, call_in, unit_of
from dalenius.tables.aggregates import Aggregate, from_record
from dalenius.tables.ask.query import Table
from dalenius.tables.facts.forms import NUMBERS, read_constant, read_keys, read_nulls
from dalenius.tables.facts.keys import discover
from dalenius.tables.facts.kinds import Field
from dalenius.tables.facts.schema import Column, Schema

TAGS = {
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
"""The kind of an aggregate in version 2."""

PARTS = ("Bins", "Measure", "Value")
"""What is of no kind, since nothing else can stand in its place."""

RENAMED = {"text": "expression", "listed": "edges", "nullable": "missing"}
RENAMED_IN_VALUES = {**RENAMED, "kind": "type", "granularity": "step"}
"""The fields of 0.1 that have another name in version 2."""

MODELS = {name: tag for tag, (name, _) in WORDS.items()}

WRONG = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(RecursionError, SyntaxError, TypeError, ValueError),
)
"""What comes of text that is not as 0.1 wrote it; it goes on in the new ledger as it is."""

ARRAYS = {"<f8": "number", "<i8": "integer", "|b1": "bool"}

Told = tuple[str, dict[str, JSON]]
"""The kind of an answer, and its content."""


def in_version_2(question: str, answer: str, adjacency: str) -> tuple[str, str] | None:
    """The question and its answer, or None where they cannot be told anew."""
    try:
        asked, answered = json.loads(question), json.loads(answer)
        if isinstance(asked, dict):
            kind, unit, content, reply = _plan(asked, answered)
        elif asked[0] == "fit":
            kind, unit, content, reply = _fit(asked, answered)
        else:
            kind, unit, content, reply = _release(asked, answered)
        protected = unit_of(unit)
        assert isinstance(protected, dict)
        heading = {"kind": kind, "unit": protected, "adjacency": adjacency}
        return (
            headed(questions.FORMAT, 2, {**heading, **content}),
            headed(answers.FORMAT, 2, {"kind": reply[0], **reply[1]}),
        )
    except (*WRONG, DaleniusError):
        return None


def _release(asked: list[Any], answered: Any) -> tuple[str, str, dict[str, JSON], Told]:
    query, price = json.loads(asked[0])["Query"], _price(asked[1])
    content = {"query": _query(query), "price": price}
    if query["keys"] != {"Discover": {}}:
        return "release", asked[2], content, ("release", {"answer": _answer(query, answered, price)})
    about = answered["answer"]
    answer = None if about is None else _answer(query, json.loads(about), price)
    return "release", asked[2], content, ("discovery", {"keys": _keys(answered["keys"]), "answer": answer})


def _plan(asked: dict[str, str], answered: Any) -> tuple[str, str, dict[str, JSON], Told]:
    parts = {name: json.loads(text) for name, text in asked.items()}
    ((price, unit),) = {(part[1], part[2]) for part in parts.values()}
    queries = {name: json.loads(part[0])["Query"] for name, part in parts.items()}
    content = {"queries": {name: _query(query) for name, query in queries.items()}, "price": _price(price)}
    answer = {
        name: _answer(query, json.loads(answered[name]), _price(price)) for name, query in queries.items()
    }
    return "release_all", unit, content, ("release_all", {"answers": answer})


def _fit(asked: list[Any], answered: Any) -> tuple[str, str, dict[str, JSON], Told]:
    model, query = _parameter(json.loads(asked[1]))["model"], _query(json.loads(asked[2])["Query"])
    words = {"coef_": "coefficients", "intercept_": "intercept", "value_": "value"}
    released = {words[attribute]: _array(values) for attribute, values in answered.items()}
    return "fit", asked[3], {"model": model, "query": query}, ("fit", {"released": released})


# -- questions ----------------------------------------------------------------------------------------


def _price(text: str) -> dict[str, str]:
    name, _, numbers = call_in(text)
    tag, *words = GUARANTEES[name]
    assert set(numbers) == set(words)
    return {"kind": tag, **{word: exact(number) for word, number in numbers.items()}}


def _query(query: dict[str, Any]) -> dict[str, JSON]:
    """The record of the same question, asked again: however it was spelled, it has one."""
    table, keys = _table(query["table"]["Table"]), query["keys"]
    aggregates = {name: _aggregate(asked) for name, asked in query["aggregates"]}
    if keys is None:
        return table.agg(**aggregates).record()
    listed = discover() if keys == {"Discover": {}} else read_keys(_keys(keys["Keys"]["rows"]))
    return table.group_by(*query["columns"], keys=listed).agg(**aggregates).record()


def _table(table: dict[str, Any]) -> Table:
    schema = table["schema"]["Schema"]
    facts = {name: _facts(column["Column"]) for name, column in schema["columns"]}
    fields = tuple(Field(**field["Field"]) for field in table["fields"])
    made = Table(table["name"], fields, Schema(facts, nulls=read_nulls(_renamed(schema["nulls"]))))
    for step in table["steps"]:
        if "Filter" in step:
            made = made.filter(step["Filter"]["condition"])
        else:
            made = made.with_columns(**{step["Compute"]["name"]: step["Compute"]["text"]})
    return made


def _facts(column: dict[str, Any]) -> Column:
    categories = column["categories"]
    return Column(
        bounds=NUMBERS.read(_renamed(column["bounds"])),
        categories=None if categories is None else [read_constant(_constant(value)) for value in categories],
        nulls=read_nulls(_renamed(column["nulls"])),
        type=column["type"],
    )


def _aggregate(aggregate: dict[str, Any]) -> Aggregate:
    asked: dict[str, JSON] = _renamed(aggregate)
    if asked.get("granularity") is not None:
        asked["granularity"] = str(Fraction(asked["granularity"]))
    if "x" in asked:
        asked["x_nulls"] = asked["y_nulls"] = asked.pop("nulls")
    return from_record(asked)


def _renamed(value: Any) -> Any:
    """What 0.1 wrote as {class: {field: value}}, by the words of version 2; a number as its text."""
    if isinstance(value, list):
        return [_renamed(part) for part in value]
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name in ("float", "fraction"):
        return content
    if name == "Impute":
        return {"impute": _constant(content["value"])}
    heading = {} if name in PARTS else {"kind": TAGS[name]}
    words = RENAMED_IN_VALUES if name == "Value" else RENAMED
    return heading | {words.get(field, field): _renamed(part) for field, part in content.items()}


def _constant(value: Any) -> JSON:
    if isinstance(value, bool):
        return {"kind": "bool", "is": value}
    if isinstance(value, int):
        return {"kind": "integer", "is": str(value)}
    if isinstance(value, str):
        return {"kind": "text", "is": value}
    ((kind, text),) = value.items()
    return {"kind": {"float": "number", "date": "date", "datetime": "timestamp"}[kind], "is": text}


def _keys(keys: list[list[Any]]) -> list[list[JSON]]:
    return [[_constant(part) for part in key] for key in keys]


# -- answers ------------------------------------------------------------------------------------------


def _answer(query: dict[str, Any], answer: dict[str, Any], price: Mapping[str, str]) -> dict[str, JSON]:
    """The measures that version 1 wrote into the question, and the numbers in their order."""
    measures: dict[str, Any] = {}
    plain: set[str] = set()  # which are used for more than quantiles
    levels: dict[str, set[str]] = {}  # which quantiles are read from which
    roles = []
    for (_, aggregate), parts in zip(query["aggregates"], query["roles"], strict=True):
        keys = {role: json.dumps(measure, sort_keys=True) for role, measure in parts}
        for role, measure in parts:
            measures.setdefault(keys[role], {**_renamed(measure), "labels": []})
            if "Quantiles" in aggregate:
                levels.setdefault(keys[role], set()).add(json.dumps(aggregate["Quantiles"]["levels"]))
            else:
                plain.add(keys[role])
        roles.append({role: list(measures).index(key) for role, key in keys.items()})
    noisy, ranks = iter(answer["measures"]), iter(answer["ranks"])
    gaussian = price["kind"] != "pure" and price.get("delta") != "0.0"
    kept = [
        {
            "measure": measure,
            "noisy": _noisy(next(noisy), measure) if key in plain else None,
            "ranks": [_ranks(next(ranks), gaussian) for _ in levels.get(key, ())],
        }
        for key, measure in measures.items()
    ]
    assert not [*noisy, *ranks]
    return {"columns": answer["columns"], "keys": _keys(answer["keys"]), "roles": roles, "measures": kept}


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
    ((kind, content),) = value.items()
    if kind == "float":
        return {"number": content}
    if kind == "dict":
        pairs = [[_parameter(key), _parameter(part)] for key, part in content]
        return {"mapping": sorted(pairs, key=json.dumps)}
    if kind == "array":
        return {"array": {"type": ARRAYS[content[0]], "shape": content[1], "digest": content[2]}}
    if kind in GUARANTEES:
        tag, *words = GUARANTEES[kind]
        return {"guarantee": {"kind": tag, **{word: _renamed(content[word]) for word in words}}}
    name, settings = content if kind == "estimator" else (f"dalenius.{kind}", content)
    if not name.startswith("dalenius."):
        return {"model": {"kind": "estimator", "class": name, "parameters": _parameters(settings)}}
    tag = MODELS[name.rpartition(".")[2]]
    own = {word: part for word, part in settings.items() if word in WORDS[tag][1]}
    assert set(own) == {word for word in WORDS[tag][1] if (tag, word) not in ADDED}
    return {"model": {"kind": tag, "parameters": _parameters(own)}}


def _parameters(settings: Mapping[str, Any]) -> dict[str, JSON]:
    return {word: _parameter(value) for word, value in settings.items()}


def _array(values: Any) -> dict[str, JSON]:
    made = np.asarray(values, dtype=float)
    return {"type": "number", "shape": list(made.shape), "values": [exact(x) for x in made.ravel().tolist()]}
