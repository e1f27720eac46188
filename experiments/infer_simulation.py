"""How often intervals by simulation, and those of the local model, hold: writes experiments/INFER_SIMULATION.md.

A run is four rounds over all cells, fewer with --seeds. Every round of a cell is kept in
parts/infer_simulation.jsonl as soon as it is done, and a run that was stopped goes on from there: delete the file after
a change of the methods. --seeds 0 runs nothing, and writes the page of what is on file. Four rounds take about an hour
of one processor.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from tests.noise.seeded import seeded

import dalenius as dp
from dalenius.audit.clopper_pearson import upper
from dalenius.infer.local_model.descent import LocalDescent
from dalenius.infer.local_model.people import People
from dalenius.infer.scores.score import CurveScore
from dalenius.infer.scores.source import Standard
from dalenius.infer.simulation.augmentation import Augmentation
from dalenius.infer.simulation.gibbs import SufficientStatisticsGibbs
from dalenius.infer.simulation.noise_laws import Noise, noise_laws
from dalenius.sums.curves import Huber
from experiments.tables import table

ROUNDS = 4
SIZES, MUS = (200, 500, 2000, 10_000), (0.25, 0.5, 1.0, 2.0)
M = dp.infer.models
SHARE, RATE, MEAN, SD = 0.3, 3.0, 1.0, 1.5
BOUNDS = (-1.5, 4.0)
UPPER = 6
Z = float(stats.norm.ppf(0.975))
Cell = dict[str, Any]


def gaussian(sensitivity: float, mu: float) -> dp.mechanisms.Gaussian:
    return dp.mechanisms.Gaussian(sensitivity=sensitivity, sigma=sensitivity / mu, adjacency=dp.REPLACE_ONE)


class Problem:
    """A model at one parameter, the release of its statistics, and two intervals to compare with."""

    def __init__(self, name: str, mu: float) -> None:
        self.name = name
        if name == "Bernoulli":
            self.family: Any = M.Bernoulli()
            self.truth, self.mechanism = np.array([SHARE]), [gaussian(1, mu)]
        elif name == "Poisson":
            self.family = M.Poisson(upper=UPPER)
            self.truth, self.mechanism = np.array([RATE]), [gaussian(UPPER, mu)]
        else:
            self.family = M.Normal(bounds=BOUNDS)
            half, square = mu / math.sqrt(2), max(end**2 for end in BOUNDS)
            self.truth = np.array([MEAN, SD])
            self.mechanism = [gaussian(BOUNDS[1] - BOUNDS[0], half), gaussian(square, half)]
        self.noise = Noise(noise_laws(self.mechanism, len(self.mechanism)))

    def rows(self, n: int, size: int, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self.family.rows(np.tile(self.truth, (size, 1)), n, rng))

    def released(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        sums = self.family.contributions(rows).sum(axis=1)
        return np.asarray(sums + self.noise.draw(rng, len(sums)))

    def plug_in(self, sums: np.ndarray, n: int) -> np.ndarray:
        """As if the sums had no noise and no bounds: 1 x 2 or 2 x 2."""
        mean = sums[0] / n
        if self.name == "Bernoulli":
            mean = min(max(mean, 0.0), 1.0)
            spread = [math.sqrt(mean * (1 - mean) / n)]
        elif self.name == "Poisson":
            spread = [math.sqrt(max(mean, 0.0) / n)]
        else:
            sd = math.sqrt(max(sums[1] / n - mean**2, 0.0))
            spread, mean = [sd / math.sqrt(n), sd / math.sqrt(2 * n)], [mean, sd]
        reach = Z * np.array(spread)
        return np.column_stack((mean - reach, mean + reach))


def by_simulation(name: str, method: str, n: int, mu: float, replicates: int, seed: int) -> list[Cell]:
    problem = Problem(name, mu)
    rng = np.random.default_rng([seed, n, int(1000 * mu)])
    limits, naive, clean = [], [], []
    for k in range(replicates):
        rows = problem.rows(n, 1, rng)
        released = problem.released(rows, rng)[0]
        if method == "bootstrap":
            fit = dp.infer.bootstrap(
                released, problem.mechanism, problem.family, n=n, replicates=499, seed=_seed(seed, k)
            )
        else:
            fit = dp.infer.repro_samples(
                released,
                problem.mechanism,
                problem.family,
                n=n,
                replicates=199,
                alphas=(0.05,),
                seed=_seed(seed, k),
            )
        limits.append(fit.conf_int())
        naive.append(problem.plug_in(released, n))
        clean.append(problem.plug_in(problem.family.sufficient(rows).sum(axis=1)[0], n))
    return list(_cells(f"{name}, {method}", n, mu, problem, limits, naive, clean))


def by_posterior(name: str, method: str, n: int, mu: float, replicates: int, seed: int) -> list[Cell]:
    """One chain for each release, all at once."""
    problem = Problem(name, mu)
    rng = np.random.default_rng([seed, n, int(1000 * mu)])
    rows = problem.rows(n, replicates, rng)
    released = problem.released(rows, rng)
    clean = [problem.plug_in(total, n) for total in problem.family.sufficient(rows).sum(axis=1)]
    naive = [problem.plug_in(each, n) for each in released]
    sampler = {"posterior": Augmentation, "posterior, normal sums": SufficientStatisticsGibbs}[method]
    start = np.tile(problem.truth, (replicates, 1))
    steps = 4000 if method != "posterior" else {200: 2500, 500: 1500, 2000: 600}.get(n, 300)
    found = sampler(problem.family, released, problem.noise, n, rng, start).run(steps, steps // 4)
    ends = np.quantile(found, [0.025, 0.975], axis=0)
    limits = list(ends.transpose(1, 2, 0))
    return list(_cells(f"{name}, {method}", n, mu, problem, limits, naive, clean))


def _cells(
    what: str, n: int, mu: float, problem: Problem, limits: list[Any], naive: list[Any], clean: list[Any]
) -> Iterator[Cell]:
    for j, parameter in enumerate(problem.family.names):
        mine, plain, open_ = (np.array(each)[:, j] for each in (limits, naive, clean))
        yield cell(what, parameter, n, mu, mine, plain, open_, problem.truth[j])


def cell(
    what: str,
    parameter: str,
    n: int,
    mu: float,
    mine: Any,
    naive: Any,
    clean: Any,
    truth: float,
    asked: int = 0,
) -> Cell:
    def held(limits: Any) -> float:
        return float(((limits[:, 0] <= truth) & (truth <= limits[:, 1])).mean()) if len(limits) else math.nan

    def width(limits: Any) -> float:
        return float(np.median(limits[:, 1] - limits[:, 0])) if len(limits) else math.nan

    return {
        "what": what,
        "parameter": parameter,
        "n": n,
        "mu": mu,
        "asked": asked or len(mine),
        "number": len(mine),
        "held": held(mine),
        "width": width(mine),
        "naive held": held(naive),
        "naive width": width(naive),
        "clean width": width(clean),
    }


def locally(name: str, _method: str, n: int, mu: float, replicates: int, seed: int) -> list[Cell]:
    rng = np.random.default_rng([seed, n, int(1000 * mu)])
    mine, naive, clean, truth, parameter = [], [], [], 0.0, ""
    with seeded(int(rng.integers(1 << 62))):
        for _ in range(replicates):
            fit, alone, truth, parameter = LOCAL[name](n, mu, rng)
            if fit.interval_available:
                j = fit.names.index(parameter)
                mine.append(fit.conf_int()[j])
                naive.append(fit.params[j] + np.array([-1, 1]) * Z * alone)  # without the noise
                clean.append(np.array([-1, 1]) * Z * alone)
    shaped = [np.array(each).reshape(-1, 2) for each in (mine, naive, clean)]
    return [cell(name, parameter, n, mu, *shaped, truth, replicates)]


def _location(n: int, mu: float, rng: np.random.Generator) -> tuple[Any, float, float, str]:
    x = rng.normal(0.7, 1.0, n)
    return dp.infer.local_location(x, dp.GDP(mu), bounds=(-2, 2), scale=1.0), 1.026 / math.sqrt(n), 0.7, "x"


def _heavy(n: int, mu: float, rng: np.random.Generator) -> tuple[Any, float, float, str]:
    x = 0.7 + rng.standard_t(3, n)
    return dp.infer.local_location(x, dp.GDP(mu), bounds=(-2, 2), scale=1.0), 1.27 / math.sqrt(n), 0.7, "x"


def _linear(n: int, mu: float, rng: np.random.Generator) -> tuple[Any, float, float, str]:
    x = rng.normal(size=(n, 1))
    y = 0.5 + 0.8 * x[:, 0] + rng.normal(size=n)
    fit = dp.infer.local_linear_regression(x, y, dp.GDP(mu), bounds=[(-2, 2)], y_bounds=(-2, 2), scale=1.0)
    return fit, 1.0 / math.sqrt(n), 0.8, "x1"


def _logistic(n: int, mu: float, rng: np.random.Generator) -> tuple[Any, float, float, str]:
    x = rng.normal(size=(n, 1))
    y = rng.random(n) < 1 / (1 + np.exp(-0.3 - x[:, 0]))
    return (
        dp.infer.local_logistic_regression(x, y, dp.GDP(mu), bounds=[(-2, 2)]),
        2.4 / math.sqrt(n),
        1.0,
        "x1",
    )


def _coin(n: int, mu: float, rng: np.random.Generator) -> tuple[Any, float, float, str]:
    mechanism = dp.mechanisms.RandomizedResponse.calibrated(dp.GDP(mu))
    said = mechanism.release(rng.random(n) < SHARE)
    return dp.infer.randomized_response(said, mechanism), math.sqrt(SHARE * (1 - SHARE) / n), SHARE, "share 1"


LOCAL: dict[str, Callable[[int, float, np.random.Generator], tuple[Any, float, float, str]]] = {
    "local: Huber location, normal": _location,
    "local: Huber location, Student t(3)": _heavy,
    "local: linear regression": _linear,
    "local: logistic regression": _logistic,
    "local: randomized response": _coin,
}


def histogram(_name: str, _method: str, n: int, mu: float, replicates: int, seed: int) -> list[Cell]:
    """All of four shares at once."""
    rng = np.random.default_rng([seed, n, int(1000 * mu)])
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    mechanism = dp.mechanisms.RandomizedResponse.calibrated(dp.GDP(mu), k=4)
    held, width = [], []
    with seeded(int(rng.integers(1 << 62))):
        for _ in range(replicates):
            said = mechanism.release(rng.choice(4, n, p=shares))
            ends = dp.infer.randomized_response(said, mechanism, simultaneous=True).conf_int()
            held.append(bool(((ends[:, 0] <= shares) & (shares <= ends[:, 1])).all()))
            width.append(float(np.median(ends[:, 1] - ends[:, 0])))
    found = cell("local: four shares at once", "all", n, mu, *(np.zeros((0, 2)),) * 3, 0.0)
    clean = 2 * float(stats.norm.ppf(1 - 0.05 / 8)) * math.sqrt(0.21 / n)
    return [found | {"asked": replicates, "number": replicates, "held": float(np.mean(held)),
                     "width": float(np.median(width)), "clean width": clean}]  # fmt: skip


def errors(_name: str, _method: str, n: int, mu: float, replicates: int, seed: int) -> list[Cell]:
    """The error of a location: ours, descent with noise of everybody's own, and with one noise for all."""
    rng = np.random.default_rng([seed, n, int(1000 * mu)])
    ours, own, shared, rounds, knee = [], [], [], 15, 1.345
    noise = 2 * knee * math.sqrt(rounds) / mu
    with seeded(int(rng.integers(1 << 62))):
        for _ in range(replicates):
            x = rng.normal(size=n)
            ours.append(float(dp.infer.local_location(x, dp.GDP(mu), bounds=(-2, 2), scale=1.0).params[0]))
            for kept, spread in ((own, noise / math.sqrt(n)), (shared, noise)):
                theta = 0.0
                for _ in range(rounds):
                    theta -= float(np.clip(theta - x, -knee, knee).mean()) + spread * rng.standard_normal()
                kept.append(theta)
    found = {"ours": ours, "own": own, "shared": shared}
    roots = {k: float(np.sqrt(np.mean(np.square(v)))) for k, v in found.items()}
    return [{"what": "errors", "parameter": "", "n": n, "mu": mu} | roots]


