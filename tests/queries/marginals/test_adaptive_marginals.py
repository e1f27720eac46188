"""What a release is like, whatever the data; and that its intervals hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.queries import AdaptiveMarginals, Bins, Domain, Workload
from dalenius.queries.marginals import adaptive_marginals
from tests.noise.seeded import seeded
from tests.sample import paired

DOMAIN = Domain({"a": ["x", "y", "z"], "b": 4, "c": Bins(0, 1, 5), "d": 1})


def data(n: int) -> dict[str, Any]:
    draw = np.random.default_rng(0)
    a = draw.integers(0, 3, n)
    return {
        "a": np.array(["x", "y", "z"])[a],
        "b": (a + draw.integers(0, 2, n)) % 4,
        "c": draw.random(n) ** 2,
        "d": np.zeros(n, dtype=np.int64),
    }


@pytest.fixture(autouse=True)
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive_marginals, "ROUND_STEPS", 20)
    monkeypatch.setattr(adaptive_marginals, "FINAL_STEPS", 40)


@pytest.mark.parametrize(
    ("guarantee", "n", "ways"),
    paired([dp.PureDP(1.0), dp.ZCDP(0.01), dp.GDP(3.0)], [0, 1, 5000], [1, 2, 3]),
)
def test_shapes_and_types_do_not_depend_on_the_data(guarantee: Any, n: int, ways: int) -> None:
    w = Workload.marginals(DOMAIN, ways)
    released = AdaptiveMarginals(w, guarantee).release(data(n))
    assert released.answers().shape == (len(w),)
    assert (released.answers() >= 0).all()
    assert released.marginal(["c", "a"]).shape == (5, 3)
    assert np.allclose(released.marginal(["c", "a"]).T, released.marginal(["a", "c"]))
    table = released.synthesize(40)
    assert set(table["a"]) <= {"x", "y", "z"}
    assert table["b"].dtype == np.int64
    assert table["c"].dtype == np.float64
    assert len(DOMAIN.codes(table)) == 40  # every synthetic row lies in the domain
    assert len(released.synthesize()["a"]) == released.rows >= 1


def test_marginals_that_the_model_has_no_room_for_are_met_by_the_rows() -> None:
    rows = data(4000)
    w = Workload.marginals(DOMAIN, 2)
    released = AdaptiveMarginals(w, dp.GDP(20.0), model_size=0.0002).release(rows)
    assert released.outside
    off = np.abs(released.answers() - w.answers(rows)).sum() / np.abs(w.answers(rows)).sum()
    assert off < 0.05


def test_a_large_budget_gives_the_exact_marginals_back() -> None:
    rows = data(4000)
    w = Workload.marginals(DOMAIN, 2)
    released = AdaptiveMarginals(w, dp.GDP(20.0)).release(rows)
    assert np.abs(released.answers() - w.answers(rows)).max() < 60
    assert released.rows == pytest.approx(4000, abs=10)


def test_intervals_hold_the_exact_counts() -> None:
    """Of 12 cells in 16 releases at 90 %, 192 in all, at least 140: by chance fewer with probability below 1e-10."""
    rows, held = data(300), 0
    w = Workload.marginals(DOMAIN, [("a", "b")])
    exact = DOMAIN.counts(DOMAIN.codes(rows), ["b", "a"])
    mechanism = AdaptiveMarginals(w, dp.GDP(1.0))
    with seeded(5):
        for _ in range(16):
            released = mechanism.release(rows)
            interval = released.conf_int(0.9, ["b", "a"])
            assert interval.shape == (4, 3, 2)
            held += int(((interval[..., 0] <= exact) & (exact <= interval[..., 1])).sum())
            apart = np.abs(released.marginal(["b", "a"]) - exact).sum() / 2
            assert apart <= released.error(["b", "a"], 1 - 1e-6) * released.rows
    assert 140 <= held <= 191


def test_what_was_not_measured_has_no_interval() -> None:
    released = AdaptiveMarginals(Workload.marginals(DOMAIN, 1), dp.ZCDP(0.1)).release(data(10))
    with pytest.raises(InvalidParameter, match="not measured"):
        released.conf_int(names=["a", "b"])
    assert released.measured == ((), ("a",), ("b",), ("c",), ("d",))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guarantee": dp.RDP(2.0, 1.0)}, "PureDP, ApproxDP, ZCDP or GDP"),
        ({"guarantee": 1.0}, "PureDP, ApproxDP, ZCDP or GDP"),
        ({"guarantee": dp.ZCDP(0.0)}, "above 0"),
        ({"rows_per_unit": 0}, "rows_per_unit"),
        ({"model_size": -1}, "model_size"),
        ({"model_size": 1e-9}, "model_size"),
        ({"workload": 3}, "Workload"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"workload": Workload.marginals(DOMAIN, 2), "guarantee": dp.ZCDP(0.1)}
    with pytest.raises(InvalidParameter, match=message):
        AdaptiveMarginals(**{**good, **options})
