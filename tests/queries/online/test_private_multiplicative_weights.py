"""Private multiplicative weights: the exact law of its transcripts on all tiny tables, and planted mistakes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.audit import lower_bound
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import SparseVector
from dalenius.queries import Domain, PrivateMultiplicativeWeights
from dalenius.queries.online.curator import Curator
from tests.noise.seeded import seeded
from tests.queries.online.exhaustive import Cells, neighbours, tables

DOMAIN = Domain({"age": 3})
ANSWERS = (-4.0, -1.0, 0.5, 3.0)
"""Values a measured error may have; densities at any of them must keep the claim."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def analyst(answers: list[Any]) -> dict[str, Any]:
    """Asks for what depends on all that was said."""
    if not answers:
        return {"age": 0}
    if answers[-1].measured:
        return {"age": 1} if answers[-1].value > 1 else {"age": [0, 1]}
    return {"age": 2} if len(answers) == 1 else {"age": [1, 2]}


@dataclass
class Script:
    """Plays the watch and the measurement of a curator: says what is written, and keeps what it is asked."""

    says: list[float | None]
    threshold: float
    asked: list[tuple[float, float | None]]
    forked = stopped = False

    def first_above(self, values: Any) -> int | None:
        (value,) = values.tolist()
        self.asked.append((value, None))
        return None if self.says[len(self.asked) - 1] is None else 0

    def release(self, error: float) -> float:
        self.asked[-1] = (self.asked[-1][0], error)
        said = self.says[len(self.asked) - 1]
        assert said is not None
        return said


def transcripts(questions: int, updates: int) -> list[list[float | None]]:
    """All sequences of easy (None) and measured answers; they end with the last update."""
    found = []
    for says in itertools.product((None, *ANSWERS), repeat=questions):
        measured = [place for place, said in enumerate(says) if said is not None]
        if len(measured) > updates:
            continue
        end = measured[-1] + 1 if len(measured) == updates else questions
        if all(said is None for said in says[end:]):
            found.append(list(says[:end]))
    return [list(t) for t in dict.fromkeys(map(tuple, found))]


def played(m: PrivateMultiplicativeWeights, cells: Cells, says: list[float | None]) -> Script:
    """A real curator, asked by the analyst, that says what the script has."""
    assert m.threshold is not None
    script = Script(says, m.threshold, [])
    curator = Curator(DOMAIN, np.array(cells), m.n, script, script)  # type: ignore[arg-type]
    answers: list[Any] = []
    for _ in says:
        answers.append(curator.ask(analyst(answers)))
    return script


def density(comparer: SparseVector, measure: Any, script: Script) -> float:
    """Of a transcript, up to a constant: over the noisy threshold (or thresholds), times that of the numbers."""
    unit = comparer.sensitivity
    b1, b2 = (unit * float(x) for x in (comparer.comparison.threshold_noise, comparer.comparison.query_noise))
    runs: list[list[tuple[float, float | None]]] = [[]]
    total = 1.0
    for place, (value, error) in enumerate(script.asked):
        runs[-1].append((script.threshold + b2 - b1 - value, error))
        said = script.says[place]
        if said is not None:
            assert error is not None
            gap = abs(said - error)
            total *= math.exp(-gap / measure.scale)
            if comparer.fresh_threshold:
                runs.append([])
    return total * math.prod(integral(run, b1, b2) for run in runs if run)


def integral(run: list[tuple[float, float | None]], b1: float, b2: float) -> float:
    kinks = sorted({0.0, 40.0 * b1, *(-gap for gap, _ in run if 0 < -gap < 40 * b1)})
    total = 0.0
    for low, high in itertools.pairwise(kinks):
        for a in np.linspace(low, high, 5)[:-1]:
            width = (high - low) / 4
            x = a + width * (NODES + 1) / 2
            values = np.exp(-x / b1) / b1
            for gap, error in run:
                tail = np.exp(-np.maximum(x + gap, 0.0) / b2)
                values *= tail if error is not None else -np.expm1(-np.maximum(x + gap, 0.0) / b2)
            total += float(values @ WEIGHTS) * width / 2
    return total


def largest_ratio(
    m: PrivateMultiplicativeWeights, comparer: SparseVector, measure: Any, rows: int = 3
) -> float:
    """The largest log ratio of any transcript over all neighbours."""
    ways = transcripts(3, comparer.count)
    laws = {
        h: np.array([density(comparer, measure, played(m, h, says)) for says in ways])
        for h in tables(3, rows)
    }
    found = 0.0
    for h, g in neighbours(3, rows, m.adjacency, m.rows_per_unit):
        p, q = laws[h], laws[g]
        both = (p > 1e-12) & (q > 1e-12)
        found = max(found, float(np.log(p[both] / q[both]).max()))
    return found


