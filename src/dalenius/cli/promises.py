"""Guarantees in text, as in `dalenius calibrate ... --for approx:1.0,1e-5`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalenius.cli.loss_expressions import single_number
from dalenius.cli.problems import GrammarError, quoted, suggestion
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.calculus.guarantees import Guarantee
    from dalenius.calculus.loss import Loss

PARAMETERS = {
    "pure": ("epsilon",),
    "approx": ("epsilon", "delta"),
    "zcdp": ("rho",),
    "gdp": ("mu",),
    "rdp": ("order", "epsilon"),
}
ALLOWED = "pure:EPSILON, approx:EPSILON,DELTA, zcdp:RHO, gdp:MU or rdp:ORDER,EPSILON"


@dataclass(frozen=True)
class Measure:
    """What a promise limits: the quantity, its certified upper bound, and what was promised."""

    quantity: str
    upper: float
    promised: float


@dataclass(frozen=True)
class Promise:
    """A guarantee together with the way it was written."""

    kind: str
    values: tuple[float, ...]
    guarantee: Guarantee

    def measure(self, loss: Loss) -> Measure:
        """The bound that decides whether the loss keeps the promise."""
        first, last = self.values[0], self.values[-1]
        if self.kind == "approx" and last > 0.0:
            return Measure(f"delta at epsilon {first:.12g}", loss.delta(first), last)
        if self.kind in ("pure", "approx"):
            return Measure("epsilon at delta 0", loss.epsilon(0.0), first)
        if self.kind == "zcdp":
            return Measure("rho", loss.zcdp(), first)
        if self.kind == "gdp":
            return Measure("mu", loss.gdp(), first)
        return Measure(f"Renyi divergence of order {first:.12g}", loss.renyi(first), last)


def read_promise(text: str) -> Promise:
    """The guarantee a text describes.

    >>> from dalenius.cli.promises import read_promise
    >>> read_promise("approx:1.0,1e-5").guarantee
    ApproxDP(epsilon=1.0, delta=1e-05)
    """
    word, colon, rest = text.partition(":")
    kind = word.strip().lower()
    if kind not in PARAMETERS:
        hint = suggestion(kind, PARAMETERS) or "."
        raise GrammarError(
            f"{quoted(word)} is not a guarantee{hint} Write {ALLOWED}.", text, 0, max(1, len(word))
        )
    names = PARAMETERS[kind]
    if not colon:
        raise GrammarError(
            f"{kind} lacks its values; write {kind}:{','.join(names).upper()}.", text, 0, len(word)
        )
    at, values, places = len(word) + 1, [], []
    for piece in rest.split(","):
        places.append((at, max(at + 1, at + len(piece))))
        values.append(_value(text, at, piece))
        at += len(piece) + 1
    if len(values) != len(names):
        message = (
            f"{kind} has {len(values)} values and takes {len(names)}; write {kind}:{','.join(names).upper()}."
        )
        raise GrammarError(message, text, len(word) + 1, len(text))
    try:
        return Promise(kind, tuple(values), _guarantee(kind, values))
    except InvalidParameter as problem:
        start, end = next(
            (p for n, p in zip(names, places, strict=True) if str(problem).startswith(f"{n} is ")),
            (0, len(text)),
        )
        raise GrammarError(str(problem), text, start, end) from problem


def _guarantee(kind: str, values: list[float]) -> Guarantee:
    from dalenius.calculus import guarantees

    if kind == "approx":
        return guarantees.ApproxDP(*values)
    if kind == "rdp":
        return guarantees.RDP(*values)
    if kind == "zcdp":
        return guarantees.ZCDP(*values)
    return guarantees.GDP(*values) if kind == "gdp" else guarantees.PureDP(*values)


def _value(text: str, at: int, piece: str) -> float:
    try:
        return single_number(piece)
    except GrammarError:
        message = f"{quoted(piece)} is not a finite number; write numbers such as 1.0 or 1e-5."
        raise GrammarError(message, text, at, max(at + 1, at + len(piece))) from None
