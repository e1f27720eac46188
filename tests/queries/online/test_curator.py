"""The curator: exact sums, one law however it is asked, and nothing said twice."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Stopped
from dalenius.queries import Bins, Domain, PrivateMultiplicativeWeights
from dalenius.queries.online.linear_query import Marginals, linear_query
from tests.noise.seeded import seeded

DOMAIN = Domain({"sex": ["F", "M"], "age": 4, "pay": Bins(0, 30, 3)})
PMW = PrivateMultiplicativeWeights(DOMAIN, dp.PureDP(1.0), n=1000, queries=50, updates=3, threshold=200.0)
CELLS = np.random.default_rng(0).multinomial(1000, np.full(24, 1 / 24)).reshape(2, 4, 3)
ALL = {"sex": ["F", "M"]}
HEAVY = np.zeros(24, dtype=np.int64)
HEAVY[0] = 10**6


def test_queries_are_exact() -> None:
    for query, mask in (
        ({"sex": "M", "age": [1, 2]}, (slice(1, 2), slice(1, 3), slice(None))),
        ({"pay": 15.0, "sex": "F"}, (slice(0, 1), slice(None), slice(1, 2))),
        ({}, (slice(None),) * 3),
    ):
        read = linear_query(DOMAIN, query)
        assert read.exact(Marginals(CELLS).of(read.axes)) == 1024 * int(CELLS[mask].sum())
        dense = np.zeros(DOMAIN.shape, dtype=bool)
        dense[mask] = True
        assert np.array_equal(np.broadcast_to(read.over(3), DOMAIN.shape), dense)
        for kind in (np.uint8, np.int8, np.float16):
            read = linear_query(DOMAIN, dense.astype(kind))
            assert read.exact(Marginals(CELLS).of(read.axes)) == 1024 * int(CELLS[mask].sum())
    weights = np.random.default_rng(1).random(DOMAIN.shape)
    read = linear_query(DOMAIN, weights)
    assert read.exact(Marginals(CELLS).of(read.axes)) == int(
        (np.rint(weights * 1024).astype(int) * CELLS).sum()
    )


@pytest.mark.parametrize(
    "wanted", [range(5), range(3, 3), range(10, 2, -3), range(0, 64, 7), range(63, -1, -1), range(7, 8)]
)
def test_a_range_of_codes_is_the_list_of_its_members(wanted: range) -> None:
    domain = Domain({"x": 64})
    masks = [linear_query(domain, {"x": kind}).weights for kind in (wanted, list(wanted))]
    assert np.array_equal(*masks)
    assert masks[0].sum() == len(wanted)


@pytest.mark.parametrize(
    "wanted", [range(-1, 3), range(60, 65), range(3, -2, -1), range(10**12), range(-(10**30), 10**30)]
)
def test_a_range_that_leaves_the_domain_is_refused_however_long_it_is(wanted: range) -> None:
    with pytest.raises(InvalidParameter, match="not all of that is in the domain"):
        linear_query(Domain({"x": 64}), {"x": wanted})


def test_a_mask_counts_every_row_once() -> None:
    """Bytes that pass for True may be larger than 1."""
    mask = np.full(DOMAIN.shape, 255, dtype=np.uint8).view(bool)
    read = linear_query(DOMAIN, mask)
    assert read.exact(Marginals(CELLS).of(read.axes)) == 1024 * 1000


@pytest.mark.parametrize(
    "query",
    [None, 5, "sex", [], {"sex": "X"}, {"zip": 1}, {"age": 9}, {"age": [[1], [2]]}, np.ones((2, 2)), {"pay": -1},
     np.full(24, 1.5), np.full(24, np.nan), np.full(24, -0.1), np.full((2, 4, 3), "a"), {"age": object()}],
)  # fmt: skip
def test_odd_queries_are_refused_and_cost_nothing(query: Any) -> None:
    curator = PMW.open(CELLS)
    with pytest.raises(InvalidParameter):
        curator.ask(query)
    with pytest.raises(InvalidParameter):
        curator.ask_many([ALL, query])
    assert (curator.asked, curator.stopped) == (0, False)


def test_errors_do_not_depend_on_the_data() -> None:
    """Whatever the counts, opening and asking takes one path: empty, huge and negative ones are clamped."""
    for cells in (np.zeros(24, dtype=np.int64), np.full(24, 2**62), np.full(24, -5), HEAVY):
        curator = PMW.open(cells)
        for _ in range(3):
            if not curator.stopped:
                assert np.isfinite(curator.ask({"sex": "F"}).value)


def test_stops_after_the_updates_and_says_nothing_more() -> None:
    curator = PrivateMultiplicativeWeights(
        DOMAIN, dp.PureDP(100.0), n=10, n_is_public=True, updates=3, threshold=100.0
    ).open(HEAVY)
    answers = curator.ask_many([{"sex": "F"}] * 10)
    assert [a.measured for a in answers] == [True] * 3
    assert curator.stopped
    assert curator.histogram().shape == DOMAIN.shape
    for ask in (lambda: curator.ask(ALL), lambda: curator.ask_many([ALL])):
        with pytest.raises(Stopped):
            ask()


def test_one_by_one_and_many_have_the_same_law() -> None:
    """The share of runs in which the fourth question is measured: 400 runs each, apart by chance below 1e-9."""
    m = PrivateMultiplicativeWeights(
        DOMAIN, dp.PureDP(2.0), n=1000, n_is_public=True, updates=2, threshold=100.0, queries=5
    )
    queries = [{"sex": "F"}, {"age": 1}, {"sex": "M", "age": [0, 1]}, {"age": [2, 3]}]
    cells = np.zeros(DOMAIN.shape, dtype=np.int64)
    cells[0, 2:] = 100

    def measured(run: Any) -> int:
        return sum(len(run(m.open(cells))) == 4 for _ in range(400))

    def single(curator: Any) -> list[Any]:
        answers: list[Any] = []
        while len(answers) < 4 and not curator.stopped:
            answers.append(curator.ask(queries[len(answers)]))
        return answers

    with seeded(7):
        one, many = measured(single), measured(lambda curator: curator.ask_many(queries))
    assert abs(one - many) < 6.2 * 20


def test_threads_get_no_more_than_the_updates() -> None:
    curator = PrivateMultiplicativeWeights(
        DOMAIN, dp.PureDP(100.0), n=10, n_is_public=True, updates=5, threshold=100.0
    ).open(HEAVY)
    measured: list[bool] = []

    def ask() -> None:
        for _ in range(20):
            try:
                measured.append(curator.ask({"sex": "F", "age": [0, 1]}).measured)
            except Stopped:
                return

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(measured) <= 5
    assert curator.updates == sum(measured)


def test_cut_short_it_stays_closed() -> None:
    curator = PMW.open(HEAVY)

    class Interrupted:
        def release(self, value: float) -> float:
            raise KeyboardInterrupt

    curator._measure = Interrupted()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        curator.ask_many([{"sex": "F"}] * 50)
    assert curator.stopped
    with pytest.raises(Stopped):
        curator.ask(ALL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_is_refused() -> None:
    curator = PMW.open(CELLS)
    with curator._lock:  # held while the child is made: it must not wait for it
        child = os.fork()
        if child == 0:
            try:
                curator.ask(ALL)
            except Stopped:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
    assert np.isfinite(curator.ask(ALL).value)


def test_cannot_be_doubled() -> None:
    curator = PMW.open(CELLS)
    for double in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            double(curator)
