"""What people write by mistake is refused with the fix, as an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter

PEOPLE = pd.DataFrame({"x": [1.0, 2.0] * 50, "town": ["a", "b"] * 50})


@pytest.fixture(scope="module")
def s() -> dp.Session:
    schema = dp.Schema({"x": {"bounds": (0, 2)}, "town": {"categories": ["a", "b"]}}, nulls="never")
    return dp.Session(PEOPLE, unit=dp.Unit.rows(), budget=dp.ZCDP(10.0), schema=schema)


@pytest.mark.parametrize(
    ("mistake", "fix"),
    [
        (lambda t: t.agg(dp.count()), r"agg\(n=count\(\)\)"),
        (lambda t: t.group_by("town").agg(dp.mean("x")), r"agg\(n=mean\(x\)\)"),
        (lambda t: t.group_by(["town"]), r"group_by\('state', 'sex'\)"),
        (lambda t: t.filter(PEOPLE["x"] > 1), "as text, like 'age >= 18'"),
        (lambda t: t.with_columns(z=PEOPLE["x"]), "as text, like"),
        (lambda t: dp.quantiles("x", 0.5), r"quantile\('x', 0.5\)"),
        (lambda t: dp.histogram("x", edges=5), "list of numbers"),
        (lambda t: dp.mode("town", "ab"), "must be a list"),
        (lambda t: t.agg(n=dp.count(), n_error=dp.count()), "rename one of the two"),
        (lambda t: t.agg(m=dp.mode("town"), m_short=dp.count()), "rename one of the two"),
    ],
)
def test_questions(s: dp.Session, mistake: Callable[[Any], Any], fix: str) -> None:
    with pytest.raises(InvalidParameter, match=fix):
        mistake(s.table)


@pytest.mark.parametrize(
    ("mistake", "fix"),
    [
        (lambda a: a["h"], r"'h\[0, 1\)', 'h\[1, 2\]'"),
        (lambda a: a["q"], "'q_0.25', 'q_0.75'"),
        (lambda a: a["nn"], "did you mean 'n'"),
        (lambda a: a.at(confidence="a"), "strictly between 0 and 1"),
        (lambda a: a.at(confidence=95), "strictly between 0 and 1"),
        (lambda a: a.agreeing_with(5), "the same question"),
    ],
)
def test_answers(s: dp.Session, mistake: Callable[[Any], Any], fix: str) -> None:
    asked = s.table.agg(n=dp.count(), h=dp.histogram("x", 2), q=dp.quantiles("x", [0.25, 0.75], bins=16))
    answer = s.release(asked, dp.ZCDP(1.0))
    with pytest.raises(InvalidParameter, match=fix):
        mistake(answer)
    with pytest.raises(KeyError):  # as a mapping has it
        answer["nn"]
