"""Texts that stand for numbers, and are none or out of all reason: each is refused in words, wherever it is typed."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius.calculus.guarantees import from_record
from dalenius.errors import InvalidParameter
from dalenius.session.terms import checked_shares
from dalenius.web.analyst.budget import of_amount
from tests.sample import WHOLE
from tests.web.console import Console, csrf
from tests.web.test_texts import DRAFT, FORM, REQUESTS, planted, sent

BUDGETS: dict[str, dp.Guarantee] = {
    "approx": dp.ApproxDP(1.0, 1e-6),
    "zcdp": dp.ZCDP(0.5),
    "gdp": dp.GDP(0.7),
    "pure": dp.PureDP(1.0),
}
SIGNS = ("", "-", "+", " ")
SIZES = ("0", "1", "9e999999", "1e-999999", "9e99999999999", "1e-99999999999", "1e308", "1e309", "5e-324")
SPELT = ("nan", "inf", "snan", "nan1", "1_000", "٣", "0x10", "1e", ".", "1,5", "1" * 400, "0." + "1" * 400)
NUMBERS = [sign + number for sign, number in itertools.product(SIGNS, (*SIZES, *SPELT))] + [" 1 ", "1\t", ""]
FEW = (
    "9e999999",
    "1e-999999",
    "1e-99999999999",
    "nan",
    "-inf",
    "-0",
    "1_000",
    "٣",
    " 1 ",
    "0x10",
    "1e-320",
    "1e308",
)
"""To be sent to a console, where each takes a while."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With a data set for each kind of budget, called as the kind is."""
    with Console.made(Path(tmp_path_factory.mktemp("odd")), calls_per_minute=10**6) as made:
        frame = pd.DataFrame({"person": [1, 2], "age": [20, 30], "town": ["a", "b"]})
        frame["pay"] = [1.5, 2.5]
        facts = {
            "person": {"nulls": "never"},
            "age": {"bounds": [18, 90], "nulls": "drop"},
            "pay": {"bounds": [0, 100], "nulls": "drop"},
            "town": {"categories": ["a", "b"], "impute": "a"},
        }
        steward = made.api("Stella")
        for name, budget in BUDGETS.items():
            frame.to_parquet(made.data / f"{name}.parquet")
            source = {"kind": "file", "files": {"people": f"{name}.parquet"}}
            told = {**DRAFT, "name": name, "source": source, "facts": {"people": facts}}
            told |= {"budget": budget.record(), "shares": None}
            answer = steward.post("/api/v1/datasets", json=told)
            assert answer.status_code == 201, answer.text
            assert steward.post(f"/api/v1/datasets/{name}/open").status_code == 200
            assert steward.put(f"/api/v1/datasets/{name}/grants/Anna").status_code == 204
        frame.to_parquet(made.data / "other.parquet")
        frame.to_parquet(made.data / "people.parquet")
        yield made


@pytest.mark.parametrize("kind", BUDGETS)
def test_an_amount_is_a_promise_or_is_refused(kind: str) -> None:
    made, parameters = 0, set()
    for amount in NUMBERS:
        try:
            promise = from_record(of_amount(BUDGETS[kind], amount))
        except InvalidParameter as refused:
            parameters.add(refused.parameter)
            continue
        made += 1
        (number, *_) = promise.numbers.values()
        assert 0 < number < math.inf, amount
        assert number == float(amount), amount
    assert made > 5
    assert parameters == {"amount"}
    assert from_record(of_amount(BUDGETS[kind], "0.01"))
    for amount in ("9e999999", "1e-999999", "nan", "inf", "-0", "0x10", "1" * 400):
        with pytest.raises(InvalidParameter, match="must be a number above 0"):
            of_amount(BUDGETS[kind], amount)


