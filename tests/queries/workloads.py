"""Random small domains and workloads."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from dalenius.queries import Domain, Workload


@st.composite
def workloads(draw: Any, cells: int = 40, whole: bool = False) -> Workload:
    """One to three parts of any kind over one to three columns."""
    shape: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        room = cells // int(np.prod(shape, dtype=int))
        if room:
            shape.append(draw(st.integers(1, min(room, 13))))
    domain = Domain({"abc"[i]: n for i, n in enumerate(shape)})
    total = None
    for _ in range(draw(st.integers(1, 3))):
        one = draw(st.sampled_from([0.5, 1.0, 3.0])) * draw(parts(domain, whole))
        total = one if total is None else total + one
    assert total is not None
    return total


@st.composite
def parts(draw: Any, domain: Domain, whole: bool) -> Workload:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    some = [name for name in domain.names if rng.random() < 0.7] or [domain.names[0]]
    match draw(st.sampled_from(["marginal", "product", "intervals", "predicates", "matrix", "masks"])):
        case "marginal":
            return Workload.marginals(domain, [some, []])
        case "product":
            words = ["identity", "prefix", "ranges"]
            asked: dict[str, Any] = {name: words[rng.integers(3)] for name in some}
            if rng.random() < 0.3:
                n = domain.shape[domain.names.index(some[0])]
                asked[some[0]] = rng.integers(-2, 3, (3, n)) if whole else rng.normal(size=(3, n))
            return Workload.product(domain, asked)
        case "intervals":
            return Workload.ranges(
                domain, [{name: _range(rng, domain, name) for name in some} for _ in range(4)]
            )
        case "predicates":
            masks = []
            for _ in range(3):
                sizes = {name: domain.shape[domain.names.index(name)] for name in some}
                masks.append(
                    {name: np.flatnonzero(rng.random(n) < 0.5).tolist() or [0] for name, n in sizes.items()}
                )
            return Workload.predicates(domain, masks)
        case "masks":
            return Workload.predicates(domain, [rng.random(domain.shape) < 0.5 for _ in range(3)])
        case _:
            size = (4, domain.cells)
            return Workload.matrix(domain, rng.integers(-3, 4, size) if whole else rng.normal(size=size))


def _range(rng: np.random.Generator, domain: Domain, name: str) -> tuple[int, int]:
    low, high = np.sort(rng.integers(0, domain.shape[domain.names.index(name)], 2)).tolist()
    return low, high + 1
