"""A session without the data: questions are built and priced here, from public facts, and answered by a console."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.checks import shown
from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter
from dalenius.remote.account import RemoteAccount, Sent
from dalenius.remote.job import Job
from dalenius.remote.line import Line, Progress
from dalenius.remote.problems import not_here
from dalenius.session.columns import named_columns
from dalenius.session.record.estimators import estimator_record
from dalenius.session.session import Session
from dalenius.session.travel import synthetic_columns
from dalenius.session.travel.description import read_description
from dalenius.session.travel.requests import columns_record
from dalenius.tables.ask.query import Table
from dalenius.tables.facts.unit import Unit
from dalenius.tables.rows.relations import PrivateJoin
from dalenius.tables.rows.steps import Join

ASKING = (
    "release",
    "release_all",
    "cross_table",
    "sql",
    "truncation",
    "fit",
    "evaluate",
    "infer",
    "synthesize",
)
"""The ways to ask."""


class RemoteSession(Session):
    """What `dp.connect(...).session("people")` gives: a `Session` whose data, ledger and budget are a console's.

    `table`, `price`, `explain` and `left_in_words` compute here, from what the console tells of columns, bounds and the
    account. `release`, `release_all`, `cross_table`, `sql`, `truncation`, `fit`, `evaluate`, `infer` and `synthesize`
    send the question and wait; `submit` does not wait. The answer is made from the ledger's record, so that it is the
    same object as a session on the data gives, with the same intervals. `ledger.log()` is what you asked. Feeds,
    personal reports and all that only a steward does are refused, with the way to have them.

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
        self._is_kept = True  # in the console's ledger

    def __repr__(self) -> str:
        return f"<RemoteSession: {super().__repr__()[len('<Session: ') : -1]}; at {self.account.line.url}>"

    def __str__(self) -> str:
        self.account.refresh()
        return super().__str__()

    @property
    def ledger(self) -> Any:
        """What you asked of the data set: `session.ledger.log()`."""
        return self.account.ledger

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

    def submit(self, ask: Callable[..., Any] | str, *given: Any, **named: Any) -> Job:
        """Ask without waiting: the console carries it out, and the answer is fetched when it is wanted.

        What cannot be asked, or is more than is left, is refused at once, as without `submit`.

        Parameters
        ----------
        ask
            One of this session's ways to ask, such as `s.release`, `s.sql`, `s.fit` or `s.synthesize`; or its name.
        given, named
            What it is given.

        Returns
        -------
        Job
            `state`, `progress`, `result()` and `cancel()`.

        Raises
        ------
        InvalidParameter
            If the question is refused; nothing is charged.
        BudgetExceeded
            If there is not so much left; nothing is charged.
        ConsoleError
            If the console cannot be reached.

        Examples
        --------
        >>> import dalenius as dp
        >>> s = dp.connect("https://console.example.org", token="...", dataset="people")  # doctest: +SKIP
        >>> job = s.submit(s.release, s.table.agg(n=dp.count()), dp.ZCDP(0.01))           # doctest: +SKIP
        >>> job.state                                                                     # doctest: +SKIP
        'running'
        >>> job.result().to_pandas()                                                      # doctest: +SKIP
        """
        name = ask if isinstance(ask, str) else getattr(ask, "__name__", None)
        mine = isinstance(ask, str) or getattr(ask, "__self__", None) is self
        if name not in ASKING or not mine:
            raise InvalidParameter.of(
                "ask",
                f"ask is {shown(ask)}; it must be one of this session's ways to ask, as s.release: "
                f"{', '.join(ASKING)}.",
            )
        sending = self.account.sending()
        asking = self._asking(sending)
        try:
            found = getattr(asking, name)(*given, **named)
        except Sent as sent:
            return Job(
                self.account,
                sent,
                lambda told: getattr(self._asking(sending.answered(told)), name)(*given, **named),
            )
        return Job.on_record(self.account, found)

    def continual(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: a feed needs a session on the data."""
        raise not_here(
            "a feed (`continual`)",
            "ask for each period as it is over, by release(...) with a filter, or ask the steward, whose session on "
            "the data can keep one",
        )

    @property
    def privacy_report(self) -> NoReturn:
        """Refused: what everything cost one person is told by whoever has the ledger."""
        raise not_here(
            "a privacy report of all that was released",
            f"those that the steward published are at {self.account.line.url}/reports; others need the ledger, which "
            "the steward has",
        )

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

    def _evaluating(
        self, model: Any, features: Any, target: Any, paid: Guarantee, bins: int, table: Table | None
    ) -> Any:
        from dalenius.learn.saved import told_model

        made = super()._evaluating(model, features, target, paid, bins, table)
        content = self._content("evaluate", dict.fromkeys(named_columns("features", features)), target, table)
        told = {**content, "model": told_model(model), "bins": made.bins, "budget": paid.record()}
        self.account.remember(made.question, told)
        return made

    def _synthesis(
        self,
        columns: Any,
        paid: Guarantee,
        bins: int,
        private_bins: Iterable[str],
        marginals: Any,
        table: Table | None,
    ) -> Any:
        listed, hidden = _held(columns), _held(private_bins)
        sets = synthetic_columns.marginals_record(marginals)
        made = super()._synthesis(listed, paid, bins, hidden, sets, table)
        content: dict[str, JSON] = {
            "kind": "synthesize",
            "columns": synthetic_columns.columns_record(listed),
            "budget": paid.record(),
            "bins": bins,
            "private_bins": [hidden] if isinstance(hidden, str) else hidden,
            "marginals": sets,
        }
        self.account.remember(
            made.question, content if table is None else {**content, "table": table.record()}
        )
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


def _held(given: Any) -> Any:
    """What is looked at twice: an iterator would be empty the second time."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, Mapping | str) else given
