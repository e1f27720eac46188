"""Text from elsewhere on a screen: a key that came to light in the data is anybody's words."""

from __future__ import annotations


def printable(text: str, keeping: str = "") -> str:
    r"""Without what a terminal obeys, or what turns the direction of a line: these as \x1b.

    >>> print(printable("red \x1b[31m"))
    red \x1b[31m
    """
    return "".join(
        c if c.isprintable() or c in keeping else c.encode("unicode_escape").decode() for c in text
    )
