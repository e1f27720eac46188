"""Text inside a table that is handed on: keys that were discovered in the data are anybody's words."""

from __future__ import annotations

import html
import re
from typing import Any

from dalenius.core.printable import printable


def key_text(part: Any) -> str:
    """A part of a key as it is shown: the end 30.0 of a bin is 30.

    >>> key_text(30.0), key_text(24.3), key_text("north"), key_text("a\\x1b")
    ('30', '24.3', 'north', 'a\\\\x1b')
    """
    return f"{part:.15g}" if isinstance(part, float) else printable(str(part))


SIGNS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""Some spreadsheets pass over blanks before them, or read the wide ones of East Asia as the narrow ones."""


def no_formula(cell: str) -> str:
    """For a spreadsheet, which computes what looks like a formula: such a text gets an apostrophe before it.

    >>> no_formula("=1+1"), no_formula(" =1+1"), no_formula("north")
    ("'=1+1", "' =1+1", 'north')
    """
    return f"'{cell}" if cell[:1] in ("\t", "\r") or cell.lstrip()[:1] in SIGNS else cell


def in_markdown(cell: str) -> str:
    """For Markdown, where it is to be nothing but text.

    >>> in_markdown("<b>|[x](y)")
    '&lt;b&gt;\\\\|\\\\[x\\\\](y)'
    """
    escaped = html.escape(printable(" ".join(cell.split())), quote=False)
    return re.sub(r"([\\|*_`\[\]])", r"\\\1", escaped)
