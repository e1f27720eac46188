"""Prefix sums with correlated noise: how far the factorisations here are from the best that can be.

Nothing random: errors are those of matrices, for noise that makes one record's whole move one standard deviation.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from dalenius.calculus.participation.schedule import Schedule
from dalenius.calculus.participation.square_root import square_root
from dalenius.calculus.participation.toeplitz import toeplitz_squares
from dalenius.calculus.participation.tree import node_sizes, tree_squares
from dalenius.mechanisms import MatrixCounter, best_buffers, best_toeplitz
from dalenius.mechanisms._support.toeplitz_design import Objective, undone
from dalenius.mechanisms._support.toeplitz_strategies import Buffers
from dalenius.mechanisms.tree_counter import _nodes, _variances
from experiments.tables import table

STEPS = (16, 64, 256, 1024, 4096, 16_384, 100_000)
DENSE = 1024
"""Steps at most for which the best lower triangular factorisation is worked out."""
COUNTED = 4096
BUFFERS = 4

Errors = tuple[float, float]
"""The root of the mean squared error over the steps, and the largest."""

NOTE = """Written by `python -m experiments correlated_noise`. x has a row for every step and C x + Z is measured, Z
Gaussian with the standard deviation by which one record moves C x at most (sigma = 1: for any other sigma multiply).
In the tables are standard deviations of the noise in prefix sums: the root of the mean square over the steps / the
largest.

- *independent*: noise of its own in every step, summed up; *tree*: binary tree, nodes added up; *Honaker*: the same
  with the best estimate from below of every node (Honaker 2015).
- *square root*: Fichtenberger, Henzinger and Upadhyay 2023; *best Toeplitz*: `best_toeplitz`, for the mean;
  *{buffers} buffers*: `best_buffers`, buffered linear Toeplitz strategies (Dvijotham, McMahan, Pillutla, Steinke
  and Thakurta 2024); *banded inverse*: the square root of the inverse, cut off where it is best (Kalinin, McKenna,
  Upadhyay and Lampert 2025, BISR); *counter*: `MatrixCounter`, the square root with columns of one length.
- *best of all*: the lower triangular factorisation with the least mean squared error, by the fixed point of
  Denisov, McMahan, Rush, Smith and Thakurta 2022; its dual bound agrees to {gap:.0e} relative. Up to {dense} steps.
- *no less than*: |A|_*/n, the nuclear norm of the matrix of prefix sums over n, which bounds both numbers for every
  factorisation (Matousek, Nikolov and Talwar 2020; |A|_* <= |B|_F |C|_F). Its singular values are 1/(2 sin((2i - 1)
  pi/(4n + 2))).

Sensitivities are those that the losses compute (`dalenius.calculus.participation`), in whole numbers or rounded up.
"""

READ = """
What it says:

- With one participation the counter is within {counter:.1f} % of the best possible mean error, up to {dense} steps,
  and has a smaller largest error than the square root, which is the best of all Toeplitz matrices for it. {buffers}
  buffers, which need the memory of {buffers} vectors, are within {blt:.1f} % of the best Toeplitz matrix.
