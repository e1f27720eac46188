"""A session without the data: questions are built and priced here, from public facts, and answered by a console."""

from __future__ import annotations

from typing import Any, NoReturn

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter
from dalenius.remote.account import RemoteAccount
from dalenius.remote.history import RemoteLedger
from dalenius.remote.line import Line, Progress
from dalenius.session.record.estimators import estimator_record
from dalenius.session.session import Session
from dalenius.session.travel.description import read_description
from dalenius.session.travel.requests import columns_record
from dalenius.tables.ask.query import Table
from dalenius.tables.facts.unit import Unit
from dalenius.tables.rows.relations import PrivateJoin
from dalenius.tables.rows.steps import Join


class RemoteSession(Session):
    """What `dp.connect(...).session("people")` gives: a `Session` whose data, ledger and budget are a console's.

    `table`, `price`, `explain` and `left_in_words` compute here, from what the console tells of columns, bounds and the
    account. `release`, `release_all`, `cross_table`, `sql`, `fit` and `infer` send the question; the answer is made
    from the ledger's record, so that it is the same object as a session on the data gives, with the same intervals.
    `ledger.log()` is what you asked. Synthetic data, feeds and personal reports need a session on the data.

    Examples
    --------
    >>> import dalenius as dp
    >>> s = dp.connect("https://console.example.org", token="...", dataset="people")  # doctest: +SKIP
    >>> s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.01)).to_pandas()               # doctest: +SKIP
    """

    def __init__(self, line: Line, dataset: str, progress: Progress | bool = True) -> None:
        described = read_description(line.get("datasets", dataset, "description"))
        self.source, self.unit, self.adjacency = described.source, described.unit, described.adjacency
        self.account: RemoteAccount = RemoteAccount(line, described, progress)
        self.per_question = described.per_question
        self._fits, self._meanings, self._last = {}, {}, None

    def __repr__(self) -> str:
        return f"<RemoteSession: {super().__repr__()[len('<Session: ') : -1]}; at {self.account.line.url}>"

    def __str__(self) -> str:
        self.account.refresh()
        return super().__str__()

    @property
    def ledger(self) -> Any:
        """What you asked of the data set: `session.ledger.log()`."""
        return RemoteLedger(self.account.line, self.account.dataset)

    @property
    def remaining(self) -> Guarantee:
        """The largest budget a release may still be given, as the console has it at this moment."""
        self.account.refresh()
        return super().remaining

    @property
    def spent(self) -> Guarantee:
        """What was charged so far, to all analysts; see `Session.spent`."""
        self.account.refresh()
        return super().spent

    def left_in_words(self) -> str:
        """What is left, and how many more questions like the last one that is enough for; see `Session`."""
        self.account.refresh()
        return super().left_in_words()

    def continual(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: a feed needs a session on the data."""
        raise _not_here("a feed")

    def synthesize(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: synthetic data need a session on the data."""
        raise _not_here("synthetic data")

    @property
    def privacy_report(self) -> NoReturn:
        """Refused: what everything cost one person is told by whoever has the ledger."""
        raise _not_here("a privacy report")

    # -- what travels beside a question ---------------------------------------------------------------

    def _unit(self, table: Table) -> Unit:
        unit = super()._unit(table)
        for step in _steps(table):
            if isinstance(step, Join):
                self.account.public[step.table.usable_digest] = step.table
        return unit

    def _fitting(self, model: Any, features: Any, target: Any, table: Table | None) -> Any:
        from dalenius.learn.saved import model_record

        made = super()._fitting(model, features, target, table)
        content = self._content("fit", features, target, table)
        self.account.remember(made.question, {**content, "model": model_record(model, arrays=True)})
        return made

    def _asked(self, estimator: Any, features: Any, target: Any, table: Table | None) -> Any:
        made = super()._asked(estimator, features, target, table)
        content = self._content("infer", features, target, table)
        self.account.remember(made.question, {**content, "estimator": estimator_record(estimator)})
        return made

    def _content(self, kind: str, features: Any, target: Any, table: Table | None) -> dict[str, JSON]:
        asked: dict[str, JSON] = {"kind": kind, "features": columns_record("features", features)}
        if target is not None:
            asked["target"] = columns_record("target", target)
        return asked if table is None else {**asked, "table": table.record()}


def _steps(table: Table) -> list[Any]:
    return [
        *table.steps,
        *(inner for step in table.steps if isinstance(step, PrivateJoin) for inner in _steps(step.table)),
    ]


def _not_here(what: str) -> InvalidParameter:
    return InvalidParameter(f"{what} cannot be had through a console yet; it needs a session on the data.")
