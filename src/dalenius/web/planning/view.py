"""What is known of a plan, as JSON and in words."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, Field

from dalenius.calculus.explain import Known, beliefs, percent, sentences
from dalenius.core.decimals import rounded_up
from dalenius.web.planning.clerk import State
from dalenius.web.planning.desk import View
from dalenius.web.planning.plans import text
from dalenius.web.planning.sketch import area, curve, power

NOTES: dict[State, str] = {
    "working": "This is a first, safe bound; a finer one follows.",
    "whole": "",
    "hopeless": "So large a loss promises nothing; it is not computed more finely.",
    "given up": "This is a safe bound; a finer one takes longer than a planner should. Ask dalenius.losses.",
}


class Belief(BaseModel):
    """How sure an attacker was, and can become."""

    before: str = Field(description="How sure, without the release.")
    after: str = Field(description="How sure, at most, with it.")


class Planned(BaseModel):
    """What a planned release would promise. Upper bounds are rounded up, and null where there is none."""

    plan: dict[str, str | int | float] = Field(description="the plan as it was understood, kind included")
    link: str = Field(description="the page that shows this plan")
    release: str = Field(description="the loss, as dalenius.losses makes it")
    said: str = Field(description="what would be released, in words")
    delta: float = Field(description="the chance that the epsilon leaves out")
    delta_text: str = Field(description="the same as text")
    epsilon: float | None = Field(description="an upper bound on the least epsilon at this delta")
    epsilon_at_least: float | None = Field(description="a lower bound on it")
    epsilon_text: str = Field(description="the upper bound for people, rounded up; none where there is none")
    advantage: float = Field(description="by how much seeing the release raises the chance to tell who is in")
    advantage_text: str = Field(description="the same in percent, rounded up")
    guess_text: str = Field(description="how often the best guess whether somebody is in is right, at most")
    power_text: str = Field(description="the most an attack finds that accuses 1 in 100 by mistake")
    words: list[str] = Field(description="what it promises, and what an attacker gains")
    beliefs_lead: str = Field(description="the sentence before the beliefs")
    beliefs: list[Belief] = Field(description="how sure an attacker can become that somebody is in")
    curve: list[tuple[float, float]] = Field(
        description="corners (alpha, beta) of a lower bound on the errors of every attack; straight between them"
    )
    path: str = Field(description="the same as an SVG path in a square of 400, the origin below left")
    profile: list[tuple[float, float, float]] = Field(
        description="epsilon, and lower and upper bounds on its delta"
    )
    complete: bool = Field(description="whether asking again tells nothing more")
    note: str = Field(description="how final this is")


def told(view: View) -> dict[str, Any]:
    """Everything the page shows, the content of `Planned`."""
    plan, points, epsilon = view.plan, view.known.points, view.known.epsilon
    corners = curve(points)
    at_zero = points.get(0.0)
    advantage = at_zero.upper if at_zero is not None else 1.0
    known = Known(epsilon.upper, advantage, power(points, 0.01), area(corners), plan.delta, epsilon.upper)
    *lines, leading = sentences(plan.loss, plan.delta, known)
    return {
        "plan": {"kind": plan.kind, **plan.parameters()},
        "link": f"/plan?{plan.query()}",
        "release": plan.loss.expression,
        "said": plan.said(),
        "delta": plan.delta,
        "delta_text": text(plan.delta),
        "epsilon": _finite(epsilon.upper),
        "epsilon_at_least": _finite(epsilon.lower),
        "epsilon_text": rounded_up(epsilon.upper, 4) if math.isfinite(epsilon.upper) else "none",
        "advantage": advantage,
        "advantage_text": percent(advantage),
        "guess_text": percent((1 + advantage) / 2),
        "power_text": percent(known.power),
        "words": lines,
        "beliefs_lead": leading.replace("\n", " "),
        "beliefs": [{"before": before, "after": after} for before, after in beliefs(known)],
        "curve": [list(corner) for corner in corners],
        "path": "M" + " L".join(f"{400 * alpha:.2f} {400 * (1 - beta):.2f}" for alpha, beta in corners),
        "profile": [[each, found.lower, found.upper] for each, found in sorted(points.items())],
        "complete": view.state != "working",
        "note": NOTES[view.state],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
