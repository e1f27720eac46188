"""A real PostgreSQL server in a temporary folder, on a free port of the loopback address.

    @pytest.fixture
    def url(postgres_server: PostgresServer) -> str:      # the fixture is in tests/conftest.py
        return postgres_server.fresh()                    # postgresql://... of a new, empty database

The programs `initdb` and `postgres` are looked for on the PATH, where `pg_config` says, and where Debian,
Fedora and Homebrew put them. The server refuses to run as root, so root runs it as user `postgres` (or
`nobody`). To use a server you already have instead, set DALENIUS_TEST_POSTGRES to a URL with the right to
create databases. Durable settings are left on: tests see the server that users have.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    import pwd

NEEDED = ("initdb", "postgres")
PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/usr/local/pgsql/bin",
)
HOW = (
    "no PostgreSQL server programs (initdb, postgres) were found. Install them (Debian, Ubuntu: "
    "`apt-get install postgresql`; macOS: `brew install postgresql`), or set DALENIUS_TEST_POSTGRES to the "
    "URL of a running server on which databases may be created."
)
PATIENCE = 60.0
_names = itertools.count()


class NoServer(Exception):
    """There is no way to have a server here; the message says what to install."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server. `url` has the right to create databases."""

    url: str
    process: subprocess.Popen[bytes] | None = None
    made: list[str] = field(default_factory=list, compare=False)

    def fresh(self) -> str:
        """The URL of a new, empty database; dropped when the run ends."""
        import psycopg
        from psycopg import sql

        name = f"test_{os.getpid()}_{secrets.token_hex(3)}_{next(_names)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        self.made.append(name)
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def forget(self) -> None:
        """Drop what `fresh` made (needed only where the server outlives the run)."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.url, autocommit=True) as connection:
            for name in self.made:
                command = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
                connection.execute(command)


@contextlib.contextmanager
def running() -> Iterator[PostgresServer]:
    """The server, for as long as the block lasts."""
    given = os.environ.get("DALENIUS_TEST_POSTGRES")
    if given:
        server = PostgresServer(given)
        try:
            yield server
        finally:
            server.forget()
        return
    programs = find()
    owner = _owner()
    # Not below pytest's own temporary folder: that one is closed to the user the server runs as.
    root = Path(tempfile.mkdtemp(prefix="dalenius-postgres-"))
    server_process: subprocess.Popen[bytes] | None = None
    try:
        if owner is not None:
            os.chown(root, owner.pw_uid, owner.pw_gid)
        password = secrets.token_hex(16)
        _initialise(programs, root, password, owner)
        server_process, port = _start(programs, root, password, owner)
        yield PostgresServer(f"postgresql://tester:{password}@127.0.0.1:{port}/postgres", server_process)
    finally:
        if server_process is not None:
            _stop(server_process)
        shutil.rmtree(root, ignore_errors=True)


def find() -> Path:
    """The folder with the server's programs, or NoServer."""
    candidates = []
    for program in NEEDED:
        on_path = shutil.which(program)
        if on_path:
            candidates.append(Path(on_path).resolve().parent)
    config = shutil.which("pg_config")
    if config:
        told = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        candidates.append(Path(told.stdout.strip()))
    for place in PLACES:
        folder = place.lstrip("/")
        candidates += sorted(Path("/").glob(folder), key=_newest, reverse=True)
    for candidate in candidates:
        if all((candidate / program).is_file() for program in NEEDED):
            return candidate
    raise NoServer(HOW)


def _newest(folder: Path) -> list[int]:
    digits = "".join(c if c.isdigit() else " " for c in str(folder)).split()
    return [int(d) for d in digits] or [0]


def _owner() -> pwd.struct_passwd | None:
    """Whom the server runs as: ourselves, unless we are root."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    import pwd

    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoServer("PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`.")


def _environment() -> dict[str, str]:
    """Ours without PGHOST and the like, which would steer the server's programs elsewhere."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    return kept | {"LC_ALL": "C.UTF-8"}


def _as(owner: pwd.struct_passwd | None) -> dict[str, Any]:
    return {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": ()}


def _initialise(programs: Path, root: Path, password: str, owner: pwd.struct_passwd | None) -> None:
    secret = root / "password"
    secret.touch(mode=0o600)
    secret.write_text(password, encoding="ascii")
    if owner is not None:
        os.chown(secret, owner.pw_uid, owner.pw_gid)
    command = [
        *(str(programs / "initdb"), "--pgdata", str(root / "data"), "--username", "tester"),
        *("--pwfile", str(secret), "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C"),
        "--no-sync",  # of the empty cluster only; the server itself syncs as always
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=root, env=_environment(), check=False, **_as(owner)
    )
    if done.returncode:
        raise RuntimeError(f"initdb failed:\n{done.stdout}{done.stderr}")
    secret.unlink()


def _start(
    programs: Path, root: Path, password: str, owner: pwd.struct_passwd | None
) -> tuple[subprocess.Popen[bytes], int]:
    log = root / "log"
    for _ in range(5):
        port = _free_port()
        command = [
            *(str(programs / "postgres"), "-D", str(root / "data"), "-p", str(port)),
            *("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="),
            *("-c", "max_connections=60", "-c", "shared_buffers=64MB"),
        ]
        with log.open("ab") as out:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=root,
                env=_environment(),
                # Ctrl-C at the terminal is for pytest, which then stops the server in order.
                start_new_session=True,
                preexec_fn=_end_with_us() if sys.platform == "linux" else None,
                **_as(owner),
            )
        if _answers(process, port, password):
            return process, port
        _stop(process)
    raise RuntimeError(f"the server did not start:\n{log.read_text(encoding='utf-8', errors='replace')}")


def _end_with_us() -> Callable[[], object]:
    """Have the system stop the server if this process is killed and cannot: no server is left behind."""
    import ctypes

    prctl, death_signal = ctypes.CDLL(None).prctl, 1
    return lambda: prctl(death_signal, int(signal.SIGQUIT))


def _answers(process: subprocess.Popen[bytes], port: int, password: str) -> bool:
    """Whether the server comes up; False when it ends instead (the port was taken meanwhile, say)."""
    import psycopg

    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            psycopg.connect(
                f"postgresql://tester:{password}@127.0.0.1:{port}/postgres", connect_timeout=5
            ).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return True
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGQUIT)  # at once: nothing in it is needed any more
    process.wait(timeout=60)
