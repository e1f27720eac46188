"""Find the parameter of a mechanism that just keeps a promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

from scipy.optimize import brentq

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Bounds
from dalenius.core import checks
from dalenius.errors import CannotMeet, InvalidParameter, NotMonotone

SMALLEST, LARGEST = 1e-12, 1e12
PRECISION = 1e-9
"""Relative precision of the parameter; the end returned is the one whose promise was verified."""


def calibrate(family: Callable[[float], Loss], guarantee: Guarantee, start: float = 1.0) -> float:
    """The parameter x at which `family(x)` keeps `guarantee` with the least to spare.

    `family` maps a positive number (a noise scale, an epsilon, a sampling rate ...) to a loss that only
    grows or only shrinks with it; which of the two is found out. The promise is verified on the value
    returned, with certified bounds. A family that is not monotone is refused where that shows.

    Parameters
    ----------
    family
        From a positive number (a noise scale, an epsilon, a sampling rate ...) to a loss that only grows or only
        shrinks with it.
    guarantee
        The promise to keep.
    start
        Where to begin to look.

    Returns
    -------
    float
        The parameter; `guarantee.holds(family(x))` is true for it.

    Raises
    ------
    InvalidParameter
        If `family` is not a function to losses, or `guarantee` not a promise.
    CannotMeet
        If no parameter keeps the promise, or every one does.
    NotMonotone
        If the loss is seen to go up and down.

    Examples
    --------
    >>> import dalenius as dp
    >>> sigma = dp.calibrate(lambda s: dp.losses.gaussian(sigma=s), dp.ApproxDP(1.0, 1e-5))
    >>> round(sigma, 6)
    3.730632
    """
    if not callable(family):
        raise InvalidParameter(f"family is {family!r}; it must be a function from a parameter to a loss.")
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            f"guarantee is {guarantee!r}; it must be PureDP, ApproxDP, ZCDP, RDP, GDP, TradeOff or AttackRisk."
        )
    start = checks.positive("start", start)
    search = _Search(family, guarantee)
    good, bad = search.bracket(start)
    return search.narrow(good, bad)


class _Search:
    def __init__(self, family: Callable[[float], Loss], guarantee: Guarantee) -> None:
        self.family, self.guarantee, self.target = family, guarantee, guarantee.tightened()
        self.seen: dict[float, float] = {}
        self.brackets: dict[float, Bounds] = {}

    def excess(self, x: float) -> float:
        if x not in self.seen:
            try:
                loss = self.family(x)
            except InvalidParameter:
                self.seen[x] = math.inf  # outside what the family allows: not a candidate
                return math.inf
            if not isinstance(loss, Loss):
                raise InvalidParameter(f"family({x:g}) is {loss!r}; it must be a loss.")
            self.brackets[x] = self.target.excess_bounds(loss)
            self.seen[x] = self.brackets[x].upper
            self._check_order()
        return self.seen[x]

    def _check_order(self) -> None:
        """The values seen must go one way, as far as their certified brackets tell."""
        values = [y for _, y in sorted(self.brackets.items())]
        rises = any(b.lower > a.upper + _blur(b.lower) for a, b in combinations(values, 2))
        falls = any(b.upper < a.lower - _blur(a.lower) for a, b in combinations(values, 2))
        if rises and falls:
            shown = ", ".join(f"{x:.4g}: {y:.4g}" for x, y in sorted(self.seen.items()) if math.isfinite(y))
            raise NotMonotone(
                "the family's loss goes up and down as its parameter grows (parameter: distance from the promise = "
                f"{shown}). Calibrate over a range where it is monotone."
            )

    def bracket(self, start: float) -> tuple[float, float]:
        """A parameter that keeps the promise and one near it that does not."""
        up, down = start, start
        here = self.excess(start)
        rising = _compare(here, self.excess(2 * start))
        factor = 2.0
        while True:
            kept = [x for x, y in self.seen.items() if y <= 0]
            broken = [x for x, y in self.seen.items() if y > 0]
            if kept and broken:
                _, good, bad = min((abs(math.log(g / b)), g, b) for g in kept for b in broken)
                self._probe(good, bad)
                return good, bad
            if up >= LARGEST and down <= SMALLEST:
                break
            # Go where the missing kind must be; both ways while the direction is not known.
            wants_less = bool(broken)
            if rising == 0 or (rising > 0) != wants_less:
                up = min(up * factor, LARGEST)
                self.excess(up)
            if rising == 0 or (rising > 0) == wants_less:
                down = max(down / factor, SMALLEST)
                self.excess(down)
            if rising == 0:
                rising = _compare(self.excess(down), self.excess(up))
            elif up >= LARGEST or down <= SMALLEST or self._stands_still(wants_less, rising):
                break
            factor = min(factor**1.5, 1e3)
        if any(y <= 0 for y in self.seen.values()):
            raise CannotMeet(
                f"every parameter from {SMALLEST:g} to {LARGEST:g} keeps {self.guarantee}; there is nothing to "
                "calibrate: either so much promises nothing, or the family does not use its parameter."
            )
        raise CannotMeet(
            f"no parameter from {SMALLEST:g} to {LARGEST:g} keeps {self.guarantee}. Part of the loss does not depend "
            "on the parameter, or the promise is too strict (a delta below what the family always spends, say)."
        )

    def _stands_still(self, wants_less: bool, rising: int) -> bool:
        """Whether a thousandfold change of the parameter changed nothing: only a fixed part is left."""
        forward = (rising > 0) != wants_less
        ends = sorted(self.seen, reverse=not forward)[-4:]
        values = [self.seen[x] for x in ends]
        wide = len(ends) == 4 and abs(math.log(ends[-1] / ends[0])) > math.log(1e3)
        return wide and max(values) - min(values) <= 1e-6 * (1 + abs(values[-1]))

    def _probe(self, good: float, bad: float) -> None:
        """Look to both sides of the bracket, and inside, for a family that turns around."""
        side = 1.0 if good > bad else -1.0
        for near, power in ((good, 1.0), (good, 3.0), (bad, -2.0)):
            self.excess(near * 2.0 ** (side * power))
        self.excess(math.sqrt(good * bad))

    def narrow(self, good: float, bad: float) -> float:
        """Shrink the bracket in log scale, and of all that was seen to keep the promise take the nearest to its end."""

        def height(x: float) -> float:
            return min(max(self.excess(math.exp(x)), -LARGEST), LARGEST)

        if self.excess(good) < 0:
            brentq(height, math.log(good), math.log(bad), xtol=PRECISION, rtol=1e-13)
        low, high = sorted((good, bad))
        kept = [x for x, y in self.seen.items() if y <= 0 and low <= x <= high]
        return min(kept) if good > bad else max(kept)


def _compare(a: float, b: float) -> int:
    """1 when b is clearly larger than a, -1 when clearly smaller, 0 when it cannot be told."""
    if a == b or math.isnan(a) or math.isnan(b):
        return 0
    if math.isinf(a) or math.isinf(b):
        return 1 if b > a else -1
    return 1 if b > a + _blur(a) else -1 if b < a - _blur(a) else 0


def _blur(a: float) -> float:
    return 1e-7 * (1 + abs(a)) if math.isfinite(a) else 0.0
