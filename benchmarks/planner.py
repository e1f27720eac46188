"""`python -m benchmarks.planner --write`: how fast the planner's curve follows a slider, where nobody has been.

The page asks as soon as a slider moves, with a wait of 15 ms, and draws what it is told; then it asks for the fine
curve. Here the sliders jump to random places of their ranges, so that nothing was fetched ahead or is known.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import httpx
import numpy as np

from benchmarks.console import Server
from dalenius.web.planning import plans
from dalenius.web.planning.sliders import SLIDERS, Choice, Slider
from dalenius.web.settings import Settings

PAGE = Path(__file__).with_name("PLANNER.md")
MOVED, RESTED = 0.015, 4.0
"""Seconds that the page lets a moving slider wait, and that a test lets a resting one."""


def places(kind: str, count: int, random: Random) -> Iterator[str]:
    """The queries of sliders at random places."""
    for _ in range(count):
        values = {s.name: _place(s, random) for s in SLIDERS[kind]}
        yield plans.KINDS[kind].read(values).query()


def _place(slider: Slider | Choice, random: Random) -> str:
    if isinstance(slider, Choice):
        return random.choice(slider.options)[0]
    at = random.random()
    value = (
        slider.least + at * (slider.most - slider.least)
        if slider.even
        else slider.least * (slider.most / slider.least) ** at
    )
    return str(round(value)) if slider.whole else f"{value:.6g}"


async def measured(url: str, queries: list[str]) -> tuple[list[float], list[float], int]:
    """Seconds to the first curve and to the fine one, and how many of the first were fine."""
    first, fine, whole = [], [], 0
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        for query in queries:
            started = time.perf_counter()
            told = (await client.get(f"/api/v1/plan?{query}&wait={MOVED}")).json()
            first.append(time.perf_counter() - started)
            assert told["curve"], query
            whole += told["complete"]
            while not told["complete"] and time.perf_counter() - started < RESTED:
                told = (await client.get(f"/api/v1/plan?{query}&wait=1")).json()
            fine.append(time.perf_counter() - started if told["complete"] else np.inf)
    return first, fine, whole


def row(kind: str, first: list[float], fine: list[float], whole: int) -> str:
    ms = 1e3 * np.quantile(first, [0.5, 0.99, 1])
    within = np.mean(np.array(first) < 0.05)
    rest = np.sort(fine)[[len(fine) // 2, int(0.99 * len(fine))]]
    shown = [f"{x:.2g} s" if np.isfinite(x) else "given up" for x in rest]
    return (
        f"| {plans.KINDS[kind].title} | {len(first)} | {ms[0]:.1f} ms | {ms[1]:.1f} ms | {ms[2]:.1f} ms | {within:.1%} "
        f"| {whole / len(first):.0%} | {shown[0]} | {shown[1]} |"
    )


async def rows(count: int, seed: int) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="dalenius-planner-") as folder:
        settings = Settings(Path(folder) / "console", calls_per_minute=1_000_000)
        settings.make_folder()
        server = Server(settings)
        try:
            await server.ready()
            random, made = Random(seed), []
            await measured(server.url, list(places("training", 5, random)))  # what starts with the first plan
            for kind in SLIDERS:
                made.append(row(kind, *await measured(server.url, list(places(kind, count, random)))))
            return made
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planner", description=__doc__.splitlines()[0])
    parser.add_argument("--places", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    text = "\n".join(
        [
            "# The planner under a slider",
            "",
            f"Written by `python -m benchmarks.planner --places {options.places} --seed {options.seed} --write`: "
            "sliders jump to random places of their ranges, so that nothing was fetched ahead. Times are by the "
            f"clock, over HTTP from a program on the same {os.cpu_count()} cores of {platform.machine()}; load when "
            f"it began {load:.1f}. The aim is a curve within 50 ms of a move. What is drawn first is certified as "
            "well, only coarser where the accountant takes longer; the fine curve follows.",
            "",
            "| plan | places | first curve, median | 99th percentile | longest | within 50 ms | fine at once "
            "| fine curve, median | 99th percentile |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
            *asyncio.run(rows(options.places, options.seed)),
            "",
        ]
    )
    print(text)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
