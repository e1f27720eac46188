"""The matrix mechanism against the same mechanism written out with dense matrices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.queries import Domain, HistogramNoise, MatrixMechanism, PerQuery, Workload
from dalenius.queries.matrix.strategy import Measurement
from dalenius.queries.matrix.trees import Tree
from dalenius.queries.rows import Rows
from tests.queries.workloads import workloads


def written_out(mechanism: MatrixMechanism) -> list[np.ndarray]:
    """The matrix of every measurement, from its values on histograms of one record."""
    domain = mechanism.workload.domain
    columns = []
    for cell in range(domain.cells):
        one = np.zeros(domain.cells, dtype=np.int64)
        one[cell] = 1
        columns.append([x.reshape(-1) for x in mechanism._measured(Rows.of(domain, one))])
    return [np.stack([column[i] for column in columns], axis=1) for i in range(len(columns[0]))]


@settings(max_examples=10, deadline=None)
@given(workloads(cells=20), st.sampled_from(dp.Adjacency))
def test_least_squares_and_variances(workload: Workload, adjacency: dp.Adjacency) -> None:
    """Fast answers are those of weighted least squares, and variances those of the trace formula.

    Without noise they are exact, padding or not.
    """
    rng = np.random.default_rng(3)
    histogram = rng.integers(0, 50, workload.domain.cells)
    truth = workload.answers(histogram)
    for promise in (dp.PureDP(1.0), dp.ZCDP(0.5)):
        mechanism = MatrixMechanism(workload, promise, adjacency=adjacency)
        exact = mechanism._measured(Rows.of(workload.domain, histogram))
        assert np.allclose(mechanism._released(exact).answers(), truth)
        matrices, variances = written_out(mechanism), mechanism._plan.variances
        measured = [a @ rng.integers(0, 9, a.shape[1]) + rng.integers(-5, 6, len(a)) for a in matrices]
        release = mechanism._released([y.reshape(x.shape) for y, x in zip(measured, exact, strict=True)])
        # Columns are padded with places that stay empty. What is measured of these goes into the dense problem by way
        # of the same spaces, so only workloads without padding have the same matrix.
        if any(tree.padded != tree.n for tree in mechanism.strategy.trees):
            continue
        stacked = np.vstack([a / math.sqrt(v) for a, v in zip(matrices, variances, strict=True)])
        inverse = np.linalg.pinv(stacked)
        estimate = inverse @ np.concatenate(
            [y / math.sqrt(v) for y, v in zip(measured, variances, strict=True)]
        )
        dense = workload.dense()
        assert np.allclose(release.answers(), dense @ estimate)
        assert np.allclose(release.variances(), ((dense @ inverse) ** 2).sum(axis=1))  # type: ignore[attr-defined]
        weights = workload.weights() ** 2
        expected = math.sqrt((weights * release.variances()).sum() / weights.sum())  # type: ignore[attr-defined]
        assert math.isclose(mechanism.predicted_error(), expected, rel_tol=1e-9)


TREES = [
    (Tree(4, (2, 2)),),
    (Tree(5, (2, 3)),),
    (Tree(7, (3, 3)),),
    (Tree(3, (3,)), Tree(4, (2, 2))),
    (Tree(2, (2,)), Tree(5, (5,)), Tree(2, ())),
]


@pytest.mark.parametrize("trees", TREES, ids=str)
def test_sensitivities_are_those_of_all_pairs_of_records(trees: tuple[Tree, ...]) -> None:
    domain = Domain({"abc"[i]: tree.n for i, tree in enumerate(trees)})
    for levels in itertools.product(*(range(len(tree.blocks)) for tree in trees)):
        for contrast in (False, True):
            one = Measurement(levels, contrast)
            columns = [one.values(trees, Rows.of(domain, np.zeros(domain.cells, int))).reshape(-1)]
            for cell in range(domain.cells):
                single = np.zeros(domain.cells, dtype=np.int64)
                single[cell] = 1
                columns.append(one.values(trees, Rows.of(domain, single)).reshape(-1))
            group = one.group(trees, dp.ADD_REMOVE)
            assert group.l1 == max(np.abs(c).sum() for c in columns)
            assert group.squared == max((c**2).sum() for c in columns)
            assert group.one == max(np.abs(c).max() for c in columns)
            replaced = one.group(trees, dp.REPLACE_ONE)
            pairs = [a - b for a in columns for b in columns]
            assert replaced.l1 >= max(np.abs(c).sum() for c in pairs)
            assert replaced.squared >= max((c**2).sum() for c in pairs)
            if all(tree.n == tree.padded for tree in trees):
                assert replaced.squared == max((c**2).sum() for c in pairs)


def test_ranges_meet_their_targets() -> None:
    """Below OpenDP's best tree with consistency, 17.3 and 28.7 (benchmarks/QUERIES.md)."""
    for cells, most in ((1024, 12.4), (65536, 24.8)):
        mechanism = MatrixMechanism(Workload.ranges(Domain({"x": cells})), dp.PureDP(1.0))
        assert mechanism.predicted_error() <= most
        assert mechanism.loss.epsilon(0.0) <= 1.0


