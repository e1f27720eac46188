"""Folders of Parquet files, squeezed CSV files and addresses: what is read, and what a ledger remembers of them."""

from __future__ import annotations

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dalenius.errors import SourceError
from dalenius.tables import Schema, Source, Unit, count
from dalenius.tables.compute import exact
from dalenius.tables.engines import place_of
from dalenius.tables.engines.place import name_of

ROWS = pa.table({"a": ["x", "y", "z"], "year": [2023, 2024, 2024]})


def counted(data: Any, condition: str = "a <> 'x'") -> list[int]:
    source = Source.open(data, schema=Schema(nulls="drop"))
    query = source.table().filter(condition).agg(n=count())
    return [int(n) for n in exact.evaluate(source, query, Unit.rows())[query.measures[0]]]


def test_a_folder_of_files(tmp_path: Path) -> None:
    """All below it, whatever the folder is called; its place is that of the pattern, and of each file in it."""
    folder = tmp_path / "pa[1]rts"
    (folder / "more").mkdir(parents=True)
    for file in (folder / "one.parquet", folder / "more" / "two.parquet"):
        pq.write_table(ROWS, file)
    (folder / "_SUCCESS").touch()
    assert counted(folder) == counted(f"{folder}/") == [4]
    assert name_of(folder) == Source.open(folder).name == "pa[1]rts"
    place = place_of(folder)
    assert place.overlaps(place_of(folder / "more" / "two.parquet"))
    assert place == place_of(f"{folder}/") == place_of(folder / "more" / "..")
    assert not place.overlaps(place_of(tmp_path / "other.parquet"))


def test_partitions(tmp_path: Path) -> None:
    folder = tmp_path / "hive.parquet"
    parts = ds.partitioning(pa.schema([("year", pa.int64())]), flavor="hive")
    ds.write_dataset(ROWS, folder, format="parquet", partitioning=parts)
    assert counted(folder, "year = 2024") == [2]
    assert name_of(folder) == "hive"
    assert place_of(folder).is_at(place_of(str(folder / "**" / "*.parquet")))


def test_a_name_with_brackets_is_no_pattern(tmp_path: Path) -> None:
    """DuckDB would read `part1.parquet` instead, and a ledger know of the other."""
    pq.write_table(ROWS, tmp_path / "part[1].parquet")
    pq.write_table(ROWS.slice(0, 2), tmp_path / "part1.parquet")
    for path in (tmp_path / "part[1].parquet", f"file://{tmp_path}/part[1].parquet"):
        assert counted(path) == [2]
        assert not place_of(path).overlaps(place_of(tmp_path / "part1.parquet"))
    assert counted(tmp_path / "part1.parquet") == [1]


@pytest.mark.parametrize("one", [".parquet", ".one.parquet", ".more/one.parquet", "_more/.one.parquet"])
@pytest.mark.parametrize("given", ["", "**/*.parquet"])
def test_hidden_files_are_read_and_known(tmp_path: Path, one: str, given: str) -> None:
    """What is read is what a ledger knows to be there: else the same rows would have a second budget."""
    (tmp_path / one).parent.mkdir(exist_ok=True)
    for file in (tmp_path / one, tmp_path / "two.parquet"):
        pq.write_table(ROWS, file)
    assert counted(tmp_path / given) == [4]
    assert place_of(tmp_path / given).overlaps(place_of(tmp_path / one))


def test_a_file_of_this_machine_as_an_address(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(ROWS, path)
    for spelled in (f"file://{path}", f"file://localhost{path}"):
        assert counted(spelled) == [2]
        assert place_of(spelled) == place_of(path)
    assert place_of(f"file://localhost{tmp_path}") == place_of(tmp_path)


def test_an_odd_folder_does_not_decide_the_type_of_others(tmp_path: Path) -> None:
    """One person's row may be all that a folder has: its name is missing where it does not read as the others do."""
    for year in (*range(2000, 2019), "%C3%A9", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(ROWS.select(["a"]), tmp_path / f"year={year}" / "part.parquet")
    assert counted(tmp_path, "a <> 'x' AND year >= 2010") == [18]
    assert counted(tmp_path, "a <> 'x' AND year IS NULL") == [4]
    stated = Source.open(tmp_path, schema=Schema({"year": {"type": "text"}}, nulls="drop"))
    query = stated.table().filter("year = 'é' OR year = '2001'").agg(n=count())
    assert exact.evaluate(stated, query, Unit.rows())[query.measures[0]].tolist() == [6]


def test_folders_that_are_not_opened(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a folder without \.parquet files; name the files"):
        Source.open(tmp_path)
    (tmp_path / "_delta_log").mkdir()
    pq.write_table(ROWS, tmp_path / "old.parquet")
    with pytest.raises(SourceError, match="is a Delta table"):
        Source.open(tmp_path)


@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst", "TSV.ZST", "txt.gz"])
def test_squeezed_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people.{ending}"
    with pa.output_stream(path, compression="gzip" if ending.endswith("gz") else "zstd") as stream:
        stream.write(b"a,year\nx,2023\ny,2024\n")
    assert counted(path) == [1]
    assert name_of(path) == "people"


def reads_addresses() -> bool:
    try:
        duckdb.connect().execute("LOAD httpfs")
    except duckdb.Error:
        return False
    return True


def test_addresses(tmp_path: Path) -> None:
    """Read where DuckDB can, and refused with the fix where it cannot; what is secret in one is never told."""
    pq.write_table(ROWS, tmp_path / "people.parquet")
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/people.parquet"
        if reads_addresses():
            assert counted(address) == [2]
        else:
            with pytest.raises(SourceError, match="INSTALL httpfs") as caught:
                Source.open(address.replace("http://", "http://me:word@") + "?token=secret")
            assert "word" not in str(caught.value)
            assert "secret" not in str(caught.value)
            assert caught.value.__context__ is None
        server.shutdown()


def test_places_of_addresses() -> None:
    one = place_of("https://me:word@Example.org:443/a/../b%20c.csv?token=secret")
    assert "word" not in str(one.written())
    assert "secret" not in str(one.written())
    for other in ("http://example.org/b c.csv", "https://example.org//b%20c.csv#x"):
        assert one.is_at(place_of(other))
        assert one.overlaps(place_of(other))
    assert not one.overlaps(place_of("https://example.org/other.csv"))
    assert not one.overlaps(place_of("https://example.org:8080/b%20c.csv"))
    assert place_of("s3://b/*.parquet").overlaps(place_of("s3a://b/x.parquet?s3_region=eu"))
    assert place_of("s3://b/2024-*.parquet").overlaps(place_of("s3://b/**/*.parquet"))
    assert not place_of("s3://b/*.parquet").overlaps(place_of("s3://c/x.parquet"))
    assert name_of("https://example.org/people.csv?token=secret") == "people"
    one, two, signed, all_of_it = (
        place_of(f"https://example.org/people.csv{asked}")
        for asked in ("?year=2023&town=Ulm", "?year=2024", "?town=Ulm&X-Amz-Signature=secret&year=2023", "")
    )
    assert one.is_at(signed)
    assert one.overlaps(signed)
    assert not one.is_at(two)
    assert not one.overlaps(two)
    assert not one.is_at(all_of_it)
    assert one.overlaps(all_of_it)
    assert "Ulm" not in one.where
