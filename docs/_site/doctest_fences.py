"""Examples in docstrings become code blocks in the reference, wherever in the docstring they stand.

Markdown takes a line that starts with ">>>" for a quotation in a quotation in a quotation.
"""

from __future__ import annotations

from typing import Any

import griffe


class DoctestFences(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Put every run of lines from a prompt to the next empty line between fences."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>> "):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
