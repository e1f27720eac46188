"""A console to be tested: its app, one person of each role, and clients that come in as them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from fastapi import FastAPI
from fastapi.testclient import TestClient

from dalenius.web.app import create_app
from dalenius.web.people import acts
from dalenius.web.settings import Settings
from dalenius.web.store import Store
from dalenius.web.store.people import Person

PEOPLE = {"Stella": "steward", "Anna": "analyst", "Boris": "analyst"}


@dataclass
class Console:
    """A console that runs inside the test."""

    app: FastAPI
    settings: Settings
    data: Path
    client: TestClient
    """Nobody; redirects are not followed."""
    people: dict[str, Person] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    """By name: Stella the steward, Anna and Boris the analysts."""

    @classmethod
    @contextmanager
    def made(cls, folder: Path, **settings: Any) -> Iterator[Self]:
        """One in a folder."""
        data = folder / "data"
        data.mkdir()
        quick = {"slot_seconds": 0.05, "isolation": "thread", "failures_per_minute": 10**6}
        settings = {"source_folders": (data,), **quick, **settings}
        chosen = Settings(folder / "console", **settings)
        app = create_app(chosen)
        with TestClient(app, follow_redirects=False) as client:
            console = cls(app, chosen, data, client)
            for name, role in PEOPLE.items():
                person, _, text = acts.add(console.store, None, name, role, 30)
                console.people[name], console.tokens[name] = person, text
            yield console

    @property
    def store(self) -> Store:
        """Its own record."""
        store: Store = self.app.state.store
        return store

    def bearer(self, name: str) -> dict[str, str]:
        """The header of a program that has this person's token."""
        return {"Authorization": f"Bearer {self.tokens[name]}"}

    def api(self, name: str) -> TestClient:
        """A program that has this person's token."""
        return self._client(self.bearer(name))

    def browser(self, name: str) -> TestClient:
        """A browser in which this person is signed in. Send `csrf(page)` with what changes something."""
        client = self._client({"Accept": "text/html"})
        answer = client.post("/sign-in", data={"token": self.tokens[name]})
        assert answer.status_code == 303, answer.text
        return client

    def _client(self, headers: dict[str, str]) -> TestClient:
        client = TestClient(self.app, headers=headers, follow_redirects=False)
        client.portal = self.client.portal  # one event loop for all
        return client


def csrf(client: TestClient, path: str = "/") -> str:
    """The word that the page's forms carry."""
    found = re.search(r'<meta name="csrf" content="(\w+)">', client.get(path).text)
    assert found is not None
    return found[1]
