"""An answer that a ledger could not keep is refused before it is charged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import QueryRefused
from dalenius.session import account, room

KINDS: dict[str, Any] = {
    "count": dp.count(),
    "mean": dp.mean("x", bounds=(0, 1)),
    "correlation": dp.correlation("x", "y", x_bounds=(0, 1), y_bounds=(0, 1)),
    "median": dp.median("x", bounds=(0, 1)),
    "histogram": dp.histogram("x", 30, bounds=(0, 1)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused_covers_what_would_not_fit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"g": [1, 2, 3] * 10, "x": [0.1, 0.5, 0.9] * 10, "y": [0.2, 0.1, 0.9] * 10})
    s = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))
    many = s.table.group_by("g", keys=list(range(400))).agg(x=KINDS[kind])
    lengths: list[int] = []
    checked = account._checked_answer
    monkeypatch.setattr(account, "_checked_answer", lambda text: lengths.append(len(text)) or checked(text))
    s.release(many, dp.ZCDP(0.01))
    assert lengths[0] <= room._characters(many) + 2_000


@pytest.mark.parametrize("many", ["groups", "bins", "several"])
def test_too_large_an_answer_is_refused_for_nothing(many: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST", 50_000)
    frame, facts = pd.DataFrame({"g": [1], "x": [0.5]}), dp.Schema(nulls="drop")
    s = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=facts)
    bins = s.table.agg(x=dp.histogram("x", 200 if many == "several" else 1_000, bounds=(0, 1)))
    groups = s.table.group_by("g", keys=list(range(1_000))).agg(n=dp.count())
    asked: dict[str, Callable[[], object]] = {
        "groups": lambda: s.release(groups, dp.ZCDP(0.01)),
        "bins": lambda: s.release(bins, dp.ZCDP(0.01)),
        "several": lambda: s.release_all({"a": bins, "b": bins}, dp.ZCDP(0.01)),
    }
    with pytest.raises(QueryRefused, match="more than a ledger keeps"):
        asked[many]()
    assert s.spent == dp.ZCDP(0.0)
