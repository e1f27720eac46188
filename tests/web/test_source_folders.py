"""What a console reads from its folders, and from nowhere else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dalenius.errors import SourceError
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
