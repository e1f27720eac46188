"""The cases. Each asks dalenius and its peers the same thing, one after the other, and judges the targets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import ours
from benchmarks.ask import Peers, Reply
from benchmarks.parts import RATE, WIDTH, Part, mixture, training
from benchmarks.timing import Timing, timed

DP, PRV = "dp-accounting", "prv-accountant"
SPEED = {DP: 20.0, PRV: 50.0}
"""How many times faster than each peer we mean to be."""


@dataclass(frozen=True)
class Check:
    """A target and what was measured; `at_least` says on which side of the target is good."""

    what: str
    target: float
    measured: float
    at_least: bool = False
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.measured >= self.target if self.at_least else self.measured <= self.target


@dataclass
class Row:
    """One question: our bracket (or number) and time, what peers said, the targets that apply."""

    question: dict[str, Any]
    lower: float
    upper: float
    time: Timing
    replies: list[Reply] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    log_delta_width: float | None = None

    @property
    def width(self) -> float:
        return self.upper - self.lower

    def ratio(self, reply: Reply) -> float | None:
        """How many times longer the peer took."""
        return None if reply.time is None else reply.time.median / self.time.median

    def data(self) -> dict[str, Any]:
        replies = [
            {**asdict(x), "ratio": self.ratio(x), "verdict": x.against(self.lower, self.upper)}
            for x in self.replies
        ]
        checks = [{**asdict(x), "met": x.met} for x in self.checks]
        return {**asdict(self), "width": self.width, "replies": replies, "checks": checks}


@dataclass
class Case:
    key: str
    title: str
    text: str
    value: str = "epsilon"
    rows: list[Row] = field(default_factory=list)


def epsilon_row(question: dict[str, Any], parts: list[Part], delta: float, repetitions: int = 9) -> Row:
    """Our side of an epsilon question, with the width target."""
    (lower, upper), time = timed(lambda: ours.epsilon(parts, delta), repetitions)
    row = Row(question, lower, upper, time)
    row.checks.append(Check("bracket width / max(1, epsilon)", WIDTH, row.width / max(1.0, upper)))
    return row


def add_peer(row: Row, reply: Reply, faster: float | None = None) -> None:
    """A peer's reply; the speed target, if any, applies where the peer has an answer."""
    row.replies.append(reply)
    ratio = row.ratio(reply)
    if faster is not None and ratio is not None and reply.against(row.lower, row.upper) != "no answer":
        row.checks.append(Check(f"times faster than {reply.peer}", faster, ratio, at_least=True))


def sampled_gaussian(
    peers: Peers | None, deltas: list[float], runs: list[tuple[float, int]]
) -> Iterator[Row]:
    """Training runs, at each delta."""
    for delta in deltas:
        for sigma, steps in runs:
            parts = training(sigma, steps)
            row = epsilon_row({"delta": delta, "sigma": sigma, "steps": steps}, parts, delta)
            row.log_delta_width = ours.log_delta_width(parts, row.upper, delta)
            row.checks.append(Check("log delta width / |log delta|", WIDTH, row.log_delta_width))
            for peer, faster in SPEED.items() if peers is not None else ():
                assert peers is not None
                add_peer(row, peers.ask(peer, "epsilon", parts=parts, delta=delta), faster)
            yield row


def mixed(peers: Peers | None, each: int = 40) -> Iterator[Row]:
    """All kinds, and the kinds dp-accounting has."""
    everything = mixture(each)
    row = epsilon_row({"mechanisms": len(everything), "kinds": "all five"}, everything, 1e-6, 7)
    row.checks.append(Check("seconds", 1.0, row.time.median, unit="s"))
    yield row
    shared = [part for part in everything if part["kind"] != "objective_perturbation"]
    row = epsilon_row({"mechanisms": len(shared), "kinds": "no objective perturbation"}, shared, 1e-6, 7)
    if peers is not None:
        add_peer(row, peers.ask(DP, "direct", parts=shared, delta=1e-6))
    yield row


def calibration(peers: Peers | None) -> Iterator[Row]:
    """The noise of a 10 000-step run for (1, 1e-6). The lower end: at 1e-9 less noise the promise breaks."""
    steps, epsilon, delta = 10_000, 1.0, 1e-6
    sigma, time = timed(lambda: ours.noise(steps, epsilon, delta))
    row = Row(
        {"steps": steps, "guarantee": f"ApproxDP({epsilon:g}, {delta:g})"}, sigma * (1 - 1e-9), sigma, time
    )
    # The promise is delta at this epsilon; its inverse, epsilon at this delta, may be a rounding wider.
    kept, broken = (ours.loss(training(x, steps)).delta_bounds(epsilon) for x in (row.upper, row.lower))
    row.checks.append(Check("delta spent by the sigma found", delta, kept.upper))
    row.checks.append(Check("delta with 1e-9 less noise", delta, broken.lower, at_least=True))
    row.checks.append(Check("seconds", 0.5, time.median, unit="s"))
    if peers is not None:
        add_peer(row, peers.ask(DP, "calibrate", rate=RATE, steps=steps, epsilon=epsilon, delta=delta))
    yield row


