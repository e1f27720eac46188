"""Noisy measures: the only thing about the data that leaves, and all that an answer is made of."""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.tables import tree
from dalenius.tables.aggregates import Quantiles
from dalenius.tables.exact import ExactTable
from dalenius.tables.keys import Key
from dalenius.tables.measures import Measure
from dalenius.tables.plan import Noise, Plan

Reals = npt.NDArray[Any]

SPREADS = (1.0, 1.3, 1.65, 1.96, 2.3, 2.6, 3.0, 3.3, 3.7, 4.1, 4.5, 5.0, 6.0, 8.0)
"""Quantiles are kept with the bins so many standard errors of rank away: intervals at any confidence."""


@dataclass(frozen=True, eq=False)
class Noisy:
    """One measure after noise: floats, one per group (groups x bins for histograms), each with this sigma."""

    values: Reals
    sigma: float
    gaussian: bool


@dataclass(frozen=True, eq=False)
class Ranks:
    """Quantiles of one set of bins: for each group and level the best bins for its rank less a standard error,
    itself, and plus one; for each spread the bins below and above; and the total.
    """

    total: Reals
    sigma: float
    best: Reals
    low: Reals
    high: Reals


@dataclass(frozen=True, eq=False)
class Released:
    """The noisy measures of a query, by group."""

    columns: tuple[str, ...]
    keys: list[Key]
    measures: dict[Measure, Noisy]
    ranks: dict[tuple[Measure, tuple[float, ...]], Ranks]

    def to_json(self) -> str:
        """Everything, as text for the ledger."""
        content = {
            "columns": list(self.columns),
            "keys": written_keys(self.keys),
            "measures": [
                {"values": noisy.values.tolist(), "sigma": noisy.sigma, "gaussian": noisy.gaussian}
                for noisy in self.measures.values()
            ],
            "ranks": [
                {
                    "levels": list(levels),
                    "total": r.total.tolist(),
                    "sigma": r.sigma,
                    "best": r.best.tolist(),
                    "low": r.low.tolist(),
                    "high": r.high.tolist(),
                }
                for (_, levels), r in self.ranks.items()
            ],
        }
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, plan: Plan) -> Released:
        """What `to_json` wrote for the same plan."""
        content = json.loads(text)
        plain = [noise.measure for noise in plan.noises if counted(plan, noise)]
        measures = {
            measure: Noisy(np.array(kept["values"], dtype=float), kept["sigma"], kept["gaussian"])
            for measure, kept in zip(plain, content["measures"], strict=True)
        }
        ranked = [(noise.measure, levels) for noise in plan.noises for levels in asked(plan, noise)]
        ranks = {
            key: Ranks(
                np.array(kept["total"]), kept["sigma"], *(np.array(kept[k]) for k in ("best", "low", "high"))
            )
            for key, kept in zip(ranked, content["ranks"], strict=True)
        }
        return cls(tuple(content["columns"]), read_keys(content["keys"]), measures, ranks)


def release(plan: Plan, exact: ExactTable) -> Released:
    """Draw the noise of a plan and add it to the exact integers; what comes back is private."""
    measures: dict[Measure, Noisy] = {}
    ranks: dict[tuple[Measure, tuple[float, ...]], Ranks] = {}
    for noise in plan.noises:
        counts, sets = exact[noise.measure], asked(plan, noise)
        parts = tree.coarser(counts) if sets else [counts]
        noisy = [np.asarray(noise.mechanism.release(part), dtype=float) for part in parts]
        if counted(plan, noise):
            values = noisy[0][:, : noise.measure.size] if sets else noisy[0]
            measures[noise.measure] = Noisy(values, noise.sigma, noise.is_gaussian)
        for levels in sets:
            ranks[noise.measure, levels] = _ranks(noise, noisy, levels)
    return Released(exact.columns, list(exact.keys), measures, ranks)


def counted(plan: Plan, noise: Noise) -> bool:
    """Whether this measure is used for more than quantiles."""
    return any(
        not isinstance(aggregate, Quantiles) and any(measure == noise.measure for _, measure in roles)
        for (_, aggregate), roles in zip(plan.query.aggregates, plan.query.roles, strict=True)
    )


def asked(plan: Plan, noise: Noise) -> list[tuple[float, ...]]:
    """The sets of levels whose quantiles are read from these bins."""
    found = [
        aggregate.levels
        for (_, aggregate), roles in zip(plan.query.aggregates, plan.query.roles, strict=True)
        if isinstance(aggregate, Quantiles) and any(measure == noise.measure for _, measure in roles)
    ]
    return list(dict.fromkeys(found))


def _ranks(noise: Noise, noisy: list[Reals], levels: tuple[float, ...]) -> Ranks:
    """Where the quantiles are, and bins around them for every spread.

    A quantile is the first bin whose prefix is level * total or more. At that bin, and at the one before, noise
    keeps prefix - level * total within its error: so they are told from `first` and `last`, which need no other
    prefix to be near the truth.
    """
    counts = tree.consistent(noisy)
    total = tree.totals(counts, noise.measure.size)
    prefixes = np.cumsum(counts[:, : noise.measure.size], axis=1)
    # Sums of few Laplace variables have longer tails than normal ones: so many count as the most there can be.
    blocks = tree.top(noise.measure.size) if noise.is_gaussian else tree.FAN
    error = tree.rank_error(noise.levels, blocks, noise.sigma)
    middle = total[:, None] * np.array(levels)
    away = error * np.array(SPREADS)[:, None, None]
    best = np.array([tree.best(prefixes, middle + z * error) for z in (-1, 0, 1)])
    low, high = tree.first(prefixes, middle - away), tree.last(prefixes, middle + away)
    return Ranks(np.maximum(total, 0.0), math.sqrt(2) * error, best, low, high)


def written_keys(keys: list[Key]) -> list[list[Any]]:
    """Keys as JSON can hold them."""
    return [[_written(part) for part in key] for key in keys]


def read_keys(keys: list[list[Any]]) -> list[Key]:
    """What `written_keys` wrote."""
    return [tuple(_read(part) for part in key) for key in keys]


def _written(part: Any) -> Any:
    return {"date": part.isoformat()} if isinstance(part, datetime.date) else part


def _read(part: Any) -> Any:
    return datetime.date.fromisoformat(part["date"]) if isinstance(part, dict) else part
