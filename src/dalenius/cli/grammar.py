"""The little language of losses: `poisson(0.01, gaussian(1.0)) * 10000 + laplace(2)`.

    sum       := product ('+' product)*
    product   := (WHOLE '*')* factor ('*' WHOLE)*
    factor    := NAME '(' [argument (',' argument)*] ')' | '(' sum ')'
    argument  := [NAME '='] value
    value     := ['-'] NUMBER | NAME | '[' [value (',' value)*] ']' | sum

A recursive-descent parser; the text is never handed to Python. What the names mean is `vocabulary`'s
business, and `evaluate` turns a tree into a loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from dalenius.cli.problems import GrammarError, quoted
from dalenius.cli.syntax import Argument, Call, LossTree, Name, Number, Numbers, Product, Sum, Value
from dalenius.cli.tokens import Kind, Token, tokens, value_of
from dalenius.core.decimals import exact

MAX_DEPTH = 100
"""Deepest nesting of brackets. Five calls a level stay well inside Python's own limit of 1000."""

MAX_COUNT = 10**15
"""Largest whole number: those are exact as floating-point numbers, with room for sums."""

A_LOSS = "a loss such as gaussian(1.0)"
A_VALUE = f"a number, {A_LOSS}, a list such as [0.9, 0.1], or add_remove / replace_one"


@dataclass(frozen=True)
class Expression:
    """A text and its tree."""

    text: str
    root: LossTree


