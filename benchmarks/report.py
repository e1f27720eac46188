"""The results as Markdown for people and JSON for machines."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from benchmarks.cases import DP, PRV, Case, Check, Row
from benchmarks.timing import Timing

HEAD = """# Benchmarks

Written by `make bench`; every ratio is between two measurements of this one run. Times are medians: ours
of at least 7 repetitions after a warm-up, from the description of the mechanism to the certified bracket,
all caches emptied before each; a peer's of 2 to 7 after a warm-up, or its only run when that took more than
8 seconds. A peer runs in its own environment, its imports are not counted, and it is stopped after
{timeout:.0f} s. Threads are left at everyone's defaults. A peer's answer is `too small` when it lies below
our certified lower bound, so that it is no upper bound on epsilon.
"""


def markdown(cases: list[Case], about: dict[str, str], timeout: float) -> str:
    blocks = [HEAD.format(timeout=timeout)]
    blocks.append(table(["", ""], [[key, value] for key, value in about.items()]))
    blocks.append(
        "## Targets\n\n" + table(["case", "what", "target", "worst measured", "met"], summary(cases))
    )
    for case in cases:
        blocks.append(f"## {case.key}. {case.title}\n\n{case.text}\n\n{rows(case)}")
    if any(case.key == "A" and len(case.rows) > 1 for case in cases):
        blocks.append("![time against the number of steps](results.png)\n")
    return "\n".join(blocks)


def summary(cases: list[Case]) -> list[list[str]]:
    """One line per target: its worst row, and in how many rows it was met."""
    lines = []
    for case in cases:
        grouped: dict[str, list[Check]] = {}
        for row in case.rows:
            for check in row.checks:
                grouped.setdefault(check.what, []).append(check)
        for what, checks in grouped.items():
            first = checks[0]
            worst = (min if first.at_least else max)(check.measured for check in checks)
            sign = "at least" if first.at_least else "at most"
            met = sum(check.met for check in checks)
            verdict = "yes" if met == len(checks) else f"**no**, {met} of {len(checks)}"
            lines.append(
                [
                    case.key,
                    what,
                    f"{sign} {first.target:g} {first.unit}".strip(),
                    number(worst, first.target),
                    verdict,
                ]
            )
    return lines


def rows(case: Case) -> str:
    """The table of a case: the question, ours, then every peer that was asked."""
    keys = list(dict.fromkeys(key for row in case.rows for key in row.question))
    asked = [
        peer for peer in (DP, PRV) if any(reply.peer == peer for row in case.rows for reply in row.replies)
    ]
    timings_only = case.value == "seconds"
    widths = case.value == "epsilon"
    logs = any(row.log_delta_width is not None for row in case.rows)
    head = [*keys, *([] if timings_only else [f"our {case.value}"]), *(["width"] if widths else [])]
    head += [*(["log delta width, relative"] if logs else []), "our time"]
    for peer in asked:
        head += [*([] if timings_only else [peer]), f"{peer} time", "ratio"]
    head.append("targets met")
    lines = []
    for row in case.rows:
        line = [shown(row.question.get(key, "")) for key in keys]
        line += [] if timings_only else [f"{row.upper:.9g}"]
        line += [f"{row.width:.1e}"] if widths else []
        line += [f"{row.log_delta_width:.1e}" if row.log_delta_width is not None else ""] if logs else []
        line.append(clock(row.time))
        for peer in asked:
            line += peer_cells(row, peer, timings_only)
        line.append(verdict(row))
        lines.append(line)
    return table(head, lines)


def peer_cells(row: Row, peer: str, timings_only: bool) -> list[str]:
    reply = next((reply for reply in row.replies if reply.peer == peer), None)
    if reply is None:
        return ["", ""] if timings_only else ["", "", ""]
    ratio = row.ratio(reply)
    cells = [clock(reply.time), "" if ratio is None else f"{ratio:.3g}x"]
    if timings_only:
        return cells
    judged = reply.against(row.lower, row.upper)
    if reply.value is None:
        said = f"no answer: {str(reply.error).splitlines()[0].split('. ')[0]}"
    elif not math.isfinite(reply.value):
        said = f"no answer: {reply.value}"
    else:
        said = f"{reply.value:.6g}" + ("" if judged == "consistent" else f", **{judged.split(':')[0]}**")
    return [said, *cells]


def verdict(row: Row) -> str:
    missed = [check.what for check in row.checks if not check.met]
    if not row.checks:
        return ""
    return "yes" if not missed else f"**no**: {'; '.join(missed)}"


def table(head: list[str], lines: list[list[str]]) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"

    return line(head) + "|" + "---|" * len(head) + "\n" + "".join(line(cells) for cells in lines)


def shown(value: object) -> str:
    return (
        f"{value:g}" if isinstance(value, float) else f"{value:_}" if isinstance(value, int) else str(value)
    )


def number(value: float, target: float) -> str:
    """Three digits, more where the target is near, and few where the value is tiny."""
    if abs(value - target) < 1e-3 * abs(target):
        return f"{value:.10g}"
    return f"{value:.1e}" if value and abs(value) < 1e-3 else f"{value:.3g}"


def clock(time: Timing | None) -> str:
    if time is None:
        return "-"
    if time.median < 1e-3:
        return f"{time.median * 1e3:.2g} ms"
    return f"{time.median * 1e3:.3g} ms" if time.median < 1 else f"{time.median:.3g} s"


def machine_readable(cases: list[Case], about: dict[str, str]) -> str:
    data = [{**asdict(case), "rows": [row.data() for row in case.rows]} for case in cases]
    return json.dumps(finite({"about": about, "cases": data}), indent=1, allow_nan=False) + "\n"


def finite(value: Any) -> Any:
    """JSON knows no infinity: it is written as text."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
