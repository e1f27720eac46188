"""`python -m tests.session.golden_ledger FOLDER`: a new golden ledger, and what its answers say.

Every kind of account, release and fit is in it, on small data made here. It is made once for a version of the format,
and committed; a file that is there is never written over. The tests open a copy: whatever version reads it, for ever,
every question must be answered from the record with the same numbers.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

import dalenius as dp
from dalenius.errors import EngineFailed
from dalenius.session.entries import SCHEMA
from dalenius.session.ledger import Ledger
from dalenius.tables.release.answer import Answer
from tests.session.helpers import rho

HERE = Path(__file__).parent / "golden"

ROWS = 400


def people() -> pd.DataFrame:
    """400 rows of 250 persons; every column by arithmetic, so that it is the same everywhere."""
    n = np.arange(ROWS)
    return pd.DataFrame(
        {
            "id": n % 250,
            "age": 18 + n * 37 % 72,
            "pay": ((n * 7919) % 1000) / 8.0,
            "score": np.where(n % 11 == 0, np.nan, ((n * 31) % 97) / 97.0),
            "town": np.array(["ash", "elm", "oak"])[np.array([0, 0, 1, 1, 1, 2])[n % 6]],
            "city": np.where(n < 280, "big", np.where(n < 390, "Town", "rare é")),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(n % 3, unit="D"),
            "member": n % 2 == 0,
        }
    ).assign(day=lambda frame: frame["day"].dt.date)


FACTS = dp.Schema(
    {
        "age": {"bounds": (18, 90)},
        "pay": {"bounds": (0, 125)},
        "score": {"bounds": (0, 1), "nulls": "drop"},
        "town": {"categories": ["ash", "elm", "oak"]},
        "member": {"categories": [True, False]},
    },
    nulls="never",
)

TOWNS = {"town": ["ash", "elm", "oak"], "hills": [3, 1, 0], "north": [True, False, True]}

Asked = Callable[[dp.Session], Any]


def every_aggregate(price: dp.Guarantee) -> dict[str, Asked]:
    """One question for each aggregate, alone and by groups, and one for every step."""

    def asked(make: Callable[[dp.Session], Any]) -> Asked:
        return lambda s: s.release(make(s), price)

    one = {
        "count": dp.count(),
        "count of a column": dp.count("score"),
        "count_distinct": dp.count_distinct(),
        "sum": dp.sum("pay"),
        "sum of an expression": dp.sum("pay * 2 + age", (0, 400), granularity=0.25),
        "mean": dp.mean("score"),
        "mean imputed": dp.mean("score", nulls=dp.impute(0.5)),
        "variance": dp.variance("age"),
        "std": dp.std("pay"),
        "covariance": dp.covariance("age", "pay"),
        "correlation": dp.correlation("age", "pay"),
        "proportion": dp.proportion("age >= 65"),
        "histogram": dp.histogram("age", bins=6),
        "histogram with edges": dp.histogram("pay", edges=[0, 10, 50, 125]),
        "quantiles": dp.quantiles("pay", [0.25, 0.5, 0.9], bins=256),
        "median": dp.median("age"),
        "bounds": dp.bounds("pay"),
        "mode": dp.mode("town"),
        "mode of numbers": dp.mode("age", categories=[18, 19, 20], nulls=dp.impute(19)),
    }
    found = {name: asked(lambda s, a=a: s.table.agg(x=a)) for name, a in one.items()}
    found["groups of text"] = asked(lambda s: s.table.group_by("town").agg(n=dp.count(), m=dp.mean("pay")))
    found["groups of dates"] = asked(
        lambda s: s.table.group_by("day", keys=sorted(set(people()["day"]))).agg(n=dp.count())
    )
    found["groups of two"] = asked(
        lambda s: (
            s.table.with_columns(decade="FLOOR(age / 10)")
            .group_by("decade", "member", keys={"decade": [2, 3, 4], "member": [True, False]})
            .agg(n=dp.count(), q=dp.median("pay", bins=64))
        )
    )
    found["steps"] = asked(
        lambda s: (
            s.table.filter("AGE >= 30 and town <> 'oak'")
            .with_columns(twice="pay * 2")
            .join_public(TOWNS, on="town", how="left")
            .filter("hills > 1")
            .agg(n=dp.count(), s=dp.sum("twice", (0, 250)), r=dp.proportion("north", nulls="drop"))
        )
    )
    found["sql"] = lambda s: s.sql(
        "SELECT town, AVG(pay) AS pay, COUNT(*) AS n FROM data WHERE age < 60 GROUP BY town", price
    )
    found["all"] = lambda s: s.release_all(
        {"n": s.table.agg(n=dp.count()), "m": s.table.group_by("town").agg(m=dp.median("pay", bins=32))},
        price,
    )
    return found


def fits(*models: Any) -> dict[str, Asked]:
    made: dict[str, Asked] = {}
    for number, model in enumerate(models):
        target = "age >= 50" if hasattr(model, "classes") else {"age": (18, 90)}
        made[f"fit {type(model).__name__} {number}"] = lambda s, m=model, t=target: s.fit(
            m, {"pay": (0, 125), "age * 2": (36, 180)}, t
        )
    return made


@dataclass(frozen=True)
class Case:
    """An account, and what is asked of it."""

    budget: dp.Guarantee
    questions: Mapping[str, Asked]
    options: Mapping[str, Any] = field(default_factory=dict)

    def session(self, name: str, ledger: Ledger | Path, **more: Any) -> dp.Session:
        options = {
            "unit": dp.Unit.rows(),
            "schema": FACTS,
            "name": name,
            "data": people(),
            **self.options,
            **more,
        }
        return dp.Session(options.pop("data"), budget=self.budget, ledger=ledger, **options)


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    learn, person = dp.learn, dp.Unit("id", max_rows=2, max_groups=1)
    zcdp, pure, gdp, approx = dp.ZCDP(0.1), dp.PureDP(0.5), dp.GDP(0.3), dp.ApproxDP(0.5, 1e-6)
    some = ("count", "mean", "quantiles", "groups of text", "all")
    search = learn.PrivateSearch(
        learn.LogisticRegression(gdp),
        [{"row_norm": 0.5}, {"row_norm": 2.0, "method": learn.Descent(steps=5)}],
        gdp,
    )
    every = every_aggregate(zcdp)

    def discovered(column: str) -> Asked:
        return lambda s: s.release(
            s.table.group_by(column, keys=dp.discover()).agg(n=dp.count(), m=dp.mean("pay")), dp.GDP(1.0)
        )

    return {
        "zcdp": Case(
            dp.ZCDP(20.0),
            {
                **every,
                **fits(
                    learn.LinearRegression(zcdp),
                    learn.LogisticRegression(zcdp),
                    learn.LinearSVC(zcdp),
                    learn.HuberRegression(zcdp),
                    learn.PoissonRegression(zcdp, most=90.0),
                    learn.LogisticRegression(zcdp, method=learn.Descent(steps=5)),
                    learn.SubsampleAggregate(LinearRegression(), zcdp, size=3, bound=50.0, parts=10),
                ),
            },
        ),
        "zcdp, persons": Case(dp.ZCDP(20.0), every, {"unit": person, "adjacency": dp.REPLACE_ONE}),
        "pure": Case(
            dp.PureDP(100.0),
            {
                **every_aggregate(pure),
                **fits(
                    learn.ExponentialLeastSquares(pure),
                    learn.GradientQuantileRegression(pure, level=0.25),
                    learn.ExponentialQuantileRegression(pure),
                ),
            },
        ),
        "gdp": Case(
            dp.GDP(9.0),
            {
                **{name: every_aggregate(gdp)[name] for name in some},
                **fits(learn.LinearRegression(gdp), search),
            },
            {"adjacency": dp.ADD_REMOVE},
        ),
        "approx": Case(
            dp.ApproxDP(60.0, 1e-3),
            {
                **{name: every_aggregate(approx)[name] for name in some},
                "discovered": discovered("city"),
                "nothing discovered": discovered("id"),
                **fits(learn.LogisticRegression(approx), learn.PosteriorSampleRegression(approx)),
            },
            {"reserve": 0.5},
        ),
        "shared": Case(
            dp.ZCDP(3.0),
            {"count": every["count"], "median": every["median"]},
            {"analyst": "ana", "shares": {"ana": 0.5, "ben": "1/3"}},
        ),
    }


def adaptive_cases() -> dict[str, Case]:
    """What came after the ledger of version 2 was made, in a ledger of its own: adaptive quantiles, and two models."""
    person = dp.Unit("id", max_rows=2, max_groups=1)
    ways = {
        "rank": dp.median("age", adaptive=True),
        "rank of a quantile": dp.quantile("score", 0.9, adaptive="rank", bins=64),
        "smooth": dp.median("age", adaptive="smooth"),
        "smooth quantile": dp.quantile("pay", 0.25, adaptive="smooth", bins=64),
    }
    proposed = {
        "proposed": dp.median("age", adaptive="propose", sensitivity=20),
        "refused": dp.quantile("pay", 0.9, adaptive="propose", sensitivity=0.001),
    }

    def questions(price: dp.Guarantee, kinds: Mapping[str, Any]) -> dict[str, Asked]:
        found: dict[str, Asked] = {}
        for name, aggregate in kinds.items():
            found[name] = lambda s, a=aggregate: s.release(s.table.agg(x=a), price)
            found[f"{name} by town"] = lambda s, a=aggregate: s.release(
                s.table.group_by("town").agg(x=a, n=dp.count()), price
            )
        return found

    approx = dp.ApproxDP(0.5, 1e-6)
    models = (
        dp.learn.CalibratedPosteriorSampleRegression(approx, ridge=500.0),
        dp.learn.LocalLogisticRegression(approx),
    )
    return {
        "pure": Case(dp.PureDP(90.0), questions(dp.PureDP(1.0), ways)),
        "zcdp": Case(dp.ZCDP(20.0), questions(dp.ZCDP(0.5), ways), {"adjacency": dp.REPLACE_ONE}),
        "gdp": Case(dp.GDP(9.0), questions(dp.GDP(1.0), ways), {"unit": person}),
        "approx": Case(
            dp.ApproxDP(60.0, 1e-3), {**questions(dp.GDP(1.0), {**ways, **proposed}), **fits(*models)}
        ),
    }


SHOWN = ", as first shown"


def numbers(result: Any) -> Any:
    """What an answer says, exactly: texts of doubles."""
    if isinstance(result, Answer):
        told: dict[str, Any] = {"keys": [[str(part) for part in key] for key in result.keys]}
        looks = {SHOWN: result, "": result.at(0.9), " of a population": result.at(0.9, sampling=True)}
        for look, answer in looks.items():
            for column in answer.columns:
                parts = (column.estimate, column.error, column.low, column.high)
                name = f"{column.name}{look}"
                told[name] = [[x if isinstance(x, str) else repr(float(x)) for x in part] for part in parts]
        return told
    if isinstance(result, dict):
        return {name: numbers(answer) for name, answer in result.items()}
    assert isinstance(result, Pipeline)
    model = getattr(result[-1], "best_estimator_", result[-1])
    told = {
        name: [repr(float(x)) for x in np.ravel(getattr(model, name))]
        for name in ("coef_", "intercept_", "value_")
        if hasattr(model, name)
    }
    return {
        **told,
        "predicted": [repr(float(x)) for x in np.ravel(result.predict([[10.0, 60.0], [99.0, 100.0]]))],
    }


def direct(ledger: Ledger) -> dict[str, str]:
    """An account that no session opened: a charge without an answer, one that failed, one with an answer."""
    account = ledger.account("by hand", dp.ZCDP(1.0), "ana", unit="households é")
    account.charge("lost", rho("0.125"))

    def fail() -> str:
        raise ValueError

    with contextlib.suppress(EngineFailed):
        account.ask("failed", rho("0.0625"), fail)
    account.ask("how many?", rho("0.25"), lambda: "[41]")
    return {"how many?": "[41]"}


def main(folder: Path) -> None:
    """Make the ledgers that are not there, each with a file with what it says."""
    written(folder, f"v{SCHEMA}", cases(), every=True)
    written(folder, f"v{SCHEMA}-adaptive", adaptive_cases())


def written(folder: Path, name: str, accounts: Mapping[str, Case], every: bool = False) -> None:
    """One ledger, with accounts of no session and of moved files where it is to have everything."""
    path, said = folder / f"{name}.ledger", folder / f"{name}.json"
    if path.exists() or said.exists():
        print(f"{path} or {said} is there, and is never written over.")
        return
    told: dict[str, Any] = {}
    with Ledger.open(path) as ledger:
        for name, case in accounts.items():
            session = case.session(name, ledger)
            told[name] = {asked: numbers(question(session)) for asked, question in case.questions.items()}
            if "shares" in case.options:
                case.session(name, ledger, analyst="ben").release(
                    session.table.agg(b=dp.count()), dp.ZCDP(0.1)
                )
        if every:
            told["moved"] = moved(ledger, folder)
            told["by hand"] = direct(ledger)
        spent = {account.dataset: account.balance() for account in ledger.accounts()}
        told["spent"] = {
            name: {
                "": balance.total.written(),
                **{f"by {who}": cost.written() for who, cost in balance.by.items()},
            }
            for name, balance in spent.items()
        }
        told["checkpoint"] = ledger.checkpoint()
    path.with_name(path.name + "-journal").unlink(missing_ok=True)
    said.write_text(json.dumps(told, indent=0, sort_keys=True) + "\n")


def make(folder: Path, name: str, ask: Callable[[Ledger], Any]) -> None:
    """One ledger, and a file with what was told when it was asked; neither is ever written over."""
    path, said = folder / f"{name}.ledger", folder / f"{name}.json"
    if path.exists() or said.exists():
        raise SystemExit(f"{path} or {said} is there, and is never written over.")
    with Ledger.open(path) as ledger:
        told = ask(ledger)
    path.with_name(path.name + "-journal").unlink(missing_ok=True)
    said.write_text(json.dumps(told, indent=0, sort_keys=True) + "\n")


def told_by(accounts: Mapping[str, Case], numbers: Callable[[Any], Any]) -> Callable[[Ledger], Any]:
    """What every question of every account says."""
    return lambda ledger: {
        name: {word: numbers(ask(case.session(name, ledger))) for word, ask in case.questions.items()}
        for name, case in accounts.items()
    }


MOVED = Case(
    dp.ZCDP(1.0), {"count": lambda s: s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))}, {"name": None}
)


def moved(ledger: Ledger, folder: Path) -> Any:
    """A file that was at one place and then at another."""
    first, second = folder / "made" / "moved.csv", folder / "made" / "elsewhere" / "moved.csv"
    second.parent.mkdir(parents=True)
    people().to_csv(first, index=False)
    answer = numbers(MOVED.questions["count"](MOVED.session("moved", ledger, data=first)))
    first.rename(second)
    again = MOVED.session("moved", ledger, data=second, moved=True)
    assert numbers(MOVED.questions["count"](again)) == answer
    second.unlink()
    second.parent.rmdir()
    first.parent.rmdir()
    return {"count": answer}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
