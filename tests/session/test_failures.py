"""kill -9 at any line, a full disk, a lost connection, a lock nobody gives back: nothing slips through."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dalenius as dp
from dalenius.errors import LedgerError
from dalenius.session import account as accounts
from dalenius.session.entries import Entry
from dalenius.session.ledger import Ledger
from dalenius.session.report import exported
from dalenius.session.rows import Rows
from dalenius.session.verify import verify
from tests.servers.postgres import PostgresServer
from tests.session.helpers import by_hand, is_postgres, opened, rho

ROOT = Path(__file__).resolve().parents[2]


def run(module: str, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"tests.session.{module}", *arguments],
        cwd=ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def written(place: str) -> tuple[dict[str, int], dict[str, list[str]]]:
    """How often each question was charged, and the answers recorded for it, read from an export."""
    charges: dict[str, int] = {}
    answers: dict[str, list[str]] = {}
    questions: dict[int, str] = {}
    with Ledger.open(place, create=False) as ledger:
        for line in exported(ledger):
            entry = json.loads(line)
            body = json.loads(entry.get("body", "{}"))
            if entry.get("kind") == "charge":
                questions[entry["seq"]] = body["question"]
                charges[body["question"]] = charges.get(body["question"], 0) + 1
            elif entry.get("kind") == "answer":
                answers.setdefault(questions[body["charge"]], []).append(body["answer"])
    return charges, answers


def test_killed_at_any_line(place: str) -> None:
    opened(place, 1000.0)
    done = run("killed", place, "9" if is_postgres(place) else "5")
    assert done.returncode == 0, done.stderr
    children = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(c["killed"] for c in children) > 50
    charges, answers = written(place)
    outcomes = set()
    for c in children:
        question = f"question {c['lines']}"
        charged, answered = charges.get(question, 0), answers.get(question, [])
        assert charged <= 1
        if "touched" in c["told"]:
            assert charged == 1, "data was touched without a charge"
        if "delivered" in c["told"]:
            assert answered == [str(c["lines"])], "an answer got out that is not on record"
        outcomes.add((charged, "touched" in c["told"], len(answered), "delivered" in c["told"]))
    # It did die everywhere: before the charge, after it, after touching the data, after recording.
    assert {(0, False, 0, False), (1, False, 0, False), (1, True, 0, False), (1, True, 1, False)} <= outcomes
    found = verify(place)
    assert found.ok, found.problems
    assert opened(place, 1000.0).balance().total == rho(str(sum(charges.values()) / 1000))


def test_killed_while_it_is_created(tmp_path: Path) -> None:
    """Whatever a killed creator leaves, the next one finds no ledger or a whole one."""
    program = (
        "import os, sys; from tests.session import killed; from pathlib import Path\n"
        "folder, n = Path(sys.argv[1]), 0\n"
        "while True:\n"
        "    n += 11\n"
        "    where = folder / f'{n}.ledger'\n"
        "    status, told = killed.child(str(where), n)\n"
        "    status, told = killed.child(str(where), killed.NEVER)\n"
        "    assert status == 0 and 'delivered' in told, (n, told)\n"
        "    if n > 200: break\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ledgers = sorted(tmp_path.glob("*.ledger"))
    assert len(ledgers) == 19
    for path in ledgers:
        assert verify(path).ok


class TestFullDisk:
    def test_sqlite_has_no_more_pages(self, tmp_path: Path) -> None:
        place = str(tmp_path / "people.ledger")
        account = opened(place)
        account.ask("before", rho("0.1"), lambda: "[0]")
        with _full(account.ledger), pytest.raises(LedgerError, match=r"the disk is full\. Free some space"):
            account.ask("x" * 100_000, rho("0.1"), lambda: pytest.fail("data was touched"))
        assert account.spent == dp.ZCDP(0.1)
        account.ask("after", rho("0.1"), lambda: "[1]")
        assert verify(place).ok

    def test_sqlite_is_full_when_the_answer_is_recorded(self, tmp_path: Path) -> None:
        """The charge stays, and the answer is not handed over."""
        place = str(tmp_path / "people.ledger")
        account = opened(place)
        ticket = account.charge("q", rho("0.1"))
        answer = json.dumps("x" * 100_000)
        with _full(account.ledger), pytest.raises(LedgerError, match="Nothing was released"):
            account.record(ticket, answer)
        assert account.spent == dp.ZCDP(0.1)
        assert account.recorded("q") is None
        account.record(ticket, answer)  # there is room again; the ticket is still good
        assert account.recorded("q") == answer
        assert verify(place).ok

    def test_the_system_refuses_to_write(self, tmp_path: Path) -> None:
        """A limit on file sizes stops SQLite in the middle of a transaction, wherever it happens to be."""
        place = str(tmp_path / "people.ledger")
        opened(place, 1000.0)
        program = (
            "import json, resource, sys\n"
            "from tests.session.helpers import opened, rho\n"
            "from dalenius.session import account as accounts\n"
            "from dalenius.errors import LedgerError\n"
            "account, accounts.AGAIN = opened(sys.argv[1], 1000.0), 0.1\n"
            "limit = int(sys.argv[2])\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
            "touched, delivered = [], []\n"
            "for i in range(1000):\n"
            "    q = f'{limit} {i}'\n"
            "    try:\n"
            "        reply = account.ask(q, rho('0.001'), lambda: touched.append(q) or '[1]')\n"
            "        delivered.append((q, reply.answer))\n"
            "    except LedgerError as problem:\n"
            "        told = {'touched': touched, 'delivered': delivered, 'problem': str(problem)}\n"
            "        print(json.dumps(told))\n"
            "        break\n"
        )
        size = os.path.getsize(place)
        for extra in (4096, 10_000, 40_000):
            done = subprocess.run(
                [sys.executable, "-c", program, place, str(size + extra)],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == 0, done.stderr
            told = json.loads(done.stdout)
            assert "Nothing was released" in told["problem"]
            charges, answers = written(place)
            for question in told["touched"]:
                assert charges[question] == 1
            for question, answer in told["delivered"]:
                assert answers[question] == [answer]
            assert verify(place).ok
            size = os.path.getsize(place)
        assert sum(charges.values()) > 10

    def test_postgres_is_full(self, postgres_place: str) -> None:
        account = opened(postgres_place)
        account.ask("before", rho("0.1"), lambda: "[0]")
        by_hand(
            postgres_place,
            "CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$",
            "CREATE TRIGGER zz_full BEFORE INSERT ON {entries} FOR EACH ROW EXECUTE FUNCTION public.full()",
        )
        try:
            with pytest.raises(LedgerError, match="the server's disk is full"):
                account.ask("q", rho("0.1"), lambda: pytest.fail("data was touched"))
        finally:
            by_hand(postgres_place, "DROP TRIGGER zz_full ON {entries}", "DROP FUNCTION public.full")
        assert account.spent == dp.ZCDP(0.1)
        account.ask("after", rho("0.1"), lambda: "[1]")
        assert verify(postgres_place).ok


def test_patience_bounds_how_often_an_answer_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = Ledger.open(tmp_path / "x.ledger", patience=1.0).account("people", dp.ZCDP(1.0))
    ticket, began = account.charge("q", rho("0.1")), time.monotonic()
    monkeypatch.setattr(account, "record", lambda *_: (_ for _ in ()).throw(LedgerError("it is away")))
    with pytest.raises(LedgerError, match="it is away"):
        account._recorded_at_last(ticket, "[1]")
    assert time.monotonic() - began < 0.5 * accounts.AGAIN


@pytest.mark.parametrize(("how", "times"), [("refuses", 2), ("is not heard of", 1), ("refuses", 10**6)])
def test_an_answer_is_kept_by_a_ledger_that_was_away(
    place: str, monkeypatch: pytest.MonkeyPatch, how: str, times: int
) -> None:
    """For a moment: it was paid for, and its noise is drawn. It is computed once, and kept once."""
    monkeypatch.setattr(accounts, "AGAIN", 0.3)
    account = opened(place)
    original, touched, left = account.ledger.writing, [], [times]

    def compute() -> str:
        touched.append(1)
        return "[41]"

    @contextlib.contextmanager
    def writing() -> Iterator[Rows]:
        away = bool(touched) and left[0] > 0
        left[0] -= away
        if away and how == "refuses":
            raise LedgerError("the disk is full")
        with original() as rows:
            yield rows
        if away:
            raise LedgerError("there is no connection, or it broke")

    monkeypatch.setattr(account.ledger, "writing", writing)
    if times < 10:
        reply = account.ask("q", rho("0.1"), compute)
        assert (reply.answer, reply.is_free) == ("[41]", False)
        assert account.recorded("q") == "[41]"
    else:  # then it is not handed over
        with pytest.raises(LedgerError, match="the disk is full"):
            account.ask("q", rho("0.1"), compute)
        assert account.recorded("q") is None
    assert len(touched) == 1
    assert account.spent == dp.ZCDP(0.1)
    charges, answers = written(place)
    assert charges["q"] == 1
    assert len(answers.get("q", [])) == (times < 10)
    assert verify(place).ok


@contextlib.contextmanager
def _full(ledger: Ledger) -> Iterator[None]:
    """No page more than there are."""
    ledger.checkpoint()  # connects
    store = ledger.store
    original = store._connected  # type: ignore[attr-defined]

    def connected() -> sqlite3.Connection:
        connection: sqlite3.Connection = original()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    store._connected = connected  # type: ignore[attr-defined]
    try:
        yield
    finally:
        store._connected = original  # type: ignore[attr-defined]
        store.close()


class TestLocks:
    def test_a_lock_that_is_not_given_back(self, place: str) -> None:
        account = opened(place)
        impatient = Ledger.open(place, patience=3.0).existing("people")
        with account.ledger.writing():
            start = time.monotonic()
            with pytest.raises(LedgerError, match="too long"):
                impatient.ask("q", rho("0.1"), lambda: pytest.fail("data was touched"))
            assert time.monotonic() - start < 20
        impatient.ask("q", rho("0.1"), lambda: "[1]")
        assert verify(place).ok

    def test_a_writer_waits_for_its_turn(self, place: str) -> None:
        account, other = opened(place), opened(place)
        done = threading.Event()

        def wait() -> None:
            other.charge("q", rho("0.1"))
            done.set()

        with account.ledger.writing():
            thread = threading.Thread(target=wait)
            thread.start()
            assert not done.wait(0.3)
        assert done.wait(60)
        thread.join()
        assert account.spent == dp.ZCDP(0.1)

    def test_sqlite_may_not_be_written(self) -> None:
        """Read only it can be looked at, and nothing is charged."""
        # Not tmp_path: another run of pytest may close the folder above that to other users at any time.
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            self.read_only(Path(folder) / "people.ledger")

    def read_only(self, path: Path) -> None:
        opened(str(path)).ask("q", rho("0.1"), lambda: "[1]")
        program = (
            "import os, sys, pytest\n"
            "from tests.session.helpers import opened, rho\n"
            # Root may write anything.
            "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "account = opened(sys.argv[1])\n"
            "assert account.recorded('q') == '[1]'\n"
            "try:\n"
            "    account.ask('r', rho('0.1'), lambda: pytest.fail('data was touched'))\n"
            "except Exception as problem:\n"
            "    print(type(problem).__name__, problem)\n"
        )
        for name in (path, path.with_name(path.name + "-journal")):
            os.chmod(name, 0o444)
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.stdout.startswith("LedgerError"), done.stdout + done.stderr
        assert "may not be written" in done.stdout


class TestConnections:
    def kick_out(self, place: str) -> None:
        by_hand(
            place,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )

    def test_lost_between_two_questions_it_is_made_anew(self, postgres_place: str) -> None:
        account = opened(postgres_place)
        account.ask("q", rho("0.1"), lambda: "[1]")
        self.kick_out(postgres_place)
        assert account.ask("q", rho("0.1"), lambda: "[2]").answer == "[1]"
        self.kick_out(postgres_place)
        account.charge("r", rho("0.1"))

    def test_lost_while_the_data_is_being_read(self, postgres_place: str) -> None:
        """No transaction is open then: the answer is recorded over a new connection."""
        account = opened(postgres_place)

        def compute() -> str:
            self.kick_out(postgres_place)
            return "[1]"

        assert account.ask("q", rho("0.1"), compute).answer == "[1]"
        assert verify(postgres_place).ok

    def test_lost_inside_a_transaction_nothing_was_charged(
        self, postgres_place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        account = opened(postgres_place)
        append = account.ledger.append

        def lose(*arguments: object) -> object:
            done = append(*arguments)  # type: ignore[arg-type]
            self.kick_out(postgres_place)
            return done

        monkeypatch.setattr(account.ledger, "append", lose)
        with pytest.raises(LedgerError, match="Nothing was released"):
            account.ask("q", rho("0.1"), lambda: pytest.fail("data was touched"))
        monkeypatch.undo()
        assert account.spent == dp.ZCDP(0.0)
        account.ask("q", rho("0.1"), lambda: "[1]")
        assert verify(postgres_place).ok

    def test_a_commit_that_answers_rollback_is_a_failure(self, postgres_place: str) -> None:
        """PostgreSQL answers COMMIT of a failed transaction with ROLLBACK, and no error."""
        import psycopg

        store = opened(postgres_place).ledger.store
        with (
            pytest.raises(LedgerError, match="did not commit"),
            store.writing() as rows,
            contextlib.suppress(psycopg.Error),
        ):
            rows.run("SELECT 1 / 0")
        with store.reading() as rows:
            assert rows.head().seq == 2


class TestForks:
    """Threads, processes and both: nobody waits for ever, and nobody reads what was meant for another."""

    @pytest.mark.parametrize("how", ["pool", "fork", "inside"])
    def test_forks(self, place: str, how: str) -> None:
        done = run("forks", place, how, timeout=150)
        assert done.returncode == 0, done.stderr
        made = int(done.stdout)
        found = verify(place)
        assert found.ok, found.problems
        assert found.answers >= made

    def test_a_child_of_an_open_transaction_says_so(self, tmp_path: Path) -> None:
        """SQLite in such a child believes that it has the parent's locks."""
        account = opened(str(tmp_path / "people.ledger"))
        reading, writing = os.pipe()
        with account.ledger.writing():
            child = os.fork()
            if child == 0:
                try:
                    account.balance()
                    told = "nothing"
                except LedgerError as problem:
                    told = str(problem)
                os.write(writing, told.encode())
                os._exit(0)
            os.waitpid(child, 0)
        assert "forked while" in os.read(reading, 10_000).decode()
        os.close(reading)
        os.close(writing)


