"""Ledgers of version 1 become ledgers of version 2 by one command, and no budget becomes two on the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session import convert as room
from dalenius.session.address import read_address
from dalenius.session.convert import convert
from dalenius.session.entries import CLOSED, FIRST, SCHEMA, Entry, chained, digest
from dalenius.session.ledger import Ledger
from dalenius.session.memory import Memory
from dalenius.session.postgres import PostgresStore
from dalenius.session.verify import verify
from dalenius.session.version1 import unit_of
from tests.session.golden_ledger import cases, numbers
from tests.session.helpers import by_hand, is_postgres, rho
from tests.session.test_golden import same

GOLDEN = Path(__file__).parent / "golden" / "v1.ledger"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A ledger that the first version wrote: with indexes, and with all analysts in every charge."""
    return Path(shutil.copy(GOLDEN, tmp_path / "v1.ledger"))


def entries_of(path: Path) -> list[Entry]:
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT seq, kind, account, key, body, previous, hash FROM entries ORDER BY seq"
    )
    found = [Entry._make(row) for row in rows]
    connection.close()
    return found


def add(path: Path, kind: Any, account: int, key: str, body: dict[str, Any]) -> None:
    """Another entry of version 1, as dalenius 0.1 adds it."""
    last = entries_of(path)[-1]
    entry = Entry.after(last.seq, last.hash, kind, account, key, body, FIRST)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry)
    connection.close()


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    ((found,),) = connection.execute("SELECT version FROM head")
    connection.close()
    return int(found)


def is_as_it_was(ledger: Ledger) -> None:
    ana, ben = ledger.existing("people", "ana"), ledger.existing("people", "ben")
    assert (ana.spent, ana.remaining, ben.remaining) == (
        dp.ZCDP(0.234375),
        dp.ZCDP(0.3125),
        dp.ZCDP(0.203125),
    )
    assert ana.shares == {"ana": Fraction(1, 2), "ben": Fraction(1, 4)}
    assert [ana.recorded(f"ana {n}") for n in range(6)] == [f"[{n}]" for n in range(6)]
    pets = ledger.existing("pets")
    assert pets.promise == dp.ApproxDP(1.0, 1e-6)
    assert pets.balance().total.delta == Fraction("0.000000010000000000010000822832")
    assert pets.recorded("lost") is None


