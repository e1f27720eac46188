"""Noisy measures: the only thing about the data that leaves, and all that an answer is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dalenius.intervals.laws import Noisy as Noisy
from dalenius.tables.compute.exact import ExactTable
from dalenius.tables.facts.keys import Key
from dalenius.tables.measures import tree
from dalenius.tables.measures.measure import Measure
from dalenius.tables.measures.tree import Reals
from dalenius.tables.plan.noise import Noise
from dalenius.tables.plan.plan import Plan
from dalenius.tables.statistics.ranks import Ranks, read


class Shown(NamedTuple):
    """One column with 95 % intervals for the table. estimate: None where it is a category, which does not move."""

    estimate: Reals | None
    error: Reals
    low: Reals
    high: Reals


@dataclass(frozen=True, eq=False)
class Released:
    """The noisy measures of a query, by group.

    shown: of an answer on record, the columns as they were first shown.
    """

    columns: tuple[str, ...]
    keys: list[Key]
    measures: dict[Measure, Noisy]
    ranks: dict[tuple[Measure, tuple[float, ...]], Ranks]
    shown: tuple[Shown, ...] | None = None


def release(plan: Plan, exact: ExactTable) -> Released:
    """Draw the noise of a plan and add it to the exact integers; what comes back is private."""
    measures: dict[Measure, Noisy] = {}
    ranks: dict[tuple[Measure, tuple[float, ...]], Ranks] = {}
    for noise in plan.noises:
        counts, sets = exact[noise.measure], asked(plan, noise)
        parts = tree.coarser(counts) if sets else [counts]
        noisy = [noise.release(part) for part in parts]
        if counted(plan, noise):
            values = noisy[0][:, : noise.measure.size] if sets else noisy[0]
            measures[noise.measure] = noise.noisy(values)
        if sets:
            counts = tree.consistent(noisy)
        for levels in sets:
            ranks[noise.measure, levels] = read(counts, noise.measure.size, levels, noise.law.smooth)
    return Released(exact.columns, list(exact.keys), measures, ranks)


def counted(plan: Plan, noise: Noise) -> bool:
    """Whether this measure is used for more than quantiles."""
    return any(not aggregate.ranks for aggregate in plan.query.users(noise.measure))


def asked(plan: Plan, noise: Noise) -> list[tuple[float, ...]]:
    """The sets of levels whose quantiles are read from these bins."""
    sets = (aggregate.ranks for aggregate in plan.query.users(noise.measure))
    return [levels for levels in dict.fromkeys(sets) if levels]
