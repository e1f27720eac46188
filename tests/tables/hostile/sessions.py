"""Whole sessions about a table and its neighbours, each with a ledger of its own: outcomes alike, to the letter.

What is released is noise, so its values are not compared; all else is: whether and how a question failed, the shape
and types of the answer, keys that were listed, what is left, and the entries of the ledger but for times, answers and
hashes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import dalenius as dp
from dalenius.session.ledger import Ledger
from tests.tables.hostile import lines
from tests.tables.hostile.judge import Leak, Tally, count
from tests.tables.hostile.questions import Question
from tests.tables.hostile.rows import World
from tests.tables.hostile.stores import NotStorable, arrow, write_parquet

BUDGETS = (
    (dp.ApproxDP(1.0, 1e-6), dp.ApproxDP(0.3, 1e-8)),
    (dp.ApproxDP(1.0, 1e-6), dp.GDP(0.05)),
    (dp.ZCDP(1.0), dp.ZCDP(0.5)),
    (dp.ZCDP(0.5), dp.ZCDP(1.0)),
    (dp.PureDP(1.0), dp.PureDP(0.1)),
)

Inferred = tuple[Callable[[Any], Any], tuple[str, Any], tuple[str, Any]]
X, H, NOTHING = ("{x}", (0, 1)), ("{h}", (0, 40)), ("", None)
ESTIMATORS: tuple[Inferred, ...] = (
    (lambda promise: dp.infer.LinearRegression(guarantee=promise), X, H),
    (lambda promise: dp.infer.LogisticRegression(guarantee=promise), H, ("{x} > 0.5", None)),
    (lambda promise: dp.infer.MultinomialRegression(guarantee=promise, classes=(0, 1, 2)), X, H),
    (lambda promise: dp.infer.MeanTest(promise, bounds=(0, 1), mean=0.5), X, NOTHING),
    (lambda promise: dp.infer.TwoSampleMeanTest(promise, bounds=(0, 40)), ("{x} > 0.5", None), H),
    (lambda promise: dp.infer.AnovaTest(promise, bounds=(0, 1), levels=(0, 1, 7)), ("{h}", None), X),
    (lambda promise: dp.infer.KruskalWallisTest(promise, levels=(0, 1, 7)), ("{h}", None), X),
    (lambda promise: dp.infer.SignedRankTest(promise), X, NOTHING),
)
"""What is estimated or tested of the columns x and h."""


def _column(text: str, names: dict[str, str]) -> str:
    return text.format(**{key: '"' + name.replace('"', '""') + '"' for key, name in names.items()})


def sessions(folder: Path, world: World, question: Question, random: Random, tally: Tally) -> None:
    """Leak if the session about a neighbour goes otherwise than that about the table."""
    total, price = random.choice(BUDGETS)
    kind = random.choice(("frame", "parquet", "csv"))
    fitted = random.random() < 0.2
    inferred = random.choice(ESTIMATORS) if random.random() < 0.3 else None
    here = None
    for number in (None, *range(len(world.neighbours))):
        if number is not None and question.unit.is_row and len(world.neighbours[number]) > 1:
            continue
        try:
            there = _told(folder, world, number, question, total, price, kind, fitted, inferred)
        except NotStorable:
            if number is None:
                return
            continue
        if number is None:
            here = there
        elif here != there:
            assert here is not None
            a, b = apart(here, there)
            raise Leak(
                f"sessions differ ({kind}, {total!r}, {price!r}):\n  {a}\n  {b}\n{question}\n{own(world, number)}"
            )
        else:
            assert here is not None
            count(tally, question, _kind(here[0]))
            tally.asked["a fit"] += fitted
            tally.asked["an inference"] += inferred is not None


def apart(here: Any, there: Any) -> tuple[Any, Any]:
    """The smallest parts that differ."""
    if type(here) is type(there) and isinstance(here, dict) and list(here) == list(there):
        here, there = list(here.values()), list(there.values())
    if type(here) is type(there) and isinstance(here, list | tuple) and len(here) == len(there):
        return next(apart(a, b) for a, b in zip(here, there, strict=True) if a != b)
    return here, there


def own(world: World, number: int) -> Any:
    return world.names, world.types, world.neighbours[number]


def _kind(outcome: Any) -> str:
    return "answered" if not isinstance(outcome, str) else f"session: {outcome.partition(' ')[0]}"


def _told(
    folder: Path,
    world: World,
    number: int | None,
    question: Question,
    total: Any,
    price: Any,
    kind: str,
    fitted: bool,
    inferred: Inferred | None,
) -> tuple[Any, ...]:
    """Everything that somebody outside sees of a session, but for noise and times."""
    place = folder / "session"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    data, options = stored(place, world, number, kind)
    told: list[Any] = []
    with Ledger.open(place / "kept.ledger") as ledger:
        session = dp.Session(
            data, unit=question.unit, budget=total, ledger=ledger, name="data", schema=options
        )
        object.__setattr__(session.source, "name", "data")
        for _ in range(2):  # the second time from the record
            try:
                told.append(
                    _shape(
                        session.release(question.ask(session.source.table(question.schema)), price), question
                    )
                )
            except Exception as problem:
                told.append(_failure(problem))
        if fitted:
            try:
                model = dp.learn.LinearRegression(price)
                made = session.fit(model, {world.names["x"]: (0, 1)}, {world.names["h"]: (0, 40)})
                told.append(f"{type(made).__name__} {made[-1].coef_.shape}")
            except Exception as problem:
                told.append(_failure(problem))
        if inferred is not None:
            make, features, target = inferred
            named = {"x": world.names["x"], "h": world.names["h"]}
            try:
                columns = [{_column(text, named): ends} for text, ends in (features, target) if text]
                result = session.infer(make(price), *columns)
                told.append(f"{type(result).__name__} {getattr(result, 'names', result.__dict__.keys())}")
            except Exception as problem:
                told.append(_failure(problem))
        told.append(repr(session.remaining))
        told.append([entry(line) for line in ledger.export()])
        session.source.close()
    return tuple(told)


def _failure(problem: Exception) -> str:
    chain = [problem, problem.__cause__, problem.__context__]
    return ": ".join(f"{type(p).__name__} {p}" for p in chain if p is not None)


def stored(place: Path, world: World, number: int | None, kind: str) -> tuple[Any, Any]:
    facts = dp.Schema(nulls="drop")
    if kind == "csv":
        path = place / "data.csv"
        return lines.written(world, number, "lines", path), lines.schema(world, "lines", nulls="drop")
    if kind == "frame":
        return arrow(world, number), facts
    return write_parquet(world, number, place / "data.parquet"), facts


def _shape(answer: Any, question: Question) -> tuple[Any, ...]:
    frame = answer.to_pandas()
    keys = None if question.keys == "discover" else repr(answer.keys)
    size = None if question.keys == "discover" else frame.shape
    return "answered", keys, size, list(frame.columns), [str(t) for t in frame.dtypes], answer.free


HIDDEN = ("time", "at", "answer", "previous", "hash", "id", "key", "ledger", "checkpoint")


def entry(line: str) -> Any:
    """An entry of the ledger without what is noise, time or made of them."""
    return _plain(json.loads(line))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: type(v).__name__ if k in HIDDEN else _plain(v) for k, v in value.items()}
    if isinstance(value, str) and value.startswith("{"):
        return _plain(json.loads(value))
    return value
