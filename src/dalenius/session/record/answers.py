"""The text of an answer, as a ledger keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalenius.core.record import JSON, exact, headed, opened
from dalenius.errors import LedgerDamaged, LedgerError
from dalenius.infer.hypotheses.result import TestResult
from dalenius.infer.result import Result
from dalenius.intervals.laws import Law
from dalenius.tables.ask.query import Query
from dalenius.tables.facts.forms import key_records, read_keys
from dalenius.tables.facts.keys import Key
from dalenius.tables.plan.noises import LAWS
from dalenius.tables.release.record import answer_record, read_answer
from dalenius.tables.release.released import Released

FORMAT, VERSION = "dalenius answer", 2

OTHERWISE = "an answer of the ledger is not written as we write them."


def to_release(query: Query, released: Released) -> str:
    """To one question."""
    return _written("release", {"answer": answer_record(query, released)})


def to_plan(answers: Mapping[str, tuple[Query, Released]]) -> str:
    """To several questions, each by its name."""
    records = {name: answer_record(*answer) for name, answer in answers.items()}
    return _written("release_all", {"answers": records})


def to_discovery(keys: Iterable[Key], about: tuple[Query, Released] | None) -> str:
    """The keys that came to light, and the answer about them; None where there is no key."""
    answer = None if about is None else answer_record(*about)
    return _written("discovery", {"keys": key_records(keys), "answer": answer})


def to_fit(released: Mapping[str, JSON], ends: Sequence[tuple[float, float]] | None = None) -> str:
    """What a fit released; and the bounds of its features, where some of them were found."""
    found = {} if ends is None else {"bounds": [[exact(low), exact(high)] for low, high in ends]}
    return _written("fit", {"released": released, **found})


def to_fit_targets(released: Sequence[Mapping[str, JSON]]) -> str:
    """What the fits of several targets released, in their order."""
    return _written("fit_targets", {"released": list(released)})


def to_inference(result: Result) -> str:
    """What was estimated: a saved result."""
    return _written("infer", {"result": result.to_json()})


def to_synthesis(columns: Sequence[Mapping[str, JSON]], released: Mapping[str, JSON]) -> str:
    """The columns as they were coded in the end, and the marginals that were measured."""
    return _written("synthesize", {"columns": list(columns), "marginals": released})


def to_feed(counter: Mapping[str, JSON]) -> str:
    """The counter of a feed, with its settings."""
    return _written("continual", {"counter": counter})


def to_periods(measured: Iterable[Any]) -> str:
    """What was measured in further periods of a feed: whole numbers."""
    return _written("continual periods", {"measured": [one.tolist() for one in measured]})


def to_test(result: TestResult) -> str:
    """What was tested: a saved result."""
    return _written("test", {"result": result.to_json()})


def to_evaluation(counts: Any, law: Law) -> str:
    """Noisy counts, labels x (predictions x) bins, and the law of their noise."""
    numbers = [exact(float(x)) for x in counts.ravel()]
    return _written("evaluate", {"shape": list(counts.shape), "counts": numbers, "law": law.record()})


def read_release(text: str, query: Query) -> tuple[Query, Released]:
    """The question with the measures that were released for it, and what was released."""
    return _read(_opened(text, "release")["answer"], query)


def read_plan(text: str, queries: Mapping[str, Query]) -> dict[str, tuple[Query, Released]]:
    """The same for each of several questions."""
    answers = _opened(text, "release_all")["answers"]
    return {name: _read(answers[name], query) for name, query in queries.items()}


def read_discovered(text: str) -> tuple[list[Key], JSON]:
    """The keys, and the record of the answer about them, for `read_about`."""
    content = _opened(text, "discovery")
    return read_keys(content["keys"]), content["answer"]


def read_about(record: JSON, query: Query) -> tuple[Query, Released]:
    """The answer about keys that were discovered; there is none where there is no key."""
    return (query, Released(query.columns, [], {}, {})) if record is None else _read(record, query)


def read_fit(text: str) -> dict[str, JSON]:
    """What a fit released."""
    released: dict[str, JSON] = _opened(text, "fit")["released"]
    return released


def read_found(text: str, features: int) -> list[tuple[float, float]]:
    """The bounds of so many features, where a fit found some of them."""
    listed = _part(_opened(text, "fit"), "bounds", list)
    try:
        ends = [(float(low), float(high)) for low, high in listed]
    except (TypeError, ValueError):
        raise LedgerDamaged(OTHERWISE) from None
    if len(ends) != features or not all(low < high for low, high in ends):
        raise LedgerDamaged(OTHERWISE)
    return ends


def read_fit_targets(text: str, number: int) -> list[dict[str, JSON]]:
    """What the fits of so many targets released."""
    released: list[dict[str, JSON]] = _part(_opened(text, "fit_targets"), "released", list)
    if len(released) != number or not all(isinstance(one, dict) for one in released):
        raise LedgerDamaged(OTHERWISE)
    return released


def read_inference(text: str) -> Result:
    """What was estimated."""
    return Result.from_json(_opened(text, "infer")["result"])


def read_synthesis(text: str) -> tuple[list[JSON], JSON]:
    """The records of the columns, as they were coded in the end, and of what was measured."""
    content = _opened(text, "synthesize")
    return _part(content, "columns", list), _part(content, "marginals", dict)


def read_feed(text: str) -> dict[str, JSON]:
    """The counter of a feed, with its settings."""
    counter: dict[str, JSON] = _part(_opened(text, "continual"), "counter", dict)
    return counter


def read_periods(text: str) -> list[Any]:
    """What was measured in further periods of a feed, as arrays."""
    measured = _part(_opened(text, "continual periods"), "measured", list)
    try:
        return [np.array(one, dtype=np.int64) for one in measured]
    except (TypeError, ValueError, OverflowError):
        raise LedgerDamaged(OTHERWISE) from None


def read_test(text: str) -> TestResult:
    """What was tested."""
    return TestResult.from_json(_opened(text, "test")["result"])


def read_evaluation(text: str) -> tuple[Any, Law]:
    """The noisy counts, and the law of their noise."""
    content = _opened(text, "evaluate")
    law = _part(content, "law", dict)
    try:
        counts = np.array([float(x) for x in content["counts"]]).reshape(content["shape"])
        return counts, LAWS[law["kind"]].from_record(law)
    except (KeyError, TypeError, ValueError):
        raise LedgerDamaged(OTHERWISE) from None


def _part(content: Mapping[str, JSON], name: str, kind: type) -> Any:
    if not isinstance(content.get(name), kind):
        raise LedgerDamaged(OTHERWISE)
    return content[name]


def _written(kind: str, content: Mapping[str, JSON]) -> str:
    return headed(FORMAT, VERSION, {"kind": kind, **content})


def _opened(text: str, kind: str) -> dict[str, JSON]:
    content = opened(text, FORMAT, VERSION, LedgerError)
    if content.get("kind") != kind:
        raise LedgerDamaged(
            f"the ledger has an answer of kind {content.get('kind')!r} where one of {kind!r} belongs."
        )
    return content


def _read(record: Mapping[str, JSON], query: Query) -> tuple[Query, Released]:
    try:
        return read_answer(record, query)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise LedgerDamaged(OTHERWISE) from None
