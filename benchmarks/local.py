"""The local model: the error and the time of ours and of the peers', and a million people with a thousand answers."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ask import Peers
from benchmarks.cases import Check
from benchmarks.report import table
from dalenius import local

WORKER = Path(__file__).with_name("local_peers.py")
EPSILONS = (0.5, 1.0, 3.0)
ANSWERS, PEOPLE, REPEATS, OURS = 100, 10_000, 6, 60
SURE = 4.0
"""Standard errors by which one mean may be above the other by chance alone."""
SECONDS = 5.0

TASKS: dict[str, tuple[str, ...]] = {
    "RandomizedResponse": ("pure-ldp", "multi-freq-ldpy"),
    "SymmetricUnaryEncoding": ("pure-ldp", "multi-freq-ldpy"),
    "OptimizedUnaryEncoding": ("pure-ldp", "multi-freq-ldpy"),
    "LocalHashing": ("pure-ldp", "multi-freq-ldpy"),
    "HadamardResponse": ("pure-ldp",),
    "SubsetSelection": ("multi-freq-ldpy",),
}
METHOD = {"pure-ldp": None, "multi-freq-ldpy": "norm-mul"}
"""What each peer does to shares after estimating them."""

HEAD = """# Benchmarks: the local model

Written by `make bench` (this part alone: `python -m benchmarks --only local`): ours and the peers' in one run, with the
same epsilon. {people} people give one of {k} answers, the j-th as often as 1/j. The error is the mean over all answers
of (estimated share - share)^2, times 1e6, as a mean over {repeats} collections of a peer and {ours} of ours, with the
standard error of that mean. pure-ldp's shares are unbiased, and so are ours beside them; multi-freq-ldpy makes negative
shares 0 and scales the rest, and so do ours beside it ("norm-mul"). "simplex" is what `consistent()` makes of ours.
Times are processor seconds of one collection, reports and shares together. Target: an error at or below the peer's,
within {sure:g} standard errors.
"""


@dataclass
class Measured:
    """One randomizer at one epsilon, beside one peer."""

    mechanism: str
    epsilon: float
    peer: str
    ours: float
    ours_error: float
    simplex: float
    predicted: float
    theirs: float
    theirs_error: float
    ours_seconds: float
    theirs_seconds: float

    @property
    def check(self) -> Check:
        spread = math.hypot(self.ours_error, self.theirs_error)
        return Check("standard errors above the peer's error", SURE, (self.ours - self.theirs) / spread)


def run(
    peers: Peers | None, quick: bool, about: dict[str, str], out: Path, say: Callable[[str], None]
) -> None:
    """Every case; writes LOCAL.md and local.json."""
    say("\nThe local model")
    repeats = 2 if quick else REPEATS
    about = {key: value for key, value in about.items() if "peers" not in key and "account" not in key}
    rows: list[Measured] = []
    if peers is not None:
        peers = replace(peers, worker=WORKER, timeout=600.0)
        about |= {f"{name} (peers)": found for name, found in peers.versions().items()}
        for name in METHOD:
            for row in compared(peers, name, repeats):
                rows.append(row)
                say(f"   {row}")
    large = [scaled(task, 100 if quick else 1000, 10**5 if quick else 10**6) for task in (*TASKS, "best")]
    for one in large:
        say(f"   {one}")
    (out / "LOCAL.md").write_text(markdown(rows, large, about, repeats), encoding="utf-8")
    data = {"about": about, "rows": [asdict(row) for row in rows], "large": large}
    (out / "local.json").write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    say(f"{sum(row.check.met for row in rows)} of {len(rows)} targets met; written to {out / 'LOCAL.md'}")


def counts() -> Any:
    """How many people give each answer."""
    weights = 1 / np.arange(1, ANSWERS + 1)
    found = np.floor(weights / weights.sum() * PEOPLE).astype(int)
    found[0] += PEOPLE - found.sum()
    return found


def compared(peers: Peers, peer: str, repeats: int) -> Iterator[Measured]:
    """Every randomizer that a peer has, at every epsilon."""
    cases = [
        {"mechanism": task, "epsilon": e} for e in EPSILONS for task, names in TASKS.items() if peer in names
    ]
    question = {
        "peer": peer,
        "task": "collect",
        "counts": counts().tolist(),
        "repeats": repeats,
        "cases": cases,
    }
    for case, reply in zip(cases, peers._send(question, peers.timeout)["answers"], strict=True):
        yield measured(str(case["mechanism"]), float(str(case["epsilon"])), peer, reply)


def measured(task: str, epsilon: float, peer: str, reply: dict[str, list[float]]) -> Measured:
    """Ours, beside a peer's reply."""
    people = counts()
    values, truth = np.repeat(np.arange(ANSWERS), people), people / people.sum()
    mechanism = getattr(local, task)(epsilon=epsilon, k=ANSWERS)
    errors, near, seconds = [], [], []
    for _ in range(OURS):
        start = time.process_time()
        found = mechanism.frequencies(mechanism.release(values))
        method = METHOD[peer]
        shares = found.estimate if method is None else found.consistent(method)
        seconds.append(time.process_time() - start)
        errors.append(float(np.mean((shares - truth) ** 2)))
        near.append(float(np.mean((found.consistent() - truth) ** 2)))
    theirs = np.array(reply["errors"])
    return Measured(
        task,
        epsilon,
        peer,
        float(np.mean(errors)),
        float(np.std(errors, ddof=1) / math.sqrt(len(errors))),
        float(np.mean(near)),
        mechanism.noise_variance(1 / ANSWERS, PEOPLE),
        float(theirs.mean()),
        float(theirs.std(ddof=1) / math.sqrt(len(theirs))),
        float(np.median(seconds)),
        float(np.median(reply["seconds"])),
    )


