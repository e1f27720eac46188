"""Figure B.1 of Redberg's thesis (2023): which of two counts is larger, by three releases; and by ours, tuned.

Costs are epsilons at delta = 1e-6, the lower the better, of releases that are equally often wrong:

- Laplace noise of scale b on both counts, whose difference is t: wrong with probability r = (2 + u) exp(-u)/4, u = t/b.
- Classic propose-test-release: the winner itself if t - log(1/delta)/e + Laplace(1/e) > 1, else a coin; e such that it
  is wrong with probability r.
- Generalized propose-test-release: a lower bound t - log(1/delta)/e + noise, e = 1/(2b), on the difference; the cost is
  e and the largest loss of the noisy maximum at any difference from the bound on, a random number: its mean. (No
  promise made beforehand: releases of dalenius state theirs, as in the last table.)
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from dalenius.adaptive.ptr import DistanceTest, NoisyMax, StableMode
from dalenius.adaptive.ptr.noisy_max import loss_profile
from dalenius.noise import discrete_laplace
from experiments.tables import interval, table

DELTA = 1e-6
GAP, SCALE = 100, 0.1
GAPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
SCALES = (0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 1.8, 2.2, 2.6, 3.0, 4.0, 6.0, 10.0)
TRIALS = 100_000
REFUSED = 0.05
ERRORS = (1e-2, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12, 1e-16)
STEPS = 1 << 10
"""The noise on the difference is drawn in steps of 1/1024: the bound is rounded down."""


def wrong(gap: float, scale: float) -> float:
    u = gap / scale
    return (2 + u) * math.exp(-u) / 4


def classic(gap: float, error: float) -> float:
    """The epsilon of classic propose-test-release that is as often wrong."""
    return (math.log(1 / DELTA) - math.log(4 * error)) / (gap - 1) if gap > 1 else math.inf


def dependent(gaps: np.ndarray, scale: float) -> np.ndarray:
    """The data-dependent epsilon at each gap, by bisection for all of them at once."""
    low, high = np.zeros(len(gaps)), np.full(len(gaps), 1 / scale)
    kept = loss_profile(gaps, scale, 1, 0.0) <= DELTA
    for _ in range(60):
        middle = (low + high) / 2
        fits = np.array(
            [loss_profile(gaps[i : i + 1], scale, 1, float(e))[0] <= DELTA for i, e in enumerate(middle)]
        )
        low, high = np.where(fits, low, middle), np.where(fits, middle, high)
    return np.where(kept, 0.0, high)


def generalized(gap: int, scale: float) -> np.ndarray:
    """The cost in each trial: e and the largest loss from the bound on."""
    e = 1 / (2 * scale)
    noise = np.asarray(discrete_laplace(STEPS / e, TRIALS)) / STEPS
    bound = np.floor(np.maximum(gap + noise - math.log(1 / DELTA) / e, 0.0)).astype(np.int64)
    last = math.ceil(40 * scale) + 2  # the loser wins with probability below delta from here on
    beyond = np.append(np.maximum.accumulate(dependent(np.arange(last, dtype=float), scale)[::-1])[::-1], 0.0)
    return e + beyond[np.minimum(bound, last)]


def least_test(distance: int) -> float:
    """The least epsilon of a test that refuses data at this distance with probability 5 % at most."""

    def refuses(epsilon: float) -> float:
        test = DistanceTest(mechanism=StableMode(), epsilon=epsilon, wrong_pass=DELTA)
        q, short = math.exp(-epsilon), test.threshold - 1 - distance
        return q**-short / (1 + q) if short < 0 else 1 - q ** (short + 1) / (1 + q)

    found = [e for e in np.geomspace(1e-3, 50.0, 4000) if refuses(float(e)) <= REFUSED]
    return float(min(found, default=math.inf))


def tuned(error: float) -> tuple[float, float, float]:
    """Laplace's epsilon for this error, and the least test + limit of `NoisyMax` with the same noise."""
    low, high = 1e-3, 1e3
    for _ in range(200):
        scale = math.sqrt(low * high)
        low, high = (scale, high) if wrong(GAP, scale) <= error else (low, scale)
    best = (math.inf, math.inf)
    for limit in np.linspace(0.0, 1 / low, 60):
        mechanism = NoisyMax(scale=low, limit=float(limit), delta=DELTA)
        distance = mechanism.distance((GAP, 0))
        test = 0.0 if distance > 10**9 else least_test(distance) if distance else math.inf
        best = min(best, (test + float(limit), test))
    return 1 / low, *best


