"""The page, the picture and the numbers of the box."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.box_points import DISCRETE, FAMILIES, Point
from benchmarks.cases import Check
from benchmarks.report import finite, number, table

if TYPE_CHECKING:
    from benchmarks.box import Measured

WIDTH, WORST = 1e-6, 1e-3
"""Of the bracket, relative to max(epsilon, 1e-3): on 99 % of the points, and on all."""

HEAD = """# The accountant everywhere

Written by `make bench` (this part alone: `python -m benchmarks.box --seed {seed} --points {points}`). Every point asks
for the epsilon of a run drawn at random: rate log-uniform in [1e-7, 1], sigma (or scale) in [.3, 50], steps in
[1, 1e7], delta in [1e-30, .1], seed {seed}. "Gaussian" and "Laplace" are Poisson-sampled; sums add two to five
different such runs; sampling without replacement is of 1e9 records under replace-one. A point counts when its epsilon
may lie in [1e-6, 200]. Width is that of the certified bracket, relative to max(epsilon, 1e-3). Time is that of the
clock, from the description of the run to the bracket, all caches empty; memory is the peak of the process, Python and
its libraries (about 110 MB) included. Ours is given up after {limit:g} s, and then counts as infinitely wide.
"""

TARGETS = """Targets: width at most 1e-6 on 99 % of the points and never above 1e-3, median time below 8 ms, 99th
percentile below 250 ms, maximum 2 s, memory below 300 MB.
"""


def write(
    found: list[Measured],
    pairs: list[Measured],
    about: dict[str, str],
    out: Path,
    seed: int,
    timeout: float,
    limit: float,
) -> None:
    checks = targets(found)
    blocks = [
        HEAD.format(seed=seed, points=len(found), limit=limit),
        table(["", ""], [[key, value] for key, value in about.items()]),
        f"## Targets\n\n{TARGETS}",
        table(
            ["what", "target", "measured", "met"],
            [[c.what, sign(c), number(c.measured, c.target), "yes" if c.met else "**no**"] for c in checks],
        ),
        "## By family\n",
        grouped(found, lambda x: x.point["family"], list(FAMILIES)),
        "## By rate\n\nThe least rate of the run.\n",
        grouped(found, decade, [decade_name(k) for k in range(-7, 0)]),
        "![width and time against the rate](box.png)\n",
        "## The widest and the slowest\n\nTen of each.\n",
        worst(found, lambda x: x.width),
        worst(found, lambda x: x.seconds),
        f"## {DISCRETE.capitalize()}\n\n2 to 1000 outcomes, losses of standard deviation .001 to 2, 1 to 1e6 times "
        "(all log-uniform).\n",
    ]
    if pairs:
        blocks += [
            grouped(pairs, repetitions, [repetitions_name(k) for k in range(6)]),
            worst(pairs, lambda x: x.width),
            worst(pairs, lambda x: x.seconds),
        ]
    if any(x.replies for x in found):
        blocks += beside(found, timeout)
    (out / "BOX.md").write_text("\n".join(blocks), encoding="utf-8")
    data: dict[str, Any] = {
        "about": about,
        "seed": seed,
        "points": [asdict(x) for x in found],
        "pairs": [asdict(x) for x in pairs],
    }
    (out / "box.json").write_text(compact(data), encoding="utf-8")
    draw(found, out / "box.png")


def targets(found: list[Measured]) -> list[Check]:
    widths, seconds = np.array([x.width for x in found]), np.array([x.seconds for x in found])
    return [
        Check("share of points of width at most 1e-6", 0.99, float(np.mean(widths <= WIDTH)), at_least=True),
        Check("widest", WORST, float(widths.max())),
        Check("median time, ms", 8.0, 1e3 * float(np.median(seconds))),
        Check("99th percentile of time, ms", 250.0, 1e3 * float(np.percentile(seconds, 99))),
        Check("longest time, ms", 2000.0, 1e3 * float(seconds.max())),
        Check("memory, MB", 300.0, max(x.memory for x in found)),
    ]


def sign(check: Check) -> str:
    return f"{'at least' if check.at_least else 'at most'} {check.target:g}"


def grouped(found: list[Measured], key: Callable[[Measured], str], order: Iterable[str]) -> str:
    """A line for each group, and one for all."""
    groups: dict[str, list[Measured]] = {name: [] for name in order}
    for x in found:
        groups[key(x)].append(x)
    lines = [summary(name, members) for name, members in groups.items() if members]
    head = [
        "",
        "points",
        "width <= 1e-6",
        "widest",
        "median time",
        "99 %",
        "longest",
        "wall, median",
        "memory",
    ]
    return table(head, [*lines, summary("all", found)])


def summary(name: str, found: list[Measured]) -> list[str]:
    seconds, wall = [x.seconds for x in found], [x.wall for x in found]
    return [
        name,
        str(len(found)),
        f"{100 * np.mean([x.width <= WIDTH for x in found]):.3g} %",
        f"{max(x.width for x in found):.1e}",
        clock(float(np.median(seconds))),
        clock(float(np.percentile(seconds, 99))),
        clock(max(seconds)),
        clock(float(np.median(wall))),
        f"{max(x.memory for x in found):.0f} MB",
    ]


def clock(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def decade_name(k: int) -> str:
    return f"1e{k} to 1e{k + 1}" if k < -1 else "0.1 to 1"


def decade(x: Measured) -> str:
    return decade_name(min(-1, math.floor(math.log10(point(x).rate))))


def repetitions_name(k: int) -> str:
    return f"1e{k} to 1e{k + 1} times"


def repetitions(x: Measured) -> str:
    return repetitions_name(min(5, math.floor(math.log10(x.point["parts"][0]["times"]))))


def point(x: Measured) -> Point:
    return Point(**x.point)


def worst(found: list[Measured], key: Callable[[Measured], float]) -> str:
    listed = sorted(found, key=key, reverse=True)[:10]
    lines = [
        [str(x.point["index"]), str(point(x)), bracket(x), f"{x.width:.1e}", clock(x.seconds)] for x in listed
    ]
    return table(["point", "what", "epsilon", "width", "time"], lines)


def bracket(x: Measured) -> str:
    return "given up" if x.stopped else f"{x.lower:.9g} to {x.upper:.9g}"


def beside(found: list[Measured], timeout: float) -> list[str]:
    """The peers: how often ours is as small, how much quicker, and where a peer is below the truth."""
    asked = [x for x in found if x.replies]
    lines, low, high = [], [], []
    for peer in dict.fromkeys(name for x in asked for name in x.replies):
        rows = [(x, x.replies[peer]) for x in asked if peer in x.replies]
        told = [(x, r) for x, r in rows if r["value"] is not None]
        below = [(x, r) for x, r in told if theirs(r) < x.lower]
        above = [
            (x, r)
            for x, r in told
            if x.upper > theirs(r) >= x.lower and x.upper - theirs(r) > x.upper - x.lower
        ]
        ratios = [r["seconds"] / x.seconds for x, r in told]
        late = [timeout / x.seconds for x, r in rows if r["error"] and "stopped" in r["error"]]
        low += [[peer, str(point(x)), f"{theirs(r):.9g}", bracket(x)] for x, r in below]
        high += [[peer, str(point(x)), f"{theirs(r):.9g}", bracket(x)] for x, r in above]
        excess = [theirs(r) / x.upper - 1 for x, r in told if theirs(r) >= x.lower]
        both = ratios + late
        lines.append(
            [
                peer,
                str(len(rows)),
                str(len(told)),
                str(len(below)),
                str(len(above)),
                f"{np.median(excess):.1e}" if excess else "",
                f"{100 * np.mean([r > 1 for r in both]):.3g} %" if both else "",
                f"{np.median(both):.3g}" if both else "",
            ]
        )
    head = [
        "peer",
        "asked",
        "answered",
        "below our lower end",
        "ours larger",
        "theirs larger by, median",
        "ours quicker",
        "times quicker, median",
    ]
    blocks = [
        f"""## Beside the peers

