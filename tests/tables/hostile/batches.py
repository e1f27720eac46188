"""The batches of a campaign, one line of JSON each, so that a campaign can be stopped and continued."""

from __future__ import annotations

import fcntl
import json
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "build" / "fuzz" / "batches.jsonl"


@dataclass(frozen=True)
class Batch:
    """What came of one. what: which stores were tried; number: its place, from which its draws follow with the seed."""

    engine: str
    what: str
    seed: int
    number: int
    commit: str
    cases: dict[str, int]
    replaced: int
    refused: int
    asked: dict[str, int]
    wall: float
    processor: float
    leak: str | None

    @property
    def total(self) -> int:
        return sum(self.cases.values())


def drawn_from(what: str, seed: int, number: int) -> int:
    return zlib.crc32(f"{what} {seed} {number}".encode())


def commit() -> str:
    """Of the code that is tried; with a plus where it is not as it was committed."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "src", "tests/tables/hostile")
    return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


def read(path: Path, seed: int, code: str) -> list[Batch]:
    """Those of this seed and this code."""
    if not path.exists():
        return []
    found = (Batch(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [batch for batch in found if batch.seed == seed and batch.commit == code]


def append(path: Path, batch: Batch) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(asdict(batch)) + "\n")


def cases_by_store(batches: Iterable[Batch]) -> Counter[tuple[str, str]]:
    done: Counter[tuple[str, str]] = Counter()
    for batch in batches:
        done[batch.engine, batch.what] += batch.total
    return done
