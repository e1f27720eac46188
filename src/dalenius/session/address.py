"""The address of a PostgreSQL server: which texts are one, and how to name it without showing a password.

A password may hold anything: `#`, `/`, `?`, `@`, `%`. Written into an address as it is, it moves the places where the
parts end, and what is then taken for the host or the database is a piece of the password. So no part of an address is
shown unless there is one way only to read it; and nothing that libpq says about an address is passed on.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from dalenius.errors import InvalidParameter
from dalenius.tables.engines.place import is_plain

SCHEMES = ("postgresql://", "postgres://")
UNNAMED = "PostgreSQL"
"""What a server is called whose address cannot be shown."""

WRITE = (
    "write postgresql://user:password@host/database, with every letter of the password that is neither a letter nor a "
    "digit percent-encoded (urllib.parse.quote(password, safe='')), or leave the password to PGPASSWORD or ~/.pgpass."
)

_WORDS = (
    r"(host|hostaddr|port|dbname|user|password|passfile|service|sslmode|sslpassword|options|application_name)"
)
_TELLING = r"(host|hostaddr|dbname|password|service|sslpassword)"
_PAIRS = re.compile(rf"(?=\s*{_WORDS}\s*=)(.*\s)?{_TELLING}\s*=.*", re.DOTALL | re.IGNORECASE)
_NEARLY = re.compile(r"\s*postgres(ql)?\s*:", re.IGNORECASE)
_HOST = re.compile(r"[A-Za-z0-9._:/-]+")
_DATABASE = re.compile(r"[\w .-]+")


@dataclass(frozen=True)
class Address:
    """Where a server is. `text` is for libpq only; nothing that is printed has it."""

    text: str = field(repr=False)
    label: str
    place: str = field(repr=False)


def is_address(where: str | os.PathLike[str]) -> bool:
    """Whether this is meant for PostgreSQL: a URL, words as in "host=... dbname=...", or a slip in one of these."""
    text = os.fspath(where)
    if _NEARLY.match(text) is not None:
        return True
    return isinstance(where, str) and ("://" in text or _PAIRS.fullmatch(text) is not None)


def read_address(text: str) -> Address:
    """The address; what PostgreSQL does not understand is refused, and not shown."""
    from psycopg import Error
    from psycopg.conninfo import conninfo_to_dict

    text = text.strip()
    url = text.startswith(SCHEMES)
    if not url and _PAIRS.fullmatch(text) is None:
        raise InvalidParameter(
            f"the ledger's address does not begin with postgresql://; use a path or postgresql://... That is: {WRITE}"
        )
    try:
        parts = {word: str(value) for word, value in conninfo_to_dict(text).items() if value is not None}
    except (Error, UnicodeError):  # a password may be percent-encoded in another alphabet than UTF-8
        parts = {}
    if not parts and text not in SCHEMES:
        # Outside the handler: what libpq says quotes the address, and must not hang on to this as its context.
        raise InvalidParameter(f"the ledger's URL is not one that PostgreSQL understands; {WRITE}")
    shown = _label(parts) if not url or is_plain(text) else UNNAMED
    return Address(text, shown, "postgresql " + repr(sorted(_whereabouts(parts).items())))


def _whereabouts(parts: dict[str, str]) -> dict[str, str]:
    return {word: parts[word] for word in ("service", "host", "hostaddr", "port", "dbname") if word in parts}


def _label(parts: dict[str, str]) -> str:
    host = parts.get("host") or parts.get("hostaddr") or ""
    port, database = parts.get("port", ""), parts.get("dbname", "")
    if (host and not _HOST.fullmatch(host)) or (port and not _is_port(port)):
        return UNNAMED
    if not _DATABASE.fullmatch(database):
        database = ""
    secrets = [value for word, value in parts.items() if "pass" in word and value]
    if any(secret in (host, port, database) for secret in secrets):
        return UNNAMED
    return f"postgresql://{host}{':' + port if port else ''}/{database}"


def _is_port(text: str) -> bool:
    """A number without a host before it may be a password: user:password, and the rest forgotten."""
    return text.isdecimal() and len(text) <= 5 and 0 < int(text) < 65536
