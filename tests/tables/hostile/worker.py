"""What each process of a campaign does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.tables.hostile import batches
from tests.tables.hostile.batches import Batch
from tests.tables.hostile.campaign import SHARES, attempts, batch


def part(job: tuple[Sequence[str], Mapping[str, int], int, str, int, int, Path]) -> None:
    """What one process does: batches whose number leaves a remainder of its own, engine after engine."""
    order, targets, seed, code, mine, processes, path = job
    for engine in order:
        aims = {what: share * targets[engine] for what, share in SHARES[engine].items()}
        if _next(batches.read(path, seed, code), engine, aims) is None:
            continue
        with attempts(engine) as tried:
            while True:
                done = batches.read(path, seed, code)
                what = _next(done, engine, aims)
                if what is None:
                    break
                used = {b.number for b in done if (b.engine, b.what) == (engine, what)}
                number = next(n for n in range(mine, 10**9, processes) if n not in used)
                tally, leak, wall, processor = batch(
                    tried[what], engine, batches.drawn_from(what, seed, number)
                )
                made = Batch(
                    *(engine, what, seed, number, code, dict(tally.cases), tally.replaced, tally.refused),
                    *(dict(tally.asked), wall, processor, None if leak is None else str(leak)),
                )
                batches.append(path, made)
                total = sum(b.total for b in done if b.engine == engine) + made.total
                print(
                    f"{engine}: {total} of {targets[engine]} cases; {what} {number}: {made.total} in {wall:.0f} s"
                    + ("" if leak is None else "; a LEAK"),
                    flush=True,
                )


def _next(done: Sequence[Batch], engine: str, aims: Mapping[str, float]) -> str | None:
    """The stores of an engine that are furthest from their aim."""
    cases = batches.cases_by_store(b for b in done if b.engine == engine)
    short = {what: cases[engine, what] / aim for what, aim in aims.items()}
    least = min(short, key=lambda what: short[what])
    return least if short[least] < 1 else None
