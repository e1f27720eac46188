"""Where the data of accounts is: no two accounts of a ledger are about the same data, which would have two budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalenius.errors import InvalidParameter, LedgerDamaged
from dalenius.tables.engines.place import Place


def read_place(content: Mapping[str, Any], dataset: str) -> Place:
    """The place that the account of a dataset holds."""
    try:
        return Place.read(content)
    except (KeyError, TypeError, AttributeError):
        raise LedgerDamaged(f"where the data of {dataset!r} is, is not written as we write it.") from None


def check_is_elsewhere(place: Place, dataset: str, known: Mapping[str, Any] | None, other: str) -> None:
    """Refuse the dataset at a place if another one's, where that is known, has some of the same data."""
    if known is not None and place.overlaps(read_place(known, other)):
        raise InvalidParameter(
            f"{place} has an account already, named {other!r}; under the name {dataset!r} it would have a second "
            f"budget. Use name={other!r} (--name)."
        )
