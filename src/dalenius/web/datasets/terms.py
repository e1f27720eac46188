"""The terms of a data set's budget, as a steward writes them: read and checked, each beside its field.

What is promised is settled by `session.terms`; here every part of it is tried on its own, so that all that is wrong is
told at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from dalenius.calculus.guarantees import KINDS, Guarantee, filter_of
from dalenius.core.adjacency import ADD_REMOVE, WORDS, Adjacency, adjacency_record
from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter
from dalenius.session.terms import checked_ceiling, checked_renewals, checked_shares, read_part
from dalenius.tables.facts.ids import check_id
from dalenius.tables.facts.kinds import Field
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.facts.schema import Column, Schema
from dalenius.tables.facts.unit import Unit
from dalenius.web.datasets.facts import number
from dalenius.web.datasets.faults import Faults

BUDGETS: Mapping[str, type[Guarantee]] = {tag: kind for tag, kind in KINDS.items() if kind.currency}
"""The kinds that a budget may be of."""


@dataclass(frozen=True)
class Terms:
    """What is settled for ever when the account is opened; `per_question` may be changed later."""

    unit: Unit
    budget: Guarantee
    adjacency: Adjacency = ADD_REMOVE
    ceiling: Guarantee | None = None
    renewals: int | None = None
    reserve: float | None = None
    shares: Mapping[str, Any] = field(default_factory=dict)
    per_question: Guarantee | None = None

    def record(self) -> dict[str, Any]:
        """As they are kept."""
        shares = {
            name: share.record() if isinstance(share, Guarantee) else str(share)
            for name, share in self.shares.items()
        }
        return {
            "unit": self.unit.record(),
            "adjacency": adjacency_record(self.adjacency),
            "budget": self.budget.record(),
            "ceiling": None if self.ceiling is None else self.ceiling.record(),
            "renewals": self.renewals,
            "reserve": self.reserve,
            "shares": shares,
            "per_question": None if self.per_question is None else self.per_question.record(),
        }


def read_terms(
    given: Mapping[str, Any],
    fields: Mapping[str, Sequence[Field]],
    facts: Mapping[str, Mapping[str, Column]],
    analysts: Collection[str] | None,
    faults: Faults,
) -> Terms | None:
    """The terms; analysts: those who may have a share (None: anybody, for what was kept before)."""
    unit = _unit(given.get("unit"), fields, facts, faults)
    adjacency = WORDS.get(given.get("adjacency") or "add_remove")
    if adjacency is None:
        faults.add("adjacency", f"this must be one of {', '.join(WORDS)}.")
    if given.get("budget") in (None, ""):
        faults.add("budget", "say what is promised about everything that is ever released.")
    budget = faults.attempt("budget", partial(guarantee, given.get("budget"), faults, "budget"))
    ceiling = faults.attempt("ceiling", partial(guarantee, given.get("ceiling"), faults, "ceiling"))
    each = faults.attempt(
        "per_question", partial(guarantee, given.get("per_question"), faults, "per_question")
    )
    reserve = faults.attempt("reserve", lambda: number(given.get("reserve") or None))
    renewals = faults.attempt(
        "renewals", lambda: checked_renewals(number(given.get("renewals") or None)) or None
    )
    shares = _shares(given.get("shares"), analysts, faults)
    if adjacency is None or budget is None:
        return None
    filter = faults.attempt(
        "reserve" if reserve else "budget", lambda: filter_of(budget, adjacency, reserve or 0)
    )
    if filter is not None:
        if ceiling is not None:
            faults.attempt("ceiling", lambda: checked_ceiling(ceiling, filter))
        if shares:
            faults.attempt("shares", lambda: checked_shares(shares, filter))
        if each is not None:
            faults.attempt("per_question", lambda: filter.price(each))
    if unit is None or faults.fields:
        return None
    return Terms(unit, budget, adjacency, ceiling, renewals, reserve, shares, each)


def guarantee(given: Any, faults: Faults, path: str) -> Guarantee | None:
    """A promise of a kind that a budget may be of: {"kind": "zcdp", "rho": "0.5"}; numbers or their text."""
    if given in (None, ""):
        return None
    if not isinstance(given, Mapping):
        raise InvalidParameter('this must be a promise, as {"kind": "zcdp", "rho": "0.5"}.')
    kind = BUDGETS.get(str(given.get("kind")))
    if kind is None:
        raise InvalidParameter(f"the kind must be one of {', '.join(BUDGETS)}.")
    if extra := sorted(set(given) - {"kind", *kind.parameters}):
        raise InvalidParameter(f"{kind.tag} has {', '.join(kind.parameters)}, and no {shown(extra[0])}.")
    values, before = {}, len(faults.fields)
    for name, check in kind.parameters.items():
        at = f"{path}.{name}"
        value = faults.attempt(at, lambda name=name: number(given.get(name)))  # type: ignore[misc]
        if value is None and at not in faults.fields:
            faults.add(at, f"{name} is needed.")
        if value is not None:
            values[name] = faults.attempt(at, partial(check, name, value))
    return kind(**values) if len(faults.fields) == before else None


def _unit(
    given: Any,
    fields: Mapping[str, Sequence[Field]],
    facts: Mapping[str, Mapping[str, Column]],
    faults: Faults,
) -> Unit | None:
    if given in (None, ""):
        faults.add("unit", "say who is protected: each row, or everybody's rows that share an id.")
        return None
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if kind == "row":
        if len(fields) > 1:
            faults.add(
                "unit",
                "several tables need to know whose rows are whose: choose an id that all of them have.",
            )
            return None
        return Unit.rows()
    if kind in ("several ids", "several ids in tables"):
        faults.add("unit", "the console takes one id column; a unit of several is for sessions of Python.")
        return None
    if kind not in ("id", "id in tables"):
        faults.add("unit", 'this must be {"kind": "row"} or {"kind": "id", "column": ..., "max_rows": ...}.')
        return None
    before, column = len(faults.fields), given.get("column") or ""
    for table, own in fields.items():
        if not column:
            faults.add("unit.column", "choose the column that says whose row it is.")
            break
        schema = Schema(dict(facts.get(table, {})))
        faults.attempt("unit.column", lambda own=own, schema=schema: check_id(own, schema, str(column)))  # type: ignore[misc]
    rows: Any = given.get("max_rows")
    if isinstance(rows, Mapping):
        rows = {name: faults.attempt("unit.max_rows", partial(number, most)) for name, most in rows.items()}
        for table in sorted(set(fields) ^ set(rows)):
            faults.add("unit.max_rows", f"say it of each table, and of no other: {table!r}.")
    else:
        rows = faults.attempt("unit.max_rows", partial(number, rows))
        if rows is None and "unit.max_rows" not in faults.fields:
            faults.add("unit.max_rows", "say how many rows of one of them may enter an answer.")
    groups = faults.attempt("unit.max_groups", partial(number, given.get("max_groups")))
    if len(faults.fields) > before:
        return None
    if faults.attempt("unit.max_rows", lambda: Unit(column, max_rows=rows)) is None:
        return None
    return faults.attempt("unit.max_groups", lambda: Unit(column, max_rows=rows, max_groups=groups))


def _shares(given: Any, analysts: Collection[str] | None, faults: Faults) -> dict[str, Any]:
    if given in (None, "", {}):
        return {}
    if not isinstance(given, Mapping):
        faults.add("shares", 'this must be a mapping of analysts to shares, as {"ana": "1/4"}.')
        return {}
    made: dict[str, Any] = {}
    for name, share in given.items():
        path = f"shares.{name}"
        if share in (None, ""):
            continue
        if analysts is not None and name not in analysts:
            faults.add(path, f"there is no analyst {shown(name)}; {nearest(str(name), analysts)}.")
            continue
        if isinstance(share, Mapping):
            found: Any = faults.attempt(path, partial(guarantee, share, faults, path))
        else:
            found = faults.attempt(path, partial(_part, share))
        if found is not None:
            made[name] = found
    return made


def _part(share: Any) -> Fraction:
    part = read_part(share)
    if part is None:
        raise InvalidParameter(
            f"a share is {shown(share)}; it must be above 0 and at most 1, as 0.25 or 1/3."
        )
    return part
