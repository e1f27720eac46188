"""Which of the known words is meant, and the end of a message about one that is not known."""

from __future__ import annotations

from collections.abc import Iterable

from dalenius.core.nearest import meant

MOST = 12
"""Names listed in a message; more would be a wall of text."""


def alike(word: str, known: Iterable[str]) -> list[str]:
    """The words that one can stand for: that exactly, or else all that differ from it in capitals only.

    >>> alike("Age", ["age", "AGE"]), alike("age", ["age", "AGE"])
    (['age', 'AGE'], ['age'])
    """
    names = list(known)
    return [word] if word in names else [name for name in names if name.lower() == word.lower()]


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
