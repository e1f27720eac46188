"""The names of the engines questions run on."""

from __future__ import annotations

from dalenius.tables.engines import KNOWN

ENGINES = tuple(KNOWN)
