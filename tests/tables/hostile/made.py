"""What is made of a hostile table in a session: what it looks like, and the integers that it is made from. Synthetic
tables and feeds here; fits, evaluations and plans of several questions in `models`.

The integers are those that reach the mechanisms in a session, not others that were counted beside it. A refusal is a
public fact: the same for all neighbours, with nothing charged. Whatever else is raised is a leak.
"""

from __future__ import annotations

import datetime
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded, Refused, SourceError
from dalenius.mechanisms._support import counter
from dalenius.queries import AdaptiveMarginals
from dalenius.session import synthesis
from dalenius.session.coded_columns import Binned, PrivatelyBinned
from dalenius.session.ledger import Ledger
from dalenius.tables.plan.sensitivity import sensitivity
from tests.tables.hostile.judge import Leak, Tally
from tests.tables.hostile.questions import units
from tests.tables.hostile.rows import World
from tests.tables.hostile.sessions import apart, entry, noted, own, stored
from tests.tables.hostile.stores import NotStorable

BUDGETS = (
    (dp.ApproxDP(1.0, 1e-6), dp.ApproxDP(0.1, 1e-8)),
    (dp.ApproxDP(1.0, 1e-6), dp.GDP(0.05)),
    (dp.ZCDP(1.0), dp.ZCDP(0.3)),
    (dp.PureDP(1.0), dp.PureDP(0.1)),
    (dp.ZCDP(0.5), dp.ZCDP(0.4)),  # enough for the first of three
)

DAYS = datetime.date(2000, 1, 1), datetime.date(2021, 1, 1)
CODED: Mapping[str, Any] = {"x": (0, 1), "h": (0, 40), "k": ["p", "q", "é"], "day": DAYS, "flag": None}
"""Bins, categories, days and truth values; most rows of a hostile table lie outside of some of them."""

PERIODS = (-(2**31), 0, 1, 2, 3, 2**31 - 1)
"""All that the column g holds, ordinary or not; they are published in two parts."""

FIRST = 3

Names = Mapping[str, str]


@dataclass(frozen=True)
class Measured:
    """What a mechanism was given: how many of what, and by how much one unit may move them in all."""

    what: str
    numbers: Counter[Any]
    allowed: int


@contextmanager
def watched(unit: dp.Unit) -> Iterator[list[Measured]]:
    """Whatever reaches a mechanism meanwhile.

    Private edges are released, and then replaced by public ones: with others, other rows of a unit may be kept, and
    what one unit changes is a matter of the same edges.
    """
    seen: list[Measured] = []
    rows = 1 if unit.is_row else unit.max_rows
    measure, count, find = AdaptiveMarginals.release, counter.Counter.measured, synthesis.release
    settle = PrivatelyBinned.settled

    def release(self: AdaptiveMarginals, value: Any) -> Any:
        coded = np.asarray(value)
        seen.append(Measured(f"rows of {coded.dtype}", Counter(map(tuple, coded.tolist())), rows))
        return measure(self, value)

    def measured(self: Any, value: Any, done: int = 0) -> Any:
        what = f"periods of {value.dtype} {value.shape} after {done}"
        seen.append(Measured(what, Counter(dict(enumerate(value.ravel().tolist()))), rows))
        return count(self, value, done)

    def edges(plan: Any, table: Any) -> Any:
        for one, values in table.values.items():
            what = f"{one.kind} of {values.dtype} {values.shape}"
            allowed = sensitivity(one, unit, plan.adjacency, one.size).l1
            seen.append(Measured(what, Counter(dict(enumerate(values.ravel().tolist()))), int(allowed)))
        return find(plan, table)

    def evenly(self: PrivatelyBinned, quantiles: Iterable[float]) -> Binned:
        list(quantiles)
        return settle(self, np.linspace(self.lower, self.upper, self.bins + 1))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrivatelyBinned, "settled", evenly)
        patch.setattr(AdaptiveMarginals, "release", release)
        patch.setattr(counter.Counter, "measured", measured)
        patch.setattr(synthesis, "release", edges)
        yield seen


def a_synthesis(session: dp.Session, names: Names, roles: list[str], price: Any) -> str:
    asked = {names[role]: CODED[role] for role in roles}
    return _shown(session.synthesize(asked, price, rows=12, bins=4))


