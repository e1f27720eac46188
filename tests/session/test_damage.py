"""A file that is damaged, old, empty or gone is refused by all who saw more: a sample of `tests.session.damage`."""

from __future__ import annotations

import gc
import os
import random
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

import dalenius as dp
from dalenius.errors import LedgerDamaged, LedgerError
from dalenius.session.entries import Entry
from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from tests.session import damage
from tests.session.helpers import by_hand, opened, rho


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> list[damage.State]:
    return damage.states(tmp_path_factory.mktemp("grown"), releases=25)


def ends(found: dict[tuple[str, str, str], int]) -> set[str]:
    return {end for _, _, end in found}


def test_flipped_bits(grown: list[damage.State], tmp_path: Path) -> None:
    found = damage.run(damage.flips(random.Random(1), grown, 80), tmp_path)
    assert "WRONG" not in ends(found)
    assert found["bit flipped", "stranger", "refused"] > 50  # most of a file is entries
    assert found["bit flipped", "open", "right"] > 0  # and some of it is nothing


def test_truncations(grown: list[damage.State], tmp_path: Path) -> None:
    assert ends(damage.run(damage.cuts(random.Random(2), grown, 20), tmp_path)) == {"refused"}


def test_torn_pages(grown: list[damage.State], tmp_path: Path) -> None:
    found = damage.run(damage.torn(random.Random(3), grown, 20), tmp_path)
    assert "WRONG" not in ends(found)


def test_old_copies(grown: list[damage.State], tmp_path: Path) -> None:
    found = damage.run(damage.copies(random.Random(4), grown, 8), tmp_path)
    assert {(who, end) for _, who, end in found} == {
        ("open", "refused"),
        ("checkpoint", "refused"),
        ("stranger", "right"),  # nothing in a file can show that it was once longer
    }


def test_emptied_and_deleted(grown: list[damage.State], tmp_path: Path) -> None:
    found = damage.run(damage.emptied(grown, tmp_path), tmp_path)
    assert "WRONG" not in ends(found)
    assert {end for _, who, end in found if who != "stranger"} == {"refused"}


