"""Charging, recording and asking again, on both stores."""

from __future__ import annotations

import contextlib
import copy
import datetime as real_datetime
import doctest
import importlib
import json
import multiprocessing
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from urllib.parse import urlsplit

import pytest

import dalenius as dp
from dalenius import losses
from dalenius.calculus.guarantees.amounts import GRAINS
from dalenius.calculus.guarantees.cost import Cost
from dalenius.core import record
from dalenius.errors import AdjacencyMismatch, BudgetExceeded, EngineFailed, InvalidParameter, LedgerError
from dalenius.session import entries
from dalenius.session.account import Ticket
from dalenius.session.ledger import Ledger
from dalenius.session.report import exported, overview
from dalenius.session.rows import Rows
from dalenius.session.verify import verify
from tests.session.helpers import by_hand, is_postgres, opened, rho


class TestCharging:
    def test_charge_then_record_then_recall(self, place: str) -> None:
        account = opened(place)
        assert account.recorded("how many?") is None
        ticket = account.charge("how many?", rho("0.25"))
        assert account.recorded("how many?") is None
        assert account.spent == dp.ZCDP(0.25)
        account.record(ticket, "[41]")
        assert account.recorded("how many?") == "[41]"
        assert account.remaining == dp.ZCDP(0.75)
        assert verify(place).ok

    def test_a_loss_is_priced_by_the_account(self, place: str) -> None:
        account = opened(place)
        ticket = account.charge("two", losses.gaussian(sigma=4.0) * 2)
        assert ticket.cost == rho("0.0625")

    def test_several_looks_in_one_view(self, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
        account = opened(place)
        account.ask("how many?", rho("0.25"), lambda: "[41]")
        ledger, views = account.ledger, []
        reading = ledger.store.reading
        monkeypatch.setattr(ledger.store, "reading", lambda: views.append(1) or reading())
        with ThreadPoolExecutor(1) as others:
            with ledger.one_view():
                assert account.recorded("how many?") == account.recorded("how many?") == "[41]"
                assert account.spent == dp.ZCDP(0.25)
                with pytest.raises(LedgerError, match="end it first"):
                    account.charge("more", rho("0.25"))
                later = others.submit(account.recorded, "how many?")
                with ledger.one_view():
                    assert not later.done()
            assert later.result() == "[41]"  # in a view of its own
        assert len(views) == 2
        assert account.charge("more", rho("0.25")).seq == 5

    def test_asking_again_is_free(self, place: str) -> None:
        account = opened(place)
        first = account.ask("how many?", rho("0.5"), lambda: "[41]")
        again = account.ask("how many?", rho("0.5"), lambda: pytest.fail("the data was touched"))
        assert (first.answer, first.is_free) == ("[41]", False)
        assert (again.answer, again.is_free) == ("[41]", True)
        assert account.spent == dp.ZCDP(0.5)
        # Even when nothing is left.
        account.ask("all", rho("0.5"), lambda: "[1]")
        assert account.ask("how many?", rho("0.5"), lambda: "[2]").answer == "[41]"

    def test_another_question_is_not_the_same(self, place: str) -> None:
        account = opened(place)
        account.ask("how many?", rho("0.1"), lambda: "[41]")
        assert account.recorded("how many? ") is None
        other = account.ledger.account("pets", dp.ZCDP(1.0))
        assert other.recorded("how many?") is None

    def test_the_budget_is_spent_to_the_last_grain_and_no_further(self, place: str) -> None:
        account = opened(place, 0.5)
        for i in range(10):
            account.charge(f"q{i}", rho("0.05"))
        assert account.left().amount == 0
        with pytest.raises(BudgetExceeded):
            account.charge("more", Cost("zcdp", Fraction(1, GRAINS)))
        account.charge("nothing", rho("0"))
        assert verify(place).charges == 11

    def test_a_refusal_writes_nothing_and_touches_nothing(self, place: str) -> None:
        account = opened(place, 0.5)
        account.charge("a", rho("0.3"))
        before = account.ledger.checkpoint()
        with pytest.raises(BudgetExceeded, match=r"costs rho 0\.3, and rho 0\.2 is left \(enough for ZCDP"):
            account.ask("b", rho("0.3"), lambda: pytest.fail("the data was touched"))
        assert account.ledger.checkpoint() == before

    def test_a_failed_computation_keeps_its_charge(self, place: str) -> None:
        account = opened(place)
        with pytest.raises(EngineFailed, match="after it was charged"):
            account.ask("q", rho("0.25"), lambda: str(1 // 0))
        assert account.spent == dp.ZCDP(0.25)
        assert account.recorded("q") is None
        account.ask("q", rho("0.25"), lambda: "[1]")  # and is charged again
        assert account.spent == dp.ZCDP(0.5)
        assert verify(place).ok
        assert (verify(place).unanswered, verify(place).failures) == (1, 1)

    def test_what_is_no_answer_keeps_its_charge_and_is_not_released(self, place: str) -> None:
        account = opened(place)
        with pytest.raises(EngineFailed):
            account.ask("q", rho("0.25"), lambda: "forty-one")
        with pytest.raises(InvalidParameter, match="not JSON"):
            account.record(account.charge("q", rho("0")), "forty-one")
        assert account.spent == dp.ZCDP(0.25)
        assert account.recorded("q") is None

    def test_a_ticket_is_used_once_and_where_it_belongs(self, place: str) -> None:
        account = opened(place)
        ticket = account.charge("q", rho("0.1"))
        account.record(ticket, "1")
        with pytest.raises(LedgerError, match="has its answer already"):
            account.record(ticket, "2")
        forged = Ticket(ticket.seq + 7, account.seq, ticket.key, ticket.cost)
        with pytest.raises(LedgerError, match="not for a charge"):
            account.record(forged, "1")
        other = account.ledger.account("pets", dp.ZCDP(1.0))
        with pytest.raises(LedgerError, match="not for a charge"):
            other.record(account.charge("r", rho("0.1")), "1")
        assert verify(place).ok

    def test_odd_texts_come_back_as_they_were(self, place: str) -> None:
        account = opened(place)
        question = 'é 漢 \x00 \u2028 \U0001f600 "quoted" \\ ' + "x" * 100_000
        answer = json.dumps({"é\x00": [1.5, None, "\U0001f600"]}, ensure_ascii=False)
        assert account.ask(question, rho("0.1"), lambda: answer).answer == answer
        assert account.recorded(question) == answer
        assert verify(place).ok

    @pytest.mark.parametrize("question", ["", None, 3, "half \ud800"])
    def test_what_is_no_question(self, place: str, question: str) -> None:
        with pytest.raises(InvalidParameter, match="the question"):
            opened(place).charge(question, rho("0.1"))

    def test_costs_of_another_kind_are_refused(self, place: str) -> None:
        account = opened(place)
        with pytest.raises(InvalidParameter, match="do not add"):
            account.charge("q", Cost("gdp", Fraction(1, 10)))
        with pytest.raises(AdjacencyMismatch):
            account.charge("q", losses.gaussian(1.0, adjacency=dp.REPLACE_ONE))
        with pytest.raises(InvalidParameter, match="pass a Loss"):
            account.charge("q", 0.1)  # type: ignore[arg-type]
        assert verify(place).charges == 0

    @pytest.mark.parametrize(
        ("promise", "loss"),
        [
            (dp.PureDP(1.0), losses.laplace(scale=4.0)),
            (dp.GDP(1.0), losses.gaussian(sigma=4.0)),
            (dp.ApproxDP(1.0, 1e-6), losses.gaussian(sigma=40.0) + losses.approx(0.01, 1e-8)),
        ],
        ids=repr,
    )
    def test_the_other_kinds_of_budget(self, place: str, promise: dp.Guarantee, loss: dp.Loss) -> None:
        ledger = Ledger.open(place)
        account = ledger.account("people", promise)
        made = 0
        with contextlib.suppress(BudgetExceeded):
            for made in range(100):
                account.ask(f"q{made}", loss, lambda: "[1]")
        assert 2 < made < 99
        total = account.filter.nothing
        for _ in range(made):
            total = total + account.filter.cost(loss)
        assert account.balance().total == total
        assert total.fits(account.limit)
        assert not (total + account.filter.cost(loss)).fits(account.limit)
        again = ledger.existing("people")
        assert (again.promise, again.limit) == (promise, account.limit)
        assert verify(place).ok


class TestAccounts:
    def test_an_account_is_what_it_was_opened_as(self, place: str) -> None:
        ledger = Ledger.open(place)
        ledger.account("people", dp.ZCDP(0.5), unit="person_id")
        ledger.account("people", dp.ZCDP(0.5), unit="person_id")
        for change in (
            {"budget": dp.ZCDP(0.6)},
            {"budget": dp.GDP(0.5)},
            {"unit": "row"},
            {"adjacency": dp.REPLACE_ONE},
            {"shares": {"ana": 1}},
        ):
            arguments = {"budget": dp.ZCDP(0.5), "unit": "person_id", **change}
            with pytest.raises(InvalidParameter, match=r"fixed when (it|an account) is opened"):
                ledger.account("people", **arguments)  # type: ignore[arg-type]
        assert [a.dataset for a in ledger.accounts()] == ["people"]

    def test_several_datasets(self, place: str) -> None:
        ledger = Ledger.open(place)
        people, pets = ledger.account("people", dp.ZCDP(1.0)), ledger.account("pets", dp.PureDP(2.0))
        people.charge("q", rho("0.5"))
        pets.charge("q", losses.laplace(scale=1.0))
        assert people.spent == dp.ZCDP(0.5)
        assert pets.spent == dp.PureDP(1.0)
        assert [repr(a) for a in ledger.accounts()] == [
            "Account('people', ZCDP(rho=1.0))",
            "Account('pets', PureDP(epsilon=2.0))",
        ]

    def test_an_account_that_is_not_there(self, place: str) -> None:
        with pytest.raises(LedgerError, match="no account for the dataset 'cats'"):
            Ledger.open(place).existing("cats")

    @pytest.mark.parametrize("name", ["", "   ", "x" * 2000, None, 3, "\ud800"])
    def test_names(self, place: str, name: str) -> None:
        with pytest.raises(InvalidParameter, match="dataset is"):
            Ledger.open(place).account(name, dp.ZCDP(1.0))


class TestAnalysts:
    def test_each_spends_their_share(self, place: str) -> None:
        ledger = Ledger.open(place)
        shares = {"ana": 0.5, "ben": "1/4"}
        ana = ledger.account("people", dp.ZCDP(1.0), "ana", shares=shares)
        ben = ledger.account("people", dp.ZCDP(1.0), "ben")
        ana.charge("a", rho("0.4"))
        ben.charge("b", rho("0.25"))
        with pytest.raises(BudgetExceeded, match="of the share of 'ben'"):
            ben.charge("b2", rho("0.01"))
        assert ana.remaining == dp.ZCDP(0.1)
        assert ben.remaining == dp.ZCDP(0.0)
        with pytest.raises(BudgetExceeded):
            ana.charge("a2", rho("0.11"))
        ana.charge("a3", rho("0.1"))
        # A quarter was given to nobody, and nobody may spend it.
        assert ledger.existing("people").remaining == dp.ZCDP(0.25)
        assert ledger.existing("people").spent == dp.ZCDP(0.75)
        assert verify(place).ok

    def test_answers_are_shared(self, place: str) -> None:
        """What one analyst was told reveals nothing more when another reads it."""
        ledger = Ledger.open(place)
        ana = ledger.account("people", dp.ZCDP(1.0), "ana", shares={"ana": "1/2", "ben": "1/2"})
        ben = ledger.account("people", dp.ZCDP(1.0), "ben")
        ana.ask("q", rho("0.5"), lambda: "[1]")
        assert ben.ask("q", rho("0.5"), lambda: pytest.fail("touched")).is_free
        assert ben.remaining == dp.ZCDP(0.5)

    def test_strangers_and_the_nameless_do_not_spend(self, place: str) -> None:
        ledger = Ledger.open(place)
        ledger.account("people", dp.ZCDP(1.0), "ana", shares={"ana": 1})
        with pytest.raises(InvalidParameter, match=r"'eve' has no share.*ana"):
            ledger.account("people", dp.ZCDP(1.0), "eve")
        with pytest.raises(InvalidParameter, match="shared by ana"):
            ledger.account("people", dp.ZCDP(1.0)).charge("q", rho("0.1"))

    def test_without_shares_a_name_is_a_note(self, place: str) -> None:
        ledger = Ledger.open(place)
        ledger.account("people", dp.ZCDP(1.0), "ana").charge("q", rho("0.4"))
        ledger.account("people", dp.ZCDP(1.0), "ben").charge("r", rho("0.5"))
        account = ledger.account("people", dp.ZCDP(1.0))
        assert account.remaining == dp.ZCDP(0.1)
        assert {who: str(c.amount) for who, c in account.balance().by.items()} == {"ana": "2/5", "ben": "1/2"}

    @pytest.mark.parametrize(
        "shares",
        [
            {"ana": 0.5, "ben": 0.6},
            {"ana": "1/3", "ben": "2/3", "eve": "1/1000000000000000000000"},
            {"ana": 0},
            {"ana": -0.5, "ben": 1},
            {"ana": "half"},
            {"ana": None},
            {"ana": True},
            {"": 1},
            {},
        ],
        ids=str,
    )
    def test_shares_that_are_none(self, place: str, shares: dict[str, float]) -> None:
        with pytest.raises(InvalidParameter, match=r"share|analyst"):
            Ledger.open(place).account("people", dp.ZCDP(1.0), shares=shares)

    def test_tenths_add_up_to_one(self, place: str) -> None:
        shares = {f"a{i}": 0.1 for i in range(10)}
        account = Ledger.open(place).account("people", dp.ZCDP(1.0), "a0", shares=shares)
        assert account.remaining == dp.ZCDP(0.1)

    def test_an_approx_share_has_both_sides(self, place: str) -> None:
        ledger = Ledger.open(place)
        account = ledger.account("people", dp.ApproxDP(1.0, 1e-6), "ana", shares={"ana": 0.5, "ben": 0.5})
        assert account.left().amount == account.limit.share(Fraction(1, 2)).amount
        assert account.left().delta == Fraction(1, 4 * 10**6)


class TestTogether:
    def test_two_ask_the_same_at_once(self, place: str) -> None:
        """Both may be charged; none looks at the data without a charge; later ones get the first record."""
        opened(place)
        inside = threading.Barrier(2, timeout=60)
        found = {}

        def ask(name: str) -> None:
            account = opened(place)

            def compute() -> str:
                inside.wait()  # both have been charged by now, or this breaks
                return json.dumps(name)

            found[name] = account.ask("q", rho("0.25"), compute).answer

        threads = [threading.Thread(target=ask, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {"one": '"one"', "two": '"two"'}
        account = opened(place)
        assert account.spent == dp.ZCDP(0.5)
        first = account.recorded("q")
        assert first in found.values()
        assert account.ask("q", rho("0.25"), lambda: "3").answer == first
        assert verify(place).ok

    def test_the_slower_of_two_is_not_charged_for_what_is_on_record(
        self, place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between a first look and the lock somebody else recorded the answer: it is seen under the lock."""
        account, quick = opened(place), opened(place)
        fitting = account._fitting

        def meanwhile(*arguments: object) -> object:
            monkeypatch.setattr(account, "_fitting", fitting)
            quick.ask("q", rho("0.25"), lambda: "[1]")
            return fitting(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(account, "_fitting", meanwhile)
        reply = account.ask("q", rho("0.25"), lambda: pytest.fail("touched"))
        assert (reply.answer, reply.is_free) == ("[1]", True)
        assert account.spent == dp.ZCDP(0.25)

    def test_what_another_thread_adds_is_not_in_an_older_view(self, postgres_place: str) -> None:
        """What a process knows is shared by all who have the ledger open; a view may be older than that."""
        one, other = opened(postgres_place), opened(postgres_place)
        key = entries.digest("q")
        with one.ledger.reading() as rows:
            other.ask("q", rho("0.1"), lambda: "[1]")
            assert rows.answers(2, key) == []
        with one.ledger.reading() as rows:
            assert len(rows.answers(2, key)) == 1

    def test_threads_with_a_ledger_each(self, place: str) -> None:
        opened(place)

        def work(name: int) -> None:
            account = opened(place)
            for i in range(10):
                assert account.ask(f"{i}", rho("0.001"), lambda: "[1]").answer == "[1]"
                account.ask(f"{name} {i}", rho("0.001"), lambda: "[1]")
                account.balance()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert opened(place).balance().total.amount >= Fraction(50, 1000)
        assert verify(place).ok

    def test_threads_share_one_ledger(self, place: str) -> None:
        account = opened(place, 1.0)

        def work(name: int) -> None:
            for i in range(10):
                account.ask(f"{name} {i}", rho("0.01"), lambda: "[1]")

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert account.spent == dp.ZCDP(0.4)
        assert verify(place).ok

    def test_a_forked_child_keeps_the_ledger(self, place: str) -> None:
        account = opened(place)
        account.ask("before", rho("0.1"), lambda: "[0]")
        context = multiprocessing.get_context("fork")

        def child() -> None:
            assert account.ask("child", rho("0.1"), lambda: "[1]").answer == "[1]"
            assert account.recorded("before") == "[0]"

        processes = [context.Process(target=child) for _ in range(2)]
        for process in processes:
            process.start()
        account.ask("parent", rho("0.1"), lambda: "[2]")
        for process in processes:
            process.join(60)
            assert process.exitcode == 0
        assert account.recorded("child") == "[1]"
        assert account.recorded("parent") == "[2]"
        assert verify(place).ok

    def test_two_create_it_at_once(self, place: str) -> None:
        ready = threading.Barrier(4, timeout=60)
        found = []

        def create() -> None:
            ready.wait()
            found.append(Ledger.open(place).id)

        threads = [threading.Thread(target=create) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert len(set(found)) == 1
        assert verify(place).entries == 1


def test_a_clock_that_goes_backwards_changes_nothing(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = iter(range(10_000, 0, -1))

    class Clock(real_datetime.datetime):
        @classmethod
        def now(cls, tz: real_datetime.tzinfo | None = None) -> Clock:
            return cls.fromtimestamp(3600 * next(hours), tz)

    monkeypatch.setattr(entries, "datetime", SimpleNamespace(datetime=Clock, UTC=real_datetime.UTC))
    account = opened(place)
    for i in range(5):
        account.ask(f"q{i}", rho("0.1"), lambda i=i: f"[{i}]")  # type: ignore[misc]
    assert account.spent == dp.ZCDP(0.5)
    times = [
        json.loads(body)["time"] for (body,) in by_hand(place, "SELECT body FROM {entries} ORDER BY seq")
    ]
    assert times == sorted(times, reverse=True)
    assert verify(place).ok


class TestOpening:
    def test_reopened_it_remembers(self, place: str) -> None:
        with Ledger.open(place) as ledger:
            ledger.account("people", dp.ZCDP(1.0)).ask("q", rho("0.25"), lambda: "[1]")
            name = ledger.id
        with Ledger.open(place) as ledger:
            assert ledger.id == name
            assert ledger.account("people", dp.ZCDP(1.0)).recorded("q") == "[1]"

    def test_not_created_unasked(self, place: str) -> None:
        with pytest.raises(LedgerError, match="there is no ledger"):
            Ledger.open(place, create=False)

    def test_a_newer_schema_is_refused(self, place: str) -> None:
        opened(place)
        by_hand(place, "UPDATE {head} SET version = 3", guarded=False)
        with pytest.raises(LedgerError, match="has version 3, and this dalenius reads version 2: install"):
            Ledger.open(place)
        assert not verify(place).ok

    def test_an_unknown_schema_is_refused(self, place: str) -> None:
        opened(place)
        by_hand(place, "UPDATE {head} SET version = 0", guarded=False)
        with pytest.raises(LedgerError, match=r"has version 0.*no dalenius wrote that"):
            Ledger.open(place)

    def test_an_open_ledger_notices_a_new_schema(self, place: str) -> None:
        account = opened(place)
        by_hand(place, "UPDATE {head} SET version = 3", guarded=False)
        with pytest.raises(LedgerError, match="has version 3"):
            account.charge("q", rho("0.1"))

    @pytest.mark.parametrize("where", ["mysql://host/db", "", ":memory:", "sqlite:///x"])
    def test_places_that_are_none(self, where: str) -> None:
        with pytest.raises(InvalidParameter):
            Ledger.open(where)

    def test_passwords_are_not_shown(self, postgres_place: str) -> None:
        password = urlsplit(postgres_place).password
        assert password is None or password not in repr(Ledger.open(postgres_place))


class TestReport:
    def test_overview(self, place: str) -> None:
        ledger = Ledger.open(place)
        ana = ledger.account("people", dp.ZCDP(1.0), "ana", shares={"ana": 0.5, "ben": 0.25})
        ana.ask("q", rho("0.125"), lambda: "[1]")
        ana.charge("r", rho("0.125"))
        found = overview(ledger)
        assert found["checkpoint"] == ledger.checkpoint()
        (account,) = found["accounts"]
        assert account["budget"] == {"rho": 1.0}
        assert account["spent"] == {"rho": 0.25}
        assert account["left"] == {"rho": 0.75}
        assert account["exact"]["spent"] == {"amount": "0.25", "delta": "0"}
        assert (account["charges"], account["answers"]) == (2, 1)
        assert [(a["analyst"], a["share"], a["left"]["amount"]) for a in account["analysts"]] == [
            ("ana", "1/2", "0.25"),
            ("ben", "1/4", "0.25"),
        ]

    def test_an_export_can_be_checked_without_the_ledger(self, place: str) -> None:
        import hashlib

        account = opened(place)
        for i in range(5):
            account.ask(f"q{i}", rho("0.1"), lambda: "[1]")
        heading, *lines, ending = [json.loads(line) for line in exported(account.ledger)]
        assert heading == {"format": "dalenius ledger", "schema": 2, "ledger": account.ledger.id}
        assert len(lines) == 12
        previous = "0" * 64
        for seq, line in enumerate(lines, start=1):
            parts = [
                "dalenius ledger",
                2,
                seq,
                *(line[k] for k in ("kind", "account", "key", "body")),
                previous,
            ]
            previous = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
            assert line["hash"] == previous
        assert ending == {"checkpoint": f"12:{previous}"} == {"checkpoint": account.ledger.checkpoint()}

    def test_long_ledgers_are_read_in_parts(self, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
        account = opened(place)
        for i in range(7):
            account.charge(f"q{i}", rho("0.1"))
        monkeypatch.setattr("dalenius.session.verify.BATCH", 2)
        monkeypatch.setattr("dalenius.session.chain.BATCH", 2)
        monkeypatch.setattr("dalenius.session.log.BATCH", 2)
        assert verify(place).entries == 9
        assert len(list(exported(account.ledger))) == 11


def test_no_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"pip install 'dalenius\[postgres\]'"):
        Ledger.open("postgresql://localhost/x")


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(LedgerError, match=r"postgresql://127\.0\.0\.1:1/x could not be used"):
        Ledger.open("postgresql://u:secret@127.0.0.1:1/x", patience=2)


@pytest.mark.parametrize("room", ["entries", "ledger", "account", "session"])
def test_examples_in_docstrings(room: str) -> None:
    found = doctest.testmod(importlib.import_module(f"dalenius.session.{room}"), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_both_stores_write_the_same(tmp_path: Path, postgres_place: str) -> None:
    """The same entries on both, but for the names and times in them."""
    seen = []
    for place in (str(tmp_path / "a.ledger"), postgres_place):
        account = opened(place)
        account.ask("q", rho("0.1"), lambda: "[1]")
        rows = by_hand(place, "SELECT seq, kind, account, key FROM {entries} ORDER BY seq")
        seen.append([tuple(row) for row in rows])
        assert is_postgres(place) == (len(seen) == 2)
    assert seen[0] == seen[1]


class TestPasswords:
    """Whatever is in a password, and however it is written: no piece of it is shown."""

    ADDRESSES = (
        "postgresql://ana:QQQQ%WWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ%zzWWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ#WWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ?WWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ/WWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ@WWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ:WWWW@127.0.0.1:1/db",
        "postgresql://ana:1/QQQQ?application_name=WWWW@127.0.0.1:1/db",
        "postgresql://ana:1/QQQQ?host=WWWW@127.0.0.1/db",
        "postgresql://ana:[QQQQ]WWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ WWWW@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?password=QQQQ%WWWW",
        "postgresql://127.0.0.1:1/db?password=QQQQ&sslpassword=WWWW&user=ana",
        "postgresql://127.0.0.1:1/db?sslpassword=QQQQ#WWWW",
        "postgresql://127.0.0.1:1/db?pasword=QQQQWWWW",
        "postgresql://127.0.0.1:1/db?PASSWORD=QQQQWWWW",
        "postgresql://ana:QQQQ%57WWW@127.0.0.1:port/db",
        "POSTGRESQL://ana:QQQQWWWW@127.0.0.1:1/db",
        "postgres:/ana:QQQQWWWW@127.0.0.1:1/db",
        "postgresql:ana:QQQQWWWW@127.0.0.1",
        "psql://ana:QQQQWWWW@127.0.0.1/db",
        "ana:QQQQWWWW@://127.0.0.1/db",
        "host=127.0.0.1 port=1 user=ana password=QQQQWWWW dbname=db",
        "password='QQQQ WWWW' host=127.0.0.1 port=1",
        "host=127.0.0.1 port=1 password=QQQQ WWWW",
        "password = QQQQWWWW",
        "  postgresql://ana:QQQQWWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ\0WWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ\ud800WWWW@127.0.0.1:1/db",
        "postgresql://ana:QQQQ%E9WWWW@127.0.0.1:1/db",
        "PASSWORD=QQQQWWWW host=127.0.0.1",
        b"postgresql://ana:QQQQWWWW@127.0.0.1:1/db",
        ["postgresql://ana:QQQQWWWW@127.0.0.1:1/db"],
    )

    @pytest.mark.parametrize("address", ADDRESSES)
    @pytest.mark.parametrize("use", [Ledger.open, verify], ids=["open", "verify"])
    def test_no_piece_is_shown(
        self, address: object, use: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises((LedgerError, InvalidParameter)) as caught:
            use(address, patience=1)
        shown = "".join(traceback.format_exception(caught.value)[-1:])
        problem: BaseException | None = caught.value
        while problem is not None:
            shown += f"{problem} {problem!r}"
            problem = problem.__cause__ or problem.__context__
        for piece in ("QQQ", "WWW"):
            assert piece not in shown.upper()
        assert list(tmp_path.iterdir()) == [], "it was taken for the name of a file"

    def test_what_is_open_shows_none(self, postgres_place: str) -> None:
        parts = urlsplit(postgres_place)
        words = (
            f"host={parts.hostname} port={parts.port} user={parts.username} password={parts.password} dbname="
        )
        for address in (postgres_place, words + parts.path[1:]):
            ledger = opened(address).ledger
            found = (ledger, ledger.store, ledger.store.label, ledger.verify(), vars(ledger))
            for shown in map(repr, found):
                assert str(parts.password) not in shown
            assert repr(ledger) == f"Ledger('postgresql://{parts.hostname}:{parts.port}{parts.path}')"

    def test_a_wrong_password_is_called_that(self, postgres_place: str) -> None:
        wrong = postgres_place.replace(f":{urlsplit(postgres_place).password}@", ":QQQQ@")
        with pytest.raises(LedgerError, match="the password is wrong") as caught:
            Ledger.open(wrong)
        assert "QQQQ" not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"

    def test_names_of_files_are_no_addresses(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        names = ["a=b.ledger", "postgres.ledger", "user=3", "year=2024 host"]
        for name in names:
            Ledger.open(name).close()
        assert sorted(path.name for path in tmp_path.iterdir()) == names

    def test_an_address_is_no_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InvalidParameter, match="does not begin with postgresql://") as caught:
            Ledger.open(Path("postgresql://ana:QQQQ@127.0.0.1:1/db"))
        assert "QQQQ" not in str(caught.value)


class TestSpenders:
    """A user of the server who may spend, and nothing else."""

    @pytest.fixture
    def spender(self, postgres_place: str) -> str:
        import psycopg

        role = f"spender_{os.getpid()}"
        opened(postgres_place).ledger.close()
        with psycopg.connect(postgres_place, autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
                connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'spender'".encode())
        with Ledger.open(postgres_place, create=False) as ledger:
            ledger.grant(role)
        parts = urlsplit(postgres_place)
        return f"postgresql://{role}:spender@{parts.hostname}:{parts.port}{parts.path}"

    def test_spends(self, spender: str, postgres_place: str) -> None:
        account = opened(spender)
        assert account.ask("q", rho("0.25"), lambda: "[1]").answer == "[1]"
        assert (
            account.ask("é \U0001f600 \\u0000 \\\\ \"'", rho("0.25"), lambda: '["\\u0000"]').ticket
            is not None
        )
        account.charge("r", rho("0.25"))
        with pytest.raises(BudgetExceeded):
            account.charge("s", rho("0.5"))
        assert verify(postgres_place).ok
        assert opened(postgres_place).spent == dp.ZCDP(0.75)

    def test_opens_no_account(self, spender: str) -> None:
        with pytest.raises(LedgerError, match="opened by the owner"):
            Ledger.open(spender).account("pets", dp.ZCDP(100.0))

    @pytest.mark.parametrize(
        "statement",
        [
            "INSERT INTO dalenius.entries SELECT seq + 1, kind, account, key, body, hash, hash FROM dalenius.entries",
            "UPDATE dalenius.head SET seq = seq + 1",
            "SELECT * FROM dalenius.head FOR UPDATE",
            "DELETE FROM dalenius.entries",
            "TRUNCATE dalenius.entries",
            "DELETE FROM dalenius.spent",
            "INSERT INTO dalenius.pending VALUES (3, 2, '', 'x')",
            "ALTER TABLE dalenius.entries DISABLE TRIGGER ALL",
            "DROP FUNCTION dalenius.follow CASCADE",
            "SELECT dalenius.add_up(2, '', '{\"amount\": \"0\"}', '{\"amount\": \"0\"}', '{}', '1')",
            "CREATE TABLE dalenius.mine (x int)",
        ],
    )
    def test_writes_no_table(self, spender: str, postgres_place: str, statement: str) -> None:
        import psycopg

        with psycopg.connect(spender, autocommit=True) as connection, pytest.raises(psycopg.Error):
            connection.execute(statement.encode())
        assert verify(postgres_place).ok

    GOOD: ClassVar[dict[str, object]] = {
        "analyst": None,
        "question": "q",
        "cost": {"amount": "0.2", "delta": "0"},
        "spent": {"amount": "0.3", "delta": "0"},
        "by": {"": {"amount": "0.3", "delta": "0"}},
        "time": "now",
    }

    @pytest.mark.parametrize(
        "change",
        [
            {"cost": {"amount": "0.1", "delta": "0"}},
            {"cost": {"amount": "-0.1", "delta": "0"}, "spent": {"amount": "0", "delta": "0"}},
            {"cost": {"amount": "0.20", "delta": "0"}},
            {"cost": {"amount": 0.2, "delta": "0"}},
            {
                "cost": {"amount": "0.2", "more": "0.1"},
                "spent": {"amount": "0.3", "delta": "0", "more": "0.1"},
            },
            {"cost": {}, "spent": {}, "by": {"": {}}},
            {"spent": {"amount": "0.1", "delta": "0"}},
            {"spent": {"amount": "0.3", "delta": "0", "more": "1"}},
            {"spent": {"amount": "0.3", "delta": "0", "more": "0"}},
            {"time": "half a character: \ud800"},
            {"by": {"": {"amount": "0.1", "delta": "0"}}},
            {"by": {"": {"amount": "0.3", "delta": "0"}, "eve": {"amount": "0", "delta": "0"}}},
            {"by": {}},
            {"analyst": "eve"},
            {"analyst": 5},
            {"question": "another"},
            {"question": None},
            {"time": None},
            {"deep": [[[[1]]]]},
            {"number": 12},
            {
                "cost": {"amount": "7", "delta": "0"},
                "spent": {"amount": "7.1", "delta": "0"},
                "by": {"": {"amount": "7.1", "delta": "0"}},
            },
        ],
        ids=str,
    )
    def test_forges_no_charge(self, spender: str, postgres_place: str, change: dict[str, object]) -> None:
        account = opened(spender)
        account.charge("before", rho("0.1"))
        body = json.dumps({**self.GOOD, **change}, sort_keys=True, separators=(",", ":"))
        with pytest.raises(LedgerError), account.ledger.writing() as rows:
            self.add(rows, "charge", 2, entries.digest("q"), body)
        with account.ledger.writing() as rows:  # and as it should be, it is taken
            self.add(rows, "charge", 2, entries.digest("q"), record.text(self.GOOD))
        assert verify(postgres_place).ok
        assert opened(postgres_place).spent == dp.ZCDP(0.3)

    def add(self, rows: Rows, kind: str, account: int, key: str, body: str, /, **change: object) -> None:
        seq, previous = rows.last()
        hash = entries.chained(seq + 1, kind, account, key, body, previous)
        entry = entries.Entry(seq + 1, kind, account, key, body, previous, hash)
        rows.add(entry._replace(**change))

    def test_what_a_server_let_them_write_does_not_end_the_ledger(self, tmp_path: Path) -> None:
        """Spaces around an entry, a part that is nothing under a name of its own, half a character: older guards took
        them, and what is written stays."""
        account = opened(str(tmp_path / "x.ledger"), analyst="ana")
        nothing = {"amount": "0.3", "delta": "0", "more": "0"}
        odd = {**self.GOOD, "cost": nothing, "spent": nothing, "by": {"": nothing}, "user": "\ud800"}
        with account.ledger.writing() as rows:
            self.add(rows, "charge", 2, entries.digest("q"), f" {record.text(odd)} ")
        account.charge("after", rho("0.1"))
        assert verify(str(tmp_path / "x.ledger")).ok
        assert account.spent == dp.ZCDP(0.4)
        log = account.ledger.log()
        assert [float(line.cost.amount) for line in log if line.cost is not None] == [0.3, 0.1]
        for shown in (str(log), log.to_csv(), log.to_markdown(), *account.ledger.export(readable=True)):
            assert shown.encode()

    @pytest.mark.parametrize(
        "body",
        [
            '{"charge":3,"charge":4,"answer":"[1]","time":""}',
            '{"charge":99,"answer":"[1]","time":""}',
            '{"charge":"4","answer":"[1]","time":""}',
            '{"charge":4.0,"answer":"[1]","time":""}',
            '{"charge":4,"answer":[1],"time":""}',
            '{"charge":4,"time":""}',
            '{"charge":4,"answer":"[1]","time":""} ',
            ' {"charge":4,"answer":"[1]","time":""}',
            "[]",
            "nonsense",
            "",
        ],
    )
    def test_forges_no_answer(self, spender: str, postgres_place: str, body: str) -> None:
        owner = opened(postgres_place)
        theirs = owner.charge("q", rho("0.1"))
        account = opened(spender)
        mine = account.charge("q", rho("0.1"))
        for text in (
            body,
            json.dumps({"charge": theirs.seq, "answer": "[1]", "time": ""}),
        ):  # or to another's charge
            with pytest.raises(LedgerError), account.ledger.writing() as rows:
                self.add(rows, "answer", 2, mine.key, text)
        account.record(mine, "[2]")
        owner.record(theirs, "[3]")
        assert verify(postgres_place).ok

    @pytest.mark.parametrize(
        "change",
        [
            {"hash": "0" * 64},
            {"seq": 9},
            {"previous": "0" * 64},
            {"account": 3},
            {"key": "x"},
            {"kind": "open"},
        ],
    )
    def test_breaks_no_chain(self, spender: str, postgres_place: str, change: dict[str, object]) -> None:
        account = opened(spender)
        account.charge("before", rho("0.1"))
        with pytest.raises(LedgerError), account.ledger.writing() as rows:
            self.add(rows, "charge", 2, entries.digest("q"), record.text(self.GOOD), **change)
        account.charge("after", rho("0.1"))
        assert verify(postgres_place).ok

    def test_shares_are_kept_by_the_server(self, spender: str, postgres_place: str) -> None:
        Ledger.open(postgres_place).account(
            "shared", dp.ZCDP(1.0), "ana", shares={"ana": "1/3", "ben": "1/3"}
        )
        ana = Ledger.open(spender).account("shared", dp.ZCDP(1.0), "ana")
        ana.charge("q", ana.left())
        assert ana.left().amount == 0
        seq, part = ana.seq, {"amount": "0.4", "delta": "0"}
        body = {**self.GOOD, "analyst": "ben", "cost": part, "by": {"ben": part}}
        body["spent"] = (ana.balance().total + rho("0.4")).written()
        with pytest.raises(LedgerError, match="fit the budget"), ana.ledger.writing() as rows:
            self.add(rows, "charge", seq, entries.digest("q"), record.text(body))
        assert verify(postgres_place).ok

    def test_a_file_has_no_roles(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidParameter, match="chmod"):
            opened(str(tmp_path / "people.ledger")).ledger.grant("ana")


class TestWrongTypes:
    """What is not a ledger, a checkpoint or shares is refused with the fix, never by a bare exception."""

    @pytest.mark.parametrize("where", [5, None, b"people.ledger", 1.5, [], "  ", "a\0b", "a\ud800"])
    def test_places(self, where: object) -> None:
        with pytest.raises(InvalidParameter, match="the ledger"):
            Ledger.open(where)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="the ledger"):
            verify(where)  # type: ignore[arg-type]
        if where is not None:
            with pytest.raises(InvalidParameter, match="the ledger"):
                dp.Session({"x": [1]}, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), ledger=where, name="x")  # type: ignore[arg-type]

    @pytest.mark.parametrize("text", [5, b"1:aa", ["1"], "\u0661:" + "a" * 64])
    def test_checkpoints(self, tmp_path: Path, text: object) -> None:
        with pytest.raises(InvalidParameter, match="SEQ:HASH"):
            Ledger.open(tmp_path / "x.ledger", checkpoint=text)  # type: ignore[arg-type]

    @pytest.mark.parametrize("shares", [["ana"], "ana", 5, {}])
    def test_shares(self, tmp_path: Path, shares: object) -> None:
        with pytest.raises(InvalidParameter, match="shares must name"):
            Ledger.open(tmp_path / "x.ledger").account("x", dp.ZCDP(1.0), shares=shares)  # type: ignore[arg-type]

    def test_copies(self, tmp_path: Path) -> None:
        session = dp.Session(
            {"x": [1]}, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), ledger=tmp_path / "x.ledger", name="x"
        )
        for thing in (Ledger.open(tmp_path / "y.ledger"), session):
            for way in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match="cannot be pickled or copied"):
                    way(thing)
