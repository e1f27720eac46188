"""Whole sessions about a table and its neighbours, each with a ledger of its own: outcomes alike, to the letter.

What is released is noise, so its values are not compared; all else is: whether and how a question failed, the shape
and types of the answer, keys that were listed, what is left, and the entries of the ledger but for times, answers and
hashes.
"""

from __future__ import annotations

import io
import json
import logging
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from scipy import stats

import dalenius as dp
from dalenius.errors import BudgetExceeded, Refused
from dalenius.session.ledger import Ledger
from tests.tables.hostile import lines
from tests.tables.hostile.judge import Leak, Tally, count
from tests.tables.hostile.questions import Question
from tests.tables.hostile.rows import World
from tests.tables.hostile.stores import NotStorable, arrow, write_parquet

BUDGETS = (
    (dp.ApproxDP(1.0, 1e-6), dp.ApproxDP(0.3, 1e-8)),
    (dp.ApproxDP(1.0, 1e-6), dp.GDP(0.05)),
    (dp.ZCDP(1.0), dp.ZCDP(0.3)),
    (dp.ZCDP(0.5), dp.ZCDP(1.0)),  # refused
    (dp.PureDP(1.0), dp.PureDP(0.1)),
)
WEIGHTS = (3, 3, 3, 1, 3)

Columns = tuple[str, Any]
X, H, NOTHING = ("{x}", (0, 1)), ("{h}", (0, 40)), ("", None)
HALF, GROUPS = ("{x} > 0.5", None), ("{h}", None)
LEVELS: dict[str, Any] = {"x_levels": (0, 1, 7), "y_levels": (False, True)}


@dataclass(frozen=True)
class Inferred:
    """What is estimated or tested of the columns x and h.

    pure: whether Laplace noise can do it. alike: whether rows of a person may be alike.
    """

    make: Callable[[Any], Any]
    features: Columns
    target: Columns
    pure: bool = True
    alike: bool = True

    def suits(self, price: Any, unit: dp.Unit) -> bool:
        """Whether it is not refused for what is promised, or for whom."""
        alone = unit.is_row or unit.max_rows == 1
        return (self.pure or not isinstance(price, dp.PureDP)) and (self.alike or alone)


def _regression(kind: str, features: Columns, target: Columns, **options: Any) -> Inferred:
    return Inferred(lambda p: getattr(dp.infer, kind)(guarantee=p, **options), features, target, pure=False)


def _test(kind: str, features: Columns, target: Columns, pure: bool = True, **options: Any) -> Inferred:
    return Inferred(lambda p: getattr(dp.infer, kind)(p, **options), features, target, pure, alike=False)


def _estimate(kind: str, features: Columns, target: Columns, pure: bool = True, **options: Any) -> Inferred:
    return Inferred(lambda p: getattr(dp.infer, kind)(p, **options), features, target, pure)


ESTIMATORS: tuple[Inferred, ...] = (
    _regression("LinearRegression", X, H),
    _regression("LogisticRegression", H, HALF),
    _regression("MultinomialRegression", X, H, classes=(0, 1, 2)),
    _test("MeanTest", X, NOTHING, bounds=(0, 1), mean=0.5),
    _test("TwoSampleMeanTest", HALF, H, bounds=(0, 40)),
    _test("AnovaTest", GROUPS, X, bounds=(0, 1), levels=(0, 1, 7)),
    _test("KruskalWallisTest", GROUPS, X, levels=(0, 1, 7)),
    _test("SignedRankTest", X, NOTHING),
    _test("KolmogorovSmirnovTest", X, NOTHING, cdf=stats.gamma(2.0)),
    _test("TwoSampleKolmogorovSmirnovTest", HALF, H, pure=False),
    _test("IndependenceTest", GROUPS, HALF, **LEVELS),
    _estimate("Mean", X, NOTHING),
    _estimate("Mean", ("{x}", None), NOTHING, location=(0, 1), sd_at_most=1.0),
    _estimate("Std", X, NOTHING),
    _estimate("Proportion", HALF, NOTHING),
    _estimate("DifferenceOfMeans", HALF, H),
    _estimate("Quantiles", X, NOTHING, pure=False, levels=(0.25, 0.5), bins=64),
    _estimate("Correlation", X, H),
    _estimate("Contingency", GROUPS, HALF, **LEVELS),
)

