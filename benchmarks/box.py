"""The accountant everywhere: width and time at random points of the box, beside the peers on some of them.

    python -m benchmarks.box --seed 1 --points 2000

Every point is written down (under build/box) as soon as it is answered, and a run that was stopped goes on where it
stopped, as long as the calculus is the same. The page, the picture and the numbers are BOX.md, box.png and box.json.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

from threadpoolctl import threadpool_limits

import dalenius
from benchmarks import box_page, box_points
from benchmarks.ask import Peers
from benchmarks.box_points import DISCRETE, EPSILON, Point
from benchmarks.ours import forget
from benchmarks.timing import Timing
from dalenius.calculus.pairs.pair import Bounds

SEED, POINTS, SIDE_BY_SIDE = 1, 2000, 200
ROOT = Path(__file__).resolve().parent.parent
LIMIT = 30.0
"""Processor seconds after which a point of ours is given up: it has missed every target long before."""
QUICK = 0.1
"""Points quicker than this are answered three times, and the median counts."""
PEERS = ("dp-accounting, 1e-4", "dp-accounting, 1e-5", "prv-accountant")


@dataclass
class Measured:
    """One point: our bracket and what it took, and what peers said."""

    point: dict[str, Any]
    lower: float
    upper: float
    cpu: float
    wall: float
    memory: float
    """Most megabytes held while it was answered, interpreter and libraries included."""
    stopped: bool
    replies: dict[str, dict[str, Any]]

    @property
    def seconds(self) -> float:
        """What it took: of the two clocks the later, since that of the processor may stand still for milliseconds."""
        return max(self.cpu, self.wall)

    @property
    def width(self) -> float:
        """Relative to max(epsilon, 1e-3)."""
        if math.isinf(self.upper):
            return 0.0 if math.isinf(self.lower) else math.inf
        return (self.upper - self.lower) / max(self.upper, 1e-3)


class Stopped(Exception):
    pass


def ring(number: int, frame: FrameType | None) -> None:
    raise Stopped


def measure(point: Point, limit: float) -> Measured:
    """Answer a point from its description, caches emptied before."""
    for part in point.parts:
        if part["kind"] == "discrete":  # the laws are what a user has: drawing them is no part of the work
            part["pair"] = box_points.outcomes(part)
    cpu, wall = [], []
    bounds, stopped = Bounds(0.0, math.inf), False
    box_points.one({"kind": "gaussian", "noise": 1.0, "rate": 0.5}).epsilon(
        0.1
    )  # what is loaded on first use
    reset_memory()
    signal.signal(signal.SIGPROF, ring)
    one_thread = threadpool_limits(1)  # a second thread that waits would count as processor time
    for _ in range(3):
        forget()
        signal.setitimer(signal.ITIMER_PROF, limit)
        started, used = time.perf_counter(), time.process_time()
        try:
            bounds = box_points.epsilon(point)
        except Stopped:
            stopped = True
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        cpu.append(time.process_time() - used)
        wall.append(time.perf_counter() - started)
        if cpu[0] > QUICK or stopped:
            break
    one_thread.restore_original_limits()
    for part in point.parts:
        part.pop("pair", None)
    return Measured(
        point.data(),
        bounds.lower,
        bounds.upper,
        Timing.of(cpu).median,
        Timing.of(wall).median,
        memory(),
        stopped,
        {},
    )


def in_a_process_of_its_own(work: Callable[..., Any], *arguments: object) -> Any:
    """In a fork, so that what one point held in memory is not counted for the next."""
    with ProcessPoolExecutor(1, get_context("fork")) as process:
        return process.submit(work, *arguments).result()


def outside(point: Point) -> bool:
    """Whether a point that was given up is far outside the box, by the saddle point's estimate."""
    found = box_points.loss(point)
    sides = found.directions if point.direction == "both" else (getattr(found, point.direction),)
    guesses = [side._guess(point.delta)[0] for side in sides]
    return not EPSILON[0] / 10 < max(guesses) < EPSILON[1] * 10


