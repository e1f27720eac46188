"""What a release costs: exact numbers, rounded up once, and never a float after that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from dalenius.calculus.guarantees.amounts import decimal, from_decimal, rounded_down, rounded_up, shown
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter

PARTS = ("amount", "delta", "shift")
"""The parts of a cost."""


@dataclass(frozen=True)
class Currency:
    """What the budgets of one kind of guarantee are counted in."""

    unit: str
    """What `amount` is an amount of."""
    is_box: bool = False
    """Whether a cost has the sides `delta` and `shift`, too."""


def currency_of(kind: str) -> Currency:
    """The currency of a kind of guarantee; an error for one that has none."""
    from dalenius.calculus.guarantees import KINDS

    found = KINDS[kind].currency if kind in KINDS else None
    if found is None:
        known = ", ".join(tag for tag, each in KINDS.items() if each.currency is not None)
        raise InvalidParameter(f"kind is {kind!r}; it must be one of {known}.")
    return found


@dataclass(frozen=True)
class Cost:
    """What a release, or all releases so far, use up of a budget of one kind.

    `amount` is in the currency of the kind: epsilon (pure), rho (zcdp), mu^2 (gdp and approx). Two parts only
    approx budgets have: `delta`, and `shift`, an epsilon that is paid from what was set aside for such when the
    account was opened (`guarantees.shifted`). Costs of one kind and one neighbouring relation add, part by part.

    >>> from fractions import Fraction
    >>> Cost("zcdp", Fraction("0.05")) + Cost("zcdp", Fraction("0.1"))
    Cost(zcdp: rho 0.15)
    """

    kind: str
    amount: Fraction
    delta: Fraction = Fraction(0)
    adjacency: Adjacency = ADD_REMOVE
    shift: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        is_box = currency_of(self.kind).is_box
        for name in PARTS:
            value = getattr(self, name)
            if not isinstance(value, Fraction | int) or isinstance(value, bool) or value < 0:
                raise InvalidParameter(f"{name} is {value!r}; it must be a Fraction, 0 or more.")
            if value and name != "amount" and not is_box:
                raise InvalidParameter(f"a {self.kind} budget has no {name}, and {name} is {value}.")
            # Rounding up a cost that was exact changes nothing; one that was not must not be rounded down.
            object.__setattr__(self, name, rounded_up(Fraction(value)))

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """The numbers that add, in the order of `PARTS`."""
        return self.amount, self.delta, self.shift

    def __add__(self, other: Cost) -> Cost:
        return self._with(a + b for a, b in self._beside(other))

    def __mul__(self, count: int) -> Cost:
        return self._with(value * count for value in self.parts)

    def __repr__(self) -> str:
        currency = currency_of(self.kind)
        extra = f", delta {decimal(self.delta)}" if currency.is_box else ""
        extra += f", shift {decimal(self.shift)}" if self.shift else ""
        return f"Cost({self.kind}: {currency.unit} {decimal(self.amount)}{extra})"

    def fits(self, limit: Cost) -> bool:
        """Whether every part is within the limit: exactly, equality included."""
        return all(mine <= most for mine, most in self._beside(limit))

    def below(self, limit: Cost) -> Cost:
        """What is left under the limit; at least nothing."""
        return self._with(max(Fraction(0), most - mine) for mine, most in self._beside(limit))

    def least(self, other: Cost) -> Cost:
        """The lesser of the two, part by part."""
        return self._with(min(a, b) for a, b in self._beside(other))

    @property
    def nothing(self) -> Cost:
        """The cost of nothing, of this kind."""
        return self._with(Fraction(0) for _ in PARTS)

    def share(self, part: Fraction) -> Cost:
        """This fraction of it, rounded down."""
        return self._with(rounded_down(value * part) for value in self.parts)

    def use_of(self, room: Cost) -> Fraction | float:
        """The largest share it takes of any part of what there is; inf where it takes what there is none of."""
        uses = (mine / most if most else math.inf for mine, most in self._beside(room) if mine)
        return max(uses, default=Fraction(0))

    def text(self, digits: int = 12, up: bool = True) -> str:
        """The numbers for a message, rounded up (or down) at so many digits."""
        amount, delta, shift = (shown(Decimal(decimal(value)), digits, up) for value in self.parts)
        currency = currency_of(self.kind)
        text = f"{currency.unit} {amount}"
        if currency.is_box:
            text += f"{',' if self.shift else ' and'} delta {delta}"
        return text + (f" and epsilon {shift} of what was set aside" if self.shift else "")

    def written(self) -> dict[str, str]:
        """The exact numbers, for the ledger: a shift only where there is one."""
        parts = {"amount": decimal(self.amount), "delta": decimal(self.delta)}
        return {**parts, "shift": decimal(self.shift)} if self.shift else parts

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

    def _beside(self, other: Cost) -> Iterable[tuple[Fraction, Fraction]]:
        """Part by part, if they can be compared."""
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
        return zip(self.parts, other.parts, strict=True)
