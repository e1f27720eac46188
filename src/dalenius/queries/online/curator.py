"""The one who holds the data and answers, until the updates are used up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Mechanism, Stopped, Watch
from dalenius.queries.domain import Domain
from dalenius.queries.online.hypothesis import Hypothesis
from dalenius.queries.online.linear_query import RESOLUTION, LinearQuery, Marginals, linear_query

FARTHEST = 1 << 50
"""Differences beyond this, in steps, are taken as this: so that they are doubles exactly."""
SMALLEST_BATCH, LARGEST_BATCH = 16, 1024


class OnlineAnswer(NamedTuple):
    """What `Curator.ask` answers.

    Parameters
    ----------
    value
        How many rows the query counts, estimated.
    measured
        Whether the data were asked for it (and the hypothesis corrected); else the hypothesis knew well enough.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"age": 4})
    >>> pmw = dp.queries.PrivateMultiplicativeWeights(domain, dp.PureDP(1.0), n=100)
    >>> pmw.open({"age": [0, 1, 2, 3] * 25}).ask({"age": [0, 1]}).measured
    False
    """

    value: float
    measured: bool


class Curator:
    """Answers linear queries on one table, each chosen after the answers before it.

    Made by `PrivateMultiplicativeWeights.open`, whose loss covers everything one curator ever says. It cannot be
    copied or saved, and a forked child may not ask it. Threads may share one; they are answered one after the other.
    While a query is being answered the curator counts as stopped, and if that is cut short it stays so. Once it has
    stopped, its `histogram` still answers everything, at no cost and without a promise about queries not asked yet.

    Parameters
    ----------
    domain
        The cells.
    counts
        How many rows each has.
    total
        The number of rows that the hypothesis is scaled to; public.
    watch
        Compares the error of the hypothesis with the threshold.
    measure
        Releases the error of the hypothesis on a query found above.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"sex": ["F", "M"], "age": 8})
    >>> people = {"sex": ["F"] * 70_000 + ["M"] * 30_000, "age": [5] * 100_000}
    >>> pmw = dp.queries.PrivateMultiplicativeWeights(domain, dp.PureDP(1.0), n=100_000)
    >>> curator = pmw.open(people)
    >>> answer = curator.ask({"sex": "F", "age": [4, 5, 6]})
    >>> abs(answer.value - 70_000) < pmw.predicted_error(100_000)
    True
    """

    def __init__(
        self,
        domain: Domain,
        counts: Ints,
        total: int,
        watch: Watch,
        measure: Mechanism,
    ) -> None:
        self._domain, self._counts, self._total = domain, Marginals(counts), total
        self._watch, self._measure = watch, measure
        self._hypothesis = Hypothesis(domain.shape)
        self._updates = 0
        self._open = True
        # Whoever asks again from within an answer (a signal, say) finds the curator stopped, and does not wait.
        self._lock = threading.RLock()

    @property
    def stopped(self) -> bool:
        """Whether it has given the last answer it had."""
        return not self._open or self._watch.stopped

    @property
    def asked(self) -> int:
        """How many queries have been answered."""
        return self._watch.asked

    @property
    def updates(self) -> int:
        """How many queries were measured."""
        return self._updates

    @property
    def total(self) -> int:
        """The number of rows, as given or measured."""
        return self._total

    def histogram(self) -> Reals:
        """The hypothesis so far: an estimate of the count of every cell, at no further cost.

        Returns
        -------
        ndarray
            Counts in the shape of the domain, not rounded.
        """
        return self._hypothesis.probabilities * self._total

    def ask(self, query: Any) -> OnlineAnswer:
        """How many rows a query counts.

        Parameters
        ----------
        query
            A mapping from names of columns to a value or a list of values, or for bins an interval (low, high) between
            two edges, which counts the rows that have one of them in each of these columns; or an array in the
            domain's shape with a weight from 0 to 1 for every cell (rounded to multiples of 1/1024).

        Returns
        -------
        OnlineAnswer
            The estimate, and whether it was measured.

        Raises
        ------
        Stopped
            If the last answer has been given, or in another process.
        InvalidParameter
            If it is no such query.
        """
        return self._answered([linear_query(self._domain, query)])[0]

    def ask_many(self, queries: Iterable[Any]) -> list[OnlineAnswer]:
        """The answers to one query after the other, as `ask` gives them, as long as there are any.

        The law is the same as that of asking one at a time; it is faster.

        Parameters
        ----------
        queries
            As for `ask`; an array holds one query in each row.

        Returns
        -------
        list
            The answers, fewer than queries if the curator stops before.

        Raises
        ------
        Stopped
            If it has stopped before the first, or in another process.
        InvalidParameter
            If one of them is no such query; then none is answered.
        """
        if isinstance(queries, dict | str) or not isinstance(queries, Iterable):
            raise InvalidParameter("queries must be a list of queries; ask(query) takes a single one.")
        wanted = [linear_query(self._domain, query) for query in queries]
        answers: list[OnlineAnswer] = []
        size = SMALLEST_BATCH
        while len(answers) < len(wanted):
            try:
                batch = self._answered(wanted[len(answers) : len(answers) + size])
            except Stopped:
                if answers:
                    break
                raise
            size = max(SMALLEST_BATCH, size // 2) if batch[-1].measured else min(LARGEST_BATCH, size * 2)
            answers += batch
        return answers

    def _answered(self, queries: list[LinearQuery]) -> list[OnlineAnswer]:
        """The answers up to the first that is measured."""
        if self._watch.forked:  # before the lock, which nobody here may ever give back
            raise Stopped(
                "this curator was opened in another process, which may still ask it; open another one here, which "
                "costs as much again."
            )
        with self._lock:
            if self.stopped:
                raise Stopped("the curator has stopped; open another one, which costs as much again.")
            self._open = False
            guesses, errors = self._compared(queries)
            first = self._watch.first_above(np.abs(errors))
            easy = guesses if first is None else guesses[:first]
            answers = [OnlineAnswer(float(value), False) for value in easy]
            if first is not None:
                answers.append(self._measured(queries[first], guesses[first], errors[first]))
            self._open = True
        return answers

    def _compared(self, queries: list[LinearQuery]) -> tuple[Reals, Reals]:
        """What the hypothesis says, and the exact difference of the truth from that: both in rows, on the grid."""
        said = [round(self._hypothesis.share(query) * self._total * RESOLUTION) for query in queries]
        true = [query.exact(self._counts.of(query.axes)) for query in queries]
        errors = [max(-FARTHEST, min(FARTHEST, a - b)) for a, b in zip(true, said, strict=True)]
        return np.array(said, dtype=np.float64) / RESOLUTION, np.array(errors, dtype=np.float64) / RESOLUTION

    def _measured(self, query: LinearQuery, guess: float, error: float) -> OnlineAnswer:
        noisy = float(self._measure.release(float(error)))
        self._hypothesis.step(query, noisy / self._total)
        self._updates += 1
        return OnlineAnswer(float(guess) + noisy, True)

    def __repr__(self) -> str:
        return f"Curator(asked={self.asked}, updates={self._updates}, stopped={self.stopped})"

    def _once(self, *_: object) -> NoReturn:
        raise TypeError("a curator cannot be copied or saved; open another one, which costs as much again.")

    __copy__: Callable[..., NoReturn] = _once
    __deepcopy__: Callable[..., NoReturn] = _once
    __reduce_ex__: Any = _once