LEGS = ("a question", "a fit", "an inference")
"""What a session is asked, the question twice; no fit where the price allows none."""


def _column(text: str, names: dict[str, str]) -> str:
    return text.format(**{key: '"' + name.replace('"', '""') + '"' for key, name in names.items()})


def sessions(folder: Path, world: World, questions: Sequence[Question], random: Random, tally: Tally) -> None:
    """Leak if the session about a neighbour goes otherwise than that about the table.

    Of the questions one is asked: the first that is answered, most of the time, for much that is drawn is refused.
    """
    total, price = random.choices(BUDGETS, WEIGHTS)[0]
    kind = random.choice(("frame", "parquet", "csv"))
    anyway = random.random() < 0.1
    place = random.random()
    for question in questions:
        suitable = [one for one in ESTIMATORS if one.suits(price, question.unit)]
        inferred = suitable[int(place * len(suitable))]
        try:
            here = _told(folder, world, None, question, total, price, kind, inferred)
        except NotStorable:
            return
        if anyway or _kind(here[0]) == "answered":
            break
    for number in range(len(world.neighbours)):
        if question.unit.is_row and len(world.neighbours[number]) > 1:
            continue
        try:
            there = _told(folder, world, number, question, total, price, kind, inferred)
        except NotStorable:
            continue
        if here != there:
            a, b = apart(here, there)
            raise Leak(
                f"sessions differ ({kind}, {total!r}, {price!r}):\n  {a}\n  {b}\n{question}\n{own(world, number)}"
            )
        count(tally, question, _kind(here[0]))
        for leg, outcome in zip(LEGS, here[2::2], strict=False):
            tally.asked[leg if _kind(outcome) == "answered" else f"{leg}, refused"] += 1


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
    inferred: Inferred,
) -> tuple[Any, ...]:
    """Everything that somebody outside sees of a session, but for noise and times."""
    place = folder / "session"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    data, options = stored(place, world, number, kind)
    told: list[Any] = []

    def ask(session: dp.Session) -> Any:
        answer = session.release(question.ask(session.source.table(question.schema)), price)
        return _shape(answer, question)

    def fit(session: dp.Session) -> Any:
        if isinstance(price, dp.PureDP):
            return ("no fit",)
        model = dp.learn.LinearRegression(price)
        made = session.fit(model, {world.names["x"]: (0, 1)}, {world.names["h"]: (0, 40)})
        return "answered", type(made).__name__, made[-1].coef_.shape

    def infer(session: dp.Session) -> Any:
        named = {"x": world.names["x"], "h": world.names["h"]}
        columns = [
            {_column(text, named): ends} for text, ends in (inferred.features, inferred.target) if text
        ]
        result = session.infer(inferred.make(price), *columns)
        return "answered", type(result).__name__, getattr(result, "names", list(result.__dict__))

    with Ledger.open(place / "kept.ledger") as ledger:
        session = dp.Session(
            data, unit=question.unit, budget=total, ledger=ledger, name="data", schema=options
        )
        object.__setattr__(session.source, "name", "data")
        for leg in (ask, ask, fit, infer):  # the second time from the record
            before = list(ledger.export())
            try:
                with noted() as said:
                    told.append(leg(session))
                told.append(said)
            except (
                Refused,
                BudgetExceeded,
            ) as refused:  # of anything else the campaign says where it happened
                told += [_failure(refused), said]
                if list(ledger.export()) != before:
                    raise Leak(f"refused after the charge: {refused}\n{question}") from None
        told.append(repr(session.remaining))
        told.append([entry(line) for line in ledger.export()])
        session.source.close()
    return tuple(told)


@contextmanager
def noted() -> Iterator[list[str]]:
    """What is said meanwhile beside the answer: warnings, lines of a log, and what is printed."""
    said: list[str] = []
    handler, root, level = _Lines(said), logging.getLogger(), logging.getLogger().level
    printed = io.StringIO()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            redirect_stdout(printed),
            redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            for kind in (DeprecationWarning, FutureWarning):  # of packages, about how they are called
                warnings.simplefilter("ignore", kind)
            yield said
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        said += [f"{one.category.__name__} {one.message}" for one in caught]
        said += [printed.getvalue()] if printed.getvalue() else []


class _Lines(logging.Handler):
    """Keeps lines of a log."""

    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.name} {record.getMessage()}")


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
