"""Running what may fail because of the data, and telling nothing but that it did."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def sealed(action: Callable[[], T], failure: Exception) -> T:
    """What the action returns; any exception becomes `failure`, without a cause and without a context.

    KeyboardInterrupt and its like pass: they come from outside, not from the data.
    """
    try:
        return action()
    except Exception:
        pass
    # Outside the handler: the original must not hang on as the context of this one.
    raise failure
