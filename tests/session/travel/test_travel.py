"""Requests from afar: what is written is read as it was meant, whatever is sent is answered in words, and a session is
described without its data."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import BudgetExceeded, DaleniusError, InvalidParameter
from dalenius.learn.saved import asked_model, model_record
from dalenius.session.record.estimators import KNOWN, estimator_record, read_estimator
from dalenius.session.travel.description import description, read_description
from dalenius.session.travel.outcomes import Outcome, Unanswered, carried_out, looked_up, named
from dalenius.session.travel.requests import KINDS, read_request
from tests.tables.hostile.sessions import ESTIMATORS

GOLDEN = json.loads((Path(__file__).parent / "requests-1.json").read_text())
"""Requests of each kind, as a console keeps them: they must be read for ever."""


@pytest.fixture(scope="module")
def s(tmp_path_factory: pytest.TempPathFactory) -> dp.Session:
    people = pd.DataFrame(
        {"age": list(range(18, 90)) * 5, "pay": [float(n) for n in range(72)] * 5, "town": ["a", "b"] * 180}
    )
    facts = {"pay": {"bounds": (0, 100)}, "town": {"categories": ["a", "b"]}}
    return dp.Session(
        people,
        unit=dp.Unit.rows(),
        budget=dp.GDP(2.0),
        name="people",
        ledger=tmp_path_factory.mktemp("ledger") / "people.ledger",
        schema=dp.Schema(facts, nulls="drop"),
        analyst="ana",
        per_question=dp.GDP(0.1),
    )


def through(record: Any) -> Any:
    return json.loads(json.dumps(record))


MORE = (
    dp.infer.KolmogorovSmirnovTest(dp.GDP(0.5), cdf=stats.norm(40.0, scale=10.0)),
    dp.infer.GoodnessOfFitTest(dp.GDP(0.5), levels=("a", "b"), shares=(0.5, 0.5)),
    dp.infer.LinearRegression(guarantee=dp.GDP(0.5), method="descent", x_center=(1.0,), x_scale=(2.0,)),
    dp.infer.PoissonRegression(guarantee=dp.GDP(0.5), most=9),
    dp.infer.Median(dp.GDP(0.5)),
    dp.infer.Variance(dp.GDP(0.5)),
    dp.infer.BinomialTest(dp.GDP(0.5)),
    dp.infer.MannWhitneyTest(dp.GDP(0.5)),
    dp.infer.IndependenceTest(dp.GDP(0.5), x_levels=(0, 1), y_levels=(0, 1)),
    dp.infer.TwoSampleKolmogorovSmirnovTest(dp.GDP(0.5)),
    dp.infer.HuberLocation(dp.ApproxDP(1.0, 1e-6), c=2.0, size=5000),
)


def test_every_estimator_travels() -> None:
    made = [*(one.make(dp.GDP(0.5)) for one in ESTIMATORS), *MORE]
    for estimator in made:
        record = through(estimator_record(estimator))
        assert estimator_record(read_estimator(record)) == record
        assert type(read_estimator(record)) is type(estimator)
    # All but the one whose setting is a function, which cannot.
    assert {estimator_record(one)["kind"] for one in made} == set(KNOWN) - {"m_estimate"}
    with pytest.raises(InvalidParameter, match="does not travel"):
        read_estimator({"kind": "m_estimate", "settings": {"slope": {"like_no_other": "ab"}}})


MODELS = (
    dp.learn.LogisticRegression(dp.GDP(0.5), classes=(0, 1)),
    dp.learn.LinearSVC(dp.PureDP(1.0)),
    dp.learn.HuberRegression(dp.ApproxDP(1.0, 1e-6), target_bounds=(0.0, 2.0)),
    dp.learn.LinearRegression(dp.GDP(0.5)),
    dp.learn.PrivateSearch(
        dp.learn.LogisticRegression(dp.GDP(0.5)), [{"row_norm": 1.0}, {"row_norm": 0.5}], dp.PureDP(1.0)
    ),
)


def test_models_travel() -> None:
    for model in MODELS:
        record = through(model_record(model, arrays=True))
        assert model_record(asked_model(record), arrays=True) == record
    held = {"model": {"kind": "estimator", "class": "sklearn.svm.SVC", "parameters": {}}}
    with pytest.raises(InvalidParameter, match="only models of"):
        asked_model({"kind": "subsample_aggregate", "parameters": {"estimator": held}})


def test_stored_requests_are_read_for_ever(s: dp.Session) -> None:
    assert {one["kind"] for one in GOLDEN} == set(KINDS)
    for record in GOLDEN:
        request = read_request(through(record), s)
        found = named(s, request)
        assert json.loads(found.question)["kind"] in (record["kind"], "test")
        assert all(str(part) in request.said for part in [record.get("target", "")] if isinstance(part, str))
        assert request.said
        assert request.weight >= 1


def test_a_request_is_looked_up_then_carried_out_then_on_record(s: dp.Session) -> None:
    for record in GOLDEN:
        request = read_request(record, s)
        before = s.account.balance().total
        found = looked_up(s, request)
        assert isinstance(found, Unanswered)
        assert s.account.balance().total == before
        outcome = carried_out(s, request)
        assert (outcome.question, outcome.free) == (found.question, False)
        again = looked_up(s, request)
        assert isinstance(again, Outcome)
        assert (again.answer, again.free, again.charged) == (outcome.answer, True, outcome.charged)
        # While the answer may not be told it is not there, and nothing is needed for it.
        assert isinstance(looked_up(s, request, lambda q: None, lambda q: True), Unanswered)
    dear = read_request({**GOLDEN[0], "budget": {"kind": "gdp", "mu": 1.999}}, s)
    with pytest.raises(BudgetExceeded, match="costs"):
        looked_up(s, dear)
    assert isinstance(looked_up(s, dear, expected=lambda q: True), Unanswered)


def test_an_accuracy_is_settled_once(s: dp.Session) -> None:
    record = {
        "question": {"sql": "SELECT COUNT(*) AS n FROM data"},
        "accuracy": {"error": 30, "confidence": 0.9},
    }
    settled = {**record, **read_request(record, s).settled(s)}
    request = read_request(settled, s)
    assert request.ask(s).wanted.confidence == 0.9
    assert read_request(record, s).price(s).budget.record() == settled["budget"]
    cube = {
        "question": {"sql": "SELECT town, COUNT(*) AS n FROM data GROUP BY CUBE(town)"},
        "accuracy": {"error": 30},
    }
    settled = {**cube, **read_request(cube, s).settled(s)}
    price = read_request(cube, s).price(s)
    assert price.budget.record() == settled["budget"]
    (told,) = read_request(cube, s).errors(s, price.budget, 0.95, None)
    assert 25 < told["error"] <= 30
    assert read_request(settled, s).ask(s).cells.cost == f"{price.budget!r} for 2 questions"
    bad = {**record, "budget": {"kind": "gdp", "mu": "0.1"}}
    for act in (lambda r: r.settled(s), lambda r: r.price(s), lambda r: r.ask(s)):
        with pytest.raises(InvalidParameter):
            act(read_request(bad, s))


def places(record: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    parts = (
        record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    )
    for key, value in parts:
        yield from places(value, (*at, key))


def test_whatever_is_requested_is_refused_in_words_or_can_be_asked(s: dp.Session) -> None:
    random = Random(3)
    values = [
        None,
        5,
        -1,
        2.5,
        "x",
        "",
        [],
        {},
        True,
        [[]],
        {"kind": "x"},
        "\ud800",
        10**400,
        {"number": "1e400"},
    ]
    before, refused = s.account.balance().total, 0
    for record in GOLDEN:
        every = [at for at in places(record) if at]
        for _ in range(25):
            made = copy.deepcopy(record)
            *path, last = random.choice(every)
            inner = made
            for key in path:
                inner = inner[key]
            inner[last] = random.choice(values)
            try:
                named(s, read_request(made, s))
            except DaleniusError:
                refused += 1
    assert refused > 60
    assert s.account.balance().total == before


def test_a_session_of_several_tables_is_described_without_its_data() -> None:
    visits = pd.DataFrame({"who": [1, 2], "day": ["x", "y"], "cost": [1.5, np.nan]})
    sold = pd.DataFrame({"who": [1, 1], "day": ["x", "y"], "paid": [7, 9]})
    facts = {"visits": {"cost": {"bounds": (0, 5), "impute": 0.25}}}
    here = dp.Session(
        {"visits": visits, "sold": sold},
        unit=dp.Unit("who", max_rows={"visits": 4, "sold": 3}),
        budget=dp.ApproxDP(2.0, 1e-6),
        reserve=0.5,
        schema=facts,
    )
    there = read_description(through(description(here)))
    assert [source.name for source in there.source.together.values()] == ["visits", "sold"]
    for name, source in here.source.together.items():
        assert there.source.together[name].fields == source.fields
        assert there.source.together[name].schema == source.schema
    assert (there.unit, there.adjacency, there.filter) == (here.unit, here.adjacency, here.account.filter)
    assert there.account.left == here.account.left()
    told = json.dumps(description(here))
    assert "1.5" not in told
    broken = through(description(here))
    for word in broken:
        with pytest.raises(InvalidParameter):
            read_description({key: value for key, value in broken.items() if key != word})
    with pytest.raises(InvalidParameter, match="newer"):
        read_description({**broken, "version": 2})
