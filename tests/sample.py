"""A sample of long lists of cases: `make test` runs every second one, DALENIUS_WHOLE=1 all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def sampled(cases: Iterable[T]) -> list[T]:
    return list(cases) if os.environ.get("DALENIUS_WHOLE") else list(cases)[::2]
