"""PATE with a test: what votes cost, for teachers that agree and teachers that do not, and scikit-learn's digits."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dalenius.adaptive import ConsensusVote, GNMax, VoteBound, pate_ptr
from dalenius.adaptive.pate.consensus import margin
from dalenius.adaptive.pate.papernot import papernot_renyi
from experiments.tables import interval, table

DELTA = 1e-5
TEACHERS, CLASSES, QUERIES = 400, 10, 200
SIGMAS = (4.0, 8.0, 14.0, 20.0, 28.0, 40.0, 56.0, 80.0, 120.0)
TEST_EPSILON = 0.25
SURE = 0.05
"""Prices of `pate_ptr` are such that it refuses with no more than this probability."""

NOTE = """Written by `python -m experiments pate_ptr`; means and 95 % intervals over {seeds} draws. delta = 1e-5."""


def simulated(low: float, high: float, rng: np.random.Generator) -> np.ndarray:
    """Votes on queries whose winner's share is uniform between two numbers; the others share the rest at random."""
    votes = []
    for share in rng.uniform(low, high, size=QUERIES):
        rest = rng.dirichlet(np.full(CLASSES - 1, 0.3)) * (1 - share)
        votes.append(rng.permutation(rng.multinomial(TEACHERS, np.append(share, rest))))
    return np.array(votes)


def needed_distance(test_epsilon: float) -> int:
    """The distance at which the test with DELTA fails with probability SURE at most."""
    vote = GNMax(sigma=1.0, teachers=2, classes=2, queries=1)
    threshold = pate_ptr(vote, epsilon=1.0, delta=DELTA, test_epsilon=test_epsilon).test.threshold
    return threshold + math.ceil(math.log(1 / (2 * SURE)) / test_epsilon)


def price_with_test(vote: GNMax, votes: np.ndarray, test_epsilon: float = TEST_EPSILON) -> float:
    """The least total epsilon at which `pate_ptr` answers with probability 1 - SURE."""
    claim = ConsensusVote(vote=vote, epsilon=1.0, delta=DELTA)
    return test_epsilon + claim.cost(votes, needed_distance(test_epsilon) - 1)


def papernot_price(vote: GNMax, votes: np.ndarray) -> float:
    """Not private: the bound of Papernot et al. 2018 at the best order."""
    margins, best = margin(votes, vote.sigma), math.inf
    for order in 1 + np.geomspace(0.1, 1e4, 200):
        total = float(papernot_renyi(margins, order, vote.sigma, vote.classes).sum())
        best = min(best, total + math.log1p(-1 / order) - (math.log(DELTA) + math.log(order)) / (order - 1))
    return max(best, 0.0)


def smooth_price(vote: GNMax, votes: np.ndarray) -> float:
    """Redberg 2023, Algorithm 6 with sigma_s = sigma_2 = 15, as in Figure 3.2: the test, and what it says."""
    order = 42.96
    bound = VoteBound(vote, order, 0.2 / order, 15.0, 15.0, DELTA / 2)
    answers = (
        bound.release(votes) + math.log1p(-1 / order) - (math.log(DELTA / 2) + math.log(order)) / (order - 1)
    )
    return smooth_test_price() + answers


@cache
def smooth_test_price() -> float:
    vote = GNMax(sigma=1.0, teachers=2, classes=2, queries=1)
    return VoteBound(vote, 42.96, 0.2 / 42.96, 15.0, 15.0, DELTA / 2).loss.epsilon(DELTA / 2)


CURVES = {
    "data-independent": lambda vote, votes: vote.loss.epsilon(DELTA),
    "data-dependent (not private)": lambda vote, votes: ConsensusVote(
        vote=vote, epsilon=1.0, delta=DELTA
    ).cost(votes),
    "Papernot et al. (not private)": papernot_price,
    "PATE-PTR, test 0.25": price_with_test,
    "PATE-PTR, test 1": lambda vote, votes: price_with_test(vote, votes, 1.0),
    "PATE-PTR, thesis": smooth_price,
}


