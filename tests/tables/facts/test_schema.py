"""Public facts, from Python and from description files."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.tables import Column, Schema, impute

TOML = """
nulls = "drop"

[columns.income]
bounds = [0, 250_000]
impute = 0

[columns.state]
categories = ["CA", "NY"]

[columns.age]
type = "integer"
bounds = [0, 120]
nulls = "never"

[columns.day]
categories = [2024-02-29]
"""
YAML = """
nulls: drop
columns:
  income: {bounds: [0, 250000], impute: 0}
  state: {categories: [CA, NY]}
  age: {type: integer, bounds: [0, 120], nulls: never}
  day: {categories: [2024-02-29]}
"""


def test_files(tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(TOML)
    (tmp_path / "people.yaml").write_text(YAML)
    schema = Schema.load(tmp_path / "people.toml")
    assert schema == Schema.load(tmp_path / "people.yaml")
    assert hash(schema) == hash(Schema.load(str(tmp_path / "people.toml")))
    assert schema["income"] == Column(bounds=(0, 250_000), nulls=impute(0))
    assert schema["day"].categories == (datetime.date(2024, 2, 29),)
    assert [schema.policy(name) for name in ("income", "age", "state", "other")] == [
        impute(0),
        "never",
        "drop",
        "drop",
    ]
    assert Schema().policy("x") is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "nulls = 3", "must be 'drop', 'never' or impute"),
        ("a.toml", "null = 'drop'", r"says 'null'; did you mean 'nulls'\? There are 'columns', 'nulls'"),
        ("a.toml", "[columns.x]\nbound = [0, 1]", r"says 'bound'; did you mean 'bounds'\? There are"),
        ("a.toml", "[columns.x]\nbounds = [1, 0]", "description of column 'x': .*exchange them"),
        ("a.toml", "[columns.x]\nbounds = [0]", "must be a pair"),
        ("a.toml", "[columns.x]\nbounds = ['a', 'b']", "must be a finite number"),
        ("a.toml", "[columns.x]\nnulls = 'drop'\nimpute = 0", "both `nulls` and `impute`"),
        ("a.toml", "[columns.x]\ntype = 'float'", "must be one of integer, number"),
        ("a.toml", "[columns.x]\ncategories = []", "empty list"),
        ("a.toml", "[columns.x]\ncategories = ['a', 'a']", "the same value twice"),
        ("a.toml", "[columns.x]\ncategories = ['a', 1]", "must be all text"),
        ("a.yaml", "columns: {x: {categories: [CA, NO]}}", "YAML reads unquoted NO"),
        ("a.toml", "[columns.x]\ncategories = 'abc'", "must be a list"),
        ("a.toml", "columns = 3", "must be a table of columns"),
        ("a.toml", "[columns]\nx = 3", "must be a table of facts"),
        ("a.toml", "x = ", "cannot be read as TOML"),
        ("a.yaml", "[1, 2]", "must hold a table"),
        ("a.yaml", "a: [", "cannot be read as YAML"),
        ("a.json", "{}", "must end in .toml, .yaml or .yml"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidParameter, match=message):
        Schema.load(tmp_path / name)


def test_a_missing_file() -> None:
    with pytest.raises(InvalidParameter, match="does not exist"):
        Schema.load("nowhere.toml")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Schema({"": Column()}), "cannot name a column"),
        (lambda: Schema(nulls=impute(0)), "column by column"),
        (lambda: impute(float("nan")), "must be finite"),
        (lambda: impute(10**400), "beyond doubles"),
        (lambda: impute("a\x00"), "must not hold the character with code 0"),
        (lambda: impute("\ud800"), "half of a pair of surrogates"),
        (lambda: impute([1]), "must be a number, text"),
        (lambda: Column(categories=[1.5]), "must be all text"),
        (lambda: Column(categories=5), "they must be a list"),
        (lambda: Schema({"a": {"categories": 5}}), "they must be a list"),
        (lambda: Schema(["a"]), "a mapping of names to facts"),
        (lambda: Schema(5), "a mapping of names to facts"),
        (lambda: Schema({"a": [1, 2, 3]}), r"categories are {'categories': \[1, 2, 3\]}"),
        (lambda: Schema({"a": range(10**12)}), r"{'categories': range\(0, 1000000000000\)}"),
        (lambda: Schema({"nulls": np.arange(3)}), "must be a table of facts"),
        (lambda: Column(type="float"), "write 'number'"),
        (lambda: Column(type="String"), "write 'text'"),
        (lambda: Column(type="thing"), "one of integer, number"),
    ],
)
def test_bad_facts(make: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_repr() -> None:
    schema = Schema({"x": {"bounds": (0, 1)}}, nulls="drop")
    assert repr(schema) == "Schema({'x': Column(bounds=(0.0, 1.0))}, nulls='drop')"
