"""Words of other libraries, and slips: what is said names the fix, and nothing that works is in the way."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from sklearn.base import clone

import dalenius as dp
from dalenius.core.habits import absent, hinted

FRAME = pd.DataFrame({"age": [20, 30, 40] * 100, "sex": ["f", "m", "m"] * 100})
SCHEMA = dp.Schema({"age": {"bounds": (0, 100)}, "sex": {"categories": ["f", "m"]}}, nulls="drop")


def session(**more: Any) -> dp.Session:
    return dp.Session(FRAME, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=SCHEMA, **more)


CALLS: list[tuple[Callable[[dp.Session], Any], str]] = [
    (lambda s: session(epsilon=1.0), r"Session\(\) takes no epsilon.*budget=dp.ApproxDP"),
    (lambda s: dp.Session(FRAME, budget=dp.ZCDP(1.0)), r"needs unit: dp.Unit.rows\(\)"),
    (lambda s: dp.Unit(), r"needs column.*Unit.rows\(\)"),
    (lambda s: dp.Unit("id", maxrows=3), "did you mean 'max_rows'"),
    (lambda s: dp.Unit("id", 3), "by name max_rows, max_groups"),
    (
        lambda s: s.release(s.table.agg(n=dp.count()), epsilon=0.1),
        "release.. takes no epsilon.*budget=dp.ZCDP",
    ),
    (lambda s: s.release(s.table.agg(n=dp.count()), acuracy=1), "did you mean 'accuracy'"),
    (lambda s: s.price(s.table.agg(n=dp.count()), acuracy=1), r"Session.price\(\) takes no 'acuracy'"),
    (lambda s: dp.mean("age", epsilon=1.0), r"session.release\(q, dp.ZCDP\(0.01\)\)"),
    (lambda s: dp.mean("age", lower=0, upper=9), r"bounds=\(lower, upper\)"),
    (lambda s: dp.mean("age", 0, 9), "It takes column, bounds; by name nulls, granularity"),
    (lambda s: dp.count_distinct("sex"), r"group_by\(column, keys="),
    (lambda s: dp.quantiles("age"), r"needs levels: \[0.25"),
    (lambda s: dp.within(n=5), r"within\(\{'n': 50"),
    (lambda s: dp.ApproxDP(eps=1.0, delta=1e-6), "did you mean 'epsilon'"),
    (lambda s: dp.mechanisms.Laplace(epsilon=1.0, sensitivity=1), r"Laplace.calibrated\(dp.PureDP"),
    (lambda s: dp.mechanisms.Laplace(sensitivity=1, scale=1, random_state=0), "takes no seed"),
    (lambda s: dp.learn.LogisticRegression(epsilon=1.0), r"LogisticRegression\(dp.ApproxDP"),
    (lambda s: dp.learn.LogisticRegression(dp.ZCDP(1.0), data_norm=2.0), "did you mean 'row_norm'"),
    (lambda s: dp.infer.LinearRegression(epsilon=1.0), r"LinearRegression\(dp.ZCDP"),
]


@pytest.mark.parametrize(("wrong", "told"), CALLS)
def test_a_wrong_call_names_the_right_one(wrong: Callable[[dp.Session], Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        wrong(session())


NAMES: list[tuple[Callable[[dp.Session], Any], str]] = [
    (lambda s: dp.avg, "write dp.mean"),  # type: ignore[attr-defined]
    (lambda s: dp.max, "belong to one person"),  # type: ignore[attr-defined]
    (lambda s: dp.EpsilonDelta, "dp.ApproxDP"),  # type: ignore[attr-defined]
    (lambda s: dp.Laplace, "it is dp.mechanisms.Laplace"),  # type: ignore[attr-defined]
    (lambda s: dp.PureDp, "did you mean 'PureDP'"),  # type: ignore[attr-defined]
    (lambda s: s.table.groupby, "group_by"),  # type: ignore[attr-defined]
    (lambda s: s.table.mean, "aggregates stand in agg"),  # type: ignore[attr-defined]
    (lambda s: s.table.head, "rows of the data"),  # type: ignore[attr-defined]
    (lambda s: s.table.age, r"filter\('age > 0'\)"),  # type: ignore[attr-defined]
    (lambda s: s.query, "release"),  # type: ignore[attr-defined]
    (lambda s: s.mean, "session.table.agg"),  # type: ignore[attr-defined]
    (lambda s: s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1)).n, r"answer\['n'\]"),  # type: ignore[attr-defined]
    (lambda s: s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1)).to_excel, "to_csv"),  # type: ignore[attr-defined]
]


@pytest.mark.parametrize(("wrong", "told"), NAMES)
def test_a_name_that_is_not_there_leads_to_one_that_is(wrong: Callable[[dp.Session], Any], told: str) -> None:
    with pytest.raises(AttributeError, match=told):
        wrong(session())


def test_a_column_in_square_brackets_is_one_in_text() -> None:
    with pytest.raises(dp.errors.QueryRefused, match="is a column"):
        session().table["age"]


def test_private_names_are_plainly_not_there() -> None:
    """Tools look for such names in everything; that opens no room and tells nothing."""
    for thing in (dp, session(), session().table):
        assert not hasattr(thing, "_ipython_canary_method_should_not_exist_")
    assert str(absent("a table", "_x", ["_xy"], {})) == "a table has no attribute '_x'"


def test_what_works_is_as_it_was() -> None:
    """Signature, name, documentation and home of a function; copies of objects."""

    def given(x: int, *, y: int = 2) -> int:
        """Its words."""
        return x + y

    around = hinted("p")(given)
    assert (around(1), around(1, y=3)) == (3, 4)
    assert inspect.signature(around) == inspect.signature(given)
    assert (around.__doc__, around.__module__, around.__globals__) == ("Its words.", __name__, globals())  # type: ignore[attr-defined]
    model = dp.learn.LogisticRegression(dp.ZCDP(1.0))
    assert clone(model).get_params() == pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    m = dp.mechanisms.Laplace(sensitivity=1, scale=2.0)
    assert pickle.loads(pickle.dumps(m)) == m


def test_what_fails_inside_is_told_as_it_is() -> None:
    @hinted("p")
    def broken(x: int) -> int:
        raise TypeError("from inside")

    with pytest.raises(TypeError, match=r"^from inside$"):
        broken(1)
