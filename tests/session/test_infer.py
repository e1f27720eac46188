"""Regressions with intervals on a session's table: charged first, from bounded rows, and remembered."""

from __future__ import annotations

import errno
import gc
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded, EngineFailed, InvalidParameter, SourceError
from dalenius.infer.on_tables.block_source import BlockSource
from dalenius.infer.on_tables.spool import Spool
from dalenius.session.inference import Inference
from dalenius.session.ledger import Ledger
from dalenius.tables.compute import exact
from dalenius.tables.engines.failure import FAILED
from tests.noise.seeded import seeded

ROWS = 6000
FACTS: dict[str, Any] = {
    "age": {"bounds": (18, 90)},
    "hours": {"bounds": (0, 80), "nulls": "drop"},
    "pay": {"bounds": (0, 60)},
}
HOW = dp.infer.LinearRegression(guarantee=dp.GDP(1.0))
COLUMNS = ["age", "hours"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age, hours = rng.uniform(18, 90, ROWS), rng.normal(40, 10, ROWS)
    pay = 0.2 * age + 0.5 * hours + rng.normal(0, 3, ROWS)
    hours[::50] = np.nan
    return pd.DataFrame({"person": np.arange(ROWS) // 3, "age": age, "hours": hours, "pay": pay})


def session(people: Any, budget: dp.Guarantee = dp.GDP(6.0), **options: Any) -> dp.Session:  # noqa: B008
    options.setdefault("unit", dp.Unit.rows())
    facts = dp.Schema({name: fact for name, fact in FACTS.items() if name in people}, nulls="never")
    return dp.Session(people, budget=budget, schema=facts, name="people", **options)


@pytest.mark.parametrize(
    ("budget", "left"),
    [(dp.ZCDP(0.6), dp.ZCDP(0.1)), (dp.GDP(1.25), dp.GDP(0.75)), (dp.ApproxDP(6.0, 1e-5), None)],
)
def test_it_costs_what_it_promises_once(
    people: pd.DataFrame, budget: dp.Guarantee, left: dp.Guarantee | None, tmp_path: Path
) -> None:
    asked = session(people, budget, ledger=tmp_path / "ledger")
    with seeded(1):
        result = asked.infer(HOW, COLUMNS, "pay")
    assert result.names == ("age", "hours", "const")
    # Seeded: it holds always or never. Seven standard errors.
    assert np.abs((result.params - [0.2, 0.5, 0.0]) / result.bse).max() < 7
    assert np.abs(result.bse[:2] - [0.0024, 0.005]).max() < 0.002  # not private: 0.0019, 0.0039
    assert result.loss.gdp() == pytest.approx(1.0)
    spent = asked.remaining
    if left is not None:
        assert next(iter(vars(spent).values())) == pytest.approx(next(iter(vars(left).values())))
    # From another session on the same ledger: the same result, from the record, whatever the order of the words.
    again = session(people, budget, ledger=tmp_path / "ledger").infer(
        HOW, {"age": (18, 90), "hours": (0, 80)}, "pay"
    )
    assert np.array_equal(again.params, result.params)
    assert np.array_equal(again.conf_int(0.1), result.conf_int(0.1))
    assert again.summary() == result.summary()
    assert asked.remaining == spent
    assert Ledger.open(tmp_path / "ledger").verify().ok


def test_the_same_as_on_arrays(people: pd.DataFrame) -> None:
    with seeded(2):
        result = session(people).infer(HOW, COLUMNS, "pay", table=session(people).table.filter("age > 30"))
    with seeded(2):
        Inference.of(  # what is tried before the charge draws noise too
            HOW, COLUMNS, "pay", session(people).table, dp.Unit.rows(), dp.ADD_REMOVE
        )
        kept = people[people["age"] > 30].assign(
            hours=people["hours"].clip(0, 80), pay=people["pay"].clip(0, 60)
        )
        array = dp.infer.linear_regression(
            kept[COLUMNS], kept["pay"], dp.GDP(1.0), bounds=[(18, 90), (0, 80)], y_bounds=(0, 60)
        )
    # Values are on grids of 2^-48 of their bounds: a few rows round to the other side.
    assert np.abs((result.params - array.params) / array.bse).max() < 1e-3
    assert np.allclose(result.bse, array.bse, rtol=1e-3)


@pytest.mark.parametrize(
    ("how", "target", "names"),
    [
        (dp.infer.LogisticRegression(guarantee=dp.GDP(1.0)), "pay > 30", ("age", "hours", "const")),
        (
            dp.infer.PoissonRegression(guarantee=dp.GDP(1.0), most=6),
            "FLOOR(pay / 10)",
            ("age", "hours", "const"),
        ),
        (dp.infer.MEstimate(slope="log_cosh", guarantee=dp.GDP(1.0)), "pay", ("age", "hours", "const")),
        (dp.infer.MEstimate(slope=np.tanh, guarantee=dp.GDP(1.0)), "pay", ("age", "hours", "const")),
    ],
    ids=["logistic", "poisson", "named loss", "own loss"],
)
def test_every_regression(people: pd.DataFrame, how: Any, target: str, names: tuple[str, ...]) -> None:
    asked = session(people)
    result = asked.infer(how, COLUMNS, target)
    assert result.names == names
    assert asked.remaining.mu == pytest.approx(35**0.5)  # type: ignore[attr-defined]
    asked.infer(how, COLUMNS, target)
    free = not callable(getattr(how, "slope", None))  # a function may be another one tomorrow
    assert asked.remaining.mu == pytest.approx((35 if free else 34) ** 0.5)  # type: ignore[attr-defined]


def test_classes_are_coded_row_by_row(people: pd.DataFrame) -> None:
    """Labels that are none of the classes are absent; the others count by their place."""
    labelled = people.assign(label=np.select([people["pay"] > 35, people["pay"] > 25], [7, 3], 9))
    three = dp.infer.MultinomialRegression(guarantee=dp.GDP(3.0), classes=(9, 3, 7))
    result = session(labelled).infer(three, ["age"], "label")
    assert result.names == ("3: age", "3: const", "7: age", "7: const")
    assert 0 < result.params[0] < result.params[2]
    two = dp.infer.LogisticRegression(guarantee=dp.GDP(3.0), classes=(9, 7))
    counted = session(labelled).infer(two, ["age"], "label").nobs
    assert abs(counted - (labelled["label"] != 3).sum()) < 100


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=repr)
def test_a_unit_pays_for_all_its_rows(people: pd.DataFrame, adjacency: dp.Adjacency) -> None:
    unit = dp.Unit("person", max_rows=2)
    asked = session(people, dp.GDP(9.0), unit=unit, adjacency=adjacency)
    with seeded(4):
        result = asked.infer(HOW, COLUMNS, "pay")
    mu = 2.0 if adjacency is dp.ADD_REMOVE else 4.0
    assert result.loss.gdp() == pytest.approx(mu)
    assert asked.remaining.mu == pytest.approx((81 - mu**2) ** 0.5)  # type: ignore[attr-defined]
    assert abs(result.nobs - 4000 * 0.98) < 100
    with seeded(4):
        single = session(people).infer(
            HOW, COLUMNS, "pay", table=session(people).table.filter("person < 1333")
        )
    # About the same number of rows; variances twice as large, for rows that are alike.
    assert np.allclose(result.bse / single.bse, 2**0.5, rtol=0.1)
    assert "may be alike" in result.summary()


def test_replace_one_with_a_public_number_of_rows(people: pd.DataFrame) -> None:
    public = dp.infer.LinearRegression(guarantee=dp.GDP(1.0), adjacency=dp.REPLACE_ONE)
    asked = session(people, adjacency=dp.REPLACE_ONE)
    result = asked.infer(public, COLUMNS, "pay")
    assert (result.nobs, result.nobs_noisy) == (ROWS, False)
    assert result.loss.gdp() == pytest.approx(1.0)
    kept = asked.table.filter("age > 30")
    by_person = session(people, unit=dp.Unit("person", max_rows=1), adjacency=dp.REPLACE_ONE)
    for other, table in ((asked, kept), (by_person, None), (session(people), None)):
        with pytest.raises(InvalidParameter, match="takes the number of rows to be public"):
            other.infer(public, COLUMNS, "pay", table=table)


@pytest.mark.parametrize(
    ("how", "features", "target", "told"),
    [
        (HOW, ["agee"], "pay", "'age'"),
        (HOW, {"age": (18, 90)}, "payy", "'pay'"),
        (HOW, ["age"], ["pay", "hours"], "target names 2 columns"),
        (HOW, {"person": None}, "pay", "bounds"),
        (HOW, [], "pay", "features is empty"),
        (dp.infer.LinearRegression, ["age"], "pay", "LinearRegression has no promise yet"),
        (dp.learn.LinearRegression(dp.GDP(1.0)), ["age"], "pay", "LinearRegression"),
        (dp.infer.LinearRegression(guarantee=dp.GDP(1.0), bounds=[(0, 1)] * 3), COLUMNS, "pay", "3 pairs"),
        (
            dp.infer.LogisticRegression(guarantee=dp.GDP(1.0), classes=("a", "b")),
            COLUMNS,
            "pay",
            "labels are numbers",
        ),
    ],
)
def test_what_is_refused_is_refused_before_the_charge(
    people: pd.DataFrame, how: Any, features: Any, target: Any, told: str
) -> None:
    asked = session(people)
    with pytest.raises(InvalidParameter, match=told):
        asked.infer(how, features, target)
    assert asked.remaining == dp.GDP(6.0)


def test_nothing_is_read_when_it_does_not_fit(people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "blocks", lambda *_: pytest.fail("data was read"))
    with pytest.raises(BudgetExceeded):
        session(people, dp.GDP(0.5)).infer(HOW, COLUMNS, "pay")


@pytest.mark.parametrize(("place", "step"), [(exact, 1), (Spool, 2), (Spool, 9)])
def test_whatever_fails_in_whatever_step(
    people: pd.DataFrame, place: Any, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine, or the disk: one constant error, the charge stays, and the ledger says that it happened."""
    asked = session(people, ledger=tmp_path / "ledger")
    name = "blocks" if place is exact else "__iter__"
    original, calls = getattr(place, name), iter(range(1, 99))

    def fails(*arguments: Any) -> Any:
        rehearsed = place is Spool and not arguments[0].shapes  # on no rows, before the charge
        if not rehearsed and next(calls) == step:
            raise RuntimeError("secret")
        return original(*arguments)

    monkeypatch.setattr(place, name, fails)
    with pytest.raises(EngineFailed) as caught:
        asked.infer(HOW, COLUMNS, "pay")
    assert str(caught.value) == FAILED
    assert caught.value.__context__ is None
    assert asked.remaining.mu == pytest.approx(35**0.5)  # type: ignore[attr-defined]
    assert Ledger.open(tmp_path / "ledger").verify().failures == 1


def test_odd_rows_change_nothing_but_numbers(people: pd.DataFrame) -> None:
    """NaN, infinities, rows of one value, no rows: a result with the same names, and no warning."""
    for rows in (
        people.head(0),
        people.assign(age=np.inf),
        people.assign(hours=np.nan),
        people.assign(pay=-np.inf),
    ):
        result = session(rows).infer(HOW, COLUMNS, "pay")
        assert result.names == ("age", "hours", "const")
        assert np.isfinite(result.params).all()


def test_names_are_as_people_write_them(people: pd.DataFrame) -> None:
    odd = people.rename(columns={"age": 'my "age"'})
    features = {'"my ""age"""': (18, 90), "hours * 2": (0, 160)}
    named = session(odd, dp.GDP(2.0)).infer(HOW, features, {"pay": (0, 60)})
    assert named.names == ('my "age"', '"hours" * 2', "const")


def test_categories_are_compared_with_the_first(people: pd.DataFrame) -> None:
    """A condition for each of them but the first, of the rows that have one of them: from the schema, or beside it."""
    towns = people.assign(town=np.resize(["a", "b", "c", "d"], ROWS))
    asked = session(towns, dp.GDP(9.0))
    there = asked.table.filter("town = 'a' OR town = 'b' OR town = 'c'")
    by_hand = Inference.of(
        HOW, ["age", "town = 'b'", "town = 'c'"], "pay", there, asked.unit, dp.ADD_REMOVE
    ).question
    stated = dp.Session(
        towns,
        unit=dp.Unit.rows(),
        budget=dp.GDP(9.0),
        schema=dp.Schema({**FACTS, "town": {"categories": ["a", "b", "c"]}}, nulls="never"),
        name="people",
    )
    for s, features in ((stated, ["age", "town"]), (asked, {"age": None, "town": ["a", "b", "c"]})):
        found = Inference.of(HOW, features, "pay", s.table, s.unit, dp.ADD_REMOVE)  # type: ignore[arg-type]
        assert found.question == by_hand
        assert found.names == ["age", "\"town\" = 'b'", "\"town\" = 'c'"]
    for features, target, words in (
        (["town"], "pay", "feature 'town' is text, and its categories must be public"),
        ({"town": ["a"]}, "pay", "no other to compare with"),
        (["age"], "town", "^target 'town' needs numbers"),
        ({"age": (2, 1)}, "pay", "^the bounds of feature 'age' are"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            asked.infer(HOW, features, target)  # type: ignore[arg-type]


def test_settings_are_tried_on_no_rows_at_all(people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    read = BlockSource.count
    monkeypatch.setattr(BlockSource, "count", lambda self: seen.append(read(self)) or seen[-1])
    session(people).infer(HOW, COLUMNS, "pay")
    assert seen == [0, ROWS - ROWS // 50]


def test_files_are_closed_and_refused_before_the_charge(
    people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = session(people)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        spool = Spool()
        del spool
        gc.collect()
    assert not [each for each in told if each.category is ResourceWarning]

    def full(**_: Any) -> Any:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(SourceError, match="TMPDIR"):
        asked.infer(HOW, COLUMNS, "pay")
    assert asked.remaining == dp.GDP(6.0)


def test_a_full_disk_is_one_constant_error(people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "secret")

    asked = session(people)
    monkeypatch.setattr(Spool, "add", full)
    with pytest.raises(EngineFailed) as caught:
        asked.infer(HOW, COLUMNS, "pay")
    assert str(caught.value) == FAILED


def test_the_promise_comes_first() -> None:
    for kind in (dp.infer.LinearRegression, dp.infer.LogisticRegression):
        assert kind(dp.GDP(0.5)) == kind(guarantee=dp.GDP(0.5))
