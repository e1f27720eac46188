"""All mechanisms that add noise to linear measurements: what they cost, by enumeration and by audit; their errors."""

from __future__ import annotations

import math
import pickle
import zlib
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.audit import lower_bound
from dalenius.errors import InvalidParameter
from dalenius.queries import Domain, HistogramNoise, MatrixMechanism, PerQuery, Workload
from dalenius.queries.linear_mechanism import LinearMechanism, quantile
from dalenius.queries.rows import Rows
from tests.noise.seeded import seeded

KINDS: list[type[LinearMechanism]] = [PerQuery, HistogramNoise, MatrixMechanism]
SMALL = Domain({"a": 2, "b": 3})
WORKLOADS = {
    "marginals": Workload.marginals(SMALL, 2) + Workload.marginals(SMALL, 1),
    "ranges": Workload.ranges(Domain({"x": 6})),
    "signed": Workload.matrix(Domain({"x": 4}), [[1, -1, 2, 0], [0, 3, 0, -1]]),
    "real": Workload.matrix(Domain({"x": 4}), [[0.5, -1, 0.25, 0], [0, 0.3, 0, -1]]),
    "real in both": Workload.product(SMALL, {"a": [[0.5, 0.25], [1, 0.1]], "b": [[0.3, -0.7, 0.1]]}),
}
SURE = 1 - 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_loss_is_no_less_than_that_of_any_two_neighbours(name: str, kind: type[LinearMechanism]) -> None:
    """Every record added to an empty table, and every record replaced by another: by hand, from the measurements."""
    workload = WORKLOADS[name]
    cells = workload.domain.cells
    for adjacency in dp.Adjacency:
        for promise in (dp.PureDP(1.0), dp.ZCDP(0.5)):
            mechanism = kind(workload, promise, adjacency=adjacency, rows_per_unit=2)
            vectors = []
            for cell in range(cells + 1):  # the last is outside the domain
                one = np.zeros(cells + 1, dtype=np.int64)
                one[cell] = 2
                vectors.append(
                    [
                        x.reshape(-1).astype(float)
                        for x in mechanism._measured(Rows.of(workload.domain, one[:-1]))
                    ]
                )
            scales = mechanism._plan.scales
            firsts = vectors if adjacency is dp.REPLACE_ONE else vectors[-1:]
            worst = 0.0
            for first in firsts:
                for second in vectors:
                    moved = [a - b for a, b in zip(first, second, strict=True)]
                    if mechanism.law == "laplace":
                        here = sum(np.abs(d).sum() / s for d, s in zip(moved, scales, strict=True))
                    else:
                        here = sum((d**2).sum() / (2 * s * s) for d, s in zip(moved, scales, strict=True))
                    worst = max(worst, here)
            claimed = mechanism.loss.epsilon(0.0) if mechanism.law == "laplace" else mechanism.loss.zcdp()
            assert worst <= claimed * (1 + 1e-12)
            assert claimed <= (1.0 if mechanism.law == "laplace" else 0.5)
            if adjacency is dp.ADD_REMOVE and (kind is not PerQuery or name != "marginals"):
                assert worst >= claimed * 0.999


