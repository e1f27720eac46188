"""What fails after a charge is told in one way, and nothing of it hangs on."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any

import pyarrow as pa
import pytest

from dalenius.errors import EngineFailed
from dalenius.tables import Schema, Source, Unit, count, histogram, mean
from dalenius.tables.compute import exact
from dalenius.tables.engines.failure import FAILED, sealed

ROWS = pa.table({"x": [1.0, 2.0], "k": ["a", "b"]})


def frames(found: TracebackType | None) -> list[str]:
    return [frame.f_code.co_filename for frame, _ in traceback.walk_tb(found)]


@pytest.mark.parametrize(
    "problem", [ValueError("secret"), MemoryError(), KeyError("secret"), RecursionError()]
)
def test_every_failure_looks_alike(problem: Exception) -> None:
    def action() -> None:
        raise problem

    with pytest.raises(EngineFailed) as caught:
        sealed(action)
    assert str(caught.value) == FAILED
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_interrupts_pass() -> None:
    def action() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sealed(action)


@pytest.mark.parametrize("read", [exact.evaluate, exact.rows])
@pytest.mark.parametrize("answer", [RuntimeError("secret-value"), pa.table({"nothing": [1]}), None])
def test_engines_and_what_they_send_fail_alike(
    monkeypatch: pytest.MonkeyPatch, read: Any, answer: object
) -> None:
    """An engine that complains, one that sends something else, one that sends nothing at all."""

    def fetch(self: Source, rows: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    source = Source.open(ROWS)
    table = source.table(Schema(nulls="drop"))
    monkeypatch.setattr(Source, "fetch", fetch)
    for query in (
        table.agg(m=mean("x", (0, 1)), h=histogram("x", 3, (0, 1))),
        table.group_by("k", keys=["a"]).agg(n=count(), m=mean("x", (0, 9))),
    ):
        with pytest.raises(EngineFailed) as caught:
            read(source, query, Unit.rows())
        assert str(caught.value) == FAILED
        assert caught.value.__context__ is None
        # No frame of the engine, or of the place where it went wrong, is held.
        assert not [name for name in frames(caught.value.__traceback__) if "site-packages" in name]
        assert frames(caught.value.__traceback__)[-1].endswith("sealed.py")


def test_bins_beyond_the_last_one_count_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should an engine ever count differently, no index is out of range."""
    source = Source.open(ROWS)
    query = source.table(Schema(nulls="drop")).agg(h=histogram("x", 3, (0, 1)))
    name = "__v0"
    sent = pa.table({name: pa.array([-7, 2, 3, 2**40, None], pa.int64()), "n": [1, 2, 3, 4, 5]})
    monkeypatch.setattr(Source, "fetch", lambda self, rows: sent)
    found = exact.evaluate(source, query, Unit.rows())
    assert found[query.measures[0]].tolist() == [[1, 0, 9]]
