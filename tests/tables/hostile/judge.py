"""Whether anything tells a table from its neighbour, other than integers that the noise covers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import InvalidParameter, SourceError
from dalenius.tables import Query, Source
from dalenius.tables.compute import exact
from dalenius.tables.measures.measure import Measure
from dalenius.tables.plan.plan import groups
from dalenius.tables.plan.sensitivity import sensitivity
from tests.tables.hostile.questions import Question
from tests.tables.hostile.rows import World
from tests.tables.hostile.statements import Statements
from tests.tables.hostile.stores import Hold, NotStorable, Store

SLOW = 5.0
"""Seconds. A question about a few rows takes a tenth of one; slower than this only because of a value is a leak."""

SMALL = 2**24
"""Differences below it are squared and added up as 64-bit integers, larger ones as Python's."""


class Leak(AssertionError):
    """Something shows."""


@dataclass
class Tally:
    """What was tried.

    cases: by kind of outcome; a case is one question, asked of one table and one neighbour of it, on one engine.
    replaced: pairs of neighbours of one table, compared as replacements of one unit. refused: questions that were
    refused before a charge; they make no case. asked: cases by aggregate, by unit, by kind of keys and by language.
    """

    cases: Counter[str] = field(default_factory=Counter)
    replaced: int = 0
    refused: int = 0
    asked: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.cases.total()


@dataclass(frozen=True)
class Outcome:
    """What came of a question: its integers by key, and how it failed, to the letter."""

    codes: list[tuple[Any, ...]]
    values: dict[Measure, NDArray[Any]]
    failure: str | None
    seconds: float

    @property
    def types(self) -> dict[Measure, str]:
        return {m: f"{values.dtype} {values.shape[1:]}" for m, values in self.values.items()}


class Asked:
    """A question built against the first of many sources of one kind: its statements are compiled once."""

    def __init__(self, source: Source, question: Question) -> None:
        self.question, self.query = question, None
        try:
            self.query = question.ask(source.table(question.schema))
            self.run = exact.prepared(source, self.query, question.unit)
        except InvalidParameter as refused:
            self.refusal = f"refused: {type(refused).__name__}: {refused}"

    def outcome(self, rows: Any) -> Outcome:
        """Carried out on what a Source, or Statements of another one, fetch; nothing may go wrong there."""
        self.run.source = rows
        start = time.perf_counter()
        try:
            table = exact.sealed(self.run.run)
        except Exception as problem:
            return Outcome([], {}, f"{type(problem).__name__}: {problem}", time.perf_counter() - start)
        return Outcome([_code(key) for key in table.codes], table.values, None, time.perf_counter() - start)


def _code(key: Any) -> tuple[Any, ...]:
    """Keys as they come from the engine; engines write hexadecimal digits in capitals or not."""
    return tuple(part.lower() if isinstance(part, str) else part for part in key)


def judge(store: Store, world: World, asked: Sequence[Question], tally: Tally) -> None:
    """Leak if a question tells the table of this world from one of its neighbours, or two of them apart."""
    with ExitStack() as stack:
        hold = stack.enter_context(store(world))
        try:
            first = hold(None)
        except NotStorable:
            return
        except SourceError as refused:
            return refused_alike(hold, world, str(refused))
        statements = Statements(first)
        built = [Asked(first, question) for question in asked]
        tally.refused += sum(one.query is None for one in built)
        built = [one for one in built if one.query is not None]
        seen: list[list[Outcome]] = [[one.outcome(first)] for one in built]
        rows = statements.over(first)
        for one, (outcome,) in zip(built, seen, strict=True):
            compare(one.question, None, [outcome, one.outcome(rows)])
        for number, own in enumerate(world.neighbours):
            try:
                source = hold(number)
            except NotStorable:
                continue
            except SourceError as refused:
                raise Leak(f"a neighbour is not opened: {refused}\n{own}") from None
            if source.fields != first.fields:
                raise Leak(f"columns differ: {first.fields}\n{source.fields}")
            if source is not first:
                rows = statements.over(source)
            for one, outcomes in zip(built, seen, strict=True):
                if one.question.unit.is_row and len(own) > 1:
                    continue
                outcomes.append(one.outcome(rows))
                look_alike(one.question, outcomes[0], outcomes[-1])
                count(tally, one.question)
    for one, outcomes in zip(built, seen, strict=True):
        assert one.query is not None
        compare(one.question, one.query, outcomes)
        tally.replaced += (len(outcomes) - 1) * (len(outcomes) - 2) // 2


