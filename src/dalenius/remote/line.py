"""The line to a console: requests that may be repeated, and are, when the line breaks.

A repeated question must not be answered twice with fresh noise. Each goes out under a word of its own (the header
Idempotency-Key); the console carries out what comes under one word once, and the ledger answers the identical question
from the record anyhow. So everything here may be sent again.
"""

from __future__ import annotations

import ipaddress
import json
import random
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from urllib.parse import quote, urlsplit

from dalenius.errors import ConsoleError, DaleniusError, InvalidParameter
from dalenius.remote.problems import error_of

TRIES = 5
AGAIN = frozenset({409, 425, 429, 502, 503, 504})
"""Statuses that may be another a moment later; 409 only where the console says when (Retry-After)."""
LONGEST_PAUSE = 20.0
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

    verify: True checks the console's certificate against the system's authorities; a path names others.
    """

    def __init__(
        self, url: str, token: str, *, verify: bool | str = True, timeout: float = 30.0, transport: Any = None
    ) -> None:
        self.http = _httpx()
        self.url = checked_url(url)
        if verify is not True and not isinstance(verify, str):
            raise InvalidParameter.of(
                "verify",
                f"verify is {verify!r}; it must be True, or the path of a file with the authorities to trust. A "
                "console whose certificate is not checked may be anybody.",
            )
        context: Any = True if verify is True else ssl.create_default_context(cafile=verify)
        self._client = self.http.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            verify=context,
            timeout=timeout,
            follow_redirects=False,
            # A proxy of the environment would get the token in the clear; with https it sees no more than the address.
            trust_env=self.url.startswith("https:"),
            transport=transport,
        )

    def __repr__(self) -> str:
        return f"<Line to {self.url}>"

    def get(self, *path: str, patience: float = 0.0, **parameters: Any) -> Any:
        """What is there. patience: seconds that the console may wait before it answers."""
        return self._sent("GET", path, params=parameters, patience=patience)

    def post(self, *path: str, content: Mapping[str, Any], word: str | None = None) -> Any:
        """What the console makes of this. word: by which it knows a repeated request."""
        headers = {} if word is None else {"Idempotency-Key": word}
        return self._sent("POST", path, json=dict(content), headers=headers)

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def _sent(self, method: str, path: tuple[str, ...], patience: float = 0.0, **more: Any) -> Any:
        where = "/api/v1/" + "/".join(quote(part, safe="") for part in path)
        if patience:
            more["timeout"] = self.http.Timeout(self._client.timeout.read or 30.0, read=patience + 30.0)
        problem: DaleniusError | None = None
        pause = 0.0
        for attempt in range(TRIES):
            time.sleep(pause)
            pause = min(0.2 * 2**attempt * random.uniform(0.5, 1.5), LONGEST_PAUSE)
            try:
                answer = self._received(method, where, **more)
            except self.http.RequestError as broken:
                problem = ConsoleError(
                    f"the console at {self.url} could not be reached ({type(broken).__name__}); check the address, the "
                    "line, and that its certificate is one you trust."
                )
                if isinstance(broken, self.http.ConnectError) and _is_certificate(broken):
                    raise problem from None
                continue
            if answer.status_code < 300:
                return _json(answer)
            problem = error_of(answer.status_code, _problem(answer))
            after = answer.headers.get("retry-after", "")
            if answer.status_code not in AGAIN or (answer.status_code == 409 and not after):
                break
            pause = (
                max(pause, min(float(after), LONGEST_PAUSE)) if after.isascii() and after.isdigit() else pause
            )
        assert problem is not None
        raise problem

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


def _is_certificate(broken: BaseException) -> bool:
    cause: BaseException | None = broken
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
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


Progress = Callable[[Mapping[str, Any]], None]
"""Is told of a job, each time something is known of it."""
