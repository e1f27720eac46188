"""Every attack on an exact release and on the same release through dalenius; writes ATTACKS.md and its pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

import dalenius as dp
from dalenius.audit import attacks
from dalenius.audit.attacks.plot import draw_bits, draw_power
from dalenius.core.arrays import Array, Bools
from experiments.tables import table

N, SUMS = 1000, 4000
NOISES = (0.0, 1.0, 3.0, 6.0, N**0.5 / 3, 20.0, N**0.5, 60.0, 120.0, 400.0)
MU = 1.0


def main(here: Path, data: Path | None, seeds: int) -> None:
    """Write ATTACKS.md, attacks_noise.png, attacks_bits.png and attacks_power.png."""
    noise_rows = reconstruction_by_noise(here / "attacks_noise.png")
    pictures_of_bits(here / "attacks_bits.png")
    rows, power = every_attack()
    pictures_of_power(here / "attacks_power.png", *power)
    page = PAGE.format(noise=noise_rows, all=table(HEAD, rows), speed=speed())
    (here / "ATTACKS.md").write_text(page)
    print(page)


def sums(bits: Bools) -> Callable[[Bools], Array]:
    return lambda queries: queries.astype(np.float32) @ bits.astype(np.float32)


def mechanism(queries: Bools, sigma: float) -> dp.mechanisms.Mechanism:
    """Discrete Gaussian noise; a bit that flips moves every sum it is in by 1."""
    moved = int(queries.sum(axis=0).max())
    return dp.mechanisms.DiscreteGaussian(sensitivity=moved**0.5, sigma=sigma, adjacency=dp.REPLACE_ONE)


def through(noise: dp.mechanisms.Mechanism, answers: Array) -> Array:
    return np.asarray(noise.release(np.rint(answers).astype(np.int64)))


# -- reconstruction as the noise grows --------------------------------------------------------------


def reconstruction_by_noise(path: Path) -> str:
    """N bits from SUMS random sums: share rebuilt by both methods, and what the loss allows."""
    from matplotlib.figure import Figure

    bits, queries = attacks.random_bits(N), attacks.random_subsets(SUMS, N)
    truth = sums(bits)(queries)
    rows, curves = [], []
    for sigma in NOISES:
        noise = None if sigma == 0 else mechanism(queries, sigma)
        answers = truth if noise is None else through(noise, truth)
        allowed = 1.0 if noise is None else (1 + noise.loss.total_variation()) / 2
        line, point = [f"{sigma:.3g}", "exact" if noise is None else f"{noise.loss.gdp():.3g}"], []
        for method in ("absolute", "squares"):
            start = time.process_time()
            found = attacks.linear_reconstruction(answers, queries, bits, method)
            seconds = time.process_time() - start
            low, high = found.interval()
            line.append(f"{found.success:.1%} ({low:.1%} to {high:.1%}), {seconds:.1f} s")
            point.append((found.success, low, high))
            assert noise is None or not found.contradicts(noise, 1e-9)
        rows.append([*line, f"{allowed:.1%}"])
        curves.append((sigma, allowed, *point))
        print(rows[-1], flush=True)
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.subplots()
    x = np.array([max(sigma, 0.5) for sigma in NOISES])
    axes.plot(
        x, [c[1] for c in curves], color="#cf222e", linewidth=2, label="allowed to any attack, on average"
    )
    axes.fill_between(x, [c[1] for c in curves], 1.03, color="#8c959f", alpha=0.2, linewidth=0)
    for k, (name, colour) in enumerate((("linear programming", "#1f6feb"), ("least squares", "#1b1f24"))):
        middle, low, high = (np.array([c[2 + k][i] for c in curves]) for i in range(3))
        axes.errorbar(
            x,
            middle,
            yerr=[middle - low, high - middle],
            color=colour,
            marker="o",
            markersize=4,
            capsize=3,
            label=name,
        )
    axes.axhline(0.5, color="#8c959f", linestyle="--", linewidth=1.2, label="a coin")
    axes.set(
        xscale="log", xlabel="standard deviation of the noise in each sum (far left: none)",
        ylabel="share of bits rebuilt", ylim=(0.45, 1.03), title=f"{N} secret bits from {SUMS} sums of random subsets",
    )  # fmt: skip
    axes.axvline(N**0.5, color="#8c959f", linewidth=0.8)
    axes.text(N**0.5 * 1.05, 0.47, "sqrt(n)", color="#57606a")
    axes.legend(frameon=False, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    head = ["noise", "mu of all sums", "linear programming", "least squares", "allowed on average"]
    return table(head, rows)


def pictures_of_bits(path: Path) -> None:
    """The pair: bits rebuilt from exact sums, and from the same sums through dalenius."""
    from matplotlib.figure import Figure

    bits, queries = attacks.random_bits(1024), attacks.random_subsets(4096, 1024)
    truth = sums(bits)(queries)
    moved = int(queries.sum(axis=0).max())
    noise = mechanism(queries, moved**0.5 / MU)
    figure = Figure(figsize=(8.4, 4.6), layout="constrained")
    for axes, title, answers in zip(
        figure.subplots(1, 2), ("Exact sums", "The same sums, released with mu = 1"), (truth, through(noise, truth)),
        strict=True,
    ):  # fmt: skip
        found = attacks.linear_reconstruction(answers, queries, bits, "squares")
        draw_bits(axes, found)
        axes.set_title(f"{title}:\n{found.success:.1%} of 1024 bits rebuilt")
    figure.supxlabel("blue: rebuilt, red: wrong; a coin gets half of them right", fontsize=9)
    figure.savefig(path, dpi=130)


# -- every attack, exact and private ----------------------------------------------------------------

HEAD = ["attack", "on an exact release", "through dalenius", "the loss allows", "p"]


def every_attack() -> tuple[list[list[str]], tuple[Any, Any, Any]]:
    rows = [
        _sums("differencing", attacks.differencing_subsets(200), lambda a, b: attacks.differencing(a, 200, b))
    ]
    rows.append(
        _sums(
            "exhaustive search",
            attacks.all_subsets(12),
            lambda a, b: attacks.exhaustive_reconstruction(a, 12, b),
        )
    )
    rows.append(
        _sums(
            "Hadamard", attacks.hadamard_subsets(256), lambda a, b: attacks.hadamard_reconstruction(a, 256, b)
        )
    )
    queries = attacks.random_subsets(1000, 250)
    for method in ("absolute", "squares"):
        rows.append(
            _sums(
                {"absolute": "linear programming", "squares": "least squares"}[method],
                queries,
                lambda a, b, method=method: attacks.linear_reconstruction(a, queries, b, method),  # type: ignore[misc]
            )
        )
    rows.append(_averaging())
    rows.append(_session())
    tracing_row, power = _tracing()
    rows += [tracing_row, _linkage(), *_models()]
    return rows, power


def _shown(found: attacks.Guesses) -> str:
    low, high = found.interval()
    return f"{found.success:.1%} ({low:.1%} to {high:.1%})"


RUNS = 40
"""Independent releases, each of bits of its own."""


def _sums(name: str, queries: Bools, attack: Callable[[Array, Bools], attacks.Guesses]) -> list[str]:
    """An attack on sums, RUNS times, exact and with noise of mu = 1 for the change of one bit."""
    noise = mechanism(queries, int(queries.sum(axis=0).max()) ** 0.5 / MU)
    bits = attacks.random_bits(RUNS, queries.shape[1])
    found = []
    for private in (False, True):
        answers = [sums(b)(queries) for b in bits]
        released = [through(noise, a) if private else a for a in answers]
        guess = [attack(a, b).guess for a, b in zip(released, bits, strict=True)]
        found.append(attacks.Guesses(guess, bits, name))
    label = f"{name}: {queries.shape[1]} bits, {len(queries)} sums, mu = 1"
    return [
        label,
        _shown(found[0]),
        _shown(found[1]),
        f"{found[1].allowed(noise):.1%}",
        f"{found[1].p_value(noise):.2g}",
    ]


def _averaging() -> list[str]:
    bits = attacks.random_bits(2000)
    noise = dp.mechanisms.Geometric(sensitivity=1, scale=1.0)
    recorded = noise.release(bits.astype(np.int64))
    fresh = attacks.repeated_question(lambda: noise.release(bits.astype(np.int64)), 200).guesses(0, bits)
    kept = attacks.repeated_question(lambda: recorded, 200).guesses(0, bits)
    return [
        "averaging 200 answers, epsilon = 1 each: fresh noise (left), from the record (right)",
        _shown(fresh), _shown(kept), f"{kept.allowed(noise):.1%}", f"{kept.p_value(noise):.2g}",
    ]  # fmt: skip


def _session() -> list[str]:
    """The same question of a session, asked 200 times: one answer, one charge."""
    import pandas as pd

    people = pd.DataFrame({"ill": attacks.random_bits(1000).astype(int)})
    session = dp.Session(people, unit=dp.Unit.rows(), budget=dp.PureDP(1.0), name="people")
    question = session.table.filter("ill = 1").agg(n=dp.count())
    asked = attacks.repeated_question(lambda: session.release(question, dp.PureDP(0.5))["n"].estimate[0], 200)
    assert asked.distinct == 1
    return [
        "a session asked the same 200 times",
        "",
        f"{asked.distinct} answer; {session.spent!r} spent",
        "",
        "",
    ]


def _tracing() -> tuple[list[str], tuple[Any, Any, Any]]:
    random = default_rng(1)
    people, attributes, trials = 100, 1000, 2000
    q = random.uniform(0.1, 0.9, attributes)
    inside = attacks.random_bits(trials)
    target = random.random((trials, attributes)) < q
    counts = random.binomial(people - 1, q, target.shape) + target * inside[:, None]
    noise = dp.mechanisms.DiscreteGaussian(sensitivity=attributes**0.5, sigma=attributes**0.5 / MU)
    found = []
    for released in (counts, noise.release(counts)):
        scores = [attacks.tracing(m, t, q).scores[0] for m, t in zip(released / people, target, strict=True)]
        found.append(attacks.Membership(scores, inside, "tracing", independent=True))
    row = _power_row(
        f"tracing in means of {attributes} attributes of {people} people, mu = 1", *found, noise.loss
    )
    return row, (found[0], found[1], noise.loss)


def _power_row(name: str, exact: attacks.Membership, private: attacks.Membership, loss: dp.Loss) -> list[str]:
    def power(found: attacks.Membership) -> str:
        low, high = found.interval(0.05)
        return f"{found.power(0.05):.1%} ({low:.1%} to {high:.1%}) at 5 %"

    verdict = "contradicted" if private.contradicts(loss, 1e-3) else "not contradicted"
    return [name, power(exact), power(private), f"{private.allowed(loss, 0.05):.1%} at 5 %", verdict]


def _linkage() -> list[str]:
    """Tables of 40 records of 60 sparse ratings, one person sought in each; every cell by randomized response."""
    random = default_rng(2)
    trials, people, items = 600, 40, 60
    inside = attacks.random_bits(trials)
    tables = random.integers(1, 6, (trials, people, items)) * (random.random((trials, people, items)) < 0.2)
    others = random.integers(1, 6, (trials, items)) * (random.random((trials, items)) < 0.2)
    sought = np.where(inside[:, None], tables[:, 0], others)
    noise = dp.mechanisms.RandomizedResponse(epsilon=1.0 / items, k=6)
    released = noise.release(tables.ravel()).reshape(tables.shape)
    found = [
        attacks.Membership(
            [attacks.linkage(t, s[None]).eccentricity[0] for t, s in zip(published, sought, strict=True)],
            inside,
            "linkage",
            independent=True,
        )
        for published in (tables, released)
    ]
    return _power_row(
        "linkage of sparse ratings; a record by randomized response, epsilon = 1",
        *found,
        dp.PureDP(1.0).loss(),
    )


def _models() -> list[list[str]]:
    """Logistic regression on as many features as rows: without privacy, and by objective perturbation."""
    from sklearn.linear_model import LogisticRegression

    random = default_rng(3)
    n, d = 300, 300
    X = random.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = (X @ random.normal(size=d) + 1.0 * random.normal(size=n) > 0).astype(int)
    inside = attacks.random_bits(n)
    guarantee = dp.PureDP(1.0)

    def fitted(model: Any) -> Callable[[Array, Array], Array]:
        def fit(A: Array, b: Array) -> Array:
            margin = np.asarray(model.decision_function(A)).ravel() * (2 * b - 1)
            return margin  # log(p/(1 - p)) of the true class

        return fit  # fmt: skip

    def plain(A: Array, b: Array) -> Callable[[Array, Array], Array]:
        return fitted(LogisticRegression(C=1e4, max_iter=2000).fit(A, b))

    def private(A: Array, b: Array) -> Callable[[Array, Array], Array]:
        return fitted(dp.learn.LogisticRegression(guarantee, row_norm=1.0).fit(A, b))

    rows = []
    for name in ("loss threshold", "likelihood ratio, 32 shadow models"):
        found = []
        for train in (plain, private):
            fit = train(X[inside], y[inside])
            if name == "loss threshold":
                found.append(attacks.loss_threshold(fit, X, y, inside))
            else:
                found.append(attacks.likelihood_ratio(fit, X, y, train, inside))
        rows.append(_power_row(f"{name}; logistic regression, epsilon = 1", *found, guarantee.loss()))
    return rows


def pictures_of_power(path: Path, exact: Any, private: Any, loss: dp.Loss) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.9), layout="constrained")
    for axes, title, found in zip(
        figure.subplots(1, 2),
        ("Exact means", "The same means, released with mu = 1"),
        (exact, private),
        strict=True,
    ):
        draw_power(axes, found, loss)
        axes.set_title(f"{title}:\n{found.power(0.05):.0%} of the members found at 5 % false alarms")
    figure.savefig(path, dpi=130)


def speed() -> str:
    """Processor seconds of the sizes that are asked for."""
    rows = []
    for n, m, method, sigma in (
        (N, SUMS, "absolute", 0.0), (N, SUMS, "absolute", N**0.5 / 3), (5000, 20_000, "squares", 5000**0.5 / 3)
    ):  # fmt: skip
        bits, queries = attacks.random_bits(n), attacks.random_subsets(m, n)
        answers = sums(bits)(queries) + default_rng(0).normal(0, sigma, m)
        wall, start = time.perf_counter(), time.process_time()
        found = attacks.linear_reconstruction(answers, queries, bits, method)  # type: ignore[arg-type]
        seconds, wall = time.process_time() - start, time.perf_counter() - wall
        rows.append(
            [
                found.attack,
                f"{n}",
                f"{m}",
                f"{sigma:.3g}",
                f"{found.success:.1%}",
                f"{seconds:.1f}",
                f"{wall:.1f}",
            ]
        )
    return table(["method", "bits", "sums", "noise", "rebuilt", "processor seconds", "seconds"], rows)


PAGE = """# Attacks, on exact releases and through dalenius

Written by `python -m experiments attacks`. Intervals are 95 % (Clopper-Pearson).

## A thousand bits from four thousand sums

{noise}

![success falls as the noise grows](attacks_noise.png)

"Allowed" is (1 + total variation)/2 of the loss of all sums together, for the change of one bit: what the best attack
can expect that knows every other bit. Who does not know the others gets about as much as with noise sqrt(2) times
larger: half of what a bit moves is lost in the sum of the rest. Least squares is the better fit to noise that
is alike in all sums; linear programming bears answers that are wildly wrong (see the tests).

## The same attack on exact sums and on a release

![bits rebuilt, exact and private](attacks_bits.png)

## Every attack

Guesses of secret bits: share of right ones, over forty independent releases (a coin: 50 %). Membership: the share of
members found at 5 % false alarms. The last column is the p-value of the release's own claim, or the verdict on it:
a value near 1 says that the attack stays within what the loss allows.

{all}

![power of tracing, exact and private](attacks_power.png)

## Speed

{speed}

Seconds were measured on a machine with two shared cores and other work; processor seconds are the fairer number.
SciPy's HiGHS takes about 4 s without noise and 92 s with noise of sqrt(n)/3 for the linear program.
"""
