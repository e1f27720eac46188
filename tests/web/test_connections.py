"""Requests as bytes, to the server itself: smuggled, half, slow, never read."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import APIRouter
from starlette.responses import Response

from dalenius.web.connections import Impatient
from dalenius.web.people import home
from dalenius.web.people.access import Anyone
from dalenius.web.serve import CONNECTION
from tests.web.console import Console
from tests.web.served import served

LIMITS = {"head_seconds": 0.4, "read_seconds": 0.4}
PATIENCE = 10.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with (
        Console.made(Path(tmp_path_factory.mktemp("served")), body_seconds=0.4, body_bytes=10_000) as console,
        served(console.app, **LIMITS) as where,
    ):
        yield where


def _answered(place: tuple[str, int], *pieces: bytes, pause: float = 0.0) -> bytes:
    """All that comes back until the server hangs up."""
    with socket.create_connection(place, timeout=PATIENCE) as line:
        try:
            for piece in pieces:
                line.sendall(piece)
                time.sleep(pause)
            got = b""
            while piece := line.recv(65536):
                got += piece
        except (ConnectionResetError, BrokenPipeError):
            return b""
        return got


HEAD = b"POST /sign-in HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: +5\r\n\r\nabcde",
        HEAD + b"X-A: b\r\n folded\x00: c\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 70_000,
    ],
    ids=[
        "two-lengths",
        "encoding",
        "space",
        "plus",
        "null",
        "two-hosts",
        "no-host",
        "null-in-path",
        "long-head",
    ],
)
def test_what_a_proxy_and_a_server_may_read_differently_is_refused(
    place: tuple[str, int], request_: bytes
) -> None:
    answer = _answered(place, request_)
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431")), answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_request_hidden_in_another_is_not_answered(place: tuple[str, int]) -> None:
    hidden = b"GET /static/icon.svg HTTP/1.1\r\nHost: x\r\n\r\n"
    both = b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % (len(hidden) + 5)
    answer = _answered(place, HEAD + both + b"0\r\n\r\n" + hidden)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"<svg" not in answer


def test_slow_clients_are_dropped(place: tuple[str, int]) -> None:
    began = time.monotonic()
    assert _answered(place) == b""  # says nothing at all
    drops = [b"GET / HTTP/1.1\r\n", *[b"X: y\r\n"] * 200]
    assert _answered(place, *drops, pause=0.05) == b""  # a line now and then
    whole = b"GET /static/icon.svg HTTP/1.1\r\nHost: x\r\n\r\n"
    assert b"200 OK" in _answered(place, whole, *drops, pause=0.05) or time.monotonic() - began < PATIENCE
    slow_body = HEAD + b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"
    assert _answered(place, slow_body).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - began < PATIENCE


def test_who_does_not_read_is_dropped(tmp_path: Path) -> None:
    """The answer is larger than what fits between two machines; the server lets go of it in time."""
    router = APIRouter(include_in_schema=False)

    @router.get("/large")
    def large(_: Anyone) -> Response:
        return Response(b"x" * (64 << 20))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, "router", router)
        with Console.made(tmp_path) as console, served(console.app, **LIMITS) as place:
            with socket.socket() as line:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                line.settimeout(PATIENCE)
                line.connect(place)
                line.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
                time.sleep(1.5)
                got = 0
                try:
                    while piece := line.recv(1 << 20):
                        got += len(piece)
                except ConnectionResetError:
                    pass
            assert got < 64 << 20


def test_an_answer_does_not_wait_for_an_acknowledgement(tmp_path: Path) -> None:
    """The socket that several workers share names no protocol, and asyncio then leaves Nagle's algorithm on: an answer
    of two pieces takes 40 ms."""
    seen: list[tuple[int, int]] = []

    def connection_made(self: Impatient, transport: Any) -> None:
        Impatient.connection_made(self, transport)
        line = transport.get_extra_info("socket")
        seen.append((line.proto, line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))

    with (
        Console.made(tmp_path) as console,
        uvicorn.Config(console.app, host="127.0.0.1", port=0).bind_socket() as shared,
        served(console.app, shared, connection_made=connection_made) as place,
    ):
        assert b" 200 OK" in _answered(
            place, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
    assert [proto for proto, _ in seen] == [0], "uvicorn names the protocol now; this test shows nothing"
    assert seen[0][1] != 0


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/", "/sign-in", "/static/icon.svg", "/api/v1/people", "/nothing"]
)
def test_head_is_answered_like_get_without_a_body(place: tuple[str, int], path: str) -> None:
    """Load balancers ask so whether a server is there; who may not have the page may not have its head."""
    got, head = (
        _answered(place, f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        for method in ("GET", "HEAD")
    )
    start, _, body = got.partition(b"\r\n\r\n")
    again, _, nothing = head.partition(b"\r\n\r\n")
    assert body
    assert nothing == b""
    assert again.splitlines()[0] == start.splitlines()[0]
    assert _lengths(again) == _lengths(start)


def _lengths(head: bytes) -> list[bytes]:
    return [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]


def test_one_address_does_not_have_all_connections(tmp_path: Path) -> None:
    """Half requests, none of which is late yet: who comes from another address is answered all the same."""

    def asked(place: tuple[str, int], source: str) -> bytes:
        with socket.create_connection(place, timeout=PATIENCE, source_address=(source, 0)) as line:
            try:
                line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return line.recv(65536)
            except (ConnectionResetError, BrokenPipeError):
                return b""

    with (
        Console.made(tmp_path) as console,
        served(console.app, most_of_one=5) as place,
    ):
        lines = [socket.create_connection(place, timeout=PATIENCE) for _ in range(8)]
        for line in lines:
            line.sendall(b"GET / HTTP/1.1\r\n")
        assert asked(place, "127.0.0.1") == b""
        assert b"200 OK" in asked(place, "127.0.0.2")
        for line in lines:
            line.close()
        until = time.monotonic() + PATIENCE
        while not (answer := asked(place, "127.0.0.1")) and time.monotonic() < until:
            time.sleep(0.05)
        assert b"200 OK" in answer
    assert not any(count > 0 for count in Impatient.open.values())


def test_a_worker_that_is_slow_is_not_taken_for_dead() -> None:
    """uvicorn kills a worker process that does not say in time that it lives, with the work that is charged. On a
    machine that has much to do a start alone takes longer than the 5 seconds that it gives by itself."""
    chosen = uvicorn.Config("no:app", workers=4, **CONNECTION)
    assert chosen.timeout_worker_healthcheck == 60
