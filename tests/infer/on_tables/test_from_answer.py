"""Answers of a session as results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer import Result, from_answer

SCHEMA = dp.Schema({"age": {"bounds": (18, 90)}, "pay": {"bounds": (0, 100)}}, nulls="drop")


def session(unit: dp.Unit) -> dp.Session:
    rng = np.random.default_rng(1)
    n = 2000
    rows = {
        "id": np.arange(n) // 2,
        "age": rng.integers(18, 90, n),
        "pay": rng.normal(50, 10, n),
        "town": rng.choice(["a", "b"], n),
    }
    return dp.Session(pd.DataFrame(rows), unit=unit, budget=dp.GDP(9.0), schema=SCHEMA)


def test_estimates_and_limits_are_the_answers() -> None:
    s = session(dp.Unit.rows())
    wanted = {
        "n": dp.count(),
        "m": dp.mean("pay"),
        "q": dp.quantiles("age", [0.25, 0.5]),
        "total": dp.sum("pay"),
    }
    answer = s.release(s.table.group_by("town", keys=["a", "b"]).agg(**wanted), dp.GDP(2.0))
    left = s.remaining
    result = from_answer(answer)
    assert s.remaining == left
    assert result.names == ("m[a]", "m[b]", "q_0.25[a]", "q_0.25[b]", "q_0.5[a]", "q_0.5[b]")
    shown = answer.at(0.9, sampling=True)
    assert np.array_equal(result.params[:2], shown["m"].estimate)
    assert np.array_equal(result.conf_int(0.1)[:2], np.c_[shown["m"].low, shown["m"].high])
    assert result.loss.gdp() == pytest.approx(2.0)
    assert Result.from_json(result.to_json()).summary() == result.summary()


def test_differences_of_two_groups() -> None:
    s = session(dp.Unit.rows())
    answer = s.release(s.table.group_by("town", keys=["a", "b"]).agg(m=dp.mean("pay")), dp.GDP(2.0))
    result = from_answer(answer, differences=True)
    assert result.names == ("m[a]", "m[b]", "m[a] - m[b]")
    assert result.params[2] == result.params[0] - result.params[1]
    (a, b), low, high = result.params[:2], *result.conf_int()[:2].T
    below, above = np.hypot(a - low[0], high[1] - b), np.hypot(high[0] - a, b - low[1])
    assert np.allclose(result.conf_int()[2], [a - b - below, a - b + above])
    assert result.bse[2] == pytest.approx(np.hypot(*result.bse[:2]))
    with pytest.raises(InvalidParameter, match="between two groups"):
        from_answer(s.release(s.table.agg(m=dp.mean("pay")), dp.GDP(0.5)), differences=True)


def test_no_interval_where_rows_may_be_alike() -> None:
    s = session(dp.Unit("id", max_rows=2))
    result = from_answer(s.release(s.table.agg(m=dp.mean("pay")), dp.GDP(2.0)))
    assert not result.interval_available
    assert "may be alike" in result.summary()


def test_what_is_refused() -> None:
    s = session(dp.Unit.rows())
    with pytest.raises(InvalidParameter, match="nothing in the answer estimates a population"):
        from_answer(s.release(s.table.agg(n=dp.count()), dp.GDP(0.5)))
    with pytest.raises(InvalidParameter, match="no answer of a session"):
        from_answer(3)
