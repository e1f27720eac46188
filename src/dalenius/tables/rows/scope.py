"""The columns an expression can see, with their types, public facts and policies for missing values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ibis
from sqlglot import exp

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.facts.kinds import (
    KEYS,
    Field,
    Kind,
    clean_types,
    column_name,
    computed_name,
    identity_name,
    needs_identity,
    private_name,
    public_name,
)
from dalenius.tables.facts.nearest import alike, nearest
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.facts.schema import HOW_TO_DECLARE, Impute, Nulls, Schema
from dalenius.tables.rows.compile import UNWRITTEN, compile_tree, understood
from dalenius.tables.rows.computed_keys import extracted
from dalenius.tables.rows.expressions import parse, plain, quoted, written
from dalenius.tables.rows.reading import read
from dalenius.tables.rows.relations import Explode, PrivateJoin
from dalenius.tables.rows.spelling import Spelling, Unspelled
from dalenius.tables.rows.steps import Held, Join
from dalenius.tables.rows.terms import INT64, Term

INSTEAD = {
    "text": "; a condition is one, 1 or 0: \"sex = 'f'\". To count rows by what a text says: group_by(...)",
    "date": "; days since a day are one: DATE_DIFF('day', DATE '2024-01-01', d). To count rows by month: group_by of a "
    "column DATE_TRUNC('month', d)",
    "timestamp": "; hours since a day are one: DATE_DIFF('hour', DATE '2024-01-01', t). To count rows by month: "
    "group_by of a column DATE_TRUNC('month', t)",
}
"""What is a number, where this is none."""

UNREAD = (
    ". If these are numbers, with a decimal point, that a CSV file has beside other signs, such as ?, say so in the "
    'schema: {{{!r}: {{"type": "number"}}}}; the other signs are then missing values'
)


@dataclass(frozen=True)
class Argument:
    """An aggregate's argument: a number, its canonical text, bounds and policy."""

    term: Term
    text: str
    bounds: tuple[float, float]
    nulls: Nulls
    condition: bool


