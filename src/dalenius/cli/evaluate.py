"""From a syntax tree to a loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dalenius.cli.grammar import MAX_COUNT, Expression, parse
from dalenius.cli.problems import GrammarError, quoted, suggestion
from dalenius.cli.syntax import Argument, Call, LossTree, Name, Number, Numbers, Product, Sum, Value
from dalenius.cli.vocabulary import (
    FORMS,
    NOT_NUMBERS,
    REFUSED,
    Form,
    Parameter,
    Sort,
    is_adjacency,
    is_variable,
)
from dalenius.core.decimals import exact
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.calculus.loss import Loss

NOTHING: Mapping[str, float] = MappingProxyType({})


def read_loss(text: str) -> Loss:
    """The loss a text describes.

    >>> from dalenius.cli.evaluate import read_loss
    >>> read_loss("poisson(0.01, gaussian(1.0)) * 10000 + laplace(2)")
    Loss(poisson_sampled(gaussian(sigma=1), rate=0.01) * 10000 + laplace(scale=2))
    """
    return evaluate(parse(text))


def evaluate(expression: Expression, variables: Mapping[str, float] = NOTHING) -> Loss:
    """The loss an expression describes, with these values for its variables."""
    try:
        return _Evaluator(expression.text, variables).loss(expression.root)
    except RecursionError:
        raise GrammarError("the expression is nested too deeply to compute.", expression.text, 0, 1) from None


def free_names(expression: Expression) -> tuple[Name, ...]:
    """The variables, each where it is first used."""
    first: dict[str, Name] = {}
    for name in _names(expression.root):
        if is_variable(name.name):
            first.setdefault(name.name, name)
    return tuple(first.values())


def _names(tree: Value) -> Iterator[Name]:
    if isinstance(tree, Name):
        yield tree
    elif isinstance(tree, Call):
        for argument in tree.arguments:
            yield from _names(argument.value)
    elif isinstance(tree, Product):
        yield from _names(tree.factor)
    elif isinstance(tree, Sum):
        for part in tree.parts:
            yield from _names(part)


class _Evaluator:
    def __init__(self, text: str, variables: Mapping[str, float]) -> None:
        self.text, self.variables = text, variables

    def _error(self, message: str, place: Value | Argument) -> GrammarError:
        return GrammarError(message, self.text, place.start, place.end)

    def loss(self, tree: LossTree) -> Loss:
        if isinstance(tree, Sum):
            return self._sum(tree)
        if isinstance(tree, Product):
            return self._product(tree)
        return self._call(tree)

    def _sum(self, tree: Sum) -> Loss:
        result = self.loss(tree.parts[0])
        for part in tree.parts[1:]:
            term = self.loss(part)
            try:
                result = result + term
            except InvalidParameter as problem:
                raise self._error(str(problem), part) from problem
        return result

    def _product(self, tree: Product) -> Loss:
        result = self.loss(tree.factor)
        for count in tree.counts:
            result = result * int(count.value)
            # Far beyond any use, and past this even the bounds on rounding errors would overflow.
            if sum(n for _, n in result.terms_remove) > MAX_COUNT:
                raise self._error(
                    f"this makes more than {exact(MAX_COUNT)} repetitions in all, the most accepted.", count
                )
        return result

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, tree: Call) -> Loss:
        form = self._form(tree)
        bound = self._bound(tree, form)
        several: list[Any] = []
        named: dict[str, Any] = {}
        for parameter, argument in bound:
            value = self._value(parameter, argument)
            if parameter.sort is Sort.LOSSES:
                several.append(value)
            else:
                named[parameter.python_name] = value
        from dalenius import losses  # only now: a misspelt name is told without loading the calculus

        try:
            made: Loss = getattr(losses, form.constructor)(*several, **named)
        except InvalidParameter as problem:
            raise self._refused(tree, bound, str(problem)) from problem
        except (ArithmeticError, MemoryError) as problem:
            raise self._error(
                "these numbers are too extreme to compute with; use larger or smaller units.", tree
            ) from problem
        return made

    def _form(self, tree: Call) -> Form:
        if tree.name in FORMS:
            return FORMS[tree.name]
        message = REFUSED.get(tree.name)
        if message is None:
            hint = suggestion(tree.name, FORMS) or f"; known are {', '.join(sorted(FORMS))}."
            message = f"{quoted(tree.name)} is not a loss known here{hint}"
        raise GrammarError(message, self.text, tree.start, tree.open)

    def _bound(self, tree: Call, form: Form) -> list[tuple[Parameter, Argument]]:
        """Which argument is for which parameter.

        Arguments without a name go, in order, to the parameters that want their sort. A number and a loss
        cannot be mistaken for one another: poisson(0.01, gaussian(1)) and poisson(gaussian(1), 0.01) agree.
        """
        bound: list[tuple[Parameter, Argument]] = []
        named_seen = False
        for argument in tree.arguments:
            taken = {parameter.name for parameter, _ in bound}
            if argument.name is not None:
                named_seen = True
                bound.append((self._by_name(form, argument, argument.name, taken), argument))
            elif named_seen:
                raise self._error("an argument without a name must come before the named ones.", argument)
            else:
                bound.append((self._by_sort(form, argument, taken), argument))
        taken = {parameter.name for parameter, _ in bound}
        missing = [p.name for p in form.parameters if not p.optional and p.name not in taken]
        if missing:
            raise self._error(f"{form.name} lacks {' and '.join(missing)}; write {form.signature}.", tree)
        return bound

    def _by_name(self, form: Form, argument: Argument, name: str, taken: set[str]) -> Parameter:
        known = {p.name: p for p in form.parameters if p.sort is not Sort.LOSSES}
        if name not in known:
            near = suggestion(name, known) or f"; write {form.signature}."
            raise self._error(f"{form.name} has no parameter {quoted(name)}{near}", argument)
        if name in taken:
            raise self._error(f"{name} is given twice; write {form.signature}.", argument)
        parameter = known[name]
        if not _suits(argument.value, parameter):
            raise self._error(
                f"{name} is {_described(argument.value)}; it must be {parameter.sort.value}.", argument
            )
        return parameter

    def _by_sort(self, form: Form, argument: Argument, taken: set[str]) -> Parameter:
        for parameter in form.parameters:
            free = parameter.sort is Sort.LOSSES or parameter.name not in taken
            if free and _suits(argument.value, parameter):
                return parameter
        if isinstance(argument.value, Name):
            self._number_word(argument.value)  # a word that can mean nothing deserves the more exact message
        what = _described(argument.value)
        already = any(_suits(argument.value, parameter) for parameter in form.parameters)
        problem = (
            f"{what} too many for {form.name}" if already else f"{form.name} takes no such argument as {what}"
        )
        raise self._error(f"{problem}; write {form.signature}.", argument)

    # -- values -----------------------------------------------------------------------------------

    def _value(self, parameter: Parameter, argument: Argument) -> object:
        value = argument.value
        if isinstance(value, Number):
            return self._number(parameter, value)
        if isinstance(value, Numbers):
            return [item.value for item in value.items]
        if not isinstance(value, Name):
            return self.loss(value)
        if parameter.sort is Sort.ADJACENCY:
            from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE

            return ADD_REMOVE if value.name.lower() == "add_remove" else REPLACE_ONE
        if parameter.sort is Sort.WHOLE and is_variable(value.name):
            raise self._error(
                f"{parameter.name} must be written as a whole number; it cannot be a variable.", value
            )
        return self._number_word(value)

    def _number(self, parameter: Parameter, number: Number) -> int | float:
        most = MAX_COUNT if parameter.most is None else parameter.most
        if parameter.sort is Sort.WHOLE and abs(number.value) > most:
            raise self._error(
                f"{parameter.name} is {exact(number.value)}; at most {exact(most)} is accepted.", number
            )
        return number.value

    def _number_word(self, word: Name) -> float:
        if word.name in self.variables:
            return self.variables[word.name]
        if word.name.lower() in NOT_NUMBERS:
            raise self._error(f"{quoted(word.name)} is not accepted; parameters are finite numbers.", word)
        if word.name in FORMS or word.name in REFUSED:
            raise self._error(f"{word.name} needs its parameters in brackets, as in gaussian(1.0).", word)
        if is_adjacency(word.name):
            raise self._error(f"{word.name} is a neighbouring relation, not a number.", word)
        near = suggestion(word.name, (*FORMS, "add_remove", "replace_one"))
        hint = near or "; write a number (`dalenius calibrate` finds one that keeps a promise)."
        raise self._error(f"{quoted(word.name)} has no value{hint}", word)

    def _refused(self, tree: Call, bound: list[tuple[Parameter, Argument]], message: str) -> GrammarError:
        """The calculus says which parameter it refuses by starting with its name: point at that one."""
        for parameter, argument in bound:
            start = f"{parameter.python_name} is "
            if message.startswith(start):
                return self._error(f"{parameter.name} is {message[len(start) :]}", argument)
        return self._error(message, tree)


def _suits(value: Value, parameter: Parameter) -> bool:
    if isinstance(value, Number):
        return parameter.sort in (Sort.NUMBER, Sort.WHOLE)
    if isinstance(value, Numbers):
        return parameter.sort is Sort.LIST
    if isinstance(value, Name):
        if is_adjacency(value.name):
            return parameter.sort is Sort.ADJACENCY
        return parameter.sort in (Sort.NUMBER, Sort.WHOLE)
    return parameter.sort in (Sort.LOSS, Sort.LOSSES)


def _described(value: Value) -> str:
    if isinstance(value, Number):
        return "a number"
    if isinstance(value, Numbers):
        return "a list"
    return quoted(value.name) if isinstance(value, Name) else "a loss"
