"""`python -m tests.session.damage [--flips 5000] [--cuts 250] [--torn 250] [--copies 100] [--out FILE]`: spoilt files.

A small ledger is damaged in one way after another, and then used by three who must not be misled:

    open        a ledger that was open, and had seen everything, when the file was changed under it (same inode)
    checkpoint  one that is opened afterwards and is given a checkpoint
    stranger    one that is opened afterwards and knows nothing

Each looks at all balances and at an answer on record, asks for more than is left, and for something that fits; then a
next stranger looks at what is there now. What happened is one of

    refused     an error of the ledger, at the latest when it came to a charge
    right       everything it said was true, and what was refused and granted was so rightly
    WRONG       a balance, an answer or a grant that is not true: there must be none

To a stranger an older state of the whole ledger is true: nothing in a file can show that it was once longer.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import dalenius as dp
from dalenius.errors import BudgetExceeded, LedgerError
from dalenius.session.ledger import Ledger
from tests.session.helpers import rho

WHO = ("open", "checkpoint", "stranger")
BUDGETS = {"people": 1.0, "pets": 2.0, "towns": 0.5}
PRICE = "0.01"
PATIENCE = 5.0
PAGE, SECTOR = 4096, 512


@dataclass(frozen=True)
class State:
    """A ledger's file at one moment, and what is true then."""

    content: bytes
    checkpoint: str
    spent: dict[str, Fraction]
    answers: dict[str, str]


@dataclass(frozen=True)
class Damage:
    """What the file is changed into (None: removed), and which states are true to one who saw them all."""

    kind: str
    content: bytes | None
    before: State
    older: tuple[State, ...] = ()
    """Also true, to a stranger."""


def states(folder: Path, releases: int = 45, indexed: bool = False) -> list[State]:
    """A ledger as it grows; with the indexes that ledgers of the first version have, or without."""
    path = folder / "grown.ledger"
    found = []
    with Ledger.open(path) as ledger:
        if indexed:
            connection = sqlite3.connect(path)
            connection.execute("CREATE INDEX entries_by_key ON entries (key, kind, account, seq)")
            connection.execute("CREATE INDEX entries_by_account ON entries (account, kind, seq)")
            connection.close()
        answers: dict[str, str] = {}
        accounts = {name: ledger.account(name, dp.ZCDP(budget)) for name, budget in BUDGETS.items()}
        for number in range(releases):
            for name, account in accounts.items():
                text = f"[{number}, {'7' * (1 + number % 40)}]"
                account.ask(f"{name} {number}", rho(PRICE), lambda text=text: text)  # type: ignore[misc]
                answers[f"{name} {number}"] = text
            spent = {name: account.balance().total.amount for name, account in accounts.items()}
            found.append(State(path.read_bytes(), ledger.checkpoint(), spent, dict(answers)))
    return found


# -- ways to damage it --------------------------------------------------------------------------------


def flips(chance: random.Random, grown: list[State], count: int) -> Iterator[Damage]:
    """One bit."""
    now = grown[-1]
    for _ in range(count):
        content = bytearray(now.content)
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        yield Damage("bit flipped", bytes(content), now)


