"""The end of a message about a word that is not known."""

from __future__ import annotations

from collections.abc import Iterable

from dalenius.core.nearest import meant

MOST = 12
"""Names listed in a message; more would be a wall of text."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'income'? There are ...`: the end of a sentence about a word that is not known.

    >>> nearest("incom", ["age", "income"])
    "did you mean 'income'? There are 'age', 'income'"
    """
    names = list(dict.fromkeys(known))
    if not names:
        return "there are none"
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    listed = ", ".join(map(repr, names[:MOST])) + more
    close = meant(word, names)
    return f"there are {listed}" if close is None else f"did you mean {close!r}? There are {listed}"