def test_one_that_does_not_check_is_caught(
    grown: list[damage.State], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another price in the file is refused; without hashes and sums it would mislead who opens it then."""
    now = grown[-1]
    cheaper = now.content.replace(b'"cost":{"amount":"0.01"', b'"cost":{"amount":"0.04"', 1)
    assert cheaper != now.content
    changed = damage.Damage("price", cheaper, now)
    assert ends(damage.run(iter([changed]), tmp_path)) == {"refused"}
    monkeypatch.setattr(Entry, "is_of", lambda entry, version: True)
    monkeypatch.setattr("dalenius.session.memory._refuse", lambda problem: None)
    found = damage.run(iter([changed]), tmp_path)
    assert {(who, end) for _, who, end in found if who != "open"} == {
        ("checkpoint", "WRONG"),
        ("stranger", "WRONG"),
    }


class TestOldCopies:
    def test_pages_of_another_file_are_not_written_over_it(self, tmp_path: Path) -> None:
        """An old copy is put over the file, another process charges until SQLite's counter is the same again."""
        path = tmp_path / "people.ledger"
        mine = opened(str(path))
        old = path.read_bytes()
        mine.charge("a", rho("0.45"))
        mine.charge("b", rho("0.45"))
        mine.ledger.checkpoint()
        path.write_bytes(old)
        elsewhere = tmp_path / "elsewhere.ledger"  # a place this process knows nothing of
        shutil.copy(path, elsewhere)
        theirs = opened(str(elsewhere))
        theirs.charge("c", rho("0.45"))
        theirs.charge("d", rho("0.45"))
        theirs.ledger.close()
        path.write_bytes(elsewhere.read_bytes())
        assert path.read_bytes()[24:28] == elsewhere.read_bytes()[24:28]
        with pytest.raises(LedgerDamaged, match="went back in time"):
            mine.charge("e", rho("0.05"))
        found = verify(path)
        assert (found.ok, found.charges) == (True, 2)  # and what is there was not touched

    def test_what_one_has_written_oneself_was_seen(self, tmp_path: Path) -> None:
        path = tmp_path / "people.ledger"
        account = opened(str(path))
        old = path.read_bytes()
        account.charge("a", rho("0.9"))
        path.write_bytes(old)
        with pytest.raises(LedgerDamaged, match="went back in time"):
            account.charge("b", rho("0.9"))

    def test_all_who_have_it_open_in_a_process_saw_it(self, tmp_path: Path) -> None:
        path = tmp_path / "people.ledger"
        one, other = opened(str(path)), opened(str(path))
        old = path.read_bytes()
        one.charge("a", rho("0.9"))
        path.write_bytes(old)
        for use in (lambda: other.charge("b", rho("0.9")), lambda: opened(str(path))):
            with pytest.raises(LedgerDamaged, match="went back in time"):
                use()

    def test_a_ledger_that_is_gone_does_not_come_back_new(self, tmp_path: Path) -> None:
        path = tmp_path / "people.ledger"
        account = opened(str(path))
        account.charge("a", rho("0.9"))
        checkpoint = account.ledger.checkpoint()
        path.unlink()
        with pytest.raises(LedgerDamaged, match="would forget what was spent"):
            opened(str(path))
        assert not path.exists()
        account.ledger.close()
        del account
        with pytest.raises(LedgerError, match="there is no ledger"):
            Ledger.open(path, expect=checkpoint)  # an expected entry is never in a new ledger
        with pytest.raises(LedgerError, match="there is no ledger"):
            Ledger.open(path, create=False)
        assert opened(str(path)).spent == dp.ZCDP(0.0)  # nobody has it open, nobody asks for more

    def test_one_that_waits_to_be_collected_is_not_open(self, tmp_path: Path) -> None:
        path = tmp_path / "people.ledger"
        gc.disable()
        try:
            account = opened(str(path))
            circle: list[object] = [account]
            circle.append(circle)
            del account, circle
            path.unlink()
            opened(str(path))
        finally:
            gc.enable()


class TestVerify:
    def test_an_emptied_ledger_is_not_sound(self, place: str) -> None:
        opened(place).charge("a", rho("0.5"))
        by_hand(
            place, "DELETE FROM {entries}", f"UPDATE {{head}} SET seq = 0, hash = '{'0' * 64}'", guarded=False
        )
        found = verify(place)
        assert any("it was emptied" in problem for problem in found.problems)
        with pytest.raises(LedgerDamaged):
            Ledger.open(place)

    @pytest.mark.parametrize("column", ["body", "kind", "key", "previous", "hash", "account"])
    def test_what_is_of_another_type_was_changed(self, tmp_path: Path, column: str) -> None:
        path = tmp_path / "people.ledger"
        account = opened(str(path))
        account.ask("q", rho("0.1"), lambda: "[1]")
        account.charge("r", rho("0.1"))
        value = {"kind": "kind"}.get(column, f"CAST(CAST({column} AS TEXT) AS BLOB)")
        if column == "kind":
            value = "'answer'"
        by_hand(str(path), f"UPDATE {{entries}} SET {column} = {value} WHERE seq = 3", guarded=False)
        account.ledger.close()
        assert any("entry 3 was changed" in problem for problem in verify(path).problems)
        with pytest.raises(LedgerDamaged, match="entry 3"):
            opened(str(path))

    def test_what_is_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "people.ledger"
        opened(str(path)).ledger.close()
        by_hand(str(path), "UPDATE {entries} SET body = CAST(X'FF41' AS TEXT) WHERE seq = 2", guarded=False)
        assert not verify(path).ok
        with pytest.raises(LedgerDamaged):
            opened(str(path))

    def test_from_an_open_ledger(self, place: str) -> None:
        account = opened(place)
        old = account.ledger.checkpoint()
        account.ask("q", rho("0.1"), lambda: "[1]")
        assert account.ledger.verify(old).ok
        assert not account.ledger.verify(f"2:{'a' * 64}").ok
        assert len(list(account.ledger.export())) == 6

    def test_an_unknown_kind(self, tmp_path: Path) -> None:
        path = tmp_path / "people.ledger"
        ledger = opened(str(path)).ledger
        last = ledger.checkpoint().partition(":")
        entry = Entry.after(int(last[0]), last[2], "gift", 2, "", {})  # type: ignore[arg-type]
        ledger.close()
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry)
        connection.close()
        assert any("of kind 'gift'" in problem for problem in verify(path).problems)
        with pytest.raises(LedgerDamaged, match="install a newer one"):
            Ledger.open(path)


def test_a_charge_names_its_own_analyst_only(place: str) -> None:
    ledger = Ledger.open(place)
    for number in range(12):
        ledger.account("people", dp.ZCDP(1.0), f"analyst {number}").charge(f"q{number}", rho("0.01"))
    bodies = [str(body) for (body,) in by_hand(place, "SELECT body FROM {entries} WHERE kind = 'charge'")]
    assert max(map(len, bodies)) - min(map(len, bodies)) < 10
    assert len(ledger.existing("people").balance().by) == 12
    assert verify(place).ok


def test_files_are_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        opened(str(tmp_path / "people.ledger")).charge("q", rho("0.1"))
    finally:
        os.umask(old)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert found == {"people.ledger": 0o600, "people.ledger-journal": 0o600}
