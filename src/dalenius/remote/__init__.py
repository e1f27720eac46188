"""A console from afar: `dp.connect("https://...", token=...)` gives a session without the data."""

from __future__ import annotations

from dalenius.remote.connect import connect as connect
from dalenius.remote.connection import Connection as Connection
from dalenius.remote.session import RemoteSession as RemoteSession
