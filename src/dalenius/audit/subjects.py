"""What an audit runs: every way to a release, on one value and on longer ones, once and twice in a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism

Release = Callable[..., Any]
Draw = Callable[[Any, int], Sequence[Any]]

MIN_SINGLE, MAX_SINGLE = 200, 2000
"""Of draws one at a time, by default."""


@dataclass(frozen=True)
class Subject:
    """A way to draw outputs, the two inputs it is tried on, and how often."""

    label: str
    """What it is in words; empty for the main one."""
    draw: Draw
    inputs: tuple[Any, Any]
    trials: int
    twice: bool = False
    """Outputs are pairs: a release of the first input, then one of the input in question."""
    optional: bool = False
    """On inputs nobody asked for: an error is noted, not raised."""


def subjects(
    mechanism: Mechanism | Release,
    pairs: Sequence[tuple[Any, Any]],
    trials: int,
    single: int | None,
    batched: bool,
) -> list[Subject]:
    """The main one first.

    Twice in a row: a release of the first input and then one of either input are neighbouring transcripts
    that differ in the second release alone, so the pair costs what one release costs, if the two draw noise
    of their own. Noise that is used again, or again with its sign turned, shows in the difference or the sum.
    """
    own = isinstance(mechanism, Mechanism)
    usual = max(MIN_SINGLE, min(MAX_SINGLE, trials // 20)) if own else max(MIN_SINGLE // 2, trials // 50)
    few = min(trials, usual) if single is None else single
    some = min(trials, max(MIN_SINGLE, trials // 10))
    if not isinstance(mechanism, Mechanism):
        plan = [Subject("", _batch(mechanism) if batched else _loop(mechanism), pairs[0], trials)]
        again = _batch_again if batched else _loop_again
        return [*plan, again("twice in a row", mechanism, pairs[0], few)] if few else plan
    plan = [Subject("", _batch(mechanism.releases), pairs[0], trials)]
    for k, pair in enumerate(pairs):
        name = f", pair {k + 1}" if k else ""
        if k:
            plan.append(Subject(f"releases{name}", _batch(mechanism.releases), pair, some))
        if few:
            plan.append(_batch_again(f"releases{name}, twice in a row", mechanism.releases, pair, few))
            for way, release in mechanism.ways.items():
                plan.append(_loop_again(f"{way}{name}, twice in a row", release, pair, few))
    return [replace(subject, optional=subject.inputs is not pairs[0]) for subject in plan]


def _loop(release: Release) -> Draw:
    return lambda value, times: [release(value) for _ in range(times)]


def _batch(releases: Release) -> Draw:
    return lambda value, times: checked(releases(value, times), times)


def checked(drawn: Sequence[Any], times: int) -> Sequence[Any]:
    """What came back, if it is one output per trial."""
    if len(drawn) != times:
        raise InvalidParameter(
            f"{times} releases were asked for and {len(drawn)} came back; a batch must hold one output per "
            "trial along its first axis."
        )
    return drawn


def _loop_again(label: str, release: Release, pair: tuple[Any, Any], trials: int) -> Subject:
    def draw(value: Any, times: int) -> Sequence[Any]:
        return [(release(pair[0]), release(value)) for _ in range(times)]

    return Subject(label, draw, pair, trials, twice=True)


def _batch_again(label: str, releases: Release, pair: tuple[Any, Any], trials: int) -> Subject:
    def draw(value: Any, times: int) -> Sequence[Any]:
        first = checked(releases(pair[0], times), times)
        return list(zip(first, checked(releases(value, times), times), strict=True))

    return Subject(label, draw, pair, trials, twice=True)
