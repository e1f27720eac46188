"""What public facts say of a target: its bounds, and whether a model's classes can be there at all.

A target outside the bounds of a regression is clamped, and a row of no class is left out: a fit that was given the
wrong ones would be paid for and come to nothing. Type, bounds and categories are public, so this is refused before, but
where such a fit is on record.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from dalenius.core.checks import shown
from dalenius.errors import QueryRefused
from dalenius.tables.ask.query import Table
from dalenius.tables.rows.expressions import quoted
from dalenius.tables.rows.scope import Scope

MOST_SHOWN = 8
UNSAID = (-1.0, 1.0)
"""The bounds that regressions take where nobody says more."""


def known_bounds(table: Table, text: str) -> Any:
    """The bounds that the schema has of a target, whatever quotes its name has; None if there are none."""
    scope = table.scope()
    name = scope.named(text)
    return None if name is None else scope.schema[name].bounds


def unsaid_bounds(table: Table, text: str, own: Any, model: Any) -> str:
    """What to say of a regression's own bounds where nobody chose them; nothing where somebody did."""
    if own not in (None, UNSAID) or _kind(table.scope(), text) == "bool":
        return ""
    return (
        f"target {text!r} needs bounds: what lies beyond them is moved to the nearer one, and {type(model).__name__} "
        f"takes {UNSAID!r} where nobody says more. Give them, target={{{text!r}: (lower, upper)}}, or state them in "
        "the schema."
    )


def check_text(table: Table, text: str, classes: Sequence[Any]) -> None:
    """Refuse a target of text for classes that are numbers."""
    scope = table.scope()
    if all(isinstance(label, str) for label in classes) or _kind(scope, text) != "text":
        return
    name = scope.named(text)
    categories = None if name is None else scope.schema[name].categories
    some = ("no", "yes") if categories is None else tuple(categories)
    first = quoted(text) if name is not None and not text.isidentifier() else text
    value = str(some[-1]).replace("'", "''")
    listed = f"classes={some!r}" if len(some) <= MOST_SHOWN else "classes=(...)"
    raise QueryRefused(
        f"target {text!r} is text, and the classes of the model are {shown(tuple(classes))}. Say which rows are 1, "
        f"target=\"{first} = '{value}'\", or fit to the texts themselves, with {listed} in the model."
    )


def no_such_class(table: Table, text: str, classes: Sequence[Any]) -> str:
    """What to say where rows can have fewer than two of the classes; nothing where there is something to tell apart."""
    scope = table.scope()
    name = scope.named(text)
    if name is None:
        return ""
    categories, bounds = scope.schema[name].categories, scope.schema[name].bounds
    absent = [] if categories is None else [label for label in classes if label not in categories]
    if categories is not None and absent and len(classes) - len(absent) < 2:
        hint = f": classes={tuple(categories)!r}" if len(categories) <= MOST_SHOWN else ""
        return (
            f"the class {absent[0]!r} is not among the categories of target {text!r}, so no row has it; name classes "
            f"of theirs{hint}, or a condition, which is 1 or 0."
        )
    numbers: list[Any] = [label for label in classes if isinstance(label, Real)]
    off = [label for label in numbers if bounds is not None and not bounds[0] <= label <= bounds[1]]
    if bounds is None or not off or len(classes) - len(off) >= 2:
        return ""
    return (
        f"the class {off[0]!r} is not within the bounds of target {text!r}, {bounds[0]:g} to {bounds[1]:g}, so no row "
        f'has it; make a condition of it, which is 1 or 0: target="{_condition(text, name, bounds)}".'
    )


def _condition(text: str, name: str, bounds: Any) -> str:
    middle = (bounds[0] + bounds[1]) / 2
    return f"{text if text.isidentifier() else quoted(name)} > {middle:g}"


def _kind(scope: Scope, text: str) -> Any:
    name = scope.named(text)
    return (
        scope.column(name, "drop") if name is not None else scope.declared(text, "drop", f"target {text!r}")
    ).kind
