"""Questions asked one at a time, each chosen after the answers before it, until the answers are used up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dalenius.mechanisms.comparison import Comparison
from dalenius.mechanisms.doubles import real, reals


class Stopped(RuntimeError):
    """A watch has given the last answer it had."""


class Watch:
    """Answers "is this value at or above the threshold?" until it has said yes as often as it may.

    Made by `AboveThreshold.start` and `SparseVector.start`, whose loss covers everything one watch says. It
    cannot be copied or saved: two copies would share their secret noise and be paid for once.
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
        self._renew()

    def _renew(self) -> None:
        self._noisy = self._threshold + int(self._comparison.noisy_thresholds(1)[0])

    @property
    def stopped(self) -> bool:
        """Whether the last yes has been said."""
        return self._left == 0

    @property
    def asked(self) -> int:
        """How many questions have been answered."""
        return self._asked

    def ask(self, value: Any) -> Any:
        """True or False; with numbers, a noisy value or None. Nothing more after the last yes."""
        if self.stopped:
            raise Stopped("this watch has stopped; start another one, which costs as much again.")
        unit = int(self._comparison.units(reals("value", [value]))[0])
        self._asked += 1
        above = unit + int(self._comparison.noisy(1)[0]) >= self._noisy
        if above:
            self._left -= 1
            if self._fresh and self._left:
                self._renew()
        if self._number is None:
            return above
        return self._number(real("value", value)) if above else None

    def __repr__(self) -> str:
        return f"Watch(asked={self._asked}, left={self._left})"

    def _once(self, *_: object) -> NoReturn:
        raise TypeError("a watch cannot be copied or saved; start another one, which costs as much again.")

    __copy__ = __deepcopy__ = __reduce_ex__ = _once
