"""What was meant by a word that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 12
"""Names listed in a message; more would be a wall of text."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'income'? There are ...`: the end of a sentence about a word that is not known.

    >>> nearest("incom", ["age", "income"])
    "did you mean 'income'? There are 'age', 'income'"
    """
    names = list(dict.fromkeys(known))
    lower = {name.lower(): name for name in names}
    close = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    listed = ", ".join(map(repr, names[:MOST])) + (
        f" and {len(names) - MOST} more" if len(names) > MOST else ""
    )
    if not names:
        return "there are none"
    return f"did you mean {lower[close[0]]!r}? There are {listed}" if close else f"there are {listed}"
