"""The text of a question: another one for every other question, one for the same."""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.linear_model import LogisticRegression as Same

import dalenius as dp
from dalenius.session.fit import Fitting
from dalenius.tables import Field, Schema, Source, Table, count, histogram, mean, quantiles
from dalenius.tables.canonical import NoCanonicalText, canonical

EAST = datetime.timezone(datetime.timedelta(hours=5))
NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)

DIFFERENT: list[Any] = [
    *(None, False, True, 0, 1, 2**70, "1", "true", "", "null", 0.0, -0.0, 1.0, 1e-320),
    *(float("inf"), float("-inf"), float("nan"), Fraction(1), Fraction(1, 3)),
    *(Decimal("1"), Decimal("1.00"), datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)),
    *(NOON, NOON.astimezone(EAST), "2024-01-01"),
    *((), ((),), (1, 2), ((1,), 2), (1, (2,)), ("1", 2), {}, {1: 2}, {"1": 2}, {1: "2"}, {True: 2}),
    *(np.array([1, 2]), np.array([1.0, 2.0]), np.array([[1], [2]]), np.array([1, 2], dtype=np.int32)),
    *(np.array([0.0]), np.array([-0.0]), np.array(["a"]), np.array(["b"])),
    *(dp.ZCDP(1.0), dp.GDP(1.0), dp.ApproxDP(1.0, 0.0), dp.PureDP(1.0), dp.impute(1), dp.impute(True)),
    *(dp.impute(1.0), dp.impute("1"), dp.ADD_REMOVE, dp.REPLACE_ONE),
    *(LinearRegression(), LogisticRegression(), LogisticRegression(C=2.0), LogisticRegression),
]


def text(thing: Any) -> str:
    try:
        return canonical(thing)
    except NoCanonicalText:
        return f"none: {id(thing)}"


def test_different_things_have_different_texts() -> None:
    for a, b in itertools.combinations(DIFFERENT, 2):
        assert text(a) != text(b), (a, b)


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
def test_the_same_thing_has_one_text(a: Any, b: Any) -> None:
    assert canonical(a) == canonical(b)


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
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_cannot_be_recognised_has_none(thing: Any) -> None:
    with pytest.raises(NoCanonicalText):
        canonical(thing)


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
