"""The history of a ledger in words, its export, and Python's verify."""

from __future__ import annotations

import datetime
import itertools
import json
import shutil
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.core.record import text
from dalenius.errors import EngineFailed, InvalidParameter, LedgerDamaged, LedgerError, NotALedger
from dalenius.session import entries
from dalenius.session.entries import chained
from dalenius.session.ledger import Ledger
from dalenius.session.log import period
from dalenius.session.words import LONGEST, in_words
from tests.session.golden_ledger import HERE
from tests.session.helpers import opened, rho

BERLIN = datetime.timezone(datetime.timedelta(hours=1))


def session(where: str, **options: object) -> dp.Session:
    people = pd.DataFrame(
        {"age": [20, 30, 40] * 100, "town": ["a", "b", "b"] * 100, "odd name": [1, 2, 3] * 100}
    )
    given = {"unit": dp.Unit.rows(), "budget": dp.ZCDP(0.5), "name": "people", "ledger": where, **options}
    return dp.Session(people, **given)  # type: ignore[arg-type]


class TestWords:
    def asked(self, s: dp.Session, query: dp.tables.ask.query.Query) -> str:  # type: ignore[name-defined]
        s.release(query, dp.ZCDP(0.001))
        return s.ledger.log()[-1].what

    def test_a_question_is_a_sentence(self, tmp_path: Path) -> None:
        s = session(str(tmp_path / "x.ledger"), schema={"age": {"nulls": "never"}})
        rows = s.table.filter("age >= 18").group_by("town", keys=["a", "b"])
        query = rows.agg(n=dp.count(), pay=dp.mean("age * 1000", bounds=(0, 250_000)))
        assert self.asked(s, query) == "count, mean of age * 1000 (0 to 250 000) by town, where age >= 18"

    def test_names_that_need_quotes_keep_them(self, tmp_path: Path) -> None:
        s = session(str(tmp_path / "x.ledger"), schema={"town": {"nulls": "never"}})
        query = s.table.filter('"odd name" > 1 AND town <> \'say "age"\'').agg(n=dp.count())
        assert self.asked(s, query) == 'count, where "odd name" > 1 AND town <> \'say "age"\''

    def test_every_question_that_was_ever_recorded_has_words(self) -> None:
        """Of all golden ledgers: no JSON, one line, and other questions have other words or other prices."""
        found = set()
        for name in ("v2", "v2-adaptive", "inference", "testing", "continual", "synthesis"):
            for line in read_only(HERE / f"{name}.ledger").log():
                assert "{" not in line.what
                assert "\n" not in line.what
                assert len(line.what) <= LONGEST
                found.add(line.what)
        assert len(found) > 60

    @pytest.mark.parametrize(
        "question",
        [
            "x" * 10**5,
            "[" * 10**5,
            '{"format":"dalenius question","kind":"of another day"}',
            '{"format":"dalenius question","kind":"release","query":7}',
            '{"format":"dalenius question","kind":["release"]}',
            "null",
            "a\n\x1b[31mb",
        ],
    )
    def test_what_is_no_question_of_ours_is_shown_as_it_is(self, question: str) -> None:
        told = in_words(question)
        assert len(told) <= LONGEST
        assert "\n" not in told
        assert told[0] == question[0]

    def test_an_aggregate_of_a_later_version(self) -> None:
        record = {
            "format": "dalenius question",
            "kind": "release",
            "query": {
                "aggregates": [
                    {"aggregate": {"kind": "trimmed_mean", "column": '"pay"', "bounds": ["0", "9"]}}
                ],
                "group_by": ["town"],
                "keys": None,
                "table": {"steps": []},
            },
        }
        assert in_words(text(record)) == "trimmed mean of pay (0 to 9) by town"

    def test_steps_are_told_and_none_is_left_out(self) -> None:
        steps: list[dict[str, object]] = [
            {"kind": "private join", "on": [["id", "id"]], "table": {"name": "visits"}},
            {"kind": "explode", "column": "codes", "max_items": 3},
            {"kind": "limit rows", "max_rows": 2},
            {"kind": "of a later version"},
        ]
        count = {"aggregate": {"kind": "count", "column": None}}
        query = {"aggregates": [count], "group_by": [], "keys": None, "table": {"steps": steps}}
        assert in_words(text({"format": "dalenius question", "kind": "release", "query": query})) == (
            "count, joined with the private table visits on id, one row for each of at most 3 items of codes, "
            "at most 2 rows of each, of a later version"
        )


