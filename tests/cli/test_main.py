"""The program: every command, its JSON, its exit codes."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dalenius as dp
from dalenius.cli import main as program
from dalenius.cli import show
from dalenius.cli.loss_expressions import evaluate, parse, read_loss
from dalenius.cli.promises import read_promise
from dalenius.core import decimals

RUN = "poisson(0.01, gaussian(1.0)) * 10000 + laplace(2)"
LOSS = dp.losses.poisson_sampled(dp.losses.gaussian(1.0), 0.01) * 10_000 + dp.losses.laplace(2)
PROGRAM = str(Path(sys.executable).with_name("dalenius"))


def run(*arguments: str, code: int = 0) -> str:
    """What the program prints, run inside this process."""
    result = CliRunner().invoke(program.app, list(arguments), prog_name="dalenius")
    assert result.exit_code == code, result.output
    if code:
        assert result.stdout == ""
        return result.stderr
    assert result.stderr == ""
    return result.stdout


def run_json(*arguments: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(run(*arguments, "--json"), parse_constant=refuse)


def run_outside(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The installed program, as a process of its own."""
    env = os.environ | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, encoding="utf-8", env=env, timeout=120
    )


class TestOutside:
    """Each command once as users run it; the rest of this file stays inside one process, which is quicker."""

    def test_account(self) -> None:
        done = run_outside("account", RUN, "--delta", "1e-5")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[:2] == [
            "Loss: poisson_sampled(gaussian(sigma=1), rate=0.01) * 10000 + laplace(scale=2)",
            "Neighbours: add/remove one record",
        ]
        assert "1e-5   6.507280          6.507281         remove" in done.stdout

    def test_calibrate(self) -> None:
        done = run_outside("calibrate", "gaussian(sigma)", "--for", "approx:1.0,1e-5")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("sigma = 3.73063")

    def test_explain(self) -> None:
        done = run_outside("explain", "laplace(2)")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.strip() == dp.losses.laplace(2).explain()

    def test_plot(self, tmp_path: Path) -> None:
        out = tmp_path / "curve.png"
        done = run_outside("plot", "gaussian(1) + laplace(2)", "--out", str(out))
        assert (done.returncode, done.stderr) == (0, "")
        assert out.read_bytes().startswith(b"\x89PNG")

    def test_bad_input(self) -> None:
        done = run_outside("account", "gausian(1.0)")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            'Error: "gausian" is not a loss known here; did you mean "gaussian"?\n  gausian(1.0)\n  ^^^^^^^\n'
        )

    def test_help_is_quick_and_documents_exit_codes(self) -> None:
        code = (
            "import sys; sys.argv = ['dalenius', '--help']\n"
            "from dalenius.cli.main import main\n"
            "try:\n    main()\n"
            "finally:\n    print(sorted({'numpy', 'scipy', 'rich', 'matplotlib'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        assert "Exit codes:" in done.stdout
        assert "dalenius losses" in done.stdout
        assert done.stdout.splitlines()[-1] == "[]"


class TestAccount:
    def test_bounds_are_rounded_outwards(self) -> None:
        out = run("account", RUN, "--delta", "1e-5", "--delta", "1e-12", "--epsilon", "3")
        found = {line.split()[0]: line.split()[1:3] for line in out.splitlines() if line[:1].isdigit()}
        for delta in ("1e-5", "1e-12"):
            lower, upper = LOSS.epsilon_bounds(float(delta))
            assert float(found[delta][0]) <= lower <= upper <= float(found[delta][1])
        lower, upper = LOSS.delta_bounds(3.0)
        assert float(found["3"][0]) <= lower <= upper <= float(found["3"][1])
        lower, upper = LOSS.delta_bounds(0.0)
        assert f"at least {decimals.rounded_down(lower)}, at most {decimals.rounded_up(upper)}" in out

    def test_promises_and_saved_losses(self, tmp_path: Path) -> None:
        kept = str(tmp_path / "run.json")
        out = run("account", RUN, "--promise", "advantage:0.9", "--save", kept)
        assert "advantage:0.9: kept; membership advantage is at most" in out
        assert dp.Loss.from_json(Path(kept).read_text()) == LOSS
        assert run_json("account", f"@{kept}")["expression"] == LOSS.expression
        found = run_json("account", f"@{kept}", "--promise", "tpr:0.99,0.5")["promises"]
        assert found[0]["kept"] is True
        assert found[0]["upper"] == pytest.approx(LOSS.power(0.5), rel=1e-6)

    @pytest.mark.parametrize("more", [(), ("--json",)])
    def test_a_broken_promise_has_an_exit_code_of_its_own(
        self, tmp_path: Path, more: tuple[str, ...]
    ) -> None:
        """After everything was printed and saved."""
        kept = tmp_path / "run.json"
        words = [
            "account",
            RUN,
            "--promise",
            "advantage:0.9",
            "--promise",
            "auc:0.51",
            "--save",
            str(kept),
            *more,
        ]
        result = CliRunner().invoke(program.app, words)
        assert result.exit_code == 7
        assert result.stderr == ""
        assert ("auc:0.51: NOT shown to be kept" in result.stdout) == (not more)
        assert ('"kept": false' in result.stdout) == bool(more)
        assert dp.Loss.from_json(kept.read_text()) == LOSS

    def test_a_file_that_is_there_is_kept_unless_told_otherwise(self, tmp_path: Path) -> None:
        kept = tmp_path / "run.json"
        kept.write_text("the only copy")
        said = run("account", "gaussian(1)", "--save", str(kept), code=2)
        assert "is there already" in said
        assert "--force" in said
        assert kept.read_text() == "the only copy"
        run("account", "gaussian(1)", "--save", str(kept), "--force")
        assert dp.Loss.from_json(kept.read_text()) == dp.losses.gaussian(1.0)
        new = tmp_path / "new.json"
        run("account", "gaussian(1)", "--save", str(tmp_path / "no folder" / "x"), code=2)
        assert not new.exists()

    def test_json_has_full_precision(self) -> None:
        found = run_json("account", RUN, "--delta", "1e-5", "--epsilon", "3", "--epsilon", "4")
        assert found["expression"] == LOSS.expression
        assert found["adjacency"] == "add_remove"
        assert found["engine"] == "auto"
        (row,) = found["epsilon_at_delta"]
        bounds = LOSS.epsilon_bounds(1e-5)
        assert (row["delta"], row["worse_direction"]) == (1e-5, "remove")
        assert row["upper"] == pytest.approx(bounds.upper, rel=1e-9)
        assert row["lower"] <= row["upper"]
        assert [row["epsilon"] for row in found["delta_at_epsilon"]] == [3.0, 4.0]
        assert set(found["total_variation"]) == {"lower", "upper"}

    def test_default_delta(self) -> None:
        (row,) = run_json("account", "laplace(2)")["epsilon_at_delta"]
        assert (row["delta"], row["worse_direction"]) == (1e-6, "same")
        assert run_json("account", "laplace(2)", "--epsilon", "1")["epsilon_at_delta"] == []

    def test_infinity_is_a_word(self) -> None:
        (row,) = run_json("account", "approx(1, 0.1)", "--delta", "1e-5")["epsilon_at_delta"]
        assert (row["lower"], row["upper"]) == ("inf", "inf")
        assert "Its losses have no largest value" in run("account", "gaussian(1)", "--delta", "0")
        told = run("account", "approx(2.92, 1e-5)+gaussian(5)", "--delta", "1e-5")
        assert "With probability up to 0.00101 % an outcome gives you away completely" in told

    @pytest.mark.parametrize(("p", "worse"), [("[0.9, 0.1]", "add"), ("[0.5, 0.5]", "remove")])
    def test_worse_direction(self, p: str, worse: str) -> None:
        q = "[0.5, 0.5]" if worse == "add" else "[0.9, 0.1]"
        found = run_json("account", f"from_pair({p}, {q})", "--epsilon", "0.7")
        assert found["delta_at_epsilon"][0]["worse_direction"] == worse

    @pytest.mark.parametrize(
        ("engine", "text"),
        # Each engine on a loss it answers quickly.
        [
            ("auto", "pure(1) * 5"),
            ("contour", "pure(1) * 5"),
            ("grid", "laplace(2) * 10"),
            ("proof", "pure(1) * 5"),
        ],
    )
    def test_engines(self, engine: str, text: str) -> None:
        found = run_json("account", text, "--delta", "1e-5", "--engine", engine)
        assert found["engine"] == engine
        (row,) = found["epsilon_at_delta"]
        exact = read_loss(text).epsilon_bounds(1e-5)
        assert row["lower"] <= exact.upper
        assert row["upper"] >= exact.lower

    def test_nothing(self) -> None:
        found = run_json("account", "laplace(2) * 0")
        assert found["epsilon_at_delta"][0]["upper"] == 0.0
        assert "Total variation: at least 0, at most 0" in run("account", "laplace(2) * 0")

    def test_a_terminal_gets_frames(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(show, "is_terminal", lambda: True)
        assert "│" in run("account", "laplace(2)")


class TestCalibrate:
    @pytest.mark.parametrize(
        ("text", "promise"),
        [
            ("poisson(0.01, gaussian(sigma)) * 10000", "approx:1.0,1e-5"),
            ("pure(e) * 10", "approx:1.0,1e-5"),
            ("laplace(b) + laplace(b, 2)", "pure:0.3"),
            ("gaussian(s) * 3", "gdp:1"),
            ("gaussian(s) * 3", "zcdp:0.1"),
            ("gaussian(s) * 3", "rdp:8,0.5"),
        ],
    )
    def test_the_printed_value_keeps_the_promise(self, text: str, promise: str) -> None:
        wanted = read_promise(promise)
        first, *_, last = run("calibrate", text, "--for", promise).splitlines()
        name, shown = first.split(" = ")
        assert wanted.holds(evaluate(parse(text), {name: float(shown)}))
        assert last.startswith("Verified: ")

        found = run_json("calibrate", text, "--for", promise)
        assert found["variable"] == name
        assert found["rounded"] == float(shown)
        assert found["rounded"] == pytest.approx(found["value"], rel=2e-6)
        assert found["verified"]["upper"] <= found["verified"]["promised"]
        assert wanted.holds(evaluate(parse(text), {name: found["value"]}))
        kind, values = promise.split(":")
        assert found["promise"] == {"kind": kind, "values": [float(v) for v in values.split(",")]}

    def test_the_bound_shown_is_not_above_the_promise(self) -> None:
        out = run("calibrate", "gaussian(s)", "--for", "gdp:1.0000000001")
        assert "at most" in out
        assert float(out.split("at most ")[1].split()[0]) <= 1.0000000001

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("gaussian(1)", "nothing to find"),
            ("gausian(1)", "did you mean"),
            ("gaussian(s) + laplace(b)", "these have no value: s, b"),
            ("gaussian(s) + laplace(-1)", "scale is -1.0"),
            ("gaussian(nan)", "finite numbers"),
            ("gaussian(s) + approx(1, 0.1)", "no parameter from"),
            ("gaussian(1) * n", "whole numbers of repetitions"),
            ("rr(1, k)", "k must be written as a whole number"),
        ],
    )
    def test_bad_expressions(self, text: str, message: str) -> None:
        assert message in run("calibrate", text, "--for", "approx:1,1e-5", code=2)

    def test_bad_promise(self) -> None:
        err = run("calibrate", "gaussian(s)", "--for", "aproks:1,1e-5", code=2)
        assert 'did you mean "approx"?' in err
        run("calibrate", "gaussian(s)", code=2)