class Scope:
    """The rows of a table after some steps, and what their columns mean.

    rows: an Ibis table of clean columns under internal names (see `kinds`). None: one that belongs to no engine;
    then everything is checked and nothing can be run. spelling: the engine's. Names are resolved here and nowhere else.
    """

    def __init__(
        self, rows: Any, fields: tuple[Field, ...], schema: Schema, spelling: Spelling | None = None
    ) -> None:
        self.spelling: Spelling = Unspelled() if spelling is None else spelling
        self.rows = (
            ibis.table(clean_types(fields) or {"nothing": "int32"}, name="data") if rows is None else rows
        )
        self.schema = schema
        self.fields: dict[str, Field] = {f.name: f for f in fields}
        self.computed: dict[str, Term] = {}
        self._inside = {f.name: column_name(i) for i, f in enumerate(fields)}
        self._identities = {f.name: identity_name(i) for i, f in enumerate(fields) if needs_identity(f)}
        self._joined = self._made = 0

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.fields, *self.computed)

    def resolve(self, name: str) -> str:
        """The column meant by a name: exactly, or alone when capitals are ignored."""
        meant = alike(name, self.names)
        if not meant:
            computed = (
                f" What is computed gets a name first: with_columns(new={name!r})." if "(" in name else ""
            )
            raise QueryRefused(f"there is no column {name!r}; {nearest(name, self.names)}.{computed}")
        if len(meant) > 1:
            raise QueryRefused(
                f"{name!r} may mean {' or '.join(map(repr, meant))}; write it with the right capitals."
            )
        return meant[0]

    def named(self, text: str) -> str | None:
        """The column that a text is the name of, in double quotes or as it is; None for an expression.

        Quotes first: the canonical text of a column must never be taken for the name of another.
        """
        inner = text[1:-1].replace('""', '"')
        if text == quoted(inner) and inner in self._inside:
            return inner
        return text if text in self._inside else None

    def column(self, name: str, nulls: Nulls | None = None) -> Term:
        """The term of a column, under its declared policy or the one given."""
        name = self.resolve(name)
        if name in self.computed:
            return replace(self.computed[name], value=self.rows[self._inside[name]])
        field = self.fields[name]
        if field.kind is None:
            hint = f": explode({name!r}, max_items=...) makes a row of each item" if field.items else ""
            raise QueryRefused(
                f"column {name!r} has type {field.dtype}, which cannot be used in a question{hint}."
            )
        return read(self.rows[self._inside[name]], field, nulls or self.schema.policy(name))

    def identity(self, name: str) -> tuple[Any, Kind]:
        """A column of the data as what tells units apart: whole numbers, text or dates."""
        kind = self.fields[name].kind
        if name in self._identities:
            return self.rows[self._identities[name]], "text"
        return self.rows[self._inside[name]], kind if kind in ("integer", "date") else "text"

    def canonical(self, text: str, what: str) -> str:
        """The text in its one spelling: every column named exactly, in quotes, and no brackets without use."""
        name = self.named(text)
        if name is not None:
            return quoted(name)
        tree = parse(text, what, self.names)
        for node in tree.find_all(*UNWRITTEN):
            understood(node)
        return written(plain(extracted(self._renamed(tree))))

    def condition(self, text: str, what: str) -> Term:
        term = self.declared(text, None, what)
        if term.kind != "bool":
            raise QueryRefused(f"{what}, {text!r}, is not a condition; write one, like 'age >= 18'.")
        return term

    def declared(self, text: str, nulls: Nulls | None, what: str) -> Term:
        """The term of an expression whose missing values are all accounted for."""
        name = self._bare(text, what)
        term = self.column(name, nulls) if name else compile_tree(parse(text, what, self.names), self, what)
        if term.undeclared and nulls is None:
            raise QueryRefused(
                f"{what} uses {_listed(term.undeclared)}, which can hold null or NaN, and no policy says what "
                f"becomes of them; {HOW_TO_DECLARE}."
            )
        return term

    def argument(
        self, text: str, bounds: tuple[float, float] | None, nulls: Nulls | None, what: str
    ) -> Argument:
        """An aggregate's argument as a number; a condition counts as 0 and 1."""
        canonical = self.canonical(text, what)
        name = self._bare(canonical, what)
        term = self.declared(canonical, nulls, what)
        condition = term.kind == "bool"
        if condition:
            whole = term.value.cast("int32").cast("int64")  # PostgreSQL knows no other way from a boolean
            term = replace(term, value=whole, kind="integer", top=1, bottom=0, whole=True)
        if not term.numeric:
            instead = INSTEAD.get(str(term.kind), "")
            if name in self.fields and term.kind == "text" and self.schema[name].categories is None:
                instead += UNREAD.format(name)
            raise QueryRefused(f"{what} needs numbers, but {text!r} is of type {term.kind}{instead}.")
        if bounds is None:
            bounds = self._public_bounds(name, condition)
        if bounds is None:
            raise QueryRefused(
                f"{what} needs bounds: without them one row could change the answer without limit. Give bounds=(lower, "
                "upper); in SQL and from a shell they follow the argument, mean(age, 0, 100); beside the column of a "
                "model they are {'age': (0, 100)}. Or state them in the schema; dp.bounds(...), in SQL BOUNDS(age), "
                "finds some privately."
            )
        policy = nulls
        if policy is None and name in self.fields:
            policy = self.schema.policy(name)
        if policy is None or policy == "drop":
            policy = "drop" if term.nullable else "never"
        if not condition and isinstance(policy, Impute) and isinstance(policy.value, bool):
            raise InvalidParameter(f"{policy.value} cannot be imputed for {text!r}, which is a number.")
        return Argument(term, canonical, bounds, policy, condition)

    def present(self, text: str, nulls: Nulls | None, what: str) -> tuple[str, ...]:
        """The expression a row must have a value of, or nothing when it always has one."""
        canonical = self.canonical(text, what)
        term = self.declared(canonical, nulls, what)
        return (canonical,) if term.nullable and not isinstance(nulls, Impute) else ()

    def bounds(self, text: str, what: str) -> tuple[float, float] | None:
        """The public bounds of a column, where the schema has them; a condition is 0 or 1."""
        canonical = self.canonical(text, what)
        is_condition = self.declared(canonical, "drop", what).kind == "bool"
        return self._public_bounds(self._bare(canonical, what), is_condition)

    def _public_bounds(self, name: str | None, is_condition: bool) -> tuple[float, float] | None:
        known = None if name is None else self.schema[name].bounds
        return (0.0, 1.0) if known is None and is_condition else known

    def categories(self, text: str, what: str) -> tuple[Any, ...] | None:
        """The public categories of a column, where the schema has them; an expression has none."""
        name = self._bare(text, what)
        return None if name is None else self.schema[name].categories

    def _bare(self, text: str, what: str) -> str | None:
        """The column, when the text is nothing else."""
        name = self.named(text)
        if name is not None:
            return name
        tree = plain(parse(text, what, self.names))
        return self.resolve(tree.name) if isinstance(tree, exp.Column) and not tree.table else None

    def _renamed(self, tree: Any) -> Any:
        def rename(node: Any) -> Any:
            if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
                return node
            if node.table:
                flat = alike(f"{node.table}.{node.name}", self.names)
                if len(flat) != 1 or node.args.get("db"):
                    whole = alike(".".join(part.name for part in node.parts), self.names)
                    if len(whole) == 1:
                        raise QueryRefused(
                            f"the column {whole[0]!r} is written in double quotes, {quoted(whole[0])}."
                        )
                    raise QueryRefused(f"{written(node)}: name the column alone, without its table.")
                return exp.column(flat[0], quoted=True)
            return exp.column(self.resolve(node.name), quoted=True)

        return tree.transform(rename)

    # The steps

    def filter(self, condition: str) -> None:
        """Keep rows for which the condition holds."""
        self.rows = self.rows.filter(self.condition(condition, "the filter").value)

    def compute(self, name: str, text: str) -> None:
        """One more column."""
        term = self.declared(text, None, f"column {name!r}")
        if term.kind is None:
            raise QueryRefused(f"column {name!r} is always null.")
        if name in self._inside:
            raise QueryRefused(f"there is a column {name!r} already; choose another name.")
        inside = self._inside[name] = self._next()
        self.rows = self.rows.mutate(**{inside: term.value})
        self.computed[name] = term

    def join(self, step: Join, held: Held) -> None:
        """The columns of a public table."""
        number, before, match = self._joined, list(self.rows.columns), []
        theirs = {f.name: (public_name(number, i), f.kind) for i, f in enumerate(step.table.fields)}
        for f in step.added:
            if f.name in self._inside:
                raise QueryRefused(
                    f"the public table and the data both have a column {f.name!r}; rename it in the public table."
                )
        right = held.upload(step.table.sent(number))
        for name, other in step.on:
            (inside, kind), left = theirs[other], self.column(name)
            if left.kind not in KEYS or kind != left.kind:
                raise QueryRefused(
                    f"column {name!r} is of type {left.kind} and {other!r} of the public table of type {kind}; to "
                    "join, both must be whole numbers, text, dates or conditions, and the same."
                )
            match.append(left.value == right[inside])
        joined = self.rows.join(right, match, how=step.how)
        new = [theirs[f.name][0] for f in step.added if f.kind is not None]
        self.rows = joined.select([joined[name] for name in (*before, *new)])
        self._joined += 1
        for f in step.added:
            self._inside[f.name], self.fields[f.name] = theirs[f.name][0], f

    def join_private(self, step: PrivateJoin, held: Held) -> None:
        """The columns of another private table, of the same unit; both sides are truncated first.

        What is inside a row of one side is looked at only through the columns that `held` leaves there.
        """
        number, other = self._joined, step.table.scope(held)
        beside = [pair for pair in sorted(step.on) if pair not in step.ids]
        held.truncate(self, step.unit, step.left, tuple(ours for ours, _ in beside))
        held.truncate(other, step.unit, step.right, tuple(theirs for _, theirs in beside))
        self._joined += 1
        before, match = list(self.rows.columns), [self.identity(name)[0] for name in step.unit]
        theirs = {f"id{k}": other.identity(name)[0] for k, name in enumerate(step.unit)}
        for k, (ours, name) in enumerate(step.on):
            if (ours, name) not in step.ids:
                match.append(self.column(ours).value)
                theirs[f"on{k}"] = other.column(name).value
        inside = {
            name: private_name(number, k)
            for k, (name, _) in enumerate(step.flat)
            if other._inside.get(name) in other.rows.columns
        }
        keys = {f"{private_name(number, 0)}_{key}": value for key, value in theirs.items()}
        right = other.rows.select(
            **keys, **{new: other.rows[other._inside[name]] for name, new in inside.items()}
        )
        equal = [ours == right[key] for ours, key in zip(match, keys, strict=True)]
        joined = self.rows.join(right, equal, how=step.how)
        self.rows = joined.select([joined[name] for name in (*before, *inside.values())])
        added = {f.name: f for f in step.added}
        for k, (name, called) in enumerate(step.flat):
            self._inside[called] = private_name(number, k)
            if name in other.computed:
                term = other.computed[name]
                outer = term.nullable or step.how == "left"
                self.computed[called] = replace(term, nullable=outer, constant=None)
            else:
                self.fields[called] = added[called]

    def explode(self, step: Explode, held: Held) -> None:
        """A row for each of the first items of a list: positions are public, and each row meets each of them once."""
        name, kind, new = step.item.name, step.item.kind, self._next()
        assert kind is not None
        listed = self._inside[name]
        positions = held.upload(PublicTable.of({"position": list(range(step.most))}))
        joined = self.rows.cross_join(positions)
        at = joined["position"].cast("int64")
        item, size = held.listed(joined[listed], kind, at)
        before = [column for column in self.rows.columns if column != listed]
        rows = joined.filter(size > at)
        item, _ = held.listed(rows[listed], kind, rows["position"].cast("int64"))
        self.rows = rows.select(*before, **{new: item})
        self._inside[name], self.fields[name] = new, step.item

    def count_rows(self, unit: tuple[str, ...], name: str) -> None:
        """One row for each unit: its id, and how many rows it has."""
        if name in self._inside:
            raise QueryRefused(f"there is a column {name!r} already; choose another name.")
        names = [n for column in unit for n in (self._inside[column], self._identities.get(column))]
        own = [n for n in names if n in self.rows.columns]
        inside = self._next()
        rows = self.rows.filter([self.identity(column)[0].notnull() for column in unit])
        self.rows = rows.group_by(own).aggregate(**{inside: rows.count()})
        self.fields = {column: self.fields[column] for column in unit}
        self._inside = {**{column: self._inside[column] for column in unit}, name: inside}
        self._identities = {c: n for c, n in self._identities.items() if c in unit}
        count = Term(self.rows[inside], "integer", top=INT64, bottom=0, whole=True)
        self.computed = {name: count}

    def _next(self) -> str:
        self._made += 1
        return computed_name(self._made - 1)

    def content(self, names: frozenset[str] | None) -> dict[str, Kind]:
        """The columns inside the engine, and their kinds: all of them, or those of these names."""
        columns: dict[str, Kind] = {}
        for name, inside in self._inside.items():
            kind = self.computed[name].kind if name in self.computed else self.fields[name].kind
            if kind is not None and inside in self.rows.columns and (names is None or name in names):
                columns[inside] = kind
        return columns


def _listed(names: frozenset[str]) -> str:
    words = [f"column {name!r}" for name in sorted(names)]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
