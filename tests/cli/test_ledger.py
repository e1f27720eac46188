"""`dalenius ledger`: what it prints, its JSON, its exit codes."""

from __future__ import annotations

import csv
import datetime
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dalenius as dp
from dalenius import losses
from dalenius.cli import main as program
from dalenius.session.ledger import Ledger


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(program.app, ["ledger", *arguments], prog_name="dalenius")
    assert result.exit_code == code, result.output
    assert (result.stderr == "") == (code == 0 or bool(result.stdout))
    return result.stderr or result.stdout


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "people.ledger")
    with Ledger.open(path) as ledger:
        ana = ledger.account("people", dp.ZCDP(1.0), "ana", shares={"ana": 0.5, "ben": 0.25})
        ana.ask("how many?", losses.gaussian(sigma=2.0), lambda: "[41]")
        ledger.account("pets", dp.ApproxDP(1.0, 1e-6)).charge("q", losses.gaussian(sigma=30.0))
    return path


class TestShow:
    def test_table(self, path: str) -> None:
        heading, checkpoint, _, *tables = run("show", path).splitlines()
        assert heading == f"Ledger: {path}"
        assert checkpoint.startswith("Checkpoint: 6:")
        assert [line.split() for line in tables[:3]] == [
            ["dataset", "unit", "neighbours", "budget", "spent", "left", "charges", "answers"],
            ["people", "row", "add/remove", "rho", "1", "rho", "0.125", "rho", "0.875", "1", "1"],
            tables[2].split(),
        ]
        assert tables[2].startswith("pets")
        assert "epsilon 1, delta 1e-6" in tables[2]
        assert [line.split() for line in tables[4:]] == [
            ["dataset", "analyst", "share", "spent", "left"],
            ["people", "ana", "1/2", "rho", "0.125", "rho", "0.375"],
            ["people", "ben", "1/4", "rho", "0", "rho", "0.25"],
        ]

    def test_json(self, path: str) -> None:
        found = json.loads(run("show", path, "--json"))
        people, pets = found["accounts"]
        assert people["exact"]["left"] == {"amount": "0.875", "delta": "0"}
        assert (people["spent"], pets["kind"], pets["answers"]) == ({"rho": 0.125}, "approx", 0)
        assert set(found) == {"ledger", "schema", "checkpoint", "accounts"}

    def test_no_accounts(self, tmp_path: Path) -> None:
        path = str(tmp_path / "new.ledger")
        Ledger.open(path).close()
        assert "No account was opened yet." in run("show", path)

    def test_no_ledger(self, tmp_path: Path) -> None:
        assert "there is no ledger at" in run("show", str(tmp_path / "none"), code=5)
        assert not (tmp_path / "none").exists()


class TestVerify:
    def test_sound(self, path: str) -> None:
        out = run("verify", path)
        assert out.startswith("Sound: 6 entries, 2 accounts, 2 charges, 1 answer.\nCheckpoint: 6:")
        checkpoint = out.split()[-1]
        assert run("verify", path, "--checkpoint", checkpoint) == out

    def test_not_sound(self, path: str) -> None:
        connection = sqlite3.connect(path)
        connection.execute("DROP TRIGGER entries_stay")
        connection.execute("UPDATE entries SET body = replace(body, '0.125', '0.001') WHERE seq = 3")
        connection.commit()
        connection.close()
        out = run("verify", path, code=3)
        assert out.startswith("Not sound:\n- entry 3 was changed\n")
        assert "entries_stay is gone" in out
        found: dict[str, Any] = json.loads(run("verify", path, "--json", code=3))
        assert found["sound"] is False
        assert found["problems"][0] == "entry 3 was changed"

    def test_another_checkpoint(self, path: str) -> None:
        out = run("verify", path, "--checkpoint", "6:" + "0" * 64, code=3)
        assert "the ledger was rewritten" in out

    def test_bad_input(self, path: str, tmp_path: Path) -> None:
        assert "SEQ:HASH" in run("verify", path, "--checkpoint", "six", code=2)
        assert "there is no ledger" in run("verify", str(tmp_path / "none"), code=5)
        assert "use a path or postgresql://" in run("verify", "mysql://host/db", code=2)

    def test_not_a_ledger(self, tmp_path: Path) -> None:
        """Another file was named: that can be put right, and is no damage."""
        path = tmp_path / "notes.csv"
        path.write_text("age,town\n3,a\n")
        for command in ("show", "log", "verify", "checkpoint", "export"):
            assert "is not a ledger. Name another file" in run(command, str(path), code=2)