class TestExplain:
    def test_text(self) -> None:
        assert run("explain", "laplace(2)", "--delta", "1e-5").strip() == dp.losses.laplace(2).explain(1e-5)

    def test_json(self) -> None:
        loss = dp.losses.laplace(2)
        found = run_json("explain", "laplace(2)")
        assert found["delta"] == 1e-6
        assert found["epsilon"] == pytest.approx(loss.epsilon(1e-6))
        assert found["membership_advantage"] == pytest.approx(loss.membership_advantage())
        assert [row["level"] for row in found["power"]] == [0.01, 0.05, 0.1]
        assert [row["prior"] for row in found["posterior"]] == [0.01, 0.1, 0.5]
        assert all(row["prior"] <= row["at_most"] <= 1 for row in found["posterior"])
        assert found["text"] == loss.explain()

    def test_nothing(self) -> None:
        assert "does not depend on the data" in run("explain", "laplace(2) * 0")
        assert run_json("explain", "laplace(2) * 0")["epsilon"] == 0.0


class TestPlot:
    def test_svg(self, tmp_path: Path) -> None:
        out = tmp_path / "curve.SVG"
        assert run("plot", "laplace(2)", "--out", str(out)).strip() == f"Drawn: {out}"
        assert "<svg" in out.read_text(encoding="utf-8")

    def test_bad_targets(self, tmp_path: Path) -> None:
        assert "must end in" in run("plot", "laplace(2)", "--out", "curve.txt", code=2)
        assert "does not exist" in run("plot", "laplace(2)", "--out", str(tmp_path / "no" / "a.png"), code=2)
        folder = tmp_path / "folder.png"
        folder.mkdir()
        assert "cannot be written" in run("plot", "laplace(2)", "--out", str(folder), code=2)

    def test_without_matplotlib(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        err = run("plot", "laplace(2)", "--out", str(tmp_path / "a.png"), code=2)
        assert "pip install 'dalenius[plot]'" in err


class TestExitCodes:
    def test_version(self) -> None:
        assert run("--version") == f"dalenius {dp.__version__}\n"

    @pytest.mark.parametrize("command", ["account", "calibrate", "explain", "plot"])
    def test_help(self, command: str) -> None:
        out = run(command, "--help")
        assert "Exit codes:" in out
        assert ("JSON keys" in out) == (command != "plot")

    @pytest.mark.parametrize(
        "arguments",
        [
            ("account", "gaussian(-1)"),
            ("account", "gaussian(1"),
            ("account", ""),
            ("account", "laplace(1)", "--delta", "2"),
            ("account", "laplace(1)", "--delta", "1"),
            ("account", "laplace(1)", "--delta", "nan"),
            ("account", "laplace(1)", "--delta", "-1e-5"),
            ("account", "laplace(1)", "--epsilon", "inf"),
            ("account", "laplace(1)", "--epsilon", "x"),
            ("account", "laplace(1)", "--engine", "magic"),
            ("explain", "laplace(1)", "--delta", "7"),
            ("explain", "(" * 5000),
        ],
    )
    def test_bad_input_is_one_message(self, arguments: tuple[str, ...]) -> None:
        err = run(*arguments, code=2)
        assert err.startswith("Error: ")
        assert "Traceback" not in err
        # A sentence, and at most the excerpt with its carets.
        assert len(err.splitlines()) in (1, 3)

    @pytest.mark.parametrize(
        "arguments", [("acount",), ("account",), ("account", "laplace(1)", "--dleta", "1")]
    )
    def test_bad_usage(self, arguments: tuple[str, ...]) -> None:
        assert "Error: " in run(*arguments, code=2)

    def test_overflow_is_bad_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def overflow(self: dp.Loss, *_: object) -> None:
            raise OverflowError

        monkeypatch.setattr(dp.Loss, "epsilon_bounds", overflow)
        assert "too extreme" in run("account", "laplace(1)", code=2)

    def test_the_unexpected_is_1(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def broken(self: dp.Loss, *_: object) -> None:
            raise IndexError("broken")

        monkeypatch.setattr(dp.Loss, "epsilon_bounds", broken)
        monkeypatch.setattr(sys, "argv", ["dalenius", "account", "laplace(1)"])
        with pytest.raises(SystemExit) as caught:
            program.main()
        assert caught.value.code == 1
        err = capsys.readouterr().err
        assert "IndexError: broken" in err
        assert err.splitlines()[-1].startswith("Error: unexpected IndexError; please report it")


def test_json_has_no_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    show.print_json({"a": [math.inf, -math.inf, 1.5, "x", 3, math.nan]})
    assert json.loads(capsys.readouterr().out) == {"a": ["inf", "-inf", 1.5, "x", 3, None]}


class TestTables:
    """What --json says, as lines of CSV and as Markdown, and nothing else on standard output."""

    def test_calibrate(self) -> None:
        words = ("calibrate", "gaussian(sigma)", "--for", "approx:1.0,1e-5")
        told = run_json(*words)
        (line,) = csv.DictReader(run(*words, "--csv").splitlines())
        assert line == {
            "parameter": "sigma",
            "value": repr(told["value"]),
            "promise": "approx:1.0,1e-05",
            "quantity": told["verified"]["quantity"],
            "at_most": repr(told["verified"]["upper"]),
            "promised": repr(told["verified"]["promised"]),
        }
        *_, row = run(*words, "--markdown").strip().splitlines()
        assert f"| sigma | {told['rounded']} |" in row

    def test_explain(self) -> None:
        words = ("explain", "gaussian(2) * 3", "--delta", "1e-6")
        told = run_json(*words)
        lines = list(csv.DictReader(run(*words, "--csv").splitlines()))
        found = {(line["number"], line["given"]): line["at_most"] for line in lines}
        assert found["epsilon", "1e-06"] == repr(told["epsilon"])
        assert found["auc", ""] == repr(told["auc"])
        for each in told["power"]:
            assert found["power", str(each["level"])] == repr(each["at_most"])
        for each in told["posterior"]:
            assert found["posterior", str(each["prior"])] == repr(each["at_most"])
        assert len(found) == len(lines) == 9
        assert run(*words, "--markdown").splitlines()[1] == "| --- | --- | --- |"
