"""Answers in the shapes that people publish."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.ask.query import Query
from dalenius.tables.compute import exact as engine
from dalenius.tables.plan.plan import plan
from dalenius.tables.release import sheet
from dalenius.tables.release.answer import FARTHEST, Answer, _ratio_column
from dalenius.tables.release.cross_table import CrossTable
from dalenius.tables.release.released import release
from tests.noise.seeded import seeded

SEX, TOWN = ["f", "m"], ["a", "b", "c"]
KEYS = {"sex": SEX, "town": TOWN}
SCHEMA = dp.Schema({"sex": {"categories": SEX}, "town": {"categories": TOWN}}, nulls="drop")


def people(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "sex": rng.choice([*SEX, "x"], rows, p=[0.5, 0.45, 0.05]),
            "town": rng.choice([*TOWN, "elsewhere"], rows, p=[0.5, 0.3, 0.1, 0.1]),
            "age": rng.integers(18, 90, rows),
        }
    )


def draws(s: dp.Session, queries: list[Query], price: dp.Guarantee, times: int) -> Iterator[list[Answer]]:
    """So many releases of the same questions, each at this price; the exact numbers are computed once."""
    plans = [plan(query, s.unit, price) for query in queries]
    exact = [engine.evaluate(s.source, query, s.unit) for query in queries]
    for _ in range(times):
        yield [Answer(made, release(made, numbers), "") for made, numbers in zip(plans, exact, strict=True)]


def opened(budget: dp.Guarantee, data: pd.DataFrame | None = None) -> dp.Session:
    return dp.Session(people() if data is None else data, unit=dp.Unit.rows(), budget=budget, schema=SCHEMA)


class TestCube:
    @pytest.mark.parametrize("budget", [dp.ZCDP(0.05), dp.PureDP(0.5)], ids=repr)
    def test_everything_adds_up(self, budget: dp.Guarantee) -> None:
        s = opened(budget)
        table = s.cross_table(
            s.table.cube("sex", "town").agg(n=dp.count(), pay=dp.sum("age", (0, 100))), budget
        )
        for name in ("n", "pay"):
            found = dict(zip(table.keys, table[name].estimate, strict=True))
            assert len(found) == 12
            for sex in SEX:
                assert math.isclose(sum(found[sex, town] for town in TOWN), found[sex, "all"], abs_tol=1e-6)
            for town in TOWN:
                assert math.isclose(sum(found[sex, town] for sex in SEX), found["all", town], abs_tol=1e-6)
            assert math.isclose(sum(found[sex, "all"] for sex in SEX), found["all", "all"], abs_tol=1e-6)
        assert all(isinstance(value, int) and value >= 0 for value in table["n"].plain)
        assert s.remaining == type(budget)(0.0) or s.remaining.leading == 0

    def test_the_truth_is_in_the_intervals_and_rows_elsewhere_are_in_none(self) -> None:
        """With so much budget that noise is below 1/50: what is counted is exactly the rows with listed keys."""
        s = opened(dp.ZCDP(9000.0))
        table = s.cross_table(s.table.cube("sex", "town").agg(n=dp.count()), dp.ZCDP(4000.0))
        data = people()
        data = data[data["sex"].isin(SEX) & data["town"].isin(TOWN)]
        found = dict(zip(table.keys, table["n"].plain, strict=True))
        assert found["all", "all"] == len(data)
        assert found["f", "all"] == (data["sex"] == "f").sum()
        assert found["m", "c"] == ((data["sex"] == "m") & (data["town"] == "c")).sum()

    def test_rows_without_a_key_are_in_no_margin(self) -> None:
        """Columns that `group_by` takes without a policy; of 400 rows 100 lack each key, and 25 all of them."""
        data = pd.DataFrame(
            {
                "g": ["a", "b", "a", None] * 100,
                "flag": pd.array(([True] * 4 + [False] * 8 + [None] * 4) * 25, dtype="boolean"),
                "day": [dt.date(2024, 1, 1)] * 300 + [None] * 100,
            }
        )
        facts: Any = {
            "g": {"categories": ["a", "b"]},
            "flag": {"categories": [True, False]},
            "day": {"categories": [dt.date(2024, 1, 1)]},
        }
        s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.ZCDP(9000.0), schema=facts)
        table = s.cross_table(s.table.cube("g", "flag", "day").agg(n=dp.count()), dp.ZCDP(4000.0))
        found = dict(zip(table.keys, table["n"].plain, strict=True))
        whole = data.dropna()
        assert found["all", "all", "all"] == len(whole)
        assert found["a", "all", "all"] == (whole["g"] == "a").sum()
        assert found["all", True, "all"] == whole["flag"].sum()
        assert found["b", False, dt.date(2024, 1, 1)] == ((whole["g"] == "b") & ~whole["flag"]).sum()
        assert table.adds_up

    def test_a_filter_on_record_is_spelled_as_ever(self) -> None:
        """Where a policy is declared: answers in older ledgers are found again."""
        s = opened(dp.ZCDP(1.0))
        (step, *_) = s.table.cube("sex").agg(n=dp.count()).queries[0].table.steps
        assert step.record()["condition"] == "\"sex\" IN ('f', 'm')"

    @pytest.mark.parametrize("price", [dp.ZCDP(0.0125), dp.PureDP(0.125)], ids=repr)
    def test_intervals_cover_and_are_shorter(self, price: dp.Guarantee) -> None:
        """Coverage of 6 cells over 400 releases, as if those of one release always failed together: 95 % is missed by 6
        standard deviations with a chance below 1e-8. The interval of a cell asked alone is longer."""
        data = people(600)
        inside = data[data["sex"].isin(SEX) & data["town"].isin(TOWN)]
        truth = inside.groupby(["sex", "town"]).size()
        s = opened(dp.ZCDP(1.0), data)
        asked = s.table.cube("sex", "town").agg(n=dp.count())
        hits = []
        with seeded(11):
            for answers in draws(s, list(asked.queries), price, 400):
                column = CrossTable.of(asked, answers)["n"]
                hits.append(np.mean([column.low[k] <= truth.iloc[k] <= column.high[k] for k in range(6)]))
        assert abs(np.mean(hits) - 0.95) < 6 * math.sqrt(0.05 * 0.95 / 400)
        assert column.error[0] < 0.95 * answers[0]["n"].error[0]

    def test_a_table_of_mostly_empty_cells_keeps_its_intervals(self) -> None:
        """Cells are made nonnegative by moving them all; intervals stay where the noise says: else hardly one would
        hold the only full cell. At 95 %, fewer than 45 of 60 have a chance below 1e-7."""
        data = pd.DataFrame({"sex": ["f"] * 400, "town": ["t0"] * 400})
        s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))
        keys = {"sex": SEX, "town": [f"t{k}" for k in range(60)]}
        asked = s.table.cube("sex", "town", keys=keys).agg(n=dp.count())
        hits = shifted = 0
        with seeded(2):
            for answers in draws(s, list(asked.queries), dp.ZCDP(0.0025), 60):
                column = CrossTable.of(asked, answers)["n"]
                hits += bool(column.low[0] <= 400 <= column.high[0])
                shifted += bool(column.estimate[0] < 400)
        assert hits >= 45
        assert shifted >= 50

    def test_sql_and_python_ask_the_same(self) -> None:
        s = opened(dp.ZCDP(1.0))
        a = s.cross_table(s.table.rollup("sex", "town").agg(n=dp.count()), dp.ZCDP(0.1))
        b = s.sql("SELECT sex, town, COUNT(*) AS n FROM data GROUP BY ROLLUP (sex, town)", dp.ZCDP(0.1))
        assert a.keys == b.keys
        assert a["n"].plain == b["n"].plain
        assert abs(s.spent.rho - 0.1) < 1e-9
        assert [key for key in a.keys if "all" in key] == [("f", "all"), ("m", "all"), ("all", "all")]
        text = "SELECT sex, COUNT(*) AS n FROM data GROUP BY CUBE (sex)"
        priced = s.sql(text, accuracy=dp.within(50, confidence=0.9))
        assert priced.cells.cost == f"{s.price(text, dp.within(50, confidence=0.9)).budget!r} for 2 questions"
        assert priced.cells.wanted.confidence == 0.9
        assert s.cross_table(s.table.cube("sex").agg(n=dp.count()), accuracy=dp.within(50, 0.9)).cells.free

    def test_what_is_refused_costs_nothing(self) -> None:
        s = opened(dp.ZCDP(1.0))
        for ask, words in (
            (lambda: s.table.cube("sex", "town", keys=dp.discover()), "keys that are known"),
            (lambda: s.table.cube("sex", "town", keys=[("f", "a")]), "a list for each column"),
            (lambda: s.table.cube("age").agg(n=dp.count()), "needs keys"),
            (lambda: s.table.cube("sex", "sex"), "twice"),
            (lambda: s.table.cube("sex", keys=["f", "f"]), "twice"),
            (lambda: s.cross_table(s.table.agg(n=dp.count()), dp.ZCDP(0.1)), "cube"),
        ):
            with pytest.raises((InvalidParameter, QueryRefused), match=words):
                ask()
        assert s.spent.rho == 0

    @pytest.mark.parametrize("values", [[True, False], [1, 2], ["it's", 'a "b"']])
    def test_keys_of_every_kind(self, values: list) -> None:
        data = pd.DataFrame({"k": values * 50})
        s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.ZCDP(9000.0), schema=dp.Schema(nulls="drop"))
        table = s.cross_table(s.table.cube("k", keys=values).agg(n=dp.count()), dp.ZCDP(4000.0))
        assert table["n"].plain == [50, 50, 100]

    def test_margins_and_layouts(self) -> None:
        s = opened(dp.ZCDP(1.0))
        table = s.cross_table(s.table.cube("sex", "town").agg(n=dp.count()), dp.ZCDP(0.5))
        assert table.margin("sex").keys == [("f",), ("m",)]
        assert table.margin().keys == [()]
        assert len(table.cells) == 6
        with pytest.raises(InvalidParameter, match="there is no margin"):
            table.margin("age")
        wide = table.wide("n")
        assert wide.names == ("sex",)
        assert [column.name for column in wide.columns] == ["a", "b", "c", "all"]
        assert wide.keys == [("f",), ("m",), ("all",)]
        assert wide["all"].plain[2] == table["n"].plain[-1]
        assert wide.to_markdown().count("\n") == 4

    def test_ratios_and_bins_of_cells_and_margins(self) -> None:
        """With hardly any noise: against the data, everywhere; histograms of cells add up to those of margins."""
        s = opened(dp.ZCDP(9000.0))
        asked = s.table.cube("sex", "town").agg(
            n=dp.count(), years=dp.sum("age", (0, 100)), old=dp.histogram("age", edges=[18, 65, 90])
        )
        table = s.cross_table(asked, dp.ZCDP(4000.0))
        data = people()
        data = data[data["sex"].isin(SEX) & data["town"].isin(TOWN)]
        rates = table.ratio("years", "n", per=1000)
        found = dict(zip(rates.keys, rates["years_per_1000_n"].estimate, strict=True))
        assert len(found) == 12
        assert math.isclose(found["all", "all"], 1000 * data["age"].mean(), rel_tol=1e-3)
        lund = data[(data["sex"] == "f") & (data["town"] == "a")]
        assert math.isclose(found["f", "a"], 1000 * lund["age"].mean(), rel_tol=1e-3)
        assert (rates["years_per_1000_n"].low <= rates["years_per_1000_n"].high).all()
        tidy = table.bins("old")
        assert tidy.names == ("sex", "town", "lower", "upper")
        n = dict(zip(tidy.keys, tidy["old"].plain, strict=True))
        assert n["all", "b", 65.0, 90.0] == ((data["town"] == "b") & (data["age"] >= 65)).sum()
        assert n["f", "b", 65.0, 90.0] + n["m", "b", 65.0, 90.0] == n["all", "b", 65.0, 90.0]
        assert "Margins add up" in str(tidy)

    def test_all_intervals_together_are_those_of_cells_and_margins(self) -> None:
        """12 numbers: each may fail with a twelfth of 5 %."""
        s = opened(dp.ZCDP(1.0))
        table = s.cross_table(s.table.cube("sex", "town").agg(n=dp.count()), dp.ZCDP(0.5))
        law = next(iter(table.margin().released.measures.values())).law
        column = table.at(simultaneous=True).margin()["n"]
        assert math.isclose(column.high[0] - column.low[0], 2 * law.reach(0.05 / 12)[0], rel_tol=1e-6)


class TestShapes:
    @pytest.fixture
    def answer(self) -> Answer:
        s = opened(dp.ZCDP(1.0))
        asked = s.table.group_by("sex", "town").agg(
            n=dp.count(),
            old=dp.sum("age", bounds=(0, 100)),
            age=dp.mean("age", (0, 100)),
            h=dp.histogram("age", 3, (18, 90)),
        )
        return s.release(asked, dp.ZCDP(0.2))

    def test_bins(self, answer: Answer) -> None:
        tidy = answer.bins("h")
        assert tidy.names == ("sex", "town", "lower", "upper")
        assert tidy.keys[:3] == [("f", "a", 18.0, 42.0), ("f", "a", 42.0, 66.0), ("f", "a", 66.0, 90.0)]
        assert tidy["h"].plain[1] == answer["h[42, 66)"].plain[0]
        assert tidy["h"].low[5] == answer["h[66, 90]"].low[1]
        with pytest.raises(KeyError, match="no histogram"):
            answer.bins("n")

    def test_shares_add_up_to_one(self, answer: Answer) -> None:
        shares = answer.shares("n", within="sex")["n_share"]
        assert math.isclose(shares.estimate[:3].sum(), 1.0)
        assert math.isclose(answer.shares("n")["n_share"].estimate.sum(), 1.0)
        assert (shares.low <= shares.estimate).all()
        assert (shares.estimate <= shares.high).all()
        with pytest.raises(InvalidParameter, match="no count and no sum"):
            answer.shares("age")

    @pytest.mark.parametrize("price", [dp.ZCDP(0.002), dp.PureDP(0.1)], ids=repr)
    def test_shares_and_ratios_cover(self, price: dp.Guarantee) -> None:
        """300 releases of 6 cells, as if those of one release always failed together: six standard deviations."""
        data = people(1500)
        data = data[data["sex"].isin(SEX) & data["town"].isin(TOWN)]
        n = data.groupby(["sex", "town"]).size()
        old = data[data["age"] >= 60].groupby(["sex", "town"]).size()
        share, rate = (n / n.groupby("sex").transform("sum")).to_numpy(), (1000 * old / n).to_numpy()
        s = opened(dp.ZCDP(1.0), data)
        table = s.table.with_columns(is_old="CASE WHEN age >= 60 THEN 1 ELSE 0 END")
        asked = table.group_by("sex", "town", keys=KEYS).agg(n=dp.count(), old=dp.sum("is_old", (0, 1)))
        hits: dict[str, list[float]] = {"n_share": [], "rate": []}
        with seeded(4):
            for (made,) in draws(s, [asked], price, 300):
                for name, sheet, truth in (
                    ("n_share", made.shares("n", within=["sex"]), share),
                    ("rate", made.ratio("old", "n", per=1000, name="rate"), rate),
                ):
                    column = sheet[name]
                    held = (column.low <= truth + 1e-12) & (truth - 1e-12 <= column.high)
                    hits[name].append(float(held.mean()))
        for found in hits.values():
            assert abs(np.mean(found) - 0.95) < 6 * math.sqrt(0.95 * 0.05 / 300)

    def test_top_sorted_rounded_suppressed(self, answer: Answer) -> None:
        n = answer["n"].plain
        top = answer.top("n", 2)
        assert top["n"].plain == sorted(n, reverse=True)[:2]
        assert answer.sorted("n", descending=False)["n"].plain == sorted(n)
        rounded = answer.rounded(10)
        assert all(value % 10 == 0 for value in rounded["n"].plain)
        assert (rounded["n"].low <= answer["n"].low).all()
        assert (rounded["n"].high >= answer["n"].high).all()
        assert rounded["age"].plain == answer["age"].plain
        hidden = answer.suppressed("n", below=300)
        few = sum(value < 300 for value in n)
        assert hidden["n"].plain.count(None) == few == np.isnan(hidden["age"].estimate).sum() > 0
        assert "-" in str(hidden)

    def test_the_most_frequent_one_below_the_other(self) -> None:
        s = opened(dp.ZCDP(9000.0))
        answer = s.release(
            s.table.group_by("sex").agg(town=dp.top_k("town", 2), h=dp.histogram("age", 2, (18, 90))),
            dp.ZCDP(4000.0),
        )
        tidy = answer.bins("town")
        assert tidy.names == ("sex", "place", "town")
        data = people()
        expected = data[data["sex"] == "f"]["town"].value_counts()
        assert tidy.keys[:2] == [("f", 1, "a"), ("f", 2, "b")]
        assert tidy["town_n"].plain[:2] == [expected["a"], expected["b"]]
        with pytest.raises(InvalidParameter, match="no top_k 'twon' in the answer; did you mean 'town'"):
            answer.bins("twon")

    def test_markdown_for_a_spreadsheet(self) -> None:
        s = opened(dp.ZCDP(1.0))
        keys = ["=1+1", "a|b", "f"]
        asked = s.table.group_by("sex", keys=keys).agg(
            n_n=dp.count(), h=dp.histogram("age", edges=[17, 30, 90])
        )
        answer = s.release(asked, dp.ZCDP(0.1)).suppressed("n_n", below=100)
        lines = [line[2:-2].split(" | ") for line in answer.to_markdown(plain=True).splitlines()]
        assert lines[0][:6] == ["sex", "n_n", "n_n_error", "n_n_low", "n_n_high", "h[17, 30)"]
        assert [line[0] for line in lines[2:]] == ["'=1+1", "a/b", "f"]
        assert lines[2][1] == ""
        assert float(lines[4][3]) == answer["n_n"].low[2]
        assert all(len(line) == 13 for line in lines)
        assert "n\\_n" in answer.to_markdown()

    def test_what_needs_the_answer_says_so(self, answer: Answer) -> None:
        rounded: Any = answer.rounded(5)
        with pytest.raises(InvalidParameter, match=r"answer\.shares\(\.\.\.\)\.rounded\(5\)"):
            rounded.shares("n")
        assert not hasattr(rounded, "ratio")
        with pytest.raises(AttributeError, match="sharez"):
            rounded.sharez("n")

    def test_small_cells_are_those_of_the_one_count(self, answer: Answer) -> None:
        assert answer.suppressed(below=300)["n"].plain == answer.suppressed("n", below=300)["n"].plain
        s = opened(dp.ZCDP(1.0))
        two = s.release(s.table.agg(n=dp.count(), m=dp.count("age")), dp.ZCDP(0.1))
        with pytest.raises(InvalidParameter, match="but 'n', 'm'"):
            two.suppressed(below=5)

    def test_groups_agree_with_a_margin(self, answer: Answer) -> None:
        s = opened(dp.ZCDP(1.0))
        total = s.release(
            s.table.filter("town IN ('a', 'b', 'c')").group_by("sex").agg(n=dp.count()), dp.ZCDP(0.5)
        )
        agreed = answer.agreeing_with(total)["n"]
        parts, whole = answer["n"].estimate, total["n"].estimate
        for k in range(2):
            rows = slice(3 * k, 3 * k + 3)
            ends = sorted((parts[rows].sum(), whole[k]))
            assert ends[0] - 3 <= agreed.estimate[rows].sum() <= ends[1] + 3
        assert (agreed.low <= agreed.estimate).all()

    def test_columns_that_six_digits_do_not_tell_apart(self) -> None:
        """Two columns of one name are one column of a file: the bins of large numbers, and levels that are close."""
        s = opened(dp.ZCDP(1.0))
        levels = [0.1234567, 0.1234568, 0.5]
        asked = s.table.agg(
            h=dp.histogram("age", 4, (1_000_000, 1_000_010)),
            q=dp.quantiles("age", levels, (0, 100)),
            far=dp.histogram("age", edges=[0, 0.1, 1_234_567.5]),
        )
        a = s.release(asked, dp.ZCDP(0.1))
        names = [column.name for column in a.columns]
        assert names[:2] == ["h[1000000, 1000002.5)", "h[1000002.5, 1000005)"]
        assert names[4:] == ["q_0.1234567", "q_0.1234568", "q_0.5", "far[0, 0.1)", "far[0.1, 1234567.5]"]
        assert len(a.to_dict()) == 4 * len(names) == 4 * len(set(names))
        assert [key[0] for key in a.bins("h").keys] == [1e6, 1000002.5, 1000005.0, 1000007.5]

    def test_no_line_is_longer_than_the_terminal(
        self, answer: Answer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Columns go on below, beside the keys again; where there is no terminal, all stand beside each other."""
        beside = str(answer).splitlines()
        monkeypatch.setattr(sheet, "_room", lambda: 60)
        lines = str(answer).splitlines()
        assert max(map(len, beside[:-1])) > 90
        assert max(map(len, lines[:-1])) <= 60
        heads = [line.removeprefix("sex  town  ").split("  ")[0] for line in lines if line.startswith("sex")]
        assert (heads[0], len(heads)) == ("n", 3)
        rows = [line.removeprefix("f    a     ") for line in lines if line.startswith("f    a ")]
        assert " ".join(" ".join(rows).split()) == " ".join(beside[2].removeprefix("f    a     ").split())

    def test_keys_from_the_data_cannot_speak_to_the_terminal(self) -> None:
        data = pd.DataFrame({"town": ["\x1b[2Ja\n\u202eb"] * 500})
        s = dp.Session(
            data, unit=dp.Unit.rows(), budget=dp.ApproxDP(3.0, 1e-5), schema=dp.Schema(nulls="drop")
        )
        a = s.release(s.table.group_by("town", keys=dp.discover()).agg(n=dp.count()), dp.ApproxDP(2.0, 1e-6))
        assert len(str(a).splitlines()) == 4
        for text in (str(a), a.to_markdown(), a.to_markdown(plain=True), a.to_html()):
            assert all(sign.isprintable() or sign == "\n" for sign in text)
            assert "\\x1b" in text

    def test_ends_of_bins_and_columns_of_one_thing(self, answer: Answer) -> None:
        s = opened(dp.ZCDP(1.0))
        asked = s.table.group_by("sex").agg(age=dp.histogram("age", edges=[18, 30.5, 90]))
        tidy = s.release(asked, dp.ZCDP(0.1)).bins("age")
        assert [line.split()[1:3] for line in str(tidy).splitlines()[2:4]] == [["18", "30.5"], ["30.5", "90"]]
        labels = [label.get_text() for label in tidy.plot().axes[0].get_yticklabels()]
        assert labels[:2] == ["f, 18 to 30.5", "f, 30.5 to 90"]
        figure = answer.wide("n").rounded(5).plot()
        assert len({panel.get_xlim() for panel in figure.axes}) == 1
        assert len({panel.get_xlim() for panel in answer.plot("n", "old").axes}) == 2

    def test_files(self, answer: Answer, tmp_path: Path) -> None:
        text = answer.suppressed("n", below=100).to_csv(tmp_path / "table.csv")
        assert (tmp_path / "table.csv").read_text() == text
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == 6
        assert "nan" not in text
        assert int(rows[0]["n"]) == answer["n"].plain[0]
        answer.plot("n", "age", path=tmp_path / "table.png")
        assert (tmp_path / "table.png").stat().st_size > 5000
        assert answer.to_polars().shape[0] == 6
        top = answer.top("n", 3)
        assert top.to_markdown(tmp_path / "table.md") == (tmp_path / "table.md").read_text()
        assert top.to_html(tmp_path / "table.html") in (tmp_path / "table.html").read_text()


