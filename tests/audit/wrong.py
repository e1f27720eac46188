"""Releases that break their promise: bugs people make, and formulas that are in print.

Each is a function (input, times) -> outputs that does what the bug or the printed formula says, with a pair
of neighbouring inputs and the promise that is made for it. Where the repair is as short, it is given, too:
the audit must catch the one and let the other pass.

Sources: Awan, lecture notes on differential privacy, 2025; Redberg, PhD thesis, 2023; "slides", Avella
Medina, Differentially private statistical inference, 2025. Parameters are such that the damage shows in a
million draws; a promise with a small delta or a large epsilon can be broken without showing in that many.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dalenius as dp
from dalenius import losses
from tests.audit.laws import chosen, rng, rounded, with_laplace, with_normal

Release = Callable[[Any, int], Any]


@dataclass(frozen=True)
class Wrong:
    """One broken promise."""

    name: str
    where: str
    """Where it is printed, or "bug"."""
    claim: Any
    pair: tuple[Any, Any]
    release: Release
    right: Release | None = None
    """What should have been done; the claim is true of it."""
    trials: int = 100_000
    level: float = 0.0
    """The delta the audit is aimed at."""


CASES: list[Wrong] = []


def case(
    name: str, where: str, claim: Any, pair: tuple[Any, Any], **more: Any
) -> Callable[[Release], Release]:
    def note(release: Release) -> Release:
        CASES.append(Wrong(name, where, claim, pair, release, **more))
        return release

    return note


# -- additive noise --------------------------------------------------------------------------------------

case("scale halved", "bug", dp.PureDP(1.0), (0.0, 1.0), right=lambda x, n: with_laplace(x, 1.0, n))(
    lambda x, n: with_laplace(x, 0.5, n)
)

case(
    "sensitivity forgotten", "bug", dp.PureDP(1.0), (0.0, 10.0), right=lambda x, n: with_laplace(x, 10.0, n)
)(lambda x, n: with_laplace(x, 1.0, n))


def on_whole_numbers(scale: float) -> Release:
    """Sensitivity 1/2 before rounding is 1 after it."""

    def release(x: float, n: int) -> np.ndarray:
        p = -np.expm1(-1 / scale)
        return np.floor(x + 0.5) + (rng().geometric(p, n) - rng().geometric(p, n))

    return release


case("rounding left out of the sensitivity", "bug", dp.PureDP(0.5), (0.2, 0.7), right=on_whole_numbers(2.0))(
    on_whole_numbers(1.0)
)


@case(
    "last bits of floating-point Laplace noise",
    "Mironov 2012; Awan, chapter 3, as a sampler",
    dp.PureDP(1.0),
    (0.0, 1.0),
    right=lambda x, n: with_laplace(x, 1.0, n),
)
def textbook_laplace(x: float, n: int) -> np.ndarray:
    u = rng().random(n) - 0.5
    return x - np.sign(u) * np.log(1 - 2 * np.abs(u))


@case(
    "last bits of floating-point normal noise",
    "Mironov 2012; any generator of doubles",
    dp.GDP(1.0),
    (0.0, 1.0),
    right=lambda x, n: with_normal(x, 1.0, n),
)
def textbook_normal(x: float, n: int) -> np.ndarray:
    return x + np.sqrt(-2 * np.log(1 - rng().random(n))) * np.cos(2 * np.pi * rng().random(n))


@case(
    "one draw of noise for all coordinates",
    "slides, local gradient descent",
    dp.PureDP(1.0),
    ([0, 0], [0, 1]),
)
def shared_noise(x: list[float], n: int) -> np.ndarray:
    return rounded(np.asarray(x) + rng().laplace(0, 1.0, (n, 1)))


@case("noise again until the count is not negative", "bug", dp.PureDP(1.0), (0.0, 1.0))
def until_positive(x: float, n: int) -> np.ndarray:
    drawn = with_laplace(x, 1.0, 8 * n)
    return drawn[drawn >= 0][:n]


@case(
    "clamped to the range of the data",
    "Awan, chapter 3: post-processing must not look at the data again",
    dp.PureDP(1.0),
    (0.0, 1.0),
)
def clamped_to_data(x: float, n: int) -> np.ndarray:
    return np.clip(with_laplace(x, 1.0, n), 0.0, x + 2.0)


case("asked twice, charged once", "Awan, chapter 1: differencing", dp.PureDP(1.0), (5.0, 4.0))(
    lambda x, n: with_laplace([x, x], 1.0, n)
)


case(
    "l1 noise for an l2 sensitivity",
    "Awan, chapter 6: one norm for the sensitivity and the noise",
    dp.PureDP(1.0),
    (np.zeros(4), np.full(4, 0.5)),
    right=lambda x, n: with_laplace(x, 2.0, n),
)(lambda x, n: with_laplace(x, 1.0, n))


def ball_times_gamma(shape: float) -> Release:
    """Radius times a point of the ball [-1, 1]: density exp(-|x|) needs a radius of shape m + 1 = 2."""

    def release(x: float, n: int) -> np.ndarray:
        return rounded(x + rng().gamma(shape, 1.0, n) * rng().uniform(-1, 1, n))

    return release


case(
    "radius of a K-norm draw one dimension short",
    "Awan, chapter 3: the K-norm mechanism",
    dp.PureDP(1.0),
    (0.0, 1.0),
    right=ball_times_gamma(2.0),
)(ball_times_gamma(1.0))

case(
    "Gaussian noise without its factor",
    "slides, Gaussian mechanism: the proof leaves out 2 log(1.25/delta)",
    dp.ApproxDP(1.0, 1e-5),
    (0.0, 1.0),
    right=lambda x, n: with_normal(x, math.sqrt(2 * math.log(1.25e5)), n),
    level=1e-5,
)(lambda x, n: with_normal(x, 1.0, n))

case(
    "sensitivity under the root",
    "slides, Gaussian mechanism, once",
    dp.ApproxDP(0.9, 1e-5),
    (0.0, 100.0),
    right=lambda x, n: with_normal(x, math.sqrt(2 * math.log(1.25e5)) * 100 / 0.9, n),
    level=1e-5,
)(lambda x, n: with_normal(x, math.sqrt(2 * math.log(1.25e5) * 100) / 0.9, n))

case(
    "classical Gaussian beyond epsilon 1",
    "common code; Awan, Theorem 9.3, is for epsilon < 1",
    dp.ApproxDP(7.0, 0.5),
    (0.0, 1.0),
    right=lambda x, n: with_normal(x, 1 / 4.06, n),
    trials=1_000_000,
    level=0.5,
)(lambda x, n: with_normal(x, math.sqrt(2 * math.log(1.25 / 0.5)) / 7.0, n))

case(
    "noise constants of OPS-PTR",
    "Redberg, Algorithm 15: sqrt(log(6/delta)) / (epsilon/4) for (epsilon/4, delta/3)",
    dp.ApproxDP(4.0, 0.1),
    (0.0, 1.0),
    trials=400_000,
    level=0.1,
)(lambda x, n: with_normal(x, math.sqrt(math.log(6 / 0.3)) / 4.0, n))

case(
    "output noise of an approximate minimiser, four times too small",
    "Redberg, appendix C.7",
    dp.ZCDP(0.1),
    (-1.0, 1.0),
    right=lambda x, n: with_normal(x, math.sqrt(2 / 0.1), n),
)(lambda x, n: with_normal(x, 1 / math.sqrt(2 * 0.1), n))

case(
    "noise C for a sensitivity 2C",
    "Awan, Algorithm 7, against the accountants of libraries",
    dp.GDP(1.0),
    (-1.0, 1.0),
    right=lambda x, n: with_normal(x, 2.0, n),
)(lambda x, n: with_normal(x, 1.0, n))


# -- matrices --------------------------------------------------------------------------------------------


def symmetric(scale: float, mirrored: bool) -> Release:
    def release(x: np.ndarray, n: int) -> np.ndarray:
        g = rng().standard_normal((n, *x.shape))
        g = np.triu(g) + np.swapaxes(np.triu(g, 1), 1, 2) if mirrored else (g + np.swapaxes(g, 1, 2)) / 2
        return rounded(x + scale * g)

    return release


case(
    "symmetric noise by averaging",
    "common code for the slides' matrix mechanism",
    dp.GDP(1.0),
    (np.zeros((2, 2)), np.array([[0.0, 1.0], [1.0, 0.0]]) / math.sqrt(2)),
    right=symmetric(1.0, mirrored=True),
)(symmetric(0.5, mirrored=False))

case(
    "noise B for rows of norm B",
    "slides, sandwich variance: 2 B for 2 B^2",
    dp.GDP(1.0),
    (np.array([[16.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 16.0]])),
    right=symmetric(2 * 16.0, mirrored=True),
)(symmetric(2 * 4.0, mirrored=True))


# -- histograms and counts -------------------------------------------------------------------------------

case(
    "histogram for a replaced record with noise for an added one",
    "slides, noisy histogram, one bin at a time; Awan, chapter 3, has 2",
    dp.PureDP(1.0),
    ([10.0, 3.0, 0.0], [9.0, 4.0, 0.0]),
    right=lambda x, n: with_laplace(x, 2.0, n),
)(lambda x, n: with_laplace(x, 1.0, n))

case(
    "sizes of the parts for nothing",
    "Awan, chapter 4: parallel composition of bounded DP",
    dp.PureDP(0.0),
    ((10, 5), (9, 6)),
)(lambda x, n: [x] * n)


def stable(threshold: float, claim_epsilon: float = 1.0) -> Release:
    """Noisy counts of the bins that are there, if above a threshold."""

    def release(x: dict[str, int], n: int) -> list[dict[str, float]]:
        noisy = {key: with_laplace(float(count), 1 / claim_epsilon, n) for key, count in x.items()}
        return [{key: float(y[i]) for key, y in noisy.items() if y[i] >= threshold} for i in range(n)]

    return release


ONE_MORE = ({"a": 7}, {"a": 7, "b": 1})
THRESHOLD = 1 + math.log(1 / (2 * 0.02))

case(
    "threshold of new bins one too low",
    "bug",
    dp.ApproxDP(1.0, 0.02),
    ONE_MORE,
    right=stable(THRESHOLD),
    trials=40_000,
    level=0.02,
)(stable(THRESHOLD - 1))

case("bins that appear without a threshold", "bug", dp.ApproxDP(1.0, 0.02), ONE_MORE, trials=20_000)(
    stable(-math.inf)
)


# -- surveys ---------------------------------------------------------------------------------------------


def survey(keep: float, kinds: int) -> Release:
    def release(x: int, n: int) -> np.ndarray:
        other = (x + rng().integers(1, kinds, n)) % kinds
        return np.where(rng().random(n) < keep, x, other)

    return release


case(
    "ten answers kept as often as two",
    "bug",
    dp.PureDP(1.0),
    (0, 1),
    right=survey(math.e / (math.e + 9), 10),
)(survey(math.e / (math.e + 1), 10))


# -- selection -------------------------------------------------------------------------------------------


def quantile(rate: float) -> Release:
    """The private quantile sampler on [0, 10] with weight exp(-rate |i - n/2|) per unit of length."""

    def release(x: list[float], n: int) -> np.ndarray:
        edges = np.concatenate([[0.0], np.sort(x), [10.0]])
        i = chosen(np.diff(edges) * np.exp(-rate * np.abs(np.arange(len(x) + 1) - len(x) / 2)), n)
        return rounded(edges[i] + np.diff(edges)[i] * rng().random(n))

    return release


case(
    "quantile sampler without the half",
    "Awan, chapter 8, Algorithm 4",
    dp.PureDP(1.0),
    ([1.0] * 4 + [8.9] * 2 + [9.5] * 4, [1.0] * 3 + [8.9] * 2 + [9.5] * 5),
    right=quantile(0.5),
)(quantile(1.0))


def noisy_max(scale: float, value: bool) -> Release:
    def release(x: Any, n: int) -> np.ndarray:
        noisy = with_laplace(x, scale, n)
        winner = noisy.argmax(axis=1)
        return np.column_stack([winner, noisy.max(axis=1)]) if value else winner

    return release


case(
    "noisy maximum with its value",
    "Awan, chapter 5: only the index is covered",
    dp.PureDP(1.0),
    (np.zeros(4), np.ones(4)),
    right=noisy_max(2.0, value=False),
)(noisy_max(2.0, value=True))

case(
    "noisy maximum with half the noise",
    "bug",
    dp.PureDP(1.0),
    ([3.0, 0.0], [2.0, 1.0]),
    right=noisy_max(2.0, value=False),
)(noisy_max(1.0, value=False))


def permute_and_flip(rate: float) -> Release:
    def release(x: Any, n: int) -> np.ndarray:
        q = np.asarray(x, dtype=float)
        order = rng().random((n, len(q))).argsort(axis=1)
        heads = rng().random((n, len(q))) < np.exp(rate * (q - q.max()))[order]
        return order[np.arange(n), heads.argmax(axis=1)]

    return release


case(
    "permute and flip without the half",
    "bug",
    dp.PureDP(1.0),
    ([3.0, 0.0], [2.0, 1.0]),
    right=permute_and_flip(0.5),
)(permute_and_flip(1.0))


@case(
    "candidates taken from the data",
    "Awan, chapter 7: the base measure must not depend on the data",
    dp.PureDP(1.0),
    ([1, 2], [1, 3]),
)
def from_the_data(x: list[int], n: int) -> np.ndarray:
    return rng().choice(x, n)


def chain(steps: int) -> Release:
    """The exponential mechanism on 20 candidates by a Metropolis chain that starts at the best one."""

    def release(x: int, n: int) -> np.ndarray:
        utility = -np.minimum(np.abs(np.arange(20) - x), 1) * 1.0
        state = np.full(n, x)
        for _ in range(steps):
            proposal = rng().integers(0, 20, n)
            accept = rng().random(n) < np.exp(0.5 * (utility[proposal] - utility[state]))
            state = np.where(accept, proposal, state)
        return state

    return release


case(
    "a chain that has not mixed",
    "Awan, chapter 7, and slides: exponential mechanism by MCMC",
    dp.PureDP(1.0),
    (3, 4),
    right=chain(60),
)(chain(2))


@case(
    "squared loss on the whole line",
    "Awan, Theorem 7.10: without a bounded loss",
    dp.PureDP(1.0),
    ([0.0] * 9 + [0.5], [0.0] * 9 + [50.0]),
)
def unbounded_risk(x: list[float], n: int) -> np.ndarray:
    return with_normal(float(np.mean(x)), math.sqrt(1 / len(x)), n)


# -- sparse vector ---------------------------------------------------------------------------------------


def sparse_vector(
    queries_scale: float, stop: int, threshold_scale: float = 2.0, value: bool = False
) -> Release:
    """Above (1) or below (0) zero for each query until `stop` are above; then -1."""

    def release(x: Any, n: int) -> np.ndarray:
        threshold = rng().laplace(0, threshold_scale, (n, 1)) if threshold_scale else np.zeros((n, 1))
        noisy = np.asarray(x, dtype=float) + (
            rng().laplace(0, queries_scale, (n, len(x))) if queries_scale else 0.0
        )
        above = noisy >= threshold
        before = np.cumsum(above, axis=1) - above
        answers = np.where(above & value, rounded(noisy), above)
        return np.where(before < stop, answers, -1.0)

    return release


RIGHT_SPARSE = sparse_vector(4.0, stop=1)
"""epsilon = 1: half for the threshold, half for the query that is above."""

case(
    "above threshold stops one too late",
    "bug",
    dp.PureDP(2.0),
    ([-0.5] * 8 + [1.0] * 2, [0.5] * 8 + [0.0] * 2),
    right=sparse_vector(2.0, stop=1, threshold_scale=1.0),
    trials=400_000,
)(sparse_vector(2.0, stop=2, threshold_scale=1.0))

case(
    "sparse vector without noise on the queries",
    "Lyu, Su and Li 2017, Algorithm 5",
    dp.PureDP(1.0),
    ([0.0, 1.0], [1.0, 0.0]),
    right=RIGHT_SPARSE,
    trials=40_000,
)(sparse_vector(0.0, stop=2))

case(
    "sparse vector without noise on the threshold",
    "bug",
    dp.PureDP(1.0),
    ([0.0] * 6, [1.0] * 6),
    right=RIGHT_SPARSE,
)(sparse_vector(2.0, stop=1, threshold_scale=0.0))

case(
    "sparse vector that shows the value it compared",
    "Lyu, Su and Li 2017, Algorithm 3",
    dp.PureDP(2.0),
    ([0.0] * 3, [1.0] * 3),
    right=RIGHT_SPARSE,
    trials=600_000,
)(sparse_vector(1.0, stop=1, threshold_scale=1.0, value=True))

case(
    "sparse vector with noise for one answer and no end",
    "Lyu, Su and Li 2017, Algorithms 4 and 6",
    dp.PureDP(1.0),
    ([0.0] * 5 + [1.0] * 5, [1.0] * 5 + [0.0] * 5),
    right=RIGHT_SPARSE,
)(sparse_vector(2.0, stop=10))


# -- sampling --------------------------------------------------------------------------------------------

W, R = np.array([0.9, 0.1]), np.array([0.5, 0.5])


case(
    "remove pair of a sampled release",
    "Awan, Theorem 14.3: ((W + R)/2, R) has delta 0.10 at e^epsilon = 1.2",
    dp.ApproxDP(math.log(1.2), 0.10),
    ("without", "with"),
    level=0.1,
)(lambda x, n: chosen(W if x == "without" else (W + R) / 2, n))


def sampled_survey(published: bool) -> Release:
    """A tenth are asked; epsilon 1 for those, log(1 + (e - 1)/10) for all if nobody knows who they are."""

    def release(x: int, n: int) -> np.ndarray:
        asked = rng().random(n) < 0.1
        answer = np.where(rng().random(n) < 1 / (1 + math.e), 1 - x, x)
        answer = np.where(asked, answer, rng().integers(0, 2, n))
        return np.column_stack([asked, answer]) if published else answer

    return release


case(
    "a sample that is published",
    "Awan, chapter 11: secrecy of the sample",
    dp.PureDP(math.log1p(0.1 * math.expm1(1.0))),
    (0, 1),
    right=sampled_survey(published=False),
)(sampled_survey(published=True))


def sampled_gaussian(x: int, n: int) -> np.ndarray:
    """Log-odds of five sampled releases with noise 0.7, which is all there is to know about them."""
    y = 0.7 * rng().standard_normal((n, 5)) + (rng().random((n, 5)) < 0.1 if x else 0)
    return rounded(np.log(0.9 + 0.1 * np.exp((y - 0.5) / 0.49)).sum(axis=1))


case(
    "the central limit as a guarantee",
    "Awan, chapter 11: the central limit",
    dp.GDP(0.1 * math.sqrt(5 * math.expm1(1 / 0.49))),
    (0, 1),
    trials=400_000,
    level=1e-3,
)(sampled_gaussian)


# -- means and regressions -------------------------------------------------------------------------------


def truncated_mean(bound: float, cut: Callable[[Any, float], Any]) -> Release:
    def release(x: list[float], n: int) -> np.ndarray:
        y = np.sign(x) * cut(np.abs(x), bound)
        return with_laplace(float(np.mean(y)), 2 * bound / len(x), n)

    return release


case(
    "truncation with max for min",
    "slides, truncated mean and median",
    dp.PureDP(1.0),
    ([0.5] * 9 + [-1.0], [0.5] * 9 + [100.0]),
    right=truncated_mean(1.0, np.minimum),
)(truncated_mean(1.0, np.maximum))


@case(
    "bounds from the data",
    "slides, truncated mean: bounds must be public",
    dp.PureDP(1.0),
    ([0.5] * 10, [0.5] * 9 + [100.0]),
)
def bounds_from_data(x: list[float], n: int) -> np.ndarray:
    bound = max(map(abs, x))
    return with_laplace(float(np.mean(x)), 2 * bound / len(x), n)


def sums_for_regression(scale: float) -> Release:
    """sum x, sum x^2, sum x y and, for the intercept, sum y: one row in [0, 1]^2 moves each by up to 1."""

    def release(row: tuple[float, float], n: int) -> np.ndarray:
        x, y = row
        return with_laplace([x, x * x, x * y, y], scale, n)

    return release


case(
    "regression with an intercept and one sum too few",
    "Awan, chapter 3: 3p + p(p-1)/2 sums",
    dp.PureDP(3.0),
    ((0.0, 0.0), (1.0, 1.0)),
    right=sums_for_regression(4 / 3.0),
    trials=400_000,
)(sums_for_regression(3 / 3.0))

case(
    "cross products of features in [-1, 1] taken to move by 1",
    "Awan, chapter 3: needs [0, 1]",
    dp.PureDP(1.0),
    ((1.0, 1.0), (1.0, -1.0)),
    right=lambda row, n: with_laplace([row[0] * row[1]], 2.0, n),
)(lambda row, n: with_laplace([row[0] * row[1]], 1.0, n))


# -- medians and M-estimators ----------------------------------------------------------------------------


def smooth_sensitivity(x: np.ndarray, bound: float, beta: float) -> float:
    n = len(x)
    m = (n + 1) // 2
    padded = np.concatenate([np.full(n + 2, -bound), np.sort(x), np.full(n + 2, bound)])

    def at(i: int) -> float:
        return float(padded[i + n + 1])

    return max(
        math.exp(-beta * k) * max(at(m + t) - at(m + t - k - 1) for t in range(k + 2)) for k in range(n + 1)
    )


def private_median(multiplier: float) -> Release:
    epsilon, delta, bound = 1.0, 1e-6, 1.0

    def release(x: list[float], n: int) -> np.ndarray:
        y = np.clip(x, -bound, bound)
        smooth = smooth_sensitivity(y, bound, epsilon / (4 * (1 + math.log(2 / delta))))
        return with_normal(float(np.median(y)), multiplier / epsilon * smooth, n)

    return release


case(
    "median with smooth sensitivity and 2/epsilon",
    "slides, private median",
    dp.ApproxDP(1.0, 1e-6),
    ([-1.0] * 10 + [1.0] * 11, [-1.0] * 11 + [1.0] * 10),
    right=private_median(5 * math.sqrt(2 * math.log(2e6))),
    trials=1_000_000,
    level=1e-6,
)(private_median(2.0))


def moved_median(x: np.ndarray, eta: float) -> int:
    """The printed distance: records to change until the median is eta away from where it is now."""
    x, m = np.sort(x), len(x) // 2
    return next((k for k in range(1, m + 1) if x[m + k] - x[m] > eta or x[m] - x[m - k] > eta), m + 1)


def unstable_median(x: np.ndarray, eta: float) -> int:
    """The distance to data at which one record can move the median by more than eta."""
    x, m = np.sort(x), len(x) // 2
    return next((k for k in range(m) if max(x[m + t] - x[m + t - k - 1] for t in range(k + 2)) > eta), m)


def propose_test_release(distance: Callable[[np.ndarray, float], int], inverted: bool = False) -> Release:
    epsilon, delta, eta = 1.0, 1e-6, 1.0

    def release(x: np.ndarray, n: int) -> np.ndarray:
        passed = distance(x, eta) + rng().laplace(0, 1 / epsilon, n) > 1 + math.log(2 / delta) / epsilon
        return np.where(passed != inverted, with_laplace(float(np.median(x)), eta / epsilon, n), np.nan)

    return release


MOVED = (np.array([0.0] * 61 + [0.5] + [1.2] * 59), np.array([0.0] * 60 + [0.5] + [1.2] * 60))

case(
    "propose-test-release relative to a moving median",
    "slides, propose-test-release",
    dp.ApproxDP(2.0, 1e-6),
    MOVED,
    right=propose_test_release(unstable_median),
    level=1e-6,
)(propose_test_release(moved_median))

case(
    "propose-test-release with the test the wrong way round",
    "Redberg, chapter 3: classic PTR as generalized PTR, T = 0",
    dp.ApproxDP(2.0, 1e-6),
    (np.array([-50.0] * 60 + [50.0] * 61), np.array([-50.0] * 61 + [50.0] * 60)),
    right=propose_test_release(unstable_median),
    level=1e-6,
)(propose_test_release(unstable_median, inverted=True))


@case(
    "M-estimator with noise by its influence function",
    'slides, M-estimators "for large n"',
    dp.ApproxDP(1.0, 1e-6),
    (np.array([-1e6] * 50 + [0.0] + [1e6] * 50), np.array([-1e6] * 50 + [1e6] + [1e6] * 50)),
    level=1e-6,
)
def influence_calibrated(x: np.ndarray, n: int) -> np.ndarray:
    c, size = 1.345, len(x)
    theta = float(np.median(x))
    for _ in range(100):  # Huber location: the root of the sum of clipped residuals, by bisection around it
        low, high = theta - 2 * c, theta + 2 * c
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if np.clip(x - middle, -c, c).sum() > 0 else (low, middle)
        theta = (low + high) / 2
    gross = c / max(float(np.mean(np.abs(x - theta) <= c)), 1 / size)
    scale = gross * 5 * math.sqrt(2 * math.log(size) * math.log(1e6)) / size
    return with_normal(theta, scale, n)


# -- gradient descent ------------------------------------------------------------------------------------


def noisy_descent(bound: float, share: bool) -> Release:
    """All K = 5 iterates of Huber location from 0, n = 50, one record at +-1000, mu = 1."""
    c, size, steps = 1.345, 50, 5

    def release(x: float, n: int) -> np.ndarray:
        theta, path = np.zeros(n), []
        scale = bound * c * (math.sqrt(steps) if share else 1.0) / size
        for _ in range(steps):
            slope = ((size - 1) * np.clip(theta, -c, c) - np.clip(x - theta, -c, c)) / size
            theta = rounded(theta - slope - scale * rng().standard_normal(n))
            path.append(theta)
        return np.column_stack(path)

    return release


FAR = (-1000.0, 1000.0)
DESCENT = noisy_descent(2.0, share=True)

case("gradient descent with B for 2 B", "slides, noisy gradient descent", dp.GDP(1.0), FAR, right=DESCENT)(
    noisy_descent(1.0, share=True)
)
case("gradient descent without sqrt K", "slides, noisy gradient descent", dp.GDP(1.0), FAR, right=DESCENT)(
    noisy_descent(2.0, share=False)
)


# -- objective perturbation, votes, reports --------------------------------------------------------------


def linear_minimiser(x: float, n: int) -> np.ndarray:
    """argmin of x theta + (10/9)/2 theta^2 + b theta, b ~ N(0, 1): exact, a linear loss with gradient 1."""
    return with_normal(-x, 1.0, n) / (10 / 9)


def printed_profile(epsilon: float) -> float:
    """Theorem 4.3.1 with log(1 - beta/lambda) of the wrong sign; beta/lambda = 0.9, L = sigma = 1."""
    return 2 * losses.gaussian(1.0).delta(epsilon - math.log(1 - 0.9))


case(
    "objective perturbation with the wrong sign of the log-determinant",
    "Redberg, Theorem 4.3.1",
    dp.ApproxDP(1.0, printed_profile(1.0)),
    (0.0, 1.0),
    level=1e-3,
)(linear_minimiser)


def stopped_minimiser(tolerance: float) -> Release:
    """Newton's method from the minimiser without noise, until the slope is within the tolerance."""

    def release(x: float, n: int) -> np.ndarray:
        b = rng().standard_normal(n)
        return rounded(np.where(np.abs(b) <= tolerance, -x, -(x + b)) / 2.0)

    return release


case(
    "objective perturbation stopped early",
    "Awan, chapter 6, and Redberg, chapter 4: the minimiser must be exact",
    losses.objective_perturbation(1.0, 2.0, gradient_bound=1.0, smoothness=1.0),
    (0.0, 1.0),
    right=stopped_minimiser(0.0),
)(stopped_minimiser(0.1))


@case(
    "a vote moved taken to change the votes by 1",
    "Redberg, chapter 3: PATE with replace-one neighbours",
    dp.ZCDP(0.5),
    ([0.0, 4.0], [1.0, 3.0]),
    trials=400_000,
)
def noisy_vote(x: list[float], n: int) -> np.ndarray:
    return with_normal(x, 1.0, n).argmax(axis=1)


@case(
    "the ex-post loss of an outsider, as it is",
    "Redberg, Example 2.2.4",
    dp.GDP(0.5),
    (0.0, 1.0),
)
def published_loss(x: float, n: int) -> np.ndarray:
    """A count with noise 2, and |2 o - 2 Q - 1| / (2 sigma^2) for somebody who is not in the data."""
    o = with_normal(x, 2.0, n)
    return np.column_stack([o, np.abs(2 * o - 2 * x - 1) / 8])
