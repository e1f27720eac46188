"""Tables of a PostgreSQL server that the settings list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from dalenius.errors import SourceError
from dalenius.web.datasets.faults import Faults
from dalenius.web.datasets.sources.source import Allowed, Asked, Kind, Record, Tables, named, text

PORT = 5432
MODES = ("prefer", "require", "verify-full", "disable")


class Server(Kind):
    """A server is told by its parts and never by an address, so that nothing else can be written into one."""

    tag = "postgres"
    title = "PostgreSQL"
    asks: ClassVar[Sequence[Asked]] = (
        Asked("host", "Server", "One that the settings of this console list."),
        Asked("port", "Port", "5432, if left out.", needed=False),
        Asked("database", "Database"),
        Asked("user", "User", "A role that may read these tables, and no more."),
        Asked(
            "password",
            "Password",
            "Kept by the server and never shown again. Left out: as the server's own .pgpass says.",
            needed=False,
            secret=True,
        ),
        Asked("sslmode", "TLS", "To the database.", needed=False, choices=MODES),
        Asked(
            "tables",
            "Table",
            "Such as people or survey.people. Several tables of the same people: one line each, as visits = visits.",
            lines=True,
        ),
    )

    def offered(self, allowed: Allowed) -> str | None:
        listed = "postgresql" in allowed.source_schemes and allowed.source_hosts
        return None if listed else "the settings list no PostgreSQL server"

    def read(self, given: Mapping[str, Any], allowed: Allowed, faults: Faults) -> Record:
        host, database, user = (text(given, word, faults) for word in ("host", "database", "user"))
        port = given.get("port") or PORT
        if not str(port).isdecimal() or not str(port).isascii() or not 0 < int(str(port)[:6]) < 65536:
            faults.add("source.port", "this must be a whole number from 1 to 65535.")
            port = PORT
        mode = given.get("sslmode") or "prefer"
        if mode not in MODES:
            faults.add("source.sslmode", f"this must be one of {', '.join(MODES)}.")
        secret = given.get("password")
        if secret is not None and not isinstance(secret, str):
            faults.add("source.password", "this must be text.")
        tables = {
            name or called.rpartition(".")[2]: called
            for name, called in named(given, "tables", faults).items()
        }
        if host:
            faults.attempt("source.host", lambda: _check_host(host, int(port), allowed))
        return {
            "kind": self.tag,
            "host": host,
            "port": int(port),
            "database": database,
            "user": user,
            "sslmode": mode,
            "tables": tables,
        }

    def secret(self, given: Mapping[str, Any]) -> str | None:
        return given.get("password") or None

    def tables(self, record: Record, secret: str | None, allowed: Allowed) -> Tables:
        _check_host(record["host"], record["port"], allowed)
        part = {word: quote(str(record[word]), safe="") for word in ("host", "user", "database", "sslmode")}
        who = part["user"] + (f":{quote(secret, safe='')}" if secret else "")
        address = (
            f"postgresql://{who}@{part['host']}:{record['port']}/{part['database']}?sslmode={part['sslmode']}"
        )
        return {name: (address, called) for name, called in record["tables"].items()}

    def words(self, record: Record) -> str:
        tables = ", ".join(record["tables"].values())
        return f"{tables} in the database {record['database']} at {record['host']}:{record['port']}"


def _check_host(host: str, port: int, allowed: Allowed) -> None:
    """By its exact name, and its port where that is listed: no other name of the same machine, and no address."""
    may = allowed.source_hosts if "postgresql" in allowed.source_schemes else ()
    if (host in may and port == PORT) or f"{host}:{port}" in may:
        return
    listed = ", ".join(may) or "none"
    raise SourceError(
        f"{host}:{port} is not a server that this console may connect to; the settings list {listed} (port {PORT} "
        "where none is named)."
    )
