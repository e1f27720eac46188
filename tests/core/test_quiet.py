"""Nothing is said while private rows are looked at, in whatever thread, and all is as it was afterwards."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

from dalenius.core import quiet as room
from dalenius.core.quiet import quiet


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
    before, met, heard = list(warnings.filters), threading.Barrier(2, timeout=30), []

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
        inside = list(warnings.filters)
        threads = [threading.Thread(target=look, args=(first,)) for first in (True, False)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        heard += [str(one.message) for one in caught]
        assert warnings.filters == inside
    assert heard == []
    assert warnings.filters == before
    assert room._inside == 0


def test_it_ends_with_an_error_too() -> None:
    before = list(warnings.filters)
    with pytest.raises(KeyError), quiet():
        raise KeyError
    assert warnings.filters == before
    assert room._inside == 0
