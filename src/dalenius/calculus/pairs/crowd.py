"""One report among n: what is left of a local profile, and what a count of reports tells.

Binomial probabilities are Loader's ("Fast and accurate computation of binomial probabilities", 2000), good to a few
roundings of the exponent; tails are SciPy's incomplete beta function. Both are granted `LOOSE`, and the roundings of a
probability as many times as the count is away from its mean, and every error goes to the safe side.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, betaincc, gammaln

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Reals

LOOSE = 1e-9
EACH_COUNT = 250
"""Crowds up to this size are summed count by count; larger ones in blocks, which costs 1e-3 of delta or so."""


def amplified(epsilon: Reals, own: Reals, local: float, n: int) -> Reals:
    """Upper bounds on the profile of n shuffled reports, from those of one report, whose largest loss is `local`.

    E[(sum of n steps)_+] / n, a step being e - a with probability q0, -(a e - 1) with probability q1 and else 0. Of c
    steps that are not 0, E[(.)_+] / c falls with c, as means of exchangeable steps are a reversed martingale; so
    blocks of c count as their least.
    """
    bounds = [_amplified(float(e), float(d), local, n) for e, d in zip(epsilon, own, strict=True)]
    return np.minimum(bounds, own)


def _amplified(epsilon: float, own: float, local: float, n: int) -> float:
    if epsilon >= local:
        return 0.0
    a = math.exp(epsilon)
    up, down, drift = a * math.expm1(local - epsilon), math.expm1(local + epsilon), math.expm1(epsilon)
    q0 = min(own / up, 1 / (math.exp(local) + 1)) * (1 + 8 * UNIT)
    q1 = (q0 * up + drift) / down * (1 + 8 * UNIT)
    q = min(q0 + q1, 1.0)
    counts = _blocks(n, q)
    # c P(C = c) / n is q times the probability of c - 1 among the n - 1 others.
    below = np.append(betaincc(counts[1:] - 1, n - counts[1:] + 1, q), 1.0)
    weight = np.diff(below, prepend=0.0) + 1e-12 * below
    total = q * float(weight @ _mean_gain(counts, q0 / q, up, down, drift / q)) * (1 + 1e-9)
    return max(total, 1e-290)


def _blocks(n: int, q: float) -> Reals:
    """The first count of each block; they cover 1 .. n."""
    if n <= EACH_COUNT:
        return np.arange(1.0, n + 1)
    mean, spread = (n - 1) * q, math.sqrt((n - 1) * q * (1 - q))
    blocks = int(np.clip(18 * spread / (8e-5 * mean + 1e-300), 40, 200))
    deviations = np.concatenate((np.arange(-38.0, -10.0, 2.0), np.linspace(-10.0, 8.0, blocks)))
    return np.unique(np.append(np.clip(np.floor(1 + mean + spread * deviations), 1.0, n), 1.0))


def _mean_gain(c: Reals, chance: float, up: float, down: float, drift: float) -> Reals:
    """E[(up N - down (c - N))_+] / c for N ~ Bin(c, chance), rounded up; drift is minus the mean of one step.

    With k the least N that gains, and b and T the probabilities of k - 1 and of k or more among c - 1, it is
    chance up b - drift T.
    """
    k = np.ceil(down / (up + down) * c)
    at = np.exp(log_binomial(k - 1, c - 1, chance))
    tail = np.where(k < c, betainc(k, np.maximum(c - k, 0.5), chance), 0.0)
    loose = LOOSE + 64 * UNIT * (np.abs(k - 1 - chance * (c - 1)) + 1)
    # Where k is one off for a rounding, what is forgotten is a gain of a few roundings of up + down.
    gain = (chance * up + 32 * UNIT * (up + down)) * at * (1 + loose) - drift * tail * (1 - loose)
    return np.minimum(np.maximum(gain, 0.0), chance * up * (1 + LOOSE))


def counted(first: tuple[float, float], second: tuple[float, float], n: int) -> Atoms:
    """The pair Bin(n-1, q) + Bernoulli(p) against Bin(n, q), without its far tails; p and q come with 1 - p and 1 - q.

    The ratio of the two is p j/(n q) + (1 - p) (n - j)/(n (1 - q)) at j.
    """
    (p, no_p), (q, no_q) = first, second
    spread = math.sqrt(n * q * no_q)
    j = np.arange(
        max(0, math.floor(n * q - 14 * spread - 14)), min(n, math.ceil(n * q + 14 * spread + 14)) + 1.0
    )
    ratio = p / (n * q) * j + no_p / (n * no_q) * (n - j)
    step = (p - q) / (n * q * no_q) * (j - n * q)
    near = np.abs(step) < 0.5
    loss = np.where(near, np.log1p(np.where(near, step, 0.0)), np.log(ratio))
    mass = np.exp(log_binomial(j, np.full(len(j), float(n)), q)) * ratio * (1 - LOOSE)
    blur = 64 * UNIT * (1 + float(np.abs(loss).max()))
    return Atoms(loss, mass, slack=2 * LOOSE + 64 * UNIT * 16 * (spread + 1), blur=blur)


def log_binomial(k: Reals, m: Reals, p: float) -> Reals:
    """log P(Bin(m, p) = k), -inf where k is out of 0 .. m."""
    inside = (k > 0) & (k < m)
    i, j = np.where(inside, k, 1.0), np.where(inside, m - k, 1.0)
    size, mean = i + j, (i + j) * p
    away = i - mean
    deviance = mean * _excess(away / mean) + (size - mean) * _excess(-away / (size - mean))
    middle = _stirling(size) - _stirling(i) - _stirling(j) - deviance
    middle += 0.5 * np.log(size / (2 * math.pi * i * j))
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(k == 0, m * math.log1p(-p), np.where(k == m, m * math.log(p), -np.inf))
    return np.where(inside, middle, ends)


def _excess(x: Reals) -> Reals:
    """(1 + x) log(1 + x) - x."""
    small = np.abs(x) < 0.05
    y = np.where(small, x, 0.0)
    series = np.zeros_like(y)
    for i in range(14, -1, -1):
        series = series * -y + 1.0 / ((i + 1) * (i + 2))
    far = np.where(small, 1.0, x)
    return np.where(small, y * y * series, (1 + far) * np.log1p(far) - far)


def _stirling(n: Reals) -> Reals:
    """log n! - log(sqrt(2 pi n) (n/e)^n)."""
    few = n < 16
    small = np.where(few, n, 1.0)
    exact = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    x = 1 / np.where(few, 16.0, n)
    s = x * x
    return np.where(few, exact, x * (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))))
