"""Nothing is said while private rows are looked at, in whatever thread, and all is as it was afterwards."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from dalenius.core import quiet as room
from dalenius.core.quiet import quiet


def filters() -> list[object]:
    """All but ours, which stays and says nothing when nobody looks."""
    return [one for one in warnings.filters if one is not room._FILTER]


@pytest.mark.filterwarnings("error")
def test_warnings_are_neither_heard_nor_errors() -> None:
    with quiet():
        warnings.warn("of a row", RuntimeWarning, stacklevel=1)
        assert np.isnan(np.zeros(1) / np.zeros(1)).all()
        with quiet():
            warnings.warn("of a row", UserWarning, stacklevel=1)
        warnings.warn("of a row", UserWarning, stacklevel=1)
    with pytest.raises(UserWarning):
        warnings.warn("of nobody", UserWarning, stacklevel=1)


def test_the_last_thread_puts_filters_back() -> None:
    """With a `catch_warnings` in each, the first to leave would end the silence of all others."""
    before, met, heard = filters(), threading.Barrier(2, timeout=30), []

    def look(first: bool) -> None:
        with quiet():
            met.wait()
            if not first:
                met.wait()  # the other has left by now
                warnings.warn("of a row", UserWarning, stacklevel=1)
        if first:
            met.wait()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inside = filters()
        threads = [threading.Thread(target=look, args=(first,)) for first in (True, False)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        heard += [str(one.message) for one in caught]
        assert filters() == inside
    assert heard == []
    assert filters() == before
    assert room._inside == 0


def test_it_ends_with_an_error_too() -> None:
    before = filters()
    with pytest.raises(KeyError), quiet():
        raise KeyError
    assert filters() == before
    assert room._inside == 0


@pytest.mark.parametrize("action", ["error", "always"])
def test_nobody_else_who_leaves_ends_the_silence(action: Literal["error", "always"]) -> None:
    """Another thread went into a `catch_warnings` before somebody looked, and leaves it meanwhile; and the other way
    round, the silence is not left behind."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter(action)
        with quiet():
            pass
        other = warnings.catch_warnings()
        other.__enter__()
        warnings.simplefilter("default")
        with quiet():
            other.__exit__(None, None, None)
            warnings.warn("of a row", UserWarning, stacklevel=1)
            other = warnings.catch_warnings()
            other.__enter__()
            warnings.warn("of a row", UserWarning, stacklevel=1)
        other.__exit__(None, None, None)
        assert heard == []
        if action == "error":
            with pytest.raises(UserWarning):
                warnings.warn("of nobody", UserWarning, stacklevel=1)
        else:
            warnings.warn("of nobody", UserWarning, stacklevel=1)
            assert [str(one.message) for one in heard] == ["of nobody"]


@pytest.mark.parametrize("action", ["error", "always"])
def test_nobody_else_who_comes_or_goes_ends_the_silence(action: Literal["error", "always"]) -> None:
    """Whatever the filters were before, and whatever another thread does to them meanwhile."""
    with warnings.catch_warnings(record=True) as heard:
        room._put_first()  # as it was when dalenius was imported, but for the runner of tests
        warnings.simplefilter(action)
        other = warnings.catch_warnings()
        other.__enter__()
        with quiet():
            other.__exit__(None, None, None)  # to filters that nobody has looked with yet
            warnings.warn("of a row", UserWarning, stacklevel=1)
            with warnings.catch_warnings():
                for change in (
                    lambda: warnings.simplefilter(action),
                    lambda: warnings.filterwarnings(action, message="of"),
                    warnings.resetwarnings,
                    lambda: warnings.simplefilter(action, append=True),
                ):
                    change()
                    warnings.warn("of a row", UserWarning, stacklevel=1)
        assert heard == []
        warnings.resetwarnings()
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            warnings.warn("of nobody", UserWarning, stacklevel=1)


def test_threads_that_are_started_inside_are_silent_too() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with quiet():
            thread = threading.Thread(target=lambda: warnings.warn("of a row", UserWarning, stacklevel=1))
            thread.start()
            thread.join()
        assert heard == []


OTHER = ("default", None, UserWarning, None, 7)
CHANGES: dict[str, Callable[[Any], object]] = {
    "pop": lambda filters: filters.pop(0),
    "pop the last": lambda filters: filters.pop(),
    "del": lambda filters: filters.__delitem__(0),
    "del all": lambda filters: filters.__delitem__(slice(None)),
    "set": lambda filters: filters.__setitem__(0, OTHER),
    "clear": lambda filters: filters.clear(),
    "reverse": lambda filters: filters.reverse(),
    "sort": lambda filters: filters.sort(key=lambda one: one[0]),
    "remove": lambda filters: filters.remove(filters[-1]),
    "insert": lambda filters: filters.insert(-100, OTHER),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_who_changes_the_filters_changes_their_own(change: Callable[[Any], object]) -> None:
    """As if ours were not among them: whoever put one first takes that away, and no other thread ends the silence."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.simplefilter("error")
        own = filters()
        with quiet():
            change(warnings.filters)
            warnings.warn("of a row", UserWarning, stacklevel=1)
        change(own)
        assert filters() == own
        assert heard == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_counts_those_who_are_in_it() -> None:
    """Another thread looks while this one forks: in the child it does not, and only its own silence counts there."""
    met, left = threading.Event(), threading.Event()

    def look() -> None:
        with quiet():
            met.set()
            left.wait(30)

    thread = threading.Thread(target=look)
    thread.start()
    met.wait(30)
    child = os.fork()
    if child == 0:
        outside = room._inside
        with quiet():
            inside = room._inside
        os._exit(10 * inside + outside)
    left.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10
    assert room._inside == 0
