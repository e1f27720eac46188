"""Text inside a table that is handed on: keys that were discovered in the data are anybody's words."""

from __future__ import annotations

import html
import re

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
    escaped = html.escape(" ".join(cell.split()), quote=False)
    return re.sub(r"([\\|*_`\[\]])", r"\\\1", escaped)