def test_tables_of_show_and_verify(path: str) -> None:
    head, first, *rest = run("show", path, "--csv").splitlines()
    assert head == "dataset,analyst,unit,neighbours,budget,spent,left,charges,answers"
    assert first.startswith("people,,")
    assert any(line.startswith("people,ana,") for line in rest)
    assert run("show", path, "--markdown").splitlines()[1] == "|" + " --- |" * 9
    assert run("verify", path, "--csv").splitlines()[1].startswith("true,")
    assert "choose one" in run("verify", path, "--csv", "--markdown", code=2)


class TestLog:
    def test_table(self, path: str) -> None:
        head, *lines = run("log", path, "people").splitlines()
        assert head.split() == ["when", "who", "account", "what", "cost", "left", "after"]
        assert [line.split()[2:] for line in lines][1] == [
            "ana",
            "people",
            "how",
            "many?",
            *["rho", "0.125", "rho", "0.875"],
        ]
        assert len(run("log", path).splitlines()) == 5

    def test_other_shapes(self, path: str) -> None:
        found = json.loads(run("log", path, "--json"))
        assert set(found) == {"ledger", "checkpoint", "log"}
        assert found["log"][1]["cost"] == {"amount": "0.125", "delta": "0"}
        assert run("log", path, "--csv").splitlines()[0] == "seq,when,who,account,what,cost,left after"
        assert run("log", path, "--markdown").splitlines()[1] == "|---|---|---|---|---|---|"
        assert "choose one" in run("log", path, "--csv", "--json", code=2)

    def test_filters(self, path: str) -> None:
        assert run("log", path, "--since", "2200") == "Nothing was done then.\n"
        assert len(run("log", path, "--analyst", "ana").splitlines()) == 2
        assert "since is 'soon'" in run("log", path, "--since", "soon", code=2)
        assert "did you mean 'people'" in run("log", path, "peopel", code=2)


class TestSteward:
    def test_the_life_of_an_account(self, tmp_path: Path) -> None:
        where = str(tmp_path / "new.ledger")
        plan = ("--budget", "zcdp:0.5", "--ceiling", "zcdp:1", "--renewals", "1")
        out = run("open", where, "people", *plan, "--share", "ana=1/2", "--share", "ben=zcdp:0.4")
        assert out == "Opened: people, ZCDP(rho=0.5); promised in all: ZCDP(rho=2.0).\n"
        assert "has an account 'people' already" in run("open", where, "people", "--budget", "zcdp:1", code=2)
        assert run("raise", where, "people", "zcdp:0.8") == "Raised: ZCDP(rho=0.8) is left.\n"
        assert "above that" in run("raise", where, "people", "zcdp:3", code=2)
        assert run("renew", where, "people", "--note", "2027") == "Renewed: ZCDP(rho=1.6) is left.\n"
        assert "No theorem resets a person" in run("renew", where, "people", code=2)
        assert run("share", where, "people", "ana", "zcdp:0.1") == "Granted: ana may spend ZCDP(rho=0.9).\n"
        shown = run("show", where)
        assert "people: promised in all, rho 2 (1 of 1 renewals used)." in shown
        assert "a renewal adds the budget to what was left; spent and left are of the rho 1.6 opened" in shown
        assert "the shares come to more than the budget" in shown
        assert "say --yes" in run("close", where, "people", code=2)
        assert run("close", where, "people", "--yes") == "Closed: people.\n"
        assert "closed for ever" in run("show", where)
        assert json.loads(run("show", where, "--json"))["accounts"][0]["closed"] is True
        assert "Sound: 6 entries" in run("verify", where)

    def test_bad_input(self, tmp_path: Path, path: str) -> None:
        where = str(tmp_path / "new.ledger")
        assert "must be NAME=SHARE" in run("open", where, "x", "--budget", "zcdp:1", "--share", "ana", code=2)
        assert not Path(where).exists()
        assert "is not a guarantee" in run("raise", path, "people", "rho:3", code=2)
        assert "no account for the dataset 'cats'" in run("renew", path, "cats", code=5)


