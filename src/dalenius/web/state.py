"""What every request finds in its app: the settings and the store."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from dalenius.web.settings import Settings
from dalenius.web.store import Store


def store_of(request: Request) -> Store:
    """The console's own record."""
    return cast("Store", request.app.state.store)


def settings_of(request: Request) -> Settings:
    """What the console was told when it started."""
    return cast("Settings", request.app.state.settings)


async def _store(request: Request) -> Store:
    return store_of(request)  # a plain function would be run in a thread of its own, with every request


async def _settings(request: Request) -> Settings:
    return settings_of(request)


TheStore = Annotated[Store, Depends(_store)]
TheSettings = Annotated[Settings, Depends(_settings)]
