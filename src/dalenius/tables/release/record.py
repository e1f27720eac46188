"""A released answer in the words of a ledger: the noisy numbers, their laws, and what they are numbers of.

Everything that is needed to show the answer again is here or in the question beside it: grids, bins, the ranks that
were kept of quantiles, and the columns with 95 % intervals as they were first shown. So a later version that would
choose a finer grid, keep other ranks or make better intervals shows an old answer as it was. Another confidence, and
intervals for a population, are a matter of reading: they are made whenever the answer is looked at so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.core.record import JSON, exact, unknown
from dalenius.errors import LedgerError
from dalenius.intervals.laws import Law, Noisy
from dalenius.tables.ask.query import Query
from dalenius.tables.facts.forms import NUMBERS, key_records, read_keys
from dalenius.tables.measures import tree
from dalenius.tables.measures.measure import read_measure
from dalenius.tables.plan.noises import LAWS
from dalenius.tables.release.estimates import Wanted, columns
from dalenius.tables.release.released import Released, Shown
from dalenius.tables.statistics.column import Column
from dalenius.tables.statistics.ranks import Ranks


def answer_record(query: Query, released: Released) -> dict[str, JSON]:
    """What was released for a question.

    roles: for each aggregate, in the order asked, which measure plays which part. measures: each with what is kept of
    it, `noisy` numbers, `ranks`, or both.
    """
    place = {measure: number for number, measure in enumerate(query.measures)}
    ranks: dict[Any, list[JSON]] = {measure: [] for measure in query.measures}
    for (measure, levels), kept in released.ranks.items():
        ranks[measure].append(_ranks_record(levels, kept))
    return {
        "columns": list(released.columns),
        "keys": key_records(released.keys),
        "roles": [{role: place[measure] for role, measure in roles} for roles in query.roles],
        "measures": [
            {
                "measure": measure.record(),
                "noisy": _noisy_record(released.measures.get(measure)),
                "ranks": ranks[measure],
            }
            for measure in query.measures
        ],
        "shown": [_shown_record(column) for column in columns(query, released, Wanted())]
        if released.keys
        else [],
    }


def read_answer(record: Mapping[str, JSON], query: Query) -> tuple[Query, Released]:
    """The question with the measures that were released for it, and what was released."""
    measures = [read_measure(kept["measure"]) for kept in record["measures"]]
    roles = tuple(tuple((role, measures[at]) for role, at in roles.items()) for roles in record["roles"])
    if len(roles) != len(query.aggregates):
        raise LedgerError("an answer of the ledger has more or fewer columns than its question.")
    noisy, ranks = {}, {}
    for measure, kept in zip(measures, record["measures"], strict=True):
        if kept["noisy"] is not None:
            noisy[measure] = Noisy(_read(kept["noisy"]["values"]), _read_law(kept["noisy"]["law"]))
        for one in kept["ranks"]:
            ranks[measure, tuple(float(level) for level in one["levels"])] = _read_ranks(one)
    shown = tuple(map(_read_shown, record["shown"])) if record.get("shown") else None
    released = Released(tuple(record["columns"]), read_keys(record["keys"]), noisy, ranks, shown)
    return replace(query, roles=roles), released


def _read_law(record: Mapping[str, JSON]) -> Law:
    if record["kind"] not in LAWS:
        raise unknown("noise", record["kind"], LedgerError)
    return LAWS[record["kind"]].from_record(record)


def _noisy_record(noisy: Noisy | None) -> dict[str, JSON] | None:
    return None if noisy is None else {"law": noisy.law.record(), "values": _written(noisy.values)}


def _ranks_record(levels: tuple[float, ...], ranks: Ranks) -> dict[str, JSON]:
    """blocks: how many bins of one resolution make one of the next. offsets: those above; below are their negatives."""
    side = ranks.offsets.shape[1] // 2
    return {
        "levels": NUMBERS.write(levels),
        "law": ranks.law.record(),
        "blocks": tree.FAN,
        "total": _written(ranks.total),
        "best": ranks.best.tolist(),
        "offsets": _written(ranks.offsets[:, side + 1 :]),
        "reached": ranks.reached.tolist(),
    }


def _read_ranks(record: Mapping[str, JSON]) -> Ranks:
    if record["blocks"] != tree.FAN:
        raise unknown("quantiles", f"blocks of {record['blocks']!r}", LedgerError)
    total, side = _read(record["total"]), _read(record["offsets"])
    offsets = np.concatenate((-side[:, ::-1], np.zeros((len(total), 1)), side), axis=1)
    best, reached = (np.array(record[word], dtype=np.int64) for word in ("best", "reached"))
    return Ranks(total, _read_law(record["law"]), best, offsets, reached)


def _shown_record(column: Column) -> dict[str, JSON]:
    return {
        "estimate": _written(column.estimate) if column.is_number else None,
        "error": _written(column.error),
        "low": _written(column.low),
        "high": _written(column.high),
    }


def _read_shown(record: Mapping[str, JSON]) -> Shown:
    estimate = None if record["estimate"] is None else _read(record["estimate"])
    return Shown(estimate, *(_read(record[word]) for word in ("error", "low", "high")))


def _written(values: Any) -> JSON:
    """An array, row by row, every number exact."""
    if values.ndim == 1:
        return [exact(value) for value in values.tolist()]
    return [_written(row) for row in values]


def _read(values: JSON) -> Any:
    return np.array(values, dtype=object).astype(float) if values else np.zeros(0)
