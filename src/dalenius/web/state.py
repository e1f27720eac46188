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


TheStore = Annotated[Store, Depends(store_of)]
TheSettings = Annotated[Settings, Depends(settings_of)]
