"""How the budget of a regression is divided, and whether an interval can be had: from public facts alone.

In standardised coordinates of independent columns with normal errors, rows weighted with a reach of 1 have a curvature
of about TYPICAL per row in every direction. That is a guess, used to plan and for nothing else: intervals rest on the
curvature that is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtr

from dalenius.core import notebook
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.infer.regression.reach import PROBE, Probe, Weights, longest_reach
from dalenius.infer.scores.averaged_newton import Shares

TYPICAL = 0.55
"""The curvature of a row, in standardised coordinates."""
STANDS_OUT = 3.0
"""How many times sd (sqrt(p) + 1) the least eigenvalue must be expected to have for an interval to be tried."""
ROOM = 8
"""How many times the least share the curvature must be able to get for a reach beyond 1."""
SEEN = 3
"""The same, for what was seen of the rows."""


@dataclass(frozen=True, repr=False)
class Plan:
    """Shares of mu^2. `feasible` is whether an interval can be expected."""

    standardise: float
    first_scale: float
    first_bend: float
    first_steps: float
    rounds: int
    scale: float
    main: Shares
    feasible: bool
    roomy: bool
    """Whether curvature can be expected to stand out by far: columns may depend on each other."""

    def __repr__(self) -> str:
        rounds = f"{self.rounds} round{'s' * (self.rounds != 1)} of steps"
        return f"<Plan of a regression: {rounds}; {expected(self.feasible)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: how mu^2 is divided."""
        main = self.main
        shares = {
            "to standardise columns": self.standardise,
            "for the scale on the way": self.first_scale * self.rounds,
            "for the first curvature": self.first_bend,
            "for the first steps": self.first_steps,
            "for the scale": self.scale,
            "for the curvature": main.bend,
            "for the steps that count": main.steps,
            "for squared scores": main.square,
        }
        rows = [(name, f"{share:.1%} of mu^2") for name, share in shares.items() if share]
        return notebook.table([("plan", expected(self.feasible)), ("rounds", str(self.rounds)), *rows])


@dataclass(frozen=True)
class Facts:
    """What is public, or was released, when the budget is divided."""

    count: float
    mu: float
    size: int
    adjacency: Adjacency
    columns: int
    """How many columns are standardised privately, in so many looks."""
    looks: int
    scale_known: bool
    knee: float = 1.345
    probe: Probe | None = None
    """What was released about the rows, for a share of `PROBE`."""

    @property
    def double(self) -> float:
        return 1.0 if self.adjacency is ADD_REMOVE else 2.0

    @property
    def power(self) -> float:
        return max(self.count, 1.0) * self.mu

    def reach(self) -> float:
        """The longest that can be paid for."""
        return longest_reach(self.size, lambda weights: plan(self, weights).roomy, self.standard_error)

    def standard_error(self, weights: Weights) -> float:
        """What can be expected, in standardised coordinates with normal errors of scale 1, where it is largest."""
        inside = max(2 * float(ndtr(self.knee)) - 1, 1e-12)
        tail = (1 - inside) * self.knee**2
        squares = inside - 2 * self.knee * math.exp(-(self.knee**2) / 2) / math.sqrt(2 * math.pi) + tail
        sampling = squares * weights.square / max(self.count, 1.0)
        steps = plan(self, weights).main.steps
        noise = self.double * self.knee * weights.reach * math.sqrt(self.size / steps) / self.power
        seen = self.seen(weights)
        return math.sqrt(seen * sampling + noise**2) / (seen * inside * weights.curvature)

    def seen(self, weights: Weights) -> float:
        """The least curvature over that of independent columns, as far as it is known."""
        return 1.0 if self.probe is None else self.probe.least(weights)


def plan(facts: Facts, weights: Weights) -> Plan:
    """Shares of the budget for rows so weighted.

    Counts need so much that their noise is a small part of the number of rows, curvature so much that its least
    eigenvalue stands out of the noise, and what is left goes to the steps, where it shortens intervals.
    """
    size, double, power = facts.size, facts.double, facts.power
    typical = TYPICAL * weights.gain
    columns_share = 0.0
    if facts.columns:
        columns_share = min(0.2, max(double / 2 * facts.looks * facts.columns * (30 / power) ** 2, 0.03))
    counts_share = min(0.15, max(double / 2 * (25 / power) ** 2, 0.004))
    rounds = _rounds(double * weights.reach * size / (typical * power))
    left = 1 - columns_share - counts_share * (rounds + (not facts.scale_known))
    left -= 0.0 if facts.probe is None else PROBE
    # sd (sqrt(p) + 1)/(typical n) of a curvature released with all that is left
    row = weights.reach**2 * size
    noise = row * (math.sqrt(size) + 1) * math.sqrt(double / 2) / (typical * power * math.sqrt(left))
    least = (STANDS_OUT * noise) ** 2
    wanted = least * max(6 if weights.reach <= 1 else ROOM, SEEN / facts.seen(weights) ** 2)
    bend = min(0.3, max(wanted, 0.08))
    early = min(0.06, max(0.2 * bend, 0.03))
    steps = min(0.2, max(0.1, 0.6 * bend))
    square = min(0.1, max(bend / 2, 0.04))
    main = Shares(bend * left, (1 - bend - early - steps - square) * left, square * left)
    return Plan(
        columns_share,
        counts_share,
        early * left,
        steps * left,
        rounds,
        0.0 if facts.scale_known else counts_share,
        main,
        feasible=least <= 0.35,
        roomy=max(ROOM * least, wanted) <= 0.3,
    )


def expected(feasible: bool) -> str:
    """Whether an interval can be expected, in words."""
    return "an interval can be expected" if feasible else "too few rows for an interval"


def _rounds(noise: float) -> int:
    """How often the scale is taken anew on the way to the root: the more, the less noise there is in a step.

    A round for a tenth of mu^2 ends about `noise` of the scale it began with away from the root, or a tenth of it if
    that is more; where the errors are a thousandth of the responses, three such rounds are needed to see them.
    """
    noise *= 1.345 / math.sqrt(0.1)
    return 1 if noise > 0.2 else 2 if noise > 0.06 else 3 if noise > 0.01 else 4
