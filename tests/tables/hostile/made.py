"""Synthetic tables and feeds of a hostile table: what they look like, and the integers that they are made from."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import dalenius as dp
from dalenius.session.coded_columns import asked_columns, codes
from dalenius.session.continual import Periods
from dalenius.tables import Unit
from dalenius.tables.compute import exact

DAYS = datetime.date(2000, 1, 1), datetime.date(2021, 1, 1)
BINS = 4

Names = Mapping[str, str]


def columns(names: Names) -> dict[str, Any]:
    """Bins, categories, days and truth values; most rows of a hostile table lie outside of some of them."""
    how: dict[str, Any] = {"x": (0, 1), "h": (0, 40), "k": ["p", "q", "é"], "day": DAYS, "flag": None}
    return {names[role]: said for role, said in how.items()}


def periods(session: dp.Session, names: Names) -> Any:
    return session.table.group_by(names["g"], keys=[1, 2, 3]).agg(n_counted=dp.count())


def synthesis(session: dp.Session, names: Names, price: Any) -> str:
    return _seen(session.synthesize(columns(names), price, rows=12, bins=BINS))


def privately_binned(session: dp.Session, names: Names, price: Any) -> str:
    asked = {names["h"]: (0, 40), names["flag"]: None}
    return _seen(session.synthesize(asked, price, rows=12, bins=BINS, private_bins=[names["h"]]))


def feed(session: dp.Session, names: Names, price: Any) -> str:
    opened = session.continual(periods(session, names), price)
    first, both = opened.publish(2), opened.publish(3)
    again = both.totals[:2].tolist() == first.totals.tolist()
    return f"{list(both.to_dict())} {len(first)} {len(both)} {again}"


def _seen(made: Any) -> str:
    table = made.to_arrow()  # of pandas' types, some depend on whether a made-up cell is missing
    return f"{table.shape} {table.schema} {made.columns} {made.free}"


MAKERS: Mapping[str, Callable[[dp.Session, Names, Any], str]] = {
    "a synthesis": synthesis,
    "a synthesis in private bins": privately_binned,
    "a feed": feed,
}


def counted(session: dp.Session, names: Names, unit: Unit) -> Counter[Any]:
    """Rows by their codes, and of a feed by their period: all that is measured."""
    coded = asked_columns(columns(names), session.table, BINS, (), unit.column)
    found = codes(session.source, session.table, coded, unit)  # type: ignore[arg-type]
    rows: Counter[Any] = Counter(("code", *row) for row in found.tolist())
    asked = Periods.of(periods(session, names))
    table = exact.evaluate(session.source, asked.first(3), unit, in_order=True)
    (numbers,) = table.values.values()
    return rows + Counter({("period", n): int(x) for n, x in enumerate(numbers.ravel())})


def moved(here: Counter[Any], there: Counter[Any], kind: str) -> int:
    """How many rows of this kind one has that the other has not, either way."""
    keys = [key for key in {*here, *there} if key[0] == kind]
    return sum(abs(here[key] - there[key]) for key in keys)
