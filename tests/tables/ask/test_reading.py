"""Questions that come from elsewhere: what we write is read as it was meant, and nothing else is."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.tables.aggregates import KINDS
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.ask.reading import DEEPEST, STEPS, read_query
from dalenius.tables.ask.several import Tables
from dalenius.tables.facts.kinds import Field
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.plan.plan import plan
from dalenius.tables.rows.steps import Join
from tests.tables.hostile import judge, relations, stores
from tests.tables.hostile.campaign import run
from tests.tables.hostile.questions import questions
from tests.tables.hostile.rows import worlds


def travelled(query: Query, tables: Any) -> Query:
    """The question after it went to JSON and back, with the public tables it joins."""
    public = [step.table.record() for step in query.table.steps if isinstance(step, Join)]
    wire = json.loads(json.dumps({"question": query.record(), "public": public}))
    return read_query(wire["question"], tables, map(PublicTable.from_record, wire["public"]))


def hold_together(here: Query, there: Query, unit: dp.Unit) -> None:
    assert here.record() == there.record()
    assert here.canonical() == there.canonical()
    assert here.measures == there.measures
    if here.record()["keys"] != {"kind": "discovered"}:
        assert planned(here, unit) == planned(there, unit)


def planned(query: Query, unit: dp.Unit) -> str:
    try:
        return repr(plan(query, unit, dp.GDP(0.1), dp.ADD_REMOVE, 1e-9).noises)
    except InvalidParameter as problem:
        return str(problem)


def test_every_hostile_question_travels() -> None:
    seen: set[str] = set()

    def attempt(data: st.DataObject, random: Random, tally: judge.Tally) -> None:
        world = worlds(random, "duckdb", units=1)
        with stores.frame(world) as hold:
            source = hold(None)
            for _ in range(45):
                question = data.draw(questions(world.names))
                table = replace(source.table(question.schema), unit=question.unit)
                try:
                    asked = question.ask(table)
                except InvalidParameter:
                    continue
                hold_together(asked, travelled(asked, table), question.unit)
                seen.update(one.tag for _, one in asked.aggregates)
                seen.update(step.record()["kind"] for step in asked.table.steps)

    leak = run(attempt, 2, 1, judge.Tally())
    assert leak is None, str(leak)
    assert seen >= {
        "filter",
        "compute",
        "join",
        "count",
        "mean",
        "histogram",
        "quantiles",
        "mode",
        "covariance",
    }


def test_every_hostile_question_about_two_tables_travels() -> None:
    seen: set[str] = set()

    def attempt(data: st.DataObject, random: Random, tally: judge.Tally) -> None:
        pair = relations.pairs(random, "duckdb", units=1)
        with relations.in_frames(pair) as hold:
            source = hold(None)
            for _ in range(20):
                question = data.draw(relations.related(pair.names))
                family = object()
                tables = Tables(
                    {
                        name: replace(
                            one.table(question.schemas[name]), unit=question.unit.of(name), family=family
                        )
                        for name, one in source.together.items()
                    }
                )
                try:
                    asked = question.ask(source)
                except InvalidParameter:
                    continue
                hold_together(asked, travelled(asked, tables), asked.table.bounded(question.unit.of("data")))
                seen.update(step.record()["kind"] for step in asked.table.steps)

    leak = run(attempt, 1, 2, judge.Tally())
    assert leak is None, str(leak)
    assert seen >= {"private join", "limit rows"}


FIELDS = (
    Field("age", "int64", "integer", False),
    Field("pay", "float64", "number", True, True),
    Field("town", "string", "text", True),
    Field("who", "string", "text", True),
    Field("days", "array<int64>", None, True, items="integer"),
)
PUBLIC = PublicTable.of(
    {"town": ["a", "b", None], "part": [0.5, float("nan"), 2.0], "odd": [{"x": 1}, None, None]}
)


def tables() -> Tables:
    family = object()
    facts = dp.Schema({"pay": {"bounds": (0, 9)}, "town": {"categories": ["a", "b"]}}, nulls="drop")
    unit = dp.Unit("who", max_rows=3)
    made = {name: Table(name, FIELDS, facts, unit=unit, family=family) for name in ("people", "visits")}
    return Tables(made)


def everything(of: Tables) -> Query:
    """One question with every kind of step but one, and every kind of aggregate."""
    people, visits = of["people"], of["visits"].explode("days", max_items=3).limit_rows(2)
    table = (
        people.filter("age >= 18 AND town <> 'x'")
        .with_columns(self="age * 2")
        .join_public(PUBLIC, on="town", how="left")
        .join(visits, on=["who", "town"])
    )
    impute = dp.tables.impute
    return table.group_by("town").agg(
        **{
            "self": dp.count(),
            "rows": dp.count("pay"),
            "units": dp.count_distinct(),
            "s": dp.sum("self", bounds=(0, 7), granularity=0.25),
            "m": dp.mean("pay"),
            "v": dp.variance("part", (0, 1), nulls="drop"),
            "d": dp.std("pay"),
            "cv": dp.covariance("pay", "age", (0, 1), (0.1, 90)),
            "cr": dp.correlation("pay", "age", (0, 1), (0, 90)),
            "p": dp.proportion("age > 50"),
            "h": dp.histogram("pay", bins=3),
            "e": dp.histogram("age", edges=[0, 1.5, 9]),
            "q": dp.quantiles("pay", [0.1, 0.5]),
            "b": dp.bounds("pay", share=0.9),
            "mo": dp.mode("town", nulls=impute("a")),
            "t": dp.top_k("town", 2),
            "aq": dp.median("pay", adaptive=True),
            "sq": dp.median("pay", adaptive="smooth"),
            "pq": dp.quantile("pay", 0.9, adaptive="propose", sensitivity=0.5),
        }
    )


def test_every_kind_travels() -> None:
    of = tables()
    asked = everything(of)
    assert {one.tag for _, one in asked.aggregates} == {kind.tag for kind in KINDS}
    hold_together(asked, travelled(asked, of), dp.Unit("who", max_rows=9))
    counted = of["people"].per_unit("n").agg(n=dp.mean("n", bounds=(0, 3)))
    hold_together(counted, travelled(counted, of), dp.Unit("who", max_rows=1))
    steps = {step.tag for query in (asked, counted) for step in query.table.steps} | {"explode", "limit rows"}
    assert steps == set(STEPS)


def test_a_public_table_travels_whole() -> None:
    again = PublicTable.from_record(json.loads(json.dumps(PUBLIC.record())))
    assert again.usable_digest == PUBLIC.usable_digest
    assert [(f.name, f.kind, f.missing) for f in again.fields] == [
        (f.name, f.kind, f.missing) for f in PUBLIC.fields
    ]


def test_a_short_question_is_the_long_one() -> None:
    of = tables()
    short = {
        "table": {"name": "people", "steps": [{"kind": "filter", "condition": "age>=18"}]},
        "group_by": ["town"],
        "keys": {"kind": "listed", "rows": [["a"], "b"]},
        "aggregates": [
            {"name": "n", "aggregate": {"kind": "count"}},
            {"name": "m", "aggregate": {"kind": "mean", "column": "age", "bounds": [0, 90.5]}},
        ],
    }
    long = (
        of["people"]
        .filter("age >= 18")
        .group_by("town", keys=["a", "b"])
        .agg(n=dp.count(), m=dp.mean("age", (0, 90.5)))
    )
    assert read_query(short, of).record() == long.record()


PLANTED: dict[str, Any] = {
    "a number": 5,
    "text": "x",
    "nothing": None,
    "a list": [],
    "a deep list": [[[[["x"]]]]],
    "an object": {},
    "another kind": {"kind": "no such kind"},
    "a kind that is a list": {"kind": ["count"]},
    "true": True,
    "a large number": 10**5000,
    "not a number": float("nan"),
    "half a character": "\ud800",
    "a long text": "x" * 30_000,
    "brackets": "(" * 9_000,
    "a bomb": "1e999999999",
    "a statement": "SELECT 1; DROP TABLE people",
}


def places(record: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a record."""
    yield at
    parts = (
        record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    )
    for key, value in parts:
        yield from places(value, (*at, key))


