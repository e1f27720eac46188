"""Run a release many times on two neighbouring inputs, and bound from below what it gives away."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.audit.attack import Attack
from dalenius.audit.choose import Rejection, choose
from dalenius.audit.result import Audit
from dalenius.audit.rows import Layout, Rows, Statistic
from dalenius.audit.scores.learn import learn
from dalenius.audit.subjects import Release, Subject, subjects
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism

MIN_TRIALS = 100


def lower_bound(
    mechanism: Mechanism | Release,
    pair: tuple[Any, Any] | None = None,
    trials: int = 100_000,
    delta: float = 0.0,
    confidence: float = 0.95,
    *,
    statistics: Sequence[Statistic] = (),
    batched: bool = False,
    single: int | None = None,
) -> Audit:
    """A lower bound on epsilon that holds whatever the mechanism does (Kairouz, Oh and Viswanath 2015).

    Of a mechanism the batch `releases` is drawn on the worst pair `trials` times and on its other `pairs` (longer
    inputs) a tenth as often; and each of its `ways` to a release (`release` itself; a watch that is asked) is run
    on all of them `single` times, twice in a row, so that noise used again shows. A function is run twice in a row
    as well (1 in 50).

    `trials` releases are drawn of each input. A quarter teaches scores (odds of repeated outputs, of bins, of
    last bits; distances to the inputs; a regression), a quarter chooses thresholds: the set expected to give
    the largest epsilon at `delta`, and a few more for the rest of the trade-off curve. The other half
    measures them.

    Why the bound holds. Given the first half, the sets are fixed and the draws of the second half are
    independent of them, so the false alarms of set i are Binomial(n, a_i) and its misses Binomial(n, b_i),
    with a_i and b_i its true errors. The Clopper-Pearson bounds A_i and B_i satisfy P(a_i > A_i) <= g_i/2 and
    P(b_i > B_i) <= g_i/2, with g_i adding up to 1 - confidence (half of it for the main draws, the rest for
    the others equally; within each, half for the first set), so all of them hold at once with probability at
    least `confidence`. Where they do, every (epsilon, delta) the release satisfies has
    1 - b_i <= e^epsilon a_i + delta and 1 - a_i <= e^epsilon b_i + delta (apply the definition to the set and
    to its complement, in either order of the inputs), so epsilon >= log((1 - B_i - delta) / A_i), and the same
    with A_i and B_i exchanged. Nothing is assumed of the mechanism but what it claims: its releases are
    independent, and what is asked about one input does not change with the other. A poor score costs
    tightness only.

    Parameters
    ----------
    mechanism
        One of `dalenius.mechanisms`, or any function of one input whose output is a number, an array, text, None,
        or nested tuples, lists, mappings and sets of these.
    pair
        Two neighbouring inputs; by default the `pairs` of the mechanism. A plain function needs them.
    trials
        How many releases of each input are drawn.
    delta
        The delta at which epsilon is bounded.
    confidence
        The probability with which everything the audit says holds.
    statistics
        Functions of one output that return a number: further places to look for a difference.
    batched
        Whether a plain function is called as `mechanism(input, times)` and returns that many independent outputs
        along the first axis.
    single
        How often each way to a single release is run; by default 1 in 20 of `trials`, at most 2000; 0 for none.

    Returns
    -------
    Audit
        The bounds, and the attacks that were measured.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range, or an output cannot be read.

    Examples
    --------
    A survey in which half the answers come from a coin has epsilon = log 3:

    >>> import random
    >>> def survey(bit):
    ...     return bit if random.random() < 0.5 else random.random() < 0.5
    >>> audit = lower_bound(survey, pair=(True, False), trials=20_000, confidence=1 - 1e-9)
    >>> 0.8 < audit.epsilon <= 1.0986123
    True
    >>> audit.contradicts(0.7), audit.contradicts(1.0986123)
    (True, False)
    """
    trials = checks.count("trials", trials, MIN_TRIALS)
    delta = checks.failure_probability("delta", delta)
    confidence = checks.confidence(confidence)
    given: object = statistics
    if not isinstance(given, Sequence) or not all(map(callable, given)):
        raise InvalidParameter(
            f"statistics is {checks.shown(statistics)}; it must be a list of functions of one output."
        )
    pairs = _pairs(mechanism, pair)
    if single is not None:
        single = checks.count("single", single, 0)
        if 0 < single < MIN_TRIALS:
            raise InvalidParameter(f"single is {single}; it must be 0 or {MIN_TRIALS} or more.")
    plan = subjects(mechanism, pairs, trials, single, batched)
    failure = 1.0 - confidence
    shares = [failure / 2 if len(plan) > 1 else failure, *(failure / 2 / (len(plan) - 1) for _ in plan[1:])]
    attacks: list[Attack] = []
    unseen: list[str] = []
    for subject, share in zip(plan, shares, strict=True):
        try:
            measured, missed = _attacks(subject, delta, share, statistics)
        except Exception as error:
            if not subject.optional:
                raise
            measured, missed = [], [f"{subject.label} could not be run: {type(error).__name__}."]
        attacks += measured
        unseen += missed
    for note in unseen:
        warnings.warn(note, UserWarning, stacklevel=2)
    claim = mechanism.loss if isinstance(mechanism, Mechanism) else None
    return Audit(_subject(mechanism), tuple(attacks), trials, delta, confidence, claim, tuple(unseen))


def _attacks(
    subject: Subject, delta: float, failure: float, statistics: Sequence[Statistic]
) -> tuple[list[Attack], list[str]]:
    """Attacks on one subject, and what of its outputs could not be compared."""
    # Each half is drawn, encoded and dropped on its own; draws are independent, so the order splits them.
    learning = subject.trials // 2
    samples = [subject.draw(value, learning) for value in subject.inputs]
    layout = Layout.learn(
        *(sample[: learning // 2] for sample in samples), opaque=bool(statistics), twice=subject.twice
    )
    rows = [layout.rows(sample, statistics) for sample in samples]
    fit, select = slice(learning // 2), slice(learning // 2, None)
    scores = learn(layout, rows[0][fit], rows[1][fit], _in_a_row(subject))
    primary, rest = choose(scores, rows[0][select], rows[1][select], delta, failure / 4)

    measuring = subject.trials - learning
    fresh = [layout.rows(subject.draw(value, measuring), statistics) for value in subject.inputs]
    shares = [failure / 2 if rest else failure, *(failure / 2 / len(rest) for _ in rest)]
    attacks = _measured(subject.label, [primary, *rest], shares, fresh[0], fresh[1])
    place = f" ({subject.label})" if subject.label else ""
    unseen = [
        f"{name}{place} held text or labels that hardly ever repeat: of text only its length, numbers and common "
        "words were compared, of anything else nothing. A secret may stand there in plain sight; give "
        "`statistics` that read it."
        for name in (() if statistics else layout.unseen(*fresh))
    ]
    return attacks, unseen


def _in_a_row(subject: Subject) -> tuple[Any, Any]:
    """The inputs as outputs look: two in a row, with their difference and sum, where that makes sense."""
    if not subject.twice:
        return subject.inputs
    try:
        one, other = (np.asarray(x, dtype=np.float64) for x in subject.inputs)
        return tuple(  # type: ignore[return-value]
            np.concatenate([np.ravel(x) for x in (one, y, y - one, y + one)]) for y in (one, other)
        )
    except (TypeError, ValueError, OverflowError):
        return subject.inputs


def _measured(
    label: str, rejections: Sequence[Rejection], shares: Sequence[float], first: Rows, second: Rows
) -> list[Attack]:
    """Each set measured on fresh draws; every score is worked out once."""
    values = {score: (score(first), score(second)) for score in {r.score for r in rejections}}
    attacks = []
    for r, share in zip(rejections, shares, strict=True):
        accused, innocent = values[r.score] if r.accuses == "first" else reversed(values[r.score])
        when = f"{label}: {r.when}" if label else r.when
        misses = len(accused) - r.count(accused)
        attacks.append(Attack(r.accuses, when, r.count(innocent), misses, len(accused), share))
    return attacks


def _pairs(mechanism: object, pair: object) -> list[tuple[Any, Any]]:
    if pair is None:
        if not isinstance(mechanism, Mechanism):
            raise InvalidParameter(
                "no pair was given; a plain function has no worst pair, so name two neighbouring "
                "inputs: lower_bound(f, pair=(x, y))."
            )
        return [(first, second) for first, second in mechanism.pairs]
    if not isinstance(mechanism, Mechanism) and not callable(mechanism):
        raise InvalidParameter(
            f"mechanism is {mechanism!r}; it must be a mechanism or a function of one input."
        )
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidParameter(f"pair must hold two neighbouring inputs; got {type(pair).__name__}.")
    return [(pair[0], pair[1])]


def _subject(mechanism: Mechanism | Release) -> str:
    named = not isinstance(mechanism, Mechanism) and getattr(mechanism, "__name__", None)
    return named or repr(mechanism)