def code() -> str:
    """A few letters that change with the calculus."""
    calculus = Path(dalenius.__file__).parent / "calculus"
    texts = [path.read_bytes() for path in sorted(calculus.rglob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:8]


def reset_memory() -> None:
    """Forget the peak, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory() -> float:
    """Peak megabytes since `reset_memory`; 0 where the system does not tell."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def answered(seed: int, count: int, discrete: bool, limit: float, kept: Path) -> Iterator[Measured]:
    """Points of the draw that count, from the file as far as it goes, then measured."""
    known = {}
    if kept.exists():
        for line in kept.read_text().splitlines():
            found = json.loads(line)
            known[found["point"]["index"]] = found
    given = 0
    with kept.open("a") as file:
        for point in box_points.points(seed, discrete):
            if given == count:
                return
            found = known.get(point.index)
            if found is None:
                measured = in_a_process_of_its_own(measure, point, limit)
                inside = not in_a_process_of_its_own(outside, point) if measured.stopped else counts(measured)
                found = {**asdict(measured), "counts": inside}
                file.write(json.dumps(found) + "\n")
                file.flush()
            if found.pop("counts"):
                given += 1
                yield Measured(**found)


def counts(measured: Measured) -> bool:
    return box_points.counts(Bounds(measured.lower, measured.upper))


def ask(peers: Peers, found: list[Measured], count: int, kept: Path, say: Callable[[str], None]) -> None:
    """Put the first points that a peer may know to each of them, and note the answers."""
    known = (
        {(x["index"], x["peer"]): x["reply"] for x in map(json.loads, kept.read_text().splitlines())}
        if kept.exists()
        else {}
    )
    asked = [
        x for x in found if not x.point["family"].startswith("without") and x.point["direction"] == "both"
    ]
    patient = replace(peers, timeout=5 * peers.timeout)  # they are stopped by processor time
    with kept.open("a") as file:
        for number, measured in enumerate(asked[:count]):
            for peer in PEERS:
                point = measured.point
                if peer.startswith("prv") and point["family"] != "Gaussian":
                    continue
                key = (point["index"], peer)
                if key not in known:
                    name, _, mesh = peer.partition(", ")
                    question = {"parts": point["parts"], "delta": point["delta"], "limit": peers.timeout}
                    if mesh:
                        question["mesh"] = float(mesh)
                    reply = patient.ask(name, "box", **question)
                    known[key] = {
                        "value": reply.value if reply.value is None or math.isfinite(reply.value) else None,
                        "error": reply.error or (None if math.isfinite(reply.value or 0.0) else "inf"),
                        "bounds": reply.bounds,
                        "seconds": reply.time.median if reply.time else None,
                    }
                    file.write(json.dumps({"index": key[0], "peer": peer, "reply": known[key]}) + "\n")
                    file.flush()
                measured.replies[peer] = known[key]
            if number % 10 == 9:
                say(f"   beside the peers: {number + 1}")


def run(
    peers: Peers | None,
    quick: bool,
    about: dict[str, str],
    out: Path,
    say: Callable[[str], None],
    seed: int = SEED,
    points: int = POINTS,
    limit: float = LIMIT,
    side_by_side: int = SIDE_BY_SIDE,
) -> None:
    """Every point; writes BOX.md, box.png and box.json."""
    say(f"\nThe box, seed {seed}")
    if quick:
        points, side_by_side = min(points, 60), min(side_by_side, 6)
    parts = ROOT / "build" / "box"
    parts.mkdir(parents=True, exist_ok=True)
    of_code = code()
    tables: dict[bool, list[Measured]] = {False: [], True: []}
    for discrete, count in ((False, points), (True, max(1, points // 10))):
        name = f"box-{'pairs-' if discrete else ''}{seed}-{of_code}.jsonl"
        for number, measured in enumerate(answered(seed, count, discrete, limit, parts / name)):
            tables[discrete].append(measured)
            if number % 100 == 99:
                say(f"   {number + 1} of {count} {DISCRETE if discrete else 'points'}")
    if peers is not None:
        ask(peers, tables[False], side_by_side, parts / f"box-peers-{seed}-{peers.timeout:g}.jsonl", say)
    box_page.write(tables[False], tables[True], about, out, seed, peers.timeout if peers else 0.0, limit)
    say(f"   written to {out / 'BOX.md'}")


def main() -> int:
    from benchmarks.__main__ import HERE, machine, say

    parser = argparse.ArgumentParser(prog="python -m benchmarks.box", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="which draw")
    parser.add_argument("--points", type=int, default=POINTS, help="how many points that count")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help="processor seconds after which ours is given up"
    )
    parser.add_argument("--beside", type=int, default=SIDE_BY_SIDE, help="how many points the peers get")
    parser.add_argument(
        "--timeout", type=float, default=120.0, help="processor seconds after which a peer is stopped"
    )
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-bench" / "bin" / "python")
    parser.add_argument("--no-peers", action="store_true", help="only ours")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for what is written")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    peers = None if options.no_peers else Peers(options.peers.absolute(), options.timeout)
    run(
        peers,
        False,
        machine(peers),
        options.out,
        say,
        options.seed,
        options.points,
        options.limit,
        options.beside,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
