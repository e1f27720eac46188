"""A loss as a notebook shows it: a few numbers, and the errors that an attack must make.

Every number is a certified bound; a loss whose numbers take long is shown with those that were ready in time.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from dalenius.calculus.explain import percent
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.decimals import rounded_up
from dalenius.core.notebook import shortened, table

if TYPE_CHECKING:
    from dalenius.calculus.loss import Loss

DELTAS = (1e-5, 1e-9)
PATIENCE = 0.25
"""Seconds after which nothing more is asked of the loss."""
LEVELS = (
    0.0,
    0.0005,
    0.002,
    0.005,
    0.01,
    0.02,
    0.04,
    0.07,
    0.11,
    0.16,
    0.22,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1.0,
)
SIZE = 150


def loss_html(loss: Loss) -> str:
    """A table and a picture."""
    started = time.monotonic()
    who = "one record more or less" if loss.adjacency is ADD_REMOVE else "one record replaced"
    rows = [("release", loss.expression), ("neighbours", who)]
    views: list[tuple[str, Callable[[], str]]] = [
        *((f"epsilon at delta {delta:g}", partial(_epsilon, loss, delta)) for delta in DELTAS),
        ("a guess who is in is right", lambda: f"at most {percent((1 + loss.membership_advantage()) / 2)}"),
        ("found at 1 % false alarms", lambda: f"at most {percent(loss.power(0.01))}"),
    ]
    for name, view in views:
        if time.monotonic() - started > PATIENCE:
            rows.append((name, "takes longer; ask the loss"))
        else:
            rows.append((name, view()))
    quick = (time.monotonic() - started) * len(LEVELS) / len(views) < 2 * PATIENCE
    return table(rows) + (_picture([loss.power(level) for level in LEVELS]) if quick else "")


def cost_rows(loss: Loss, delta: float = DELTAS[0]) -> list[tuple[str, str]]:
    """What a release costs, for tables about something else: the loss, and epsilon from above."""
    return [
        ("costs", shortened(loss.expression)),
        (f"epsilon at delta {delta:g}", f"at most {_epsilon(loss, delta)}"),
    ]


def _epsilon(loss: Loss, delta: float) -> str:
    return f"{rounded_up(loss.epsilon(delta), 4)}"


def _picture(powers: list[float]) -> str:
    """Who is found among those in the data, by how many innocents are accused: below the line is what attacks reach."""
    points = " ".join(
        f"{8 + SIZE * level:.1f},{8 + SIZE * (1 - power):.1f}"
        for level, power in zip(LEVELS, powers, strict=True)
    )
    side, end = SIZE + 16, SIZE + 8
    said = html.escape("The most that an attack finds of those in the data, by its false alarms")
    return (
        f'<svg role="img" aria-label="{said}" width="{side}" height="{side}" viewBox="0 0 {side} {side}">'
        f"<title>{said}</title>"
        f'<rect x="8" y="8" width="{SIZE}" height="{SIZE}" fill="none" stroke="currentColor" stroke-opacity=".3"/>'
        f'<polygon points="8,{end} {points} {end},{end}" fill="#2f6f9f" fill-opacity=".18"/>'
        f'<line x1="8" y1="{end}" x2="{end}" y2="8" stroke="currentColor" stroke-opacity=".4" stroke-dasharray="3 3"/>'
        f'<polyline points="{points}" fill="none" stroke="#2f6f9f" stroke-width="2"/></svg>'
    )
