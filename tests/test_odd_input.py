"""Arguments of the wrong kind: each is an error of ours that says what to give, never one from inside."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.errors import DaleniusError, InvalidParameter, QueryRefused

ODD: list[Any] = [
    None,
    5,
    [],
    "",
    math.nan,
    10**400,
    object(),
    np.array([1, 2]),
    ["a", None],
    "\ud800",
    "a" * 9000,
]
ONE = losses.gaussian(sigma=1.0)


def session(**options: Any) -> dp.Session:
    people = pd.DataFrame({"age": [20, 30, 40] * 100, "pay": [1.0, 2.0, 3.0] * 100})
    return dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(0.5), **options)


def fitted(features: Any, target: Any) -> Any:
    return session().fit(dp.learn.LogisticRegression(dp.ZCDP(0.1)), features=features, target=target)


def laplace() -> dp.mechanisms.Laplace:
    return dp.mechanisms.Laplace(sensitivity=1, scale=1.0)


CALLS: dict[str, Callable[[Any], object]] = {
    "total": lambda odd: losses.total([odd]),
    "holds": lambda odd: dp.ZCDP(0.5).holds(odd),
    "holds approx": lambda odd: dp.ApproxDP(1.0, 1e-6).holds(odd),
    "engine": lambda odd: ONE.epsilon_bounds(1e-5, odd),
    "from_pair": lambda odd: losses.from_pair(odd, [0.5, 0.5]),
    "plot": lambda odd: ONE.plot([odd]),
    "from_json": losses.Loss.from_json,
    "Schema.load": dp.Schema.load,
    "nulls": lambda odd: dp.mean("age", nulls=[odd]),
    "type": lambda odd: dp.Schema({"age": {"type": [odd]}}),
    "bins": lambda odd: dp.histogram("age", bins=[odd]),
    "features": lambda odd: fitted(odd, "pay > 2"),
    "target": lambda odd: fitted({"age": (0, 100)}, odd),
    "moved": lambda odd: session(moved=odd),
    "reserve": lambda odd: session(reserve=[odd]),
    "public": lambda odd: session().sql("SELECT COUNT(*) AS n FROM data", dp.ZCDP(0.1), public=[odd]),
    "how": lambda odd: session().table.join_public(pd.DataFrame({"age": [1]}), on="age", how=odd),
    "method": lambda odd: dp.learn.LogisticRegression(dp.ZCDP(0.1), method=odd).price(),
    "load": dp.learn.load,
    "norm": lambda odd: dp.mechanisms.KNorm(sensitivity=1, scale=1.0, norm=odd),
    "objective": lambda odd: dp.mechanisms.Staircase(sensitivity=1, epsilon=1.0, objective=odd),
    "noise": lambda odd: dp.mechanisms.AboveThreshold(sensitivity=1, epsilon=1.0, noise=odd),
    "proportions": lambda odd: dp.mechanisms.Histogram.proportions([odd, math.inf]),
    "offsets": lambda odd: dp.mechanisms.Hull.of_half_spaces([[1, 0], [0, 1]], [odd, None]),
    "mechanism": lambda odd: dp.infer.bootstrap(5.0, odd, dp.infer.models.Bernoulli(), n=100),
    "model": lambda odd: dp.infer.repro_samples(5.0, laplace(), odd, n=100),
    "null": lambda odd: dp.infer.repro_test(5.0, laplace(), dp.infer.models.Bernoulli(), odd, n=100),
    "family": lambda odd: dp.infer.posterior(5.0, laplace(), odd, n=100),
    "answers": lambda odd: dp.infer.randomized_response([0, 1], odd),
    "local": lambda odd: dp.infer.local_location([1.0, 2.0], odd, bounds=(0, 1), scale=1.0),
    "statistics": lambda odd: dp.audit.lower_bound(laplace(), trials=200, statistics=[odd]),
}


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:12])
@pytest.mark.parametrize("call", CALLS)
def test_an_argument_of_the_wrong_kind_is_an_error_of_ours(call: str, odd: Any) -> None:
    with pytest.raises(DaleniusError):
        CALLS[call](odd)


def test_the_levels_of_quantiles_end_at_one() -> None:
    with pytest.raises(InvalidParameter, match="level is 1e\\+300; it must be a number between 0 and 1"):
        dp.mechanisms.Quantile(level=1e300, bounds=(0, 1), epsilon=1.0)


@pytest.mark.parametrize("odd", ["no", "", None, 0, 1, [], math.nan])
def test_what_merely_counts_as_true_makes_no_ledger(odd: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"create is .*; it must be True or False"):
        dp.Ledger.open(tmp_path / "new.ledger", create=odd)
    assert not list(tmp_path.iterdir())


def test_flags_of_an_answer() -> None:
    s = session()
    answer = s.release(s.table.agg(n=dp.count()), budget=dp.ZCDP(0.1))
    assert answer.at(simultaneous=np.True_, sampling=False).wanted.simultaneous is True  # type: ignore[arg-type]
    for odd in ("no", 1, []):
        with pytest.raises(InvalidParameter, match="sampling is"):
            answer.at(sampling=odd)  # type: ignore[arg-type]


def _changed(record: Any, word: str, value: Any) -> Any:
    if isinstance(record, dict):
        return {name: value if name == word else _changed(part, word, value) for name, part in record.items()}
    return [_changed(part, word, value) for part in record] if isinstance(record, list) else record


@pytest.mark.parametrize(
    ("loss", "word", "value"),
    [
        (ONE, "times", -1),
        (ONE, "times", 1.5),
        (ONE, "times", True),
        (losses.laplace(scale=1.0), "shift", "-1.0"),
        (losses.laplace(scale=1.0), "shift", "nan"),
        (losses.laplace(scale=1.0), "shift", "inf"),
        (losses.pure(1.0), "infinite", "-0.5"),
        (losses.pure(1.0), "slack", "-1.0"),
        (losses.pure(1.0), "blur", "-1.0"),
        (losses.pure(1.0), "mass", ["-0.7", "0.3"]),
        (losses.pure(1.0), "mass", []),
        (losses.poisson_sampled(ONE, 0.1), "rate", "-0.1"),
        (losses.poisson_sampled(ONE, 0.1), "rate", "0.0"),
        (losses.poisson_sampled(ONE, 0.1), "rate", "2.0"),
        (losses.zcdp(0.1), "rho", "-1.0"),
        (losses.discrete_gaussian(2.0), "sigma", "-2.0"),
        (losses.discrete_gaussian(2.0), "sensitivity", 0),
    ],
)
def test_numbers_that_no_loss_has_are_not_read_as_no_loss(loss: dp.Loss, word: str, value: Any) -> None:
    record = json.loads(loss.to_json())
    assert losses.Loss.from_json(json.dumps(record)) == loss
    with pytest.raises(InvalidParameter):
        losses.Loss.from_json(json.dumps(_changed(record, word, value)))


def test_what_was_meant() -> None:
    with pytest.raises(QueryRefused, match="did you mean count"):
        session().sql("SELECT CUONT(age) AS n FROM data", dp.ZCDP(0.1))
    with pytest.raises(InvalidParameter, match=r"write edges=\[...\]"):
        dp.histogram("age", bins=[0, 18, 65])  # type: ignore[arg-type]