def made(**options: Any) -> PrivateMultiplicativeWeights:
    given = {"n": 3, "n_is_public": True, "updates": 2, "threshold": 1.0, "queries": 3}
    return PrivateMultiplicativeWeights(DOMAIN, dp.PureDP(2.0), **given | options)


CASES = [made(), made(updates=1), made(adjacency=dp.REPLACE_ONE), made(rows_per_unit=2)]


@pytest.mark.parametrize("m", CASES, ids=str)
def test_no_transcript_gives_away_more_than_the_loss(m: PrivateMultiplicativeWeights) -> None:
    claimed = m.loss.epsilon(0.0)
    assert claimed <= 2.0
    found = largest_ratio(m, m._parts.comparer, m._parts.measure)
    assert 0.3 * claimed < found <= claimed * (1 + 1e-6)


def test_fresh_thresholds_keep_their_claim_too() -> None:
    """As under ZCDP, with Laplace numbers so that ratios are bounded."""
    m = made()
    comparer = replace(m._parts.comparer, fresh_threshold=True)
    claimed = (comparer.loss + m._parts.measure.loss * 2).epsilon(0.0)
    assert largest_ratio(m, comparer, m._parts.measure) <= claimed * (1 + 1e-6)


@pytest.mark.parametrize("bug", ["numbers", "count", "sensitivity", "threshold"])
def test_planted_mistakes_are_caught(bug: str) -> None:
    m = made(adjacency=dp.REPLACE_ONE)
    comparer, measure = m._parts.comparer, m._parts.measure
    claimed = m.loss.epsilon(0.0)
    if bug == "numbers":  # hard answers are not charged
        claimed = comparer.loss.epsilon(0.0)
        measure = replace(measure, scale=0.5)
    elif bug == "count":  # the noise of one positive, for two
        comparer = replace(comparer, epsilon=comparer.epsilon * 3)
    elif bug == "sensitivity":
        m = replace(m, rows_per_unit=3)
    else:  # a threshold with next to no noise
        comparer = replace(comparer, share=0.001, epsilon=comparer.epsilon * 4)
    assert largest_ratio(m, comparer, measure) > claimed * (1 + 1e-6)


def test_loss_is_that_of_all_parts() -> None:
    for guarantee in (dp.PureDP(1.0), dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.1), dp.GDP(0.5)):
        for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
            m = PrivateMultiplicativeWeights(DOMAIN, guarantee, n=1000, adjacency=adjacency)
            parts = m._parts
            assert parts.counter is not None
            assert guarantee.holds(m.loss)
            together = parts.comparer.loss + parts.measure.loss * parts.comparer.count + parts.counter.loss
            assert m.loss.renyi(8.0) == together.renyi(8.0)


def test_audit() -> None:
    """Noise far too small is caught, the right noise is not; confidence 1 - 1e-9."""
    right, wrong = (
        PrivateMultiplicativeWeights(
            DOMAIN, dp.PureDP(e), n=10, n_is_public=True, updates=1, threshold=0.5, queries=2
        )
        for e in (1.0, 40.0)
    )

    def run(m: PrivateMultiplicativeWeights) -> Any:
        return lambda h: m.open(h).ask_many([{"age": 0}, {"age": 1}])[-1].value

    pair = np.array([4, 3, 3]), np.array([5, 3, 3])
    for m, caught in ((right, False), (wrong, True)):
        with seeded(5):
            found = lower_bound(run(m), pair, 1200, confidence=1 - 1e-9, single=0)
        assert found.contradicts(right.loss.epsilon(0.0)) is caught


def test_answers_stay_within_the_bound() -> None:
    """2000 adaptive questions on 1024 cells; the bound holds but for 5 %, and by far."""
    domain = Domain({f"c{i}": 2 for i in range(10)})
    n, rng = 10**6, np.random.default_rng(0)
    cells = rng.multinomial(n, rng.dirichlet(np.full(1024, 0.02))).reshape(domain.shape)
    m = PrivateMultiplicativeWeights(domain, dp.ZCDP(0.5), n=n, queries=100_000)
    masks = rng.random((2000, 1024)) < 0.5
    with seeded(6):
        answers = m.open(cells.reshape(-1)).ask_many(masks)
    assert len(answers) == 2000
    errors = np.array([a.value for a in answers]) - masks @ cells.reshape(-1)
    assert np.abs(errors).max() < m.predicted_error(n) < 0.2 * n
    assert m.predicted_error(100 * n) == math.inf


@pytest.mark.parametrize(
    "options",
    [{"n": 0}, {"queries": 0}, {"updates": 0}, {"threshold": -1}, {"confidence": 1}, {"rows_per_unit": 0}],
)
def test_odd_options(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        made(**options)


def test_too_large_a_domain() -> None:
    with pytest.raises(InvalidParameter, match="2\\^24"):
        PrivateMultiplicativeWeights(Domain({"a": 2**30}), dp.PureDP(1.0), n=10)
