"""The client in JavaScript, in Chromium: the same reports as Python's from the same words, and the exact law."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dalenius import local
from dalenius.local.wire.aggregator import Aggregator
from dalenius.local.wire.client import Client
from dalenius.local.wire.page import survey_page
from dalenius.local.wire.parameters import Parameters
from tests.browser import browser as browser
from tests.browser import page as page
from tests.local.wire.laws import law
from tests.local.wire.surveys import SURVEYS, fixed_words, values

LARGE = {
    "hashing, large": Parameters(local.LocalHashing(epsilon=2.0, k=50_000_000), "lh"),
    "hadamard, large": Parameters(local.HadamardResponse(epsilon=1.0, k=60_000_000), "h"),
    "response, large": Parameters(local.RandomizedResponse(epsilon=10.0, k=60_000_000), "rr"),
    "unary, long": Parameters(local.OptimizedUnaryEncoding(epsilon=1.0, k=203), "ou"),
    "piecewise, sharp": Parameters(local.Piecewise(epsilon=9.0, bounds=(-1e6, 3e-3)), "pw"),
    "hybrid, one bit": Parameters(local.Hybrid(epsilon=0.5, bounds=(-1e6, 3e-3)), "hy"),
}
COINS = ("fits", "own", "bit", "on")
FALSE_ALARM = 1e-9
DRAWS = 10_000

FROM_WORDS = """([parameters, values, words]) => {
  let next = 0;
  const secure = crypto.getRandomValues;
  crypto.getRandomValues = (array) => { array[0] = BigInt(words[next++]); return array; };
  try {
    return values.map((value) => [daleniusLocal.report(JSON.parse(parameters), value).report, next]);
  } finally { crypto.getRandomValues = secure; }
}"""
DRAWN = """([parameters, value, count]) => {
  const p = JSON.parse(parameters);
  return Array.from({ length: count }, () => daleniusLocal.report(p, value).report);
}"""
REFUSED = """([parameters, value]) => {
  try { daleniusLocal.report(parameters, value); return null; } catch (problem) { return problem.message; }
}"""


def opened(page: Any, survey: Parameters, folder: Path, question: str = "Which?") -> Any:
    path = folder / "survey.html"
    path.write_text(survey_page(survey, question), encoding="utf-8")
    page.goto(path.as_uri())
    return page


def test_the_same_reports_from_the_same_words(page: Any, tmp_path: Path) -> None:
    opened(page, SURVEYS["binary"], tmp_path)
    for start, (name, survey) in enumerate((SURVEYS | LARGE).items()):
        chosen = (
            values(survey) if name in SURVEYS or survey.is_for_numbers else [0, 7, survey.mechanism.k - 1]
        )
        asked = chosen * (60 // len(chosen))
        words = list(itertools.islice(fixed_words(10_000 * start), enough(survey) * len(asked)))
        found = page.evaluate(FROM_WORDS, [survey.to_json(), asked, [str(word) for word in words]])
        client, taken = Client(survey), 0
        for value, (report, next_) in zip(asked, found, strict=True):
            source = iter(words[taken:next_])
            assert client._draw(value, source) == report, name
            assert next(source, None) is None, name
            taken = next_
    assert page.problems == []


def whole(name: str, number: Any) -> bool:
    return isinstance(number, int) and name != "version"


def enough(survey: Parameters) -> int:
    """Words for one report: a few, or one for each bit; some may be thrown away."""
    if "on" in survey.constants:
        return 300
    return 8 if survey.is_for_numbers or ("fits" in survey.constants and "d" not in survey.constants) else 220


@pytest.mark.parametrize(
    "name", ["binary", "five", "optimized unary", "hadamard blocks", "subset", "one bit"]
)
def test_the_exact_law(name: str, page: Any, tmp_path: Path) -> None:
    """The distance of shares from their chances, summed over K reports, is above sqrt(2 (K log 2 + log 1/a)/n) with
    probability at most a (Weissman et al. 2003)."""
    survey = SURVEYS[name]
    low, high = survey.mechanism.bounds if survey.is_for_numbers else (0, 0)
    value: Any = (3 * low + high) / 4 if survey.is_for_numbers else values(survey)[1]
    opened(page, survey, tmp_path)
    reports = page.evaluate(DRAWN, [survey.to_json(), value, DRAWS])
    counts = Counter(json.dumps(report) for report in reports)
    exact = law(Client(survey), value)
    assert counts.keys() <= exact.keys()
    allowed = math.sqrt(2 * (len(exact) * math.log(2) - math.log(FALSE_ALARM)) / DRAWS)
    assert distance(counts, exact) <= allowed
    planted = Parameters(
        type(survey.mechanism)(**{**arguments(survey), "epsilon": survey.mechanism.epsilon + 1.5})
    )
    wrong = law(Client(Parameters(planted.mechanism, survey.survey, survey.categories)), value)
    assert distance(counts, wrong) > allowed


def arguments(survey: Parameters) -> dict[str, Any]:
    if survey.is_for_numbers:
        return {"bounds": survey.mechanism.bounds}
    return {name: getattr(survey.mechanism, name) for name in survey.kind.settings}


def distance(counts: Counter[str], exact: Counter[str]) -> float:
    return sum(abs(counts[report] / DRAWS - float(chance)) for report, chance in exact.items())


def test_a_person_answers(page: Any, tmp_path: Path) -> None:
    survey = SURVEYS["binary"]
    opened(page, survey, tmp_path, "Did <you> vote & when?")
    assert page.inner_text("h1") == "Did <you> vote & when?"
    page.click("#make")
    assert "nothing is chosen" in page.inner_text("#report")
    page.select_option("#value", "yes")
    page.click("#make")
    collector = Aggregator(survey)
    assert collector.add(page.inner_text("#report")) == 1
    assert page.is_disabled("#make")
    assert page.problems == []
    assert all(url.startswith("file:") for url in page.fetched)


def test_every_category_can_be_reported(page: Any, tmp_path: Path) -> None:
    """Whoever could not report would be known by that."""
    names = ("a", " a", "b  c", " ", "<i> & \"'", "x\ny")
    survey = Parameters(local.RandomizedResponse(epsilon=1.0, k=len(names)), "spaces", names)
    for place in range(len(names)):
        opened(page, survey, tmp_path)
        page.select_option("#value", index=place + 1)
        page.click("#make")
        assert Aggregator(survey).add(page.inner_text("#report")) == 1


def test_tampered_parameters_and_bad_values_are_refused(page: Any, tmp_path: Path) -> None:
    opened(page, SURVEYS["binary"], tmp_path)
    for survey in SURVEYS.values():
        public, value = json.loads(survey.to_json()), values(survey)[0]
        assert page.evaluate(REFUSED, [public, value]) is None
        worse = [{**public, "epsilon": "0.5"}, {**public, "version": 2}, {**public, "kind": "toString"}]
        worse += [{**public, coin: wrong} for coin in COINS if coin in public for wrong in wrongs()]
        if "other" in public:
            worse += [{**public, "other": "0"}, {**public, "other": "-1"}]
        if "on" in public:  # that tells more, and that never ends
            worse += [{**public, "on": str(int(int(public["on"]) * 0.99))}, {**public, "steps": 200}]
            worse += [{**public, "on": str(2**64 - 2**40)}]
        if "block_size" in public:
            worse += [{**public, "k": 1000}, {**public, "block_size": 6}]
        if "prime" in public:
            worse += [{**public, "prime": wrong} for wrong in (2**53 - 1, 6.5, -7)]
        if "d" in public:
            worse += [{**public, "d": wrong} for wrong in (0, 2.5, public["k"])]
        if survey.kind.tag == "randomized_response":
            worse += [{**public, "k": public["k"] + 1, "categories": None}]
        # Text in the place of a number is added by writing it behind: what comes out would tell the answer.
        worse += [{**public, name: str(number)} for name, number in public.items() if whole(name, number)]
        if (
            not survey.is_for_numbers
        ):  # a kind for answers that is told bounds does not take numbers for answers
            assert page.evaluate(REFUSED, [{**public, "lowest": "0.0", "highest": "1.0"}, 0.123])
        else:
            worse += [{**public, "lowest": "-1.7e308", "highest": "1.7e308"}]
        for message in worse:
            assert page.evaluate(REFUSED, [message, value]), message
        for odd in (None, "12", [], -1, 0.5, 10**9) if not survey.is_for_numbers else (None, "12", []):
            assert page.evaluate(REFUSED, [public, odd])


def wrongs() -> list[str]:
    return [str(2**64), str(2**64 + 5), str(2**64 - 1), "-1", "0"]
