"""Arguments of the wrong kind for attacks: errors of ours, and no memory for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius.audit import attacks
from dalenius.errors import DaleniusError

ODD: list[Any] = [None, -1, [], "", math.nan, 10**400, object(), ["a", None], [[]], {}, 10**12]
RATINGS = np.ones((2, 3))
CALLS: dict[str, Callable[[Any], object]] = {
    "subsets": attacks.differencing_subsets,
    "differencing": lambda odd: attacks.differencing(odd, 4),
    "exhaustive": lambda odd: attacks.exhaustive_reconstruction(odd, 4),
    "hadamard": lambda odd: attacks.hadamard_reconstruction(odd, 4),
    "linear": lambda odd: attacks.linear_reconstruction(odd, np.eye(4)),
    "repeated": attacks.repeated_question,
    "tracing": lambda odd: attacks.tracing(odd, np.zeros((3, 2)), np.zeros(2)),
    "linkage": lambda odd: attacks.linkage(odd, RATINGS),
    "days": lambda odd: attacks.linkage(RATINGS, RATINGS, days=[odd]),  # type: ignore[arg-type]
    "fit": lambda odd: attacks.loss_threshold(odd, np.zeros((3, 2)), np.zeros(3)),
    "tables": attacks.published_counts,
    "guess": attacks.Guesses,
    "scores": attacks.Membership,
    "columns": lambda odd: attacks.PublishedTable(odd, ((),), (1,), (1.0,)),
    "keys": lambda odd: attacks.PublishedTable(("a",), odd, (1,), (1.0,)),
    "low": lambda odd: attacks.PublishedTable(("a",), (("x",),), odd, (1.0,)),
    "high": lambda odd: attacks.PublishedTable(("a",), (("x",),), (1,), odd),
}


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:12])
@pytest.mark.parametrize("call", CALLS)
def test_an_argument_of_the_wrong_kind_is_an_error_of_ours(call: str, odd: Any) -> None:
    with pytest.raises(DaleniusError):
        CALLS[call](odd)
