"""Random mixtures of Gaussians: one and two releases against 50 independent digits, long runs against the grid.

`make_mixtures` wrote the file and says how. Proofs in ball arithmetic, where there is one, are held to the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dalenius as dp
from dalenius.calculus.pairs.pair import UNIT, Bounds
from tests.calculus.engines.box import mixture_points
from tests.calculus.engines.box.mixture_points import FAMILIES, Point

GROUPS = json.loads(Path(__file__).with_name("mixtures.json").read_text(encoding="utf-8"))
SHORT, LONG = GROUPS["short"], GROUPS["long"]
PROVED = 25
"""As many of the short runs at least have a proof that is narrow."""
OFF = 1.01


@pytest.fixture(scope="module", autouse=True)
def _has_balls() -> None:
    pytest.importorskip("flint")


def point_of(known: dict[str, Any]) -> Point:
    return Point.of(known["point"])


def delta(point: Point, epsilon: float, engine: str = "auto") -> Bounds | None:
    """None where there is no proof."""
    try:
        return mixture_points.direction_of(point).delta(epsilon, engine)  # type: ignore[arg-type]
    except dp.errors.UnsupportedComposition:
        assert engine == "proof"
        return None


@cache
def answers(engine: str) -> list[Bounds | None]:
    return [delta(point_of(known), known["epsilon"], engine) for known in SHORT]


@cache
def long_answers() -> list[Bounds | None]:
    return [delta(point_of(known), known["epsilon"]) for known in LONG]


def holds(bounds: Bounds, truth: str) -> bool:
    return Fraction(bounds.lower) <= Fraction(truth) <= Fraction(bounds.upper)


def overlap(one: Bounds, other: Bounds) -> bool:
    return one.lower <= other.upper and other.lower <= one.upper


def width(bounds: Bounds) -> float:
    return (bounds.upper - bounds.lower) / bounds.upper


def wrong(point: Point) -> Point:
    """All that is shifted weighs 1 % more."""
    chances = point.chances
    if point.family.startswith("several"):
        others = [OFF * chance for chance in chances[1:]]
        chances = (1.0 - math.fsum(others), *others)
    return replace(point, rate=OFF * point.rate, chances=chances)


def plain(point: Point) -> dict[float, Fraction]:
    """Probabilities of shifts, in units of sigma, by the definition of the loss."""
    sigma, rate = Fraction(point.sigma), Fraction(point.rate)
    if point.family == "group":
        n = point.size
        return {float(j / sigma): math.comb(n, j) * rate**j * (1 - rate) ** (n - j) for j in range(1, n + 1)}
    if point.family == "replaced":
        return {float(1 / sigma): rate}
    pairs = zip(point.lengths, point.chances, strict=True)
    return {float(Fraction(length) / sigma): Fraction(chance) for length, chance in pairs if length > 0}


def sides_of(known: dict[str, Any]) -> Iterator[tuple[tuple[float, float], ...]]:
    for _, sides in known["laws"]:
        yield from (side for side in sides if side)


def test_there_are_as_many_as_promised() -> None:
    assert len(SHORT) >= 60
    assert len(LONG) >= 30
    for some in (SHORT, LONG):
        assert {known["point"]["family"] for known in some} == set(FAMILIES)
    assert {(known["point"]["direction"], known["point"]["times"]) for known in SHORT} == {
        (direction, times) for direction in ("add", "remove") for times in (1, 2)
    }
    assert all(len(known["delta"].split("e")[0].replace(".", "").strip("0")) >= 47 for known in SHORT)


def test_the_losses_are_the_mixtures_that_were_computed() -> None:
    """To the last bit what stands in the file, and up to roundings what the definition says."""
    for known in SHORT:
        point = point_of(known)
        assert json.loads(json.dumps(mixture_points.laws_of(point))) == known["laws"]
        if point.family == "revealed":
            continue
        for side in sides_of(known):
            defined = sorted(plain(point).items())
            assert len(side) == len(defined)
            for (shift, weight), (place, chance) in zip(side, defined, strict=True):
                assert shift == pytest.approx(place, rel=4 * UNIT)
                # Probabilities as floats are taken to sum to 1, which moves one of them by a rounding of 1.
                assert abs(Fraction(weight) - chance) <= 4 * UNIT * chance + UNIT * point.family.startswith(
                    "several"
                )


@pytest.mark.parametrize("engine", ["auto", "proof"])
def test_the_truth_is_inside(engine: str) -> None:
    found = zip(SHORT, answers(engine), strict=True)
    assert [(known, b) for known, b in found if b is not None and not holds(b, known["delta"])] == []


def test_the_epsilon_is_inside() -> None:
    for known in SHORT:
        lower, upper = mixture_points.direction_of(point_of(known)).epsilon(float(known["delta"]))
        assert lower * (1 - 1e-15) <= known["epsilon"] <= upper * (1 + 1e-15)


def test_short_runs_are_narrow() -> None:
    assert [b for b in answers("auto") if b is None or width(b) > 1e-5] == []
    single = [b for known, b in zip(SHORT, answers("proof"), strict=True) if known["point"]["times"] == 1]
    assert all(b is not None and width(b) < 1e-14 for b in single)
    assert sum(b is not None and width(b) < 1e-6 for b in answers("proof")) >= PROVED


@pytest.mark.parametrize("engine", ["auto", "proof"])
def test_weights_off_by_a_hundredth_are_seen(engine: str) -> None:
    """Positive control: at every point, whichever direction and family; of proofs, those of every other point."""
    for known, right in [*zip(SHORT, answers(engine), strict=True)][:: 2 if engine == "proof" else 1]:
        if engine == "proof" and (right is None or width(right) > 1e-3):
            continue
        bounds = delta(wrong(point_of(known)), known["epsilon"], engine)
        assert bounds is None or not holds(bounds, known["delta"])
        assert bounds is not None or known["point"]["times"] > 1


def test_a_bound_moved_by_little_is_seen() -> None:
    """Positive control: either end moved inwards by what the bracket is wide."""
    for known, bounds in zip(SHORT, answers("auto"), strict=True):
        assert bounds is not None
        more = 2 * width(bounds)
        assert not holds(Bounds(bounds.lower * (1 + more), bounds.upper), known["delta"])
        assert not holds(Bounds(bounds.lower, bounds.upper * (1 - more)), known["delta"])


def test_long_runs_agree_with_the_grid() -> None:
    """The grid's brackets are stored: some take a second."""
    found = zip(LONG, long_answers(), strict=True)
    assert [(known, b) for known, b in found if b is None or not overlap(b, Bounds(*known["grid"]))] == []


def test_the_grid_says_what_is_stored() -> None:
    for known in LONG[::10]:
        found = delta(point_of(known), known["epsilon"], "grid")
        assert found is not None
        assert found.upper == pytest.approx(known["grid"][1], rel=1e-9)
        assert found.lower == pytest.approx(known["grid"][0], rel=1e-9, abs=1e-300)


def test_long_runs_agree_with_proofs() -> None:
    """Where one is given; and weights that are off by a hundredth are seen."""
    given = 0
    for known, bounds in [*zip(LONG, long_answers(), strict=True)][::2]:
        proof = delta(point_of(known), known["epsilon"], "proof")
        if proof is None:
            continue
        off = delta(wrong(point_of(known)), known["epsilon"])
        assert bounds is not None
        assert off is not None
        assert overlap(bounds, proof)
        assert not overlap(off, proof)
        given += 1
    assert given >= 6


def test_a_long_run_that_is_off_is_seen_by_the_grid() -> None:
    """Positive control: the grid often has no lower end above 0, but its upper end is close everywhere."""
    for known in LONG:
        off = delta(wrong(point_of(known)), known["epsilon"])
        assert off is not None
        assert not overlap(off, Bounds(*known["grid"]))
