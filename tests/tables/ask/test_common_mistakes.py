"""What people write by mistake is refused with the fix, as an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.tables.sql import parse_aggregates

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


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> dp.Session:
    """A CSV file as they are: a column with a dot, one with signs beside numbers, one of dates, and no schema."""
    path = tmp_path_factory.mktemp("data") / "people.csv"
    rows = [f"{n},{'?' if n % 3 else n},2024-01-{n % 28 + 1:02d},{'f' if n % 2 else 'm'}" for n in range(90)]
    path.write_text("\n".join(["due.next.month,sod,day,sex", *rows, ""]))
    return dp.Session(path, unit=dp.Unit.rows(), budget=dp.ZCDP(10.0))


@pytest.mark.parametrize(
    ("mistake", "fix"),
    [
        (
            lambda s: s.table.agg(m=dp.mean("sod", (0, 9), nulls="drop")),
            r"\{'sod': \{\"type\": \"number\"\}\}",
        ),
        (lambda s: s.table.filter("due.next.month > 1"), 'in double quotes, "due.next.month"'),
        (lambda s: s.table.filter("sex = 'f'").agg(n=dp.count()), r'schema=dp.Schema\(nulls="drop"\)'),
        (lambda s: s.table.filter("day >= 2024-01-05"), "DATE '2024-12-31'"),
        (lambda s: s.table.agg(m=dp.mean("day", ("2024-01-01", "2024-01-31"))), "DATE_DIFF"),
        (lambda s: s.table.group_by("DATE_TRUNC('month', day)"), "with_columns"),
        (lambda s: s.table.group_by("sex"), "--keys a,b"),
        (lambda s: s.table.group_by("sex", "day", keys=["f"]), r"keys=\{'sex': \[...\], 'day': \[...\]\}"),
        (lambda s: s.sql("SELECT COUNT_IF(sod > 3) AS n FROM people"), r"SUM\(age > 30\)"),
        (lambda s: parse_aggregates("n=top_k(sex, 1, f, m)", ()), "in single quotes: 'f'"),
        (lambda s: s.release(s.table.agg(n=dp.count()), dp.PureDP(0.1)), r"of its kind: dp.ZCDP\(0.01\)"),
        (lambda s: dp.Session(PEOPLE, unit=dp.Unit.rows()), r"budget=dp.ApproxDP\(1.0, 1e-6\)"),
        (lambda s: dp.Session(PEOPLE, unit=dp.Unit.rows(), budget=1.0), r"dp.ApproxDP\(1.0, 1e-6\)"),
        (lambda s: dp.mean("sod", 0, 9), r"bounds=\(lower, upper\)"),
        (lambda s: s.table.value_counts("sex"), r"agg\(n=dp.count\(\)\)"),
        (lambda s: dp.share("sex"), "dp.proportion"),
        (lambda s: s.table.filter("sex = 'f' & day > '2024-01-05'"), "by AND and OR"),
        (lambda s: s.table.filter("(sex = 'f') & (sex = 'm')"), "write AND"),
        (lambda s: s.table.filter("(sex = 'f') | (sex = 'm')"), "write OR"),
        (lambda s: s.table.filter("~(sex = 'f')"), "write NOT"),
        (lambda s: s.table.filter("1 < LENGTH(sex) <= 4"), r"write 1 < LENGTH\(sex\) AND LENGTH\(sex\) <= 4"),
        (lambda s: s.table.filter("LENGTH(sex) // 2 = 1"), r"FLOOR\(x / y\)"),
        (lambda s: s.table.filter("sex.str.lower() = 'f'"), r"LOWER\(town\)"),
        (lambda s: s.table.filter("`due.next.month` > 1"), "double quotes"),
        (lambda s: s.table.filter("sod = None"), "IS NULL"),
        (lambda s: s.sql("SELECT COUNT(*) AS n FROM people WHERE sod <> NaN"), "IS NULL"),
        (lambda s: s.sql("SELECT COUNT(*) / 1000 AS n FROM people"), r"ratio\('a', 'b', per=1000\)"),
        (lambda s: s.table.group_by("sex", keys="f"), r"keys=\['f'\]"),
        (lambda s: s.table.group_by("sex", keys=dp.discover), r"keys=dp.discover\(\)"),
        (lambda s: s.table.group_by("sex", keys=["f"]).count(), r"agg\(n=dp.count\(\)"),
        (lambda s: s.table.join(s.table), "on='person_id'"),
        (lambda s: dp.proportion("sex", "f"), "sex = 'f'"),
        (lambda s: dp.ApproxDP(1.0), r"ApproxDP\(1.0, 1e-6\)"),
        (lambda s: s.history, r"ledger.log\(\)"),
        (lambda s: s.head(), r"print\(session.table\)"),
        (lambda s: dp.nunique, "count_distinct"),
        (lambda s: s.infer(dp.infer.mean, "sod"), r"dp.infer.Mean\(dp.ZCDP"),
        (lambda s: dp.infer.OLS, r"LinearRegression\(guarantee="),
        (lambda s: dp.infer.ChiSquareTest, "IndependenceTest"),
        (lambda s: dp.learn.GridSearchCV, "PrivateSearch"),
        (lambda s: dp.learn.LogisticRegresion, "did you mean 'LogisticRegression'"),
    ],
)
def test_a_file_of_somebody_new(file: dp.Session, mistake: Callable[[Any], Any], fix: str) -> None:
    with pytest.raises((InvalidParameter, TypeError, AttributeError), match=fix):
        mistake(file)


def test_what_the_errors_say_works(file: dp.Session) -> None:
    schema = dp.Schema({"sod": {"type": "number"}}, nulls="drop")
    s = dp.Session(file.source.place.where, unit=dp.Unit.rows(), budget=dp.ZCDP(1e4), schema=schema)
    asked = s.table.filter("sex = 'f' AND day >= DATE '2024-01-05'").agg(
        n=dp.count(), month=dp.mean('"due.next.month"', (0, 90)), sod=dp.count("sod"), over=dp.sum("sod > 3")
    )
    assert s.release(asked, dp.ZCDP(1e3))["n"].estimate > 0
    assert "forgotten when the session ends" in str(s)


def test_nothing_left_says_what_can_still_be_done(tmp_path: Any) -> None:
    for ceiling, more in ((None, False), (dp.ZCDP(2.0), True)):
        s = dp.Session(
            PEOPLE,
            unit=dp.Unit.rows(),
            budget=dp.ZCDP(1.0),
            name="x",
            ledger=tmp_path / str(more),
            ceiling=ceiling,
        )
        s.release(s.table.agg(n=dp.count()), dp.ZCDP(1.0))
        assert "forgotten" not in str(s)
        with pytest.raises(BudgetExceeded, match="what was asked before stays free") as refused:
            s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.5))
        assert ("steward" in str(refused.value)) is more
        assert s.release(s.table.agg(n=dp.count()), dp.ZCDP(1.0)).free


def test_shapes_without_a_name_and_files(s: dp.Session, tmp_path: Any) -> None:
    made = s.cross_table(s.table.cube("town").agg(n=dp.count()), dp.ZCDP(0.1))
    made.to_parquet(tmp_path / "table.parquet")
    assert list(pd.read_parquet(tmp_path / "table.parquet")["n"]) == made["n"].plain
    with pytest.raises(AttributeError, match="for_spreadsheets"):
        made.to_excel("table.xlsx")
    both = s.release(
        s.table.with_columns(high="x > 1")
        .group_by("town", "high", keys=[("a", True), ("b", False)])
        .agg(n=dp.count()),
        dp.ZCDP(0.1),
    )
    assert both.wide().names == both.wide("n").names
    two = s.release(
        s.table.with_columns(high="x > 1")
        .group_by("town", "high", keys=[("a", True)])
        .agg(n=dp.count(), m=dp.mean("x")),
        dp.ZCDP(0.1),
    )
    with pytest.raises(InvalidParameter, match=r"wide\('n'\)"):
        two.wide()


def test_a_steward_is_told_what_it_is_called(tmp_path: Any) -> None:
    with dp.Ledger.open(tmp_path / "people.ledger") as ledger:
        account = ledger.account("people", dp.ZCDP(0.5), unit=dp.Unit.rows(), ceiling=dp.ZCDP(1.0))
        for thing, word, fix in (
            (
                ledger,
                "open_account",
                r"account\('people', dp.ZCDP\(0.5\), unit=dp.Unit.rows\(\)\), with ceiling=",
            ),
            (ledger, "balance", r"ledger.existing\('people'\)"),
            (account, "close", r"close_for_ever\(\)"),
            (account, "raise_to", r"raise_budget\(dp.ZCDP\(1.0\)\)"),
        ):
            with pytest.raises(AttributeError, match=fix):
                getattr(thing, word)
        ledger.existing("people").raise_budget(dp.ZCDP(1.0))
        account.grant_share("ana", dp.ZCDP(0.1))
        assert ledger.log(account.dataset)
        account.close_for_ever()
