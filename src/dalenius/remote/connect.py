"""The way in: an address and a token."""

from __future__ import annotations

import os
from typing import Any, overload

from dalenius.errors import InvalidParameter
from dalenius.remote.connection import Connection
from dalenius.remote.line import PATIENCE, Line, Progress
from dalenius.remote.session import RemoteSession

ENVIRONMENT = "DALENIUS_TOKEN"


@overload
def connect(
    url: str,
    *,
    dataset: str,
    token: str | None = None,
    verify: bool | str = True,
    timeout: float = 30.0,
    patience: float = PATIENCE,
    progress: Progress | bool = True,
    transport: Any = None,
) -> RemoteSession: ...


@overload
def connect(
    url: str,
    *,
    dataset: None = None,
    token: str | None = None,
    verify: bool | str = True,
    timeout: float = 30.0,
    patience: float = PATIENCE,
    progress: Progress | bool = True,
    transport: Any = None,
) -> Connection: ...


def connect(
    url: str,
    *,
    token: str | None = None,
    dataset: str | None = None,
    verify: bool | str = True,
    timeout: float = 30.0,
    patience: float = PATIENCE,
    progress: Progress | bool = True,
    transport: Any = None,
) -> Connection | RemoteSession:
    """A console, to ask about its data sets as if they were here; the data stay where they are.

    Nothing is sent but questions, and nothing comes back but what the ledger keeps: the same answers, with the same
    intervals and errors, as a session on the data gives. Requests go by https, whose certificate is checked, and are
    sent again when the line breaks; a question that comes twice is answered once.

    Parameters
    ----------
    url
        Of the console: https, or http where it runs on this machine.
    token
        Yours, as a steward gave it; that of the variable DALENIUS_TOKEN, if left out.
    dataset
        A data set, for its session at once.
    verify
        True, or the path of a file with the certificate authorities to trust instead of the system's.
    timeout
        Seconds for a request that does not wait for an answer to be computed.
    patience
        Seconds for which a request is sent again, with growing pauses, while the console does not answer: it may be
        starting anew. A question that comes twice is carried out once.
    progress
        Whether waiting shows in a terminal, or a function that is told of the job.
    transport
        How httpx is to send; for tests.

    Returns
    -------
    Connection or RemoteSession
        `connection.datasets`, `connection.session("people")`; the session itself where a data set is named.

    Raises
    ------
    InvalidParameter
        If the address is none, or would send the token in the clear, or there is no token.
    ConsoleError
        If the console cannot be reached, or does not know the token or the data set.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.connect("https://console.example.org", token="dalenius_...")
    <Connection to https://console.example.org>
    """
    given = os.environ.get(ENVIRONMENT) if token is None else token
    if not isinstance(given, str) or not given.strip() or not given.isascii() or not given.isprintable():
        raise InvalidParameter.of(
            "token",
            f"there is no token: give token=..., or set {ENVIRONMENT}. A steward of the console makes one for you.",
        )
    line = Line(url, given.strip(), verify=verify, timeout=timeout, patience=patience, transport=transport)
    connection = Connection(line, progress)
    return connection if dataset is None else connection.session(dataset)
