"""The text of a question: another one for every other question, one for the same; no name of our code is in it."""

from __future__ import annotations

import datetime
import itertools
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.linear_model import LogisticRegression as Same

import dalenius as dp
from dalenius.core.record import CannotBeWritten, text
from dalenius.learn.saved import WORDS, _record
from dalenius.session.fit import Fitting
from dalenius.session.record import questions
from dalenius.tables import Field, Schema, Source, Table, count, histogram, mean, quantiles
from dalenius.tables.facts.forms import constant_record, nulls_record, read_constant, read_nulls

CONSTANTS: list[Any] = [
    *(False, True, 0, 1, 2**62, "1", "true", "", "null", 0.0, -0.0, 1.0, 1e-320, 0.1),
    *(datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1), "2024-01-01"),
]

PARAMETERS: list[Any] = [
    *(None, False, True, 0, 1, 2**70, "1", "true", "", "null", 0.0, -0.0, 1.0, float("inf"), float("nan")),
    *((), ((),), (1, 2), ((1,), 2), (1, (2,)), ("1", 2), {}, {1: 2}, {"1": 2}, {1: "2"}, {True: 2}),
    *(np.array([1, 2]), np.array([1.0, 2.0]), np.array([[1], [2]]), np.array([0.0]), np.array([-0.0])),
    *(dp.ZCDP(1.0), dp.GDP(1.0), dp.ApproxDP(1.0, 0.0), dp.PureDP(1.0), dp.RDP(2.0, 1.0)),
    *(LinearRegression(), LogisticRegression(), LogisticRegression(C=2.0)),
    *(dp.learn.Descent(), dp.learn.Descent(steps=7), dp.learn.FixedTries(3), dp.learn.PoissonTries(3.0)),
    *(dp.learn.GeometricTries(3.0), dp.learn.NegativeBinomialTries(3.0, 1.0)),
]


def test_constants_are_read_as_they_were() -> None:
    for value in CONSTANTS:
        again = read_constant(constant_record(value))
        assert type(again) is type(value)
        assert repr(again) == repr(value)
        assert read_nulls(nulls_record(dp.impute(value))) == dp.impute(value)
    for a, b in itertools.combinations(CONSTANTS, 2):
        assert constant_record(a) != constant_record(b), (a, b)


