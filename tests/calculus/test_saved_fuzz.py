"""Any JSON is a loss that is written and read again, or is refused in plain words; and soon."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dalenius import losses
from dalenius.errors import InvalidParameter
from tests.calculus.golden_losses import batches, small

ABSURD: list[Any] = [
    *(
        0,
        1,
        -1,
        2,
        10**6,
        10**18,
        10**300,
        10**400,
        -(10**400),
        1.5,
        1e308,
        True,
        None,
        "",
        "x",
        [],
        {},
        [[]],
    ),
    *(
        "0.0",
        "-0.0",
        "1.0",
        "-1.0",
        "0.5",
        "1e+308",
        "1e308",
        "1e-308",
        "5e-324",
        "inf",
        "-inf",
        "nan",
        "1e9",
    ),
    *("1e999999999", "1e-999999999", "1/0", "1/3", "2/4", "9" * 5000, "1_0", " 1.0 ", "\u0663", "0x10"),
    *([0], ["0.5"], {"kind": "gaussian", "square": "1"}, {"kind": "gaussian"}, {"kind": []}, "100000.0"),
]
TEXTS = {
    name: json.loads(loss.to_json())
    for name, loss in {
        **small(),
        **batches(),
        "skellam": losses.skellam(4.0, 3),
        "skellam vector": losses.skellam_vector(100.0, 2.0, 3.0),
    }.items()
    if len(loss.to_json()) < 10_000
}
SECONDS = 4.0
"""No text may take longer; the slowest kind is a random allocation."""


def places(found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(rng: random.Random, record: Any) -> str:
    record = copy.deepcopy(record)
    for _ in range(rng.choice((1, 1, 2))):
        *way, last = rng.choice(list(places(record["loss"])))
        at = record["loss"]
        for key in way:
            at = at[key]
        if isinstance(at, dict) and rng.random() < 0.1:
            del at[last]
        else:
            at[last] = copy.deepcopy(rng.choice(ABSURD))
    return json.dumps(record)


@pytest.mark.parametrize("seed", range(4))
def test_any_json_is_read_as_it_was_meant_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    read = 0
    for _ in range(400):
        text = changed(rng, rng.choice(list(TEXTS.values())))
        start = time.process_time()
        loss = None
        with contextlib.suppress(InvalidParameter):
            loss = losses.from_json(text)
        if loss is not None:
            assert losses.from_json(loss.to_json()) == loss
            read += 1
        assert time.process_time() - start < SECONDS, text
    assert 4 <= read <= 200


def test_the_reader_does_not_take_what_the_writer_would_not_write() -> None:
    """The same number in another spelling, or a list for a text."""
    text = losses.laplace(2.0).to_json()
    for other in ('"0.50"', '"5e-1"', "0.5", '["0.5"]', '" 0.5"'):
        with pytest.raises(InvalidParameter, match="not written as we write them"):
            losses.from_json(text.replace('"0.5"', other))
