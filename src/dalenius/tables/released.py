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
from dalenius.tables.exact import ExactTable
from dalenius.tables.keys import Key
from dalenius.tables.measures import Measure
from dalenius.tables.plan import Noise, Plan

Reals = npt.NDArray[Any]

SPREADS = (0.0, 1.0, 1.3, 1.65, 1.96, 2.3, 2.6, 3.0, 3.3, 3.7, 4.1, 4.5, 5.0, 6.0, 8.0)
"""Quantiles are kept with the bins so many standard errors of rank away: intervals at any confidence."""


@dataclass(frozen=True, eq=False)
class Noisy:
    """One measure after noise: floats, one per group (groups x bins for histograms), each with this sigma."""

    values: Reals
    sigma: float
    gaussian: bool


@dataclass(frozen=True, eq=False)
class Ranks:
    """Quantiles of one set of bins: for each group, level and spread, the bins below and above; and the
    total.
    """

    total: Reals
    sigma: float
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
        plain = [noise.measure for noise in plan.noises if noise.levels == 1]
        measures = {
            measure: Noisy(np.array(kept["values"], dtype=float), kept["sigma"], kept["gaussian"])
            for measure, kept in zip(plain, content["measures"], strict=True)
        }
        ranked = [
            (noise.measure, levels)
            for noise in plan.noises
            if noise.levels > 1
            for levels in asked(plan, noise)
        ]
        ranks = {
            key: Ranks(np.array(kept["total"]), kept["sigma"], np.array(kept["low"]), np.array(kept["high"]))
            for key, kept in zip(ranked, content["ranks"], strict=True)
        }
        return cls(tuple(content["columns"]), read_keys(content["keys"]), measures, ranks)


def release(plan: Plan, exact: ExactTable) -> Released:
    """Draw the noise of a plan and add it to the exact integers; what comes back is private."""
    measures: dict[Measure, Noisy] = {}
    ranks: dict[tuple[Measure, tuple[float, ...]], Ranks] = {}
    for noise in plan.noises:
        counts = exact[noise.measure]
        if noise.levels == 1:
            values = np.asarray(noise.mechanism.release(counts), dtype=float)
            measures[noise.measure] = Noisy(values, noise.sigma, noise.is_gaussian)
            continue
        noisy = [np.asarray(noise.mechanism.release(level), dtype=float) for level in tree.coarser(counts)]
        for levels in asked(plan, noise):
            ranks[noise.measure, levels] = _ranks(noise, noisy, levels)
    return Released(exact.columns, list(exact.keys), measures, ranks)


def asked(plan: Plan, noise: Noise) -> list[tuple[float, ...]]:
    """The sets of levels whose quantiles are read from these bins."""
    found = []
    for (_, aggregate), roles in zip(plan.query.aggregates, plan.query.roles, strict=True):
        levels = getattr(aggregate, "levels", None)
        if (
            levels is not None
            and any(measure == noise.measure for _, measure in roles)
            and levels not in found
        ):
            found.append(levels)
    return found


def _ranks(noise: Noise, noisy: list[Reals], levels: tuple[float, ...]) -> Ranks:
    counts = tree.consistent(noisy)[:, : noise.measure.size]
    total = np.maximum(counts.sum(axis=1), 0.0)
    error = tree.rank_error(noise.levels, noise.sigma)
    middle = total[:, None] * np.array(levels)[None, :]
    # The total is uncertain too: level * total is off by at most level * its error, within the same bound.
    low = [tree.quantile_bins(counts, np.maximum(middle - z * error, 0.5)) for z in SPREADS]
    high = [tree.quantile_bins(counts, np.maximum(middle + z * error, 0.5)) for z in SPREADS]
    return Ranks(total, math.sqrt(2) * error, np.array(low), np.array(high))


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
