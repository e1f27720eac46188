"""The record of noisy marginals: counts of groups among them, read from a file that was written once."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import LedgerDamaged
from dalenius.mechanisms import DiscreteGaussian
from dalenius.queries import Domain, Workload
from dalenius.queries.marginals.fit import Fitted
from dalenius.queries.marginals.graphical_model import GraphicalModel
from dalenius.queries.marginals.junction_tree import JunctionTree
from dalenius.queries.marginals.marginals_release import MarginalsRelease
from dalenius.queries.marginals.measurement import Measurement
from dalenius.session.record.marginals import marginals_record, read_marginals
from tests.session.golden_ledger import HERE

DOMAIN = Domain({"a": 3, "b": 4})
WORKLOAD = Workload.marginals(DOMAIN, 2)
LOSS = dp.losses.gaussian(sigma=2.0)
GOLDEN = HERE / "marginals_in_groups.json"


def made() -> MarginalsRelease:
    noise = DiscreteGaussian(sensitivity=1.0, sigma=2.0)
    groups = (np.array([0, 0, 1]), np.array([0, 1, 2, 2]))
    measured = [
        Measurement((0,), np.array([5, 7, -1]), noise),
        Measurement((0, 1), np.array([[1, 2, 3], [4, 5, -6]]), noise, groups),
    ]
    potentials = {(0,): np.zeros(3), (1,): np.zeros(4), (0, 1): np.arange(12.0).reshape(3, 4) / 8}
    model = GraphicalModel.of(JunctionTree.of(DOMAIN.shape, list(potentials)), potentials)
    return MarginalsRelease(WORKLOAD, LOSS, measured, Fitted(model, potentials, 20.0), mark=7)


@pytest.fixture
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


def test_it_is_written_as_it_was_and_reads_as_it_did(record: dict[str, Any]) -> None:
    written = json.loads(json.dumps(marginals_record(made())))
    for word in ("measured", "rows", "outside", "mark"):
        assert _told(written[word]) == _told(record[word])
    found, ours = read_marginals(record, WORKLOAD, LOSS), made()
    assert found.measured == (("a",),)
    assert found.measured_in_groups == (("a", "b"),)
    for one, other in zip(found.measurements, ours.measurements, strict=True):
        assert np.array_equal(one.counts, other.counts)
        assert one.noise == other.noise
        assert (one.groups is None) == (other.groups is None)
        for group, same in zip(one.groups or (), other.groups or (), strict=True):
            assert np.array_equal(group, same)
    assert found.marginal(["a", "b"]) == pytest.approx(ours.marginal(["a", "b"]), rel=1e-6)
    assert np.array_equal(found.codes(30), ours.codes(30))


def _told(value: Any) -> Any:
    """Without the bytes of tables: other versions of zlib may press them otherwise."""
    if isinstance(value, list):
        return [_told(one) for one in value]
    return {k: v for k, v in value.items() if k != "counts"} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    "groups",
    [
        [[0, 0, 1]],
        [[0, 0, 1], [0, 1, 2]],
        [[0, 0, 2], [0, 1, 2, 2]],
        [[0, 0, -1], [0, 1, 2, 2]],
        [[0, 0, True], [0, 1, 2, 2]],
        [[0, 0, 1.0], [0, 1, 2, 2]],
        [[0, 1, 2], [0, 1, 2, 2]],
        [[], []],
        3,
        None,
    ],
)
def test_groups_that_cannot_be_are_refused(record: dict[str, Any], groups: Any) -> None:
    damaged = copy.deepcopy(record)
    damaged["measured"][1]["groups"] = groups
    with pytest.raises(LedgerDamaged):
        read_marginals(damaged, WORKLOAD, LOSS)


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(marginals_record(made()), indent=1) + "\n", encoding="utf-8")