@pytest.mark.parametrize("promise", [dp.PureDP(1.0), dp.GDP(1.0)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_audit(kind: type[LinearMechanism], promise: Any) -> None:
    """On all ways of release; false alarms 1e-9. A quarter of the noise is found out."""
    workload = Workload.ranges(Domain({"x": 4}))
    right = kind(workload, promise)
    with seeded(zlib.crc32(f"{kind} {promise}".encode())):
        found = lower_bound(
            right, trials=8000, confidence=SURE, single=100, delta=0.0 if right.law == "laplace" else 1e-2
        )
        assert not found.contradicts()
        wrong = kind(workload, dp.PureDP(4.0) if right.law == "laplace" else dp.GDP(4.0))
        caught = lower_bound(wrong, trials=8000, confidence=SURE, single=0)
    assert caught.contradicts(right)


@pytest.mark.parametrize("kind", KINDS)
def test_measured_error_is_the_predicted_one(kind: type[LinearMechanism]) -> None:
    """Two thousand releases: the mean of squares within 7 standard errors of the exact variance, coverage within 6."""
    workload = Workload.prefixes(Domain({"x": 9})) + 2 * Workload.marginals(Domain({"x": 9}), 1)
    histogram = np.arange(9)
    truth, weights = workload.answers(histogram), workload.weights() ** 2
    for promise in (dp.PureDP(1.0), dp.ZCDP(0.1)):
        mechanism = kind(workload, promise)
        with seeded(zlib.crc32(f"error {kind} {promise}".encode())):
            exact = mechanism._measured(Rows.of(workload.domain, histogram))
            answers = np.array(
                [
                    mechanism._released([mechanism._plan.noisy(i, x) for i, x in enumerate(exact)]).answers()
                    for _ in range(2000)
                ]
            )
            release = mechanism.release(histogram)
        errors = answers - truth
        assert np.abs(errors.mean(axis=0)).max() <= 7 * np.sqrt(release.variances().max() / 2000)  # type: ignore[attr-defined]
        measured = (errors**2).mean(axis=0) / release.variances()  # type: ignore[attr-defined]
        assert np.abs(measured - 1).max() <= 7 * math.sqrt(5 / 2000)  # the kurtosis of Laplace noise is 6
        total = math.sqrt((weights * (errors**2).mean(axis=0)).sum() / weights.sum())
        assert abs(total / mechanism.predicted_error() - 1) < 0.1
        half = (release.conf_int(0.9)[:, 1] - release.conf_int(0.9)[:, 0]) / 2
        covered = (np.abs(errors) <= half).mean(axis=0)
        assert covered.min() >= 0.9 - 6 * math.sqrt(0.09 / 2000)
        assert covered.max() <= 0.97


def test_quantiles_of_sums_of_laplace_variables() -> None:
    """Numerically, for two and three of them in all proportions and equal ones up to 40: never wider than one alone or
    a normal variable.

    By the characteristic function prod 1/(1 + p_j t^2/2) of variance 1: P(|X| > z) by Gil-Pelaez inversion.
    """
    step = 0.02
    t = np.arange(step / 2, 400.0, step)

    def beyond(shares: np.ndarray, z: float) -> float:
        log_size = -np.log1p(np.multiply.outer(shares, t**2) / 2).sum(axis=0)
        return 1 - 2 / math.pi * float((np.exp(log_size) * np.sin(z * t) / t).sum() * step)

    proportions = [np.array([p, 1 - p]) for p in np.linspace(0.02, 0.5, 7)]
    proportions += [
        np.array([p, (1 - p) * q, (1 - p) * (1 - q)]) for p in (0.2, 0.5, 0.8) for q in (0.1, 0.3, 0.5)
    ]
    proportions += [np.full(k, 1 / k) for k in (4, 8, 40)]
    for confidence in (0.5, 0.8, 0.9, 0.95, 0.99):
        z = quantile(confidence, "laplace")
        for shares in proportions:
            assert beyond(shares, z) <= 1 - confidence + 2e-3 * (1 - confidence) + 2e-5, (confidence, shares)


@pytest.mark.parametrize("kind", KINDS)
def test_a_value(kind: type[LinearMechanism]) -> None:
    mechanism = kind(WORKLOADS["marginals"], dp.PureDP(1.0))
    again = pickle.loads(pickle.dumps(mechanism))
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert again.loss == mechanism.loss
    assert mechanism.loss.adjacency is dp.ADD_REMOVE
    for first, second in mechanism.pairs:
        assert mechanism.release(first).answers().shape == mechanism.release(second).answers().shape
    release = mechanism.release(SMALL.codes(np.zeros((3, 2), dtype=int)))
    assert release.domain == SMALL
    assert (release.nonnegative() >= 0).all()  # type: ignore[attr-defined]
    with pytest.raises(InvalidParameter, match="no distribution"):
        release.synthesize(5)
    with pytest.raises(InvalidParameter, match="confidence"):
        release.conf_int(1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"workload": None},
        {"workload": 5},
        {"guarantee": 1.0},
        {"guarantee": None},
        {"adjacency": "add"},
        {"rows_per_unit": 0},
        {"rows_per_unit": 1.5},
        {"noise": "normal"},
        {"noise": "gaussian"},
    ],
    ids=str,
)
def test_odd_input(kind: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        kind(**{"workload": WORKLOADS["marginals"], "guarantee": dp.PureDP(1.0)} | options)


def test_more_rows_of_a_person_cost_more_noise() -> None:
    workload = WORKLOADS["ranges"]
    for kind in KINDS:
        one, five = (kind(workload, dp.ZCDP(0.01), rows_per_unit=k).predicted_error() for k in (1, 5))
        assert five == pytest.approx(5 * one, rel=1e-3)


def test_huge_counts_do_not_fail() -> None:
    histogram = np.full(6, 2**62, dtype=np.int64)
    for kind in KINDS:
        assert np.isfinite(kind(WORKLOADS["ranges"], dp.PureDP(1.0)).release(histogram).answers()).all()


def test_a_release_says_what_it_answers() -> None:
    release = MatrixMechanism(Workload.marginals(SMALL, 1), dp.PureDP(1.0)).release({"a": [0], "b": [2]})
    assert repr(release) == "<MatrixRelease: answers to 5 questions about a, b>"


def test_fractions_in_several_columns_are_rounded_together_or_refused() -> None:
    workload, counts = WORKLOADS["real in both"], np.arange(6).reshape(2, 3)
    mechanism = PerQuery(workload, dp.ZCDP(0.5))
    assert mechanism.predicted_error() < 5
    ((step, part),) = mechanism._whole
    assert part.answers(counts) * step == pytest.approx(workload.answers(counts), rel=1e-8)
    wide = Workload.product(
        Domain({"a": 300, "b": 300}), {"a": np.full((15, 300), 0.5), "b": np.full((15, 300), 0.1)}
    )
    with pytest.raises(InvalidParameter, match="several columns have coefficients that are not whole"):
        PerQuery(wide, dp.ZCDP(0.5))


@pytest.mark.parametrize("kind", KINDS)
def test_a_marginal_that_was_asked_for(kind: type[LinearMechanism]) -> None:
    counts = np.array([[0, 7, 40], [300, 2, 1]])
    found = kind(Workload.marginals(SMALL, [("a", "b"), ("b",)]), dp.PureDP(500.0)).release(counts)
    assert np.array_equal(np.rint(found.marginal(["b", "a"])), counts.T)
    assert np.array_equal(np.rint(found.marginal(["b"])), counts.sum(axis=0))
    with pytest.raises(InvalidParameter, match="no column 'c'"):
        found.marginal(["c"])
