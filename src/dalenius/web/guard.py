"""What stands before every route: how large and how slow a request may be, what every answer says to the browser, the
log, and what is told when something fails that nobody expected.

The log has one line for each request: its method, the pattern of its route (never the address itself, which may hold a
token by mistake), the status and who. It has no duration: how long a question takes depends on the data.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dalenius.web import failures
from dalenius.web.people.access import cookie_name
from dalenius.web.problems import Problem
from dalenius.web.settings import Settings
from dalenius.web.texts import MOST_FIELDS

log = logging.getLogger("dalenius.web")

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: browsers would then send "Origin: null" with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
HEALTH = ("/healthz", "/readyz")
"""Asked by supervisors on the same machine, under whatever name it has."""
YEAR = 365 * 24 * 3600
HEAD_BYTES = 64 * 1024
"""Of a request: its address and headers together. What arrives in one piece has no other limit."""
LONGEST_KIND = 300
"""Characters of a Content-Type: the library that reads one takes a time that grows with the square."""
LONGEST_COOKIE = 200
"""Of ours, which is a name and 256 bits."""


class Guard:
    """The outermost layer of the app."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self.headers = dict(HEADERS)
        self.cookie = f"{cookie_name(settings)}=".encode()
        if settings.https:
            self.headers["Strict-Transport-Security"] = f"max-age={YEAR}; includeSubDomains"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        method, status = scope["method"], 0
        if method == "HEAD":  # what GET would answer, to the same people, without its body (RFC 9110)
            scope = {**scope, "method": "GET"}
        head = _length(scope)
        scope = {**scope, "headers": [(name, self._kept(name, value)) for name, value in scope["headers"]]}
        request = Request(scope, receive)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._stamp(request, status, MutableHeaders(scope=message))
            elif method == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        try:
            self._check(request, head)
            kind = request.headers.get("content-type", "").strip().lower()
            await self.app(scope, self._limited(receive, kind), sending)
        except ClientDisconnect:
            pass  # in the middle of a request: nobody is there to be told, and nothing has failed
        except Exception as error:
            answer = await failures.answer(request, error)
            if not status:  # else it has begun, and the server hangs up
                await answer(scope, receive, sending)
        finally:
            self._log(request, method, status)

    def _kept(self, name: bytes, value: bytes) -> bytes:
        """A header; of cookies ours alone. Those of other programs at this host are none of our business, and what
        Python does with backslashes inside quotes, which ours has not, grows with the square: ten seconds of 50 kB."""
        if name != b"cookie":
            return value
        cookies = (each.strip() for each in value.split(b";"))
        ours = (each for each in cookies if each.startswith(self.cookie) and len(each) <= LONGEST_COOKIE)
        return b"; ".join(each for each in ours if b'"' not in each)

    def _check(self, request: Request, head: int) -> None:
        kind = request.headers.get("content-type", "").lower()
        if head > HEAD_BYTES or len(kind) > LONGEST_KIND:
            raise Problem(431, headers={"Connection": "close"})
        hosts = () if request.url.path in HEALTH else self.settings.hosts
        if hosts and _name(request.headers.get("host", "")) not in hosts:
            raise Problem(421)
        if "content-length" in request.headers and "transfer-encoding" in request.headers:
            # A proxy that believes one, where we believe the other, would see another request than we do.
            raise Problem(400, "the request says its length in two ways.", headers={"Connection": "close"})
        length = request.headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            raise Problem(400, "the length of the request is not a number.")
        if int(length[:20]) > self.settings.body_bytes:
            raise self._too_large()
        if "multipart/" in kind and "charset" in kind:
            # Whoever reads it would decode it by any codec of Python: of a MiB in Punycode for a minute, in an escaping
            # one to half characters; and names of codecs that nobody knows are kept for ever. No browser says one.
            raise Problem(415, "a form in several parts is written in UTF-8 and says no charset.")

    def _too_large(self) -> Problem:
        most = self.settings.body_bytes
        return Problem(
            413,
            f"the request is longer than {most} bytes, or has more than {MOST_FIELDS} fields.",
            headers={"Connection": "close"},
        )

    def _limited(self, receive: Receive, kind: str) -> Receive:
        """What arrives, as long as it is neither too long nor too slow. kind: how it is written."""
        seen, fields, whole = 0, 0, False
        deadline: float | None = None
        clock: Callable[[], float] = asyncio.get_running_loop().time

        async def limited() -> Message:
            nonlocal seen, fields, whole, deadline
            if whole:  # now it waits for the other side to go away
                return await receive()
            deadline = deadline or clock() + self.settings.body_seconds
            try:
                message = await asyncio.wait_for(receive(), max(deadline - clock(), 0.001))
            except TimeoutError:
                raise Problem(408, headers={"Connection": "close"}) from None
            seen += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if kind.startswith("application/x-www-form-urlencoded"):
                fields += message.get("body", b"").count(b"&")  # also those that are empty, and take as long
            if seen > self.settings.body_bytes or fields > MOST_FIELDS:
                raise self._too_large()
            return message

        return limited

    def _stamp(self, request: Request, status: int, headers: MutableHeaders) -> None:
        for name, value in self.headers.items():
            headers.setdefault(name, value)
        if request.url.path.startswith("/static/") and status in (200, 304):
            headers.setdefault("Cache-Control", "public, max-age=86400")
        else:
            headers["Cache-Control"] = "no-store"

    def _log(self, request: Request, method: str, status: int) -> None:
        route: Any = request.scope.get("route")
        person = getattr(request.state, "person", None)
        log.info(
            "request method=%s route=%s status=%s person=%s",
            method if method.isalpha() else "?",
            getattr(route, "path", "-"),
            status or "-",
            person.id if person else "-",
        )


def _length(scope: Scope) -> int:
    """Of address and headers."""
    address = len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"")
    return address + sum(len(name) + len(value) for name, value in scope["headers"])


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    end = host.find("]") + 1 if host.startswith("[") else len(host.partition(":")[0])
    return host[:end].lower()
