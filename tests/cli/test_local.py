"""`dalenius local parameters | report | aggregate | page` as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dalenius.cli.main import app


def run(*words: object, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["local", *(str(word) for word in words)], input=given)


@pytest.fixture
def public(tmp_path: Path) -> Path:
    made = run(
        "parameters", "randomized_response", "--epsilon", 3, "--categories", "no, yes", "--survey", "vote"
    )
    assert made.exit_code == 0, made.output
    path = tmp_path / "vote.json"
    path.write_text(made.output, encoding="utf-8")
    return path


def test_from_parameters_to_shares(public: Path, tmp_path: Path) -> None:
    reports = run("report", public, *["yes"] * 40, *["no"] * 10)
    assert len(reports.output.splitlines()) == 50
    (tmp_path / "reports.jsonl").write_text(reports.output + "junk\n\n", encoding="utf-8")
    tally = tmp_path / "tally.json"
    shown = run("aggregate", public, tmp_path / "reports.jsonl", "--tally", tally)
    assert "50 reports; 1 message was left out (not JSON: 1)" in shown.output
    again = json.loads(run("aggregate", tally, "--json", given=reports.output).output)
    assert (again["people"], again["rejected"]) == (100, {"not JSON": 1})
    assert [row["answer"] for row in again["answers"]] == ["no", "yes"]
    assert all(row["lower"] <= max(0.0, min(1.0, row["share"])) <= row["upper"] for row in again["answers"])


def test_numbers(tmp_path: Path) -> None:
    public = tmp_path / "hours.json"
    public.write_text(
        run("parameters", "one_bit_mean", "--epsilon", 2, "--bounds", "0,40").output, encoding="utf-8"
    )
    reports = run("report", public, 1, 7.5, 99, "1e1")
    shown = json.loads(run("aggregate", public, "--json", given=reports.output).output)
    assert shown["people"] == 4
    assert 0 <= shown["lower"] <= shown["upper"] <= 40


def test_a_tally_is_no_report(public: Path, tmp_path: Path) -> None:
    reports, tally = run("report", public, "yes"), tmp_path / "tally.json"
    assert "1 report\n" in run("aggregate", public, "--tally", tally, given=reports.output).output
    refused = run("aggregate", public, tally)
    assert refused.exit_code == 2
    assert "no report of this survey; 1 message was left out" in refused.output


def test_what_may_be_answered_is_said(public: Path) -> None:
    assert "categories of the survey: no, yes." in run("report", public, "perhaps").output


def test_page(public: Path) -> None:
    assert "Really?" in run("page", public, "Really?").output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("parameters", "rappor", "--epsilon", 1, "--k", 3), "not a kind"),
        (("parameters", "local_hashing", "--epsilon", 1), "--k or --categories"),
        (
            ("parameters", "local_hashing", "--epsilon", 1, "--k", 3, "--categories", "a,b,c"),
            "--k or --categories",
        ),
        (("parameters", "one_bit_mean", "--epsilon", 1, "--k", 3), "--bounds"),
        (("parameters", "one_bit_mean", "--epsilon", 1, "--bounds", "3"), "two numbers"),
        (("parameters", "one_bit_mean", "--epsilon", 1, "--bounds", "3,2"), "bounds"),
        (("parameters", "local_hashing", "--epsilon", 100, "--k", 3), "epsilon"),
        (("report", "nowhere.json", 1), "cannot be read"),
        (("aggregate", "nowhere.json"), "cannot be read"),
    ],
)
def test_refusals(words: tuple[object, ...], said: str) -> None:
    refused = run(*words)
    assert refused.exit_code == 2
    assert said in refused.output


def test_refuses_a_value_without_showing_it(public: Path, tmp_path: Path) -> None:
    refused = run("report", public, "yes", "maybe")
    assert refused.exit_code == 2
    assert "maybe" not in refused.output
    assert "report" not in refused.stdout
    assert run("aggregate", public, tmp_path).exit_code == 2
    public.write_bytes(b"\xff\xfe")
    assert run("report", public, "yes").exit_code == 2
