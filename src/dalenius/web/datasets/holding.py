"""Questions whose slot is not over: until then nothing says whether they are answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from fastapi import Request

from dalenius.session.entries import digest


def held_in(request: Request, dataset: str) -> Callable[[str], bool]:
    """Whether a question of a data set is held, as the background work of the console knows.

    It is looked up when the first question is asked about, and so after the ledger was read: work that records an
    answer between the two is then seen to be under way.
    """

    @cache
    def keys() -> frozenset[str]:
        found: frozenset[str] = request.app.state.jobs.held(dataset)
        return found

    return lambda question: digest(question) in keys()
