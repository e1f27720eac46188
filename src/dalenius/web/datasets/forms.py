"""What a steward wrote into a form, in the words of the API: one set of checks reads both.

The names of fields are paths (`unit.column`); columns are told by their place in the table, since their names may hold
anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalenius.tables.facts.kinds import Field
from dalenius.web.datasets.registration import Registration
from dalenius.web.datasets.sources import KINDS
from dalenius.web.datasets.terms import BUDGETS

Form = Mapping[str, str]

TITLES = {
    "zcdp": "zCDP: rho",
    "pure": "Pure: epsilon",
    "approx": "Approximate: epsilon and delta",
    "gdp": "Gaussian: mu",
}
"""The kinds of budget, as the form offers them."""


def read_source(form: Form) -> dict[str, Any]:
    """The first page: what the data set is called, and where it is."""
    kind = KINDS.get(form.get("source.kind", ""))
    names = [asked.name for asked in kind.asks] if kind is not None else []
    source = {"kind": form.get("source.kind", ""), **{name: form.get(f"source.{name}", "") for name in names}}
    return {
        "name": form.get("name", ""),
        "title": form.get("title", ""),
        "about": form.get("about", ""),
        "source": source,
    }


def read_terms(form: Form, fields: Mapping[str, tuple[Field, ...]], is_open: bool) -> dict[str, Any]:
    """The second page: words, facts and, as long as it is a draft, terms."""
    given: dict[str, Any] = {"title": form.get("title", ""), "about": form.get("about", "")}
    given["facts"] = {
        table: {
            field.name: _facts(form, f"facts.{t}.{c}")
            for c, field in enumerate(own)
            if f"facts.{t}.{c}.nulls" in form
        }
        for t, (table, own) in enumerate(fields.items())
    }
    kind = form.get("budget.kind", "")
    given["per_question"] = promise(form, "per_question", kind)
    if is_open:
        return given
    unit = form.get("unit.kind", "")
    if unit == "row":
        given["unit"] = {"kind": "row"}
    elif unit:
        given["unit"] = {
            "kind": unit,
            "column": form.get("unit.column", ""),
            "max_rows": _rows(form.get("unit.max_rows", "")),
            "max_groups": form.get("unit.max_groups", "") or None,
        }
    else:
        given["unit"] = None
    given["adjacency"] = form.get("adjacency", "")
    given["budget"] = promise(form, "budget", kind)
    given["ceiling"] = promise(form, "ceiling", kind)
    given["renewals"] = form.get("renewals", "").strip() or None
    given["reserve"] = form.get("reserve", "").strip() or None
    shares: dict[str, str] = {}
    number = 0
    while f"share.{number}.analyst" in form:
        shares[form[f"share.{number}.analyst"]] = form.get(f"share.{number}.part", "").strip()
        number += 1
    given["shares"] = {name: part for name, part in shares.items() if part}
    return given


def promise(form: Form, path: str, kind: str) -> dict[str, str] | None:
    """A promise from its amount and, where its kind has one, its delta; None where no amount was written."""
    amount, delta = form.get(f"{path}.amount", "").strip(), form.get(f"{path}.delta", "").strip()
    known = BUDGETS.get(kind)
    if not amount and path != "budget":
        return None
    if known is None:
        return {"kind": kind}
    found = {"kind": kind, str(known.leading): amount}
    if "delta" in known.parameters:
        found["delta"] = delta or form.get("budget.delta", "").strip()
    return found


def written(registration: Registration, fields: Mapping[str, tuple[Field, ...]]) -> dict[str, str]:
    """The registration as the form shows it: what a steward wrote before, and nothing else."""
    from dalenius.web.datasets.facts import shown_facts

    form = {"title": registration.title, "about": registration.about}
    for t, (table, own) in enumerate(fields.items()):
        for c, field in enumerate(own):
            at, facts = f"facts.{t}.{c}", shown_facts(registration.schema(table)[field.name])
            if "bounds" in facts:
                form[f"{at}.lower"], form[f"{at}.upper"] = (f"{value:.17g}" for value in facts["bounds"])
            if "categories" in facts:
                form[f"{at}.categories"] = "\n".join(_said(value) for value in facts["categories"])
            if "impute" in facts:
                form[f"{at}.nulls"], form[f"{at}.impute"] = "impute", _said(facts["impute"])
            else:
                form[f"{at}.nulls"] = facts.get("nulls", "")
            form[f"{at}.type"] = facts.get("type", "")
    terms = registration.terms
    if terms is None:
        return form
    unit = terms.unit
    form["unit.kind"] = "row" if unit.column is None else "id"
    if unit.column is not None:
        form["unit.column"] = unit.column
        form["unit.max_rows"] = ", ".join(f"{name}: {most}" for name, most in unit.tables) or str(
            unit.max_rows
        )
        form["unit.max_groups"] = str(unit.max_groups)
    form["adjacency"] = terms.record()["adjacency"]
    form["budget.kind"] = terms.budget.tag
    for path, held in (
        ("budget", terms.budget),
        ("ceiling", terms.ceiling),
        ("per_question", terms.per_question),
    ):
        if held is not None:
            form[f"{path}.amount"] = repr(held.size)
            form[f"{path}.delta"] = repr(held.numbers["delta"]) if "delta" in held.numbers else ""
    form["renewals"] = "" if terms.renewals is None else str(terms.renewals)
    form["reserve"] = "" if terms.reserve is None else repr(terms.reserve)
    for name, share in terms.record()["shares"].items():
        form[f"share of {name}"] = share if isinstance(share, str) else ""
    return form


def _facts(form: Form, at: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    lower, upper = form.get(f"{at}.lower", "").strip(), form.get(f"{at}.upper", "").strip()
    if lower or upper:
        found["bounds"] = [lower, upper]
    lines = [line.strip() for line in form.get(f"{at}.categories", "").splitlines()]
    if any(lines):
        found["categories"] = [line for line in lines if line]
    nulls, impute = form.get(f"{at}.nulls", ""), form.get(f"{at}.impute", "").strip()
    if nulls == "impute":
        found["impute"] = impute or None
        if not impute:
            found["nulls"] = "impute"  # refused: a constant is needed
    elif nulls:
        found["nulls"] = nulls
    if form.get(f"{at}.type"):
        found["type"] = form[f"{at}.type"]
    return found


def _rows(text: str) -> Any:
    """One number, or one for each of several tables: `visits: 4, purchases: 3`."""
    parts = [part.rpartition(":") for part in text.split(",")]
    if not all(sign for _, sign, _ in parts):
        return text
    return {name.strip(): most.strip() for name, _, most in parts}


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
