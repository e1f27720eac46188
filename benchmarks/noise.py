"""The noise: a million draws of ours, of the peers', of NumPy's insecure floats, and of the bare bits."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ask import Peers, Reply
from benchmarks.cases import Check
from benchmarks.report import clock, finite, number, shown, table
from benchmarks.timing import Timing
from dalenius import noise

WORKER = Path(__file__).with_name("noise_peers.py")
DRAWS = 1_000_000
SCALES = (10.0, 1e3, 1e6)
LARGE = (2.0**30, 2.0**40, 2.0**50)
OPENDP, DIFFPRIVLIB = "opendp", "diffprivlib"
FASTER, SLOWER = 50.0, 10.0
"""At least so many times faster than OpenDP's vectors; at most so many times slower than NumPy's Laplace."""

HEAD = """# Benchmarks: noise

Written by `make bench` (this part alone: `python -m benchmarks --only noise`); every ratio is between two
measurements of this one run, and says how many times longer than ours the other took. Times are for {draws}
draws: medians of {repetitions} repetitions after a warm-up, from the parameters to the array, all tables made
anew. Ours are exact and from the operating system's secure bits. "bits" is `os.urandom` alone, 8 bytes
a draw: no secure sampler that uses a word a draw can be faster. NumPy's floats are neither secure nor exact.
A peer runs in its own environment, in the way its documentation shows; where it was asked for fewer draws,
its time is multiplied up and the number of draws is given.
"""


@dataclass
class NoiseRow:
    """One kind of noise at one scale."""

    kind: str
    scale: float
    time: Timing
    baselines: dict[str, Timing] = field(default_factory=dict)
    replies: list[tuple[int, Reply]] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def ratio(self, name: str) -> float | None:
        """How many times longer a baseline or a peer took."""
        times = {**self.baselines, **{reply.peer: reply.time for _, reply in self.replies}}
        other = times.get(name)
        return None if other is None else other.median / self.time.median

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "checks": [{**asdict(check), "met": check.met} for check in self.checks]}


def run(
    peers: Peers | None, quick: bool, about: dict[str, str], out: Path, say: Callable[[str], None]
) -> None:
    """Every case; writes NOISE.md and noise.json."""
    draws, repetitions = (DRAWS // 10, 3) if quick else (DRAWS, 7)
    if peers is not None:
        peers = replace(peers, worker=WORKER)
        about = {key: value for key, value in about.items() if "account" not in key}
        about |= {f"{name} (peers)": found for name, found in peers.versions().items()}
    say("\nNoise")
    rows = []
    for row in discrete(peers, draws, repetitions):
        rows.append(row)
        say(f"   {line(row)}")
    floats = float_gaussian(peers, draws, repetitions)
    say(f"   {line(floats)}")
    peaks = memory(draws)
    others = other_samplers(draws, repetitions)
    (out / "NOISE.md").write_text(
        markdown(rows, floats, peaks, others, about, draws, repetitions), encoding="utf-8"
    )
    data = {
        "about": about,
        "draws": draws,
        "rows": [row.data() for row in [*rows, floats]],
        "memory": peaks,
        "others": {name: asdict(timing) for name, timing in others.items()},
    }
    (out / "noise.json").write_text(
        json.dumps(finite(data), indent=1, allow_nan=False) + "\n", encoding="utf-8"
    )
    checks = [check for row in rows for check in row.checks]
    say(f"{sum(c.met for c in checks)} of {len(checks)} targets met; written to {out / 'NOISE.md'}")


def timed(call: Callable[[], Any], repetitions: int) -> Timing:
    """Median seconds, after a warm-up, with the tables of the samplers made anew."""
    call()
    seconds = []
    for _ in range(repetitions):
        forget()
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return Timing.of(seconds)


def forget() -> None:
    """Throw away what samplers keep for a scale."""
    for name in ("geometric", "discrete_laplace", "discrete_gaussian"):
        sys.modules[f"dalenius.noise.{name}"].sampler.cache_clear()


def discrete(peers: Peers | None, draws: int, repetitions: int) -> Iterator[NoiseRow]:
    """Discrete Laplace and discrete Gaussian vectors."""
    data = np.zeros(draws, dtype=np.int64)
    generator = np.random.default_rng()
    samplers = {"laplace": noise.discrete_laplace, "gaussian": noise.discrete_gaussian}
    for kind, sampler in samplers.items():
        for scale in (*SCALES, *LARGE):
            row = NoiseRow(kind, scale, timed(lambda f=sampler, s=scale: data + f(s, draws), repetitions))
            row.baselines["bits"] = timed(lambda: os.urandom(8 * draws), repetitions)
            row.baselines["numpy laplace"] = timed(
                lambda s=scale: data + generator.laplace(scale=s, size=draws), repetitions
            )
            row.baselines["numpy normal"] = timed(
                lambda s=scale: data + generator.normal(scale=s, size=draws), repetitions
            )
            if scale in SCALES:
                slower = 1 / (row.ratio("numpy laplace") or math.nan)
                row.checks.append(Check("times slower than NumPy's float Laplace", SLOWER, slower))
                ask_peers(row, peers, draws)
            yield row


def ask_peers(row: NoiseRow, peers: Peers | None, draws: int) -> None:
    if peers is None:
        return
    # One call a draw, and for Gaussian noise one that takes longer the larger the scale: what fits a minute.
    few = max(10, int(20_000 / max(1.0, row.scale / 20))) if row.kind == "gaussian" else 50_000
    for peer, count in ((OPENDP, draws), (DIFFPRIVLIB, min(few, draws))):
        row.replies.append(
            (count, per(draws, count, peers.ask(peer, row.kind, scale=row.scale, draws=count)))
        )
    ratio = row.ratio(OPENDP)
    if ratio is not None and row.replies[0][1].error is None:
        row.checks.append(Check("times faster than OpenDP's vectors", FASTER, ratio, at_least=True))


def per(draws: int, count: int, reply: Reply) -> Reply:
    """The time for all draws, if only `count` of them were asked for."""
    if reply.error is not None or reply.time is None:
        return replace(reply, time=None)
    factor = draws / count
    t = reply.time
    return replace(
        reply, time=Timing(t.median * factor, t.fastest * factor, t.slowest * factor, t.repetitions)
    )


def float_gaussian(peers: Peers | None, draws: int, repetitions: int) -> NoiseRow:
    """Gaussian noise for real-valued vectors."""
    data = np.zeros(draws)
    row = NoiseRow("float gaussian", 1.0, timed(lambda: data + noise.gaussian(draws), repetitions))
    row.baselines["bits"] = timed(lambda: os.urandom(8 * draws), repetitions)
    row.baselines["numpy normal"] = timed(
        lambda: data + np.random.default_rng().normal(size=draws), repetitions
    )
    if peers is not None:
        for peer in (OPENDP, DIFFPRIVLIB):
            count = min(20_000, draws)
            reply = peers.ask(peer, row.kind, scale=row.scale, draws=count)
            row.replies.append((count, per(draws, count, reply)))
    return row


def memory(draws: int) -> dict[str, list[int]]:
    """Bytes held at the peak beyond the result, for so many draws and ten times as many."""
    found: dict[str, list[int]] = {}
    for name, sampler in (
        ("discrete_laplace", noise.discrete_laplace),
        ("discrete_gaussian", noise.discrete_gaussian),
    ):
        found[name] = []
        for n in (draws, 10 * draws):
            tracemalloc.start()
            result = sampler(1e3, n)
            found[name].append(tracemalloc.get_traced_memory()[1] - result.nbytes)
            tracemalloc.stop()
            del result
    return found


def other_samplers(draws: int, repetitions: int) -> dict[str, Timing]:
    """The rest of the room, ours alone."""
    rows = np.zeros((draws // 100, 100))
    calls: dict[str, Callable[[], Any]] = {
        f"{draws:_} coins of bias 0.3": lambda: noise.bernoulli(0.3, draws),
        f"{draws:_} coins of bias exp(-0.3)": lambda: noise.bernoulli_exp(0.3, draws),
        f"{draws:_} geometric integers, scale 1000": lambda: noise.geometric(1e3, draws),
        f"{draws:_} uniform integers below 1000": lambda: noise.uniform_integers(0, 1000, draws),
        f"{draws:_} categories out of 10": lambda: noise.categorical(list(range(10)), draws),
        f"a permutation of {draws:_}": lambda: noise.permutation(draws),
        f"a Poisson sample of {draws:_}, rate 0.01": lambda: noise.poisson_subsample(draws, 0.01),
        f"a Poisson sample of {draws:_}, rate 0.3": lambda: noise.poisson_subsample(draws, 0.3),
        f"{draws // 10:_} out of {draws:_}": lambda: noise.fixed_subsample(draws, draws // 10),
        f"{draws // 100:_} Gumbel winners among 100": lambda: noise.noisy_argmax(rows, 1.0),
        "one discrete Laplace integer": lambda: noise.discrete_laplace(10.0),
        "one discrete Gaussian integer": lambda: noise.discrete_gaussian(10.0),
    }
    found = {}
    for name, call in calls.items():
        call()
        seconds = []
        for _ in range(repetitions):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        found[name] = Timing.of(seconds)
    return found


def markdown(
    rows: list[NoiseRow],
    floats: NoiseRow,
    peaks: dict[str, list[int]],
    others: dict[str, Timing],
    about: dict[str, str],
    draws: int,
    repetitions: int,
) -> str:
    blocks = [HEAD.format(draws=f"{draws:_}", repetitions=repetitions)]
    blocks.append(table(["", ""], [[key, value] for key, value in about.items()]))
    blocks.append("## Targets\n\n" + table(["what", "target", "worst measured", "met"], targets(rows)))
    for kind, title in (("laplace", "Discrete Laplace"), ("gaussian", "Discrete Gaussian")):
        blocks.append(f"## {title}\n\n{noise_table([row for row in rows if row.kind == kind], draws)}")
    blocks.append(
        "## Gaussian noise for real numbers\n\nOurs is the rounding of an ideal normal number to a multiple "
        f"of 2^-32, exactly.\n\n{noise_table([floats], draws)}"
    )
    lines = [[name, *(f"{peak / 1e6:.2f} MB" for peak in found)] for name, found in peaks.items()]
    head = ["sampler, scale 1000", f"{draws:_} draws", f"{10 * draws:_} draws"]
    blocks.append(f"## Memory held beyond the result, at the peak\n\n{table(head, lines)}")
    lines = [[name, clock(timing)] for name, timing in others.items()]
    blocks.append(f"## The other samplers\n\n{table(['', 'time'], lines)}")
    return "\n".join(blocks)


def targets(rows: list[NoiseRow]) -> list[list[str]]:
    """One line per target: its worst row."""
    grouped: dict[str, list[Check]] = {}
    for row in rows:
        for check in row.checks:
            grouped.setdefault(check.what, []).append(check)
    lines = []
    for what, checks in grouped.items():
        first = checks[0]
        worst = (min if first.at_least else max)(check.measured for check in checks)
        met = sum(check.met for check in checks)
        verdict = "yes" if met == len(checks) else f"**no**, {met} of {len(checks)}"
        sign = "at least" if first.at_least else "at most"
        lines.append([what, f"{sign} {first.target:g}", number(worst, first.target), verdict])
    return lines


def noise_table(rows: list[NoiseRow], draws: int) -> str:
    baselines = list(dict.fromkeys(name for row in rows for name in row.baselines))
    peers = list(dict.fromkeys(reply.peer for row in rows for _, reply in row.replies))
    head = ["scale", "ours", *(column for name in [*baselines, *peers] for column in (name, "ratio"))]
    lines = []
    for row in rows:
        cells = [power(row.scale), clock(row.time)]
        for name in baselines:
            cells += [clock(row.baselines.get(name)), times(row.ratio(name))]
        for peer in peers:
            count, reply = next(((n, r) for n, r in row.replies if r.peer == peer), (0, None))
            if reply is None:
                cells += ["", ""]
            elif reply.time is None:
                cells += [f"no answer: {str(reply.error).splitlines()[0][:60]}", ""]
            else:
                cells += [
                    f"{clock(reply.time)}{'' if count >= draws else f' (from {count:_})'}",
                    times(row.ratio(peer)),
                ]
        lines.append(cells)
    return table(head, lines)


def power(scale: float) -> str:
    exponent = math.log2(scale)
    return f"2^{exponent:.0f}" if exponent == int(exponent) and exponent > 20 else shown(scale)


def times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g}x"


def line(row: NoiseRow) -> str:
    """A row on the screen."""
    parts = [f"{row.kind} {power(row.scale)}: {clock(row.time)}"]
    parts += [f"{name} {clock(timing)} ({times(row.ratio(name))})" for name, timing in row.baselines.items()]
    parts += [
        f"{reply.peer} {clock(reply.time)} ({times(row.ratio(reply.peer))})"
        if reply.error is None
        else f"{reply.peer}: {reply.error[:50]}"
        for _, reply in row.replies
    ]
    return "; ".join(parts)
