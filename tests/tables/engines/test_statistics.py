"""What becomes of a row depends on its own values, never on the statistics of the file it lies in.

Statistics are of what is stored. What is read may be another value (text that was mended, a moment beyond the
calendar), so an engine that decides by them lets one row decide about others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius.tables import Schema, Source, Unit, count
from dalenius.tables.compute import exact


def counted(path: Path, column: pa.Array, condition: str, **options: Any) -> int:
    pq.write_table(pa.table({"x": column}), path, **options)
    source = Source.open(path)
    query = source.table(Schema(nulls="drop")).filter(condition).agg(n=count())
    (values,) = exact.evaluate(source, query, Unit.rows()).values.values()
    source.close()
    return int(values[0])


def text(values: list[bytes | None]) -> pa.Array:
    return pa.array(values, pa.binary()).view(pa.string())


@pytest.mark.parametrize(
    "condition", ["x = 'c?'", "x IN ('c?', 'zz')", "x LIKE 'c?%'", "CASE WHEN x = 'c?' THEN TRUE END"]
)
def test_text_that_was_mended(tmp_path: Path, condition: str) -> None:
    rows: list[bytes | None] = [b"c\xff"] * 100 + [b"ca", b"d"]
    found = [counted(tmp_path / "x.parquet", text(some), condition) for some in (rows, [*rows, b"a"])]
    assert found == [100, 100]


def test_constant_text_with_nulls(tmp_path: Path) -> None:
    rows: list[bytes | None] = [b"x"] * 9999 + [None]
    found = [
        counted(tmp_path / "x.parquet", text(some), "x IS NULL", use_dictionary=False)
        for some in (rows, [*rows, b"y"])
    ]
    assert found == [1, 1]


def test_moments_beyond_the_calendar(tmp_path: Path) -> None:
    odd = [-(2**63)] * 18 + [-(2**63) + 1] * 22
    found = [
        counted(
            tmp_path / "x.parquet", pa.array(some, pa.int64()).view(pa.timestamp("ns")), "YEAR(x) <= 1970"
        )
        for some in (odd, [*odd, 1_577_836_800_000_000_000])
    ]
    assert found[0] == found[1]