class TestConversion:
    def test_an_old_ledger_is_refused_with_the_fix(self, old: Path) -> None:
        with pytest.raises(LedgerError, match="ledger convert"):
            Ledger.open(old)
        with pytest.raises(LedgerError, match="ledger convert"):
            dp.Session({"x": [1]}, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), ledger=old, name="people")
        found = verify(old)
        assert not found.ok
        assert "ledger convert" in found.problems[0]
        assert version(old) == FIRST

    def test_what_was_spent_is_spent(self, old: Path, place: str) -> None:
        before = entries_of(old)
        done = convert(old, place)
        assert (done.accounts, done.charges, done.answers, done.again) == (2, 13, 12, False)
        with Ledger.open(place, checkpoint=done.checkpoint) as ledger:
            is_as_it_was(ledger)
            assert ledger.verify().ok
            found = [json.loads(line) for line in ledger.export()][1:-1]
            for was, now in zip(before, found, strict=True):
                assert (was.seq, was.kind, was.account, was.key) == (
                    now["seq"],
                    now["kind"],
                    now["account"],
                    now["key"],
                )
                assert was.read()["time"] == json.loads(now["body"])["time"] or was.seq == 1
            origin = json.loads(found[0]["body"])["converted_from"]
            assert origin == {
                "ledger": before[0].read()["ledger"],
                "version": 1,
                "checkpoint": f"{before[-1].seq}:{before[-1].hash}",
            }
            ledger.existing("people", "ben").ask("more", rho("0.2"), lambda: "[1]")
            with pytest.raises(dp.errors.BudgetExceeded):
                ledger.existing("people", "ben").ask("too much", rho("0.2"), lambda: "[1]")

    def test_it_goes_on_after_it_was_spent_from(self, old: Path, tmp_path: Path) -> None:
        """A second run changes nothing."""
        convert(old, tmp_path / "new")
        with Ledger.open(tmp_path / "new") as ledger:
            ledger.existing("people", "ben").charge("more", rho("0.2"))
        assert convert(old, tmp_path / "new").again
        with Ledger.open(tmp_path / "new") as ledger:
            assert ledger.existing("people", "ben").remaining == dp.ZCDP(0.003125)

    def test_the_old_one_is_closed(self, old: Path, tmp_path: Path) -> None:
        """By entries that 0.1 accepts only at the beginning, and by a version that it refuses."""
        convert(old, tmp_path / "new")
        assert version(old) == CLOSED + FIRST
        chain = entries_of(old)
        assert [entry.kind for entry in chain[-2:]] == ["open", "open"]
        assert all(entry.is_of(FIRST) for entry in chain)
        for opening in (lambda: Ledger.open(old), lambda: Ledger.open(old, create=False)):
            with pytest.raises(LedgerError, match="was closed"):
                opening()
        with pytest.raises(sqlite3.Error):
            by_hand(str(old), "UPDATE {head} SET version = 1")

    def test_a_charge_of_the_last_moment_is_counted(
        self, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = room._Conversion._close

        def close(self: Any) -> None:
            body = {
                "analyst": "ana",
                "question": "in between",
                "cost": {"amount": "0.25", "delta": "0"},
                "spent": {"amount": "0.484375", "delta": "0"},
                "by": {"ana": {"amount": "0.4375", "delta": "0"}},
                "time": "now",
            }
            add(old, "charge", 2, digest("in between"), body)
            real(self)

        monkeypatch.setattr(room._Conversion, "_close", close)
        convert(old, tmp_path / "new")
        with Ledger.open(tmp_path / "new") as ledger:
            assert ledger.existing("people", "ana").remaining == dp.ZCDP(0.0625)

    def test_no_second_ledger_is_made(self, old: Path, tmp_path: Path) -> None:
        convert(old, tmp_path / "new")
        with pytest.raises(LedgerError, match=r"was converted to '.*new'.*two budgets"):
            convert(old, tmp_path / "other")
        (tmp_path / "new").rename(tmp_path / "away")
        with pytest.raises(LedgerDamaged, match="is gone"):
            convert(old, tmp_path / "new")
        with pytest.raises(LedgerError, match="two budgets"):
            convert(old, tmp_path / "away")
        assert not (tmp_path / "new").exists()
        assert not (tmp_path / "other").exists()

    def test_another_ledger_in_the_place_is_refused(self, old: Path, tmp_path: Path) -> None:
        Ledger.open(tmp_path / "new").close()
        with pytest.raises(InvalidParameter, match="already"):
            convert(old, tmp_path / "new")
        assert version(old) == FIRST

    @pytest.mark.parametrize("where", ["same", "newer", "gone", "no folder", "no ledger"])
    def test_what_cannot_be_converted(self, old: Path, tmp_path: Path, where: str) -> None:
        before = old.read_bytes()
        pair: tuple[Any, Any] = (old, tmp_path / "new")
        if where == "same":
            pair = (old, old)
        elif where == "newer":
            Ledger.open(tmp_path / "two").close()
            pair = (tmp_path / "two", tmp_path / "new")
        elif where == "gone":
            pair = (tmp_path / "nowhere", tmp_path / "new")
        elif where == "no folder":
            pair = (old, tmp_path / "no" / "new")
        else:
            (tmp_path / "text").write_text("a text")
            pair = (tmp_path / "text", tmp_path / "new")
        with pytest.raises((InvalidParameter, LedgerError)):
            convert(*pair)
        assert old.read_bytes() == before
        assert not (tmp_path / "new").exists()

    def test_a_damaged_one_is_left_alone(self, old: Path, tmp_path: Path) -> None:
        by_hand(
            str(old),
            "UPDATE {entries} SET body = replace(body, '0.03125', '0.01') WHERE seq = 3",
            guarded=False,
        )
        before = old.read_bytes()
        with pytest.raises(LedgerDamaged, match="not sound"):
            convert(old, tmp_path / "new")
        assert old.read_bytes() == before

    def test_what_has_no_words_in_version_2_is_left_alone(self, old: Path, tmp_path: Path) -> None:
        """An entry that is sound and cannot be written anew is met before the old ledger is closed, not after."""
        amount = {"amount": "0", "delta": "0"}
        spent = {"amount": "0.234375", "delta": "0"}
        body = {"analyst": "ana", "question": "odd", "cost": amount, "spent": spent, "time": float("nan")}
        body["by"] = {"ana": {"amount": "0.1875", "delta": "0"}}
        last = entries_of(old)[-1]
        text = json.dumps(body)
        hash = chained(last.seq + 1, "charge", 2, digest("odd"), text, last.hash, FIRST)
        connection = sqlite3.connect(old, isolation_level=None)
        row = (last.seq + 1, "charge", 2, digest("odd"), text, last.hash, hash)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        connection.close()
        before = old.read_bytes()
        with pytest.raises(LedgerDamaged, match="holds an entry"):
            convert(old, tmp_path / "new")
        assert old.read_bytes() == before
        assert not (tmp_path / "new").exists()

    def test_indexes_are_not_believed(self, old: Path, tmp_path: Path) -> None:
        """Indexes in which the last charge is missing: by them less was spent."""
        connection = sqlite3.connect(old, isolation_level=None)
        connection.execute("PRAGMA writable_schema = ON")
        schema = (
            "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name LIKE 'entries_by_%'"
        )
        kept = connection.execute(schema).fetchall()
        connection.execute("DELETE FROM sqlite_master WHERE name LIKE 'entries_by_%'")
        connection.close()
        amount = {"amount": "0.3", "delta": "0"}
        spent = {"amount": "0.534375", "delta": "0"}
        body = {"analyst": "ana", "question": "unseen", "cost": amount, "spent": spent, "time": "now"}
        add(old, "charge", 2, digest("unseen"), {**body, "by": {"ana": {"amount": "0.4875", "delta": "0"}}})
        connection = sqlite3.connect(old, isolation_level=None)
        connection.execute("PRAGMA writable_schema = ON")
        for row in kept:
            connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
        connection.close()
        with pytest.raises(LedgerDamaged, match="not sound"):  # the database says that its index is wrong
            convert(old, tmp_path / "new")


CHARGED_AGAIN = {"steps"}
"""A join, whose public table was kept by another digest."""
ASKED_ANEW = {"fit PrivateSearch 1"}
"""A search, whose record is not found; the classes 0 and 1 of an age are refused by now."""


def test_what_sessions_asked_is_answered_from_the_record(tmp_path: Path) -> None:
    """A ledger that sessions of dalenius 0.1 wrote: `golden_ledger`, run with its code."""
    folder = GOLDEN.parent
    told = json.loads((folder / "v1-sessions.json").read_text())
    for name in (
        "m",
        "m of a population",
    ):  # 0.1 let this median of what is at most 125 be in the middle of a bin
        told["approx"]["all"]["m"][name][0][2] = "125.0"
    old = shutil.copy(folder / "v1-sessions.ledger", tmp_path / "old")
    done = convert(old, tmp_path / "new")
    assert (done.accounts, done.charges, done.answers) == (8, 103, 101)
    with Ledger.open(tmp_path / "new") as ledger:
        assert ledger.verify().ok
        for account in ledger.accounts():
            balance = account.balance()
            by = {f"by {who}": cost.written() for who, cost in balance.by.items()}
            assert {"": balance.total.written(), **by} == told["spent"][account.dataset]
        for name, case in cases().items():
            session = case.session(name, ledger)
            for asked in sorted(told[name].keys() & case.questions.keys()):
                before = session.account.balance()
                if asked in ASKED_ANEW:
                    with pytest.raises(dp.errors.QueryRefused, match="no row has it"):
                        case.questions[asked](session)
                    assert session.account.balance() == before
                    continue
                answer = numbers(case.questions[asked](session))
                free = session.account.balance() == before
                assert free == (asked not in CHARGED_AGAIN), (name, asked)
                if free:
                    same(answer, told[name][asked])


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Unit.rows()", {"kind": "row"}),
        (
            "Unit('person id', max_rows=4, max_groups=2)",
            dp.Unit("person id", max_rows=4, max_groups=2).record(),
        ),
        ("row", "row"),
        ("Unit(", "Unit("),
        ("Unit('x')", "Unit('x')"),
        ("print('x')", "print('x')"),
    ],
)
def test_units_of_sessions(text: str, unit: Any) -> None:
    assert unit_of(text) == unit


