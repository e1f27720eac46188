"""Losses as text: read back they are the same to the last bit, and what was written once is read for ever."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.calculus.pairs.pair import Pair
from dalenius.calculus.saved import PAIRS
from dalenius.errors import InvalidParameter
from tests.calculus.golden_losses import HERE, batches, large, numbers, small

VERSIONS = ("losses-v1",)
WRITTEN = [
    *((version, name) for version in VERSIONS for name in small()),
    *(("batches-v1", name) for name in batches()),
]


@pytest.mark.parametrize(
    "name", [*small(), *batches(), "group, tabulated", "parallel, tabulated", "sampled composition"]
)
def test_what_is_read_is_what_was_written(name: str) -> None:
    loss = (small() | batches()).get(name) or large()[name]
    again = losses.Loss.from_json(loss.to_json())
    assert again == loss
    assert repr(again) == repr(loss)
    assert again.to_json() == loss.to_json()
    assert numbers(again) == numbers(loss)
    assert again + again == loss * 2


@pytest.mark.parametrize(("version", "name"), WRITTEN)
def test_golden(version: str, name: str) -> None:
    """The numbers are computed anew, by SciPy's functions too: on another machine the last digits may differ."""
    told = json.loads((HERE / f"{version}.json").read_text())[name]
    loss = losses.Loss.from_json(told["text"])
    if version in (VERSIONS[-1], "batches-v1"):
        assert loss.to_json() == told["text"]
    for word, values in numbers(loss).items():
        assert np.allclose(np.float64(values), np.float64(told["numbers"][word]), rtol=1e-9, atol=1e-300), (
            word
        )


def test_every_pair_has_a_tag() -> None:
    def below(kind: type) -> set[type]:
        return {kind, *(deeper for sub in kind.__subclasses__() for deeper in below(sub))}

    ours = {kind for kind in below(Pair) - {Pair} if kind.__module__.startswith("dalenius.calculus.")}
    assert {kind for kind in ours if not kind.__name__.startswith("_")} == {
        kind for tag in PAIRS.values() for kind in tag.types
    }


@pytest.mark.parametrize(
    "loss",
    [
        losses.rdp(lambda order: 0.5 * order),
        losses.rdp(lambda order: order) + losses.gaussian(1.0),
        dp.RDP(2.0, 1.0).loss(),
    ],
)
def test_functions_are_refused(loss: losses.Loss) -> None:
    with pytest.raises(InvalidParameter, match="a function cannot be written down"):
        loss.to_json()


TEXT = losses.gaussian(1.0).to_json()
PURE = losses.pure(1.0).to_json()
ZCDP = losses.zcdp(1.0).to_json()
SAMPLED = losses.poisson_sampled(losses.gaussian(1.0), 0.5).to_json()


@pytest.mark.parametrize(
    ("text", "was", "now"),
    [
        *((TEXT, '"times":1', f'"times":{times}') for times in ("-1", "0", "0.5", "true", '"1"')),
        (PURE, '"0.7310585786300049"', '"0.1"'),
        (PURE, '"0.2689414213699951"', '"-0.2689414213699951"'),
        (PURE, '"infinite":"0.0"', '"infinite":"-0.5"'),
        (PURE, '"index":[0,1]', '"index":[0,0]'),
        (PURE, '"step":"2.0"', '"step":"1e-09"'),
        (PURE, '"blur":"0.0"', '"blur":"-1.0"'),
        (PURE, '"slack":"4.440892098500626e-16"', '"slack":"-1.0"'),
        (losses.laplace(1.0).to_json(), '"shift":"1.0"', '"shift":"nan"'),
        (ZCDP, '"rho":"1.0"', '"rho":"-1.0"'),
        (ZCDP, '"mu":"inf"', '"mu":"nan"'),
        *((SAMPLED, '"rate":"0.5"', f'"rate":"{rate}"') for rate in ("0.0", "-1.0", "2.0", "nan")),
    ],
)
def test_what_would_understate_is_refused(text: str, was: str, now: str) -> None:
    assert was in text
    with pytest.raises(InvalidParameter, match="not written as we write them"):
        losses.Loss.from_json(text.replace(was, now))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace('"version":1', '"version":2'), "install a newer dalenius"),
        (TEXT.replace('"version":1', '"version":0'), "no dalenius wrote"),
        (TEXT.replace('"version":1', '"version":true'), "no dalenius wrote"),
        (TEXT.replace('"kind":"gaussian"', '"kind":"cauchy"'), "'cauchy'.*install a newer dalenius"),
        (TEXT.replace("add_remove", "swap"), "install a newer dalenius"),
        (TEXT.replace('"1"', '"1/0"'), "not written as we write them"),
        (TEXT.replace('"times":1', '"time":1'), "not written as we write them"),
        ('{"format":"dalenius loss","version":1}', "not written as we write them"),
        ('{"format":"dalenius model","version":1}', "not a dalenius loss"),
        ("{", "not a dalenius loss"),
        ("[1]", "not a dalenius loss"),
        ("[" * 100_000, "not a dalenius loss"),
        (None, "not a dalenius loss"),
    ],
)
def test_what_is_not_a_loss(text: str, message: str) -> None:
    with pytest.raises((InvalidParameter, dp.errors.LedgerError), match=message):
        losses.Loss.from_json(text)


@pytest.mark.parametrize(
    ("text", "was", "now"),
    [
        (TEXT, '"square":"1"', '"square":"0"'),
        (TEXT, '"square":"1"', '"square":"-1"'),
        (losses.bounded_range(1.0).to_json(), '"eta":"1.0"', '"eta":"0.0"'),
        (SAMPLED, '"rate":"0.5"', '"rate":"1.0"'),
        (SAMPLED, '"rate":"0.5"', '"rate":true'),
        (SAMPLED, '"added":false', '"added":"false"'),
    ],
)
def test_what_no_loss_is_made_of_is_refused(text: str, was: str, now: str) -> None:
    assert was in text
    with pytest.raises(InvalidParameter, match="not written as we write them"):
        losses.Loss.from_json(text.replace(was, now))


def test_pairs_in_pairs_too_deep() -> None:
    inner = '{"kind":"gaussian","square":"1"}'
    deep = '{"kind":"sampled","rate":"0.5","added":false,"base":' * 400 + inner + "}" * 400
    with pytest.raises(InvalidParameter, match="not written as we write them"):
        losses.Loss.from_json(TEXT.replace(inner, deep))
