"""The syntax tree of an expression: frozen, with the place of every part."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """`1.0`, `10_000`, `-3`."""

    value: int | float
    start: int
    end: int


@dataclass(frozen=True)
class Name:
    """A bare word: a neighbouring relation, or the parameter that `calibrate` looks for."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Numbers:
    """`[0.9, 0.1]`."""

    items: tuple[Number, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Argument:
    """`1.0` or `sigma=1.0` inside a call."""

    name: str | None
    value: Value
    start: int
    end: int


@dataclass(frozen=True)
class Call:
    """`gaussian(1.0)`; `open` is where the name ends."""

    name: str
    arguments: tuple[Argument, ...]
    start: int
    open: int
    end: int


@dataclass(frozen=True)
class Product:
    """A loss released counts[0] * counts[1] * ... times. Flat: a long chain must not nest deeply."""

    factor: LossTree
    counts: tuple[Number, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Sum:
    """Several releases of the same data, one after the other."""

    parts: tuple[LossTree, ...]
    start: int
    end: int


LossTree = Call | Product | Sum
Value = Number | Name | Numbers | Call | Product | Sum
