"""Checks of numbers that enter the calculus. Each returns the plain value or raises InvalidParameter."""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.errors import InvalidParameter, TooLittleNoise

Check = Callable[[str, object], float]
"""From a parameter's name and what was given for it to the number, or InvalidParameter."""


MOST = 10**300
"""Whole numbers up to here are floats, too, and so are their products with what is moderate."""


def shown(value: object) -> str:
    """A value for a message: its repr, cut short where it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        text = "a number of thousands of digits"
    return text if len(text) <= 100 else f"{text[:60]}... ({len(text)} characters)"


def number(name: str, value: object, allowed: str = "a finite number") -> float:
    """A finite float, from any number (int, Fraction, Decimal, NumPy's); booleans and text are refused."""
    if isinstance(value, bool | str | bytes | bytearray):
        raise InvalidParameter.of(name, f"{name} is {shown(value)}; it must be {allowed}.")
    try:
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter.of(name, f"{name} is {shown(value)}; it must be {allowed}.") from None
    if not math.isfinite(result):
        raise InvalidParameter.of(name, f"{name} is {result}; it must be {allowed}.")
    return result


def positive(name: str, value: object, why: str = "") -> float:
    """A finite float above zero."""
    return within(name, value, "a finite number above 0", lambda x: x > 0, why)


def nonnegative(name: str, value: object, why: str = "") -> float:
    """A finite float, zero included."""
    return within(name, value, "a finite number, 0 or more", lambda x: x >= 0, why)


def probability(name: str, value: object, why: str = "") -> float:
    """A float in [0, 1]."""
    return within(name, value, "a number in [0, 1]", lambda x: 0 <= x <= 1, why)


def failure_probability(name: str, value: object, why: str = "") -> float:
    """A float in [0, 1): a delta."""
    return within(name, value, "a number in [0, 1)", lambda x: 0 <= x < 1, why)


def open_probability(name: str, value: object, why: str = "") -> float:
    """A float strictly between 0 and 1."""
    return within(name, value, "a number strictly between 0 and 1", lambda x: 0 < x < 1, why)


def confidence(value: object) -> float:
    """A float strictly between 0 and 1."""
    if isinstance(value, int | float) and 1 < value < 100:
        raise InvalidParameter.of(
            "confidence",
            f"confidence is {value:g}; it must be a number strictly between 0 and 1: {value / 100:g}.",
        )
    return open_probability("confidence", value)


def order(name: str, value: object) -> float:
    """A finite Renyi order above 1."""
    return within(name, value, "a finite number above 1", lambda x: x > 1)


def count(name: str, value: object, least: int = 0) -> int:
    """A whole number, at least `least` and at most 1e300; what is not whole is refused, never rounded."""
    allowed = f"a whole number, {least} or more"
    if isinstance(value, bool):
        raise InvalidParameter.of(name, f"{name} is {value!r}; it must be {allowed}.")
    try:
        result = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        near = number(name, value, allowed)
        exact = Fraction(value if isinstance(value, Fraction | Decimal) else near)
        if exact.denominator != 1:
            raise InvalidParameter.of(name, f"{name} is {shown(value)}; it must be {allowed}.") from None
        result = exact.numerator
    if result < least:
        raise InvalidParameter.of(name, f"{name} is {shown(result)}; it must be {allowed}.")
    if result > MOST:
        raise InvalidParameter.of(name, f"{name} is {shown(result)}; it must be at most 1e300.")
    return result


def interval(name: str, value: object) -> tuple[float, float]:
    """Two finite numbers, the lower one first, and a finite number apart."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != 2:
        raise InvalidParameter.of(
            name, f"{name} is {shown(value)}; it must be (lowest, highest): what is public about the values."
        )
    low, high = number(f"{name}[0]", value[0]), number(f"{name}[1]", value[1])
    if not low < high or not math.isfinite(high - low):
        raise InvalidParameter.of(
            name, f"{name} is ({low:g}, {high:g}); the first must be below the second, a finite number apart."
        )
    return low, high


def is_one_of(value: object, *words: str) -> bool:
    """Whether it is one of these words; an array, which cannot be compared with them, is none."""
    return isinstance(value, str) and value in words


def one_of(name: str, value: object, *words: str) -> Any:
    """One of these words."""
    if not is_one_of(value, *words):
        known = either([repr(word) for word in words])
        raise InvalidParameter.of(name, f"{name} is {shown(value)}; it must be {known}.")
    return value


def either(names: Sequence[str]) -> str:
    """Names for a message: a, b or c."""
    return " or ".join([", ".join(names[:-1]), *names[-1:]]) if len(names) > 1 else "".join(names)


LONGEST_LABEL = 255


def label(what: str, value: object) -> str:
    """A name that somebody chose and others will read, in answers, ledgers and histories: printable, and not long."""
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > LONGEST_LABEL
        or not value.isprintable()
    ):
        raise InvalidParameter(
            f"{what} is {shown(value)}; it must be a name of at most {LONGEST_LABEL} characters, all of which can be "
            "printed."
        )
    return value


def flag(name: str, value: object) -> bool:
    """True or False, Python's or NumPy's. What merely counts as true, such as the text "no", is refused."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameter.of(name, f"{name} is {shown(value)}; it must be True or False.")
    return bool(value)


def path(name: str, value: object) -> Path:
    """The name of a file, as text or as a path, that a file can have."""
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        text = None
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter.of(name, f"{name} is {shown(value)}; it must be the path of a file, as text.")
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise InvalidParameter.of(
            name, f"{name} is {shown(text)}, which holds a character that no file's name can."
        )
    if any(len(os.fsencode(part)) > 255 for part in text.split(os.sep)) or len(os.fsencode(text)) > 4096:
        raise InvalidParameter.of(
            name, f"{name} is {shown(text)}, which is longer than a file's name can be."
        )
    return Path(text)


def ratio_up(a: float, b: float) -> float:
    """a / b rounded up: exact when the quotient is a float; infinity for a = infinity, b = 0 and beyond the floats."""
    quotient = a / b if b else math.inf
    return float_up(Fraction(a) / Fraction(b)) if math.isfinite(quotient) else math.inf


def float_up(exact: Fraction) -> float:
    """The least float that is not below an exact number; inf beyond the range of floats."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -sys.float_info.max
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def moderate(name: str, value: float, most: float = 1e4) -> float:
    """A loss that still promises something: beyond `most` the units are surely wrong, and floats give out."""
    if value > most:
        raise TooLittleNoise.of(
            name,
            f"{name} is {value:g}; it must be at most {most:g}. So large a loss promises nothing: check "
            "the units of the noise and of the sensitivity.",
        )
    return value


def within(name: str, value: object, allowed: str, holds: Callable[[float], bool], why: str = "") -> float:
    """A finite float with a property, which `allowed` puts in words."""
    result = number(name, value, allowed)
    if not holds(result):
        raise InvalidParameter.of(
            name, f"{name} is {result}; it must be {allowed}.{' ' + why if why else ''}"
        )
    return result
