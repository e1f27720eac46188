"""Learning: a private logistic fit against one without privacy, diffprivlib and Opacus."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression as NotPrivate

import dalenius as dp
from benchmarks.ask import Peers
from benchmarks.cases import Check
from benchmarks.learning_design import COLUMNS, design
from benchmarks.report import clock, table
from benchmarks.timing import Timing
from benchmarks.timing import timed as timed_after
from dalenius.learn.data.rows import records
from dalenius.learn.methods.descent import NoisyDescent
from dalenius.sums.curves import Logistic

WORKER = Path(__file__).with_name("learning_peers.py")
TIMEOUT = 600.0
TEST_ROWS = 50_000
EPOCHS, BATCH, NOISE = 5, 256, 1.0
DELTA = 1e-5

HEAD = """# Benchmarks: learning

Written by `make bench` (this part alone: `python -m benchmarks --only learning`); every ratio is between two
measurements of this one run. Rows are normal vectors in {columns} dimensions divided by sqrt({columns}), then clipped
to norm 1; labels are logistic. Times are medians of three fits or more after one to warm up, from the arrays to the
fitted model, all of it: the calibration of the noise, too. Accuracies are on {test} rows not seen before, means of
those fits. "lbfgs" is scikit-learn's `LogisticRegression()` without privacy. diffprivlib is asked for
the same epsilon (its delta is 0, ours {delta:g}) with `data_norm=1`; DP-SGD is {epochs} epochs of batches of {batch}
(Poisson samples) with noise multiplier {noise:g}, ours and Opacus' (`make_private(..., poisson_sampling=True)` around a
linear layer). Opacus, which brings PyTorch, is asked where it is installed in the peers' environment
(`benchmarks/requirements-opacus.txt`).
"""

GROWTH = """## As the rows grow

