"""What a notebook shows: text as it is printed, or a small table."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

LEFT = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"


def printed(text: object) -> str:
    """The same lines as `print` gives."""
    return f"<pre>{html.escape(str(text))}</pre>"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Names on the left, what they are on the right."""
    body = "".join(
        f'<tr><th style="{LEFT};white-space:nowrap">{html.escape(name)}</th>'
        f'<td style="{LEFT}">{html.escape(text)}</td></tr>'
        for name, text in rows
    )
    return f'<table class="dalenius"><tbody>{body}</tbody></table>'


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A heading for each column, and rows below."""
    lines = [("th", head), *(("td", row) for row in rows)]
    body = "".join(
        "<tr>" + "".join(f'<{tag} style="{LEFT}">{html.escape(cell)}</{tag}>' for cell in cells) + "</tr>"
        for tag, cells in lines
    )
    return f'<table class="dalenius"><tbody>{body}</tbody></table>'


def heading(text: str) -> str:
    """A line above a table."""
    return f"<p>{html.escape(text)}</p>"


def shortened(text: str, most: int = 300) -> str:
    """The beginning of a long text."""
    return text if len(text) <= most else f"{text[: most - 3]}..."