- A tree has {tree:.1f} times the error of the counter at 1024 steps, with Honaker's estimates {honaker:.1f} times.
- With several passes, bands no wider than a pass do best: wider falling ones do not gain anything ("best falling
  Toeplitz" finds the same error), the square root cut off there is up to {cut:.0f} % worse than the best, the
  banded inverse up to {inverse:.0f} %, {buffers} buffers up to {several:.0f} %. A strategy for one pass, used for
  many, is worse: its columns overlap, and a record's moves add up.

Published numbers. jax_privacy (DeepMind, commit 8967688c) states no errors in its tests or documentation, only
sensitivities of small matrices, which `tests/calculus/losses/test_correlated.py` reproduces. The largest error
of the square root is at most 1 + (ln n + gamma)/pi, as its coefficients are at most 1/sqrt(pi k); the table agrees.
"""


def errors(coefficients: np.ndarray, schedule: Schedule) -> Errors:
    """Of prefix sums by a Toeplitz strategy."""
    square = float(toeplitz_squares(tuple(coefficients.tolist()), schedule).upper)
    objective = Objective(np.ones(schedule.steps), np.ones(schedule.steps), schedule)
    squares = objective.noise(coefficients) ** 2 * square
    late = np.arange(schedule.steps, 0, -1) / schedule.steps
    return math.sqrt(late @ squares), math.sqrt(squares.sum())


def tree(schedule: Schedule, honaker: bool) -> Errors:
    sizes = node_sizes(schedule.steps, 2)
    moved = float(tree_squares(2, schedule).upper)
    variances = np.array(_variances(2, len(sizes)) if honaker else np.ones(len(sizes)))
    steps = np.arange(1, schedule.steps + 1)
    spread = np.zeros(len(steps))
    for level, size in enumerate(sizes):
        digit = steps // size if size == sizes[-1] else steps // size % 2
        spread += digit * variances[level]
    check = sum(variances[level] for level, _ in _nodes(schedule.steps, 2, len(sizes)))
    assert math.isclose(check, spread[-1])
    return math.sqrt(moved * spread.mean()), math.sqrt(moved * spread.max())


def buffered(schedule: Schedule) -> np.ndarray:
    """The coefficients of the best few buffers, as the mechanism has them."""
    pairs = best_buffers(
        schedule.steps, BUFFERS, participations=schedule.participations, separation=schedule.separation
    )
    return Buffers.of(pairs).coefficients(schedule.steps)


def best_of_all(n: int) -> tuple[Errors, float]:
    """X = C'C with the least trace of A'A X^-1 and a diagonal of 1, and how far its dual bound is, relatively."""
    workload = np.tri(n)
    gram = workload.T @ workload
    v = np.ones(n)
    for _ in range(80):
        root = np.sqrt(v)
        values, vectors = np.linalg.eigh(root[:, None] * gram * root)
        middle = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        lower = np.trace(middle) ** 2 / v.sum()
        best = middle / root[:, None] / root
        best /= np.diag(best).max()
        squares = np.einsum("ij,ji->i", workload, np.linalg.solve(best, workload.T))
        if squares.sum() <= lower * (1 + 1e-6):
            break
        v = np.diag(middle) ** 2 / v  # twice the step of the fixed point, in logarithms: faster
    return (math.sqrt(squares.mean()), math.sqrt(squares.max())), float(squares.sum() / lower - 1)


def least(n: int) -> float:
    i = np.arange(1, n + 1)
    return float(np.mean(0.5 / np.sin((2 * i - 1) * np.pi / (4 * n + 2))))


def written(found: Errors | None) -> str:
    return "" if found is None else f"{found[0]:.3f} / {found[1]:.3f}"


def main(folder: Path, data: Path | None = None, seeds: int = 0) -> None:
    """Write CORRELATED_NOISE.md and its picture."""
    once: dict[int, dict[str, Errors | None]] = {}
    gap = 0.0
    for n in STEPS:
        schedule = Schedule(n, 1, 1)
        best = None
        if n <= DENSE:
            best, apart = best_of_all(n)
            gap = max(gap, apart)
        counter = None
        if n <= COUNTED:
            spread = MatrixCounter(horizon=n, sigma=1.0).standard_errors()
            counter = (math.sqrt(np.mean(spread**2)), float(spread.max()))
        bound = least(n)
        once[n] = {
            "independent": (math.sqrt((n + 1) / 2), math.sqrt(n)),
            "tree": tree(schedule, honaker=False),
            "Honaker": tree(schedule, honaker=True),
            "square root": errors(np.array(square_root(n)), schedule),
            "best Toeplitz": errors(np.array(best_toeplitz(n)), schedule),
            f"{BUFFERS} buffers": errors(buffered(schedule), schedule),
            "counter": counter,
            "best of all": best,
            "no less than": (bound, bound),
        }
        print(n, once[n], flush=True)
    passes: dict[tuple[int, int], dict[str, Errors]] = {}
    n = 2048
    for k in (1, 2, 4, 8, 16, 32):
        schedule = Schedule(n, k, n // k)
        root = np.array(square_root(n))
        single = best_toeplitz(n)
        passes[n, k] = {
            "independent": errors(np.ones(1), schedule),
            "Honaker": tree(schedule, honaker=True),
            "square root": errors(root, schedule),
            "best Toeplitz for one pass": errors(np.array(single), schedule),
            "square root, bands of a pass": errors(root[: n // k], schedule),
            "banded inverse": min(
                errors(undone(undone(root, n)[:width], n), schedule) for width in 2 ** np.arange(1, 12)
            ),
            f"{BUFFERS} buffers": errors(buffered(schedule), schedule),
            "best with bands of a pass": errors(
                np.array(best_toeplitz(n, participations=k, separation=n // k)), schedule
            ),
            "best falling Toeplitz": errors(
                np.array(best_toeplitz(n, bands=n, participations=k, separation=n // k)), schedule
            ),
        }
        print(k, passes[n, k], flush=True)
    _write(folder, once, passes, gap)
    _picture(folder / "correlated_noise.png", once, passes)


def _write(
    folder: Path,
    once: dict[int, dict[str, Errors | None]],
    passes: dict[tuple[int, int], dict[str, Errors]],
    gap: float,
) -> None:
    def ratio(n: int, a: str, b: str) -> float:
        first, second = once[n][a], once[n][b]
        assert first is not None
        assert second is not None
        return first[0] / second[0]

    def over(name: str) -> float:
        best = "best with bands of a pass"
        return max(100 * (found[name][0] / found[best][0] - 1) for found in passes.values())

    dense = [n for n in STEPS if n <= DENSE]
    note = NOTE.format(buffers=BUFFERS, gap=max(gap, 1e-15), dense=DENSE)
    read = READ.format(
        counter=100 * (max(ratio(n, "counter", "best of all") for n in dense) - 1),
        blt=math.ceil(1000 * (max(ratio(n, f"{BUFFERS} buffers", "best Toeplitz") for n in STEPS) - 1)) / 10,
        tree=ratio(1024, "tree", "counter"),
        honaker=ratio(1024, "Honaker", "counter"),
        dense=DENSE,
        buffers=BUFFERS,
        cut=over("square root, bands of a pass"),
        inverse=over("banded inverse"),
        several=over(f"{BUFFERS} buffers"),
    )
    names = list(once[STEPS[0]])
    single = table(
        ["steps", *names], [[f"{n:,}", *(written(once[n][name]) for name in names)] for n in STEPS]
    )
    kinds = list(next(iter(passes.values())))
    several = table(
        ["passes", *kinds],
        [[str(k), *(written(found[kind]) for kind in kinds)] for (_, k), found in passes.items()],
    )
    parts = [
        "# Correlated noise beside the best factorisations known",
        note + read,
        "![errors](correlated_noise.png)",
        f"## One participation\n\n{single}",
        "## Several passes of 2048 steps in all, participations at least a pass apart\n\n" + several,
    ]
    (folder / "CORRELATED_NOISE.md").write_text("\n\n".join(parts) + "\n")


def _picture(
    path: Path,
    once: dict[int, dict[str, Errors | None]],
    passes: dict[tuple[int, int], dict[str, Errors]],
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
    for name in once[STEPS[0]]:
        if name == "independent":
            continue
        shown = {n: found[0] for n in STEPS if (found := once[n][name]) is not None}
        style = {"color": "black", "ls": "--"} if name == "no less than" else {"marker": "o", "ms": 3}
        left.plot(list(shown), list(shown.values()), label=name, **style)
    left.set(
        xscale="log",
        xlabel="steps",
        ylabel="root mean squared error of prefix sums",
        title="one participation",
    )
    left.legend(fontsize=8)
    counts = [k for _, k in passes]
    for name in next(iter(passes.values())):
        right.plot(counts, [found[name][0] for found in passes.values()], label=name, marker="o", ms=3)
    right.set(xscale="log", yscale="log", xlabel="passes", title="2048 steps, several passes")
    right.set_xticks(counts, [str(k) for k in counts])
    right.minorticks_off()
    right.set_ylim(2, 2000)
    right.legend(fontsize=7, loc="upper left")
    figure.savefig(path, dpi=110)
    plt.close(figure)