def refused_alike(hold: Hold, world: World, refusal: str) -> None:
    """What is not opened is not opened for any neighbour, and for the same reason."""
    for number in range(len(world.neighbours)):
        told = "it was opened"
        try:
            hold(number)
        except NotStorable:
            continue
        except SourceError as refused:
            told = str(refused)
        if told != refusal:
            raise Leak(f"one is refused and the other not:\n  {refusal}\n  {told}")


def count(tally: Tally, question: Question, kind: str = "answered") -> None:
    tally.cases[kind] += 1
    for label in question.labels:
        tally.asked[label] += 1


def look_alike(question: Question, here: Outcome, there: Outcome) -> None:
    """Leak unless neighbours fail alike, which they must not do, and answer in the same types and time."""
    if here.failure != there.failure:
        raise Leak(f"one fails and the other does not:\n  {here.failure}\n  {there.failure}\n{question}")
    if here.failure is not None:
        raise Leak(f"it always fails after the charge: {here.failure}\n{question}")
    if here.types != there.types:
        raise Leak(f"types differ: {here.types} and {there.types}\n{question}")
    if there.seconds > SLOW + 20 * here.seconds:
        raise Leak(f"{here.seconds:.2f} s became {there.seconds:.2f} s\n{question}")
    if question.keys != "discover" and here.codes != there.codes:
        raise Leak(f"the groups differ\n{question}")


def compare(question: Question, query: Query | None, outcomes: Sequence[Outcome]) -> None:
    """Leak if integers differ by more than planned: those of the first, the table, from those of its neighbours, and
    those of two neighbours from each other. Without a query they must not differ at all."""
    codes = {code: n for n, code in enumerate(dict.fromkeys(c for o in outcomes for c in o.codes))}
    for measure in outcomes[0].values:
        numbers = np.stack([_aligned(o, measure, codes) for o in outcomes])
        one, two = distances(numbers)
        if query is None:
            if outcomes[0].codes != outcomes[1].codes or one.any():
                raise Leak(f"other integers on the short way\n{question}")
            continue
        if len(outcomes) > 1:
            _within(question, query, measure, ADD_REMOVE, one[0].max(), two[0].max())
        if len(outcomes) > 2:
            _within(question, query, measure, REPLACE_ONE, one[1:, 1:].max(), two[1:, 1:].max())


def _within(
    question: Question, query: Query, measure: Measure, adjacency: Adjacency, one: Any, two: Any
) -> None:
    allowed = sensitivity(measure, question.unit, adjacency, groups(query) * measure.size)
    if one > allowed.l1 or two > allowed.l2_squared:
        raise Leak(
            f"{measure.kind} moves by {one} (l1) and {two} (square of l2), {adjacency}; {allowed} is planned for\n"
            f"{question}"
        )


def _aligned(outcome: Outcome, measure: Measure, codes: Mapping[Any, int]) -> NDArray[Any]:
    """The integers as one vector, by key; a key that is not there counts nobody."""
    values = outcome.values[measure]
    made = np.zeros((len(codes), *values.shape[1:]), dtype=values.dtype)
    made[[codes[code] for code in outcome.codes]] = values
    return made.ravel()


def distances(numbers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The l1 norm and the square of the l2 norm of the difference of every two rows, in whole numbers of any size."""
    numbers = numbers[:, (numbers != numbers[0]).any(axis=0)]
    if numbers.shape[1] > SMALL or numbers.dtype == object or (np.abs(numbers) >= SMALL // 2).any():
        numbers = numbers.astype(object)
    apart = np.abs(numbers[:, None, :] - numbers[None, :, :])
    return apart.sum(axis=2), (apart * apart).sum(axis=2)


def agree(stores: Mapping[str, Store], world: World, asked: Sequence[Question], tally: Tally) -> None:
    """Leak if engines that hold the same rows count different integers: those of the table, and of each neighbour."""
    found: dict[str, list[list[Outcome | None]]] = {}
    for name, store in stores.items():
        with store(world) as hold:
            first = hold(None)
            statements = Statements(first)
            built = [Asked(first, question) for question in asked]
            found[name] = [[None if one.query is None else one.outcome(first) for one in built]]
            for number in range(len(world.neighbours)):
                rows = statements.over(hold(number))
                found[name].append([None if one.query is None else one.outcome(rows) for one in built])
    one, two = found
    for number, pairs in enumerate(zip(found[one], found[two], strict=True)):
        for question, here, there in zip(asked, *pairs, strict=True):
            if here is None or there is None:
                tally.refused += number == 0
                continue
            count(tally, question, "agreed")
            same = here.failure == there.failure and here.codes == there.codes
            if not same or any((here.values[m] != there.values[m]).any() for m in here.values):
                rows = world.table(number - 1 if number else None)
                raise Leak(f"{one} and {two} differ:\n  {here}\n  {there}\n{question}\n{rows}")
