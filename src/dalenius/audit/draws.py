"""Many independent releases of one input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dalenius.calculus.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism

Release = Callable[..., Any]


def draws(mechanism: Mechanism | Release, value: Any, times: int, batched: bool) -> Sequence[Any]:
    """`times` independent outputs: by `releases(value, times)` where there is one, by a loop otherwise."""
    if isinstance(mechanism, Mechanism):
        drawn = mechanism.releases(value, times)
    elif batched:
        drawn = mechanism(value, times)
    else:
        return [mechanism(value) for _ in range(times)]
    if len(drawn) != times:
        raise InvalidParameter(
            f"{times} releases were asked for and {len(drawn)} came back; a batch must hold one output per "
            "trial along its first axis."
        )
    return drawn
