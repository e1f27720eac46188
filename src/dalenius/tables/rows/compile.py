"""From the syntax tree of an expression to a Term over the rows of a table, or to the reason why not."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

import ibis
from sqlglot import exp

from dalenius.errors import QueryRefused
from dalenius.tables.facts.keys import is_storable
from dalenius.tables.facts.kinds import NUMERIC, Kind
from dalenius.tables.rows import terms, total
from dalenius.tables.rows.expressions import written
from dalenius.tables.rows.terms import Term

COMPARISONS: Mapping[type, Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
DATE_FUNCTIONS = {exp.Year: "YEAR", exp.Quarter: "QUARTER", exp.Month: "MONTH", exp.Day: "DAY"}
PARTS = tuple(DATE_FUNCTIONS.values())
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)

ORDINARY = frozenset({"this", "expression", "expressions"})
FURTHER: Mapping[type, frozenset[str]] = {
    exp.Between: frozenset({"low", "high"}),
    exp.Case: frozenset({"ifs", "default"}),
    exp.If: frozenset({"true", "false"}),
    exp.Cast: frozenset({"to"}),
    exp.Literal: frozenset({"is_string"}),
    exp.Least: frozenset({"ignore_nulls"}),
    exp.Greatest: frozenset({"ignore_nulls"}),
    exp.Coalesce: frozenset({"is_nvl", "is_null"}),
}
"""The parts of each kind of syntax that are understood; any other part is refused, not passed over."""

AGGREGATE = (
    "is an aggregate; aggregates stand in agg(...) or in the SELECT list, not inside a row's expression"
)
REASONS: Mapping[type, str] = {
    exp.AggFunc: AGGREGATE,
    exp.Window: "looks at other rows; an expression may only look at its own row",
    exp.Query: "is a query of its own; an expression may only look at its own row",
    exp.Subquery: "is a query of its own; an expression may only look at its own row",
    exp.Rand: "is random; noise is added by the release and nowhere else",
    exp.Ln: "is rounded differently by different engines; transform the column before, or after the release",
    exp.Log: "is rounded differently by different engines; transform the column before, or after the release",
    exp.Exp: "is rounded differently by different engines; transform the column before, or after the release",
    exp.Pow: "is rounded differently by different engines; write x * x",
    exp.Round: "rounds halves differently in different engines; write FLOOR(x + 0.5)",
    exp.Lower: "depends on the engine's locale; compare with IN ('a', 'A')",
    exp.Upper: "depends on the engine's locale; compare with IN ('a', 'A')",
    exp.ILike: "depends on the engine's locale; use LIKE",
    exp.CurrentDate: "changes from day to day; write the date",
    exp.CurrentTimestamp: "changes from moment to moment; write the date",
    exp.Star: "is not a column",
    exp.Placeholder: "is a placeholder; write the value",
    exp.Parameter: "is a placeholder; write the value",
}


class Columns(Protocol):
    """Where the columns of an expression come from."""

    def column(self, name: str) -> Term:
        """The term of a column by its name in the query, or QueryRefused."""


def compile_tree(tree: Any, columns: Columns, what: str = "the expression") -> Term:
    problem = (
        "it could overflow: so many columns are multiplied that their product may leave the range of doubles."
    )
    try:
        for reach in terms.REACHES:
            try:
                term = _Compiler(columns, reach)(tree)
                total.check(term.value)
                return term
            except terms.TooFar:
                continue
    except QueryRefused as refused:
        problem = str(refused)
    except RecursionError:
        problem = "it is nested too deeply; split it with with_columns(...)."
    raise QueryRefused(f"{what}, {written(tree)!r}, is refused: {problem}")


class _Compiler:
    def __init__(self, columns: Columns, reach: int) -> None:
        self.columns = columns
        self.reach = reach
        self.rules: dict[type, Callable[[Any], Term]] = {
            exp.Paren: lambda e: self(e.this),
            exp.Column: self.column,
            exp.Literal: self.literal,
            exp.Boolean: lambda e: terms.literal(bool(e.this)),
            exp.Null: lambda e: Term(ibis.null(), None, True),
            exp.And: lambda e: self.logic(e, operator.and_),
            exp.Or: lambda e: self.logic(e, operator.or_),
            exp.Not: self.negation,
            exp.Neg: lambda e: terms.negate(self.number(e.this), reach),
            exp.Between: self.between,
            exp.In: self.member,
            exp.Is: self.is_null,
            exp.Case: self.case,
            exp.If: lambda e: self.choose([(e.this, e.args["true"])], e.args.get("false")),
            exp.Coalesce: self.coalesce,
            exp.Nullif: self.nullif,
            exp.Least: lambda e: self.extreme(e, ibis.least),
            exp.Greatest: lambda e: self.extreme(e, ibis.greatest),
            exp.Abs: lambda e: terms.magnitude(self.number(e.this), reach),
            exp.Floor: lambda e: terms.rounded(self.number(e.this), up=False),
            exp.Ceil: lambda e: terms.rounded(self.number(e.this), up=True),
            exp.Sqrt: lambda e: terms.root(self.number(e.this), reach),
            exp.Extract: lambda e: self.part(str(e.this).upper(), e.expression),
            exp.Like: self.like,
            exp.Cast: self.cast,
        }
        self.rules |= dict.fromkeys(COMPARISONS, self.compare)
        self.rules |= dict.fromkeys(ARITHMETIC, self.arithmetic)
        self.rules |= dict.fromkeys(DATE_FUNCTIONS, lambda e: self.part(DATE_FUNCTIONS[type(e)], e.this))

    def __call__(self, tree: Any) -> Term:
        rule = self.rules.get(type(tree))
        if rule is None:
            raise QueryRefused(refusal(tree))
        known = ORDINARY | FURTHER.get(type(tree), frozenset())
        if any(value and part not in known for part, value in tree.args.items()):
            raise QueryRefused(
                f"{written(tree)} is written in a way that is not available; use its plain form."
            )
        return rule(tree)

    def column(self, tree: Any) -> Term:
        if not isinstance(tree.this, exp.Identifier):
            raise QueryRefused(refusal(tree.this))
        return self.columns.column(tree.name)

    def literal(self, tree: Any) -> Term:
        if tree.is_string:
            return terms.literal(_text(tree.this))
        try:
            return terms.literal(int(tree.this) if tree.this.isdigit() else float(Decimal(tree.this)))
        except (InvalidOperation, ValueError, OverflowError):
            raise QueryRefused(f"{tree.this!r} is not a number.") from None

    def of_kind(self, tree: Any, kinds: tuple[Kind, ...], what: str) -> Term:
        term = self(tree)
        if term.kind not in kinds:
            raise QueryRefused(f"{written(tree)} is {_named(term)}; {what} is needed here.")
        return term

    def number(self, tree: Any) -> Term:
        return self.of_kind(tree, NUMERIC, "a number")

    def condition(self, tree: Any) -> Term:
        return self.of_kind(tree, ("bool",), "a condition")

    def logic(self, tree: Any, combine: Callable[[Any, Any], Any]) -> Term:
        # A chain of ANDs leans left and can be thousands long: walk it, do not recurse.
        parts = [self.condition(part) for part in tree.flatten()]
        return terms.truth(terms.balanced([part.value for part in parts], combine), *parts)

    def negation(self, tree: Any) -> Term:
        inner = self.condition(tree.this)
        # By CASE, which needs no brackets: Ibis writes (~x).isnull() as NOT (x IS NULL), and `x IN (...) = FALSE` and
        # `x IS NULL IS NULL` are no SQL to Spark.
        value = ibis.cases((inner.value, ibis.literal(False)), (~inner.value, ibis.literal(True)))
        return replace(terms.truth(value, inner), size=2 * inner.size)

    def arithmetic(self, tree: Any) -> Term:
        a, b = self.number(tree.this), self.number(tree.expression)
        if isinstance(tree, exp.Add):
            return terms.add(a, b, self.reach)
        if isinstance(tree, exp.Sub):
            return terms.add(a, b, self.reach, sign=-1)
        if isinstance(tree, exp.Mul):
            return terms.multiply(a, b, self.reach)
        return terms.divide(a, b, self.reach) if isinstance(tree, exp.Div) else terms.remainder(a, b)

    def compare(self, tree: Any) -> Term:
        a, b = self.comparable(tree.this, tree.expression)
        ordered = not isinstance(tree, exp.EQ | exp.NEQ)
        if ordered and a.kind in ("text", "bool"):
            raise QueryRefused(
                "the order of text differs between engines; compare text and conditions by = or <>."
            )
        return terms.truth(COMPARISONS[type(tree)](a.value, b.value), a, b)

    def comparable(self, *trees: Any) -> list[Term]:
        compared = [self(tree) for tree in trees]
        kinds = {t.kind for t in compared}
        if None in kinds:
            raise QueryRefused("a comparison with NULL is never true; write IS NULL or IS NOT NULL.")
        if kinds & {"date", "timestamp"}:
            compared = [_moment(t) for t in compared]
        return terms.alike(compared, "the comparison")

    def between(self, tree: Any) -> Term:
        low = self.compare(exp.GTE(this=tree.this, expression=tree.args["low"]))
        high = self.compare(exp.LTE(this=tree.this, expression=tree.args["high"]))
        return terms.truth(low.value & high.value, low, high)

    def member(self, tree: Any) -> Term:
        x, *values = self.comparable(tree.this, *tree.expressions)
        if not values or any(v.constant is None for v in values):
            raise QueryRefused("IN needs a list of constants.")
        # Not isin: Ibis writes `x IN (...) IS NULL` without brackets, which is no SQL to Spark.
        equal = [x.value == v.value for v in values]
        return terms.truth(terms.balanced(equal, operator.or_), x)

    def is_null(self, tree: Any) -> Term:
        if isinstance(tree.expression, exp.Boolean):
            raise QueryRefused("write `flag` or `NOT flag` instead of IS TRUE or IS FALSE.")
        if not isinstance(tree.expression, exp.Null):
            raise QueryRefused("IS may only be followed by NULL or NOT NULL.")
        inner = self(tree.this)
        missing = inner.value.isnull()
        if inner.kind == "bool":
            missing = ibis.cases(
                (inner.value, ibis.literal(False)), (~inner.value, ibis.literal(False)), else_=True
            )
        return Term(missing, "bool", size=2 * inner.size)  # says itself what becomes of missing values

    def case(self, tree: Any) -> Term:
        if tree.this is not None:
            raise QueryRefused("write CASE WHEN column = value THEN ..., not CASE column WHEN value.")
        branches = [(branch.this, branch.args["true"]) for branch in tree.args["ifs"]]
        return self.choose(branches, tree.args.get("default"))

    def choose(self, branches: list[tuple[Any, Any]], default: Any) -> Term:
        conditions = [self.condition(condition) for condition, _ in branches]
        outcomes = [self(outcome) for _, outcome in branches]
        outcomes.append(Term(ibis.null(), None, True) if default is None else self(default))
        outcomes = terms.alike(outcomes, "CASE")
        if all(t.kind is None for t in outcomes):
            raise QueryRefused("CASE has no outcome other than NULL.")
        *values, otherwise = (t.value for t in outcomes)
        pairs = [(c.value, v) for c, v in zip(conditions, values, strict=True)]
        value = ibis.cases(*pairs, else_=otherwise)
        chosen = terms.merged(outcomes, value, nullable=any(t.nullable for t in outcomes))
        undeclared = chosen.undeclared.union(*(c.undeclared for c in conditions))
        return replace(chosen, undeclared=undeclared, size=chosen.size + sum(c.size for c in conditions))

    def coalesce(self, tree: Any) -> Term:
        parts = terms.alike([self(t) for t in (tree.this, *tree.expressions)], "COALESCE")
        if any(t.kind is None for t in parts):
            raise QueryRefused("COALESCE of NULL; leave it out.")
        filled = not parts[-1].nullable
        merged = terms.merged(parts, ibis.coalesce(*(t.value for t in parts)), nullable=not filled)
        # COALESCE(x, 0) declares in the query itself what becomes of missing values.
        return replace(merged, undeclared=frozenset()) if filled else merged

    def nullif(self, tree: Any) -> Term:
        a, b = self.comparable(tree.this, tree.expression)
        return replace(
            terms.merged([a, b], a.value.nullif(b.value), nullable=True), size=2 * (a.size + b.size)
        )

    def extreme(self, tree: Any, pick: Callable[..., Any]) -> Term:
        parts = [self.number(t) for t in (tree.this, *tree.expressions)]
        parts = terms.alike(parts, type(tree).__name__.upper())
        # All engines pass over nulls here: the result is null only when every argument is.
        return terms.merged(parts, pick(*(t.value for t in parts)), nullable=all(t.nullable for t in parts))

    def part(self, name: str, tree: Any) -> Term:
        if name not in PARTS:
            raise QueryRefused(f"EXTRACT({name} ...) is not available; use {', '.join(PARTS)}.")
        d = self.of_kind(tree, ("date", "timestamp"), "a date")
        value = getattr(d.value, name.lower())().cast("int64")
        return Term(value, "integer", d.nullable, d.undeclared, top=14, bottom=0, whole=True, size=d.size)

    def like(self, tree: Any) -> Term:
        x = self(tree.this)
        if x.kind != "text" or not isinstance(tree.expression, exp.Literal) or not tree.expression.is_string:
            raise QueryRefused("LIKE compares a text column with a constant pattern.")
        pattern = _text(tree.expression.this)
        core = pattern.strip("%")
        if not core or any(sign in core for sign in "%_\\"):
            raise QueryRefused(
                "LIKE takes patterns 'ab', 'ab%', '%ab' and '%ab%'; _ and \\ are not available."
            )
        front, back = pattern.startswith("%"), pattern.endswith("%")
        if front and back:
            return terms.truth(x.value.contains(core), x)
        if front:
            return terms.truth(x.value.endswith(core), x)
        return terms.truth(x.value.startswith(core) if back else x.value == core, x)

    def cast(self, tree: Any) -> Term:
        to = tree.args["to"].this
        kinds = exp.DataType.Type
        if isinstance(tree.this, exp.Literal) and tree.this.is_string and to == kinds.DATE:
            return _date(tree.this.this)
        x = self(tree.this)
        if x.numeric and to == kinds.DOUBLE:
            return terms.number(x)
        if x.kind == "integer" and to in exp.DataType.INTEGER_TYPES and x.whole:
            return x
        if x.kind == "bool" and to in exp.DataType.INTEGER_TYPES:
            whole = x.value.cast("int32").cast("int64")  # PostgreSQL knows no other way from a boolean
            return Term(whole, "integer", x.nullable, x.undeclared, top=1, bottom=0, whole=True)
        if x.kind in ("date", "timestamp") and to == kinds.DATE:
            return Term(x.value.cast("date"), "date", x.nullable, x.undeclared)
        raise QueryRefused(
            f"{_named(x)} cannot be cast to {written(tree.args['to'])}: casts may only be to DOUBLE from a number, to "
            "INTEGER from a condition (FLOOR and CEIL make whole numbers), to DATE from a timestamp."
        )


def refusal(tree: Any) -> str:
    """Why a piece of syntax is not in the language."""
    name = tree.name if isinstance(tree, exp.Anonymous) else written(tree)
    for kind, reason in REASONS.items():
        if isinstance(tree, kind):
            return f"{name} {reason}."
    if isinstance(tree, exp.Anonymous):
        return f"there is no function {name!r}."
    return f"{name!r} is not in the language of expressions (see dalenius.tables.rows.expressions)."


def _named(term: Term) -> str:
    return {"bool": "a condition", None: "NULL", "text": "text"}.get(term.kind, f"of type {term.kind}")


def _text(text: str) -> str:
    if not is_storable(text):
        raise QueryRefused("text must not hold the character with code 0, nor half of a pair of surrogates.")
    return text


def _date(text: str) -> Term:
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise QueryRefused(f"{text!r} is not a date; write it like DATE '2024-12-31'.") from None
    return Term(ibis.literal(day), "date", constant=day)


def _moment(term: Term) -> Term:
    """A date or timestamp; text is read as a date, as SQL does."""
    if term.kind == "text" and isinstance(term.constant, str):
        return _date(term.constant)
    if term.kind == "timestamp":
        raise QueryRefused(
            "a timestamp is compared by its date: write CAST(moment AS DATE) >= DATE '2024-12-31'."
        )
    return term
