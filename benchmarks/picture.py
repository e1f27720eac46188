"""Time against the number of steps, ours and the peers'."""

from __future__ import annotations

import math
from pathlib import Path

from benchmarks.cases import DP, PRV, Case

COLOURS = {"dalenius": "#0b6e4f", DP: "#c8553d", PRV: "#3d5a80"}


def draw(case: Case, path: Path) -> None:
    """One panel per sigma, both axes logarithmic, each line named at its right end."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sigmas = sorted({row.question["sigma"] for row in case.rows})
    figure, panels = plt.subplots(
        1,
        len(sigmas),
        figsize=(1.2 + 4.4 * len(sigmas), 3.9),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for panel, sigma in zip(panels[0], sigmas, strict=True):
        lines: dict[str, list[tuple[int, float]]] = {}
        for row in case.rows:
            if row.question["sigma"] != sigma:
                continue
            steps = row.question["steps"]
            lines.setdefault("dalenius", []).append((steps, row.time.median))
            for reply in row.replies:
                if reply.time is not None:
                    lines.setdefault(reply.peer, []).append((steps, reply.time.median))
        for name, points in lines.items():
            x, y = zip(*points, strict=True)
            panel.plot(x, y, marker="o", markersize=4.5, linewidth=1.8, color=COLOURS[name])
            panel.annotate(
                name,
                (x[-1], y[-1]),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                color=COLOURS[name],
                fontsize=9.5,
            )
        panel.set(xscale="log", yscale="log", xlabel="steps", title=f"sigma = {sigma:g}")
        every = [steps for points in lines.values() for steps, _ in points]
        panel.set_xlim(min(every) / 1.4, max(every) * (max(every) / min(every)) ** 0.42 * 1.4)
        panel.set_xticks(sorted(set(every)))
        panel.minorticks_off()
        panel.grid(axis="y", color="#e5e5e5", linewidth=0.8)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    heights = [height for panel in panels[0] for drawn in panel.lines for height in drawn.get_ydata()]
    panels[0][0].set_ylim(
        10.0 ** math.floor(math.log10(min(heights))), 10.0 ** math.ceil(math.log10(max(heights)))
    )
    panels[0][0].set_ylabel("seconds")
    figure.suptitle("Time to epsilon at delta = 1e-5, Poisson sampling rate 0.01", fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)
