"""Synthetic tables from a session: charged first, remembered, and honest about what they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded, EngineFailed, InvalidParameter
from dalenius.queries.marginals.marginals_release import MarginalsRelease
from dalenius.session import coded_columns
from dalenius.session.ledger import Ledger
from dalenius.session.synthesis import Synthesis
from dalenius.session.synthetic_table import SyntheticTable
from dalenius.tables.compute import exact
from dalenius.tables.engines.failure import FAILED
from tests.noise.seeded import seeded

ROWS = 4000
FACTS: dict[str, Any] = {
    "age": {"bounds": (18, 90)},
    "pay": {"bounds": (0, 100), "nulls": "drop"},
    "town": {"categories": ["ash", "elm", "oak"]},
}
COLUMNS = ["age", "pay", "town"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    town = rng.choice(["ash", "elm", "oak"], ROWS, p=[0.5, 0.3, 0.2])
    age = rng.integers(18, 91, ROWS)
    pay = np.where(town == "ash", 10.0, 60.0) + rng.normal(0, 5, ROWS)
    pay[::20] = np.nan
    return pd.DataFrame({"person": np.arange(ROWS) // 2, "age": age, "pay": pay, "town": town})


def session(people: Any, budget: dp.Guarantee = dp.ZCDP(1.0), **options: Any) -> dp.Session:  # noqa: B008
    options.setdefault("unit", dp.Unit.rows())
    return dp.Session(people, budget=budget, schema=dp.Schema(FACTS, nulls="never"), name="people", **options)


def test_it_costs_its_price_once_whatever_the_number_of_rows(people: pd.DataFrame, tmp_path: Path) -> None:
    asked = session(people, ledger=tmp_path / "ledger")
    with seeded(1):
        made = asked.synthesize(COLUMNS, dp.ZCDP(0.4), bins=6)
    assert not made.free
    assert asked.remaining == dp.ZCDP(0.6)
    frame = made.to_pandas()
    assert list(frame) == COLUMNS
    assert abs(len(made) - ROWS) < 200
    assert len(frame) == len(made)
    # Seeded: it holds always or never. The noise of a count is below 10, and there is a factor of five beyond.
    assert abs(frame["pay"].isna().mean() - 0.05) < 0.02
    shares = frame["town"].value_counts(normalize=True)
    assert np.abs(shares[["ash", "elm", "oak"]] - [0.5, 0.3, 0.2]).max() < 0.03
    low, high = (frame[frame["town"] == town]["pay"].mean() for town in ("ash", "elm"))
    assert low < 25 < 45 < high
    again = session(people, ledger=tmp_path / "ledger").synthesize(COLUMNS, dp.ZCDP(0.4), bins=6)
    assert again.free
    pd.testing.assert_frame_equal(again.to_pandas(), frame)
    few = asked.synthesize({"age": None, "pay": 6, "town": None}, dp.ZCDP(0.4), bins=6, rows=10)
    assert few.free
    assert len(few.to_pandas()) == 10
    assert asked.remaining == dp.ZCDP(0.6)
    assert not asked.synthesize(COLUMNS, dp.ZCDP(0.1), bins=6).free
    assert Ledger.open(tmp_path / "ledger").verify().ok


BUDGETS = [
    (dp.ZCDP(1.0), dp.ZCDP(0.3)),
    (dp.GDP(2.0), dp.GDP(0.6)),
    (dp.PureDP(4.0), dp.PureDP(1.0)),
    (dp.ApproxDP(4.0, 1e-6), dp.ApproxDP(1.0, 1e-6)),
]


@pytest.mark.parametrize(
    ("budget", "price", "adjacency"),
    [(*pair, (dp.ADD_REMOVE, dp.REPLACE_ONE)[n % 2]) for n, pair in enumerate(2 * BUDGETS[:1] + BUDGETS[1:])],
    ids=repr,
)
def test_every_budget_and_neighbour_pays_no_more_than_the_price(
    people: pd.DataFrame, budget: dp.Guarantee, price: dp.Guarantee, adjacency: dp.Adjacency
) -> None:
    unit = dp.Unit("person", max_rows=2)
    asked = session(people, budget, unit=unit, adjacency=adjacency)
    made = asked.synthesize({"pay": 4, "town": None}, price, private_bins=["pay"], marginals=2)
    assert price.filter(adjacency).limit.amount == asked.account.balance().total.amount
    assert made.loss.adjacency is adjacency
    assert price.holds(made.loss)
    assert 1 <= made.marginal("pay").shape[0] <= 5


def test_all_that_is_left_can_be_spent(people: pd.DataFrame) -> None:
    asked = session(people, dp.ApproxDP(1.0, 1e-6))
    asked.release(asked.table.agg(n=dp.count()), dp.ApproxDP(0.3, 1e-6))
    asked.synthesize(["town"], asked.remaining)
    with pytest.raises(BudgetExceeded):
        asked.synthesize(["town"], dp.ApproxDP(0.1, 1e-6))


def test_nothing_is_read_when_it_does_not_fit(people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "blocks", lambda *_: pytest.fail("data was read"))
    monkeypatch.setattr(exact, "evaluate", lambda *_: pytest.fail("data was read"))
    with pytest.raises(BudgetExceeded):
        session(people, dp.ZCDP(0.1)).synthesize(COLUMNS, dp.ZCDP(0.2), private_bins=["pay"])


@pytest.mark.parametrize("name", ["blocks", "evaluate"])
def test_whatever_fails_is_one_constant_error(
    people: pd.DataFrame, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("secret")

    asked = session(people, ledger=tmp_path / "ledger")
    monkeypatch.setattr(coded_columns.exact, name, fails)
    with pytest.raises(EngineFailed) as caught:
        asked.synthesize(["pay", "town"], dp.ZCDP(0.2), private_bins=["pay"], bins=4)
    assert str(caught.value) == FAILED
    assert caught.value.__context__ is None
    assert asked.remaining == dp.ZCDP(0.8)
    assert Ledger.open(tmp_path / "ledger").verify().failures == 1


def test_odd_rows_change_nothing_but_numbers(people: pd.DataFrame) -> None:
    """No rows, all missing, infinities, categories that nobody listed: a table of the same kind."""
    for rows in (
        people.head(0),
        people.assign(pay=np.nan),
        people.assign(pay=np.inf, age=2**62),
        people.assign(town="not listed"),
    ):
        made = session(rows).synthesize(COLUMNS, dp.ZCDP(0.5), bins=4, private_bins=["pay"])
        frame = made.to_pandas()
        assert list(frame) == COLUMNS
        assert len(frame) == len(made) >= 1
        assert set(frame["town"]) <= {"ash", "elm", "oak"}
        assert frame["age"].between(18, 90).all()
        assert np.isfinite(made.marginal("town")["count"]).all()


def test_intervals_hold_the_real_counts(people: pd.DataFrame) -> None:
    """Four tables, intervals of 1 - 1e-11: that one of 12 counts is missed has a probability of 1.2e-10, seeded."""
    real = people["town"].value_counts()
    for n in range(4):
        with seeded(n):
            made = session(people).synthesize(["town", "age"], dp.ZCDP(0.3), bins=4)
        table = made.marginal("town", confidence=1 - 1e-11).set_index("town")
        assert table["low"].notna().all()
        assert (table["low"] <= real[table.index]).all()
        assert (real[table.index] <= table["high"]).all()
        assert (table["high"] - table["low"]).max() < 400


def test_files_and_words(people: pd.DataFrame, tmp_path: Path) -> None:
    made = session(people).synthesize(COLUMNS, dp.ZCDP(0.5), bins=5, rows=50)
    made.to_parquet(tmp_path / "made.parquet")
    made.to_csv(tmp_path / "made.csv")
    read = parquet.read_table(tmp_path / "made.parquet")
    assert read.equals(made.to_arrow().replace_schema_metadata(read.schema.metadata))
    assert b"carries no promise" in read.schema.metadata[b"note"]
    assert len(pd.read_csv(tmp_path / "made.csv")) == 50
    for text in (made.summary(), str(made), made._repr_html_()):
        assert "carries no promise" in " ".join(text.split())
    assert "50 rows" in repr(made)
    assert {("age",), ("pay",), ("town",)} <= set(made.error)
    assert all(0 < error < 1 for error in made.error.values())
    assert len(made.plot("town", "pay").axes) == 2
    with pytest.raises(InvalidParameter, match="no column"):
        made.marginal("colour")
    with pytest.raises(InvalidParameter, match="no column"):
        made.marginal(["town"])  # type: ignore[arg-type]


def test_whole_numbers_that_can_be_missing_stay_whole() -> None:
    people = pd.DataFrame({"n": pd.array([1, 2, None, 4] * 100, dtype="Int64")})
    asked = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(5.0))
    frame = asked.synthesize({"n": (0, 9)}, dp.ZCDP(5.0), rows=200).to_pandas()
    assert frame["n"].dtype == "Int64"
    assert frame["n"].isna().any()


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_rows_are_never_taken_for_a_histogram(rows: int) -> None:
    """Two columns of two values, and as many rows as there are values."""
    flags = pd.DataFrame({"a": [True, False, True][:rows], "b": [False, False, True][:rows]}, dtype=bool)
    for columns in (["a", "b"], ["b"]):
        made = dp.Session(flags, unit=dp.Unit.rows(), budget=dp.ZCDP(9.0)).synthesize(columns, dp.ZCDP(9.0))
        assert list(made.to_pandas()) == columns


def test_next_to_no_budget_makes_no_millions_of_rows(people: pd.DataFrame) -> None:
    made = session(people).synthesize(["town"], dp.ZCDP(1e-3))
    loud = replace_total(made.release, 1e9)
    table = SyntheticTable(list(made._columns.values()), loud, made.loss)
    assert (loud.rows, table.rows, len(loud.codes())) == (10**9, 10**6, 10**6)
    assert SyntheticTable(list(made._columns.values()), loud, made.loss, rows=10**6 + 1).rows == 10**6 + 1


def replace_total(release: MarginalsRelease, total: float) -> MarginalsRelease:
    """As if noise had made it so many rows."""
    fitted = replace(release.fitted, total=total)
    return MarginalsRelease(release.workload, release.loss, release.measurements, fitted)


def test_the_loss_does_not_depend_on_where_private_edges_fall(people: pd.DataFrame) -> None:
    asked = session(people)
    pays, table = asked.account.filter, asked.table
    made = Synthesis.of(["pay", "town"], table, asked.unit, pays, dp.ZCDP(0.2), 0.0, 8, ["pay"], 2)
    wide = made.mechanism(made.widest).loss
    for quantiles in ([np.nan] * 7, [50.0] * 7, [1, 2, 3, 4, 5, 6, 7]):
        columns = (made.columns[0].settled(quantiles), made.widest[1])  # type: ignore[union-attr]
        assert pays.cost(made.mechanism(columns).loss).amount <= pays.cost(wide).amount
