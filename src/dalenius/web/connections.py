"""Connections of slow clients: uvicorn waits for ever for the first lines of a request, and for a client that does not
read its answer. Here both have a time, after which the connection is dropped. How long a body may take is the guard's.

And nobody has all connections: a process keeps some hundreds (`serve.CONNECTION`), and one address half of them, where
no proxy stands before the console, from which all of them come.

And small packets: asyncio switches Nagle's algorithm (RFC 896) off for sockets that name TCP as their protocol. Those
that uvicorn binds for several workers name none (0), so a head and a body, written one after the other, would wait for
the delayed acknowledgement of the other side, about 40 ms with every answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from dalenius.web.limits import visitor

HEAD_SECONDS = 10.0
"""For the first lines of a request, from their first byte (or the connection) on."""
READ_SECONDS = 30.0
"""For a client to take some of what is waiting for it."""


MOST_OF_ONE = 250
"""Connections of one address, in one process."""


class Impatient(H11Protocol):
    """uvicorn's HTTP/1.1, with less patience."""

    head_seconds, read_seconds, most_of_one = HEAD_SECONDS, READ_SECONDS, MOST_OF_ONE
    open: ClassVar[Counter[str]] = Counter()
    """Connections by address."""
    _from: str | None = None
    cycle: Any  # None before the first request
    _head: asyncio.TimerHandle | None = None
    _read: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A connection is there: a request has to come."""
        super().connection_made(transport)
        _send_at_once(transport)
        self._wait_for_head()
        if self.client is not None and not self.config.proxy_headers:
            self._from = visitor(self.client[0])
            self.open[self._from] += 1
            if self.open[self._from] > self.most_of_one:
                self._drop()

    def data_received(self, data: bytes) -> None:
        """Something came: is it a whole head?"""
        super().data_received(data)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        if self._from is not None:
            self.open[self._from] -= 1
            if not self.open[self._from]:
                del self.open[self._from]
            self._from = None
        self._head = _cancelled(self._head)
        self._read = _cancelled(self._read)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """More is waiting for the client than it takes."""
        super().pause_writing()
        _cancelled(self._read)
        self._read = self.loop.call_later(self.read_seconds, self._drop)

    def resume_writing(self) -> None:
        """It took some."""
        self._read = _cancelled(self._read)
        super().resume_writing()

    def _wait_for_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:  # a request is being answered
            self._head = _cancelled(self._head)
        elif self._head is None:
            self._head = self.loop.call_later(self.head_seconds, self._drop_unless_answering)

    def _drop_unless_answering(self) -> None:
        self._head = None
        if self.cycle is None or self.cycle.response_complete:
            self._drop()

    def _drop(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()


def _send_at_once(transport: asyncio.BaseTransport) -> None:
    """Have what is written sent without waiting for an acknowledgement of what was sent before."""
    line = transport.get_extra_info("socket")
    if line is not None and line.family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):  # it has gone away already
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """No timer any more."""
    if timer is not None:
        timer.cancel()
    return None