def transcript(_name: str, _method: str, _n: int, mu: float, replicates: int, seed: int) -> list[Cell]:
    """Lower bounds on mu from all messages of one person: a record at the knee, or far away on the other side.

    As it is; with noise for B where 2 B is needed; and with the noise of one round in every round.
    """
    knee, people = 1.345, replicates
    score = CurveScore(Huber(knee))
    unit = Standard(np.zeros(0), np.ones(0), 1.0, 1.0)
    design = LocalDescent(score=score, standard=unit, guarantee=dp.GDP(mu), straight=knee)
    shares = [design._mus["descent"]] * design.rounds + design._newton
    wrong = {
        "honest": (shares, design._mus["bend"]),
        "B for 2 B": ([2 * each for each in shares], design._mus["bend"]),
        "one round": ([mu] * len(shares), mu),
    }
    found: Cell = {"what": "audit", "parameter": "", "n": people, "mu": mu}
    with seeded(seed + int(100 * mu)):
        for name, (mus, bend) in wrong.items():
            scores = []
            for record in (knee * (1 - 1e-12), -1e6):
                everybody = People(np.zeros((people, 0)), np.full(people, record), unit, score)
                total = np.zeros(people)
                for each in mus:
                    total -= everybody.scores(np.zeros(1), each)[:, 0] * each**2 / (2 * knee)
                flat = np.full(people, float(record > 0))
                total += everybody.bend_message(bend).release(flat) * bend**2
                scores.append(total)
            middle = (scores[0].mean() + scores[1].mean()) / 2
            missed, false = (int((scores[0] <= middle).sum()), int((scores[1] > middle).sum()))
            found[name] = float(-sum(stats.norm.ppf(upper(k, people, 0.0125)) for k in (missed, false)))
    return [found]