The first {len(asked)} points that dp-accounting knows (both directions, no sampling without replacement), each at the
discretisation shown; prv-accountant (epsilon error .01, its upper bound, the remove direction) for single Gaussian
runs. A peer is stopped after {timeout:g} s, which then counts as its time; an error or an infinite epsilon is no
answer. "Below our lower end" is an answer that is too small to be a guarantee. "Ours larger" is our upper end above
theirs by more than the width of our bracket, where theirs is not below our lower end. Times are those of the clock for
both; a peer's imports are not counted.
""",
        table(head, lines),
    ]
    for title, listed in (("Answers of peers that are too small", low), ("Where ours is larger", high)):
        if listed:
            shown = listed[:30]
            more = f"\n{len(listed) - len(shown)} more are in box.json.\n" if len(listed) > len(shown) else ""
            blocks.append(f"### {title}\n\n{table(['peer', 'point', 'theirs', 'ours'], shown)}{more}")
    return blocks


def theirs(reply: dict[str, Any]) -> float:
    """What a peer gives as an upper bound."""
    return float(reply["bounds"][1] if reply["bounds"] else reply["value"])


def compact(data: dict[str, Any]) -> str:
    """JSON, one point a line."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(finite(item), allow_nan=False) for item in value)
            parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(finite(value))}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


COLOURS = {"Gaussian": "#0b6e4f", "Laplace": "#c8553d", "sums": "#3d5a80", "without replacement": "#b08900"}


def draw(found: list[Measured], path: Path) -> None:
    """Width and time against the least rate, one dot a point."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, colour in COLOURS.items():
        members = [x for x in found if x.point["family"].startswith(name)]
        rates = [point(x).rate for x in members]
        shown = [min(max(x.width, 1e-15), 10.0) for x in members]
        style = {"s": 9, "color": colour, "alpha": 0.6, "linewidths": 0}
        panels[0].scatter(rates, shown, label=name, **style)
        panels[1].scatter(rates, [x.seconds for x in members], **style)
    panels[0].axhline(WIDTH, color="#555555", linewidth=0.9, linestyle="--")
    panels[1].axhline(8e-3, color="#555555", linewidth=0.9, linestyle="--")
    panels[1].axhline(2.0, color="#555555", linewidth=0.9, linestyle=":")
    panels[0].set(title="Width of the bracket / max(epsilon, 1e-3)")
    panels[1].set(title="Processor seconds")
    for panel in panels:
        panel.set(xscale="log", yscale="log", xlabel="least sampling rate")
        panel.grid(color="#e5e5e5", linewidth=0.8)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False, fontsize=9, markerscale=2, loc="best")
    figure.savefig(path, dpi=130)
    plt.close(figure)
