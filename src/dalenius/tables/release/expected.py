"""What a cross-table will be like, before it is asked: the noise of its numbers after they were made to agree.

The law of that noise depends on the laws of the margins alone (`release.reconcile`), which are public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dalenius.tables.ask.cube import CubeQuery
from dalenius.tables.plan.noise import Noise
from dalenius.tables.plan.plan import Plan
from dalenius.tables.release.reconcile import Margins


class Agreed(Noise):
    """The noise of a measure in a margin that was made to agree with others. Nothing is released by it."""

    def accuracy(self, confidence: float) -> float:
        """How far the linear estimate is off, but for this chance; in whole numbers where these are shown, since they
        are not the nearest, but the nearest that add up."""
        reach = self.law.reach(1 - confidence)[1]
        return float(math.ceil(reach)) if self.measure.whole else reach


def expected(asked: CubeQuery, plans: Sequence[Plan]) -> list[Plan]:
    """The plans of the margins with the laws of what is shown."""
    margins = Margins.of(asked)
    made = [dict(plan.of) for plan in plans]
    for measure in plans[0].of:
        if not measure.adds_up or any(measure not in plan.of for plan in plans):
            continue
        laws = margins.laws({kept: part[measure].law for kept, part in zip(margins.sets, made, strict=True)})
        for kept, part in zip(margins.sets, made, strict=True):
            raw = part[measure]
            part[measure] = Agreed(measure, raw.mechanism, raw.sensitivity, laws[kept], raw.levels)
    return [replace(plan, noises=tuple(part.values())) for plan, part in zip(plans, made, strict=True)]