def parse(text: str) -> Expression:
    """The syntax tree of a text, or a GrammarError that shows where it goes wrong.

    >>> from dalenius.cli.grammar import parse
    >>> parse("gaussian(1.0) * 3").root.counts[0].value
    3
    """
    try:
        return Expression(text, _Parser(text).whole())
    except RecursionError:  # the caller's own stack was nearly full
        raise GrammarError("the brackets are nested too deeply to read.", text, 0, 1) from None


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.at = 0
        self.depth = 0

    def whole(self) -> LossTree:
        root = self._sum()
        if self._now.kind is not Kind.END:
            self._unexpected('"+", "*" or the end')
        return root

    # -- words ------------------------------------------------------------------------------------

    @property
    def _now(self) -> Token:
        return self.tokens[self.at]

    @property
    def _next(self) -> Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    @property
    def _last_end(self) -> int:
        return self.tokens[self.at - 1].end

    def _take(self) -> Token:
        token = self._now
        self.at += 1
        return token

    def _took(self, sign: str) -> bool:
        if self._now.is_sign(sign):
            self.at += 1
            return True
        return False

    def _unexpected(self, expected: str) -> NoReturn:
        token = self._now
        found = "the text ends" if token.kind is Kind.END else f"found {quoted(token.text)}"
        raise GrammarError(f"{found} where {expected} is expected.", self.text, token.start, token.end)

    def _enter(self) -> None:
        """Called on an opening bracket."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            message = (
                f"brackets are nested more than {MAX_DEPTH} deep; use the Python API for such an expression."
            )
            raise GrammarError(message, self.text, self._now.start, self._now.end)
        self.at += 1

    # -- rules ------------------------------------------------------------------------------------

    def _sum(self) -> LossTree:
        start = self._now.start
        parts = [self._product()]
        while self._took("+"):
            parts.append(self._product())
        return parts[0] if len(parts) == 1 else Sum(tuple(parts), start, self._last_end)

    def _product(self) -> LossTree:
        start = self._now.start
        counts: list[Number] = []
        while self._now.kind is Kind.NUMBER:
            counts.append(self._count())
            if not self._took("*"):
                token = self.tokens[self.at - 1]
                message = f"{quoted(token.text)} alone is not a loss; write {A_LOSS}, or 3 * gaussian(1.0)."
                raise GrammarError(message, self.text, token.start, token.end)
        factor = self._factor()
        while self._took("*"):
            counts.append(self._count())
        return factor if not counts else Product(factor, tuple(counts), start, self._last_end)

    def _count(self) -> Number:
        """WHOLE: how often a loss is repeated; 1e4 and 10000.0 count as whole."""
        token = self._now
        if token.kind is Kind.NAME and not self._next.is_sign("("):
            message = f"{quoted(token.text)} is no number of repetitions; write a whole number."
            raise GrammarError(message, self.text, token.start, token.end)
        if token.kind is not Kind.NUMBER:
            self._unexpected("a whole number of repetitions")
        value = value_of(token, self.text)
        if value != int(value) or value > MAX_COUNT:
            most = f"from 0 to {exact(MAX_COUNT)}"
            message = f"{quoted(token.text)} is no number of repetitions; it must be whole, {most}."
            raise GrammarError(message, self.text, token.start, token.end)
        self.at += 1
        return Number(int(value), token.start, token.end)

    def _factor(self) -> LossTree:
        token = self._now
        if token.is_sign("("):
            self._enter()
            inner = self._sum()
            self._close(")", token)
            self.depth -= 1
            return inner
        if token.kind is not Kind.NAME:
            self._unexpected(A_LOSS)
        if not self._next.is_sign("("):
            message = (
                f"found {quoted(token.text)} where {A_LOSS} is expected, with its parameters in brackets."
            )
            raise GrammarError(message, self.text, token.start, token.end)
        self.at += 1
        return self._call(token)

    def _call(self, name: Token) -> Call:
        opening = self._now
        self._enter()
        arguments: list[Argument] = []
        while not self._now.is_sign(")"):
            arguments.append(self._argument())
            if not self._took(","):
                break
        self._close(")", opening)
        self.depth -= 1
        return Call(name.text, tuple(arguments), name.start, name.end, self._last_end)

    def _argument(self) -> Argument:
        start, name = self._now.start, None
        if self._now.kind is Kind.NAME and self._next.is_sign("="):
            name = self._take().text
            self.at += 1
        # The one-word values are read here; everything else is a loss.
        value: Value
        token, following = self._now, self._next
        if token.is_sign("["):
            value = self._numbers()
        elif token.is_sign("-") or (token.kind is Kind.NUMBER and not following.is_sign("*")):
            value = self._number()
        elif token.kind is Kind.NAME and not following.is_sign("("):
            self.at += 1
            value = Name(token.text, token.start, token.end)
        elif token.kind in (Kind.NAME, Kind.NUMBER) or token.is_sign("("):
            value = self._sum()
        else:
            self._unexpected(A_VALUE)
        if isinstance(value, Number | Name) and (self._now.is_sign("*") or self._now.is_sign("+")):
            sign = quoted(self._now.text)
            message = f"found {sign} after a number; numbers are not computed here, write the result."
            raise GrammarError(message, self.text, self._now.start, self._now.end)
        return Argument(name, value, start, self._last_end)

    def _number(self) -> Number:
        start, sign = self._now.start, -1 if self._took("-") else 1
        if self._now.kind is not Kind.NUMBER:
            self._unexpected("a number")
        token = self._take()
        return Number(sign * value_of(token, self.text), start, token.end)

    def _numbers(self) -> Numbers:
        opening = self._take()
        items: list[Number] = []
        while not self._now.is_sign("]"):
            items.append(self._number())
            if not self._took(","):
                break
        self._close("]", opening)
        return Numbers(tuple(items), opening.start, self._last_end)

    def _close(self, sign: str, opening: Token) -> None:
        if self._took(sign):
            return
        if self._now.kind is Kind.END:
            message = f'this "{opening.text}" is never closed; a "{sign}" is missing at the end.'
            raise GrammarError(message, self.text, opening.start, opening.end)
        also = '"," or ' if self.tokens[self.at - 1].text not in ",(" else ""
        inside = '"+", "*", ' if sign == ")" else ""
        self._unexpected(f'{inside}{also}"{sign}"')