def test_shares_of_a_cross_table_know_what_its_numbers_have_in_common() -> None:
    frame = pd.DataFrame({"sex": ["f", "f", "m", "m"] * 500, "town": ["a", "b", "a", "b"] * 500})
    keys = {"sex": ["f", "m"], "town": ["a", "b"]}
    s = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))
    table = s.cross_table(s.table.cube("sex", "town", keys=keys).agg(n=dp.count()), dp.ZCDP(0.1))
    shares = table.shares("n", within="sex")["n_share"]
    # The covariance of least squares, by hand: cells, rows, columns, total, all with the same noise.
    row, column = np.kron(np.eye(2), np.ones(2)), np.kron(np.ones(2), np.eye(2))
    design = np.vstack([np.eye(4), row, column, np.ones((1, 4))])
    law = np.linalg.inv(design.T @ design)
    law *= table.cells["n"].error[0] ** 2 / law[0, 0]
    released = table.margin("sex").released.measures
    totals = np.repeat(next(iter(released.values())).values, 2)
    for k, share in enumerate(shares.estimate):
        weights = np.eye(4)[k] - share * row[k // 2]
        assert shares.error[k] * totals[k] == pytest.approx(np.sqrt(weights @ law @ weights), rel=1e-6)
    assert shares.estimate[:2].sum() == pytest.approx(1.0)
    with pytest.raises(InvalidParameter, match=r"table\.shares"):
        table.cells.shares("n", within="sex")
    assert "Margins added up before rounding." in table.rounded(10).note
    with pytest.raises(InvalidParameter, match="cross_table"):
        s.release(s.table.cube("sex", keys=["f", "m"]).agg(n=dp.count()), dp.ZCDP(0.1))  # type: ignore[arg-type]


def test_margins_of_medians_are_not_said_to_add_up() -> None:
    frame = pd.DataFrame({"g": ["a", "b"] * 50, "x": range(100)})
    s = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))
    q = s.table.cube("g", keys=["a", "b"]).agg(m=dp.median("x", bounds=(0, 100)))
    assert "add up" not in s.cross_table(q, dp.ZCDP(0.1)).note


def test_the_ends_of_a_ratio_that_has_none_are_infinite() -> None:
    at = np.array([1.0])
    column = _ratio_column("r", at, at, (at, at, at), -FARTHEST * at, FARTHEST * at, (-FARTHEST, FARTHEST))
    assert (column.low[0], column.high[0]) == (-math.inf, math.inf)


def test_many_bins_are_shown_in_their_time() -> None:
    """Looking each name up among all others took minutes for so many: 10^10 comparisons."""
    s = dp.Session(
        pd.DataFrame({"x": [1] * 10}),
        unit=dp.Unit.rows(),
        budget=dp.ZCDP(1.0),
        schema=dp.Schema(nulls="drop"),
    )
    answer = s.release(s.table.agg(h=dp.histogram("x", 30_000, (0, 10))), dp.ZCDP(0.1))
    began = time.process_time()
    assert len(answer.bins("h")) == 30_000
    assert time.process_time() - began < 10
