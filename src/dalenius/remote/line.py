"""The line to a console: requests that may be repeated, and are, when the line breaks.

A repeated question must not be answered twice with fresh noise. Each goes out under a word of its own (the header
Idempotency-Key); the console carries out what comes under one word once, and the ledger answers the identical question
from the record anyhow. So everything here may be sent again.
"""

from __future__ import annotations

import ipaddress
import json
import os
import random
import socket
import ssl
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any
from urllib.parse import quote, urlsplit

from dalenius.core import checks
from dalenius.errors import ConsoleError, DaleniusError, InvalidParameter
from dalenius.remote.problems import error_of

PATIENCE = 90.0
"""Seconds for which a request is sent again and again: longer than a console takes to be started anew."""
AGAIN = frozenset({409, 425, 429, 502, 503, 504})
"""Statuses that may be another a moment later; 409 only where the console says when (Retry-After)."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
"""Between two tries, each about twice as long as the one before; where the console says how long, so long."""
LONGEST = 256 * 2**20
"""Bytes of an answer."""


@dataclass(frozen=True)
class Received:
    """What came back."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


class Line:
    """To one console, as one person.

    verify: True checks the console's certificate against the system's authorities; a path names others. patience: for
    how many seconds a request is repeated while the console does not answer.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        verify: bool | str = True,
        timeout: float = 30.0,
        patience: float = PATIENCE,
        transport: Any = None,
    ) -> None:
        self.http, self.patience = _httpx(), checks.nonnegative("patience", patience)
        self.url = checked_url(url)
        if verify is not True and not isinstance(verify, str):
            raise InvalidParameter.of(
                "verify",
                f"verify is {verify!r}; it must be True, or the path of a file with the authorities to trust. A "
                "console whose certificate is not checked may be anybody.",
            )
        context: Any = True if verify is True else ssl.create_default_context(cafile=verify)
        self._made = partial(
            self.http.Client,
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            verify=context,
            timeout=timeout,
            follow_redirects=False,
            # A proxy of the environment would get the token in the clear; with https it sees no more than the address.
            trust_env=self.url.startswith("https:"),
            transport=transport,
        )
        self._client = self._made()
        _lines.add(self)

    def __repr__(self) -> str:
        return f"<Line to {self.url}>"

    def get(self, *path: str, held: float = 0.0, **parameters: Any) -> Any:
        """What is there. held: seconds that the console may wait before it answers."""
        return self._sent("GET", path, params=parameters, held=held)

    def post(self, *path: str, content: Mapping[str, Any], word: str) -> Any:
        """What the console makes of this. word: by which it knows a repeated request."""
        return self._sent("POST", path, json=dict(content), headers={"Idempotency-Key": word})

    def delete(self, *path: str) -> Any:
        """What is there after it was let go."""
        return self._sent("DELETE", path)

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def in_child(self) -> None:
        """After a fork: on the parent's connections either would read what the other asked for."""
        self._client = self._made()

    def _sent(self, method: str, path: tuple[str, ...], held: float = 0.0, **more: Any) -> Any:
        where = "/api/v1/" + "/".join(quote(part, safe="") for part in path)
        if held:
            more["timeout"] = self.http.Timeout(self._client.timeout.read or 30.0, read=held + 30.0)
        left, pause, arrived = self.patience, FIRST_PAUSE, False
        while True:
            began = time.monotonic()
            wait = pause = min(pause, LONGEST_PAUSE)
            try:
                answer = self._received(method, where, **more)
            except self.http.RequestError as broken:
                arrived = arrived or not isinstance(broken, self.http.ConnectError | self.http.ConnectTimeout)
                problem: DaleniusError = self._unreachable(method, broken, arrived)
                if _caused_by(broken, ssl.SSLError, socket.gaierror):
                    raise problem from None
            else:
                if answer.status_code < 300:
                    return _json(answer)
                arrived, problem = True, error_of(answer.status_code, _problem(answer))
                after = answer.headers.get("retry-after", "")
                if answer.status_code not in AGAIN or (answer.status_code == 409 and not after):
                    raise problem
                wait = max(pause, float(after)) if after.isascii() and after.isdigit() else pause
            wait *= random.uniform(1.0, 1.5)  # not all at the same moment
            left -= time.monotonic() - began + wait
            if left < 0:
                raise problem
            time.sleep(wait)
            pause *= 2

    def _unreachable(self, method: str, broken: BaseException, arrived: bool) -> ConsoleError:
        """What became of a request that was not answered."""
        if method != "POST":
            fate = "Nothing was asked or charged by it."
        elif arrived:
            fate = (
                "It is not known whether the question arrived. If it did, it is charged once and carried out: ask the "
                "identical question again, which never costs twice, or look at ledger.log()."
            )
        else:
            fate = "The question did not arrive: nothing was charged."
        return ConsoleError(
            f"the console at {self.url} could not be reached for {self.patience:g} s ({type(broken).__name__}); check "
            f"the address, the line, and that its certificate is one you trust. {fate}"
        )

    def _received(self, method: str, where: str, **more: Any) -> Any:
        """The whole answer, unless it is longer than any console's: what is packed small may be as long as it likes."""
        with self._client.stream(method, where, **more) as answer:
            parts, length = [], 0
            for part in answer.iter_bytes(64 * 1024):
                parts.append(part)
                length += len(part)
                if length > LONGEST:
                    raise ConsoleError(f"what answered sent more than {LONGEST} bytes; check the address.")
        return Received(answer.status_code, answer.headers, b"".join(parts))


def checked_url(url: object) -> str:
    """The address of a console: https, or http on this machine."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("https", "http") or not parts.hostname:
        raise InvalidParameter.of(
            "url", f"url is {url!r}; it must be the address of a console, like 'https://console.example.org'."
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidParameter.of("url", "url must be an address alone; the token is given as token=...")
    if parts.scheme == "http" and not _is_here(parts.hostname):
        raise InvalidParameter.of(
            "url",
            f"url is {url!r}; over http the token and the answers could be read on the way. Use https: only a console "
            "on this machine is reached by http.",
        )
    return str(url).rstrip("/")


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _caused_by(broken: BaseException, *kinds: type[BaseException]) -> bool:
    cause: BaseException | None = broken
    while cause is not None:
        if isinstance(cause, kinds):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _json(answer: Received) -> Any:
    try:
        return json.loads(answer.content) if answer.content else None
    except (ValueError, RecursionError):
        raise ConsoleError(
            "what answered is no dalenius console: it did not send JSON; check the address."
        ) from None


def _problem(answer: Received) -> Any:
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError):
        return None


def _httpx() -> ModuleType:
    try:
        import httpx
    except ModuleNotFoundError:
        raise InvalidParameter(
            "dp.connect needs the package httpx; install it: pip install 'dalenius[connect]'."
        ) from None
    return httpx


_lines: weakref.WeakSet[Line] = weakref.WeakSet()


def _in_child() -> None:
    for line in list(_lines):
        line.in_child()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_in_child)

Progress = Callable[[Mapping[str, Any]], None]
"""Is told of a job, each time something is known of it."""
