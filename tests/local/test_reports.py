"""What randomizers draw, against their exact laws; audits, and bugs that must be found.

Comparisons with draws are made at 1e-10 (Dvoretzky, Kiefer, Wolfowitz and Massart; Clopper and Pearson), audits at
1e-9: fewer than 60 of them fail a correct randomizer with probability below 1e-7 over the seed. Seeds are fixed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius import local
from dalenius.audit import lower_bound
from dalenius.calculus.loss import Loss
from dalenius.local import piecewise
from dalenius.mechanisms import Mechanism, Neighbours
from tests.local.enumeration import law
from tests.mechanisms.contract import bits, follows

DRAWS = 150_000
SURE = 1 - 1e-9

CASES: list[tuple[Any, dict[str, Any], Any]] = [
    (local.RandomizedResponse, {"k": 5}, 2),
    (local.SymmetricUnaryEncoding, {"k": 3}, 1),
    (local.OptimizedUnaryEncoding, {"k": 3}, 1),
    (local.HadamardResponse, {"k": 3, "blocks": 1}, 1),
    (local.HadamardResponse, {"k": 6, "blocks": 2}, 4),
    (local.LocalHashing, {"k": 3, "g": 3}, 1),
    (local.SubsetSelection, {"k": 5, "d": 2}, 3),
    (local.Duchi, {}, 0.9),
    (local.Piecewise, {}, 0.3),
    (local.Hybrid, {}, 0.9),
]


def numbered(reports: Any) -> np.ndarray:
    """Reports as single numbers."""
    flat = np.asarray(reports, dtype=np.int64)
    return flat if flat.ndim == 1 else flat @ (64 ** np.arange(flat.shape[1]))


@pytest.mark.parametrize(("kind", "options", "value"), CASES)
def test_law_of_reports(kind: Any, options: Any, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact law is accepted, and that of an epsilon off by 15 % refused."""
    monkeypatch.setattr(piecewise, "STEPS", 6)
    stated = law(monkeypatch, kind(epsilon=1.5, **options), value)
    places = numbered(np.array(list(stated)))
    order = np.argsort(places)
    places, ends = places[order], np.cumsum([float(p) for p in np.array(list(stated.values()))[order]])

    def cdf(x: np.ndarray) -> np.ndarray:
        return np.concatenate(([0.0], ends))[np.searchsorted(places, x, side="right")]

    for change, right in ((1.0, True), (0.85, False), (1.15, False)):
        with bits(kind.__name__, options, change):
            drawn = kind(epsilon=1.5 * change, **options).releases(value, DRAWS)
        assert follows(numbered(drawn), cdf) is right, change


def test_sets_are_uniform() -> None:
    """What subset selection does to get the right number of bits: given the truth, all sets are as likely."""
    m = local.SubsetSelection(epsilon=1.0, k=6, d=2)
    with bits("sets"):
        drawn = m.releases(4, 60_000)[:, 0]
    without = drawn[(drawn & 16) == 0]
    sets = sorted({1 << a | 1 << b for a in (0, 1, 2, 3, 5) for b in (0, 1, 2, 3, 5) if a != b})
    ends = np.arange(1, 11) / 10
    assert follows(
        without.astype(float),
        lambda x: np.concatenate(([0.0], ends))[np.searchsorted(sets, x, side="right")],
    )


@pytest.mark.parametrize(("kind", "options"), [(k, o) for k, o, _ in CASES] + [(local.Laplace, {})])
def test_audit(kind: Any, options: Any) -> None:
    claimed, done = (kind(epsilon=e, **options) for e in (1.0, 2.0))
    with bits("audit", kind.__name__, options):
        found = lower_bound(claimed, trials=20_000, confidence=SURE, single=100)
    assert not found.contradicts()
    assert found.epsilon > 0.4
    with bits("planted", kind.__name__, options):
        found = lower_bound(done, trials=20_000, confidence=SURE, single=0)
    assert found.contradicts(claimed)


class Wrong(Mechanism):
    """A randomizer with the loss that was claimed for it."""

    def __init__(self, claimed: float, draw: Any, pair: tuple[Any, Any]) -> None:
        self.claimed, self.draw, self.pair = claimed, draw, pair

    @property
    def loss(self) -> Loss:
        return dp.losses.pure(self.claimed, dp.REPLACE_ONE)

    def release(self, value: Any) -> Any:
        return self.releases(value, 1)[0]

    def releases(self, value: Any, times: int) -> Any:
        return self.draw(value, times)

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(*self.pair)


