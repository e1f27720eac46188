"""The console on people who do not exist, for `dalenius demo --console`: two people and an open data set."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.web.datasets import acts
from dalenius.web.people import acts as people
from dalenius.web.settings import Settings
from dalenius.web.store import Store
from dalenius.web.store import people as known
from dalenius.web.store.people import ANALYST, STEWARD

STEWARD_NAME, ANALYST_NAME = "Stella Steward", "Anna Analyst"
DAYS = 7.0
"""How long the tokens of the demo work."""
PATIENCE = 60.0
"""Seconds until the console must answer."""


@dataclass(frozen=True)
class Running:
    """A console that was started: where it is, who may sign in with which token, and its process."""

    address: str
    tokens: dict[str, str]
    process: int


def prepare(settings: Settings, data: str, facts: dict[str, Any]) -> dict[str, str]:
    """Two people with new tokens, and the data set, opened for one of them; what is there already stays."""
    settings.make_folder()
    store = Store.open(settings.store_address)
    try:
        tokens, persons = {}, {}
        for name, role in ((STEWARD_NAME, STEWARD), (ANALYST_NAME, ANALYST)):
            with store.reading() as connection:
                entry = known.named(connection, name)
            if entry is None:
                persons[name], _, tokens[name] = people.add(store, None, name, role, DAYS)
            else:
                persons[name] = entry.person
                tokens[name] = people.new_token(
                    store, None, entry.person.id, "demo", DAYS, settings.token_days
                )[1]
        steward = persons[STEWARD_NAME]
        if not _is_there(store):
            acts.register(
                store,
                settings,
                steward,
                {
                    "name": "people",
                    "title": "People who do not exist",
                    "about": "Made-up people with made-up incomes; one or two jobs each.",
                    "source": {"kind": "file", "files": {"people": data}},
                    "facts": {"people": facts},
                    "unit": {"kind": "id", "column": "person", "max_rows": 2, "max_groups": 1},
                    "budget": {"kind": "zcdp", "rho": "0.5"},
                    "per_question": {"kind": "zcdp", "rho": "0.01"},
                },
            )
            acts.open_account(store, settings, steward, "people")
            acts.set_grant(store, steward, "people", ANALYST_NAME, True)
            acts.publish(store, steward, "people", True)
        return tokens
    finally:
        store.close()


def start(settings: Settings, tokens: dict[str, str], port: int) -> Running:
    """The server, as a process that goes on when this one ends; returned once it answers."""
    folder, log = settings.folder, settings.folder / "console.log"
    port = _free(port)
    command = [
        sys.executable,
        "-m",
        "dalenius.cli.main",
        "serve",
        "--folder",
        str(folder),
        "--port",
        str(port),
    ]
    for source in settings.source_folders:
        command += ["--sources", str(source)]
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"{address}/readyz", timeout=2):
            (folder / "console.pid").write_text(f"{process.pid}\n")
            return Running(address, tokens, process.pid)
        time.sleep(0.2)
    process.kill()
    raise DaleniusError(f"the console did not start; its log is {log}.")


def stop(folder: Path) -> bool:
    """End the console that `start` started with this folder; False where there is none."""
    path = folder / "console.pid"
    if not path.exists():
        return False
    process = int(path.read_text())
    path.unlink()
    with suppress(OSError):
        if "dalenius" in Path(f"/proc/{process}/cmdline").read_text() if Path("/proc").is_dir() else True:
            os.kill(process, signal.SIGTERM)
            return True
    return False


def _is_there(store: Store) -> bool:
    from dalenius.web.store import datasets

    with store.reading() as connection:
        return datasets.get(connection, "people") is not None


def _free(port: int) -> int:
    """The port, or the next one that nobody listens on."""
    for tried in range(port, min(port + 100, 65536)):
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                one.bind(("127.0.0.1", tried))
                return tried
    raise InvalidParameter(f"no port from {port} on is free; name another with --port.")