def test_statement(path: str, tmp_path: Path) -> None:
    out, year = tmp_path / "statement.html", str(datetime.datetime.now(datetime.UTC).year)
    assert run("statement", path, "--out", str(out)) == f"Written: {out}\n"
    assert f"charged in {year}" in out.read_text(encoding="utf-8")
    assert "how many?" in out.read_text(encoding="utf-8")
    assert "name a new one" in run("statement", path, "--year", year, "--out", str(out), code=2)
    assert "the year is 3" in run("statement", path, "--year", "3", "--out", str(out), code=2)


class TestExport:
    def test_to_the_screen_and_to_a_file(self, path: str, tmp_path: Path) -> None:
        lines = run("export", path)
        assert len(lines.splitlines()) == 8
        out = tmp_path / "out.jsonl"
        assert run("export", path, "--out", str(out)) == f"Written: {out}\n"
        assert out.read_text() == lines

    def test_readable(self, path: str) -> None:
        lines = [json.loads(line) for line in run("export", path, "--readable").splitlines()]
        charge = next(line for line in lines if line.get("kind") == "charge")
        assert (charge["what"], charge["question"], charge["cost"]["amount"]) == (
            "how many?",
            "how many?",
            "0.125",
        )

    def test_never_over_a_file(self, path: str) -> None:
        before = Path(path).read_bytes()
        assert "which exists; name a new file" in run("export", path, "--out", path, code=2)
        assert Path(path).read_bytes() == before

    def test_no_folder(self, path: str, tmp_path: Path) -> None:
        assert "cannot be written" in run("export", path, "--out", str(tmp_path / "no" / "x"), code=2)


class TestCheckpoint:
    def test_kept_in_a_file(self, path: str, tmp_path: Path) -> None:
        kept = tmp_path / "people.checkpoint"
        first = run("checkpoint", path, "--file", str(kept))
        assert kept.read_text() == first == run("checkpoint", path)
        young = Path(path).read_bytes()
        with Ledger.open(path) as ledger:
            ledger.existing("pets").charge("r", losses.gaussian(sigma=30.0))
        second = run("checkpoint", path, "--file", str(kept))
        assert kept.read_text() == second != first
        for command in ("show", "verify"):
            run(command, path, "--checkpoint", f"@{kept}")
        Path(path).write_bytes(young)
        assert "does not contain the checkpoint" in run("checkpoint", path, "--file", str(kept), code=3)
        assert kept.read_text() == second
        assert "does not contain the checkpoint" in run("show", path, "--checkpoint", f"@{kept}", code=3)
        assert "an old copy" in run("verify", path, "--checkpoint", f"@{kept}", code=3)

    def test_no_file(self, path: str, tmp_path: Path) -> None:
        assert "there is no checkpoint" in run("show", path, "--checkpoint", f"@{tmp_path / 'none'}", code=2)
        there = str(tmp_path / "no" / "x")
        assert "cannot be written" in run("checkpoint", path, "--file", there, code=2)

    def test_with_a_question(self, path: str, tmp_path: Path) -> None:
        """An emptied or removed ledger is not begun anew where one is expected."""
        data = tmp_path / "pets.csv"
        data.write_text("age\n1\n2\n")
        where = str(tmp_path / "asked.ledger")
        ask = [
            "query",
            str(data),
            "--agg",
            "n=count()",
            "--budget",
            "zcdp:0.1",
            "--total",
            "zcdp:1",
            "--ledger",
            where,
        ]

        def asked(*more: str) -> str:
            return CliRunner().invoke(program.app, [*ask, *more], prog_name="dalenius").output

        assert "there is no ledger" in asked("--no-create")
        assert "Left" in asked()
        kept = tmp_path / "kept"
        run("checkpoint", where, "--file", str(kept))
        assert "Left" in asked("--no-create", "--checkpoint", f"@{kept}")
        Path(where).unlink()
        assert "there is no ledger" in asked("--checkpoint", f"@{kept}")
        Ledger.open(where).close()
        assert "does not contain the checkpoint" in asked("--checkpoint", f"@{kept}")


