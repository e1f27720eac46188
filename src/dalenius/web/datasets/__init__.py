"""Data sets: registered by a steward, opened as sessions, asked of by those to whom they are granted."""

from __future__ import annotations

from dalenius.web.datasets.describing import described, granted
from dalenius.web.datasets.opening import NoSuchDataset, NotGranted, let_go_of_lost, open_session

__all__ = ["NoSuchDataset", "NotGranted", "described", "granted", "let_go_of_lost", "open_session"]
