"""From the syntax tree of an expression to a Term over the rows of a table, or to the reason why not."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

import ibis
from sqlglot import exp

from dalenius.core.nearest import meant
from dalenius.core.notebook import shortened
from dalenius.errors import QueryRefused
from dalenius.tables.facts.kinds import NUMERIC, Kind, is_storable
from dalenius.tables.rows import calendar, terms, text, total
from dalenius.tables.rows.computed_keys import FUNCTIONS
from dalenius.tables.rows.expressions import written
from dalenius.tables.rows.spelling import Ends, Spelling
from dalenius.tables.rows.terms import Term

COMPARISONS: Mapping[type, Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
ENDS: Mapping[str, Ends] = {"BOTH": "both", "LEADING": "front", "TRAILING": "back"}
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
    exp.TimestampTrunc: frozenset({"unit"}),
    exp.DateTrunc: frozenset({"unit"}),
    exp.DateDiff: frozenset({"unit", "date_part_boundary"}),
    exp.Trim: frozenset({"position"}),
    exp.Substring: frozenset({"start", "length"}),
}
"""The parts of each kind of syntax that are understood; any other part is refused, not passed over."""

UNWRITTEN = (
    *(exp.TimestampTrunc, exp.DateTrunc, exp.DateDiff, exp.Date),
    *(exp.Length, exp.Lower, exp.Upper, exp.Trim, exp.Substring, exp.Left),
    exp.ToChar,
    exp.TimeToStr,
)
"""Whose parts the writer may leave out, the zone of DATE_TRUNC for one: they are looked at as they were read."""

AGGREGATE = (
    "is an aggregate; aggregates stand in agg(...) or in the SELECT list, not inside a row's expression"
)
UNMOVED = (
    "dates cannot be moved; write the date itself, or compare DATE_DIFF('day', start, end) with the days"
)
DATED = "makes a date of text; write a date as DATE '2024-12-31', and give the column the type date"
REASONS: Mapping[type, str] = {
    exp.AggFunc: AGGREGATE,
    exp.Window: "looks at other rows; an expression may only look at its own row",
    exp.Query: "is a query of its own; an expression may only look at its own row",
    exp.Subquery: "is a query of its own; an expression may only look at its own row",
    exp.Rand: "is random; noise is added by the release and nowhere else",
    exp.Ln: "is rounded differently by different engines; transform the column before, or after the release",
    exp.Log: "is rounded differently by different engines; transform the column before, or after the release",
    exp.Exp: "is rounded differently by different engines; transform the column before, or after the release",
    exp.BitwiseAnd: "joins conditions in Python; write AND",
    exp.BitwiseOr: "joins conditions in Python; write OR",
    exp.BitwiseNot: "denies a condition in Python; write NOT",
    exp.IntDiv: "is not in the language of expressions; write FLOOR(x / y)",
    exp.Dot: "is written as a method; write LOWER(town), or age BETWEEN 30 AND 40",
    exp.Pow: "is rounded differently by different engines; write x * x",
    exp.Round: "rounds halves differently in different engines; write FLOOR(x + 0.5)",
    exp.ILike: "depends on the engine's locale; write LOWER(column) LIKE 'ab%', where LOWER changes A to Z only",
    exp.CurrentDate: "changes from day to day; write the date",
    exp.CurrentTimestamp: "changes from moment to moment; write the date",
    exp.Interval: f"is a span of time, and {UNMOVED}",
    exp.Contains: "looks inside text; write town LIKE '%ab%'",
    exp.StrPosition: "looks inside text; write town LIKE '%ab%'",
    exp.StartsWith: "looks at how text begins; write town LIKE 'ab%'",
    exp.EndsWith: "looks at how text ends; write town LIKE '%ab'",
    exp.RegexpLike: "is read in different ways by different engines; write LIKE '%ab%', or IN ('a', 'b')",
    exp.SimilarTo: "is read in different ways by different engines; write LIKE '%ab%', or IN ('a', 'b')",
    exp.DPipe: "makes a new text; compare its parts with AND, or group by both columns",
    exp.Concat: "makes a new text; compare its parts with AND, or group by both columns",
    exp.StrToTime: DATED,
    exp.StrToDate: DATED,
    exp.IsNan: "asks what is a missing value here; write IS NULL",
    exp.Trunc: "is not in the language of expressions; write FLOOR(x)",
    exp.Sign: "is not in the language of expressions; write CASE WHEN x > 0 THEN 1 ELSE 0 END",
    exp.Array: "is a list; a column that is no plain word stands in double quotes",
    exp.Star: "is not a column",
    exp.Placeholder: "is a placeholder; write the value",
    exp.Parameter: "is a placeholder; write the value",
}


REASONS_BY_NAME: Mapping[str, str] = {
    "NOW": REASONS[exp.CurrentTimestamp],
    "PREFIX": REASONS[exp.StartsWith],
    "SUFFIX": REASONS[exp.EndsWith],
    "ISNULL": "asks for a missing value; write x IS NULL",
    "TO_DATE": DATED,
    "AGE": "is a span of time; write DATE_DIFF('year', start, end)",
    **dict.fromkeys(("DATE_ADD", "DATE_SUB", "DATEADD", "ADD_MONTHS"), f"moves a date, and {UNMOVED}"),
}
"""Of functions that the parser does not know."""

NAMED = (
    *(
        "ABS",
        "CAST",
        "CEIL",
        "COALESCE",
        "DATE_DIFF",
        "DATE_TRUNC",
        "EXTRACT",
        "FLOOR",
        "GREATEST",
        "IF",
        "LEAST",
    ),
    *("LEFT", "LENGTH", "LOWER", "LTRIM", "NULLIF", "RTRIM", "SQRT", "SUBSTRING", "TRIM", "UPPER"),
    *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"),
)
"""The functions, for people."""


class Columns(Protocol):
    """Where the columns of an expression come from."""

    @property
    def spelling(self) -> Spelling:
        """How the engine spells what engines spell differently."""

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
                spelling = columns.spelling
                total.check(term.value, functions=spelling.functions, casts=total.CASTS | spelling.casts)
                return term
            except terms.TooFar:
                continue
    except QueryRefused as refused:
        problem = str(refused)
    except RecursionError:
        problem = "it is nested too deeply; split it with with_columns(...)."
    raise QueryRefused(f"{what}, {shortened(written(tree))!r}, is refused: {problem}")


class _Compiler:
    def __init__(self, columns: Columns, reach: int) -> None:
        self.columns = columns
        self.spelling = columns.spelling
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
            exp.Extract: lambda e: self.part(str(e.this), e.expression),
            exp.Anonymous: self.date_part,
            exp.TimestampTrunc: self.truncated,
            exp.DateTrunc: self.truncated,
            exp.DateDiff: self.difference,
            exp.Date: lambda e: calendar.date(self.moment(e.this)),
            exp.Length: lambda e: text.length(self.words(e.this), self.spelling),
            exp.Lower: lambda e: text.lower(self.words(e.this), self.spelling),
            exp.Upper: lambda e: text.upper(self.words(e.this), self.spelling),
            exp.Trim: self.trimmed,
            exp.Substring: lambda e: self.cut(e.this, e.args.get("start"), e.args.get("length")),
            exp.Left: lambda e: self.cut(e.this, exp.Literal.number(1), e.expression),
            exp.Like: self.like,
            exp.Cast: self.cast,
        }
        self.rules |= dict.fromkeys(COMPARISONS, self.compare)
        self.rules |= dict.fromkeys(ARITHMETIC, self.arithmetic)
        self.rules |= dict.fromkeys(FUNCTIONS, lambda e: self.part(FUNCTIONS[type(e)], e.this))

    def __call__(self, tree: Any) -> Term:
        rule = self.rules.get(type(tree))
        if rule is None:
            raise QueryRefused(refusal(tree))
        understood(tree)
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
            dated = f": {UNMOVED}" if kinds == NUMERIC and term.kind in ("date", "timestamp") else ""
            raise QueryRefused(f"{written(tree)} is {_named(term)}; {what} is needed here{dated}.")
        return term

    def number(self, tree: Any) -> Term:
        return self.of_kind(tree, NUMERIC, "a number")

    def moment(self, tree: Any) -> Term:
        return self.of_kind(tree, ("date", "timestamp"), "a date or a timestamp")

    def words(self, tree: Any) -> Term:
        x = self.of_kind(tree, ("text",), "text")
        if x.constant is not None:
            raise QueryRefused(f"{written(tree)} is a constant; write the result.")
        return x

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
        if spans := [side for side in (tree.this, tree.expression) if isinstance(side, exp.Interval)]:
            raise QueryRefused(refusal(spans[0]))
        if isinstance(tree, exp.Sub) and (days := self.days_between(tree.expression, tree.this)) is not None:
            return days
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
        if "timestamp" in kinds:
            compared = [_moment(t) for t in compared]
        elif "date" in kinds:
            compared = [_day(t) for t in compared]
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

    def part(self, word: str, tree: Any) -> Term:
        return calendar.part(word.upper(), self.moment(tree), self.spelling)

    def date_part(self, tree: Any) -> Term:
        """DATE_PART('month', d), which is no function of its own to the parser."""
        given = tree.expressions
        if str(tree.this).upper() not in calendar.PARTED or len(given) != 2:
            raise QueryRefused(refusal(tree))
        if not isinstance(given[0], exp.Literal) or not given[0].is_string:
            raise QueryRefused(f"{written(tree)}: the part is a constant, like 'month'.")
        return self.part(given[0].this, given[1])

    def truncated(self, tree: Any) -> Term:
        return calendar.truncated(tree.args["unit"].name.upper(), self.moment(tree.this), self.spelling)

    def difference(self, tree: Any) -> Term:
        unit = tree.args.get("unit")
        start, end = (self(side) for side in (tree.expression, tree.this))
        if "timestamp" in (start.kind, end.kind) and unit is not None and unit.name.upper() in calendar.CLOCK:
            start, end = _moment(start), _moment(end)
        start, end = _day(start), _day(end)
        for side, term in ((tree.expression, start), (tree.this, end)):
            if term.kind not in ("date", "timestamp"):
                raise QueryRefused(
                    f"{written(side)} is {_named(term)}; a date or a timestamp is needed here."
                )
        return calendar.difference("DAY" if unit is None else unit.name.upper(), start, end, self.spelling)

    def days_between(self, start: Any, end: Any) -> Term | None:
        """The days from one date to another, of `end - start`; None where there are no dates."""
        if not any(_may_be_date(side) for side in (start, end)):
            return None
        a, b = self(start), self(end)
        if not {a.kind, b.kind} & {"date", "timestamp"}:
            return None
        if {a.kind, b.kind} != {"date"}:
            raise QueryRefused(
                "dates are subtracted from dates, which gives days; of timestamps write DATE_DIFF('day', start, end)."
            )
        return calendar.difference("DAY", a, b, self.spelling)

    def trimmed(self, tree: Any) -> Term:
        if tree.args.get("expression") is not None:
            raise QueryRefused("TRIM takes blanks away and nothing else; leave the other characters out.")
        ends = ENDS[str(tree.args.get("position") or "BOTH").upper()]
        return text.trimmed(self.words(tree.this), ends, self.spelling)

    def cut(self, tree: Any, start: Any, size: Any) -> Term:
        if start is None:
            raise QueryRefused("SUBSTRING needs a place to begin at: SUBSTRING(name, 1, 3).")
        first = self(start).constant
        count = text.LONGEST if size is None else self(size).constant
        return text.cut(self.words(tree), first, count, self.spelling)

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
            if len(core.encode()) > SOUGHT:
                raise QueryRefused(
                    f"LIKE '%ab%' looks for {SOUGHT} bytes of text at most; write fewer, or 'ab%' of how a text begins."
                )
            return terms.truth(x.value.contains(core), x)
        if front:
            return terms.truth(x.value.endswith(core), x)
        return terms.truth(x.value.startswith(core) if back else x.value == core, x)

    def cast(self, tree: Any) -> Term:
        to = tree.args["to"].this
        kinds = exp.DataType.Type
        if isinstance(tree.this, exp.Literal) and tree.this.is_string and to == kinds.DATE:
            return calendar.date_of(tree.this.this)
        if isinstance(tree.this, exp.Literal) and tree.this.is_string and to in MOMENTS:
            return calendar.moment_of(tree.this.this)
        x = self(tree.this)
        if x.numeric and to == kinds.DOUBLE:
            return terms.number(x)
        if x.kind == "integer" and to in exp.DataType.INTEGER_TYPES and x.whole:
            return x
        if x.kind == "bool" and to in exp.DataType.INTEGER_TYPES:
            whole = x.value.cast("int32").cast("int64")  # PostgreSQL knows no other way from a boolean
            return Term(whole, "integer", x.nullable, x.undeclared, top=1, bottom=0, whole=True)
        if x.kind in ("date", "timestamp") and to == kinds.DATE:
            return calendar.date(x)
        if x.kind == "timestamp" and to in MOMENTS:
            return x
        raise QueryRefused(
            f"{_named(x)} cannot be cast to {written(tree.args['to'])}: casts may only be to DOUBLE from a number, to "
            "INTEGER from a condition (FLOOR and CEIL make whole numbers), to DATE from a timestamp."
        )


def understood(tree: Any) -> None:
    """Refuse a piece of syntax with a part that is not understood."""
    if isinstance(tree, exp.ToChar | exp.TimeToStr):
        raise QueryRefused(calendar.DATES_AS_TEXT)
    known = ORDINARY | FURTHER.get(type(tree), frozenset())
    if any(value and part not in known for part, value in tree.args.items()):
        raise QueryRefused(f"{written(tree)} is written in a way that is not available; use its plain form.")


def refusal(tree: Any) -> str:
    """Why a piece of syntax is not in the language."""
    name = tree.name if isinstance(tree, exp.Anonymous) else shortened(written(tree))
    for kind, reason in REASONS.items():
        if isinstance(tree, kind):
            return f"{name} {reason}."
    there = f"{', '.join(NAMED)} (docs/tables.md)"
    if isinstance(tree, exp.Anonymous) and name.upper() in REASONS_BY_NAME:
        return f"{name} {REASONS_BY_NAME[name.upper()]}."
    if isinstance(tree, exp.Anonymous):
        close = meant(name, NAMED)
        hint = "there are" if close is None else f"did you mean {close}? There are"
        return f"there is no function {name!r}; {hint} {there}."
    return (
        f"{name!r} is not in the language of expressions: arithmetic, comparisons, BETWEEN, IN, LIKE, IS NULL, AND, "
        f"OR, NOT, CASE, and of functions {there}."
    )


def _named(term: Term) -> str:
    return {"bool": "a condition", None: "NULL", "text": "text"}.get(term.kind, f"of type {term.kind}")


def _text(text: str) -> str:
    if not is_storable(text):
        raise QueryRefused("text must not hold the character with code 0, nor half of a pair of surrogates.")
    return text


SOUGHT = 64
"""Bytes. Engines look for them at every place of a text anew, so that a long pattern takes minutes for one text that
agrees with most of it everywhere, and no time for others."""

MOMENTS = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ, exp.DataType.Type.DATETIME)


def _may_be_date(tree: Any) -> bool:
    """Whether it might yield a date: arithmetic on numbers is not compiled twice to find out."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return not isinstance(tree, exp.Binary | exp.Unary | exp.Literal)


def _day(term: Term) -> Term:
    """A date; text is read as one, as SQL does."""
    return calendar.date_of(term.constant) if term.kind == "text" and isinstance(term.constant, str) else term


def _moment(term: Term) -> Term:
    """A timestamp; text is read as one, as SQL does, and a constant date as its midnight."""
    if term.kind == "text" and isinstance(term.constant, str):
        return calendar.moment_of(term.constant)
    if term.kind == "date" and term.constant is not None:
        return calendar.midnight(term)
    if term.kind == "date":
        raise QueryRefused(
            "a timestamp and a date are compared by their dates: write CAST(moment AS DATE) = day."
        )
    return term
