"""The text that a result is kept as reads for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter

GOLDEN = Path(__file__).parents[1] / "golden" / "test_result_1.json"


def made() -> dp.infer.TestResult:
    return dp.infer.TestResult(
        "chi-square test of independence",
        "the 2 rows and 2 columns are independent",
        3.25,
        0.0714,
        loss=dp.losses.gaussian(sigma=2.0, adjacency=dp.REPLACE_ONE),
        released={"counts": [[1.5, -2.0], [0.1, 7.0]]},
        estimates={"rows": 7.0},
        notes=["A note."],
    )


def test_golden() -> None:
    """It was written before the texts of losses told their relation, and reads and writes back as it was."""
    written = GOLDEN.read_text().strip()
    assert made().to_json().replace(", adjacency=replace_one", "") == written
    found = dp.infer.TestResult.from_json(written)
    assert found.to_json() == written
    assert not found.rejects(0.05)
    assert found.rejects(0.1)
    assert found.released["counts"].shape == (2, 2)


def test_what_is_read_back_reads_the_same() -> None:
    estimates = {"share": 0.4, "lower limit (95 %)": 0.3, "upper limit (95 %)": 0.5}
    first = dp.infer.TestResult("t", "h", 1.0, 0.5, estimates=estimates, released={"sum": 1.0, "rows": 2.0})
    again = dp.infer.TestResult.from_json(first.to_json())
    assert again.summary() == first.summary()
    assert list(again.released) == ["sum", "rows"]
    lost = first.to_json().replace('["share",', "[")
    for wrong in (lost, first.to_json().replace('["share"', '["part"')):
        with pytest.raises(InvalidParameter):
            dp.infer.TestResult.from_json(wrong)


def test_what_is_no_result() -> None:
    text = GOLDEN.read_text()
    for wrong in (
        text.replace('"version":1', '"version":2'),
        text.replace('"p":"0.0714"', '"p":"1.2"'),
        "{}",
    ):
        with pytest.raises(InvalidParameter):
            dp.infer.TestResult.from_json(wrong)


def test_summary() -> None:
    lines = made().summary()
    assert "0.0714" in lines
    assert "0.5-GDP" in lines
    assert "- A note." in lines
    free = dp.infer.TestResult("t", "h", 1.0, 0.5)
    assert "paid for where the numbers were released" in repr(free)


def test_summary_lines_up_and_keeps_the_case_of_names() -> None:
    means = {"mean of 'Prof-school'": 47.4, "P(x > y) - P(x < y)": 0.1}
    text = dp.infer.TestResult("t", "h", 1.0, 0.5, estimates=means).summary()
    assert "Mean of 'Prof-school': 47.4" in text
    assert "P(x > y) - P(x < y):   0.1" in text


def test_a_paired_test_says_that_it_is_one() -> None:
    found = dp.infer.paired_mean_test([1.0, 2.0], [2.0, 1.0], dp.GDP(1.0), bounds=(-5, 5), alternative="less")
    assert (found.method, found.hypothesis) == (
        "paired test of means",
        "the mean difference is 0 or more than 0",
    )
