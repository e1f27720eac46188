"""The server: uvicorn, with the settings of a console that strangers can reach."""

from __future__ import annotations

import os
import socket
import warnings
from pathlib import Path
from typing import Any

import uvicorn

from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.web.connections import Impatient
from dalenius.web.logs import CONFIGURATION
from dalenius.web.people import acts
from dalenius.web.settings import ENVIRONMENT, Settings
from dalenius.web.store import Store, people
from dalenius.web.store.people import STEWARD

LOOPBACK = ("127.0.0.1", "::1", "localhost")
CONNECTION: dict[str, Any] = {
    "http": Impatient,
    "ws": "none",
    "access_log": False,  # it would write whole addresses; the guard writes what may be written
    "server_header": False,
    "h11_max_incomplete_event_size": 16 * 1024,  # a request's first lines
    "limit_concurrency": 500,  # connections of one process; more are told to come back
    "timeout_keep_alive": 5,
    "timeout_graceful_shutdown": 10,
    # A worker that does not answer for so long is killed, and its work with it. The usual 5 are less than one needs to
    # start on a machine that has much to do, and then it never starts.
    "timeout_worker_healthcheck": 60,
}
"""How uvicorn speaks with strangers."""


def serve(
    settings: Settings, host: str, port: int, certificate: Path | None, key: Path | None, proxy: str
) -> None:
    """Run the console until it is stopped. proxy: addresses whose word on who is asking is taken; empty for none."""
    os.environ[ENVIRONMENT] = settings.to_text()
    # Whether a library warns may depend on the rows (an overflow, a column of one value), and stderr is the log.
    os.environ["PYTHONWARNINGS"] = "ignore"  # for the processes that are started
    warnings.simplefilter("ignore")
    try:
        uvicorn.run(
            "dalenius.web.app:from_environment",
            factory=True,
            host=host,
            port=port,
            workers=settings.workers,
            log_config=CONFIGURATION,
            proxy_headers=bool(proxy),
            forwarded_allow_ips=proxy or "",
            ssl_certfile=certificate,
            ssl_keyfile=key,
            **CONNECTION,
        )
    except SystemExit as end:  # its status 3 would say that the ledger is damaged
        if end.code:
            raise DaleniusError("the console could not be started; the lines above say why.") from None


def check_port(host: str, port: int) -> None:
    """Refuse a place where the console cannot listen, before anything is said or made."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError as problem:
            raise InvalidParameter.of(
                "port",
                f"the console cannot listen at {host}, port {port} ({problem.strerror}); give another --port, or end "
                "what listens there.",
            ) from None


def check(host: str, certificate: Path | None, key: Path | None, proxy: str) -> None:
    """Refuse what would send tokens over a network in the clear."""
    if (certificate is None) != (key is None):
        raise InvalidParameter("TLS needs both --tls-cert and --tls-key.")
    for path in (certificate, key):
        if path is not None and not path.is_file():
            raise InvalidParameter(
                f"there is no file {path}; name the certificate and the key in PEM format."
            )
    if host not in LOOPBACK and certificate is None and not proxy:
        raise InvalidParameter(
            f"--host is {host!r}, and tokens would cross the network in the clear. Give --tls-cert and --tls-key, or "
            "--behind-proxy with the address of the proxy that ends TLS in front of this server."
        )


def first_steward(settings: Settings, name: str) -> str | None:
    """A first steward; the text of the token. None where there is a steward already."""
    settings.make_folder()
    store = Store.open(settings.store_address)
    try:
        with store.reading() as connection:
            if any(each.person.role == STEWARD and each.active for each in people.everyone(connection)):
                return None
        return acts.add(store, None, name, STEWARD, settings.token_days)[2]
    finally:
        store.close()


def new_token(settings: Settings, name: str) -> str:
    """One more token for somebody who has lost theirs; its text."""
    if "://" not in settings.store_address and not Path(settings.store_address).exists():
        raise InvalidParameter(
            f"there is no console at {settings.store_address}; name its --folder, or its --store."
        )
    store = Store.open(settings.store_address)
    try:
        with store.reading() as connection:
            entry = people.named(connection, name)
        if entry is None:
            raise InvalidParameter(f"there is nobody called {name!r} in this console.")
        return acts.new_token(store, None, entry.person.id, "command line", 1, settings.token_days)[1]
    finally:
        store.close()
