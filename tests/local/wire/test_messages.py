"""Messages: golden files read for ever, tampered parameters are refused, bad reports spoil nothing."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalenius as dp
from dalenius import local
from dalenius.errors import InvalidParameter
from dalenius.local.wire.aggregator import Aggregator
from dalenius.local.wire.client import Client
from dalenius.local.wire.parameters import KINDS, Parameters
from dalenius.local.wire.words import secure
from tests.local.wire.surveys import HERE, SURVEYS, golden, values

GOLDEN = sorted(HERE.glob("*.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_golden_files_read_for_ever(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    survey = SURVEYS[path.stem.rsplit("-v", 1)[0].replace("-", " ")]
    assert Parameters.from_json(kept["parameters"]) == survey
    collector = Aggregator.from_json(kept["parameters"])
    assert collector.add(kept["report"]) == 1
    assert collector.add(kept["reports"]) == len(json.loads(kept["reports"])["reports"])
    collector.add("junk")
    assert collector.to_json() == Aggregator.from_json(kept["tally"]).to_json() == kept["tally"]
    assert golden(survey) == kept


def test_every_kind_has_a_golden_file() -> None:
    assert {json.loads(json.loads(path.read_text())["parameters"])["kind"] for path in GOLDEN} == {
        kind.tag for kind in KINDS
    }


@pytest.mark.parametrize("name", SURVEYS)
def test_tampered_parameters_are_refused(name: str) -> None:
    """One more word than keeps epsilon, numbers that do not fit each other, a smaller epsilon than the coins keep."""
    public = json.loads(SURVEYS[name].to_json())
    changed = [{**public, "version": 2}, {**public, "kind": "unheard_of"}, {**public, "epsilon": "0.5"}]
    for coin in {"fits", "own", "bit"} & set(public):
        changed += [{**public, coin: str(int(public[coin]) + delta)} for delta in (1, 2**40, -(2**40))]
        changed += [{**public, coin: wrong} for wrong in ("x", None, [])]
    for coin in {"other", "piecewise", "on"} & set(public):
        changed += [{**public, coin: str(int(public[coin]) + delta)} for delta in (-1, -(2**40), 2**40)]
    for number in {"k", "g", "prime", "d", "blocks", "block_size", "window", "steps", "margin"} & set(public):
        changed += [
            {**public, number: wrong} for wrong in (public[number] + 1, str(public[number]), None, -1, 2.5)
        ]
    for bound in {"lowest", "highest"} & set(public):
        changed += [{**public, bound: wrong} for wrong in ("nan", "inf", "", None)]
    changed += [{key: value for key, value in public.items() if key != gone} for gone in public]
    kept = 0
    for message in changed:
        with contextlib.suppress(InvalidParameter):
            kept += Parameters.from_json(json.dumps(message)) is not None
    # Categories may be left out, and one more answer may make another survey that is as good.
    allowed = ("categories" in public) + ("k" in public)
    assert kept <= allowed


def test_a_threshold_may_be_more_private_by_a_little() -> None:
    public = json.loads(SURVEYS["five"].to_json())
    nearby = json.dumps({**public, "fits": str(int(public["fits"]) - 5)})
    found = Parameters.from_json(nearby)
    assert found.constants["fits"] == int(public["fits"]) - 5
    assert json.loads(found.to_json()) == json.loads(nearby)


BAD = [
    "",
    "{",
    "null",
    "[]",
    "3",
    '"text"',
    "[" * 100_000,
    "9" * 5000,
    b"\xff\xfe",
    json.dumps({"format": "dalenius local report"}),
    json.dumps({"format": "dalenius local report", "version": True, "survey": "five", "report": 0}),
    json.dumps({"format": "dalenius local report", "version": 2, "survey": "five", "report": 0}),
    json.dumps({"format": "dalenius local report", "version": 1, "survey": "other", "report": 0}),
    json.dumps({"format": ["dalenius local report"], "version": 1, "survey": "five", "report": 0}),
    json.dumps({"format": "dalenius local reports", "version": 1, "survey": "five", "reports": {"0": 1}}),
]


def test_bad_messages_spoil_nothing() -> None:
    collector, client = Aggregator(SURVEYS["five"]), Client(SURVEYS["five"])
    good = [client.report(n % 5) for n in range(100)]
    mixed = [message for pair in zip(good, BAD * 7, strict=False) for message in pair]
    assert collector.read(mixed) == 100
    assert collector.people == 100
    assert sum(collector.rejected.values()) == 100 - 7  # an empty line is none
    assert collector.estimate().conf_int().shape == (5, 2)


@pytest.mark.parametrize("name", SURVEYS)
def test_bad_reports_in_a_batch_spoil_nothing(name: str) -> None:
    survey = SURVEYS[name]
    client, collector = Client(survey), Aggregator(survey)
    odd = [
        None,
        True,
        -1,
        1.0,
        10**9,
        10**40,
        "",
        "zz",
        "FF",
        "ff" * 50,
        [],
        [0, 0, 0],
        [1, 2],
        {},
        [[1]],
        "\u0661",
    ]
    drawn = [client._draw(value, secure()) for value in values(survey)]
    batch = json.loads(client.reports(values(survey)))
    batch["reports"] = [report for pair in zip(odd, drawn * 9, strict=False) for report in pair]
    assert collector.add(json.dumps(batch)) == len(odd)
    assert collector.rejected == {"malformed": len(odd)}
    estimate = collector.estimate()
    assert np.isfinite(estimate.estimate).all()


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=6,
    )
)
def test_anything_at_all_is_a_report_or_not(content: object) -> None:
    for name in ("five", "hashing", "subset"):
        collector = Aggregator(SURVEYS[name])
        message = {
            "format": "dalenius local report",
            "version": 1,
            "survey": SURVEYS[name].survey,
            "report": content,
        }
        assert collector.add(json.dumps(message)) + sum(collector.rejected.values()) == 1
        assert collector.add(json.dumps(content)) in (0, 1)
        collector.to_json()


def test_processes_are_merged() -> None:
    survey = SURVEYS["binary"]
    client, whole = Client(survey), Aggregator(survey)
    parts = [Aggregator(survey) for _ in range(3)]
    for n in range(300):
        message = client.report("yes" if n % 3 else "no")
        parts[n % 3].add(message)
        whole.add(message)
    first = Aggregator.from_json(parts[0].to_json())
    for part in parts[1:]:
        first.merge(Aggregator.from_json(part.to_json()))
    assert first.to_json() == whole.to_json()
    assert first.estimate().categories == ("no", "yes")
    with pytest.raises(InvalidParameter, match="same survey"):
        first.merge(Aggregator(SURVEYS["five"]))


def test_many_reports_are_counted_as_they_come() -> None:
    survey = SURVEYS["five"]
    batch = json.loads(Client(survey).reports([0]))
    batch["reports"] = [n % 5 for n in range(40_000)]
    collector = Aggregator(survey)
    assert collector.add(json.dumps(batch)) == 40_000
    assert len(collector._waiting) < 20_000
    assert collector.tally.tolist() == [8000] * 5


@pytest.mark.parametrize("value", [None, "yes ", 0, 1, True, ["yes"], float("nan")])
def test_a_value_is_never_shown(value: object) -> None:
    with pytest.raises(InvalidParameter, match="value") as problem:
        Client(SURVEYS["binary"]).report(value)
    assert repr(value) not in str(problem.value)
    with pytest.raises(InvalidParameter, match="value"):
        Client(SURVEYS["one bit"]).report("12")


def test_refuses() -> None:
    response = local.RandomizedResponse(epsilon=1.0, k=3)
    for categories in (("a", "b"), ("a", "a", "b"), "abc", (1, 2, 3), ("", "b", "c"), ("a", "b", "c", "c")):
        with pytest.raises(InvalidParameter, match="categories"):
            Parameters(response, "", categories)
    with pytest.raises(InvalidParameter, match="categories"):
        Parameters(local.Duchi(epsilon=1.0), "", ("a",))
    with pytest.raises(InvalidParameter, match="mechanism"):
        Parameters(dp.mechanisms.Laplace(sensitivity=1, scale=1.0))
    for kind, ends in ((local.RandomizedResponse, (1e-7, 41.0)), (local.Laplace, (0.009, 41.0))):
        for epsilon in ends:
            with pytest.raises(InvalidParameter, match="epsilon"):
                Parameters(kind(epsilon=epsilon))
    with pytest.raises(InvalidParameter, match="survey"):
        Parameters(response, "x" * 300)
    for text in ("", "{}", "[1]", None, '{"format":"dalenius local tally","version":1}'):
        with pytest.raises(InvalidParameter):
            Aggregator.from_json(text)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="at least"):
        Aggregator(SURVEYS["one bit"]).estimate()


ODD = [None, 5, float("nan"), object(), np.array([1, 2]), ["a", None], "\ud800", b"ab", 10**400, {"a": 1}]


@pytest.mark.parametrize("odd", ODD, ids=[str(n) for n in range(len(ODD))])
def test_odd_arguments_are_refused_by_name(odd: object) -> None:
    response = local.RandomizedResponse(epsilon=1.0, k=2)
    for made in (
        lambda: Parameters(odd),
        lambda: Parameters(response, odd),  # type: ignore[arg-type]
        lambda: Parameters(response, "", odd),  # type: ignore[arg-type]
        lambda: Client(odd),  # type: ignore[arg-type]
        lambda: Aggregator(odd),  # type: ignore[arg-type]
        lambda: local.survey_page(odd, "Why?"),  # type: ignore[arg-type]
        lambda: local.survey_page(SURVEYS["five"], odd),  # type: ignore[arg-type]
        lambda: Parameters.from_json(odd),  # type: ignore[arg-type]
        lambda: Aggregator.from_json(odd),  # type: ignore[arg-type]
        lambda: Aggregator(SURVEYS["five"]).merge(odd),
        lambda: Client(SURVEYS["binary"]).report(odd),
    ):
        with pytest.raises(InvalidParameter):
            made()
    assert Aggregator(SURVEYS["five"]).add(odd) == 0  # type: ignore[arg-type]
