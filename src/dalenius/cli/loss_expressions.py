"""Losses as text: `poisson(0.01, gaussian(1.0)) * 10000 + laplace(2)`.

Python's parser reads the text, and nothing is ever handed to `eval`: of Python's grammar only sums, products with whole
numbers, calls of the functions of `dalenius.losses`, numbers, lists of numbers, matrices and bare words are accepted.
Which parameters there are, and of what sort, is read from the signatures of those functions.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from dalenius.cli.problems import GrammarError, quoted, suggestion
from dalenius.core.adjacency import WORDS as ADJACENCIES
from dalenius.core.decimals import exact
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.calculus.loss import Loss

MAX_LENGTH = 10_000
"""Longest text read, in characters: enough for hundreds of mechanisms, and it bounds the work."""

MAX_COUNT = 10**15
"""Largest whole number: those are exact as floating-point numbers, with room for sums."""

MAX_SHIFT = 10**6
"""Largest sensitivity in grid steps: the loss keeps a table of that size."""

NOT_NUMBERS = ("nan", "inf", "infinity")
"""Words other programs read as numbers: parameters are finite, and these must not pass for variables."""

ALIASES = {
    "rr": "randomized_response",
    "expo": "bounded_range",
    "poisson": "poisson_sampled",
    "subset": "sampled_without_replacement",
}
SORTS = {
    "float": "a number",
    "int": "a whole number",
    "int | None": "a whole number",
    "float | None": "a number",
    "Loss": "a loss",
    "Sequence[float]": "a list of numbers such as [0.9, 0.1]",
    "Sequence[float] | None": "a list of numbers such as [0.9, 0.1]",
    "Matrix": "a matrix such as [[1, 0], [0.5, 1]]",
    "Adjacency": "add_remove or replace_one",
}
"""What may be written for a parameter, by its annotation. A function with any other parameter exists in Python only."""

CHOSEN = ("bound",)
"""Parameters that choose a proof: text has only the default."""

STRANGE = re.compile(r"[^A-Za-z0-9_.()\[\],+*= -]")
DECIMAL = re.compile(r"[0-9_]*\.?[0-9_]*(?:[eE][+-]?[0-9_]+)?")


@dataclass(frozen=True)
class Expression:
    """A text and its tree. Whatever is not printable ASCII was refused, so places are counted in characters."""

    text: str
    root: ast.expr
    shift: int

    def error(self, message: str, node: ast.expr | ast.keyword) -> GrammarError:
        """An error that points at a part of the text."""
        start, end = node.col_offset, node.end_col_offset or 0
        return GrammarError(message, self.text, start + self.shift, end + self.shift)


def read_loss(text: str) -> Loss:
    """The loss a text describes.

    >>> read_loss("poisson(0.01, gaussian(1.0)) * 10000 + laplace(2)")
    Loss(poisson_sampled(gaussian(sigma=1), rate=0.01) * 10000 + laplace(scale=2))
    """
    return evaluate(parse(text))


def parse(text: str) -> Expression:
    """The syntax tree of a text, or a GrammarError that shows where it goes wrong."""
    if len(text) > MAX_LENGTH:
        message = f"the text has {len(text)} characters; at most {MAX_LENGTH} are read. Use Python for more."
        raise GrammarError(message, text, MAX_LENGTH, MAX_LENGTH + 1)
    line = re.sub(r"\s", " ", text)
    if strange := STRANGE.search(line):
        message = f"{quoted(strange[0])} has no meaning here; write letters, numbers and ( ) [ ] , + * = -"
        raise GrammarError(message, text, strange.start(), strange.end())
    body = line.strip()
    shift = line.index(body)
    if not body:
        raise GrammarError("there is nothing to read; write a loss such as gaussian(1.0).", text, 0, 1)
    try:
        return Expression(text, ast.parse(body, mode="eval").body, shift)
    except (RecursionError, MemoryError):
        raise GrammarError("the expression is too long or too deeply nested to read.", text, 0, 1) from None
    except (SyntaxError, ValueError) as problem:
        at = min(max((getattr(problem, "offset", None) or 1) - 1, 0) + shift, len(text))
        end = max((getattr(problem, "end_offset", None) or 0) - 1 + shift, at + 1)
        said = getattr(problem, "msg", "") or "invalid syntax"
        raise GrammarError(
            f"{said[0].lower()}{said[1:]}; write losses like gaussian(1.0) * 3.", text, at, end
        ) from None


def evaluate(expression: Expression, variables: Mapping[str, float] | None = None) -> Loss:
    """The loss an expression describes, with these values for its variables."""
    try:
        return _Evaluator(expression, variables or {}).loss(expression.root)
    except RecursionError:
        raise GrammarError("the expression is nested too deeply to compute.", expression.text, 0, 1) from None


def free_names(expression: Expression) -> tuple[ast.Name, ...]:
    """The variables, each where it is first used."""
    names = [node for node in ast.walk(expression.root) if isinstance(node, ast.Name)]
    called = {id(node.func) for node in ast.walk(expression.root) if isinstance(node, ast.Call)}
    first: dict[str, ast.Name] = {}
    for name in sorted(names, key=lambda node: node.col_offset):
        if id(name) not in called and _is_variable(name.id):
            first.setdefault(name.id, name)
    return tuple(first.values())


@cache
def forms() -> dict[str, tuple[inspect.Parameter, ...]]:
    """The names that can be called, each with its parameters."""
    from dalenius import losses

    functions = {name: _parameters(getattr(losses, name)) for name in losses.__all__}
    written = {
        name: parameters
        for name, parameters in functions.items()
        if all(_annotation(parameter) in SORTS for parameter in parameters)
    }
    return written | {short: written[name] for short, name in ALIASES.items()}


def known() -> list[tuple[str, str]]:
    """Every name with its parameters, and what it means."""
    from dalenius import losses

    meanings = {name: getattr(losses, ALIASES.get(name, name)).__doc__ or "" for name in sorted(forms())}
    return [(signature(name), meaning.strip().splitlines()[0]) for name, meaning in meanings.items()]


def signature(name: str) -> str:
    """`laplace(scale[, sensitivity, adjacency])`, for a message."""
    parameters = forms()[name]
    needed = ", ".join("loss, loss, ..." if _is_open(p) else p.name for p in parameters if _is_needed(p))
    extra = ", ".join(p.name for p in parameters if not _is_needed(p))
    return f"{name}({needed}{f'[, {extra}]' if extra else ''})"


class _Evaluator:
    def __init__(self, expression: Expression, variables: Mapping[str, float]) -> None:
        self.error, self.variables = expression.error, variables

    def loss(self, node: ast.expr) -> Loss:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._sum(_flat(node, ast.Add))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self._product(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node, node.func)
        if isinstance(node, ast.Name):
            raise self.error(
                f"found {quoted(node.id)} where a loss is expected, with its parameters in brackets: gaussian(1.0).",
                node,
            )
        raise self.error("this is not a loss; write one such as gaussian(1.0), or 3 * gaussian(1.0).", node)

    def _sum(self, parts: Sequence[ast.expr]) -> Loss:
        result = self.loss(parts[0])
        for part in parts[1:]:
            term = self.loss(part)
            try:
                result = result + term
            except InvalidParameter as problem:
                raise self.error(str(problem), part) from problem
        return result

    def _product(self, node: ast.BinOp) -> Loss:
        factors = _flat(node, ast.Mult)
        losses = [factor for factor in factors if not isinstance(factor, ast.Constant | ast.UnaryOp)]
        if len(losses) != 1:
            wrong = losses[1] if losses else factors[-1]
            raise self.error("a product is one loss and whole numbers of repetitions.", wrong)
        result = self.loss(losses[0])
        for factor in factors:
            if factor is losses[0]:
                continue
            result = result * self._count(factor)
            # Far beyond any use, and past this even the bounds on rounding errors would overflow.
            if sum(n for _, n in result.terms_remove) > MAX_COUNT:
                raise self.error(
                    f"this makes more than {exact(MAX_COUNT)} repetitions in all, the most accepted.", factor
                )
        return result

    def _count(self, node: ast.expr) -> int:
        """How often a loss is repeated; 1e4 and 10000.0 count as whole."""
        value = self._number(node)
        if value != int(value) or not 0 <= value <= MAX_COUNT:
            raise self.error(f"repetitions must be a whole number, from 0 to {exact(MAX_COUNT)}.", node)
        return int(value)

    def _call(self, node: ast.Call, function: ast.Name) -> Loss:
        from dalenius import losses

        name = self._known(function)
        given = self._bound(node, name)
        several = [self.loss(argument) for argument in node.args] if _is_open(forms()[name][0]) else []
        named = {word: self._value(parameter, value) for word, (parameter, value) in given.items()}
        try:
            made: Loss = getattr(losses, ALIASES.get(name, name))(*several, **named)
        except InvalidParameter as problem:
            blamed = given.get(problem.parameter or "")
            raise self.error(str(problem), blamed[1] if blamed else node) from problem
        except (ArithmeticError, MemoryError) as problem:
            raise self.error(
                "these numbers are too extreme to compute with; use larger or smaller units.", node
            ) from problem
        return made

    def _known(self, function: ast.Name) -> str:
        from dalenius import losses

        name = function.id
        if name in forms():
            return name
        if name == "total":
            message = 'total() is written with "+" here: gaussian(1.0) + laplace(2.0).'
        elif name in losses.__all__:
            message = (
                f"what {name} takes cannot be written here; use numbers (gdp(mu), zcdp(rho), from_pair([...], [...])), "
                f"or Python: dalenius.losses.{name}."
            )
        else:
            hint = suggestion(name, forms()) or f"; known are {', '.join(sorted(forms()))}."
            message = f"{quoted(name)} is not a loss known here{hint}"
        raise self.error(message, function)

    def _bound(self, node: ast.Call, name: str) -> dict[str, tuple[inspect.Parameter, ast.expr]]:
        """Which argument is for which parameter.

        Arguments without a name go, in order, to the parameters that want their sort. A number and a loss cannot be
        mistaken for one another: poisson(0.01, gaussian(1)) and poisson(gaussian(1), 0.01) agree.
        """
        parameters = {p.name: p for p in forms()[name] if not _is_open(p)}
        given: dict[str, tuple[inspect.Parameter, ast.expr]] = {}
        for argument in node.args if parameters else ():
            suited = [p for p in parameters.values() if _suits(argument, _annotation(p))]
            free = next((p for p in suited if p.name not in given), None)
            if free is None:
                if isinstance(argument, ast.Name):
                    self._word(argument)  # a word that can mean nothing deserves the more exact message
                what = "one argument too many" if suited else f"{name} takes no such argument as this"
                raise self.error(f"{what}; write {signature(name)}.", argument)
            given[free.name] = (free, argument)
        for keyword in node.keywords:
            word = keyword.arg or ""
            if word not in parameters:
                near = suggestion(word, parameters) or f"; write {signature(name)}."
                raise self.error(f"{name} has no parameter {quoted(word)}{near}", keyword)
            if word in given:
                raise self.error(f"{word} is given twice; write {signature(name)}.", keyword)
            if not _suits(keyword.value, _annotation(parameters[word])):
                raise self.error(f"{word} must be {SORTS[_annotation(parameters[word])]}.", keyword)
            given[word] = (parameters[word], keyword.value)
        missing = [p.name for p in parameters.values() if _is_needed(p) and p.name not in given]
        if missing or not (parameters or node.args):
            lacking = " and ".join(missing) or "losses"
            raise self.error(f"{name} lacks {lacking}; write {signature(name)}.", node)
        return given

    def _value(self, parameter: inspect.Parameter, node: ast.expr) -> Any:
        sort = SORTS[_annotation(parameter)]
        if isinstance(node, ast.List):
            return [self._items(item) for item in node.elts]
        if isinstance(node, ast.Name) and node.id.lower() in ADJACENCIES:
            return ADJACENCIES[node.id.lower()]
        if sort == "a loss":
            return self.loss(node)
        if sort == "a whole number" and isinstance(node, ast.Name) and _is_variable(node.id):
            raise self.error(
                f"{parameter.name} must be written as a whole number; it cannot be a variable.", node
            )
        value = self._word(node) if isinstance(node, ast.Name) else self._number(node)
        most = MAX_SHIFT if parameter.name == "sensitivity" else MAX_COUNT
        if sort == "a whole number" and abs(value) > most:
            raise self.error(f"{parameter.name} is {exact(value)}; at most {exact(most)} is accepted.", node)
        return value

    def _items(self, node: ast.expr) -> Any:
        """An entry of a list, or a row of a matrix."""
        return (
            [self._number(item) for item in node.elts] if isinstance(node, ast.List) else self._number(node)
        )

    def _number(self, node: ast.expr) -> int | float:
        negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        plain = node.operand if isinstance(node, ast.UnaryOp) and negative else node
        value = plain.value if isinstance(plain, ast.Constant) else None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.error("a number is expected here; numbers are written, not computed.", node)
        place = self.error("", plain)
        text = place.text[place.start : place.end]
        if not DECIMAL.fullmatch(text):
            raise self.error(f"{quoted(text)} is not a number; write 1, 1.0, 1e-5 or 10_000.", plain)
        if math.isinf(float(value) if isinstance(value, float) else 0.0) or value > 10**308:
            raise self.error(f"{quoted(text)} is too large; numbers go up to about 1e308.", plain)
        # A parameter that silently became 0 would change its meaning.
        if value == 0 and re.search("[1-9]", re.split("[eE]", text)[0]):
            raise self.error(f"{quoted(text)} is too near to 0; write 0, or a number above 5e-324.", plain)
        return -value if negative else value

    def _word(self, word: ast.Name) -> float:
        name = word.id
        if name in self.variables:
            return self.variables[name]
        if name.lower() in NOT_NUMBERS:
            raise self.error(f"{quoted(name)} is not accepted; parameters are finite numbers.", word)
        if name in forms():
            raise self.error(f"{name} needs its parameters in brackets, as in gaussian(1.0).", word)
        if name.lower() in ADJACENCIES:
            raise self.error(f"{name} is a neighbouring relation, not a number.", word)
        near = suggestion(name, (*forms(), *ADJACENCIES))
        hint = near or "; write a number (`dalenius calibrate` finds one that keeps a promise)."
        raise self.error(f"{quoted(name)} has no value{hint}", word)


def _flat(node: ast.expr, op: type[ast.operator]) -> list[ast.expr]:
    """The operands of a chain, in order; a long one must not nest deeply."""
    parts: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, op):
        parts.append(node.right)
        node = node.left
    return [node, *reversed(parts)]


def _parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    return tuple(p for p in inspect.signature(function).parameters.values() if p.name not in CHOSEN)


def _annotation(parameter: inspect.Parameter) -> str:
    return str(parameter.annotation)


def _is_open(parameter: inspect.Parameter) -> bool:
    """Whether it takes any number of arguments."""
    return parameter.kind is inspect.Parameter.VAR_POSITIONAL


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _is_variable(word: str) -> bool:
    """Whether a bare word can only mean a parameter to be found."""
    from dalenius import losses

    known = {*ADJACENCIES, *NOT_NUMBERS}
    return not (word.lower() in known or word in ALIASES or word in losses.__all__)


def _suits(node: ast.expr, annotation: str) -> bool:
    sort = SORTS[annotation]
    if isinstance(node, ast.List):
        rows = bool(node.elts) and all(isinstance(row, ast.List) for row in node.elts)
        return annotation == "Matrix" if rows else annotation.startswith("Sequence[float]")
    if isinstance(node, ast.Name):
        return (annotation == "Adjacency") if node.id.lower() in ADJACENCIES else sort.endswith("number")
    if isinstance(node, ast.Constant | ast.UnaryOp):
        return sort.endswith("number")
    return annotation == "Loss"
