"""A console for a module of tests, with one person of each role."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.console import Console


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console on a SQLite store of its own; data may come from `console.data`."""
    with Console.made(Path(tmp_path_factory.mktemp("console"))) as made:
        yield made