def digits_votes(teachers: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Votes of nearest neighbours on parts of 1 297 digits, on 200 others, and all that a student needs."""
    x, y = load_digits(return_X_y=True)
    order = rng.permutation(len(y))
    train, queries, test = np.split(order, [len(y) - 500, len(y) - 300])
    where = rng.integers(0, teachers, size=len(train))
    votes = np.zeros((len(queries), CLASSES), dtype=np.int64)
    for part in range(teachers):
        mine = train[where == part]
        said = KNeighborsClassifier(1).fit(x[mine], y[mine]).predict(x[queries]) if len(mine) else 0
        votes[np.arange(len(queries)), said] += 1
    return votes, x[queries], y[queries], x[test], y[test]


def digits(seeds: int) -> str:
    """Prices and accuracies for several numbers of teachers and two amounts of noise."""
    rows = []
    for teachers, sigma in (
        (25, 1.0),
        (50, 2.0),
        (50, 8.0),
        (100, 4.0),
        (100, 16.0),
        (200, 8.0),
        (200, 32.0),
    ):
        vote = GNMax(sigma=sigma, teachers=teachers, classes=CLASSES, queries=200)
        found: dict[str, list[float]] = {}
        for seed in range(seeds):
            votes, queries, labels, test, truth = digits_votes(teachers, np.random.default_rng(seed))
            answers = vote.release(votes)
            student = LogisticRegression(max_iter=300).fit(queries / 16, answers)
            for name, value in {
                "agree": np.sort(votes, axis=1)[:, -1].mean() / teachers,
                "labels": np.mean(answers == labels),
                "student": student.score(test / 16, truth),
                "independent": vote.loss.epsilon(DELTA),
                "dependent": ConsensusVote(vote=vote, epsilon=1.0, delta=DELTA).cost(votes),
                "price": min(price_with_test(vote, votes, e) for e in (0.5, 1.0, 2.0, 4.0)),
            }.items():
                found.setdefault(name, []).append(float(value))
        rows.append([f"{teachers}", f"{sigma:g}", *(interval(found[k], 2) for k in found)])
    head = ["teachers", "sigma", "share of the winner", "labels right", "student right", "data-independent"]
    return table([*head, "data-dependent (not private)", "PATE-PTR, best of four tests"], rows)


def main(folder: Path, data: Path | None, seeds: int) -> None:
    parts, curves = [], {}
    for name, shares in {"High consensus": (0.9, 1.0), "Low consensus": (0.55, 0.85)}.items():
        found: dict[str, list[list[float]]] = {curve: [] for curve in CURVES}
        right: list[list[float]] = []
        for sigma in SIGMAS:
            vote = GNMax(sigma=sigma, teachers=TEACHERS, classes=CLASSES, queries=QUERIES)
            drawn = [simulated(*shares, np.random.default_rng(seed)) for seed in range(seeds)]
            for curve, price in CURVES.items():
                found[curve].append([price(vote, votes) for votes in drawn])
            right.append([float(np.mean(vote.release(v) == v.argmax(axis=1))) for v in drawn])
        curves[name] = found
        rows = [
            [f"{sigma:g}", *(interval(found[curve][i], 2) for curve in CURVES), f"{np.mean(right[i]):.3f}"]
            for i, sigma in enumerate(SIGMAS)
        ]
        head = ["sigma", *CURVES, "winner found"]
        title = f"## {name}: winners with {shares[0]:.0%} to {shares[1]:.0%} of 400 votes, 200 queries"
        parts.append(f"{title}\n\n{table(head, rows)}")
        print(parts[-1], flush=True)
    parts.append(f"## Digits: 1 297 private, 200 queries, 300 to test the student\n\n{digits(seeds)}")
    print(parts[-1], flush=True)
    picture(folder / "pate_ptr.png", curves)
    start = [
        "# What votes cost when teachers agree",
        NOTE.format(seeds=seeds),
        READ,
        "![prices](pate_ptr.png)",
    ]
    (folder / "PATE_PTR.md").write_text("\n\n".join([*start, *parts]) + "\n")


READ = """How to read it. Every private price is one at which an answer comes with probability 0.95 or more.
"data-dependent" is what the very votes cost, by the bound proved in `consensus.py`, and not private; "Papernot et al."
is their bound on the same votes. "thesis" is Algorithm 6 of Redberg 2023 with its parameters (sigma_s = sigma_2 = 15)
and the exact price of its release: the mean of what the test would state, over draws.

- Where nine of ten teachers agree, the test finds it: 0.25 in place of 3 to 33, and with *less* noise, so that winners
  are right. The price is that of the test. With much noise (sigma 80 and more) the data-independent price is smaller.
- Where they agree less (55 to 85 %), the test needs to be stronger (1 in place of 0.25): about 1.5 in place of 3 to 33
  up to sigma 28. From sigma 56 on the data-independent price is smaller, and no test is worth its cost.
- The test by smooth sensitivity never pays here. Its noise is 15 times what one teacher can do to 200 queries at once,
  at votes up to a hundred teachers away: exp(-0.0047 d) hardly falls. (Public code for such
  curves chooses the parameters by looking at the votes.)
- Digits have too few records. With 25 teachers of 52 records each, a student is 91 % right at an epsilon that means
  nothing; with 200 teachers of 6, the votes are split. Where there is little noise, the test takes the price of 25
  to 100 teachers down to between a quarter and a half, and that of 200 hardly; it loses to more noise without a test.
  "Best of four tests" was chosen by looking at the votes, and is optimistic.
"""


def picture(path: Path, curves: dict[str, dict[str, list[list[float]]]]) -> None:
    """Prices against sigma, a panel for each consensus."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(5 * len(curves), 4.2), sharey=True)
    for axis, (name, found) in zip(axes, curves.items(), strict=True):
        for curve, values in found.items():
            means = [max(float(np.mean(v)), 0.02) for v in values]
            axis.plot(SIGMAS, means, label=curve, marker="o", ms=3)
        axis.set(xscale="log", yscale="log", xlabel="sigma", title=name)
    axes[0].set_ylabel("epsilon at delta = 1e-5 (0 drawn at 0.02)")
    axes[-1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