def calibration(name: str, method: str, _n: int, _mu: float, replicates: int, seed: int) -> list[Cell]:
    """Ranks of true parameters among posterior draws, in ten classes."""
    family, mechanism, n = CALIBRATED[name]
    ranks = dp.infer.calibration_ranks(
        family, mechanism, n=n, draws=19, thin=30, chains=replicates, method=method, seed=seed
    )
    found = []
    for j, parameter in enumerate(family.names):
        seen = np.bincount(ranks[:, j] // 2, minlength=10)
        about = {"what": f"calibration, {name}, {method}", "parameter": parameter, "n": n, "mu": 0}
        p = float(stats.chisquare(seen).pvalue)
        found.append(about | {"number": replicates, "ranks": seen.tolist(), "p": p})
    return found


CALIBRATED: dict[str, tuple[Any, Any, int]] = {
    "Bernoulli": (M.Bernoulli(), gaussian(1, 0.5), 50),
    "Poisson": (
        M.Poisson(upper=12, prior_gamma=(3.0, 0.5)),
        dp.mechanisms.Laplace(sensitivity=12, scale=12.0, adjacency=dp.REPLACE_ONE),
        50,
    ),
    "multinomial": (M.Multinomial(3), gaussian(math.sqrt(2), 0.5), 50),
    "normal": (M.Normal(bounds=(-2, 2)), gaussian(4, 1.0), 50),
    "linear regression": (
        M.LinearRegression(bounds=[(-2, 2), (-3, 3)], prior_rows=(1.0, 3.0)),
        gaussian(6, 2.0),
        50,
    ),
}


Job = tuple[Callable[..., list[Cell]], str, str, int, float, int]


def jobs() -> Iterator[Job]:
    """One round, the quick ones first."""
    places = [(n, mu) for n in SIZES for mu in MUS]
    for n, mu in places:
        for name in LOCAL:
            yield locally, name, "", n, mu, 25 if "logistic" in name else 100
        yield histogram, "four shares", "", n, mu, 200
        if mu == 1.0:
            yield errors, "errors", "", n, mu, 50
    for name in CALIBRATED:
        for method in ("augmentation", "normal sums"):
            yield calibration, name, method, 0, 0.0, 250
    for n, mu in places:
        yield by_posterior, "Bernoulli", "posterior, normal sums", n, mu, 250
    for name, number in (("Bernoulli", 100), ("Poisson", 100), ("normal", 60)):
        for n, mu in places:
            for method in ("bootstrap", "repro samples"):
                yield by_simulation, name, method, n, mu, number
            yield by_posterior, name, "posterior", n, mu, 75


def once() -> Iterator[Job]:
    """What needs all its people at once."""
    for mu in MUS:
        yield transcript, "audit", "", 0, mu, 200_000


def _seed(seed: int, k: int) -> int:
    return 10_000 * seed + k


def _run(job: Job, turn: int) -> tuple[str, list[Cell]]:
    run, name, method, n, mu, replicates = job
    return _key(job, turn), run(name, method, n, mu, replicates, 12 + turn)


def _key(job: Job, turn: int) -> str:
    run, name, method, n, mu, replicates = job
    return f"{run.__name__}|{name}|{method}|{n}|{mu:g}|{replicates}|{turn}"


def main(where: Path, _data: Path | None, seeds: int) -> None:
    """Runs what is not on file, with one process for each processor."""
    kept = where / "parts" / "infer_simulation.jsonl"
    done = {}
    if kept.exists():
        done = {line["key"]: line["cells"] for line in map(json.loads, kept.read_text().splitlines())}
    wanted = [
        (job, turn) for turn in range(min(seeds, ROUNDS)) for job in (*jobs(), *(() if turn else once()))
    ]
    left = [each for each in wanted if _key(*each) not in done]
    if left:
        with ProcessPoolExecutor(os.cpu_count()) as pool, kept.open("a") as file:
            for future in as_completed([pool.submit(_run, *each) for each in left]):
                key, cells = future.result()
                done[key] = cells
                file.write(json.dumps({"key": key, "cells": cells}) + "\n")
                file.flush()
                print(key, flush=True)
    first = [_key(job, 0) for job in (*jobs(), *once())]
    whole = len(first) + (ROUNDS - 1) * len(list(jobs()))
    note = "" if len(done) >= whole else (
        f"This run was stopped: {sum(key in done for key in first)} of the {len(first)} parts of the first round were "
        f"done, of all {ROUNDS} rounds {100 * len(done) / whole:.0f} %; `--seeds {ROUNDS}` goes on from there."
    )  # fmt: skip
    write(where, pooled(done.values()), note)


def pooled(rounds: Iterable[list[Cell]]) -> list[Cell]:
    """The rounds of each cell as one."""
    cells: dict[Any, list[Cell]] = {}
    for cell in chain.from_iterable(rounds):
        cells.setdefault(tuple(cell[k] for k in ("what", "parameter", "n", "mu")), []).append(cell)
    return [_as_one(each) for each in cells.values()]


def _as_one(rounds: list[Cell]) -> Cell:
    """Shares of all replicates, means of the rounds' median widths, sums of ranks, roots of mean squares."""
    first = rounds[0]
    found = {k: first[k] for k in ("what", "parameter", "n", "mu")}
    if "held" in first:
        asked, number = (sum(each[k] for each in rounds) for k in ("asked", "number"))
        some = [each for each in rounds if each["number"]]
        found |= {"asked": asked, "number": number}
        for k in ("held", "width", "naive held", "naive width", "clean width"):
            found[k] = sum(each[k] * each["number"] for each in some) / number if number else math.nan
    elif "ranks" in first:
        ranks = np.sum([each["ranks"] for each in rounds], axis=0)
        p = float(stats.chisquare(ranks).pvalue)
        found |= {"number": int(ranks.sum()), "ranks": ranks.tolist(), "p": p}
    elif first["what"] == "errors":
        for k in ("ours", "own", "shared"):
            found[k] = math.sqrt(sum(each[k] ** 2 for each in rounds) / len(rounds))
    else:
        found = first
    return found


HEAD = """# Intervals by simulation, and in the local model

Written by `python -m experiments infer_simulation`. A cell is the share of nominal 95 % intervals, in %, that hold the
population's parameter, for mu-GDP releases of {sizes} rows with replace-one neighbours; each table says how many
replicates it rests on (four rounds give 240 to 1 000). It is **bold** where its binomial interval, simultaneous at
99 % over all {judged} judged cells, misses 94 to 96.5 % (94 to 98 % for repro samples and where the noise is larger
than the sampling error: these are printed with a `+` above 96.5). {verdict}
The last row of a table has all its sizes together; empty cells were not run.
{note}

- Bernoulli: share {share}, the number of ones released. Poisson: rate {rate}, counts cut off at {upper} and added up.
  Normal: mean {mean}, sd {sd}, rows cut off at {low} and {high}, sum and sum of squares with half of mu^2 each.
- Bootstrap with 499 simulated releases, repro samples with 199, posteriors from chains of 300 (n = 10 000) to 2 500
  steps, whose own Monte Carlo error is in the coverage. Posterior intervals promise 95 % on average over the prior
  (next to last table); at one parameter they can be off for few rows.
- Local: Huber location from a start 0.7 off (normal and Student's t with 3 degrees of freedom), one slope of linear and
  logistic regression, randomized response at the epsilon that mu-GDP allows. "-": no interval, for public reasons
  (logistic regression needs more people than these); in brackets: how often there was one, if not always.
- Widths are medians, as ratios to the interval without privacy ("width"). Beside them the coverage of the naive
  interval, which takes the released numbers for the true ones ("naive").

![coverage](infer_simulation.png)
"""


def write(where: Path, cells: list[Cell], note: str = "") -> None:
    judged = [c for c in cells if "held" in c and c["number"] >= 0.5 * c["asked"] > 0]
    z = float(stats.norm.ppf(1 - 0.01 / (2 * max(len(judged), 1))))
    verdicts = [_verdict(c, z) for c in judged]
    low, high = verdicts.count("low"), verdicts.count("high")
    text = HEAD.format(
        sizes=", ".join(f"{n:,}".replace(",", " ") for n in SIZES), judged=len(judged), share=SHARE, rate=RATE,
        upper=UPPER, mean=MEAN, sd=SD, low=BOUNDS[0], high=BOUNDS[1],
        verdict=f"Too low: {low}; too high: {high}.",
        note=note, rounds=ROUNDS,
    )  # fmt: skip
    for what in sorted({(c["what"], c["parameter"]) for c in cells if "held" in c}):
        rows = []
        of = {(c["n"], c["mu"]): c for c in cells if (c["what"], c["parameter"]) == what}
        for n in SIZES:
            here = [of.get((n, mu)) for mu in MUS]
            rows.append(
                [f"{n}", *(_text(c, z) for c in here), *(_ratio(c) for c in here), *(_naive(c) for c in here)]
            )
        rows.append(
            ["all", *(_together([of[n, mu] for n in SIZES if (n, mu) in of]) for mu in MUS), *[""] * 8]
        )
        head = [f"{word} {mu:g}" for word in ("mu", "width, mu", "naive, mu") for mu in MUS]
        numbers = sorted({c["asked"] for c in of.values()})
        of_each = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        text += f"\n## {what[0]}: {what[1]}\n\n{of_each} replicates a cell.\n\n{table(['n', *head], rows)}\n"
    ranked = [c for c in cells if "ranks" in c]
    rows = [
        [c["what"][13:], c["parameter"], f"{c['number']}", " ".join(map(str, c["ranks"])), f"{c['p']:.3f}"]
        for c in ranked
    ]
    text += (
        "\n## Simulation-based calibration (Talts et al. 2018)\n\nRanks of true parameters among 19 draws, two "
        "ranks a class; 50 rows. Augmentation is exact, but where nearly all rows are beyond the bounds (the prior of "
        "the normal mean allows that) its chains move slowly, and draws 30 steps apart are not independent: more at "
        "both ends. Normal sums are wrong where bounds bind: there `posterior` gives no limits.\n\n"
        + table(["posterior", "parameter", "parameters", "ranks", "p (chi-square)"], rows) + "\n"
    )  # fmt: skip
    erring = sorted((c for c in cells if c["what"] == "errors"), key=lambda c: c["n"])
    rows = [[f"{c['n']}", *(f"{c[k]:.3f}" for k in ("ours", "own", "shared"))] for c in erring]
    text += (
        "\n## Local model: one noise for all does not average out\n\nRoot mean squared errors of Huber's location, "
        "mu = 1: ours; 15 rounds of descent with noise of everybody's own; the same with one noise shared by all, as "
        "it has been printed: its error does not fall with n.\n\n"
        + table(["n", "ours", "descent, own noise", "descent, shared noise"], rows)
        + "\n"
    )  # fmt: skip
    audits = sorted((c for c in cells if c["what"] == "audit"), key=lambda c: c["mu"])
    names = ("honest", "B for 2 B", "one round")
    rows = [[f"{c['mu']:g}", f"{c['n']}", *(f"{c[k]:.3f}" for k in names)] for c in audits]
    text += (
        "\n## Local model: audit of all messages of one person\n\nLower bounds on mu (97.5 %) from the likelihood "
        "ratio of a person's whole transcript: as it is, with noise for B where 2 B is needed, and with every round's "
        "noise as if it were the only one.\n\n"
        + table(["claimed", "transcripts", "as it is", "B for 2 B", "no square root of K"], rows)
        + "\n"
    )
    (where / "INFER_SIMULATION.md").write_text(text)
    picture(where / "infer_simulation.png", judged)


def _most(c: Cell) -> float:
    noisy = c["width"] > 1.4 * c["clean width"]
    return 0.98 if "repro" in c["what"] or noisy else 0.965


def _verdict(c: Cell, z: float) -> str:
    """ "low" or "high" beyond Monte Carlo error (Wilson 1927)."""
    n, p = c["number"], c["held"]
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    if middle + half < 0.94:
        return "low"
    return "high" if middle - half > _most(c) else ""


def _text(c: Cell | None, z: float) -> str:
    if c is None:
        return ""
    if c["number"] == 0:
        return "-"
    share = f"{100 * c['held']:.1f}"
    if c["held"] > 0.965 and _most(c) > 0.965:
        share += "+"
    some = "" if c["number"] == c["asked"] else f" ({100 * c['number'] / c['asked']:.0f} %)"
    if c["number"] < 0.5 * c["asked"]:
        return f"*{share}*{some}"
    return (f"**{share}**" if _verdict(c, z) else share) + some


def _together(cells: list[Cell]) -> str:
    """Over all sizes, with one standard error."""
    number = sum(c["number"] for c in cells if c["number"] >= 0.5 * c["asked"])
    if not number:
        return "-"
    share = sum(c["held"] * c["number"] for c in cells if c["number"] >= 0.5 * c["asked"]) / number
    return f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / number):.1f}"


def _ratio(c: Cell | None) -> str:
    return "" if c is None or not c["number"] else f"{c['width'] / c['clean width']:.2f}"


def _naive(c: Cell | None) -> str:
    held = None if c is None else c["naive held"]
    return "" if held is None or math.isnan(held) else f"{100 * held:.0f}"


def picture(path: Path, cells: list[Cell]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(f"{c['what']}: {c['parameter']}" for c in cells))
    figure, axis = plt.subplots(figsize=(8, 0.32 * len(names) + 1))
    for c in cells:
        y = names.index(f"{c['what']}: {c['parameter']}")
        axis.plot(100 * c["held"], y + 0.15 * math.log2(c["mu"]), "o", ms=2 + math.log10(c["n"]), alpha=0.6,
                  color=plt.cm.viridis((math.log(c["n"]) - 5) / 4.5))  # fmt: skip
    axis.axvspan(94, 96.5, color="0.9", zorder=0)
    axis.axvline(95, color="0.6", lw=0.8)
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set_xlabel("coverage of 95 % intervals (%); larger and brighter: more rows")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
