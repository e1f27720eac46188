"""Noisy marginals and the model fitted to them, in words: what a ledger keeps of synthetic data.

The workload and the loss follow from the question. Tables of numbers are kept as their bytes, compressed, in base 64.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import adjacency_record, read_adjacency
from dalenius.core.record import JSON, exact, unknown
from dalenius.errors import InvalidParameter, LedgerDamaged, LedgerError
from dalenius.mechanisms import DiscreteGaussian, Geometric
from dalenius.queries import AdaptiveMarginals, Workload
from dalenius.queries.marginals.fit import Fitted
from dalenius.queries.marginals.graphical_model import GraphicalModel
from dalenius.queries.marginals.groups import Groups
from dalenius.queries.marginals.junction_tree import JunctionTree
from dalenius.queries.marginals.marginals_release import MarginalsRelease
from dalenius.queries.marginals.measurement import Measurement

MOST_CELLS = 3_700_000
"""Cells of all marginals that may be measured: the record has at most 13.4 characters for each, and 5e7 in all.

A count has at most 8 bytes, of which at least 2 are zeros or ones that compress away; a potential has 4.
"""

WHOLE, SINGLE = "<i8", "<f4"


def check_cells(mechanism: AdaptiveMarginals) -> None:
    """Refuse, before the charge, what could fill more than an entry of a ledger."""
    shape = mechanism.domain.shape
    cells = sum(math.prod(shape[v] for v in scope) for scope in mechanism.candidates)
    if cells > MOST_CELLS:
        raise InvalidParameter(
            f"the marginals of these columns have {cells} cells in all, and a ledger keeps up to {MOST_CELLS}; use "
            "fewer bins, marginals of fewer columns, or a list of those that matter."
        )


def marginals_record(release: MarginalsRelease) -> dict[str, JSON]:
    """What was measured, and the potentials of the model."""
    outside = [release.measurements.index(m) for m in release.outside]
    return {
        "measured": [
            {
                "columns": list(m.scope),
                "counts": _numbers(m.counts, WHOLE),
                "noise": _noise_record(m.noise),
                **({} if m.groups is None else {"groups": [group.tolist() for group in m.groups]}),
            }
            for m in release.measurements
        ],
        "potentials": [
            {"columns": list(scope), "numbers": _numbers(np.clip(table, -1e30, 1e30), SINGLE)}
            for scope, table in release.fitted.potentials.items()
        ],
        "rows": exact(release.fitted.total),
        "outside": outside,
        "mark": release.mark,
    }


def read_marginals(record: Mapping[str, JSON], workload: Workload, loss: Loss) -> MarginalsRelease:
    """The release that `marginals_record` wrote."""
    try:
        return _read(record, workload, loss)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError, zlib.error):
        raise LedgerDamaged("an answer of the ledger is not written as we write them.") from None


def _read(record: Mapping[str, JSON], workload: Workload, loss: Loss) -> MarginalsRelease:
    shape = workload.domain.shape

    def table(text: str, sizes: Sequence[int], dtype: str) -> Any:
        flat = np.frombuffer(zlib.decompress(base64.b64decode(text, validate=True)), dtype=dtype)
        return flat.reshape(sizes)

    measured = []
    for one in record["measured"]:
        scope = tuple(one["columns"])
        groups = _read_groups(one["groups"], [shape[v] for v in scope]) if "groups" in one else None
        sizes = [shape[v] for v in scope] if groups is None else [int(group.max()) + 1 for group in groups]
        counts = table(one["counts"], sizes, WHOLE).astype(np.int64)
        measured.append(Measurement(scope, counts, _read_noise(one["noise"]), groups))
    potentials = {}
    for one in record["potentials"]:
        scope = tuple(one["columns"])
        numbers = table(one["numbers"], [shape[v] for v in scope], SINGLE)
        potentials[scope] = numbers.astype(np.float64)
    tree, rows, mark = JunctionTree.of(shape, list(potentials)), float(record["rows"]), record["mark"]
    if not math.isfinite(rows) or type(mark) is not int or mark < 0:
        raise ValueError
    fitted = Fitted(GraphicalModel.of(tree, potentials), potentials, rows)
    outside = [measured[at] for at in record["outside"]]
    return MarginalsRelease(workload, loss, measured, fitted, outside, mark=mark)


def _read_groups(record: Sequence[Sequence[JSON]], sizes: Sequence[int]) -> Groups:
    found = []
    for group, size in zip(record, sizes, strict=True):
        if any(type(number) is not int for number in group) or len(group) != size:
            raise ValueError
        if set(group) != set(range(max(group) + 1)):
            raise ValueError
        found.append(np.array(group, dtype=np.int64))
    return tuple(found)


def _numbers(table: Any, dtype: str) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(table, dtype=dtype).tobytes())).decode("ascii")


def _noise_record(noise: DiscreteGaussian | Geometric) -> dict[str, JSON]:
    common = {"sensitivity": exact(noise.sensitivity), "adjacency": adjacency_record(noise.adjacency)}
    if isinstance(noise, DiscreteGaussian):
        kind = {"kind": "discrete_gaussian", "sigma": exact(noise.sigma), "coordinates": noise.coordinates}
        return {**kind, **common}
    return {"kind": "geometric", "scale": exact(noise.scale), **common}


def _read_noise(record: Mapping[str, JSON]) -> DiscreteGaussian | Geometric:
    sensitivity, adjacency = float(record["sensitivity"]), read_adjacency(record["adjacency"])
    if record["kind"] == "discrete_gaussian":
        sigma, places = float(record["sigma"]), record["coordinates"]
        return DiscreteGaussian(sensitivity=sensitivity, sigma=sigma, coordinates=places, adjacency=adjacency)
    if record["kind"] == "geometric":
        return Geometric(sensitivity=int(sensitivity), scale=float(record["scale"]), adjacency=adjacency)
    raise unknown("noise", record["kind"], LedgerError)
