"""Questions asked one at a time, each chosen after the answers before it, until the answers are used up."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from dalenius.mechanisms._support.float_arrays import reals
from dalenius.mechanisms._support.noisy_comparison import Comparison


class Stopped(RuntimeError):
    """A watch has given the last answer it had.

    Examples
    --------
    >>> from dalenius.mechanisms import AboveThreshold, Stopped
    >>> watch = AboveThreshold(sensitivity=1, epsilon=1.0).start(threshold=0)
    >>> watch.ask(1000)
    True
    >>> try:
    ...     watch.ask(1000)
    ... except Stopped:
    ...     print("no more answers")
    no more answers
    """


_home = object()
"""The process a watch was started in: a forked child has another one."""


def _moved() -> None:
    global _home
    _home = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_moved)


class Watch:
    """Answers "is this value at or above the threshold?" until it has said yes as often as it may.

    Made by `AboveThreshold.start` and `SparseVector.start`, whose loss covers everything one watch says. It
    cannot be copied or saved, and a forked child may not ask it: two copies would share their secret noise
    and be paid for once. Threads may share one; they are answered one after the other. While a question is
    being answered the watch counts as stopped, and if answering is cut short it stays so.

    Parameters
    ----------
    comparison
        The noise on threshold and values.
    threshold
        What each value is compared with; public.
    positives
        How often the answer may be yes.
    fresh
        Whether the threshold gets new noise after each yes.
    number
        Releases a value that was found above, with noise of its own; None to answer with yes and no.

    Examples
    --------
    >>> from dalenius.mechanisms import SparseVector
    >>> watch = SparseVector(sensitivity=1, epsilon=1.0, count=2).start(threshold=500)
    >>> watch.answers([0, 2000, 0, 3000, 4000])
    [False, True, False, True]
    """

    def __init__(
        self,
        comparison: Comparison,
        threshold: float,
        positives: int,
        fresh: bool = False,
        number: Callable[[float], float] | None = None,
    ) -> None:
        self._comparison, self._fresh, self._number = comparison, fresh, number
        self._threshold = int(comparison.units(reals("threshold", [threshold]))[0])
        self._left = positives
        self._asked = 0
        self._home, self._process = _home, os.getpid()
        # Whoever asks again from within an answer (a signal, say) finds the watch stopped, and does not wait.
        self._lock = threading.RLock()
        self._renew()

    def _renew(self) -> None:
        self._noisy = self._threshold + int(self._comparison.noisy_thresholds(1)[0])

    @property
    def stopped(self) -> bool:
        """Whether the last yes has been said."""
        return self._left <= 0 or self.forked

    @property
    def forked(self) -> bool:
        """Whether this is another process than the one it was started in."""
        return self._home is not _home or self._process != os.getpid()

    @property
    def asked(self) -> int:
        """How many questions have been answered."""
        return self._asked

    def ask(self, value: Any) -> Any:
        """Whether a value reaches the threshold.

        Parameters
        ----------
        value
            A finite number.

        Returns
        -------
        bool, float or None
            Whether the value is above; where numbers are released, a noisy value or None.

        Raises
        ------
        Stopped
            If the last yes has been said, or in another process.
        InvalidParameter
            If the value is not a finite number.
        """
        return self._compared("value", [value], number=True)[0]

    def first_above(self, values: Any) -> int | None:
        """Ask for one value after the other until one is above; those after it are not asked.

        Parameters
        ----------
        values
            A sequence of finite numbers.

        Returns
        -------
        int or None
            The index of the first value found above, or None if all of them are below.

        Raises
        ------
        Stopped
            If the last yes has been said, or in another process.
        InvalidParameter
            If the values are not finite numbers.
        """
        return self._compared("values", values, number=False)[1]

    def _compared(self, name: str, values: Any, number: bool) -> tuple[Any, int | None]:
        if self.forked:  # before the lock, which nobody here may ever give back
            raise Stopped(
                "this watch was started in another process, which may still ask it; start another one here, "
                "which costs as much again."
            )
        with self._lock:
            if self._left <= 0:
                raise Stopped("this watch has stopped; start another one, which costs as much again.")
            given = reals(name, values)
            units = self._comparison.units(given)
            left, self._left = self._left, 0
            above = np.flatnonzero(units + self._comparison.noisy(len(units)) >= self._noisy)
            first = int(above[0]) if len(above) else None
            if first is not None and self._fresh and left > 1:
                self._renew()
            answer = self._answer(first is not None, float(given[0])) if number else None
            self._asked += len(units) if first is None else first + 1
            self._left = left - (first is not None)
        return answer, first

    def _answer(self, above: bool, value: float) -> Any:
        if self._number is None:
            return above
        return self._number(value) if above else None

    def answers(self, values: Any) -> list[Any]:
        """The answers to one value after the other, as long as there are any.

        Parameters
        ----------
        values
            A sequence of finite numbers.

        Returns
        -------
        list
            The answers, fewer than values if the watch stops before.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        answers: list[Any] = []
        for value in reals("values", values).tolist():
            if self.stopped:
                break
            answers.append(self.ask(value))
        return answers

    def __repr__(self) -> str:
        return f"Watch(asked={self._asked}, left={self._left})"

    def _once(self, *_: object) -> NoReturn:
        raise TypeError("a watch cannot be copied or saved; start another one, which costs as much again.")

    __copy__ = __deepcopy__ = __reduce_ex__ = _once
