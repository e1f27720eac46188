"""The price of an accuracy that several questions, or a table and its margins, are held to."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.tables.compute import exact
from dalenius.tables.plan.plan import plan
from dalenius.tables.release.answer import Answer
from dalenius.tables.release.cross_table import CrossTable
from dalenius.tables.release.released import release
from tests.noise.seeded import seeded

KEYS = {"sex": ["f", "m"], "town": ["a", "b", "c"]}


def opened(budget: dp.Guarantee) -> dp.Session:
    rng = np.random.default_rng(5)
    people = pd.DataFrame(
        {
            "sex": rng.choice(KEYS["sex"], 3000),
            "town": rng.choice(KEYS["town"], 3000),
            "pay": rng.uniform(0, 9, 3000),
        }
    )
    return dp.Session(people, unit=dp.Unit.rows(), budget=budget, schema={"pay": {"nulls": "drop"}})


@pytest.mark.parametrize(
    ("total", "share"),
    [(dp.ZCDP(5.0), dp.ZCDP), (dp.PureDP(5.0), dp.PureDP), (dp.GDP(3.0), dp.GDP)],
    ids=repr,
)
def test_every_cell_and_margin_keeps_to_the_error_and_no_less_would_do(
    total: dp.Guarantee, share: type[dp.Guarantee]
) -> None:
    """The best linear estimates of 12 numbers in 500 tables, at the price of within(30): the worst place misses by more
    in at most 5 % (and five standard errors) of them; by more than 85 % of that it misses in more than 5 % of them."""
    s = opened(total)
    asked = s.table.cube("sex", "town", keys=KEYS).agg(n=dp.count())
    priced = s.price(asked, dp.within(30)).budget
    assert isinstance(priced, share)
    part = s.account.filter.price(priced).divided(4)
    plans = [plan(query, s.unit, part) for query in asked.queries]
    truths = [exact.evaluate(s.source, query, s.unit) for query in asked.queries]
    (measure,) = asked.queries[0].measures
    true = np.concatenate([table[measure].astype(float) for table in truths])
    missed = []
    with seeded(8):
        for _ in range(500):
            raw = [Answer(made, release(made, t), "") for made, t in zip(plans, truths, strict=True)]
            answers = CrossTable.of(asked, raw).answers
            missed.append(np.concatenate([a.released.measures[measure].values for a in answers]) - true)
    off = np.abs(np.array(missed))
    assert (off > 30).mean(axis=0).max() <= 0.05 + 5 * math.sqrt(0.05 * 0.95 / 500)
    assert (off > 25.5).mean(axis=0).max() > 0.05
    # Asked one by one, each with its part, they would be worse: what they have in common is used.
    assert s.price(asked, dp.within(30)).budget.size < s.price(asked.named, dp.within(30)).budget.size


def test_it_is_paid_once_and_said_everywhere() -> None:
    s = opened(dp.ZCDP(0.5))
    text = "SELECT sex, town, COUNT(*) AS n FROM data GROUP BY ROLLUP (sex, town)"
    price = s.price(text, dp.within(60), keys=KEYS)
    table = s.sql(text, accuracy=dp.within(60), keys=KEYS)
    assert s.cross_table(s.table.rollup("sex", "town", keys=KEYS).agg(n=dp.count()), price).cells.free
    assert table["n"].high.max() - table["n"].estimate.max() < 65
    assert s.explain(text, price.budget, keys=KEYS).error() <= 60
    assert "by sex, town" in str(s.explain(text, price.budget, keys=KEYS))
    with pytest.raises(BudgetExceeded, match=r"suffices for within\("):
        s.sql(text, accuracy=dp.within(2), keys=KEYS)
    with pytest.raises(InvalidParameter, match="one of budget and accuracy"):
        s.sql(text, dp.ZCDP(0.1), accuracy=dp.within(2), keys=KEYS)
    assert abs(s.spent.rho - price.budget.rho) < 1e-9


def test_all_together_and_more_of_them_cost_more() -> None:
    s = opened(dp.ZCDP(5.0))
    asked = s.table.cube("sex", "town", keys=KEYS).agg(n=dp.count(), pay=dp.mean("pay", (0, 9)))
    one = s.price(asked, dp.within({"n": 20}))
    assert s.price(asked, dp.within({"n": 20}, simultaneous=True)).budget.rho > one.budget.rho
    both = s.price(asked, dp.within({"n": 20, "pay": 0.1}, rows=200))
    assert both.budget.rho > one.budget.rho
    assert "200 rows" in both.assumes
    with pytest.raises(InvalidParameter, match="rows"):
        s.price(asked, dp.within({"pay": 0.1}))
    with pytest.raises(InvalidParameter, match="did you mean 'pay'"):
        s.price(asked, dp.within({"pai": 0.1}))


def test_several_questions_by_accuracy() -> None:
    """As two questions of half the price each; a column is held to its error where it is."""
    s = opened(dp.ZCDP(5.0))
    n, m = s.table.agg(n=dp.count()), s.table.agg(m=dp.sum("pay", (0, 9)))
    alone = s.price(n, dp.within(10)).budget.rho
    both = s.price({"a": n, "b": m}, dp.within({"n": 10}))
    assert math.isclose(both.budget.rho, 2 * alone, rel_tol=1e-2)
    assert s.price({"a": n, "b": m}, dp.within(10)).budget.rho > 10 * both.budget.rho  # pay is up to 9
    found = s.release_all({"a": n, "b": m}, accuracy=dp.within({"n": 10}, confidence=0.9))
    assert found["a"].wanted.confidence == 0.9
    assert found["a"]["n"].error[0] < 10
    with pytest.raises(InvalidParameter, match="questions by name"):
        s.release_all({}, accuracy=dp.within(5))
