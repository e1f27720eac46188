"""Answers as JSON: the ledger's record, from which a program makes the same answer, and a plain table for people."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.session.entries import digest
from dalenius.session.travel.outcomes import Outcome, answer_record
from dalenius.session.travel.requests import Request
from dalenius.tables.release.answer import Answer
from dalenius.tables.release.sheet import Sheet
from dalenius.web.asking.tabled import tabled


def shown(outcome: Outcome, request: Request, id: str) -> dict[str, Any]:
    """An outcome for whoever asked."""
    question = json.loads(outcome.question)
    return {
        "id": id,
        "kind": request.tag,
        "said": request.said,
        "question": question.get("query", question.get("queries")),
        "budget": question.get("price"),
        "cost_in_words": _cost(outcome.result, request),
        "free": outcome.free,
        "charged": outcome.charged,
        "key": digest(outcome.question),
        "answer": answer_record(outcome),
        **_result(outcome.result, request),
    }


def _result(result: Any, request: Request) -> dict[str, Any]:
    if isinstance(result, Sheet):
        return {"confidence": _confidence(result), **table(result), "note": result.note}
    if isinstance(result, Mapping) and all(isinstance(one, Sheet) for one in result.values()):  # a plan
        return {"answers": {name: table(one) for name, one in result.items()}}
    if isinstance(result, Mapping):  # models by their targets
        each = {name: _result(one, request) for name, one in result.items()}
        summary = "\n\n".join(f"{name}:\n{told['summary']}" for name, told in each.items())
        return {"models": {name: told["model"] for name, told in each.items()}, "summary": summary}
    found = tabled(result, getattr(request, "features", None))
    told: dict[str, Any] = {}
    if found is not None:
        rows = [[plain(value) for value in row] for row in zip(*found.held.values(), strict=True)]
        told = {"columns": found.columns, "rows": rows, "confidence": found.confidence}
    if not hasattr(result, "steps"):
        return {**told, "summary": str(result.summary())}
    from dalenius.learn.saved import to_json

    return {**told, "model": json.loads(to_json(result)), "summary": _model_in_words(result)}


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


def _cost(result: Any, request: Request) -> str | None:
    """What it was given: a budget, or the promise that a model or a test has of its own."""
    if isinstance(result, Mapping):
        result = next(iter(result.values()))
    if isinstance(result, Answer):
        return result.cost
    if hasattr(result, "cells"):
        return str(result.cells.cost)
    asked = getattr(request, "model", getattr(request, "estimator", None))
    given = getattr(request, "budget", None) or getattr(asked, "guarantee", None)
    return repr(given.shortened(up=True)) if isinstance(given, Guarantee) else None


def _model_in_words(pipeline: Any) -> str:
    """What it is and what it promises; the coefficients are a table."""
    model = pipeline[-1]
    best = getattr(model, "best_estimator_", model)
    lines = [type(best).__name__ if best is model else f"{type(best).__name__}, the best that was found"]
    if hasattr(best, "classes_"):
        lines.append("classes: " + ", ".join(str(label) for label in best.classes_.tolist()))
    lines += [
        f"promise: {getattr(model, 'guarantee', None)!r}",
        f"coefficients are of columns between -1 and 1, brought there by their public bounds, over the root of "
        f"{len(pipeline[0].bounds)} columns; a category is 1 where it holds.",
    ]
    return "\n".join(lines)
