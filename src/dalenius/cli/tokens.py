"""The words of the little language: numbers, names and signs, each with its place in the text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum

from dalenius.cli.problems import GrammarError, quoted

MAX_LENGTH = 10_000
"""Longest text read, in characters: enough for hundreds of mechanisms, and it bounds the work."""

_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS}){_EXPONENT}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPACE = re.compile(r"\s+")
_GLUED = re.compile(r"[\w.]*")
SIGNS = "()[],+*=-"


class Kind(Enum):
    """What sort of word a token is."""

    NUMBER = "a number"
    NAME = "a name"
    SIGN = "a sign"
    END = "the end"


@dataclass(frozen=True)
class Token:
    """One word and where it stands: text[start:end]."""

    kind: Kind
    text: str
    start: int
    end: int

    def is_sign(self, sign: str) -> bool:
        return self.kind is Kind.SIGN and self.text == sign


def tokens(text: str) -> tuple[Token, ...]:
    """All words of the text, closed by one of kind END."""
    if len(text) > MAX_LENGTH:
        message = f"the text has {len(text)} characters; at most {MAX_LENGTH} are read. Use Python for more."
        raise GrammarError(message, text, MAX_LENGTH, MAX_LENGTH + 1)
    found: list[Token] = []
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        token = _token(text, at)
        found.append(token)
        at = token.end
    end = len(text.rstrip())
    return (*found, Token(Kind.END, "", end, end + 1))


def _token(text: str, at: int) -> Token:
    if number := _NUMBER.match(text, at):
        glued = _GLUED.match(text, number.end())
        end = glued.end() if glued else number.end()
        if end > number.end():
            message = f"{quoted(text[at:end])} is not a number; numbers look like 1, 1.0, 1e-5 or 10_000."
            raise GrammarError(message, text, at, end)
        return Token(Kind.NUMBER, number.group(), at, end)
    if name := _NAME.match(text, at):
        return Token(Kind.NAME, name.group(), at, name.end())
    if text[at] in SIGNS:
        return Token(Kind.SIGN, text[at], at, at + 1)
    message = f"{quoted(text[at])} has no meaning here; use letters, numbers and the signs {' '.join(SIGNS)}"
    raise GrammarError(message, text, at, at + 1)


def value_of(token: Token, text: str) -> int | float:
    """The number a token stands for: whole when written without point and exponent."""
    digits = token.text.replace("_", "")
    value = float(digits)
    if math.isinf(value):
        message = f"{quoted(token.text)} is too large; numbers go up to about 1.8e308."
        raise GrammarError(message, text, token.start, token.end)
    # A parameter that silently became 0 would change its meaning.
    if value == 0.0 and re.search("[1-9]", re.split("[eE]", digits)[0]):
        message = f"{quoted(token.text)} is too near to 0; write 0, or a number above 5e-324."
        raise GrammarError(message, text, token.start, token.end)
    # Leading zeros go first: Python refuses to convert texts of several thousand digits.
    return int(digits.lstrip("0") or "0") if digits.isdigit() else value


def single_number(text: str) -> float:
    """A text that is one number and nothing else; a minus sign is allowed."""
    words = tokens(text)
    negative = words[0].is_sign("-")
    rest = words[1:] if negative else words
    if len(rest) != 2 or rest[0].kind is not Kind.NUMBER:
        raise GrammarError(f"{quoted(text)} is not a number.", text, 0, max(1, len(text)))
    value = float(value_of(rest[0], text))
    return -value if negative else value
