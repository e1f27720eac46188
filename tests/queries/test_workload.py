"""Workloads: what is never written out equals what is, for answers, sensitivities and energies."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.queries import Domain, Workload, per_query
from dalenius.queries.workload.factors import Factor, Identity, Intervals, Matrix, Prefix, Ranges, Total
from dalenius.queries.workload.parts import Cells
from tests.queries.workloads import workloads

AGES = Domain({"sex": ["F", "M"], "age": 4})


@settings(max_examples=60, deadline=None)
@given(workloads())
def test_implicit_answers_are_those_of_the_matrix(workload: Workload) -> None:
    rng = np.random.default_rng(0)
    domain, dense = workload.domain, workload.dense()
    histogram = rng.integers(0, 30, domain.shape)
    truth = dense @ histogram.reshape(-1)
    rows = np.repeat(
        np.stack(np.unravel_index(np.arange(domain.cells), domain.shape), 1), histogram.reshape(-1), axis=0
    )
    assert len(workload) == len(dense) == len(workload.weights())
    assert np.allclose(workload.answers(histogram.reshape(-1)), truth)
    assert np.allclose(workload.answers(domain.codes(rows)), truth)
    assert workload == pickle.loads(pickle.dumps(workload))
    assert hash(workload) == hash(pickle.loads(pickle.dumps(workload)))


@settings(max_examples=60, deadline=None)
@given(workloads())
def test_sensitivities_are_exact(workload: Workload) -> None:
    """Over every record, and every pair of records; a replaced one may also leave the domain."""
    dense = np.hstack([workload.dense(), np.zeros((len(workload), 1))])
    for norm in (1, 2):
        apart = [np.linalg.norm(dense - dense[:, [i]], norm, axis=0).max() for i in range(dense.shape[1])]
        assert math.isclose(workload.sensitivity(norm), apart[-1], abs_tol=1e-9)  # type: ignore[arg-type]
        assert math.isclose(workload.sensitivity(norm, dp.REPLACE_ONE), max(apart), abs_tol=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0.3, 10**11])
@pytest.mark.parametrize("columns", [("a",), ("a", "b")])
@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_sensitivities_that_do_not_fit_64_bits(
    size: float, columns: tuple[str, ...], adjacency: dp.Adjacency
) -> None:
    """Squares of coefficients near 2^30 pass 2^63 when some ten of them are added up."""
    domain = Domain({"a": 3, "b": 2})
    asked = {name: np.full((40, domain.columns[name].count), size) for name in columns}  # type: ignore[union-attr]
    asked["a"][:, 0] *= -1.0 if size < 1 else 1
    ((_, given),) = Workload.product(domain, asked).parts
    _, part = per_query._whole(given)
    exact = [[int(x) for x in cell] for cell in zip(*_written_out(part), strict=True)]
    others = exact if adjacency is dp.REPLACE_ONE else []
    for power in (1, 2):
        found = [sum(abs(x) ** power for x in cell) for cell in exact]
        found += [sum(abs(x - y) ** power for x, y in zip(a, b, strict=True)) for a in exact for b in others]
        assert part.sensitivity(power, adjacency) >= max(found)


@pytest.mark.parametrize("size", [1e-320, 1e-31, 1e13, math.inf, math.nan])
def test_coefficients_of_no_use_are_refused(size: float) -> None:
    with pytest.raises(InvalidParameter):
        Workload.matrix(AGES, np.full((1, 8), size))


def _written_out(part: Any) -> list[list[int]]:
    if isinstance(part, Cells):  # rounded together
        return [[int(x) for x in row] for row in part.factor.values]
    rows = [[1]]
    for factor in part.factors:
        rows = [[x * int(y) for x in row for y in other] for row in rows for other in factor.values]
    return rows


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
def test_energies_of_factors(n: int) -> None:
    rng = np.random.default_rng(n)
    low = rng.integers(0, n, 20)
    high = low + 1 + rng.integers(0, n - low)
    factors: list[Factor] = [Identity(n), Total(n), Prefix(n), Ranges(n), Intervals(n, low, high)]
    for factor in [*factors, Matrix(n, rng.integers(-2, 3, (7, n)))]:
        matrix = factor.matrix()
        for block in (1, 2, 3, 4, 16):
            sums = np.add.reduceat(matrix.astype(float), np.arange(0, n, block), axis=1)
            truth = (sums**2).sum(axis=1) / block
            assert np.allclose(factor.energies(block), truth)
            assert math.isclose(factor.energy(block), truth.sum())
        for power in (1, 2):
            apart = max((abs(matrix[:, [i]] - matrix) ** power).sum(axis=0).max() for i in range(n))
            assert factor.farthest(power) == apart


def test_large_workloads_are_never_written_out() -> None:
    domain = Domain({"x": 2**20})
    ranges = Workload.ranges(domain)
    assert ranges.size == 2**19 * (2**20 + 1)
    assert ranges.sensitivity() == 2**19 * (2**19 + 1)
    wide = Domain(dict.fromkeys("abcdefghijklmno", 15))
    assert Workload.marginals(wide, 3).size == math.comb(15, 3) * 15**3
    assert Workload.marginals(wide, 3).sensitivity(1, dp.REPLACE_ONE) == 2 * math.comb(15, 3)
    with pytest.raises(InvalidParameter, match="2\\^28"):
        ranges.answers(np.zeros(2**20, dtype=int))
    with pytest.raises(InvalidParameter, match="2\\^28"):
        Workload.matrix(wide, [[1.0]])


def test_order_of_questions() -> None:
    histogram = np.arange(8).reshape(2, 4)
    marginal = Workload.marginals(AGES, [("age", "sex")])
    assert marginal.answers(histogram.reshape(-1)).tolist() == list(range(8))  # in the order of the domain
    ranges = Workload.product(AGES, {"age": "ranges"})
    assert ranges.answers(histogram.reshape(-1)).tolist() == [4, 10, 18, 28, 6, 14, 24, 8, 18, 10]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Workload.marginals(AGES, 3),
        lambda: Workload.marginals(AGES, -1),
        lambda: Workload.marginals(AGES, "sex"),  # type: ignore[arg-type]
        lambda: Workload.marginals(AGES, [("sex", "sex")]),
        lambda: Workload.marginals(AGES, [("pay",)]),
        lambda: Workload.marginals(None, 1),  # type: ignore[arg-type]
        lambda: Workload.product(AGES, {"age": "prefixes"}),
        lambda: Workload.product(AGES, {"age": [[1, 2]]}),
        lambda: Workload.product(AGES, {"age": [[1, 2, 3, math.nan]]}),
        lambda: Workload.product(AGES, None),  # type: ignore[arg-type]
        lambda: Workload.ranges(AGES, [(0, 1)]),
        lambda: Workload.ranges(AGES, []),
        lambda: Workload.ranges(AGES, [{"age": (2, 2)}]),
        lambda: Workload.ranges(AGES, [{"age": (0, 5)}]),
        lambda: Workload.ranges(AGES, [{"age": (0.5, 2)}]),
        lambda: Workload.ranges(AGES, [{"age": (0, 2)}, 7]),
        lambda: Workload.predicates(AGES, [{"sex": ["X"]}]),
        lambda: Workload.predicates(AGES, [{"age": [4]}]),
        lambda: Workload.predicates(AGES, [np.ones(3, dtype=bool)]),
        lambda: Workload.predicates(AGES, []),
        lambda: Workload.predicates(AGES, 5),  # type: ignore[arg-type]
        lambda: Workload.matrix(AGES, [[1, 2]]),
        lambda: Workload.matrix(AGES, "text"),
        lambda: 0 * Workload.marginals(AGES, 1),
        lambda: -1 * Workload.marginals(AGES, 1),
        lambda: "3" * Workload.marginals(AGES, 1),
        lambda: Workload.marginals(AGES, 1) + Workload.marginals(Domain({"x": 2}), 1),
        lambda: Workload(AGES, []),
        lambda: Workload.marginals(AGES, 1).sensitivity(3),  # type: ignore[arg-type]
        lambda: Workload.marginals(AGES, 1).sensitivity(1, "both"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_workload_is_refused(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()
