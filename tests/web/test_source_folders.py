"""What a console reads from its folders, and from nowhere else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from dalenius.errors import SourceError
from dalenius.web.datasets.sources.database_file import DatabaseFile
from dalenius.web.datasets.sources.folder import inside


@pytest.mark.parametrize("link", ["link.parquet", ".link.parquet", "more/.link.parquet"])
@pytest.mark.parametrize("asked", ["parts", "parts/**/*.parquet"])
def test_links_that_lead_outside_are_found_before_they_are_read(
    tmp_path: Path, link: str, asked: str
) -> None:
    """A folder stands for the files below it, those with a dot before their names included."""
    parts, outside = tmp_path / "open" / "parts", tmp_path / "secret.parquet"
    (parts / "more").mkdir(parents=True)
    (parts / "own.parquet").touch()
    outside.touch()
    allowed = SimpleNamespace(source_folders=(tmp_path / "open",), folder=tmp_path / "console")
    assert inside(asked, allowed).startswith(str(parts))
    (parts / link).symlink_to(outside)
    with pytest.raises(SourceError, match="is not in a folder"):
        inside(asked, allowed)


@pytest.mark.parametrize(
    ("file", "table", "made"),
    [
        ("s.duckdb", "a.b", ['CREATE TABLE "a.b" (x INT)', "CREATE SCHEMA a", "CREATE VIEW a.b AS {read}"]),
        ("s.duckdb", "main.v", ['CREATE TABLE "main.v" (x INT)', "CREATE VIEW v AS {read}"]),
        ("main.duckdb", "main.main.v", ['CREATE TABLE "main.v" (x INT)', "CREATE VIEW v AS {read}"]),
        ("s.duckdb", "s.main.v", ['CREATE TABLE "s.main.v" (x INT)', "CREATE VIEW v AS {read}"]),
    ],
)
def test_a_view_is_not_read_under_the_name_of_a_table(
    tmp_path: Path, file: str, table: str, made: list[str]
) -> None:
    """A table's name may have a point in it, and a point stands between a schema and a table, too."""
    outside, database = tmp_path / "outside.csv", tmp_path / "data" / file
    outside.write_text("secret\n1\n")
    database.parent.mkdir()
    with duckdb.connect(str(database)) as connection:
        for statement in made:
            connection.execute(statement.format(read=f"SELECT * FROM read_csv('{outside}')"))
        connection.execute("CREATE TABLE people (x INT)")
    allowed = SimpleNamespace(source_folders=(database.parent,), folder=tmp_path / "console")
    kind, record = DatabaseFile(), {"kind": "database file", "file": str(database)}
    assert kind.tables({**record, "tables": {"people": "main.people"}}, None, allowed)
    with pytest.raises(SourceError, match="has no table"):
        kind.tables({**record, "tables": {"people": table}}, None, allowed)
