"""At what shares of a budget the stewards of a data set are to be told: percents that they set themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Column, Connection, Table, Text, delete, insert, select

from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter
from dalenius.web.store.subject import METADATA, Subject

ALERTS = Table(
    "console_alerts",
    METADATA,
    Column("dataset", Text, primary_key=True),
    Column("thresholds", Text, nullable=False),
)
SUBJECT = Subject("alerts", (ALERTS,))

USUAL = (50, 80, 95)
"""Percents, where nobody has set others."""
MOST = 10


def thresholds(connection: Connection, dataset: str) -> tuple[int, ...]:
    """The percents of a data set, the lowest first."""
    found = connection.execute(select(ALERTS.c.thresholds).where(ALERTS.c.dataset == dataset)).scalar()
    return USUAL if found is None else tuple(json.loads(found))


def set_thresholds(connection: Connection, dataset: str, given: Sequence[object]) -> tuple[int, ...]:
    """Other percents from now on; none for no alerts but that all is spent."""
    whole = [each for each in given if isinstance(each, int) and not isinstance(each, bool)]
    if len(whole) < len(given) or len(given) > MOST or not all(1 <= each <= 99 for each in whole):
        raise InvalidParameter.of(
            "thresholds",
            f"thresholds is {shown(list(given))}; it must list at most {MOST} whole percents from 1 to 99, as in 50, "
            "80, 95.",
        )
    told = tuple(sorted(set(whole)))
    connection.execute(delete(ALERTS).where(ALERTS.c.dataset == dataset))
    connection.execute(insert(ALERTS).values(dataset=dataset, thresholds=json.dumps(told)))
    return told
