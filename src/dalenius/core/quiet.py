"""Nothing is said while private rows are looked at: a warning that one row caused would tell of it.

Filters of warnings belong to the whole process: any thread may put another one first, and whoever leaves a
`catch_warnings` puts back those that were there before. So there is one filter of ours, always the same, which takes
all warnings while anybody looks, and none otherwise; and the list of filters is one in which it is the first, whatever
`warnings` puts there, as it is in every copy that `catch_warnings` takes.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


def beyond_floats(function: Callable[P, T]) -> Callable[P, T]:
    """A function in which what leaves the range of floats does so in the safe direction, or is clipped: nothing to warn
    of, and of a row it would tell.

    With an `errstate` of its own for each call: before NumPy 2 one that is entered again forgets what was before it.
    """

    @wraps(function)
    def silent(*given: P.args, **more: P.kwargs) -> T:
        with np.errstate(all="ignore"):
            return function(*given, **more)

    return silent


class _WhileSomebodyLooks:
    """What `warnings` takes for the pattern of a message."""

    pattern = "(?!)"
    """For who copies filters by what they say, as scikit-learn does for its workers: the copy takes no warning."""

    def match(self, text: str) -> bool:
        return _inside > 0


_FILTER: Any = ("ignore", _WhileSomebodyLooks(), Warning, None, 0)
_lock = threading.Lock()
_inside = 0
_here = threading.local()


@contextmanager
def quiet() -> Iterator[None]:
    """No warning is shown, kept or raised meanwhile, whatever the filters are.

    >>> import warnings
    >>> with quiet():
    ...     warnings.warn("of a row")
    """
    if getattr(sys.flags, "context_aware_warnings", False):  # there every thread has filters of its own
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
        return
    _count(1)  # interrupted just after it: silent for ever, rather than ever heard
    try:
        _put_first()
        with np.errstate(all="ignore"):
            yield
    finally:
        _count(-1)


def _count(more: int) -> None:
    global _inside
    _here.inside = getattr(_here, "inside", 0) + more
    with _lock:
        _inside += more


class _Filters(list[Any]):
    """Filters of warnings, ours before all others: after `simplefilter`, after `resetwarnings`, and in every copy.

    Whoever changes the list changes the filters after ours, and the first is whichever somebody else put first.
    """

    def __init__(self, filters: Iterable[Any]) -> None:
        super().__init__([_FILTER, *(one for one in filters if one is not _FILTER)])

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return _Filters(found) if isinstance(at, slice) else found

    def insert(self, at: Any, value: Any) -> None:
        super().insert(max(at if at >= 0 else at + len(self), 1), value)


def _of_others(name: str) -> Callable[..., Any]:
    """A method of lists for the filters after ours. What it makes of them takes their place at once: at no moment is
    ours not there."""

    def method(self: _Filters, *given: Any, **more: Any) -> Any:
        others = [one for one in self if one is not _FILTER]
        found = getattr(others, name)(*given, **more)
        list.__setitem__(self, slice(None), _Filters(others))
        return found

    return method


for _name in ("__setitem__", "__delitem__", "clear", "pop", "remove", "reverse", "sort"):
    setattr(_Filters, _name, _of_others(_name))


def _put_first() -> None:
    if not isinstance(warnings.filters, _Filters) or next(iter(warnings.filters), None) is not _FILTER:
        warnings.filters = _Filters(warnings.filters)


def _in_child() -> None:
    """After a fork another thread that held the lock, or was inside, is not here to leave."""
    global _lock, _inside
    _lock, _inside = threading.Lock(), getattr(_here, "inside", 0)


_put_first()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