def imports(peers: Peers | None) -> Iterator[Row]:
    """Fresh processes: the import, and the import with a first answer (ours alone is lazy)."""
    for what, codes in FIRST_USE.items():
        time = import_time(Path(sys.executable), codes["dalenius"])
        row = Row({"what": what}, time.median, time.median, time)
        if what == "import":
            row.checks.append(Check("seconds", 0.25, time.median, unit="s"))
        for peer in (DP, PRV) if peers is not None else ():
            assert peers is not None
            taken = import_time(peers.python, codes[peer])
            row.replies.append(Reply(peer, taken.median, None, None, taken))
        yield row


FIRST_USE = {
    "import": {
        "dalenius": "import dalenius",
        DP: "import dp_accounting.pld",
        PRV: "import prv_accountant",
    },
    "import and a first epsilon": {
        "dalenius": "import dalenius as dp; dp.losses.gaussian(sigma=1.0).epsilon(1e-5)",
        DP: "import dp_accounting as d, dp_accounting.pld as p; "
        "p.PLDAccountant().compose(d.GaussianDpEvent(1.0)).get_epsilon(1e-5)",
        PRV: "import prv_accountant as p; p.PRVAccountant([p.GaussianMechanism(1.0)], eps_error=0.01, "
        "delta_error=1e-8).compute_epsilon(1e-5, [1])",
    },
}


def import_time(python: Path, code: str, repetitions: int = 9) -> Timing:
    """Seconds `code` takes in a new process, start of the interpreter not counted; one warm-up."""
    timer = f"import time\nstart = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    seconds = []
    for _ in range(repetitions + 1):
        run = subprocess.run([str(python), "-c", timer], capture_output=True, text=True, check=True)
        seconds.append(float(run.stdout))
    return Timing.of(seconds[1:])


def repeated(peers: Peers | None) -> Iterator[Row]:
    """A thousand releases of one mechanism with a bounded loss."""
    delta = 1e-6
    laplace: list[Part] = [{"kind": "laplace", "scale": 20.0, "times": 1000}]
    row = epsilon_row(
        {"mechanism": "laplace(20) * 1000", "dp-accounting through": "PLDAccountant"}, laplace, delta
    )
    if peers is not None:
        add_peer(row, peers.ask(DP, "epsilon", parts=laplace, delta=delta))
    yield row
    response: list[Part] = [{"kind": "randomized_response", "epsilon": 0.05, "times": 1000}]
    name = "randomized_response(0.05) * 1000"
    for through, task in (("PLD.self_compose", "direct"), ("PLDAccountant, REPLACE_ONE", "replace_one")):
        row = epsilon_row({"mechanism": name, "dp-accounting through": through}, response, delta)
        if peers is not None:
            add_peer(row, peers.ask(DP, task, parts=response, delta=delta))
        yield row


def all_cases(peers: Peers | None, quick: bool) -> Iterator[tuple[Case, Iterator[Row]]]:
    """Every case with the rows it will yield, in order."""
    grid = [(s, n) for s in (1.0, 2.0) for n in (1_000, 10_000, 100_000)]
    short = [(2.0, 1_000), (2.0, 10_000)]
    calls = (
        "Peers: dp-accounting `PLDAccountant(ADD_OR_REMOVE_ONE).compose(SelfComposedDpEvent("
        "PoissonSampledDpEvent(0.01, GaussianDpEvent(sigma)), steps))`, `get_epsilon(delta)`, default "
        "discretisation 1e-4; prv-accountant `PRVAccountant([PoissonSubsampledGaussianMechanism], "
        "[steps], eps_error=0.01, delta_error=delta/1000).compute_epsilon` (its estimate is shown; it "
        "accounts for one direction, the others for both)."
    )
    yield (
        Case(
            "A", "Training runs at delta = 1e-5", f"Gaussian noise on Poisson samples of rate {RATE}. {calls}"
        ),
        sampled_gaussian(peers, [1e-5], short if quick else grid),
    )
    yield (
        Case(
            "B",
            "The same at small delta",
            "A peer's `inf` or error is `no answer`: the speed target then has nothing to compare with.",
        ),
        sampled_gaussian(peers, [1e-12], short[:1])
        if quick
        else sampled_gaussian(peers, [1e-12, 1e-30], grid),
    )
    yield (
        Case(
            "C",
            "Many different mechanisms at delta = 1e-6",
            "Laplace, Gaussian, sampled Gaussian, randomized response and objective perturbation in equal "
            "numbers, seeded parameters, no two alike. dp-accounting has no objective perturbation; the "
            "second row leaves it out and composes the PLDs of the rest.",
        ),
        mixed(peers, 8 if quick else 40),
    )
    yield (
        Case(
            "D",
            "Calibrating the noise of a training run",
            "Ours to a relative precision of 1e-10 in sigma; dp-accounting `calibrate_dp_mechanism` with its "
            "defaults (tolerance 1e-6). Our sigma is verified to keep the promise, 1e-9 less to break it.",
            value="sigma",
        ),
        calibration(peers),
    )
    yield (
        Case(
            "E",
            "Import time",
            "New processes, measured inside. Our import is lazy, so the second row adds a first answer, for "
            "everyone the epsilon of one Gaussian release.",
            value="seconds",
        ),
        imports(peers),
    )
    yield (
        Case(
            "F",
            "A thousand Laplace releases, a thousand randomized responses, delta = 1e-6",
            "Randomized response twice: dp-accounting's PLD composed by hand, and through its accountant, "
            "which in version 0.6 ignores the repetitions: quick, but the epsilon of a single response.",
        ),
        repeated(peers),
    )
