"""One question, one record: however it is spelled, in Python or in SQL, with what the schema says left out or said
again. And another question has another record, always.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalenius as dp
from dalenius.tables import Field, Query, Schema, Table
from dalenius.tables.compute import exact
from dalenius.tables.sql import parse_sql

FIELDS = (
    Field("age", "int64", "integer", False),
    Field("Pay", "float64", "number", True, True),
    Field("my col", "float64", "number", True, True),
    Field("town", "string", "text", True),
    Field('"age"', "int64", "integer", False),
)
BOUNDS: dict[str, tuple[int, int]] = {"age": (0, 120), "Pay": (-5, 100), "my col": (0, 1)}
SCHEMAS = [  # the same facts, told in three ways
    Schema(
        {
            "age": {"bounds": (0, 120)},
            "Pay": {"bounds": (-5, 100), "nulls": "drop"},
            "my col": {"bounds": (0, 1), "nulls": "drop"},
            "town": {"categories": ["a", "b"], "nulls": "drop"},
        }
    ),
    Schema(
        {
            "age": {"bounds": (0, 120), "nulls": "never"},
            "Pay": {"bounds": (-5.0, 100.0)},
            "my col": {"bounds": [0, 1.0]},
            "town": {"categories": ["a", "b"], "nulls": "drop"},
        },
        nulls="drop",
    ),
    Schema({"town": {"nulls": "drop", "categories": ["a", "b"]}}, nulls="drop"),
]
"""The last has no bounds: they are said in the question then."""


class Asked(NamedTuple):
    """A question as data: no two of these are the same question."""

    aggregate: str
    column: str
    bounds: tuple[float, float]
    nulls: Any
    where: str | None
    grouped: bool
    option: float


COLUMNS = [
    "age",
    "Pay",
    "my col",
    "age + Pay",
    "CASE WHEN age >= 18 THEN Pay END",
    "(age + 1) * Pay",
    '"""age"""',
]
FILTERS = [
    None,
    "age >= 18",
    "Pay > 1 AND town <> 'oak'",
    "NOT (age = 5)",
    "(age + 1) * 2 > 7",
    "age + 1 * 2 > 7",
]

questions = st.builds(
    Asked,
    st.sampled_from(["mean", "sum", "variance", "std", "median", "quantile", "histogram", "covariance"]),
    st.sampled_from(COLUMNS),
    st.one_of(st.none(), st.sampled_from([(0.0, 120.0), (0.0, 99.5), (-5.0, 100.0)])),
    st.sampled_from(["drop", "never", dp.impute(1), dp.impute(2)]),
    st.sampled_from(FILTERS),
    st.booleans(),
    st.sampled_from([0.25, 0.75]),
).map(lambda asked: asked._replace(bounds=asked.bounds or BOUNDS.get(asked.column, (0.0, 9.0))))


def effective(asked: Asked) -> tuple[Any, ...]:
    """What tells the question from others: a policy of what is never missing says nothing, but what it imputes."""
    nulls = asked.nulls
    if asked.column in ("age", '"""age"""') and nulls == "drop":
        nulls = "never"
    option = asked.option if asked.aggregate in ("quantile", "histogram") else 0.0
    return (*asked._replace(nulls=repr(nulls), option=option, bounds=tuple(map(float, asked.bounds))),)


class Speller:
    """Spells a question at random."""

    def __init__(self, data: st.DataObject) -> None:
        self.one_of = lambda *choices: data.draw(st.sampled_from(choices))

    def expression(self, text: str) -> str:
        """The same with other blanks, capitals, quotes and brackets."""
        words = []
        for word in _words(text):
            if word == "my col":
                words.append('"my col"')
            elif word in ("age", "Pay"):
                name = self.one_of(
                    word, f'"{word}"', word.upper(), f'"{word.lower()}"', f"({word})", f'(("{word}"))'
                )
                words.append(name)
            elif word.isalpha():
                words.append(self.one_of(word, word.lower()))
            else:
                words.append(f"({word})" if word.isdigit() and self.one_of(True, False) else word)
        spelled = self.one_of(" ", "  ", "\n").join(words)
        return self.one_of(spelled, f"({spelled})", f"(( {spelled} ))", f"{spelled} /* a note */")

    def bounds(self, asked: Asked, schema: Schema) -> Any:
        low, high = asked.bounds
        if asked.column in BOUNDS and schema[asked.column].bounds == (low, high) and self.one_of(True, False):
            return None
        return self.one_of((low, high), [low, high], np.array([low, high]), (np.float64(low), high))

    def nulls(self, asked: Asked) -> Any:
        if asked.column in ("age", '"""age"""') and asked.nulls in ("drop", "never"):
            return self.one_of(None, "drop", "never")
        return self.one_of(None, "drop") if asked.nulls == "drop" else asked.nulls

    def query(self, asked: Asked) -> Query:
        schema = self.one_of(*SCHEMAS)
        table = Table("people", FIELDS, schema)
        if asked.where is not None:
            table = table.filter(self.expression(asked.where))
        text = asked.column if asked.column in ("my col", '"""age"""') else self.expression(asked.column)
        bounds, nulls = self.bounds(asked, schema), self.nulls(asked)
        made: Any = None
        if asked.aggregate == "covariance":
            made = dp.covariance("age >= 50", text, (0, 1), bounds, nulls=nulls)
        elif asked.aggregate == "quantile":
            made = self.one_of(
                dp.quantile(text, asked.option, bounds, nulls=nulls),
                dp.quantiles(text, [np.float64(asked.option)], bounds, nulls=nulls),
            )
        elif asked.aggregate == "histogram":
            made = dp.histogram(text, int(40 * asked.option), bounds, nulls=nulls)
        else:
            made = getattr(dp, asked.aggregate)(text, bounds, nulls=nulls)
        if not asked.grouped:
            return table.agg(r=made)
        keys = self.one_of(None, ["a", "b"], {"TOWN".lower(): ["a", "b"]})
        return table.group_by(self.one_of("town", "TOWN"), keys=keys).agg(r=made)


def _words(text: str) -> list[str]:
    if text == "my col":
        return [text]
    for sign in ("(", ")"):
        text = text.replace(sign, f" {sign} ")
    return text.split()


@given(questions, st.data())
def test_the_same_question_has_one_record(asked: Asked, data: st.DataObject) -> None:
    first, second = Speller(data).query(asked), Speller(data).query(asked)
    assert first.canonical() == second.canonical()
    assert first.aggregates == second.aggregates
    assert first.roles == second.roles


@given(questions, questions, st.data())
def test_another_question_has_another_record(one: Asked, other: Asked, data: st.DataObject) -> None:
    same = effective(one) == effective(other)
    assert (Speller(data).query(one).canonical() == Speller(data).query(other).canonical()) == same


@given(st.sampled_from(COLUMNS), questions, st.data())
def test_one_change_is_another_question(column: str, asked: Asked, data: st.DataObject) -> None:
    """Of two random questions little is alike; here all but one thing is."""
    spelled = Speller(data).query(asked).canonical()
    changes: dict[str, Any] = {
        "column": column,
        "bounds": (asked.bounds[0], asked.bounds[1] + 1),
        "nulls": dp.impute(3),
        "where": "age > 18",
        "grouped": not asked.grouped,
    }
    for word, value in changes.items():
        other = asked._replace(**{word: value})
        if other != asked:
            assert Speller(data).query(other).canonical() != spelled, word


@given(st.sampled_from([*COLUMNS[3:], *FILTERS[1:]]), st.data())
def test_a_canonical_text_is_its_own(text: str, data: st.DataObject) -> None:
    scope = Table("people", FIELDS, SCHEMAS[0]).scope()
    canonical = scope.canonical(Speller(data).expression(text), "it")
    assert scope.canonical(canonical, "it") == canonical


@pytest.mark.parametrize(
    ("texts", "asked"),
    [
        (
            [
                "SELECT AVG(age) AS r FROM people",
                "select mean((AGE)) as r from people as p",
                'SELECT AVG(p."age", 0, 120) r FROM people p',
                "SELECT MEAN(people.Age) AS r FROM People",
            ],
            dp.mean("age"),
        ),
        (
            ["SELECT COUNT(*) AS r FROM people", "SELECT COUNT(age) AS r FROM people p"],
            dp.count("AGE", nulls="drop"),
        ),
        (["SELECT COUNT(p.pay) AS r FROM people p"], dp.count('("Pay")', nulls="drop")),
        (
            ["SELECT MODE(town) r FROM people", "SELECT MODE(P.TOWN, 'a', 'b') r FROM people p"],
            dp.mode('"town"'),
        ),
        (["SELECT PROPORTION(p.age>=65) AS r FROM people p"], dp.proportion("(age >= 65)", nulls="never")),
        (["SELECT MEDIAN(p.PAY) AS r FROM people p"], dp.quantile("Pay", 0.5, (-5, 100), nulls="drop")),
        (
            [
                "SELECT CORR(p.age, p.pay) r FROM people p",
                "SELECT CORR(age, pay, 0, 120, -5, 100) AS r FROM people",
            ],
            dp.correlation("age", "Pay"),
        ),
        (["SELECT BOUNDS(p.pay) r FROM people p"], dp.bounds("PAY", nulls="drop")),
    ],
    ids=lambda case: str(case) if isinstance(case, dp.tables.Aggregate) else "",
)
def test_sql_and_python_ask_the_same(texts: list[str], asked: Any) -> None:
    table = Table("people", FIELDS, SCHEMAS[0])
    for text in texts:
        assert parse_sql(text, table).canonical() == table.agg(r=asked).canonical(), text


def test_columns_that_differ_in_quotes_are_two() -> None:
    """`age` and `"age"`, quotes and all, each under its own canonical text."""
    table = Table("people", FIELDS, SCHEMAS[0])
    (plain,) = (measure for measure in table.agg(s=dp.sum("age")).measures)
    (odd,) = (measure for measure in table.agg(s=dp.sum('"""age"""', (0, 120))).measures)
    assert plain.values[0].text == '"age"'
    assert odd.values[0].text == '"""age"""'
    rows = {"age": [1], '"age"': [100]}
    source = dp.tables.Source.open(rows)
    for text, right in (("age", 1), ('"age"', 1), ('"""age"""', 100)):
        query = source.table().agg(s=dp.sum(text, (0, 120), nulls="drop"))
        integers = exact.evaluate(source, query, dp.Unit.rows())
        assert [int(integers[measure][0]) for measure in query.measures] == [right]


def test_unused_facts_do_not_matter() -> None:
    texts = set()
    for facts in ({}, {"my col": {"bounds": (0, 1)}}, {"town": {"categories": ["x"]}}):
        schema = Schema({"Pay": {"bounds": (0, 9)}, **facts}, nulls="drop")
        texts.add(Table("people", FIELDS, schema).agg(r=dp.mean("Pay")).canonical())
    assert len(texts) == 1


def test_policies_that_a_question_rests_on_do() -> None:
    policies = ["drop", "never", dp.impute(0.0), dp.impute(1.0)]
    questions = [
        lambda table: table.filter("Pay > 1").agg(n=dp.count()),
        lambda table: table.with_columns(twice="Pay * 2").agg(s=dp.sum("twice", (0, 1))),
        lambda table: table.agg(s=dp.sum("Pay + 1", (0, 1))),
        lambda table: table.agg(s=dp.sum("Pay", (0, 1))),
    ]
    for question in questions:
        tables = [
            Table("people", FIELDS, Schema({"Pay": {"nulls": policy}}, nulls="drop")) for policy in policies
        ]
        texts = [question(table).canonical() for table in tables]
        assert all(a != b for a, b in itertools.combinations(texts, 2))


def test_the_policy_of_a_joined_column_does() -> None:
    towns = {"town": ["a", "b"], "hills": [1.0, 2.0]}
    texts = set()
    for policy in ("drop", "never"):
        table = Table("people", FIELDS, Schema(nulls=policy))  # type: ignore[arg-type]
        joined = table.join_public(towns, on="town", how="left")
        texts.add(joined.filter("hills > 1").agg(n=dp.count()).canonical())
    assert len(texts) == 2