class TestLog:
    def test_who_what_cost_and_left(self, place: str) -> None:
        ledger = Ledger.open(place)
        ana = ledger.account("people", dp.ZCDP(1.0), "ana")
        ana.ask("how many?", rho("0.25"), lambda: "[41]")
        with pytest.raises(EngineFailed):
            ana.ask("and then?", rho("0.125"), lambda: str(1 // 0))
        ledger.account("people", dp.ZCDP(1.0)).charge("lost", rho("0.1"))
        log = ledger.log("people")
        assert [(line.act, line.what, line.outcome) for line in log] == [
            ("opened", "account opened: rho 1", ""),
            ("asked", "how many?", "answered"),
            ("asked", "and then?", "failed"),
            ("asked", "lost", "no answer"),
        ]
        user = entries.user_word().get("user", "")
        assert [line.who for line in log] == [user, "ana", "ana", user]
        assert [line.cells()[4:] for line in log[1:]] == [
            ("rho 0.25", "rho 0.75"),
            ("rho 0.125", "rho 0.625"),
            ("rho 0.1", "rho 0.525"),
        ]
        assert "and then? [failed]" in str(log)

    def test_cost_and_left_add_up_to_the_budget(self, place: str) -> None:
        """In every currency, exactly: what was left before is the cost and what is left after."""
        ledger = Ledger.open(place)
        promises = (dp.PureDP(2.0), dp.ZCDP(0.5), dp.GDP(1.0), dp.ApproxDP(2.0, 1e-6))
        for promise in promises:
            account = ledger.account(repr(promise), promise)
            for number in range(3):
                loss = losses.laplace(20.0) if isinstance(promise, dp.PureDP) else losses.gaussian(20.0)
                account.charge(f"q{number}", loss)
        for promise in promises:
            lines = ledger.log(repr(promise))
            for before, after in itertools.pairwise(lines):
                assert after.cost is not None
                assert after.left is not None
                assert before.left == after.left + after.cost
            left = lines[-1].left
            assert left == ledger.existing(repr(promise)).left()

    def test_filters(self, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for day in ("2026-01-31T23:59:59", "2026-02-01T00:00:00", "2027-01-01T00:00:00"):
            stamp = f"{day}+00:00"
            for module in ("account", "ledger"):
                monkeypatch.setattr(f"dalenius.session.{module}.now", lambda stamp=stamp: stamp)
            opened(place).charge(day, rho("0.1"))
        ledger = Ledger.open(place)
        ledger.account("pets", dp.ZCDP(1.0))

        def asked(**given: object) -> list[str]:
            return [line.what[:10] for line in ledger.log("people", **given) if line.act == "asked"]  # type: ignore[arg-type]

        assert asked(since="2026-02") == ["2026-02-01", "2027-01-01"]
        assert asked(until="2026-01-31") == ["2026-01-31"]
        assert asked(since="2026", until="2026") == ["2026-01-31", "2026-02-01"]
        assert asked(since=datetime.date(2026, 2, 1), until="2026-12") == ["2026-02-01"]
        assert asked(until=datetime.datetime(2026, 2, 1, 0, 59, 59, tzinfo=BERLIN)) == ["2026-01-31"]
        assert asked(analyst="nobody") == []
        with pytest.raises(InvalidParameter, match="did you mean 'people'"):
            ledger.log("peple")
        for wrong in ("yesterday", "2026-13", 2026, "20260101T", ""):
            with pytest.raises(InvalidParameter, match="since is"):
                ledger.log(since=wrong)
        assert period("x", "2026-12") == ("2026-12-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00")

    def test_other_shapes(self, tmp_path: Path) -> None:
        account = opened(str(tmp_path / "x.ledger"))
        account.ask('=HYPERLINK("http://evil") | <b>&', rho("0.25"), lambda: "1")
        log = account.ledger.log()
        frame = log.to_pandas()
        assert frame["cost"].sum() == 0.25
        assert frame["left"].tolist() == [1.0, 0.75]
        assert str(frame["time"].dt.tz) == "UTC"
        assert "'=HYPERLINK" in log.to_csv()
        assert "&lt;b&gt;&amp;" in log._repr_html_()
        assert "\\| &lt;b&gt;" in log.to_markdown()
        assert json.loads(json.dumps(log.to_dicts()))[1]["cost"] == {"amount": "0.25", "delta": "0"}
        assert repr(log) == "<Log: 2 lines>"
        assert len(log[1:]) == 1

    def test_a_changed_entry_is_not_told(self, tmp_path: Path) -> None:
        from tests.session.helpers import by_hand

        account = opened(str(tmp_path / "x.ledger"))
        account.ask("how many?", rho("0.25"), lambda: "1")
        body = "UPDATE {entries} SET body = replace(body, 'how many', 'how much') WHERE kind = 'charge'"
        by_hand(str(tmp_path / "x.ledger"), body, guarded=False)
        with pytest.raises(LedgerDamaged):
            account.ledger.log()

    def test_where_the_data_is(self) -> None:
        lines = [line.what for line in read_only(HERE / "v2.ledger").log("moved")]
        assert any(what.startswith("recorded where the data is: ") for what in lines)

    def test_a_system_without_names(self, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def nameless() -> str:
            raise KeyError("uid not found")

        monkeypatch.setattr("getpass.getuser", nameless)
        account = opened(place)
        account.charge("q", rho("0.1"))
        assert [line.who for line in account.ledger.log()] == ["", ""]

    def test_from_a_session(self, tmp_path: Path) -> None:
        s = session(str(tmp_path / "x.ledger"), analyst="ana")
        with pytest.raises(LedgerError, match="first question that is charged makes it"):
            s.ledger.log()
        s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
        assert [(line.who, line.what) for line in s.ledger.log()][1:] == [("ana", "count")]


def test_a_ledger_in_a_notebook(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "x.ledger")
    ledger.account("<people>", dp.ZCDP(0.5), renewals=1).charge("q", rho("0.125"))
    shown = ledger._repr_html_()
    assert "&lt;people&gt;" in shown
    for cell in ("rho 1<", "rho 0.5<", "rho 0.125<", "rho 0.375<"):
        assert cell in shown


class TestExport:
    def test_readable(self, tmp_path: Path) -> None:
        s = session(str(tmp_path / "x.ledger"))
        s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
        s.account.ask("by hand é", rho("0.1"), lambda: '"text"')
        head, *lines, end = map(json.loads, s.ledger.export(readable=True))
        assert head["readable"] is True
        assert end == {"checkpoint": s.ledger.checkpoint()}
        charge, answer = lines[2], lines[3]
        assert (charge["what"], charge["question"]["query"]["aggregates"][0]["name"]) == ("count", "n")
        assert answer["answer"]["kind"] == "release"
        assert (lines[4]["question"], lines[5]["answer"]) == ("by hand é", '"text"')
        assert not any("\\\\" in line for line in s.ledger.export(readable=True))

    def test_bodies_can_be_hashed_from_the_plain_export(self, place: str) -> None:
        account = opened(place)
        account.ask("q", rho("0.1"), lambda: "1")
        _, *lines, _ = map(json.loads, account.ledger.export())
        for line in lines:
            parts = (line[word] for word in ("seq", "kind", "account", "key", "body", "previous"))
            assert chained(*parts) == line["hash"]


class TestVerify:
    def test_of_a_ledger_that_cannot_be_opened(self, tmp_path: Path) -> None:
        path = tmp_path / "x.ledger"
        account = opened(str(path))
        account.charge("q", rho("0.1"))
        assert str(dp.verify_ledger(path)).startswith("Sound: 3 entries, 1 account, 1 charge, 0 answers.")
        account.ledger.close()
        content = bytearray(path.read_bytes())
        content[3] ^= 1  # of the words "SQLite format 3"
        path.write_bytes(content)
        found = dp.verify_ledger(path)
        assert not found.ok
        assert "Not sound:" in str(found)

    @pytest.mark.parametrize("content", [b"age,town\n3,a\n" * 100, b"%PDF-1.7\n" + bytes(9000), b"x"])
    def test_another_file_is_no_damaged_ledger(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "people.csv"
        path.write_bytes(content)
        for use in (dp.verify_ledger, Ledger.open):
            with pytest.raises(NotALedger, match="is not a ledger"):
                use(path)
        assert path.read_bytes() == content

    def test_one_that_lost_its_mark_is_damaged(self, tmp_path: Path) -> None:
        path = tmp_path / "x.ledger"
        opened(str(path)).ledger.close()
        content = bytearray(path.read_bytes())
        content[68:72] = bytes(4)  # SQLite's application_id
        path.write_bytes(content)
        assert not dp.verify_ledger(path).ok
        with pytest.raises(LedgerDamaged, match="lost its mark"):
            Ledger.open(path)


def read_only(path: Path) -> Ledger:
    import tempfile

    copy = Path(tempfile.mkdtemp()) / "copy.ledger"
    shutil.copy(path, copy)
    return Ledger.open(copy)


def test_decimals_are_written_as_people_do() -> None:
    from dalenius.session.words import number

    assert [number(x) for x in ("250000.0", "-3", "0.25", "1e-06", "12345.5", Decimal("99"))] == [
        "250 000",
        "-3",
        "0.25",
        "0.000001",
        "12345.5",
        "99",
    ]


def test_cross_tables_classes_and_the_most_frequent_are_in_words() -> None:
    frame = pd.DataFrame(
        {"sex": ["f", "m"] * 500, "town": ["a", "a", "b", "b"] * 250, "age": [20, 30, 40, 50] * 250}
    )
    facts = {
        "sex": {"categories": ["f", "m"]},
        "town": {"categories": ["a", "b"]},
        "age": {"bounds": (0, 100)},
    }
    s = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(facts, nulls="drop"))
    s.cross_table(s.table.cube("sex", "town").agg(n=dp.count()), dp.ZCDP(0.1))
    s.release(s.table.agg(t=dp.top_k("town", 2)), dp.ZCDP(0.1))
    s.fit(dp.learn.LogisticRegression(dp.ZCDP(0.1), classes=("f", "m")), ["age"], "sex")
    cube, top, fit = (line.what for line in s.ledger.log() if line.act == "asked")
    assert cube.startswith("count by sex, town, where ")
    assert cube.endswith(", and 3 margins")
    assert top == "the 2 most frequent of town"
    assert fit == "fit: logistic regression of sex on age"


def test_nothing_is_left_out_because_of_how_it_was_named() -> None:
    """Of questions named like margins, and of a target spelled like numbered classes."""
    frame = pd.DataFrame({"pid": range(1000), "income": 1.0, "age": 20, "b": [0, 1] * 500})
    facts = {
        "pid": {"bounds": (0, 9999)},
        "income": {"bounds": (0, 1e6)},
        "age": {"bounds": (0, 99)},
        "b": {"bounds": (0, 1)},
    }
    s = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.ZCDP(9.0), schema=dp.Schema(facts, nulls="drop"))
    alone = s.table.filter("pid = 4242")
    s.release_all({"in all": s.table.agg(n=dp.count()), "by b": alone.agg(m=dp.mean("income"))}, dp.ZCDP(0.1))
    s.release_all(
        {"in all": s.table.agg(n=dp.count()), "by x": s.table.agg(n=dp.count(), m=dp.mean("income"))},
        dp.ZCDP(0.1),
    )
    coded = "COALESCE(CASE WHEN {} = 1 THEN 1 ELSE 0 END, -1)"
    target = f"{coded.format('age')} + income + {coded.format('b')}"
    s.fit(dp.learn.LinearRegression(dp.ZCDP(0.1), target_bounds=(0, 9)), ["age"], target)
    first, second, fit = (line.what for line in s.ledger.log() if line.act == "asked")
    assert "pid = 4242" in first
    assert "mean of income" in first
    assert "margin" not in first + second
    assert "mean of income" in second
    assert "+ income +" in fit.replace('"', "")


def test_a_closed_account_has_nothing_left() -> None:
    s = dp.Session(pd.DataFrame({"a": [1, 2]}), unit=dp.Unit.rows(), budget=dp.ZCDP(1.0))
    s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
    s.account.close_for_ever()
    assert "Left:     nothing: the account was closed, for ever" in str(s)
