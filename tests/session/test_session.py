"""Sessions: the budget is charged before the data is read, kept to, and shared; answers are remembered."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.tables.compute import exact
from tests.noise.seeded import seeded


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    rows = 6000
    return pd.DataFrame(
        {
            "person": rng.integers(0, 2500, rows),
            "town": rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]),
            "pay": rng.gamma(3.0, 10.0, rows),
        }
    )


FACTS = dp.Schema({"pay": {"bounds": (0, 100)}, "town": {"categories": ["a", "b", "c"]}}, nulls="never")


def session(people: Any, budget: dp.Guarantee, **options: Any) -> dp.Session:
    options.setdefault("unit", dp.Unit.rows())
    return dp.Session(people, budget=budget, schema=FACTS, name="people", **options)


@pytest.mark.parametrize(
    ("budget", "price"),
    [
        (dp.ZCDP(0.5), dp.ZCDP(0.05)),
        (dp.PureDP(2.0), dp.PureDP(0.1)),
        (dp.GDP(1.0), dp.GDP(0.2)),
        (dp.ApproxDP(1.0, 1e-6), dp.ApproxDP(0.2, 1e-7)),
        (dp.ApproxDP(1.0, 1e-6), dp.GDP(0.05)),
    ],
    ids=repr,
)
def test_every_kind_of_budget(people: pd.DataFrame, budget: dp.Guarantee, price: dp.Guarantee) -> None:
    s = session(people, budget)
    q = s.table.group_by("town").agg(n=dp.count(), pay=dp.mean("pay"))
    answer = s.release(q, price)
    assert answer.keys == [("a",), ("b",), ("c",)]
    assert not answer.free
    frame = answer.to_pandas()
    assert list(frame.columns)[:2] == ["town", "n"]
    true = people.groupby("town").agg(n=("pay", "size"), pay=("pay", "mean"))
    wide = answer.at(0.999999999)
    assert ((wide["n"].low <= true.n.to_numpy()) & (true.n.to_numpy() <= wide["n"].high)).all()
    assert ((wide["pay"].low <= true.pay.to_numpy()) & (true.pay.to_numpy() <= wide["pay"].high)).all()


def test_ten_tenths_make_one(people: pd.DataFrame) -> None:
    s = session(people, dp.ZCDP(0.5))
    for k in range(10):
        s.release(s.table.filter(f"pay > {k}").agg(n=dp.count()), dp.ZCDP(0.05))
    assert s.remaining == dp.ZCDP(0.0)
    with pytest.raises(dp.errors.BudgetExceeded):
        s.release(s.table.agg(n=dp.count()), dp.ZCDP(1e-9))


def test_refused_before_the_data_is_read(people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    s = session(people, dp.ZCDP(0.1))

    def touched(*_: object) -> None:
        raise AssertionError("the data was read")

    monkeypatch.setattr(exact, "evaluate", touched)
    with pytest.raises(dp.errors.BudgetExceeded):
        s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.2))
    with pytest.raises(dp.errors.InvalidParameter, match="ZCDP"):
        s.release(s.table.agg(n=dp.count()), dp.PureDP(0.1))
    assert s.remaining == dp.ZCDP(0.1)


def test_a_crash_keeps_the_charge(people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    s = session(people, dp.ZCDP(0.1))
    with monkeypatch.context() as patch:
        patch.setattr(exact, "evaluate", lambda *_: (_ for _ in ()).throw(RuntimeError("power cut")))
        with pytest.raises(dp.errors.EngineFailed):
            s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.05))
    assert s.remaining == dp.ZCDP(0.05)


def test_the_same_question_is_free_in_another_session(people: pd.DataFrame, tmp_path: Path) -> None:
    ledger = tmp_path / "people.ledger"
    first = session(people, dp.ZCDP(0.1), ledger=ledger)
    a = first.release(first.table.agg(n=dp.count(), pay=dp.mean("pay")), dp.ZCDP(0.06))
    second = session(people, dp.ZCDP(0.1), ledger=ledger)
    b = second.release(second.table.agg(n=dp.count(), pay=dp.mean("pay")), dp.ZCDP(0.06))
    assert b.free
    assert a.to_dict() == b.to_dict()
    assert second.remaining == dp.ZCDP(0.04)
    with pytest.raises(dp.errors.InvalidParameter):
        session(people, dp.ZCDP(5.0), ledger=ledger)


def test_a_plan_of_several_questions_is_charged_once(people: pd.DataFrame) -> None:
    s = session(people, dp.ZCDP(0.3))
    found = s.release_all(
        {"n": s.table.agg(n=dp.count()), "q": s.table.agg(q=dp.median("pay"))}, dp.ZCDP(0.2)
    )
    assert set(found) == {"n", "q"}
    assert s.remaining == dp.ZCDP(0.1)
    again = s.release_all(
        {"n": s.table.agg(n=dp.count()), "q": s.table.agg(q=dp.median("pay"))}, dp.ZCDP(0.2)
    )
    assert again["n"].free


def test_analysts_have_their_shares(people: pd.DataFrame, tmp_path: Path) -> None:
    options = {"ledger": tmp_path / "l", "shares": {"ann": 0.25, "bo": 0.75}}
    ann = session(people, dp.ZCDP(0.4), analyst="ann", **options)
    bo = session(people, dp.ZCDP(0.4), analyst="bo", **options)
    ann.release(ann.table.agg(n=dp.count()), dp.ZCDP(0.1))
    with pytest.raises(dp.errors.BudgetExceeded):
        ann.release(ann.table.agg(m=dp.count("pay")), dp.ZCDP(0.01))
    bo.release(bo.table.agg(m=dp.mean("pay")), dp.ZCDP(0.3))


def test_discovered_keys_are_common_ones(people: pd.DataFrame) -> None:
    rare = pd.concat([people, pd.DataFrame({"person": [1], "town": ["hermit"], "pay": [1.0]})])
    s = session(rare, dp.ApproxDP(2.0, 1e-6), unit=dp.Unit("person", max_rows=3, max_groups=2))
    q = s.table.group_by("town", keys=dp.discover()).agg(n=dp.count(), who=dp.count_distinct())
    answer = s.release(q, dp.ApproxDP(1.0, 1e-7))
    assert answer.keys == [("a",), ("b",), ("c",)]
    zcdp = session(rare, dp.ZCDP(1.0))
    with pytest.raises(dp.errors.InvalidParameter, match="delta"):
        zcdp.release(zcdp.table.group_by("town", keys=dp.discover()).agg(n=dp.count()), dp.ZCDP(0.1))


def test_the_price_is_the_least(people: pd.DataFrame) -> None:
    s = session(people, dp.ZCDP(0.5))
    q = s.table.group_by("town").agg(n=dp.count())
    found = s.price(q, dp.within(20, confidence=0.95))
    assert found.affordable
    assert s.explain(q, found.budget).error(0.95) <= 20
    cheaper = dp.ZCDP(found.budget.rho * 0.99)
    assert s.explain(q, cheaper).error(0.95) > 20
    assert not s.price(q, dp.within(0.5, confidence=0.95)).affordable
    with pytest.raises(dp.errors.InvalidParameter, match="rows"):
        s.price(s.table.agg(m=dp.mean("pay")), dp.within(1))
    assert s.price(s.table.agg(m=dp.mean("pay")), dp.within(1, rows=5000)).affordable
    assert s.remaining == dp.ZCDP(0.5)


def test_an_answer_in_many_shapes(people: pd.DataFrame) -> None:
    s = session(people, dp.ZCDP(1.0))
    answer = s.release(s.table.group_by("town").agg(n=dp.count(), pay=dp.mean("pay")), dp.ZCDP(0.2))
    assert answer.to_arrow().num_rows == 3
    assert answer.to_polars().height == 3
    assert answer.to_markdown().count("\n") == 4
    assert "<table" in answer.to_html()
    assert "95 % intervals" in str(answer)
    assert (answer.at(0.99)["n"].high >= answer["n"].high).all()
    assert json.dumps(answer.to_dict())


def test_totals_agree(people: pd.DataFrame) -> None:
    """Groups add up, to a number between the two noisy totals; and they are whole and not negative, empty ones, too."""
    s = session(people, dp.ZCDP(1.0))
    towns = [*people["town"].unique(), *(f"nowhere {k}" for k in range(40))]
    wanted: Any = {"n": dp.count(), "h": dp.histogram("pay", 2)}
    with seeded(4):
        parts = s.release(s.table.group_by("town", keys=towns).agg(**wanted), dp.ZCDP(0.02))
        total = s.release(s.table.agg(**wanted), dp.ZCDP(0.2))
    agreed = parts.agreeing_with(total)
    for measure, noisy in agreed.estimated.measures.items():
        if measure.kind not in ("count", "bins"):
            continue
        assert (parts.released.measures[measure].values < 0).any()
        assert (noisy.values >= 0).all()
        assert (noisy.values == np.rint(noisy.values)).all()
        ends = parts.released.measures[measure].values.sum(axis=0), total.released.measures[measure].values[0]
        found = noisy.values.sum(axis=0)
        assert (found >= np.minimum(*ends) - 0.5).all()
        assert (found <= np.maximum(*ends) + 0.5).all()
        # The noise of 40 empty groups and more was not simply cut off, which would add to the sum.
        assert (
            np.abs(found - ends[1]).max()
            < np.abs(np.maximum(parts.released.measures[measure].values, 0).sum(axis=0) - ends[1]).max()
        )


def test_totals_of_nobody_agree(people: pd.DataFrame) -> None:
    """All noise, and most of it below zero: nothing is left, and nothing fails."""
    s = session(people[:0], dp.ZCDP(1.0))
    for k in range(20):
        with seeded(k):
            parts = s.release(s.table.group_by("town").agg(n=dp.count()), dp.ZCDP(0.01 + k * 1e-6))
            total = s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.01 + k * 1e-6))
        agreed = parts.agreeing_with(total)["n"].estimate
        assert (agreed >= 0).all()
        assert agreed.sum() == np.rint(agreed.sum())


def test_keys_are_discovered_in_a_release_of_their_own(people: pd.DataFrame) -> None:
    """A key that one person has comes to light in no other way, whatever the budget."""
    lonely = pd.concat([people, people[:1].assign(town="hermitage")])
    for budget, part in (
        (dp.ZCDP(1.0), dp.ZCDP(0.1)),
        (dp.PureDP(1.0), dp.PureDP(0.1)),
        (dp.GDP(1.0), dp.GDP(0.1)),
        (dp.ApproxDP(1.0, 1e-5), dp.GDP(0.1)),
    ):
        s = session(lonely, budget)
        q = s.table.group_by("town", keys=dp.discover()).agg(n=dp.count())
        left = s.remaining
        with pytest.raises(dp.errors.InvalidParameter, match="discover"):
            s.release_all({"q": q}, part)
        if isinstance(budget, dp.ApproxDP):
            assert "stay hidden" in str(s.explain(q, part))
            assert s.price(q, dp.within(100)).affordable
            assert ("hermitage",) not in s.release(q, part).keys
        else:
            for ask in (lambda s=s, q=q, part=part: s.release(q, part), lambda s=s, q=q: s.explain(q)):
                with pytest.raises(dp.errors.InvalidParameter, match="delta"):
                    ask()
            assert s.remaining == left


def test_no_key_is_found(people: pd.DataFrame) -> None:
    """Few people: nothing comes to light, and that is an answer, too."""
    s = session(people[:5], dp.ApproxDP(1.0, 1e-6))
    q = s.table.group_by("town", keys=dp.discover()).agg(n=dp.count(), pay=dp.mean("pay"), m=dp.median("pay"))
    answer = s.release(q, dp.GDP(0.1))
    assert answer.keys == []
    assert all(values == [] for values in answer.to_dict().values())
    assert str(answer)
    assert answer.to_pandas().empty
    assert answer.to_html()


def test_a_frame_on_a_ledger_needs_a_name(people: pd.DataFrame, tmp_path: Path) -> None:
    """Or another frame would be answered from what is on record for this one."""
    with pytest.raises(dp.errors.InvalidParameter, match="name="):
        dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), ledger=tmp_path / "L")


def test_what_is_not_a_question_is_refused(people: pd.DataFrame) -> None:
    s = session(people, dp.ZCDP(1.0))
    for ask in (lambda: s.release(s.table, dp.ZCDP(0.1)), lambda: s.explain(s.table)):  # type: ignore[arg-type]
        with pytest.raises(dp.errors.InvalidParameter, match=r"\.agg"):
            ask()
    with pytest.raises(dp.errors.InvalidParameter, match="within"):
        s.price(s.table.agg(n=dp.count()), 10)  # type: ignore[arg-type]


def test_markdown_keeps_its_cells_together(people: pd.DataFrame) -> None:
    s = session(people, dp.ZCDP(1.0))
    q = s.table.group_by("town", keys=["a|b", "c\nd"]).agg(n=dp.count())
    lines = s.release(q, dp.ZCDP(0.1)).to_markdown().splitlines()
    assert len(lines) == 4
    assert "a\\|b" in lines[2]


def test_a_price_that_cannot_be(people: pd.DataFrame) -> None:
    s = session(people, dp.ZCDP(1.0))
    q = s.table.agg(n=dp.sum("pay"), middle=dp.median("pay", bounds=(0, 100_000)))
    with pytest.raises(dp.errors.CannotMeet, match="larger error"):
        s.price(q, dp.within(1e-9, column="n"))
    with pytest.raises(dp.errors.InvalidParameter, match="choose a budget"):
        s.price(q, dp.within(1, column="middle", rows=100))
    assert str(s.explain(q)) == str(s.explain(q, dp.ZCDP(1.0)))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(dp.errors.InvalidParameter, match=r"nowhere\.parquet"):
        dp.Session(tmp_path / "nowhere.parquet", unit=dp.Unit.rows(), budget=dp.ZCDP(1.0))


@pytest.mark.parametrize(
    "budget", [dp.ZCDP(0.5), dp.PureDP(2.0), dp.GDP(1.0), dp.ApproxDP(1.0, 1e-6)], ids=repr
)
def test_the_price_that_was_found_pays(people: pd.DataFrame, budget: dp.Guarantee) -> None:
    s = session(people, budget)
    q = s.table.agg(n=dp.count())
    price = s.price(q, dp.within(50))
    assert price.affordable
    assert s.explain(q, price).error() <= 50
    assert s.release(q, price).cost == repr(price.budget)
    assert s.release(q, price.budget).free
    assert s.sql("SELECT COUNT(*) AS n FROM data", price).free
    assert set(s.release_all({"one": q}, price)) == {"one"}


def test_a_wrong_price_is_told_what_is_right(people: pd.DataFrame) -> None:
    s = session(people, dp.ApproxDP(1.0, 1e-6))
    for budget in (dp.ZCDP(0.1), dp.RDP(2.0, 0.1), 5):
        with pytest.raises(dp.errors.InvalidParameter, match="paid in ApproxDP, GDP or PureDP, not"):
            s.release(s.table.agg(n=dp.count()), budget)  # type: ignore[arg-type]
    assert s.remaining == dp.ApproxDP(1.0, 1e-6)


@pytest.mark.parametrize("queries", [5, None, [], {}, "n", ["n"]])
def test_what_are_not_several_questions(people: pd.DataFrame, queries: Any) -> None:
    with pytest.raises(dp.errors.InvalidParameter, match="questions by name"):
        session(people, dp.ZCDP(1.0)).release_all(queries, dp.ZCDP(0.1))


@pytest.mark.parametrize("schema", [5, ["pay"], object()])
def test_what_is_not_a_schema(people: pd.DataFrame, schema: Any) -> None:
    with pytest.raises(dp.errors.InvalidParameter, match=r"dp\.Schema"):
        dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=schema)


@pytest.mark.parametrize("confidence", ["1", [], float("nan"), 1, 0, 10**400])
def test_what_is_not_a_confidence(people: pd.DataFrame, confidence: Any) -> None:
    s = session(people, dp.ZCDP(1.0))
    with pytest.raises(dp.errors.InvalidParameter, match="strictly between 0 and 1"):
        s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1), confidence=confidence)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_what_was_meant(engine: str, tmp_path: Path) -> None:
    """A table that is nearly named, and a column by its beginning."""
    path = str(tmp_path / f"people.{engine}")
    connection: Any = duckdb.connect(path) if engine == "duckdb" else sqlite3.connect(path)
    connection.execute("CREATE TABLE employees (age INTEGER, hours_per_week INTEGER)")
    connection.execute("INSERT INTO employees VALUES (30, 40)")
    connection.commit()
    connection.close()
    for table in ("employes", "emp"):
        with pytest.raises(InvalidParameter, match=f"there is no table '{table}'.*did you mean 'employees'"):
            dp.Session(path, table=table, unit=dp.Unit.rows(), budget=dp.PureDP(1.0))
    s = dp.Session(path, table="employees", unit=dp.Unit.rows(), budget=dp.PureDP(1.0))
    with pytest.raises(InvalidParameter, match="did you mean 'hours_per_week'"):
        s.table.filter("hours > 10")


def test_prices_and_promises_name_the_fix() -> None:
    session = dp.Session(pd.DataFrame({"age": [30] * 100}), unit=dp.Unit.rows(), budget=dp.GDP(1.0))
    test = dp.infer.BinomialTest(dp.GDP(0.2))
    with pytest.raises(dp.errors.InvalidParameter, match="features"):
        session.price(test)
    with pytest.raises(dp.errors.InvalidParameter, match="leave accuracy"):
        session.price(test, dp.within(5), features="age >= 40")
    with pytest.raises(dp.errors.InvalidParameter, match=r"GDP\(mu=0.25.* implies it"):
        session.release(session.table.agg(n=dp.count()), dp.AttackRisk(advantage=0.1))
    with pytest.raises(dp.errors.InvalidParameter, match="rows is 1000000000000"):
        session.synthesize({"age": (0, 100)}, dp.GDP(0.2), rows=10**12)
    assert session.spent == dp.GDP(0.0)
