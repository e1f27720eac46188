"""A result as a table: for a terminal, and for a notebook."""

from __future__ import annotations

import math
import textwrap
from html import escape
from typing import TYPE_CHECKING

from dalenius.calculus.loss import Loss

if TYPE_CHECKING:
    from dalenius.infer.result import Result

WIDTH = 78


def plain(result: Result, alpha: float) -> str:
    """For a terminal."""
    head, rows = _head(result), _rows(result, alpha)
    widest = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "   ".join(
            [row[0].ljust(widest[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widest[1:], strict=True))]
        )
        for row in rows
    ]
    width = max(WIDTH, *(len(line) for line in lines))
    named = [
        textwrap.fill(f"{name + ':':<14}{text}", width, subsequent_indent=" " * 14) for name, text in head
    ]
    notes = [textwrap.fill(f"- {note}", width, subsequent_indent="  ") for note in _notes(result)]
    below = [*notes, "=" * width] if notes else []
    return "\n".join(
        ["=" * width, *named, "-" * width, lines[0].rstrip(), "-" * width, *lines[1:], "=" * width, *below]
    )


def html(result: Result, alpha: float) -> str:
    """For a notebook."""
    head = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in _head(result)
    )
    first, *rows = _rows(result, alpha)
    titles = "".join(f"<th>{escape(cell)}</th>" for cell in first)
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(row[0])}</th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in _notes(result))
    return f"<table>{head}</table><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>" + (
        f"<ul>{notes}</ul>" if notes else ""
    )


def _head(result: Result) -> list[tuple[str, str]]:
    rows = []
    if result.nobs is not None:
        text = f"{result.nobs:.0f}" + (" (released with noise)" if result.nobs_noisy else "")
        rows = [("Rows", text)]
    return [("Method", result.method), ("Privacy", privacy(result.loss)), *rows]


def _rows(result: Result, alpha: float) -> list[list[str]]:
    titles = ["", "coef", "std err", "p value", f"[{_short(alpha / 2)}", f"{_short(1 - alpha / 2)}]"]
    limits, bse, pvalues = result.conf_int(alpha), result.bse, result.pvalues
    return [titles] + [
        [name, _number(value), _number(error), _chance(p, result.least_pvalue), _number(low), _number(high)]
        for name, value, error, p, (low, high) in zip(
            result.names, result.params, bse, pvalues, limits, strict=True
        )
    ]


def _notes(result: Result) -> list[str]:
    none = [] if result.interval_available else [f"No interval: {result.reason}"]
    return [*none, *result.notes]


def privacy(loss: Loss) -> str:
    """What a loss promises, in the shortest words that say all of it."""
    epsilon = loss.epsilon(0.0)
    if math.isfinite(epsilon):
        text = f"{_short(epsilon)}-DP"
    elif math.isfinite(mu := loss.gdp()):
        text = f"{_short(mu)}-GDP"
    else:
        text = f"({_short(loss.epsilon(1e-6))}, 1e-06)-DP"
    return f"{text}, {loss.adjacency.value} record"


def _short(x: float) -> str:
    return f"{x:.4g}"


def _number(x: float) -> str:
    """Five digits, and never an exponent where a reader can do without."""
    if math.isnan(x):
        return "none"
    return (
        f"{x:.5g}"
        if x == 0 or not 1e-3 <= abs(x) < 1e5
        else f"{x:.{max(0, 4 - math.floor(math.log10(abs(x))))}f}"
    )


def _chance(p: float, least: float) -> str:
    """Four digits; at the least that can be known, or can be shown, a bound."""
    if math.isnan(p):
        return "none"
    return "< 0.0001" if p < 1e-4 else f"<= {p:.4f}" if p <= least else f"{p:.4f}"