def planted(record: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    made = copy.deepcopy(record)
    inner = made
    for key in at[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return made


GONE = object()


def test_whatever_is_sent_is_read_or_refused() -> None:
    """Anything in any place of a record: a question, or InvalidParameter in words; nothing else comes out."""
    of = tables()
    record, random = json.loads(json.dumps(everything(of).record())), Random(7)
    every = list(places(record))
    refused = 0
    cases = [(at, value) for at in every for value in (*PLANTED.values(), GONE) if at or value is not GONE]
    for at, value in random.sample(cases, 70):
        hostile = planted(record, at, value)
        try:
            made = read_query(hostile, of, [PUBLIC])
        except InvalidParameter:
            refused += 1
        else:
            # What was taken has a meaning, and its record is read as itself.
            assert read_query(made.record(), of, [PUBLIC]).record() == made.record()
    assert refused > 35


def test_words_that_mean_nothing_are_refused_everywhere() -> None:
    of = tables()
    record = json.loads(json.dumps(everything(of).record()))
    objects = [at for at in places(record) if isinstance(_at(record, at), dict)]
    for at in Random(1).sample(objects, 25):
        wrong = planted(record, at, {**_at(record, at), "surprise": 1})
        with pytest.raises(InvalidParameter):
            read_query(wrong, of, [PUBLIC])


def _at(record: Any, at: tuple[Any, ...]) -> Any:
    for key in at:
        record = record[key]
    return record


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"table": {"name": "peple"}, "aggregates": [{}]}, "did you mean 'people'"),
        ({"table": {"name": "people"}, "aggregates": []}, "at least one"),
        ({"table": {"name": "people"}}, "lacks 'aggregates'"),
        (
            {"table": {"name": "people"}, "aggregates": [{"name": "n", "aggregate": {"kind": "meen"}}]},
            "one of count",
        ),
        (
            {"table": {"name": "people"}, "aggregates": [{"name": "n", "aggregate": {"kind": "mean"}}]},
            "needs 'column'",
        ),
        (
            {
                "table": {"name": "people", "columns": []},
                "aggregates": [{"name": "n", "aggregate": {"kind": "count"}}],
            },
            "take its description anew",
        ),
        (
            {
                "table": {
                    "name": "people",
                    "steps": [{"kind": "join", "how": "left", "on": [["town", "town"]], "public": "ab"}],
                },
                "aggregates": [{"name": "n", "aggregate": {"kind": "count"}}],
            },
            "did not come with it",
        ),
    ],
)
def test_a_refusal_says_what_is_wrong(record: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        read_query(record, tables())


def test_depth_and_length_are_bounded() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidParameter, match=f"{DEEPEST} levels"):
        read_query({"table": deep, "aggregates": []}, tables())
    many = {
        "table": {"name": "people", "steps": [{"kind": "filter", "condition": "age > 1"}] * 33},
        "aggregates": [],
    }
    with pytest.raises(InvalidParameter, match="32 steps"):
        read_query(many, tables())


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_are_finite(number: float) -> None:
    """Python takes Infinity for JSON, and databases do not."""
    odd = {"kind": "mean", "column": "age", "bounds": [0, number]}
    record = {"table": {"name": "people"}, "aggregates": [{"name": "n", "aggregate": odd}]}
    with pytest.raises(InvalidParameter, match="finite numbers only"):
        read_query(record, tables())
