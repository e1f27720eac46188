"""Whether anything tells a table from its neighbour, other than integers that the noise covers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.tables import Query, Source, exact
from dalenius.tables.measures import Measure
from dalenius.tables.plan import groups
from dalenius.tables.sensitivity import sensitivity
from tests.tables.hostile.questions import Question
from tests.tables.hostile.rows import World
from tests.tables.hostile.stores import Store

SLOW = 5.0
"""Seconds. A question about a few rows takes a tenth of one; slower than this only because of a value is a leak."""


class Leak(AssertionError):
    """Something shows."""


@dataclass
class Tally:
    """What was tried. cases: a question asked of a table and of one neighbour."""

    cases: int = 0
    replaced: int = 0
    refused: int = 0
    engines: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


Cells = dict[tuple[Any, ...], dict[Measure, Any]]


@dataclass(frozen=True)
class Outcome:
    """What came of a question: its integers by key, their types, and how it failed, to the letter."""

    query: Query | None
    cells: Cells
    types: dict[Measure, str]
    failure: str | None
    seconds: float


def outcome(source: Source, question: Question) -> Outcome:
    """Built (what is refused is refused before a charge), then carried out; nothing may go wrong there."""
    try:
        query = question.ask(source.table(question.schema))
        exact.check(query, question.unit)
    except InvalidParameter as refused:
        return Outcome(None, {}, {}, f"refused: {type(refused).__name__}: {refused}", 0.0)
    start = time.perf_counter()
    try:
        table = exact.evaluate(source, query, question.unit)
    except Exception as problem:
        return Outcome(
            query, {}, {}, f"failed: {type(problem).__name__}: {problem}", time.perf_counter() - start
        )
    taken = time.perf_counter() - start
    cells = {
        _code(key): {m: values[n] for m, values in table.values.items()} for n, key in enumerate(table.codes)
    }
    types = {m: f"{values.dtype} {values.shape[1:]}" for m, values in table.values.items()}
    return Outcome(query, cells, types, None, taken)


def _code(key: Any) -> tuple[Any, ...]:
    """Keys as they come from the engine; engines write hexadecimal digits in capitals or not."""
    return tuple(part.lower() if isinstance(part, str) else part for part in key)


def judge(store: Store, world: World, asked: Sequence[Question], tally: Tally) -> None:
    """Leak if a question tells the table of this world from one of its neighbours, or two of them apart."""
    with ExitStack() as stack:
        base = [outcome(stack.enter_context(store(world.table(None), world.names)), q) for q in asked]
    seen: list[dict[int, Outcome]] = [{} for _ in asked]
    for number, rows in enumerate(world.neighbours):
        with store(world.table(number), world.names) as source:
            for position, question in enumerate(asked):
                if question.unit.is_row and len(rows) > 1:
                    continue
                there = outcome(source, question)
                tally.kinds[_kind(there)] += 1
                compare(question, base[position], there, ADD_REMOVE)
                if there.query is None:
                    tally.refused += 1
                    continue
                tally.cases += 1
                for other in seen[position].values():
                    compare(question, other, there, REPLACE_ONE)
                    tally.replaced += 1
                seen[position][number] = there


def _kind(there: Outcome) -> str:
    return "answered" if there.failure is None else there.failure.partition(":")[0]


def compare(question: Question, here: Outcome, there: Outcome, adjacency: Adjacency) -> None:
    """Leak unless two neighbours look alike."""
    if here.failure != there.failure:
        raise Leak(f"one fails and the other does not:\n  {here.failure}\n  {there.failure}\n{question}")
    if here.failure is not None:
        if here.failure.startswith("failed"):
            raise Leak(f"it always fails after the charge: {here.failure}\n{question}")
        return
    if here.types != there.types:
        raise Leak(f"types differ: {here.types} and {there.types}\n{question}")
    if there.seconds > SLOW + 20 * here.seconds:
        raise Leak(f"{here.seconds:.2f} s became {there.seconds:.2f} s\n{question}")
    assert here.query is not None
    discovered = question.keys == "discover"
    if not discovered and list(here.cells) != list(there.cells):
        raise Leak(f"the groups differ\n{question}")
    for measure in here.types:
        allowed = sensitivity(measure, question.unit, adjacency, groups(here.query) * measure.size)
        one, two = _difference(measure, here.cells, there.cells)
        if one > allowed.l1 or two > allowed.l2_squared:
            raise Leak(
                f"{measure.kind} moves by {one} (l1) and {two} (square of l2); {allowed} is planned for\n{question}"
            )


def _difference(measure: Measure, here: Cells, there: Cells) -> tuple[int, int]:
    """The l1 norm and the square of the l2 norm of the change, in whole numbers of any size."""
    one = two = 0
    for key in {*here, *there}:
        a, b = (
            np.ravel(cells[key][measure]) if key in cells else np.zeros(1, int) for cells in (here, there)
        )
        apart = np.flatnonzero(a != b)
        if len(apart):
            a, b = (np.broadcast_to(x, max(len(a), len(b)))[apart].tolist() for x in (a, b))
            one += sum(abs(x - y) for x, y in zip(a, b, strict=True))
            two += sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    return one, two


def agree(stores: Mapping[str, Store], world: World, asked: Sequence[Question], tally: Tally) -> None:
    """Leak if engines that hold the same rows count different integers."""
    rows = world.table(0 if world.neighbours else None)
    found: dict[str, list[Outcome]] = {}
    for name, store in stores.items():
        with store(rows, world.names) as source:
            found[name] = [outcome(source, question) for question in asked]
    first, *others = found
    for name in others:
        for question, here, there in zip(asked, found[first], found[name], strict=True):
            if here.query is None or there.query is None:
                tally.refused += 1
                continue
            tally.engines += 1
            same = here.failure == there.failure and list(here.cells) == list(there.cells)
            if not same or any(_difference(m, here.cells, there.cells)[0] for m in here.types):
                raise Leak(
                    f"{first} and {name} differ:\n  {here.failure} {here.cells}\n  {there.failure} {there.cells}\n"
                    f"{question}\n{rows}"
                )