Memory held beyond the data, at the peak; a row of the data is {bytes} bytes. With more than 2^24 numbers in all, noisy
descent rounds its rows anew in each of its 100 steps instead of keeping them: twice the time a row, a sixth of the
memory.
"""


@dataclass
class FitRow:
    """One method at one size; times of the others."""

    what: str
    rows: int
    epsilon: float | None
    time: Timing
    accuracy: float
    others: dict[str, tuple[Timing, float]] = field(default_factory=dict)
    notes: str = ""
    checks: list[Check] = field(default_factory=list)


def run(
    peers: Peers | None, quick: bool, about: dict[str, str], out: Path, say: Callable[[str], None]
) -> None:
    """Every case; writes LEARNING.md and learning.json."""
    if peers is not None:
        peers = replace(peers, worker=WORKER, timeout=TIMEOUT)
        about = {key: value for key, value in about.items() if "account" not in key and "peers" not in key}
        about |= {f"{name} (peers)": found for name, found in peers.versions().items()}
    say("\nLearning")
    found = []
    for size in (10**4, 10**5) if quick else (10**5, 10**6):
        for row in fits(peers, size):
            found.append(row)
            say(f"   {line(row)}")
    found.append(descent(peers, 10**4 if quick else 10**5))
    say(f"   {line(found[-1])}")
    growth = sizes((10**4, 10**5) if quick else (10**4, 10**5, 10**6))
    (out / "LEARNING.md").write_text(markdown(found, growth, about), encoding="utf-8")
    told = [{**asdict(row), "checks": [{**asdict(c), "met": c.met} for c in row.checks]} for row in found]
    data = {"about": about, "rows": told, "growth": growth}
    (out / "learning.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    checks = [check for row in found for check in row.checks]
    say(f"{sum(c.met for c in checks)} of {len(checks)} targets met; written to {out / 'LEARNING.md'}")


def timed(fit: Callable[[], Any], judge: Callable[[Any], float]) -> tuple[Timing, float]:
    """Three fits after a warm-up, and their mean accuracy."""
    kept = []
    _, time = timed_after(lambda: kept.append(fit()), 3)
    return time, float(np.mean([judge(model) for model in kept[1:]]))


def fits(peers: Peers | None, size: int) -> list[FitRow]:
    """Logistic regression at two promises."""
    x, y = design(size)
    unseen = design(TEST_ROWS, seed=1)
    lbfgs = timed(lambda: NotPrivate().fit(x, y), lambda model: float(model.score(*unseen)))
    rows = []
    for epsilon in (0.1, 1.0):
        promise = dp.ApproxDP(epsilon, DELTA)
        mine = timed(
            lambda p=promise: dp.learn.LogisticRegression(p).fit(x, y),
            lambda model: float(model.score(*unseen)),
        )
        row = FitRow("logistic regression", size, epsilon, *mine, others={"lbfgs": lbfgs})
        row.checks.append(Check("times lbfgs", 1.5, row.time.median / lbfgs[0].median))
        theirs = ask(row, peers, "diffprivlib", "logistic", rows=size, epsilon=epsilon, test_rows=TEST_ROWS)
        if theirs is not None:
            row.checks.append(Check("times diffprivlib", 1.0, row.time.median / theirs[0].median))
            if size <= 10**5:  # with more rows both are as good as without privacy
                ahead = 100 * (row.accuracy - theirs[1])
                row.checks.append(Check("accuracy above diffprivlib's, points", 0.3, ahead, at_least=True))
        rows.append(row)
    return rows


def descent(peers: Peers | None, size: int) -> FitRow:
    """DP-SGD."""
    x, y = design(size)
    rate = BATCH / size
    plan = NoisyDescent(round(EPOCHS / rate), rate, NOISE, 1.0, learning_rate=0.1)
    unseen = design(TEST_ROWS, seed=1)

    def fit() -> Any:
        return plan.fit(records(x, y.astype(float), np.ones(size, dtype=bool), 1.0, "clip"), Logistic())

    mine = timed(fit, lambda theta: float(np.mean((unseen[0] @ theta > 0) == unseen[1])))
    row = FitRow(f"DP-SGD, {EPOCHS} epochs", size, None, *mine)
    options = {"rows": size, "epochs": EPOCHS, "batch": BATCH, "noise": NOISE, "test_rows": TEST_ROWS}
    theirs = ask(row, peers, "opacus", "descent", **options)
    if theirs is not None:
        row.checks.append(
            Check("Opacus takes times ours", 20.0, theirs[0].median / row.time.median, at_least=True)
        )
    return row


def ask(
    row: FitRow, peers: Peers | None, peer: str, task: str, **question: Any
) -> tuple[Timing, float] | None:
    if peers is None:
        return None
    reply = peers.ask(peer, task, **question)
    if reply.error is not None or reply.time is None or reply.value is None:
        row.notes = f"{peer}: {str(reply.error).splitlines()[0][:80]}"
        return None
    row.others[peer] = reply.time, reply.value
    return row.others[peer]


def sizes(rows: tuple[int, ...]) -> list[dict[str, float]]:
    """Seconds, and memory held beyond the data at the peak, as the rows grow."""
    found = []
    promise = dp.ApproxDP(1.0, DELTA)
    for size in rows:
        x, y = design(size)
        one: dict[str, float] = {"rows": size}
        for method in ("objective", "descent"):
            model = dp.learn.LogisticRegression(promise, method=method)
            one[f"{method} seconds"] = timed_after(partial(model.fit, x, y), 3)[1].median
            tracemalloc.start()
            model.fit(x, y)
            one[f"{method} bytes a row"] = tracemalloc.get_traced_memory()[1] / size
            tracemalloc.stop()
        found.append(one)
    return found


def line(row: FitRow) -> str:
    """A row on the screen."""
    asked = "" if row.epsilon is None else f", epsilon {row.epsilon:g}"
    others = "; ".join(f"{name} {clock(t)} {100 * a:.2f} %" for name, (t, a) in row.others.items())
    mine = f"{clock(row.time)} {100 * row.accuracy:.2f} %"
    judged = "; ".join(verdict(check) for check in row.checks)
    return f"{row.what} {row.rows:.0e}{asked}: {mine}; {others} {row.notes} [{judged}]"


def verdict(check: Check) -> str:
    return f"{check.what}: {check.measured:.3g} ({'met' if check.met else '**missed**'}, {check.target:g})"


def markdown(found: list[FitRow], growth: list[dict[str, float]], about: dict[str, str]) -> str:
    names = ("lbfgs", "diffprivlib", "opacus")
    head = [
        "",
        "rows",
        "epsilon",
        "ours",
        "accuracy",
        *(c for n in names for c in (n, "accuracy")),
        "targets",
    ]
    body = []
    for row in found:
        cells = [row.what, f"{row.rows:.0e}", "" if row.epsilon is None else f"{row.epsilon:g}"]
        cells += [clock(row.time), f"{100 * row.accuracy:.2f} %"]
        for name in names:
            other = row.others.get(name)
            cells += ["", ""] if other is None else [clock(other[0]), f"{100 * other[1]:.2f} %"]
        body.append([*cells, f"{'; '.join(map(verdict, row.checks))} {row.notes}".strip()])
    text = HEAD.format(
        columns=COLUMNS, test=f"{TEST_ROWS:_}", delta=DELTA, epochs=EPOCHS, batch=BATCH, noise=NOISE
    )
    told = ", ".join(f"{key} {value}" for key, value in about.items())
    keys = list(growth[0])[1:]
    lines = [[f"{one['rows']:.0e}", *(f"{one[key]:.3g}" for key in keys)] for one in growth]
    below = f"{GROWTH.format(bytes=8 * COLUMNS + 8)}\n{table(['rows', *keys], lines)}"
    return f"{text}\n{told}.\n\n{table(head, body)}\n\n{below}\n"
