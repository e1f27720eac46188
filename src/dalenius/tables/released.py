"""Noisy measures: the only thing about the data that leaves, and all that an answer is made of."""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.tables import tree
from dalenius.tables.exact import ExactTable
from dalenius.tables.keys import Key
from dalenius.tables.laws import Noisy as Noisy
from dalenius.tables.measures import Measure
from dalenius.tables.noises import Noise
from dalenius.tables.plan import Plan
from dalenius.tables.ranks import Ranks, read

Reals = npt.NDArray[Any]

SPREADS = (1.0, 1.3, 1.65, 1.96, 2.3, 2.6, 3.0, 3.3, 3.7, 4.1, 4.5, 5.0, 6.0, 8.0)
"""How many standard errors away the bins of quantiles are in the oldest records."""


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
            "ranks": [_written_ranks(levels, ranks) for (_, levels), ranks in self.ranks.items()],
        }
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, plan: Plan) -> Released:
        """What `to_json` wrote for the same plan."""
        content = json.loads(text)
        plain = [noise for noise in plan.noises if counted(plan, noise)]
        measures = {
            noise.measure: Noisy(
                np.array(kept["values"], dtype=float), replace(noise.law, sigma=kept["sigma"])
            )
            for noise, kept in zip(plain, content["measures"], strict=True)
        }
        ranked = [(noise, levels) for noise in plan.noises for levels in asked(plan, noise)]
        ranks = {
            (noise.measure, levels): _read_ranks(kept, noise)
            for (noise, levels), kept in zip(ranked, content["ranks"], strict=True)
        }
        return cls(tuple(content["columns"]), read_keys(content["keys"]), measures, ranks)


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
            ranks[noise.measure, levels] = read(
                counts, noise.measure.size, levels, noise.sigma, noise.law.gaussian
            )
    return Released(exact.columns, list(exact.keys), measures, ranks)


def counted(plan: Plan, noise: Noise) -> bool:
    """Whether this measure is used for more than quantiles."""
    return any(not aggregate.ranks for aggregate in plan.query.users(noise.measure))


def asked(plan: Plan, noise: Noise) -> list[tuple[float, ...]]:
    """The sets of levels whose quantiles are read from these bins."""
    found = (aggregate.ranks for aggregate in plan.query.users(noise.measure))
    return [levels for levels in dict.fromkeys(found) if levels]


def _written_ranks(levels: tuple[float, ...], ranks: Ranks) -> dict[str, Any]:
    side = ranks.offsets.shape[1] // 2
    return {
        "levels": list(levels),
        "total": ranks.total.tolist(),
        "sigma": ranks.sigma,
        "best": ranks.best.tolist(),
        "offsets": ranks.offsets[:, side + 1 :].tolist(),
        "reached": ranks.reached.tolist(),
    }


def _read_ranks(kept: dict[str, Any], noise: Noise) -> Ranks:
    total, best = np.array(kept["total"], dtype=float), np.array(kept["best"], dtype=np.int64)
    if "reached" in kept:
        side = np.array(kept["offsets"])
        reached = np.array(kept["reached"], dtype=np.int64)
        sigma = kept["sigma"]
    else:  # until 0.3: `sigma` of the rank times the root of 2, and the bins at a few multiples of it
        side = np.tile(np.array(SPREADS) * kept["sigma"] / math.sqrt(2), (len(total), 1))
        low, high = np.array(kept["low"]), np.array(kept["high"])
        reached = np.moveaxis(np.concatenate((low[::-1], best[1:2], high)), 0, -1)
        best, sigma = best[1], noise.sigma
    offsets = np.concatenate((-side[:, ::-1], np.zeros((len(total), 1)), side), axis=1)
    return Ranks(total, sigma, noise.law.gaussian, best, offsets, reached)


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