def test_a_share_is_a_part_or_is_refused() -> None:
    """1e-999999999 is a fraction with a denominator of a billion digits."""
    begun = time.monotonic()
    for share in NUMBERS:
        try:
            (part,) = (checked_shares({"ana": share}, dp.ZCDP(1.0).filter()) or {}).values()
        except InvalidParameter:
            continue
        assert Decimal(share) == 1 or 0 < float(share) < 1, share
        assert part == pytest.approx(float(share))
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("kind", BUDGETS)
def test_amounts_on_the_pages(console: Console, kind: str) -> None:
    """Those of a question and of a model: also the errors, values and settings beside them."""
    api, browser = console.api("Anna"), console.browser("Anna")
    word = csrf(browser)
    model = {"what": "mean test", "features": "age", "value": "40", "amount": "0.01"}
    asked = {"sql": "SELECT AVG(age) AS n FROM people", "amount": "0.01", "confidence": "0.95"}
    for number in FEW:
        for field in ("amount", "value"):
            told = api.post(f"/api/v1/datasets/{kind}/models", json={**model, field: number})
            assert told.status_code in (200, 409, 422), (field, number, told.text)
        said = {**model, "settings": f"bounds = [0, {number}]"}
        told = api.post(f"/api/v1/datasets/{kind}/models", json=said)
        assert told.status_code in (200, 409, 422), (number, told.text)
        form = {**model, "amount": number, "csrf": word}
        told = browser.post(f"/datasets/{kind}/ask/model", data=form)
        assert told.status_code in (200, 409, 422), (number, told.text)
        for field in ("amount", "confidence", "error", "rows"):
            beside = {"error": "5"} if field == "rows" else {}
            form = {**asked, **beside, field: number, "csrf": word}
            told = browser.post(f"/datasets/{kind}/ask", data=form)
            assert told.status_code in (200, 409, 422), (field, number, told.text)
        for body in (
            {"budget": {**BUDGETS[kind].record(), next(iter(BUDGETS[kind].numbers)): number}},
            {"accuracy": {"error": number}},
            {"confidence": number},
        ):
            content = {"question": {"sql": asked["sql"]}, **body}
            told = api.post(f"/api/v1/datasets/{kind}/price", json=content)
            assert told.status_code in (200, 409, 422), (number, body, told.text)


def test_numbers_in_every_text_of_every_request(console: Console) -> None:
    for who, method, path, content in (*REQUESTS, ("Stella", "POST", "/api/v1/datasets", MUCH)):
        api = console.api(who)
        to = path.format(name="zcdp", dataset="zcdp", id=console.people["Boris"].id)
        for at, number in enumerate(FEW):
            for one, (place, made) in enumerate(planted(content, number)):
                if (at + one) % 5 and not WHOLE:
                    continue
                told = sent(api, method, to, made)
                assert told.status_code < 500, (path, place, number, told.text)
                if told.status_code == 201 and path == "/api/v1/datasets":
                    assert api.delete(f"/api/v1/datasets/{told.json()['name']}").status_code == 204


MUCH: dict[str, Any] = {
    **DRAFT,
    "facts": {
        "people": {
            "person": {"nulls": "never"},
            "age": {"bounds": ["18", "90"], "nulls": "drop"},
            "pay": {"categories": ["1.5", "2.5"], "impute": "1.5"},
        }
    },
    "unit": {"kind": "id", "column": "person", "max_rows": "2"},
    "reserve": "0.1",
    "renewals": "2",
    "budget": {"kind": "approx", "epsilon": "1", "delta": "1e-6"},
    "ceiling": {"kind": "approx", "epsilon": "2", "delta": "1e-6"},
    "per_question": {"kind": "approx", "epsilon": "0.1", "delta": "1e-7"},
}
"""A data set with all the numbers that one may have, as texts."""


def test_numbers_of_a_form(console: Console) -> None:
    for number in FEW:
        told = console.api("Anna").post(
            "/api/v1/datasets/zcdp/questions",
            json={**FORM, "where": [{"column": "age", "compares": ">", "value": number}]},
        )
        assert told.status_code in (200, 422), (number, told.text)
