"""What a notebook shows of tables, questions, plans, accounts and evaluations; and that `repr` is short."""

from __future__ import annotations

import html
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp

NASTY = "<b>&pay"


def cells(shown: str) -> list[str]:
    """What stands in the tables, cell by cell."""
    return [html.unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", shown)]


def facts(shown: str) -> dict[str, str]:
    """The pairs of the first table."""
    found = cells(shown.partition("</table>")[0])
    return dict(zip(found[::2], found[1::2], strict=True))


@pytest.fixture
def s() -> dp.Session:
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "id": np.arange(400) // 2,
            "sex": rng.choice(["f", "m"], 400),
            NASTY: rng.uniform(0, 9, 400),
            "age": rng.integers(0, 90, 400),
        }
    )
    schema = dp.Schema({"sex": {"categories": ["f", "m"]}, NASTY: {"bounds": (0, 9.5)}}, nulls="drop")
    return dp.Session(
        people, unit=dp.Unit("id", max_rows=2), budget=dp.ZCDP(2.0), schema=schema, name="people"
    )


def asked(s: dp.Session) -> Any:
    adults = s.table.filter("age >= 18").with_columns(old="age > 60")
    return adults.group_by("sex").agg(n=dp.count(), pay=dp.mean(f'"{NASTY}"'))


def test_a_table_shows_its_columns(s: dp.Session) -> None:
    shown = s.table.filter("age >= 18").limit_rows(1)._repr_html_()
    assert "<b>" not in shown
    assert facts(shown) == {
        "table": "data",
        "unit": "Unit('id', max_rows=2, max_groups=2)",
        "filter": '"age" >= 18',
        "limit rows": "at most 1 of each unit",
    }
    found = cells(shown)
    assert found[found.index("sex") :][:4] == ["sex", "text", "2 categories: f, m", "drop"]
    assert found[found.index(NASTY) :][:3] == [NASTY, "number", "0 to 9.5"]
    computed = cells(s.table.with_columns(old="age > 60")._repr_html_())
    assert computed[-4:] == ["old", "bool", "computed", ""]


def test_a_question_shows_what_is_asked(s: dp.Session) -> None:
    shown = asked(s)._repr_html_()
    assert "<b>" not in shown
    assert facts(shown) == {
        "question of": "data",
        "filter": '"age" >= 18',
        "compute": 'old = "age" > 60',
        "by": "sex (2 groups)",
        "n": "count()",
        "pay": f'mean("{NASTY}")',
    }
    hidden = s.table.group_by("sex", keys=dp.discover()).agg(n=dp.count())
    assert facts(hidden._repr_html_())["by"] == "sex (groups to be discovered)"


def test_a_cube_shows_its_margins(s: dp.Session) -> None:
    cube = s.table.cube("sex", "age", keys={"age": [1, 2]}).agg(n=dp.count())
    assert facts(cube._repr_html_())["margins"] == "by sex; by age; in all"
    assert repr(cube).startswith("<CubeQuery of 'data': n = count()")
    assert repr(cube).endswith("by sex, age (4 groups) and 3 margins>")


def test_a_plan_shows_its_noise_and_its_cost(s: dp.Session) -> None:
    plan = s.release(asked(s), budget=dp.ZCDP(0.1)).plan
    assert repr(plan).startswith("<Plan of <Query of 'data'")
    assert repr(plan).endswith("Unit('id', max_rows=2, max_groups=2): noise on 4 measures>")
    shown = plan._repr_html_()
    assert "<b>" not in shown
    told = facts(shown)["epsilon at delta 1e-05"].removeprefix("at most ")
    exact = plan.loss.epsilon(1e-5)
    assert exact <= float(told) < exact * 1.01
    grid = cells(shown.partition("</table>")[2])
    assert grid[:3] == ["measure", "one unit moves it by", "noise (standard deviation)"]
    first = plan.noises[0]
    assert grid[3:6] == ["count", "2", f"{first.sigma:.6g}"]
    assert len(grid) == 3 * (1 + len(plan.noises))


def test_an_account_shows_what_is_left(s: dp.Session) -> None:
    assert facts(s.account._repr_html_())["charged"] == "nothing"
    s.release(asked(s), budget=dp.ZCDP(0.1))
    assert facts(s.account._repr_html_()) == {
        "account": "people",
        "unit": "Unit('id', max_rows=2, max_groups=2)",
        "promised": "rho 2",
        "budget": "rho 2",
        "charged": "rho 0.1",
        "left": "rho 1.9",
    }
    s.account.close_for_ever()
    assert facts(s.account._repr_html_())["left"] == "closed"


def test_an_account_shows_an_analyst_her_own(s: dp.Session) -> None:
    s.release(asked(s), budget=dp.ZCDP(0.1))
    s.account.grant_share("ana", dp.ZCDP(0.2))
    her = s.ledger.account("people", dp.ZCDP(2.0), "ana", unit=s.unit)
    told = facts(her._repr_html_())
    assert (told["analyst"], told["left"]) == ("ana", "rho 0.2")


def test_an_evaluation_shows_its_numbers(s: dp.Session) -> None:
    features = {NASTY: (0, 9.5), "age": (0, 90)}
    model = dp.learn.LogisticRegression(dp.ZCDP(0.2), classes=("f", "m"))
    found = s.evaluate(
        s.fit(model, features=features, target="sex"), features=features, target="sex", budget=dp.ZCDP(0.5)
    )
    shown = found._repr_html_()
    told = facts(shown)
    assert told["accuracy"] == str(found.accuracy)
    assert told["AUC"] == str(found.auc)
    assert told["95% intervals for"] == "the table, each for itself"
    assert float(told["epsilon at delta 1e-05"].removeprefix("at most ")) >= found.loss.epsilon(1e-5)
    grid = cells(shown.partition("</table>")[2])
    assert grid[:3] == ["label", "predicted f", "predicted m"]
    assert [float(x) for x in (*grid[4:6], *grid[7:9])] == pytest.approx(found.confusion.ravel(), abs=0.5)


def test_a_privacy_report_counts_its_releases(s: dp.Session) -> None:
    for n in (1, 2):
        s.release(s.table.agg(n=dp.count()), dp.ZCDP(n / 10))
    assert facts(s.privacy_report._repr_html_())["privacy report of"] == "2 releases"
    assert repr(s.privacy_report) == "PrivacyReport(2 releases: 2 worst_case)"


def test_a_long_name_is_explained_whole(s: dp.Session) -> None:
    told = str(s.explain(s.table.agg(m=dp.sum("LEAST(age, 60) + LEAST(age, 70)", (0, 130))), dp.ZCDP(0.1)))
    assert 'LEAST("age", 60) + LEAST("age", 70)  260' in told
