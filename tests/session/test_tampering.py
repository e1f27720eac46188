"""The ledger is only ever added to: the database refuses the rest, and verify finds what got past it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

import dalenius as dp
from dalenius.core import record
from dalenius.errors import LedgerDamaged, LedgerError, NotALedger
from dalenius.session.account import Account
from dalenius.session.entries import Entry
from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from tests.servers.postgres import PostgresServer
from tests.session.helpers import by_hand, is_postgres, opened, rho


@pytest.fixture
def account(place: str) -> Account:
    """Entries: 1 opens the ledger, 2 the account, then four charges with answers, then two charges."""
    account = opened(place)
    for i in range(4):
        account.ask(f"q{i}", rho("0.1"), lambda: "[1]")
    account.charge("pending", rho("0.1"))
    account.charge("more", rho("0.1"))
    assert account.ledger.checkpoint().startswith("12:")
    return account


def database_error(place: str) -> type[Exception]:
    if is_postgres(place):
        import psycopg

        return psycopg.Error
    return sqlite3.Error


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {entries} SET body = '{{}}' WHERE seq = 3",
        "UPDATE {entries} SET seq = 99 WHERE seq = 12",
        "DELETE FROM {entries} WHERE seq = 12",
        "DELETE FROM {entries}",
        "UPDATE {head} SET seq = 11",
        "UPDATE {head} SET seq = 13, hash = 'x'",
        "UPDATE {head} SET version = 3",
        "DELETE FROM {head}",
        "INSERT INTO {head} VALUES (2, 1, 0, '')",
        "INSERT INTO {entries} VALUES (99, 'charge', 2, '', '{{}}', '', '')",
        "INSERT INTO {entries} VALUES (13, 'charge', 2, '', '{{}}', 'not the last hash', '')",
        "INSERT INTO {entries} VALUES (13, 'gift', 2, '', '{{}}', (SELECT hash FROM {head}), '')",
    ],
)
def test_the_database_refuses(place: str, account: Account, statement: str) -> None:
    with pytest.raises(database_error(place)):
        by_hand(place, statement)
    assert verify(place).ok
    account.charge("still works", rho("0.1"))


def test_sqlite_does_not_replace(tmp_path: Path) -> None:
    """INSERT OR REPLACE removes a row without firing the triggers that guard against removal."""
    place = str(tmp_path / "people.ledger")
    opened(place).charge("q", rho("0.1"))
    with pytest.raises(sqlite3.Error):
        by_hand(place, "INSERT OR REPLACE INTO {entries} VALUES (3, 'charge', 2, '', '{{}}', '', '')")
    with pytest.raises(sqlite3.Error):
        by_hand(place, "INSERT OR REPLACE INTO {head} VALUES (1, 1, 0, '')")
    assert verify(place).ok


def test_postgres_does_not_truncate(postgres_place: str) -> None:
    place = postgres_place
    opened(place)
    for table in ("entries", "head"):
        with pytest.raises(database_error(place)):
            by_hand(place, f"TRUNCATE {{{table}}}")
    assert verify(place).ok


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (["UPDATE {entries} SET body = replace(body, '0.1', '0.0') WHERE seq = 3"], "entry 3 was changed"),
        (["UPDATE {entries} SET account = 9 WHERE seq = 3"], "entry 3 was changed"),
        (["UPDATE {entries} SET key = '' WHERE seq = 4"], "entry 4 was changed"),
        (["UPDATE {entries} SET hash = previous WHERE seq = 5"], "entry 5 was changed"),
        (["DELETE FROM {entries} WHERE seq = 5"], "entries 5 to 5 are missing"),
        (["DELETE FROM {entries} WHERE seq = 1"], "entries 1 to 1 are missing"),
        (["DELETE FROM {entries} WHERE seq = 12"], "the end was cut off"),
        (["DELETE FROM {entries} WHERE seq > 2"], "the end was cut off"),
        (["UPDATE {head} SET seq = 11"], "the end was cut off or changed"),
        (
            [
                "UPDATE {entries} SET seq = 1000 WHERE seq = 11",
                "UPDATE {entries} SET seq = 11 WHERE seq = 12",
                "UPDATE {entries} SET seq = 12 WHERE seq = 1000",
            ],
            "entry 11 does not continue the chain",
        ),
    ],
)
def test_verify_finds(place: str, account: Account, statements: list[str], problem: str) -> None:
    by_hand(place, *statements, guarded=False)
    found = verify(place)
    assert not found.ok
    assert any(problem in text for text in found.problems), found.problems


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {entries} SET body = replace(body, '0.6', '0.1') WHERE seq = 12",
        "DELETE FROM {entries} WHERE seq = 12",
        "UPDATE {head} SET seq = 11",
        "DELETE FROM {entries}",
        "DELETE FROM {head}",
    ],
)
def test_a_changed_end_stops_all_charges(place: str, account: Account, statement: str) -> None:
    by_hand(place, statement, guarded=False)
    for user in (account, None):
        with pytest.raises(LedgerDamaged):
            (user or opened(place)).charge("q", rho("0.01"))


def test_a_changed_answer_is_not_given_out(place: str, account: Account) -> None:
    by_hand(place, "UPDATE {entries} SET body = replace(body, '[1]', '[7]') WHERE seq = 4", guarded=False)
    with pytest.raises(LedgerDamaged, match="entry 4"):
        account.recorded("q0")


def forged(place: str, seq: int, change: dict[str, object]) -> list[str]:
    """Rewrite an entry and everything after it, consistently, as somebody with all rights could."""
    rows = by_hand(place, "SELECT seq, kind, account, key, body, previous, hash FROM {entries} ORDER BY seq")
    entries = [Entry(*row) for row in rows]  # type: ignore[arg-type]
    previous = entries[seq - 2].hash
    statements = []
    for entry in entries[seq - 1 :]:
        body = json.loads(entry.body) | (change if entry.seq == seq else {})
        new = Entry.after(
            entry.seq - 1,
            previous,
            entry.kind,
            entry.account,
            entry.key,
            body,  # type: ignore[arg-type]
        )
        text = record.text(body).replace("{", "{{").replace("}", "}}")
        statements.append(
            f"UPDATE {{entries}} SET body = '{text}', previous = '{new.previous}', hash = '{new.hash}' "
            f"WHERE seq = {new.seq}"
        )
        previous = new.hash
    return [*statements, f"UPDATE {{head}} SET hash = '{previous}'"]


def test_a_lower_price_does_not_add_up(place: str, account: Account) -> None:
    by_hand(place, *forged(place, 3, {"cost": {"amount": "0.01", "delta": "0"}}), guarded=False)
    assert any("entry 3 does not add up" in text for text in verify(place).problems)


@pytest.mark.parametrize(
    ("seq", "change", "problem"),
    [
        (2, {"limit": {"amount": "9", "delta": "0"}}, "allows more than it promises"),
        (2, {"shares": {"ana": "2/3", "ben": "2/3"}}, "gives away more than the whole budget"),
        (2, {"dataset": "pets"}, "another entry opened"),
        (3, {"question": "another"}, "filed under another question"),
        (3, {"cost": {"amount": "5e-1", "delta": "0"}}, "not an entry as we write them"),
        (4, {"charge": 12}, "entry 4 is an answer without a charge"),
        (12, {"cost": {"amount": "7", "delta": "0"}}, "overspend its budget"),
    ],
)
def test_verify_reads_what_entries_mean(
    place: str, account: Account, seq: int, change: dict[str, object], problem: str
) -> None:
    by_hand(place, *forged(place, seq, change), guarded=False)
    found = verify(place)
    assert any(problem in text for text in found.problems), found.problems


def test_a_rewritten_ledger_shows_against_a_checkpoint(place: str, account: Account) -> None:
    """Nothing inside a database shows that all of it was rewritten; a checkpoint kept elsewhere does."""
    checkpoint = account.ledger.checkpoint()
    by_hand(place, *forged(place, 4, {"answer": "[2]"}), guarded=False)
    assert verify(place).ok
    assert any("the ledger was rewritten" in text for text in verify(place, checkpoint).problems)
    for saw_more in (account.balance, lambda: opened(place), lambda: account.charge("q", rho("0.01"))):
        with pytest.raises(LedgerDamaged, match="went back in time"):
            saw_more()
    account.ledger.close()  # and now nobody here has it open
    with pytest.raises(LedgerDamaged, match="does not contain the checkpoint"):
        Ledger.open(place, checkpoint=checkpoint)
    assert opened(place).spent == dp.ZCDP(0.6)


def test_a_tail_cut_off_cleanly_shows_against_a_checkpoint(place: str, account: Account) -> None:
    checkpoint = account.ledger.checkpoint()
    cut = "UPDATE {head} SET seq = 11, hash = (SELECT hash FROM {entries} WHERE seq = 11)"
    by_hand(place, "DELETE FROM {entries} WHERE seq = 12", cut, guarded=False)
    assert verify(place).ok
    assert any("an old copy" in text for text in verify(place, checkpoint).problems)
    for saw_more in (account.balance, lambda: opened(place), lambda: account.charge("q", rho("0.01"))):
        with pytest.raises(LedgerDamaged, match="went back in time"):
            saw_more()
    account.ledger.close()  # and now nobody here has it open
    with pytest.raises(LedgerDamaged, match="does not contain the checkpoint"):
        Ledger.open(place, checkpoint=checkpoint)
    assert Ledger.open(place).existing("people").spent == dp.ZCDP(0.5)


def test_a_checkpoint_holds_while_the_ledger_grows(place: str, account: Account) -> None:
    checkpoint = account.ledger.checkpoint()
    account.ask("q9", rho("0.1"), lambda: "[1]")
    assert verify(place, checkpoint).ok
    assert Ledger.open(place, checkpoint=checkpoint).id == account.ledger.id


@pytest.mark.parametrize("text", ["", "12", "12:abc", ":" + "a" * 64, "x:" + "a" * 64, "1:" + "G" * 64])
def test_what_is_no_checkpoint(place: str, text: str) -> None:
    opened(place)
    with pytest.raises(ValueError, match="SEQ:HASH"):
        verify(place, text)


def test_missing_guards_are_reported(place: str) -> None:
    opened(place)
    table = " ON {entries}" if is_postgres(place) else ""
    by_hand(place, f"DROP TRIGGER entries_stay{table}")
    assert any("entries_stay is gone" in text for text in verify(place).problems)


class TestFiles:
    """What can happen to a file."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "people.ledger"
        opened(str(path)).ask("q", rho("0.25"), lambda: "[1]")
        return path

    def test_an_old_copy_put_back_is_noticed_by_who_saw_more(self, path: Path, tmp_path: Path) -> None:
        shutil.copy(path, tmp_path / "copy")
        account = opened(str(path))
        account.charge("r", rho("0.25"))
        account.balance()
        path.write_bytes((tmp_path / "copy").read_bytes())
        with pytest.raises(LedgerDamaged, match="went back in time"):
            account.charge("s", rho("0.1"))

    def test_a_file_put_in_its_place_is_noticed(self, path: Path, tmp_path: Path) -> None:
        account = opened(str(path))
        opened(str(tmp_path / "other"))
        os.replace(tmp_path / "other", path)
        with pytest.raises(LedgerDamaged, match="replaced by another"):
            account.charge("s", rho("0.1"))

    def test_a_removed_file_is_noticed(self, path: Path) -> None:
        account = opened(str(path))
        path.unlink()
        with pytest.raises(LedgerDamaged, match="is gone"):
            account.ask("s", rho("0.1"), lambda: pytest.fail("touched"))

    def test_an_empty_file_is_not_a_new_ledger(self, path: Path) -> None:
        """A disk that was full, or a slip of `>`, must not make a fresh budget."""
        path.write_bytes(b"")
        with pytest.raises(LedgerDamaged, match="empty file, and a ledger never is"):
            opened(str(path))
        assert not verify(path).ok

    @pytest.mark.parametrize("content", [b"hello\n", b"SQLite format 3\x00" + b"x" * 5000])
    def test_another_file_is_not_a_ledger(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        with pytest.raises(LedgerError):
            opened(str(path))
        assert path.read_bytes() == content
        try:
            assert not verify(path).ok
        except NotALedger:
            assert content == b"hello\n"  # nothing of a ledger is in it

    def test_another_database_is_not_a_ledger(self, tmp_path: Path) -> None:
        connection = sqlite3.connect(tmp_path / "other.db")
        connection.execute("CREATE TABLE head (seq)")
        connection.close()
        with pytest.raises(LedgerError, match="not a ledger"):
            opened(str(tmp_path / "other.db"))

    def test_half_a_file(self, path: Path) -> None:
        for size in (100, 4096, 8192):
            path.with_name("half").write_bytes(path.read_bytes()[:size])
            with pytest.raises(LedgerError):
                opened(str(path.with_name("half"))).charge("q", rho("0.1"))

    def test_garbage_inside(self, path: Path) -> None:
        """Overwrite each page in turn: it is found, or it did not matter."""
        whole = path.read_bytes()
        for start in range(4096, len(whole), 4096):
            broken = path.with_name(f"broken-{start}")
            broken.write_bytes(whole[:start] + b"\xff" * 4096 + whole[start + 4096 :])
            assert not verify(broken).ok

    def test_a_second_name_is_refused(self, path: Path) -> None:
        os.link(path, path.with_name("other.ledger"))
        with pytest.raises(LedgerError, match="hard link"):
            opened(str(path))

    def test_what_a_killed_creator_left_is_tidied(self, path: Path) -> None:
        draft = path.with_name(f".{path.name}.new-99-abc")
        os.link(path, draft)
        assert opened(str(path)).spent == dp.ZCDP(0.25)
        assert not draft.exists()

    def test_a_symbolic_link_leads_to_the_one_ledger(self, path: Path) -> None:
        path.with_name("link").symlink_to(path)
        opened(str(path.with_name("link"))).charge("r", rho("0.25"))
        assert opened(str(path)).spent == dp.ZCDP(0.5)
        assert not path.with_name("link-journal").exists()

    def test_a_link_to_nowhere(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "nowhere")
        with pytest.raises(LedgerDamaged, match="is gone"):
            opened(str(tmp_path / "link"))

    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="does not exist; create it first"):
            opened(str(tmp_path / "none" / "people.ledger"))

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="is a folder"):
            opened(str(tmp_path))

    def test_names_that_look_like_urls(self, tmp_path: Path) -> None:
        name = tmp_path / "50% of [people]?mode=memory#1.ledger"
        opened(str(name)).charge("q", rho("0.1"))
        assert name.stat().st_size > 0
        assert verify(name).ok

    def test_another_program_switched_it_to_a_write_ahead_log(self, path: Path) -> None:
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        connection.close()
        opened(str(path)).charge("r", rho("0.25"))
        assert not path.with_name(path.name + "-wal").exists()
        assert verify(path).ok

    def test_settings(self, path: Path) -> None:
        account = opened(str(path))
        account.balance()
        connection = account.ledger.store._connection  # type: ignore[attr-defined]
        found = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "fullfsync")
        }
        assert found == {"journal_mode": "persist", "synchronous": 3, "fullfsync": 1}


