"""Parts of the Gaussian law without replacement: against direct integration, and bounds that must hold."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import Reals
from dalenius.calculus.pairs.soft_halves import HalvesCuts, SoftHalves, halves_of
from dalenius.calculus.pairs.subset_gaussian import SubsetGaussianPair


def direct(part: SoftHalves, s: complex) -> complex:
    """The transform, by adaptive quadrature with 20 digits from the definition."""
    mu, g, a = (mpmath.mpf(v) for v in (part.cuts.mu, part.cuts.rate, part.cuts.sharpness))
    order = mpmath.mpc(s)

    def rises(x: mpmath.mpf, cut: float) -> mpmath.mpf:
        return mpmath.gammainc(a, 0, a * mpmath.exp(mu * (x - mpmath.mpf(cut))), regularized=True)

    def integrand(x: mpmath.mpf) -> mpmath.mpc:
        weight = (1 if part.low is None else rises(x, part.low)) - (
            0 if part.high is None else rises(x, part.high)
        )
        log_w = mpmath.log(1 - g + g * mpmath.exp(mu * x - mu * mu / 2))
        return weight * mpmath.npdf(x) * (mpmath.exp((1 + order) * log_w) + mpmath.exp(-order * log_w))

    with mpmath.workdps(20):
        h = mu / 2
        total = mpmath.quad(integrand, [h + k for k in (0, 1, 2, 4, 7, 12)])
        if part.low is None:
            total += (1 - g) * (2 * mpmath.ncdf(h) - 1)
        return complex(total)


PARTS = [
    (HalvesCuts(0.7, 1e-3, 20.0), None, None, 5.0, 300.0),
    (HalvesCuts(0.7, 1e-3, 20.0), None, 3.0, 300.0, 2e3),
    (HalvesCuts(2.5, 1e-5, 16.0), 3.0, 4.0, 5.0, 40.0),
]


@pytest.mark.parametrize(("cuts", "low", "high", "c", "t"), PARTS)
def test_the_transform_is_the_integral(
    cuts: HalvesCuts, low: float | None, high: float | None, c: float, t: float
) -> None:
    part = halves_of(cuts, low, high)
    line = part.tilted(c, np.array([0.0, t]))
    assert line is not None
    for k, s in ((0, complex(c)), (1, complex(c, t))):
        truth = direct(part, s) / math.exp(line.log_scale)
        assert abs(line.values[k] - truth) <= line.error[k] < 1e-11
    at_c = math.log(direct(part, complex(c)).real)
    assert part.log_mgf(np.array([c]))[0] == pytest.approx(at_c, abs=2e-13 * (1 + abs(at_c)))


def some(count: int) -> list[tuple[HalvesCuts, float, float]]:
    """Random cuts of the box, a level and a tilt of about its inverse."""
    rng, found = np.random.default_rng(3), []
    while len(found) < count:
        mu, rate = float(np.exp(rng.uniform(-4, 1.2))), float(np.exp(rng.uniform(-16, -0.05)))
        pair = GaussianPair(mu).sampled(rate, False).mirrored()
        assert isinstance(pair, SubsetGaussianPair)
        x = mu / 2 + rng.uniform(1.0, 8.0)
        level = math.log1p(rate * math.expm1(mu * x - mu * mu / 2))
        cuts = pair.cuts(level)
        assert isinstance(cuts, HalvesCuts)
        found.append((cuts, level, float(np.exp(rng.uniform(-2, 2))) / level))
    return found


def test_parts_in_a_row_add_up_and_are_symmetric() -> None:
    for cuts, level, c in some(12):
        whole = halves_of(cuts, None, None)
        s = np.array([-0.3, 0.0, 0.7, min(c, 20.0 / cuts.mu)])
        parts = np.logaddexp(cuts.below(level).log_mgf(s), cuts.between(level, math.inf).log_mgf(s))
        assert parts == pytest.approx(whole.log_mgf(s), abs=1e-11, rel=1e-12)
        assert whole.log_mgf(s[1:2])[0] == pytest.approx(0.0, abs=1e-13)
        np.testing.assert_array_equal(whole.log_mgf(-1.0 - s), whole.log_mgf(s))
        split = [cuts.between(level, 3 * level), cuts.between(3 * level, math.inf)]
        both = np.logaddexp(*(part.log_mgf(s) for part in split))
        assert both == pytest.approx(cuts.between(level, math.inf).log_mgf(s), abs=1e-10, rel=1e-11)


def modulus(part: SoftHalves, c: float, t: Reals, atom: float) -> Reals | None:
    line = part.tilted(c, t)
    if line is None:
        return None
    return np.maximum(np.abs(line.values - atom) - line.error, 0.0)


def test_decay_is_bounded() -> None:
    """|J(c + it)| / J(c), with and without the atom, at many t; the bounds say something at large t."""
    told = {"between": 0, "below": 0, "beside": 0}
    for cuts, level, c in some(12):
        t = c * np.geomspace(0.1, 300.0, 40)
        for name, part in (("between", cuts.between(level, 3 * level)), ("below", cuts.below(level))):
            found = modulus(part, c, t, 0.0)
            if found is None or not math.isfinite(float(part.log_mgf(np.array([c]))[0])):
                continue
            bound = part.envelope(c, t)
            assert (found <= bound * (1 + 1e-9) + 1e-12).all()
            told[name] += bool(bound[-1] < 0.99)
        part = cuts.below(level)
        log_all = float(part.log_mgf(np.array([c]))[0])
        atom = math.exp(part.log_atom - log_all)
        beside = modulus(part, c, t, atom)
        if beside is not None and math.isfinite(log_all):
            bound = part.beside_atoms(c, t) - atom
            assert (beside <= bound * (1 + 1e-9) + 1e-12).all()
            told["beside"] += bool(bound[-1] < 0.1)
    assert min(told.values()) >= 6
