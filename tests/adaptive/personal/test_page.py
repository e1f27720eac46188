"""The page in a real browser: its numbers are Python's, nothing is fetched, and foreign script does not run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive.personal.worst_case import WorstCase
from tests.adaptive.personal.golden_reports import categories, records, reports, targets
from tests.browser import browser as browser
from tests.browser import page as page

COUNT = 200


def numbered(name: str, labels: np.ndarray) -> list[float]:
    """Labels as the form gives them: which of two classes, or the number."""
    if labels.dtype == object:
        return [float(label in ("yes", 1.5)) for label in labels]
    return labels.tolist()


@pytest.mark.parametrize("name", reports())
def test_the_same_numbers(name: str, page: Any, tmp_path: Path) -> None:
    report, path = reports()[name], tmp_path / "report.html"
    report.save(path)
    page.goto(path.as_uri())
    given, labels = records(COUNT, seed=3), targets(name, COUNT)
    people = [
        {**dict(zip(given, values, strict=True)), "target": label}
        for *values, label in zip(
            *(column.tolist() for column in given.values()), numbered(name, labels), strict=True
        )
    ]
    for statement, how_many in (("one", 1), ("everyone", math.inf)):
        for member in (True, False, None):
            found = page.evaluate(
                "([people, s, m]) => people.map((p) => privacyReport.epsilon(p, s, m))",
                [people, statement, member],
            )
            expected = report.epsilon({**given, "target": labels}, people=how_many, member=member)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert page.problems == []
    assert page.fetched == [path.as_uri()]


def test_typing_a_record(page: Any, tmp_path: Path) -> None:
    report, path = reports()["logistic"], tmp_path / "report.html"
    report.save(path)
    page.goto(path.as_uri())
    assert "Fill in" in page.inner_text("#answer")
    for n, value in enumerate((40, 12, 0.5)):
        page.fill(f"#field{n}", str(value))
    assert "Fill in" in page.inner_text("#answer")  # no label is chosen for anybody
    page.select_option("#field3", label="yes")
    person = dict(zip(records(1), (40, 12, 0.5), strict=True)) | {"target": "yes"}
    assert f"ε = {up(report.epsilon(person))}" in page.inner_text("#answer")
    assert up(report.worst()) in page.text_content("#picture")
    page.select_option("#statement", "everyone")
    page.select_option("#member", "no")
    assert f"ε = {up(report.epsilon(person, people=math.inf, member=False))}" in page.inner_text("#answer")
    page.fill("#field0", "")
    assert "Fill in" in page.inner_text("#answer")
    assert page.problems == []


def test_categories(page: Any, tmp_path: Path) -> None:
    """A list to choose from for a column of categories, and the numbers of Python for each of them."""
    report, path = categories(), tmp_path / "report.html"
    report.save(path)
    page.goto(path.as_uri())
    for n, sex in enumerate(("f", "m", "another")):
        person = {"age": 40.0, "sex": sex, "school": 12.0, "target": "yes"}
        for member in (True, False, None):
            found = page.evaluate(
                "([p, m]) => privacyReport.epsilon(p, 'one', m)",
                [{**person, "sex": n if n < 2 else -1, "target": 1}, member],
            )
            assert found == pytest.approx(report.epsilon(person, member=member), rel=1e-9)
    page.fill("#field0", "40")
    page.fill("#field2", "12")
    page.select_option("#field3", label="yes")
    assert "Fill in" in page.inner_text("#answer")  # nor is a category chosen for anybody
    page.select_option("#field1", label="m")
    assert f"ε = {up(report.epsilon({**person, 'sex': 'm'}))}" in page.inner_text("#answer")
    assert page.problems == []


def up(bound: float) -> str:
    """A bound with three digits, rounded up: it is an upper bound as it is shown, too."""
    return f"{math.ceil((bound - 1e-9) * 1000) / 1000:.3f}"


def test_bounds_are_rounded_up(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    dp.adaptive.PrivacyReport([WorstCase(dp.losses.pure(0.3001), "counts")]).save(path)
    page.goto(path.as_uri())
    assert "ε = 0.301. " in page.inner_text("#answer")
    assert "57.5 %" in page.inner_text("#answer")  # 57.446 %


def test_foreign_script_does_not_run(page: Any, tmp_path: Path) -> None:
    """The policy of the page allows its own script and style by hash: what gets into it otherwise is dead."""
    path = tmp_path / "report.html"
    text = reports()["logistic"].page(title="</title><script>window.spoiled = 1</script>")
    assert "<script>window.spoiled" not in text
    path.write_text(
        text.replace("</body>", "<script>window.spoiled = 1</script><img src=x onerror=spoiled=1></body>")
    )
    page.goto(path.as_uri())
    assert page.evaluate("window.spoiled === undefined")
    assert page.evaluate("typeof privacyReport.epsilon") == "function"
    assert any("Content Security Policy" in problem for problem in page.problems)
    assert page.title() == "</title><script>window.spoiled = 1</script>"