def main(here: Path, data: Path | None, seeds: int) -> None:
    """Write NOISY_MAX.md and noisy_max.png."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    pages = []
    for axis, settings, label, at in (
        (panels[0], [(t, SCALE) for t in GAPS], "difference of the counts, t (noise of scale 0.1)", 0),
        (panels[1], [(GAP, b) for b in SCALES], "scale of the noise, b (difference 100)", 1),
    ):
        rows, curves = [], []
        for t, b in settings:
            costs = generalized(t, b)
            error = wrong(t, b)
            curves.append((1 / b, classic(t, error), costs.mean()))
            rows.append(
                [
                    f"{(t, b)[at]:g}",
                    f"{error:.1e}",
                    f"{1 / b:.3f}",
                    f"{curves[-1][1]:.3f}",
                    interval(costs.tolist(), 4),
                ]
            )
        pages.append(
            table(["t" if at == 0 else "b", "wrong", "Laplace", "classic PTR", "generalized PTR"], rows)
        )
        x = [setting[at] for setting in settings]
        names = ("Laplace", "classic PTR", "generalized PTR")
        for name, curve, style in zip(names, zip(*curves, strict=True), ("--", ":", "-"), strict=True):
            axis.plot(x, curve, style, marker=".", label=name)
        axis.set(xlabel=label, ylabel="epsilon at delta = 1e-6")
        axis.legend()
        if at == 1:
            axis.set(xscale="log", yscale="log")
        else:
            axis.set(ylim=(0, 30))
    figure.savefig(here / "noisy_max.png", dpi=130)
    alone = least_test(StableMode().distance((GAP, 0)))
    rows = []
    for error in ERRORS:
        laplace, total, test = tuned(error)
        shown = "no test needed" if test == 0 else f"{test:.3f} + {total - test:.3f}"
        rows.append([f"{error:.0e}", f"{laplace:.3f}", f"{alone:.3f}", f"{total:.3f}", shown])
    head = ["wrong at most", "Laplace", "classic PTR (never wrong)", "generalized PTR", "test + limit"]
    text = f"""# Which of two counts is larger (Redberg 2023, Figure B.1)

Written by `python -m experiments noisy_max`; {TRIALS} trials, means with 95 % intervals. {__doc__.split(chr(10), 2)[2]}
## Noise of scale 0.1, the difference of the counts varies

{pages[0]}

## A difference of 100, the noise varies

{pages[1]}

![noisy max](noisy_max.png)

## At equal errors, with refusals in 5 % of the cases at most, a difference of 100

Our releases, each with the least epsilon that does it at a total delta of 1e-6 (a refusal is not an error).

{table(head, rows)}

What we see. Generalized PTR costs half of what Laplace noise costs where the noise is small against the difference of
the counts, and more than it where the bound comes down to gaps at which the loss is not 0: the loss rises with the gap
until the loser wins with probability delta. Redberg says that generalized PTR costs less than Laplace noise from
errors of 1e-5 on, and always less than classic PTR. With the corrected loss, which does not fall with the gap, it takes
errors below {crossing():.0e} at a difference of 100, and around b = 3 classic PTR is the cheaper one. Classic PTR costs
more than Laplace noise wherever 2 + t/b < 1/delta, as Redberg has it.

Where refusals are allowed and are no errors, the winner itself after a test of its stability ({alone:.3f}) is the
cheapest way to be wrong less often than 1e-6 or so; for more frequent errors it is the noisy maximum with its exact
(epsilon, delta), which needs no test at all.
"""
    (here / "NOISY_MAX.md").write_text(text)
    print(text)


def crossing() -> float:
    """The largest error of `SCALES` at which generalized PTR costs less than Laplace noise."""
    return max(wrong(GAP, b) for b in SCALES if generalized(GAP, b).mean() < 1 / b)
