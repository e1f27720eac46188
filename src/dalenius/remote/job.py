"""A question that a console carries out while its analyst does something else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dalenius.core import checks
from dalenius.errors import ConsoleError
from dalenius.remote.waiting import GOING, WAIT, seen, waited

if TYPE_CHECKING:
    from dalenius.remote.account import RemoteAccount, Sent


class Job:
    """What `RemoteSession.submit` gives. What it tells depends on the public plan and the clock, until it has left.

    Attributes
    ----------
    id
        Names it in the API, under /api/v1/jobs; None where the answer was on record at once.
    """

    def __init__(self, account: RemoteAccount, sent: Sent, again: Callable[[Any], Any]) -> None:
        self.id: str | None = str(sent.told["job"])
        self._account, self._cost, self._again = account, sent.cost, again
        self._left: Mapping[str, Any] | None = None
        self._held: tuple[Any, ...] = ()

    @classmethod
    def on_record(cls, account: RemoteAccount, result: Any) -> Job:
        """One whose answer was there already, for nothing."""
        made = object.__new__(cls)
        made.id, made._account, made._left, made._held = None, account, {"state": "done"}, (result,)
        return made

    def __repr__(self) -> str:
        return f"<Job {self.id or 'on record'}>"

    @property
    def state(self) -> str:
        """waiting, running, done, failed (charged, without an answer), refused (nothing was charged) or cancelled."""
        return str(self._look()["state"])

    @property
    def progress(self) -> float:
        """The part of its slot that is over, by the clock, from 0 to 1: it tells nothing about the data."""
        found = self._look()
        if found["state"] == "waiting":
            return 0.0
        return float(found.get("progress", 0.0)) if found["state"] == "running" else 1.0

    def result(self, timeout: float | None = None) -> Any:
        """The answer, as the call itself would have given it; waits until it is there.

        Parameters
        ----------
        timeout
            Seconds to wait at most; for ever, if left out. The work goes on after it.

        Returns
        -------
        Answer, or what was asked for
            The same object each time.

        Raises
        ------
        TimeoutError
            If it has not left by then; ask again later.
        EngineFailed
            If it failed; the charge stays.
        InvalidParameter, BudgetExceeded
            If it was refused when its turn came; nothing was charged.
        ConsoleError
            If it was cancelled, or the console cannot be reached.
        """
        if self._held:
            return self._held[0]
        if timeout is None:
            if self._left is None:
                self._left = waited(self._account.line, str(self.id), self._account.progress)
        else:
            until = time.monotonic() + checks.positive("timeout", timeout)
            while self._look(max(0.0, min(WAIT, until - time.monotonic())))["state"] in GOING:
                if time.monotonic() >= until:
                    raise TimeoutError(
                        f"the job {self.id} has not left after {timeout:g} s; ask again later."
                    )
        assert self._left is not None
        self._held = (self._again(self._account.outcome(self._left, self._cost)),)
        return self._held[0]

    def cancel(self) -> None:
        """Stop waiting for it. Nothing is refunded; should the answer be on record, asking the same again is free."""
        if self._left is None:
            told = self._account.line.delete("jobs", str(self.id))
            if not isinstance(told, Mapping) or not isinstance(told.get("state"), str):
                raise ConsoleError("the console told of a job in a way that this dalenius does not know.")
            self._left = None if told["state"] in GOING else told

    def _look(self, wait: float = 0.0) -> Mapping[str, Any]:
        if self._left is not None:
            return self._left
        found = seen(self._account.line, str(self.id), wait)
        self._left = None if found["state"] in GOING else found
        return found
