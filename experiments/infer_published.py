"""Intervals for a mean between public bounds beside published private ones; a part of INFER_ESTIMATES.md.

`python -m experiments.infer_published` prints it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.noise.seeded import seeded

import dalenius as dp
from dalenius.infer.estimates.bounded import Bounded
from dalenius.infer.estimates.bounded_mean import BoundedMean
from experiments.tables import table

Z = 1.959964
SIZES, MUS = (200, 500, 2_000, 10_000), (0.5, 1.0)

Ends = tuple[Any, Any]

TEXT = """## Beside published private intervals

Of a mean between public bounds, replace-one, GDP(mu) in all; each is {times} simulated data sets with the same rows
for all three, and a cell is coverage in % · width over that without privacy. Monte Carlo error of 95 %: {error}.

- NOISYVAR (Du, Foot, Moniot, Bray and Groce 2020, "Differentially private confidence intervals"): half of the
  promise for the mean, half for the variance, a normal law with the noise in it. Theirs is Laplace noise for pure
  promises; here Gaussian noise, so that all keep the same promise.
- Bootstrap (Ferrando, Wang and Sheldon 2022, "Parametric bootstrap for differentially private confidence
  intervals"): noisy sum and sum of squares, percentiles of simulated releases of the normal law that fits them.
- `dp.infer.mean`: the same two sums, weighted, and an inverted test in place of a normal law.
"""

SEEN = """What one sees: the bootstrap is as narrow as `dp.infer.mean`, and a little narrower at 200 rows, where its
normal law and sums as they came hold up to two points less often; NOISYVAR pays for two releases, and is up to a third
wider."""


def noisy_variance(u: Any, mu: float, noise: np.random.Generator) -> Ends:
    """NOISYVAR of rows in [-1, 1]: the range is 2."""
    n, each = u.shape[1], mu / 2**0.5
    sigma = 2 / n / each
    mean = u.mean(axis=1) + sigma * noise.normal(size=len(u))
    variance = np.maximum(u.var(axis=1, ddof=1) + 4 / n / each * noise.normal(size=len(u)), 0.0)
    half = Z * np.sqrt(variance / n + sigma**2)
    return mean - half, mean + half


def bootstrap(u: Any, mu: float, noise: np.random.Generator) -> Ends:
    """Replacing a row moves sum and sum of squares together by 2 at most, in l2 norm. Of a normal law and Gaussian
    noise the percentiles are known: nothing is simulated."""
    n, sigma = u.shape[1], 2 / mu
    first, second = (x.sum(axis=1) + sigma * noise.normal(size=len(u)) for x in (u, u * u))
    mean = first / n
    half = Z * np.sqrt(np.maximum(second / n - mean**2, 0.0) / n + (sigma / n) ** 2)
    return mean - half, mean + half


def ours(u: Any, mu: float, noise: np.random.Generator) -> Ends:
    """`dp.infer.mean`."""
    made = BoundedMean(dp.GDP(mu), Bounded(-1.0, 1.0), dp.REPLACE_ONE)
    _, _, low, high = made.estimate(made.noisy(list(u)), 0.05)
    return low, high


WAYS: dict[str, Callable[[Any, float, np.random.Generator], Ends]] = {
    "NOISYVAR": noisy_variance,
    "bootstrap": bootstrap,
    "dp.infer.mean": ours,
}


def section(
    populations: dict[str, tuple[Callable[[np.random.Generator, Any], Any], Bounded]], times: int
) -> str:
    """The table, with rows of these populations."""
    rows = []
    for name, (draw, bounds) in populations.items():
        some = (
            np.clip(draw(np.random.default_rng(99), 4_000_000), bounds.low, bounds.high) - bounds.middle
        ) / bounds.half
        for n in SIZES:
            for mu in MUS:
                key = zlib.crc32(f"{name} {n} {mu}".encode())
                rng = np.random.default_rng(key)
                cells = {way: [0.0, 0.0] for way in WAYS}
                blocks = -(-times * n // 2_000_000)
                for block in range(blocks):
                    drawn = draw(rng, (times // blocks, n))
                    u = (np.clip(drawn, bounds.low, bounds.high) - bounds.middle) / bounds.half
                    for way, find in WAYS.items():
                        with seeded(key + block):
                            low, high = find(u, mu, rng)
                        cells[way][0] += float(((low <= some.mean()) & (some.mean() <= high)).mean()) / blocks
                        cells[way][1] += float(np.median(high - low)) / blocks
                usual = 2 * Z * float(some.std()) / n**0.5
                shown = [f"{100 * held:.1f} · {width / usual:.2f}" for held, width in cells.values()]
                rows.append([name, str(n), f"{mu:g}", *shown])
    said = TEXT.format(times=times, error=f"{100 * (0.95 * 0.05 / times) ** 0.5:.1f}")
    return said + "\n" + table(["population", "n", "mu", *WAYS], rows) + "\n\n" + SEEN


if __name__ == "__main__":
    from experiments.infer_estimates import POPULATIONS

    print(section(POPULATIONS, 2000))
