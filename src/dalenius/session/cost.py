"""What a release costs: exact numbers, rounded up once, and never a float after that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal, get_args

from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter

Kind = Literal["pure", "approx", "zcdp", "gdp"]
KINDS: tuple[Kind, ...] = get_args(Kind)

CURRENCY: Mapping[Kind, str] = {"pure": "epsilon", "approx": "mu^2", "zcdp": "rho", "gdp": "mu^2"}
"""What the amounts of a kind are amounts of."""

PARTS = ("amount", "delta", "shift")
"""The parts of a cost."""

PLACES = 30
GRAINS = 10**PLACES
"""Costs are whole numbers of 1e-30: fine enough that rounding up never shows, coarse enough to write down."""


@dataclass(frozen=True)
class Cost:
    """What a release, or all releases so far, use up of a budget of one kind.

    `amount` is in the currency of the kind: epsilon (pure), rho (zcdp), mu^2 (gdp and approx). Two parts only
    approx budgets have: `delta`, and `shift`, an epsilon that is paid from what was set aside for such when the
    account was opened (`session.shifted`). Costs of one kind and one neighbouring relation add, part by part.

    >>> from fractions import Fraction
    >>> Cost("zcdp", Fraction("0.05")) + Cost("zcdp", Fraction("0.1"))
    Cost(zcdp: rho 0.15)
    """

    kind: Kind
    amount: Fraction
    delta: Fraction = Fraction(0)
    adjacency: Adjacency = ADD_REMOVE
    shift: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidParameter(f"kind is {self.kind!r}; it must be one of {', '.join(KINDS)}.")
        for name in PARTS:
            value = getattr(self, name)
            if not isinstance(value, Fraction | int) or isinstance(value, bool) or value < 0:
                raise InvalidParameter(f"{name} is {value!r}; it must be a Fraction, 0 or more.")
            # Rounding up a cost that was exact changes nothing; one that was not must not be rounded down.
            object.__setattr__(self, name, rounded_up(Fraction(value)))
        for name in PARTS[1:]:
            if getattr(self, name) and self.kind != "approx":
                raise InvalidParameter(
                    f"a {self.kind} budget has no {name}, and {name} is {decimal(getattr(self, name))}."
                )

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """The numbers that add, in the order of `PARTS`."""
        return self.amount, self.delta, self.shift

    def __add__(self, other: Cost) -> Cost:
        self._matches(other)
        return self._with(a + b for a, b in zip(self.parts, other.parts, strict=True))

    def __repr__(self) -> str:
        extra = f", delta {decimal(self.delta)}" if self.kind == "approx" else ""
        extra += f", shift {decimal(self.shift)}" if self.shift else ""
        return f"Cost({self.kind}: {CURRENCY[self.kind]} {decimal(self.amount)}{extra})"

    def fits(self, limit: Cost) -> bool:
        """Whether every part is within the limit: exactly, equality included."""
        self._matches(limit)
        return all(mine <= most for mine, most in zip(self.parts, limit.parts, strict=True))

    def below(self, limit: Cost) -> Cost:
        """What is left under the limit; at least nothing."""
        self._matches(limit)
        return self._with(
            max(Fraction(0), most - mine) for mine, most in zip(self.parts, limit.parts, strict=True)
        )

    def least(self, other: Cost) -> Cost:
        """The lesser of the two, part by part."""
        self._matches(other)
        return self._with(min(a, b) for a, b in zip(self.parts, other.parts, strict=True))

    @property
    def nothing(self) -> Cost:
        """The cost of nothing, of this kind."""
        return self._with(Fraction(0) for _ in PARTS)

    def share(self, part: Fraction) -> Cost:
        """This fraction of it, rounded down."""
        return self._with(rounded_down(value * part) for value in self.parts)

    def use_of(self, room: Cost) -> Fraction | float:
        """The largest share it takes of any part of what there is; inf where it takes what there is none of."""
        self._matches(room)
        uses = [
            (mine / most if most else math.inf)
            for mine, most in zip(self.parts, room.parts, strict=True)
            if mine
        ]
        return max(uses, default=Fraction(0))

    def text(self, digits: int = 12, up: bool = True) -> str:
        """The numbers for a message, rounded up (or down) at so many digits."""
        amount, delta, shift = (shown(Decimal(decimal(value)), digits, up) for value in self.parts)
        told = f"{CURRENCY[self.kind]} {amount}"
        if self.kind == "approx":
            told += f"{',' if self.shift else ' and'} delta {delta}"
        return told + (f" and epsilon {shift} of what was set aside" if self.shift else "")

    def written(self) -> dict[str, str]:
        """The exact numbers, for the ledger: a shift only where there is one."""
        told = {"amount": decimal(self.amount), "delta": decimal(self.delta)}
        return {**told, "shift": decimal(self.shift)} if self.shift else told

    def read(self, content: object) -> Cost:
        """The cost of this kind that `written` wrote; anything else is an error."""
        if isinstance(content, Mapping) and {"amount", "delta"} <= set(content) <= set(PARTS):
            found = self._with(from_decimal(content.get(name, "0")) for name in PARTS)
            if found.written() == content:  # one cost has one text
                return found
        raise InvalidParameter("a cost must be written as {amount, delta}, with a shift where there is one.")

    def _with(self, parts: Iterable[Fraction]) -> Cost:
        amount, delta, shift = parts
        return replace(self, amount=amount, delta=delta, shift=shift)

    def _matches(self, other: Cost) -> None:
        if other.kind != self.kind:
            raise InvalidParameter(
                f"a {other.kind} cost and a {self.kind} cost do not add; compute the cost from the loss "
                "with the filter of the account."
            )
        if other.adjacency is not self.adjacency:
            raise InvalidParameter(
                f"one cost is stated for {self.adjacency.value} record, the other for "
                f"{other.adjacency.value} record; state both for the same neighbours."
            )


def rounded_up(value: Fraction) -> Fraction:
    """The next whole number of grains."""
    return Fraction(-((-value * GRAINS).__floor__()), GRAINS)


def rounded_down(value: Fraction) -> Fraction:
    """The whole number of grains below."""
    return Fraction((value * GRAINS).__floor__(), GRAINS)


def declared(value: float) -> Fraction:
    """A number as a person wrote it: 0.1 is one tenth, not the nearest double.

    Ten releases of 0.05 fit a budget of 0.5 because both are read like this.

    >>> declared(0.1) * 10
    Fraction(1, 1)
    """
    return Fraction(repr(float(value)))


def declared_at_most(value: Fraction) -> float:
    """The largest float that, read as it is written, does not exceed the value."""
    found = _near(value)
    while declared(found) > value:
        found = math.nextafter(found, -math.inf)
    return found


def declared_at_least(value: Fraction) -> float:
    """The smallest float that, read as it is written, is not below the value."""
    found = _near(value)
    while declared(found) < value:
        found = math.nextafter(found, math.inf)
    return found


def exactly_at_most(value: Fraction) -> float:
    """The largest float whose exact value does not exceed the value."""
    found = _near(value)
    return found if Fraction(found) <= value else math.nextafter(found, -math.inf)


def root_at_most(square: Fraction) -> float:
    """The largest float near the root whose own square, exactly, does not exceed the square given."""
    found = math.sqrt(square)
    while Fraction(found) ** 2 > square:
        found = math.nextafter(found, 0.0)
    return found


def decimal(value: Fraction) -> str:
    """A whole number of grains, written exactly.

    >>> decimal(Fraction(3, 20))
    '0.15'
    """
    grains = value * GRAINS
    if grains.denominator != 1:
        raise InvalidParameter(f"{value} is not a whole number of 1e-{PLACES}.")
    whole, part = divmod(grains.numerator, GRAINS)
    return f"{whole}.{part:0{PLACES}d}".rstrip("0").rstrip(".")


def shown(number: Decimal, digits: int, up: bool) -> str:
    """A number for people, rounded up or down at so many digits; no rounding where none is needed.

    >>> shown(Decimal("0.1234567"), 3, up=True), shown(Decimal("5e-7"), 3, up=False)
    ('0.124', '5e-7')
    """
    number = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR).plus(number).normalize()
    return f"{number:f}" if not number or number.adjusted() > -5 else f"{number:e}"


def from_decimal(text: object) -> Fraction:
    """The number that `decimal` wrote; another spelling is refused, so that one number has one text."""
    if isinstance(text, str) and len(text) < 400 and text.replace(".", "", 1).isdecimal() and text.isascii():
        value = Fraction(text)
        if (value * GRAINS).denominator == 1 and decimal(value) == text:
            return value
    raise InvalidParameter("an amount must be written as an exact decimal number, such as 0.05.")


def _near(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise InvalidParameter("the amount is too large; check the units.") from None
