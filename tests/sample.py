"""A sample of long lists of cases: `make test` runs every third one, DALENIUS_WHOLE=1 all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


WHOLE = bool(os.environ.get("DALENIUS_WHOLE"))


def sampled(cases: Iterable[T]) -> list[T]:
    return list(cases) if WHOLE else list(cases)[::3]


def fewer(trials: int) -> int:
    """A third of the trials of an audit that must stay within a claim: false alarms do not depend on their number."""
    return trials if WHOLE else max(trials // 3, min(trials, 300))
