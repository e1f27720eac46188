"""What is left out is said, and how much it is can be asked."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.session import truncation
from dalenius.tables.compute import exact
from dalenius.tables.plan.plan import plan
from tests.noise.seeded import seeded

SIZES = {1: 1, 2: 2, 3: 3, 4: 3, 5: 7, 6: 1000}
"""How many rows each person has."""


def rows(sizes: dict[int, int]) -> pd.DataFrame:
    who = [person for person, size in sizes.items() for _ in range(size)]
    return pd.DataFrame({"who": who, "x": range(len(who))})


def session(sizes: dict[int, int] = SIZES, budget: Any = None, **bounds: Any) -> dp.Session:
    unit = dp.Unit("who", **(bounds or {"max_rows": 2}))
    return dp.Session(rows(sizes), unit=unit, budget=budget or dp.ZCDP(1e4), schema=dp.Schema(nulls="drop"))


def exactly(s: dp.Session, up_to: int | None = 10) -> dict[str, int]:
    query, _, _ = truncation.question(s.table, up_to)
    found = exact.evaluate(s.source, query, s._unit(query.table))
    return {name: _whole(found, next(iter(roles.values()))) for name, _, roles in query.parts}


def _whole(found: Any, measure: Any) -> int:
    return int(found[measure][0] * measure.granularity)


def test_units_and_rows_that_are_cut() -> None:
    expected = {"units": 6, "cut": 4, "kept": 1 + 2 + 2 + 2 + 2 + 2, "lost": 1 + 1 + 5 + 8}
    assert exactly(session()) == expected
    told = session().truncation(dp.ZCDP(4e3), up_to=10)
    assert [round(float(told.answer[name].estimate[0])) for name in expected] == list(expected.values())
    assert (told.max_rows, told.up_to) == (2, 10)
    assert told.share_cut == pytest.approx(4 / 6, abs=0.2)
    assert "who with more than 2 rows: about 4 of 6 (6" in str(told)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
def test_one_unit_moves_each_by_what_is_planned(adjacency: Any) -> None:
    """A person with a thousand rows moves the rows that are lost by eight and the others by 1 or 2, no more."""
    query, _, _ = truncation.question(session().table, 10)
    unit = session()._unit(query.table)
    made = plan(query, unit, dp.ZCDP(0.1), adjacency)
    one_each = {name: next(iter(roles.values())) for name, _, roles in query.parts}
    planned = {name: made.of[m].sensitivity.l1 * m.granularity for name, m in one_each.items()}
    assert planned == {"units": 1, "cut": 1, "kept": 2, "lost": 8}
    whole = exactly(session())
    others = [exactly(session({k: v for k, v in SIZES.items() if k != gone})) for gone in SIZES]
    if adjacency is REPLACE_ONE:
        others = [exactly(session({**SIZES, gone: 1})) for gone in SIZES]
    for other in others:
        assert all(abs(whole[name] - other[name]) <= planned[name] for name in whole)
    assert max(whole["lost"] - other["lost"] for other in others) == 8


def test_filters_and_limits_count_before_the_cut() -> None:
    s = session()
    few = truncation.question(s.table.filter("x < 9").limit_rows(1), 10)[0]
    found = exact.evaluate(s.source, few, s._unit(few.table))
    assert [_whole(found, m) for m in few.measures] == [4, 3, 4, 5]


def test_what_cannot_be_asked_is_refused_for_nothing() -> None:
    s = session()
    for wrong, told in {
        lambda: s.truncation(dp.ZCDP(1), up_to=2): "more than the 2 rows",
        lambda: s.truncation(dp.ZCDP(1), table=s.table.per_unit()): "each table on its own",
        lambda: dp.Session(rows(SIZES), unit=dp.Unit.rows(), budget=dp.ZCDP(1)).truncation(
            dp.ZCDP(1)
        ): "nothing to ask",
        lambda: dp.Session(
            {"a": rows(SIZES), "b": rows(SIZES)}, unit=dp.Unit("who", max_rows=2), budget=dp.ZCDP(1)
        ).truncation(dp.ZCDP(1)): "several tables",
    }.items():
        with pytest.raises(InvalidParameter, match=told):
            wrong()
    assert s.remaining == dp.ZCDP(1e4)


def test_an_id_may_be_called_rows() -> None:
    frame = rows(SIZES).rename(columns={"who": "rows"})
    s = dp.Session(frame, unit=dp.Unit("rows", max_rows=2), budget=dp.ZCDP(1), schema=dp.Schema(nulls="drop"))
    assert s.truncation(dp.ZCDP(0.1)).max_rows == 2
    with pytest.raises(QueryRefused, match="choose another name"):
        s.table.per_unit()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda t: t.agg(n=dp.count()), "At most 3 rows of each who count. What is beyond"),
        (lambda t: t.limit_rows(1).agg(n=dp.count()), "At most 1 row of each who counts"),
        (lambda t: t.agg(n=dp.count_distinct()), ""),
        (lambda t: t.per_unit().agg(n=dp.mean("rows", (0, 9))), ""),
        (
            lambda t: t.group_by("x", keys=[1, 2]).agg(n=dp.count()),
            "At most 3 rows of each who count; each who counts in at most 2 groups.",
        ),
        (
            lambda t: t.group_by("x", keys=[1, 2]).agg(n=dp.count_distinct()),
            "Each who counts in at most 2 groups.",
        ),
    ],
)
def test_answers_say_what_is_left_out(asked: Any, words: str) -> None:
    s = session(max_rows=3, max_groups=2)
    query = asked(s.table)
    told = s.release(query, dp.ZCDP(1))
    assert told.left_out.startswith(words)
    assert bool(told.left_out) == bool(words)
    assert told.left_out in str(told)
    assert told.left_out in told.to_html()
    assert told.left_out in str(s.explain(query, dp.ZCDP(1)))


def test_answers_about_joined_tables_say_it_of_each() -> None:
    both = {"a": rows(SIZES), "b": rows(SIZES)}
    s = dp.Session(both, unit=dp.Unit("who", max_rows={"a": 2, "b": 3}), budget=dp.ZCDP(10))
    joined = s.table["a"].join(s.table["b"], on="who")
    told = s.release(joined.agg(n=dp.count()), dp.ZCDP(1)).left_out
    assert told.startswith(
        "Before they are joined, at most 2 of a and 3 of b are kept of the rows of each who. What"
    )
    told = s.release(joined.limit_rows(4).agg(n=dp.count()), dp.ZCDP(1)).left_out
    assert "each who; at most 4 joined rows of each who count. What" in told


def test_a_table_may_have_a_column_called_rows() -> None:
    visits = pd.DataFrame({"who": [1, 1, 1, 2], "Rows": [1, 2, 3, 4], "number of rows": [1, 2, 3, 4]})
    s = dp.Session(
        visits, unit=dp.Unit("who", max_rows=2), budget=dp.ZCDP(1e4), schema=dp.Schema(nulls="drop")
    )
    assert round(s.truncation(dp.ZCDP(1e3)).answer["cut"].estimate[0]) == 1


def test_of_several_tables_one_is_named_and_notes_say_how() -> None:
    """The call that a note under a joined answer tells is one that works."""
    visits = pd.DataFrame({"who": [1, 1, 1, 2] * 50, "x": 1})
    buys = pd.DataFrame({"who": [1, 2] * 50, "y": 1})
    session = dp.Session(
        {"visits": visits, "buys": buys},
        unit=dp.Unit("who", max_rows=2),
        budget=dp.ZCDP(1.0),
        schema={"visits": dp.Schema(nulls="drop"), "buys": dp.Schema(nulls="drop")},
    )
    with pytest.raises(QueryRefused, match=r"truncation\(budget, table=s.table\['visits'\]\)"):
        session.truncation(dp.ZCDP(0.1))
    alone = session.release(session.table["buys"].agg(n=dp.count()), dp.ZCDP(0.1))
    joined = session.table["visits"].join(session.table["buys"], on="who").agg(n=dp.count())
    budget = dp.ZCDP(0.1)
    for answer in (alone, session.release(joined, dp.ZCDP(0.1))):
        (call,) = re.findall(r"session\.truncation\(.*?\]\)", answer.note)
        assert isinstance(eval(call, {"session": session, "budget": budget}), truncation.Truncation)


def test_it_is_asked_by_accuracy_and_shows_nothing_below_none() -> None:
    s = session(dict.fromkeys(range(20), 1), dp.ZCDP(1.0))
    told = s.truncation(accuracy=dp.within({"cut": 100}, confidence=0.9))
    assert told.answer.wanted.confidence == 0.9
    assert told.answer["cut"].error[0] < 100 / 1.6
    for k in range(10):
        with seeded(k):
            told = s.truncation(dp.ZCDP(1e-6 + k * 1e-9))
        assert any(column.low[0] < 0 for column in told.answer.columns)
        row, raw = (str(shown).partition("95 %")[0].splitlines()[-1] for shown in (told, told.answer))
        assert "-" in raw
        assert "-" not in row