def cuts(chance: random.Random, grown: list[State], count: int) -> Iterator[Damage]:
    """The end is lost; at a page or anywhere; now and then there is rubbish or nothing in its place."""
    now = grown[-1]
    size = len(now.content)
    for number in range(count):
        at = chance.randrange(size) if number % 2 else PAGE * chance.randrange(size // PAGE)
        content = now.content[:at]
        if number % 5 == 0:
            content += bytes(size - at)
        elif number % 5 == 1:
            content += chance.randbytes(size - at)
        yield Damage("truncated", content, now)


def torn(chance: random.Random, grown: list[State], count: int) -> Iterator[Damage]:
    """Of the pages that later releases changed only some were written, or parts of them; the journal is lost."""
    now = grown[-1]
    for number in range(count):
        past = grown[-1 - chance.choice((1, 1, 2, 5, 20))]
        step = SECTOR if number % 2 else PAGE
        content = bytearray(now.content)
        for start in range(0, len(content), step):
            old = past.content[start : start + step]
            if chance.random() < 0.5 and start < len(past.content):
                content[start : start + len(old)] = old
        length = chance.choice((len(content), max(len(past.content), len(content) // 2)))
        yield Damage("torn pages", bytes(content[:length]), now, (past,))


def copies(chance: random.Random, grown: list[State], count: int) -> Iterator[Damage]:
    """An older state of the file, with or without the counter by which SQLite knows that a file has changed."""
    now = grown[-1]
    for number in range(count):
        past = grown[chance.randrange(len(grown) - 1)]
        content = bytearray(past.content)
        if number % 2:
            content[24:28] = now.content[24:28]
            content[92:96] = now.content[92:96]
        yield Damage("old copy, same counter" if number % 2 else "old copy", bytes(content), now, (past,))


def emptied(grown: list[State], folder: Path) -> Iterator[Damage]:
    """Nothing, a header, tables without rows, another ledger, no file."""
    now = grown[-1]
    yield Damage("emptied", b"", now)
    yield Damage("emptied", now.content[:100], now)
    yield Damage("emptied", bytes(len(now.content)), now)
    for entries in (0, 1, 2):
        path = folder / "emptied"
        path.write_bytes(now.content)
        connection = sqlite3.connect(path, isolation_level=None)
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM entries WHERE seq > ?", (entries,))
        hash = connection.execute(
            "SELECT coalesce(max(hash), ?) FROM entries WHERE seq = ?", ("0" * 64, entries)
        )
        connection.execute("UPDATE head SET seq = ?, hash = ?", (entries, *hash.fetchone()))
        connection.close()
        # With entries it is a ledger in which nothing was spent yet: true for a stranger.
        young = State(b"", "", dict.fromkeys(list(BUDGETS)[: entries - 1], Fraction(0)), {})
        yield Damage("emptied", path.read_bytes(), now, (young,) if entries else ())
        path.unlink()
    other = folder / "other.ledger"
    Ledger.open(other).close()
    yield Damage("another ledger", other.read_bytes(), now, (State(b"", "", {}, {}),))
    other.unlink()
    yield Damage("deleted", None, now)


# -- what comes of it ----------------------------------------------------------------------------------


class Wrong(AssertionError):
    """Somebody was misled."""


def judge(damage: Damage, who: str, folder: Path) -> str:
    """Damage a file and use it; "refused" or "right", or Wrong is raised."""
    path = folder / "used.ledger"
    for name in (path, path.with_name("used.ledger-journal")):
        name.unlink(missing_ok=True)
    path.write_bytes(damage.before.content)
    ledger = Ledger.open(path, patience=PATIENCE) if who == "open" else None
    if ledger is not None:
        ledger.checkpoint()
    if damage.content is None:
        path.unlink()
    else:
        _overwrite(path, damage.content)
    true = [damage.before, *(damage.older if who == "stranger" else ())]
    try:
        if ledger is None:
            expect = damage.before.checkpoint if who == "checkpoint" else None
            ledger = Ledger.open(path, create=False, checkpoint=expect, patience=PATIENCE)
        with ledger:
            _use(ledger, true)
    except LedgerError:
        return "refused"
    return "right"


def _overwrite(path: Path, content: bytes) -> None:
    """In place: the same inode."""
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(content)


def _use(ledger: Ledger, true: list[State]) -> None:
    accounts = {account.dataset: account for account in ledger.accounts()}
    spent = {name: account.balance().total.amount for name, account in accounts.items()}
    state = next((state for state in true if state.spent == spent), None)
    if state is None:
        raise Wrong(f"spent is said to be {spent}")
    for question, answer in list(state.answers.items())[:: max(1, len(state.answers) // 3)]:
        if accounts[question.split()[0]].recorded(question) != answer:
            raise Wrong(f"another answer to {question}")
    for name, account in accounts.items():
        left = Fraction(repr(BUDGETS[name])) - spent[name]
        more = rho(str(left + Fraction(1, 100)))
        try:
            account.charge("too much", more)
        except BudgetExceeded:
            continue
        raise Wrong("more was granted than is left")
    for name, account in accounts.items():
        if spent[name] + Fraction(PRICE) <= Fraction(repr(BUDGETS[name])):
            account.charge("one more", rho(PRICE))
            spent[name] += Fraction(PRICE)
        if account.balance().total.amount != spent[name]:
            raise Wrong("a charge was lost")
    where = ledger.store.place
    ledger.close()
    with Ledger.open(where, create=False, patience=PATIENCE) as later:
        told = {account.dataset: account.balance().total.amount for account in later.accounts()}
    if told != spent:
        raise Wrong(f"the next one is told {told}, and it was {spent}")


def run(damages: Iterator[Damage], folder: Path) -> Counter[tuple[str, str, str]]:
    """How often each kind of damage ended how, for whom."""
    found: Counter[tuple[str, str, str]] = Counter()
    for damage in damages:
        for who in WHO:
            try:
                end = judge(damage, who, folder)
            except Wrong as problem:
                end = "WRONG"
                print(damage.kind, who, problem, file=sys.stderr)
            found[damage.kind, who, end] += 1
    return found


def table(found: Counter[tuple[str, str, str]]) -> str:
    """For people."""
    ends = ("refused", "right", "WRONG")
    lines = ["| damage | seen by | cases | refused | right | WRONG |", "|---|---|---:|---:|---:|---:|"]
    for kind in dict.fromkeys(kind for kind, _, _ in found):
        for who in WHO:
            counts = [found[kind, who, end] for end in ends]
            lines.append(f"| {kind} | {who} | {sum(counts)} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.session.damage")
    for name, count in (("flips", 5000), ("cuts", 250), ("torn", 250), ("copies", 100)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--indexed", action="store_true", help="as the first version made them")
    parser.add_argument("--seed", type=int, default=1977)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    start = time.perf_counter()
    # In memory where there is such a folder: nothing here is about the disk.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
        folder = Path(name)
        grown = states(folder, indexed=options.indexed)
        found = run(flips(chance, grown, options.flips), folder)
        found += run(cuts(chance, grown, options.cuts), folder)
        found += run(torn(chance, grown, options.torn), folder)
        found += run(copies(chance, grown, options.copies), folder)
        found += run(emptied(grown, folder), folder)
    given = " --indexed" if options.indexed else ""
    size, entries = len(grown[-1].content), grown[-1].checkpoint.partition(":")[0]
    text = "\n".join(
        (
            "# Damage to ledgers in files",
            "",
            f"Written by `python -m tests.session.damage --seed {options.seed}{given}`, which says what is done. "
            f"A ledger of {entries} entries, {size // 1024} KiB, SQLite {sqlite3.sqlite_version}; "
            f"{time.perf_counter() - start:.0f} seconds.",
            "",
            table(found),
            "",
        )
    )
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    raise SystemExit(any(end == "WRONG" for _, _, end in found))


if __name__ == "__main__":
    main()
