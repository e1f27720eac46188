"""Tests on a session's table: charged first, the same as on arrays, and remembered."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dalenius as dp
from dalenius import infer
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.infer.hypotheses.kolmogorov_smirnov import LAWS, MOST_SHAPE, SHAPED
from dalenius.session.ledger import Ledger
from tests.noise.seeded import seeded

PROMISE = dp.ZCDP(0.2)
BOTH: dict[str, Any] = {"bounds": (0, 100)}
SEXES = ("f", "o'x")
CASES: dict[str, tuple[Any, Any, Any]] = {
    "mean": (infer.MeanTest(PROMISE, mean=40, **BOTH), "pay", None),
    "means": (infer.TwoSampleMeanTest(PROMISE, **BOTH), "sex = 'f'", "pay"),
    "share": (infer.BinomialTest(PROMISE, share=0.4), "old", None),
    "fit": (infer.GoodnessOfFitTest(PROMISE, levels=SEXES), "sex", None),
    "table": (infer.IndependenceTest(PROMISE, x_levels=SEXES, y_levels=(False, True)), "sex", "old"),
    "anova": (infer.AnovaTest(PROMISE, levels=SEXES, **BOTH), "sex", "pay"),
    "law": (infer.KolmogorovSmirnovTest(PROMISE, cdf=stats.uniform(0, 1)), {"pay / 100": (0, 1)}, None),
    "laws": (infer.TwoSampleKolmogorovSmirnovTest(PROMISE), "sex = 'f'", "pay"),
    "ranks": (infer.MannWhitneyTest(PROMISE), "sex = 'f'", "pay"),
    "signs": (infer.SignedRankTest(PROMISE), {"pay - 40": (-50, 50)}, None),
    "groups": (infer.KruskalWallisTest(PROMISE, levels=SEXES), "sex", "pay"),
}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex, old = rng.choice([*SEXES, "other"], 3000), rng.random(3000) < 0.4
    pay = np.round(rng.normal(40, 10, 3000) + 3 * (sex == "f"), 2)
    pay[::70] = np.nan
    return pd.DataFrame({"person": np.arange(3000) // 2, "sex": sex, "old": old, "pay": pay})


def session(people: pd.DataFrame, budget: dp.Guarantee = dp.ZCDP(9.0), **options: Any) -> dp.Session:  # noqa: B008
    options.setdefault("unit", dp.Unit.rows())
    facts = dp.Schema({"pay": {"bounds": (0, 100)}}, nulls="drop")
    return dp.Session(people, budget=budget, schema=facts, name="people", **options)


def arrays(people: pd.DataFrame, name: str) -> tuple[Any, ...]:
    pay, sex, old = people["pay"], people["sex"], people["old"]
    both = pay[sex == "f"], pay[sex != "f"]
    return {
        "mean": (pay,),
        "means": both,
        "share": (old,),
        "fit": (sex,),
        "table": (sex, old),
        "anova": (pay, sex),
        "law": (pay / 100,),
        "laws": both,
        "ranks": both,
        "signs": (pay - 40,),
        "groups": (pay, sex),
    }[name]


@pytest.mark.parametrize("name", CASES)
def test_a_test_costs_what_it_promises_once_and_is_that_of_arrays(
    name: str, people: pd.DataFrame, tmp_path: Path
) -> None:
    test, features, target = CASES[name]
    asked = session(people, ledger=tmp_path / "ledger")
    price = asked.price(test, features=features, target=target)
    with seeded(3):
        found = asked.infer(test, features, target)
    assert asked.remaining.rho == pytest.approx(9.0 - price.budget.rho)
    assert price.budget.rho <= 0.2
    with seeded(3):
        alone = test.run(*arrays(people, name))
    # Sums of the same rows, to the grid of a column; of ranks and distances another order of rows draws others.
    for word, value in alone.released.items():
        assert np.allclose(found.released[word], value, atol=0.02, rtol=1e-3), word
    again = session(people, ledger=tmp_path / "ledger").infer(test, features, target)
    assert (again.pvalue, again.summary()) == (found.pvalue, found.summary())
    assert asked.remaining.rho == pytest.approx(9.0 - price.budget.rho)
    assert Ledger.open(tmp_path / "ledger").verify().ok


class Spy:
    """A distribution that looks at what it is given."""

    dist = type("Dist", (), {"name": "spied"})()
    args, kwds, seen = (), {}, 0

    def cdf(self, x: Any) -> Any:
        self.seen += np.size(x)
        return np.clip(x, 0, 1)


@pytest.mark.parametrize("cdf", [Spy(), np.tanh, stats.poisson(3), stats.norm(loc=[0.0, 1.0])])
def test_nothing_of_a_user_is_called_on_rows(cdf: Any, people: pd.DataFrame) -> None:
    try:
        test = infer.KolmogorovSmirnovTest(PROMISE, cdf=cdf)
    except InvalidParameter:  # two laws at once
        return
    asked, seen = session(people), getattr(cdf, "seen", 0)
    with pytest.raises(InvalidParameter, match="a distribution of scipy"):
        asked.infer(test, "pay")
    assert getattr(cdf, "seen", 0) == seen
    assert asked.remaining == dp.ZCDP(9.0)


@pytest.mark.parametrize(
    "law", [stats.genhyperbolic(0.5, 1.5, 0.5), stats.ksone(10**6), stats.studentized_range(3, 10)]
)
def test_laws_that_take_a_row_as_long_as_it_likes_are_refused(law: Any, people: pd.DataFrame) -> None:
    """The first warned of integrals of some rows, and the second took a fifth of a second for each row there was."""
    asked = session(people)
    with pytest.raises(InvalidParameter, match="step by step"):
        asked.infer(infer.KolmogorovSmirnovTest(PROMISE, cdf=law), "pay")
    assert asked.remaining == dp.ZCDP(9.0)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (stats.beta(4e10, 4e10), "at most 10000"),
        (stats.beta(2.0, b=4e10), "at most 10000"),
        (stats.f(dfn=1e5, dfd=3), "at most 10000"),
        (stats.gamma(1e8, 0, 2.0), "at most 10000"),
        (stats.betaprime(2.0, 3.0), "use a distribution with a formula"),
        (stats.pareto(10**400, loc=10**6), "finite, and large ones floats"),
        (stats.norm(0, float("inf")), "must be finite"),
    ],
)
def test_numbers_with_which_some_rows_take_longer_are_refused(
    law: Any, message: str, people: pd.DataFrame
) -> None:
    """A row near the middle of the first took ten thousand times as long as one far away; of the one with 400 digits a
    row above a million failed, and after it every row was computed alone."""
    asked = session(people)
    with pytest.raises(InvalidParameter, match=message):
        asked.infer(infer.KolmogorovSmirnovTest(PROMISE, cdf=law), "pay")
    assert asked.remaining == dp.ZCDP(9.0)


def test_a_row_in_the_middle_is_nearly_as_quick_as_one_far_away() -> None:
    """Of the largest shapes there may be: a hundred thousand rows in less than a second of processor time."""
    for name in SHAPED:
        law = getattr(stats, name)
        test = infer.KolmogorovSmirnovTest(PROMISE, cdf=law(*[MOST_SHAPE] * law.numargs)).sealed()
        rows = np.full(100_000, test.cdf.median())
        start = time.process_time()
        assert np.all(np.abs(test.cdf.cdf(rows) - 0.5) < 1e-6)
        assert time.process_time() - start < 1.0, name


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", LAWS)
def test_laws_with_formulas_are_as_quick_for_any_row(name: str) -> None:
    """A thousand rows in less than a second of processor time, and no word, whatever the row and the numbers are."""
    law = getattr(stats, name)
    rows = np.concatenate([np.linspace(-3, 3, 1000), [1e308, -1e308, 5e-324, 0.0, np.inf]])
    start = time.process_time()
    for number in (0.5, 3.0, 1e-300, 1e300, -2.0):
        with np.errstate(all="ignore"):
            assert law(*[number] * law.numargs).cdf(rows).shape == rows.shape
    assert time.process_time() - start < 1.0


def test_other_settings_are_another_question(people: pd.DataFrame) -> None:
    asked = session(people)
    one = asked.infer(infer.BinomialTest(PROMISE, share=0.4), "old")
    before = asked.remaining
    other = asked.infer(infer.BinomialTest(PROMISE, share=0.5), "old")
    assert asked.remaining.rho < before.rho
    assert one.released["inside"] != other.released["inside"]


def test_a_replace_one_session_pays_twice(people: pd.DataFrame) -> None:
    test = CASES["mean"][0]
    found = session(people, adjacency=dp.REPLACE_ONE).infer(test, "pay")
    assert found.loss.adjacency is dp.REPLACE_ONE
    assert found.loss.gdp() == pytest.approx(2 * test.loss.gdp())


def test_bounds_that_are_left_out_are_those_of_the_schema(people: pd.DataFrame) -> None:
    """And it is the same question as with them; elsewhere they must be said."""
    asked = session(people)
    for name in ("mean", "means", "anova"):
        test, features, target = CASES[name]
        short = replace(test, bounds=infer.TwoSampleMeanTest(PROMISE).bounds)
        said, left_out = (asked.infer(one, features, target) for one in (test, short))
        assert (said.pvalue, said.released.keys()) == (left_out.pvalue, left_out.released.keys())
        with pytest.raises(InvalidParameter, match="needs bounds"):
            short.run(*arrays(people, name))
    assert asked.remaining.rho == pytest.approx(8.4, rel=1e-6)
    price = asked.price(infer.MeanTest(PROMISE, mean=40), features="pay").budget
    assert PROMISE.rho * (1 - 1e-6) < price.rho <= PROMISE.rho
    other = asked.infer(infer.MeanTest(PROMISE, mean=0.5), "old = TRUE")  # a condition is 1 or 0
    assert other.pvalue < 0.01
    for features, words in (("person", "needs bounds"), ({"pay": (0, 30)}, "between the bounds")):
        with pytest.raises(InvalidParameter, match=words):
            asked.infer(infer.MeanTest(PROMISE, mean=40), features)
    with pytest.raises(InvalidParameter, match="needs bounds"):
        infer.MeanTest(PROMISE, mean=40, adjacency=dp.REPLACE_ONE)
    with pytest.raises(InvalidParameter, match="needs bounds"):
        infer.power(infer.MeanTest(PROMISE), n=100, mean=1, deviation=1)


def test_what_does_not_fit_is_refused_before_the_charge(people: pd.DataFrame) -> None:
    asked, mean, table = session(people), CASES["mean"][0], CASES["table"][0]
    public = infer.MeanTest(PROMISE, mean=40, adjacency=dp.REPLACE_ONE, **BOTH)
    odd = infer.GoodnessOfFitTest(PROMISE, levels=((1, 2), (3, 4)))
    for test, features, target, words in (
        (mean, ["pay", "old"], None, "one column"),
        (table, "sex", None, "one feature and a target"),
        (table, "sex", "sex", "one feature and a target"),
        (mean, "wage", None, "wage"),
        (mean, {"sex": (0, 1)}, None, "sex"),
        (public, "pay", None, "REPLACE_ONE"),
        (odd, "sex", None, "categories are texts"),
        (CASES["ranks"][0], "sex = 'f'", "person", "bounds"),
        (infer.MeanTest, "pay", None, "no promise yet"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            asked.infer(test, features, target)
    several = session(people, unit=dp.Unit("person", max_rows=2))
    with pytest.raises(InvalidParameter, match="independent"):
        several.infer(mean, "pay")
    with pytest.raises(BudgetExceeded):
        session(people, dp.ZCDP(0.1)).infer(mean, "pay")
    assert asked.remaining == dp.ZCDP(9.0)