def test_grant_is_for_servers(path: str) -> None:
    assert "a ledger in a file has no roles" in run("grant", path, "ana", code=2)


def test_names_do_not_command_the_terminal(tmp_path: Path) -> None:
    path = str(tmp_path / "people.ledger")
    name = "a\x1b[2Jb\u202ec\rd\ne"
    with Ledger.open(path) as ledger:
        ledger.account(name, dp.ZCDP(1.0), name, shares={name: 1})
        for problem in (
            lambda: ledger.existing(name, "eve"),
            lambda: ledger.account(name, dp.ZCDP(1.0), shares={"eve": 1}),
            lambda: ledger.existing(name).charge("q", losses.gaussian(sigma=3.0)),
        ):
            with pytest.raises(dp.errors.InvalidParameter) as caught:
                problem()
            assert str(caught.value).isprintable()
    for shown in (run("show", path), run("verify", path)):
        assert shown.replace("\n", "").isprintable()
    assert "a\\x1b[2Jb\\u202ec\\rd\\ne" in run("show", path)


def test_an_export_is_private(path: str, tmp_path: Path) -> None:
    run("export", path, "--out", str(tmp_path / "out"))
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("command", ["show", "verify", "export", "checkpoint", "grant", "convert"])
def test_help_lists_the_exit_codes(command: str) -> None:
    assert "Exit codes:" in run(command, "--help")


GOLDEN = Path(__file__).parents[1] / "session" / "golden" / "v1.ledger"


class TestConvert:
    def test_it_says_what_it_did(self, tmp_path: Path) -> None:
        old, new = str(shutil.copy(GOLDEN, tmp_path / "old")), str(tmp_path / "new")
        assert "ledger convert" in run("show", old, code=5)
        assert run("convert", old, new).splitlines()[:2] == [f"Converted: {new}", f"Closed: {old}"]
        assert run("convert", old, new).startswith("Was converted before: ")
        found = json.loads(run("convert", old, new, "--json"))
        assert (found["new"], found["charges"], found["finished_before"]) == (new, 13, True)
        head, line = csv.reader(run("convert", old, new, "--csv").splitlines())
        assert dict(zip(head, line, strict=True)) == {
            word: "true" if value is True else str(value) for word, value in found.items()
        }
        # What is spent at four digits, rounded up, and what is left rounded down; CSV has all digits.
        shown = run("show", new, "--checkpoint", found["checkpoint"])
        assert "rho 0.7657" in shown or "rho 0.7656" in shown
        assert "0.765625" not in shown
        assert "rho 0.765625" in run("show", new, "--csv")
        assert "was closed" in run("show", old, code=5)
        assert "two budgets" in run("convert", old, str(tmp_path / "another"), code=5)

    def test_what_is_refused(self, path: str, tmp_path: Path) -> None:
        assert "already" in run("convert", path, str(tmp_path / "new"), code=2)
        assert "no ledger" in run("convert", str(tmp_path / "nothing"), str(tmp_path / "new"), code=5)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
def test_a_full_disk_ends_with_a_message(path: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from dalenius.cli.main import main; main()", "ledger", "export", path],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: standard output cannot be written")
    assert "Traceback" not in done.stderr