# Killed on the way


def lines(old: Path, new: Path, most: int) -> int:
    """Convert in a child that is killed before the n-th line of the conversion; how many lines it ran (0: killed)."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        left = most

        def count(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal left
            code = frame.f_code
            if code.co_filename != room.__file__ or code.co_name in ("_entries", "_first", "_by"):
                return None
            if event == "line":
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return count

        try:
            sys.settrace(count)
            convert(old, new)
            os.write(writing, str(most - left).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    told = os.read(reading, 100)
    os.close(reading)
    os.waitpid(process, 0)
    return int(told or 0)


def test_killed_anywhere_there_is_one_budget(tmp_path: Path) -> None:
    def fresh(n: int) -> tuple[Path, Path]:
        folder = tmp_path / str(n)
        folder.mkdir()
        return Path(shutil.copy(GOLDEN, folder / "old")), folder / "new"

    length = lines(*fresh(0), 10**9)
    assert length > 60
    states = set()
    for n in sorted({*range(1, length, 6), length}):
        old, new = fresh(n)
        assert lines(old, new, n) == 0
        state = (version(old), version(new) if new.exists() else 0)
        states.add(state)
        assert state in ((1, 0), (101, 0), (101, 102), (101, 2))  # never two that can be spent from
        if state == (101, 102):
            with pytest.raises(LedgerError, match="not finished"):
                Ledger.open(new)
        if state[0] == 101 and state[1] != 2:
            with pytest.raises(LedgerError, match="two budgets"):
                convert(old, new.with_name("other"))
        convert(old, new)
        with Ledger.open(new) as ledger:
            is_as_it_was(ledger)
        assert verify(new).ok
        # Killed while the new one was being written, its unfinished draft stays: nothing was committed in it.
        left = {path for path in new.parent.iterdir() if not path.name.startswith(".new.new-")}
        assert {path.name for path in left} <= {"old", "new", "old-journal", "new-journal"}
    assert len(states) == 4


# PostgreSQL


@pytest.fixture
def postgres_old(old: Path, postgres_place: str) -> str:
    """The same ledger in PostgreSQL, as 0.1 makes it there."""
    from dalenius.session import guards

    tables = guards.TABLES.replace("'answer', 'close'", "'answer'")
    tables = tables.replace('["dalenius ledger", 2, ', '["dalenius ledger", 1, ').replace(
        "VALUES (1, 2, 0", "VALUES (1, 1, 0"
    )
    assert tables != guards.TABLES
    store = PostgresStore(read_address(postgres_place), 20.0)
    with store._transaction("READ WRITE") as rows:
        rows.run(tables)
    store.close()
    memory = Memory(version=FIRST)
    with store.writing() as rows:
        seq, hash = 0, "0" * 64
        for entry in entries_of(old):
            body = entry.read()
            if entry.kind == "charge":
                who = body["analyst"] or ""
                body["by"] = {who: body["by"][who]}
            kind: Any = entry.kind
            made = Entry.after(seq, hash, kind, entry.account, entry.key, body, FIRST)
            rows.add(made)
            memory.add([made])
            seq, hash = made.seq, made.hash
    store.close()
    return postgres_place


def test_from_postgresql(postgres_old: str, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="ledger convert"):
        Ledger.open(postgres_old)
    convert(postgres_old, tmp_path / "new")
    with Ledger.open(tmp_path / "new") as ledger:
        is_as_it_was(ledger)
    with pytest.raises(LedgerError, match="was closed"):
        Ledger.open(postgres_old)
    assert convert(postgres_old, tmp_path / "new").again
    with pytest.raises(LedgerError, match="two budgets"):
        convert(postgres_old, tmp_path / "other")
    assert is_postgres(postgres_old)
    ((found,),) = by_hand(postgres_old, "SELECT version FROM {head}")
    assert found == CLOSED + FIRST
    assert SCHEMA == 2
