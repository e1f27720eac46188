"""Divergences of groups, parts and samples of losses that are tabulated, against laws written out in balls."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import flint
import numpy as np
import pytest
from flint import arb

import dalenius as dp
from dalenius import losses as L
from dalenius.calculus.loss import Loss

Ball = Any
ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)
NOISE = [(1.0, 1), (3.0, 2), (0.7, 1), (12.5, 30)]


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    before = flint.ctx.prec
    flint.ctx.prec = 256
    yield
    flint.ctx.prec = before


def discrete_gaussian(sigma: float, centre: int, reach: int) -> list[Ball]:
    """P(-reach), ..., P(reach); what lies beyond is far below anything compared here."""
    weights = [(-((arb(k - centre) / arb(sigma)) ** 2) / 2).exp() for k in range(-reach, reach + 1)]
    total = sum(weights, arb(0))
    return [w / total for w in weights]


def with_and_without(sigma: float, steps: int) -> tuple[list[Ball], list[Ball]]:
    # A divergence of order a looks at outcomes about a steps away.
    reach = math.ceil(30 * sigma + 66 * steps)
    return discrete_gaussian(sigma, steps, reach), discrete_gaussian(sigma, 0, reach)


def renyi(p: list[Ball], q: list[Ball], order: float) -> Ball:
    s = arb(order) - 1
    return sum((a * ((a / b).log() * s).exp() for a, b in zip(p, q, strict=True)), arb(0)).log() / s


def mixed(p: list[Ball], q: list[Ball], rate: float) -> list[Ball]:
    return [(1 - arb(rate)) * b + arb(rate) * a for a, b in zip(p, q, strict=True)]


def never_below(loss: Loss, truths: list[tuple[list[Ball], list[Ball]]], loose: float) -> None:
    """At least every truth, and at most `loose` times the largest."""
    rho = loss.zcdp()
    for order in ORDERS:
        found, known = loss.renyi(order), [renyi(p, q, order) for p, q in truths]
        assert all(not arb(found) < truth for truth in known)
        assert all(not arb(rho) * arb(order) < truth for truth in known)
        assert found <= loose * max(float(truth.upper()) for truth in known)


@pytest.mark.parametrize(("sigma", "steps"), NOISE)
@pytest.mark.parametrize("size", [2, 5])
def test_group_of_discrete_gaussian(sigma: float, steps: int, size: int) -> None:
    truth = with_and_without(sigma, size * steps)
    group = L.group(L.discrete_gaussian(sigma, steps), size)
    assert group == L.discrete_gaussian(sigma, size * steps)
    never_below(group, [truth], loose=1.3 if sigma >= 1 else 3.0)
    epsilon = 0.4 * size * steps / sigma
    known = [a - arb(epsilon).exp() * b for a, b in zip(*truth, strict=True)]
    delta = sum((x.max(arb(0)) for x in known), arb(0))
    low, high = group.delta_bounds(epsilon)
    assert not arb(high) < delta
    assert not arb(low) > delta
    assert high - low < 1e-11


@pytest.mark.parametrize(("sigma", "steps"), NOISE)
def test_to_replace_one_of_discrete_gaussian(sigma: float, steps: int) -> None:
    loss = L.to_replace_one(L.discrete_gaussian(sigma, steps))
    never_below(loss, [with_and_without(sigma, 2 * steps)], loose=1.3 if sigma >= 1 else 3.0)
    assert loss.gdp() >= 2 * steps / sigma


@pytest.mark.parametrize(("sigma", "steps"), NOISE)
@pytest.mark.parametrize("rate", [0.5, 0.01])
def test_sample_of_discrete_gaussian(sigma: float, steps: int, rate: float) -> None:
    p, q = with_and_without(sigma, steps)
    base, mixture = L.discrete_gaussian(sigma, steps), mixed(p, q, rate)
    loss = L.poisson_sampled(base, rate)
    never_below(loss, [(mixture, q), (q, mixture)], loose=math.inf)
    subset = L.cp(L.discrete_gaussian(sigma, steps, adjacency=dp.REPLACE_ONE), rate)
    never_below(subset, [(mixture, q)], loose=math.inf)
    for found in (loss, subset):
        assert found.gdp() == base.gdp()
        assert found.zcdp() <= base.zcdp() * (1 + 1e-12)
        assert all(found.renyi(order) <= base.renyi(order) * (1 + 1e-12) for order in ORDERS)
    assert loss.renyi(2.0) < (0.9 if rate == 0.5 else 0.3) * base.renyi(2.0)


def test_parallel_takes_the_worst() -> None:
    parts = [L.discrete_gaussian(3.0, 2), L.laplace(2.0), L.zcdp(0.1), L.gaussian(4.0) * 2]
    loss = L.parallel(*parts)
    for order in ORDERS:
        assert loss.renyi(order) == pytest.approx(max(part.renyi(order) for part in parts), rel=1e-12)
    assert loss.zcdp() == pytest.approx(max(part.zcdp() for part in parts), rel=1e-12)
    assert loss.gdp() == math.inf  # nothing is known of zCDP
    assert L.parallel(*parts[:2], parts[3]).gdp() == max(part.gdp() for part in (*parts[:2], parts[3]))
    assert L.parallel(L.zcdp(0.1), L.zcdp(0.3)) == L.zcdp(0.3)
    assert L.parallel(L.discrete_gaussian(3.0, 2), L.discrete_gaussian(3.0, 5)) == L.discrete_gaussian(3.0, 5)


@pytest.mark.parametrize("rho", [1e-6, 0.02, 0.5, 3.0])
@pytest.mark.parametrize("size", [2, 3, 40, 1000])
def test_group_of_zcdp_is_attained_by_gaussian_noise(rho: float, size: int) -> None:
    loss, gaussian = L.group(L.zcdp(rho), size), L.gdp(size * math.sqrt(2 * rho) * (1 - 1e-9))
    for order in ORDERS:
        exact = size * size * rho * order
        assert exact <= loss.renyi(order) <= exact * (1 + 1e-12)
    assert size * size * rho <= loss.zcdp() <= size * size * rho * (1 + 1e-12)
    if size <= 3:
        low, high = loss.epsilon_bounds(1e-5)
        assert low <= gaussian.epsilon(1e-5) <= high <= L.zcdp(size * size * rho).epsilon(1e-5) * (1 + 1e-9)


def test_group_of_a_sum() -> None:
    parts = L.gaussian(2.0) + L.laplace(3.0) + L.discrete_gaussian(5.0)
    loss = L.group(parts, 3)
    assert loss.zcdp() == pytest.approx(9 * parts.zcdp(), rel=1e-12)
    assert loss.gdp() == pytest.approx(3 * parts.gdp(), rel=1e-12)
    # The Gaussian part alone, three times as far.
    assert all(loss.renyi(order) >= L.gdp(1.5).renyi(order) for order in ORDERS)


def test_sample_of_a_sum_and_of_zcdp() -> None:
    for base in (L.gaussian(2.0) + L.laplace(3.0), L.zcdp(0.3), L.zcdp(0.1) + L.discrete_gaussian(4.0)):
        loss = L.poisson_sampled(base, 0.1)
        for order in ORDERS:
            # Jensen: the moment is at most that of the mixture of the two extremes.
            s = order - 1
            jensen = math.log1p(0.1 * math.expm1(min(s * base.renyi(order), 600.0))) / s
            assert loss.renyi(order) <= jensen * (1 + 1e-9) or s * base.renyi(order) > 600
        assert loss.zcdp() <= base.zcdp() * (1 + 1e-12)
        assert loss.gdp() <= base.gdp()
    sampled = L.poisson_sampled(L.zcdp(0.5), 0.1)
    gaussian = L.poisson_sampled(L.gdp(1.0), 0.1)
    assert all(sampled.renyi(order) >= gaussian.renyi(order) * (1 - 1e-12) for order in ORDERS)


def test_what_reveals_everything_has_no_divergence() -> None:
    leak = L.approx(0.5, 1e-6)
    for loss in (
        L.group(leak, 2),
        L.parallel(leak, L.gaussian(1.0)),
        L.poisson_sampled(leak + L.laplace(1.0), 0.1),
    ):
        assert (loss.renyi(2.0), loss.zcdp(), loss.gdp()) == (math.inf,) * 3
    some = L.rdp(lambda order: 0.1 * order if order <= 8 else math.inf)
    assert L.group(some, 2).zcdp() == math.inf
    assert L.parallel(some, L.gaussian(1.0)).renyi(2.0) == pytest.approx(1.0)
    assert L.parallel(some, L.gaussian(1.0)).renyi(9.0) == math.inf


def test_groups_of_randomized_response() -> None:
    """A chain of neighbours, each step the worst: the divergence of its ends is never below the truth."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        e, size = float(rng.uniform(0.05, 1.5)), int(rng.integers(2, 6))
        group = L.group(L.pure(e), size)
        yes = 1 / (1 + (-arb(e)).exp())
        r = (-arb(e)).exp()
        inner = [(1 - r) / (1 + r) * r ** (size - k) for k in range(1, size)]
        p = [r**size * yes, *inner, yes]
        never_below(group, [(p, p[::-1])], loose=1 + 1e-9)