def printed_response(value: float, times: int) -> Any:
    """Awan (2025), Example 4.2 as printed: x or 1 - x for x in [0, 1], where it must be in {0, 1}."""
    told = np.asarray(dp.mechanisms.RandomizedResponse(epsilon=1.0).releases(0, times))
    return np.where(told == 0, value, 1 - value)


def unary_without_half(value: int, times: int) -> Any:
    """Symmetric unary encoding with epsilon for each of the two bits in which answers differ."""
    return local.SymmetricUnaryEncoding(epsilon=2.0, k=3).releases(value, times)


def laplace_of_half_the_width(value: float, times: int) -> Any:
    """Noise of scale 1/epsilon for numbers in [-1, 1], which are 2 apart."""
    return dp.mechanisms.Laplace(sensitivity=1, scale=1.0).releases(value, times)


def hashing_that_keeps_its_function(value: int, times: int) -> Any:
    """Local hashing with the hash function reported by randomized response to a hash of full size."""
    return local.LocalHashing(epsilon=2.0, k=5, g=5).releases(value, times)


@pytest.mark.parametrize(
    ("draw", "pair"),
    [
        (printed_response, (0.3, 0.6)),
        (unary_without_half, (0, 1)),
        (laplace_of_half_the_width, (-1.0, 1.0)),
        (hashing_that_keeps_its_function, (0, 1)),
    ],
)
def test_what_is_printed_or_often_done_wrong(draw: Any, pair: Any) -> None:
    with bits(draw.__name__):
        assert lower_bound(Wrong(1.0, draw, pair), trials=20_000, confidence=SURE, single=0).contradicts()


def test_printed_rate_of_randomized_response() -> None:
    """Awan (2025), Example 3.5 prints 1/sqrt(n epsilon): ten times less epsilon costs ten times the error, not 3.2."""
    small, smaller = (
        local.RandomizedResponse(epsilon=e).noise_variance(0.0, 100) ** 0.5 for e in (0.1, 0.01)
    )
    assert smaller / small == pytest.approx(10.0, rel=1e-3)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 0.01, 5.0, 100.0])
@pytest.mark.parametrize("kind", [kind for kind, _, _ in CASES] + [local.Laplace])
def test_extremes(kind: Any, epsilon: float) -> None:
    """Parameters at the edge give a randomizer that keeps its promise, or a refusal; never a crash."""
    try:
        m = kind(epsilon=epsilon) if issubclass(kind, local.MeanRandomizer) else kind(epsilon=epsilon, k=7)
    except dp.errors.DaleniusError:
        assert epsilon == 1e-300
        return
    reports = m.release(np.array([0, 1, 0]))
    if isinstance(m, local.PureOracle):
        assert 0 < m.q < m.p <= 1
    if isinstance(m, local.FrequencyOracle):
        assert np.isfinite(m.frequencies(reports).conf_int()).all()
    else:
        assert np.isfinite(m.mean(reports).conf_int()).all()
    assert m.loss.epsilon(0.0) <= epsilon * (1 + 1e-12)


def test_packed_coins() -> None:
    n = 40_000
    for p in (Fraction(1, 3), Fraction(1, 4), 0.731, 1e-3, Fraction(1), Fraction(0)):
        with bits("packed", p):
            drawn = np.unpackbits(dp.local.unary_encoding.packed_bernoulli(p, n), bitorder="little").reshape(
                n, 8
            )
        # 8 columns and their products, each a mean of n coins: Hoeffding at 1e-11.
        near = math.sqrt(math.log(2 / 1e-11) / (2 * n))
        assert (np.abs(drawn.mean(axis=0) - float(p)) < near).all()
        assert (
            np.abs((drawn.T.astype(float) @ drawn / n - float(p) ** 2)[~np.eye(8, dtype=bool)]) < near
        ).all()
    with bits("packed wrong"):
        drawn = np.unpackbits(dp.local.unary_encoding.packed_bernoulli(0.3 * 1.15, n))
    assert abs(drawn.mean() - 0.3) > math.sqrt(math.log(2 / 1e-11) / (16 * n))
