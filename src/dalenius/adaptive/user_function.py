"""Functions that users write, and that are given the data: what they say when they fail stays here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dalenius.core import checks
from dalenius.core.sealed import sealed
from dalenius.errors import FunctionFailed, InvalidParameter

T = TypeVar("T")

FAILED = (
    "a function that was given the data failed, or returned what it must not. Why is withheld, since it may depend on "
    "the data; nothing was released, but that it failed is itself something about the data. Write it so that it fails "
    "on none."
)


def checked_function(name: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise InvalidParameter.of(name, f"{name} is {checks.shown(value)}; it must be a function.")


def asked(action: Callable[..., T], *data: Any) -> T:
    """action(*data), what a user's function says and how it is read; whatever fails, the same error."""
    return sealed(lambda: action(*data), FunctionFailed(FAILED))
