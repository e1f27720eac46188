"""CAMPAIGN.md: what a campaign tried and found, from its batches."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.tables.hostile.batches import Batch
from tests.tables.hostile.campaign import SHARES

TABLE = Path(__file__).with_name("CAMPAIGN.md")
HEAD = """# What the last campaign found

`make fuzz` writes this page. A case is one random question, asked on one engine of a random table and of one neighbour
of it: the table with one more unit, whose rows hold whatever their types allow. The kind of outcome must be the same
to the letter, and the exact integers before noise may differ by no more than the sensitivity that is planned for.
Every two neighbours of a table are compared as well, as replacements of one unit; these comparisons are counted apart.
A question that is refused before a charge makes no case. "The same integers as DuckDB" compares engines that hold the
same rows. In a whole session everything that somebody outside can see is compared, the ledger's entries included.

Seed {seed}, code of commit `{commit}`, written {date}. Processor time is that of the Python process, in which
DuckDB runs; PostgreSQL and Spark have processes of their own.
"""


def write(
    batches: Sequence[Batch], targets: Mapping[str, int], seed: int, commit: str, planted: Mapping[str, str]
) -> None:
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    parts = [HEAD.format(seed=seed, commit=commit, date=day), _stores(batches, targets), _outcomes(batches)]
    parts += [
        _leaks(batches),
        _planted(planted),
        _questions(batches),
        _continued(batches, targets, seed, commit),
    ]
    TABLE.write_text("\n".join(parts), encoding="utf-8")


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def _stores(batches: Sequence[Batch], targets: Mapping[str, int]) -> str:
    rows = []
    for engine, shares in SHARES.items():
        for what, share in shares.items():
            own = [b for b in batches if (b.engine, b.what) == (engine, what)]
            rows.append([engine, what, *_sums(own, share * targets[engine])])
        own = [b for b in batches if b.engine == engine]
        rows.append([f"**{engine}**", "**all**", *_sums(own, targets[engine])])
    head = ("engine", "rows in", "cases", "aim", "replacements", "questions refused", "wall s", "processor s")
    return "## Cases\n\n" + _table((*head, "leaks"), rows)


def _sums(own: Sequence[Batch], aim: float) -> list[object]:
    times = [f"{sum(b.wall for b in own):.0f}", f"{sum(b.processor for b in own):.0f}"]
    counts = [sum(b.replaced for b in own), sum(b.refused for b in own)]
    return [sum(b.total for b in own), round(aim), *counts, *times, sum(b.leak is not None for b in own)]


def _outcomes(batches: Sequence[Batch]) -> str:
    found: Counter[tuple[str, str]] = Counter()
    for batch in batches:
        for kind, count in batch.cases.items():
            found[batch.engine, kind] += count
    rows = [[engine, kind, count] for (engine, kind), count in sorted(found.items())]
    return "## Kinds of outcome, the same for table and neighbour\n\n" + _table(
        ("engine", "outcome", "cases"), rows
    )


def _leaks(batches: Sequence[Batch]) -> str:
    found = [b for b in batches if b.leak is not None]
    if not found:
        return "## Leaks\n\nNone.\n"
    listed = "\n".join(
        f"- {b.engine}, {b.what}, batch {b.number}:\n\n```\n{(b.leak or '')[:1500]}\n```" for b in found
    )
    return f"## Leaks\n\n{listed}\n"


def _planted(planted: Mapping[str, str]) -> str:
    rows = [[name, after] for name, after in planted.items()]
    return "## Planted mistakes\n\nIn frames, from the same seed.\n\n" + _table(("mistake", "found"), rows)


def _questions(batches: Sequence[Batch]) -> str:
    found = {engine: Counter[str]() for engine in SHARES}
    for batch in batches:
        found[batch.engine].update(batch.asked)
    labels = sorted({label for counts in found.values() for label in counts})
    rows = [[label, *(found[engine][label] for engine in SHARES)] for label in labels]
    return "## What was asked, in cases (a question may be of several kinds)\n\n" + _table(
        ("kind", *SHARES), rows
    )


def _continued(batches: Sequence[Batch], targets: Mapping[str, int], seed: int, commit: str) -> str:
    done = {engine: sum(b.total for b in batches if b.engine == engine) for engine in targets}
    if all(done[engine] >= targets[engine] for engine in targets):
        return ""
    return (
        "## To continue\n\nThe campaign was stopped before it was complete. "
        f"`make fuzz SEED={seed}` at commit `{commit}` goes on where `build/fuzz/batches.jsonl` ends; without that "
        "file, or at another commit, it begins anew (`SEED=` another number for other cases).\n"
    )
