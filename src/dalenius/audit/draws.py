"""Many independent releases of one input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dalenius.errors import InvalidParameter

Release = Callable[..., Any]


def checked(drawn: Sequence[Any], times: int) -> Sequence[Any]:
    """What came back, if it is one output per trial."""
    if len(drawn) != times:
        raise InvalidParameter(
            f"{times} releases were asked for and {len(drawn)} came back; a batch must hold one output per "
            "trial along its first axis."
        )
    return drawn
