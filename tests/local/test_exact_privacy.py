"""Every randomizer on small domains, exhaustively: the exact law of its reports, for every pair of answers.

Nothing here is sampled, so there are no false alarms.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius import local
from dalenius.local import piecewise
from dalenius.mechanisms._support.exact_coin import exp_minus
from tests.local.enumeration import hockey_stick, law, worst

ORACLES: list[Any] = [
    *(local.RandomizedResponse(epsilon=e, k=k) for e in (0.3, 1.0, math.log(3)) for k in (2, 3, 6)),
    *(local.SymmetricUnaryEncoding(epsilon=e, k=k) for e, k in ((0.3, 2), (1.0, 3), (2.5, 5))),
    *(local.OptimizedUnaryEncoding(epsilon=e, k=k) for e, k in ((0.3, 2), (1.0, 3), (2.5, 5))),
    *(local.HadamardResponse(epsilon=e, k=k) for e, k in ((0.3, 2), (1.0, 3), (1.0, 6))),
    *(
        local.HadamardResponse(epsilon=e, k=k, blocks=b)
        for e, k, b in ((1.0, 6, 2), (3.0, 8, 4), (3.0, 5, 4))
    ),
    *(local.LocalHashing(epsilon=e, k=k) for e, k in ((0.3, 2), (1.0, 4), (2.0, 5))),
    *(local.LocalHashing(epsilon=1.0, k=k, g=g) for k, g in ((5, 2), (7, 3), (3, 6))),
    *(local.SubsetSelection(epsilon=e, k=k) for e, k in ((0.3, 2), (0.5, 5), (1.0, 4))),
    *(local.SubsetSelection(epsilon=1.0, k=5, d=d) for d in (1, 3, 4)),
]
EXPONENTS = (0.0, 0.3, 0.8)


@pytest.mark.parametrize("m", ORACLES, ids=repr)
def test_answers(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    laws = [law(monkeypatch, m, x) for x in range(m.k)]
    check_loss(m, laws)
    first, second = (laws[x] for x in m.worst_pair)
    assert hockey_stick(first, second, Fraction(1)) == worst(
        laws, lambda a, b: hockey_stick(a, b, Fraction(1))
    )
    # Shares: the expectation of what is estimated from one report is 1 for the answer and 0 for others.
    if isinstance(m, local.PureOracle):
        for x in range(m.k):
            for v in range(m.k):
                chance = sum(p for report, p in laws[x].items() if supports(m, report, v))
                assert chance == (m.p if v == x else m.q)
    for x in range(m.k):
        mean, square = np.zeros(m.k), np.zeros(m.k)
        for report, p in laws[x].items():
            shares = m.shares(m.tally(as_reports(m, report)), 1)[0]
            mean += float(p) * shares
            square += float(p) * shares**2
        truth = np.eye(m.k)[x]
        np.testing.assert_allclose(mean, truth, atol=1e-9)
        for v in range(m.k):
            if isinstance(m, local.HadamardResponse):
                same = v // (m.block_size - 1) == x // (m.block_size - 1)
                stated = m.noise_variance(truth[v], 1, float(same))
            else:
                stated = m.noise_variance(truth[v], 1)
            np.testing.assert_allclose(square[v] - mean[v] ** 2, stated, rtol=1e-9)


def as_reports(m: Any, report: Any) -> Any:
    packed = isinstance(m, local.UnaryEncoding | local.SubsetSelection)
    return np.array([report], dtype=np.uint8 if packed else np.int64)


def supports(m: Any, report: Any, v: int) -> bool:
    """Whether a report fits an answer, in the words of the literature."""
    match m:
        case local.RandomizedResponse():
            return bool(report == v)
        case local.LocalHashing():
            a, b, y = report
            return math.floor(Fraction((a * v + b) % m.prime * m.g, m.prime)) == y
        case _:
            return bool(report[v // 8] >> v % 8 & 1)


def check_loss(m: Any, laws: list[Any]) -> None:
    """No ratio above e^epsilon, and the stated profile is that of the worst pair, neither less nor more."""
    most = 1 / exp_minus(Fraction(m.epsilon))  # rounded down
    assert worst(laws, lambda a, b: hockey_stick(a, b, most)) == 0
    for exponent in EXPONENTS:
        if exponent < m.epsilon:
            ratio = Fraction(math.exp(exponent))
            truth = float(worst(laws, lambda a, b, r=ratio: hockey_stick(a, b, r)))  # type: ignore[misc]
            assert truth * (1 - 1e-9) <= m.loss.delta(exponent) <= truth * (1 + 1e-9) + 1e-15
    assert m.loss.epsilon(0.0) == pytest.approx(m.epsilon, rel=1e-12)


NUMBERS = [cls(epsilon=e) for cls in (local.Duchi, local.Piecewise, local.Hybrid) for e in (0.3, 1.0, 3.0)]


@pytest.mark.parametrize("m", NUMBERS, ids=repr)
def test_numbers(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piecewise, "STEPS", 5)
    m = type(m)(epsilon=m.epsilon)  # nothing cached of another grid
    units = (-1.0, -0.8125, -0.3, 0.0, 0.25, 0.7, 1.0)
    laws = [law(monkeypatch, m, u) for u in units]
    check_loss(m, laws)
    for unit, one in zip(units, laws, strict=True):
        values, chances = m.decode(np.array(list(one))), np.array([float(p) for p in one.values()])
        assert chances @ values == pytest.approx(unit, abs=1e-12)
        assert chances @ values**2 - unit**2 == pytest.approx(m.variance(unit), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.61, 1.0, 3.0, 8.0])
def test_variances_of_the_literature(epsilon: float) -> None:
    """Wang, Xiao, Yang et al. (2019), equations 4 and 8, for the continuous laws; the grid adds hardly anything."""
    half, e = math.exp(epsilon / 2), math.exp(epsilon)
    for t in (0.0, 0.4, 1.0):
        duchi = ((e + 1) / (e - 1)) ** 2 - t**2
        assert local.Duchi(epsilon=epsilon).variance(t) == pytest.approx(duchi, rel=1e-9)
        pieces = t**2 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
        assert local.Piecewise(epsilon=epsilon).variance(t) == pytest.approx(pieces, rel=5e-4)
    assert local.Laplace(epsilon=epsilon).variance(0.3) == pytest.approx(8 / epsilon**2, rel=1e-9)
    best = local.Hybrid(epsilon=epsilon).worst_variance
    for other in (local.Duchi, local.Piecewise, local.Laplace):
        assert best <= other(epsilon=epsilon).worst_variance * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("k", [50, 1000])
def test_variances_of_frequency_oracles(epsilon: float, k: int) -> None:
    """Wang, Blocki, Li and Jha (2017), table 1, for rare answers; n = 1."""
    e, half = math.exp(epsilon), math.exp(epsilon / 2)
    table = {
        local.RandomizedResponse: (k - 2 + e) / (e - 1) ** 2,
        local.SymmetricUnaryEncoding: half / (half - 1) ** 2,
        local.OptimizedUnaryEncoding: 4 * e / (e - 1) ** 2,
    }
    for oracle, stated in table.items():
        assert oracle(epsilon=epsilon, k=k).noise_variance(0.0, 1) == pytest.approx(stated, rel=1e-9)
    unary = table[local.OptimizedUnaryEncoding]
    hashing = local.LocalHashing(epsilon=epsilon, k=k).noise_variance(0.0, 1)
    assert hashing == pytest.approx(unary, rel=10 / k + 0.01)
    assert (
        hashing <= unary * 1.01
    )  # g is a whole number; cells are of even size, so that fewer answers meet in one
    assert local.SubsetSelection(epsilon=epsilon, k=k).noise_variance(0.0, 1) <= min(unary, hashing)
    if epsilon <= 1:
        assert local.HadamardResponse(epsilon=epsilon, k=k).noise_variance(0.0, 1) == pytest.approx(
            ((e + 1) / (e - 1)) ** 2, rel=1e-9
        )


@pytest.mark.parametrize("overlapping", [False, True])
def test_everybody_is_in_one_level_of_the_tree(monkeypatch: pytest.MonkeyPatch, overlapping: bool) -> None:
    """Heavy hitters cost one report: everybody sends one, to one level. Planted: all people in every level."""
    sent: list[tuple[int, float]] = []
    release = local.LocalHashing.release

    def heard(oracle: local.LocalHashing, values: Any) -> Any:
        sent.append((len(values), oracle.epsilon))
        return release(oracle, values)

    monkeypatch.setattr(local.LocalHashing, "release", heard)
    if overlapping:
        monkeypatch.setattr(np, "array_split", lambda people, levels: [people] * levels)
    found = local.heavy_hitters(np.repeat([5, 70_000], 300), 2.0, bits=20)
    assert len(sent) == len(found.levels) > 1
    assert {epsilon for _, epsilon in sent} == {2.0} == {found.loss.epsilon(0.0)}
    assert (sum(count for count, _ in sent) == 600) is not overlapping
