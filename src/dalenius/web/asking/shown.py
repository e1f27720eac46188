"""Answers as JSON: the ledger's record, from which a program makes the same answer, and a plain table for people."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from typing import Any

from dalenius.infer.hypotheses.result import TestResult
from dalenius.infer.result import Result
from dalenius.session.entries import digest
from dalenius.session.travel.outcomes import Outcome, answer_record
from dalenius.session.travel.requests import Request
from dalenius.tables.release.answer import Answer
from dalenius.tables.release.sheet import Sheet


def shown(outcome: Outcome, request: Request, id: str) -> dict[str, Any]:
    """An outcome for whoever asked."""
    question = json.loads(outcome.question)
    return {
        "id": id,
        "kind": request.tag,
        "said": request.said,
        "question": question.get("query", question.get("queries")),
        "budget": question.get("price"),
        "cost_in_words": _cost(outcome.result),
        "free": outcome.free,
        "charged": outcome.charged,
        "key": digest(outcome.question),
        "answer": answer_record(outcome),
        **_result(outcome.result),
    }


def _result(result: Any) -> dict[str, Any]:
    if isinstance(result, Sheet):
        return {"confidence": _confidence(result), **table(result), "note": result.note}
    if isinstance(result, Mapping) and all(isinstance(one, Sheet) for one in result.values()):  # a plan
        return {"answers": {name: table(one) for name, one in result.items()}}
    if isinstance(result, Result | TestResult):
        return {"summary": str(result.summary())}
    from dalenius.learn.saved import to_json

    if isinstance(result, Mapping):  # models by their targets
        models = {name: json.loads(to_json(one)) for name, one in result.items()}
        summary = "\n".join(f"{name}: {_model_in_words(one)}" for name, one in result.items())
        return {"models": models, "summary": summary}
    return {"model": json.loads(to_json(result)), "summary": _model_in_words(result)}


def table(sheet: Sheet) -> dict[str, Any]:
    """Columns with the part that each plays, and rows."""
    columns: list[dict[str, Any]] = [{"name": name, "role": "key", "of": None} for name in sheet.names]
    for column in sheet.columns:
        columns.append({"name": column.name, "role": "estimate", "of": column.name})
        if column.has_interval:
            parts = ("error", "low", "high")
            columns += [{"name": f"{column.name}_{part}", "role": part, "of": column.name} for part in parts]
    held = sheet.to_dict()
    rows = [[plain(value) for value in row] for row in zip(*held.values(), strict=True)]
    return {"columns": columns, "rows": rows}


def plain(value: Any) -> Any:
    """A value as JSON has it: no infinity, and no NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, datetime.date) else value


def _confidence(result: Sheet) -> float | None:
    answer = result if isinstance(result, Answer) else getattr(result, "cells", None)
    return answer.wanted.confidence if isinstance(answer, Answer) else None


def _cost(result: Any) -> str | None:
    if isinstance(result, Mapping):
        result = next(iter(result.values()))
    if isinstance(result, Answer):
        return result.cost
    return result.cells.cost if hasattr(result, "cells") else None


def _model_in_words(pipeline: Any) -> str:
    model = pipeline[-1]
    model = getattr(model, "best_estimator_", model)
    numbers = {"coefficients": "coef_", "intercept": "intercept_"}
    found = [f"{word}: {getattr(model, name)}" for word, name in numbers.items() if hasattr(model, name)]
    return "\n".join([type(model).__name__, *found])