def in_private_bins(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    asked = {names["h"]: (0, 40), names["flag"]: None}
    return _shown(session.synthesize(asked, price, rows=12, bins=3, private_bins=[names["h"]]))


def a_feed(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    periods = session.table.group_by(names["g"], keys=list(PERIODS)).agg(n_counted=dp.count())
    opened = session.continual(periods, price)
    first, both = opened.publish(PERIODS[FIRST - 1]), opened.publish(PERIODS[-1])
    again = both.totals[:FIRST].tolist() == first.totals.tolist()
    return f"{list(both.to_dict())} {len(first)} {len(both)} {again}"


def _shown(table: Any) -> str:
    rows = table.to_arrow()  # of pandas' types, some depend on whether a made-up cell is missing
    return f"{rows.shape} {rows.schema} {table.columns} {table.free}"


Make = Callable[[dp.Session, Names, list[str], Any], str]


@dataclass(frozen=True)
class Makers:
    """What can be made, and what watches the mechanisms meanwhile. tried: how many of them in one session."""

    made: Mapping[str, Make]
    watched: Callable[[dp.Unit], AbstractContextManager[list[Measured]]]
    tried: int = 3


MAKERS = Makers(
    {
        "a synthesis": a_synthesis,
        "a synthesis in private bins": in_private_bins,
        "a feed": a_feed,
    },
    watched,
)


@dataclass(frozen=True)
class Asked:
    """What is asked of a table and of its neighbours."""

    unit: dp.Unit
    kind: str
    total: Any
    price: Any
    roles: list[str]
    order: list[str]

    @classmethod
    def drawn(cls, random: Random, names: Names, makers: Makers) -> Asked:
        total, price = random.choice(BUDGETS)
        kind = random.choice(("frame", "parquet", "csv"))
        roles, order = (
            random.sample(list(CODED), random.choice((2, 2, 3))),
            random.sample(list(makers.made), makers.tried),
        )
        return cls(random.choice(units(names)), kind, total, price, roles, order)


def made(folder: Path, world: World, random: Random, tally: Tally, makers: Makers = MAKERS) -> None:
    """Leak if what is made of a neighbour looks otherwise than what is made of the table, or is made from other
    integers than one unit may change. A case is one thing that was made, with integers that were compared."""
    asked = Asked.drawn(random, world.names, makers)
    try:
        here, counted = _told(folder, world, None, asked, makers)
    except NotStorable:
        return
    tally.refused += len(asked.order) - len(counted)
    for number, rows in enumerate(world.neighbours):
        if asked.unit.is_row and len(rows) > 1:
            continue
        try:
            there, numbers = _told(folder, world, number, asked, makers)
        except NotStorable:
            continue
        if here != there:
            a, b = apart(here, there)
            raise Leak(f"sessions differ:\n  {a}\n  {b}\n{asked}\n{own(world, number)}")
        for maker, one in counted.items():
            _compare(maker, one, numbers[maker], f"{asked}\n{own(world, number)}")
            tally.cases["answered"] += 1
            tally.asked[maker] += 1


def _told(
    folder: Path, world: World, number: int | None, asked: Asked, makers: Makers
) -> tuple[list[Any], dict[str, list[Measured]]]:
    """All that somebody outside sees of a session but for noise and times, and what nobody sees: the integers."""
    place = folder / "made"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    data, facts = stored(place, world, number, asked.kind)
    told: list[Any] = []
    integers = {}
    with Ledger.open(place / "kept.ledger") as ledger:
        try:
            session = dp.Session(
                data, unit=asked.unit, budget=asked.total, ledger=ledger, name="data", schema=facts
            )
        except SourceError as refused:  # for its names and types
            return [str(refused)], {}
        object.__setattr__(session.source, "name", "data")
        for maker in asked.order:
            before = list(ledger.export())
            try:
                with makers.watched(asked.unit) as seen, noted() as said:
                    told.append(makers.made[maker](session, world.names, asked.roles, asked.price))
                told.append(said)
                integers[maker] = seen
            except (Refused, BudgetExceeded) as refused:
                told.append(f"{type(refused).__name__} {refused}")
                if list(ledger.export()) != before:
                    raise Leak(f"{maker} is refused after the charge: {refused}\n{asked}") from None
        told.append(repr(session.remaining))
        told.append([entry(line) for line in ledger.export()])
        session.source.close()
    return told, integers


def _compare(maker: str, here: list[Measured], there: list[Measured], case: str) -> None:
    if not here or [one.what for one in here] != [one.what for one in there]:
        raise Leak(f"{maker} measures {[one.what for one in here]} and {[one.what for one in there]}\n{case}")
    for one, other in zip(here, there, strict=True):
        keys = {*one.numbers, *other.numbers}
        moved = sum(abs(one.numbers[key] - other.numbers[key]) for key in keys)
        if moved > one.allowed:
            raise Leak(f"{maker}: {one.what} move by {moved}; {one.allowed} is planned for\n{case}")
    if maker == "a feed":
        first, both = (one.numbers for one in there)
        if any(both[period] != first[period] for period in range(FIRST)):
            raise Leak(f"periods that were published are counted otherwise later\n{case}")
