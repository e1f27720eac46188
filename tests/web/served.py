"""A console on a port of this machine, served by uvicorn in a thread of the test."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI

from dalenius.web.connections import Impatient
from dalenius.web.serve import CONNECTION


@contextmanager
def served(
    app: FastAPI, listening: socket.socket | None = None, **protocol_has: Any
) -> Iterator[tuple[str, int]]:
    """Host and port. protocol_has: what the connections have of their own, as `head_seconds` and `read_seconds`."""
    listening = listening or socket.create_server(("127.0.0.1", 0))
    protocol: Any = type("Quick", (Impatient,), protocol_has)
    settings = CONNECTION | {"http": protocol, "log_config": None, "lifespan": "off", "proxy_headers": False}
    settings["timeout_graceful_shutdown"] = 1  # who waits for a job would be waited for
    configured = uvicorn.Config(app, **settings)
    server = uvicorn.Server(configured)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < until
        time.sleep(0.01)
    try:
        yield "127.0.0.1", listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
