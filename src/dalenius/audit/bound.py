"""Run a release many times on two neighbouring inputs, and bound from below what it gives away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalenius.audit.attack import Attack
from dalenius.audit.choose import Rejection, choose
from dalenius.audit.draws import Release, draws
from dalenius.audit.result import Audit
from dalenius.audit.rows import Layout, Rows, Statistic
from dalenius.audit.scores.learn import learn
from dalenius.calculus import checks
from dalenius.calculus.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism

LEAST_TRIALS = 100


def lower_bound(
    mechanism: Mechanism | Release,
    pair: tuple[Any, Any] | None = None,
    trials: int = 100_000,
    delta: float = 0.0,
    confidence: float = 0.95,
    *,
    statistics: Sequence[Statistic] = (),
    batched: bool = False,
) -> Audit:
    """A lower bound on epsilon that holds whatever the mechanism does (spec A14, from Theorem 3.4).

    `mechanism` is one of ours (then `pair` is its `worst_pair` unless given) or any function of one input,
    whose output may be a number, an array, text, None, or nested tuples, lists, mappings and sets of these.
    With `batched=True` the function is called as `mechanism(input, times)` and returns that many independent
    outputs along the first axis. `statistics` are functions of one output that return a number: further
    places to look for a difference.

    `trials` releases are drawn of each input. A quarter teaches scores (odds of repeated outputs, of bins, of
    last bits; distances to the inputs; a regression), a quarter chooses thresholds: the set expected to give
    the largest epsilon at `delta`, and a few more for the rest of the trade-off curve. The other half
    measures them.

    Why the bound holds. Given the first half, the sets are fixed and the draws of the second half are
    independent of them, so the false alarms of set i are Binomial(n, a_i) and its misses Binomial(n, b_i),
    with a_i and b_i its true errors. The Clopper-Pearson bounds A_i and B_i satisfy P(a_i > A_i) <= g_i/2 and
    P(b_i > B_i) <= g_i/2, with g_i adding up to 1 - confidence (half of it for the first set, the rest shared
    equally), so all of them hold at once with probability at least `confidence`. Where they do, every
    (epsilon, delta) the release satisfies has 1 - b_i <= e^epsilon a_i + delta and
    1 - a_i <= e^epsilon b_i + delta (apply the definition to the set and to its complement, in either order
    of the inputs), so epsilon >= log((1 - B_i - delta) / A_i), and the same with A_i and B_i exchanged.
    Nothing is assumed of the mechanism but that its releases are independent; a poor score costs tightness
    only.

    A survey in which half the answers come from a coin has epsilon = log 3:

    >>> import random
    >>> def survey(bit):
    ...     return bit if random.random() < 0.5 else random.random() < 0.5
    >>> found = lower_bound(survey, pair=(True, False), trials=20_000, confidence=1 - 1e-9)
    >>> 0.8 < found.epsilon <= 1.0986123
    True
    >>> found.contradicts(0.7), found.contradicts(1.0986123)
    (True, False)
    """
    trials = checks.count("trials", trials, LEAST_TRIALS)
    delta = checks.failure_probability("delta", delta)
    confidence = checks.number("confidence", confidence, "a number above 0 and below 1")
    if not 0.0 < confidence < 1.0:
        raise InvalidParameter(f"confidence is {confidence}; it must be a number above 0 and below 1.")
    one, other = _inputs(mechanism, pair)
    failure = 1.0 - confidence

    # Each half is drawn, encoded and dropped on its own; draws are independent, so the order splits them.
    learning = trials // 2
    samples = [draws(mechanism, value, learning, batched) for value in (one, other)]
    layout = Layout.learn(*(sample[: learning // 2] for sample in samples), opaque=bool(statistics))
    rows = [layout.rows(sample, statistics) for sample in samples]
    fit, select = slice(learning // 2), slice(learning // 2, None)
    scores = learn(layout, rows[0][fit], rows[1][fit], (one, other))
    primary, rest = choose(scores, rows[0][select], rows[1][select], delta, failure / 4)

    measuring = trials - learning
    fresh = [layout.rows(draws(mechanism, value, measuring, batched), statistics) for value in (one, other)]
    shares = [failure / 2 if rest else failure, *(failure / 2 / len(rest) for _ in rest)]
    attacks = _measured([primary, *rest], shares, fresh[0], fresh[1])
    claim = mechanism.loss if isinstance(mechanism, Mechanism) else None
    return Audit(_subject(mechanism), tuple(attacks), trials, delta, confidence, claim)


def _measured(
    rejections: Sequence[Rejection], shares: Sequence[float], first: Rows, second: Rows
) -> list[Attack]:
    """Each set measured on fresh draws; every score is worked out once."""
    found: dict[int, Attack] = {}
    for score in {id(r.score): r.score for r in rejections}.values():
        one, other = score(first), score(second)
        for k, r in enumerate(rejections):
            if r.score is score:
                accused, innocent = (one, other) if r.accuses == "first" else (other, one)
                misses = len(accused) - r.count(accused)
                found[k] = Attack(r.accuses, r.when, r.count(innocent), misses, len(accused), shares[k])
    return [found[k] for k in range(len(rejections))]


def _inputs(mechanism: object, pair: object) -> tuple[Any, Any]:
    if pair is None:
        if not isinstance(mechanism, Mechanism):
            raise InvalidParameter(
                "no pair was given; a plain function has no worst pair of its own, so name two neighbouring "
                "inputs: lower_bound(f, pair=(x, y))."
            )
        pair = mechanism.worst_pair
    if not isinstance(mechanism, Mechanism) and not callable(mechanism):
        raise InvalidParameter(
            f"mechanism is {mechanism!r}; it must be a mechanism or a function of one input."
        )
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidParameter(f"pair must hold two neighbouring inputs; got {type(pair).__name__}.")
    return pair[0], pair[1]


def _subject(mechanism: Mechanism | Release) -> str:
    if isinstance(mechanism, Mechanism):
        return repr(mechanism)
    return getattr(mechanism, "__name__", None) or repr(mechanism)
