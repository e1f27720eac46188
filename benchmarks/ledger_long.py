"""A long ledger: how long it takes to open it, to look at it again, to charge, and to verify all of it.

`python -m benchmarks.ledger_long [LEDGER] [--entries 200000] [--write]` fills a new ledger (a file in the system's
temporary folder unless a path or a postgresql:// URL is given) with releases as a session makes them, and measures in
a process that has not seen it. Times are of the processor, so that a busy machine does not change them; of PostgreSQL
they are those of this side alone. `--write` puts the table into benchmarks/LEDGER.md.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import os
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path

import pyarrow as pa

import dalenius as dp
from dalenius.session.account import Account
from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify

PAGE = Path(__file__).with_name("LEDGER.md")
HEADING = "## A long ledger"
NAME, BUDGET, PRICE = "people", dp.ZCDP(1000.0), dp.ZCDP(0.001)
TOGETHER = 5_000
"""Releases that are written in one transaction: here only what comes afterwards is measured."""
TIMES = 50


LIMIT = (
    "The last line is the least that any reader needs. `verify` also adds up every account and every share in exact "
    "numbers, joins answers to charges, and has SQLite check its pages. Where others are at work, too, cores share "
    "their caches, and the processor's clock counts the waiting: compare lines of one run with each other."
)


@dataclass(frozen=True)
class Measured:
    """One line of the table: seconds of the processor."""

    what: str
    aim: float | None
    median: float
    most: float


def fill(where: str, entries: int) -> int:
    """Make a ledger of about so many entries, of which half are charges and half their answers: how many there are."""
    people = pa.table({"age": list(range(18, 98)), "town": ["Lund", "Oslo"] * 40})
    session = dp.Session(people, unit=dp.Unit.rows(), budget=BUDGET, ledger=where, name=NAME)
    towns = session.table.group_by("town", keys=["Lund", "Oslo"])
    session.release(towns.agg(n=dp.count(), age=dp.mean("age", bounds=(18, 98), nulls="drop")), budget=PRICE)
    account = session.account
    with account.ledger.reading() as rows:
        (charge, answer) = (rows.get(seq).content() for seq in (rows.end - 1, rows.end))  # type: ignore[union-attr]
    question, told = str(charge["question"]), str(answer["answer"])
    releases = (entries - answer["charge"] - 1) // 2
    for first in range(0, releases, TOGETHER):
        _written(account, question, told, range(first, min(first + TOGETHER, releases)))
    with account.ledger.reading() as rows:
        return rows.end


def _written(account: Account, question: str, answer: str, numbers: range) -> None:
    """These releases, in one transaction."""
    from dalenius.session.entries import digest, now

    cost = account.filter.cost(dp.losses.gaussian(sigma=30.0))
    with account.ledger.writing() as rows:
        balance = account._state(rows).balance
        for number in numbers:
            asked = question.replace("{", f'{{"number": {number}, ', 1)
            balance = balance.plus(account.analyst, cost)
            charge = account._append(rows, digest(asked), asked, cost, balance)
            body = {"charge": charge.seq, "answer": answer, "time": now()}
            account.ledger.append(rows, "answer", account.seq, charge.key, body)


def measured(where: str) -> list[Measured]:
    """In a process that has not seen the ledger."""
    ledger: list[Ledger] = []
    found = [
        _line("the first opening: every entry is read and checked", None, lambda: _opened(where, ledger))
    ]
    account = ledger[0].existing(NAME)
    found.append(_line("opened again, in the same process", 0.010, lambda: Ledger.open(where), TIMES))
    found.append(_line("what is left", 0.010, lambda: account.remaining, TIMES))
    numbers = iter(range(TIMES))
    cost = account.filter.cost(dp.losses.gaussian(sigma=30.0))
    found.append(
        _line("a release: charged and recorded", None, lambda: _asked(account, cost, next(numbers)), TIMES)
    )
    numbers = iter(range(TIMES))
    found.append(
        _line("the same from the record", 0.010, lambda: _asked(account, cost, next(numbers)), TIMES)
    )
    found.append(_line("`verify`: everything anew, from the first entry", 5.0, lambda: _verified(where), 3))
    if "://" not in where:
        what = "the same entries read by SQLite, hashed and parsed, and nothing else"
        found.append(_line(what, None, lambda: _barely_read(where), 3))
    return found


def _opened(where: str, kept: list[Ledger]) -> None:
    kept.append(Ledger.open(where))


def _asked(account: Account, cost: object, number: int) -> None:
    account.ask(f"one more: {number}", cost, lambda: "[41]")  # type: ignore[arg-type]


def _verified(where: str) -> None:
    found = verify(where)
    assert found.ok, found.problems


def _barely_read(where: str) -> None:
    """What no reader can do without: the limit of how quick `verify` can be."""
    scan = json.JSONDecoder().raw_decode
    with contextlib.closing(sqlite3.connect(where)) as connection:
        for body, previous in connection.execute("SELECT body, previous FROM entries ORDER BY seq"):
            hashlib.sha256(f"[{quoted(body)}, {previous}]".encode("ascii")).hexdigest()
            scan(body, 0)


def _line(what: str, aim: float | None, act: Callable[[], object], times: int = 1) -> Measured:
    spent = []
    for _ in range(times):
        start = time.process_time()
        act()
        spent.append(time.process_time() - start)
    return Measured(what, aim, statistics.median(spent), max(spent))


def table(found: Sequence[Measured]) -> str:
    """For people."""
    lines = ["| | aim | median | largest |", "|---|---:|---:|---:|"]
    lines += [
        f"| {one.what} | {'' if one.aim is None else _clock(one.aim)} | {_clock(one.median)} | {_clock(one.most)} |"
        for one in found
    ]
    return "\n".join(lines)


def _clock(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.2g} ms"


def page(before: str, store: str, section: str) -> str:
    """A page with this section about a store in the place of the one it had, or at its end."""
    heading = f"{HEADING}, {store}"
    pattern = re.compile(rf"^{re.escape(heading)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    return pattern.sub("", before).rstrip("\n") + f"\n\n{heading}\n\n{section}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ledger_long", description=__doc__.splitlines()[0]
    )
    parser.add_argument("ledger", nargs="?", help="a new file, or a postgresql:// URL")
    parser.add_argument("--entries", type=int, default=200_000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dalenius-bench-") as folder:
        where = options.ledger or str(Path(folder) / "long.ledger")
        entries = fill(where, options.entries)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found = pool.apply(measured, (where,))
        store = "PostgreSQL" if "://" in where else "SQLite"
        size = (
            ""
            if "://" in where
            else f", {Path(where).stat().st_size >> 20} MiB, SQLite {sqlite3.sqlite_version}"
        )
    text = (
        f"Written by `python -m benchmarks.ledger_long --entries {options.entries} --write`. {entries:,} entries as a "
        f"session makes them{size}; Python {sys.version.split()[0]}. Seconds of the processor"
        + (", of this side alone" if "://" in where else "")
        + f", on {os.cpu_count()} cores that others used, too: load {os.getloadavg()[0]:.0f}."
    )
    section = "\n\n".join((text, table(found), *(() if "://" in where else (LIMIT,))))
    print(section)
    if options.write:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), store, section), encoding="utf-8")


if __name__ == "__main__":
    main()
