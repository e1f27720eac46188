"""Requests that take long to plan are read, priced and asked in a process of their own.

A plan is made of public facts, but that of synthetic data of thirty columns takes a second of a processor, several
times over from price to job. In the server it would slow everybody down. So all but single questions go to a process
beside it, one at a time and for so long at most; whoever comes when enough wait is told to come again. Single questions
are planned in the server, a few at a time (`planning`).

The process has no way to the rows, and is told what is public about them: to open large data takes long, and whether
that is done in time would tell how large they are.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from dalenius.errors import DaleniusError
from dalenius.web.datasets.opening import outline_of, plan_with
from dalenius.web.jobs.child import Child, Inbox
from dalenius.web.problems import Problem, problem_of
from dalenius.web.settings import Settings

if TYPE_CHECKING:
    from dalenius.web.asking.asked import Desk

T = TypeVar("T")

log = logging.getLogger("dalenius.web")

LIMIT = 20.0
"""Seconds for one request."""
MOST = 8
"""Requests that are planned or wait for it, in one server process; of one person half of them."""
LIGHT, LIGHT_SEARCH = 4000, 1000
"""Characters of a question that is planned at once: its price is given, or is searched for, which takes many plans."""
TURNS = threading.Semaphore(2)
"""For those that are planned here. More at a time would not be planned sooner, and each keeps the interpreter from what
is answered without a plan."""


OF_ONE = 20
"""Requests of one person that are planned here or wait for it: each has one of the forty threads that all share."""
_UNDER_WAY: Counter[str] = Counter()
_COUNTING = threading.Lock()


@contextlib.contextmanager
def one_of(person: str, most: int = OF_ONE) -> Iterator[None]:
    """One more request of a person; refused where so many of theirs are planned or wait for it."""
    with _COUNTING:
        if _UNDER_WAY[person] >= most:
            raise Problem(
                429,
                f"{most} requests of yours are planned at this moment.",
                fix="Wait until one of them is answered.",
                headers={"Retry-After": "1"},
            )
        _UNDER_WAY[person] += 1
    try:
        yield
    finally:
        with _COUNTING:
            _UNDER_WAY[person] -= 1
            if not _UNDER_WAY[person]:
                del _UNDER_WAY[person]


@contextlib.contextmanager
def planning() -> Iterator[None]:
    """A turn to plan here; refused where none comes for long."""
    if not TURNS.acquire(timeout=LIMIT):
        raise _busy()
    try:
        yield
    finally:
        TURNS.release()


def _busy() -> Problem:
    return Problem(
        503,
        "many requests that take long to plan came at the same time.",
        kind="busy",
        title="The console has much to plan",
        fix="Try again in a moment.",
        headers={"Retry-After": "2"},
    )


def is_weighty(content: Mapping[str, Any]) -> bool:
    """Whether a plan may take long: of anything but one question of some length.

    >>> is_weighty({"question": {"sql": "SELECT COUNT(*) AS n FROM people"}})
    False
    >>> is_weighty({"kind": "synthesize", "columns": {"age": None}})
    True
    >>> sums = {"question": {"sql": f"SELECT {'SUM(age), ' * 100}COUNT(*) FROM people"}}
    >>> is_weighty(sums), is_weighty({**sums, "accuracy": {"error": 5}})
    (False, True)
    """
    if content.get("kind", "release") != "release":
        return True
    text, most = json.dumps(content).lower(), LIGHT if content.get("accuracy") is None else LIGHT_SEARCH
    return len(text) > most or "cube" in text or "rollup" in text


class RefusedApart(DaleniusError):
    """One of our errors, as the other process tells it."""

    def __init__(self, told: Problem) -> None:
        super().__init__(told.detail)
        self._told = told

    def problem(self) -> Problem:
        """What is told of it."""
        return self._told


class Apart:
    """The process beside a server. Whoever calls waits in a thread."""

    def __init__(self, settings: Settings, limit: float = LIMIT, most: int = MOST) -> None:
        self.limit, self.child = limit, Child("dalenius plans", _plans, settings)
        self._waiting, self._turn = threading.BoundedSemaphore(most), threading.Lock()

    def call(self, function: Callable[..., T], desk: Desk, *given: Any) -> T:
        """What a function of a module gives for a desk like this one, there."""
        outline = outline_of(desk.store, desk.settings, desk.dataset, desk.person.name)
        with one_of(desk.person.id, MOST // 2):
            if not self._waiting.acquire(blocking=False):
                raise _busy()
            try:
                with self._turn:
                    told = self._told((function, desk.person, desk.dataset, outline, given))
            finally:
                self._waiting.release()
        desk.jobs.workers.wake.set()  # there may be a job now
        what, *parts = told
        if what == "given":
            found: T = parts[0]
            return found
        status, detail, more, line = parts
        if line is not None:
            log.error(line)
        problem = Problem(status, detail, **more)
        raise problem if what == "problem" else RefusedApart(problem)

    def close(self) -> None:
        """End the process."""
        self.child.close()

    def _told(self, asked: Any) -> Any:
        try:
            pipe = self.child.started()
            pipe.send(asked)
            if pipe.poll(self.limit):
                return pipe.recv()
        except (EOFError, OSError):
            pass
        self.child.close()
        raise Problem(
            422,
            f"it could not be planned in {self.limit:g} s, and was given up. It is carried out only if your history "
            "lists it.",
            kind="too-much",
            title="This takes too long to plan",
            fix="Ask for less at a time: fewer columns, bins, marginals, questions or candidates.",
        )


def _plans(inbox: Inbox, settings: Settings) -> None:
    """The process: one request after another."""
    from dalenius.web.asking.asked import Desk
    from dalenius.web.jobs.api import jobs_for
    from dalenius.web.store import Store

    store = Store.open(settings.store_address)
    jobs = jobs_for(settings, store)  # to ask for work; those who work are elsewhere
    while True:
        function, person, dataset, outline, given = inbox.get()
        try:
            plan_with(store, dataset, outline)
            inbox.send(("given", function(Desk(store, settings, jobs, person, dataset), *given)))
        except Exception as error:
            problem, line = problem_of(error)
            told = (problem.kind, problem.title, problem.fix, problem.parameter, problem.headers)
            words = ("kind", "title", "fix", "parameter", "headers")
            more = {**dict(zip(words, told, strict=True)), **problem.more}
            ours = "refused" if isinstance(error, DaleniusError) else "problem"
            inbox.send((ours, problem.status_code, problem.detail, more, line))
