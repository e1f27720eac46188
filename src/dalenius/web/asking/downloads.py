"""An outcome as a file: CSV, Markdown or Parquet of whatever kind it is, and a model as JSON.

Several answers of one plan are one table, whose first column names the answer; a column that an answer has not is empty
there. Synthetic data are their rows.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from dalenius.session.synthetic_table import SyntheticTable
from dalenius.session.travel.outcomes import Outcome
from dalenius.session.travel.requests import Request
from dalenius.tables.release.cells import in_markdown, no_formula
from dalenius.tables.release.sheet import Sheet
from dalenius.web.asking.tabled import Tabled, tabled
from dalenius.web.problems import Problem

ANSWER = "answer"
"""The first column of several answers."""


def as_csv(outcome: Outcome, request: Request) -> bytes:
    """A text that a spreadsheet would take for a formula has an apostrophe before it."""
    result = outcome.result
    if isinstance(result, Sheet):
        return result.to_csv(for_spreadsheets=True).encode()
    held, lines = _held(outcome, request), io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow([no_formula(name) for name in held])
    for row in zip(*held.values(), strict=True):
        writer.writerow(["" if value is None or value != value else _cell(value) for value in row])
    return lines.getvalue().encode()


def as_markdown(outcome: Outcome, request: Request) -> bytes:
    """A table; of several answers a heading and a table for each."""
    result = outcome.result
    if isinstance(result, Sheet):
        return result.to_markdown().encode()
    if isinstance(result, Mapping):
        parts = [f"## {in_markdown(name)}\n\n{sheet.to_markdown()}" for name, sheet in result.items()]
        return "\n\n".join(parts).encode()
    found = tabled(result, getattr(request, "features", None))
    if found is None:
        found = Tabled(_held(outcome, request), ("other",) * len(_held(outcome, request)))
    return found.to_markdown().encode()


def as_parquet(outcome: Outcome, request: Request) -> bytes:
    """The same columns with their types; text where answers of one plan have different ones."""
    from pyarrow import parquet

    result, file = outcome.result, io.BytesIO()
    if isinstance(result, Sheet | SyntheticTable):
        table = result.to_arrow()
    else:
        table = pa.table({name: _array(values) for name, values in _held(outcome, request).items()})
    parquet.write_table(table, file)
    return file.getvalue()


def as_model(outcome: Outcome, request: Request) -> bytes:
    """A fitted model, as dp.learn.load reads it."""
    from dalenius.learn.saved import to_json

    if not hasattr(outcome.result, "steps"):
        raise _has_no("model", request, "Only a fit has one; CSV, Markdown and Parquet are there for all.")
    return (json.dumps(json.loads(to_json(outcome.result))) + "\n").encode()


def _held(outcome: Outcome, request: Request) -> dict[str, list[Any]]:
    result = outcome.result
    if isinstance(result, SyntheticTable):
        return dict(result.to_arrow().to_pydict())
    if isinstance(result, Mapping):
        return _together({name: sheet.to_dict() for name, sheet in result.items()})
    found = tabled(result, getattr(request, "features", None))
    if found is None:
        raise _has_no("table", request, "Ask for it as JSON, which has all of it.")
    return dict(found.held)


def _together(tables: Mapping[str, Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    """One below the other; a column of theirs that is called as ours is told apart."""
    names = list(dict.fromkeys(name for table in tables.values() for name in table))
    own = ANSWER
    while own in names:
        own += "_"
    held: dict[str, list[Any]] = {own: []} | {name: [] for name in names}
    for answer, table in tables.items():
        rows = len(next(iter(table.values())))
        held[own] += [answer] * rows
        for name in names:
            held[name] += table.get(name, [None] * rows)
    return held


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def _cell(value: Any) -> Any:
    return no_formula(value) if isinstance(value, str) else value


def _has_no(what: str, request: Request, fix: str) -> Problem:
    title = f"It has no {what}"
    return Problem(
        409, f"the outcome of {request.tag!r} has no {what}.", kind="no-file", title=title, fix=fix
    )