class TestServers:
    """What can be wrong with a server."""

    def test_commits_wait_for_the_disk_whatever_the_default(self, postgres_server: PostgresServer) -> None:
        import psycopg

        url = postgres_server.fresh()
        opened(url)
        name = url.rsplit("/", 1)[1]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off'.encode())
            connection.execute(
                f'ALTER DATABASE "{name}" SET default_transaction_isolation = serializable'.encode()
            )
        store = opened(url).ledger.store
        with psycopg.connect(url) as connection:
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
        with store.writing() as rows:
            assert rows.run("SHOW synchronous_commit") == [("on",)]
            assert rows.run("SHOW transaction_isolation") == [("read committed",)]

    def test_a_schema_of_that_name_that_is_not_ours(self, postgres_place: str) -> None:
        import psycopg

        url = postgres_place
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA dalenius")
        with pytest.raises(LedgerDamaged, match="not a ledger"):
            opened(url)
        assert not verify(url).ok

    def test_a_user_without_rights(self, postgres_place: str) -> None:
        import psycopg

        url = postgres_place
        opened(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP ROLE IF EXISTS reader")
            connection.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'")
        parts = url.split("@")
        with pytest.raises(LedgerError, match="lacks a right"):
            opened(f"postgresql://reader:reader@{parts[1]}")

    def test_a_url_that_is_none(self) -> None:
        with pytest.raises(ValueError, match="URL"):
            Ledger.open("postgresql://host/db?nonsense=1")
