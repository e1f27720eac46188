"""Where data may come from: one object for each kind of place."""

from __future__ import annotations

from collections.abc import Mapping

from dalenius.errors import InvalidParameter
from dalenius.web.datasets.sources.database_file import DatabaseFile
from dalenius.web.datasets.sources.file import Files
from dalenius.web.datasets.sources.postgres import Server
from dalenius.web.datasets.sources.source import Kind
from dalenius.web.datasets.sources.spark import SparkTables

KINDS: Mapping[str, Kind] = {kind.tag: kind for kind in (Files(), DatabaseFile(), Server(), SparkTables())}
"""By the tag in records; the order is that of the form."""


def kind_of(tag: object) -> Kind:
    """The kind of that tag; any other is refused, never taken for one of these."""
    found = KINDS.get(tag) if isinstance(tag, str) else None
    if found is None:
        raise InvalidParameter(f"the kind of a source must be one of {', '.join(KINDS)}.")
    return found
