"""Sessions for whoever works: in the server itself, and in the processes of its lanes."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import cast

from dalenius.session.session import Session
from dalenius.web.settings import Settings
from dalenius.web.store import Store


@functools.cache
def _store(settings: Settings) -> Store:
    return Store.open(settings.store_address)


def open_in_process(settings: Settings, dataset: str, analyst: str | None) -> Session:
    """The session of a data set for an analyst who may ask of it; the store is opened once in a process."""
    datasets = import_module("dalenius.web.datasets")  # which is a large room: not read before it is needed
    datasets.let_go_of_lost(_store(settings), dataset)
    return cast("Session", datasets.open_session(_store(settings), settings, dataset, analyst))
