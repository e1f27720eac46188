"""What was meant by a word that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

SHORTEST = 3
"""Letters of a beginning that says enough."""


def meant(word: str, known: Iterable[str]) -> str | None:
    """The known word that begins like this one, or else the one that is spelled most like it; None if none is near.

    >>> meant("hours", ["house", "hours_per_week"]), meant("incom", ["age", "income"]), meant("x", ["age"])
    ('hours_per_week', 'income', None)
    """
    lower = {name.lower(): name for name in known}
    wanted = word.strip().lower()
    longer = [name for name in lower if name.startswith(wanted)] if len(wanted) >= SHORTEST else []
    close = sorted(longer, key=len)[:1] or get_close_matches(wanted, sorted(lower), n=1, cutoff=0.6)
    return lower[close[0]] if close else None