LARGE = """
import json, sys, time
import numpy as np
import dalenius as dp
task, k, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
values = np.random.default_rng(0).zipf(1.3, n) % k
rooms = dp.local  # opened before the clock starts
kind = None if task == "best" else getattr(rooms, task)
wall, start = time.perf_counter(), time.process_time()
found = rooms.histogram(values, dp.PureDP(1.0), k=k, mechanism=kind)
seconds, wall = time.process_time() - start, time.perf_counter() - wall
truth = np.bincount(values, minlength=k) / n
print(json.dumps({
    "mechanism": type(found.mechanism).__name__ + (" (best)" if kind is None else ""), "k": k, "people": n,
    "seconds": seconds, "wall": wall,
    "error": float(np.mean((found.estimate - truth) ** 2)) ** 0.5,
    "predicted": found.mechanism.noise_variance(1 / k, n) ** 0.5, "bits": found.mechanism.report_bits,
}))
"""


def scaled(task: str, k: int, people: int) -> dict[str, Any]:
    """`histogram` at full size, in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-c", LARGE, task, str(k), str(people)], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def markdown(rows: list[Measured], large: list[dict[str, Any]], about: dict[str, str], repeats: int) -> str:
    head = HEAD.format(people=PEOPLE, k=ANSWERS, repeats=repeats, ours=OURS, sure=SURE)
    text = head + "\n" + table(["", ""], [[key, value] for key, value in about.items()])
    if rows:
        met = sum(row.check.met for row in rows)
        text += f"\n{met} of {len(rows)} targets met.\n"
    for epsilon in EPSILONS:
        lines = [
            [
                row.mechanism,
                row.peer,
                f"{row.ours * 1e6:.4g} ± {row.ours_error * 1e6:.2g}",
                f"{row.theirs * 1e6:.4g} ± {row.theirs_error * 1e6:.2g}",
                f"{row.predicted * 1e6:.4g}",
                f"{row.simplex * 1e6:.4g}",
                f"{row.ours_seconds * 1e3:.3g} ms",
                f"{row.theirs_seconds:.3g} s",
                f"{row.theirs_seconds / row.ours_seconds:.0f}x",
                "yes" if row.check.met else "**no**",
            ]
            for row in rows
            if row.epsilon == epsilon
        ]
        if lines:
            columns = [
                "randomizer", "peer", "ours", "peer's error", "unbiased, in theory", "simplex", "our time",
                "peer's time", "ratio", "met",
            ]  # fmt: skip
            text += f"\n## epsilon {epsilon:g}\n\n" + table(columns, lines)
    columns = [
        "randomizer",
        "report",
        "processor time",
        "root mean square error",
        "in theory",
        "met",
    ]
    lines = [
        [
            one["mechanism"],
            f"{one['bits']} bits",
            f"{one['seconds']:.2f} s",
            f"{one['error']:.3g}",
            f"{one['predicted']:.3g}",
            "yes" if one["seconds"] <= SECONDS else "no",
        ]
        for one in large
    ]
    first = large[0]
    text += (
        f"\n## {first['people']:_} people, {first['k']:_} answers, epsilon 1\n\n`dp.local.histogram`, both "
        f"sides: every person's report, and the shares. Target for the one that `best` chooses: {SECONDS:g} s.\n\n"
        + table(columns, lines)
    )
    return text