class TestPatience:
    """A server that is stopped, or gone without a word, costs the patience and no more."""

    LATE = 4.0
    """Seconds over the patience that a busy machine may need."""

    @pytest.fixture
    def stopped(self, postgres_server: PostgresServer, postgres_place: str) -> Iterator[Callable[[], None]]:
        import psycopg

        if postgres_server.process is None:
            pytest.skip("the server is not ours to stop")
        pids: list[int] = []

        def stop() -> None:
            """Stop all processes of the server that work for this database."""
            with psycopg.connect(postgres_place, autocommit=True) as connection:
                rows = connection.execute(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                ).fetchall()
            for (pid,) in rows:
                os.kill(pid, signal.SIGSTOP)
                pids.append(pid)

        yield stop
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    @pytest.mark.allowed_skip(reason="a server that was given by its URL cannot be stopped from here")
    def test_a_stopped_server(self, postgres_place: str, stopped: Callable[[], None]) -> None:
        account = Ledger.open(postgres_place, patience=1.0).account("people", dp.ZCDP(1.0))
        account.charge("before", rho("0.1"))
        stopped()
        start = time.monotonic()
        with pytest.raises(LedgerError, match="too long"):
            account.ask("q", rho("0.1"), lambda: pytest.fail("data was touched"))
        assert time.monotonic() - start < 1.0 + self.LATE
        # Over another connection it goes on at once: the stopped one held no lock.
        account.ask("q", rho("0.1"), lambda: "[1]")
        assert account.spent == dp.ZCDP(0.2)

    @pytest.mark.allowed_skip(reason="a server that was given by its URL cannot be stopped from here")
    def test_stopped_with_the_lock(self, postgres_place: str, stopped: Callable[[], None]) -> None:
        account = Ledger.open(postgres_place, patience=1.0).account("people", dp.ZCDP(1.0))
        other = Ledger.open(postgres_place, patience=1.0).account("people", dp.ZCDP(1.0))
        with contextlib.suppress(LedgerError), account.ledger.writing():
            stopped()
            for _ in range(2):
                start = time.monotonic()
                with pytest.raises(LedgerError, match="too long"):
                    other.ask("q", rho("0.1"), lambda: pytest.fail("data was touched"))
                assert time.monotonic() - start < 1.0 + self.LATE
            pid = os.fork()  # nor does a fork wait
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            assert time.monotonic() - start < 2.0 + self.LATE

    def test_a_server_that_says_nothing(self) -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            start = time.monotonic()
            with pytest.raises(LedgerError, match="too long"):
                Ledger.open(f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/x", patience=0.5)
            assert time.monotonic() - start < 0.5 + self.LATE

    def test_a_thread_that_keeps_the_ledger(self, place: str) -> None:
        account = Ledger.open(place, patience=3.0).account("people", dp.ZCDP(1.0))
        told: list[str] = []

        def wait() -> None:
            try:
                account.charge("q", rho("0.1"))
            except LedgerError as problem:
                told.append(str(problem))

        with account.ledger.writing():
            thread = threading.Thread(target=wait)
            thread.start()
            thread.join(3.0 + self.LATE)
        assert "another thread kept it for too long" in told[0]


def test_threads_that_share_a_session_all_get_their_answers(tmp_path: Path) -> None:
    """The engine answers one question at a time: none is charged and then finds the connection busy."""
    import pandas as pd

    people = pd.DataFrame({"age": list(range(18, 90)) * 10})
    place = tmp_path / "people.ledger"
    session = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), ledger=place, name="people")

    def work(name: int) -> None:
        for i in range(12):
            session.release(
                session.table.filter(f"age > {18 + i}").agg(n=dp.count()), dp.ZCDP(1e-6 * (name + 1))
            )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    found = verify(place)
    assert found.ok, found.problems
    assert (found.charges, found.answers) == (96, 96)


def test_after_opening_only_what_is_new_is_read(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    account = opened(place)
    for i in range(40):
        account.charge(f"q{i}", rho("0.001"))
    intact = Entry.is_of
    read: list[int] = []
    monkeypatch.setattr(
        Entry, "is_of", lambda entry, version: read.append(entry.seq) or intact(entry, version)
    )
    account.balance()
    assert read == [42]
    account.ledger.close()
    again = opened(place)
    assert sorted(set(read)) == list(range(1, 43))
    read.clear()
    opened(place).balance()  # nor does the next one in this process read it all again
    again.ask("q", rho("0.001"), lambda: "[1]")
    assert set(read) == {2, 42, 43, 44}