@pytest.mark.parametrize("arrays", [True, False])
def test_different_parameters_have_different_records(arrays: bool) -> None:
    for a, b in itertools.combinations(PARAMETERS, 2):
        assert text({"is": _record(a, arrays)}) != text({"is": _record(b, arrays)}), (a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.int64(3), 3),
        (np.float64(0.1), 0.1),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        ([1, 2], (1, 2)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (LogisticRegression(C=1.0), Same()),
        (np.arange(6).reshape(2, 3).T, np.array([[0, 3], [1, 4], [2, 5]])),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_the_same_parameter_has_one_record(a: Any, b: Any) -> None:
    for arrays in (True, False):
        assert _record(a, arrays) == _record(b, arrays)


class Outer:
    """A class of a module may be found again; one made inside a function may be another one tomorrow."""


def made() -> Any:
    class Local(LinearRegression):  # type: ignore[misc]
        pass

    return Local()


@pytest.mark.parametrize(
    "thing",
    [
        lambda x: x,
        print,
        Outer(),
        Outer,
        made(),
        object(),
        np.random.RandomState(1),
        {1},
        iter([]),
        [lambda: 1],
        dp.TradeOff(lambda a: 1 - a),
        np.array(["a"]),
        LogisticRegression,
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_cannot_be_recognised_has_none(thing: Any) -> None:
    with pytest.raises(CannotBeWritten):
        _record(thing, False)


def test_every_parameter_of_every_model_has_a_word() -> None:
    for tag, (name, words) in WORDS.items():
        kind = getattr(dp.learn, name)
        known = (
            kind._get_param_names() if hasattr(kind, "_get_param_names") else kind.__init__.__annotations__
        )
        assert set(words) == set(known) - {"return"}, tag


def test_no_name_of_our_code_is_in_a_question() -> None:
    """Names of classes have capitals inside; what people named here has none."""
    query = (
        PEOPLE.filter("x > 1")
        .with_columns(z="x + 1")
        .join_public({"k": [1, 2], "w": [0.5, 1.5]}, on="k")
        .group_by("k", keys=[1, 2])
        .agg(n=count(), m=mean("x", (0, 1)), q=quantiles("z", [0.5], (0, 1), nulls=dp.impute(0.5)))
    )
    asked = questions.of_release(query, dp.ApproxDP(1.0, 1e-6), dp.Unit("k", max_rows=2), dp.REPLACE_ONE)
    fitted = fitting(dp.learn.LogisticRegression(dp.GDP(1.0), method=dp.learn.Descent()))
    code = "".join(path.read_text() for path in Path(dp.__file__).parent.rglob("*.py"))
    classes = set(re.findall(r"^class (\w+)", code, re.MULTILINE))
    assert not {word for word in re.findall(r"\w+", asked + fitted) if word in classes}
    assert "dalenius." not in asked + fitted


PEOPLE = Table(
    "people",
    (
        Field("x", "float64", "number", False),
        Field("k", "int64", "integer", False),
        Field("b", "bool", "bool", False),
    ),
    Schema(nulls="drop"),
)


def test_questions_written_with_other_types_are_the_same() -> None:
    a = PEOPLE.agg(q=quantiles("x", np.array([0.25, 0.5]), (np.int64(0), Decimal(9))))  # type: ignore[arg-type]
    b = PEOPLE.agg(q=quantiles("x", [0.25, 0.5], (0.0, 9)))
    assert a.canonical() == b.canonical()
    assert (
        PEOPLE.agg(m=mean("x", (-0.0, 1))).canonical()
        == PEOPLE.agg(m=mean("x", np.float64([0, 1]))).canonical()
    )
    c = PEOPLE.agg(h=histogram("x", np.int64(7), (0, 1)))  # type: ignore[arg-type]
    assert c.canonical() == PEOPLE.agg(h=histogram("x", 7, (0, 1))).canonical()


def test_other_keys_are_another_question() -> None:
    found = {
        PEOPLE.group_by("k", keys=[1, 2]).agg(n=count()).canonical(),
        PEOPLE.group_by("k", keys=[2, 1]).agg(n=count()).canonical(),
        PEOPLE.group_by("k", keys=[np.int8(1)]).agg(n=count()).canonical(),
        PEOPLE.group_by("b", keys=[True]).agg(n=count()).canonical(),
        PEOPLE.group_by("k", keys=dp.discover()).agg(n=count()).canonical(),
        PEOPLE.agg(n=count()).canonical(),
        PEOPLE.agg(m=count()).canonical(),
    }
    assert len(found) == 7
    again = PEOPLE.group_by("k", keys=pd.Series([1])).agg(n=count()).canonical()
    assert again in found


def test_other_public_rows_are_another_question() -> None:
    tables = [
        {"k": [1, 2], "z": z} for z in ([1, 2], [1, 3], [1.0, 2.0], ["1", "2"], [1, None], [True, False])
    ]
    texts = {PEOPLE.join_public(table, on="k").agg(n=count()).canonical() for table in tables}
    assert len(texts) == 6


def fitting(model: Any) -> str:
    source = Source.open(pd.DataFrame({"a": [1.0], "y": [1.0]}), schema=Schema(nulls="drop"))
    made = Fitting.of(model, {"a": (0, 1)}, {"y": (0, 1)}, source.table(), dp.Unit.rows(), dp.ADD_REMOVE)
    return made.question


def aggregate(**options: Any) -> Any:
    settings = {"size": 2, "bound": 1.0, "parts": 10, **options}
    return dp.learn.SubsampleAggregate(LinearRegression(), dp.ApproxDP(1.0, 1e-5), **settings)


def test_two_fits_share_a_record_only_if_they_are_one() -> None:
    assert fitting(aggregate()) == fitting(aggregate())
    assert fitting(aggregate()) != fitting(aggregate(bound=2.0))
    assert fitting(aggregate()) != fitting(aggregate(parts=11))
    assert fitting(dp.learn.LinearRegression(dp.GDP(1))) != fitting(dp.learn.LinearRegression(dp.ZCDP(1)))
    assert fitting(dp.learn.LinearRegression(dp.GDP(1.0))) == fitting(dp.learn.LinearRegression(dp.GDP(1)))
    seen = set()
    for power in range(50):  # short-lived functions: one address, many meanings
        model = aggregate(extract=lambda m, power=power: m.coef_**power)
        seen |= {fitting(model), fitting(model)}
    assert len(seen) == 100


def test_functions_that_take_turns_at_one_address(tmp_path: Any) -> None:
    frame = pd.DataFrame({"a": np.linspace(0, 1, 400), "y": np.linspace(0, 1, 400)})
    s = dp.Session(
        frame,
        unit=dp.Unit.rows(),
        budget=dp.GDP(5.0),
        schema=Schema(nulls="drop"),
        ledger=tmp_path / "L",
        name="f",
    )
    values = []
    for sign in (0.0, 1.0, -1.0):
        model = dp.learn.SubsampleAggregate(
            LinearRegression(),
            dp.GDP(1.0),
            size=1,
            bound=9.0,
            parts=40,
            extract=lambda m, sign=sign: [9.0 * sign],
        )
        values.append(s.fit(model, {"a": (0, 1)}, {"y": (0, 1)})[-1].value_[0])
        del model
    # Noise of standard deviation 0.45; the three are 9 apart.
    assert np.allclose(values, [0.0, 9.0, -9.0], atol=4)