def test_gaussian_marginals_are_the_best_there_are() -> None:
    """No Gram matrix with ones on its diagonal has a smaller trace: the optimality condition of the convex problem.

    For the error tr(W'W X^-1) with diag(X) <= 1 a point with X^-1 W'W X^-1 constant on the diagonal is a minimum (Li et
    al. 2015): the gradient is a multiple of the constraint's.
    """
    domain = Domain({"a": 2, "b": 3, "c": 4})
    workload = Workload.marginals(domain, 2) + 2 * Workload.marginals(domain, 1)
    mechanism = MatrixMechanism(workload, dp.ZCDP(0.5))
    matrices, variances = written_out(mechanism), mechanism._plan.variances
    gram = sum(a.T @ a / v for a, v in zip(matrices, variances, strict=True))
    asked = workload.dense() * workload.weights()[:, None]
    inverse = np.linalg.pinv(gram)
    slope = np.diag(inverse @ asked.T @ asked @ inverse)
    assert np.allclose(np.diag(gram), np.diag(gram)[0])
    assert np.allclose(slope, slope[0])


def test_never_worse_than_simpler_ways() -> None:
    domain = Domain({"a": 3, "b": 4, "c": 8})
    for workload in (
        Workload.marginals(domain, 2),
        Workload.prefixes(domain),
        Workload.product(domain, {"c": "ranges"}),
    ):
        for adjacency in dp.Adjacency:
            ours = MatrixMechanism(workload, dp.ZCDP(0.01), adjacency=adjacency).predicted_error()
            for other in (PerQuery, HistogramNoise):
                assert ours <= other(workload, dp.ZCDP(0.01), adjacency=adjacency).predicted_error() * 1.001


def test_wide_tables_never_make_a_histogram_of_all_columns() -> None:
    domain = Domain(dict.fromkeys("abcdefghijklmno", 15))
    workload = Workload.marginals(domain, 2)
    rows = np.random.default_rng(5).integers(0, 15, (1000, 15))
    mechanism = MatrixMechanism(workload, dp.ZCDP(2000.0))
    release = mechanism.release(domain.codes(rows))
    assert release.marginal(["c", "b"]).shape == (15, 15)
    assert np.allclose(release.marginal(["c", "b"]), release.marginal(["b", "c"]).T)
    assert np.allclose(release.marginal(["c", "b"]).sum(axis=1), release.marginal(["c"]))
    assert np.abs(release.answers() - workload.answers(rows)).max() < 30
    with pytest.raises(InvalidParameter, match="does not ask about a, b, c together"):
        release.marginal(["a", "b", "c"])
