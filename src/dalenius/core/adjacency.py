"""Which two data sets count as neighbours."""

from __future__ import annotations

import enum

from dalenius.errors import InvalidParameter, LedgerError


class Adjacency(enum.Enum):
    """The neighbouring relation a sensitivity, a loss or a session is stated for.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.losses.gaussian(sigma=1.0, adjacency=dp.REPLACE_ONE).adjacency
    REPLACE_ONE
    """

    ADD_REMOVE = "add/remove one"
    """One record is inserted or deleted; the number of records is itself protected ("unbounded")."""

    REPLACE_ONE = "replace one"
    """One record is exchanged for another; the number of records is public ("bounded")."""

    def __repr__(self) -> str:
        return self.name


ADD_REMOVE = Adjacency.ADD_REMOVE
REPLACE_ONE = Adjacency.REPLACE_ONE

WORDS = {"add_remove": ADD_REMOVE, "replace_one": REPLACE_ONE}
"""What a relation is called in records; never changed."""


def adjacency(value: object) -> Adjacency:
    """The value as an Adjacency, or an error that names the two choices."""
    if not isinstance(value, Adjacency):
        raise InvalidParameter(
            f"adjacency is {value!r}; it must be dalenius.ADD_REMOVE or dalenius.REPLACE_ONE."
        )
    return value


def adjacency_record(adjacency: Adjacency) -> str:
    """The word for a relation in a ledger or a saved loss."""
    return next(word for word, known in WORDS.items() if known is adjacency)


def read_adjacency(word: object) -> Adjacency:
    """The relation a word stands for."""
    if not isinstance(word, str) or word not in WORDS:
        raise LedgerError(
            f"{word!r} is no neighbouring relation that this dalenius knows: install a newer dalenius."
        )
    return WORDS[word]
